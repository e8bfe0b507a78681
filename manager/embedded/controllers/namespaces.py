"""Namespaces: what a new one holds, and how one ends: everything in it first, then itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from apis.meta import Manifest
from manager.embedded.controllers.conditions import with_condition
from manager.embedded.controllers.work import acting, deleting
from manager.embedded.lifecycle import stamp
from manager.embedded.registry import place_of
from manager.embedded.served import Served
from manager.embedded.server import ApiServer
from manager.embedded.status import StatusError
from manager.embedded.store import Change, Key, Kind
from manager.embedded.target import Target

NAMESPACES = "namespaces"
FINALIZER = "kubernetes"
CONTROLLER, ACCOUNTS, PUBLISHER = "namespace-controller", "service-account-controller", "root-ca-cert-publisher"
ROOT_CA = "kube-root-ca.crt"
ROOT_CA_NOTE = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal "
    "service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)


@dataclass(slots=True)
class _Left:
    """What is left in a namespace after a round."""

    remaining: dict[str, int] = field(default_factory=dict)  # by resource
    finalizers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


class Namespaces:
    """`authority` is the CA that namespaces publish, as PEM."""

    def __init__(self, server: ApiServer, authority: str) -> None:
        self._server = server
        self._authority = authority
        self._ending: set[str] = set()  # uids

    def concerns(self, change: Change) -> Iterable[Key]:
        """A namespace, and what happens in one that ends or misses what it should hold."""
        key = change.stored.key
        if key.resource == NAMESPACES:
            return [key]
        if not key.namespace:
            return ()
        home = Key(NAMESPACES, "", key.namespace)
        namespace = self._server.store.read(home)
        if namespace is None:
            return ()
        ours = key in (_account(key.namespace), _root_ca(key.namespace))
        return [home] if ours or (change.kind is not Kind.ADDED and _terminating(namespace)) else ()

    def sync(self, key: Key) -> bool:
        """Look after one namespace."""
        namespace = self._server.store.read(key)
        if namespace is None:
            return True
        if not _terminating(namespace):
            self._fill(key.name)
            return True
        uid = namespace["metadata"]["uid"]
        if uid not in self._ending:
            # As the real one, it lets a moment pass, in which clients can still delete by name what they see.
            self._ending.add(uid)
            return False
        return self._end(key, namespace)

    # A new one.

    def _fill(self, name: str) -> None:
        store = self._server.store
        if store.get(_account(name)) is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self._create(name, "serviceaccounts", account, ACCOUNTS)
        wanted = {"ca.crt": self._authority}
        found = store.read(_root_ca(name))
        if found is None:
            metadata = {"name": ROOT_CA, "annotations": {"kubernetes.io/description": ROOT_CA_NOTE}}
            published = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": wanted}
            self._create(name, "configmaps", published, PUBLISHER)
        elif found.get("data") != wanted:
            target = Target(self._kind("configmaps"), name, ROOT_CA)
            self._server.verbs.change(target, lambda live: live | {"data": wanted}, acting(PUBLISHER))

    def _create(self, namespace: str, plural: str, manifest: Manifest, controller: str) -> None:
        self._server.verbs.create(Target(self._kind(plural), namespace), manifest, acting(controller))

    def _kind(self, plural: str) -> Served:
        served = self._server.registry.find("", "v1", plural)
        assert served is not None  # noqa: S101 - it is built in
        return served

    # One that ends.

    def _end(self, key: Key, namespace: Manifest) -> bool:
        left = self._clear(key.name)
        if left.failures or left.remaining:
            self._tell(key, namespace, left)
            # What goes by itself is heard of; what is in the way may go unheard.
            return not left.failures
        finalizers = [each for each in (namespace.get("spec") or {}).get("finalizers") or () if each != FINALIZER]
        target = Target(self._kind(NAMESPACES), key.name, key.name, "finalize")
        done = self._server.verbs.change(target, lambda live: _finalized(live, finalizers), acting(CONTROLLER))
        if done.deleted:
            self._ending.discard(namespace["metadata"]["uid"])
        return True

    def _clear(self, name: str) -> _Left:
        left = _Left()
        for served, key in list(self._content(name)):
            live = self._server.store.read(key)
            if live is None:
                continue  # it went with another
            if not live["metadata"].get("deletionTimestamp"):
                try:
                    self._server.verbs.delete(Target(served, name, key.name), deleting(CONTROLLER, propagation="Background"))
                except StatusError as error:
                    left.failures.append(error.message)
        for served, key in self._content(name):
            left.remaining[served.resource] = left.remaining.get(served.resource, 0) + 1
            for finalizer in (self._server.store.read(key) or {"metadata": {}})["metadata"].get("finalizers") or ():
                left.finalizers[finalizer] = left.finalizers.get(finalizer, 0) + 1
        return left

    def _content(self, name: str) -> Iterator[tuple[Served, Key]]:
        for served in self._server.registry.stored():
            if served.namespaced:
                for stored in self._server.store.members(place_of(served), name):
                    yield served, stored.key

    def _tell(self, key: Key, namespace: Manifest, left: _Left) -> None:
        status = namespace.get("status") or {}
        now = stamp(self._server.clock())
        conditions = status.get("conditions") or []
        for told in _conditions(left):
            conditions = with_condition(conditions, now, *told)
        if conditions != status.get("conditions"):
            target = Target(self._kind(NAMESPACES), key.name, key.name, "status")
            new = status | {"conditions": conditions}
            self._server.verbs.change(target, lambda live: live | {"status": new}, acting(CONTROLLER))


def _conditions(left: _Left) -> Iterator[tuple[str, bool, str, str]]:
    yield "NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered", "All resources successfully discovered"
    parsed = "All legacy kube types successfully parsed"
    yield "NamespaceDeletionGroupVersionParsingFailure", False, "ParsedGroupVersions", parsed
    if left.failures:
        count = sum(left.remaining.values())
        said = f"Failed to delete all resource types, {count} remaining: {', '.join(left.failures)}"
        yield "NamespaceDeletionContentFailure", True, "ContentDeletionFailed", said
    else:
        said = "All content successfully deleted, may be waiting on finalization"
        yield "NamespaceDeletionContentFailure", False, "ContentDeleted", said
    if left.remaining:
        listed = ", ".join(f"{_dotted(name)} has {count} resource instances" for name, count in sorted(left.remaining.items()))
        yield "NamespaceContentRemaining", True, "SomeResourcesRemain", f"Some resources are remaining: {listed}"
    else:
        yield "NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"
    if left.finalizers:
        listed = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(left.finalizers.items()))
        said = f"Some content in the namespace has finalizers remaining: {listed}"
        yield "NamespaceFinalizersRemaining", True, "SomeFinalizersRemain", said
    else:
        said = "All content-preserving finalizers finished"
        yield "NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers", said


def _dotted(resource: str) -> str:
    """As the real controller writes it: `configmaps.`, with the dot before a group that is empty."""
    return resource if "." in resource else f"{resource}."


def _finalized(live: Manifest, finalizers: list[str]) -> Manifest:
    spec = {key: value for key, value in (live.get("spec") or {}).items() if key != "finalizers"}
    return live | {"spec": spec | ({"finalizers": finalizers} if finalizers else {})}


def _terminating(namespace: Manifest) -> bool:
    return bool(namespace["metadata"].get("deletionTimestamp"))


def _account(namespace: str) -> Key:
    return Key("serviceaccounts", namespace, "default")


def _root_ca(namespace: str) -> Key:
    return Key("configmaps", namespace, ROOT_CA)
