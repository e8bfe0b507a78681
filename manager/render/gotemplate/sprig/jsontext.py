"""JSON as encoding/json writes and reads it: sorted keys, HTML escaped, every number read as float64."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from manager.render.gotemplate.bounds import LONGEST, NESTED, Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.quote import quote
from manager.render.gotemplate.sprig.objects import Written
from manager.render.gotemplate.sprig.table import STRING, growing
from manager.render.gotemplate.value import ANY, decoded, encoded, gotype, is_nil, shortest

_PLAIN: Final = re.compile(r'[\x00-\x1f"\\\u2028\u2029\udc80-\udcff]')
_HTML: Final = re.compile(r'[\x00-\x1f"\\\u2028\u2029\udc80-\udcff<>&]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def written(budget: Budget, value: Any, *, html: bool = True, indent: str = "") -> str:
    """The JSON text. Raises CallError for what JSON cannot hold, and Exceeded."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(budget, value, _HTML if html else _PLAIN, "\n" if indent else "", indent, NESTED):
        size += len(piece)
        if size > LONGEST:
            break
        budget.take(size) if len(pieces) % 64 == 0 else None
        pieces.append(piece)
    budget.take(size)
    return "".join(pieces)


def _pieces(budget: Budget, value: Any, escaped: re.Pattern[str], newline: str, indent: str, depth: int) -> Iterator[str]:
    budget.step()
    if depth == 0:
        raise Exceeded(f"a value is nested more than {NESTED} levels deep")
    if isinstance(value, Written):
        value = value.json()
    if isinstance(value, str):
        yield _string(value, escaped)
    elif not isinstance(value, list | dict) or is_nil(value):
        yield _scalar(value)
    elif not value:
        yield "[]" if isinstance(value, list) else "{}"
    else:
        inner = newline + indent
        listed = isinstance(value, list)
        yield "[" if listed else "{"
        for number, item in enumerate(value if listed else sorted(value)):
            yield f",{inner}" if number else inner
            if not listed:
                yield _string(item, escaped) + (": " if indent else ":")
                item = value[item]
            yield from _pieces(budget, item, escaped, inner, indent, depth - 1)
        yield newline + ("]" if listed else "}")


def _string(text: str, escaped: re.Pattern[str]) -> str:
    return '"' + escaped.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if "\udc80" <= character <= "\udcff":
        return "\\ufffd"
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _scalar(value: Any) -> str:
    if is_nil(value):
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CallError(f"json: unsupported value: {shortest(value)}")
        return re.sub(r"e-0(?=[0-9]$)", "e-", shortest(value, least=-6, most=21))
    raise CallError(f"json: unsupported type: {gotype(value)}")


def read(text: str) -> Any:
    """The value that a JSON text holds. Raises CallError with a text like Go's."""
    try:
        found = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise CallError(_complaint(text, error)) from None
    except RecursionError:
        raise Exceeded("a JSON text is nested too deeply") from None
    return decoded(found)


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise CallError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _constant(name: str) -> NoReturn:
    raise CallError(_invalid(name[0], "looking for beginning of value"))


_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_PLACES: Final = (
    ("Expecting value", "looking for beginning of value"),
    ("Extra data", "after top-level value"),
    ("Expecting property name", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Expecting ','", "after "),
    ("Illegal trailing comma before end of array", "looking for beginning of value"),
    ("Illegal trailing comma before end of object", "looking for beginning of object key string"),
    ("Invalid control character", "in string literal"),
)


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    """Go's words for what Python says; Go takes the end of the text for a space first."""
    at = error.pos
    if error.msg.startswith("Illegal trailing comma"):
        at += len(text[at:]) - len(text[at:].lstrip(", \t\r\n"))  # Go minds what follows
    rest = text[at:] + " "
    if error.msg.startswith("Expecting value"):
        for literal in ("true", "false", "null"):
            if rest[0] == literal[0]:
                held = next(place for place, letter in enumerate(literal) if rest[place] != letter)
                return _invalid(rest[held], f"in literal {literal} (expecting {quote(literal[held], chr(39))})")
        if rest[0] == "-":
            return _invalid(rest[1], "in numeric literal")
    if error.msg.startswith("Invalid \\escape"):
        return _invalid(rest[1], "in string escape code")  # it stands behind the backslash
    if not rest.strip(" \t\r\n") or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    places = (ours for theirs, ours in _PLACES if error.msg.startswith(theirs))
    return _invalid(rest[0], next(places, f"at character {at + 1} of the JSON text") + _within(text[:at], error.msg))


def _within(before: str, said: str) -> str:
    """What has just ended where a comma is missing."""
    if not said.startswith("Expecting ','"):
        return ""
    depth = 0
    for bracket in reversed(_BRACKETS.findall(before)):
        depth += 1 if bracket in "]}" else -1 if bracket in "[{" else 0
        if depth < 0:
            return "array element" if bracket == "[" else "object key:value pair"
    return "value"


def _invalid(character: str, place: str) -> str:
    return f"invalid character {quote(chr(encoded(character)[0]), chr(39))} {place}"


def _quietly(function: Callable[..., str]) -> Callable[..., Any]:
    def call(budget: Budget, value: Any) -> Any:
        try:
            return function(budget, value)
        except CallError:
            return ""

    return call


def _pretty(budget: Budget, value: Any) -> str:
    return written(budget, value, indent="  ")


def _raw(budget: Budget, value: Any) -> str:
    return written(budget, value, html=False)


def _read(budget: Budget, text: str) -> Any:
    budget.step(len(text) >> 3)  # an element takes two characters at least
    return read(text)


def _read_quietly(budget: Budget, text: str) -> Any:
    try:
        return _read(budget, text)
    except CallError:
        return None


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        growing("toJson", _quietly(written), ANY),
        growing("mustToJson", written, ANY),
        growing("toPrettyJson", _quietly(_pretty), ANY),
        growing("mustToPrettyJson", _pretty, ANY),
        growing("toRawJson", _raw, ANY),
        growing("mustToRawJson", _raw, ANY),
        growing("fromJson", _read_quietly, STRING),
        growing("mustFromJson", _read, STRING),
    )
}
