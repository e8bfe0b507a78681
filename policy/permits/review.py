"""A review: what becomes of a permit when somebody approves or denies it. Pure."""

from dataclasses import replace
from datetime import datetime

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits import why
from policy.permits.actors import requester_of, same
from policy.permits.approvals import check_reviewer, demand, required
from policy.permits.ask import Ask, illegal, unsupported
from policy.permits.due import UNDECIDED, deadline, good_until, rules_of
from policy.permits.moments import stamp
from policy.permits.ready import entered, ready_of
from policy.permits.refusal import Refused
from policy.permits.snapshot import Snapshot
from policy.permits.step import Change, Step
from policy.permits.why import Why
from policy.permits.wish import adjusted


def approve(ask: Ask) -> Change:
    """An approval: the last one that is needed, or one more. Raises Refused (403, 409, 422)."""
    if ask.phase == Phase.DENIED:
        raise illegal("cannot approve a denied request")
    if ask.phase not in UNDECIDED and ask.phase not in (None, Phase.CREATED):
        raise unsupported(ask)
    ready = ready_of(ask.status)
    if ask.phase not in UNDECIDED or ready.get("status") != "True":
        reason = ready.get("message") or "request is being prepared"
        raise Refused(409, f"cannot approve ResourcePermit: rendered resources are not ready: {reason}")
    end = deadline(ask.permit)
    if end is not None and ask.now >= end:
        raise Refused(409, f"cannot approve ResourcePermit: its approvals.deadline was {stamp(end)}: make another permit")
    _check_seen(ask)
    return _approved(ask, _adjusted(ask))


def _check_seen(ask: Ask) -> None:
    """Refuse to approve what is not what was looked at, or what was not written by the manager."""
    present = ask.status["request"]["digest"]
    if Snapshot.of(ask.status).digest != present:
        raise Refused(409, "status.request is not what its digest says: the snapshot was tampered with, make another permit")
    if not ask.wish.digest and rules_of(ask.status).get("requireDigest"):
        raise Refused(422, "status.review.digest: Required value: name the digest of what you approve, status.request.digest")
    if ask.wish.digest and ask.wish.digest != present:
        raise Refused(409, f"this is not what you have seen: status.review.digest is not {present}, look again")


def _adjusted(ask: Ask) -> Manifest:
    """The status with the snapshot as the reviewer wants it. With another digest no earlier approval is for it."""
    request = adjusted(ask.status["request"], ask.wish, ask.now)
    if request == ask.status["request"]:
        return ask.status
    return replace(Snapshot.of(ask.status), request=request).into(ask.status)


def _approved(ask: Ask, status: Manifest) -> Change:
    request, rules = status["request"], rules_of(status)
    permit, template = ask.permit | {"status": status}, request["template"]["name"]
    check_reviewer(rules, ask.actor, requester_of(permit), template)
    demand(rules, permit, ask.actor, status.get("grants") or (), template)
    before = (status.get("review") or {}).get("approvals") or ()
    standing = [each for each in before if each["digest"] == request["digest"] and ask.now < good_until(each, request)]
    if any(same(each["reviewer"], ask.actor) for each in standing):
        raise Refused(409, f'subject "{ask.actor["name"]}" has approved already: {required(rules)} different reviewers must')
    approvals = [*standing, _approval(ask.actor, request, ask.now, ask.wish.message)]
    cleared = "earlier approvals were for something else, or are too old, and do not count" if len(before) > len(standing) else ""
    if len(approvals) < required(rules):
        count = f"{len(approvals)} of {required(rules)} approvals"
        return _recorded(ask, status, approvals, f"{count} ({cleared})" if cleared else count)
    review = {"verdict": "Approved", "reviewer": ask.actor, "digest": request["digest"], "approvals": approvals}
    if ask.wish.message:
        review["message"] = ask.wish.message
    step = Step(Phase.APPROVED, ask.actor, why.approved_by(ask.actor), ask.wish.message)
    return Change(entered(status | {"review": review}, Phase.APPROVED, ask.now), step, cleared)


def _recorded(ask: Ask, status: Manifest, approvals: list[Manifest], count: str) -> Change:
    """Not decided yet. What this reviewer said stays with the approval: the next one's patch would send it along as its own."""
    message = f"{count}: {ask.wish.message}" if ask.wish.message else count
    review = {"verdict": "Pending", "approvals": approvals}
    step = Step(Phase.REQUESTED, ask.actor, Why.APPROVAL_RECORDED, message)
    return Change(entered(status | {"review": review}, Phase.REQUESTED, ask.now), step, count)


def _approval(reviewer: Manifest, request: Manifest, now: datetime, message: str) -> Manifest:
    given = {"reviewer": reviewer, "time": stamp(now), "digest": request["digest"]}
    return given | {"message": message} if message else given


def deny(ask: Ask) -> Change:
    """A denial ends the review; the approvals so far stay on record. Raises Refused (422)."""
    if ask.phase in (Phase.APPROVED, Phase.ACTIVE):
        raise illegal("cannot deny an already approved or active request")
    if ask.phase not in UNDECIDED:
        raise unsupported(ask)
    review = (ask.status.get("review") or {}) | {"verdict": "Denied", "reviewer": ask.actor}
    if ask.wish.message:
        review["message"] = ask.wish.message
    step = Step(Phase.DENIED, ask.actor, Why.DENIED, ask.wish.message)
    return Change(entered(ask.status | {"review": review}, Phase.DENIED, ask.now), step)
