"""The protocols between the path and the world: a World is read, a Cluster is also written.

Every method raises the problems of `apis.problems`, never an exception of a library.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from apis.intent import Identity
from apis.meta import Manifest


@dataclass(frozen=True, slots=True)
class Resource:
    """A served kind: where its objects live. `verbs` are those of discovery (get, list, watch, patch, delete ...)."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{place}/{self.plural}" + (f"/{name}" if name else "") + (f"/{subresource}" if subresource else "")


@dataclass(frozen=True, slots=True)
class Actor:
    """On whose behalf a request is sent: the ServiceAccount of a parent, and the parent's UID as proof of the manager."""

    identity: Identity
    parent: str


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch: type ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: Manifest


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete list (all pages) and the resourceVersion from which a watch continues it."""

    items: list[Manifest]
    resource_version: str


class World(Protocol):
    """Reads.

    `actor` None reads as the manager itself, which is only done with metadata, with kinds that are ours, and with roles and
    bindings: what rights a permit gives is found out from all of them.
    """

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The served kind; Blocked(KindUnknown) when discovery of its group succeeded without it, Unavailable when it failed."""
        ...

    async def any_version(self, group: str, kind: str) -> Resource:
        """Any served version of a kind, the preferred one first.

        Blocked(KindUnknown) only when the kind is provably gone: discovery of its group succeeded, no version serves it and no
        APIService of the group is unavailable. Unavailable when that cannot be said.
        """
        ...

    async def served(self) -> tuple[Resource, ...]:
        """Every served kind, each in its preferred version."""
        ...

    def doubt(self) -> None:
        """Kinds may have come or gone: the next question about one reads discovery again."""
        ...

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """The object, or None when it is not there. A refused read is Forbidden, never None."""
        ...

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        actor: Actor | None = None,
        metadata: bool = False,
    ) -> Listing:
        """All objects, over all pages; a 410 on a later page starts anew. `namespace` empty: all namespaces."""
        ...


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer to an apply: created (201) or not (200), and the object (metadata only unless it was asked for)."""

    created: bool
    object: Manifest


class Cluster(World, Protocol):
    """Writes. Bodies are JSON bytes; each method is one request.

    `proof` is the UID of the parent for which the manager writes as itself: it goes along as the extra by which admission knows
    the manager.
    """

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        manager: str,
        force: bool = False,
        actor: Actor | None = None,
        proof: str = "",
        dry_run: bool = False,
        metadata: bool = True,
    ) -> Applied:
        """Server-side apply. Raises Conflict, Stale (uid, resourceVersion), Invalid, Forbidden, Gone, Unavailable."""
        ...

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: list[Manifest],
        *,
        manager: str = "",
        actor: Actor | None = None,
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """A JSON patch; a failed `test` operation is Stale. Answers metadata only, except for a subresource."""
        ...

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        manager: str = "",
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """A JSON merge patch as the manager itself; a resourceVersion in it makes it conditional (Stale)."""
        ...

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """POST as the manager itself; Stale when the object exists."""
        ...

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """PUT as the manager itself; Stale when the resourceVersion is not the live one."""
        ...

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        actor: Actor | None = None,
        proof: str = "",
        late: bool = False,
    ) -> bool:
        """DELETE with preconditions, background propagation. True when the object is gone at once, False when it is terminating.

        `late` sends it although the lease has run out: only to take back what was made too late.
        """
        ...

    def watch(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", since: str, metadata: bool = False
    ) -> AsyncIterator[Event]:
        """One watch request, with bookmarks, until the server ends it.

        Raises Expired for 410 in either form, Unavailable for a stream that is cut or silent.
        """
        ...
