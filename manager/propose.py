"""The reading half of the path: parent, memory and world -> a plan. Nothing here writes.

lower -> select units -> read inputs -> render -> place -> look at what is live -> decide
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from apis.intent import Group, Identity, Intent
from apis.kind import Parent, parents
from apis.meta import CONFIRM_PRUNE, Key, Manifest, Ref
from apis.problems import Blocked, Forbidden, Invalid, Problem
from apis.reasons import Reason
from apis.record import Record
from manager.index import Index
from manager.inputs import Inputs, Source
from manager.render.documents import Document, Job
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.sight import RecordsSay, Sight, resource_of
from manager.world import Actor, Resource, World
from policy.account import Accounts, account
from policy.budget import Pruned, budget
from policy.conditions import uses_now
from policy.decide import Item, Owner, decide
from policy.ownership import Live, observe
from policy.place import Place, Served, check_document, place
from policy.plan import Plan, distinct, held_back, ordered
from policy.target import Desired
from policy.tenancy import Selection, Tenancy, Unit, select

CONDITION_PERIOD = 60.0
"""Seconds after which a condition that uses `now` is looked at again."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a pass looks at beside its parent. The same type serves the controller, `plan` and tests."""

    world: World
    renderer: Renderer
    schemas: Schemas
    tenancy: Tenancy
    accounts: Accounts
    index: Index
    exists: Callable[[str], bool]
    records_say: RecordsSay
    optimistic: bool = True
    note: Callable[[str], None] = lambda _text: None

    @property
    def reserved(self) -> frozenset[str]:
        """Namespaces that no selection reaches."""
        return frozenset({self.accounts.manager_namespace})


@dataclass(frozen=True, slots=True)
class Request:
    """What one pass is asked for. `units` None: all of them. `fresh`: targets that must be read anew."""

    now: datetime
    units: frozenset[str] | None = None
    fresh: frozenset[Key] = frozenset()
    recent: tuple[Pruned, ...] = ()
    only: frozenset[Key] | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why something of a unit could not be made out: nothing of the parent is removed there."""

    unit: str
    problem: Problem
    source: str = ""


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
    prune_digest: str = ""


async def propose(around: Surroundings, parent: Parent, records: Mapping[Key, Record], request: Request) -> Proposal:
    """What would be done for a parent, read-only. `plan` and the controller both call this.

    Raises Invalid (spec), Blocked (account, tenant), Unavailable. Problems of single sources or targets are in the proposal.
    """
    intent = parent.intent()
    identity = account(intent, parent.namespace, around.accounts)
    owner = Owner(parent.manager, parent.uid, f"{identity.namespace}/{identity.name}")
    selection = select(intent, around.tenancy, reserved=around.reserved)
    actor = Actor(identity, parent.uid)
    inputs = Inputs(around.world, around.renderer, parent, intent, around.tenancy, actor, around.note)
    rendering = await _render(around, inputs, intent, owner, _wanted(selection, request.units), records, request.now)
    items = await _items(around, parent, rendering, records, request, actor)
    decisions = ordered(decide(item, owner) for item in items)
    plan, message, digest = _within_budget(Plan(owner, decisions), parent, records, request)
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
        prune_digest=digest,
    )


async def check_templates(around: Surroundings, parent: Parent, intent: Intent) -> None:
    """Raise Invalid, naming every wrong template and condition of a spec. Once per generation is enough."""
    problems = await around.renderer.check(intent.groups)
    if problems:
        raise Invalid(problems[0].reason, f"{parent}: " + "; ".join(str(problem) for problem in problems[:10]))


async def propose_nothing(around: Surroundings, parent: Parent, records: Mapping[Key, Record], request: Request) -> Proposal:
    """The plan that takes everything back. It needs only memory: no template, no context, no condition, no discovery."""
    identity = _last_account(parent, records, around.accounts)
    owner = Owner(parent.manager, parent.uid, f"{identity.namespace}/{identity.name}" if identity else "")
    sight = _sight(around, parent, Actor(identity or Identity("", ""), parent.uid))
    wanted = [record for key, record in records.items() if request.only is None or key in request.only]
    items = await asyncio.gather(*(_leaving(sight, parent, record, known=True, request=request) for record in wanted))
    return Proposal(Plan(owner, ordered(decide(item, owner) for item in items)), identity)


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


def _within_budget(plan: Plan, parent: Parent, records: Mapping[Key, Record], request: Request) -> tuple[Plan, str, str]:
    confirmed = parent.annotations.get(CONFIRM_PRUNE, "")
    held = sum(1 for record in records.values() if record.uid)
    verdict = budget(plan.removals, total=held, recent=request.recent, confirmed=confirmed, now=request.now.timestamp())
    if verdict.allowed:
        return plan, "", verdict.digest
    return replace(plan, decisions=ordered(held_back(plan.decisions, verdict.message))), verdict.message, verdict.digest


def _looks_at_the_clock(intent: Intent) -> bool:
    return any(group.policy.condition and uses_now(group.policy.condition) for group in intent.groups)


# Rendering: units and groups -> desired targets.


@dataclass(slots=True)
class Rendering:
    """What came out of the templates. `unknown` holds the units of which something could not be made out."""

    desired: dict[Key, Desired] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    noted: dict[Key, Record] = field(default_factory=dict)
    looked_at: frozenset[str] = frozenset()

    def fail(self, unit: str, problem: Problem, source: str = "") -> None:
        """Note a problem: what this unit should have is not known."""
        self.troubles.append(Trouble(unit, problem, source))
        self.unknown.add(unit)


async def _render(
    around: Surroundings,
    inputs: Inputs,
    intent: Intent,
    owner: Owner,
    units: Sequence[Unit],
    records: Mapping[Key, Record],
    now: datetime,
) -> Rendering:
    result = Rendering(looked_at=frozenset(unit.key for unit in units))
    pairs = [(unit, group, index) for unit in units for index, group in enumerate(intent.groups) if _applies(group, unit, around)]
    jobs = await inputs.jobs(pairs)
    rendered = iter(await around.renderer.render([job for job in jobs if isinstance(job, Job)], now))
    documents: list[tuple[Document, Place]] = []
    for (unit, group, index), job in zip(pairs, jobs, strict=True):
        answer = job if isinstance(job, Problem) else next(rendered)
        if isinstance(answer, Problem):
            result.fail(unit.key, answer, _title(group, index))
            continue
        for document in answer:
            source = f"{_title(group, index)} {document.source}"
            where = Place(unit, intent.scope.kind, inputs.parent.kind.namespaced, owner.account, group.policy, source)
            documents.append((document, where))
    targets = await _placed(around, documents, result, records)
    result.desired, clashes = distinct(targets)
    for target in targets:
        if target.key in clashes:
            _fault(result, target.ref, target.unit, target.tenant, target.sources[0], clashes[target.key], records)
    return result


def _applies(group: Group, unit: Unit, around: Surroundings) -> bool:
    if group.namespace_selector is None or not unit.namespace:
        return True
    return group.namespace_selector.matches(around.tenancy.namespaces[unit.namespace]["metadata"].get("labels") or {})


def _title(group: Group, index: int) -> str:
    place = f"resources[{index}]"
    return place if group.name in ("", place) else f"{place} ({group.name})"


async def _placed(
    around: Surroundings,
    documents: Sequence[tuple[Document, Place]],
    result: Rendering,
    records: Mapping[Key, Record],
) -> list[Desired]:
    served = await _served(around.world, documents)
    targets: list[Desired] = []
    for document, where in documents:
        try:
            ref = check_document(document.manifest, where.source)
        except Invalid as problem:
            result.fail(where.unit.key, problem, where.source)
            continue
        found = served[ref.api_version, ref.kind]
        try:
            if isinstance(found, Problem):
                raise found
            manifest = await around.schemas.coerce(ref, document.manifest, document.scalars)
            kind = Served(found.plural, found.namespaced, found.verbs)
            targets.append(place(manifest, kind, where))
        except Problem as problem:
            _fault(result, ref, where.unit.key, where.unit.tenant, where.source, problem, records)
    return targets


async def _served(world: World, documents: Iterable[tuple[Document, Place]]) -> dict[tuple[str, str], Resource | Problem]:
    wanted = {(document.manifest.get("apiVersion"), document.manifest.get("kind")) for document, _ in documents}
    kinds = [(version, kind) for version, kind in wanted if isinstance(version, str) and isinstance(kind, str)]
    answers = await asyncio.gather(*(world.resource(version, kind) for version, kind in kinds), return_exceptions=True)
    found: dict[tuple[str, str], Resource | Problem] = {}
    for kind, answer in zip(kinds, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, Problem):
            raise answer
        found[kind] = answer
    return found


def _fault(
    result: Rendering, ref: Ref, unit: str, tenant: str, source: str, problem: Problem, records: Mapping[Key, Record]
) -> None:
    """A document is at fault: the unit is not known, and the target is shown with its problem, kept as it is."""
    result.fail(unit, problem, source)
    known = _recorded(ref, unit, records)
    base = known or Record(ref, "", cluster_scoped=not ref.namespace, unit=unit, tenant=tenant)
    result.noted[base.key] = replace(base, ok=False, reason=problem.reason, message=str(problem)[:1024])


def _recorded(ref: Ref, unit: str, records: Mapping[Key, Record]) -> Record | None:
    return records.get(ref.key) or records.get(replace(ref, namespace=unit).key)


# Looking: desired targets and memory -> items to decide on.


async def _items(
    around: Surroundings,
    parent: Parent,
    rendering: Rendering,
    records: Mapping[Key, Record],
    request: Request,
    actor: Actor,
) -> list[Item]:
    sight = _sight(around, parent, actor)
    desired = [target for key, target in rendering.desired.items() if request.only is None or key in request.only]
    staying = await _staying(around, sight, parent, desired, records, request)
    leaving = [
        _leaving(sight, parent, record, known=record.unit not in rendering.unknown, request=request)
        for key, record in records.items()
        if key not in rendering.desired and key not in rendering.noted and _looked_at(record, request)
    ]
    return staying + list(await asyncio.gather(*leaving))


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
    return list(
        await asyncio.gather(
            *(
                _item(sight, parent, target, records.get(target.key), conditions.get(target.key, True), bodies, request)
                for target in desired
            )
        )
    )


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
    if known:
        try:
            live = await sight.live(resource_of(record), record.key, record, fresh=record.key in request.fresh)
        except Blocked as problem:
            known = problem.reason == Reason.KIND_UNKNOWN
        except Problem:
            known = False
    held = sight.held(live, parent.manager)
    going = sight.place_is_going(record.key)
    return Item(record.key, None, live, record, known=known, held=held, namespace_terminating=going)
