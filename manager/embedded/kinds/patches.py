"""Patches as Go shows them in errors: a strategic one as it prints maps, others as the JSON of what they made."""

from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import causes

_METADATA = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def patched(obj: Manifest) -> str:
    """The JSON of a patched object: keys sorted, but those of the metadata in the order of its struct."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()
    known = [each for each in _METADATA if each in metadata]
    ordered = {each: metadata[each] for each in (*known, *(each for each in metadata if each not in known))}
    parts = {key: _text(value) for key, value in obj.items()} | {"metadata": orjson.dumps(ordered).decode()}
    return "{" + ",".join(f"{causes.to_json(key)}:{parts[key]}" for key in sorted(parts)) + "}"


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def shown(value: Any) -> str:
    """A value by Go's `%v`, `map[spec:map[replicas:x]]`: maps sorted by their keys, texts without quotes."""
    match value:
        case dict():
            return f"map[{' '.join(f'{key}:{shown(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(shown, value))}]"
        case None:
            return "<nil>"
        case str():
            return value
    return causes.shown(value)
