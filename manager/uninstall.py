"""Takes Copyhold out of a cluster, so that nothing is left that only it could take away: finalizers, marks, policies.

    --remove   1. delete all parents     the running manager takes their targets back and the finalizers off; wait for that
    --keep     0. with --stop, the manager's Deployment is scaled to zero
               1. of each parent: marks off its targets, finalizer off, delete it, drop its TargetRecords
    both       2. marks that are still somewhere, TargetRecords of parents that are gone, admission policies, CRDs if asked

Every step starts from what is there, so an uninstall that was interrupted is simply run again.
Assumption of `--keep`: no manager runs, since it would apply again what is let go; its Leases say whether one does.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic

from apis.kind import Kind, Parent, kinds, parents
from apis.meta import FINALIZER, MANAGED, Key, Manifest, Ref
from apis.problems import Blocked, Forbidden, Gone, Problem, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.admission.keep import remove as remove_policies
from manager.cluster import ApiCluster
from manager.memory import API_VERSION, KIND, RECORD_OF, Memory, sweep
from manager.recover import recover
from manager.release import ROUNDS, Administrator, free, marked
from manager.sight import resource_of
from manager.world import Resource
from policy.election import MEMBER_PREFIX, SHARD_PREFIX

PAUSE = 1.0
"""Seconds between two looks at what is left."""

PATIENCE = 15.0
"""Seconds without progress after which it is said that the manager may not be running."""

SKEW = 30.0
"""Seconds by which the clocks of this machine and of the manager's may differ."""

WIDTH = 16
"""Targets that are let go side by side."""

LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases", True)
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", True)

Tell = Callable[[str], None]
Only = Callable[[Parent], bool]


def everyone(_: Parent) -> bool:
    """All parents."""
    return True


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be done, and why. The rest was done."""

    what: str
    problem: Problem


# Is a manager running?


async def managers(cluster: ApiCluster, namespace: str, now: datetime) -> list[str]:
    """The replicas whose Leases in the manager's namespace are alive."""
    return alive((await cluster.list(LEASE, namespace)).items, now)


def alive(leases: Iterable[Manifest], now: datetime) -> list[str]:
    """The holders of our Leases that were renewed within their duration (and the skew of clocks). Pure."""
    found = set()
    for lease in leases:
        spec = lease.get("spec") or {}
        if not lease["metadata"]["name"].startswith((SHARD_PREFIX, MEMBER_PREFIX)) or not spec.get("holderIdentity"):
            continue
        renewed = spec.get("renewTime")
        bound = timedelta(seconds=(spec.get("leaseDurationSeconds") or 0) + SKEW)
        if renewed and now - datetime.fromisoformat(renewed) <= bound:
            found.add(spec["holderIdentity"])
    return sorted(found)


async def stop(cluster: ApiCluster, namespace: str, name: str, tell: Tell, seconds: float) -> None:
    """Scale the manager's Deployment to zero, and wait until its replicas are gone and their Leases have run out.

    Waits at most so many seconds: `managers` says afterwards whether it was enough. A Deployment that is gone runs nothing.
    """
    started = monotonic()
    try:
        await cluster.merge_patch(DEPLOYMENT, namespace, name, {"spec": {"replicas": 0}})
        while monotonic() - started < seconds:
            replicas = await _replicas(cluster, namespace, name)
            running = await managers(cluster, namespace, datetime.now(UTC))
            if not replicas and not running:
                return
            tell(f"waiting for the manager to end: {replicas} replicas, Leases of {', '.join(running) or 'none'}")
            await asyncio.sleep(PAUSE)
    except Gone:
        return


async def _replicas(cluster: ApiCluster, namespace: str, name: str) -> int:
    """How many replicas a Deployment still has, as its controller says. Raises Gone when it does not exist."""
    found = await cluster.get(DEPLOYMENT, namespace, name)
    if found is None:
        raise Gone(f"Deployment {namespace}/{name} does not exist")
    replicas: int = (found.get("status") or {}).get("replicas") or 0
    return replicas


# Parents.


async def every(cluster: ApiCluster, only: Only = everyone) -> list[Parent]:
    """The parents that are there, by kind, namespace and name."""
    found = [Parent(kind, manifest) for kind in parents() for manifest in await _all(cluster, kind)]
    return sorted(filter(only, found), key=lambda parent: (parent.kind.kind, parent.namespace, parent.name))


async def _all(cluster: ApiCluster, kind: Kind) -> list[Manifest]:
    resource = await _served(cluster, kind.api_version, kind.kind)
    return [] if resource is None else (await cluster.list(resource)).items


async def _served(cluster: ApiCluster, api_version: str, kind: str) -> Resource | None:
    try:
        return await cluster.resource(api_version, kind)
    except Blocked as problem:
        if problem.reason == Reason.KIND_UNKNOWN:
            return None
        raise


async def _delete(cluster: ApiCluster, parent: Parent) -> None:
    resource = await cluster.resource(parent.kind.api_version, parent.kind.kind)
    try:
        await cluster.delete(resource, parent.namespace, parent.name, uid=parent.uid, resource_version="")
    except Stale:
        return  # gone, or replaced by a namesake that was not there when we looked


# --remove


async def remove(cluster: ApiCluster, only: Only, tell: Tell, warn: Tell, seconds: float) -> list[Failure]:
    """Delete all parents and wait until the manager has taken them down, at most so many seconds. Answers what is left."""
    found = await every(cluster, only)
    for parent in found:
        if not parent.deleting:
            await _delete(cluster, parent)
    started = changed = monotonic()
    left, warned = found, False
    while left:
        tell(f"{len(left)} parents left; the first is {left[0]}")
        await asyncio.sleep(PAUSE)
        now, before = monotonic(), {parent.uid: parent.resource_version for parent in left}
        left = [parent for parent in await every(cluster, only) if parent.uid in before]
        if {parent.uid: parent.resource_version for parent in left} != before:
            changed, warned = now, False
        if left and now - started > seconds:
            return [Failure(str(parent), _stuck(parent)) for parent in left]
        if left and now - changed > PATIENCE and not warned:
            warned = True
            warn(f"nothing has happened for {PATIENCE:g} s: the manager takes parents down, so it has to run; {_state(left[0])}")
    return []


def _stuck(parent: Parent) -> Problem:
    return Unavailable(f"is still there: {_state(parent)}; see that the manager runs and call this again")


def _state(parent: Parent) -> str:
    finalizers = ", ".join(parent.finalizers) or "none"
    ready = [one.get("message") for one in parent.status.get("conditions") or () if one.get("type") == "Ready"]
    return f"{parent} says: {(ready or [''])[0] or 'nothing'} (finalizers: {finalizers})"


# --keep


async def keep(cluster: ApiCluster, administrator: Administrator, only: Only, tell: Tell) -> list[Failure]:
    """Let every target go and drop the parents. A parent of which a target could not be let go stays; it is in the answer."""
    found = await every(cluster, only)
    left = {parent.uid for parent in await every(cluster)}
    failures: list[Failure] = []
    for number, parent in enumerate(found, 1):
        tell(f"{number} of {len(found)}: {parent}")
        failed = await _let_go(cluster, administrator, parent, left - {parent.uid})
        failures += failed
        if not failed:
            await _forget(cluster, parent)
            left.discard(parent.uid)
    return failures


async def _let_go(cluster: ApiCluster, administrator: Administrator, parent: Parent, others: set[str]) -> list[Failure]:
    """Our marks off every target of a parent; marks that it shares with others stay for them."""
    slots = asyncio.Semaphore(WIDTH)

    async def one(record: Record) -> Failure | None:
        async with slots:
            try:
                resource = await _resource(cluster, record)
                if resource is not None:
                    place = record.key.namespace
                    await free(cluster, administrator, resource, place, record.key.name, {parent.uid}, others.__contains__)
            except Gone:
                return None
            except Problem as problem:
                return Failure(f"{record.ref} of {parent}", problem)
        return None

    try:
        records = await _targets(cluster, parent)
    except Problem as problem:
        return [Failure(str(parent), problem)]
    outcomes = await asyncio.gather(*(one(record) for record in records.values()))
    return [outcome for outcome in outcomes if outcome is not None]


async def _targets(cluster: ApiCluster, parent: Parent) -> dict[Key, Record]:
    """What memory says; where memory is damaged, what bears the parent's label and proof."""
    try:
        return dict((await Memory.load(cluster, parent)).records)
    except Gone:
        return {}
    except Blocked as problem:
        if problem.reason != Reason.UNRESOLVED:
            raise
    return await recover(cluster, parent)


async def _resource(cluster: ApiCluster, record: Record) -> Resource | None:
    """Where a target lives now; None when its kind is gone, and its objects with it."""
    resource = resource_of(record)
    try:
        served = await cluster.any_version(resource.group, resource.kind)
    except Blocked as problem:
        if problem.reason == Reason.KIND_UNKNOWN:
            return None
        raise
    return replace(served, verbs=resource.verbs)


async def _forget(cluster: ApiCluster, parent: Parent) -> None:
    """Our finalizer off, then the parent, then its shards: whoever is interrupted in between finds the shards in the sweep."""
    resource = await cluster.resource(parent.kind.api_version, parent.kind.kind)
    for _ in range(ROUNDS):
        if FINALIZER not in parent.finalizers:
            break
        others = [name for name in parent.finalizers if name != FINALIZER]
        metadata = {"resourceVersion": parent.resource_version, "uid": parent.uid, "finalizers": others}
        try:
            changed = await cluster.merge_patch(resource, parent.namespace, parent.name, {"metadata": metadata})
        except Gone:
            break
        except Stale:
            found = await cluster.get(resource, parent.namespace, parent.name)
            if found is None or found["metadata"]["uid"] != parent.uid:
                break
            changed = found
        parent = Parent(parent.kind, changed)
    if not parent.deleting:
        await _delete(cluster, parent)
    await _drop_shards(cluster, parent.uid)


async def _drop_shards(cluster: ApiCluster, uid: str) -> None:
    resource = await cluster.resource(API_VERSION, KIND)
    for shard in (await cluster.list(resource, labels=f"{RECORD_OF}={uid}", metadata=True)).items:
        metadata = shard["metadata"]
        try:
            others = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
            patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": others}}
            await cluster.merge_patch(resource, "", metadata["name"], patch)
            await cluster.delete(resource, "", metadata["name"], uid=metadata["uid"], resource_version="")
        except Gone:
            continue


# What is left after the parents.


async def clean(cluster: ApiCluster, administrator: Administrator, tell: Tell) -> list[Failure]:
    """After the last parent is gone: the marks that are still somewhere, TargetRecords, admission policies."""
    tell("looking for marks that are left")
    failures = await _unmark(cluster, administrator)
    tell("dropping what was recorded")
    if await _served(cluster, API_VERSION, KIND) is not None:
        await sweep(cluster, ())
    tell("deleting the admission policies")
    await remove_policies(cluster)
    return failures


async def _unmark(cluster: ApiCluster, administrator: Administrator) -> list[Failure]:
    failures: list[Failure] = []
    for resource in await cluster.served():
        if not {"list", "patch"} <= resource.verbs:
            continue
        try:
            listing = await cluster.list(resource, labels=MANAGED, metadata=True)
        except (Forbidden, Gone) as problem:
            failures.append(Failure(f"listing {resource.plural}", problem))
            continue
        for manifest in listing.items:
            ref = Ref.of(manifest)
            try:
                await free(cluster, administrator, resource, ref.namespace, ref.name, marked(manifest).keys(), _nobody)
            except Gone:
                continue
            except Problem as problem:
                failures.append(Failure(str(ref), problem))
    return failures


def _nobody(_: str) -> bool:
    return False


# CRDs.


async def delete_crds(cluster: ApiCluster) -> tuple[str, ...]:
    """Delete the definitions of our kinds, and with them whatever objects are left (Tenants); answers their names."""
    resource = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    deleted = []
    for kind in kinds():
        found = await cluster.get(resource, "", kind.crd_name, metadata=True)
        if found is not None:
            await cluster.delete(resource, "", kind.crd_name, uid=found["metadata"]["uid"], resource_version="")
            deleted.append(kind.crd_name)
    return tuple(deleted)


def farewell(namespace: str, *, crds: bool) -> Sequence[str]:
    """How to delete what is left: the definitions, and the namespace with whatever was installed into it."""
    definitions = f"kubectl delete customresourcedefinitions {' '.join(kind.crd_name for kind in kinds())}"
    return (*([definitions] if crds else []), f"kubectl delete namespace {namespace}")
