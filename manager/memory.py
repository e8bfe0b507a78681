"""What a parent remembers of its targets, in its status and its TargetRecords, written so that no crash loses a target.

The order of writes and what it guarantees is in `policy.shards`. Problems that `Memory` raises, and who must act:

    Blocked (Unresolved)  a shard is counted and absent, or damaged: an administrator
    Stale                 somebody else wrote: load again and decide again
    Gone                  the parent is not there any more
    Forbidden, Unavailable and Invalid as the cluster raises them
"""

from collections.abc import Collection
from dataclasses import replace as changed
from typing import Any

from apis.kind import Parent, find
from apis.meta import FINALIZER, GROUP, Key, Manifest, older
from apis.problems import Blocked, Gone, Stale
from apis.reasons import Reason
from apis.record import Record
from manager.world import Cluster, Resource
from policy.shards import Part, Plan, Shard, Stored, decode, index_of, plan_write, records_of, unresolved

API_VERSION = f"{GROUP}/v1alpha1"
KIND = "TargetRecord"
RECORD_OF = f"{GROUP}/record-of"  # label on every shard: the UID of the parent

ATTEMPTS = 5  # at a status whose resourceVersion moves although nobody changes the status


class Memory:
    """The records of one parent, and everything that is needed to write them: what is stored, under which resourceVersions.

    Guarantees: nothing is written when nothing differs; `records` changes only after all of it is written.
    Assumption: nobody else writes at the same time (the Lease). Whoever does is noticed by resourceVersion: Stale.
    """

    def __init__(self, cluster: Cluster, parent: Parent, record: Resource, resource: Resource, *, inline: bool) -> None:
        self.records: dict[Key, Record] = {}
        self._cluster = cluster
        self._parent = parent
        self._record = record
        self._resource = resource
        self._inline = inline
        self._stored = Stored()
        self._shards: dict[str, Manifest] = {}  # each stored shard's metadata
        self._wanted = parent.status  # what we last read or asked for: the base of the next patch
        self._known = [parent.status]  # what the server may hold if nobody else wrote
        self._version = parent.resource_version
        self._object = parent.object  # the parent as it was at that resourceVersion
        self._proof = parent.uid if parent.kind.gated else ""  # admission guards the status of what gives access

    def after(self, parent: Parent) -> Parent:
        """The parent as the server last answered, with the status that we know.

        The answer, not what we had before: somebody may have deleted the parent just before our status was written, and the
        watch tells nothing new of that resourceVersion any more.
        """
        latest = parent.object if older(self._version, parent.resource_version) else self._object
        metadata = {**latest["metadata"], "resourceVersion": self._version}
        return changed(parent, object={**latest, "metadata": metadata, "status": self._known[0]})

    @classmethod
    async def load(cls, cluster: Cluster, parent: Parent, *, inline: bool = True) -> "Memory":
        """The memory of `parent`. `inline` False is for kinds whose status shows no items: all their records are in shards.

        Raises Blocked (Unresolved) when a part of it is missing, and Gone when the parent is not there any more.
        """
        record = await cluster.resource(API_VERSION, KIND)
        resource = await cluster.resource(parent.kind.api_version, parent.kind.kind)
        while True:
            memory = cls(cluster, parent, record, resource, inline=inline)
            try:
                await memory._read()
                return memory
            except Blocked as problem:
                if problem.reason is not Reason.UNRESOLVED:
                    raise
                # The parent may come from a watch that lags behind a change of layout: judge only its latest state.
                fresh = await _living(cluster, resource, parent)
                if fresh.resource_version == parent.resource_version:
                    raise
                parent = fresh

    def see(self, parent: Parent) -> None:
        """Take over the resourceVersion of a newer state of the parent (its spec, its finalizer) whose status is what we wrote.

        It spares a refused write; a status of somebody else's is left to be refused.
        """
        newer = parent.resource_version
        if older(self._version, newer) and parent.status == self._known[0]:
            self._version, self._object = newer, parent.object

    async def write(self, records: dict[Key, Record], status: Manifest) -> bool:
        """Remember `records` and publish `status` (without the fields of memory); False when both were so already.

        Raises Stale when somebody else wrote a shard or the status: load again.
        """
        plan = plan_write(self._parent.uid, self._stored, records, inline=self._inline)
        wanted = _without_nulls(status | plan.status)
        for shard in plan.puts:
            await self._put(shard, plan)
        told = await self._tell(wanted)
        self.records = dict(records)
        self._stored = plan.stored
        if plan.drops:
            await self._drop_others()
        return bool(plan.puts or told or plan.drops)

    async def forget(self) -> None:
        """Drop the shards, after the last target is gone. A parent that has none costs no request."""
        if self._stored.layout.shards:
            self._stored = Stored()
            await self._drop_others()

    # Reading

    async def _read(self) -> None:
        index = index_of(self._parent.uid, self._parent.status)
        if not index.layout.shards:
            self.records = records_of(self._parent.status.get("processedItems") or [])
            return
        parts: dict[str, Part] = {}
        for name in index.names:
            live = await self._cluster.get(self._record, "", name)
            if live is None:
                raise unresolved(f"TargetRecord {name} is counted in the status of {self._parent} and is not there")
            # Its digest may differ from the counted one: it was put, and then the status was not written. It is right.
            found = decode(_shard(live))
            self._shards[name] = live["metadata"]
            parts[name] = Part(found, live["digest"])
            self.records |= found
        self._stored = Stored(index.layout, parts)

    # Shards

    async def _put(self, shard: Shard, plan: Plan) -> None:
        metadata = self._shards.get(shard.name)
        answer = await (self._replace(shard, metadata) if metadata else self._create(shard))
        self._shards[shard.name] = answer["metadata"]
        # Known at once: should a later write fail, the next plan starts from what is stored. In a new layout that
        # is nothing, until the status names it.
        if plan.stored.layout == self._stored.layout:
            parts = dict(self._stored.parts) | {shard.name: plan.stored.parts[shard.name]}
            self._stored = changed(self._stored, parts=parts)

    async def _create(self, shard: Shard) -> Manifest:
        try:
            return await self._cluster.create(self._record, "", self._manifest(shard, {}))
        except Gone:
            raise
        except Stale:
            # A crash left it behind, or the answer to our own create was lost: nobody counts it yet.
            live = await self._cluster.get(self._record, "", shard.name)
            if live is None:
                raise
            if live.get("digest") == shard.digest:
                return live
            return await self._cluster.replace(self._record, self._manifest(shard, live["metadata"]))

    async def _replace(self, shard: Shard, metadata: Manifest) -> Manifest:
        try:
            return await self._cluster.replace(self._record, self._manifest(shard, metadata))
        except Gone:
            return await self._create(shard)  # somebody removed it, and we know what it held
        except Stale:
            live = await self._cluster.get(self._record, "", shard.name)
            if live is None:
                raise
            if live.get("digest") == shard.digest:
                return live  # the answer to our own replace was lost
            known = self._stored.parts.get(shard.name)
            if known is not None and live.get("digest") == known.digest:  # only its metadata changed
                return await self._cluster.replace(self._record, self._manifest(shard, live["metadata"]))
            raise

    def _manifest(self, shard: Shard, metadata: Manifest) -> Manifest:
        parent = self._parent
        kept = {name: metadata[name] for name in ("resourceVersion", "uid", "annotations") if metadata.get(name)}
        others = [finalizer for finalizer in metadata.get("finalizers") or [] if finalizer != FINALIZER]
        labels = dict(metadata.get("labels") or {}) | {RECORD_OF: parent.uid}
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": shard.name, "labels": labels, "finalizers": [FINALIZER, *others]} | kept,
            "parent": {
                "group": parent.kind.group,
                "kind": parent.kind.kind,
                "namespace": parent.namespace,
                "name": parent.name,
                "uid": parent.uid,
            },
            "shard": shard.number,
            "count": shard.count,
            "digest": shard.digest,
            "data": shard.data,
        }

    async def _drop_others(self) -> None:
        """Drop every shard of this parent that is not stored now: those of the layout before, and what a crash left behind."""
        listing = await self._cluster.list(self._record, labels=f"{RECORD_OF}={self._parent.uid}", metadata=True)
        for item in listing.items:
            if item["metadata"]["name"] not in self._stored.parts:
                await _drop(self._cluster, self._record, item["metadata"])
                self._shards.pop(item["metadata"]["name"], None)

    # The status

    async def _tell(self, wanted: Manifest) -> bool:
        for attempt in range(ATTEMPTS):
            patch = merge_patch(self._wanted, wanted)
            if not patch:
                return attempt > 0  # an earlier answer was lost, and the status is what we asked for
            body = {"metadata": {"resourceVersion": self._version}, "status": patch}
            self._known.append(wanted)
            try:
                answer = await self._cluster.merge_patch(
                    self._resource, self._parent.namespace, self._parent.name, body, subresource="status", proof=self._proof
                )
            except Gone:
                raise
            except Stale:
                await self._look_again()
            else:
                self._accept(answer, wanted)
                return True
        raise Stale(f"{self._parent} changes faster than its status can be written")

    async def _look_again(self) -> None:
        """Take over the parent's resourceVersion, if its status is still ours."""
        live = await _living(self._cluster, self._resource, self._parent)
        if live.status not in self._known:
            raise Stale(f"the status of {self._parent} was written by somebody else")
        self._version, self._object, self._wanted = live.resource_version, live.object, live.status

    def _accept(self, answer: Manifest, wanted: Manifest) -> None:
        self._version, self._object = answer["metadata"]["resourceVersion"], answer
        self._wanted = wanted
        # The server may have pruned or defaulted; compare later states with its form, and our wishes with ours.
        self._known = [answer.get("status", wanted)]


def merge_patch(before: Manifest, after: Manifest) -> Manifest:
    """The JSON merge patch (RFC 7386) that makes `after` (no nulls in its maps) of `before`; empty when they are equal."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := merge_patch(old, value):
                patch[name] = inner
        elif name not in before or old != value:
            patch[name] = value
    return patch


def _without_nulls(value: Manifest) -> Manifest:
    # A null in a merge patch removes, so that a status with nulls would differ from itself for ever.
    return {
        name: _without_nulls(inner) if isinstance(inner, dict) else inner for name, inner in value.items() if inner is not None
    }


async def _living(cluster: Cluster, resource: Resource, parent: Parent) -> Parent:
    """The parent as it is now. Raises Gone when it is not there, or is another object of the same name."""
    live = await cluster.get(resource, parent.namespace, parent.name)
    if live is None or live["metadata"]["uid"] != parent.uid:
        raise Gone(f"{parent} is not there any more")
    return changed(parent, object=live)


def _shard(live: Manifest) -> Shard:
    try:
        return Shard(live["metadata"]["name"], live["shard"], live["count"], live["digest"], live["data"])
    except KeyError as error:
        raise unresolved(f"TargetRecord {live['metadata']['name']} has no field {error}") from error


async def _drop(cluster: Cluster, record: Resource, metadata: Manifest) -> None:
    """Delete one shard: our finalizer off, then the object. Raises Stale when somebody else changed it meanwhile."""
    name = metadata["name"]
    try:
        version = metadata["resourceVersion"]
        if FINALIZER in (metadata.get("finalizers") or []):
            others = [finalizer for finalizer in metadata["finalizers"] if finalizer != FINALIZER]
            patch = {"metadata": {"resourceVersion": version, "finalizers": others}}
            version = (await cluster.merge_patch(record, "", name, patch))["metadata"]["resourceVersion"]
        if not metadata.get("deletionTimestamp"):
            await cluster.delete(record, "", name, uid=metadata["uid"], resource_version=version)
    except Gone:
        return  # that is what was wanted


async def sweep(cluster: Cluster, living: Collection[str]) -> int:
    """Drop the shards of parents that are gone, and say how many. `living` are the UIDs of the parents that are known to exist.

    A parent that is not in `living` is read afresh before anything is dropped; where its kind is not served, or it cannot be
    read, its shards stay: the problem is raised after the others were swept.
    """
    record = await cluster.resource(API_VERSION, KIND)
    listing = await cluster.list(record, labels=RECORD_OF, metadata=True)
    dropped = 0
    unsure: Exception | None = None
    for item in listing.items:
        if item["metadata"]["labels"][RECORD_OF] in living:
            continue
        try:
            dropped += await _sweep_one(cluster, record, item["metadata"]["name"])
        except (Blocked, Stale) as problem:
            unsure = problem
    if unsure is not None:
        raise unsure
    return dropped


async def _sweep_one(cluster: Cluster, record: Resource, name: str) -> bool:
    live = await cluster.get(record, "", name)
    if live is None:
        return False
    parent = live["parent"]
    kind = find(parent["group"], parent["kind"])
    if kind is None:
        raise Blocked(
            Reason.KIND_UNKNOWN, f"TargetRecord {name} belongs to a {parent['kind']}.{parent['group']}, which is no kind of ours"
        )
    resource = await cluster.resource(kind.api_version, kind.kind)
    found = await cluster.get(resource, parent.get("namespace", ""), parent["name"], metadata=True)
    if found is not None and found["metadata"]["uid"] == parent["uid"]:
        return False
    await _drop(cluster, record, live["metadata"])
    return True
