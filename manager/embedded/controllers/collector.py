"""The garbage collector: what nobody owns any more goes; foreground deletions wait for dependents; orphans are let go.

https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and pkg/controller/garbagecollector. An owner is looked for
where the reference can mean it: in the namespace of the dependent, or in none. One that is somewhere else counts as absent, and
an Event says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from apis.meta import Manifest
from manager.embedded.controllers.work import acting, deleting
from manager.embedded.lifecycle import FOREGROUND_DELETION, ORPHANING, stamp
from manager.embedded.registry import place_of
from manager.embedded.served import Served
from manager.embedded.server import ApiServer
from manager.embedded.status import StatusError
from manager.embedded.store import Change, Key, Kind
from manager.embedded.target import BACKGROUND, FOREGROUND, ORPHAN, Target

NAME = "generic-garbage-collector"
ABSENT_NAMESPACE = "OwnerRefInvalidNamespace"


@dataclass(slots=True)
class _Owners:
    """The owner references of an object, by what became of the owners."""

    solid: list[str] = field(default_factory=list)  # uids
    waiting: list[str] = field(default_factory=list)  # of owners that wait for their dependents
    gone: list[str] = field(default_factory=list)
    misplaced: list[Manifest] = field(default_factory=list)  # those of `gone` that are in another namespace


class Collector:
    """Keeps who owns whom, by uid."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._keys: dict[str, Key] = {}
        self._dependents: dict[str, set[Key]] = {}
        self._owned: dict[Key, frozenset[str]] = {}

    # What changed.

    def concerns(self, change: Change) -> Iterable[Key]:
        """Whatever has owners, ends, or depends on something that ended."""
        stored = change.stored
        metadata = self._server.store.decode(stored)["metadata"]
        uid, key = metadata["uid"], stored.key
        before = self._owned.get(key, frozenset())
        if change.kind is Kind.DELETED:
            self._keys.pop(uid, None)
            self._link(key, frozenset())
            return [*self._dependents.get(uid, ()), *self._owners(before)]
        self._keys[uid] = key
        owners = frozenset(each["uid"] for each in metadata.get("ownerReferences") or ())
        self._link(key, owners)
        released = self._owners(before - owners)
        if metadata.get("deletionTimestamp"):
            # Its dependents may have to go before it, and its owners may have waited for this.
            return [key, *self._owners(owners), *released]
        return [key, *released] if owners else released

    def _link(self, key: Key, owners: frozenset[str]) -> None:
        for uid in self._owned.pop(key, frozenset()) - owners:
            known = self._dependents.get(uid)
            if known is not None:
                known.discard(key)
                if not known:
                    del self._dependents[uid]
        for uid in owners:
            self._dependents.setdefault(uid, set()).add(key)
        if owners:
            self._owned[key] = owners

    def _owners(self, uids: Iterable[str]) -> list[Key]:
        return [self._keys[uid] for uid in uids if uid in self._keys]

    # What there is to do.

    def sync(self, key: Key) -> bool:
        """Look at one object."""
        live = self._server.store.read(key)
        if live is None:
            return True
        served = self._kind(key)
        if served is None:
            return True  # its definition is gone; nobody can write it
        metadata = live["metadata"]
        if metadata.get("deletionTimestamp"):
            return self._ending(key, live, served)
        if metadata.get("ownerReferences"):
            self._judge(key, live, served)
        return True

    def _ending(self, key: Key, live: Manifest, served: Served) -> bool:
        finalizers = live["metadata"].get("finalizers") or ()
        uid = live["metadata"]["uid"]
        if ORPHANING in finalizers:
            for dependent in sorted(self._dependents.get(uid, ())):
                self._unown(dependent, [uid])
            self._drop_finalizer(key, served, ORPHANING)
        elif FOREGROUND_DELETION in finalizers:
            self._foreground(key, uid, served)
        return True

    def _foreground(self, key: Key, uid: str, served: Served) -> None:
        blocking = 0
        for dependent in sorted(self._dependents.get(uid, ())):
            live = self._server.store.read(dependent)
            kind = self._kind(dependent)
            if live is None or kind is None:
                continue
            if not live["metadata"].get("deletionTimestamp"):
                self._judge(dependent, live, kind)
            if self._server.store.get(dependent) is not None and _blocks(live, uid):
                blocking += 1
        if not blocking:
            self._drop_finalizer(key, served, FOREGROUND_DELETION)

    def _judge(self, key: Key, live: Manifest, served: Served) -> None:
        """Delete what has no owner left; take the references to owners that are gone off what has."""
        owners = self._sorted(key, live)
        for reference in owners.misplaced:
            self._complain(key, live, reference)
        if owners.solid:
            if owners.gone or owners.waiting:
                self._unown(key, [*owners.gone, *owners.waiting])
            return
        if not owners.gone and not owners.waiting:
            return
        uid = live["metadata"]["uid"]
        finalizers = live["metadata"].get("finalizers") or ()
        if owners.waiting and self._dependents.get(uid):
            policy = FOREGROUND
        elif ORPHANING in finalizers:
            policy = ORPHAN
        else:
            policy = FOREGROUND if FOREGROUND_DELETION in finalizers else BACKGROUND
        how = deleting(NAME, uid=uid, propagation=policy)
        self._server.verbs.delete(Target(served, key.namespace, key.name), how)

    def _sorted(self, key: Key, live: Manifest) -> _Owners:
        owners = _Owners()
        for reference in live["metadata"].get("ownerReferences") or ():
            uid = reference["uid"]
            served = self._server.registry.named(reference["apiVersion"], reference["kind"])
            if served is None or (served.namespaced and not key.namespace):
                # Nobody can tell whether it is there: nothing is deleted on a guess.
                owners.solid.append(uid)
                continue
            place = Key(place_of(served), key.namespace if served.namespaced else "", reference["name"])
            owner = self._server.store.read(place)
            if owner is None or owner["metadata"]["uid"] != uid:
                owners.gone.append(uid)
                if uid in self._keys and self._keys[uid].namespace != place.namespace:
                    owners.misplaced.append(reference)
            elif _waits(owner):
                owners.waiting.append(uid)
            else:
                owners.solid.append(uid)
        return owners

    # How it is done.

    def _kind(self, key: Key) -> Served | None:
        return next((served for served in self._server.registry.stored() if place_of(served) == key.resource), None)

    def _unown(self, key: Key, uids: Iterable[str]) -> None:
        served = self._kind(key)
        if served is None or self._server.store.get(key) is None:
            return
        gone = frozenset(uids)

        def without(live: Manifest) -> Manifest:
            kept = [each for each in live["metadata"].get("ownerReferences") or () if each["uid"] not in gone]
            return _with(live, "ownerReferences", kept)

        self._server.verbs.change(Target(served, key.namespace, key.name), without, acting(NAME))

    def _drop_finalizer(self, key: Key, served: Served, finalizer: str) -> None:
        def without(live: Manifest) -> Manifest:
            return _with(live, "finalizers", [each for each in live["metadata"].get("finalizers") or () if each != finalizer])

        self._server.verbs.change(Target(served, key.namespace, key.name), without, acting(NAME))

    def _complain(self, key: Key, live: Manifest, reference: Manifest) -> None:
        """Say in an Event that an owner was named where it cannot be."""
        events = self._server.registry.find("", "v1", "events")
        metadata = live["metadata"]
        namespace = key.namespace or "default"
        about = {"apiVersion": live["apiVersion"], "kind": live["kind"], "name": key.name, "uid": metadata["uid"]}
        named = f"[{reference['apiVersion']}/{reference['kind']}, namespace: {key.namespace}, name: {reference['name']}"
        now = stamp(self._server.clock())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{key.name}.{metadata['uid'][:8]}{reference['uid'][:8]}", "namespace": namespace},
            "involvedObject": about | ({"namespace": key.namespace} if key.namespace else {}),
            "type": "Warning",
            "reason": ABSENT_NAMESPACE,
            "message": f'ownerRef {named}, uid: {reference["uid"]}] does not exist in namespace "{key.namespace}"',
            "source": {"component": "garbage-collector-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        name = Key("events", namespace, str(event["metadata"]["name"]))  # type: ignore[index]
        if events is not None and self._server.store.get(name) is None:
            try:
                self._server.verbs.create(Target(events, namespace), event, acting(NAME))
            except StatusError:
                return  # an Event is a courtesy; in a namespace that ends nobody reads it


def _with(live: Manifest, field_: str, values: list[object]) -> Manifest:
    metadata = {key: value for key, value in live["metadata"].items() if key != field_}
    return live | {"metadata": metadata | ({field_: values} if values else {})}


def _waits(owner: Manifest) -> bool:
    metadata = owner["metadata"]
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND_DELETION in (metadata.get("finalizers") or ())


def _blocks(dependent: Manifest, uid: str) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in references)
