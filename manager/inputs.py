"""Reads what templates and copies need: every body as the parent's account, each source once per pass."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from apis.intent import Group, Intent, Query
from apis.kind import Parent
from apis.meta import Manifest
from apis.problems import Blocked, Invalid, Problem
from apis.reasons import Reason
from manager.render.documents import Copy, Job, visible
from manager.render.pool import Renderer
from manager.world import Actor, Resource, World
from policy.tenancy import Tenancy, Unit, check_reference


@dataclass(frozen=True, slots=True)
class Source:
    """Something that was read, so that it can be watched. `namespace` "" means all of them."""

    resource: Resource
    namespace: str
    name: str
    selector: str


@dataclass(slots=True)
class Inputs:
    """The reader of one pass. `sources` collects what was read, and for which units ("" in the set: for all)."""

    world: World
    renderer: Renderer
    parent: Parent
    intent: Intent
    tenancy: Tenancy
    actor: Actor
    note: Callable[[str], None] = lambda _text: None
    sources: dict[Source, set[str]] = field(default_factory=dict)
    _reads: dict[Source, "asyncio.Task[list[Manifest]]"] = field(default_factory=dict)

    async def jobs(self, pairs: Sequence[tuple[Unit, Group, int]]) -> list[Job | Problem]:
        """What is to be rendered for each unit and group; a Problem where a source could not be read."""
        shared = _Shared(visible(self.parent.object))
        return await asyncio.gather(*(self._job(unit, group, index, shared) for unit, group, index in pairs))

    async def _job(self, unit: Unit, group: Group, index: int, shared: "_Shared") -> Job | Problem:
        variables = shared.variables(unit, self.tenancy)
        if not group.context and not group.copies:
            return Job(group=group, variables={**variables, "context": {}})
        try:
            context = await self._context(unit, group, index, variables)
            copies = await self._copies(unit, group, index, variables)
        except Problem as problem:
            return problem
        return Job(group=group, variables={**variables, "context": context}, copies=tuple(copies))

    async def _context(self, unit: Unit, group: Group, index: int, variables: Manifest) -> dict[str, list[Manifest]]:
        place = f"resources[{index}].context.resources"
        queries = await self._resolved(group.context, variables, place)
        found = await asyncio.gather(
            *(self._read(unit, query, unit.namespace, f"{place}[{at}]") for at, query in enumerate(queries))
        )
        return {query.index: [visible(manifest) for manifest in items] for query, items in zip(queries, found, strict=True)}

    async def _copies(self, unit: Unit, group: Group, index: int, variables: Manifest) -> list[Copy]:
        place = f"resources[{index}].namespacedItems"
        queries = await self._resolved(group.copies, variables, place)
        copies: list[Copy] = []
        for at, query in enumerate(queries):
            found = await self._read(unit, query, self.parent.namespace, f"{place}[{at}]", copied=True)
            # Never a copy of itself.
            copies += [Copy(manifest=item, query=at) for item in found if item["metadata"].get("namespace") != unit.namespace]
        return copies

    async def _resolved(self, queries: Sequence[Query], variables: Manifest, place: str) -> list[Query]:
        """The queries with their templated strings filled in."""
        if not any(_templated(query) for query in queries):
            return list(queries)
        answers = await self.renderer.queries([(query, variables) for query in queries])
        for at, answer in enumerate(answers):
            if isinstance(answer, Problem):
                raise Invalid(answer.reason, f"spec.{place}[{at}]: {answer}") from answer
        return [answer for answer in answers if isinstance(answer, Query)]

    async def _read(self, unit: Unit, query: Query, default: str, place: str, *, copied: bool = False) -> list[Manifest]:
        resource = await self.world.resource(query.api_version, query.kind)
        if copied and not resource.namespaced:
            message = (
                f"spec.{place}: cluster-scoped kind {query.api_version}/{query.kind} is not allowed: copies go into namespaces"
            )
            raise Invalid(Reason.CLUSTER_SCOPED, message)
        namespace = (query.namespace or default) if resource.namespaced else ""
        if self.parent.kind.namespaced and resource.namespaced:
            check_reference(unit, namespace, self.tenancy, f"spec.{place}")
        if query.name and resource.namespaced and not namespace:
            raise Invalid(Reason.INVALID, f"spec.{place}: namespace is missing: without one, select by labels")
        source = Source(resource, namespace, query.name, str(query.selector) if query.selector else "")
        # One watch over all namespaces serves a query that follows the unit; its events name the namespace.
        follows = resource.namespaced and not query.namespace and namespace == unit.namespace and bool(unit.namespace)
        self.sources.setdefault(replace(source, namespace="") if follows else source, set()).add(unit.key if follows else "")
        if source not in self._reads:
            self._reads[source] = asyncio.ensure_future(self._fetch(source))
        items = await self._reads[source]
        if query.name and not items and not query.optional:
            message = f"spec.{place}: {query.kind} {f'{namespace}/' if namespace else ''}{query.name} is not there: create it"
            raise Blocked(Reason.SOURCE_MISSING, message)
        if query.name and not items:
            self.note(f"{query.kind} {f'{namespace}/' if namespace else ''}{query.name} is not there and optional: left out")
        return items

    async def _fetch(self, source: Source) -> list[Manifest]:
        if source.name:
            found = await self.world.get(source.resource, source.namespace, source.name, actor=self.actor)
            return [] if found is None else [found]
        listing = await self.world.list(source.resource, source.namespace, labels=source.selector, actor=self.actor)
        return sorted(listing.items, key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))


@dataclass(slots=True)
class _Shared:
    """Objects that many units have in common, made once."""

    parent: Manifest
    tenants: dict[str, Manifest] = field(default_factory=dict)

    def variables(self, unit: Unit, tenancy: Tenancy) -> Manifest:
        found: Manifest = {"parent": self.parent}
        if unit.tenant:
            if unit.tenant not in self.tenants:
                self.tenants[unit.tenant] = visible(tenancy.tenants[unit.tenant])
            found["tenant"] = self.tenants[unit.tenant]
        if unit.namespace:
            found["namespace"] = visible(tenancy.namespaces[unit.namespace])
        return found


def _templated(query: Query) -> bool:
    texts = (query.name, query.namespace, str(query.selector or ""))
    return any("{{" in text or "{%" in text for text in texts)
