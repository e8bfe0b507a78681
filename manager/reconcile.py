"""The path: propose, remember, execute, report. One parent, one pass.

1. What holds the parent: deletion, cordon, an invalid spec, its account, its dependencies, its scope.
2. Propose a plan (reads only).
3. Remember: finalizer first, then records that are wider than what will be made.
4. Execute; what turned out to be stale is read and decided again.
5. Report: records and conditions in one write, and only when something differs.
"""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from apis.kind import Parent
from apis.meta import FINALIZER, Key
from apis.problems import Forbidden, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.execute import Hand, Outcome, execute, stamp
from manager.propose import Proposal, check_templates, propose, propose_nothing
from manager.report import Standing, report
from manager.sight import resource_of
from manager.surroundings import Request, Surroundings
from manager.tenure import WHOLE, Tenure
from manager.world import Cluster, Resource
from policy.account import account
from policy.decide import PRUNES, Decision, Verb
from policy.dependencies import check_dependencies
from policy.pace import backoff, truce
from policy.plan import Plan
from policy.settle import announce

WRITE_TIMEOUT = 10.0
"""Seconds after which a write that was sent, and whose answer was lost, can no longer land."""

TICK = 0.01
"""Seconds by which a timer may be early."""

ROUNDS = 3
"""How often one pass decides again about targets that changed under its hands."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A foreign object that a unit waits for."""

    resource: Resource
    namespace: str
    name: str
    unit: str


@dataclass(slots=True)
class Next:
    """When to look again: seconds by unit (WHOLE for all), and what to watch meanwhile."""

    after: dict[str, float] = field(default_factory=dict)
    waits: set[Wait] = field(default_factory=set)
    finished: bool = False  # the parent has been taken down

    def soon(self, unit: str, seconds: float | None) -> None:
        """Look at a unit again after this many seconds, or earlier if that was said before."""
        if seconds is not None:
            self.after[unit] = min(seconds, self.after.get(unit, seconds))

    def join(self, other: "Next") -> None:
        """Take in what another pass over the same parent said."""
        for unit, seconds in other.after.items():
            self.soon(unit, seconds)
        self.waits |= other.waits


@dataclass(frozen=True, slots=True)
class Desk:
    """What reconciling needs beside the parent: the cluster, the surroundings of this moment, time, and whom to tell."""

    cluster: Cluster
    around: Callable[[Parent], Surroundings]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    dependencies: Callable[[Parent], tuple[Mapping[str, tuple[str, ...]], Mapping[str, bool]]]
    holds: Callable[[str], bool] = lambda _uid: True
    grace: Callable[[str], float] = lambda _uid: 0.0
    urgent: Callable[[Parent], frozenset[str]] = lambda _parent: frozenset()
    tell: Callable[[Parent, str, Reason, str], None] = lambda _parent, _type, _reason, _note: None
    watch: Callable[[Proposal], None] = lambda _proposal: None
    unwatched: Callable[[Tenure], tuple[str, ...]] = lambda _tenure: ()
    settled: Callable[[Tenure, Outcome], None] = lambda _tenure, _outcome: None
    width: int = 24
    patience: float = 0.0  # seconds between the moment that a target is not wanted any more and its removal


async def reconcile(desk: Desk, tenure: Tenure, units: frozenset[str] | None = None) -> Next:
    """One pass over a parent, or over some of its units.

    Raises Stale when another replica wrote its memory, and the problems of writing memory; problems of targets are in the status.
    """
    parent = tenure.parent
    if parent.deleting:
        return await _take_down(desk, tenure)
    if (parent.object.get("spec") or {}).get("cordoned") is True:
        await _write(desk, tenure, cordoned=True)
        return Next()
    if units is not None and tenure.shared:
        units = None
    try:
        await _check(desk, tenure)
        proposal = await _propose(desk, tenure, units)
        if proposal.narrow:
            units = None
            proposal = await _propose(desk, tenure, units)
    except Problem as problem:
        return await _held(desk, tenure, problem)
    _take_in(tenure, proposal, units)
    desk.watch(proposal)
    following = await _carry_out(desk, tenure, proposal, units)
    _schedule_troubles(tenure, proposal, following)
    _note_blocked(tenure, proposal)
    await _write(desk, tenure, working=bool(tenure.unwanted))
    following.soon(WHOLE, proposal.look_again)
    return following


async def _propose(desk: Desk, tenure: Tenure, units: frozenset[str] | None) -> Proposal:
    request = Request(desk.now(), units, recent=tenure.pruned)
    return await propose(desk.around(tenure.parent), tenure.parent, tenure.records, request)


async def _check(desk: Desk, tenure: Tenure) -> None:
    """What holds a parent, in this order: its spec, its account, its dependencies."""
    parent = tenure.parent
    intent, around = parent.intent(), desk.around(parent)
    if tenure.checked != parent.generation:
        await check_templates(around, parent, intent)
        tenure.checked = parent.generation
    account(intent, parent.namespace, around.accounts)
    if intent.depends_on:
        graph, ready = desk.dependencies(parent)
        check_dependencies(parent.name, intent.depends_on, graph, ready)


async def _held(desk: Desk, tenure: Tenure, problem: Problem) -> Next:
    """Something holds the whole parent: say so, and come back when that may have changed."""
    following = Next()
    tenure.troubles.clear()
    following.soon(WHOLE, backoff(problem, tenure.attempt(WHOLE), random.random()))  # noqa: S311 - spreads load
    await _write(desk, tenure, hold=problem)
    return following


def _take_in(tenure: Tenure, proposal: Proposal, units: frozenset[str] | None) -> None:
    """What the proposal showed becomes what the tenure knows; a partial pass replaces only its part."""
    looked_at = frozenset(proposal.selection.units) if units is None else units
    if units is None:
        tenure.troubles.clear()
        tenure.sources = dict(proposal.sources)
        tenure.wanted.clear()
    else:
        for unit in looked_at:
            tenure.troubles.pop(unit, None)
        for source, of in proposal.sources.items():
            tenure.sources[source] = tenure.sources.get(source, frozenset()) | of
        tenure.wanted -= {key for key, record in tenure.records.items() if record.unit in looked_at}
    for trouble in proposal.troubles:
        tenure.troubles[trouble.unit] = (*tenure.troubles.get(trouble.unit, ()), trouble)
    tenure.records.update(proposal.noted)
    tenure.wanted.update(proposal.noted)
    tenure.wanted.update(decision.key for decision in proposal.plan.decisions if decision.item.desired is not None)
    tenure.units = frozenset(proposal.selection.units)
    tenure.tenants = proposal.selection.tenants
    tenure.identity = proposal.identity
    tenure.attempts.pop(WHOLE, None)


async def _carry_out(desk: Desk, tenure: Tenure, proposal: Proposal, units: frozenset[str] | None) -> Next:
    """Remember, execute, and decide again about what was stale."""
    following = Next()
    plan = _patient(desk, tenure, _contested(desk, tenure, proposal.plan, following), following)
    for attempt in range(ROUNDS):
        await _remember(desk, tenure, plan)
        stale = await _execute(desk, tenure, plan, following, last=attempt == ROUNDS - 1)
        if not stale:
            break
        again = Request(desk.now(), units, fresh=stale, only=stale)
        parent = tenure.parent
        plan = (await propose(desk.around(parent), parent, tenure.records, again)).plan
    return following


def _contested(desk: Desk, tenure: Tenure, plan: Plan, following: Next) -> Plan:
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


def _patient(desk: Desk, tenure: Tenure, plan: Plan, following: Next) -> Plan:
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


async def _remember(desk: Desk, tenure: Tenure, plan: Plan) -> None:
    """The wider memory first: finalizer, then a record of all that is about to be made."""
    if plan.writes and FINALIZER not in tenure.parent.finalizers:
        await _finalizer(desk, tenure, present=True)
    announced = {d.key: record for d in plan.decisions if (record := announce(d, plan.owner)) is not None}
    if announced:
        tenure.records.update(announced)
        await _write(desk, tenure, working=True)


async def _execute(desk: Desk, tenure: Tenure, plan: Plan, following: Next, *, last: bool) -> frozenset[Key]:
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
        between=_yielding(desk, tenure, following),
        width=desk.width,
    )
    tenure.in_flight.update(decision.key for decision in plan.writes)
    try:
        async for outcome in execute(hand, plan):
            decision = outcome.decision
            _settle(desk, tenure, outcome, following)
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


def _settle(desk: Desk, tenure: Tenure, outcome: Outcome, following: Next) -> None:
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


def _yielding(desk: Desk, tenure: Tenure, following: Next) -> Callable[[], Awaitable[None]]:
    """A full pass yields to single units: a namespace that joins waits for nobody."""

    async def between() -> None:
        if tenure.nested:
            return
        units = desk.urgent(tenure.parent)
        if not units:
            return
        tenure.nested = True
        try:
            following.join(await reconcile(desk, tenure, units))
        finally:
            tenure.nested = False

    return between


def _schedule_failures(tenure: Tenure, plan: Plan, failed: Mapping[str, list[Problem]], following: Next) -> None:
    for unit in {_unit(decision) for decision in plan.decisions} - failed.keys():
        tenure.attempts.pop(unit, None)
    for unit, problems in failed.items():
        attempt = tenure.attempt(unit)
        for problem in problems:
            following.soon(unit, backoff(problem, attempt, random.random()))  # noqa: S311 - spreads load


def _schedule_troubles(tenure: Tenure, proposal: Proposal, following: Next) -> None:
    for trouble in proposal.troubles:
        if not isinstance(trouble.problem, Invalid):
            attempt = tenure.attempt(trouble.unit)
            following.soon(trouble.unit, backoff(trouble.problem, attempt, random.random()))  # noqa: S311 - spreads load


def _note_blocked(tenure: Tenure, proposal: Proposal) -> None:
    """The condition PruneBlocked stands for as long as a removal is held, whatever part of the parent was looked at."""
    held = any(record.reason == Reason.PRUNE_BLOCKED for record in tenure.records.values())
    tenure.blocked = (proposal.prune_message or tenure.blocked) if held else ""


def _warnings(desk: Desk, tenure: Tenure) -> tuple[tuple[Reason, str], ...]:
    """What a user should know although it is no failure."""
    found: list[tuple[Reason, str]] = []
    if tenure.blocked:
        found.append((Reason.PRUNE_BLOCKED, tenure.blocked))
    unwatched = desk.unwatched(tenure)
    if unwatched:
        message = (
            f"the manager may not watch {', '.join(unwatched)}: changes of these targets are only seen at the resync; give it "
            'list and watch with a ClusterRole labelled rbac.copyhold.dev/aggregate-to-watch: "true"'
        )
        found.append((Reason.WATCH_FORBIDDEN, message))
    return tuple(found)


# Taking down.


async def _take_down(desk: Desk, tenure: Tenure) -> Next:
    """The parent is being deleted: everything is taken back, from memory alone; the finalizer goes last."""
    following = Next()
    if FINALIZER not in tenure.parent.finalizers:
        return Next(finished=True)
    request = Request(desk.now())
    tenure.wanted.clear()
    for attempt in range(ROUNDS):
        proposal = await propose_nothing(desk.around(tenure.parent), tenure.parent, tenure.records, request)
        stale = await _execute(desk, tenure, proposal.plan, following, last=attempt == ROUNDS - 1)
        if not stale:
            break
        request = Request(desk.now(), fresh=stale, only=stale)
    if tenure.records:
        await _write(desk, tenure)
        return following
    await tenure.memory.forget()
    await _finalizer(desk, tenure, present=False)
    return Next(finished=True)


async def _finalizer(desk: Desk, tenure: Tenure, *, present: bool) -> None:
    """Put our finalizer on the parent, or take it off."""
    parent = tenure.parent
    resource = await desk.cluster.resource(parent.kind.api_version, parent.kind.kind)
    for _ in range(ROUNDS):
        others = [name for name in parent.finalizers if name != FINALIZER]
        wanted = [*others, FINALIZER] if present else others
        if present and parent.deleting:
            raise Stale(f"{parent} is being deleted")
        metadata = {"resourceVersion": parent.resource_version, "uid": parent.uid, "finalizers": wanted}
        try:
            changed = await desk.cluster.merge_patch(resource, parent.namespace, parent.name, {"metadata": metadata})
        except Stale:
            found = await desk.cluster.get(resource, parent.namespace, parent.name)
            if found is None or found["metadata"]["uid"] != parent.uid:
                return
            parent = Parent(parent.kind, found)
            continue
        tenure.parent = Parent(parent.kind, changed)
        return
    raise Unavailable(f"{parent} changes faster than its finalizer can be set")


# Writing down.


async def _write(
    desk: Desk,
    tenure: Tenure,
    *,
    hold: Problem | None = None,
    cordoned: bool = False,
    working: bool = False,
) -> None:
    """Records and conditions, if they differ from what is written."""
    standing = Standing(
        parent=tenure.parent,
        records=tenure.records,
        now=stamp(desk.now()),
        hold=hold,
        cordoned=cordoned,
        working=working and not tenure.nested,
        troubles=tuple(tenure.all_troubles()),
        identity=tenure.identity,
        tenants=tenure.tenants,
        pruned=tenure.pruned,
        warnings=_warnings(desk, tenure),
        leaving=frozenset(key for key in tenure.records if key not in tenure.wanted),
    )
    status = report(standing)
    tenure.memory.see(tenure.parent)
    await tenure.memory.write(tenure.records, status)
    _announce_ready(desk, tenure, status["conditions"][0])


def _announce_ready(desk: Desk, tenure: Tenure, ready: Mapping[str, str]) -> None:
    """An Event when the state of the parent changed, not when it was merely looked at."""
    told = (ready["status"], ready["message"])
    if ready["status"] == "Unknown" or told == tenure.told:
        return
    tenure.told = told
    desk.tell(tenure.parent, "Normal" if ready["status"] == "True" else "Warning", Reason(ready["reason"]), ready["message"])
