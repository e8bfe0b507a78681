"""Which old value belongs to a new one: what an update did not change is not held against it (ratcheting)."""

from typing import Any

from manager.embedded.schema import ListType, Schema


class Correlation:
    """A new value with its old one, and the same of what is below, found as the schema says and kept.

    An item of a list has an old value only where the list is a map by keys.
    """

    __slots__ = ("_below", "_by_key", "_equal", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._below: dict[str | int, Correlation | None] = {}
        self._by_key: dict[Any, Any] | None = None
        self._equal: bool | None = None

    def key(self, name: str) -> "Correlation | None":
        """The same of a field; None where either side or the schema does not have it."""
        if name not in self._below:
            self._below[name] = self._field(name)
        return self._below[name]

    def index(self, place: int) -> "Correlation | None":
        """The same of an item; None where it has no old value."""
        if place not in self._below:
            self._below[place] = self._item(place)
        return self._below[place]

    def unchanged(self) -> bool:
        """Are the two values the same, as far as the schema can tell? A resource never is: its metadata changes."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _field(self, name: str) -> "Correlation | None":
        if not isinstance(self.new, dict) or not isinstance(self.old, dict) or name not in self.new or name not in self.old:
            return None
        child = self.schema.child(name)
        return None if child is None else Correlation(self.new[name], self.old[name], child)

    def _item(self, place: int) -> "Correlation | None":
        if not isinstance(self.new, list) or not isinstance(self.old, list) or self.schema.items is None:
            return None
        if self.schema.list_type != ListType.MAP or not self.schema.list_keys or place >= len(self.new):
            return None
        if self._by_key is None:
            self._by_key = by_key(self.schema, self.old)
        old = self._by_key.get(key_of(self.schema, self.new[place]))
        return None if old is None else Correlation(self.new[place], old, self.schema.items)

    def _compare(self) -> bool:
        if self.schema.reference:
            return False  # metadata, of which a definition describes nothing
        match self.new, self.old:
            case dict(), dict():
                return len(self.new) == len(self.old) and all(_unchanged(self.key(name)) for name in self.new)
            case list(), list():
                if self.schema.list_type == ListType.MAP and self.schema.list_keys:
                    every = (_unchanged(self.index(place)) for place in range(len(self.new)))
                    return len(self.new) == len(self.old) and all(every)
                return same(self.new, self.old)
        return same(self.new, self.old)


def _unchanged(below: Correlation | None) -> bool:
    return below is not None and below.unchanged()


def same(new: Any, old: Any) -> bool:
    """Equal in content and type: True is not 1."""
    if type(new) is not type(old):
        return False
    match new:
        case dict():
            return new.keys() == old.keys() and all(same(new[each], old[each]) for each in new)
        case list():
            return len(new) == len(old) and all(map(same, new, old))
    return bool(new == old)


def by_key(schema: Schema, items: list[Any]) -> dict[Any, Any]:
    """The items of a list that is a map, by their keys; of two with the same keys the first, of those without keys none."""
    found: dict[Any, Any] = {}
    for item in items:
        key = key_of(schema, item)
        if key is not None:
            found.setdefault(key, item)
    return found


def key_of(schema: Schema, item: Any) -> tuple[tuple[str, Any], ...] | None:
    """What tells an item of a list that is a map from the others, or None: types matter, True is not 1."""
    if not isinstance(item, dict):
        return None
    values = [item.get(name) for name in schema.list_keys]
    if any(not isinstance(value, bool | int | float | str) for value in values):
        return None
    return tuple((type(value).__name__, value) for value in values)
