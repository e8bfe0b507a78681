"""EndpointSlices: a Service with a selector has one, which bears its labels; no Pod runs here, so it is empty."""

from collections.abc import Iterable

from apis.meta import Manifest
from manager.embedded.controllers.work import acting
from manager.embedded.served import Served
from manager.embedded.server import ApiServer
from manager.embedded.store import Change, Key
from manager.embedded.target import Target

SERVICES, GROUP = "services", "discovery.k8s.io"
SLICES = f"endpointslices.{GROUP}"
NAME = "endpointslice-controller"
OF_SERVICE, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
CONTROLLER = "endpointslice-controller.k8s.io"


class Slices:
    """Keeps them; the garbage collector takes them away."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def concerns(self, change: Change) -> Iterable[Key]:
        """A Service, and the slice of one."""
        key = change.stored.key
        if key.resource == SERVICES:
            return [key]
        if key.resource == SLICES and change.stored.labels.get(MANAGED_BY) == CONTROLLER:
            return [Key(SERVICES, key.namespace, change.stored.labels.get(OF_SERVICE, ""))]
        return ()

    def sync(self, key: Key) -> bool:
        """Look after one Service."""
        service = self._server.store.read(key)
        served = self._server.registry.find(GROUP, "v1", "endpointslices")
        if service is None or served is None or not (service.get("spec") or {}).get("selector"):
            return True
        if service["metadata"].get("deletionTimestamp"):
            return True
        found = self._of(key)
        if found is None:
            manifest = {"apiVersion": f"{GROUP}/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
            metadata = _metadata(service) | {"generateName": f"{key.name}-", "ownerReferences": [_owner(service)]}
            empty: Manifest = {"metadata": metadata, "endpoints": [], "ports": []}
            self._server.verbs.create(Target(served, key.namespace), manifest | empty, acting(NAME))
        else:
            self._follow(served, found, service)
        return True

    def _of(self, service: Key) -> Key | None:
        for stored in self._server.store.members(SLICES, service.namespace):
            if stored.labels.get(OF_SERVICE) == service.name and stored.labels.get(MANAGED_BY) == CONTROLLER:
                return stored.key
        return None

    def _follow(self, served: Served, key: Key, service: Manifest) -> None:
        wanted = _metadata(service)
        live = self._server.store.read(key) or {"metadata": {}}
        if {field: live["metadata"].get(field) for field in wanted} != wanted:
            target = Target(served, key.namespace, key.name)
            self._server.verbs.change(target, lambda old: old | {"metadata": old["metadata"] | wanted}, acting(NAME))


def _metadata(service: Manifest) -> Manifest:
    metadata = service["metadata"]
    headless = {HEADLESS: ""} if (service["spec"].get("clusterIP") == "None") else {}
    labels = (metadata.get("labels") or {}) | headless | {OF_SERVICE: metadata["name"], MANAGED_BY: CONTROLLER}
    return {"labels": labels}


def _owner(service: Manifest) -> Manifest:
    metadata = service["metadata"]
    named = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    return named | {"controller": True, "blockOwnerDeletion": True}
