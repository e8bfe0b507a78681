"""What the operators do with values: arithmetic in 64 bits, order, membership, index and field.

Every function takes any values and raises CelError when the operator has no result for them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.times import Duration, Timestamp, duration, timestamp
from policy.cel.values import (
    ABSENT,
    INT_MAX,
    INT_MIN,
    LISTS,
    NUMBERS,
    UINT_MAX,
    KeyedList,
    Optional,
    UInt,
    as_key,
    compare,
    equal,
    normal,
)


def mismatch(operator: str) -> CelError:
    """The error of an operator whose operands have types that it does not take."""
    return CelError(f"no such overload: `{operator}` does not take values of these types")


def signed(value: int) -> int:
    """The value, if it fits in 64 bits with a sign."""
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("the integer overflows 64 bits")
    return value


def unsigned(value: int) -> UInt:
    """The value, if it fits in 64 bits without a sign."""
    if not 0 <= value <= UINT_MAX:
        raise CelError("the unsigned integer overflows 64 bits")
    return UInt(value)


def add(a: Any, b: Any, budget: Budget) -> Any:
    """`a + b`."""
    action = _ADD.get((type(a), type(b)))
    if action is None:
        a, b = normal(a), normal(b)
        action = _ADD.get((type(a), type(b)))
    if action is None:
        raise mismatch("+")
    return action(a, b, budget)


def _join(a: Any, b: Any, budget: Budget) -> Any:
    budget.grow(len(a) + len(b))
    return a + b


def _append(a: Any, b: Any, budget: Budget) -> list[Any]:
    budget.charge(len(a) + len(b))
    return [*a, *b]


def _later(a: Any, b: Any, _: Budget) -> Timestamp:
    return timestamp(a.nanos + b.nanos)


def _plus(a: Any, b: Any, budget: Budget) -> Any:
    if type(a) is int and not (INT_MIN <= a <= INT_MAX and INT_MIN <= b <= INT_MAX):
        return add(normal(a), normal(b), budget)  # JSON may hold an integer that is a double in CEL
    return _number(type(a), a + b)


Action = Callable[[Any, Any, Budget], Any]
_ADD: dict[tuple[type, type], Action] = {
    (str, str): _join,
    (bytes, bytes): _join,
    (Timestamp, Duration): _later,
    (Duration, Timestamp): _later,
    (Duration, Duration): lambda a, b, _: duration(a.nanos + b.nanos),
    **{(one, other): _append for one in LISTS for other in LISTS if one is not KeyedList},
    **{(KeyedList, other): KeyedList.plus for other in LISTS},
    **{(kind, kind): _plus for kind in (int, UInt, float)},
}


def subtract(a: Any, b: Any, _: Budget) -> Any:
    """`a - b`."""
    a, b = normal(a), normal(b)
    match a, b:
        case Timestamp(), Timestamp():
            return duration(a.nanos - b.nanos)
        case Timestamp(), Duration():
            return timestamp(a.nanos - b.nanos)
        case Duration(), Duration():
            return duration(a.nanos - b.nanos)
    return _number(type(a), a - b) if _alike(a, b) else _no("-")


def multiply(a: Any, b: Any, _: Budget) -> Any:
    """`a * b`."""
    a, b = normal(a), normal(b)
    return _number(type(a), a * b) if _alike(a, b) else _no("*")


def divide(a: Any, b: Any, _: Budget) -> Any:
    """`a / b`: toward zero for integers, IEEE 754 for doubles."""
    a, b = normal(a), normal(b)
    if not _alike(a, b):
        raise mismatch("/")
    if isinstance(a, float):
        return _quotient(a, b)
    if b == 0:
        raise CelError("division by zero")
    whole = abs(a) // abs(b)
    return _number(type(a), whole if (a < 0) == (b < 0) else -whole)


def _quotient(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a != a or a == 0:
            return float("nan")
        positive = (a > 0) == (not str(b).startswith("-"))
        return float("inf") if positive else float("-inf")


def modulo(a: Any, b: Any, _: Budget) -> Any:
    """`a % b`: the remainder has the sign of `a`."""
    a, b = normal(a), normal(b)
    if not _alike(a, b) or isinstance(a, float):
        raise mismatch("%")
    if b == 0:
        raise CelError("modulus by zero")
    rest = abs(a) % abs(b)
    return _number(type(a), -rest if a < 0 else rest)


def negate(a: Any) -> Any:
    """`-a`."""
    a = normal(a)
    if type(a) is int:
        return signed(-a)
    if type(a) is float:
        return -a
    raise mismatch("-")


def _alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in NUMBERS


def _number(kind: type, result: Any) -> Any:
    """The result of arithmetic in the type of its operands, which are alike."""
    if kind is float:
        return result
    return unsigned(result) if kind is UInt else signed(result)


def _no(operator: str) -> Any:
    raise mismatch(operator)


def less(a: Any, b: Any, budget: Budget) -> bool:
    """`a < b`."""
    return compare(a, b, budget) < 0


def less_or_equal(a: Any, b: Any, budget: Budget) -> bool:
    """`a <= b`."""
    return compare(a, b, budget) <= 0


def greater(a: Any, b: Any, budget: Budget) -> bool:
    """`a > b`."""
    return compare(a, b, budget) > 0


def greater_or_equal(a: Any, b: Any, budget: Budget) -> bool:
    """`a >= b`."""
    return compare(a, b, budget) >= 0


def unequal(a: Any, b: Any, budget: Budget) -> bool:
    """`a != b`."""
    return not equal(a, b, budget)


def contained(a: Any, b: Any, budget: Budget) -> bool:
    """`a in b`: an element of a list or a key of a map."""
    kind = type(b)
    if kind in LISTS:
        if type(a) is str:
            budget.charge(len(b) * (len(a) // 10 + 1))
            return a in b
        budget.charge(2 * len(b))
        if type(a) is int and a not in b:  # Python finds more alike than CEL, never less
            return False
        return any(equal(a, item, budget) for item in b)
    if isinstance(b, Mapping):
        try:
            return as_key(a) in b
        except CelError:
            if isinstance(a, bytes):
                raise
            return False  # what no key can be is none of them; Kubernetes fails for bytes
    raise mismatch("in")


ABSENT_KEY = "no such key"
OUTSIDE = "the index is out of range"


def index(value: Any, position: Any) -> Any:
    """`value[position]`."""
    kind = type(value)
    if kind in LISTS:
        return value[_position(value, position)]
    if kind is Optional:
        return _within(value, lambda inner: optional_index(inner, position))
    if isinstance(value, Mapping):
        key = as_key(position)
        if key in value:
            return value[key]
        raise CelError(ABSENT_KEY)
    raise mismatch("[]")


def optional_index(value: Any, position: Any) -> Optional:
    """`value[?position]`."""
    kind = type(value)
    if kind in LISTS:
        try:
            return Optional(True, value[_position(value, position)])
        except CelError as error:
            if error.message == OUTSIDE:
                return ABSENT
            raise
    if kind is Optional:
        return _within(value, lambda inner: optional_index(inner, position))
    if isinstance(value, Mapping):
        key = as_key(position)
        return Optional(True, value[key]) if key in value else ABSENT
    return ABSENT


def _position(value: Any, position: Any) -> int:
    position = normal(position)
    if type(position) not in NUMBERS:
        raise mismatch("[]")
    if position != position or position in (float("inf"), float("-inf")) or position != int(position):
        raise CelError("an index is a whole number")
    if not 0 <= position < len(value):
        raise CelError(OUTSIDE)
    return int(position)


def select(value: Any, field: str) -> Any:
    """`value.field`; of an optional value, an optional field."""
    if type(value) is Optional:
        return _within(value, lambda inner: _selected(inner, field))
    if isinstance(value, Mapping):
        if field in value:
            return value[field]
        raise CelError(f"{ABSENT_KEY}: `{field}`")
    raise _fieldless(field)


def _selected(value: Any, field: str) -> Optional:
    if not isinstance(value, Mapping):
        raise _fieldless(field)
    return optional_select(value, field)


def _fieldless(field: str) -> CelError:
    return CelError(f"no such overload: what `.{field}` is selected from has no fields")


# What asks whether something is there gets a no from null, numbers and texts, as in Kubernetes: `has(object.spec.x)` fails
# where `spec` is missing, and is false where it is null. A list is asked by number.


def optional_select(value: Any, field: str) -> Optional:
    """`value.?field`."""
    if type(value) is Optional:
        return _within(value, lambda inner: optional_select(inner, field))
    if isinstance(value, Mapping):
        return Optional(True, value[field]) if field in value else ABSENT
    if isinstance(value, list | tuple):
        raise _fieldless(field)
    return ABSENT


def present(value: Any, field: str) -> bool:
    """`has(value.field)`."""
    if type(value) is Optional:
        return value.present and present(value.value, field)
    if isinstance(value, list | tuple):
        raise _fieldless(field)
    return isinstance(value, Mapping) and field in value


def _within(value: Optional, action: Callable[[Any], Optional]) -> Optional:
    """The selection goes on inside of an optional value."""
    return action(value.value) if value.present else ABSENT
