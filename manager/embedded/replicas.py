"""Whether the numbers behind the scale subresource of a definition are numbers of replicas."""

from collections.abc import Mapping
from typing import Any

from apis.meta import Manifest
from manager.embedded.causes import invalid, printed
from manager.embedded.status import Cause

MOST = 2**31 - 1


def scaled(obj: Manifest, paths: Mapping[str, Any] | None, subresource: str = "") -> list[Cause]:
    """What is wrong at the paths of a scale subresource; of a write to the status, only at those below it."""
    if not paths:
        return []
    counted = ["statusReplicasPath"] if subresource == "status" else ["specReplicasPath", "statusReplicasPath"]
    causes = [cause for each in counted for cause in _replicas(obj, paths[each])]
    selector = paths.get("labelSelectorPath")
    if selector:
        _, why = _at(obj, selector, str, "string")
        causes += [invalid(selector, "", why)] if why else []
    return causes


def _replicas(obj: Manifest, path: str) -> list[Cause]:
    value, why = _at(obj, path, int, "int64")
    number = value or 0
    if why:
        return [invalid(path, 0, why)]
    if number < 0:
        return [invalid(path, number, "should be a non-negative integer")]
    if number > MOST:
        return [invalid(path, number, f"should be less than or equal to {MOST}")]
    return []


def _at(obj: Manifest, path: str, wanted: type, name: str) -> tuple[Any, str]:
    """The value at a path, or why it is none of the wanted type."""
    fields = path.removeprefix(".").split(".")
    value: Any = obj
    for each in fields:
        if not isinstance(value, dict):
            return None, _accessor(fields, value, "map[string]interface{}")
        if each not in value:
            return None, ""
        value = value[each]
    if isinstance(value, wanted) and not isinstance(value, bool):
        return value, ""
    return None, _accessor(fields, value, name)


_GO_TYPES = {
    "bool": "bool",
    "str": "string",
    "int": "int64",
    "float": "float64",
    "list": "[]interface {}",
    "dict": "map[string]interface {}",
}


def _accessor(fields: list[str], value: Any, wanted: str) -> str:
    kind = _GO_TYPES.get(type(value).__name__, "<nil>")
    return f".{'.'.join(fields)} accessor error: {printed(value)} is of the type {kind}, expected {wanted}"
