"""A configuration laid over a live value."""

from typing import Any

from manager.embedded.schema import ListType
from manager.embedded.typed import ABSENT, Type, booleans_agree, element_of, part_of


def merge(live: Any, config: Any, of: Type) -> Any:
    """The configuration over the live value: nothing is removed, and of a leaf in both the configuration's value stays.

    Items of lists stand in the order of the configuration where it says one. Returns `live` itself when nothing changes.
    """
    if config is ABSENT or config is live:
        return live
    if live is ABSENT:
        return config
    kind = config.__class__
    if kind is dict and of.map:
        return _merge_maps(live, config, of) if of.granular and live.__class__ is dict and live else config
    if kind is list and of.list_type is not None:
        granular = of.list_type is not ListType.ATOMIC and live.__class__ is list and live
        return _merge_lists(live, config, of) if granular else config
    if config is None:
        return _merge_null(live, of)
    return config


def _merge_null(live: Any, of: Type) -> Any:
    """Null empties a leaf, but nothing is removed of maps and lists that are more than one field."""
    part = part_of(None, of)
    if part == "map" and of.granular and live.__class__ is dict and live:
        return live
    if part == "list" and of.list_type is not ListType.ATOMIC and live.__class__ is list and live:
        return live
    return None


def _merge_maps(live: dict[str, Any], config: dict[str, Any], of: Type) -> dict[str, Any]:
    out = live
    for name, value in config.items():
        mine = live.get(name, ABSENT)
        merged = value if mine is ABSENT else merge(mine, value, of.child(name))
        if merged is not mine and (mine is ABSENT or not _identical(merged, mine)):
            out = dict(live) if out is live else out
            out[name] = merged
    return out


def _identical(one: Any, other: Any) -> bool:
    """Equal leaves of the same type; containers are only looked at as wholes, for a merge keeps those that do not change."""
    return one.__class__ is other.__class__ and bool(one == other) and booleans_agree(one, other)


def _merge_lists(live: list[Any], config: list[Any], of: Type) -> list[Any]:
    theirs = [element_of(item, of) for item in live]
    ours = [element_of(item, of) for item in config]
    merged = _ListMerge(live, config, of, theirs, ours).run()
    return live if len(merged) == len(live) and all(map(_unmoved, merged, live)) else merged


def _unmoved(one: Any, other: Any) -> bool:
    return one is other or _identical(one, other)


class _ListMerge:
    """One merge of two lists whose items have elements.

    The walk goes through both lists at once. Items of one list alone stay between their neighbours; items of both stand in the
    order of the configuration; a live item that waits for its turn there is left out where it stood.
    """

    def __init__(self, live: list[Any], config: list[Any], of: Type, theirs: list[str], ours: list[str]) -> None:
        self.live, self.config, self.of = live, config, of
        self.theirs, self.ours = theirs, ours
        self.live_items = _observed(live, theirs)
        self.config_items = dict(zip(ours, config, strict=True))
        self.out: list[Any] = []
        self.merged: set[str] = set()
        self.shared = iter([element for element in ours if element in self.live_items])
        self.next = next(self.shared, None)

    def run(self) -> list[Any]:
        mine = our = 0
        while mine < len(self.theirs) or our < len(self.ours):
            both = mine < len(self.theirs) and our < len(self.ours)
            if both and self.theirs[mine] == self.ours[our]:
                self._take(self.ours[our])
                self.next = next(self.shared, None)
                mine, our = mine + 1, our + 1
                continue
            if both and self.theirs[mine] in self.config_items and self.next is not None and self.next != self.theirs[mine]:
                mine += 1  # shared, but not the one whose turn it is
                continue
            if mine < len(self.theirs):
                if self.theirs[mine] not in self.config_items:
                    self.out.append(self.live[mine])
                    mine += 1
                    continue
                if self.theirs[mine] in self.merged:
                    mine += 1
            if our < len(self.ours):
                self._take(self.ours[our])
                if self.next == self.ours[our]:
                    self.next = next(self.shared, None)
                our += 1
        return self.out

    def _take(self, element: str) -> None:
        self.merged.add(element)
        merged = merge(self.live_items.get(element, ABSENT), self.config_items[element], self.of.item)
        if merged is not ABSENT:
            self.out.append(merged)


def _observed(items: list[Any], elements: list[str]) -> dict[str, Any]:
    """The live items by element; one that repeats is null, since it is not merged."""
    out: dict[str, Any] = {}
    for element, item in zip(elements, items, strict=True):
        out[element] = None if element in out else item
    return out
