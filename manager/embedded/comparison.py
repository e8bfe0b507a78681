"""The fields that a change removed, changed and added."""

from typing import Any, NamedTuple

from manager.embedded.fields import HERE, LEAF, Tree, union
from manager.embedded.schema import ListType
from manager.embedded.typed import ABSENT, DEDUCED, Type, grouped, part_of, same


class Difference(NamedTuple):
    """The fields that a change removed, changed and added."""

    removed: Tree
    modified: Tree
    added: Tree


_MODIFIED = Difference({}, LEAF, {})
SAME = Difference({}, {}, {})


def compare(old: Any, new: Any, of: Type) -> Difference:
    """The difference between two values of one type. What both have as the same object is not looked at."""
    if old is new:
        return SAME
    kind, other = old.__class__, new.__class__
    if kind is str and other is str:
        return SAME if old == new else _MODIFIED
    if kind is dict and other is dict and of.map:
        return _compare_maps(old, new, of)
    if kind is list and other is list and of.list_type is not None:
        return _compare_lists(old, new, of)
    part, new_part = part_of(old, of), part_of(new, of)
    if old is not None and new is not None and part == new_part:
        return SAME if same(old, new) else _MODIFIED
    result = _compare_as(new_part, old, new, of)
    # Null is whatever the type may be. When that is more than what the other value is, both readings count.
    whole = sum((of.map, bool(of.scalar), of.list_type is not None)) > 1
    if part != new_part or (whole and (old is None) is not (new is None)):
        result = _sum(_compare_as(part, old, new, of), result)
    return result


def _compare_as(part: str, old: Any, new: Any, of: Type) -> Difference:
    """The comparison of two values that are read as a map, a list or a scalar; what is none counts as empty."""
    if part == "map":
        mine, theirs = old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}
        if of.granular and (mine or theirs):
            return _compare_maps(mine, theirs, of)
    elif part == "list":
        first, second = old if isinstance(old, list) else [], new if isinstance(new, list) else []
        if of.list_type is not ListType.ATOMIC and (first or second):
            return _compare_lists(first, second, of)
    return SAME if same(old, new) else _MODIFIED


def _sum(one: Difference, other: Difference) -> Difference:
    return Difference(union(one.removed, other.removed), union(one.modified, other.modified), union(one.added, other.added))


def _compare_maps(old: dict[str, Any], new: dict[str, Any], of: Type) -> Difference:
    if not of.granular or not (old or new):
        return SAME if same(old, new) else _MODIFIED
    removed: Tree = {}
    modified: Tree = {}
    added: Tree = {}
    fields = of.fields
    for name, mine in old.items():
        child = fields.get(name) or of.element or DEDUCED
        theirs = new.get(name, ABSENT)
        if theirs is mine:
            continue
        if theirs is ABSENT:
            removed[f"f:{name}"] = whole(mine, child)
            continue
        below = compare(mine, theirs, child)
        if below is not SAME:
            _put(f"f:{name}", below, removed, modified, added)
    for name, theirs in new.items():
        if name not in old:
            added[f"f:{name}"] = whole(theirs, fields.get(name) or of.element or DEDUCED)
    return Difference(removed, modified, added) if removed or modified or added else SAME


def _put(element: str, below: Difference, removed: Tree, modified: Tree, added: Tree) -> None:
    if below.removed:
        removed[element] = below.removed
    if below.modified:
        modified[element] = below.modified
    if below.added:
        added[element] = below.added


def _compare_lists(old: list[Any], new: list[Any], of: Type) -> Difference:
    if of.list_type is ListType.ATOMIC or not (old or new):
        return SAME if same(old, new) else _MODIFIED
    removed: Tree = {}
    modified: Tree = {}
    added: Tree = {}
    before, after = grouped(old, of), grouped(new, of)
    for element in {**before, **after}:
        mine, theirs = before.get(element, []), after.get(element, [])
        # Items that repeat are one field. When they stop or begin to, a field goes or comes, and the single item's come or go.
        if len(mine) > 1 and len(theirs) > 1:
            if not same(mine, theirs):
                modified[element] = LEAF
        elif len(mine) > 1:
            if theirs:
                added[element] = whole(theirs[0], of.item)
            removed[element] = LEAF
        elif len(theirs) > 1:
            if mine:
                removed[element] = whole(mine[0], of.item)
            added[element] = LEAF
        elif not mine:
            added[element] = whole(theirs[0], of.item)
        elif not theirs:
            removed[element] = whole(mine[0], of.item)
        else:
            _put(element, compare(mine[0], theirs[0], of.item), removed, modified, added)
    return Difference(removed, modified, added) if removed or modified or added else SAME


def whole(value: Any, of: Type) -> Tree:
    """All fields of a value that came or went as a whole, the place itself included."""
    if value.__class__ is dict and of.map and of.granular and value:
        out: Tree = {HERE: {}}
        for name, below in value.items():
            out[f"f:{name}"] = whole(below, of.fields.get(name) or of.element or DEDUCED)
        return out
    if value.__class__ is list and value and of.list_type not in (None, ListType.ATOMIC):
        out = {HERE: {}}
        for element, items in grouped(value, of).items():
            out[element] = whole(items[0], of.item) if len(items) == 1 else LEAF
        return out
    return LEAF
