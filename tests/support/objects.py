"""A Cluster in memory: resourceVersions and preconditions as a server has them, and failures on demand."""

from collections.abc import AsyncIterator, Callable
from copy import deepcopy
from typing import Any

from apis.meta import Manifest
from apis.problems import Gone, Stale, Unavailable
from manager.world import Actor, Applied, Event, Listing, Resource

Fault = Callable[[int], str]
"""What happens to the write of this number: "" nothing, "refused" it never arrives, "lost" it is done and its answer is lost."""


def no_fault(write: int) -> str:
    """Every write is carried out and answered."""
    return ""


class Objects:
    """Implements `Cluster` as far as whole objects go; no apply, no watch. `log` has one line per write."""

    def __init__(self, *resources: Resource) -> None:
        self.stored: dict[tuple[str, str, str], Manifest] = {}
        self.log: list[str] = []
        self.fault: Fault = no_fault
        self._resources = {(resource.api_version, resource.kind): resource for resource in resources}
        self._version = 100
        self._writes = 0

    def put(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Store an object as somebody else does, without a precondition."""
        metadata = manifest["metadata"]
        return self._store(resource, metadata.get("namespace", ""), metadata["name"], deepcopy(manifest))

    def objects(self, resource: Resource) -> list[Manifest]:
        """All objects of a kind, ordered by name."""
        return [deepcopy(found) for key, found in sorted(self.stored.items()) if key[0] == resource.plural]

    # World

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource that the test has declared."""
        return self._resources[(api_version, kind)]

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """The object or None."""
        found = self.stored.get((resource.plural, namespace, name))
        return deepcopy(found) if found else None

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
        """All objects with that label (`key` or `key=value`)."""
        key, _, value = labels.partition("=")
        items = [
            found
            for found in self.objects(resource)
            if not key or (key in (has := found["metadata"].get("labels") or {}) and value in ("", has[key]))
        ]
        kept = ("apiVersion", "kind", "metadata") if metadata else None
        return Listing([{k: v for k, v in item.items() if not kept or k in kept} for item in items], str(self._version))

    # Cluster

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Stale when it exists."""
        name = manifest["metadata"]["name"]

        def act() -> Manifest:
            if (resource.plural, namespace, name) in self.stored:
                raise Stale(f"{name} exists")
            return self._store(resource, namespace, name, deepcopy(manifest))

        return self._write(f"create {resource.plural} {name}", act)

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Stale unless the resourceVersion is the live one; the status stays."""
        metadata = manifest["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]

        def act() -> Manifest:
            self._expect(resource, namespace, name, metadata.get("resourceVersion"))
            return self._store(resource, namespace, name, deepcopy(manifest))

        return self._write(f"replace {resource.plural} {name}", act)

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
        """RFC 7386; of a status patch only the status counts."""

        def act() -> Manifest:
            live = self._expect(resource, namespace, name, (patch.get("metadata") or {}).get("resourceVersion"))
            changes = {key: value for key, value in patch.items() if not subresource or key == subresource}
            return self._store(resource, namespace, name, _merged(live, changes))

        return self._write(f"patch {resource.plural} {name}{subresource and '/' + subresource}", act)

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
        """Gone at once without finalizers, terminating with them."""

        def act() -> Manifest:
            live = self._expect(resource, namespace, name, resource_version)
            if live["metadata"].get("finalizers"):
                live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                return self._store(resource, namespace, name, live)
            return self.stored.pop((resource.plural, namespace, name))

        return not self._write(f"delete {resource.plural} {name}", act)["metadata"].get("deletionTimestamp")

    async def apply(self, *args: Any, **options: Any) -> Applied:
        """Not what this is for."""
        raise AssertionError("nothing that uses these objects sends this")

    async def json_patch(self, *args: Any, **options: Any) -> Manifest:
        """Not what this is for."""
        raise AssertionError("nothing that uses these objects sends this")

    def watch(self, *args: Any, **options: Any) -> AsyncIterator[Event]:
        """Not what this is for."""
        raise AssertionError("nothing that uses these objects sends this")

    # One write

    def _write(self, line: str, act: Callable[[], Manifest]) -> Manifest:
        self._writes += 1
        fault = self.fault(self._writes)
        if fault == "refused":
            raise Unavailable("the connection was refused")
        answer = deepcopy(act())
        self.log.append(line)
        if fault == "lost":
            raise Unavailable("the answer was lost", maybe_done=True)
        return answer

    def _expect(self, resource: Resource, namespace: str, name: str, version: str | None) -> Manifest:
        live = self.stored.get((resource.plural, namespace, name))
        if live is None:
            raise Gone(f"{name} is not there")
        if version and live["metadata"]["resourceVersion"] != version:
            raise Stale(f"{name} has another resourceVersion")
        return deepcopy(live)

    def _store(self, resource: Resource, namespace: str, name: str, manifest: Manifest) -> Manifest:
        self._version += 1
        metadata = manifest["metadata"]
        metadata.setdefault("uid", f"uid-{self._version}")
        metadata["resourceVersion"] = str(self._version)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self.stored.pop((resource.plural, namespace, name), None)
            return manifest
        self.stored[(resource.plural, namespace, name)] = manifest
        return manifest


def _merged(before: Manifest, patch: Manifest) -> Manifest:
    after = dict(before)
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            old = after.get(key)
            after[key] = _merged(old if isinstance(old, dict) else {}, value)
        else:
            after[key] = value
    return after
