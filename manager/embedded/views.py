"""A value as validation rules see it: fields under names that CEL can say, strings with a format as what they mean.

Specification: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

import re
from base64 import b64decode
from binascii import Error as Malformed
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from manager.embedded.schema import ListType, Schema
from policy.cel.error import CelError
from policy.cel.times import Timestamp, parse_duration, parse_timestamp
from policy.cel.values import KeyedList, Optional

_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while"
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
METADATA = ("name", "generateName")  # what rules see of the metadata of a resource


@lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The name of a field in CEL, or None when it has none."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    if not re.fullmatch(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", name):
        return None
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found[0]], name)


def view(schema: Schema, value: Any, *, resource: bool = False) -> Any:
    """The value as rules of this node see it. Raises CelError for a string that is not of its format."""
    if not resource and _as_is(schema):
        return value
    match value:
        case dict():
            return _object(schema, value, resource=resource or schema.embedded_resource)
        case list() if schema.items is not None:
            return _list(schema, [view(schema.items, item) for item in value])
        case str() if schema.type == "string":
            convert = _FORMATS.get(schema.format)
            return convert(value) if convert else value
        case int() if schema.type == "number" and not isinstance(value, bool):
            return float(value)
        case float() if schema.type == "integer" and value.is_integer():
            return int(value)
    return value


def _object(schema: Schema, value: dict[str, Any], *, resource: bool) -> dict[str, Any]:
    if schema.additional is not None:
        return {name: view(schema.additional, below) for name, below in value.items()}
    seen = {}
    for name, below in value.items():
        child, known = schema.properties.get(name), escaped(name)
        if child is None or known is None or below is None:  # a field that is null is not there
            continue
        if resource and name == "metadata":
            seen[known] = {each: below[each] for each in METADATA if each in below}
        else:
            seen[known] = view(child, below)
    return seen


def _list(schema: Schema, items: list[Any]) -> list[Any]:
    """The list with how it is compared and added to: sets and maps know no order."""
    match schema.list_type:
        case ListType.SET:
            return KeyedList(items, canonical)
        case ListType.MAP:
            return KeyedList(items, lambda item: _entry(item, schema.list_keys))
    return items


def _entry(item: Any, names: Sequence[str]) -> Hashable:
    """The keys of an item of a map; what is no object, as only an expression brings along, is its own."""
    if not isinstance(item, Mapping):
        return canonical(item)
    # By the plain names, although fields have those of CEL by now: a real server finds no such keys, either.
    return tuple(canonical(item.get(name)) for name in names)


def canonical(value: Any) -> Hashable:
    """A value of which two are equal where the values are the same, types included: 1 is not 1.0."""
    match value:
        case dict():
            return frozenset((name, canonical(below)) for name, below in value.items())
        case list():
            return tuple(map(canonical, value))
        case Optional():
            return Optional, value.present, canonical(value.value)
    return type(value), value


@lru_cache(maxsize=4096)
def _as_is(schema: Schema) -> bool:
    """Does every value of this node look the same to a rule?"""
    if schema.embedded_resource or schema.type == "number" or (schema.type == "string" and schema.format in _FORMATS):
        return False
    if schema.list_type != ListType.ATOMIC or any(child.nullable for child in schema.properties.values()):
        return False
    if any(escaped(name) != name for name in schema.properties):
        return False
    below = [*schema.properties.values(), schema.items, schema.additional]
    return all(child is None or child.reference != "" or _as_is(child) for child in below)


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Malformed as error:
        raise CelError("the text is no base64") from error


def _date(text: str) -> Timestamp:
    return parse_timestamp(f"{text}T00:00:00Z")


_FORMATS: dict[str, Callable[[str], Any]] = {
    "byte": _bytes,
    "date": _date,
    "date-time": parse_timestamp,
    "duration": parse_duration,
}
