"""The controllers of a server, and the queue between the store and them."""

import asyncio

from manager.embedded.controllers.aggregation import Aggregation
from manager.embedded.controllers.collector import Collector
from manager.embedded.controllers.definitions import Definitions
from manager.embedded.controllers.namespaces import Namespaces
from manager.embedded.controllers.slices import Slices
from manager.embedded.controllers.work import Controller
from manager.embedded.server import ApiServer
from manager.embedded.status import StatusError
from manager.embedded.store import Change, Key, Kind

AT_ONCE = 50
"""Pieces of work between two looks at the requests that wait."""

RETRY = 1.0
"""Seconds until work that failed is tried again; doubled each time, up to `LONGEST`."""
LONGEST = 30.0

Work = tuple[Controller, Key]


class Controllers:
    """All controllers.

    Guarantees: one piece of work is one step. Work on an object that is already waiting is not queued twice.
    """

    def __init__(self, server: ApiServer, *, authority: str) -> None:
        self._server = server
        self._parts: tuple[Controller, ...] = (
            Definitions(server),
            Namespaces(server, authority),
            Aggregation(server),
            Slices(server),
            Collector(server),
        )
        self._queue: dict[Work, None] = {}
        self._failures: dict[Work, int] = {}
        self._parked: dict[Work, None] = {}
        self._later: dict[Work, asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticking = False
        self._deaf = server.store.listen(self._hear)
        self._know()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work between requests from now on."""
        self._loop = loop
        self._nudge()

    def stop(self) -> None:
        """Work no more."""
        self._deaf()
        self._loop = None
        for timer in self._later.values():
            timer.cancel()

    def run(self, limit: int = 1_000_000) -> bool:
        """Do what there is to do, up to a number of pieces of work. True when some is left.

        Without a loop, whose timers would do that, what could not be done last time is tried again first.
        """
        self._queue |= self._parked
        self._parked = {}
        for _ in range(limit):
            if not self._queue:
                return False
            work = next(iter(self._queue))
            del self._queue[work]
            self._do(work)
        return bool(self._queue)

    def _know(self) -> None:
        """Look at everything that is there, as if it had just come; definitions first, since others need their kinds."""
        store = self._server.store
        resources = sorted(store.resources(), key=lambda resource: not resource.startswith("customresourcedefinitions."))
        for resource in resources:
            for stored in store.members(resource):
                self._hear(Change(Kind.ADDED, stored, None))
            if resource.startswith("customresourcedefinitions."):
                self.run()

    def _hear(self, change: Change) -> None:
        for part in self._parts:
            for key in part.concerns(change):
                self._queue[part, key] = None
        if self._queue:
            self._nudge()

    def _nudge(self) -> None:
        if self._loop is not None and not self._ticking:
            self._ticking = True
            self._loop.call_soon(self._tick)

    def _tick(self) -> None:
        self._ticking = False
        if self._loop is not None and self.run(AT_ONCE):
            self._nudge()

    def _do(self, work: Work) -> None:
        controller, key = work
        timer = self._later.pop(work, None)
        if timer is not None:
            timer.cancel()
        try:
            done = controller.sync(key)
        except StatusError:
            # Somebody was faster, or something is in the way that may go: the state decides again.
            done = False
        if done:
            self._failures.pop(work, None)
        else:
            self._again(work)

    def _again(self, work: Work) -> None:
        failures = self._failures[work] = self._failures.get(work, 0) + 1
        if self._loop is None:
            self._parked[work] = None
        else:
            delay = min(LONGEST, RETRY * 2.0 ** (failures - 1))
            self._later[work] = self._loop.call_later(delay, self._due, work)

    def _due(self, work: Work) -> None:
        self._later.pop(work, None)
        self._queue[work] = None
        self._nudge()
