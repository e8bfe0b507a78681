"""What is to be done with a permit now, and when to look again: the one place that reads the rules of the clock.

| Phase | Until | Then |
| --- | --- | --- |
| none, Created | - | CREATE, PREPARE |
| Requested, Pending | `approvals.deadline` after the creation | EXPIRE DeadlineExceeded |
| Approved | `startTime` (AWAIT_START) | ACTIVATE |
| Approved, not begun | `approvals.validFor` after the approvals, or after `startTime` | EXPIRE ApprovalLapsed |
| Approved and begun, Active | `active.until` | EXPIRE ExpiredBySystem |
| Retrying | - | RETRY |
| Denied, Failed | - | TAKE_BACK |
| Expired | all is gone (TAKE_BACK), then `keepUntil` (RETAIN) | DELETE |

Where nothing may be desired and something is recorded, that is taken back before anything else is done. A permit that is being
deleted has ended: where access was given, that is an EXPIRE of its own (Deleted), so that the record which is kept says so.

A moment that is reached has passed: at `until` the access is over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from apis.copyhold.duration import extended
from apis.copyhold.permitstatus import Phase
from apis.copyhold.permittemplate import Approvals
from apis.meta import Manifest
from policy.permits.moments import EARLIEST, later, moment
from policy.permits.why import Why

_VALID_FOR = Approvals().valid_for

UNDECIDED = frozenset({Phase.REQUESTED, Phase.PENDING})
"""The phases in which a review is awaited."""

GIVING = frozenset({Phase.APPROVED, Phase.ACTIVE})
"""The phases in which something may be desired. In every other one nothing is."""


class Action(StrEnum):
    """What the manager does with a permit."""

    CREATE = "Create"  # begin its trail
    PREPARE = "Prepare"  # render it, try it, take the snapshot
    AWAIT_REVIEW = "AwaitReview"
    AWAIT_START = "AwaitStart"
    ACTIVATE = "Activate"  # apply all targets, or none
    KEEP = "Keep"  # Active: repair drift
    RETRY = "Retry"
    EXPIRE = "Expire"
    TAKE_BACK = "TakeBack"
    RETAIN = "Retain"  # all is gone; the permit stays as a record
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Due:
    """What to do now; `at` is when time alone changes that (None: never), and `reason` why the permit expires."""

    action: Action
    at: datetime | None = None
    reason: str = ""


def due(permit: Manifest, now: datetime, *, namespace_terminating: bool = False) -> Due:
    """What is due for a permit at `now` (UTC). A record that is to be kept does not hold a namespace that is going away."""
    status = permit.get("status") or {}
    phase = phase_of(status)
    deleting = bool(permit["metadata"].get("deletionTimestamp"))
    if deleting and phase in GIVING and status.get("active"):
        return Due(Action.EXPIRE, None, Why.DELETED)
    if phase is Phase.EXPIRED or deleting:
        return _end(status, now, namespace_terminating=namespace_terminating)
    if phase not in GIVING and holds(status):
        return Due(Action.TAKE_BACK)
    match phase:
        case None:
            return Due(Action.CREATE)
        case Phase.CREATED:
            return Due(Action.PREPARE)
        case Phase.REQUESTED | Phase.PENDING:
            return _before(deadline(permit), now, Why.DEADLINE_EXCEEDED, Action.AWAIT_REVIEW)
        case Phase.APPROVED if not status.get("active"):
            return _start(status, now)
        case Phase.APPROVED:
            return _before(_until(status), now, Why.EXPIRED, Action.ACTIVATE)
        case Phase.ACTIVE:
            return _before(_until(status), now, Why.EXPIRED, Action.KEEP)
        case Phase.RETRYING:
            return Due(Action.RETRY)
        case Phase.DENIED | Phase.FAILED:
            return Due(Action.TAKE_BACK)


def phase_of(status: Manifest) -> Phase | None:
    """The phase of a permit; None before the manager has seen it."""
    return Phase(status["phase"]) if status.get("phase") else None


def holds(status: Manifest) -> bool:
    """Is any target recorded? A target is recorded before it is made, and until it is known to be gone."""
    return bool(status.get("processedItems") or (status.get("records") or {}).get("count"))


def ending(permit: Manifest, now: datetime) -> bool:
    """Is something there, or on its way out, that nothing gives a right to any more? That is pressing."""
    status = permit.get("status") or {}
    until = _until(status)
    over = status.get("phase") not in GIVING or bool(permit["metadata"].get("deletionTimestamp"))
    return holds(status) and (over or (until is not None and now >= until))


def deadline(permit: Manifest) -> datetime | None:
    """Until when a permit may be approved; None for ever."""
    wait = rules_of(permit.get("status") or {}).get("deadline")
    return later(moment(permit["metadata"]["creationTimestamp"]), extended(wait)) if wait else None


def good_until(approval: Mapping[str, Any], request: Manifest) -> datetime:
    """When an approval is too old to be acted on: `validFor` after it was given or after the start, whichever is later."""
    given = moment(approval["time"])
    start = moment(request["startTime"]) if request.get("startTime") else given
    return later(max(given, start), extended((request.get("approvals") or {}).get("validFor") or _VALID_FOR))


def rules_of(status: Manifest) -> Manifest:
    """The rules of approval in the snapshot; empty before there is one."""
    return (status.get("request") or {}).get("approvals") or {}


def _before(end: datetime | None, now: datetime, reason: Why, action: Action) -> Due:
    """The action before the end, and the end of the permit from then on."""
    return Due(Action.EXPIRE, None, reason) if end is not None and now >= end else Due(action, end)


def _start(status: Manifest, now: datetime) -> Due:
    """Approved and nothing done yet: every approval must still be good when it begins."""
    request = status["request"]
    approvals = (status.get("review") or {}).get("approvals") or ()
    lapse = min((good_until(each, request) for each in approvals), default=EARLIEST)  # approved by nobody: good for nothing
    start = moment(request["startTime"]) if request.get("startTime") else EARLIEST
    if now < min(start, lapse):
        return Due(Action.AWAIT_START, start)
    return _before(lapse, now, Why.APPROVAL_LAPSED, Action.ACTIVATE)


def _until(status: Manifest) -> datetime | None:
    """The end of the access. What cannot be read is over: access must not outlive a defect."""
    until = (status.get("active") or {}).get("until")
    if not until:
        return None
    try:
        return moment(until)
    except ValueError:
        return EARLIEST


def _end(status: Manifest, now: datetime, *, namespace_terminating: bool) -> Due:
    if holds(status):
        return Due(Action.TAKE_BACK)
    kept = moment(status["keepUntil"]) if status.get("keepUntil") else None
    if kept is not None and now < kept and not namespace_terminating:
        return Due(Action.RETAIN, kept)
    return Due(Action.DELETE)
