"""The manager as a part of a command: one replica in this process, without Leases, that tells the command what it does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from manager.cluster import ApiCluster
from manager.controller import Controller, Options, Told
from manager.desk import Desk
from manager.elector import Alone, Elector
from manager.endpoint import Endpoint
from manager.execute import Outcome
from manager.http import Client
from manager.office import Office, opened
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.state import State
from manager.tenure import Tenure

Settled = Callable[[Tenure, Outcome], None]
"""Told what became of each decision about a target."""


@dataclass
class Clock:
    """The time of day as the manager sees it: the real one, and what was let pass beyond it."""

    passed: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        """The time now, in UTC."""
        return datetime.now(UTC) + self.passed


class InProcess(Controller):
    """A Controller that shows each outcome, and whose time can be moved. Both are set right after it was made."""

    settled: Settled
    clock: Clock

    @property
    def desk(self) -> Desk:
        """As the controller's own, with somebody who watches."""
        desk = super().desk
        own, shown = desk.settled, self.settled

        def both(tenure: Tenure, outcome: Outcome) -> None:
            own(tenure, outcome)
            shown(tenure, outcome)

        return replace(desk, settled=both)

    def advance(self, seconds: float) -> None:
        """Let time pass: what may be due by now is looked at, as at a resync."""
        self.clock.passed += timedelta(seconds=seconds)
        self.gained()


@dataclass(frozen=True, slots=True)
class Wiring:
    """What such a manager is given. `told` and `settled` may be asked for anything that a user should see.

    Without an office it leaves permits alone.
    """

    endpoint: Endpoint
    options: Options = field(default_factory=Options)
    elector: Elector = field(default_factory=Alone)
    told: Told = field(default_factory=Told)
    settled: Settled = lambda _tenure, _outcome: None
    clock: Clock = field(default_factory=Clock)
    office: Office | None = None


@asynccontextmanager
async def in_process(wiring: Wiring, begun: Callable[[State], None] = lambda _state: None) -> AsyncIterator[InProcess]:
    """A manager that has seen everything once and works until the end of the block. Kinds and policies must be there already.

    `begun` is given its memory before it is filled: an elector may have to look things up there.
    """
    async with AsyncExitStack() as stack:
        client = Client(wiring.endpoint)
        stack.push_async_callback(client.close, 1.0)
        cluster = ApiCluster(client)
        renderer = Renderer()
        stack.push_async_callback(renderer.close)
        permits = None
        if wiring.office is not None:
            permits = await stack.enter_async_context(opened(wiring.office, cluster, renderer, wiring.clock))
        controller = InProcess(
            cluster,
            renderer,
            Schemas(cluster.get_raw),
            wiring.options,
            elector=wiring.elector,
            told=wiring.told,
            now=wiring.clock,
            permits=permits,
        )
        controller.settled, controller.clock = wiring.settled, wiring.clock
        begun(controller.state)
        stack.push_async_callback(controller.stop)
        await asyncio.gather(controller.start(), renderer.warm())
        yield controller


async def rest(controller: Controller, pause: float = 0.05) -> None:
    """Wait until the manager has nothing to do now, and has had time to hear of what was done just before."""
    for _ in range(2):
        await asyncio.sleep(pause)
        await controller.idle()
