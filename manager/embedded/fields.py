"""Sets of fields: what an entry of `metadata.managedFields` owns, as `fieldsV1` writes it.

The arithmetic is that of structured-merge-diff v6 (https://github.com/kubernetes-sigs/structured-merge-diff): a set holds paths,
and a path that is a member says nothing about the paths below it.

A tree is a dict from element to tree. Elements are written as in `fieldsV1`: `f:<field>`, `k:<keys of an item>`, `v:<value of an
item>`, `i:<index>`; the key `.` makes the place itself a member. Trees are shared and never changed once built.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

Tree: TypeAlias = dict[str, Any]

HERE = "."
LEAF: Tree = {HERE: {}}
"""A member without members below it."""

_ORDER = {"f": 0, "k": 1, "v": 2, "i": 3}
_MARKS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_MARKED = re.compile("[<>&\u2028\u2029]")


class Malformed(ValueError):
    """Text that is no field set."""


class FieldSet:
    """An immutable set of paths."""

    __slots__ = ("_json", "fitting", "tree")

    def __init__(self, tree: Tree, json: dict[str, Any] | None = None) -> None:
        self.tree = tree
        self._json = json
        self.fitting: object = None  # the type in which `typed.reconcile` found nothing to do

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> "FieldSet":
        """Read a `fieldsV1`; elements of a kind that nobody knows are left out. Raises Malformed."""
        return _parse(orjson.dumps(fields))

    @classmethod
    def of(cls, *paths: Iterable[str]) -> "FieldSet":
        """The set of these paths, each a row of field names: `FieldSet.of(("status",), ("metadata", "labels"))`."""
        tree: Tree = {}
        for path in paths:
            single: Tree = LEAF
            for name in reversed(list(path)):
                single = {f"f:{name}": single}
            tree = union(tree, single)
        return cls(tree)

    def fields_v1(self) -> dict[str, Any]:
        """As `fieldsV1`, in the server's order; the same dict at every call, so it is not to be changed."""
        if self._json is None:
            self._json = _encode(self.tree)
        return self._json

    def union(self, other: "FieldSet") -> "FieldSet":
        """The paths of either."""
        return FieldSet(union(self.tree, other.tree))

    def intersection(self, other: "FieldSet") -> "FieldSet":
        """The paths of both."""
        return FieldSet(intersection(self.tree, other.tree))

    def difference(self, other: "FieldSet") -> "FieldSet":
        """The paths that the other one does not have; those below a path of the other stay."""
        return FieldSet(difference(self.tree, other.tree))

    def without(self, other: "FieldSet") -> "FieldSet":
        """The paths that neither are in the other one nor stand below one of its paths."""
        return FieldSet(without(self.tree, other.tree))

    def leaves(self) -> "FieldSet":
        """The paths below which no other path stands."""
        return FieldSet(_leaves(self.tree))

    def contains(self, path: Iterable[str]) -> bool:
        """Is this path, a row of elements (`["f:data", "f:a"]`), a member?"""
        tree = self.tree
        for element in path:
            if element not in tree:
                return False
            tree = tree[element]
        return HERE in tree and tree is not self.tree

    def paths(self) -> list[str]:
        """All members as the server writes them: `.data.a`, `.spec.ports[port=80,protocol="TCP"]`; shorter ones first."""
        return list(paths(self.tree))

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(orjson.dumps(self.fields_v1()))

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(self.paths())})"


def union(one: Tree, other: Tree) -> Tree:
    """The paths of either tree."""
    if one is other or not other:
        return one
    if not one:
        return other
    out = dict(one)
    for element, below in other.items():
        mine = out.get(element)
        out[element] = below if mine is None else union(mine, below)
    return out


def intersection(one: Tree, other: Tree) -> Tree:
    """The paths of both trees."""
    if one is other:
        return one
    out: Tree = {}
    for element, below in one.items():
        if element not in other:
            continue
        if element == HERE:
            out[HERE] = below
        elif both := intersection(below, other[element]):
            out[element] = both
    return out


def difference(one: Tree, other: Tree) -> Tree:
    """The paths of the first tree that the second does not have."""
    if not other:
        return one
    out: Tree = {}
    for element, below in one.items():
        if element not in other:
            out[element] = below
        elif element != HERE and (rest := difference(below, other[element])):
            out[element] = rest
    return out


def without(one: Tree, other: Tree) -> Tree:
    """The paths of the first tree that neither are in the second nor stand below one of its paths."""
    if not other:
        return one
    out: Tree = {}
    for element, below in one.items():
        if element not in other:
            out[element] = below
        elif element != HERE and HERE not in other[element] and (rest := without(below, other[element])):
            out[element] = rest
    return out


def within(one: Tree, other: Tree) -> bool:
    """Does the second tree have all paths of the first?"""
    return one is other or all(
        element in other and (not below or within(below, other[element])) for element, below in one.items()
    )


def _leaves(tree: Tree) -> Tree:
    return {element: below if below.keys() == {HERE} else _leaves(below) for element, below in tree.items() if element != HERE}


def paths(tree: Tree, prefix: str = "") -> Iterator[str]:
    """The members of a tree as the server lists them: those of a level, then those below each."""
    elements = _ordered(tree)
    for element in elements:
        if HERE in tree[element]:
            yield prefix + readable(element)
    for element in elements:
        yield from paths(tree[element], prefix + readable(element))


# Elements


def json_text(value: Any) -> str:
    """A value as Go's encoder writes it inside an element: marks of HTML escaped, keys sorted, 80.0 as 80."""
    text = orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS).decode()
    return text.translate(_MARKS) if _MARKED.search(text) else text


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def key_element(keys: Iterable[tuple[str, Any]]) -> str:
    """The element of an item of an associative list, by its keys in the order of their names."""
    return f"k:{{{','.join([f'{_text(name)}:{scalar_text(value)}' for name, value in keys])}}}"


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{scalar_text(value)}"


@lru_cache(maxsize=8192)
def _text(value: str) -> str:
    return json_text(value)


def scalar_text(value: Any) -> str:
    """`json_text` for the values that keys and items of sets mostly are."""
    kind = value.__class__
    return _text(value) if kind is str else str(value) if kind is int else json_text(value)


@lru_cache(maxsize=8192)
def readable(element: str) -> str:
    """An element as it stands in messages: `.name`, `[port=80,protocol="TCP"]`, `[="value"]`, `[0]`."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "i":
        return f"[{text}]"
    if kind == "v":
        return f"[={_readable(orjson.loads(text))}]"
    return f"[{','.join(f'{name}={_readable(value)}' for name, value in orjson.loads(text).items())}]"


def _readable(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{','.join(map(_readable, value))}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_readable(value[name])}" for name in sorted(value))
    return orjson.dumps(value).decode()


def quoted(text: str) -> str:
    """A string as Go's %q writes it, for the printable ones."""
    return orjson.dumps(text).decode()


def _ordered(tree: Tree) -> list[str]:
    elements = [element for element in tree if element != HERE]
    # Field names sort as they are, and most levels have nothing else.
    if all(element[0] == "f" for element in elements):
        return sorted(elements)
    return sorted(elements, key=_rank)


@lru_cache(maxsize=8192)
def _rank(element: str) -> tuple[Any, ...]:
    """The place of an element among its siblings: fields, keys, values, indices, each in the order of its kind."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "i":
        return (3, int(text))
    if kind == "v":
        return (2, _weight(orjson.loads(text)))
    return (1, tuple((name, _weight(value)) for name, value in orjson.loads(text).items()))


def _weight(value: Any) -> tuple[Any, ...]:
    """The order of values of any type: numbers, strings, booleans, lists, maps, null."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, tuple(map(_weight, value)))
    if isinstance(value, dict):
        return (4, tuple((name, _weight(value[name])) for name in sorted(value)))
    return (5,)


# Text


def _encode(tree: Tree) -> dict[str, Any]:
    out: dict[str, Any] = {HERE: {}} if HERE in tree and len(tree) > 1 else {}
    for element in _ordered(tree):
        out[element] = _encode(tree[element])
    return out


@lru_cache(maxsize=4096)
def _parse(text: bytes) -> FieldSet:
    # The same few sets stand in thousands of objects: every copy of a ConfigMap is owned alike.
    return FieldSet(_decode(orjson.loads(text)))


def _decode(fields: Any) -> Tree:
    if not isinstance(fields, dict):
        raise Malformed(f"an object was expected, not {fields!r}")
    out: Tree = {}
    for key, below in fields.items():
        if key == HERE:
            continue
        element = _canonical(key)
        if element is None:
            continue
        node = _decode(below)
        # Nothing below: then the place itself is what is owned.
        if HERE in below or not node:
            node = {HERE: {}, **node}
        out[element] = union(out.get(element, {}), node)
    return out


@lru_cache(maxsize=8192)
def _canonical(key: str) -> str | None:
    """An element as we write it; None for a kind of element that is not known."""
    if key[1:2] != ":":
        raise Malformed(f"missing colon: {key}")
    kind, text = key[0], key[2:]
    if kind not in _ORDER:
        return None
    try:
        if kind == "k":
            return key_element(sorted(orjson.loads(text).items()))
        if kind == "v":
            return value_element(orjson.loads(text))
        return key if kind == "f" else f"i:{int(text)}"
    except (ValueError, AttributeError) as error:
        raise Malformed(f"{key}: {error}") from error
