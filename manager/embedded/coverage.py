"""What a set of fields covers of a value: the fields that a value names, a value without fields or with nothing but them."""

from collections.abc import Callable
from typing import Any

from manager.embedded.fields import HERE, LEAF, FieldSet, Tree
from manager.embedded.schema import ListType
from manager.embedded.typed import ABSENT, DEDUCED, Type, element_of, grouped, part_of


def field_set(value: Any, of: Type) -> Tree:
    """The fields that a configuration names: leaves, items, and keys of maps; structs only when they are empty or null."""
    if value.__class__ is dict and of.map:
        return _map_field_set(value, of) if of.granular else LEAF
    if value.__class__ is list and of.list_type is not None:
        return _list_field_set(value, of) if of.list_type is not ListType.ATOMIC else LEAF
    part = part_of(value, of)
    leaf = part == "scalar" or (not of.granular if part == "map" else of.list_type is ListType.ATOMIC)
    return LEAF if leaf else {}


def _map_field_set(value: dict[str, Any], of: Type) -> Tree:
    out: Tree = {}
    fields = of.fields
    for name, below in value.items():
        child = fields.get(name)
        tree = field_set(below, child or of.element or DEDUCED)
        if (child is None or below is None or below == {}) and HERE not in tree:
            tree = {HERE: {}, **tree} if tree else LEAF
        if tree:
            out[f"f:{name}"] = tree
    return out


def _list_field_set(value: list[Any], of: Type) -> Tree:
    out: Tree = {}
    for element, items in grouped(value, of).items():
        # Of items that repeat, nothing but the item is owned.
        tree = field_set(items[0], of.item) if len(items) == 1 else LEAF
        out[element] = tree if HERE in tree else {HERE: {}, **tree}
    return out


# Removing and extracting


def remove(value: Any, unwanted: Tree, of: Type) -> Any:
    """The value without the members of a set. What is emptied by that is null."""
    return _walk(value, unwanted, of, _without) if unwanted else value


def extract(value: Any, wanted: Tree, of: Type) -> Any:
    """Nothing but the members of a set; a member that is a leaf of the set brings all that is below it."""
    return _walk(value, wanted, of, _only)


def _walk(value: Any, tree: Tree, of: Type, choose: Callable[[Any, Tree | None, Type], Any]) -> Any:
    if value.__class__ is dict and of.map:
        if not of.granular or not value:
            return value if choose is _only else None
        kept = {name: choose(below, tree.get(f"f:{name}"), of.child(name)) for name, below in value.items()}
        return {name: below for name, below in kept.items() if below is not ABSENT} or None
    if value.__class__ is list and of.list_type is not None:
        if of.list_type is ListType.ATOMIC or not value:
            return value if choose is _only else None
        chosen = [choose(item, tree.get(element_of(item, of)), of.item) for item in value]
        return [item for item in chosen if item is not ABSENT] or None
    return value if of.scalar or value is None else None


def _without(value: Any, tree: Tree | None, of: Type) -> Any:
    if tree is None:
        return value
    return ABSENT if HERE in tree else _walk(value, tree, of, _without)


def _only(value: Any, tree: Tree | None, of: Type) -> Any:
    if tree is None:
        return ABSENT
    return value if tree.keys() == {HERE} else _walk(value, tree, of, _only)


# Sets and their types


def named(tree: Tree, of: Type) -> Tree:
    """The set, and the fields that the schema names above its members: `a.b.c` brings `a` and `a.b`, but no key of a map."""
    out: Tree = {}
    for element, below in tree.items():
        if element == HERE:
            out[HERE] = below
            continue
        rest, child, declared = _below(element, of)
        if below is not LEAF and len(below) > (HERE in below):
            below = named(below, child) if rest else below
            if declared and HERE not in below:
                below = {HERE: {}, **below}
        out[element] = below
    return out


def _below(element: str, of: Type) -> tuple[bool, Type, bool]:
    """Whether a type is known below an element, that type, and whether the element is a field that the schema names."""
    if element[0] == "f" and of.map:
        field = of.fields.get(element[2:])
        child = field or of.element
        return child is not None, child or DEDUCED, field is not None
    if element[0] == "k" and of.list_type is not None:
        return True, of.item, False
    return False, DEDUCED, False


def reconcile(fields: FieldSet, of: Type) -> FieldSet:
    """The set after a change of schema: where a map or list has become atomic, what owned parts of it owns it."""
    if fields.fitting is of:
        return fields
    tree = _reconcile(fields.tree, of, root=True)
    made = fields if tree == fields.tree else FieldSet(tree)
    made.fitting = of
    return made


def _reconcile(tree: Tree, of: Type, *, root: bool = False) -> Tree:
    leaf = not root and tree.keys() == {HERE}
    atomic = not of.granular if of.map else not of.scalar and of.list_type is ListType.ATOMIC
    if of.map and of.element is DEDUCED and not of.fields:
        return tree  # anything: it has no atomic parts
    if leaf or (not of.map and of.scalar):
        return tree
    if atomic and not root:
        return LEAF
    out: Tree = {}
    for element, below in tree.items():
        known, child = (of.list_type is not None, of.item) if not of.map else _field_type(element, of)
        out[element] = _reconcile(below, child) if known and element != HERE else below
    return out


def _field_type(element: str, of: Type) -> tuple[bool, Type]:
    child = of.fields.get(element[2:]) or of.element if element[0] == "f" else of.element
    return child is not None, child or DEDUCED
