"""What a validation rule sees of a value: names that CEL can say, formats as what they mean, and nothing that is null."""

from typing import Any

import pytest

from manager.embedded.declared import declared
from manager.embedded.structural import read
from manager.embedded.views import escaped, view
from policy import cel
from policy.cel.types import DYN

TEXT = {"type": "string"}
SET = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key"],
    "items": {"type": "object", "properties": {"key": TEXT}},
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plain", "plain"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("1st", None),
        ("a b", None),
    ],
)
def test_a_field_has_a_name_that_can_be_said(name: str, said: str | None) -> None:
    """Or none, and then rules cannot speak of it."""
    assert escaped(name) == said


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "double"),
        ({"type": "string", "format": "date-time"}, "google.protobuf.Timestamp"),
        ({"type": "string", "format": "duration", "nullable": True}, "google.protobuf.Duration"),
        ({"type": "array", "items": {"type": "string", "format": "byte"}}, "list(bytes)"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "map(string, bool)"),
        ({"x-kubernetes-int-or-string": True}, "dyn"),
        ({"type": "array", "items": {"type": "object"}}, "list(selfType.@idx)"),
        ({"type": "object", "additionalProperties": {"type": "object"}}, "map(string, selfType.@elem)"),
        ({"type": "object"}, "selfType"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "None"),
        ({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}, "None"),
    ],
)
def test_a_node_has_a_type(schema: dict[str, Any], kind: str) -> None:
    """None where nothing is said of its values."""
    assert str(declared(read(schema), resource=False)) == kind


def test_a_resource_shows_two_names_of_its_metadata() -> None:
    """And the kind that it always has, whatever the schema says."""
    schema = read({"type": "object", "properties": {"spec": {"type": "object"}}})
    known = {"self": declared(schema, resource=True) or "dyn"}
    assert str(cel.compile("self.metadata.generateName + self.kind + self.apiVersion", known).result_type) == "string"
    with pytest.raises(cel.CelError, match="undefined field 'labels'"):
        cel.compile("self.metadata.labels", known)


def test_a_field_that_is_null_is_not_there() -> None:
    """An item of a list or an entry of a map is."""
    schema = read({"type": "object", "properties": {"a": TEXT | {"nullable": True}, "b": {"type": "object"}}})
    assert view(schema, {"a": None, "b": {}}) == {"b": {}}


@pytest.mark.parametrize(
    ("schema", "value", "text", "holds"),
    [
        (SET, ["a", "b"], "self == ['b', 'a']", True),
        (SET, ["a", "b"], "self + ['a'] == ['b', 'a']", True),
        (SET, ["a"], "self + [dyn([optional.of({'a': [1]})])] == self", False),
        (MAP, [{"key": "a"}, {"key": "b"}], "self == [self[1], self[0]]", True),
        (MAP, [{"key": "a"}], "self + self == self", True),
        (MAP, [{"key": "a"}], "self + [dyn(1)] == self", False),
        (MAP, [{"key": "a"}], "self + [dyn([{'a': 1}])] == self", False),
    ],
)
def test_a_set_or_map_knows_no_order(schema: dict[str, Any], value: Any, text: str, holds: bool) -> None:
    """Whatever an expression adds to it."""
    node = read(schema)
    program = cel.prepare(text, cel.Environment({"self": declared(node, resource=False) or DYN}, cel.default()))
    assert program.evaluate({"self": view(node, value)}) is holds
