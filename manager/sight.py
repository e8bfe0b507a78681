"""What is there: live targets from the watches where they tell, from a read where they do not."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from apis.meta import Key, Manifest, Ref
from apis.problems import Blocked, Forbidden, Gone, Problem
from apis.reasons import Reason
from apis.record import Record
from manager.index import Index
from manager.world import Actor, Resource, World
from policy.ownership import Holding, Live, observe
from policy.target import Desired
from policy.tenancy import Tenancy, terminating

RecordsSay = Callable[[str, Key], Awaitable[bool]]
"""Does the parent with this UID record that it created this target? (Kin.)"""


@dataclass(frozen=True, slots=True)
class Sight:
    """How targets are looked at in one pass.

    `optimistic`: what neither memory nor the watch knows is taken for absent; the create-only apply finds out if it is not.
    """

    world: World
    actor: Actor
    tenancy: Tenancy
    index: Index
    exists: Callable[[str], bool]
    records_say: RecordsSay
    kin_kinds: frozenset[str]
    optimistic: bool = True

    def glance(self, resource: Resource, key: Key, record: Record | None, *, fresh: bool = False) -> tuple[bool, Live | None]:
        """What can be told without asking the server: (told, live)."""
        if not resource.plural or self._place_is_gone(key):
            return True, None
        # Of a kind that nobody watches, the index holds nothing but our own last answer.
        known = self.index.live(key) if not fresh and self.index.synced(key.group, key.kind) else None
        told = not fresh and (known is not None or (self.optimistic and record is None))
        return told, known

    async def live(self, resource: Resource, key: Key, record: Record | None, *, fresh: bool = False) -> Live | None:
        """The live target as far as deciding needs it. Raises the problems of reading; absence is only what a server said."""
        told, known = self.glance(resource, key, record, fresh=fresh)
        if told:
            return known
        found = await self._metadata(resource, key)
        return None if found is None else observe(found)

    async def body(self, resource: Resource, key: Key) -> Manifest | None:
        """The whole live target, read as the parent's account. A refused read is a problem, never absence."""
        return None if self._place_is_gone(key) else await self.world.get(resource, key.namespace, key.name, actor=self.actor)

    async def _metadata(self, resource: Resource, key: Key) -> Manifest | None:
        try:
            return await read_metadata(self.world, resource, key, self.actor)
        except Gone as problem:
            if problem.what != "kind":
                return None
        return await self._elsewhere(resource, key)

    async def _elsewhere(self, resource: Resource, key: Key) -> Manifest | None:
        """The version is not served (any more): any other one will do; a kind that is gone takes its objects with it."""
        try:
            served = await self.world.any_version(key.group, key.kind)
        except Blocked as problem:
            if problem.reason == Reason.KIND_UNKNOWN:
                return None
            raise
        if served == resource:
            return None
        return await read_metadata(self.world, served, key, self.actor)

    def _place_is_gone(self, key: Key) -> bool:
        """A 403 can hide a 404 (the account's RoleBinding dies with the namespace): our own synced watch is proof of absence."""
        return bool(key.namespace) and key.namespace not in self.tenancy.namespaces

    def place_is_going(self, key: Key) -> bool:
        """True while the target's namespace is terminating: nothing is written or deleted there."""
        return bool(key.namespace) and terminating(self.tenancy.namespaces.get(key.namespace))

    def held(self, live: Live | None, manager: str) -> tuple[Holding, ...]:
        """The proven holds of other parents that exist."""
        return () if live is None else tuple(hold for hold in live.others(manager) if self.exists(hold.parent))

    async def is_kin(self, desired: Desired, held: tuple[Holding, ...]) -> bool:
        """Did a living parent of our family create this object? Its proven mark and its own record must both say so."""
        for hold in held:
            if hold.kind in self.kin_kinds and hold.mark == "created" and await self.records_say(hold.parent, desired.key):
                return True
        return False


async def read_metadata(world: World, resource: Resource, key: Key, actor: Actor | None) -> Manifest | None:
    """As the manager, who may read the metadata of what it watches; as the account for a kind that it may not."""
    try:
        return await world.get(resource, key.namespace, key.name, metadata=True)
    except Forbidden:
        return await world.get(resource, key.namespace, key.name, metadata=True, actor=actor)


def resource_of(source: Desired | Record) -> Resource:
    """Where a target lives, without discovery."""
    ref: Ref = source.ref
    return Resource(ref.group, ref.version, ref.kind, source.resource, not source.cluster_scoped)


def reading(problem: Problem, what: str) -> Problem:
    """The same problem, saying what was being read."""
    problem.message = f"{what}: {problem.message}"
    return problem
