"""Selectors, as the real server reads them."""

import pytest

from manager.embedded.selectors import FieldTerm, fields, labels, matches
from manager.embedded.status import StatusError

FOUND = {"a": "1", "b": "", "n": "7"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("a", True),
        ("c", False),
        ("!c", True),
        ("!a", False),
        ("a=1", True),
        ("a==1", True),
        ("a=2", False),
        ("a!=2", True),
        ("c!=2", True),
        ("a in (1, 2)", True),
        ("a in (2)", False),
        ("a notin (2)", True),
        ("c notin (2)", True),
        ("b=", True),
        ("a=1,b", True),
        ("a=1,c", False),
        ("n>6", True),
        ("n<7", False),
        ("a.b/c-d!=x", True),
        ("in=1", False),
    ],
)
def test_a_label_selector_holds_or_not(text: str, holds: bool) -> None:
    """All forms of requirements, alone and together."""
    assert labels(text)(FOUND) is holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a===", "unable to parse requirement: found '=', expected: identifier"),
        ("a!!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators"),
        ("a=_", 'unable to parse requirement: values[0][a]: Invalid value: "_": a valid label must be'),
        ("a/b/c", 'unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of'),
        (f"a={'x' * 64}", "must be no more than 63 bytes"),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_400(text: str, said: str) -> None:
    """In the words of the real server."""
    with pytest.raises(StatusError) as error:
        labels(text)
    assert error.value.code == 400
    assert said in error.value.message


def test_fields_are_compared_as_text() -> None:
    """Booleans and numbers too; what is absent is empty."""
    item = {"metadata": {"name": "x"}, "spec": {"on": True, "n": 3}}
    offered = ("metadata.name", "spec.on", "spec.n", "spec.none")
    assert matches(item, fields("metadata.name=x,spec.on=true,spec.n==3,spec.none=", offered))
    assert not matches(item, fields("metadata.name!=x", offered))


def test_escapes_stand_for_themselves() -> None:
    """A comma or an equals sign in a value is written with a backslash."""
    assert fields(r"a=b\,c\=d", ("a",)) == (FieldTerm("a", "b,c=d", True),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec.foo=x", '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    ],
)
def test_a_field_selector_that_is_not_offered_is_400(text: str, said: str) -> None:
    """In the words of the real server."""
    with pytest.raises(StatusError, match=said) as error:
        fields(text, ("metadata.name", "metadata.namespace"))
    assert error.value.code == 400
