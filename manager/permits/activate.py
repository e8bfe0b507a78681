"""Giving what was approved: all targets or none; and keeping them as they were reviewed while the permit is active."""

from dataclasses import dataclass, replace
from datetime import datetime

from apis.copyhold.permitstatus import Phase
from apis.intent import Gate, Intent
from apis.meta import Key, Manifest
from apis.problems import Blocked, Invalid, Problem
from apis.reasons import Reason
from apis.record import Record
from manager.carry import Round, carry_out, contested
from manager.desk import Desk, Next
from manager.permits import vault
from manager.permits.desk import Permits, Write, shown
from manager.permits.growth import grown
from manager.permits.prepare import Prepared, look_again
from manager.permits.shape import with_targets
from manager.propose import Proposal, propose
from manager.surroundings import Request
from manager.tenure import WHOLE, Tenure
from policy.permits import steps
from policy.permits.approvals import recheck
from policy.permits.moments import moment
from policy.permits.ready import SAYS, told
from policy.permits.refusal import Refused
from policy.permits.snapshot import Snapshot
from policy.permits.step import Step
from policy.permits.why import Why
from policy.plan import Plan

APPLY_FAILED = "ResourceApplyFailed"
APPROVAL_INVALID = "ApprovalInvalid"

TRANSIENT = frozenset({Reason.UNAVAILABLE, Reason.STALE, Reason.PROGRESSING, Reason.WAITING, Reason.TERMINATING})
"""Reasons for which a target is tried again before the activation counts as failed."""

AGAIN = 1.0
"""Seconds until then."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status and the step that came of it, and in how many seconds to look again if nothing else happens."""

    status: Manifest
    step: Step | None = None
    again: float | None = None


async def examine(desk: Desk, tenure: Tenure, permits: Permits, status: Manifest, now: datetime) -> Outcome:
    """Is what was approved still what would happen? Then it begins; else it goes back to review, or has failed."""
    parent = tenure.parent
    template = status["request"]["template"]
    local = template["kind"] == "ResourcePermitTemplate"
    if await permits.template_of(template["kind"], parent.namespace if local else "", template["name"]) is None:
        message = f"template {template['name']} is gone: nothing is given by it any more; make another permit"
        return Outcome(*steps.failed(status, str(Reason.TEMPLATE_RESOLUTION_FAILED), message, now))
    try:
        recheck(parent.object)
        clear = await vault.read(desk.cluster, permits.namespace, parent.object)
    except Refused as refused:
        return Outcome(*steps.failed(status, APPROVAL_INVALID, refused.message, now))
    except Blocked as problem:
        return Outcome(*steps.failed(status, str(problem.reason), str(problem), now))
    found = await look_again(desk.cluster, desk.around(parent), parent.object, clear, now)
    return _judged(status, found, now)


def _judged(status: Manifest, found: Prepared, now: datetime) -> Outcome:
    before = Snapshot.of(status)
    if found.failure:
        return Outcome(*steps.failed(status, APPLY_FAILED, found.failure, now))
    if found.snapshot.digest != before.digest:
        message = "the rights that it gives are not those that were approved: a role or a binding has changed"
        return Outcome(*steps.sent_back(status, Why.GRANTS_CHANGED, message, found.snapshot, now))
    more = grown(before.preview, found.snapshot.preview)
    if more:
        return Outcome(*steps.sent_back(status, Why.PREVIEW_CHANGED, more, found.snapshot, now))
    return Outcome(*steps.begun(status, now))


async def activate(desk: Desk, tenure: Tenure, permits: Permits, following: Next, write: Write) -> Outcome:
    """Apply every target. One that cannot be applied fails the permit: the caller takes back what was."""
    problem = await _apply(desk, tenure, permits, following, write, whole=True)
    status, now = shown(tenure.parent.status), desk.now()
    if problem is not None:
        return Outcome(*steps.failed(status, APPLY_FAILED, str(problem), now))
    bad = [record for record in tenure.records.values() if not record.ok]
    lasting = [record for record in bad if record.reason not in TRANSIENT]
    if lasting:
        return Outcome(*steps.failed(status, APPLY_FAILED, _said(lasting), now))
    if bad:
        return Outcome(told(status, now, "False", Reason.PROGRESSING, f"is being activated: {_said(bad)}"), again=AGAIN)
    return Outcome(*steps.activated(status, now))


async def keep(desk: Desk, tenure: Tenure, permits: Permits, following: Next, write: Write) -> Outcome:
    """Compare and repair. What cannot be repaired is said, and does not end the permit."""
    problem = await _apply(desk, tenure, permits, following, write)
    status, now = shown(tenure.parent.status), desk.now()
    bad = [record for record in tenure.records.values() if not record.ok]
    if problem is not None or bad:
        message = str(problem) if problem is not None else _said(bad)
        reason = problem.reason if problem is not None else bad[0].reason
        return Outcome(told(status, now, "False", reason, message), again=30.0)
    return Outcome(told(status, now, *SAYS[Phase.ACTIVE]))


async def _apply(
    desk: Desk, tenure: Tenure, permits: Permits, following: Next, write: Write, *, whole: bool = False
) -> Problem | None:
    """Bring the targets to what the snapshot says; answers what concerns all of them. What concerns one is in its record.

    `whole`: rights are not given when something else failed.
    """
    try:
        intent = await _intent(desk, permits, tenure)
        proposal = await _proposed(desk, tenure, intent)
    except (Invalid, Blocked) as problem:
        return problem
    if proposal.troubles:
        return proposal.troubles[0].problem
    tenure.identity = proposal.identity
    tenure.wanted = {decision.key for decision in proposal.plan.decisions if decision.item.desired is not None}
    desk.watch(proposal)
    plan = contested(desk, tenure, proposal.plan, following)

    async def again(stale: frozenset[Key]) -> Plan:
        return (await _proposed(desk, tenure, intent, stale)).plan

    until = (tenure.parent.status.get("active") or {}).get("until")
    await carry_out(desk, tenure, plan, following, Round(write, again, until=moment(until) if until else None, whole=whole))
    following.soon(WHOLE, proposal.look_again)
    return None


async def _intent(desk: Desk, permits: Permits, tenure: Tenure) -> Intent:
    """What the snapshot wants, with the clear values of Secrets, until the end that was fixed."""
    clear = await vault.read(desk.cluster, permits.namespace, tenure.parent.object)
    until = (tenure.parent.status.get("active") or {}).get("until") or ""
    return replace(with_targets(tenure.parent.intent(), clear), gate=Gate("Active", until))


async def _proposed(desk: Desk, tenure: Tenure, intent: Intent, stale: frozenset[Key] | None = None) -> Proposal:
    request = Request(desk.now(), fresh=stale or frozenset(), only=stale)
    return await propose(desk.around(tenure.parent), tenure.parent, tenure.records, request, intent)


def _said(records: list[Record]) -> str:
    each = [_line(record) for record in records[:3]]
    more = f" and {len(records) - 3} more" if len(records) > 3 else ""
    return "; ".join(each) + more


def _line(record: Record) -> str:
    """What is wrong with a target. Many messages name it themselves."""
    said = record.message or str(record.reason)
    return said if said.startswith(f"{record.key}:") else f"{record.key}: {said}"
