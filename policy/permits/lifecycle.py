"""The life of a permit: which phase follows which, who brings it there, and what becomes of its status. Pure.

| From | To | Who | When | Reason |
| --- | --- | --- | --- | --- |
| - | Created | manager, for the requester | at once | CreatedBy<Type> |
| Created | Requested | manager | rendered and tried | PendingReview |
| Created | Approved | manager | likewise, `approvals.auto` | ApprovedBySystem |
| Created | Created | manager | it does not render: Ready False, no transition | - |
| Created, Retrying | Failed (Preflight) | manager | the trial fails | of the failure |
| Requested, Pending | Requested | reviewer asks for Approved | more approvals are needed | ApprovalRecorded |
| Requested, Pending | Approved | reviewer | this was the last one needed | ApprovedBy<Type> |
| Requested, Pending | Denied | reviewer | | DeniedByReviewer |
| Requested, Pending | Expired | manager | deadline | DeadlineExceeded |
| Approved | Approved | manager | before the first write: `from` and `until` are fixed | ActivationBegun |
| Approved | Active | manager | every target is applied | ActivatedBySystem |
| Approved | Failed (Activation) | manager | a target is not; all are taken back | of the failure |
| Approved | Requested | manager | it would do, or give, something else | PreviewChanged, GrantsChanged |
| Approved | Expired | manager | the approvals are too old | ApprovalLapsed |
| Approved, Active | Expired | manager | `until` | ExpiredBySystem |
| Approved (begun), Active | Expired | manager | the permit is deleted | Deleted |
| Failed | Retrying | user | | RetryPermittedBy<Type> |
| Retrying | Requested, Approved | manager | the trial succeeds; after an activation at once | RetrySucceeded |
| any but Expired | Expired | user | | ExpiredBy<Type> |

A user asks by writing `status.phase`; `asked` answers with the whole new status, made from the one that is stored. The functions
of the manager answer the new status and the step, and raise ValueError in a phase that is not in the table. Nobody here touches
`transitions`: the step is appended by policy.permits.trail.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits import why
from policy.permits.ask import Ask, illegal, unsupported
from policy.permits.canonical import canonical
from policy.permits.due import phase_of
from policy.permits.moments import moment
from policy.permits.ready import entered
from policy.permits.refusal import Refused
from policy.permits.review import approve, deny
from policy.permits.step import Change, Step
from policy.permits.steps import (
    activated,
    auto_approved,
    begun,
    created,
    expired,
    failed,
    prepared,
    retried,
    sent_back,
    stuck,
)
from policy.permits.wish import Wish

__all__ = [
    "Change",
    "Step",
    "activated",
    "asked",
    "auto_approved",
    "begun",
    "created",
    "expired",
    "failed",
    "prepared",
    "retried",
    "sent_back",
    "stuck",
]

TRANSITIONS = 200
"""With so many transitions a permit can only be ended, so that nobody fills the object up."""

ROOM = 1_000_000
"""Bytes of a status beyond which a permit can only be ended. An object has 1.5 MB at most, and its end must still be written."""


def asked(permit: Manifest, wanted: Any, actor: Manifest, now: datetime) -> Change:
    """What becomes of a status that a client wrote over that of the stored permit. Raises Refused (400, 403, 409, 422).

    Of `wanted` counts what policy.permits.wish takes; `actor` is the authenticated user, `now` the API server's time (UTC).
    A status that is as it was changes nothing.
    """
    status = permit.get("status") or {}
    if (wanted or {}) == status:
        return Change(status)
    ask = Ask(permit, status, phase_of(status), Wish.of(wanted, status), actor, now)
    if ask.wish.phase == ask.phase:
        raise Refused(
            422,
            "ResourcePermit status can only be changed by requesting a lifecycle transition: "
            f"status.phase is {ask.phase} already, write another one",
        )
    if ask.wish.phase != Phase.EXPIRED:
        _check_alive(ask)
    answer = _ANSWERS.get(ask.wish.phase)
    if answer is None:
        raise unsupported(ask)
    change = answer(ask)
    if ask.wish.phase != Phase.EXPIRED and len(canonical(change.status)) > ROOM:
        raise Refused(422, f"status would have more than {ROOM} bytes: ask for Expired, and make another permit")
    return change


def _check_alive(ask: Ask) -> None:
    if ask.permit["metadata"].get("deletionTimestamp"):
        raise Refused(409, "the permit is being deleted: make another one")
    if len(ask.status.get("transitions") or ()) >= TRANSITIONS:
        raise Refused(422, f"status.transitions has {TRANSITIONS} entries: ask for Expired, and make another permit")


def _activate(ask: Ask) -> Change:
    """The manager activates what is approved: nobody hastens it, and nobody has to."""
    if ask.phase != Phase.APPROVED:
        raise illegal("can only activate an approved request")
    start = ask.status["request"].get("startTime")
    if start and ask.now < moment(start):
        raise Refused(409, f"cannot activate ResourcePermit before its startTime {start}: it is activated then")
    return Change(ask.status, warning="the permit is approved, and is activated as soon as every target can be applied")


def _retry(ask: Ask) -> Change:
    if ask.phase != Phase.FAILED:
        raise illegal("can only retry a failed request")
    step = Step(Phase.RETRYING, ask.actor, why.retry_permitted_by(ask.actor), ask.wish.message)
    return Change(entered(ask.status, Phase.RETRYING, ask.now), step)


def _expire(ask: Ask) -> Change:
    return Change(*expired(ask.status, why.expired_by(ask.actor), ask.now, ask.wish.message, actor=ask.actor))


def _fail(ask: Ask) -> Change:
    raise illegal("cannot fail an expired request") if ask.phase == Phase.EXPIRED else unsupported(ask)


_ANSWERS: dict[Phase, Callable[[Ask], Change]] = {
    Phase.APPROVED: approve,
    Phase.DENIED: deny,
    Phase.ACTIVE: _activate,
    Phase.RETRYING: _retry,
    Phase.EXPIRED: _expire,
    Phase.FAILED: _fail,
}
"""What users may ask for, and what they often try."""
