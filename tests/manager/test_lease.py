"""Leases in their thread: gained, renewed, handed over, and fenced, against a store in memory and against a real server."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest

from apis.problems import Unavailable
from manager.cluster import ApiCluster
from manager.lease import Elector, Fence, Span, lease_of
from manager.world import Cluster, Resource
from policy.election import Terms
from tests.realserver.access import Access
from tests.support.api import Api, Manifest
from tests.support.objects import Objects
from tests.support.real import connect

LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
QUICK = Terms(lease=1.0, renew=0.2, retry=0.1, margin=0.3, request=0.4, drain=0.5, forget=1.5)
SHARDS = {0, 1, 2, 3}


class Clock:
    """A clock that stands still until the test moves it."""

    now = 100.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


class Replica:
    """An Elector, and what it told."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Cluster]], namespace: str, name: str, **options) -> None:
        self.held: set[int] = set()
        self.told: list[tuple[str, int]] = []
        self.elector = Elector(opened, namespace, name, gained=self._gained, lost=self._lost, **options)

    def _gained(self, shard: int) -> None:
        self.held.add(shard)
        self.told.append(("gained", shard))

    def _lost(self, shard: int) -> None:
        self.held.discard(shard)
        self.told.append(("lost", shard))


async def eventually(condition: Callable[[], object], within: float = 10.0) -> float:
    """Wait until the condition holds; the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + within, f"not within {within} s"
        await asyncio.sleep(0.01)
    return time.monotonic() - began


def kept(objects: Objects) -> Callable[[], AbstractAsyncContextManager[Cluster]]:
    """Opens a store in memory; the replicas share it, as they share a server."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Cluster]:
        yield objects

    return opened


# The fence


def test_a_fence_is_open_until_its_deadline():
    """Whoever asks later gets less, and nothing after the deadline, however long the process was stopped."""
    clock = Clock()
    fence = Fence(clock)
    fence.grant({1: Span(acquired=99.0, until=103.0)})
    assert (fence.remaining(1), fence.acquired_at(1), fence.remaining(2)) == (3.0, 99.0, 0.0)
    clock.now += 5
    assert (fence.remaining(1), fence.acquired_at(1)) == (0.0, None)


def test_a_gate_speaks_for_the_tenure_that_it_was_bound_to():
    """A later tenure of the same shard does not let through what was decided in the earlier one."""
    clock = Clock()
    fence = Fence(clock)
    fence.grant({1: Span(100.0, 103.0)})
    with fence.writing(1):
        assert fence.gate() == 3.0
        fence.grant({1: Span(100.0, 104.0)})
        assert fence.gate() == 4.0
        fence.grant({1: Span(101.0, 110.0)})
        assert fence.gate() == 0.0
    assert fence.gate() is None


def test_a_gate_is_closed_for_a_shard_that_is_not_ours():
    """Nothing is sent for a shard before it is gained, also when it is gained in the meantime."""
    fence = Fence(Clock())
    with fence.writing(1):
        assert fence.gate() == 0.0
        fence.grant({1: Span(100.0, 103.0)})
        assert fence.gate() == 0.0


# The thread


async def test_one_replica_has_all_shards_and_gives_them_back():
    """Alone it has everything; after it left nothing is held and no member is left."""
    objects = Objects(LEASES)
    replica = Replica(kept(objects), "manager", "a", terms=QUICK)
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    assert all(replica.elector.fence.remaining(shard) > 0 for shard in SHARDS)
    await replica.elector.stop()
    await eventually(lambda: not replica.held)
    leases = [lease_of(lease) for lease in objects.objects(LEASES)]
    assert [(lease.name, lease.holder) for lease in leases] == [(f"copyhold-shard-{shard}", "") for shard in range(4)]


async def test_two_replicas_share_and_the_other_takes_over_at_once():
    """A second replica gets its part when the first has drained it, and everything when the first leaves."""
    objects = Objects(LEASES)
    drained: list[int] = []

    async def drain(shard: int) -> None:
        drained.append(shard)

    first = Replica(kept(objects), "manager", "a", terms=QUICK, drain=drain, shards=16)
    second = Replica(kept(objects), "manager", "b", terms=QUICK, shards=16)
    await first.elector.start()
    await eventually(lambda: len(first.held) == 16)
    await second.elector.start()
    await eventually(lambda: second.held and first.held | second.held == set(range(16)))
    assert not first.held & second.held
    assert second.held <= set(drained)
    await first.elector.stop()
    await eventually(lambda: len(second.held) == 16)
    await second.elector.stop()


async def test_work_that_does_not_end_is_fenced_and_the_shard_released():
    """A replica that leaves does not wait for ever for what it had begun."""
    objects = Objects(LEASES)

    async def drain(shard: int) -> None:
        await asyncio.Event().wait()

    replica = Replica(kept(objects), "manager", "a", terms=QUICK, drain=drain)
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    await replica.elector.stop()
    assert all(replica.elector.fence.remaining(shard) == 0 for shard in SHARDS)
    assert all(not lease_of(lease).holder for lease in objects.objects(LEASES))
    for task in replica.elector._draining:
        task.cancel()


async def test_a_server_that_does_not_answer_costs_the_shards():
    """Without renewals the fence closes and the loss is told; afterwards everything is gained anew."""
    objects = Objects(LEASES)
    replica = Replica(kept(objects), "manager", "a", terms=QUICK)
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    tenure = replica.elector.fence.acquired_at(0)
    objects.fault = lambda write: "refused"
    await eventually(lambda: not replica.held)
    assert replica.elector.fence.remaining(0) == 0
    objects.fault = lambda write: ""
    await eventually(lambda: replica.held == SHARDS)
    assert replica.elector.fence.acquired_at(0) != tenure
    await replica.elector.stop()


async def test_a_busy_main_loop_does_not_lose_its_leases():
    """The thread renews while the main loop is blocked for longer than a lease."""
    objects = Objects(LEASES)
    replica = Replica(kept(objects), "manager", "a", terms=QUICK)
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    time.sleep(1.5)  # noqa: ASYNC251 - that is the point
    assert all(replica.elector.fence.remaining(shard) > 0 for shard in SHARDS)
    await replica.elector.stop()
    assert [word for word, _ in replica.told] == ["gained"] * 4 + ["lost"] * 4


async def test_the_lease_of_a_member_that_crashed_is_deleted():
    """What nobody renews is removed by whoever lives."""
    objects = Objects(LEASES)
    dead = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "x", "leaseDurationSeconds": 1}}
    objects.put(LEASES, dead | {"metadata": {"name": "copyhold-member-x", "namespace": "manager"}})
    replica = Replica(kept(objects), "manager", "a", terms=QUICK)
    await replica.elector.start()
    await eventually(lambda: "delete leases copyhold-member-x" in objects.log)
    await replica.elector.stop()


async def test_what_ends_the_thread_is_raised():
    """A thread that cannot go on holds nothing and says so."""

    @asynccontextmanager
    async def broken() -> AsyncIterator[Cluster]:
        raise RuntimeError("no connection can be made")
        yield

    replica = Replica(broken, "manager", "a", terms=QUICK)
    await replica.elector.start()
    with pytest.raises(RuntimeError, match="no connection"):
        await replica.elector.wait()


# The real server


def real(server: Access) -> Callable[[], AbstractAsyncContextManager[Cluster]]:
    """Opens the real server, over connections of its own."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[ApiCluster]:
        cluster = connect(server)
        try:
            yield cluster
        finally:
            await cluster.client.close(0)

    return opened


async def test_on_a_real_server_leaving_hands_over_within_two_seconds(server: Access, api: Api, namespace: str):
    """Two replicas share; when one leaves, the other has everything at once, and only Leases were ever written."""
    first, second = (Replica(real(server), namespace, name) for name in ("a", "b"))
    await first.elector.start()
    await eventually(lambda: first.held == SHARDS)
    await second.elector.start()
    await eventually(lambda: any(who["metadata"]["name"].startswith("copyhold-member-b") for who in leases(api, namespace)))
    await eventually(lambda: first.held | second.held == SHARDS and not first.held & second.held)
    leaving = asyncio.create_task(first.elector.stop())
    assert await eventually(lambda: second.held == SHARDS) < 2
    await leaving
    await second.elector.stop()
    found = leases(api, namespace)
    assert [lease["metadata"]["name"] for lease in found] == [f"copyhold-shard-{shard}" for shard in range(4)]
    assert all(lease["spec"].get("holderIdentity", "") == "" for lease in found)


def leases(api: Api, namespace: str) -> list[Manifest]:
    """All Leases of the namespace."""
    items: list[Manifest] = api.list("coordination.k8s.io/v1", "Lease", namespace).expect(200).body["items"]
    return items


ALONE = """
import asyncio, sys
from pathlib import Path
from tests.manager.test_lease import Replica, SHARDS, eventually, real
from tests.realserver.access import Access

async def main():
    replica = Replica(real(Access.load(Path(sys.argv[1]).read_text())), sys.argv[2], "a")
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    print("held", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_on_a_real_server_a_crash_hands_over_within_six_seconds(server: Access, namespace: str, tmp_path: Path):
    """A process that is killed gives nothing back: its lease runs out, and its member is not counted any more."""
    access = tmp_path / "access.json"
    access.write_text(server.dump())
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ALONE, str(access), namespace), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    second = Replica(real(server), namespace, "b")
    try:
        assert await process.stdout.readline() == b"held\n"
        await second.elector.start()
        process.kill()
        assert await eventually(lambda: second.held == SHARDS) < 6
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
    await second.elector.stop()


def test_a_released_lease_reads_as_free():
    """The server leaves out what is empty."""
    manifest = {"metadata": {"name": "copyhold-shard-0", "resourceVersion": "7", "uid": "u"}}
    assert lease_of(manifest).holder == ""


async def test_an_unavailable_discovery_is_waited_for():
    """A replica that starts before its server takes part as soon as it answers."""
    objects = Objects(LEASES)
    answers = iter([Unavailable("not yet"), Unavailable("not yet")])
    lookup = objects.resource

    async def resource(api_version: str, kind: str) -> Resource:
        for problem in answers:
            raise problem
        return await lookup(api_version, kind)

    objects.resource = resource
    replica = Replica(kept(objects), "manager", "a", terms=QUICK)
    await replica.elector.start()
    await eventually(lambda: replica.held == SHARDS)
    await replica.elector.stop()
