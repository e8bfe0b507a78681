"""Strings that come from others, marked so that a text template cannot turn them into structure.

A value of `params`, `request`, `context` or `namespace` is wrapped with all that it contains. Whatever an operator, a filter
or a call makes of a wrapped value is wrapped again (see `jinja.TextEnvironment`), so the mark is lost in one place only: where
text that was checked piece by piece, or JSON, is put out.

    Tainted     put out only when it is harmless (`refused`)
    └── Checked put out as it is: the output of `tojson`, of a macro or of a `set` block; tainted for everything else
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, SupportsIndex

from manager.render.text import reads_back

_HARMLESS = re.compile(r"[A-Za-z0-9 _.:/@+=-]*")


class Tainted(str):
    """A string that came from others, or was made of one."""

    __slots__ = ()

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        return Tainted(str.__format__(self, spec))

    def __iter__(self) -> Iterator[str]:
        return map(Tainted, str.__iter__(self))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        return Tainted(str.__getitem__(self, key))

    def __add__(self, other: str) -> str:
        return Tainted(str.__add__(self, other))

    def __radd__(self, other: str) -> str:
        return Tainted(str.__add__(other, self))

    def __mul__(self, count: SupportsIndex) -> str:
        return Tainted(str.__mul__(self, count))

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> str:
        return Tainted(str.__mod__(self, values))


class Checked(Tainted):
    """Text whose parts were checked when they were put out, and JSON. Any change to it makes it Tainted again."""

    __slots__ = ()


class TaintedMap(dict[Any, Any]):
    """A map of which every key and value is tainted."""

    __slots__ = ()


class TaintedList(list[Any]):
    """A list of which every item is tainted."""

    __slots__ = ()


def taint(value: Any) -> Any:
    """The value with everything in it marked. Numbers, booleans and None carry no text and stay as they are."""
    if isinstance(value, Tainted | TaintedMap | TaintedList | int | float | None):
        return value
    if isinstance(value, str):
        return Tainted(value)
    if isinstance(value, Mapping):
        return TaintedMap((taint(key), taint(item)) for key, item in value.items())
    if isinstance(value, tuple):
        items = [taint(item) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, Iterator):
        return map(taint, value)
    if isinstance(value, Iterable) and not isinstance(value, bytes | range) and type(value).__module__ in _PLAIN:
        return TaintedList(taint(item) for item in value)
    return value  # macros, loops, namespaces, undefined: what they hold carries its own mark


_PLAIN = frozenset({"builtins", "collections.abc", "_collections_abc"})


def tainted(value: Any) -> bool:
    """Is a mark anywhere in it? Iterators have to be listed before."""
    if isinstance(value, Tainted | TaintedMap | TaintedList):
        return True
    if isinstance(value, str):
        return False
    if isinstance(value, Mapping):
        return any(tainted(key) or tainted(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset) or type(value).__name__ in _VIEWS:
        return any(map(tainted, value))
    return False


_VIEWS = frozenset({"dict_keys", "dict_values", "dict_items"})


def refused(value: Tainted) -> bool:
    """May this text not stand in a text template as it is?"""
    if isinstance(value, Checked):
        return False
    text = str.__str__(value)
    return _HARMLESS.fullmatch(text) is None or not reads_back(text)
