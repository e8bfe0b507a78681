"""Parts of objects as `kubectl get` shows them in one cell."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apis.meta import Manifest

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
_MOST = 3


def count(obj: Manifest, *path: str) -> int:
    """A number, or 0 when it is not there."""
    found: int = at(obj, *path) or 0
    return found


def text(obj: Manifest, *path: str, default: str = "") -> str:
    """A text, or what stands for one that is not there."""
    found: str = at(obj, *path) or default
    return found


def at(obj: Any, *path: str) -> Any:
    """The value at a path of fields, or None."""
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def labels(given: Mapping[str, str] | None) -> str:
    """`a=b,c=d`, sorted."""
    return ",".join(f"{key}={value}" for key, value in sorted((given or {}).items())) or NONE


def selector(given: Manifest | None, *, empty: str = NONE) -> str:
    """A label selector as the server writes it; one that is not there matches nothing, and is written as nothing."""
    if given is None:
        return empty
    pairs = [(key, f"{key}={value}") for key, value in (given.get("matchLabels") or {}).items()]
    pairs += [(each["key"], _requirement(each)) for each in given.get("matchExpressions") or ()]
    return ",".join(written for _, written in sorted(pairs, key=lambda pair: pair[0])) or empty


def _requirement(each: Manifest) -> str:
    values = ",".join(sorted(each.get("values") or ()))
    match each["operator"]:
        case "In":
            return f"{each['key']} in ({values})"
        case "NotIn":
            return f"{each['key']} notin ({values})"
        case "Exists":
            return str(each["key"])
    return f"!{each['key']}"


def containers(template: Manifest | None) -> list[str]:
    """Names and images of the containers in a template (or in a Pod)."""
    found = at(template, "spec", "containers") or ()
    return [",".join(each.get(part, "") for each in found) for part in ("name", "image")]


def some(items: Sequence[str], *, nothing: str = UNSET, total: int | None = None) -> str:
    """The first three, and how many more there are."""
    shown = ",".join(items[:_MOST])
    more = (len(items) if total is None else total) - _MOST
    if len(items) > _MOST and more > 0:
        return f"{shown} + {more} more..."
    return shown or nothing


def flag(value: Any) -> str:
    """A boolean as Go prints it where the column is a text."""
    return UNSET if value is None else "True" if value else "False"


def access_modes(modes: Iterable[str] | None) -> str:
    """RWO, ROX, RWX and RWOP, in this order."""
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    given = set(modes or ())
    return ",".join(written for mode, written in short.items() if mode in given)


def condition(obj: Manifest, type_: str) -> Manifest | None:
    """A condition of the status."""
    found: list[Manifest] = at(obj, "status", "conditions") or []
    return next((each for each in found if each["type"] == type_), None)


def is_true(obj: Manifest, type_: str) -> bool:
    """Is a condition True?"""
    found = condition(obj, type_)
    return found is not None and found.get("status") == "True"
