"""Sets of fields: the arithmetic of structured-merge-diff, and the order in which the server writes them."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.fields import FieldSet, Malformed, key_element, readable, value_element

Fields = dict[str, Any]

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y","port":80}', "v:1", 'v:"x"', "i:0"])
TREES = st.recursive(
    st.just({}), lambda below: st.dictionaries(st.one_of(ELEMENTS, st.just(".")), below, max_size=3), max_leaves=8
).map(lambda tree: {key: below for key, below in tree.items() if key != "."})
SETS = TREES.map(FieldSet.parse)


def same_text(one: Any, other: Any) -> bool:
    """Equal as text: order counts."""
    return orjson.dumps(one) == orjson.dumps(other)


def test_a_set_is_written_as_it_was_read() -> None:
    """An entry that the server wrote comes back letter by letter."""
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
    }
    assert same_text(FieldSet.parse(fields).fields_v1(), fields)


@pytest.mark.parametrize(
    ("given_order", "order"),
    [
        pytest.param(["f:b", "f:a", "f:B"], ["f:B", "f:a", "f:b"], id="fields by their bytes"),
        pytest.param(["v:1", "k:{}", "f:z", "i:0"], ["f:z", "k:{}", "v:1", "i:0"], id="fields, keys, values, indices"),
        pytest.param(["v:10", "v:9", 'v:"a"', "v:true"], ["v:9", "v:10", 'v:"a"', "v:true"], id="values by type, then by value"),
        pytest.param(['k:{"p":80}', 'k:{"p":8}'], ['k:{"p":8}', 'k:{"p":80}'], id="keys by their values"),
        pytest.param(['k:{"a":1,"b":1}', 'k:{"a":1}'], ['k:{"a":1}', 'k:{"a":1,"b":1}'], id="fewer keys before more"),
        pytest.param(["i:10", "i:9"], ["i:9", "i:10"], id="indices as numbers"),
    ],
)
def test_elements_are_written_in_the_order_of_the_server(given_order: list[str], order: list[str]) -> None:
    """Whatever order a client sent them in."""
    assert list(FieldSet.parse({key: {} for key in given_order}).fields_v1()) == order


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        pytest.param('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}', id="names of keys are sorted"),
        pytest.param('k:{"port":80.0}', 'k:{"port":80}', id="80.0 is 80"),
        pytest.param('v:"a<b"', 'v:"a\\u003cb"', id="marks of HTML are escaped, as Go does"),
        pytest.param("i:007", "i:7", id="an index is a number"),
    ],
)
def test_elements_have_one_spelling(key: str, canonical: str) -> None:
    """Two spellings of one element are one element."""
    assert list(FieldSet.parse({key: {}}).fields_v1()) == [canonical]


def test_unknown_kinds_of_elements_are_left_out() -> None:
    """As a later version of the server may write some; what held nothing else is owned itself."""
    assert FieldSet.parse({"f:a": {"x:new": {}}, "x:other": {}}).fields_v1() == {"f:a": {}}


@pytest.mark.parametrize("fields", [{"plain": {}}, {"f:a": 1}, {"k:[": {}}, {"i:x": {}}, {"k:1": {}}])
def test_what_is_no_set_is_refused(fields: Fields) -> None:
    """So that an entry with it is not taken."""
    with pytest.raises(Malformed):
        FieldSet.parse(fields)


def test_a_path_does_not_take_what_is_below_it_unless_asked() -> None:
    """`difference` takes paths alone, `without` everything below them."""
    both = FieldSet.parse({"f:a": {".": {}, "f:b": {}}})
    above = FieldSet.of(("a",))
    assert both.difference(above) == FieldSet.of(("a", "b"))
    assert not both.without(above)
    assert FieldSet.of(("a",)).difference(FieldSet.of(("a", "b"))) == above


def test_leaves_are_the_paths_without_paths_below() -> None:
    """The place of a map is no leaf while one of its keys is owned."""
    assert FieldSet.parse({"f:a": {".": {}, "f:b": {}}, "f:c": {}}).leaves().paths() == [".c", ".a.b"]


def test_paths_read_as_in_messages_of_the_server() -> None:
    """Members of a level first, then what is below them."""
    fields = {"f:b": {".": {}, 'k:{"name":"x","port":80}': {"f:c": {}}, 'v:"y"': {}}, "f:a": {"f:d": {}}, "f:z": {}}
    assert FieldSet.parse(fields).paths() == [".b", ".z", ".a.d", '.b[="y"]', '.b[name="x",port=80].c']


def test_contains_asks_for_members() -> None:
    """A place above a member is none."""
    fields = FieldSet.parse({"f:a": {"f:b": {}}})
    assert fields.contains(["f:a", "f:b"])
    assert not fields.contains(["f:a"])
    assert not fields.contains(["f:a", "f:x"])
    assert not fields.contains([])


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (key_element([("name", "a"), ("port", 80)]), '[name="a",port=80]'),
        (value_element(True), "[=true]"),
        (value_element(None), "[=null]"),
        (value_element([1, "a"]), '[=[1,"a"]]'),
        ("f:a", ".a"),
        ("i:3", "[3]"),
    ],
)
def test_elements_are_readable(element: str, text: str) -> None:
    """As they stand in the field of a cause."""
    assert readable(element) == text


@given(SETS, SETS, SETS)
def test_the_arithmetic_is_that_of_sets(one: FieldSet, two: FieldSet, three: FieldSet) -> None:
    """Paths are members or not: the laws of sets hold."""
    assert one.union(two) == two.union(one)
    assert one.union(two).union(three) == one.union(two.union(three))
    assert one.intersection(two) == two.intersection(one)
    assert one.intersection(two) == one.difference(one.difference(two))
    assert one.difference(two).union(one.intersection(two)) == one
    assert set(one.union(two).paths()) == {*one.paths(), *two.paths()}
    assert set(one.difference(two).paths()) == {*one.paths()} - {*two.paths()}


@given(SETS, SETS)
def test_nothing_stays_below_what_is_excluded(one: FieldSet, two: FieldSet) -> None:
    """`without` is a difference that also takes what is below."""
    left = set(one.without(two).paths())
    assert left <= set(one.difference(two).paths())
    assert not any(path.startswith((f"{gone}.", f"{gone}[")) for path in left for gone in two.paths())


@given(SETS)
def test_sets_survive_their_text(one: FieldSet) -> None:
    """Reading what was written gives the same set and the same text."""
    again = FieldSet.parse(orjson.loads(orjson.dumps(one.fields_v1())))
    assert again == one
    assert hash(again) == hash(one)
    assert same_text(again.fields_v1(), FieldSet(one.tree).fields_v1())
