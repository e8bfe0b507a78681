"""Which kinds a server has: aggregated discovery, read once, and again when somebody asks for what is not there.

Guarantees
    A kind that is created later is found, without a restart: a miss reads again, at most every `PAUSE` seconds.
    A group whose server is down makes its kinds Unavailable, never unknown and never gone.
Assumptions
    The server speaks aggregated discovery (v2 or v2beta1: Kubernetes 1.26 and later).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from sys import intern
from typing import Any

import orjson

from apis.meta import split_api_version
from apis.problems import Blocked, Forbidden, Gone, Unavailable
from apis.reasons import Reason
from manager.world import Resource

PAUSE = 3.0
"""Seconds between two readings that were caused by misses."""

ACCEPT = ",".join(f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1"))
_APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

Fetch = Callable[[str, str], Awaitable[bytes]]
"""`await fetch(path, accept)` answers the body of a GET, or raises a problem."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What one reading found: the kinds in the server's order of preference, and the groups whose server does not answer."""

    kinds: dict[tuple[str, str], tuple[Resource, ...]] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()

    def versions(self, group: str, kind: str) -> tuple[Resource, ...]:
        """All served versions of a kind, the preferred one first."""
        return self.kinds.get((group, kind), ())

    def plural(self, group: str, plural: str) -> tuple[Resource, ...]:
        """All served versions of a resource, the preferred one first."""
        return next((found for (of, _), found in self.kinds.items() if of == group and found[0].plural == plural), ())


def catalogue(documents: Iterable[bytes]) -> Catalogue:
    """Read APIGroupDiscoveryLists (`/api` and `/apis`). Pure. Raises Unavailable when a document is something else."""
    kinds: dict[tuple[str, str], tuple[Resource, ...]] = {}
    stale: set[str] = set()
    verbs: dict[tuple[str, ...], frozenset[str]] = {}
    for document in documents:
        for group in _groups(document):
            name = intern((group.get("metadata") or {}).get("name") or "")
            for version in group.get("versions") or ():
                if version.get("freshness") == "Stale":
                    stale.add(name)
                for entry in version.get("resources") or ():
                    resource = _resource(name, version["version"], entry, verbs)
                    if resource is not None:
                        key = name, resource.kind
                        kinds[key] = (*kinds.get(key, ()), resource)
    return Catalogue(kinds, frozenset(stale))


def _groups(document: bytes) -> list[dict[str, Any]]:
    try:
        found = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise Unavailable("discovery: the answer is not JSON") from error
    if not isinstance(found, dict) or found.get("kind") != "APIGroupDiscoveryList":
        raise Unavailable("discovery: the server does not speak aggregated discovery (Kubernetes 1.26 and later do)")
    groups: list[dict[str, Any]] = found.get("items") or []
    return groups


def _resource(group: str, version: str, entry: dict[str, Any], verbs: dict[tuple[str, ...], frozenset[str]]) -> Resource | None:
    kind = (entry.get("responseKind") or {}).get("kind")
    if not kind:
        return None
    names = tuple(entry.get("verbs") or ())
    return Resource(
        group=group,
        version=intern(version),
        kind=intern(kind),
        plural=intern(entry["resource"]),
        namespaced=entry.get("scope") == "Namespaced",
        verbs=verbs.setdefault(names, frozenset(intern(name) for name in names)),
    )


class Discovery:
    """The kinds of one server. `clock` gives monotonic seconds."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._fetch = fetch
        self._clock = clock
        self._known: Catalogue | None = None
        self._read_at = float("-inf")
        self._doubted = False
        self._reading: asyncio.Task[Catalogue] | None = None

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The served kind in that version. Raises Blocked(KindUnknown), or Unavailable when the group does not answer."""
        group, version = split_api_version(api_version)

        def find(known: Catalogue) -> Resource | None:
            return next((found for found in known.versions(group, kind) if found.version == version), None)

        return await self._find(find, group, f"{api_version} {kind}")

    async def any_version(self, group: str, kind: str) -> Resource:
        """The kind in the preferred one of its served versions. Raises as `resource`."""
        return await self._find(lambda known: next(iter(known.versions(group, kind)), None), group, f"{kind}.{group}".rstrip("."))

    async def by_plural(self, group: str, plural: str, version: str = "") -> Resource:
        """The resource in `version` if that is served, else in the preferred one. Raises as `resource`."""

        def find(known: Catalogue) -> Resource | None:
            versions = known.plural(group, plural)
            return next((found for found in versions if found.version == version), versions[0] if versions else None)

        return await self._find(find, group, f"{plural}.{group}".rstrip("."))

    async def served(self) -> tuple[Resource, ...]:
        """Every kind, each in its preferred version."""
        known = self._known or await self.refresh()
        return tuple(versions[0] for versions in known.kinds.values())

    async def gone(self, group: str, kind: str) -> bool:
        """True only when discovery of the group succeeded just now, no version serves the kind, and no APIService of it is down.

        Raises Unavailable when that cannot be found out.
        """
        known = await self._recent()
        if known.versions(group, kind):
            return False
        return group not in known.stale and not await self._service_down(group)

    async def refresh(self) -> Catalogue:
        """Read now. Whoever asks while a reading is under way shares it. Raises Unavailable."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(), name="discovery")
            self._reading.add_done_callback(self._done)
        # shield: one that gives up waiting does not take the reading away from the others.
        return await asyncio.shield(self._reading)

    def doubt(self) -> None:
        """A path that discovery named was not served: the next question reads again, still at most every `PAUSE` seconds."""
        self._doubted = True

    async def _find(self, find: Callable[[Catalogue], Resource | None], group: str, name: str) -> Resource:
        known = self._known
        if known is None or self._doubted:
            known = await self._recent()
        found = find(known)
        if found is None:
            known = await self._recent()
            found = find(known)
        if found is not None:
            return found
        if group in known.stale:
            raise Unavailable(f"{name}: the server of API group {group!r} does not answer")
        raise Blocked(
            Reason.KIND_UNKNOWN, f"{name}: the server has no such kind; install its CustomResourceDefinition or correct the name"
        )

    async def _recent(self) -> Catalogue:
        """What is known, if it was read within the last `PAUSE` seconds; else read again."""
        if self._known is not None and self._clock() - self._read_at < PAUSE:
            return self._known
        return await self.refresh()

    async def _read(self) -> Catalogue:
        at = self._clock()
        core, groups = await asyncio.gather(self._fetch("/api", ACCEPT), self._fetch("/apis", ACCEPT))
        self._known = catalogue((core, groups))
        self._read_at = at
        self._doubted = False
        return self._known

    def _done(self, reading: asyncio.Task[Catalogue]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # seen here too, should everybody have stopped waiting

    async def _service_down(self, group: str) -> bool:
        """Is an APIService of the group unavailable? When we may not read them, the freshness in discovery must do."""
        try:
            services = orjson.loads(await self._fetch(_APISERVICES, "application/json")).get("items") or ()
        except (Forbidden, Gone):
            return False
        return any((service.get("spec") or {}).get("group", "") == group and not _available(service) for service in services)


def _available(service: dict[str, Any]) -> bool:
    conditions = (service.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Available" and condition.get("status") == "True" for condition in conditions)
