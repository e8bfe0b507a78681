"""What applying a snapshot would do, target by target: the plan of the permit, each step tried by a server-side dry run.

| Row | When |
| --- | --- |
| Create | nothing is there |
| Adopt | something is there that is not ours, and the policy is Merge |
| Patch | it is ours already, or kin created it |
| Skip | the condition is false, or something keeps it from being looked at |
| Conflict | it is foreign under Owner, or another manager holds a field |
| Forbidden | the account may not |

What stands on a namespace or a kind that the same snapshot makes cannot be tried: it is a Create. Nor can a binding whose role is
not there yet; that gives no more than the role, which is tried.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from apis.intent import Intent
from apis.kind import Parent
from apis.meta import Key, Manifest, Ref
from apis.problems import Blocked, Forbidden, Gone, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.permits.kinds import kinds_of
from manager.permits.shape import with_targets
from manager.preview import DryRun, Preview
from manager.propose import Proposal, propose
from manager.surroundings import Request, Surroundings
from manager.world import Cluster, Resource
from policy.decide import Decision, Verb
from policy.permits.grants import RBAC
from policy.permits.roles import BINDINGS, Binding

WIDTH = 16
"""Targets that are tried at once."""

LONGEST = 1024
"""Characters of a message in a row."""

_NAMESPACE = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
_VERBS = {Verb.CREATE: "Create", Verb.ADOPT: "Adopt", Verb.APPLY: "Patch", Verb.SKIP: "Skip", Verb.CONFLICT: "Conflict"}
_BINDINGS = frozenset((RBAC, kind) for kind in BINDINGS)
_HARMLESS = frozenset({Reason.CONDITION_NOT_MET, Reason.UNCHANGED})
"""Why a target is skipped without anything being wrong."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The rows of `status.preview`, and what first stands against applying the snapshot: empty when nothing does."""

    rows: tuple[Manifest, ...]
    failure: str = ""


async def try_out(cluster: Cluster, around: Surroundings, parent: Parent, intent: Intent, now: datetime) -> Trial:
    """Try everything that a permit's snapshot wants, as its account; the values of Secrets in `intent` are clear.

    Nothing is written. Raises Unavailable when a server does not answer, or the world moved meanwhile: nothing is known then.
    """
    targets = [target for group in intent.groups for target in group.rendered]
    rows = await _untried(around, targets)
    proposal = await propose(replace(around, optimistic=False), parent, {}, Request(now), _without(intent, rows.keys()))
    rows |= _faulty(proposal) | await _tried(cluster, proposal)
    ordered = tuple(rows[Ref.of(target).key] for target in targets)
    return Trial(ordered, next((row["message"] for row in ordered if "message" in row), ""))


async def preview_again(
    cluster: Cluster, around: Surroundings, parent: Parent, targets: Sequence[Manifest], now: datetime
) -> Trial:
    """The same over the snapshot in the permit's status; `targets` are its manifests with clear values (`vault.read`)."""
    return await try_out(cluster, around, parent, with_targets(parent.intent(), targets), now)


async def _untried(around: Surroundings, targets: Sequence[Manifest]) -> dict[Key, Manifest]:
    """The targets whose kind or namespace is not there: what makes it is in the snapshot, or something stands against them."""
    kinds = await kinds_of(around.world, targets)
    refs = [Ref.of(target) for target in targets]
    made = {ref.name for ref in refs if (ref.group, ref.kind) == ("", "Namespace")}
    missing = {ref.namespace for ref in refs} - {""} - around.tenancy.namespaces.keys()
    for namespace in sorted(missing - made):
        if await around.world.get(_NAMESPACE, "", namespace, metadata=True) is not None:
            raise Unavailable(f"Namespace {namespace}: is too new to be known here: tried again")
    found: dict[Key, Manifest] = {}
    for ref in refs:
        if kinds.is_coming(ref) or ref.namespace in missing & made:
            found[ref.key] = row(ref, "Create")
        elif ref.namespace in missing:
            found[ref.key] = row(ref, "Skip", message=f"namespace {ref.namespace} is not there: create it, or render it, too")
    return found


def _without(intent: Intent, keys: Collection[Key]) -> Intent:
    """The intent without some of its targets, and without its gate: what if it were open?"""
    groups = (
        replace(group, rendered=tuple(target for target in group.rendered if Ref.of(target).key not in keys))
        for group in intent.groups
    )
    return replace(intent, groups=tuple(group for group in groups if group.rendered), gate=None)


def _faulty(proposal: Proposal) -> dict[Key, Manifest]:
    """The targets that could not be placed any more."""
    for trouble in proposal.troubles:
        _lasting(trouble.problem)
    return {key: row(record.ref, "Skip", message=record.message) for key, record in proposal.noted.items()}


async def _tried(cluster: Cluster, proposal: Proposal) -> dict[Key, Manifest]:
    dry_run, slots = DryRun(cluster), asyncio.Semaphore(WIDTH)

    decisions = proposal.plan.decisions
    made = frozenset(decision.key for decision in decisions if decision.verb == Verb.CREATE)

    async def tried(decision: Decision) -> Manifest:
        if isinstance(decision.item.condition, Problem):
            _lasting(decision.item.condition)
        async with slots:
            preview = await dry_run(decision, proposal.plan.owner)
        if isinstance(preview.problem, Gone) and (role := _role(decision)) is not None:
            # To whom may not `bind` it, the server says of a missing role that the binding is not there.
            preview = Preview() if role in made else Preview(problem=_missing(decision, role))
        if preview.problem is not None:
            _lasting(preview.problem)
        return foreseen(decision, preview)

    answers = await asyncio.gather(*map(tried, decisions), return_exceptions=True)  # none is left running when another failed
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return {decision.key: answer for decision, answer in zip(decisions, answers, strict=True) if isinstance(answer, dict)}


def _role(decision: Decision) -> Key | None:
    """The role of a binding that is to be made; None for everything else."""
    desired = decision.item.desired
    if desired is None or decision.verb != Verb.CREATE or (desired.ref.group, desired.ref.kind) not in _BINDINGS:
        return None
    role = Binding.of(desired.manifest).role
    return Key(RBAC, role.kind, role.namespace, role.name)


def _missing(decision: Decision, role: Key) -> Blocked:
    return Blocked(
        Reason.SOURCE_MISSING, f"{decision.key}: {role}, which its roleRef names, is not there: create it, or render it, too"
    )


def _lasting(problem: Problem) -> None:
    """Raise what passes by itself, so that the whole trial is made again; what somebody must mend stays in its row."""
    if isinstance(problem, Unavailable):
        raise problem
    if isinstance(problem, Stale):
        raise Unavailable(f"{problem}: it changed while it was tried: tried again") from problem


# Rows.


def foreseen(decision: Decision, preview: Preview) -> Manifest:
    """The row of a target that was tried: paths, and never a value."""
    desired, problem = decision.item.desired, _problem(decision, preview)
    assert desired is not None  # noqa: S101 - a trial is made of what is desired
    paths = [change.path for change in preview.changes]
    taken = sorted(preview.taken)
    if isinstance(problem, Forbidden):
        return row(desired.ref, "Forbidden", message=str(problem))
    if taken and not desired.policy.force:
        held = "; ".join(f"{path} is held by {manager}" for path, manager in sorted(preview.taken.items()))
        remedy = "leave the field out of the template, or set policy.force: true there"
        return row(desired.ref, "Conflict", taken=taken, message=f"{held}: {remedy}")
    message = str(problem) if problem is not None else _objection(decision)
    return row(desired.ref, _VERBS[decision.verb], paths=paths, taken=taken, message=message)


def _problem(decision: Decision, preview: Preview) -> Problem | None:
    condition = decision.item.condition
    return condition if isinstance(condition, Problem) else preview.problem


def _objection(decision: Decision) -> str:
    """What the decision itself has against the target; empty when it may go ahead, or is rightly skipped."""
    if decision.verb == Verb.CONFLICT or (decision.verb == Verb.SKIP and decision.reason not in _HARMLESS):
        return decision.message or "its namespace is being deleted: wait until it is gone"
    return ""


def row(ref: Ref, verb: str, *, paths: Sequence[str] = (), taken: Sequence[str] = (), message: str = "") -> Manifest:
    """A row of `status.preview`; the message, which names the object, says what stands against it."""
    if message and not message.startswith((f"{ref.key}:", f"{ref.kind} ")):
        message = f"{ref.key}: {message}"
    found = {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "verb": verb,
        "paths": list(paths),
        "taken": list(taken),
        "message": message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…",
    }
    return {key: value for key, value in found.items() if value}
