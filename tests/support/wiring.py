"""An embedded cluster whose requests meet faults, lane by lane: each lane is a user of its own, with faults of its own.

The faults are on the server's side of the wire, so that discovery, watches and the HTTP client are in them, too.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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
from tests.realserver.access import Access
from tests.support.api import Api, Reply
from tests.support.player import Player

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


# The faults.


Choose = Callable[[Wiring, Player, asyncio.AbstractEventLoop], Make]
"""The fault of a lane: some need to know whom they hit."""


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
