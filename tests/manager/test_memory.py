"""Memory against a store: what is written and in which order, what a failure leaves, and who is told."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from apis.kind import Parent, find
from apis.meta import FINALIZER, Key, Manifest, Ref
from apis.problems import Blocked, Gone, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.cluster import ApiCluster
from manager.memory import Memory, merge_patch, sweep
from manager.world import Resource
from tests.realserver.access import Access
from tests.support.crds import crds  # noqa: F401 - a fixture
from tests.support.objects import Fault, Objects, no_fault
from tests.support.real import connect

UID = "0b7c5f2e-6a41-4c8c-9d7f-2f1a5f0c9a11"
KIND = find("copyhold.dev", "GlobalTenantResource")
PARENTS = Resource("copyhold.dev", "v1alpha1", "GlobalTenantResource", "globaltenantresources", namespaced=False)
RECORDS = Resource("copyhold.dev", "v1alpha1", "TargetRecord", "targetrecords", namespaced=False)


def many(count: int, **fields) -> dict[Key, Record]:
    """So many ConfigMaps, ten in a namespace."""
    given = {"ok": True, "reason": Reason.UNCHANGED} | fields
    made = (
        Record(Ref("", "v1", "ConfigMap", f"team-{n // 10}", f"cm-{n % 10}"), "configmaps", False, f"team-{n // 10}", "", **given)
        for n in range(count)
    )
    return {record.key: record for record in made}


def touched(records: dict[Key, Record], namespace: str) -> dict[Key, Record]:
    """The same records, with another digest in one namespace."""
    return {key: replace(each, payload="new") if key.namespace == namespace else each for key, each in records.items()}


def store() -> Objects:
    """A store with one parent that has no status yet."""
    objects = Objects(PARENTS, RECORDS)
    metadata = {"name": "baseline", "uid": UID}
    objects.put(PARENTS, {"apiVersion": "copyhold.dev/v1alpha1", "kind": KIND.kind, "metadata": metadata})
    return objects


def parent(objects: Objects) -> Parent:
    """The parent as it is stored now."""
    return Parent(KIND, objects.objects(PARENTS)[0])


async def written(records: dict[Key, Record], **status) -> tuple[Objects, Memory]:
    """A store whose parent remembers `records`, and the memory that wrote them; the log is empty again."""
    objects = store()
    memory = await Memory.load(objects, parent(objects))
    await memory.write(records, status)
    objects.log.clear()
    return objects, memory


async def loaded(objects: Objects) -> dict[Key, Record]:
    """What a manager that starts now remembers."""
    return (await Memory.load(objects, parent(objects))).records


@pytest.mark.parametrize("count", [0, 1, 200, 201, 1_500])
async def test_what_was_written_is_loaded(count):
    """Inline or in shards, another replica remembers the same."""
    objects, memory = await written(many(count), observedGeneration=3)
    assert memory.records == many(count)
    assert await loaded(objects) == many(count)
    assert parent(objects).status["observedGeneration"] == 3
    assert parent(objects).status["size"] == count


async def test_shards_are_written_before_the_counts():
    """The status never counts what is not there yet; what it does not count any more goes last."""
    objects, memory = await written({})
    await memory.write(many(1_500), {})
    assert objects.log == [
        f"create targetrecords {UID}-2",
        f"create targetrecords {UID}-3",
        "patch globaltenantresources baseline/status",
    ]
    objects.log.clear()
    await memory.write(many(10), {})
    assert objects.log == [
        "patch globaltenantresources baseline/status",
        f"patch targetrecords {UID}-2",
        f"delete targetrecords {UID}-2",
        f"patch targetrecords {UID}-3",
        f"delete targetrecords {UID}-3",
    ]
    assert not objects.objects(RECORDS)


async def test_only_the_shard_that_changed_is_replaced():
    """A namespace's new state costs one shard and the status."""
    objects, memory = await written(many(1_500))
    assert await memory.write(touched(many(1_500), "team-7"), {})
    assert len(objects.log) == 2
    assert objects.log[0].startswith("replace targetrecords")


@pytest.mark.parametrize("count", [0, 150, 1_500])
async def test_nothing_is_written_when_nothing_differs(count):
    """A second pass writes nothing, in the same process and after a restart."""
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready"}], "serviceAccount": {"name": "x"}}
    objects, memory = await written(many(count), **status)
    assert not await memory.write(many(count), status)
    again = await Memory.load(objects, parent(objects))
    assert not await again.write(many(count), status)
    assert objects.log == []


async def test_fields_that_vanish_are_removed():
    """The stored status is the one that was asked for, also in what it lacks."""
    objects, memory = await written(many(1), serviceAccount={"namespace": "a", "name": "b"}, selectedTenants=["x"])
    await memory.write(many(1), {"serviceAccount": {"namespace": "a"}, "absent": None})
    status = parent(objects).status
    assert status["serviceAccount"] == {"namespace": "a"}
    assert set(status) == {"serviceAccount", "size", "processedItems"}


async def test_a_shard_says_whose_it_is_and_nobody_owns_it():
    """Foreground deletion of the parent must not take memory first: a finalizer, no owner reference."""
    objects, _ = await written(many(300))
    [shard] = objects.objects(RECORDS)
    assert shard["parent"] == {"group": "copyhold.dev", "kind": KIND.kind, "namespace": "", "name": "baseline", "uid": UID}
    assert shard["metadata"]["finalizers"] == [FINALIZER]
    assert "ownerReferences" not in shard["metadata"]
    assert (shard["shard"], shard["count"]) == (1, 300)
    assert parent(objects).status["records"]["shards"] == [{"name": f"{UID}-1", "count": 300, "digest": shard["digest"]}]


# Missing and damaged


async def test_a_shard_that_is_counted_and_absent_is_unresolved():
    """An absent shard is never empty: nothing is concluded from it."""
    objects, _ = await written(many(1_500))
    del objects.stored[("targetrecords", "", f"{UID}-3")]
    with pytest.raises(Blocked, match="is not there") as caught:
        await loaded(objects)
    assert caught.value.reason is Reason.UNRESOLVED


@pytest.mark.parametrize("field", ["data", "digest", "count"])
async def test_a_shard_without_a_field_is_unresolved(field):
    """Half a shard is not an empty one."""
    objects, _ = await written(many(300))
    [shard] = objects.objects(RECORDS)
    objects.put(RECORDS, {key: value for key, value in shard.items() if key != field})
    with pytest.raises(Blocked) as caught:
        await loaded(objects)
    assert caught.value.reason is Reason.UNRESOLVED


async def test_a_parent_read_before_its_layout_changed_is_read_again():
    """A watch that lags shows shards that are dropped by now: only the latest state is judged."""
    objects, memory = await written(many(300))
    lagging = parent(objects)
    await memory.write(many(1_500), {})
    assert (await Memory.load(objects, lagging)).records == many(1_500)


async def test_a_shard_that_somebody_removed_is_made_again_by_who_knows_it():
    """As long as a replica remembers, a removed shard costs nothing."""
    objects, memory = await written(many(300))
    del objects.stored[("targetrecords", "", f"{UID}-1")]
    await memory.write(touched(many(300), "team-1"), {})
    assert await loaded(objects) == touched(many(300), "team-1")


# Others


async def test_an_edit_of_the_spec_does_not_disturb_a_write():
    """The resourceVersion moved and the status did not: the write goes on with the new one."""
    objects, memory = await written(many(1))
    objects.put(PARENTS, parent(objects).object | {"spec": {"cordoned": True}})
    assert await memory.write(many(2), {})
    assert await loaded(objects) == many(2)
    assert parent(objects).object["spec"] == {"cordoned": True}


async def test_a_newer_state_of_the_parent_spares_a_refused_write():
    """Its spec or finalizer changed, as the watch shows: the next status goes through at once."""
    objects, memory = await written(many(3))
    objects.put(PARENTS, parent(objects).object | {"spec": {"cordoned": True}})
    memory.see(parent(objects))
    await memory.write(many(4), {})
    assert objects.log == ["patch globaltenantresources baseline/status"]


async def test_a_newer_state_with_a_foreign_status_is_still_stale():
    """Seeing the parent excuses nobody's write of the status."""
    objects, memory = await written(many(3))
    objects.put(PARENTS, parent(objects).object | {"status": {"processedItems": []}})
    memory.see(parent(objects))
    with pytest.raises(Stale):
        await memory.write(many(4), {})


async def test_another_writer_of_the_status_is_stale():
    """Another replica wrote: what we know is old, and nothing of it may be written over."""
    objects, memory = await written(many(1))
    other = await Memory.load(objects, parent(objects))
    await other.write(many(2), {})
    with pytest.raises(Stale, match="written by somebody else"):
        await memory.write(many(3), {})
    assert await loaded(objects) == many(2)


async def test_another_writer_of_a_shard_is_stale():
    """A shard that is not what we read is not replaced."""
    objects, memory = await written(many(300))
    other = await Memory.load(objects, parent(objects))
    await other.write(touched(many(300), "team-1"), {})
    with pytest.raises(Stale):
        await memory.write(touched(many(300), "team-2"), {})
    assert await loaded(objects) == touched(many(300), "team-1")


async def test_a_label_on_a_shard_does_not_disturb_a_write():
    """Only its metadata changed: the label stays, the shard is replaced."""
    objects, memory = await written(many(300))
    [shard] = objects.objects(RECORDS)
    shard["metadata"]["labels"]["team"] = "x"
    objects.put(RECORDS, shard)
    await memory.write(touched(many(300), "team-1"), {})
    [after] = objects.objects(RECORDS)
    assert after["metadata"]["labels"]["team"] == "x"
    assert await loaded(objects) == touched(many(300), "team-1")


@pytest.mark.parametrize("successor", [None, "another"], ids=["gone", "replaced"])
async def test_a_parent_that_is_gone_is_gone(successor):
    """The status of a later parent of the same name is not ours."""
    objects, memory = await written(many(1))
    old = parent(objects).object
    del objects.stored[("globaltenantresources", "", "baseline")]
    if successor:
        objects.put(PARENTS, old | {"metadata": {"name": "baseline", "uid": successor}})
    with pytest.raises(Gone):
        await memory.write(many(2), {})


# Failures


STATES = {"none": many(0), "inline": many(100), "few": many(300), "more": many(1_500), "touched": touched(many(1_500), "team-3")}


def at(number: int, what: str) -> Fault:
    """A fault at exactly one write, and a crash: nothing after it arrives."""
    return lambda write: "" if write < number else what if write == number else "refused"


@pytest.mark.parametrize("what", ["refused", "lost"])
@pytest.mark.parametrize(("before", "after"), [(a, b) for a in STATES for b in STATES if a != b])
async def test_no_failed_write_loses_a_record(before, after, what):
    """After a failure at any request, a new process remembers all that stayed, and the old one can try again."""
    old, new = STATES[before], STATES[after]
    for number in range(1, 12):
        objects, memory = await written(old)
        start = objects._writes
        objects.fault = at(start + number, what)
        failed = await _fails(memory, new)
        objects.fault = no_fault
        found = await loaded(objects)
        assert old.keys() & new.keys() <= found.keys() <= old.keys() | new.keys()
        await memory.write(new, {})
        assert await loaded(objects) == new
        if not failed:
            return
    pytest.fail("more requests than expected")


async def _fails(memory: Memory, records: dict[Key, Record]) -> bool:
    try:
        await memory.write(records, {})
    except Unavailable:
        return True
    return False


# Ends


async def test_forgetting_drops_every_shard_of_the_parent_and_no_other():
    """After the last target nothing is left, not even what a crash left behind."""
    objects, memory = await written(many(1_500))
    stray = objects.objects(RECORDS)[0]
    objects.put(RECORDS, stray | {"metadata": stray["metadata"] | {"name": f"{UID}-4"}})
    objects.put(RECORDS, stray | {"metadata": {"name": "other-1", "labels": {"copyhold.dev/record-of": "other"}}})
    await memory.forget()
    assert [shard["metadata"]["name"] for shard in objects.objects(RECORDS)] == ["other-1"]


async def test_forgetting_what_is_inline_costs_no_request():
    """A parent without shards has nothing to drop."""
    objects, memory = await written(many(3))
    await memory.forget()
    assert objects.log == []


async def test_a_sweep_drops_the_shards_of_parents_that_are_gone():
    """The shards of a living parent stay, also when the caller does not know it yet."""
    objects, _ = await written(many(300))
    assert await sweep(objects, set()) == 0
    del objects.stored[("globaltenantresources", "", "baseline")]
    assert await sweep(objects, {UID}) == 0
    assert await sweep(objects, set()) == 1
    assert not objects.objects(RECORDS)


async def test_a_sweep_keeps_the_shards_of_an_unknown_kind():
    """What cannot be looked up is not gone, and it is said."""
    objects, _ = await written(many(300))
    [shard] = objects.objects(RECORDS)
    objects.put(RECORDS, shard | {"parent": shard["parent"] | {"kind": "Unheard"}})
    with pytest.raises(Blocked, match=r"Unheard\.copyhold\.dev"):
        await sweep(objects, set())
    assert objects.objects(RECORDS)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 2]}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_a_merge_patch_is_the_difference(before, after, patch):
    """Only what differs is sent; a list is sent as a whole."""
    assert merge_patch(before, after) == patch


# The real server


@pytest.fixture
async def cluster(server: Access) -> AsyncIterator[ApiCluster]:
    """The real server, as the manager sees it."""
    made = connect(server)
    yield made
    await made.client.close()


@pytest.mark.usefixtures("crds")
async def test_a_real_server_keeps_memory_as_it_was_written(
    cluster: ApiCluster, temporary: Callable[[Manifest], Manifest], unique
):
    """CRDs prune and validate: what comes back is what was written, a second write is none, and everything can be dropped."""
    manifest = temporary(
        {
            "apiVersion": "copyhold.dev/v1alpha1",
            "kind": KIND.kind,
            "metadata": {"name": unique("memory")},
            "spec": {"scope": "None", "resources": [{"template": "x"}]},
        }
    )
    memory = await Memory.load(cluster, Parent(KIND, manifest))
    failed = {
        key: replace(each, ok=False, reason=Reason.REFUSED, message="no", seen="s", pending=True)
        for key, each in many(60).items()
    }
    for records in (many(3, account="a/b", gone="2026-01-01T00:00:00Z"), many(2_500) | failed, many(300), {}):
        assert await memory.write(records, {"observedGeneration": 1})
        fresh = await cluster.get(PARENTS, "", manifest["metadata"]["name"])
        again = await Memory.load(cluster, Parent(KIND, fresh))
        assert again.records == records
        assert not await again.write(records, {"observedGeneration": 1})
    await memory.forget()
    listing = await cluster.list(RECORDS, labels=f"copyhold.dev/record-of={manifest['metadata']['uid']}", metadata=True)
    assert listing.items == []
