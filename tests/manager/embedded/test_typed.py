"""Values under a schema: fields, merges, differences, removals, by the rules of structured-merge-diff."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.comparison import compare, whole
from manager.embedded.coverage import extract, field_set, named, reconcile, remove
from manager.embedded.fields import FieldSet
from manager.embedded.fitting import fits, validate
from manager.embedded.merging import merge
from manager.embedded.schema import ANYTHING, ListType, Schema
from manager.embedded.typed import ABSENT, type_of

Fields = dict[str, Any]


def text(**more: Any) -> Schema:
    """A string."""
    return Schema(type="string", **more)


def struct(**properties: Schema) -> Schema:
    """An object with named fields."""
    return Schema(type="object", properties=properties)


def words(*, atomic: bool = False) -> Schema:
    """A map of strings."""
    return Schema(type="object", additional=text(), atomic=atomic)


def items(schema: Schema, list_type: ListType, *keys: str) -> Schema:
    """A list."""
    return Schema(type="array", items=schema, list_type=list_type, list_keys=keys)


PORT = struct(port=Schema(type="integer"), protocol=text(default="TCP", has_default=True), name=text())
PART = struct(name=text(), value=text(), tags=items(text(), ListType.SET))
SPEC = struct(
    text=text(),
    number=Schema(type="integer"),
    flag=Schema(type="boolean"),
    map=words(),
    atom=words(atomic=True),
    plain=items(text(), ListType.ATOMIC),
    tags=items(text(), ListType.SET),
    numbers=items(Schema(type="number"), ListType.SET),
    parts=items(PART, ListType.MAP, "name"),
    ports=items(PORT, ListType.MAP, "port", "protocol"),
    either=Schema(int_or_string=True),
    open=Schema(type="object", preserve_unknown=True),
    anything=Schema(preserve_unknown=True),
)
TYPE = type_of(struct(spec=SPEC))


def thing(**spec: Any) -> Fields:
    """A custom object."""
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def owned(**spec: Any) -> Fields:
    """What a configuration owns of spec."""
    fields: Fields = FieldSet(field_set(thing(**spec), TYPE)).fields_v1().get("f:spec", {})
    return fields


def merged(live: Any, config: Any) -> Any:
    """One field of spec, merged."""
    return merge({"spec": live}, {"spec": config}, TYPE)["spec"]


def changes(old: Fields, new: Fields) -> dict[str, list[str]]:
    """The differences below spec, as readable paths."""
    found = compare({"spec": old}, {"spec": new}, TYPE)
    parts = {"removed": found.removed, "modified": found.modified, "added": found.added}
    return {name: [path.removeprefix(".spec") for path in FieldSet(tree).paths()] for name, tree in parts.items() if tree}


# Fields of a configuration


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"text": "a"}, {"f:text": {}}, id="a leaf"),
        pytest.param({"text": None}, {"f:text": {}}, id="null is there"),
        pytest.param({"map": {"a": "1"}}, {"f:map": {"f:a": {}}}, id="the keys of a map, not the map"),
        pytest.param({"map": {}}, {"f:map": {}}, id="an empty map"),
        pytest.param({"map": None}, {"f:map": {}}, id="a map that is null"),
        pytest.param({"tags": []}, {}, id="of an empty list nothing"),
        pytest.param({"tags": None}, {"f:tags": {}}, id="a list that is null"),
        pytest.param({"plain": []}, {"f:plain": {}}, id="an atomic list, empty or not"),
        pytest.param({"atom": {"a": "1"}}, {"f:atom": {}}, id="an atomic map"),
        pytest.param({"tags": ["b", "a"]}, {"f:tags": {'v:"a"': {}, 'v:"b"': {}}}, id="the items of a set"),
        pytest.param({"numbers": [1.0, 2]}, {"f:numbers": {"v:1": {}, "v:2": {}}}, id="1.0 is 1"),
        pytest.param(
            {"parts": [{"name": "x", "tags": ["t"]}]},
            {"f:parts": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:tags": {'v:"t"': {}}}}},
            id="items by their key, and what is in them",
        ),
        pytest.param(
            {"ports": [{"port": 80}]},
            {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
            id="a key that is not given has its default",
        ),
        pytest.param({"open": {"a": {"b": 1}}}, {"f:open": {"f:a": {".": {}, "f:b": {}}}}, id="unknown maps are granular"),
        pytest.param({"open": {"a": [1, {"b": 1}]}}, {"f:open": {"f:a": {}}}, id="unknown lists are one field"),
        pytest.param({"anything": "a"}, {"f:anything": {}}, id="anything may be a leaf"),
        pytest.param({"anything": {"a": None}}, {"f:anything": {"f:a": {}}}, id="anything may be a map"),
        pytest.param({"either": 80}, {"f:either": {}}, id="a number or a string"),
    ],
)
def test_a_configuration_owns_what_it_names(spec: Fields, fields: Fields) -> None:
    """By the type of each place; structs themselves are not owned."""
    assert owned(**spec) == fields


# Fitting


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}", id="a number for a string"
        ),
        pytest.param(
            {"text": {"b": "x", "a": [1, None]}},
            '.spec.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1, '
            'interface {}(nil)}, "b":"x"}}',
            id="a map for a string",
        ),
        pytest.param({"number": "1"}, ".spec.number: expected numeric (int or float), got string", id="a string for a number"),
        pytest.param({"number": True}, ".spec.number: expected numeric (int or float), got bool", id="true is no number"),
        pytest.param(
            {"number": [1]}, ".spec.number: expected numeric (int or float), got []interface {}", id="a list for a number"
        ),
        pytest.param({"flag": 1}, ".spec.flag: expected boolean, got &{1}", id="a number for a boolean"),
        pytest.param({"map": "x"}, ".spec.map: expected map, got &{x}", id="a string for a map"),
        pytest.param({"tags": {"a": True}}, ".spec.tags: expected list, got &{map[a:true]}", id="a map for a list"),
        pytest.param({"wrong": 1}, ".spec.wrong: field not declared in schema", id="an unknown field"),
        pytest.param({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]', id="an item twice"),
        pytest.param(
            {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
            id="an item twice, once by default",
        ),
        pytest.param(
            {"parts": [{"value": "x"}]},
            '.spec.parts: element 0: associative list with keys has an element that omits all key fields ["name"] '
            "(and doesn't have default values for any key fields)",
            id="an item without keys",
        ),
        pytest.param(
            {"parts": ["x"]}, ".spec.parts: element 0: associative list with keys may not have non-map elements", id="no map"
        ),
        pytest.param(
            {"plain": ["x", 1]}, ".spec.plain[1]: expected string, got &value.valueUnstructured{Value:1}", id="in a list"
        ),
        pytest.param(
            {"parts": [{"name": "x", "value": 1}]},
            '.spec.parts[name="x"].value: expected string, got &value.valueUnstructured{Value:1}',
            id="in an item",
        ),
        pytest.param({"either": {}}, "", id="a number or a string takes maps: nothing is known of it"),
        pytest.param({"text": None, "map": None, "tags": None, "number": None}, "", id="null fits everywhere"),
        pytest.param({"numbers": [1, 1.5], "flag": False, "open": {"x": [{}]}}, "", id="all is well"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_the_server(spec: Fields, words: str) -> None:
    """The path, and Go's picture of the value."""
    assert validate(thing(**spec), TYPE) == words


def test_several_misfits_are_listed() -> None:
    """One line each, under a heading."""
    assert validate(thing(text=1, number="x"), TYPE).splitlines() == [
        "errors:",
        "  .spec.number: expected numeric (int or float), got string",
        "  .spec.text: expected string, got &value.valueUnstructured{Value:1}",
    ]


def test_live_objects_may_repeat_items() -> None:
    """They came from a create, which does not look at that."""
    value = thing(tags=["a", "a"])
    assert not fits(value, TYPE, duplicates=False)
    assert fits(value, TYPE, duplicates=True)


# Merging


@pytest.mark.parametrize(
    ("live", "config", "result"),
    [
        pytest.param({"text": "a", "number": 1}, {"text": "b"}, {"text": "b", "number": 1}, id="leaves"),
        pytest.param({"map": {"a": "1"}}, {"map": {"b": "2"}}, {"map": {"a": "1", "b": "2"}}, id="maps by key"),
        pytest.param({"atom": {"a": "1"}}, {"atom": {"b": "2"}}, {"atom": {"b": "2"}}, id="atomic maps as a whole"),
        pytest.param({"plain": ["a"]}, {"plain": ["b"]}, {"plain": ["b"]}, id="atomic lists as a whole"),
        pytest.param({"map": {"a": "1"}}, {"map": {}}, {"map": {"a": "1"}}, id="an empty map takes nothing"),
        pytest.param({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}, id="null takes nothing of a map"),
        pytest.param({"tags": ["a"]}, {"tags": None}, {"tags": ["a"]}, id="null takes nothing of a set"),
        pytest.param({"plain": ["a"]}, {"plain": None}, {"plain": None}, id="null empties an atomic list"),
        pytest.param({"text": "a"}, {"text": None}, {"text": None}, id="null empties a leaf"),
        pytest.param({"anything": {"a": 1}}, {"anything": "x"}, {"anything": "x"}, id="another type"),
        pytest.param({"anything": {"a": 1}}, {"anything": None}, {"anything": {"a": 1}}, id="null for an unknown map"),
        pytest.param({"anything": [1]}, {"anything": {"a": 1}}, {"anything": {"a": 1}}, id="a list becomes a map"),
        pytest.param({"tags": ["a", "b"]}, {"tags": ["c"]}, {"tags": ["a", "b", "c"]}, id="new items behind"),
        pytest.param({"tags": ["a", "b", "c"]}, {"tags": ["c", "a"]}, {"tags": ["b", "c", "a"]}, id="the config's order"),
        pytest.param({"tags": ["a", "b", "a"]}, {"tags": ["a"]}, {"tags": ["a", "b"]}, id="repeated items become one"),
        pytest.param(
            {"parts": [{"name": "x", "value": "1"}, {"name": "y"}]},
            {"parts": [{"name": "z"}, {"name": "x", "tags": ["t"]}]},
            {"parts": [{"name": "z"}, {"name": "x", "value": "1", "tags": ["t"]}, {"name": "y"}]},
            id="items by key",
        ),
    ],
)
def test_a_merge_lays_the_configuration_over_the_live_value(live: Fields, config: Fields, result: Fields) -> None:
    """Nothing is removed, and the configuration's leaves stay."""
    assert merged(live, config) == result


def test_a_merge_that_changes_nothing_returns_what_was_there() -> None:
    """The very same object, so that the rest need not look."""
    live = {"spec": {"map": {"a": "1"}, "parts": [{"name": "x", "value": "1"}], "tags": ["a", "b"]}}
    config = {"spec": {"map": {"a": "1"}, "parts": [{"name": "x"}], "tags": ["b"]}}
    assert merge(live, config, TYPE) is live
    assert merge(live, ABSENT, TYPE) is live


# Comparing


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param({"text": "a"}, {"text": "b"}, {"modified": [".text"]}, id="a leaf"),
        pytest.param({"number": 1}, {"number": 1.0}, {}, id="numbers are equal by value"),
        pytest.param({"anything": True}, {"anything": 1}, {"modified": [".anything"]}, id="but true is not 1"),
        pytest.param({}, {"map": {"a": "1"}}, {"added": [".map", ".map.a"]}, id="a map with its keys"),
        pytest.param({"map": {"a": "1"}}, {}, {"removed": [".map", ".map.a"]}, id="a map goes with its keys"),
        pytest.param({"map": {}}, {"map": {"a": "1"}}, {"added": [".map.a"]}, id="a key of a map"),
        pytest.param({"atom": {"a": "1"}}, {"atom": {"a": "2"}}, {"modified": [".atom"]}, id="an atomic map"),
        pytest.param({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, id="the order of a set is nothing"),
        pytest.param({"plain": ["a", "b"]}, {"plain": ["b", "a"]}, {"modified": [".plain"]}, id="of an atomic list it is"),
        pytest.param(
            {"tags": ["a"]}, {"tags": ["b"]}, {"removed": ['.tags[="a"]'], "added": ['.tags[="b"]']}, id="items of a set"
        ),
        pytest.param(
            {"tags": ["a", "a"]}, {"tags": ["a"]}, {"removed": ['.tags[="a"]'], "added": ['.tags[="a"]']}, id="repeats end"
        ),
        pytest.param(
            {"tags": ["a"]}, {"tags": ["a", "a"]}, {"removed": ['.tags[="a"]'], "added": ['.tags[="a"]']}, id="repeats begin"
        ),
        pytest.param({"tags": ["a", "a"]}, {"tags": ["a", "a", "a"]}, {"modified": ['.tags[="a"]']}, id="more repeats"),
        pytest.param(
            {"ports": [{"port": 80}]},
            {"ports": [{"port": 80, "protocol": "TCP"}]},
            {"added": ['.ports[port=80,protocol="TCP"].protocol']},
            id="an item found by a default",
        ),
        pytest.param({"text": None}, {"text": "a"}, {"modified": [".text"]}, id="null becomes a value"),
        pytest.param({"map": None}, {"map": {"a": "1"}}, {"added": [".map.a"]}, id="null becomes a map"),
        pytest.param(
            {"anything": {"a": 1}},
            {"anything": "x"},
            {"removed": [".anything.a"], "modified": [".anything"]},
            id="a map becomes a leaf",
        ),
        pytest.param({"anything": [1]}, {"anything": [2]}, {"modified": [".anything"]}, id="unknown lists as a whole"),
    ],
)
def test_a_difference_names_the_fields(old: Fields, new: Fields, found: dict[str, list[str]]) -> None:
    """Removed, modified and added, each by path."""
    assert changes(old, new) == found


# Built-in kinds


BUILT_IN = struct(
    spec=struct(
        cpu=Schema(reference="io.k8s.apimachinery.pkg.api.resource.Quantity"),
        raw=Schema(reference="io.k8s.apimachinery.pkg.runtime.RawExtension"),
    )
)


def test_quantities_and_raw_objects_are_leaves() -> None:
    """A quantity may be a number or a string; of a raw object nothing is known."""
    of = type_of(BUILT_IN)
    assert validate({"spec": {"cpu": 1, "raw": {"a": [{}]}}}, of) == ""
    assert validate({"spec": {"cpu": {}}}, of) == ".spec.cpu: expected any scalar, got &{map[]}"
    assert FieldSet(field_set({"spec": {"raw": {"a": 1}}}, of)).fields_v1() == {"f:spec": {"f:raw": {}}}


def test_a_kind_without_schema_is_granular_and_has_metadata() -> None:
    """Its maps are, and its lists are single fields."""
    of = type_of(Schema(type="object", preserve_unknown=True))
    assert FieldSet(field_set({"a": {"b": [1]}, "metadata": {"finalizers": ["x"]}}, of)).paths() == [
        ".a",
        ".a.b",
        '.metadata.finalizers[="x"]',
    ]
    assert validate({"metadata": {"wrong": 1}}, of) == ".metadata.wrong: field not declared in schema"
    assert type_of(ANYTHING).fields["metadata"] is of.fields["metadata"]


def test_an_embedded_resource_has_metadata_of_its_own() -> None:
    """Owners and finalizers in it merge as those of any object."""
    of = type_of(struct(inner=Schema(type="object", embedded_resource=True, preserve_unknown=True)))
    inner = {"apiVersion": "v1", "kind": "A", "metadata": {"finalizers": ["x"], "labels": {"a": "1"}}, "free": {"b": 1}}
    assert FieldSet(field_set({"inner": inner}, of)).fields_v1()["f:inner"] == {
        "f:apiVersion": {},
        "f:free": {".": {}, "f:b": {}},
        "f:kind": {},
        "f:metadata": {"f:finalizers": {'v:"x"': {}}, "f:labels": {"f:a": {}}},
    }


def test_unknown_fields_are_kept_below_a_place_that_keeps_them() -> None:
    """What is inlined below `x-kubernetes-preserve-unknown-fields` keeps them too."""
    of = type_of(struct(spec=Schema(type="object", preserve_unknown=True, properties={"inner": struct(a=text())})))
    assert validate({"spec": {"inner": {"a": "x", "b": 1}}}, of) == ""


# Removing, extracting, naming, reconciling


def test_removing_takes_members_and_what_is_in_them() -> None:
    """What is emptied by that is null, as in structured-merge-diff."""
    value = thing(text="a", map={"a": "1", "b": "2"}, tags=["x", "y"], parts=[{"name": "p", "value": "1"}, {"name": "q"}])
    unwanted: Fields = {
        "f:spec": {"f:text": {}, "f:map": {"f:a": {}}, "f:tags": {'v:"x"': {}, 'v:"y"': {}}, "f:parts": {'k:{"name":"q"}': {}}}
    }
    assert remove(value, FieldSet.parse(unwanted).tree, TYPE)["spec"] == {
        "map": {"b": "2"},
        "tags": None,
        "parts": [{"name": "p", "value": "1"}],
    }


def test_extracting_keeps_members_alone() -> None:
    """A leaf of the set brings all that is in it."""
    value = thing(text="a", map={"a": "1", "b": "2"}, parts=[{"name": "p", "value": "1"}, {"name": "q"}], atom={"x": "1"})
    wanted = {"f:spec": {"f:map": {"f:a": {}}, "f:parts": {'k:{"name":"p"}': {".": {}, "f:name": {}}}, "f:atom": {}}}
    assert extract(value, FieldSet.parse(wanted).tree, TYPE) == {
        "spec": {"map": {"a": "1"}, "parts": [{"name": "p"}], "atom": {"x": "1"}}
    }


def test_named_fields_above_members_are_members_too() -> None:
    """Fields that the schema names, but no keys of maps and no items."""
    fields = FieldSet.parse(
        {
            "f:spec": {
                "f:map": {"f:a": {}},
                "f:open": {"f:x": {"f:y": {}}},
                "f:parts": {'k:{"name":"p"}': {"f:tags": {'v:"t"': {}}}},
            }
        }
    )
    assert FieldSet(named(fields.tree, TYPE)).fields_v1() == {
        "f:spec": {
            ".": {},
            "f:map": {".": {}, "f:a": {}},
            "f:open": {".": {}, "f:x": {"f:y": {}}},
            "f:parts": {".": {}, 'k:{"name":"p"}': {"f:tags": {".": {}, 'v:"t"': {}}}},
        }
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"f:atom": {"f:a": {}}}, {"f:atom": {}}, id="a map became atomic"),
        pytest.param({"f:plain": {'v:"a"': {}}}, {"f:plain": {}}, id="a list became atomic"),
        pytest.param({"f:map": {}}, {"f:map": {}}, id="to granular nothing is done"),
        pytest.param({"f:gone": {"f:a": {}}}, {"f:gone": {"f:a": {}}}, id="unknown fields stay"),
        pytest.param(
            {"f:parts": {'k:{"name":"p"}': {"f:value": {}}}}, {"f:parts": {'k:{"name":"p"}': {"f:value": {}}}}, id="all fits"
        ),
        pytest.param({"f:open": {"f:a": {"f:b": {}}}}, {"f:open": {"f:a": {"f:b": {}}}}, id="free maps have no types"),
    ],
)
def test_sets_follow_a_schema_that_became_atomic(before: Fields, after: Fields) -> None:
    """Whoever owned a part owns the whole, and nothing else changes."""
    fields = FieldSet.parse({"f:spec": before})
    assert reconcile(fields, TYPE).fields_v1() == {"f:spec": after}


# Laws


WORD = st.sampled_from(["1", "2"])
NAME = st.sampled_from(["a", "b", "c"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.one_of(WORD, st.none()),
        "number": st.sampled_from([1, 2, 1.0, 1.5]),
        "map": st.dictionaries(NAME, WORD, max_size=3),
        "atom": st.dictionaries(NAME, WORD, max_size=2),
        "tags": st.lists(NAME, unique=True, max_size=3),
        "parts": st.lists(
            st.fixed_dictionaries({"name": NAME}, optional={"value": WORD, "tags": st.lists(NAME, unique=True, max_size=2)}),
            unique_by=lambda part: part["name"],
            max_size=3,
        ),
        "anything": st.recursive(
            st.one_of(WORD, st.integers(0, 1), st.booleans(), st.none()),
            lambda below: st.one_of(st.lists(below, max_size=2), st.dictionaries(NAME, below, max_size=2)),
            max_leaves=4,
        ),
    },
)


@given(SPECS, SPECS)
def test_what_is_merged_holds_every_leaf_of_the_configuration(live: Fields, config: Fields) -> None:
    """Merging the same configuration again changes nothing, and nothing is removed."""
    once = merge({"spec": live}, {"spec": config}, TYPE)
    assert merge(once, {"spec": config}, TYPE) == once
    if "anything" not in config:
        assert not compare({"spec": live}, once, TYPE).removed


@given(SPECS, SPECS)
def test_a_difference_backwards_is_the_difference_forwards(old: Fields, new: Fields) -> None:
    """What one way adds, the other removes."""
    there, back = compare({"spec": old}, {"spec": new}, TYPE), compare({"spec": new}, {"spec": old}, TYPE)
    assert (there.removed, there.modified, there.added) == (back.added, back.modified, back.removed)
    assert not any(compare({"spec": old}, {"spec": dict(old)}, TYPE))


@given(SPECS)
def test_a_value_that_came_as_a_whole_contains_what_a_configuration_owns(spec: Fields) -> None:
    """Both walk the same fields; the one adds the places above them."""
    everything, mine = FieldSet(whole({"spec": spec}, TYPE)), FieldSet(field_set({"spec": spec}, TYPE))
    assert set(mine.paths()) <= set(everything.paths())
