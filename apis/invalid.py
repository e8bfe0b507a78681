"""From a failed validation to a message: each wrong field by its path as in YAML, and what to do about it."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

MAX_ERRORS = 10
"""More are counted, not listed: the message goes into a condition."""
MAX_LENGTH = 240
"""Characters of one error: the bound on texts that hold an enum or a pattern."""

_PLURALS = {"Tuple": "entries", "List": "entries", "Dictionary": "keys"}


def explain(title: str, error: ValidationError) -> str:
    """`<title>: <path>: <remedy>; <path>: <remedy>`, bounded. Never shows a value: a target may hold a Secret."""
    errors = _first_hand(error.errors(include_url=False, include_input=False))
    lines = [_line(one) for one in errors[:MAX_ERRORS]]
    more = [f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
    return f"{title}: " + "; ".join(lines + more)


def path(place: tuple[int | str, ...]) -> str:
    """`("spec", "resources", 0, "name")` -> `spec.resources[0].name`; a key that holds a dot stands in brackets."""
    return "".join(_step(part) for part in place).removeprefix(".")


def _first_hand(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without those that only follow from others: a list is "too short" when its entries are wrong."""
    places = [error["loc"] for error in errors]

    def follows(error: ErrorDetails) -> bool:
        depth = len(error["loc"])
        return error["type"] == "too_short" and any(len(place) > depth and place[:depth] == error["loc"] for place in places)

    return [error for error in errors if not follows(error)]


def _step(part: int | str) -> str:
    if isinstance(part, int) or "." in part or "/" in part:
        return f"[{part}]"
    return f".{part}"


def _line(error: ErrorDetails) -> str:
    text = _REMEDIES.get(error["type"], _as_pydantic_says)(error.get("ctx") or {}, error["msg"])
    line = f"{path(error['loc'])}: {text}"
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 1] + "…"


def _as_pydantic_says(_: Mapping[str, Any], message: str) -> str:
    return message[:1].lower() + message[1:]


def _says(text: str) -> Callable[[Mapping[str, Any], str], str]:
    return lambda ctx, _: text.format(**ctx)


def _size(word: str) -> Callable[[Mapping[str, Any], str], str]:
    def text(ctx: Mapping[str, Any], _: str) -> str:
        bound = ctx.get("min_length") if word == "at least" else ctx.get("max_length")
        return f"must have {word} {bound} {_PLURALS.get(ctx.get('field_type', ''), 'entries')}"

    return text


_REMEDIES: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "extra_forbidden": _says("unknown field: remove it, or correct its spelling"),
    "value_error": _says("{error}"),
    "missing": _says("required: add it"),
    "enum": _says("must be one of {expected}"),
    "literal_error": _says("must be one of {expected}"),
    "string_type": _says("must be a string: put it in quotes"),
    "bool_type": _says("must be true or false, without quotes"),
    "int_type": _says("must be a whole number, without quotes"),
    "dict_type": _says("must be a map of keys and values"),
    "model_type": _says("must be a map of fields"),
    "tuple_type": _says("must be a list: begin each entry with `- `"),
    "list_type": _says("must be a list: begin each entry with `- `"),
    "string_too_short": _says("must not be empty: omit the field, or give it a value"),
    "string_too_long": _says("must have at most {max_length} characters: shorten it"),
    "string_pattern_mismatch": _says("must match {pattern}: correct it"),
    "too_short": _size("at least"),
    "too_long": _size("at most"),
    "greater_than_equal": _says("must be {ge} or more"),
    "less_than_equal": _says("must be {le} or less"),
}
