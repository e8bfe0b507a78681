"""Conversion to numbers, and arithmetic: int64 that wraps around, and decimals for floats."""

import math
import operator
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.numbers import float64
from manager.render.gotemplate.sprig.table import FLOAT, INT, STRING, growing, plain, words
from manager.render.gotemplate.value import ANY, Int64, Slice

LARGEST: Final = (1 << 63) - 1
SMALLEST: Final = -(1 << 63)
_BITS: Final = 64
_PRECISE: Final = 1 << 16  # bits of a decimal
_LETTERS: Final = "0123456789abcdef"
_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_NAMED: Final = re.compile(r"[+-]?(?:inf|infinity)|nan")


def wrapped(number: int) -> Int64:
    """The lowest 64 bits of a number, as int64."""
    return Int64((number + (1 << 63)) % (1 << 64) - (1 << 63))


def to_integer(value: Any) -> int:
    """The number that sprig makes of anything; 0 of what is none."""
    if isinstance(value, int):  # bool, too
        return int(wrapped(int(value)))
    if isinstance(value, float):
        # A float that does not fit becomes the smallest number, as on amd64.
        return int(value) if SMALLEST <= value < -SMALLEST else SMALLEST
    return _integer(value) if isinstance(value, str) else 0


def _integer(text: str) -> int:
    """A literal of Go, with base prefix and underscores; zeros behind a point are left out."""
    whole, point, fraction = text.rpartition(".")
    if point and fraction and not fraction.strip("0"):
        text = whole
    number = parsed(text, 0)
    return number if number is not None and SMALLEST <= number <= LARGEST else 0


def parsed(text: str, base: int) -> int | None:
    """The integer of this base; base 0 goes by the prefix and allows underscores. None when it is none, of any size otherwise."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if base == 0:
        base = 10
        prefix = _BASES.get(digits[:2].lower())
        if "_" in digits and not _spaced(digits, bool(prefix)):
            return None
        if prefix:
            base, digits = prefix, digits[2:]
        elif len(digits) > 1 and digits[0] == "0":
            base, digits = 8, digits[1:]
        digits = digits.replace("_", "")
    if not digits or digits.lower().strip(_LETTERS[:base]):
        return None
    # A number of more digits than bits is too large whatever they are.
    number = int(digits.lstrip("0")[: _BITS + 1] or "0", base)
    return -number if text[0] == "-" else number


def _spaced(digits: str, prefixed: bool) -> bool:
    """Are underscores between digits only, or behind the prefix?"""
    rest = digits[2:].removeprefix("_") if prefixed else digits
    return all(rest.split("_"))


def to_float(value: Any) -> float:
    """The float that sprig makes of anything; 0 of what is none."""
    if isinstance(value, int):
        return float(value)
    if isinstance(value, float):
        return value
    return _float(value) if isinstance(value, str) else 0.0


def _float(text: str) -> float:
    named = text.lower()
    number = float(named) if _NAMED.fullmatch(named) else float64(text)
    return 0.0 if number is None else number


def _atoi(text: str) -> int:
    number = parsed(text, 10)
    return 0 if number is None else min(max(number, SMALLEST), LARGEST)


def _to_decimal(budget: Budget, value: Any) -> Int64:
    number = parsed(words(value, budget), 8)
    return Int64(number if number is not None and SMALLEST <= number <= LARGEST else 0)


def _add(*values: Any) -> Int64:
    return wrapped(sum(map(to_integer, values)))


def _mul(first: Any, *rest: Any) -> Int64:
    product = wrapped(to_integer(first))
    for value in rest:
        product = wrapped(product * to_integer(value))
    return product


def _div(left: Any, right: Any) -> Int64:
    above, below = to_integer(left), to_integer(right)
    if below == 0:
        raise CallError("runtime error: integer divide by zero")
    quotient = abs(above) // abs(below)
    return wrapped(quotient if (above < 0) == (below < 0) else -quotient)


def _mod(left: Any, right: Any) -> Int64:
    above, below = to_integer(left), to_integer(right)
    if below == 0:
        raise CallError("runtime error: integer divide by zero")
    return Int64(abs(above) % abs(below) * (-1 if above < 0 else 1))


def _decimal(value: Any) -> Fraction:
    number = to_float(value)
    if not math.isfinite(number):
        name = "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
        raise CallError(f"Cannot create a Decimal from {name}")
    return Fraction(repr(number))  # the shortest decimal, not the binary value


def _folded(combine: Callable[[Fraction, Fraction], Fraction], start: Any, values: Iterable[Any]) -> float:
    total = _decimal(start)
    for value in values:
        total = combine(total, _decimal(value))
        if total.numerator.bit_length() + total.denominator.bit_length() > _PRECISE:
            raise Exceeded(f"a number would have more than {_PRECISE} bits")
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _quotient(above: Fraction, below: Fraction) -> Fraction:
    """Rounded to 16 decimal places, halves away from zero."""
    if below == 0:
        raise CallError("decimal division by 0")
    scaled = abs(above / below) * 10**16
    rounded = Fraction(math.floor(scaled + Fraction(1, 2)), 10**16)
    return rounded if (above < 0) == (below < 0) else -rounded


def _extreme(choose: Callable[[float, float], float]) -> Callable[..., float]:
    def extreme(*values: Any) -> float:
        return reduce(
            lambda one, other: math.nan if math.isnan(one) or math.isnan(other) else choose(one, other), map(to_float, values)
        )

    return extreme


def _whole(towards: Callable[[float], int]) -> Callable[[Any], float]:
    def whole(value: Any) -> float:
        number = to_float(value)
        return math.copysign(towards(number), number) if math.isfinite(number) else number

    return whole


def rounded(value: Any, places: int, *on: float) -> float:
    """Rounded to so many decimal places: up from the fraction `on` (0.5), down below it."""
    number, scale = to_float(value), _power(places)
    scaled = scale * number
    if not math.isfinite(scaled):
        return scaled / scale if math.isfinite(scale) else math.nan
    up = math.modf(scaled)[0] >= (on[0] if on else 0.5)
    whole = _whole(math.ceil if up else math.floor)(scaled)
    if scale == 0:
        return math.nan if whole == 0 else math.copysign(math.inf, whole)
    return whole / scale


def _power(places: int) -> float:
    try:
        return 10.0**places
    except OverflowError:
        return math.inf


def until_step(budget: Budget, start: int, stop: int, step: int) -> Slice:
    """The numbers from `start` on, before `stop`."""
    if step == 0 or (stop < start) != (step < 0):
        return Slice(element=INT)
    numbers = range(start, stop, step)
    budget.take(min(len(numbers), LARGEST) if -SMALLEST > stop - start > SMALLEST else LARGEST)
    budget.step(len(numbers))
    return Slice(numbers, INT)


def _until(budget: Budget, count: int) -> Slice:
    return until_step(budget, 0, count, -1 if count < 0 else 1)


def seq(budget: Budget, *bounds: int) -> str:
    """The numbers of the command `seq`, with spaces between."""
    if not 1 <= len(bounds) <= 3:
        return ""
    start, stop = (1, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[-1])
    down = -1 if stop < start else 1
    step = bounds[1] if len(bounds) == 3 else down
    if down < 0 < step:
        return ""
    numbers = until_step(budget, start, stop + down, step)
    return " ".join(map(str, numbers))


def _integral(choose: Callable[..., int]) -> Callable[..., Int64]:
    return lambda *values: Int64(choose(map(to_integer, values)))


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        plain("atoi", _atoi, STRING),
        plain("int", to_integer, ANY),
        plain("int64", lambda value: Int64(to_integer(value)), ANY),
        plain("float64", to_float, ANY),
        growing("toDecimal", _to_decimal, ANY),
        plain("add", _add, rest=ANY),
        plain("add1", lambda value: wrapped(to_integer(value) + 1), ANY),
        plain("sub", lambda left, right: wrapped(to_integer(left) - to_integer(right)), ANY, ANY),
        plain("mul", _mul, ANY, rest=ANY),
        plain("div", _div, ANY, ANY),
        plain("mod", _mod, ANY, ANY),
        plain("max", _integral(max), ANY, rest=ANY),
        plain("biggest", _integral(max), ANY, rest=ANY),
        plain("min", _integral(min), ANY, rest=ANY),
        plain("maxf", _extreme(max), ANY, rest=ANY),
        plain("minf", _extreme(min), ANY, rest=ANY),
        plain("add1f", lambda value: _folded(operator.add, value, (1,)), ANY),
        plain("addf", lambda *values: _folded(operator.add, 0, values), rest=ANY),
        plain("subf", lambda first, *rest: _folded(operator.sub, first, rest), ANY, rest=ANY),
        plain("mulf", lambda first, *rest: _folded(operator.mul, first, rest), ANY, rest=ANY),
        plain("divf", lambda first, *rest: _folded(_quotient, first, rest), ANY, rest=ANY),
        plain("floor", _whole(math.floor), ANY),
        plain("ceil", _whole(math.ceil), ANY),
        plain("round", rounded, ANY, INT, rest=FLOAT),
        growing("until", _until, INT),
        growing("untilStep", until_step, INT, INT, INT),
        growing("seq", seq, rest=INT),
    )
}
