"""`math.*`, as in cel-go's `ext.Math`: extremes, rounding, signs, roots and bits."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, Macro, Overload, globally
from policy.cel.macros import Expander, Fresh
from policy.cel.syntax import Call, Constant, Item, ListOf, MapOf, Name, Node, Refused
from policy.cel.types import BOOL, DOUBLE, DYN, INT, UINT, Type, list_of
from policy.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt, compare

MOST = 256  # arguments of `math.greatest`
COMPARED = 40  # units for a number of a list
_NUMBERS = (INT, UINT, DOUBLE)
_WIDTH = 64

Pick = Callable[[Budget, Any, Any], Any]


def greater(budget: Budget, a: Any, b: Any) -> Any:
    """The greater of two numbers; the first when they are equal. Raises CelError for NaN."""
    return b if _order(budget, a, b) < 0 else a


def lesser(budget: Budget, a: Any, b: Any) -> Any:
    """The lesser of two numbers; the first when they are equal. Raises CelError for NaN."""
    return b if _order(budget, a, b) > 0 else a


def _order(budget: Budget, a: Any, b: Any) -> int:
    if type(a) is bool or not all(isinstance(each, int | float) for each in (a, b)):
        raise CelError("only numbers have a greatest and a least one")
    return compare(a, b, budget)


def _of_list(pick: Pick) -> Callable[[Budget, Sequence[Any]], Any]:
    def choose(budget: Budget, numbers: Sequence[Any]) -> Any:
        if not numbers:
            raise CelError("an empty list has no greatest or least number")
        budget.charge(COMPARED * len(numbers))
        chosen = numbers[0]
        for number in numbers:
            chosen = pick(budget, chosen, number)
        return chosen

    return choose


def _extreme(name: str, pick: Pick) -> Function:
    """One, two or a list of numbers; of two kinds of numbers the result is either."""
    choose = _of_list(pick)
    pairs = [
        globally((a, b), a if a == b else DYN, pick, budget=True) for a in _NUMBERS for b in _NUMBERS
    ]  # fmt: skip
    singles = [globally((kind,), kind, _same) for kind in _NUMBERS]
    lists = [globally((list_of(kind),), kind, choose, budget=True) for kind in _NUMBERS]
    return Function(name, *singles, *pairs, *lists)


def _same(number: Any) -> Any:
    return number


def _expand(function: str) -> Expander:
    """`math.greatest(a, b, c)` -> a call with one list; what can be no number is refused at once."""

    def expand(call: Call, fresh: Fresh) -> Node | None:
        if not (isinstance(call.target, Name) and call.target.name == "math"):
            return None
        alone = call.arguments[0] if len(call.arguments) == 1 else None
        checked = tuple(item.value for item in alone.items) if isinstance(alone, ListOf) else call.arguments
        for argument in checked:
            if not _maybe_number(argument):
                raise Refused(f"`math.{call.name}` takes numbers or one list of numbers", argument.at)
        if not checked:
            raise Refused(f"`math.{call.name}` takes at least one number", call.at)
        arguments = call.arguments
        if len(arguments) > 2:
            arguments = (ListOf(fresh(), call.at, tuple(Item(argument) for argument in arguments)),)
        return Call(fresh(), call.at, function, None, arguments)

    return expand


def _maybe_number(node: Node) -> bool:
    if isinstance(node, Constant):
        return node.type in _NUMBERS
    return not isinstance(node, ListOf | MapOf)


def rounded(number: float) -> float:
    """To the nearest whole number; a half goes away from zero."""
    whole = truncated(number)
    return whole + math.copysign(1.0, number) if abs(number - whole) >= 0.5 else whole


def truncated(number: float) -> float:
    """Without its fraction; NaN and infinities stay."""
    return math.copysign(math.floor(abs(number)), number) if math.isfinite(number) else number


def ceiling(number: float) -> float:
    """The least whole number that is not less; NaN and infinities stay."""
    return math.copysign(math.ceil(number), number) if math.isfinite(number) else number


def floor(number: float) -> float:
    """The greatest whole number that is not greater; NaN and infinities stay."""
    return math.copysign(math.floor(number), number) if math.isfinite(number) else number


def absolute(number: int) -> int:
    """Without its sign. Raises CelError for the one int that has no positive counterpart."""
    if number == INT_MIN:
        raise CelError("integer overflow")
    return abs(number)


def sign(number: int) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


def sign_of_double(number: float) -> float:
    """-1.0, 0.0 or 1.0; NaN stays."""
    return number if math.isnan(number) else float((number > 0) - (number < 0))


def root(number: float) -> float:
    """The square root; NaN for what is negative."""
    return math.sqrt(number) if number >= 0 else math.nan


def _signed(bits: int) -> int:
    """The int that these 64 bits are."""
    bits &= UINT_MAX
    return bits - UINT_MAX - 1 if bits > INT_MAX else bits


def shift_left(number: int, by: int) -> int:
    """Bits moved up; what leaves the 64 bits is lost."""
    return _signed(0 if _distance(by) >= _WIDTH else number << by)


def shift_right(number: int, by: int) -> int:
    """Bits moved down; zeros come in from above, for negative numbers too."""
    return _signed(0 if _distance(by) >= _WIDTH else (number & UINT_MAX) >> by)


def _unsigned(shift: Callable[[int, int], int]) -> Callable[[int, int], UInt]:
    return lambda number, by: UInt(shift(number, by) & UINT_MAX)


def _distance(by: int) -> int:
    if by < 0:
        raise CelError("bits cannot be shifted by a negative number")
    return by


def _bits(name: str, combine: Callable[[int, int], int]) -> Function:
    return Function(
        name,
        globally((INT, INT), INT, combine),
        globally((UINT, UINT), UINT, lambda a, b: UInt(combine(a, b))),
    )


def _of_double(result: Type, call: Callable[[float], Any]) -> Overload:
    return globally((DOUBLE,), result, call)


_COUNTS: Final = frozenset(range(1, MOST + 1))

LIBRARY = Library(
    "math",
    functions=(
        _extreme("math.@max", greater),
        _extreme("math.@min", lesser),
        Function(
            "math.abs",
            _of_double(DOUBLE, abs),
            globally((INT,), INT, absolute),
            globally((UINT,), UINT, _same),
        ),
        _bits("math.bitAnd", int.__and__),
        _bits("math.bitOr", int.__or__),
        _bits("math.bitXor", int.__xor__),
        Function(
            "math.bitNot",
            globally((INT,), INT, int.__invert__),
            globally((UINT,), UINT, lambda number: UInt(UINT_MAX - number)),
        ),
        Function(
            "math.bitShiftLeft",
            globally((INT, INT), INT, shift_left),
            globally((UINT, INT), UINT, _unsigned(shift_left)),
        ),
        Function(
            "math.bitShiftRight",
            globally((INT, INT), INT, shift_right),
            globally((UINT, INT), UINT, _unsigned(shift_right)),
        ),
        Function("math.ceil", _of_double(DOUBLE, ceiling)),
        Function("math.floor", _of_double(DOUBLE, floor)),
        Function("math.isFinite", _of_double(BOOL, math.isfinite)),
        Function("math.isInf", _of_double(BOOL, math.isinf)),
        Function("math.isNaN", _of_double(BOOL, math.isnan)),
        Function("math.round", _of_double(DOUBLE, rounded)),
        Function(
            "math.sign",
            _of_double(DOUBLE, sign_of_double),
            globally((INT,), INT, sign),
            globally((UINT,), UINT, lambda number: UInt(sign(number))),
        ),
        Function("math.sqrt", *(globally((kind,), DOUBLE, root) for kind in _NUMBERS)),
        Function("math.trunc", _of_double(DOUBLE, truncated)),
    ),
    macros=(
        Macro("greatest", _COUNTS, _expand("math.@max")),
        Macro("least", _COUNTS, _expand("math.@min")),
    ),
)
