"""A manifest whose strings are templates: compiled to a tree once, rendered over the variables of each job."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apis.problems import Invalid
from apis.reasons import Reason
from manager.render import functions, jinja
from manager.render.jinja import Compiled, Failed

Tree = dict[str, Any]
Path = tuple[str | int, ...]

NODES = 100_000  # values of one document
DEPTH = 64


@dataclass(frozen=True, slots=True)
class Static:
    """A part without templates: passed on as it is."""

    value: Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string that is a template."""

    template: Compiled
    place: str


@dataclass(frozen=True, slots=True)
class Fields:
    """A map of which a key or a value is a template."""

    entries: tuple[tuple[str | Leaf, "Node"], ...]
    place: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list of which an item is a template."""

    items: tuple["Node", ...]


Node = Static | Leaf | Fields | Items


def compile_tree(value: Any, place: str, problems: list[Invalid] | None = None) -> Node:
    """The tree with its strings compiled. Raises Invalid, or collects it in `problems`."""
    if isinstance(value, str):
        return leaf_of(value, place, problems) if jinja.is_template(value) else Static(value)
    if isinstance(value, dict):
        entries = tuple(
            (
                leaf_of(key, f"the key at {place}", problems) if jinja.is_template(key) else key,
                compile_tree(item, f"{place}{step(key)}", problems),
            )
            for key, item in value.items()
        )
        static = all(isinstance(key, str) and isinstance(node, Static) for key, node in entries)
        return Static(value) if static else Fields(tuple((k, n) for k, n in entries if not isinstance(k, Static)), place)
    if isinstance(value, list):
        items = tuple(compile_tree(item, f"{place}[{index}]", problems) for index, item in enumerate(value))
        return Static(value) if all(isinstance(node, Static) for node in items) else Items(items)
    return Static(value)


def step(key: str) -> str:
    """One step of a field path, as kubectl writes it."""
    return f".{key}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", key) else f'["{key}"]'


def leaf_of(source: str, place: str, problems: list[Invalid] | None) -> Any:
    """The template, or the string as it is when it does not compile and `problems` takes that. Raises Invalid."""
    try:
        return Leaf(jinja.compiled(source), place)
    except Failed as failure:
        problem = invalid(place, failure)
        if problems is None:
            raise problem from None
        problems.append(problem)
        return Static(source)


def invalid(place: str, failure: Failed) -> Invalid:
    """The failure of a template as the author's problem."""
    line = f", line {failure.line}" if failure.line else ""
    return Invalid(Reason.UNSAFE_VALUE if failure.unsafe else Reason.RENDER_FAILED, f"{place}{line}: {failure.message}")


class Run:
    """One rendering of a tree: counts what it makes, and notes where an expression gave a number or a boolean."""

    def __init__(self, variables: jinja.Variables, characters: int) -> None:
        self.variables = variables
        self.scalars: list[Path] = []
        self._nodes = NODES
        self._characters = characters

    def render(self, node: Node, path: Path = ()) -> Any:
        """The value of a node. Raises Invalid."""
        if isinstance(node, Static):
            return node.value
        if isinstance(node, Leaf):
            return self._value(node, path)
        if isinstance(node, Items):
            return [self.render(item, (*path, index)) for index, item in enumerate(node.items)]
        made: Tree = {}
        for key, item in node.entries:
            name = key if isinstance(key, str) else self.string(key)
            if name in made:
                raise Invalid(Reason.RENDER_FAILED, f"{node.place}: two keys of this map render to the same text")
            made[name] = self.render(item, (*path, name))
        return made

    def string(self, leaf: Leaf) -> str:
        """The text of a leaf, in the words of JSON where it is none. Raises Invalid."""
        try:
            return str.__str__(jinja.printed(self._evaluate(leaf)))
        except functions.Refused:
            raise Invalid(Reason.RENDER_FAILED, f"{leaf.place}: a map or a list cannot stand where a string has to") from None

    def _evaluate(self, leaf: Leaf) -> Any:
        try:
            return leaf.template.value(self.variables)
        except Failed as failure:
            raise invalid(leaf.place, failure) from None

    def _value(self, leaf: Leaf, path: Path) -> Any:
        value = self._evaluate(leaf)
        if type(value) is str:
            return value
        try:
            return self._plain(value, path)
        except Failed as failure:
            raise invalid(leaf.place, failure) from None

    def _plain(self, value: Any, path: Path, depth: int = 0) -> Any:
        """What an expression gave, as JSON: counted, because lists may hold themselves many times over."""
        self._nodes -= 1
        if self._nodes < 0 or depth > DEPTH:
            raise Failed(f"more than {NODES} values or {DEPTH} levels")
        if isinstance(value, str):
            self._characters -= len(value)
            if self._characters < 0:
                raise Failed("the value is too large for one document")
            return str.__str__(value)
        if isinstance(value, bool | int | float):
            if isinstance(value, float) and not math.isfinite(value):
                raise Failed("infinity and NaN have no place in a manifest")
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
                raise Failed("a number has more than 64 bits")
            self.scalars.append(path)
            return value
        if value is None:
            return None
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise Failed("a key of a map has to be a string")
            return {str.__str__(key): self._plain(item, (*path, str(key)), depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | Iterator) or type(value).__name__ in ("dict_keys", "dict_values", "dict_items"):
            return [self._plain(item, (*path, index), depth + 1) for index, item in enumerate(value)]
        raise Failed("the expression gives a function or an object of the template engine, not data")


def leaves(node: Node) -> Iterator[Leaf]:
    """All templates of a tree."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from leaves(item)
    elif isinstance(node, Fields):
        for key, item in node.entries:
            if isinstance(key, Leaf):
                yield key
            yield from leaves(item)
