"""The rules for ResourceQuotas and LimitRanges (pkg/apis/core/validation)."""

from collections.abc import Callable, Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause
from policy import quantity

_SCOPES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
)
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_POD_RESOURCES = frozenset(("pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_NAMES = ("Exists", "DoesNotExist", "In", "NotIn")


def quota(obj: Manifest) -> Iterator[Cause]:
    """A quota."""
    yield from _quota(obj["spec"])


def quota_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The scopes of a quota never change."""
    yield from _quota(new["spec"])
    now, before = new["spec"].get("scopes", []), old["spec"].get("scopes", [])
    if set(now) != set(before):
        yield causes.invalid("spec.scopes", now or None, metadata.IMMUTABLE)


def _quota(spec: Manifest) -> Iterator[Cause]:
    for name, text in spec.get("hard", {}).items():
        path = f"spec.hard[{name}]"
        yield from values.quota_resource(name, path)
        yield from values.amount(name, text, path)
    yield from _scopes(spec)
    yield from _scope_selector(spec)


def _scopes(spec: Manifest) -> Iterator[Cause]:
    scopes = spec.get("scopes", ())
    for each in scopes:
        if each not in _SCOPES:
            yield causes.invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(spec.get("hard", {})):
            if _standard(name) and not _fits(each, name):
                yield causes.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _OPPOSITES:
        if set(pair) <= set(scopes):
            yield causes.invalid("spec.scopes", scopes, "conflicting scopes")


def _standard(name: str) -> bool:
    return name in values.QUOTA or name.removeprefix("requests.").startswith("hugepages-")


def _fits(scope: str, name: str) -> bool:
    match scope:
        case "BestEffort":
            return name == "pods"
        case "VolumeAttributesClass":
            return name == "persistentvolumeclaims" or name == "requests.storage"
        case "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity":
            return name in _POD_RESOURCES or name.startswith(("requests.hugepages-", "hugepages-"))
    return True


def _scope_selector(spec: Manifest) -> Iterator[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    for each in spec.get("scopeSelector", {}).get("matchExpressions", ()):
        operator, given, scope = each["operator"], each.get("values", []), each["scopeName"]
        if scope not in _SCOPES:
            yield causes.invalid(f"{path}.scopeName", scope, "unsupported scope")
        if operator in ("In", "NotIn") and not given:
            yield causes.required(
                f"{path}.values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
        elif operator in ("Exists", "DoesNotExist") and given:
            yield causes.invalid(
                f"{path}.values", given, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
        elif operator not in _NAMES:
            yield causes.invalid(f"{path}.operator", operator, "not a valid selector operator")


# Limits


def limit_range(obj: Manifest) -> Iterator[Cause]:
    """A LimitRange."""
    seen: set[str] = set()
    for index, item in enumerate(obj["spec"].get("limits") or ()):
        at = f"spec.limits[{index}]"
        yield from _type(item["type"], f"{at}.type")
        if item["type"] in seen:
            yield causes.duplicate(f"{at}.type", item["type"])
        seen.add(item["type"])
        yield from _names(item, at)
        yield from _order(item, at)


def _type(value: str, path: str) -> Iterator[Cause]:
    wrong = list(values.named(value, path, names.qualified))
    yield from wrong
    if not wrong and "/" not in value and value not in _TYPES:
        yield causes.invalid(path, value, "must be a standard limit type or fully qualified")


def _names(item: Manifest, path: str) -> Iterator[Cause]:
    rule: Callable[[str, str], Iterator[Cause]]
    rule = values.container_resource if item["type"] in ("Pod", "Container") else values.resource
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if item["type"] == "Pod" and part in ("default", "defaultRequest"):
            if item.get(part):
                yield causes.forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        for name in item.get(part, {}):
            yield from rule(name, f"{path}.{part}[{name}]")
    storage = any("storage" in item.get(part, {}) for part in ("min", "max"))
    if item["type"] == "PersistentVolumeClaim" and not storage:
        yield causes.required(f"{path}.limits", "either minimum or maximum storage value is required, but neither was provided")


_ORDER = (
    ("min", "max", "min", "min", "min value {0} is greater than max value {1}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value {0} is greater than default request value {1}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value {0} is greater than max value {1}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "max", "default value {0} is greater than max value {1}"),
)
"""What is not more than what, at which field it is told, which of the two values is shown, and how."""


def _order(item: Manifest, path: str) -> Iterator[Cause]:
    parts = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
    for name in {name: None for part in parts for name in item.get(part, {})}:
        for less, more, field, shown, why in _ORDER:
            low, high = item.get(less, {}).get(name), item.get(more, {}).get(name)
            if low and high and quantity.parse(low).compare(quantity.parse(high)) > 0:
                value = item[shown][name]
                yield causes.invalid(f"{path}.{field}[{name}]", value, why.format(low, high))
        ratio = item.get("maxLimitRequestRatio", {}).get(name)
        if ratio and quantity.parse(ratio).compare(quantity.of(1)) < 0:
            yield causes.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1")
