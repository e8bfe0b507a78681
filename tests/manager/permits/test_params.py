"""Parameters are held against the schema of the template, in the words of the API server."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.problems import Invalid
from manager.permits import params
from manager.permits.params import check_schema, checked

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["user"],
    "properties": {
        "user": {"type": "string", "pattern": "^[a-z]+$"},
        "pods": {"type": "integer", "default": 3, "maximum": 100},
        "metadata": {"type": "string"},
        "roles": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "window": {"type": "object", "properties": {"from": {"type": "string", "default": "now"}}},
    },
    "x-kubernetes-validations": [{"rule": "self.pods < 10 || self.user == 'root'", "message": "only root has so many pods"}],
}


def of(**properties: Any) -> dict[str, Any]:
    """A schema of an object with these properties."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "given_params", "expected"),
    [
        pytest.param(None, None, {}, id="no schema and no parameters"),
        pytest.param(None, {}, {}, id="no schema and an empty map"),
        pytest.param(SCHEMA, {"user": "a"}, {"user": "a", "pods": 3}, id="a default is filled in"),
        pytest.param(SCHEMA, {"user": "a", "pods": None}, {"user": "a", "pods": 3}, id="null is the default"),
        pytest.param(
            SCHEMA, {"user": "a", "window": {}}, {"user": "a", "pods": 3, "window": {"from": "now"}}, id="a default further down"
        ),
        pytest.param(SCHEMA, {"user": "a", "pods": 4.0}, {"user": "a", "pods": 4}, id="a whole float is an integer"),
        pytest.param(
            SCHEMA, {"user": "a", "metadata": "m"}, {"user": "a", "metadata": "m", "pods": 3}, id="metadata is a name like others"
        ),
        pytest.param(of(a={"type": "string"}), None, {}, id="none are an empty map"),
        pytest.param({**of(a={"type": "string"}), "default": {"a": "x"}}, None, {"a": "x"}, id="the default of all of them"),
        pytest.param(
            {"type": "object", params.words.PRESERVE: True}, {"b": {"c": 1}}, {"b": {"c": 1}}, id="unknown ones are preserved"
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string"}}, {"b": "c"}, {"b": "c"}, id="free names of one type"
        ),
        pytest.param(
            {**of(a={"type": "string"}), "additionalProperties": False}, {"a": "x"}, {"a": "x"}, id="what is closed anyhow"
        ),
    ],
)
def test_parameters_that_fit_are_answered_with_their_defaults(schema: Any, given_params: Any, expected: Any) -> None:
    """What a template renders from is complete."""
    assert checked(schema, given_params) == expected


@pytest.mark.parametrize(
    ("schema", "given_params", "message"),
    [
        pytest.param(SCHEMA, None, "params.user: Required value", id="missing"),
        pytest.param(SCHEMA, {"user": None}, "params.user: Required value", id="null"),
        pytest.param(
            SCHEMA,
            {"user": "B"},
            "params.user: Invalid value: \"B\": params.user in body should match '^[a-z]+$'",
            id="a value that does not match",
        ),
        pytest.param(
            SCHEMA,
            {"user": {"a": 1}},
            'params.user: Invalid value: "object": params.user in body must be of type string: "object"',
            id="a value of another type",
        ),
        pytest.param(SCHEMA, {"user": "a", "pods": 11}, "params: Invalid value: only root has so many pods", id="a broken rule"),
        pytest.param(SCHEMA, {"user": "a", "roles": ["x", "x"]}, 'params.roles[1]: Duplicate value: "x"', id="twice in a set"),
        pytest.param(
            SCHEMA,
            {"usr": "a"},
            "params.usr: unknown parameter: remove it, or correct its spelling; params.user: Required value",
            id="unknown",
        ),
        pytest.param(None, {"a": 1}, "params: the template takes no parameters: remove spec.params", id="none are taken"),
        pytest.param(
            SCHEMA,
            ["user"],
            'params: Invalid value: "array": params in body must be of type object: "array"',
            id="a list",
        ),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(schema: Any, given_params: Any, message: str) -> None:
    """The message says which parameter is wrong, in the words of the API server."""
    with pytest.raises(Invalid) as refused:
        checked(schema, given_params)
    assert str(refused.value) == message


def test_a_long_value_is_cut_and_the_reason_is_not() -> None:
    """What is wrong stands at the end of the message, so the value is cut out of the middle."""
    with pytest.raises(Invalid) as refused:
        checked(SCHEMA, {"user": "a" * 5000 + "!"})
    assert len(str(refused.value)) <= params.LONGEST
    assert str(refused.value).startswith("params.user: Invalid value: ")
    assert str(refused.value).endswith("should match '^[a-z]+$'")


def test_many_problems_are_counted() -> None:
    """A message is bounded, whatever is sent."""
    with pytest.raises(Invalid) as refused:
        checked(SCHEMA, {"user": "a", **{f"x{number}": 1 for number in range(50)}})
    assert str(refused.value).count("unknown parameter") == params.MOST
    assert str(refused.value).endswith("and 40 more")


FORM = {"widget": "kubernetes-resource", "source": {"apiVersion": "v1", "kind": "Secret", "namespace": "request"}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(SCHEMA, id="words of structural schemas"),
        pytest.param({"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMA}, id="with its dialect"),
        pytest.param(of(a={"type": "string", "x-capsule-form": FORM}), id="hints at a property"),
        pytest.param(of(a={"type": "array", "items": {"type": "string", "x-capsule-form": FORM}}), id="hints at the items"),
        pytest.param(of(a={"x-kubernetes-int-or-string": True}), id="int or string"),
        pytest.param({**of(a={"type": "string"}), "anyOf": [{"required": ["a"]}, {"maxProperties": 0}]}, id="alternatives"),
    ],
)
def test_a_schema_is_accepted(schema: Any) -> None:
    """Structural schemas are, with the hints that forms have."""
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(5, "spec.paramSchema: must be a schema: a map with a type", id="no schema"),
        pytest.param({}, "spec.paramSchema.type: must be object: parameters have names", id="no type"),
        pytest.param({"type": "string"}, "spec.paramSchema.type: must be object: parameters have names", id="no object"),
        pytest.param(
            of(a={"type": "string", "const": "x"}),
            "spec.paramSchema.properties[a].const: not a word of structural schemas: write enum with one value",
            id="const",
        ),
        pytest.param(
            {**of(a={"type": "string"}), "allOf": [{"if": {}, "then": {}}]},
            "spec.paramSchema.allOf[0].if: not a word of structural schemas: write a rule in x-kubernetes-validations; "
            "spec.paramSchema.allOf[0].then: not a word of structural schemas: write a rule in x-kubernetes-validations",
            id="if",
        ),
        pytest.param(
            of(a={"$ref": "#/$defs/a"}),
            "spec.paramSchema.properties[a].$ref: not a word of structural schemas: write the schema out where it is used",
            id="a reference",
        ),
        pytest.param(
            of(a={"type": "string", "maxlength": 3}),
            "spec.paramSchema.properties[a].maxlength: unknown word: remove it, or correct its spelling",
            id="a word of no dialect",
        ),
        pytest.param(
            of(a={"type": ["string", "null"]}),
            "spec.paramSchema.properties[a].type: must be one type: for null as well write nullable, "
            "for a number or a string x-kubernetes-int-or-string",
            id="two types",
        ),
        pytest.param(
            of(a={"type": "integer", "exclusiveMinimum": 3}),
            "spec.paramSchema.properties[a].exclusiveMinimum: must be true or false: write the bound as minimum or maximum",
            id="a bound of the newer dialect",
        ),
        pytest.param(
            of(a={"type": "string", "maxLength": "3"}),
            "spec.paramSchema.properties[a].maxLength: must be a whole number from 0",
            id="a number in quotes",
        ),
        pytest.param(
            of(a={}),
            "spec.paramSchema.properties[a].type: Required value: must not be empty for specified object fields",
            id="a property without a type",
        ),
        pytest.param(
            of(a={"type": "string", "pattern": "("}),
            'spec.paramSchema.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `(`",
            id="no regular expression",
        ),
        pytest.param(
            of(a={"type": "integer", "default": "x"}),
            'spec.paramSchema.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
            id="a default that does not fit",
        ),
        pytest.param(
            {**of(a={"type": "string"}), "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a"}]},
            "spec.paramSchema.x-kubernetes-validations[0].rule: parameters never change, so that there is no oldSelf: "
            "write the rule over self",
            id="a rule about a change",
        ),
        pytest.param(
            {**of(a={"type": "string"}), "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": True}]},
            "spec.paramSchema.x-kubernetes-validations[0].optionalOldSelf: parameters never change, so that there is no oldSelf: "
            "remove it",
            id="a rule about what may have been",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": False, params.words.PRESERVE: True},
            "spec.paramSchema.x-kubernetes-preserve-unknown-fields: contradicts additionalProperties: remove one of them",
            id="open and closed",
        ),
        pytest.param(
            of(a={"type": "string", "x-capsule-form": {**FORM, "colour": "red"}}),
            "spec.paramSchema.properties[a].x-capsule-form: colour: unknown field: remove it, or correct its spelling",
            id="unknown hints",
        ),
        pytest.param(
            of(a={"type": "string", "x-capsule-form": {**FORM, "source": {"apiVersion": "v1"}}}),
            "spec.paramSchema.properties[a].x-capsule-form: source.kind: required: add it",
            id="hints without a kind",
        ),
        pytest.param(
            {"type": "object", "x-capsule-form": FORM},
            "spec.paramSchema.x-capsule-form: describes one parameter: move it to a property",
            id="hints at no property",
        ),
    ],
)
def test_a_schema_that_cannot_be_judged_by_is_refused_by_path(schema: Any, message: str) -> None:
    """What is not understood would not be checked: it is refused, with what to write instead."""
    with pytest.raises(Invalid) as refused:
        check_schema(schema)
    assert str(refused.value) == message


def test_a_rule_that_does_not_compile_is_refused() -> None:
    """A wrong name is found before anybody asks for a permit."""
    schema = {**of(a={"type": "string"}), "x-kubernetes-validations": [{"rule": "self.b == ''", "message": "b"}]}
    with pytest.raises(Invalid, match=r"^spec\.paramSchema\.x-kubernetes-validations\[0\]\.rule: (.|\n)*undefined field 'b'"):
        check_schema(schema)


def nested(levels: int) -> Any:
    """A list in a list ..."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_a_schema_is_bounded() -> None:
    """Neither its size nor its depth can keep the manager busy, or overrun the stack."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(25):
        deep = of(a=deep)
    with pytest.raises(Invalid, match="has more than 24 levels: make it flatter"):
        check_schema(deep)
    with pytest.raises(Invalid, match=r"^spec.paramSchema: has more than 64 levels: make it flatter"):
        check_schema(of(a={"type": "string", "default": nested(100_000)}))
    with pytest.raises(Invalid, match="has more than 65536 characters"):
        check_schema(of(**{f"a{number}": {"type": "string"} for number in range(5000)}))


def test_parameters_are_bounded() -> None:
    """What is nested without an end is not looked at."""
    free = {"type": "object", params.words.PRESERVE: True}
    assert checked(free, {"a": nested(60)}) == {"a": nested(60)}
    with pytest.raises(Invalid, match=r"^params: has more than 64 levels: make it flatter"):
        checked(free, {"a": nested(100_000)})


def test_parameters_for_a_wrong_schema_are_refused() -> None:
    """A template that was never judged does not let everything through."""
    with pytest.raises(Invalid, match=r"^spec\.paramSchema\.type"):
        checked({"type": "strin"}, {"a": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x"]), JSON, max_size=5))
def test_what_was_accepted_is_accepted_as_it_was_answered(given_params: dict[str, Any]) -> None:
    """Whatever is sent is refused as Invalid, or fits; and with its defaults it fits, unchanged."""
    before = repr(given_params)
    with contextlib.suppress(Invalid):
        once = checked(SCHEMA, given_params)
        assert checked(SCHEMA, once) == once
        assert set(once) <= set(SCHEMA["properties"])
    assert repr(given_params) == before


@given(JSON | st.dictionaries(st.sampled_from([*params.words._WORDS, "const", "x"]), JSON, max_size=4))
def test_any_schema_is_accepted_or_refused(schema: Any) -> None:
    """Nothing that an author writes is a defect of ours."""
    with contextlib.suppress(Invalid):
        check_schema(schema)
