"""Carrying out a plan: remember, execute, settle, and decide again about what was stale. The pass that asks writes the status."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from apis.kind import Parent
from apis.meta import FINALIZER, Key
from apis.problems import Forbidden, Problem, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.desk import WRITE_TIMEOUT, Desk, Next, Wait
from manager.execute import Hand, Outcome, execute
from manager.propose import propose_nothing
from manager.sight import resource_of
from manager.surroundings import Request
from manager.tenure import WHOLE, Tenure
from policy.decide import PRUNES, Decision, Verb
from policy.pace import backoff, truce
from policy.permits.moments import stamp
from policy.plan import Plan
from policy.settle import announce

TICK = 0.01
"""Seconds by which a timer may be early."""

ROUNDS = 3
"""How often one pass decides again about targets that changed under its hands."""


@dataclass(frozen=True, slots=True)
class Round:
    """What carrying out asks of the pass that it is a part of.

    `write` puts the records into memory, `again` decides anew about targets that changed meanwhile, `between` lets others in,
    and from `until` on nothing is applied. `whole`: what stands on a target that failed is not applied.
    """

    write: Callable[[], Awaitable[None]]
    again: Callable[[frozenset[Key]], Awaitable[Plan]]
    between: Callable[[], Awaitable[None]] | None = None
    until: datetime | None = None
    whole: bool = False


async def carry_out(desk: Desk, tenure: Tenure, plan: Plan, following: Next, work: Round) -> None:
    """Remember, execute, and decide again about what was stale. When to look again goes into `following`."""
    for attempt in range(ROUNDS):
        await _remember(desk, tenure, plan, work)
        stale = await _execute(desk, tenure, plan, following, work, last=attempt == ROUNDS - 1)
        if not stale:
            return
        plan = await work.again(stale)


async def take_back(desk: Desk, tenure: Tenure, following: Next, write: Callable[[], Awaitable[None]]) -> None:
    """Nothing is wanted any more: everything is taken back, from memory alone."""

    async def nothing(stale: frozenset[Key] | None) -> Plan:
        request = Request(desk.now(), fresh=stale or frozenset(), only=stale)
        return (await propose_nothing(desk.around(tenure.parent), tenure.parent, tenure.records, request)).plan

    tenure.wanted.clear()
    await carry_out(desk, tenure, await nothing(None), following, Round(write, nothing))


async def _remember(desk: Desk, tenure: Tenure, plan: Plan, work: Round) -> None:
    """The wider memory first: finalizer, then a record of all that is about to be made."""
    if plan.writes and FINALIZER not in tenure.parent.finalizers:
        await set_finalizer(desk, tenure, present=True)
    announced = {d.key: record for d in plan.decisions if (record := announce(d, plan.owner)) is not None}
    if announced:
        tenure.records.update(announced)
        await work.write()


async def _execute(desk: Desk, tenure: Tenure, plan: Plan, following: Next, work: Round, *, last: bool) -> frozenset[Key]:
    """Carry out a plan. Answers the targets that must be read and decided again."""
    stale: set[Key] = set()
    pruned = 0
    failed: dict[str, list[Problem]] = {}
    uid = tenure.parent.uid
    around = desk.around(tenure.parent)
    hand = Hand(
        desk.cluster,
        desk.now,
        exists=around.exists,
        holds=lambda: desk.holds(uid),
        between=work.between,
        until=work.until,
        whole=work.whole,
        width=desk.width,
    )
    tenure.in_flight.update(decision.key for decision in plan.writes)
    try:
        async for outcome in execute(hand, plan):
            decision = outcome.decision
            settle_outcome(desk, tenure, outcome, following)
            pruned += outcome.wrote and decision.verb in PRUNES
            if outcome.stale and not last:
                stale.add(outcome.decision.key)
            elif (problem := outcome.problem or _unseen(decision)) is not None:
                failed.setdefault(_unit(decision), []).append(problem)
            if outcome.wrote and decision.reason == Reason.DRIFTED:
                tenure.repaired(decision.key, desk.monotonic())
    finally:
        tenure.in_flight.difference_update(decision.key for decision in plan.writes)
    tenure.prune(pruned, desk.now().timestamp())
    _schedule_failures(tenure, plan, failed, following)
    return frozenset(stale)


def contested(desk: Desk, tenure: Tenure, plan: Plan, following: Next) -> Plan:
    """A target that somebody else keeps changing is left alone for a while."""
    now = desk.monotonic()
    decisions = []
    for decision in plan.decisions:
        wait = truce(tenure.repairs.get(decision.key, ()), now) if decision.reason == Reason.DRIFTED else 0.0
        if wait > 0:
            message = f"somebody keeps changing what we apply to {decision.key}: repairs are slowed down"
            decision = replace(decision, verb=Verb.SKIP, reason=Reason.CONTESTED, message=message)
            following.soon(_unit(decision), wait)
        decisions.append(decision)
    return replace(plan, decisions=tuple(decisions))


def patient(desk: Desk, tenure: Tenure, plan: Plan, following: Next) -> Plan:
    """What we made is removed a moment after it is not wanted any more.

    A target that moves to another parent is taken over meanwhile, whichever of the two parents was edited first.
    """
    now = desk.monotonic()
    waiting: dict[Key, float] = {}
    for decision in plan.decisions:
        since = tenure.unwanted.pop(decision.key, now)
        left = since + desk.patience - now
        if decision.verb == Verb.REMOVE and left > TICK:
            waiting[decision.key] = since
            following.soon(_unit(decision), left)
    tenure.unwanted.update(waiting)
    return replace(plan, decisions=tuple(decision for decision in plan.decisions if decision.key not in waiting))


def settle_outcome(desk: Desk, tenure: Tenure, outcome: Outcome, following: Next) -> None:
    """The outcome goes into the records; what is waited for, into the watches."""
    decision, record = outcome.decision, outcome.record
    key = decision.key
    former = decision.item.record
    if record is None and former is not None and decision.item.desired is None:
        record = _unsure(desk, tenure, former, following)
    if record is None:
        tenure.records.pop(key, None)
    else:
        tenure.records[key] = record
    desired = decision.item.desired
    if record is not None and desired is not None and _waits(tenure, decision, record.reason):
        following.waits.add(Wait(resource_of(desired), desired.ref.namespace, desired.ref.name, desired.unit))
    desk.settled(tenure, outcome)


def _waits(tenure: Tenure, decision: Decision, reason: Reason) -> bool:
    """Does a target wait for its object, and does no other watch show how that changes?"""
    if reason in (Reason.CONDITION_NOT_MET, Reason.CONDITION_FAILED):
        live = decision.item.live
        return live is None or live.held_by(tenure.parent.manager) is None
    return reason in (Reason.FOREIGN, Reason.FIELD_TAKEN)


def _unseen(decision: Decision) -> Problem | None:
    """Why a target could not be looked at, where no event tells that it can be now."""
    problem = decision.item.condition
    return problem if isinstance(problem, Forbidden | Unavailable | Stale) else None


def _unsure(desk: Desk, tenure: Tenure, former: Record, following: Next) -> Record | None:
    """A write that may still land keeps its record for a while: its answer was lost, or another replica was in charge."""
    grace = max(desk.grace(tenure.parent.uid), WRITE_TIMEOUT if former.pending else 0.0)
    if not grace or not former.resource:
        return None
    now = desk.now()
    since = _moment(former.gone) if former.gone else now
    left = grace - (now - since).total_seconds()
    if left <= 0:
        return None
    following.soon(former.unit, left)
    return replace(former, gone=stamp(since), ok=True, reason=Reason.ABSENT, message="")


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _unit(decision: Decision) -> str:
    source = decision.item.desired or decision.item.record
    return source.unit if source is not None else WHOLE


def _schedule_failures(tenure: Tenure, plan: Plan, failed: Mapping[str, list[Problem]], following: Next) -> None:
    for unit in {_unit(decision) for decision in plan.decisions} - failed.keys():
        tenure.attempts.pop(unit, None)
    for unit, problems in failed.items():
        attempt = tenure.attempt(unit)
        for problem in problems:
            following.soon(unit, backoff(problem, attempt, random.random()))  # noqa: S311 - spreads load


async def set_finalizer(desk: Desk, tenure: Tenure, *, present: bool) -> None:
    """Put our finalizer on the parent, or take it off."""
    parent = tenure.parent
    resource = await desk.cluster.resource(parent.kind.api_version, parent.kind.kind)
    proof = parent.uid if parent.kind.gated else ""
    for _ in range(ROUNDS):
        others = [name for name in parent.finalizers if name != FINALIZER]
        wanted = [*others, FINALIZER] if present else others
        if present and parent.deleting:
            raise Stale(f"{parent} is being deleted")
        metadata = {"resourceVersion": parent.resource_version, "uid": parent.uid, "finalizers": wanted}
        try:
            changed = await desk.cluster.merge_patch(resource, parent.namespace, parent.name, {"metadata": metadata}, proof=proof)
        except Stale:
            found = await desk.cluster.get(resource, parent.namespace, parent.name)
            if found is None or found["metadata"]["uid"] != parent.uid:
                return
            parent = Parent(parent.kind, found)
            continue
        tenure.parent = Parent(parent.kind, changed)
        return
    raise Unavailable(f"{parent} changes faster than its finalizer can be set")
