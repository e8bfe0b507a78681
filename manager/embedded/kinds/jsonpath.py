"""The JSONPath of Kubernetes (https://kubernetes.io/docs/reference/kubectl/jsonpath/), as far as one path goes.

    .spec.nodes[0].name   .metadata.annotations.a\\.b/c   ['a']   [-1]   [0:2]   [*]   .*   ..name
    [?(@.type=="Ready")].status   [?(@.count>1)]   [?(@.name)]

A path finds any number of values. What is not there is not found; an index outside of its list finds nothing at all.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[list[Any]], list[Any]]


class BadPath(ValueError):
    """A text that is no path."""


class NotFound(LookupError):
    """The path leads where nothing can be: into a list where there is none, or beyond its end."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path, ready to be followed."""

    steps: tuple[Step, ...]

    def find(self, root: Any) -> list[Any]:
        """The values at the path, in order; none when there are none, or where Go would fail."""
        try:
            return self.follow([root])
        except NotFound:
            return []

    def follow(self, values: list[Any]) -> list[Any]:
        """The values at the path from each of these. Raises NotFound."""
        for step in self.steps:
            values = step(values)
        return values


@lru_cache(maxsize=4096)
def parse(text: str) -> Path:
    """Read a path, with or without braces and `$`. Raises BadPath."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return Path(tuple(_steps(text.removeprefix("$"))))


_NAME = re.compile(r"(?:\\.|[^.\[\]\\])+")
_SLICE = re.compile(r"(-?\d*)(?::(-?\d*))?(?::(-?\d*))?")
_FILTER = re.compile(r"\?\((.*)\)")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")


def _steps(text: str) -> Iterator[Step]:
    place = 0
    while place < len(text):
        if text.startswith("..", place):
            place += 2
            name, place = _name(text, place)
            yield _recursive(name)
        elif text.startswith(".*", place):
            place += 2
            yield _all
        elif text[place] == "[":
            inside, place = _bracket(text, place)
            yield _of_bracket(inside)
        else:
            place += text[place] == "."
            name, place = _name(text, place)
            yield _field(name)


def _name(text: str, place: int) -> tuple[str, int]:
    found = _NAME.match(text, place)
    if found is None:
        raise BadPath(f"a name is missing at {place} of {text}")
    return re.sub(r"\\(.)", r"\1", found[0]), found.end()


def _bracket(text: str, place: int) -> tuple[str, int]:
    """What stands between a bracket and its partner, and where it goes on."""
    depth, quote = 0, ""
    for index in range(place, len(text)):
        each = text[index]
        if quote:
            quote = "" if each == quote and text[index - 1] != "\\" else quote
        elif each in "'\"":
            quote = each
        elif each in "[]":
            depth += 1 if each == "[" else -1
            if depth == 0:
                return text[place + 1 : index], index + 1
    raise BadPath(f"a bracket is not closed in {text}")


def _of_bracket(inside: str) -> Step:
    inside = inside.strip()
    if inside == "*":
        return _all
    if inside[:1] in "'\"" and inside[:1] == inside[-1:] and len(inside) > 1 and "," not in inside:
        # The server reads a quoted key like a path: its dots count.
        return _inner(parse(f".{inside[1:-1]}"))
    if condition := _FILTER.fullmatch(inside):
        return _filter(condition[1])
    if "," in inside:
        return _union([_of_bracket(part) for part in inside.split(",")])
    if slice_ := _SLICE.fullmatch(inside):
        return _slice(*(int(part) if part else None for part in slice_.groups()), single=":" not in inside)
    raise BadPath(f"nobody knows what [{inside}] means")


def _inner(path: Path) -> Step:
    return path.follow


def _union(steps: list[Step]) -> Step:
    return lambda values: [each for step in steps for each in step(values)]


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _all(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found


def _recursive(name: str) -> Step:
    return lambda values: [found for value in values for found in _below(value, name)]


def _below(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if name in value:
            yield value[name]
        for each in value.values():
            yield from _below(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _below(each, name)


def _slice(start: int | None, end: int | None, step: int | None, *, single: bool) -> Step:
    def take(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise NotFound
            found += _item(value, start or 0) if single else _part(value, start or 0, end, step or 1)
        return found

    return take


def _item(value: list[Any], index: int) -> list[Any]:
    if not -len(value) <= index < len(value):
        raise NotFound
    return [value[index]]


def _part(value: list[Any], start: int, end: int | None, step: int) -> list[Any]:
    first = start + len(value) if start < 0 else start
    last = len(value) if end is None else end + len(value) if end < 0 else end
    if first == last:
        return []
    if not (0 <= first < len(value) and first <= last <= len(value)) or step < 1:
        raise NotFound
    return value[first:last:step]


# Filters

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def _filter(condition: str) -> Step:
    comparison = _COMPARISON.fullmatch(condition)
    keep = _exists(parse(_local(condition))) if comparison is None else _compares(*comparison.groups())

    def choose(values: list[Any]) -> list[Any]:
        if not all(isinstance(value, list) for value in values):
            raise NotFound
        return [each for value in values for each in value if keep(each)]

    return choose


def _local(text: str) -> str:
    return text.strip().removeprefix("@")


def _exists(path: Path) -> Callable[[Any], bool]:
    return lambda each: bool(path.find(each))


def _compares(left: str, operator: str, right: str) -> Callable[[Any], bool]:
    if operator not in _OPERATORS:
        raise BadPath(f"{operator} is no operator")
    test, first, second = _OPERATORS[operator], _operand(left), _operand(right)

    def keep(each: Any) -> bool:
        sides = first(each), second(each)
        if any(len(side) > 1 for side in sides):
            raise NotFound
        return all(sides) and _test(test, sides[0][0], sides[1][0])

    return keep


def _test(test: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if type(left) is not type(right) and not _numbers(left, right):
        # Go refuses to compare a text with a number.
        raise NotFound
    try:
        return test(left, right)
    except TypeError:
        raise NotFound from None


def _numbers(left: Any, right: Any) -> bool:
    return type(left) in (int, float) and type(right) in (int, float)


def _operand(text: str) -> Callable[[Any], list[Any]]:
    text = text.strip()
    if text.startswith("@"):
        return parse(_local(text)).find
    constant = _constant(text)
    return lambda each: [constant]  # noqa: ARG005 - a constant is the same for each


def _constant(text: str) -> Any:
    if text[:1] in "'\"" and text[:1] == text[-1:] and len(text) > 1:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise BadPath(f"{text} is no value") from None
