"""The `fieldPath` of a validation rule: fields and keys only, as in `.spec.ports['http']`."""

import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class WrongPath(ValueError):
    """A text that is no such path; the message says why."""


def field_path(text: str, raw: Mapping[str, Any] | None = None, *, keys: bool = True) -> str:
    """The path as causes write it. With the schema (JSON) at which it begins, its fields must exist; without `keys`, brackets are
    not allowed. Raises WrongPath.
    """
    path, node = "", raw
    tokens = _TOKEN.findall(text)
    place = 0
    while place < len(tokens):
        match tokens[place]:
            case ".":
                name, place = _after(tokens, place), place + 2
            case "[" if not keys:
                raise WrongPath("array notation is not allowed")
            case "[":
                name, place = _quoted(tokens, place), place + 3
            case other:
                raise WrongPath(f"expected [ or . but got: {other}")
        named, node = _below(node, name)
        path = f"{path}[{name}]" if not named else f"{path}.{name}" if path else name
    return path


def _after(tokens: list[str], place: int) -> str:
    if place + 1 >= len(tokens):
        raise WrongPath("unexpected end of JSON path")
    return tokens[place + 1]


def _quoted(tokens: list[str], place: int) -> str:
    text = _after(tokens, place)
    if len(text) < 2 or text[0] != "'" or text[-1] != "'":
        raise WrongPath(f"expected single quoted string but got {text}")
    if _after(tokens, place + 1) != "]":
        raise WrongPath(f"expected ] but got {tokens[place + 2]}")
    return re.sub(r"\\(.)", _unescaped, text[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPED:
        raise WrongPath(f"invalid string literal: invalid escape char {found[0]}")
    return _ESCAPED[found[1]]


def _below(node: Mapping[str, Any] | None, name: str) -> tuple[bool, Mapping[str, Any] | None]:
    """Whether the name is that of a field (else a key of a map), and the schema below it."""
    if node is None:
        return True, None
    if node.get("properties"):
        if name not in node["properties"]:
            raise WrongPath("does not refer to a valid field")
        return True, node["properties"][name]
    if not isinstance(node.get("additionalProperties"), Mapping):
        raise WrongPath("does not refer to a valid field")
    return False, node["additionalProperties"]
