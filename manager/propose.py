"""The reading half of the path: parent, memory and world -> a plan. Nothing here writes.

lower -> select units -> read inputs -> render -> place -> look at what is live -> decide
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from apis.intent import Identity, Intent, ScopeKind
from apis.kind import Parent, parents
from apis.meta import CONFIRM_PRUNE, Key, Manifest
from apis.problems import Forbidden, Invalid, Problem
from apis.reasons import Reason
from apis.record import SHARED, Record
from manager.inputs import Inputs, Source
from manager.rendering import Rendering, render
from manager.sight import Sight, resource_of
from manager.surroundings import Request, Surroundings, Trouble
from manager.world import Actor, Resource
from policy.account import Accounts, account
from policy.budget import budget
from policy.conditions import uses_now
from policy.decide import Item, Owner, decide
from policy.gate import Open, gate
from policy.ownership import Live, observe
from policy.plan import Plan, held_back, ordered
from policy.target import Desired
from policy.tenancy import Selection, Unit, select

CONDITION_PERIOD = 60.0
"""Seconds after which a condition that uses `now` is looked at again."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, and what making it showed."""

    plan: Plan
    identity: Identity | None = None
    selection: Selection = field(default_factory=lambda: Selection({}))
    troubles: tuple[Trouble, ...] = ()
    noted: Mapping[Key, Record] = field(default_factory=dict)  # targets whose document is at fault: kept, and shown so
    sources: Mapping[Source, frozenset[str]] = field(default_factory=dict)
    kinds: frozenset[Resource] = frozenset()  # what is written: to be watched
    look_again: float | None = None  # seconds
    prune_message: str = ""
    narrow: bool = False  # a part of the parent was looked at, and turned out to concern others: look at all of it


async def propose(
    around: Surroundings, parent: Parent, records: Mapping[Key, Record], request: Request, intent: Intent | None = None
) -> Proposal:
    """What would be done for a parent, read-only. `plan` and the controller both call this.

    `intent` stands in for what the parent's object says, where that object does not show all of it. Raises Invalid (spec),
    Blocked (account, tenant), Unavailable. Problems of single sources or targets are in the proposal.
    """
    intent = intent or parent.intent()
    if not isinstance(gate(intent.gate, request.now), Open):
        return await propose_nothing(around, parent, records, request)
    identity = account(intent, parent.namespace, around.accounts)
    owner = Owner(parent.manager, parent.uid, f"{identity.namespace}/{identity.name}", parent.kind.gated)
    selection = select(intent, around.tenancy, reserved=around.reserved)
    actor = Actor(identity, parent.uid)
    inputs = Inputs(around.world, around.renderer, parent, intent, around.tenancy, actor, around.note)
    rendering = await render(around, inputs, intent, owner, _wanted(selection, request.units), records, request.now)
    items = await _items(around, parent, intent, rendering, records, request, actor)
    decisions = ordered((decide(item, owner) for item in items), temporary=owner.temporary)
    plan, message = _within_budget(Plan(owner, decisions), parent, records, request)
    return Proposal(
        plan=plan,
        identity=identity,
        selection=selection,
        troubles=tuple(rendering.troubles),
        noted=rendering.noted,
        sources={source: frozenset(units) for source, units in inputs.sources.items()},
        kinds=frozenset(resource_of(desired) for desired in rendering.desired.values()),
        look_again=CONDITION_PERIOD if _looks_at_the_clock(intent) else None,
        prune_message=message,
        narrow=request.units is not None and (bool(message) or _concerns_others(rendering, records, request.units)),
    )


async def check_templates(around: Surroundings, parent: Parent, intent: Intent) -> None:
    """Raise Invalid, naming every wrong template and condition of a spec. Once per generation is enough."""
    problems = await around.renderer.check(intent.groups)
    if problems:
        raise Invalid(problems[0].reason, f"{parent}: " + "; ".join(str(problem) for problem in problems[:10]))


async def propose_nothing(around: Surroundings, parent: Parent, records: Mapping[Key, Record], request: Request) -> Proposal:
    """The plan that takes everything back. It needs only memory: no template, no context, no condition, no discovery."""
    identity = _last_account(parent, records, around.accounts)
    owner = Owner(parent.manager, parent.uid, f"{identity.namespace}/{identity.name}" if identity else "", parent.kind.gated)
    sight = _sight(around, parent, Actor(identity or Identity("", ""), parent.uid))
    wanted = [record for key, record in records.items() if request.only is None or key in request.only]
    items = await asyncio.gather(*(_leaving(sight, parent, record, known=True, request=request) for record in wanted))
    decisions = ordered((decide(item, owner) for item in items), temporary=owner.temporary)
    return Proposal(Plan(owner, decisions), identity)


def _last_account(parent: Parent, records: Mapping[Key, Record], accounts: Accounts) -> Identity | None:
    """Who takes down: the account of the spec if that can still be made out, else the one that acted last."""
    try:
        return account(parent.intent(), parent.namespace, accounts)
    except Problem:
        last = next((record.account for record in records.values() if record.account), "")
    namespace, _, name = last.partition("/")
    return Identity(namespace, name) if name else None


def _wanted(selection: Selection, units: frozenset[str] | None) -> list[Unit]:
    return [unit for key, unit in selection.units.items() if units is None or key in units]


def _concerns_others(rendering: Rendering, records: Mapping[Key, Record], units: frozenset[str]) -> bool:
    """Does this part of the parent render what another unit, or several, have on record?"""
    if SHARED in units:
        return True
    known = (records.get(key) for key in rendering.desired)
    return any(target.unit == SHARED for target in rendering.desired.values()) or any(
        record is not None and record.unit not in units for record in known
    )


def _within_budget(plan: Plan, parent: Parent, records: Mapping[Key, Record], request: Request) -> tuple[Plan, str]:
    if (
        request.only is not None or parent.kind.gated
    ):  # a second look at some targets of a judged plan; or what was given for a time
        return plan, ""
    confirmed = parent.annotations.get(CONFIRM_PRUNE, "")
    total = sum(1 for record in records.values() if record.uid)
    verdict = budget(plan.removals, total=total, recent=request.recent, confirmed=confirmed, now=request.now.timestamp())
    if verdict.allowed:
        return plan, ""
    return replace(plan, decisions=ordered(held_back(plan.decisions, verdict.message))), verdict.message


def _looks_at_the_clock(intent: Intent) -> bool:
    return any(group.policy.condition and uses_now(group.policy.condition) for group in intent.groups)


# Looking: desired targets and memory -> items to decide on.


async def _items(
    around: Surroundings,
    parent: Parent,
    intent: Intent,
    rendering: Rendering,
    records: Mapping[Key, Record],
    request: Request,
    actor: Actor,
) -> list[Item]:
    sight = _sight(around, parent, actor)
    desired = [target for key, target in rendering.desired.items() if request.only is None or key in request.only]
    staying = await _staying(around, sight, parent, desired, records, request)
    leaving = [
        _leaving(sight, parent, record, known=_is_known(record, rendering, intent, around), request=request)
        for key, record in records.items()
        if key not in rendering.desired and key not in rendering.noted and _looked_at(record, request)
    ]
    return staying + list(await asyncio.gather(*leaving))


def _is_known(record: Record, rendering: Rendering, intent: Intent, around: Surroundings) -> bool:
    """Is it known that nothing renders this target any more? Not while its unit, or who has which namespaces, is not known."""
    if around.tenancy.unclear and intent.scope.kind in (ScopeKind.NAMESPACE, ScopeKind.TENANT):
        return False
    return not rendering.unknown if record.unit == SHARED else record.unit not in rendering.unknown


def _looked_at(record: Record, request: Request) -> bool:
    if request.only is not None and record.key not in request.only:
        return False
    return request.units is None or record.unit in request.units


def _sight(around: Surroundings, parent: Parent, actor: Actor) -> Sight:
    kin = frozenset(kind.kind.lower() for kind in parents() if kind.family == parent.kind.family)
    return Sight(around.world, actor, around.tenancy, around.index, around.exists, around.records_say, kin, around.optimistic)


async def _staying(
    around: Surroundings,
    sight: Sight,
    parent: Parent,
    desired: Sequence[Desired],
    records: Mapping[Key, Record],
    request: Request,
) -> list[Item]:
    """One item per desired target; conditions are evaluated in one batch, on bodies read as the account."""
    conditional = [target for target in desired if target.policy.condition]
    bodies = dict(zip((target.key for target in conditional), await _bodies(sight, conditional), strict=True))
    asked = [(target.policy.condition or "", bodies[target.key]) for target in conditional]
    readable = [(text, body) for text, body in asked if not isinstance(body, Problem)]
    verdicts = iter(await around.renderer.conditions(readable, request.now) if readable else [])
    conditions: dict[Key, bool | Problem] = {}
    for target in conditional:
        body = bodies[target.key]
        conditions[target.key] = body if isinstance(body, Problem) else next(verdicts)
    at_once: dict[Key, Item] = {}
    for target in desired:
        item = None if target.key in bodies else _glanced(sight, parent, target, records.get(target.key), request)
        if item is not None:
            at_once[target.key] = item
    asked_for = [target for target in desired if target.key not in at_once]
    read = await asyncio.gather(
        *(
            _item(sight, parent, target, records.get(target.key), conditions.get(target.key, True), bodies, request)
            for target in asked_for
        )
    )
    return [*at_once.values(), *read]


def _glanced(sight: Sight, parent: Parent, target: Desired, record: Record | None, request: Request) -> Item | None:
    """The item of a target that memory and watches tell enough of: most of them, most of the time, without a task for each."""
    told, live = sight.glance(resource_of(target), target.key, record, fresh=target.key in request.fresh)
    if not told or (live is not None and live.held_by(parent.manager) is None):
        return None
    held = sight.held(live, parent.manager)
    return Item(target.key, target, live, record, held=held, namespace_terminating=sight.place_is_going(target.key))


async def _bodies(sight: Sight, targets: Sequence[Desired]) -> list[Manifest | Problem | None]:
    return list(await asyncio.gather(*(_body(sight, target) for target in targets)))


async def _body(sight: Sight, target: Desired) -> Manifest | Problem | None:
    try:
        return await sight.body(resource_of(target), target.key)
    except Problem as problem:
        if isinstance(problem, Forbidden):
            return Forbidden(f"reading condition target: {problem}")
        return problem


async def _item(
    sight: Sight,
    parent: Parent,
    target: Desired,
    record: Record | None,
    condition: bool | Problem,
    bodies: Mapping[Key, Manifest | Problem | None],
    request: Request,
) -> Item:
    live: Live | None = None
    try:
        if target.key not in bodies:
            live = await sight.live(resource_of(target), target.key, record, fresh=target.key in request.fresh)
        elif isinstance(body := bodies[target.key], dict):
            live = observe(body)
    except Problem as problem:
        condition = problem
    held = sight.held(live, parent.manager)
    kin = live is not None and live.held_by(parent.manager) is None and await sight.is_kin(target, held)
    going = sight.place_is_going(target.key)
    return Item(target.key, target, live, record, condition, kin=kin, held=held, namespace_terminating=going)


async def _leaving(sight: Sight, parent: Parent, record: Record, *, known: bool, request: Request) -> Item:
    """An item for a target that is recorded and not rendered."""
    live: Live | None = None
    trouble: Problem | None = None
    if known:
        try:
            live = await sight.live(resource_of(record), record.key, record, fresh=record.key in request.fresh)
        except Problem as problem:
            known = problem.reason == Reason.KIND_UNKNOWN
            trouble = problem
    held = sight.held(live, parent.manager)
    going = sight.place_is_going(record.key)
    return Item(record.key, None, live, record, trouble or True, known=known, held=held, namespace_terminating=going)
