"""Each fault, as our own client meets it: what it sees, and whether the request was carried out."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from apis.problems import Expired, Problem, Unavailable
from manager import cluster as clusters
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.embedded.cluster import Embedded
from manager.embedded.faults import (
    CutAnswer,
    CutStream,
    Delay,
    Drop,
    ExpireWatch,
    Fail,
    FailAnswer,
    Faults,
    Gap,
    Make,
    Match,
    Reborn,
    Strike,
)
from manager.embedded.http import Fault
from manager.embedded.request import Request
from manager.http import Client
from manager.world import Event, Resource

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", True)
APPLIES = Match(verb="patch", resource="configmaps")
WATCHES = Match(verb="watch", resource="configmaps")


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    """An embedded cluster of the test's own, in its event loop."""
    async with Embedded() as running:
        yield running


@pytest.fixture
def faults(server: Embedded) -> Faults:
    """What that server does to requests."""
    server.intercept = made = Faults()
    return made


@pytest.fixture
async def cluster(server: Embedded) -> AsyncIterator[ApiCluster]:
    """Our client of it."""
    client = Client(endpoint(server.url, server.ca, server.token))
    yield ApiCluster(client)
    await client.close(1.0)


async def apply(cluster: ApiCluster, name: str = "x", **data: str) -> None:
    """Server-side apply of a ConfigMap."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}
    await cluster.apply(CONFIG_MAP, "default", name, orjson.dumps(manifest), manager="tests")


def telling(make: Make, begun: asyncio.Event) -> Make:
    """The same fault, and an event when its request has come."""

    def made() -> Fault:
        begun.set()
        return make()

    return made


async def there(cluster: ApiCluster, name: str = "x") -> bool:
    """Is it?"""
    return await cluster.get(CONFIG_MAP, "default", name) is not None


@pytest.mark.parametrize(
    ("make", "done", "maybe", "retry_after"),
    [
        pytest.param(Drop, False, True, None, id="dropped"),
        pytest.param(CutAnswer, True, True, None, id="done, and the answer is lost"),
        pytest.param(partial(Fail, 429, retry_after=3), False, False, 3.0, id="429"),
        pytest.param(partial(Fail, 500), False, True, None, id="500"),
        pytest.param(partial(Fail, 503), False, True, None, id="503"),
        pytest.param(partial(FailAnswer, 504), True, True, None, id="done, and 504"),
    ],
)
async def test_a_write_fails_and_was_done_or_not(
    cluster: ApiCluster, faults: Faults, make: Make, done: bool, maybe: bool, retry_after: float | None
) -> None:
    """The client says rightly whether it may have been done; the next one goes through."""
    faults.at(1, make, APPLIES)
    with pytest.raises(Unavailable) as caught:
        await apply(cluster)
    assert (caught.value.maybe_done, caught.value.retry_after) == (maybe, retry_after)
    assert await there(cluster) is done
    await apply(cluster)
    assert [hit.method for hit in faults.hits] == ["PATCH"]


async def test_a_delay_lets_others_go_first(cluster: ApiCluster, faults: Faults) -> None:
    """The request is carried out when the time is over, on the object as it is then."""
    begun = asyncio.Event()
    faults.at(1, telling(partial(Delay, 0.2), begun), APPLIES)
    order: list[str] = []

    async def write(name: str) -> None:
        await apply(cluster, name)
        order.append(name)

    late = asyncio.create_task(write("late"))
    await begun.wait()
    await write("early")
    await late
    assert order == ["early", "late"]


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
async def test_a_strike_does_something_of_the_tests_own(cluster: ApiCluster, faults: Faults, late: bool) -> None:
    """Before the request is carried out, or after; no answer comes."""
    struck: list[str] = []
    faults.at(1, partial(Strike, partial(struck.append, "struck"), late=late), APPLIES)
    with pytest.raises(Unavailable):
        await apply(cluster)
    assert struck == ["struck"]
    assert await there(cluster) is late


async def test_a_page_that_expired_makes_a_list_begin_anew(
    cluster: ApiCluster, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """410 on the second page: nothing of the first one counts."""
    monkeypatch.setattr(clusters, "PAGE", 2)
    for name in ("a", "b", "c"):
        await apply(cluster, name, of="test")
    faults.at(1, partial(Fail, 410), Match(resource="configmaps", page=True))
    listing = await cluster.list(CONFIG_MAP, "default")
    assert {"a", "b", "c"} <= {item["metadata"]["name"] for item in listing.items}
    assert len(faults.hits) == 1


# Watches.


async def read(cluster: ApiCluster, since: str, into: list[Event], most: int = 0) -> None:
    """Read a watch to its end, or until there are `most` events; bookmarks apart."""
    watch = cluster.watch(CONFIG_MAP, "default", since=since, metadata=True)
    assert isinstance(watch, AsyncGenerator)
    async with aclosing(watch) as stream:
        async for event in stream:
            into += [event] if event.type != "BOOKMARK" else []
            if len(into) == most > 0:
                return


def names(events: list[Event]) -> list[str]:
    """Whose events they are."""
    return [event.object["metadata"]["name"] for event in events]


async def watched(cluster: ApiCluster, faults: Faults, make: Make, *written: str) -> tuple[list[Event], Problem | None, str]:
    """What a watch with this fault shows of these writes until it ends, how it ends, and the version to go on from."""
    begun = asyncio.Event()
    faults.at(1, telling(make, begun), WATCHES)
    since = (await cluster.list(CONFIG_MAP, "default", metadata=True)).resource_version
    events: list[Event] = []
    reading = asyncio.create_task(read(cluster, since, events))
    await begun.wait()
    for name in written:
        await apply(cluster, name)
    try:
        async with asyncio.timeout(20):
            await reading
    except Problem as problem:
        return events, problem, since
    return events, None, events[-1].object["metadata"]["resourceVersion"] if events else since


async def test_a_watch_breaks_off(cluster: ApiCluster, faults: Faults) -> None:
    """After as many events as were wished for, without a good end."""
    events, problem, _ = await watched(cluster, faults, partial(CutStream, 1), "a", "b")
    assert names(events) == ["a"]
    assert isinstance(problem, Unavailable)


async def test_a_watch_leaves_out_events_and_ends(cluster: ApiCluster, faults: Faults) -> None:
    """Whoever goes on from the last event that he saw misses nothing."""
    events, problem, since = await watched(cluster, faults, partial(Gap, 1), "a", "b", "c")
    assert names(events) == ["a"]
    assert problem is None
    later: list[Event] = []
    await read(cluster, since, later, most=2)
    assert names(later) == ["b", "c"]


@pytest.mark.parametrize("make", [ExpireWatch, partial(Fail, 410)], ids=["as an event", "as the answer"])
async def test_a_watch_is_too_old(cluster: ApiCluster, faults: Faults, make: Make) -> None:
    """410 in both forms."""
    events, problem, _ = await watched(cluster, faults, make)
    assert events == []
    assert isinstance(problem, Expired)


# A server that comes back.


async def test_a_server_that_restarts_is_the_same_one(tmp_path: Path) -> None:
    """Same address, certificate, token and objects; watches of its former life have to list again."""
    async with Reborn(tmp_path / "data") as reborn:
        before = reborn.cluster
        client = Client(endpoint(before.url, before.ca, before.token))
        cluster = ApiCluster(client)
        await apply(cluster, kept="1")
        since = (await cluster.list(CONFIG_MAP, "default", metadata=True)).resource_version
        reborn.restart()
        await reborn.settled()
        assert reborn.cluster is not before
        assert reborn.cluster.url == before.url
        live = await cluster.get(CONFIG_MAP, "default", "x")
        assert live is not None
        assert live["data"] == {"kept": "1"}
        await apply(cluster, kept="2")
        events: list[Event] = []
        with pytest.raises(Expired):
            await read(cluster, str(int(since) - 1), events)
        await client.close(1.0)


# Which requests.


def request(method: str, target: str, **headers: str) -> Request:
    """A request as it comes in; header names with underscores."""
    path, _, query = target.partition("?")
    return Request(method, path, query, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


PATCH = request("PATCH", "/api/v1/namespaces/a/configmaps/x", authorization="Bearer t", impersonate_user="alice")
LIST = request("GET", "/apis/apps/v1/deployments?limit=5&continue=abc")
ROOT = request("GET", "/apis")


@pytest.mark.parametrize(
    ("match", "asked", "meant"),
    [
        (Match(), ROOT, True),
        (Match(method="GET"), ROOT, True),
        (Match(method="GET"), PATCH, False),
        (Match(verb="patch", resource="configmaps", namespace="a", name="x"), PATCH, True),
        (Match(verb="update"), PATCH, False),
        (Match(namespace="b"), PATCH, False),
        (Match(name="z"), PATCH, False),
        (Match(user="alice"), PATCH, True),
        (Match(user="bob"), PATCH, False),
        (Match(sender="t"), PATCH, True),
        (Match(sender="t"), ROOT, False),
        (Match(verb="list", page=True), LIST, True),
        (Match(page=True), PATCH, False),
        (Match(resource="deployments"), LIST, True),
        (Match(verb="get"), ROOT, False),
    ],
)
def test_a_request_is_meant_or_not(match: Match, asked: Request, meant: bool) -> None:
    """What is empty means any; a path that names no resource is only meant by what is no part of one."""
    assert match(asked) is meant


def test_a_rule_strikes_once_or_always() -> None:
    """The n-th request that it means, counted from when it was made; the first rule that is due decides, and all count."""
    faults = Faults()
    faults.at(2, Drop, Match(method="GET")).at(2, CutAnswer).always(ExpireWatch, Match(method="PATCH"))
    struck: list[Any] = [faults(one) for one in (ROOT, ROOT, ROOT, PATCH)]
    assert [type(fault) for fault in struck] == [type(None), Drop, type(None), ExpireWatch]
    assert faults.hits == [ROOT, PATCH]
    faults.clear()
    assert faults(PATCH) is None
