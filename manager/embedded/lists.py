"""Lists that are sets or maps (`x-kubernetes-list-type`) hold nothing twice."""

from functools import lru_cache
from typing import Any

from manager.embedded.causes import child, duplicate, index, invalid, key, to_json
from manager.embedded.schema import ListType, Schema
from manager.embedded.status import Cause

UNKEYED = "must be an object for an array of list-type map"


def unique(schema: Schema, obj: dict[str, Any]) -> list[Cause]:
    """What stands twice in the lists of an object."""
    return _unique(schema, obj, "")


@lru_cache(maxsize=16_384)
def _concerned(schema: Schema) -> bool:
    """Is the node such a list, or is one below it?"""
    if schema.reference:
        return False
    below = [*schema.properties.values(), *(each for each in (schema.items, schema.additional) if each is not None)]
    return schema.list_type != ListType.ATOMIC or any(map(_concerned, below))


def _unique(schema: Schema | None, value: Any, path: str) -> list[Cause]:
    if schema is None or not _concerned(schema):
        return []
    match value:
        case dict():
            found = []
            for name, below in value.items():
                if name in schema.properties:
                    found += _unique(schema.properties[name], below, child(path, name))
                elif schema.additional is not None:
                    found += _unique(schema.additional, below, key(path, name))
            return found
        case list():
            below = (_unique(schema.items, item, index(path, place)) for place, item in enumerate(value))
            return [*_twice(schema, value, path), *(cause for causes in below for cause in causes)]
    return []


def _twice(schema: Schema, items: list[Any], path: str) -> list[Cause]:
    match schema.list_type:
        case ListType.SET:
            return [duplicate(index(path, place), items[place]) for place in _repeated(items)]
        case ListType.MAP:
            wrong = [place for place, item in enumerate(items) if item is not None and not isinstance(item, dict)]
            if wrong:
                return [invalid(index(path, wrong[0]), items[wrong[0]], UNKEYED)]
            keys = [{name: item[name] for name in schema.list_keys if name in item} if item else {} for item in items]
            return [duplicate(index(path, place), keys[place]) for place in _repeated(keys)]
    return []


def _repeated(items: list[Any]) -> list[int]:
    """Where a value stands for the second time; a third time is not told."""
    seen: dict[tuple[str, str], int] = {}
    places = []
    for place, item in enumerate(items):
        said = (type(item).__name__, to_json(item))
        seen[said] = seen.get(said, 0) + 1
        if seen[said] == 2:
            places.append(place)
    return places
