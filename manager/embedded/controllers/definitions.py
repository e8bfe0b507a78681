"""CustomResourceDefinitions: which names they get, when their kinds are served, and how they end."""

from collections.abc import Callable, Iterable

from apis.meta import Manifest
from manager.embedded import definitions
from manager.embedded.attributes import MASTERS, User
from manager.embedded.controllers.conditions import holds, with_condition
from manager.embedded.lifecycle import stamp
from manager.embedded.server import ApiServer
from manager.embedded.status import StatusError
from manager.embedded.store import Change, Key
from manager.embedded.target import DeleteOptions, Options, Target

GROUP = "apiextensions.k8s.io"
CRDS = f"customresourcedefinitions.{GROUP}"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
SERVER = Options(User("system:apiserver", groups=(MASTERS,)), manager="kube-apiserver")


class Definitions:
    """Serves what is defined."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._served: dict[str, Manifest] = {}  # the specs for which kinds are served

    def concerns(self, change: Change) -> Iterable[Key]:
        """A definition that changed, one that waits for names, or one whose last instance may have gone."""
        key = change.stored.key
        if key.resource == CRDS:
            # A name that was let go may be another's.
            return [key, *(Key(CRDS, "", name) for name in self._names() if name != key.name)]
        group = key.resource.partition(".")[2]
        return [Key(CRDS, "", key.resource)] if group and self._server.store.get(Key(CRDS, "", key.resource)) else ()

    def _names(self) -> list[str]:
        return [stored.key.name for stored in self._server.store.members(CRDS)]

    def sync(self, key: Key) -> bool:
        """Look after one definition."""
        crd = self._server.store.read(key)
        if crd is None:
            if self._served.pop(key.name, None) is not None:
                self._server.registry.define(key.name, ())
            return True
        if crd["metadata"].get("deletionTimestamp"):
            return self._end(key, crd)
        return self._accept(key, crd)

    def _accept(self, key: Key, crd: Manifest) -> bool:
        others = [each for each in self._server.store.manifests(CRDS) if each["metadata"]["name"] != key.name]
        naming = definitions.naming(crd, others)
        now = stamp(self._server.clock())
        status = crd.get("status") or {}
        known = status.get("conditions") or []
        conditions = with_condition(known, now, "NamesAccepted", naming.all, naming.reason, naming.message)
        established = naming.all or holds(known, "Established")
        if established:
            accepted = ("InitialNamesAccepted", "the initial names have been accepted")
            conditions = with_condition(conditions, now, "Established", True, *accepted)
        else:
            conditions = with_condition(conditions, now, "Established", False, "NotAccepted", "not all names are accepted")
        wanted = status | {"conditions": conditions, "acceptedNames": naming.accepted}
        if wanted != status:
            crd = self._write(key, wanted)
        if established:
            self._serve(key.name, crd)
        return True

    def _serve(self, name: str, crd: Manifest) -> None:
        names = (crd.get("status") or {}).get("acceptedNames")
        wanted = {"spec": crd["spec"], "names": names}
        if self._served.get(name) != wanted:
            self._served[name] = wanted
            self._server.registry.define(name, definitions.served_of(crd))

    def _end(self, key: Key, crd: Manifest) -> bool:
        """Delete the instances; when the last is gone, the definition may go."""
        served = next(iter(self._server.registry.of_definition(key.name)), None)
        done = True
        if served is not None:
            for stored in self._server.store.members(served.resource):
                target = Target(served, stored.key.namespace, stored.key.name)
                try:
                    self._server.verbs.delete(target, DeleteOptions(SERVER))
                except StatusError:
                    done = False  # a policy is in the way: try again
            if self._server.store.count(served.resource):
                self._terminating(key, crd)
                return done
        finalizers = [each for each in crd["metadata"].get("finalizers") or () if each != CLEANUP]
        self._change(key, lambda live: live | {"metadata": live["metadata"] | {"finalizers": finalizers}}, "")
        return True

    def _terminating(self, key: Key, crd: Manifest) -> None:
        status = crd.get("status") or {}
        told = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
        now = stamp(self._server.clock())
        conditions = with_condition(status.get("conditions") or [], now, "Terminating", True, *told)
        if conditions != status.get("conditions"):
            self._write(key, status | {"conditions": conditions})

    def _write(self, key: Key, status: Manifest) -> Manifest:
        return self._change(key, lambda live: live | {"status": status}, "status")

    def _change(self, key: Key, make: Callable[[Manifest], Manifest], subresource: str) -> Manifest:
        served = self._server.registry.find(GROUP, "v1", "customresourcedefinitions")
        assert served is not None  # noqa: S101 - it is built in
        target = Target(served, name=key.name, subresource=subresource)
        return self._server.verbs.change(target, make, SERVER).manifest
