"""The steps that the manager takes with a permit: status and step of each. The table is in policy.permits.lifecycle.

Each raises ValueError in a phase from which it does not lead: that is a defect of the caller.
"""

from datetime import datetime

from apis.copyhold.duration import extended
from apis.copyhold.permitstatus import Phase, Stage
from apis.meta import Manifest
from policy.permits import why
from policy.permits.actors import SYSTEM, requester_of
from policy.permits.due import phase_of, rules_of
from policy.permits.moments import later, moment, stamp
from policy.permits.ready import SAYS, entered, told
from policy.permits.snapshot import Snapshot
from policy.permits.step import Step
from policy.permits.why import Why

Stepped = tuple[Manifest, Step]


def created(permit: Manifest, now: datetime) -> Stepped:
    """The trail begins with who asked. Its time is that of the creation, which the caller passes as `now`. Raises Refused."""
    status = permit.get("status") or {}
    _check(status, None)
    requester = requester_of(permit)
    return entered(status, Phase.CREATED, now), Step(Phase.CREATED, requester, why.created_by(requester))


def stuck(status: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """It cannot be prepared: it stays Created and says why, without a step."""
    _check(status, Phase.CREATED)
    return told(status, now, "False", reason, message)


def prepared(status: Manifest, snapshot: Snapshot, now: datetime) -> Stepped:
    """Rendered and tried: it waits for its review."""
    _check(status, Phase.CREATED)
    return _awaiting_review(snapshot.into(status), now), Step(Phase.REQUESTED, SYSTEM, Why.PENDING_REVIEW)


def auto_approved(status: Manifest, snapshot: Snapshot, now: datetime) -> Stepped:
    """Rendered and tried, and the template approves by its conditions alone; the caller has asked them."""
    _check(status, Phase.CREATED)
    return _approved(snapshot.into(status), now), Step(Phase.APPROVED, SYSTEM, why.approved_by(SYSTEM), _AUTO)


def failed(status: Manifest, reason: str, message: str, now: datetime, snapshot: Snapshot | None = None) -> Stepped:
    """The trial or the activation went wrong. What was applied is taken back, and what was begun has not been.

    `snapshot` is what was tried; None for the one that is stored.
    """
    phase = _check(status, Phase.CREATED, Phase.RETRYING, Phase.APPROVED)
    stage = Stage.ACTIVATION if phase == Phase.APPROVED else Stage.PREFLIGHT
    known = status if snapshot is None else snapshot.into(status)
    back = Phase.APPROVED if stage == Stage.ACTIVATION or rules_of(known).get("auto") else Phase.REQUESTED
    failure = {"stage": str(stage), "retryPhase": str(back), "reason": reason, "message": message}
    changed = entered(_not_begun(known) | {"failure": failure}, Phase.FAILED, now)
    text = f"{SAYS[Phase.FAILED][2]}: {message}"
    return told(changed, now, "False", reason, text), Step(Phase.FAILED, SYSTEM, reason, message)


def retried(status: Manifest, now: datetime, snapshot: Snapshot | None = None) -> Stepped:
    """The retry leads on: to the phase that the failure kept it from. `snapshot` is as in `failed`."""
    _check(status, Phase.RETRYING)
    failure = status["failure"]
    known = _without(status if snapshot is None else snapshot.into(status), "failure")
    back = Phase(failure["retryPhase"])
    step = Step(back, SYSTEM, Why.RETRY_SUCCEEDED)
    if failure["stage"] == Stage.ACTIVATION:
        return entered(known, back, now), step
    return (_approved(known, now) if back == Phase.APPROVED else _awaiting_review(known, now)), step


def begun(status: Manifest, now: datetime) -> Stepped:
    """Before the first write: from now on there may be access, and its end and that of the record are fixed."""
    _check(status, Phase.APPROVED)
    if status.get("active"):
        raise ValueError("the permit has begun already")
    request = status["request"]
    active = {"from": stamp(now)}
    length = _length(request)
    if length is not None:
        # A begun second counts as its beginning: never longer than what was approved.
        active["until"] = stamp(later(moment(active["from"]), length))
    changed = status | {"active": active}
    if "until" in active and request.get("keepFor"):
        changed["keepUntil"] = stamp(later(moment(active["until"]), extended(request["keepFor"])))
    return changed, Step(Phase.APPROVED, SYSTEM, Why.ACTIVATION_BEGUN, until=active.get("until", ""))


def activated(status: Manifest, now: datetime) -> Stepped:
    """Every target is applied."""
    _check(status, Phase.APPROVED)
    if not status.get("active"):
        raise ValueError("the permit has not begun")
    until = status["active"].get("until", "")
    return entered(status, Phase.ACTIVE, now), Step(Phase.ACTIVE, SYSTEM, Why.ACTIVATED, until=until)


def sent_back(status: Manifest, reason: str, message: str, snapshot: Snapshot, now: datetime) -> Stepped:
    """What was approved is not what would happen: it must be reviewed again, and nothing that was said of it counts any more."""
    _check(status, Phase.APPROVED)
    known = _not_begun(snapshot.into(status))
    return _awaiting_review(known, now), Step(Phase.REQUESTED, SYSTEM, reason, message)


def expired(status: Manifest, reason: str, now: datetime, message: str = "", *, actor: Manifest = SYSTEM) -> Stepped:
    """It is over. How long the record is kept counts from the end that was fixed; where there was none, from now."""
    if phase_of(status) == Phase.EXPIRED:
        raise ValueError("the permit is Expired already")
    keep = (status.get("request") or {}).get("keepFor")
    changed = status
    if keep and not status.get("keepUntil"):
        changed = status | {"keepUntil": stamp(later(now, extended(keep)))}
    return entered(changed, Phase.EXPIRED, now), Step(Phase.EXPIRED, actor, reason, message)


_AUTO = "Auto Approved"


def _check(status: Manifest, *phases: Phase | None) -> Phase | None:
    phase = phase_of(status)
    if phase not in phases:
        raise ValueError(f"no step leads there from the phase {phase}")
    return phase


def _awaiting_review(status: Manifest, now: datetime) -> Manifest:
    return entered(status | {"review": {"verdict": "Pending"}}, Phase.REQUESTED, now)


def _approved(status: Manifest, now: datetime) -> Manifest:
    """Approved by nobody but the manager; recorded like any other approval, so that it grows old like one."""
    digest = status["request"]["digest"]
    approval = {"reviewer": SYSTEM, "time": stamp(now), "digest": digest, "message": _AUTO}
    review = {"verdict": "Approved", "reviewer": SYSTEM, "message": _AUTO, "digest": digest, "approvals": [approval]}
    return entered(status | {"review": review}, Phase.APPROVED, now)


def _length(request: Manifest) -> float | None:
    """Seconds of access; None for no end. 0 says no end too, which a template with `maxDuration` does not give."""
    length = extended(request.get("duration") or "0")
    longest = request.get("maxDuration")
    if longest and not 0 < length <= extended(longest):
        return extended(longest)
    return length or None


def _not_begun(status: Manifest) -> Manifest:
    return _without(status, "active", "keepUntil")


def _without(status: Manifest, *fields: str) -> Manifest:
    return {field: value for field, value in status.items() if field not in fields}
