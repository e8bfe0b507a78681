"""What Go makes of the body of a built-in kind: JSON read into the types of k8s.io/api, and written back.

    wrong types   refused, in the words of encoding/json: the first of them, but what reads itself (a quantity) at once
    unknown       left out and told
    null          the zero value
    empty         left out where the field says `omitempty`; there as `""`, `0`, `{}` or null where it does not
    quantities, times, bytes   in their canonical form

Nothing of the input is changed, and nothing of it is shared with what comes out except parts without a type of their own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

from apis.meta import Manifest
from manager.embedded.kinds import bytes64, times
from manager.embedded.kinds.reading import At, Undecodable, mismatch
from manager.embedded.kinds.reading import Reading as Reading  # callers need both
from manager.embedded.kinds.types import CUSTOM, Field, facts
from policy import quantity


class Codec(Protocol):
    """How one Go type is read. `plain` is the Python type whose values need no reading; `kind` is what Go calls a kind."""

    name: str
    kind: str
    plain: type | None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """The value as it would be written back; `value` is not None."""
        ...

    def zero(self) -> Any:
        """What Go writes for a value that was never set."""
        ...

    def empty(self, value: Any) -> bool:
        """Does `omitempty` leave this value out?"""
        ...


@dataclass(slots=True)
class Text:
    """A string, or a type that is one."""

    name: str
    kind: str = "string"
    plain: type | None = str

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """A string as it is."""
        if isinstance(value, str):
            return value
        reading.wrong(value, self, at)
        return ""

    def zero(self) -> Any:
        """Empty."""
        return ""

    def empty(self, value: Any) -> bool:
        """Empty."""
        return not value


@dataclass(slots=True)
class Truth:
    """A bool."""

    name: str
    kind: str = "bool"
    plain: type | None = bool

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """A bool as it is."""
        if isinstance(value, bool):
            return value
        reading.wrong(value, self, at)
        return False

    def zero(self) -> Any:
        """False."""
        return False

    def empty(self, value: Any) -> bool:
        """False."""
        return not value


_LIMITS = {"int": 2**63, "int64": 2**63, "int32": 2**31, "int16": 2**15, "uint32": 2**32, "uint16": 2**16, "uint8": 2**8}


@dataclass(slots=True)
class Whole:
    """An integer of a size."""

    name: str
    kind: str
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """An integer that fits; `1.0` and `1e2` are none."""
        value = reading.whole(value)
        if type(value) is int and self._fits(value):
            return value
        reading.wrong(value, self, at, literal=type(value) in (int, float))
        return 0

    def _fits(self, value: int) -> bool:
        limit = _LIMITS[self.kind]
        return (0 if self.kind.startswith("u") else -limit) <= value < limit

    def zero(self) -> Any:
        """0."""
        return 0

    def empty(self, value: Any) -> bool:
        """0."""
        return not value


@dataclass(slots=True)
class Real:
    """A float64."""

    name: str
    kind: str = "float64"
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """A number; whole ones are written without a point."""
        if type(value) in (int, float):
            return int(value) if value == int(value) else value
        reading.wrong(value, self, at)
        return 0

    def zero(self) -> Any:
        """0."""
        return 0

    def empty(self, value: Any) -> bool:
        """0."""
        return not value


@dataclass(slots=True)
class Bytes:
    """A []byte: base64 of the standard alphabet, with padding."""

    name: str
    kind: str = "slice"
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """Canonical base64."""
        if not isinstance(value, str):
            reading.wrong(value, self, at)
            return ""
        try:
            return bytes64.canonical(value)
        except bytes64.NotBase64 as error:
            reading.mismatch = reading.mismatch or str(error)
            return ""

    def zero(self) -> Any:
        """Null in Go, and an empty text once it was stored."""
        return ""

    def empty(self, value: Any) -> bool:
        """No bytes."""
        return not value


@dataclass(slots=True)
class Pointer:
    """A pointer: its value is there, however small, or it is not."""

    to: Codec
    name: str = ""
    kind: str = ""
    plain: type | None = None

    def __post_init__(self) -> None:
        self.name, self.kind, self.plain = self.to.name, self.to.kind, self.to.plain

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """The value that it points to."""
        return self.to.read(value, at, reading)

    def zero(self) -> Any:
        """Null."""
        return None

    def empty(self, value: Any) -> bool:
        """Only when it is not there."""
        return value is None


@dataclass(slots=True)
class Items:
    """A slice."""

    of: Codec
    name: str
    written: str  # the type of the items
    kind: str = "slice"
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """The items; a null among them is a zero value."""
        if not isinstance(value, list):
            reading.wrong(value, self, at)
            return None
        if not value and reading.storing:
            return None
        if self.of.plain is not None and all(type(item) is self.of.plain for item in value):
            return list(value)
        read = self.of.read
        return [
            self._zero() if item is None else read(item, (at, "", "", f"[{index}]"), reading) for index, item in enumerate(value)
        ]

    def _zero(self) -> Any:
        return self.of.to.zero() if isinstance(self.of, Pointer) else self.of.zero()

    def zero(self) -> Any:
        """Null."""
        return None

    def empty(self, value: Any) -> bool:
        """Nothing in it."""
        return not value


@dataclass(slots=True)
class Entries:
    """A map with texts as keys."""

    of: Codec
    name: str
    written: str  # the type of the values
    kind: str = "map"
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """The entries; a null among them is a zero value."""
        if not isinstance(value, dict):
            reading.wrong(value, self, at)
            return None
        plain, read = self.of.plain, self.of.read
        return {
            key: item if type(item) is plain else self.of.zero() if item is None else read(item, (at, "", "", key), reading)
            for key, item in value.items()
        } or None

    def zero(self) -> Any:
        """Null."""
        return None

    def empty(self, value: Any) -> bool:
        """Nothing in it."""
        return not value


_CLEARED = "managedFields"


@dataclass(slots=True)
class Member:
    """A field of a struct, ready to be read; `optional` ones are left out when they are empty."""

    codec: Codec
    written: str
    path: str  # Go's: "ProbeHandler.httpGet"
    optional: bool
    plain: type | None
    read: Callable[[Any, At, Reading], Any]
    empty: Callable[[Any], bool]


@dataclass(slots=True)
class Struct:
    """A struct. Its members are compiled when it is first looked into: it may contain itself, and most are never met."""

    whole: str  # with its path
    name: str
    short: str  # without its package
    kind: str = "struct"
    plain: type | None = None
    _members: dict[str, Member] | None = None
    _always: tuple[tuple[str, Callable[[], Any]], ...] = ()

    @property
    def members(self) -> dict[str, Member]:
        """The fields, by their JSON names."""
        if self._members is None:
            fields = facts().fields(self.whole)
            members = {key: _member(key, told) for key, told in fields.items()}
            self._always = tuple((key, members[key].codec.zero) for key, told in fields.items() if _always(members[key], told))
            self._members = members
        return self._members

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """The fields that Go would write back."""
        if not isinstance(value, dict):
            reading.wrong(value, self, at)
            return self.zero()
        members = self.members
        out: Manifest = {}
        for key, given in value.items():
            member = members.get(key)
            if member is None:
                reading.stray(at, key)
            elif given is not None:
                read = given if type(given) is member.plain else member.read(given, (at, self.short, member.path, key), reading)
                if not (member.optional and member.empty(read)) or (key == _CLEARED and read == [] and not reading.storing):
                    out[key] = read
        for key, zero in self._always:
            if key not in out:
                out[key] = zero()
        return out

    def zero(self) -> Any:
        """What Go writes of a struct in which nothing was set."""
        return {key: zero() for key, zero in self._always} if self.members else {}

    def empty(self, value: Any) -> bool:
        """Never: `omitempty` does not look into structs."""
        return value is None


@dataclass(slots=True)
class Own:
    """A type that reads itself: what it does not like ends the reading."""

    name: str
    take: Callable[[Any, At], Any]
    nothing: Any = None
    kind: str = "struct"
    plain: type | None = None

    def read(self, value: Any, at: At, reading: Reading) -> Any:
        """Whatever it makes of the value; raises Undecodable."""
        return self.take(value, reading.at(at))

    def zero(self) -> Any:
        """What it writes when it was never set."""
        return self.nothing

    def empty(self, value: Any) -> bool:
        """Never, but for what is not there at all."""
        return value is None


_QUANTITY_FORM = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?[eEinumkKMGTP]*[-+]?[0-9]*", re.ASCII)
_NOT_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def canonical_quantity(value: Any, at: At = None) -> str:
    """A quantity as it is written; raises Undecodable. A number is one, too."""
    del at
    return _canonical(value if isinstance(value, str) else _number(value))


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    text = text.strip(" \t\n\v\f\r\x85\xa0")
    try:
        return str(quantity.parse(text))
    except quantity.NotAQuantity:
        known = bool(text) and _QUANTITY_FORM.fullmatch(text)
        raise Undecodable("unable to parse quantity's suffix" if known else _NOT_FORM) from None


def _number(value: Any) -> str:
    return repr(value) if type(value) in (int, float) else "none"


def _time(value: Any, at: At) -> str:
    moment = times.parse(_time_text(value, at))
    if moment is None:
        raise Undecodable(times.refused(value, times.SECONDS))
    return times.seconds(moment)


def _micro_time(value: Any, at: At) -> str:
    moment = times.parse(_time_text(value, at))
    if moment is None or not times.has_microseconds(value):
        raise Undecodable(times.refused(value, times.MICROSECONDS))
    return times.microseconds(moment)


def _time_text(value: Any, at: At) -> str:
    if not isinstance(value, str):
        raise Undecodable(mismatch(value, "string", at))
    return value


def _int_or_string(value: Any, at: At) -> int | str:
    if isinstance(value, str):
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    raise Undecodable(mismatch(value, "int32", at, literal=type(value) in (int, float)))


def _as_it_is(value: Any, at: At) -> Any:
    del at
    return value


def _schema_or_bool(value: Any, at: At) -> Any:
    return value if isinstance(value, bool) else _schema(value, at)


def _schema_or_list(value: Any, at: At) -> Any:
    return [_schema(item, at) for item in value] if isinstance(value, list) else _schema(value, at)


def _schema_or_strings(value: Any, at: At) -> Any:
    return value if isinstance(value, list) else _schema(value, at)


def _schema(value: Any, at: At) -> Any:
    reading = Reading()
    read = codec(f"{_EXTENSIONS}.JSONSchemaProps").read(value, at, reading)
    if reading.mismatch:
        raise Undecodable(reading.mismatch)
    return read


_META = "k8s.io/apimachinery/pkg/apis/meta/v1"
_EXTENSIONS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
QUANTITY = "k8s.io/apimachinery/pkg/api/resource.Quantity"

_OWN: dict[str, tuple[Callable[[Any, At], Any], Any]] = {
    QUANTITY: (canonical_quantity, "0"),
    f"{_META}.Time": (_time, None),
    f"{_META}.MicroTime": (_micro_time, None),
    f"{_META}.FieldsV1": (_as_it_is, None),
    "k8s.io/apimachinery/pkg/runtime.RawExtension": (_as_it_is, None),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": (_int_or_string, 0),
    f"{_EXTENSIONS}.JSON": (_as_it_is, None),
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": (_schema_or_bool, None),
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": (_schema_or_list, None),
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": (_schema_or_strings, None),
}

_PACKAGES = re.compile(r"[\w.-]+/[\w./-]*/")


@cache
def codec(written: str) -> Codec:
    """How a type, as `types.py` writes it, is read."""
    if written.startswith("*"):
        return Pointer(codec(written[1:]))
    shown = _PACKAGES.sub("", written)
    if written == "[]uint8":
        return Bytes(shown)
    if written.startswith("[]"):
        return Items(codec(written[2:]), shown, written[2:])
    if written.startswith("map["):
        value = written[written.index("]") + 1 :]
        return Entries(codec(value), shown, value)
    if written in _OWN:
        return Own(shown, *_OWN[written])
    if written in facts().structs:
        return _structs()[written]
    return _scalar(written, shown)


def _scalar(written: str, shown: str) -> Codec:
    """A basic type, or a type that is one, or a named slice or map."""
    underlying = facts().named.get(written, written)
    if underlying == CUSTOM:
        raise LookupError(f"{written} reads itself, and nobody here knows how")
    if underlying.startswith(("[]", "map[")):
        of = codec(underlying)
        of = Items(of.of, shown, of.written) if isinstance(of, Items) else of
        return Entries(of.of, shown, of.written) if isinstance(of, Entries) else of
    match underlying:
        case "string":
            return Text(shown)
        case "bool":
            return Truth(shown)
        case "float64":
            return Real(shown)
    return Whole(shown, underlying)


@cache
def _structs() -> dict[str, Struct]:
    return {name: Struct(name, shown := _PACKAGES.sub("", name), shown.rpartition(".")[2]) for name in facts().structs}


def _member(key: str, told: Field) -> Member:
    of = codec(told.type)
    return Member(of, told.type, ".".join((*told.embedded, key)), told.omitempty or told.omitzero, of.plain, of.read, of.empty)


def _always(member: Member, told: Field) -> bool:
    """Is the field written although nobody set it? Structs are, whatever `omitempty` says."""
    return not told.omitzero and (not told.omitempty or isinstance(member.codec, Struct | Own))
