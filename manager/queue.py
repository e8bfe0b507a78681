"""One queue slot per parent: what is to be looked at, when, and never twice at the same time.

Work is keyed (parent, unit). While a parent is being worked on, what arrives for it is kept, and single units can be taken out at
once by the pass that runs (`urgent`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Work:
    """What is to be done for one key: everything, or some units."""

    whole: bool = False
    units: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return self.whole or bool(self.units)


class Queue(Generic[K]):
    """Guarantees: a key has one taker at a time, first come first served; work that arrives meanwhile is not lost."""

    def __init__(self) -> None:
        self._work: dict[K, Work] = {}
        self._ready: deque[K] = deque()
        self._running: set[K] = set()
        self._timers: dict[tuple[K, str | None], asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()
        self._still = asyncio.Event()
        self._still.set()
        self._waiting: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._work)

    def add(self, key: K, units: Iterable[str] | None = None) -> None:
        """Something of `key` is to be looked at: these units, or (None) everything."""
        work = self._work.setdefault(key, Work())
        if units is None:
            work.whole = True
        else:
            work.units.update(units)
        if not work:
            del self._work[key]
            return
        self._still.clear()
        if key not in self._running and key not in self._ready:
            self._ready.append(key)
            self._wake.set()

    def later(self, key: K, unit: str | None, seconds: float) -> None:
        """The same after a while; an earlier appointment for the same unit stands."""
        loop = asyncio.get_running_loop()
        former = self._timers.get((key, unit))
        due = loop.time() + seconds
        if former is not None and not former.cancelled() and former.when() <= due:
            return
        if former is not None:
            former.cancel()
        self._timers[key, unit] = loop.call_at(due, self._due, key, unit)

    def _due(self, key: K, unit: str | None) -> None:
        self._timers.pop((key, unit), None)
        self.add(key, None if unit is None else (unit,))

    def forget(self, key: K) -> None:
        """Drop all appointments and work of a key."""
        for timer in [timer for timer in self._timers if timer[0] == key]:
            self._timers.pop(timer).cancel()
        self._work.pop(key, None)
        if key in self._ready:
            self._ready.remove(key)
        self._rest()

    async def take(self) -> tuple[K, Work]:
        """Wait for the next key; it is the taker's until `done`."""
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        key = self._ready.popleft()
        self._running.add(key)
        return key, self._work.pop(key, Work())

    def urgent(self, key: K) -> frozenset[str]:
        """Take the single units that have arrived for a key while its pass runs."""
        work = self._work.get(key)
        if work is None or work.whole or not work.units:
            return frozenset()
        del self._work[key]
        return frozenset(work.units)

    def done(self, key: K) -> None:
        """The taker is through; what arrived meanwhile is ready now."""
        self._running.discard(key)
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()
        if key in self._work:
            self._ready.append(key)
            self._wake.set()
        self._rest()

    def _rest(self) -> None:
        if not self._work and not self._running:
            self._still.set()

    async def ended(self, concerns: Callable[[K], bool]) -> None:
        """Wait until no taker has a key that this concerns."""
        while any(concerns(key) for key in self._running):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    async def still(self) -> None:
        """Wait until nothing is ready and nothing runs. Appointments may stand."""
        await self._still.wait()

    def stop(self) -> None:
        """Cancel all appointments."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
