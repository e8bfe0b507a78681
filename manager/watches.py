"""Which watches run, and what their events are told to. Shared: one stream serves all parents that need it.

| watch | content | wakes |
| --- | --- | --- |
| our kinds | whole | the parent, its dependents |
| namespaces | metadata | the units that they are or were |
| targets, one per kind, label copyhold.dev/managed | metadata | the unit of the record that differs |
| sources, one per query | metadata | who read it |
| foreign objects that somebody waits for, a bounded number | metadata | who waits |
| CustomResourceDefinitions, our admission policies | metadata | who waits for a kind; the keeper of the policies |
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import structlog

from apis.copyhold.tenant import KIND as TENANT
from apis.kind import Kind, Parent, find, kinds
from apis.meta import GROUP, MANAGED, Key, Manifest, older
from apis.problems import Problem
from manager.desk import Wait
from manager.index import Index
from manager.inputs import Source
from manager.state import State
from manager.wakeups import Wakeups, namespace_of
from manager.watch import Replace, follow
from manager.watch import State as Follows
from manager.world import Cluster, Event, Listing, Resource

log = structlog.get_logger("copyhold")

SYNC_BOUND = 10.0
"""Seconds that a pass waits for the first complete list of a kind before it goes on without."""

SETTLE = 0.005
"""Seconds within which changes of namespaces and tenants are judged together."""

CRDS = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)


@dataclass(slots=True)
class Stream:
    """One running watch. `synced` is set after the first complete list, or when it is known that there will be none."""

    task: "asyncio.Task[None]"
    again: asyncio.Event
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    refused: bool = False
    down: bool = False


class Watches:
    """Starts and ends watches, and routes their events."""

    def __init__(
        self,
        cluster: Cluster,
        state: State,
        index: Index,
        wakeups: Wakeups,
        sources_bound: int,
        waits_bound: int,
        keep_policies: Callable[[], Awaitable[None]] | None,
        interrupted: Callable[[str, str], None] = lambda _resource, _cause: None,
    ) -> None:
        self._cluster = cluster
        self._state = state
        self._index = index
        self._wakeups = wakeups
        self._sources_bound = sources_bound
        self._waits_bound = waits_bound
        self._keep_policies = keep_policies
        self._interrupted = interrupted
        self._streams: dict[Hashable, Stream] = {}
        self._waits: dict[str, set[Wait]] = {}
        self._namespaces: set[str] = set()
        self._tenants: set[str] = set()
        self._tenancy_before = state.tenancy
        self._settling: asyncio.TimerHandle | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._unkept = False

    # Life.

    async def start(self) -> None:
        """Watch our kinds and namespaces; returns when all of them have been seen."""
        ours = [self._own(kind) for kind in kinds() if kind.status]
        streams = [*ours, self._follow("namespaces", NAMESPACES, self._namespace, metadata=True)]
        self._follow("crds", CRDS, self._definition, metadata=True)
        if self._keep_policies is not None:
            for name, resource in (("policies", POLICIES), ("bindings", BINDINGS)):
                self._follow(name, resource, self._policy, metadata=True, labels="app.kubernetes.io/managed-by=copyhold")
        await asyncio.gather(*(stream.synced.wait() for stream in streams))
        self._judge()

    async def stop(self) -> None:
        """End all watches."""
        if self._settling is not None:
            self._settling.cancel()
        tasks = [stream.task for stream in self._streams.values()] + ([self._keeping] if self._keeping else [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._streams.clear()

    @property
    def open(self) -> int:
        """How many watches run."""
        return len(self._streams)

    def refused(self, resource: Resource) -> bool:
        """True when the manager may not watch this kind: its targets are only compared at the resync."""
        stream = self._streams.get(("target", resource.group, resource.kind))
        return stream is not None and stream.refused

    def hurry(self) -> None:
        """The server answers again: whoever pauses after failures tries now."""
        for stream in self._streams.values():
            if stream.down:
                stream.again.set()

    def missing(self) -> list[str]:
        """What has not been seen yet; before anything is watched, everything."""
        if not self._streams:
            return ["everything: watching has not begun"]
        return [str(name) for name, stream in self._streams.items() if isinstance(name, str) and not stream.synced.is_set()]

    def _follow(
        self,
        name: Hashable,
        resource: Resource,
        handler: Callable[[Event], None],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
        seen: Callable[[], None] | None = None,
        lost: Callable[[], None] | None = None,
        listed: Callable[[Listing], None] | None = None,
    ) -> Stream:
        known = self._streams.get(name)
        if known is not None:
            return known

        again = asyncio.Event()

        def take(change: Replace | Event) -> None:
            if isinstance(change, Replace) and listed is not None:
                listed(change.listing)
            for event in [change] if isinstance(change, Event) else [Event("ADDED", item) for item in change.listing.items]:
                handler(event)

        def on_state(state: Follows, problem: Problem | None) -> None:
            if problem is not None:
                log.warning("watch interrupted", resource=resource.plural, reason=str(problem.reason), message=str(problem))
                self._interrupted(resource.plural, str(state))
            stream = self._streams.get(name)
            if stream is None:
                return
            stream.refused = state in (Follows.FORBIDDEN, Follows.GONE)
            stream.down = state in (Follows.UNAVAILABLE, Follows.FORBIDDEN)
            if state is Follows.SYNCED and seen is not None:
                seen()
            if state in (Follows.FORBIDDEN, Follows.GONE) and lost is not None:
                lost()
            if state is not Follows.UNAVAILABLE:
                stream.synced.set()

        coroutine = follow(
            self._cluster,
            resource,
            take,
            on_state,
            namespace=namespace,
            labels=labels,
            fields=fields,
            metadata=metadata,
            again=again,
        )
        task: asyncio.Task[None] = asyncio.create_task(coroutine, name=f"watch {resource.plural}")
        stream = Stream(task, again)
        self._streams[name] = stream
        return stream

    def _end(self, name: Hashable) -> None:
        stream = self._streams.pop(name, None)
        if stream is not None:
            stream.task.cancel()

    # Our kinds.

    def _own(self, kind: Kind) -> Stream:
        resource = Resource(kind.group, kind.version, kind.kind, kind.plural, kind.namespaced)
        handler = self._parent if kind.lower is not None else self._tenant if kind.kind == TENANT.kind else self._template
        return self._follow(kind.plural, resource, handler)

    def _parent(self, event: Event) -> None:
        kind = find(GROUP, event.object["kind"])
        if kind is None:
            return
        parent = Parent(kind, event.object)
        before = self._state.parents.get(parent.uid)
        if event.type == "DELETED":
            self._state.forget(parent.uid)
            self._wakeups.parent_gone(parent)
        else:
            self._state.parents[parent.uid] = parent
            self._wakeups.parent(before, parent)

    def _template(self, event: Event) -> None:
        uid = event.object["metadata"]["uid"]
        before = self._state.templates.get(uid)
        if event.type == "DELETED":
            self._state.templates.pop(uid, None)
        else:
            self._state.templates[uid] = event.object
        same = (
            before is not None and _looks(before) == _looks(event.object) and before.get("status") == event.object.get("status")
        )
        if event.type == "DELETED" or not same:
            self._wakeups.template(event.object)

    def _tenant(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        before = self._state.tenants.get(name)
        if event.type == "DELETED":
            self._state.tenants.pop(name, None)
        else:
            self._state.tenants[name] = event.object
        if event.type == "DELETED" or before is None or _looks(before) != _looks(event.object):
            self._tenants.add(name)
            self._settle()
        elif before.get("status") != event.object.get("status"):
            # Its status may have been compared with one that was not the latest: the watch was behind.
            self._wakeups.tenant_changed(name)

    # Namespaces.

    def _namespace(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        before = self._state.namespaces.get(name)
        if event.type == "DELETED":
            self._state.namespaces.pop(name, None)
        else:
            self._state.namespaces[name] = event.object
        if event.type == "DELETED" or before is None or _looks(before) != _looks(event.object):
            self._namespaces.add(name)
            self._settle()

    def _settle(self) -> None:
        self._state.changed()
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_later(SETTLE, self._judge)

    def _judge(self) -> None:
        """Changes of namespaces and tenants, judged together: 500 deleted namespaces are one judgement, not 500."""
        self._settling = None
        namespaces, self._namespaces = self._namespaces, set()
        tenants, self._tenants = self._tenants, set()
        before, self._tenancy_before = self._tenancy_before, self._state.tenancy
        self._wakeups.places(namespaces, tenants, before)

    # Targets.

    async def targets(self, resources: Iterable[Resource]) -> None:
        """Watch these kinds of targets and wait until each has been seen once."""
        streams = self.begin(resources)
        try:
            async with asyncio.timeout(SYNC_BOUND):
                await asyncio.gather(*(stream.synced.wait() for stream in streams))
        except TimeoutError:
            log.warning("targets not seen in time", kinds=sorted({resource.plural for resource in resources}))

    def begin(self, resources: Iterable[Resource]) -> list[Stream]:
        """Watch these kinds of targets from now on."""
        return [self._target(resource) for resource in resources]

    def _target(self, resource: Resource) -> Stream:
        group, kind = resource.group, resource.kind

        def handle(event: Event) -> None:
            metadata = event.object["metadata"]
            key = Key(group, kind, metadata.get("namespace", ""), metadata["name"])
            if event.type == "DELETED":
                before = self._index.remove(key, metadata["uid"])
                self._wakeups.target(key, before, None)
                return
            before, after = self._index.put(group, kind, event.object)
            if before != after:
                self._wakeups.target(key, before, after)

        def seen() -> None:
            self._index.mark_synced(group, kind)
            self._wakeups.kind_seen(group, kind)

        def lost() -> None:
            self._index.mark_synced(group, kind, synced=False)
            self._wakeups.kind_unseen(group, kind)

        return self._follow(
            ("target", group, kind),
            resource,
            handle,
            labels=f"{MANAGED}=true",
            metadata=True,
            seen=seen,
            lost=lost,
            listed=partial(self._listed, group, kind),
        )

    def _listed(self, group: str, kind: str, listing: Listing) -> None:
        """What only the answers to our own writes told of, and a later list does not have, went while nobody watched."""
        there = {(namespace_of(item), item["metadata"]["name"]) for item in listing.items}
        for key in list(self._index.keys(group, kind)):
            live = None if (key.namespace, key.name) in there else self._index.live(key)
            if live is not None and older(live.version, listing.resource_version):
                self._index.remove(key, live.uid)
                self._wakeups.target(key, live, None)

    # Sources.

    def sources(self, uid: str, sources: dict[Source, frozenset[str]]) -> None:
        """A parent reads these now; what is read is watched, up to the bound, and beyond that compared at the resync."""
        for unread in self._wakeups.read_by(uid, sources.items()):
            self._end(("source", unread))
        for source in sources:
            if self._count("source") >= self._sources_bound and ("source", source) not in self._streams:
                log.warning("too many sources to watch: this one is read at the resync", source=str(source))
                continue
            self._source(source)

    def _source(self, source: Source) -> None:
        ready = False

        def handle(event: Event) -> None:
            if ready:
                self._wakeups.source(source, namespace_of(event.object))

        def seen() -> None:
            nonlocal ready
            ready = True
            self._wakeups.source_seen(source)

        self._follow(
            ("source", source),
            source.resource,
            handle,
            namespace=source.namespace,
            labels=source.selector,
            fields=f"metadata.name={source.name}" if source.name else "",
            metadata=True,
            seen=seen,
        )

    def _count(self, word: str) -> int:
        return sum(1 for name in self._streams if isinstance(name, tuple) and name[0] == word)

    # What somebody waits for.

    def wait_for(self, uid: str, waits: set[Wait], *, keep: bool) -> None:
        """A parent waits for these foreign objects; `keep` adds to what it waited for before."""
        before = self._waits.get(uid, set())
        units = {wait.unit for wait in waits}
        now = waits | ({wait for wait in before if wait.unit not in units} if keep else set())
        self._waits[uid] = now
        for wait in before - now:
            self._end(("wait", uid, wait))
        room = self._waits_bound - self._count("wait")
        for wait in islice((wait for wait in now if ("wait", uid, wait) not in self._streams), max(room, 0)):
            self._wait(uid, wait)

    def _wait(self, uid: str, wait: Wait) -> None:
        ready = False

        def handle(_event: Event) -> None:
            if ready:
                self._wakeups.queue.add(uid, (wait.unit,))

        def seen() -> None:
            nonlocal ready
            ready = True
            self._wakeups.queue.add(uid, (wait.unit,))

        self._follow(
            ("wait", uid, wait),
            wait.resource,
            handle,
            namespace=wait.namespace,
            fields=f"metadata.name={wait.name}",
            metadata=True,
            seen=seen,
        )

    def forget(self, uid: str) -> None:
        """A parent is gone, or not ours any more."""
        self.sources(uid, {})
        self.wait_for(uid, set(), keep=False)
        self._waits.pop(uid, None)

    # Kinds and policies.

    def _definition(self, _event: Event) -> None:
        self._cluster.doubt()
        for stream in self._streams.values():
            if stream.refused or not stream.synced.is_set():
                stream.again.set()
        self._wakeups.kinds_changed()

    def _policy(self, _event: Event) -> None:
        self._unkept = True
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep(), name="keep policies")

    async def _keep(self) -> None:
        """Repair the policies; what changed meanwhile is looked at once more."""
        while self._unkept and self._keep_policies is not None:
            self._unkept = False
            try:
                await self._keep_policies()
            except Problem as problem:
                log.warning("admission policies not kept", reason=str(problem.reason), message=str(problem))


def _judged(template: Manifest) -> tuple[object, ...]:
    """What of a template concerns permits: what it says, and whether it was found right."""
    return *_looks(template), template.get("status")


def _looks(manifest: Manifest) -> tuple[object, ...]:
    """What of a tenant or a namespace concerns others: labels, annotations, spec, deletion."""
    metadata = manifest["metadata"]
    return metadata.get("labels"), metadata.get("annotations"), manifest.get("spec"), metadata.get("deletionTimestamp")
