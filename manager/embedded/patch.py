"""JSON patches (RFC 6902, as evanphx/json-patch applies them), JSON merge patches (RFC 7386) and strategic merge patches.

Each takes the object as it is and answers a new one; nothing that was given is changed.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.correlation import same
from manager.embedded.status import Named, StatusError, bad_request, invalid, too_large
from manager.embedded.strategic import strategic_merge_patch

__all__ = ["json_patch", "merge_patch", "strategic_merge_patch", "undecodable"]

MOST_OPERATIONS = 10_000
REJECTED = "the server rejected our request due to an error in our request"

_STRINGS = ("op", "path", "from")


class _Inapplicable(Exception):
    """The operation cannot be applied. Clients are not told why."""


def json_patch(obj: Manifest, operations: Any) -> Any:
    """Apply a list of operations.

    Raises StatusError: 400 for what is no such list, 413 for too long a list, 422 for an operation that does not apply.
    """
    _check(operations)
    if len(operations) > MOST_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        raise too_large(f"Request entity too large: {most}")
    document = _Document(deepcopy(obj))
    try:
        for operation in operations:
            _apply(document, operation)
    except _Inapplicable as error:
        raise StatusError(422, "Invalid", REJECTED) from error
    return document.value


def merge_patch(obj: Manifest, patch: Any) -> Manifest:
    """Apply a merge patch: null removes, objects are merged, everything else replaces. Raises StatusError 400."""
    if not isinstance(patch, dict):
        raise _undecoded(patch, "Go value of type map[string]interface {}")
    return _merged(obj, patch)


def undecodable(patched: str, why: str) -> StatusError:
    """422: what a patch made is no object of its kind; `patched` is its JSON."""
    return invalid(Named("", ""), [causes.invalid("patch", patched, why)])


def _check(operations: Any) -> None:
    """What Go's decoding says of what is no list of operations."""
    if not isinstance(operations, list):
        raise _undecoded(operations, "Go value of type []handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict):
            raise _undecoded(operation, "Go value of type handlers.jsonPatchOp")
        for name in _STRINGS:
            value = operation.get(name)
            if value is not None and not isinstance(value, str):
                raise _undecoded(value, f"Go struct field jsonPatchOp.{name} of type string")


_JSON_TYPES = {"dict": "object", "list": "array", "str": "string", "bool": "bool", "int": "number", "float": "number"}


def _undecoded(value: Any, into: str) -> StatusError:
    kind = _JSON_TYPES.get(type(value).__name__, "null")
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into {into}")


def _merged(obj: Any, patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(obj) if isinstance(obj, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = _merged(result.get(name), value)
        else:
            # As the server's library does it: nulls inside of lists of new fields go, too, where they stand in objects.
            result[name] = _without_nulls(value) if not isinstance(result.get(name), dict) else deepcopy(value)
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(below) for name, below in value.items() if below is not None}
    return [_without_nulls(below) for below in value] if isinstance(value, list) else value


class _Document:
    """What the operations change, in place, one after the other."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def holder(self, path: str) -> tuple[Any, str]:
        """The object or list that a pointer leads into, and the name or index in it."""
        steps = [_unescaped(step) for step in path.split("/")[1:]]
        if not steps:
            raise _Inapplicable
        holder = self.value
        for step in steps[:-1]:
            holder = _get(holder, step)
            if not isinstance(holder, dict | list):
                raise _Inapplicable
        return holder, steps[-1]


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _place(step: str, size: int) -> int:
    """An index, which may count from the end; `size` is the first that is too large."""
    if not re.fullmatch(r"[+-]?[0-9]+", step):
        raise _Inapplicable
    place = int(step)
    if not -size <= place < size:
        raise _Inapplicable
    return place + size if place < 0 else place


def _get(holder: Any, step: str) -> Any:
    """A field that is not there is null; an item that is not there is an error."""
    return holder[_place(step, len(holder))] if isinstance(holder, list) else holder.get(step)


def _put(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[step] = value
    elif step == "-":
        holder.append(value)
    else:
        holder.insert(_place(step, len(holder) + 1), value)


def _drop(holder: Any, step: str) -> None:
    if isinstance(holder, list):
        del holder[_place(step, len(holder))]
    elif step in holder:
        del holder[step]
    else:
        raise _Inapplicable


def _apply(document: _Document, operation: dict[str, Any]) -> None:
    action = _ACTIONS.get(operation.get("op") or "")
    if action is None:
        raise _Inapplicable
    action(document, operation)


def _path(operation: dict[str, Any], name: str = "path") -> str:
    path = operation.get(name)
    if path is None:
        raise _Inapplicable
    return str(path)


def _add(document: _Document, operation: dict[str, Any]) -> None:
    _put(*document.holder(_path(operation)), deepcopy(operation.get("value")))


def _remove(document: _Document, operation: dict[str, Any]) -> None:
    _drop(*document.holder(_path(operation)))


def _replace(document: _Document, operation: dict[str, Any]) -> None:
    path, value = _path(operation), deepcopy(operation.get("value"))
    if path == "":
        if not isinstance(value, dict | list):
            raise _Inapplicable
        document.value = value
        return
    holder, step = document.holder(path)
    if isinstance(holder, list):
        holder[_place(step, len(holder))] = value
    else:
        holder[step] = value  # also where there is nothing to replace, as the server's library does it


def _move(document: _Document, operation: dict[str, Any]) -> None:
    holder, step = document.holder(_path(operation, "from"))
    value = _get(holder, step)
    _drop(holder, step)
    _put(*document.holder(_path(operation)), value)


def _copy(document: _Document, operation: dict[str, Any]) -> None:
    value = deepcopy(_get(*document.holder(_path(operation, "from"))))
    _put(*document.holder(_path(operation)), value)


def _test(document: _Document, operation: dict[str, Any]) -> None:
    path = _path(operation)
    found = document.value if path == "" else _get(*document.holder(path))
    if not same(found, operation.get("value")):
        raise _Inapplicable


_Action: TypeAlias = Callable[[_Document, dict[str, Any]], None]

_ACTIONS: dict[str, _Action] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
