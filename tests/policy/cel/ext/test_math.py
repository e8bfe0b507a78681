"""Functions of `math`."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import CelError
from policy.cel.ext import math as ours
from tests.policy.cel.ext.evaluation import evaluate

INTS = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("math.greatest(1, 2.5)", 2.5),
        ("math.greatest(1)", 1),
        ("math.greatest(3, 1, 2)", 3),
        ("math.least([3, 1, 2])", 1),
        ("math.least(1u, dyn(2))", 1),
        ("math.greatest(1, 1.0)", 1),
        ("math.round(-1.5)", -2.0),
        ("math.round(0.49999999999999994)", 0.0),
        ("math.trunc(-1.7)", -1.0),
        ("math.ceil(1.2)", 2.0),
        ("math.floor(-1.2)", -2.0),
        ("math.abs(-3)", 3),
        ("math.abs(-3.5)", 3.5),
        ("math.sign(-3)", -1),
        ("math.sign(0u)", 0),
        ("math.sign(2.0)", 1.0),
        ("math.isNaN(math.sign(0.0 / 0.0))", True),
        ("math.isInf(1.0 / 0.0)", True),
        ("math.isFinite(1.0)", True),
        ("math.sqrt(81)", 9.0),
        ("math.isNaN(math.sqrt(-1.0))", True),
        ("math.bitAnd(5, 3)", 1),
        ("math.bitOr(5u, 2u)", 7),
        ("math.bitXor(1, 3)", 2),
        ("math.bitNot(0u)", 2**64 - 1),
        ("math.bitShiftLeft(1, 63)", -(2**63)),
        ("math.bitShiftLeft(1, 64)", 0),
        ("math.bitShiftRight(-1024, 3)", 2305843009213693824),
        ("math.bitShiftRight(8u, 200)", 0),
        ("type(math.bitNot(1u)) == uint", True),
        ("type(math.abs(1u)) == uint", True),
    ],
)
def test_a_function_of_math_gives_a_value(text: str, value: object) -> None:
    """Halves go away from zero, shifts fall out of 64 bits, and a uint stays one."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "math.abs(-9223372036854775808)",
        "math.bitShiftLeft(1, -1)",
        "math.bitShiftRight(1u, -1)",
        "math.greatest()",
        "math.greatest('a')",
        "math.greatest([])",
        "math.greatest(dyn([]))",
        "math.greatest(1, {})",
        "math.greatest(dyn('a'), dyn('b'))",
        "math.greatest(0.0 / 0.0, 1.0)",
        "math.ceil(1)",
        "math.sign(dyn(true))",
        "math.bitAnd(1, 1u)",
    ],
)
def test_what_has_no_result_is_an_error(text: str) -> None:
    """Overflow, negative shifts, and arguments that are no numbers."""
    with pytest.raises(CelError):
        evaluate(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_stays_within_a_half(number: float) -> None:
    """And is whole, and of the same sign."""
    found = ours.rounded(number)
    assert abs(found - number) <= 0.5
    assert found.is_integer()
    assert math.copysign(1, found) == math.copysign(1, number)


@given(INTS, st.integers(0, 70))
def test_shifts_stay_within_64_bits(number: int, by: int) -> None:
    """To the left as multiplication without overflow, to the right with zeros from above."""
    assert -(2**63) <= ours.shift_left(number, by) < 2**63
    assert (ours.shift_left(number, by) - number * 2**by) % 2**64 == 0
    assert ours.shift_right(number, by) % 2**64 == number % 2**64 >> by
