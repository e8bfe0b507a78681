"""The rules for HorizontalPodAutoscalers, PodDisruptionBudgets and PriorityClasses."""

from collections.abc import Iterator

from apis.meta import Manifest, split_api_version
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause
from policy import quantity

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM = "system-"
_MOST_STABILIZATION = 3600


def autoscaler(obj: Manifest) -> Iterator[Cause]:
    """A HorizontalPodAutoscaler."""
    spec = obj["spec"]
    least, most = spec.get("minReplicas"), spec["maxReplicas"]
    if least is not None and least < 1:
        yield causes.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield causes.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for each in ("kind", "name"):
        yield from values.required_name(spec["scaleTargetRef"][each], f"spec.scaleTargetRef.{each}", names.path_segment)
    yield from _target_group(spec["scaleTargetRef"])
    for index, each in enumerate(spec.get("metrics", ())):
        yield from _metric(each, f"spec.metrics[{index}]")
    types = {each["type"] for each in spec.get("metrics", ())}
    if least == 0 and not types & {"Object", "External"}:
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield causes.forbidden("spec.metrics", why)
    for direction in ("scaleUp", "scaleDown"):
        if direction in spec.get("behavior", {}):
            yield from _rules(spec["behavior"][direction], f"spec.behavior.{direction}")


def _target_group(target: Manifest) -> Iterator[Cause]:
    """What is scaled stands in a group, although the core has a kind that could be."""
    group, _ = split_api_version(target.get("apiVersion", ""))
    if not group:
        yield causes.invalid("spec.scaleTargetRef.apiVersion", target.get("apiVersion", ""), "apiVersion must specify API group")


def _metric(given: Manifest, path: str) -> Iterator[Cause]:
    field = _SOURCES.get(given["type"])
    if field is None:
        if not given["type"]:
            yield causes.required(f"{path}.type", "must specify a metric source type")
        yield causes.not_supported(f"{path}.type", given["type"], _SOURCES)
        return
    present = [each for each in _SOURCES.values() if each in given]
    if field not in given:
        yield causes.required(f"{path}.{field}", "must populate information for the given metric source")
    if field in ("resource", "containerResource") and field in given:
        yield from _resource(given[field], f"{path}.{field}")
    for each in present:
        if each != field:
            yield causes.forbidden(f"{path}.{each}", "must populate the given metric source only")


def _resource(given: Manifest, path: str) -> Iterator[Cause]:
    if not given["name"]:
        yield causes.required(f"{path}.name", "must specify a resource name")
    target = given["target"]
    yield from _target(target, f"{path}.target")
    if "averageUtilization" not in target and "averageValue" not in target:
        why = "must set either a target raw value or a target utilization"
        yield causes.required(f"{path}.target.averageUtilization", why)
    elif "averageUtilization" in target and "averageValue" in target:
        why = "may not set both a target raw value and a target utilization"
        yield causes.forbidden(f"{path}.target.averageValue", why)


def _target(target: Manifest, path: str) -> Iterator[Cause]:
    if not target["type"]:
        yield causes.required(f"{path}.type", "must specify a metric target type")
    if target["type"] not in ("Utilization", "Value", "AverageValue"):
        yield causes.invalid(f"{path}.type", target["type"], "must be either Utilization, Value, or AverageValue")
    for each in ("value", "averageValue"):
        if each in target and quantity.parse(target[each]).sign != 1:
            yield causes.invalid(f"{path}.{each}", target[each], "must be positive")
    if target.get("averageUtilization", 1) < 1:
        yield causes.invalid(f"{path}.averageUtilization", target["averageUtilization"], "must be greater than 0")


def _rules(given: Manifest, path: str) -> Iterator[Cause]:
    window = given.get("stabilizationWindowSeconds", 0)
    if window < 0:
        yield causes.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window > _MOST_STABILIZATION:
        why = f"must be less than or equal to {_MOST_STABILIZATION}"
        yield causes.invalid(f"{path}.stabilizationWindowSeconds", window, why)
    yield from values.maybe_one_of(given, "selectPolicy", path, ("Disabled", "Max", "Min"))
    if not given.get("policies"):
        yield causes.required(f"{path}.policies", "must specify at least one Policy")
    for index, each in enumerate(given.get("policies", ())):
        at = f"{path}.policies[{index}]"
        if each["type"] not in ("Pods", "Percent"):
            yield causes.not_supported(f"{at}.type", each["type"], ("Percent", "Pods"))
        for number in ("value", "periodSeconds"):
            if each[number] <= 0:
                yield causes.invalid(f"{at}.{number}", each[number], "must be greater than zero")


# Budgets and priorities


def disruption_budget(obj: Manifest) -> Iterator[Cause]:
    """A PodDisruptionBudget."""
    spec = obj["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = ",".join(f'"{name}":{causes.to_json(spec.get(key))}' for key, name in _BUDGET_FIELDS)
        yield causes.invalid("spec", causes.OMITTED, f"{{{shown}}}: minAvailable and maxUnavailable cannot be both set")
    for each in ("minAvailable", "maxUnavailable"):
        if each in spec:
            yield from values.share(spec[each], f"spec.{each}")
    yield from metadata.selector(spec.get("selector"), "spec.selector")
    yield from values.maybe_one_of(spec, "unhealthyPodEvictionPolicy", "spec", ("AlwaysAllow", "IfHealthyBudget"))


_BUDGET_FIELDS = (
    ("minAvailable", "MinAvailable"),
    ("selector", "Selector"),
    ("maxUnavailable", "MaxUnavailable"),
    ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy"),
)


def priority_class(obj: Manifest) -> Iterator[Cause]:
    """A PriorityClass."""
    if not obj["metadata"].get("name", "").startswith(_SYSTEM) and obj["value"] > _HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield causes.forbidden("value", why)
    policies = ("Never", "PreemptLowerPriority")
    yield from values.maybe_one_of(obj, "preemptionPolicy", "", policies)


def priority_class_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """A priority never changes."""
    if new["value"] != old["value"]:
        yield causes.forbidden("value", "may not be changed in an update.")
    yield from metadata.immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def lease(obj: Manifest) -> Iterator[Cause]:
    """A Lease."""
    spec = obj.get("spec", {})
    if spec.get("leaseDurationSeconds", 1) <= 0:
        yield causes.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    if spec.get("leaseTransitions", 0) < 0:
        yield causes.invalid("spec.leaseTransitions", spec["leaseTransitions"], metadata.NOT_NEGATIVE)
