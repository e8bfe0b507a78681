"""The six promises on the embedded cluster: whatever the server does to any one request, the world ends up the same.

The story of `tests/support/story.py` is told again and again, each time with one fault at one request of the manager: at the
first, at the second, and so on, until the story has fewer. Unlike in `tests/scenario/test_sweep.py` the fault is on the server's
side of the wire, so that discovery, watches and the HTTP client are in it too.

A run takes every `STRIDE`-th request, beginning elsewhere for each fault; COPYHOLD_STRIDE=1 takes all of them, for an hour.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import uvloop

from manager.cluster import ApiCluster
from manager.connect import endpoint
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
from manager.install import install
from manager.render.pool import Renderer
from tests.realserver.access import Access
from tests.support.api import Api, Reply
from tests.support.player import Player, player
from tests.support.running import options
from tests.support.stage import Stage
from tests.support.story import CHAPTERS, DELETED, RESCOPED, Story

STRIDE = int(os.environ.get("COPYHOLD_STRIDE", "53"))
LANES = 4
"""Tellings side by side: enough that their waiting overlaps."""

WATCH = Match(verb="watch")


# The server, in a loop of its own beside the test's.


@dataclass
class Wiring:
    """A running server. Each lane has a user of its own, so that a fault finds its requests."""

    access: Access
    lanes: list[str]  # tokens
    loop: asyncio.AbstractEventLoop
    reborn: Reborn
    faults: dict[str, Faults] = field(default_factory=dict)  # by token
    calm: threading.Lock = field(default_factory=threading.Lock)  # held by whoever must not meet a restart, and by the restart

    def intercept(self, request: Request) -> Fault | None:
        """Each lane's faults see that lane's requests alone."""
        faults = self.faults.get(request.header("authorization").removeprefix("Bearer "))
        return faults(request) if faults is not None else None

    def restart(self) -> None:
        """Stop and start the server, as soon as no user is at it; called in its loop."""
        self.restarting = self.loop.create_task(self._restart())

    async def _restart(self) -> None:
        await self.loop.run_in_executor(None, self.calm.acquire)
        try:
            self.reborn.restart(pause=0.05)
            await self.reborn.settled()
        finally:
            self.calm.release()


class Calm(Api):
    """The users of the story: none of their requests meets a restart, which is the manager's to live with."""

    def __init__(self, at: Wiring) -> None:
        super().__init__(at.access.url, at.access.ca, at.access.token)
        self._calm = at.calm

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Reply:
        """Wait until the server is there."""
        with self._calm:
            return super().request(method, path, body, **query)


@contextmanager
def wiring(folder: Path) -> Iterator[Wiring]:
    """A server with our kinds and policies, in a thread of its own, until the end of the block."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded", daemon=True)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    users = [f"lane-{number}" for number in range(LANES)]
    reborn = Reborn(folder / "data", users=dict.fromkeys(users, ("system:masters",)))
    run(reborn.__aenter__())
    try:
        cluster = reborn.cluster
        ca = folder / "ca.crt"
        ca.write_text(cluster.ca)
        access = Access(cluster.url, ca, {"admin": cluster.token}, None)
        made = Wiring(access, [cluster.tokens[user] for user in users], loop, reborn)
        run(_installed(access, cluster.ca))
        reborn.intercept = made.intercept
        yield made
    finally:
        run(reborn.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _installed(access: Access, ca: str) -> None:
    client = Client(endpoint(access.url, ca, access.token))
    await install(ApiCluster(client), namespace="copyhold-system")
    await client.close(1.0)


# The story under one fault.


async def tell(story: Story, playing: Player, faults: Faults) -> None:
    """After each chapter the world is as it must be; before the last, a further manager writes nothing."""
    await playing.begin()
    try:
        for chapter in CHAPTERS:
            if chapter == DELETED:
                await _a_further_run_writes_nothing(story, playing, faults)
            await asyncio.to_thread(story.act, chapter)
            await playing.until(partial(story.difference, chapter))
            await asyncio.to_thread(story.check, chapter)
    finally:
        await playing.end()
        faults.clear()
    await asyncio.to_thread(story.put_back)


async def _a_further_run_writes_nothing(story: Story, playing: Player, faults: Faults) -> None:
    while True:
        before, struck = len(playing.lives), len(faults.hits)
        await playing.again()
        await playing.settle()
        written = [call for life in playing.lives[before:] for call in life.faulty.writes]
        assert [str(call) for call in written if call.resource.plural == "configmaps"] == []
        if len(faults.hits) == struck:
            assert not written, [str(call) for call in written]
            return
        await playing.until(partial(story.difference, RESCOPED))


Choose = Callable[[Wiring, Player, asyncio.AbstractEventLoop], Make]
"""The fault of a lane: some need to know whom they hit."""


async def sweep(stories: list[Story], at: Wiring, choose: Choose, match: Match, first: int) -> int:
    """Tell the story with the fault at one request after the other; answers how often it struck.

    There are as many lanes as stories.
    """
    numbers = count(first, STRIDE)
    struck = 0

    async def lane(story: Story, token: str, renderer: Renderer) -> None:
        nonlocal struck
        access = Access(at.access.url, at.access.ca, {"admin": token}, None)
        stage = story.stage
        async with player(access, stage.mark, options(stage.account, patience=0.0), renderer, story.within) as playing:
            make = choose(at, playing, asyncio.get_running_loop())
            for number in numbers:
                at.faults[token] = faults = Faults().at(number, make, match)
                try:
                    await tell(story, playing, faults)
                except BaseException as error:
                    error.add_note(f"request {number}: {[(hit.method, hit.path, hit.query) for hit in faults.hits]}")
                    raise
                if not faults.hits:
                    return
                struck += 1

    renderer = Renderer(workers=2)
    try:
        async with asyncio.TaskGroup() as lanes:
            for story, token in zip(stories, at.lanes, strict=False):
                lanes.create_task(lane(story, token, renderer))
    finally:
        await renderer.close()
    return struck


def of(make: Make) -> Choose:
    """A fault that hits whoever asks."""
    return lambda _house, _player, _loop: make


def killed(*, late: bool) -> Choose:
    """The manager dies, before its request is carried out or after."""

    def choose(_house: Wiring, playing: Player, loop: asyncio.AbstractEventLoop) -> Make:
        return partial(Strike, lambda: loop.call_soon_threadsafe(lambda: playing.life.faulty.kill()), late=late)

    return choose


def restarted(*, late: bool) -> Choose:
    """The server stops and comes back, before it carries a request out or after."""
    return lambda at, _player, _loop: partial(Strike, at.restart, late=late)


RESTARTED = "server restarted"
"""What hits everybody: one lane, so that it is known whom the restart was for."""

FAULTS = [
    pytest.param(of(Drop), Match(), id="dropped"),
    pytest.param(of(partial(Delay, 0.3)), Match(), id="delayed"),
    pytest.param(of(partial(Fail, 429, retry_after=1)), Match(), id="429"),
    pytest.param(of(partial(Fail, 500)), Match(), id="500"),
    pytest.param(of(partial(Fail, 503)), Match(), id="503"),
    pytest.param(of(CutAnswer), Match(), id="answer cut"),
    pytest.param(of(partial(FailAnswer, 504)), Match(), id="done and 504"),
    pytest.param(killed(late=False), Match(), id="manager killed before"),
    pytest.param(killed(late=True), Match(), id="manager killed after"),
    pytest.param(restarted(late=False), Match(), id=f"{RESTARTED} before"),
    pytest.param(restarted(late=True), Match(), id=f"{RESTARTED} after"),
    pytest.param(of(partial(Fail, 410)), Match(verb="list"), id="list expired"),
    pytest.param(of(ExpireWatch), WATCH, id="watch expired"),
    pytest.param(of(partial(CutStream, 0)), WATCH, id="stream cut at once"),
    pytest.param(of(partial(CutStream, 2)), WATCH, id="stream cut"),
    pytest.param(of(Gap), WATCH, id="gap at once"),
    pytest.param(of(partial(Gap, 2)), WATCH, id="gap"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiring]:
    """One server for all faults of this module."""
    with wiring(tmp_path_factory.mktemp("embedded")) as running:
        yield running


@pytest.fixture
def stories(server: Wiring, request: pytest.FixtureRequest) -> Iterator[list[Story]]:
    """Places in which the story is told side by side."""
    with ExitStack() as stack:
        api = stack.enter_context(Calm(server))
        made = []
        for _ in range(1 if RESTARTED in request.node.callspec.id else LANES):
            story = Story(Stage(api, server.access))
            stack.callback(story.close)
            made.append(story)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("choose", "match"), FAULTS)
def test_whatever_the_server_does_to_one_request_the_world_ends_up_the_same(
    server: Wiring, stories: list[Story], choose: Choose, match: Match, request: pytest.FixtureRequest
) -> None:
    """All promises at once: nothing leaks, nothing foreign is touched, and a further run is silent."""
    position = [param.id for param in FAULTS].index(request.node.callspec.id)
    first = 1 + position * 5 % STRIDE if match == Match() else 1 + position % min(STRIDE, 5)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        struck = runner.run(sweep(stories, server, choose, match, first))
    assert struck > 0
