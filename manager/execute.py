"""The only module that writes to targets: one action per verb, one outcome per decision, in the order of the plan."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from apis.intent import Identity
from apis.problems import Blocked, Conflict, Forbidden, Gone, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.sight import read_metadata, resource_of
from manager.world import Actor, Cluster, Resource
from policy.decide import Decision, Owner, Verb, to_apply
from policy.ownership import Live, entry_of, extract, observe, orphan_patch
from policy.permits.moments import stamp
from policy.plan import Plan, steps
from policy.settle import joined, settle
from policy.target import identity_only, is_mark, marks, marks_only

WIDTH = 24
"""How many requests for targets are under way at once: more does not make a kube-apiserver faster."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one decision. `record` None: forgotten. `live` is what the server answered, None when nothing is there."""

    decision: Decision
    record: Record | None
    problem: Problem | None = None
    live: Live | None = None
    wrote: bool = False

    @property
    def stale(self) -> bool:
        """True when the world moved: read and decide again."""
        return isinstance(self.problem, Stale) and not isinstance(self.problem, Conflict)


@dataclass(frozen=True, slots=True)
class Hand:
    """What carrying out needs beside the plan: the cluster, the time, who still exists, and whether we may still write.

    From `until` on nothing is applied any more. With `whole`, targets that stand on others (rights, of a permit) are not applied
    when one of those failed.
    """

    cluster: Cluster
    now: Callable[[], datetime]
    exists: Callable[[str], bool] = lambda _uid: True
    holds: Callable[[], bool] = lambda: True
    between: Callable[[], Awaitable[None]] | None = None
    until: datetime | None = None
    whole: bool = False
    width: int = WIDTH


async def execute(hand: Hand, plan: Plan) -> AsyncIterator[Outcome]:
    """Carry out a plan, rank by rank, and yield each outcome as it arrives.

    Guarantees: each target gets at most one attempt; a failure stops no other target, but with `hand.whole` those of later ranks;
    a decision without a write sends nothing.
    """
    failed = False
    for step in steps(plan.decisions, temporary=plan.owner.temporary):
        idle = [decision for decision in step if not decision.writes]
        for decision in idle:
            yield Outcome(decision, settle(decision, plan.owner))
        async for outcome in _side_by_side(hand, plan.owner, [decision for decision in step if decision.writes]):
            failed = failed or (outcome.problem is not None and not outcome.stale)
            yield outcome
        if failed and hand.whole:
            return


async def _side_by_side(hand: Hand, owner: Owner, decisions: Sequence[Decision]) -> AsyncIterator[Outcome]:
    """A few long-lived workers that share one iterator: no task per target."""
    if not decisions:
        return
    done: asyncio.Queue[Outcome | BaseException] = asyncio.Queue()
    waiting = iter(decisions)
    workers = [asyncio.create_task(_work(hand, owner, waiting, done)) for _ in range(min(hand.width, len(decisions)))]
    try:
        for _ in decisions:
            outcome = await done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _work(hand: Hand, owner: Owner, waiting: Iterator[Decision], done: "asyncio.Queue[Outcome | BaseException]") -> None:
    try:
        for decision in waiting:
            if hand.between is not None:
                await hand.between()
            done.put_nowait(await carry_out(hand, owner, decision))
    except Exception as error:  # a defect of ours: the pass fails loudly, in the task that waits for it
        done.put_nowait(error)


async def carry_out(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    """One decision, with the recorded account as the second try when the present one may not take back."""
    try:
        return await _act(hand, owner, decision)
    except Forbidden as problem:
        former = _former_account(owner, decision)
        if former is None:
            return _failed(owner, decision, problem)
    except Problem as problem:
        return _failed(owner, decision, problem)
    try:
        return await _act(hand, replace(owner, account=former), decision)
    except Problem as problem:
        return _failed(owner, decision, problem)


async def _act(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    """The action of the verb. Taking back goes by any served version of the kind: the recorded one may be gone by now."""
    try:
        return await ACTIONS[decision.verb](hand, owner, decision)
    except Gone as problem:
        if problem.what != "kind" or decision.item.desired is not None:
            raise
    except Stale as problem:
        if problem.reason == Reason.VERSION_GONE:
            await _renew_entries(hand, owner, decision)
        raise
    record, key = decision.item.record, decision.key
    try:
        served = await hand.cluster.any_version(key.group, key.kind)
    except Blocked as problem:
        if problem.reason == Reason.KIND_UNKNOWN:
            return Outcome(decision, None)
        raise
    if record is None or served.version == record.ref.version:
        raise Unavailable(f"{key}: {served.api_version} is served, and does not answer")
    elsewhere = replace(record, ref=replace(record.ref, version=served.version), resource=served.plural)
    return await _act(hand, owner, replace(decision, item=replace(decision.item, record=elsewhere)))


async def _renew_entries(hand: Hand, owner: Owner, decision: Decision) -> None:
    """Have the managedFields entries of versions that are not served any more speak of the present one, whoever wrote them.

    With one entry of such a version nobody can apply to a custom object. Dropping it would lose who holds what.
    """
    resource, key, actor = _resource(decision), decision.key, _actor(owner)
    found = await read_metadata(hand.cluster, resource, key, actor)
    metadata = found["metadata"] if found is not None else {}
    operations = [{"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}]
    for index, entry in enumerate(metadata.get("managedFields") or []):
        if not await _served(hand, entry["apiVersion"], key.kind):
            path = f"/metadata/managedFields/{index}/apiVersion"
            operations += [{"op": "replace", "path": path, "value": resource.api_version}]
    if len(operations) > 1:
        await hand.cluster.json_patch(resource, key.namespace, key.name, operations, actor=actor)


async def _served(hand: Hand, api_version: str, kind: str) -> bool:
    try:
        await hand.cluster.resource(api_version, kind)
    except Blocked as problem:
        if problem.reason == Reason.KIND_UNKNOWN:
            return False
        raise
    return True


def _former_account(owner: Owner, decision: Decision) -> str | None:
    record = decision.item.record
    taking_back = decision.verb in (Verb.REMOVE, Verb.RELEASE, Verb.ORPHAN)
    return record.account if taking_back and record and record.account and record.account != owner.account else None


def _failed(owner: Owner, decision: Decision, problem: Problem) -> Outcome:
    if isinstance(problem, Gone) and decision.item.desired is None:
        return Outcome(decision, None)
    return Outcome(decision, settle(decision, owner, problem), problem)


def _actor(owner: Owner) -> Actor | None:
    """Who acts: the account, or the manager itself."""
    if owner.itself:
        return None
    namespace, _, name = owner.account.partition("/")
    return Actor(Identity(namespace, name), owner.parent)


def _proof(owner: Owner) -> str:
    """What shows that the manager acts, where it is not said by the account that it acts as."""
    return owner.parent if owner.itself else ""


def _resource(decision: Decision) -> Resource:
    """Where the target lives, from what is desired or, when nothing is, from memory alone."""
    source = decision.item.desired or decision.item.record
    assert source is not None  # noqa: S101 - an item is desired, recorded or both
    return resource_of(source)


async def _apply(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    desired, live = decision.item.desired, decision.item.live
    assert desired is not None  # noqa: S101 - the table applies only what is desired
    if hand.until is not None and hand.now() >= hand.until:
        raise Blocked(Reason.WAITING, f"{decision.key}: its time is over, so that it is not applied any more")
    body = to_apply(decision, owner, pinned=True)
    try:
        applied = await hand.cluster.apply(
            _resource(decision),
            desired.ref.namespace,
            desired.ref.name,
            orjson.dumps(body),
            manager=owner.manager,
            force=desired.policy.force,
            actor=_actor(owner),
        )
    except Conflict as problem:
        if live is not None and decision.joins:
            return await _join(hand, owner, decision, problem)
        if live is not None:
            raise
        # A create that finds other managers' fields found an object: whether it may be adopted comes before whose field it is.
        raise Stale(f"{decision.key} is there already") from problem
    if applied.created and not hand.holds():
        return await _undo(hand, owner, decision, observe(applied.object))
    return _written(hand, owner, decision, observe(applied.object))


async def _join(hand: Hand, owner: Owner, decision: Decision, problem: Conflict) -> Outcome:
    """Kin holds our fields with other values: our marks go on the object all the same, so that it outlives who leaves first."""
    desired, live = decision.item.desired, decision.item.live
    assert desired is not None  # noqa: S101 - see _apply
    assert live is not None  # noqa: S101 - what kin created is there
    body = marks_only(desired, owner.parent, owner.account, created=decision.created, uid=live.uid)
    ref, actor = desired.ref, _actor(owner)
    applied = await hand.cluster.apply(
        _resource(decision), ref.namespace, ref.name, orjson.dumps(body), manager=owner.manager, actor=actor
    )
    after = observe(applied.object)
    return Outcome(decision, joined(decision, owner, problem, after), problem, live=after, wrote=True)


def _written(hand: Hand, owner: Owner, decision: Decision, live: Live) -> Outcome:
    desired = decision.item.desired
    mine = live.held_by(owner.manager)
    assert desired is not None  # noqa: S101 - see _apply
    record = Record(  # whole, not by `replace`: this runs once per target
        ref=desired.ref,
        resource=desired.resource,
        cluster_scoped=desired.cluster_scoped,
        unit=desired.unit,
        tenant=desired.tenant,
        policy=desired.policy.kept,
        account=owner.account,
        uid=live.uid,
        created=decision.created,
        payload=desired.digest,
        fields=mine.fields if mine else "",
        last_apply=stamp(hand.now()),
        ok=True,
        reason=Reason.SUCCEEDED,
    )
    return Outcome(decision, record, live=live, wrote=True)


async def _undo(hand: Hand, owner: Owner, decision: Decision, live: Live) -> Outcome:
    """The answer came after our time: another replica decides now, so what we made goes unless somebody joined it."""
    problem = Unavailable("the lease ran out while the target was made", maybe_done=True)
    try:
        resource, ref = _resource(decision), decision.key
        await hand.cluster.delete(
            resource, ref.namespace, ref.name, uid=live.uid, resource_version=live.version, actor=_actor(owner), late=True
        )
    except Stale:
        return _failed(owner, decision, problem)
    return _failed(owner, decision, problem)


async def _remove(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    live, key = decision.item.live, decision.key
    assert live is not None  # noqa: S101 - the table removes only what is there
    gone = await hand.cluster.delete(
        _resource(decision),
        key.namespace,
        key.name,
        uid=live.uid,
        resource_version=live.version,
        actor=_actor(owner),
        proof=_proof(owner),
    )
    if gone:
        return Outcome(decision, None, wrote=True)
    waiting = replace(decision, verb=Verb.SKIP, reason=Reason.TERMINATING, message="waiting until the object is gone")
    return Outcome(decision, settle(waiting, owner), live=replace(live, terminating=True), wrote=True)


async def _release(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    live, record = decision.item.live, decision.item.record
    assert live is not None  # noqa: S101 - the table releases only what is there
    assert record is not None  # noqa: S101 - and only what is recorded
    body = identity_only(record.ref, live.uid, live.version)
    try:
        applied = await hand.cluster.apply(
            _resource(decision),
            record.ref.namespace,
            record.ref.name,
            orjson.dumps(body),
            manager=owner.manager,
            actor=_actor(owner),
            proof=_proof(owner),
        )
    except Invalid:
        # What would remain without our fields is refused: the content stays, our marks go.
        return await _orphan(hand, owner, decision)
    return Outcome(decision, None, live=observe(applied.object), wrote=True)


async def _orphan(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    live, key, resource = decision.item.live, decision.key, _resource(decision)
    found = await read_metadata(hand.cluster, resource, key, _actor(owner))
    if found is None:
        return Outcome(decision, None)
    if live is not None and found["metadata"]["uid"] != live.uid:
        raise Stale(f"{key} was replaced while it was let go")
    operations = orphan_patch(found, owner.manager, exists=hand.exists)
    if len(operations) > 1:
        found = await hand.cluster.json_patch(
            resource, key.namespace, key.name, operations, actor=_actor(owner), proof=_proof(owner)
        )
    return Outcome(decision, None, live=observe(found), wrote=len(operations) > 1)


async def _skip(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    if decision.remark:
        return await _remark(hand, owner, decision)
    return Outcome(decision, settle(decision, owner))


async def _remark(hand: Hand, owner: Owner, decision: Decision) -> Outcome:
    """The condition is false and the marks must follow the policy: what we own is applied again as it is, with other marks."""
    desired, live, key = decision.item.desired, decision.item.live, decision.key
    assert desired is not None  # noqa: S101 - only a desired target has a condition
    assert live is not None  # noqa: S101 - and only what is there bears marks
    resource, actor = _resource(decision), _actor(owner)
    found = await hand.cluster.get(resource, key.namespace, key.name, actor=actor)
    if found is None or found["metadata"]["uid"] != live.uid:
        raise Stale(f"{key} is not what it was")
    fields = entry_of(found, owner.manager)
    if fields is None:
        raise Stale(f"{key} is not ours any more")
    kept = extract(found, fields)
    labels, annotations = marks(desired, owner.parent, owner.account, created=decision.created)
    kept["metadata"] = {
        **kept.get("metadata", {}),
        "name": key.name,
        "uid": live.uid,
        "resourceVersion": found["metadata"]["resourceVersion"],
        "labels": {**_unmarked(kept, "labels"), **labels},
        "annotations": {**_unmarked(kept, "annotations"), **annotations},
    }
    if key.namespace:
        kept["metadata"]["namespace"] = key.namespace
    applied = await hand.cluster.apply(
        resource, key.namespace, key.name, orjson.dumps(kept), manager=owner.manager, force=True, actor=actor
    )
    after = observe(applied.object)
    record = settle(decision, owner)
    mine = after.held_by(owner.manager)
    if record is not None and mine is not None:
        record = replace(record, fields=mine.fields)
    return Outcome(decision, record, live=after, wrote=True)


def _unmarked(manifest: dict[str, dict[str, dict[str, str]]], place: str) -> dict[str, str]:
    return {key: value for key, value in manifest.get("metadata", {}).get(place, {}).items() if not is_mark(key)}


ACTIONS: dict[Verb, Callable[[Hand, Owner, Decision], Awaitable[Outcome]]] = {
    Verb.CREATE: _apply,
    Verb.ADOPT: _apply,
    Verb.APPLY: _apply,
    Verb.SKIP: _skip,
    Verb.CONFLICT: _skip,
    Verb.REMOVE: _remove,
    Verb.RELEASE: _release,
    Verb.ORPHAN: _orphan,
}
