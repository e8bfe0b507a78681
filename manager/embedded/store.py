"""Objects, revisions and what changed: the one place where something is true.

A write is one step: the object is there, its change can be watched, and the change waits in `journal` to be made durable
(`journal.py`) before anybody is answered. Objects are kept as the bytes that a client gets; their decoded form is made when it
is needed, shared, and never changed.

Guarantees
    Revisions grow by one for each change of any object, start above 1 and are never used twice.
    `at` gives any collection as it was at a revision, as long as the changes since then are kept.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

import orjson

from apis.meta import Manifest
from manager.embedded.status import expired

WINDOW = 10_000
"""Changes that are kept for watches and for pages of lists."""

DECODED = 2_000
"""Objects whose decoded form is kept at hand."""

FIRST = 100
"""The revision of an empty store: an apply with resourceVersion "1" means create-only, so no object may ever have that."""


class Key(NamedTuple):
    """Where an object is: the resource as in `Served.resource`, the namespace ("" for cluster scope) and the name."""

    resource: str
    namespace: str
    name: str


@dataclass(eq=False, slots=True)
class Stored:
    """One state of one object. `raw` is its JSON, resourceVersion and all; `labels` are at hand for selectors."""

    key: Key
    revision: int
    raw: bytes
    labels: Mapping[str, str]


class Kind(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(eq=False, slots=True)
class Change:
    """One write. Of a deletion, `stored` is the last state with the revision at which it ended."""

    kind: Kind
    stored: Stored
    previous: Stored | None

    @property
    def revision(self) -> int:
        """The revision that this write made."""
        return self.stored.revision


_ORDER = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
"""Metadata as Go writes them."""

Listener = Callable[[Change], None]
"""Told of each change in the step that makes it; it must not write."""

Objects = dict[str, dict[str, Stored]]
"""The objects of a resource: namespace -> name -> object."""


class Store:
    """All objects. `keeping` says that changes are collected in `journal` for a disk."""

    def __init__(self, *, window: int = WINDOW, keeping: bool = False) -> None:
        self.revision = FIRST
        self.journal: list[Change] = []
        self._keeping = keeping
        self._objects: dict[str, Objects] = {}
        self._ring: deque[Change] = deque(maxlen=window)
        self._forgotten = FIRST  # the newest revision whose change is not kept
        self._decoded: OrderedDict[int, tuple[Stored, Manifest]] = OrderedDict()
        self._listeners: dict[str, list[Listener]] = {}
        self._touched: dict[str, int] = {}

    def restore(self, objects: Iterator[tuple[Key, int, bytes]], revision: int) -> None:
        """Fill an empty store with what a journal kept. Revisions go on from there; older changes are forgotten."""
        for key, made, raw in objects:
            self._place(Stored(key, made, raw, _labels(orjson.loads(raw))))
            self._touched[key.resource] = max(self._touched.get(key.resource, 0), made)
        self.revision = self._forgotten = max(revision, FIRST)

    # Reading.

    def get(self, key: Key) -> Stored | None:
        """The object, or None."""
        return self._objects.get(key.resource, {}).get(key.namespace, {}).get(key.name)

    def read(self, key: Key) -> Manifest | None:
        """The object decoded, or None. It is shared: whoever wants another makes a copy."""
        stored = self.get(key)
        return None if stored is None else self.decode(stored)

    def decode(self, stored: Stored) -> Manifest:
        """The decoded form of a state."""
        known = self._decoded.get(id(stored))
        if known is not None:
            self._decoded.move_to_end(id(stored))
            return known[1]
        return self._remember(stored, orjson.loads(stored.raw))

    def members(self, resource: str, namespace: str = "") -> list[Stored]:
        """The objects of a resource in the order of their keys; of all namespaces when that is empty."""
        return _ordered(self._objects.get(resource, {}), namespace)

    def manifests(self, resource: str, namespace: str = "") -> Iterator[Manifest]:
        """The decoded objects of a resource."""
        return map(self.decode, self.members(resource, namespace))

    def count(self, resource: str) -> int:
        """How many objects a resource has."""
        return sum(map(len, self._objects.get(resource, {}).values()))

    def resources(self) -> list[str]:
        """The resources that have objects."""
        return [resource for resource, places in self._objects.items() if any(places.values())]

    def touched(self, resource: str) -> int:
        """The revision of the last change to any object of a resource, 0 if there was none: what a cache compares."""
        return self._touched.get(resource, 0)

    def at(self, resource: str, revision: int, namespace: str = "") -> list[Stored]:
        """The objects as they were at a revision. Raises 410 when changes since then are not kept any more."""
        if revision >= self.revision:
            return self.members(resource, namespace)
        if revision < self._forgotten:
            raise expired(f"too old resource version: {revision} ({self._forgotten})")
        places = {place: dict(names) for place, names in self._objects.get(resource, {}).items()}
        for change in self._undoing(revision):
            key = change.stored.key
            if key.resource != resource:
                continue
            names = places.setdefault(key.namespace, {})
            if change.previous is None:
                names.pop(key.name, None)
            else:
                names[key.name] = change.previous
        return _ordered(places, namespace)

    def since(self, revision: int) -> list[Change]:
        """The changes after a revision, oldest first. Raises 410 when some of them are not kept any more."""
        if revision < self._forgotten:
            raise expired(f"too old resource version: {revision} ({self._forgotten})")
        return list(self._undoing(revision))[::-1]

    def forget(self) -> None:
        """Drop the kept changes, as time does: watches and pages from before now are 410."""
        self._ring.clear()
        self._forgotten = self.revision

    # Writing.

    def put(self, key: Key, manifest: Manifest) -> Stored:
        """Store an object, new or in place of what is there; `metadata.resourceVersion` is set on a copy.

        Preconditions were checked by the caller in the same step.
        """
        previous = self.get(key)
        stored, manifest = self._next(key, manifest)
        self._place(stored)
        self._remember(stored, manifest)
        self._record(Change(Kind.ADDED if previous is None else Kind.MODIFIED, stored, previous))
        return stored

    def delete(self, key: Key) -> Stored:
        """Drop an object that is there; its last state, with the revision at which it ended."""
        names = self._objects[key.resource][key.namespace]
        previous = names[key.name]
        stored, _ = self._next(key, self.decode(previous))
        del names[key.name]
        if not names:
            del self._objects[key.resource][key.namespace]
        self._record(Change(Kind.DELETED, stored, previous))
        return stored

    def listen(self, listener: Listener, resource: str = "") -> Callable[[], None]:
        """Tell `listener` of each change (of one resource) from now on; calling the answer ends that."""
        listeners = self._listeners.setdefault(resource, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    # Parts.

    def _next(self, key: Key, manifest: Manifest) -> tuple[Stored, Manifest]:
        revision = self.revision + 1
        # In this order, so that the head of `raw` can be told (and left out in lists) without decoding it.
        given = manifest["metadata"] | {"resourceVersion": str(revision)}
        metadata = {field: given[field] for field in _ORDER if field in given} | given
        manifest = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata} | manifest
        manifest["metadata"] = metadata
        return Stored(key, revision, orjson.dumps(manifest), _labels(manifest)), manifest

    def _place(self, stored: Stored) -> None:
        key = stored.key
        self._objects.setdefault(key.resource, {}).setdefault(key.namespace, {})[key.name] = stored

    def _record(self, change: Change) -> None:
        self.revision = change.revision
        self._touched[change.stored.key.resource] = change.revision
        if len(self._ring) == self._ring.maxlen:
            self._forgotten = self._ring[0].revision
        self._ring.append(change)
        if self._keeping:
            self.journal.append(change)
        for listener in (*self._listeners.get("", ()), *self._listeners.get(change.stored.key.resource, ())):
            listener(change)

    def _undoing(self, revision: int) -> Iterator[Change]:
        """The kept changes after a revision, newest first. They are numbered without gaps."""
        return islice(reversed(self._ring), max(0, self.revision - revision))

    def _remember(self, stored: Stored, manifest: Manifest) -> Manifest:
        # By identity; the entry holds the state, so its id is not given to another meanwhile.
        self._decoded[id(stored)] = (stored, manifest)
        if len(self._decoded) > DECODED:
            self._decoded.popitem(last=False)
        return manifest


_NONE: Mapping[str, str] = {}


def _labels(manifest: Manifest) -> Mapping[str, str]:
    return manifest["metadata"].get("labels") or _NONE


def _ordered(places: Objects, namespace: str) -> list[Stored]:
    if namespace:
        names = places.get(namespace, {})
        return [names[name] for name in sorted(names)]
    return [names[name] for place in sorted(places) for names in (places[place],) for name in sorted(names)]
