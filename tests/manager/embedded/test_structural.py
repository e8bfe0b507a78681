"""What a definition's schema does to objects: alone, and beside a server, which gets the same objects."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded import constraints, formats, structural
from manager.embedded.definitions import served_of
from manager.embedded.quick import fits
from manager.embedded.schema import Schema
from manager.embedded.status import Cause
from tests.manager.embedded import gadgets
from tests.support.api import Api, Reply, eventually
from tests.support.names import fresh

Manifest = dict[str, Any]

SERVED = served_of(gadgets.definition("gadgets.example.com"))[0]
SCHEMA = SERVED.schema


def gadget(content: Manifest, group: str = "gadgets.example.com", **metadata: str) -> Manifest:
    """An object of the definition."""
    return {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "x"} | metadata} | content


def prepared(obj: Manifest, schema: Schema = SCHEMA) -> tuple[Manifest, list[str]]:
    """The object as the server stores it, and the unknown fields."""
    pruned, unknown = structural.prune(schema, obj)
    return structural.default(schema, structural.drop_nulls(schema, pruned)), unknown


def judged(obj: Manifest, old: Manifest | None = None, schema: Schema = SCHEMA, **more: Any) -> list[Cause]:
    """Why the object is refused, after it was prepared."""
    return structural.validate(schema, prepared(obj, schema)[0], old and prepared(old, schema)[0], **more)


def told(causes: list[Cause]) -> list[tuple[str, str, str]]:
    """Causes in an order of their own: the server's maps have none."""
    return sorted((cause.reason, cause.field, cause.message) for cause in causes)


def said(reply: Reply) -> list[tuple[str, str, str]]:
    """The causes of an answer in the same order."""
    return sorted((cause.get("reason", ""), cause.get("field", ""), cause.get("message", "")) for cause in reply.causes)


def content(obj: Manifest) -> Manifest:
    """An object without its metadata."""
    return {key: value for key, value in obj.items() if key != "metadata"}


@pytest.fixture(scope="module")
def group(admin: Api) -> Iterator[str]:
    """A group of its own in which a server serves the definition."""
    name = f"{fresh('gadgets')}.example.com"
    definition = gadgets.definition(name)
    admin.create(definition).expect(201)
    eventually(lambda: admin.request("GET", f"/apis/{name}/v1/gadgets").status == 200)
    yield name
    admin.delete(definition).expect(200)


@pytest.mark.parametrize("case", gadgets.CREATED)
def test_a_server_judges_a_new_object_as_we_do(api: Api, group: str, case: str) -> None:
    """The same causes in the same words, or the same object stored and the same warnings."""
    obj = gadget(gadgets.CREATED[case], group, namespace="default")
    reply = api.create(obj, dryRun="All", fieldValidation="Warn")
    expected, unknown = prepared(obj)
    expected.pop("status", None)
    causes = structural.validate(SCHEMA, expected, scale=SERVED.scale)
    assert said(reply) == told(causes)
    if not causes:
        assert content(reply.expect(201).body) == content(expected)
        assert sorted(re.findall(r'unknown field \\"([^"\\]*)\\"', reply.headers.get("warning", ""))) == unknown


@pytest.mark.parametrize("case", gadgets.CHANGED)
def test_a_server_judges_a_change_as_we_do(api: Api, group: str, namespace: str, case: str) -> None:
    """Rules about a change see the value before, also by the key of a row."""
    before, after = (gadget(content, group, namespace=namespace) for content in gadgets.CHANGED[case])
    created = api.create(before)
    if created.status != 201:
        assert said(created) == told(judged(before))
        return
    after["metadata"]["resourceVersion"] = created.body["metadata"]["resourceVersion"]
    reply = api.replace(after)
    assert said(reply) == told(judged(after, before))


STRICTER: dict[str, tuple[Manifest, Manifest]] = {
    "nothing has changed": ({"name": "TOO-LONG"}, {"name": "TOO-LONG"}),
    "another field has changed": ({"name": "TOO-LONG"}, {"name": "TOO-LONG", "flag": True}),
    "this field has changed": ({"name": "TOO-LONG"}, {"name": "STILL-TOO-LONG"}),
    "a row has stayed": ({"rows": [{"key": "a", "value": 9}]}, {"rows": [{"key": "b"}, {"key": "a", "value": 9}]}),
    "a row has changed": ({"rows": [{"key": "a", "value": 9}]}, {"rows": [{"key": "a", "value": 8}]}),
    "a row has come": ({"rows": [{"key": "a", "value": 9}]}, {"rows": [{"key": "a", "value": 9}, {"key": "b", "value": 9}]}),
    "a list without keys has changed": ({"tags": ["a", "b", "c", "d"]}, {"tags": ["a", "b", "c", "d", "e"]}),
    "a list without keys has stayed": ({"tags": ["a", "b", "c", "d"]}, {"tags": ["a", "b", "c", "d"]}),
    "a required field was never there": ({"either": {}}, {"either": {}, "flag": True}),
    "a choice has changed": ({"either": {}}, {"either": {"a": "1", "b": "1"}}),
    "a map has a new entry": ({"labels": {"a": "12345"}}, {"labels": {"a": "12345", "b": "1"}}),
    "a map has a bad new entry": ({"labels": {"a": "12345"}}, {"labels": {"a": "12345", "b": "12345"}}),
    "a set had duplicates": ({"doubles": ["a", "a"]}, {"doubles": ["a", "a", "b"]}),
    "a rule was broken before": ({"even": 3}, {"even": 3, "flag": True}),
    "a rule is broken anew": ({"even": 3}, {"even": 5}),
}


def loosened(schema: Any) -> Any:
    """A schema without constraints and rules."""
    kept = ("type", "properties", "items", "additionalProperties", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
    also = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "nullable")
    if not isinstance(schema, dict):
        return schema
    loose = {word: value for word, value in schema.items() if word in kept + also}
    for word in ("items", "additionalProperties"):
        if word in loose:
            loose[word] = loosened(loose[word])
    if "properties" in loose:
        loose["properties"] = {name: loosened(each) for name, each in loose["properties"].items()}
    if loose.get("x-kubernetes-list-type") == "map":
        loose["items"]["required"] = schema["x-kubernetes-list-map-keys"]
    return loose


@pytest.fixture(scope="module")
def stricter(admin: Api) -> Iterator[tuple[str, Schema, dict[str, str]]]:
    """A definition that was loose when the objects of STRICTER came, and is not any more; the names of the objects."""
    name = f"{fresh('stricter')}.example.com"
    spec = deepcopy(gadgets.SPEC)
    del spec["required"]
    spec["properties"] |= {
        "doubles": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "even": gadgets.RULED["properties"]["even"],
    }
    loose = loosened(spec)
    loose["properties"]["doubles"]["x-kubernetes-list-type"] = "atomic"
    definition = gadgets.definition(name, spec=loose, ruled={"type": "object"})
    del definition["spec"]["versions"][0]["subresources"]["scale"]
    created = admin.create(definition).expect(201).body
    eventually(lambda: admin.request("GET", f"/apis/{name}/v1/gadgets").status == 200)
    objects = {}
    for at, (case, (before, _)) in enumerate(STRICTER.items()):
        objects[case] = f"x{at}"
        admin.create(gadget({"spec": before}, name, name=f"x{at}", namespace="default")).expect(201)
    version = gadgets.definition(name, spec=spec, ruled={"type": "object"})["spec"]["versions"][0]
    del version["subresources"]["scale"]
    admin.merge_patch(created, {"spec": {"versions": [version]}}).expect(200)
    wrong = gadget({"spec": {"name": "TOO-LONG"}}, name, namespace="default")
    # The server takes a moment to serve the new schema.
    eventually(lambda: admin.create(wrong, dryRun="All").status == 422)
    yield name, structural.from_crd_version(version), objects
    admin.delete(definition).expect(200)


@pytest.mark.parametrize("case", STRICTER)
def test_what_has_not_changed_is_not_held_against_an_update(
    api: Api, stricter: tuple[str, Schema, dict[str, str]], case: str
) -> None:
    """A definition that became stricter does not stop the work on objects that were there before."""
    name, schema, objects = stricter
    before, after = (gadget({"spec": spec}, name, name=objects[case], namespace="default") for spec in STRICTER[case])
    reply = api.merge_patch(after, {"spec": after["spec"]}, dryRun="All")
    assert said(reply) == told(judged(after, before, schema))


def test_a_status_is_judged_alone() -> None:
    """A write to the status does not answer for the spec."""
    obj = gadget({"spec": {"size": 99}, "status": {"phase": "Ready"}})
    causes = structural.validate(SCHEMA, obj, gadget({"spec": {"size": 99}}), subresource="status")
    assert [(cause.reason, cause.field) for cause in causes] == [
        ("FieldValueTooLong", "status.phase"),
        ("FieldValueInvalid", "<nil>"),
    ]


def test_what_others_found_comes_first_and_stops_the_rules() -> None:
    """Rules are run on what is whole."""
    missing = Cause("FieldValueRequired", "Required value", "metadata.name")
    causes = judged(gadget({"spec": {"size": 1}, "rules": {"even": 3}}), before=[missing])
    assert [cause.field for cause in causes] == ["metadata.name", "<nil>"]


def test_rules_may_cost_so_much_and_no_more() -> None:
    """The rule that goes beyond is named, and no further one is run."""
    rules = [{"rule": "self.all(a, self.all(b, a + b >= 0))"}, {"rule": "false"}]
    numbers = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    schema = structural.from_crd_version({"schema": {"openAPIV3Schema": {"type": "object", "properties": {"numbers": numbers}}}})
    few = structural.validate(schema, gadget({"numbers": [1, 2]}))
    assert [cause.message for cause in few] == ["Invalid value: failed rule: false"]
    [cause] = structural.validate(schema, gadget({"numbers": [1] * 3000}))
    assert cause.message.startswith("Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        pytest.param("bsonobjectid", ["507f1f77bcf86cd799439011"], ["x"], id="bsonobjectid"),
        pytest.param("cidr", ["::/0", "010.0.0.0/8"], ["1.2.3.4", "1.2.3.4/33", "1.2.3.4/x"], id="cidr"),
        pytest.param("creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112"], id="creditcard"),
        pytest.param("duration", ["1h30m", "-1.5s", "3 days", "2wk"], ["", "soon", "3 moons"], id="duration"),
        pytest.param("date-time", ["2026-01-02t03:04:05z"], ["2026-01-02", "2026-01-02T24:00:00Z"], id="date-time"),
        pytest.param("hexcolor", ["#ffF", "0a0B0c"], ["#ffff"], id="hexcolor"),
        pytest.param("isbn", ["0321751043", "978-0321751041"], ["0321751044"], id="isbn"),
        pytest.param("k8s-long-name", ["a.b-c"], ["a..b", "A"], id="k8s-long-name"),
        pytest.param("rgbcolor", ["rgb(0, 255,3)"], ["rgb(256,0,0)"], id="rgbcolor"),
        pytest.param("ssn", ["078-05-1120"], ["078"], id="ssn"),
        pytest.param("uuid4", ["00000000-0000-4000-8000-000000000000"], ["00000000-0000-1000-8000-000000000000"], id="uuid4"),
        pytest.param("password", ["", "anything"], [], id="password"),
    ],
)
def test_a_format_is_held_against_strings(name: str, good: list[str], bad: list[str]) -> None:
    """Those that the differential test does not meet."""
    assert formats.known(name)
    assert all(formats.fits(name, text) for text in good)
    assert not any(formats.fits(name, text) for text in bad)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["key", "value", "known", "a", "mode", "apiVersion"]), below, max_size=3)
    ),
    max_leaves=6,
)
SPECS = st.dictionaries(st.sampled_from(sorted(gadgets.SPEC["properties"])), VALUES, max_size=4)
RULED = st.dictionaries(st.sampled_from(sorted(gadgets.RULED["properties"])), VALUES, max_size=4)


@given(SPECS, RULED)
def test_an_object_is_never_changed_in_place(spec: Manifest, rules: Manifest) -> None:
    """Whatever it holds, it is judged, and the caller's object stays as it was."""
    obj = gadget({"spec": spec, "rules": rules})
    before = deepcopy(obj)
    stored, _ = prepared(obj)
    kept = deepcopy(stored)
    structural.validate(SCHEMA, stored, stored, scale=SERVED.scale)
    assert (obj, stored) == (before, kept)


@given(SPECS, RULED)
def test_what_was_stored_is_stored_again_as_it_is(spec: Manifest, rules: Manifest) -> None:
    """Pruning and defaults are done after the first time."""
    stored, _ = prepared(gadget({"spec": spec, "rules": rules}))
    again, unknown = prepared(stored)
    assert (again, unknown) == (stored, [])


@given(SPECS, RULED)
def test_the_quick_look_misses_nothing(spec: Manifest, rules: Manifest) -> None:
    """What it says to fit, a close look finds nothing in; and with it the causes are the same."""
    stored, _ = prepared(gadget({"spec": spec, "rules": rules}))
    closely = constraints.check_closely(SCHEMA, stored)
    assert not (fits(SCHEMA)(stored) and closely)
    assert told(constraints.check(SCHEMA, stored)) == told(closely)


@given(SPECS)
def test_an_unchanged_field_is_never_a_reason(spec: Manifest) -> None:
    """Ratcheting lets pass everything that is as it was, but for what is required of the whole."""
    stored, _ = prepared(gadget({"spec": spec | {"size": 1}}))
    fields = {cause.field for cause in structural.validate(SCHEMA, stored, stored)}
    # Embedded resources are checked at every write, and so are errors about no field and rows whose keys are not there.
    assert all(field == "<nil>" or field.startswith(("spec.embedded", "spec.rows", "spec.pairs")) for field in fields)
