"""The types of CEL as the checker sees them: names with parameters, variables, declared objects; and how they are written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from policy.cel.error import CelError


@dataclass(frozen=True, slots=True)
class Type:
    """A type: `name` as CEL denotes it (`int`, `list`, `net.IP`) and its parameters. `variable` marks a type variable."""

    name: str
    parameters: "tuple[Type, ...]" = ()
    variable: bool = False

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType(Type):
    """The type of an object whose fields are declared: no other field may be selected, and each has the type given here.

    Its values are maps. Two such types are never the same, even with the same name and fields, as in cel-go.
    """

    fields: Mapping[str, Type] = field(default_factory=dict)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __str__(self) -> str:
        return self.name


BOOL = Type("bool")
BYTES = Type("bytes")
DOUBLE = Type("double")
DURATION = Type("google.protobuf.Duration")
DYN = Type("dyn")
ERROR = Type("!error!")  # of what was refused: it stands for any type, so that one mistake is told once
INT = Type("int")
NULL = Type("null_type")
STRING = Type("string")
TIMESTAMP = Type("google.protobuf.Timestamp")
UINT = Type("uint")

T = Type("T", variable=True)
K = Type("K", variable=True)
V = Type("V", variable=True)


def list_of(item: Type = DYN) -> Type:
    """`list(item)`."""
    return Type("list", (item,))


def map_of(key: Type = DYN, value: Type = DYN) -> Type:
    """`map(key, value)`."""
    return Type("map", (key, value))


def optional_of(value: Type = DYN) -> Type:
    """`optional_type(value)`."""
    return Type("optional_type", (value,))


def type_of(denoted: Type = DYN) -> Type:
    """The type of a type value: `type(denoted)`."""
    return Type("type", (denoted,))


def opaque(name: str, *parameters: Type) -> Type:
    """A type with values of its own, such as `net.IP`."""
    return Type(name, parameters)


ALIASES = {
    "duration": DURATION,
    "list": list_of(),
    "map": map_of(),
    "null": NULL,
    "timestamp": TIMESTAMP,
    "type": type_of(),
    "optional_type": optional_of(),
}
ARITY = {"list": 1, "map": 2, "optional_type": 1, "type": 1}
_TOKEN = re.compile(r"\s*([A-Za-z_][\w.]*|[(),])")


def parse(text: str) -> Type:
    """Read a type as it is written: `map(string, list(int))`; `timestamp`, `duration` and `null` for short.

    Raises CelError for what is no type.
    """
    found, end = _parse(text, 0)
    if text[end:].strip():
        raise CelError(f"`{text}` is no type")
    return found


def _parse(text: str, start: int) -> tuple[Type, int]:
    name, end = _next(text, start)
    if not name or name in "(),":
        raise CelError(f"`{text}` is no type")
    if _next(text, end)[0] != "(":
        return ALIASES.get(name) or Type(name), end
    parameters: list[Type] = []
    sign = "("
    end = _next(text, end)[1]
    while sign != ")":
        inner, end = _parse(text, end)
        parameters.append(inner)
        sign, end = _next(text, end)
        if sign not in (",", ")"):
            raise CelError(f"`{text}` is no type")
    if len(parameters) != ARITY.get(name, len(parameters)):
        raise CelError(f"`{name}` takes {ARITY[name]} parameters, not {len(parameters)}")
    return Type(name, tuple(parameters)), end


def _next(text: str, start: int) -> tuple[str, int]:
    found = _TOKEN.match(text, start)
    return (found[1], found.end()) if found else ("", start)
