"""From a created permit to what is reviewed: account, context, rendering, trial, rights - and all of it as one snapshot.

Nothing here writes to targets, and nothing is stored: the caller keeps the clear values (`manager.permits.vault`), then writes
the status.

| What fails | The permit |
| --- | --- |
| template or parameters, account, context, rendering, secrecy, size | stays Created: `Stuck`, with the reason of its condition |
| the trial of a target | is Failed in stage Preflight: `Prepared.failure`; the snapshot is kept for a retry |
| a server that does not answer | is looked at again: `Unavailable` |
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from apis.copyhold.resourcepermit import KIND
from apis.intent import Group, Identity, Intent, Scope, ScopeKind
from apis.kind import Parent
from apis.meta import Manifest
from apis.problems import Blocked, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.inputs import Source
from manager.permits import rights, vault
from manager.permits.case import Case
from manager.permits.context import Reader, Reading
from manager.permits.placing import check_secrecy, placed
from manager.permits.shape import Rendered, check_size, has_secrets, resources
from manager.permits.trial import Trial, preview_again, try_out
from manager.render.documents import Document, Job
from manager.surroundings import Surroundings
from manager.world import Actor, Cluster, Resource
from policy.permits.canonical import whole
from policy.permits.masking import masked
from policy.permits.snapshot import Snapshot
from policy.place import check_document

_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
_OWN_WORDS = frozenset({Reason.SECRET_IN_PLAIN_TARGET, Reason.SNAPSHOT_TOO_LARGE})
"""Reasons that a condition says as they are."""


class Stuck(Exception):
    """The permit stays Created. `reason` is that of its condition; `problem` says who must act.

    `sources` is what was read: a change there is a reason to try again.
    """

    def __init__(self, reason: Reason, problem: Problem, sources: Collection[Source] = ()) -> None:
        super().__init__(str(problem))
        self.reason = reason
        self.problem = problem
        self.sources = frozenset(sources)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was found. `clear` are the targets with the values of Secrets; `failure` is why the preflight failed, or empty."""

    snapshot: Snapshot
    clear: tuple[Manifest, ...] = field(repr=False)  # nobody prints it by accident
    failure: str = ""


async def prepare(cluster: Cluster, around: Surroundings, template: Manifest, permit: Manifest, now: datetime) -> Prepared:
    """Render a template for a permit, and find out what that would do and give.

    Raises Stuck for what somebody must mend first, and Unavailable.
    """
    with _step(Reason.TEMPLATE_RESOLUTION_FAILED):
        case = Case.of(template, permit)
        terms = case.terms
    with _step(Reason.IMPERSONATION_FAILED):
        identity = case.account(around.accounts)
    with _step(Reason.IMPERSONATION_FAILED, [Source(_ACCOUNT, identity.namespace, identity.name, "")]):
        await _check_there(around, identity, f"create it, or name another in {case.account_field}")
    reader = Reader(around, case, case.actor(identity))
    with _step(Reason.TEMPLATE_CONTEXT_FAILED, reader.sources):
        readings = await reader.readings()
    with _step(Reason.TEMPLATE_RENDERING_FAILED, reader.sources):
        groups = await _rendered(around, case, identity, readings, now)
    clear = tuple(whole(target.manifest) for group in groups for target in group.targets)
    wanted = _intent(groups, clear, identity)
    with _step(Reason.TEMPLATE_RENDERING_FAILED):
        trial = await try_out(cluster, around, case.parent, wanted, now)
    grants, roles = await rights.resolve(around.world, clear, case.actor(identity))
    request = terms | {
        "impersonation": {"namespace": identity.namespace, "name": identity.name},
        "resources": resources(groups, masked(clear)),
    }
    if has_secrets(clear):
        request["secret"] = vault.name_of(permit)
    snapshot = Snapshot(request, trial.rows, grants, roles)
    with _step(Reason.SNAPSHOT_TOO_LARGE):
        check_size([snapshot.request, *snapshot.preview, *snapshot.grants, *snapshot.roles])
    return Prepared(snapshot, clear, trial.failure)


async def look_again(
    cluster: Cluster, around: Surroundings, permit: Manifest, clear: Sequence[Manifest], now: datetime
) -> Prepared:
    """The stored snapshot, with what applying it would do and give by now; nothing is rendered.

    `clear` are its targets with the values of Secrets (`vault.read`). Raises Unavailable, and Invalid for a foreign status.
    """
    before = Snapshot.of(permit["status"])
    account = before.request["impersonation"]
    identity, parent = Identity(account["namespace"], account["name"]), Parent(KIND, permit)
    try:
        await _check_there(around, identity, "create it, or expire the permit")
        trial = await preview_again(cluster, around, parent, clear, now)
    except Blocked as problem:  # the account, or a kind
        trial = Trial(tuple(before.preview), str(problem))
    grants, roles = await rights.resolve(around.world, clear, Actor(identity, parent.uid))
    return Prepared(Snapshot(before.request, trial.rows, grants, roles), tuple(clear), trial.failure)


@contextmanager
def _step(reason: Reason, sources: Collection[Source] = ()) -> Iterator[None]:
    """What fails within keeps the permit where it is, for this reason."""
    try:
        yield
    except Unavailable:
        raise
    except Stale as problem:
        raise Unavailable(f"{problem}: it changed while it was read: tried again") from problem
    except Problem as problem:
        raise Stuck(problem.reason if problem.reason in _OWN_WORDS else reason, problem, sources) from problem


async def _check_there(around: Surroundings, identity: Identity, remedy: str) -> None:
    """RBAC asks for names alone: rights are there although the account is not, and nobody would answer for what it does."""
    found = await around.world.get(_ACCOUNT, identity.namespace, identity.name, metadata=True)
    if found is None:
        message = f"ServiceAccount {identity.namespace}/{identity.name} is not there: {remedy}"
        raise Blocked(Reason.ACCOUNT_MISSING, message)


async def _rendered(
    around: Surroundings, case: Case, identity: Identity, readings: Sequence[Reading], now: datetime
) -> list[Rendered]:
    """What each group comes to, placed. Raises Invalid, and what looking up kinds raises."""
    answers = await around.renderer.render([Job(one.group, one.variables) for one in readings], now)
    documents = [_documents(reading, answer) for reading, answer in zip(readings, answers, strict=True)]
    await _keep_secret(around, readings, documents, now)
    groups = await placed(around, case, identity, list(zip(readings, documents, strict=True)))
    if not any(group.targets for group in groups):
        raise Invalid(Reason.RENDER_FAILED, "spec.resources: renders no target for these parameters: nothing would be given")
    check_size([target.manifest for group in groups for target in group.targets])
    return groups


def _documents(reading: Reading, answer: list[Document] | Problem) -> list[Document]:
    if isinstance(answer, Unavailable):
        raise answer
    if isinstance(answer, Problem):
        raise Invalid(answer.reason, f"spec.{reading.title}: {answer}") from answer
    for document in answer:
        check_document(document.manifest, f"spec.{reading.title} {document.source}")
    return answer


async def _keep_secret(
    around: Surroundings, readings: Sequence[Reading], documents: Sequence[list[Document]], now: datetime
) -> None:
    """Render once more, without the values of Secrets, what could read them: nothing that is seen may come out otherwise."""
    pairs = [(reading, found) for reading, found in zip(readings, documents, strict=True) if reading.blind is not None]
    blind = await around.renderer.render([Job(one.group, one.blind or {}) for one, _ in pairs], now) if pairs else []
    for (reading, found), answer in zip(pairs, blind, strict=True):
        if isinstance(answer, Unavailable):
            raise answer
        check_secrecy(reading, found, answer)


def _intent(groups: Sequence[Rendered], clear: Sequence[Manifest], identity: Identity) -> Intent:
    values = iter(clear)
    rendered = (Group(one.group.name, one.group.policy, rendered=tuple(next(values) for _ in one.targets)) for one in groups)
    return Intent(tuple(group for group in rendered if group.rendered), Scope(ScopeKind.NONE), identity)
