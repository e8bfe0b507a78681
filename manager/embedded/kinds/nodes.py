"""Nodes as they begin: not ready."""

from datetime import datetime

from apis.meta import Manifest

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def make(node: Manifest, now: datetime) -> None:
    """Tainted until a kubelet says that it is ready (admission plugin TaintNodesByCondition)."""
    del now
    spec = node["spec"]
    taints = spec.get("taints", [])
    if not any(each["key"] == _NOT_READY["key"] and each["effect"] == _NOT_READY["effect"] for each in taints):
        spec["taints"] = [*taints, dict(_NOT_READY)]
