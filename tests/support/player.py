"""Managers in the test's own event loop, one life after the other: what dies is thrown away whole, and a new one starts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from apis.problems import Problem
from manager.admission.handlers import template_reader
from manager.cluster import ApiCluster
from manager.controller import Controller, Options
from manager.http import Client
from manager.permits.desk import Permits
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from manager.schemas import Schemas
from tests.realserver.access import Access
from tests.support.faults import Faulty, Judge
from tests.support.rights import NAMESPACE
from tests.support.running import Mine, endpoint

PATIENCE = 60.0
"""Seconds that one step may take on a machine that does other things too."""


def no_fault(_call: object) -> None:
    """Every request passes."""
    return


@dataclass
class Life:
    """One manager, from its start to its end."""

    faulty: Faulty
    controller: Controller
    client: Client

    async def start(self) -> bool:
        """As the product starts; False when it ended meanwhile: it was killed, or could not read its keys and gave up."""
        try:
            return await _unless_killed(self.faulty, self._start())
        except Problem:
            return False

    async def _start(self) -> None:
        if self.controller.permits is not None:
            await self.controller.permits.keyring.refresh()
        await self.controller.start()

    async def end(self) -> None:
        """Throw it away."""
        self.faulty.kill()
        await self.controller.stop()
        await self.client.close(0)


@dataclass
class Player:
    """The managers of one mark. `judge` is asked by all of them, so that it can count across lives.

    `now` is their clock. With `permits` they serve permits, too.
    """

    access: Access
    mark: str
    options: Options
    renderer: Renderer
    judge: Judge = no_fault
    within: str = ""
    permits: bool = False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    lives: list[Life] = field(default_factory=list)

    @property
    def life(self) -> Life:
        """The present manager."""
        return self.lives[-1]

    async def begin(self) -> None:
        """Start a manager with an empty memory; when it is killed before it runs, the next one."""
        while True:
            self.lives.append(self._born())
            if await self.life.start():
                return
            await self.life.end()

    def _born(self) -> Life:
        client = Client(endpoint(self.access))
        faulty = Faulty(ApiCluster(client), self.judge, within=self.within)
        mine = Mine(self.mark)
        permits = Permits(Keyring(faulty, NAMESPACE, self.now), NAMESPACE, template_reader(faulty)) if self.permits else None
        controller = Controller(
            faulty, self.renderer, Schemas(faulty.get_raw), self.options, elector=mine, now=self.now, permits=permits
        )
        mine.controller = controller
        return Life(faulty, controller, client)

    async def end(self) -> None:
        """End the present manager."""
        if self.lives:
            await self.life.end()

    async def again(self) -> None:
        """Another manager in its place."""
        await self.life.end()
        await self.begin()

    def wake(self) -> None:
        """The clock of the managers was moved: what waits for a time looks again."""
        self.life.controller.gained()

    async def until(self, difference: Callable[[], str]) -> None:
        """Wait until nothing differs. Whenever the manager was killed, the next one takes over."""
        deadline = monotonic() + PATIENCE
        while True:
            await self.settle()
            found = await asyncio.to_thread(difference)
            if not found:
                return
            assert monotonic() < deadline, found
            await asyncio.sleep(0.05)

    async def settle(self) -> None:
        """Wait until a manager has nothing to do, and has had time to hear of what it did."""
        while True:
            for _ in range(2):
                await asyncio.sleep(0.02)
                if not await _unless_killed(self.life.faulty, self.life.controller.idle()):
                    break
            else:
                return
            await self.again()


async def _unless_killed(faulty: Faulty, work: Awaitable[None]) -> bool:
    """Wait for something; False when the manager was killed meanwhile."""
    working, killed = asyncio.ensure_future(work), asyncio.ensure_future(faulty.killed.wait())
    await asyncio.wait((working, killed), return_when=asyncio.FIRST_COMPLETED)
    if killed.done():
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        return False
    killed.cancel()
    await working
    return True


@asynccontextmanager
async def player(
    access: Access, mark: str, options: Options, renderer: Renderer, within: str = "", **other: Any
) -> AsyncIterator[Player]:
    """A player whose last manager ends with the block. Keywords are those of Player."""
    made = Player(access, mark, options, renderer, within=within, **other)
    try:
        yield made
    finally:
        await made.end()
