"""Pods as they begin: class of service, priority, and the tolerations that admission adds."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from apis.meta import Manifest
from policy import quantity

_COMPUTE = ("cpu", "memory")
_GONE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def make(pod: Manifest, now: datetime) -> None:
    """A Pod that waits for a node."""
    del now
    spec = pod["spec"]
    _tolerate(spec)
    spec.setdefault("priority", _BUILT_IN_PRIORITIES.get(spec.get("priorityClassName", ""), 0))
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    pod["status"] = {"phase": "Pending", "qosClass": quality(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [_gated()]


def mend(new: Manifest, old: Manifest) -> None:
    """What admission added is added again where the client does not send it."""
    _tolerate(new["spec"])
    for each in ("priority", "preemptionPolicy"):
        if each in old["spec"]:
            new["spec"].setdefault(each, old["spec"][each])


def mend_status(new: Manifest, old: Manifest) -> None:
    """The class of service is never lost."""
    kept = old.get("status", {}).get("qosClass")
    if kept:
        new.setdefault("status", {}).setdefault("qosClass", kept)


def quality(spec: Manifest) -> str:
    """Guaranteed, Burstable or BestEffort (pkg/apis/core/v1/helper/qos)."""
    whole = spec.get("resources")
    if whole and (whole.get("limits") or whole.get("requests")):
        sets = [whole]
    else:
        sets = [each["resources"] for each in (*(spec.get("containers") or ()), *spec.get("initContainers", ()))]
    amounts = [(part, name, value) for each in sets for part, name, value in _amounts(each)]
    if not amounts:
        return "BestEffort"
    complete = all(name in _limits(each) for each in sets for name in _COMPUTE)
    same = _sums(amounts, "limits") == _sums(amounts, "requests")
    return "Guaranteed" if complete and same else "Burstable"


def _amounts(resources: Manifest) -> Iterator[tuple[str, str, quantity.Quantity]]:
    for part in ("limits", "requests"):
        for name, text in resources.get(part, {}).items():
            value = quantity.parse(text)
            if name in _COMPUTE and value.sign > 0:
                yield part, name, value


def _limits(resources: Manifest) -> set[str]:
    return {name for part, name, _ in _amounts(resources) if part == "limits"}


def _sums(amounts: list[tuple[str, str, quantity.Quantity]], part: str) -> dict[str, quantity.Quantity]:
    sums: dict[str, quantity.Quantity] = {}
    for where, name, value in amounts:
        if where == part:
            sums[name] = sums[name].add(value) if name in sums else value
    return sums


def _tolerate(spec: Manifest) -> None:
    given = spec.get("tolerations", [])
    spec["tolerations"] = [*given, *_missing_tolerations(given)]


def _missing_tolerations(given: Any) -> list[Manifest]:
    """A Pod stays for five minutes on a node that is gone, unless it says otherwise (plugin DefaultTolerationSeconds)."""
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _GONE
        if not any(each.get("key", "") in (key, "") and each.get("effect", "") in ("NoExecute", "") for each in given)
    ]


def _gated() -> Manifest:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": None,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }
