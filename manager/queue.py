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


@dataclass(frozen=True, slots=True)
class _Appointment:
    """When a key is to be looked at again, by the loop's clock."""

    due: float
    handle: asyncio.Handle  # uvloop's, of what is due at once, is no TimerHandle and does not know when


class _Line(Generic[K]):
    """Keys that wait for a taker."""

    def __init__(self) -> None:
        self.keys: deque[K] = deque()
        self.wake = asyncio.Event()


class Queue(Generic[K]):
    """Guarantees: a key has one taker at a time, first come first served; work that arrives meanwhile is not lost.

    Keys that are `pressing` at the moment stand in a line of their own, with takers of their own: they wait for no other key.
    """

    def __init__(self, pressing: Callable[[K], bool] = lambda _key: False) -> None:
        self._pressing = pressing
        self._work: dict[K, Work] = {}
        self._lines = {False: _Line[K](), True: _Line[K]()}
        self._running: set[K] = set()
        self._timers: dict[tuple[K, str | None], _Appointment] = {}
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
        if key not in self._running:
            self._line_up(key)

    def _line_up(self, key: K) -> None:
        """Whoever waits already keeps its place, unless it has become pressing meanwhile."""
        pressing = self._pressing(key)
        if key in self._lines[True].keys or (not pressing and key in self._lines[False].keys):
            return
        self._step_out(key)
        self._lines[pressing].keys.append(key)
        self._lines[pressing].wake.set()

    def _step_out(self, key: K) -> None:
        for line in self._lines.values():
            if key in line.keys:
                line.keys.remove(key)

    def later(self, key: K, unit: str | None, seconds: float) -> None:
        """The same after a while; an earlier appointment for the same unit stands."""
        loop = asyncio.get_running_loop()
        former = self._timers.get((key, unit))
        due = loop.time() + seconds
        if former is not None and former.due <= due:
            return
        if former is not None:
            former.handle.cancel()
        self._timers[key, unit] = _Appointment(due, loop.call_at(due, self._due, key, unit))

    def _due(self, key: K, unit: str | None) -> None:
        self._timers.pop((key, unit), None)
        self.add(key, None if unit is None else (unit,))

    def forget(self, key: K) -> None:
        """Drop all appointments and work of a key."""
        for timer in [timer for timer in self._timers if timer[0] == key]:
            self._timers.pop(timer).handle.cancel()
        self._work.pop(key, None)
        self._step_out(key)
        self._rest()

    async def take(self, *, pressing: bool = False) -> tuple[K, Work]:
        """Wait for the next key, or for the next that is pressing; it is the taker's until `done`."""
        line = self._lines[pressing]
        while not line.keys:
            line.wake.clear()
            await line.wake.wait()
        key = line.keys.popleft()
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
            self._line_up(key)
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
            timer.handle.cancel()
        self._timers.clear()
