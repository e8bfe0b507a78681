"""The way of an object from a body to the store, for kinds that differ in it."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from apis.meta import Manifest
from manager.embedded.kinds.customs import whole_numbers
from manager.embedded.kinds.strategy import Strategy, strategy
from manager.embedded.kinds.table import KINDS
from manager.embedded.openapi import builtin
from manager.embedded.schema import Schema
from manager.embedded.served import Column, Served
from manager.embedded.status import StatusError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@cache
def of(kind: str, version: str = "v1") -> Strategy:
    """The strategy of a built-in kind."""
    return next(strategy(each) for each in builtin() if (each.kind, each.version) == (kind, version))


def custom(**parts: Any) -> Strategy:
    """The strategy of a custom kind with a size and a mode."""
    spec = Schema(
        type="object",
        properties={
            "size": Schema(type="integer", reference=""),
            "mode": Schema(type="string", default="slow", has_default=True),
        },
    )
    metadata = Schema(type="object", preserve_unknown=True)
    text = Schema(type="string")
    status = Schema(type="object", preserve_unknown=True)
    root = Schema(
        type="object",
        properties={"apiVersion": text, "kind": text, "metadata": metadata, "spec": spec, "status": status},
    )
    return strategy(
        Served("example.com", "v1", "Gadget", "gadgets", namespaced=True, schema=root, definition="gadgets.example.com", **parts)
    )


def made(own: Strategy, body: Manifest, **metadata: Any) -> Manifest:
    """A new object as it would be stored."""
    obj = own.default(own.decode(body)[0])
    obj["metadata"] |= {"name": "x", "namespace": "default", "uid": "u", "resourceVersion": "5"} | metadata
    return own.prepare_create(obj, NOW)


def body(kind: str, **parts: Any) -> Manifest:
    """A body of a core kind."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {}} | parts


def test_every_row_of_the_table_is_a_served_kind():
    """A misspelt name would be a kind without rules."""
    assert set(KINDS) <= {each.resource for each in builtin()}


def test_every_served_kind_can_be_read_and_has_as_many_cells_as_columns():
    """All have a Go type; those that are listed have rows."""
    for served in builtin():
        own = strategy(served)
        obj = own.default(own.decode({"metadata": {"name": "x"}})[0])
        if served.columns and "create" in served.verbs:
            assert len(_row(own, obj)) >= 2, served.kind


def _row(own: Strategy, obj: Manifest) -> list[Any]:
    try:
        return own.row(obj, NOW)
    except TypeError:
        # Required lists are null in an object without a spec; validation never lets it come so far.
        return ["", ""]


def test_a_body_needs_no_kind():
    """The path says what it is."""
    decoded, _ = of("ConfigMap").decode({"metadata": {"name": "x"}})
    assert (decoded["apiVersion"], decoded["kind"]) == ("v1", "ConfigMap")


@pytest.mark.parametrize(("validation", "told"), [("Ignore", []), ("Warn", ['unknown field "foo"'])])
def test_unknown_fields_are_told_when_asked_for(validation: str, told: list[str]):
    """They are left out in any case."""
    assert of("ConfigMap").decode(body("ConfigMap", foo=1), field_validation=validation)[1] == told


def test_unknown_fields_are_refused_when_strict():
    """All of them in one answer."""
    with pytest.raises(StatusError) as raised:
        of("ConfigMap").decode(body("ConfigMap", foo=1, bar={}), field_validation="Strict")
    said = 'strict decoding error: unknown field "foo", unknown field "bar"'
    assert raised.value.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {said}'


def test_inputs_stay_as_they_are():
    """Stored objects are shared: nobody may change one."""
    own, text = of("Service"), body("Service", spec={"ports": [{"port": 80}]})
    decoded, _ = own.decode(text)
    before = str(decoded)
    own.default(decoded)
    live = made(own, text)
    kept = str(live)
    own.prepare_update(live | {"spec": live["spec"] | {"type": "NodePort"}}, live)
    own.prepare_status(live, live)
    assert (str(decoded), str(live)) == (before, kept)


def test_texts_of_a_secret_become_data():
    """And win over data of the same name."""
    decoded, _ = of("Secret").decode(body("Secret", stringData={"a": "x"}, data={"a": "eQ==", "b": "eg=="}))
    assert decoded["data"] == {"a": "eA==", "b": "eg=="}
    assert "stringData" not in decoded


def test_a_status_is_not_created():
    """Its subresource writes it."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}
    assert made(of("Deployment"), {"spec": spec, "status": {"replicas": 3}})["status"] == {}


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        ({"spec": {"replicas": 2}}, 2),
        ({"metadata": {"annotations": {"a": "b"}}}, 2),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"status": {"replicas": 5}}, 1),
    ],
)
def test_a_change_of_what_is_counted_raises_the_generation(change: Manifest, generation: int):
    """Of a Deployment, annotations are counted, too."""
    own = of("Deployment")
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}
    live = made(own, {"spec": spec})
    new = {key: value | change.get(key, {}) if isinstance(value, dict) else value for key, value in live.items()}
    changed = own.prepare_update(new, live)
    assert (changed["metadata"]["generation"], changed["status"]) == (generation, live["status"])


def test_a_write_to_the_status_leaves_the_rest():
    """The spec, and of a Deployment the labels."""
    own = of("Deployment")
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}
    live = made(own, {"spec": spec})
    new = live | {"spec": {}, "status": {"replicas": 1}, "metadata": live["metadata"] | {"labels": {"c": "d"}}}
    written = own.prepare_status(new, live)
    assert (written["spec"], written["status"]) == (live["spec"], {"replicas": 1})
    assert "labels" not in written["metadata"]


def test_system_fields_are_never_changed_by_a_client():
    """Creation time, deletion and generation are those of the live object."""
    own = of("ConfigMap")
    live = made(own, body("ConfigMap"), creationTimestamp="2026-01-01T00:00:00Z", deletionTimestamp="2026-01-02T00:00:00Z")
    metadata = {"name": "x", "namespace": "default", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7}
    changed = own.prepare_update(live | {"metadata": metadata}, live)["metadata"]
    assert changed["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert (changed["deletionTimestamp"], changed["uid"]) == ("2026-01-02T00:00:00Z", "u")
    assert "generation" not in changed


def test_reset_fields_are_those_that_a_write_does_not_own():
    """The status for the object, the spec for its status; a Deployment's status leaves labels, too."""
    assert of("Deployment").reset["status"].fields_v1() == {"f:metadata": {"f:labels": {}}, "f:spec": {}}
    assert of("Deployment").reset[""].fields_v1() == {"f:status": {}}
    assert of("ConfigMap").reset == {}


def test_a_namespace_is_named_by_a_label_and_held_by_its_finalizer():
    """Both are the server's."""
    made_ = made(of("Namespace"), body("Namespace", status={"phase": "Terminating"}))
    assert made_["spec"] == {"finalizers": ["kubernetes"]}
    assert made_["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert made_["status"] == {"phase": "Active"}


def test_metadata_is_checked_in_full():
    """Each complaint once, at its field."""
    own = of("ConfigMap")
    bad = made(own, body("ConfigMap"), name="A_b", labels={"a b": "c/d"}, finalizers=["x"])
    fields = [cause.field for cause in own.validate(bad)]
    assert fields == ["metadata.name", "metadata.labels", "metadata.labels", "metadata.finalizers[0]"]


def test_an_empty_list_can_be_owned_and_is_null_when_it_is_stored():
    """`rules: []` of a Role is a field of who sent it, and no list afterwards."""
    decoded, _ = of("Role").decode({"metadata": {"name": "x"}, "rules": []})
    assert decoded["rules"] == []
    assert made(of("Role"), {"metadata": {}, "rules": []})["rules"] is None


@pytest.mark.parametrize(("own", "kept"), [(of("ConfigMap"), True), (custom(), False)])
def test_an_empty_list_of_managed_fields_clears_those_of_built_in_kinds(own: Strategy, kept: bool):
    """Of custom kinds it is as if it was not there."""
    decoded, _ = own.decode({"metadata": {"name": "x", "managedFields": []}})
    assert ("managedFields" in decoded["metadata"]) is kept


def test_a_merged_custom_object_keeps_its_nulls():
    """Server-side apply does not drop them, and they are refused."""
    own = custom()
    assert own.finish({"metadata": {"name": "x"}, "spec": {"size": None}})["spec"]["size"] is None
    assert "size" not in own.default({"metadata": {"name": "x"}, "spec": {"size": None}})["spec"]


def test_a_deep_object_is_no_stack_overflow():
    """Numbers are looked for without recursion."""
    deep: Any = 1.0
    for _ in range(2000):
        deep = {"a": deep}
    found = whole_numbers({"spec": deep})["spec"]
    while isinstance(found, dict):
        found = found["a"]
    assert repr(found) == "1"


def test_numbers_of_custom_resources_are_stored_as_go_writes_them():
    """1.0 is 1, but a float until it is stored."""
    decoded, _ = custom().decode({"metadata": {"name": "x"}, "spec": {"size": 1.0}})
    assert repr(decoded["spec"]["size"]) == "1.0"
    assert repr(whole_numbers(decoded)["spec"]["size"]) == "1"


# Kinds of definitions


def test_a_custom_resource_is_pruned_and_gets_its_defaults():
    """By its schema."""
    own = custom()
    decoded, warnings = own.decode({"metadata": {"name": "x"}, "spec": {"size": 1, "odd": 2}}, field_validation="Warn")
    assert own.default(decoded)["spec"] == {"size": 1, "mode": "slow"}
    assert warnings == ['unknown field "spec.odd"']


def test_metadata_of_a_custom_resource_is_that_of_every_object():
    """Wrong types in it are refused in the same words."""
    with pytest.raises(StatusError, match=r"Go struct field ObjectMeta\.labels of type string"):
        custom().decode({"metadata": {"name": "x", "labels": {"a": 5}}})


def test_a_custom_status_is_dropped_only_where_it_is_a_subresource():
    """Without the subresource it is a field like any other, and counted."""
    given = {"metadata": {"name": "x"}, "spec": {}, "status": {"a": 1}}
    with_status, without = custom(subresources=frozenset(("status",))), custom()
    assert "status" not in made(with_status, given)
    live = made(without, given)
    assert live["status"] == {"a": 1}
    assert without.prepare_update(live | {"status": {"a": 2}}, live)["metadata"]["generation"] == 2


def test_a_custom_status_write_changes_the_status_alone():
    """Not even labels."""
    own = custom(subresources=frozenset(("status",)))
    live = made(own, {"metadata": {"name": "x"}, "spec": {"size": 1}})
    new = live | {"spec": {"size": 2}, "status": {"a": 1}, "metadata": live["metadata"] | {"labels": {"a": "b"}}}
    assert own.prepare_status(new, live) == live | {"status": {"a": 1}}


def test_a_custom_row_shows_the_columns_of_its_definition():
    """The first one is the name."""
    own = custom(columns=(Column("Name"), Column("Size", "integer", ".spec.size")))
    assert own.row({"metadata": {"name": "x"}, "spec": {"size": 3}}, NOW) == ["x", 3]
