"""`copyhold cel`: evaluate an expression as a condition would be, and show its type, its value and its cost.

Values come from the command line or from files, as kubectl reads YAML. `now` is there without being given, and a timestamp.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import yaml

from manager.console import plain
from manager.render.text import Unreadable, document
from policy import cel
from policy.cel import types
from policy.cel.times import Duration, Timestamp, from_datetime, parse_duration, parse_timestamp
from policy.cel.types import Type
from policy.cel.values import UINT_MAX, Opaque, Optional, TypeValue, UInt, entries, name_of, normal

LARGEST = 4_000_000  # characters of a value, aliases expanded: an object has at most 1.5 MB
STANDARD_INPUT = "-"
SHOWN = 100  # characters of a line that an error shows
BEFORE = 70  # and how many of them stand before the caret
NOW = "now"


@dataclass(frozen=True, slots=True)
class Given:
    """The variables of an expression: their types, and the values of those that have one."""

    kinds: Mapping[str, Type]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression is: the type that the checker found, the value, and the units of the budget that it took."""

    type: Type
    value: Any
    cost: int


def given(assignments: Sequence[str], declarations: Sequence[str], now: datetime, stdin: Callable[[], bytes]) -> Given:
    """The variables of `--var NAME=VALUE` and `--type NAME=TYPE`. Raises click.UsageError for what is neither."""
    kinds = {NOW: types.TIMESTAMP}
    values: dict[str, Any] = {}
    raw = {name: _raw(name, text, stdin) for name, text in (_pair("--var", "VALUE", each) for each in assignments)}
    for name, text in (_pair("--type", "TYPE", each) for each in declarations):
        kinds |= _type(name, text)
    kinds = {**dict.fromkeys(raw, types.DYN), **kinds}
    for name, value in raw.items():
        values[name] = _brought(name, kinds[name], value)
    return Given(kinds, {NOW: from_datetime(now), **values} if kinds[NOW] == types.TIMESTAMP else values)


def _pair(option: str, what: str, text: str) -> tuple[str, str]:
    name, sign, rest = text.partition("=")
    if not (sign and name.isidentifier() and name.isascii()):
        raise click.UsageError(f"{option} takes NAME={what}, where NAME is a word of letters, digits and _: {name!r} is none")
    return name, rest


def _type(name: str, text: str) -> dict[str, Type]:
    try:
        kind = types.parse(text)
    except cel.CelError:
        kind = None
    if kind is None or not _known(kind):
        known = "bool, bytes, double, duration, dyn, int, list(...), map(..., ...), null, string, timestamp, uint"
        raise click.UsageError(f"--type {name}: `{text}` is no type: write one of {known}")
    return {name: kind}


NAMES = frozenset(
    kind.name
    for kind in (
        types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.DYN, types.INT, types.NULL, types.STRING, types.TIMESTAMP,
        types.UINT, types.list_of(), types.map_of(),
    )
)  # fmt: skip


def _known(kind: Type) -> bool:
    return kind.name in NAMES and all(map(_known, kind.parameters))


def _raw(name: str, text: str, stdin: Callable[[], bytes]) -> Any:
    """The value of a text, or of the file that it names."""
    source = f"--var {name}"
    if text.startswith("@"):
        source = f"{source}: {text[1:]}"
        text = _decoded(source, stdin if text[1:] == STANDARD_INPUT else Path(text[1:]).read_bytes)
    try:
        return document(text, LARGEST)
    except Unreadable as error:
        raise click.UsageError(f"{source}: line {error.line}: {error.message}") from None


def _decoded(source: str, read: Callable[[], bytes]) -> str:
    try:
        return read().decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"{source}: is not text in UTF-8") from None
    except OSError as error:
        raise click.UsageError(f"{source}: cannot be read: {error.strerror}") from error


def _bytes(value: Any) -> bytes:
    return base64.b64decode(value, validate=True)


def _unsigned(value: Any) -> UInt:
    if type(value) is not int or not 0 <= value <= UINT_MAX:
        raise ValueError
    return UInt(value)


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)


READERS: Mapping[Type, Callable[[Any], Any]] = {
    types.TIMESTAMP: parse_timestamp,
    types.DURATION: parse_duration,
    types.BYTES: _bytes,
    types.UINT: _unsigned,
    types.DOUBLE: _double,
}
"""Types that YAML has no values of. A timestamp is written as RFC 3339, a duration as `1h30m`, bytes in base64."""


def _brought(name: str, kind: Type, value: Any) -> Any:
    """The value as one of the type. Only its outside is looked at: what a list or a map holds is believed."""
    try:
        brought = READERS[kind](value) if kind in READERS else value
        fits = kind == types.DYN or name_of(brought) == kind.name
    except (cel.CelError, binascii.Error, ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise click.UsageError(f"--var {name}: the value is no {kind}")
    return brought


def answer(program: cel.Program, values: Mapping[str, Any]) -> Answer:
    """Evaluate. Raises CelError."""
    budget = cel.Budget()
    value = program.value(values, budget)
    return Answer(program.result_type, value, budget.spent)


def shown(found: Answer) -> dict[str, Any]:
    """The answer as a document. `valueType` is there where the checker does not know it beforehand."""
    late = {"valueType": name_of(found.value)} if found.type == types.DYN else {}
    return {"type": str(found.type), **late, "value": _json(found.value), "cost": found.cost}


def _json(value: Any) -> Any:
    """The value as JSON may hold it: bytes in base64, an absent optional as null, what only CEL has as its text."""
    value = normal(value)
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case list() | tuple():
            return [_json(item) for item in value]
        case Mapping():
            return {key if isinstance(key, str) else json.dumps(key): _json(item) for key, item in entries(value)}
        case Optional():
            return _json(value.value) if value.present else None
        case TypeValue():
            return value.name
        case UInt():
            return int(value)
        case Timestamp() | Duration() | Opaque():
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
    return value


def written(what: Mapping[str, Any], output: str) -> str:
    """A document in the form that was asked for: `json`, or else YAML."""
    if output == "json":
        return json.dumps(what, indent=2, ensure_ascii=False)
    return yaml.safe_dump(dict(what), sort_keys=False, width=120, allow_unicode=True).rstrip("\n")


def complaint(error: cel.CelError, text: str) -> list[str]:
    """The lines of an error: what is wrong, the line of the text, and a caret below the place."""
    lines = [f"copyhold: {error}"]
    if error.line:
        lines += _pointed(text.split("\n")[error.line - 1], error.column - 1)
    return [plain(line) for line in lines]


def _pointed(line: str, at: int) -> list[str]:
    from rich.cells import cell_len

    start = max(0, at - BEFORE) if len(line) > SHOWN else 0
    line = plain(line.replace("\t", " ").rstrip("\r"))
    part = line[start : start + SHOWN]
    left, right = "..." if start else "", "..." if start + SHOWN < len(line) else ""
    return [f"  {left}{part}{right}", f"  {' ' * cell_len(left + line[start:at])}^"]


def failure(error: cel.CelError) -> dict[str, Any]:
    """An error as a document."""
    place = {"line": error.line, "column": error.column} if error.line else {}
    return {"error": {"message": error.message, **place}}
