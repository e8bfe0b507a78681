"""The path: propose, remember, execute, report. One parent, one pass.

1. What holds the parent: deletion, cordon, an invalid spec, its account, its dependencies, its scope.
2. Propose a plan (reads only).
3. Remember: finalizer first, then records that are wider than what will be made.
4. Execute; what turned out to be stale is read and decided again.
5. Report: records and conditions in one write, and only when something differs.
"""

import random
from collections.abc import Awaitable, Callable, Mapping

from apis.meta import FINALIZER, Key
from apis.problems import Invalid, Problem
from apis.reasons import Reason
from manager.carry import Round, carry_out, contested, patient, set_finalizer, take_back
from manager.desk import Desk, Next
from manager.propose import Proposal, check_templates, propose
from manager.report import Standing, report
from manager.surroundings import Request
from manager.tenure import WHOLE, Tenure
from policy.account import account
from policy.dependencies import check_dependencies
from policy.pace import backoff
from policy.permits.moments import stamp
from policy.plan import Plan


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
    following = Next()
    plan = _paced(desk, tenure, proposal.plan, following)
    await carry_out(desk, tenure, plan, following, _round(desk, tenure, units, following))
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


def _paced(desk: Desk, tenure: Tenure, plan: Plan, following: Next) -> Plan:
    return patient(desk, tenure, contested(desk, tenure, plan, following), following)


def _round(desk: Desk, tenure: Tenure, units: frozenset[str] | None, following: Next) -> Round:
    async def again(stale: frozenset[Key]) -> Plan:
        request = Request(desk.now(), units, fresh=stale, only=stale)
        return (await propose(desk.around(tenure.parent), tenure.parent, tenure.records, request)).plan

    return Round(lambda: _write(desk, tenure, working=True), again, _yielding(desk, tenure, following))


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
    await take_back(desk, tenure, following, lambda: _write(desk, tenure, working=True))
    if tenure.records:
        await _write(desk, tenure)
        return following
    await tenure.memory.forget()
    await set_finalizer(desk, tenure, present=False)
    return Next(finished=True)


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
