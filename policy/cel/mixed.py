"""Literals that mix types, which Kubernetes refuses: what is `dyn` is a type of its own there."""

from collections.abc import Iterable, Iterator

from policy.cel.meaning import Checked
from policy.cel.syntax import Call, Entry, Item, ListOf, MapOf, Node, Refused, children
from policy.cel.types import Type

MIXED = frozenset({"format"})  # in whose arguments a list may mix types


def mixed(tree: Node, checked: Checked) -> Iterator[Refused]:
    """The first element of each list, and key and value of each map, that is of another type than what stands before it."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Call) and node.name in MIXED:
            continue
        nodes += children(node)
        match node:
            case ListOf(items=items):
                yield from _odd((item.value, _kind(item, checked)) for item in items)
            case MapOf(entries=entries):
                yield from _odd((entry.key, checked.types[entry.key.id]) for entry in entries)
                yield from _odd((entry.value, _kind(entry, checked)) for entry in entries)


def _odd(column: Iterable[tuple[Node, Type]]) -> Iterator[Refused]:
    """The first one that is of another type than the first of all."""
    before: Type | None = None
    for node, kind in column:
        before = before or kind
        if kind != before:
            message = f"this is of type {kind}, and what stands before it of type {before}: make all of them dyn()"
            yield Refused(message, node.at)
            return


def _kind(held: Item | Entry, checked: Checked) -> Type:
    """The type of what is held, taken out of an optional value that is."""
    kind = checked.types[held.value.id]
    return kind.parameters[0] if held.optional and kind.parameters else kind
