"""The condition Ready of a permit. What each phase says of itself is this table; who works on the permit may say more."""

from datetime import datetime

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.reasons import Reason
from policy.permits.moments import stamp

_LONGEST = 4096  # characters of a message
_GENERATION = 1  # the spec of a permit never changes

SAYS: dict[Phase, tuple[str, str, str]] = {
    Phase.CREATED: ("False", Reason.PROGRESSING, "request is being prepared"),
    Phase.REQUESTED: ("True", Reason.SUCCEEDED, "rendered resources are ready for review"),
    Phase.PENDING: ("True", Reason.SUCCEEDED, "rendered resources are ready for review"),
    Phase.DENIED: ("False", Phase.DENIED, "request was denied"),
    Phase.APPROVED: ("True", Reason.SUCCEEDED, "rendered resources are ready for activation"),
    Phase.ACTIVE: ("True", Reason.SUCCEEDED, "managed resources are ready"),
    Phase.FAILED: ("False", Reason.FAILED, "request failed and may be retried or expired"),
    Phase.RETRYING: ("False", Reason.PROGRESSING, "request retry is in progress"),
    Phase.EXPIRED: ("False", Reason.PROGRESSING, "waiting for resource deletion"),
}
"""Status, reason and message of each phase, when it begins."""

PRUNED = ("True", Phase.EXPIRED, "managed resources were pruned")
"""What an expired permit says when all is gone."""


def ready_of(status: Manifest) -> Manifest:
    """The condition Ready; empty when nobody has said anything yet."""
    return next((each for each in status.get("conditions") or () if each.get("type") == "Ready"), {})


def told(status: Manifest, now: datetime, value: str, reason: str, message: str) -> Manifest:
    """The status with this as its condition Ready; the time of the last change moves only when the value does."""
    before = ready_of(status)
    condition = {
        "type": "Ready",
        "status": value,
        "reason": str(reason),
        "message": message if len(message) <= _LONGEST else message[: _LONGEST - 4] + " ...",
        "observedGeneration": _GENERATION,
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == value else stamp(now),
    }
    others = [each for each in status.get("conditions") or () if each.get("type") != "Ready"]
    return status | {"observedGeneration": _GENERATION, "conditions": [condition, *others]}


def entered(status: Manifest, phase: Phase, now: datetime) -> Manifest:
    """The status in another phase, saying of itself what that phase says."""
    return told(status | {"phase": str(phase)}, now, *SAYS[phase])
