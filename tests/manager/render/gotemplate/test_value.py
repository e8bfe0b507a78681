"""Go values: their types, their truth, and how they are printed."""

from typing import Any

import pytest

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import Exceeded
from manager.render.gotemplate.value import (
    MISSING,
    Int64,
    Map,
    Object,
    Slice,
    Uint8,
    basic,
    decoded,
    encoded,
    gotype,
    is_nil,
    kind,
    shortest,
    string,
    strings,
    text,
    truth,
    zero,
)


class Version(Object):
    """An object as functions make them."""

    gotype = "*semver.Version"
    kind = "ptr"

    def text(self) -> str:
        """The version."""
        return "1.2.3"


@pytest.mark.parametrize(
    ("value", "type_", "kind_", "family"),
    [
        (None, "<nil>", "invalid", ""),
        (MISSING, "<nil>", "invalid", ""),
        (True, "bool", "bool", "bool"),
        (1, "int", "int", "int"),
        (Int64(1), "int64", "int64", "int"),
        (Uint8(1), "uint8", "uint8", "uint"),
        (1.0, "float64", "float64", "float"),
        ("a", "string", "string", "string"),
        ([], "[]interface {}", "slice", ""),
        (strings(["a"]), "[]string", "slice", ""),
        (Slice([1], "int"), "[]int", "slice", ""),
        ({}, "map[string]interface {}", "map", ""),
        (Map({"a": "b"}, "string"), "map[string]string", "map", ""),
        (Version(), "*semver.Version", "ptr", ""),
    ],
)
def test_a_value_has_a_type_a_kind_and_a_family(value: Any, type_: str, kind_: str, family: str) -> None:
    """As Go's `%T` and its reflection name them; values of one family can be compared."""
    assert (gotype(value), kind(value), basic(value)) == (type_, kind_, family)


@pytest.mark.parametrize("value", [None, MISSING, False, 0, Int64(0), 0.0, "", [], {}, zero("[]string")])
def test_what_is_empty_is_false(value: Any) -> None:
    """And nothing else is."""
    assert not truth(value)


@pytest.mark.parametrize("value", [True, 1, -0.5, "0", [None], {"a": None}, Version()])
def test_what_is_not_empty_is_true(value: Any) -> None:
    """Whatever it holds."""
    assert truth(value)


def test_nil_has_many_types() -> None:
    """A nil slice is nil; an empty one is not."""
    assert [is_nil(value) for value in (None, MISSING, zero("[]int"), zero("map[string]string"))] == [True] * 4
    assert [is_nil(value) for value in ([], {}, Slice(), "", 0)] == [False] * 5


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (None, "<nil>"),
        (MISSING, "<no value>"),
        (True, "true"),
        (Int64(-5), "-5"),
        ("a", "a"),
        ([1, "b", None, [2.5]], "[1 b <nil> [2.5]]"),
        ({"b": 1, "a": {"é": True}}, "map[a:map[é:true] b:1]"),
        ([], "[]"),
        ({}, "map[]"),
        ([Version()], "[1.2.3]"),
    ],
)
def test_a_value_is_printed_as_by_go(value: Any, printed: str) -> None:
    """Maps in the order of their keys."""
    assert text(value, Budget()) == printed


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (123456789.5, "1.234567895e+08"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e21, "1e+21"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_float_has_its_shortest_digits(number: float, printed: str) -> None:
    """With an exponent when it is large or small."""
    assert shortest(number) == printed


def test_json_is_decoded_as_by_kubernetes() -> None:
    """Integers are int64 where they fit; half of a surrogate pair is the replacement character."""
    made = decoded({"a": [1, 2.0, True, None, "x\ud800"], "b": 1 << 63, "\udc80": (1,)})
    assert made == {"a": [1, 2.0, True, None, "x\ufffd"], "b": float(1 << 63), "\ufffd": [1]}
    assert [gotype(value) for value in made["a"][:3]] == ["int64", "float64", "bool"]


def test_json_is_decoded_as_by_go_itself() -> None:
    """There every number is a float64."""
    assert gotype(decoded(1, integers=float)) == "float64"


def test_a_string_is_bytes() -> None:
    """Those that are no UTF-8 come back as they were."""
    assert encoded(string(b"\xc3\xa9\xff")) == b"\xc3\xa9\xff"


def test_what_is_printed_is_bounded() -> None:
    """Values within themselves, and values that are shared many times over, do not take the memory of the process."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Exceeded, match="nested more than 100 levels deep"):
        text(loop, Budget())
    shared: list[Any] = ["x"]
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(Exceeded, match="too many steps"):
        text(shared, Budget())
