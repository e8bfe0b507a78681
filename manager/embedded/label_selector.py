"""A LabelSelector (meta/v1) as objects have it: matchLabels and matchExpressions, all of which must hold."""

from collections.abc import Mapping
from typing import Any

from apis.meta import Manifest


def selects(selector: Manifest, labels: Mapping[str, str]) -> bool:
    """Does it hold for these labels? An empty one holds for all."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
