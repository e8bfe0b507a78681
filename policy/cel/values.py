"""The values of CEL as Python holds them, and what all of them can do: tell their type, be compared, become plain.

| CEL | Python |
| --- | --- |
| null, bool, double, string, bytes | None, bool, float, str, bytes |
| int | int within 64 bits; a larger one, which JSON may hold, is a double |
| uint | UInt |
| list | list (a tuple is read as one), KeyedList |
| map | dict or any Mapping; only `in`, `[]`, iteration and `len` are used |
| timestamp, duration | Timestamp, Duration; a datetime or timedelta of a binding is read as one |
| type | TypeValue |
| optional | Optional |
| others | a subclass of Opaque |

A `bool` as the key of a map is a Key: Python takes True and 1 for the same key, and CEL does not.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isnan
from types import NoneType
from typing import Any, ClassVar

from policy.cel import types
from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.times import Duration, Timestamp, from_datetime, from_timedelta

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
UINT_MAX = 2**64 - 1
CONTAINER = 50  # units for entering a list or a map, besides its length


class UInt(int):
    """An unsigned integer. A subclass of int, so that equal numbers are equal keys; `type()` tells them apart."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(1)` and the name `int` give."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    present: bool
    value: Any = None


ABSENT = Optional(False)


class Opaque:
    """A value of a library's own type. A subclass names its CEL type and defines `__eq__`, `__hash__` and `__str__`."""

    __slots__ = ()
    cel: ClassVar[types.Type]


class KeyedList(list[Any]):
    """A list whose items have keys: a set, where an item is its own, or the entries of a map, as Kubernetes declares lists.

    It equals a list with the same items in any order. `+` keeps the places of its items: one of the other list replaces
    that with the same key, or is appended. Guarantee: only the list on the left decides, as in Kubernetes.
    """

    __slots__ = ("key",)

    def __init__(self, items: Iterable[Any], key: Callable[[Any], Hashable]) -> None:
        super().__init__(items)
        self.key = key

    def equals(self, other: Sequence[Any], budget: Budget) -> bool:
        """Are the items of the two the same?"""
        if len(self) != len(other):
            return False
        budget.charge(CONTAINER + 2 * len(other))
        mine = {self.key(item): item for item in self}
        return all((key := self.key(item)) in mine and equal(mine[key], item, budget) for item in other)

    def plus(self, other: Sequence[Any], budget: Budget) -> "KeyedList":
        """The items of both."""
        budget.charge(CONTAINER + 2 * (len(self) + len(other)))
        merged = {self.key(item): item for item in self}
        merged |= {self.key(item): item for item in other}
        return KeyedList(merged.values(), self.key)


@dataclass(frozen=True, slots=True)
class Key:
    """A bool as the key of a map."""

    value: bool


KEYS = {True: Key(True), False: Key(False)}

NAMES: dict[type, str] = {
    NoneType: "null_type",
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    tuple: "list",
    KeyedList: "list",
    dict: "map",
    Timestamp: types.TIMESTAMP.name,
    Duration: types.DURATION.name,
    TypeValue: "type",
    Optional: "optional_type",
}
NUMBERS = frozenset({int, UInt, float})
LISTS = frozenset({list, tuple, KeyedList})
_ATOMS = frozenset({NoneType, bool, int, UInt, float, Timestamp, Duration, TypeValue})
_ORDERED = frozenset({bool, int, UInt, float, str, bytes, Timestamp, Duration})
_TEXTS = frozenset({str, bytes})
_PLAIN = frozenset({NoneType, bool, float, str, bytes})


def normal(value: Any) -> Any:
    """A value of one of the Python types above, for what a binding may also hold. Raises CelError for anything else."""
    kind = type(value)
    if kind is int:
        return value if INT_MIN <= value <= INT_MAX else float(value) if abs(value) < 2**1023 else _infinite(value)
    if kind in NAMES:
        return value
    if kind is datetime or isinstance(value, datetime):
        return from_datetime(value)
    if isinstance(value, Opaque | Mapping):
        return value
    if isinstance(value, timedelta):
        return from_timedelta(value)
    bases: tuple[Callable[[Any], Any], ...] = (int, float, str, bytes, list)
    for base in bases:
        if isinstance(value, base):  # type: ignore[arg-type]  # each is a class
            return base(value)
    raise CelError("a variable holds a value that CEL does not know")


def _infinite(value: int) -> float:
    return float("inf") if value > 0 else float("-inf")


def name_of(value: Any) -> str:
    """The name of the value's type, as `type(value)` denotes it."""
    name = NAMES.get(type(value))
    if name is None or name == "int":
        value = normal(value)
        name = NAMES.get(type(value))
    if name is not None:
        return name
    return value.cel.name if isinstance(value, Opaque) else "map"


def equal(a: Any, b: Any, budget: Budget) -> bool:
    """Are they the same value? Numbers by value, lists and maps by content; different types are different."""
    kind, other = type(a), type(b)
    if kind is other:
        if kind in _ATOMS:
            return bool(a == b)
        if kind in _TEXTS:
            if len(a) != len(b):
                return False
            budget.read(len(a))
            return bool(a == b)
        if kind is list:
            return _equal_lists(a, b, budget)
        if kind is dict:
            return _equal_maps(a, b, budget)
    elif kind in NUMBERS and other in NUMBERS:
        return float(a) == float(b) if float in (kind, other) else bool(a == b)
    return _equal_rest(normal(a), normal(b), budget)


def _equal_rest(a: Any, b: Any, budget: Budget) -> bool:
    if type(a) is Optional and type(b) is Optional:
        return a.present == b.present and (not a.present or equal(a.value, b.value, budget))
    if type(a) is KeyedList and type(b) in LISTS:
        return a.equals(b, budget)
    if type(a) in LISTS and type(b) in LISTS:
        return _equal_lists(a, b, budget)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _equal_maps(a, b, budget)
    if type(a) in NUMBERS and type(b) in NUMBERS:
        return float(a) == float(b)
    return type(a) is type(b) and bool(a == b)


def _equal_lists(a: Sequence[Any], b: Sequence[Any], budget: Budget) -> bool:
    if len(a) != len(b):
        return False
    budget.charge(CONTAINER + len(a))
    for x, y in zip(a, b, strict=True):  # noqa: SIM110 - a generator would take twice the frames, and nesting has few
        if not equal(x, y, budget):
            return False
    return True


def _equal_maps(a: Mapping[Any, Any], b: Mapping[Any, Any], budget: Budget) -> bool:
    if len(a) != len(b):
        return False
    budget.charge(CONTAINER + len(a))
    for key in a:  # noqa: SIM110 - as above
        if key not in b or not equal(a[key], b[key], budget):
            return False
    return True


def compare(a: Any, b: Any, budget: Budget) -> int:
    """Below, at or above zero as `a` is less than, equal to or greater than `b`.

    Raises CelError when the two types have no order, and for NaN, which has none.
    """
    if type(a) is Timestamp and type(b) is Timestamp:
        return a.nanos - b.nanos
    a, b = normal(a), normal(b)
    kind, other = type(a), type(b)
    if kind in NUMBERS and other in NUMBERS:
        if float in (kind, other):
            a, b = float(a), float(b)
            if isnan(a) or isnan(b):
                raise CelError("NaN has no order")
    elif kind is not other or kind not in _ORDERED:
        raise CelError("values of these types have no order")
    elif kind in _TEXTS:
        budget.read(min(len(a), len(b)))
    return int(a > b) - int(a < b)


def entries(value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The keys and values of a map, keys as CEL sees them."""
    for key in value:
        yield key_of(key), value[key]


def key_of(key: Any) -> Any:
    """A key as Python holds it -> as CEL sees it."""
    return key.value if type(key) is Key else key


def as_key(value: Any) -> Any:
    """A value of CEL -> the key that Python holds. Raises CelError for what cannot be one."""
    kind = type(value)
    if kind is bool:
        return KEYS[value]
    if kind is str or kind is int or kind is UInt or kind is float:
        return value
    value = normal(value)
    if type(value) in (str, float):
        return value
    raise CelError("a map has no key of this type")


def plain(value: Any, budget: Budget) -> Any:
    """The value as ordinary Python: what JSON has, bytes, datetime and timedelta.

    A type and a value of a library's own type become their text, an optional its value or None.
    """
    kind = type(value)
    if kind in _PLAIN or (kind is int and INT_MIN <= value <= INT_MAX):
        return value
    value = normal(value)
    kind = type(value)
    if kind in LISTS:
        budget.charge(CONTAINER + 2 * len(value))
        return [item if type(item) in _PLAIN else plain(item, budget) for item in value]
    if kind is dict or isinstance(value, Mapping):
        budget.charge(CONTAINER + 2 * len(value))
        return {
            key if type(key) is str else plain(key_of(key), budget): item if type(item) in _PLAIN else plain(item, budget)
            for key, item in value.items()
        }
    match value:
        case UInt():
            return int(value)
        case Timestamp():
            return value.datetime
        case Duration():
            return value.timedelta
        case TypeValue():
            return value.name
        case Optional():
            return plain(value.value, budget) if value.present else None
        case Opaque():
            return str(value)
    return value
