"""Go values in Python: their types and kinds, their truth, and how Go prints them.

None            a nil interface, as JSON's null
MISSING         no value at all, as the entry of a map that is not there; prints `<no value>`
bool str float  bool, string, float64. A string is bytes in Go: what is no UTF-8 stands as lone surrogates (`surrogateescape`)
int             int; `Int64`, `Int32`, `Uint8`, ... are the sized ones
list  Slice     []interface {}; a slice of another type, or a nil one
dict  Map       map[string]interface {}; a map of another type, or a nil one
Object          anything with fields or a text of its own: a time, a version
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, Literal

from manager.render.gotemplate.bounds import NESTED, Budget
from manager.render.gotemplate.errors import Exceeded

ANY: Final = "interface {}"
STRINGS: Final = "[]string"
LIST: Final = "[]interface {}"
DICT: Final = "map[string]interface {}"


class Missing(Enum):
    """No value."""

    VALUE = "<no value>"


MISSING: Final = Missing.VALUE


class Sized(int):
    """An integer of another type than `int`. Arithmetic makes a plain `int` of it."""

    gotype: ClassVar[str]
    bits: ClassVar[int]
    signed: ClassVar[bool] = True


class Int64(Sized):
    """int64, which JSON integers are."""

    gotype = "int64"
    bits = 64


class Int32(Sized):
    """int32, also known as rune."""

    gotype = "int32"
    bits = 32


class Uint8(Sized):
    """uint8, also known as byte: what indexing a string gives."""

    gotype = "uint8"
    bits = 8
    signed = False


class Uint64(Sized):
    """uint64."""

    gotype = "uint64"
    bits = 64
    signed = False


class Slice(list[Any]):
    """A slice whose elements have a static type."""

    __slots__ = ("element", "nil")

    def __init__(self, items: Iterable[Any] = (), element: str = ANY, *, nil: bool = False) -> None:
        super().__init__(items)
        self.element = element
        self.nil = nil


class Map(dict[str, Any]):
    """A map with string keys whose values have a static type."""

    __slots__ = ("element", "nil")

    def __init__(
        self, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), element: str = ANY, *, nil: bool = False
    ) -> None:
        super().__init__(items)
        self.element = element
        self.nil = nil


class Object(ABC):
    """A value of a named Go type. Two are equal as Python says."""

    gotype: ClassVar[str]
    kind: ClassVar[str] = "struct"

    @abstractmethod
    def text(self) -> str:
        """What `%v` prints."""

    def field(self, name: str) -> Any:
        """The field, or what the method without arguments answers. Raises KeyError when there is none."""
        raise KeyError(name)


def strings(items: Iterable[str]) -> Slice:
    """A []string."""
    return Slice(items, "string")


def gotype(value: Any) -> str:
    """The Go type, as `%T` prints it."""
    if value is None or value is MISSING:
        return "<nil>"
    if isinstance(value, Sized | Object):
        return value.gotype
    if isinstance(value, Slice):
        return f"[]{value.element}"
    if isinstance(value, Map):
        return f"map[string]{value.element}"
    for python, name in _TYPES:
        if isinstance(value, python):
            return name
    raise TypeError(f"no Go value: {type(value).__name__}")


# bool before int, of which it is a subclass
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (str, "string"),
    (int, "int"),
    (float, "float64"),
    (list, LIST),
    (dict, DICT),
)


def kind(value: Any) -> str:
    """The kind, as Go's reflection names it; `invalid` for no value and nil."""
    if value is None or value is MISSING:
        return "invalid"
    if isinstance(value, Object):
        return value.kind
    if isinstance(value, list):
        return "slice"
    return "map" if isinstance(value, dict) else gotype(value)


def basic(value: Any) -> Literal["bool", "int", "uint", "float", "string", ""]:
    """The family within which values are compared; empty when there is none."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Sized):
        return "int" if value.signed else "uint"
    if isinstance(value, int):
        return "int"
    return "float" if isinstance(value, float) else ""


def truth(value: Any) -> bool:
    """Is it true to `if`: neither false, zero, nil, missing nor empty?"""
    return value is not MISSING and (isinstance(value, Object) or bool(value))


def is_nil(value: Any) -> bool:
    """Is it nil of whatever type, or not there?"""
    return value is None or value is MISSING or (isinstance(value, Slice | Map) and value.nil)


def nillable(gotype: str) -> bool:
    """Can nil be a value of this type?"""
    return gotype == ANY or gotype.startswith(("[]", "map[", "*"))


def zero(gotype: str) -> Any:
    """The zero value of a type; None for those that have no other here."""
    if gotype.startswith("[]"):
        return Slice(element=gotype[2:], nil=True)
    if gotype.startswith("map[string]"):
        return Map(element=gotype.removeprefix("map[string]"), nil=True)
    return _ZEROS.get(gotype)


_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "int64": Int64(0), "float64": 0.0}


def element(container: list[Any] | dict[str, Any]) -> str:
    """The static type of what a slice or a map holds."""
    return container.element if isinstance(container, Slice | Map) else ANY


def encoded(text: str) -> bytes:
    """The bytes of a Go string."""
    return text.encode("utf-8", "surrogateescape")


def string(data: bytes) -> str:
    """The Go string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def decoded(data: Any, *, integers: type[Int64] | type[float] = Int64) -> Any:
    """JSON data as Go decodes it: a copy.

    Integers are int64 where they fit, as in Kubernetes, or float64, as in encoding/json; half a surrogate pair is U+FFFD.
    """
    if isinstance(data, bool) or data is None:
        return data
    if isinstance(data, int):
        return Int64(data) if integers is Int64 and -(1 << 63) <= data < 1 << 63 else float(data)
    if isinstance(data, str):
        return _LONE.sub("\ufffd", data)
    if isinstance(data, Mapping):
        return {_LONE.sub("\ufffd", key): decoded(item, integers=integers) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [decoded(item, integers=integers) for item in data]
    return data


_LONE = re.compile("[\ud800-\udfff]")


def text(value: Any, budget: Budget) -> str:
    """What `%v` prints. Raises Exceeded."""
    if isinstance(value, str):
        return value
    pieces: list[str] = []
    _print(value, pieces, budget, NESTED)
    made = "".join(pieces)
    budget.take(len(made))
    return made


def _print(value: Any, into: list[str], budget: Budget, depth: int) -> None:
    budget.step()
    if isinstance(value, list | dict):
        if depth == 0:
            raise Exceeded(f"a value is nested more than {NESTED} levels deep")
        into.append("[" if isinstance(value, list) else "map[")
        for number, item in enumerate(sorted(value) if isinstance(value, dict) else value):
            if number:
                into.append(" ")
            if isinstance(value, dict):
                into.append(f"{item}:")
                item = value[item]
            _print(item, into, budget, depth - 1)
        into.append("]")
    else:
        into.append(scalar(value))


def scalar(value: Any) -> str:
    """What `%v` prints for anything but a slice or a map."""
    if value is MISSING:
        return "<no value>"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, Object):
        return value.text()
    raise TypeError(f"no Go value: {type(value).__name__}")


def shortest(number: float, *, least: int = -4, most: int = 6) -> str:
    """The shortest decimal that reads back as the same float64, with an exponent below 10**`least` and from 10**`most` on."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    digits, exponent = _shortest_digits(abs(number))
    if number != 0 and not least <= exponent < most:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _shortest_digits(number: float) -> tuple[str, int]:
    """The significant digits, without trailing zeros, and the exponent of the first one."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0", 0
    leading = len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    return digits.rstrip("0") or "0", leading + int(exponent or 0)


def assignable(value: Any, to: str) -> bool:
    """Can a value that is neither nil nor missing be an argument of this Go type?"""
    return to in (ANY, "reflect.Value") or gotype(value) == to


__all__ = [
    "ANY",
    "DICT",
    "LIST",
    "MISSING",
    "STRINGS",
    "Int32",
    "Int64",
    "Map",
    "Missing",
    "Object",
    "Sized",
    "Slice",
    "Uint8",
    "Uint64",
    "assignable",
    "basic",
    "decoded",
    "element",
    "encoded",
    "gotype",
    "is_nil",
    "kind",
    "nillable",
    "scalar",
    "shortest",
    "string",
    "strings",
    "text",
    "truth",
    "zero",
]
