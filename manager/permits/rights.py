"""Which rights the rendered targets of a permit give, as the cluster is now: reads what RBAC has, and lets policy decide.

Guarantees
    The same targets in the same cluster give the same rows, in the same order.
    What cannot be read is an unresolved row, which counts as every right; a server that does not answer is Unavailable instead.
Caveats
    Only RBAC is looked into: what webhooks or other authorisers add is not seen.
    What everybody has (bindings to `system:authenticated`) is no right that an account lends.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apis.meta import Manifest, Ref
from apis.problems import Blocked, Invalid, Problem
from manager.world import Actor, Resource, World
from policy.permits.bound import Snapshot, bound, rows
from policy.permits.grants import ANYBODY, RBAC, ordered, unresolved
from policy.permits.lent import lent, named, needs_live, otherwise
from policy.permits.roles import BINDINGS, ROLES, Binding, Role, RoleKey, laid_over, seen

MOST_ROLES: Final = 100
"""Roles that are read for one permit; the rights of further ones count as unresolved."""

_RESOURCES: Final = {
    kind: Resource(RBAC, "v1", kind, f"{kind.lower()}s", not kind.startswith("Cluster")) for kind in (*ROLES, *BINDINGS)
}


async def resolve(world: World, targets: Sequence[Manifest], actor: Actor | None = None) -> tuple[list[Manifest], list[Manifest]]:
    """The rows of `status.grants` and `status.roles` for rendered targets that bear their namespaces.

    RBAC is read as the manager; a workload that keeps the account of a live one is read as `actor`. Raises Unavailable.
    """
    snapshot = await _snapshot(world, targets, actor)
    there = await _existing(world, snapshot)
    own = {role.key: role for role in snapshot.roles}
    given = bound(snapshot, there.bindings, there.roles | own)
    wanted = sorted({one.role for one in given} - own.keys())
    looked_at, too_many = wanted[:MOST_ROLES], wanted[MOST_ROLES:]
    read, why = await _roles(world, [key for key in looked_at if key not in there.roles])
    why |= dict.fromkeys(too_many, f"more than {MOST_ROLES} roles are given: ask for less in one permit")
    known = there.roles | read | own
    found = ordered([*snapshot.rows, *there.rows, *rows(given, known, why)])
    used = {one.role for one in given}.difference(too_many)
    return found, [seen(key, known) for key in sorted(used)]


# What the targets would be.


async def _snapshot(world: World, targets: Sequence[Manifest], actor: Actor | None) -> Snapshot:
    """Roles, bindings and lent accounts, each as it would be once it lies over what is there."""
    parts = await asyncio.gather(*(_part(world, target, actor) for target in targets))
    return Snapshot(
        tuple(role for part in parts for role in part.roles),
        tuple(binding for part in parts for binding in part.bindings),
        tuple(one for part in parts for one in part.lent),
        tuple(row for part in parts for row in part.rows),
    )


async def _part(world: World, target: Manifest, actor: Actor | None) -> Snapshot:
    ref = Ref.of(target)
    told = otherwise(target)
    if told is not None:
        return Snapshot(rows=(told,))
    try:
        if ref.group == RBAC:
            live = await world.get(_RESOURCES[ref.kind], ref.namespace, ref.name)
        elif needs_live(target):
            live = await world.get(await world.resource(ref.api_version, ref.kind), ref.namespace, ref.name, actor=actor)
        else:
            live = None
    except _UNREADABLE as problem:
        why = f"it could not be read: {problem}"
        return Snapshot(rows=(unresolved(ANYBODY, why, namespace=ref.namespace, via=named(ref)),))
    if ref.group != RBAC:
        return Snapshot(lent=lent(target, live))
    whole = laid_over(target, live)
    return Snapshot(roles=(Role.of(whole),)) if ref.kind in ROLES else Snapshot(bindings=(Binding.of(whole),))


# What is there.


@dataclass(frozen=True, slots=True)
class _Existing:
    """The bindings and ClusterRoles of the cluster that matter, and rows for what could not be read."""

    bindings: tuple[Binding, ...]
    roles: dict[RoleKey, Role]
    rows: tuple[Manifest, ...]


_UNREADABLE: Final = (Blocked, Invalid)
"""What asking again does not mend."""


async def _existing(world: World, snapshot: Snapshot) -> _Existing:
    places = ("",) if snapshot.everywhere else snapshot.places
    asked = [("RoleBinding", place) for place in places]
    asked += [("ClusterRoleBinding", "")] if snapshot.everywhere else []
    answers = await asyncio.gather(*(_all(world, kind, place) for kind, place in asked))
    roles = await _all(world, "ClusterRole", "") if snapshot.widens else []
    unread = [f"the existing bindings could not be read: {answer}" for answer in answers if isinstance(answer, Problem)]
    if isinstance(roles, Problem):
        unread.append(f"the existing ClusterRoles could not be read: {roles}")
        roles = []
    read = [_role(manifest) for manifest in roles]
    return _Existing(
        tuple(Binding.of(each) for answer in answers if not isinstance(answer, Problem) for each in answer),
        {role.key: role for role in read},
        tuple(row for why in unread for row in _unread(snapshot, why)),
    )


def _unread(snapshot: Snapshot, why: str) -> list[Manifest]:
    """Whoever is bound to a role of the snapshot, or whatever an account may do, is not known then."""
    wider = [unresolved(ANYBODY, why, namespace=role.key.namespace, via=str(role.key)) for role in snapshot.roles]
    return [*wider, *(unresolved(one.subject, why, via=one.via) for one in snapshot.lent)]


async def _roles(world: World, keys: Sequence[RoleKey]) -> tuple[dict[RoleKey, Role], dict[RoleKey, str]]:
    """The roles that could be read, and why the others could not."""
    answers = dict(zip(keys, await asyncio.gather(*(_one(world, key) for key in keys)), strict=True))
    read = {key: _role(answer) for key, answer in answers.items() if isinstance(answer, dict)}
    return read, {key: answer for key, answer in answers.items() if isinstance(answer, str)}


async def _one(world: World, key: RoleKey) -> Manifest | str:
    """The role, or why its rules are not known."""
    if key.kind not in ROLES:
        return f"{key}: a binding refers to a Role or a ClusterRole"
    try:
        found = await world.get(_RESOURCES[key.kind], key.namespace, key.name)
    except _UNREADABLE as problem:
        return f"{key} could not be read: {problem}"
    return found or f"{key} is not there, and whoever makes it decides what is given: make it first, or render it too"


async def _all(world: World, kind: str, namespace: str) -> list[Manifest] | Problem:
    try:
        return (await world.list(_RESOURCES[kind], namespace)).items
    except _UNREADABLE as problem:
        return problem


def _role(manifest: Manifest) -> Role:
    return Role.of(manifest, uid=manifest["metadata"].get("uid") or "")
