"""Clears up after parents that do not exist any more: their shards, and their marks on targets, which bind nobody."""

from collections.abc import Callable, Collection, Iterator

import structlog

from apis.intent import Identity
from apis.kind import parents
from apis.meta import ACCOUNT_PREFIX, Key
from apis.problems import Problem, Stale
from manager.index import Index
from manager.memory import sweep as sweep_shards
from manager.world import Actor, Cluster, Resource
from policy.ownership import orphan_patch

log = structlog.get_logger("copyhold")

BOUND = 100
"""Dead parents whose marks are taken off one object in one sweep."""


async def sweep(cluster: Cluster, index: Index, living: Collection[str]) -> int:
    """Drop TargetRecords of parents that are gone, and release their marks; answers how many objects were cleared.

    `living` are the UIDs of the parents that the watches have shown. Who is not among them may be new: before anything is
    taken for dead, all parents are listed afresh. A parent that was deleted in the ordinary way leaves nothing; a backup that
    was restored brings marks of UIDs that nobody has.
    """
    cleared = await sweep_shards(cluster, living)
    suspects = list(_marked_by_others(index, living))
    if suspects:
        known = frozenset(living) | await _listed(cluster)
        for key in suspects:
            cleared += await _release(cluster, key, known.__contains__)
    return cleared


def _marked_by_others(index: Index, living: Collection[str]) -> Iterator[Key]:
    for group, kind in list(index.kinds()):
        for key in list(index.keys(group, kind)):
            live = index.live(key)
            if live is not None and any(hold.parent not in living for hold in live.holdings):
                yield key


async def _listed(cluster: Cluster) -> frozenset[str]:
    """The UIDs of all parents, read now. Raises the problems of the cluster: then nobody is taken for dead."""
    found: set[str] = set()
    for kind in parents():
        resource = await cluster.resource(kind.api_version, kind.kind)
        found |= {item["metadata"]["uid"] for item in (await cluster.list(resource, metadata=True)).items}
    return frozenset(found)


async def _release(cluster: Cluster, key: Key, exists: Callable[[str], bool]) -> bool:
    """Take the marks and entries of dead parents off one object, as the account that acted for them."""
    try:
        resource = await cluster.any_version(key.group, key.kind)
        return await release(cluster, resource, key, exists)
    except Stale:
        return False  # it changed under our hands: the next sweep sees it again
    except Problem as problem:
        log.warning("dead marks not released", target=str(key), reason=str(problem.reason), message=str(problem))
        return False


async def release(cluster: Cluster, resource: Resource, key: Key, exists: Callable[[str], bool]) -> bool:
    """The patches for every dead parent that holds the object. Raises the problems of the cluster."""
    done = False
    for _ in range(BOUND):
        found = await cluster.get(resource, key.namespace, key.name, metadata=True)
        if found is None:
            return done
        entries = [entry["manager"] for entry in found["metadata"].get("managedFields") or ()]
        dead = next((name for name in entries if _is_parent(name) and not exists(name.rpartition("/")[2])), None)
        if dead is None:
            return done
        parent = dead.rpartition("/")[2]
        account = _account((found["metadata"].get("annotations") or {}).get(f"{ACCOUNT_PREFIX}{parent}", ""))
        actor = Actor(account, parent) if account is not None else None
        operations = orphan_patch(found, dead, exists=exists)
        await cluster.json_patch(resource, key.namespace, key.name, operations, actor=actor)
        done = True
    return done


def _is_parent(manager: str) -> bool:
    return manager.startswith("copyhold.dev/") and manager.count("/") == 2


def _account(user: str) -> Identity | None:
    parts = user.split(":")
    return Identity(parts[2], parts[3]) if len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] else None
