"""Bodies in protobuf, which typed clients send (`kubectl create configmap`): read into what their JSON would be.

An envelope of four bytes and a runtime.Unknown (k8s.io/apimachinery/pkg/runtime/generated.proto) around the object. The numbers
of its fields are facts of Go (`data/wire.z`, written by `tests/realserver/wire.py`); their types are in `kinds/types.py`.
Answers are never protobuf: all clients also take JSON.
"""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded.kinds.types import facts

MEDIA = "application/vnd.kubernetes.protobuf"
FILE = Path(__file__).with_name("data") / "wire.z"
MAGIC = b"k8s\0"
"""How such a body begins."""
_META = "k8s.io/apimachinery/pkg/apis/meta/v1"

Wire = dict[int, list[Any]]
"""A message by the numbers of its fields: integers, or bytes."""


class Malformed(Exception):
    """Bytes that are no such message, or one of a kind that has no protobuf form here."""


def pack(told: Mapping[str, Any]) -> bytes:
    """As the file is kept."""
    return zlib.compress(json.dumps(told, sort_keys=True, separators=(",", ":")).encode(), 9)


def read(body: bytes) -> Manifest:
    """The object of a body. Raises Malformed."""
    if not body.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        unknown = _message(body[len(MAGIC) :])
        head = _message(unknown.get(1, [b""])[0])
        api_version, kind = _text(head.get(1)), _text(head.get(2))
        group, _, version = api_version.rpartition("/")
        name = _OPTIONS.get(kind) or facts().kinds.get(f"{group}/{version}/{kind}")
        if name is None:
            raise Malformed(f'no kind "{kind}" is registered for version "{api_version}"')
        content: Manifest = _struct(name, unknown.get(2, [b""])[0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error) as error:  # a field of another type
        raise Malformed("unexpected EOF") from error
    return {"apiVersion": api_version, "kind": kind} | content


_OPTIONS = {"DeleteOptions": f"{_META}.DeleteOptions"}


@cache
def _numbers() -> Mapping[str, Mapping[str, str]]:
    numbers: Mapping[str, Mapping[str, str]] = orjson.loads(zlib.decompress(FILE.read_bytes()))
    return numbers


def _struct(name: str, data: bytes) -> Manifest:
    message = _message(data)
    numbers = _numbers()[name]
    found: Manifest = {}
    for field, told in facts().fields(name).items():
        values = _at(message, numbers[field]) if field in numbers else None
        if values:
            found[field] = _value(told.type, values)
    return found


def _at(message: Wire, place: str) -> list[Any] | None:
    """The values of a field, which may be inside an embedded message: "2.1"."""
    first, _, rest = place.partition(".")
    values = message.get(int(first))
    if not rest:
        return values
    return _at(_message(values[-1]), rest) if values else None


def _value(written: str, values: list[Any]) -> Any:
    """The JSON of a field of a Go type."""
    written = written.removeprefix("*")
    if written in _CUSTOM:
        return _CUSTOM[written](_message(values[-1]))
    if written == "[]uint8":
        return base64.b64encode(values[-1]).decode()
    if written.startswith("[]"):
        return [_value(written[2:], [each]) for each in values]
    if written.startswith("map["):
        key, _, value = written[4:].partition("]")
        return dict(_entry(key, value, each) for each in values)
    if written in facts().structs:
        return _struct(written, values[-1])
    if written in facts().named:
        return _named(facts().named[written], values)
    return _scalar(written, values[-1])


def _named(underlying: str, values: list[Any]) -> Any:
    if underlying.startswith("[]"):
        # A list with a name is a message of its own, whose only field is the list.
        return _value(underlying, _message(values[-1]).get(1, []))
    if underlying == "custom":
        raise Malformed("a field of this kind has no protobuf form here")
    return _value(underlying, values)


def _entry(key: str, value: str, data: bytes) -> tuple[str, Any]:
    message = _message(data)
    return str(_value(key, message.get(1, [b""]))), _value(value, message.get(2, [b""]))


def _scalar(written: str, value: Any) -> Any:
    match written:
        case "string":
            return value.decode()
        case "bool":
            return bool(value)
        case "float64":
            return struct.unpack("<d", value)[0]
        case "float32":
            return struct.unpack("<f", value)[0]
    return value - (1 << 64) if value >= 1 << 63 else value


# Types that write themselves.


def _time(message: Wire) -> str | None:
    moment = _moment(message)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(message: Wire) -> str | None:
    moment = _moment(message)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(message: Wire) -> datetime | None:
    if 1 not in message:
        return None
    seconds = _scalar("int64", message[1][-1])
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=message.get(2, [0])[-1] // 1000)


def _int_or_string(message: Wire) -> int | str:
    if message.get(1, [0])[-1]:
        return _text(message.get(3))
    number: int = _scalar("int64", message.get(2, [0])[-1])
    return number


def _raw(message: Wire) -> Any:
    raw = message.get(1, [b""])[-1]
    return orjson.loads(raw) if raw else None


def _text(values: list[Any] | None) -> str:
    return values[-1].decode() if values else ""


def _nanoseconds(message: Wire) -> str:
    return f"{_scalar('int64', message.get(1, [0])[-1])}ns"


_CUSTOM: Mapping[str, Callable[[Wire], Any]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Duration": _nanoseconds,
    f"{_META}.FieldsV1": _raw,
    "k8s.io/apimachinery/pkg/api/resource.Quantity": lambda message: _text(message.get(1)),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": _int_or_string,
    "k8s.io/apimachinery/pkg/runtime.RawExtension": _raw,
}


# The encoding: https://protobuf.dev/programming-guides/encoding/


def _message(data: bytes) -> Wire:
    found: Wire = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, _slice(data, at, 8)
                at += 8
            case 2:
                size, at = _varint(data, at)
                yield tag >> 3, _slice(data, at, size)
                at += size
            case 5:
                yield tag >> 3, _slice(data, at, 4)
                at += 4
            case other:
                raise Malformed(f"wire type {other}")


def _slice(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise IndexError
    return data[at : at + size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError
