"""The parameters of a permit from the command line: read by the types of the template's `paramSchema`, asked for where missing.

Only what is needed to read a text as a value is looked at. Whether the values fit the schema says the server, in its own words.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from apis.meta import Manifest
from manager.render.text import Unreadable, document, whole

LARGEST = 1_000_000
"""Characters of a value: an object has at most 1.5 MB."""

STANDARD_INPUT = "-"


class Unfit(ValueError):
    """A text that is no value of the type; the message says what would be."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One property of a `paramSchema`."""

    name: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def type(self) -> str:
        """`string`, `integer` ...; empty for anything."""
        return "" if self.schema.get("x-kubernetes-int-or-string") else str(self.schema.get("type") or "")

    @property
    def has_default(self) -> bool:
        """May it be left out although it is required?"""
        return self.schema.get("default") is not None

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of its `enum`; empty when there is none."""
        return tuple(self.schema.get("enum") or ())

    def __str__(self) -> str:
        words = ", ".join(map(written, self.choices)) or self.type or "any value"
        return f"{self.name} ({words})"


def given(schema: Mapping[str, Any] | None, assignments: Sequence[str], file: str | None, *, interactive: bool) -> Manifest:
    """The parameters: of the file, then of the assignments, then asked for. Raises click.UsageError, naming what is missing.

    `schema` is the template's `paramSchema`, None when it is not known.
    """
    values = (of_file(file) if file else {}) | assigned(assignments, schema)
    lacking = missing(parameters(schema), values)
    if lacking and not interactive:
        words = ", ".join(map(str, lacking))
        raise click.UsageError(f"the template wants more parameters: {words}: give {' '.join(names(lacking))}")
    return values | {each.name: ask(each) for each in lacking}


def parameters(schema: Mapping[str, Any] | None) -> tuple[Parameter, ...]:
    """The parameters of a template: the required ones first, in the order of the schema."""
    properties: Mapping[str, Any] = (schema or {}).get("properties") or {}
    required = (schema or {}).get("required") or ()
    found = [Parameter(name, each or {}, name in required) for name, each in properties.items()]
    return tuple(sorted(found, key=lambda each: not each.required))


def open_ended(schema: Mapping[str, Any] | None) -> bool:
    """May there be parameters that the schema does not name?"""
    schema = schema or {}
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties"))


def missing(known: Sequence[Parameter], given: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """What must be given, is not, and has no default."""
    return tuple(each for each in known if each.required and each.name not in given and not each.has_default)


def assigned(assignments: Sequence[str], schema: Mapping[str, Any] | None) -> Manifest:
    """The values of `--param NAME=VALUE`, read by the types of the schema (None: not known). Raises click.UsageError."""
    return dict(_assigned(each, schema) for each in assignments)


def _assigned(assignment: str, schema: Mapping[str, Any] | None) -> tuple[str, Any]:
    name, sign, text = assignment.partition("=")
    if not (name and sign):
        raise click.UsageError(f"--param takes NAME=VALUE: {assignment!r} is none")
    named = {each.name: each for each in parameters(schema)}
    if schema is not None and name not in named and not open_ended(schema):
        known = ", ".join(named) or "none"
        raise click.UsageError(f"--param {name}: the template has no such parameter: it knows {known}")
    try:
        return name, parsed(named.get(name, Parameter(name, {}, False)), text)
    except Unfit as unfit:
        raise click.UsageError(f"--param {name}: {unfit}") from None


def of_file(path: str) -> Manifest:
    """The parameters that a file holds. Raises click.UsageError."""
    try:
        value = document(sys.stdin.read() if path == STANDARD_INPUT else Path(path).read_text(), LARGEST)
    except OSError as error:
        raise click.UsageError(f"--params {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise click.UsageError(f"--params {path}: is not text in UTF-8") from None
    except Unreadable as error:
        raise click.UsageError(f"--params {path}: line {error.line}: {error.message}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--params {path}: must hold a map from names to values")
    return value


def ask(parameter: Parameter) -> Any:
    """Ask on the terminal; a choice where the schema has an `enum`, a yes or no for a boolean."""
    description = str(parameter.schema.get("description") or "").strip()
    if description:
        click.echo(click.style(description, dim=True), err=True)
    if parameter.choices:
        by_text = {written(value): value for value in parameter.choices}
        return by_text[click.prompt(parameter.name, type=click.Choice(list(by_text)), err=True)]
    if parameter.type == "boolean":
        return click.confirm(parameter.name, err=True)

    def read(text: str) -> Any:
        try:
            return parsed(parameter, text)
        except Unfit as unfit:
            raise click.UsageError(str(unfit)) from None  # click shows it and asks again

    return click.prompt(str(parameter), value_proc=read, err=True)


# Texts as values.


def parsed(parameter: Parameter, text: str) -> Any:
    """The value that a text means for a parameter. Raises Unfit."""
    return _READERS.get(parameter.type, _anything)(text)


def written(value: Any) -> str:
    """A value as somebody would type it."""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[-+]?[0-9]{1,19}", text):
        raise Unfit(f"{text!r} is no whole number")
    return int(text)


def _number(text: str) -> int | float:
    if not re.fullmatch(r"[-+]?[0-9]{1,300}(\.[0-9]+)?", text):
        raise Unfit(f"{text!r} is no number")
    return whole(float(text))


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise Unfit(f"{text!r} is neither true nor false")
    return text == "true"


def _anything(text: str) -> Any:
    try:
        return document(text, LARGEST)
    except Unreadable as error:
        raise Unfit(f"line {error.line}: {error.message}") from None


def _shaped(kind: type, words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = _anything(text)
        if not isinstance(value, kind):
            raise Unfit(f"write {words}, as YAML or JSON")
        return value

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _shaped(list, "a list such as [a, b]"),
    "object": _shaped(dict, "a map such as {a: b}"),
}


def names(wanted: Sequence[Parameter]) -> Iterator[str]:
    """How each would be given."""
    return (f"--param {each.name}={'|'.join(map(written, each.choices)) or each.type or 'value'}" for each in wanted)
