"""The metrics of a HorizontalPodAutoscaler in one cell: what is measured, over what is wanted."""

from collections.abc import Sequence

from apis.meta import Manifest
from manager.embedded.kinds.cells import NONE, UNKNOWN, at

_MOST = 2
_FIELDS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def metrics(wanted: Sequence[Manifest], measured: Sequence[Manifest]) -> str:
    """The first two metrics, and how many more there are."""
    shown = [_metric(each, measured[place] if place < len(measured) else {}) for place, each in enumerate(wanted)]
    if len(shown) > _MOST:
        return f"{', '.join(shown[:_MOST])} + {len(shown) - _MOST} more..."
    return ", ".join(shown) or NONE


def _metric(wanted: Manifest, measured: Manifest) -> str:
    field = _FIELDS.get(wanted["type"])
    if field is None:
        return "<unknown type>"
    target, current = at(wanted, field, "target") or {}, at(measured, field, "current") or {}
    if field in ("resource", "containerResource"):
        return f"{at(wanted, field, 'name')}: {_resource(target, current)}"
    if field == "pods":
        return f"{current.get('averageValue', UNKNOWN)}/{target.get('averageValue', '0')}"
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '0')}"


def _resource(target: Manifest, current: Manifest) -> str:
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    return f"{_percent(current, UNKNOWN)}/{_percent(target, '<auto>')}"


def _percent(values: Manifest, nothing: str) -> str:
    found = values.get("averageUtilization")
    return nothing if found is None else f"{found}%"
