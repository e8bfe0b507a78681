"""Rendered text becomes documents: YAML as kubectl reads it, with every expansion bounded.

kubectl's reader takes plain `yes`, `on` and `y` as true, `010` as 8, `1e3` and `1.0` as whole numbers, and dates and `1:30`
as strings. So does this one. It is stricter in two points: a key that stands twice in a map and a tag other than the JSON ones
are refused.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs leave it out
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.resolver import BaseResolver

NODES = 100_000  # per document, aliases expanded
DEPTH = 64

_PLAIN = "!plain"  # an unquoted scalar without a tag
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class Unreadable(Exception):
    """Text that is no YAML for us. `line` counts from 1 in that text; the message holds none of its values."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class _Parser(CParser, BaseResolver):
    """The C parser with one rule: mark what is plain, so that our table decides what it means."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, str.__str__(text))  # it takes no subclass
        BaseResolver.__init__(self)


_Parser.add_implicit_resolver(_PLAIN, re.compile(""), None)


def documents(text: str, most: int) -> Iterator[tuple[int, Any]]:
    """Each document as (line, JSON value). `most` bounds the characters of one document, aliases expanded. Raises Unreadable."""
    parser = _Parser(text)
    try:
        while parser.check_node():
            node: Any = parser.get_node()
            yield node.start_mark.line + 1, _Reader(most).value(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(mark.line + 1 if mark else 0, error.problem or "the YAML syntax is wrong") from None
    except yaml.YAMLError:
        raise Unreadable(0, "a character that YAML does not allow") from None
    finally:
        parser.dispose()


def document(text: str, most: int) -> Any:
    """The only document of a text; None when there is none. Raises Unreadable."""
    found = [value for _, value in documents(text, most)]
    if len(found) > 1:
        raise Unreadable(1, "more than one document")
    return found[0] if found else None


def reads_back(text: str) -> bool:
    """Does YAML read this text, unquoted, as the same string: as an item, a value and a key, in block and in flow style?"""
    if _FAMILIAR.fullmatch(text):
        return text not in _WORDS
    if text.startswith(("---", "...")):
        return False  # at the beginning of a line they end the document
    key = text if len(text) <= _LONGEST_KEY else "k"
    try:
        value = document(f"- {text}\n- [{text}, {text}]\n- {{{key}: {text}}}\n- {key}: {text}\n", 8 * len(text) + 8)
    except Unreadable:
        return False
    return bool(value == [text, [text, text], {key: text}, {key: text}] and isinstance(value[0], str))


_LONGEST_KEY = 1000  # a longer one is an error in YAML wherever it stands, so it changes no structure
_FAMILIAR = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,255}")  # starts with a letter, no colon, no blank: only the words matter


def scalar(text: str) -> Any:
    """What an unquoted scalar means: bool, None, int, float or the string itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "0123456789+-.":
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    if _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if -(1 << 63) <= number < 1 << 64:
            return number
    if _FLOAT.fullmatch(digits):
        return whole(float(digits))
    return math.inf if _ENDLESS.fullmatch(text) else text


def whole(number: float) -> int | float:
    """A float without a fraction as an integer, which is how kubectl writes it into JSON."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _integer(digits: str) -> int:
    unsigned = digits.lstrip("+-")
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()
    return int(digits, 8) if octal else int(digits, 0)


class _Reader:
    """One document's nodes as JSON values, counted while aliases are followed."""

    def __init__(self, most: int) -> None:
        self._characters = most
        self._nodes = NODES

    def value(self, node: Node, depth: int) -> Any:
        self._nodes -= 1
        if self._nodes < 0 or depth > DEPTH:
            what = f"more than {NODES} values" if self._nodes < 0 else f"more than {DEPTH} levels"
            raise Unreadable(_line(node), f"{what}, aliases expanded: make it smaller")
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, SequenceNode):
            _expect(node, "seq")
            return [self.value(item, depth + 1) for item in node.value]
        _expect(node, "map")
        return self._map(node, depth)

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        self._characters -= len(text)
        if self._characters < 0:
            raise Unreadable(_line(node), "the document is too large, aliases expanded")
        if node.tag == _PLAIN:
            value = scalar(text)
        elif node.tag == _TAG + "str":
            return text
        else:
            value = _tagged(node, text)
        if isinstance(value, float) and not math.isfinite(value):
            raise Unreadable(_line(node), "infinity and NaN have no place in a manifest")
        return value

    def _map(self, node: Node, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, item in node.value:
            if key.tag == _PLAIN and key.value == "<<":
                merged = {**self._merged(item, depth), **merged}
                continue
            name = self._key(key)
            if name in own:
                raise Unreadable(_line(key), "a key stands twice in one map")
            own[name] = self.value(item, depth + 1)
        return {**merged, **own}

    def _merged(self, node: Node, depth: int) -> dict[str, Any]:
        """`<<`: one map, or several of which the first wins."""
        parts = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, MappingNode):
                raise Unreadable(_line(part), "`<<` merges maps only")
            merged = {**self.value(part, depth + 1), **merged}
        return merged

    def _key(self, node: Node) -> str:
        value = self._scalar(node) if isinstance(node, ScalarNode) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        raise Unreadable(_line(node), "a key has to be a string")


def _tagged(node: ScalarNode, text: str) -> Any:
    value = scalar(text)
    kinds: dict[str, type | tuple[type, ...]] = {"bool": bool, "int": int, "float": (int, float), "null": type(None)}
    kind = kinds.get(node.tag.removeprefix(_TAG))
    if kind is None or not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Unreadable(_line(node), "a tag that JSON does not know, or that does not fit: write the value without it")
    return value


def _expect(node: Node, kind: str) -> None:
    if node.tag != _TAG + kind:
        raise Unreadable(_line(node), "a tag that JSON does not know: write the value without it")


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
