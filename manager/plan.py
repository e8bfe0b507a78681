"""What would happen: the controller's own `propose` over a server, over files, or over a server with files on top; read-only.

Exit codes, the same for every output format:

    1   something would not come true: a parent that is held (invalid, no account, no tenant), a source or document that fails,
        a target that is in Conflict, refused by the server, or whose removal the delete budget holds; or the command failed
    2   otherwise, when at least one target would be written
    0   otherwise: nothing to do

The document of `-o json` and `-o yaml` (fields are only ever added within `plan.copyhold.dev/v1`; empty ones are left out, except
in `summary`):

    apiVersion: plan.copyhold.dev/v1
    kind: Plan
    exitCode: 0 | 1 | 2
    summary: {create, adopt, apply, remove, release, orphan, conflict, failed, unchanged, skipped}   # numbers of targets
    parents:
    - kind, namespace, name
      state: Planned | Deleting | Cordoned | Held
      account: NAMESPACE/NAME          # who acts
      problem: {reason, message}       # what holds it
      notes: [text]
      troubles: [{unit, source, reason, message}]
      targets:                         # in the order in which they are carried out
      - verb: Create | Adopt | Apply | Skip | Conflict | Remove | Release | Orphan
        reason, message
        group, version, kind, namespace, name, tenant
        unit: text                     # the namespace or tenant that rendered it; "*" for several
        sources: [text]                # where it is rendered
        force: true
        changes: [{path, before, after}]   # values only where they may be shown
        marks: true                    # our labels and annotations on it change
        taken: {path: manager}         # fields that others hold: why it is in Conflict, or what `force` takes
        falls: [path]                  # fields that fall to their defaults when they are given back
        problem: {reason, message}     # why the server refuses it
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from apis.copyhold.tenant import KIND as TENANT
from apis.kind import Kind, Parent, parents
from apis.meta import Key, Manifest
from apis.problems import Blocked, Invalid, Problem
from apis.reasons import Reason
from apis.record import Record
from manager.files import NAMESPACE
from manager.index import Index
from manager.memory import Memory
from manager.preview import Change, Preview, Previewer
from manager.propose import Proposal, check_templates, propose, propose_nothing
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.state import State
from manager.surroundings import Request, Surroundings, Trouble
from manager.tenure import pruned_of
from manager.world import Cluster, World
from policy.account import Accounts
from policy.decide import Decision, Verb
from policy.dependencies import check_dependencies

API_VERSION = "plan.copyhold.dev/v1"

QUIET = frozenset(
    {
        Reason.ABSENT,
        Reason.CONDITION_NOT_MET,
        Reason.REPLACED,
        Reason.TERMINATING,
        Reason.UNCHANGED,
    }
)
"""Reasons to skip that are no failure."""

WIDTH = 16
"""Targets that are looked at side by side."""


class Standing(StrEnum):
    """How a parent stands before anything is done."""

    PLANNED = "Planned"
    DELETING = "Deleting"
    CORDONED = "Cordoned"
    HELD = "Held"


@dataclass(frozen=True, slots=True)
class Target:
    """One target: what would be done, and what that would change."""

    decision: Decision
    preview: Preview

    @property
    def force(self) -> bool:
        """True when fields that others hold would be taken."""
        desired = self.decision.item.desired
        return desired is not None and desired.policy.force

    @property
    def verb(self) -> Verb:
        """The decision's verb, unless the server would answer with a conflict."""
        return Verb.CONFLICT if self.preview.taken and not self.force else self.decision.verb

    @property
    def reason(self) -> Reason:
        """Why, or why not."""
        if self.preview.problem is not None:
            return self.preview.problem.reason
        return Reason.FIELD_TAKEN if self.verb != self.decision.verb else self.decision.reason

    @property
    def message(self) -> str:
        """What there is to say about it."""
        return str(self.preview.problem) if self.preview.problem is not None else self.decision.message

    @property
    def count(self) -> str:
        """Under which word of the summary it falls."""
        if self.preview.problem is not None:
            return "failed"
        if self.verb != Verb.SKIP:
            return self.verb.lower()
        if self.decision.remark:
            return "apply"
        if self.reason == Reason.UNCHANGED:
            return "unchanged"
        return "skipped" if self.reason in QUIET else "failed"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The plan of one parent."""

    parent: Parent
    standing: Standing
    account: str = ""
    problem: Problem | None = None
    notes: tuple[str, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    targets: tuple[Target, ...] = ()


COUNTS = ("create", "adopt", "apply", "remove", "release", "orphan", "conflict", "failed", "unchanged", "skipped")
_WRITES = frozenset(COUNTS[:6])
_ERRORS = frozenset({"conflict", "failed"})


# Making it.


@dataclass(frozen=True, slots=True)
class Planner:
    """What planning looks at. `progress` is told about each parent before it is looked at."""

    world: World
    renderer: Renderer
    schemas: Schemas
    accounts: Accounts
    preview: Previewer
    now: datetime
    progress: Callable[[str], None] = lambda _text: None


async def plan(planner: Planner, names: Sequence[str] = ()) -> tuple[Sheet, ...]:
    """The sheet of every parent, or of those that are named (`KIND/NAME`, `KIND/NAMESPACE/NAME`), by kind, namespace and name.

    Raises the problems of reading parents, tenants and namespaces, and Invalid for a name that fits no parent.
    """
    planner.progress("reading parents, tenants and namespaces")
    state = await gather(planner.world)
    wanted = chosen(state.parents.values(), names)
    memory = _Memories(planner.world, state)
    sheets = []
    for number, parent in enumerate(wanted, 1):
        planner.progress(f"{number} of {len(wanted)}: {parent}")
        sheets.append(await _sheet(planner, state, memory, parent))
    return tuple(sheets)


async def gather(world: World) -> State:
    """Parents, tenants and namespaces. Kinds of ours that are not installed have no objects."""
    state = State()
    for kind in parents():
        for manifest in await _all(world, kind):
            parent = Parent(kind, manifest)
            state.parents[parent.uid] = parent
    state.tenants = {tenant["metadata"]["name"]: tenant for tenant in await _all(world, TENANT)}
    spaces = (await world.list(NAMESPACE, metadata=True)).items
    state.namespaces = {space["metadata"]["name"]: space for space in spaces}
    state.changed()
    return state


async def _all(world: World, kind: Kind) -> list[Manifest]:
    try:
        resource = await world.resource(kind.api_version, kind.kind)
    except Blocked as problem:
        if problem.reason == Reason.KIND_UNKNOWN:
            return []
        raise
    return (await world.list(resource)).items


def chosen(found: Iterable[Parent], names: Sequence[str]) -> list[Parent]:
    """The parents that are named, all without names; by kind, namespace and name. Raises Invalid for a name that fits none."""
    # What a permit does is shown by its own preview: from its object alone the values of Secrets cannot be known.
    lasting = (parent for parent in found if not parent.kind.gated)
    ordered = sorted(lasting, key=lambda parent: (parent.kind.kind, parent.namespace, parent.name))
    if not names:
        return ordered
    fits = {name: [parent for parent in ordered if _is_named(parent, name)] for name in names}
    for name, fitting in fits.items():
        if not fitting:
            raise Invalid(Reason.INVALID, f"{name}: no such parent: say KIND/NAME, as in {_example(ordered)}")
    return [parent for parent in ordered if any(parent in fitting for fitting in fits.values())]


def _is_named(parent: Parent, text: str) -> bool:
    word, _, rest = text.partition("/")
    kind = parent.kind
    words = {kind.kind.lower(), kind.plural, kind.singular, *kind.short_names, str(kind).lower(), kind.crd_name}
    return word.lower() in words and rest in (parent.name, f"{parent.namespace}/{parent.name}")


def _example(ordered: Sequence[Parent]) -> str:
    known = [f"{parent.kind.kind}/{parent.name}" for parent in ordered[:3]]
    return " or ".join(known) if known else "GlobalTenantResource/baseline (there are no parents)"


class _Memories:
    """The records of parents, each read once."""

    def __init__(self, world: World, state: State) -> None:
        self._world = world
        self._state = state
        self._read: dict[str, Mapping[Key, Record]] = {}

    async def of(self, parent: Parent) -> Mapping[Key, Record]:
        """What is recorded. Raises Blocked (Unresolved), Unavailable."""
        if parent.uid not in self._read:
            # Loading only reads, which a World can do; writing is what Memory needs a Cluster for.
            self._read[parent.uid] = (await Memory.load(cast(Cluster, self._world), parent)).records
        return self._read[parent.uid]

    async def say(self, uid: str, key: Key) -> bool:
        """Does the parent with this UID record that it created this target?"""
        parent = self._state.parents.get(uid)
        record = (await self.of(parent)).get(key) if parent is not None else None
        return record is not None and (record.created or record.pending)


async def _sheet(planner: Planner, state: State, memory: _Memories, parent: Parent) -> Sheet:
    notes: list[str] = []
    around = Surroundings(
        world=planner.world,
        renderer=planner.renderer,
        schemas=planner.schemas,
        tenancy=state.tenancy,
        accounts=planner.accounts,
        index=Index(),
        exists=state.parents.__contains__,
        records_say=memory.say,
        optimistic=False,
        note=notes.append,
    )
    request = Request(planner.now, recent=pruned_of(parent))
    try:
        records = await memory.of(parent)
        if parent.deleting:
            return await _sheet_of(planner, parent, Standing.DELETING, await propose_nothing(around, parent, records, request))
        if (parent.object.get("spec") or {}).get("cordoned") is True:
            return Sheet(parent, Standing.CORDONED, notes=("cordoned: nothing is applied and nothing is taken back",))
        await _check(around, state, parent, notes)
        proposal = await propose(around, parent, records, request)
    except Problem as problem:
        return Sheet(parent, Standing.HELD, problem=problem, notes=tuple(notes))
    if proposal.prune_message:
        notes.append(proposal.prune_message)
    return await _sheet_of(planner, parent, Standing.PLANNED, proposal, notes)


async def _check(around: Surroundings, state: State, parent: Parent, notes: list[str]) -> None:
    """What holds a parent besides its account. That a dependency is not Ready now is no failure: it may be by then."""
    intent = parent.intent()
    await check_templates(around, parent, intent)
    if intent.depends_on:
        graph, ready = state.dependencies(parent)
        check_dependencies(parent.name, intent.depends_on, graph, dict.fromkeys(graph, True))
        notes += [f"waits until {name} is Ready" for name in intent.depends_on if not ready[name]]


async def _sheet_of(planner: Planner, parent: Parent, standing: Standing, proposal: Proposal, notes: Iterable[str] = ()) -> Sheet:
    slots = asyncio.Semaphore(WIDTH)
    owner = proposal.plan.owner
    secretive = any(_is_secret(source.resource.group, source.resource.kind) for source in proposal.sources)

    async def look(decision: Decision) -> Target:
        async with slots:
            preview = await planner.preview(decision, owner)
        hidden = secretive or _is_secret(decision.key.group, decision.key.kind)
        return Target(decision, preview.without_values() if hidden else preview)

    targets = await asyncio.gather(*(look(decision) for decision in proposal.plan.decisions))
    return Sheet(parent, standing, owner.account, None, tuple(notes), proposal.troubles, tuple(targets))


def _is_secret(group: str, kind: str) -> bool:
    return (group, kind) == ("", "Secret")


# Judging it.


def summary(sheets: Iterable[Sheet]) -> dict[str, int]:
    """How many targets fall under each word of COUNTS."""
    counted = Counter(target.count for sheet in sheets for target in sheet.targets)
    return {word: counted[word] for word in COUNTS}


def exit_code(sheets: Sequence[Sheet]) -> int:
    """0: nothing to do, 2: changes, 1: something would not come true."""
    counts = summary(sheets)
    if any(sheet.problem or sheet.troubles for sheet in sheets) or any(counts[word] for word in _ERRORS):
        return 1
    return 2 if any(counts[word] for word in _WRITES) else 0


# Writing it down, for people.


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, and how it is coloured on a terminal."""

    text: str
    style: str = ""


STYLES = {
    Verb.CREATE: "green",
    Verb.ADOPT: "green",
    Verb.APPLY: "yellow",
    Verb.SKIP: "dim",
    Verb.CONFLICT: "bold red",
    Verb.REMOVE: "red",
    Verb.RELEASE: "magenta",
    Verb.ORPHAN: "magenta",
}
WORDS = {word: f"to {word}" for word in COUNTS[:6]} | {"conflict": "in conflict"}
VALUE = 60
"""Characters of a value that are shown."""


def lines(sheets: Sequence[Sheet]) -> Iterator[Line]:
    """The form that people read. Targets that stay as they are are only counted."""
    for sheet in sheets:
        shown = [target for target in sheet.targets if target.count != "unchanged"]
        account = f", as {sheet.account}" if sheet.account else ""
        state = "" if sheet.standing == Standing.PLANNED else f" ({sheet.standing.lower()})"
        yield Line(f"{sheet.parent}{account}{state}", "bold")
        if sheet.problem is not None:
            yield Line(f"  held      {sheet.problem.reason}: {sheet.problem}", "bold red")
        for trouble in sheet.troubles:
            unit = f"{trouble.unit}: " if trouble.unit else ""
            yield Line(f"  failed    {unit}{_titled(trouble)} ({trouble.problem.reason})", "bold red")
        for target in shown:
            yield from _target_lines(target)
        for note in sheet.notes:
            yield Line(f"  note      {note}", "dim")
        if not shown and not sheet.problem and not sheet.troubles and not sheet.notes:
            yield Line("  nothing to do", "dim")
    yield Line(_total(sheets), "bold")


def _titled(trouble: Trouble) -> str:
    message = str(trouble.problem)
    return message if not trouble.source or trouble.source in message else f"{trouble.source}: {message}"


def _target_lines(target: Target) -> Iterator[Line]:
    preview, style = target.preview, STYLES[target.verb]
    refused = preview.problem is not None
    message = f": {target.message}" if target.message else ""
    force = ", forced" if target.force and preview.taken else ""
    verb = f"{target.verb.lower():9}"
    yield Line(f"  {verb} {target.decision.key} ({target.reason}{force}){message}", "bold red" if refused else style)
    for change in preview.changes:
        yield Line(f"            {change.path}{_values(change)}", style)
    if preview.marks and not preview.changes and target.verb == Verb.APPLY:
        yield Line("            only the marks of Copyhold change", style)
    for path, manager in sorted(preview.taken.items()):
        yield Line(f"            {path} {'is taken from' if target.force else 'is held by'} {manager}", style)
    for path in preview.falls:
        yield Line(f"            {path} is given back and falls to its default", style)


def _values(change: Change) -> str:
    if change.before is None and change.after is None:
        return ""
    return f": {_value(change.before)} -> {_value(change.after)}"


def _value(value: Any) -> str:
    if value is None:
        return "(none)"
    text = json.dumps(value)  # escapes whatever a terminal would obey
    return text if len(text) <= VALUE else f"{text[: VALUE - 4]} ..."


def _total(sheets: Sequence[Sheet]) -> str:
    counted = [f"{number} {WORDS.get(word, word)}" for word, number in summary(sheets).items() if number]
    held = sum(sheet.problem is not None for sheet in sheets)
    troubles = sum(len(sheet.troubles) for sheet in sheets)
    counted += [f"{held} {'parent' if held == 1 else 'parents'} held"] if held else []
    counted += [f"{troubles} {'source' if troubles == 1 else 'sources'} failed"] if troubles else []
    return ", ".join(counted) or "nothing to do"


# Writing it down, for programs.


def document(sheets: Sequence[Sheet]) -> Manifest:
    """The form that programs read; see the top of this module."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "exitCode": exit_code(sheets),
        "summary": summary(sheets),
        "parents": [_parent(sheet) for sheet in sheets],
    }


def _parent(sheet: Sheet) -> Manifest:
    parent = sheet.parent
    return _filled(
        kind=parent.kind.kind,
        namespace=parent.namespace,
        name=parent.name,
        state=str(sheet.standing),
        account=sheet.account,
        problem=_problem(sheet.problem),
        notes=list(sheet.notes),
        troubles=[
            _filled(unit=one.unit, source=one.source, reason=str(one.problem.reason), message=str(one.problem))
            for one in sheet.troubles
        ],
        targets=[_target(target) for target in sheet.targets],
    )


def _target(target: Target) -> Manifest:
    decision, preview = target.decision, target.preview
    desired, record = decision.item.desired, decision.item.record
    source = desired or record
    key = decision.key
    return _filled(
        verb=str(target.verb),
        reason=str(target.reason),
        message=target.message,
        group=key.group,
        version=source.ref.version if source else "",
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        unit=source.unit if source else "",
        tenant=source.tenant if source else "",
        sources=list(desired.sources) if desired else [],
        force=target.force,
        changes=[_change(change) for change in preview.changes],
        marks=preview.marks,
        taken=dict(preview.taken),
        falls=list(preview.falls),
        problem=_problem(preview.problem),
    )


def _change(change: Change) -> Manifest:
    values = {"before": change.before, "after": change.after}
    return {"path": change.path, **{name: value for name, value in values.items() if value is not None}}


def _problem(problem: Problem | None) -> Manifest | None:
    return None if problem is None else {"reason": str(problem.reason), "message": str(problem)}


def _filled(**fields: Any) -> Manifest:
    return {name: value for name, value in fields.items() if value not in ("", None, [], {}, False)}
