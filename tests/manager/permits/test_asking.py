"""Texts of the command line as values of a schema, and what must be asked for."""

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.permits.asking import Parameter, Unfit, assigned, missing, names, parameters, parsed, written

SCHEMA = {
    "type": "object",
    "required": ["count", "name", "size"],
    "properties": {
        "note": {"type": "string"},
        "name": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": "integer"},
        "size": {"type": "integer", "default": 3},
    },
}


def one(type_: str, **more: Any) -> Parameter:
    """A parameter of a type."""
    return Parameter("x", {"type": type_, **more} if type_ else more, False)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("string", "007", "007"),
        ("string", "true", "true"),
        ("string", "", ""),
        ("string", "a=b", "a=b"),
        ("integer", "-12", -12),
        ("number", "1.5", 1.5),
        ("number", "2.0", 2),
        ("boolean", "false", False),
        ("array", "[1, a]", [1, "a"]),
        ("array", "- a\n- b", ["a", "b"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("", "2", 2),
        ("", "two", "two"),
    ],
)
def test_a_text_is_read_by_its_type(type_: str, text: str, value: Any) -> None:
    """Without a type, as YAML."""
    found = parsed(one(type_), text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("integer", "1.0"),
        ("integer", "1" * 30),
        ("number", "1e5"),
        ("number", "inf"),
        ("boolean", "True"),
        ("array", "{a: 1}"),
        ("object", "a"),
        ("object", "{a: "),
        ("", "a: [b"),
    ],
)
def test_what_is_no_value_is_refused(type_: str, text: str) -> None:
    """And says what would be one."""
    with pytest.raises(Unfit):
        parsed(one(type_), text)


def test_an_int_or_string_is_either() -> None:
    """By what it looks like."""
    either = one("", **{"x-kubernetes-int-or-string": True})
    assert (parsed(either, "8080"), parsed(either, "http")) == (8080, "http")


@given(st.text(), st.text(alphabet=st.characters(blacklist_characters="="), min_size=1))
def test_a_string_is_taken_as_it_is(text: str, name: str) -> None:
    """Whatever it looks like, and with every character in it."""
    schema = {"properties": {name: {"type": "string"}}}
    assert assigned([f"{name}={text}"], schema) == {name: text}


def test_required_parameters_come_first_and_those_with_a_default_are_not_missing() -> None:
    """In the order of the schema."""
    known = parameters(SCHEMA)
    assert [each.name for each in known] == ["name", "count", "size", "note"]
    lacking = missing(known, {"name": "a"})
    assert list(map(str, lacking)) == ["count (integer)"]
    assert list(names(missing(known, {}))) == ["--param name=a|b", "--param count=integer"]
    assert parameters(None) == parameters({}) == ()


def test_a_template_without_parameters_takes_none() -> None:
    """One whose schema is open takes any."""
    with pytest.raises(click.UsageError, match="the template has no such parameter: it knows none"):
        assigned(["a=1"], {})
    assert assigned(["a=1"], {"additionalProperties": {"type": "integer"}}) == {"a": 1}
    assert assigned(["a=1"], {"x-kubernetes-preserve-unknown-fields": True}) == {"a": 1}
    assert assigned(["a=1"], None) == {"a": 1}


def test_the_last_assignment_wins() -> None:
    """As with every option."""
    assert assigned(["note=a", "note=b"], SCHEMA) == {"note": "b"}


def test_values_are_written_as_they_are_typed() -> None:
    """Choices of booleans too."""
    assert [written(each) for each in (True, False, 1, "a")] == ["true", "false", "1", "a"]
