"""Resources inside of resources (`x-kubernetes-embedded-resource`): they have a kind and an apiVersion."""

from functools import lru_cache
from typing import Any

from manager.embedded.causes import child, index, invalid, key, required
from manager.embedded.kinds import codec, metadata
from manager.embedded.kinds.codec import Reading
from manager.embedded.kinds.names import label_1035, path_segment
from manager.embedded.schema import Schema
from manager.embedded.status import Cause

OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
_AROUND = (None, "", "metadata", "metadata")


def embedded(schema: Schema, obj: dict[str, Any]) -> list[Cause]:
    """What is wrong with the resources that stand inside of an object."""
    return (
        [cause for name, below, at in _children(schema, obj, "") for cause in _embedded(name, below, at)]
        if _below(schema)
        else []
    )


@lru_cache(maxsize=16_384)
def _below(schema: Schema) -> bool:
    """Is there a place for a resource below this node?"""
    children = [*schema.properties.values(), *(each for each in (schema.items, schema.additional) if each is not None)]
    return any(child.embedded_resource or _below(child) for child in children if not child.reference)


def _embedded(schema: Schema, value: Any, path: str) -> list[Cause]:
    own = _resource(value, path) if schema.embedded_resource and isinstance(value, dict) else []
    return own + [cause for child, below, at in _children(schema, value, path) for cause in _embedded(child, below, at)]


def _children(schema: Schema, value: Any, path: str) -> list[tuple[Schema, Any, str]]:
    match value:
        case dict():
            named = [
                (schema.properties[name], value[name], child(path, name))
                for name in value
                if name in schema.properties and not schema.properties[name].reference
            ]
            free = schema.additional
            others = [name for name in value if name not in schema.properties] if free is not None else []
            return named + [(free, value[name], key(path, name)) for name in others if free is not None]
        case list() if schema.items is not None:
            return [(schema.items, item, index(path, place)) for place, item in enumerate(value)]
    return []


def _resource(value: dict[str, Any], path: str) -> list[Cause]:
    missing = [required(child(path, name)) for name in ("apiVersion", "kind") if name not in value]
    wrong = [
        invalid(child(path, name), value[name], why)
        for name, test in (("apiVersion", _api_version), ("kind", _kind))
        if name in value and (why := test(value[name]))
    ]
    return missing + wrong + _metadata(value, path)


def _metadata(value: dict[str, Any], path: str) -> list[Cause]:
    """The rules that hold for all metadata; one without a name is looked at as if it had one."""
    given = value.get("metadata")
    reading = Reading()
    read = {} if given is None else codec.codec(OBJECT_META).read(given, _AROUND, reading)
    if given is None or reading.mismatch:
        return []  # what cannot be read is nothing that these rules are about
    named = read if read.get("name") else read | {"name": "fakename"}
    found = metadata.check({"metadata": named}, namespaced=bool(read.get("namespace")), name=path_segment)
    return [Cause(cause.reason, cause.message, child(path, cause.field)) for cause in found]


def _api_version(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    if not value:
        return "must not be empty"
    return f"unexpected GroupVersion string: {value}" if value.count("/") > 1 else ""


def kind_problem(kind: str) -> str:
    """Why the text is no kind, or nothing."""
    problems = label_1035(kind.lower())
    return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""


def _kind(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    return kind_problem(value) if value else "must not be empty"
