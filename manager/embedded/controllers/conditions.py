"""Conditions of a status, as the controllers of a control plane write them."""

from collections.abc import Sequence

from apis.meta import Manifest


def with_condition(
    conditions: Sequence[Manifest], now: str, kind: str, status: bool, reason: str, message: str
) -> list[Manifest]:
    """The conditions with one set. Its time changes only when its status does."""
    told = "True" if status else "False"
    known = next((each for each in conditions if each["type"] == kind), None)
    since = known["lastTransitionTime"] if known is not None and known["status"] == told else now
    new = {"type": kind, "status": told, "lastTransitionTime": since, "reason": reason, "message": message}
    if known is None:
        return [*conditions, new]
    return [new if each is known else each for each in conditions]


def holds(conditions: Sequence[Manifest], kind: str) -> bool:
    """Is a condition there and True?"""
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
