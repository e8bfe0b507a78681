"""What the server does to all values of custom resources: whole numbers, and metadata of resources inside of them."""

from functools import lru_cache
from typing import Any

from apis.meta import Manifest
from manager.embedded.kinds.codec import codec
from manager.embedded.kinds.reading import Reading, Undecodable
from manager.embedded.schema import Schema

_LARGE = 2**63
OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"


def coerced(schema: Schema, obj: Manifest) -> Manifest:
    """The object with the metadata of embedded resources as every object's."""
    found: Manifest = _embedded(schema, obj) if _has_embedded(schema) else obj
    return found


def whole_numbers(obj: Manifest) -> Manifest:
    """A copy with numbers as Go stores them: 1.0 is 1. Without recursion, since a body may be deeper than Python's stack."""
    root = dict(obj)
    nodes: list[Any] = [root]
    while nodes:
        node = nodes.pop()
        for place, item in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(item, float):
                node[place] = int(item) if item.is_integer() and abs(item) < _LARGE else item
            elif isinstance(item, dict | list):
                node[place] = dict(item) if isinstance(item, dict) else list(item)
                nodes.append(node[place])
    return root


def alike(one: Manifest, other: Manifest) -> bool:
    """Are they the same as Go compares values? 1.0 and 1 are not: a whole float becomes an integer only when it is stored."""
    if one != other:
        return False
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, dict):
            pairs += [(item, right[key]) for key, item in left.items()]
        elif isinstance(left, list):
            pairs += zip(left, right, strict=True)
        elif type(left) is not type(right):
            return False
    return True


@lru_cache(maxsize=1024)
def _has_embedded(schema: Schema) -> bool:
    below = [*schema.properties.values(), schema.items, schema.additional]
    return schema.embedded_resource or any(each is not None and _has_embedded(each) for each in below)


def _embedded(schema: Schema | None, value: Any) -> Any:
    if schema is None or not _has_embedded(schema):
        return value
    match value:
        case dict():
            below = {key: _embedded(schema.child(key), item) for key, item in value.items()}
            return _with_metadata(below) if schema.embedded_resource else below
        case list():
            return [_embedded(schema.items, item) for item in value]
    return value


def _with_metadata(resource: Manifest) -> Manifest:
    """Metadata that cannot be read is left for validation."""
    if not isinstance(resource.get("metadata"), dict):
        return resource
    reading = Reading(storing=True)
    try:
        read = codec(OBJECT_META).read(resource["metadata"], None, reading)
    except Undecodable:
        return resource
    return resource if reading.mismatch else resource | {"metadata": read}
