"""What the groups of a template read before they are rendered: existing objects, each read once, as the account.

A group that reads Secrets is rendered twice: with them, and `blind`, with their values replaced. Where the two differ outside
the values of Secrets, content would stand in plain text.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from apis.copyhold.query import Context
from apis.intent import Group, Query
from apis.meta import Manifest
from apis.problems import Blocked, Invalid, Problem
from apis.reasons import Reason
from manager.inputs import Source
from manager.permits.case import Case
from manager.render.documents import LAST_APPLIED, visible
from manager.surroundings import Surroundings
from manager.world import Actor
from policy.permits.masking import is_secret

Found = dict[str, list[Manifest]]
"""Objects by the index under which templates see them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A group and what its templates see; `blind` is the same without the values of Secrets, None where it reads none."""

    group: Group
    title: str  # "resources[0] (rights)"
    variables: Manifest = field(repr=False)  # it may hold Secrets
    blind: Manifest | None = field(default=None, repr=False)


@dataclass(slots=True)
class Reader:
    """The reader of one case. `sources` is what was read, and what came of it."""

    around: Surroundings
    case: Case
    actor: Actor
    sources: dict[Source, list[Manifest]] = field(default_factory=dict, repr=False)

    async def readings(self) -> list[Reading]:
        """What each group sees. Raises Invalid (the template), Blocked (a source is missing, or the account may not read it)."""
        variables = {**self.case.variables, "namespace": self._namespace()}
        shared = _queries(self.case.spec.context)
        common = await self._found(shared, variables, "spec.context.resources")
        return [await self._reading(index, group, variables, shared, common) for index, group in enumerate(self.case.groups)]

    def _namespace(self) -> Manifest:
        known = self.around.tenancy.namespaces.get(self.case.namespace)
        if known is None:
            raise Blocked(Reason.SOURCE_MISSING, f"Namespace {self.case.namespace}: is not known yet: wait for it")
        return visible(known)

    async def _reading(self, index: int, group: Group, variables: Manifest, shared: Sequence[Query], common: Found) -> Reading:
        place = f"spec.resources[{index}].context.resources"
        for at, query in enumerate(group.context):
            if query.index in common:
                message = f"{place}[{at}].index: {query.index} is an index of spec.context, too: give one of them another"
                raise Invalid(Reason.INVALID, message)
        context = common | await self._found(group.context, variables, place)
        title = f"resources[{index}]" + (f" ({group.name})" if self.case.spec.resources[index].name else "")
        secretive = any(map(_reads_secrets, (*shared, *group.context)))
        blind = {**variables, "context": blinded(context)} if secretive else None
        return Reading(group, title, {**variables, "context": context}, blind)

    async def _found(self, queries: Sequence[Query], variables: Manifest, place: str) -> Found:
        resolved = await self._resolved(queries, variables, place) if queries else []
        return {
            query.index: [visible(item) for item in await self._read(query, f"{place}[{at}]")]
            for at, query in enumerate(resolved)
        }

    async def _resolved(self, queries: Sequence[Query], variables: Manifest, place: str) -> list[Query]:
        """The queries with their templated strings filled in."""
        answers = await self.around.renderer.queries([(query, variables) for query in queries])
        for at, answer in enumerate(answers):
            if isinstance(answer, Invalid):
                raise Invalid(answer.reason, f"{place}[{at}]: {answer}") from answer
            if isinstance(answer, Problem):
                raise answer
        return [answer for answer in answers if isinstance(answer, Query)]

    async def _read(self, query: Query, place: str) -> list[Manifest]:
        resource = await self.around.world.resource(query.api_version, query.kind)
        namespace = (query.namespace or self.case.namespace) if resource.namespaced else ""
        if self.case.local and resource.namespaced and namespace != self.case.namespace:
            message = (
                f"{place}.namespace: is {namespace}, but a ResourcePermitTemplate reads its own namespace "
                f"{self.case.namespace} only: leave it out, or use a GlobalResourcePermitTemplate"
            )
            raise Invalid(Reason.FOREIGN_NAMESPACE, message)
        source = Source(resource, namespace, query.name, str(query.selector) if query.selector else "")
        if source not in self.sources:
            self.sources[source] = await self._fetch(source)
        items = self.sources[source]
        if query.name and not items and not query.optional:
            name = f"{namespace}/{query.name}" if namespace else query.name
            raise Blocked(Reason.SOURCE_MISSING, f"{place}: {query.kind} {name} is not there: create it")
        return items

    async def _fetch(self, source: Source) -> list[Manifest]:
        world = self.around.world
        if source.name:
            found = await world.get(source.resource, source.namespace, source.name, actor=self.actor)
            return [] if found is None else [found]
        listing = await world.list(source.resource, source.namespace, labels=source.selector, actor=self.actor)
        return sorted(listing.items, key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))


def _queries(context: Context | None) -> tuple[Query, ...]:
    return () if context is None else tuple(one.query(one.index) for one in context.resources)


def _reads_secrets(query: Query) -> bool:
    return is_secret({"apiVersion": query.api_version, "kind": query.kind})


def blinded(context: Found) -> Found:
    """The same objects, with each value of a Secret replaced by another."""
    return {index: [_blinded(item) for item in items] for index, items in context.items()}


def _blinded(item: Manifest) -> Manifest:
    if not is_secret(item):
        return item
    data = {key: base64.b64encode(f"value of {key}".encode()).decode() for key in item.get("data") or {}}
    metadata = {**item["metadata"]}
    if LAST_APPLIED in (metadata.get("annotations") or {}):
        metadata["annotations"] = {**metadata["annotations"], LAST_APPLIED: "{}"}  # it holds the values once more
    return {**item, "metadata": metadata, "data": data}
