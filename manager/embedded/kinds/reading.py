"""What is found while a body is read into Go types: the words for wrong types, and the fields that no type has."""

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

MOST_UNKNOWN = 100
"""As many unknown fields are told; the others are left out in silence."""

At: TypeAlias = "tuple[At, str, str, str] | None"
"""Where a value stands: what is around it, the struct's name, Go's name of the step and JSON's.

Struct and step of a list's item are empty, since Go does not count items in its errors."""


class Undecodable(Exception):
    """A body that the Go type does not take; the message is Go's."""


class Named(Protocol):
    """What a complaint tells of a Go type: its name, and what Go calls its kind."""

    name: str
    kind: str


@dataclass(slots=True)
class Reading:
    """What was found wrong while a body was read.

    `storing` reads what is about to be stored: an empty list is then null where it is written at all. Before, it is a list that
    somebody can own, and an empty list of managedFields clears them.
    """

    mismatch: str = ""
    unknown: list[str] = field(default_factory=list)
    storing: bool = False

    def wrong(self, value: Any, of: "Named", at: At, *, literal: bool = False) -> None:
        """Note a value of the wrong type; only the first is told. `literal` when it is a number that does not fit."""
        self.mismatch = self.mismatch or mismatch(value, of.name, at, literal=literal)

    def whole(self, value: Any) -> Any:
        """The integer that a value is, or the value."""
        return value

    def at(self, at: At) -> At:
        """The place that a type which reads itself may tell."""
        return at

    def stray(self, at: At, name: str) -> None:
        """Note a field that the type does not have."""
        path = _json_path((at, "", "", name))
        if len(self.unknown) < MOST_UNKNOWN and path not in self.unknown:
            self.unknown.append(path)


_GO = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}
_CONVERTIBLE = {"int64": ("string", "float64"), "float64": ("int", "int16", "int32", "int64", "uint16", "uint32", "uint8")}


@dataclass(slots=True)
class Converting(Reading):
    """The reading of what a strategic merge patch made: the server converts values there, and has other words for what it cannot.

    https://pkg.go.dev/k8s.io/apimachinery/pkg/runtime#DefaultUnstructuredConverter
    """

    def wrong(self, value: Any, of: "Named", at: At, *, literal: bool = False) -> None:
        """Note a value that cannot be converted."""
        del at, literal
        given = _GO.get(type(value), "<nil>")
        if of.kind in ("slice", "map"):
            said = f"cannot restore {of.kind} from {given}"
        elif of.kind == "struct":
            said = f"cannot restore struct from: {given}"
        elif of.kind in _CONVERTIBLE.get(given, ()):
            said = f"cannot convert {given} to {of.name}"
        else:
            said = f"unrecognized type: {of.kind}"
        self.mismatch = self.mismatch or said

    def whole(self, value: Any) -> Any:
        """A float without a fraction is an integer, too."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def at(self, at: At) -> At:
        """Nothing is known of the place."""
        del at
        return None


def mismatch(value: Any, go_type: str, at: At, *, literal: bool = False) -> str:
    """The words of encoding/json for a value that does not fit; `literal` when it is a number of the wrong size or form."""
    described = f"number {_literal(value)}" if literal else _described(value)
    if at is None:
        return f"json: cannot unmarshal {described} into Go value of type {go_type}"
    return f"json: cannot unmarshal {described} into Go struct field {_struct(at)}.{_go_path(at)} of type {go_type}"


def _literal(value: float) -> str:
    """A number as it was written; one that is too large for an integer was read as a float."""
    return str(int(value)) if isinstance(value, float) and abs(value) >= 2**63 else str(value)


def _described(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case None:
            return "null"
    return "object"


def _struct(at: At) -> str:
    while at is not None:
        if at[1]:
            return at[1]
        at = at[0]
    return ""


def _go_path(at: At) -> str:
    steps = []
    while at is not None:
        if at[2]:
            steps.append(at[2])
        at = at[0]
    return ".".join(reversed(steps))


def _json_path(at: At) -> str:
    path = ""
    while at is not None:
        step = at[3]
        path = step + (f".{path}" if path and not path.startswith("[") else path)
        at = at[0]
    return path
