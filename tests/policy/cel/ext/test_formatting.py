"""The clauses of `string.format`."""

import pytest

from policy.cel import CelError, Exhausted
from tests.policy.cel.ext.evaluation import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"%s is %d".format([dyn("a"), dyn(1)])', "a is 1"),
        ('"100%%".format([])', "100%"),
        ('"%s".format([1.5])', "1.5"),
        ('"%s".format([3.0])', "3"),
        ('"%s".format([1e21])', "1000000000000000000000"),
        ('"%s".format([1e-7])', "0.0000001"),
        ('"%s".format([null])', "null"),
        ('"%s".format([true])', "true"),
        ('"%s".format([2u])', "2"),
        ('"%s".format([type(1)])', "int"),
        (r'"%s".format([b"a\xff"])', "a\ufffd"),
        ('"%s".format([duration("1.5s")])', "1.5s"),
        ('"%s".format([timestamp("2009-11-10T23:00:00.5Z")])', "2009-11-10T23:00:00.5Z"),
        ('"%s".format([[1, 2]])', "[1, 2]"),
        ('"%s".format([{"b": 1, "a": 2}])', "{a: 2, b: 1}"),
        ('"%s".format([[double("NaN"), double("-Infinity")]])', "[NaN, -Infinity]"),
        ('"%d".format([-5])', "-5"),
        ('"%d".format([2.5])', "2.5"),
        ('"%f".format([2])', "2.000000"),
        ('"%.1f".format([2.25])', "2.2"),
        ('"%.0f".format([2.5])', "2"),
        ('"%f".format([double("Infinity")])', "Infinity"),
        ('"%e".format([1052.032911275])', "1.052033e+03"),
        ('"%.2e".format([3u])', "3.00e+00"),
        ('"%b".format([-5])', "-101"),
        ('"%b".format([true])', "1"),
        ('"%o".format([8])', "10"),
        ('"%x".format([-255])', "-ff"),
        ('"%X".format([255u])', "FF"),
        ('"%x".format(["é"])', "c3a9"),
        ('"%X".format([b"J"])', "4A"),
        ('"%s".format([1, 2])', "1"),
    ],
)
def test_a_clause_writes_its_value(text: str, value: str) -> None:
    """Doubles without an exponent, maps by their keys, hexadecimal of numbers and of bytes."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '"%s %s".format([1])',
        '"%".format([1])',
        '"%a".format([1])',
        '"%5d".format([1])',
        '"%.f".format([1.0])',
        '"%.9999999f".format([1.0])',
        '"%d".format(["a"])',
        '"%d".format([null])',
        '"%f".format(["a"])',
        '"%e".format([true])',
        '"%b".format([1.5])',
        '"%o".format([true])',
        '"%x".format([1.5])',
        '"%s".format([quantity("1")])',
    ],
)
def test_a_clause_that_does_not_fit_is_an_error(text: str) -> None:
    """A verb that is none, a value of another type, or no value at all."""
    with pytest.raises(CelError):
        evaluate(text)


def test_a_message_shows_no_value() -> None:
    """It could be the content of a Secret."""
    with pytest.raises(CelError) as caught:
        evaluate('"%d".format([secret])', {"secret": "hunter2"})
    assert "hunter2" not in str(caught.value)
    assert "string" in str(caught.value)


def test_lists_within_lists_end_somewhere() -> None:
    """Nesting that no stack would hold is refused."""
    nested: list[object] = []
    for _ in range(500):
        nested = [nested]
    with pytest.raises(CelError, match="nested too deeply"):
        evaluate('"%s".format([deep])', {"deep": nested})


def test_what_is_written_is_paid_for() -> None:
    """Before it is made."""
    with pytest.raises(Exhausted):
        evaluate('"%s%s%s%s%s".format([a, a, a, a, a])', {"a": "a" * 1_000_000})
