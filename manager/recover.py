"""After a total loss of memory: the parent's label is listed once over all served kinds, and proof decides what is ours."""

from apis.intent import Deletion, Policy
from apis.kind import Parent
from apis.meta import PARENT_PREFIX, PROTECTED, Key, Manifest, Ref
from apis.problems import Forbidden, Gone
from apis.record import Record
from manager.world import Cluster, Resource
from policy.ownership import observe


async def recover(cluster: Cluster, parent: Parent) -> dict[Key, Record]:
    """The targets that provably belong to a parent whose records are lost.

    Read as the manager, metadata only. A kind that it may not list is left out. What is found is taken back by `Remove` if it
    was created and released if it was adopted: more is not known of it until the next apply.
    """
    records: dict[Key, Record] = {}
    for resource in await cluster.served():
        if not {"list", "patch", "delete"} <= resource.verbs:
            continue
        try:
            listing = await cluster.list(resource, labels=f"{PARENT_PREFIX}{parent.uid}", metadata=True)
        except (Forbidden, Gone):
            continue
        for manifest in listing.items:
            record = _recovered(manifest, resource, parent)
            if record is not None:
                records[record.key] = record
    return records


def _recovered(manifest: Manifest, resource: Resource, parent: Parent) -> Record | None:
    live = observe(manifest)
    mine = live.held_by(parent.manager)
    if mine is None:
        return None
    protected = PROTECTED in (manifest["metadata"].get("labels") or {})
    ref = Ref.of(manifest)
    return Record(
        ref=ref,
        resource=resource.plural,
        cluster_scoped=not resource.namespaced,
        unit=ref.namespace,
        tenant="",
        policy=Policy(protect=protected, deletion=Deletion.REMOVE),
        uid=live.uid,
        created=mine.mark == "created",
        fields=mine.fields,
    )
