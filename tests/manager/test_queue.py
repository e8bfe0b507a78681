"""One slot per key: never two takers, nothing lost, appointments kept. Time is a number that the tests turn."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from manager.queue import Queue, Work

WHOLE = Work(whole=True)


@dataclass
class Clock:
    """The time of the running loop; `to` turns it and lets what is due happen."""

    now: float = 1000.0

    async def to(self, seconds: float) -> None:
        """So many seconds after the start."""
        self.now = 1000.0 + seconds
        for _ in range(3):
            await asyncio.sleep(0)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A loop whose time stands still."""
    clock = Clock()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock.now)
    return clock


async def settle() -> None:
    """Let tasks run until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


async def taken(queue: Queue[str]) -> list[tuple[str, Work]]:
    """Everything that can be taken now, each handed back at once."""
    found = []
    while len(queue):
        key, work = await asyncio.wait_for(queue.take(), 1)
        found.append((key, work))
        queue.done(key)
    return found


async def test_first_come_first_served() -> None:
    """In the order in which keys were first added."""
    queue: Queue[str] = Queue()
    for key in ("b", "a", "b", "c"):
        queue.add(key)
    assert await taken(queue) == [("b", WHOLE), ("a", WHOLE), ("c", WHOLE)]


@pytest.mark.parametrize(
    ("adds", "expected"),
    [
        pytest.param([("x",), ("y", "x")], Work(units={"x", "y"}), id="units are joined"),
        pytest.param([("x",), None], Work(True, {"x"}), id="everything includes units"),
        pytest.param([None, ("x",)], Work(True, {"x"}), id="in either order"),
        pytest.param([None, None], WHOLE, id="twice is once"),
    ],
)
async def test_work_for_one_key_is_joined(adds: list[tuple[str, ...] | None], expected: Work) -> None:
    """A key is taken once for all that arrived."""
    queue: Queue[str] = Queue()
    for units in adds:
        queue.add("a", units)
    assert await taken(queue) == [("a", expected)]


async def test_no_units_are_no_work() -> None:
    """An event that concerns nobody wakes nobody."""
    queue: Queue[str] = Queue()
    queue.add("a", ())
    assert len(queue) == 0
    await asyncio.wait_for(queue.still(), 1)


async def test_a_taker_waits_for_work() -> None:
    """And is the only one that gets it."""
    queue: Queue[str] = Queue()
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await settle()
    queue.add("a", ("x",))
    await settle()
    done = [taker for taker in takers if taker.done()]
    assert [taker.result() for taker in done] == [("a", Work(units={"x"}))]
    queue.add("b")
    await settle()
    assert sum(taker.done() for taker in takers) == 2
    for taker in takers:
        taker.cancel()
    await asyncio.gather(*takers, return_exceptions=True)


async def test_a_cancelled_taker_takes_nothing_along() -> None:
    """A worker that is stopped while it waits loses no key."""
    queue: Queue[str] = Queue()
    waiting = asyncio.create_task(queue.take())
    await settle()
    queue.add("a")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    if waiting.cancelled():
        assert await taken(queue) == [("a", WHOLE)]
    else:
        assert waiting.result() == ("a", WHOLE)


async def test_what_arrives_while_a_key_runs_is_taken_after_it() -> None:
    """Never by a second taker beside the first, and never lost."""
    queue: Queue[str] = Queue()
    queue.add("a")
    key, _ = await queue.take()
    queue.add("a", ("x",))
    second = asyncio.create_task(queue.take())
    await settle()
    assert not second.done()
    queue.done(key)
    assert await asyncio.wait_for(second, 1) == ("a", Work(units={"x"}))


async def test_a_running_pass_takes_single_units_out() -> None:
    """A namespace that joins waits for no full pass; afterwards nothing is left of it."""
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.take()
    assert queue.urgent("a") == frozenset()
    queue.add("a", ("x", "y"))
    assert queue.urgent("a") == {"x", "y"}
    assert queue.urgent("a") == frozenset()
    queue.done("a")
    assert len(queue) == 0
    await asyncio.wait_for(queue.still(), 1)


async def test_a_whole_pass_is_not_taken_out_unit_by_unit() -> None:
    """When everything is to be looked at again, the next pass does it."""
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.take()
    queue.add("a", ("x",))
    queue.add("a")
    assert queue.urgent("a") == frozenset()
    queue.done("a")
    assert await taken(queue) == [("a", Work(True, {"x"}))]


async def test_still_means_nothing_ready_and_nothing_running() -> None:
    """Appointments may stand."""
    queue: Queue[str] = Queue()
    queue.later("a", None, 600)
    await asyncio.wait_for(queue.still(), 1)
    queue.add("a")
    key, _ = await queue.take()
    waiter = asyncio.create_task(queue.still())
    await settle()
    assert not waiter.done()
    queue.done(key)
    await asyncio.wait_for(waiter, 1)
    queue.stop()


async def test_whoever_drains_waits_only_for_what_it_concerns() -> None:
    """`ended` returns when no taker has such a key any more; what is merely ready does not hold it up."""
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")
    await queue.take()
    await asyncio.wait_for(queue.ended(lambda key: key == "b"), 1)
    waiter = asyncio.create_task(queue.ended(lambda key: key == "a"))
    await queue.take()
    queue.done("b")
    await settle()
    assert not waiter.done()
    queue.done("a")
    await asyncio.wait_for(waiter, 1)


async def test_forgetting_drops_work_and_appointments(clock: Clock) -> None:
    """What is gone is not looked at again; other keys are."""
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b", ("x",))
    queue.later("a", "y", 1)
    queue.later("b", None, 1)
    queue.forget("a")
    assert await taken(queue) == [("b", Work(units={"x"}))]
    await clock.to(2)
    assert await taken(queue) == [("b", WHOLE)]
    await asyncio.wait_for(queue.still(), 1)


async def test_forgetting_a_running_key_leaves_it_to_its_taker() -> None:
    """It is done when the taker says so, and can be added again."""
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.take()
    queue.add("a", ("x",))
    queue.forget("a")
    queue.done("a")
    assert len(queue) == 0
    queue.add("a")
    assert await taken(queue) == [("a", WHOLE)]


# What is pressing.


async def test_what_is_pressing_stands_in_a_line_of_its_own() -> None:
    """Its takers have nothing else to do, and it waits for no other key."""
    queue: Queue[str] = Queue(str.isupper)
    for key in ("a", "B", "c"):
        queue.add(key)
    assert await asyncio.wait_for(queue.take(pressing=True), 1) == ("B", WHOLE)
    queue.done("B")
    assert await taken(queue) == [("a", WHOLE), ("c", WHOLE)]


async def test_what_becomes_pressing_in_line_changes_lines() -> None:
    """And stands in one line only."""
    pressing: set[str] = set()
    queue: Queue[str] = Queue(pressing.__contains__)
    queue.add("a")
    queue.add("b", ("x",))
    pressing.add("b")
    queue.add("b", ("y",))
    assert await asyncio.wait_for(queue.take(pressing=True), 1) == ("b", Work(units={"x", "y"}))
    queue.done("b")
    assert await taken(queue) == [("a", WHOLE)]
    await asyncio.wait_for(queue.still(), 1)


async def test_what_is_pressing_waits_for_its_own_taker_only() -> None:
    """A pass that runs is finished first: a key has one taker at a time."""
    pressing: set[str] = set()
    queue: Queue[str] = Queue(pressing.__contains__)
    queue.add("a")
    await queue.take()
    pressing.add("a")
    queue.add("a")
    waiting = asyncio.create_task(queue.take(pressing=True))
    await settle()
    assert not waiting.done()
    queue.done("a")
    assert await asyncio.wait_for(waiting, 1) == ("a", WHOLE)
    queue.done("a")


# Appointments.


@pytest.mark.parametrize(
    ("appointments", "due"),
    [
        pytest.param([("x", 5.0)], {5.0: Work(units={"x"})}, id="one"),
        pytest.param([("x", 5.0), ("x", 9.0)], {5.0: Work(units={"x"})}, id="the earlier one stands"),
        pytest.param([("x", 9.0), ("x", 5.0)], {5.0: Work(units={"x"})}, id="an earlier one takes its place"),
        pytest.param([("x", 5.0), ("y", 7.0)], {5.0: Work(units={"x"}), 7.0: Work(units={"y"})}, id="one per unit"),
        pytest.param([("x", 5.0), (None, 7.0)], {5.0: Work(units={"x"}), 7.0: WHOLE}, id="and one for everything"),
        pytest.param([("x", 0.0)], {0.0: Work(units={"x"})}, id="now"),
    ],
)
async def test_an_appointment_is_kept(clock: Clock, appointments: list[tuple[str | None, float]], due: dict[float, Work]) -> None:
    """At its time, once, and not before."""
    queue: Queue[str] = Queue()
    for unit, seconds in appointments:
        queue.later("a", unit, seconds)
    found: dict[float, Work] = {}
    for second in (0.0, 4.9, 5.0, 6.9, 7.0, 9.0, 20.0):
        await clock.to(second)
        for _, work in await taken(queue):
            found[second] = work
    assert found == due


async def test_an_appointment_that_was_kept_can_be_made_again(clock: Clock) -> None:
    """Back-off and resync make the next one after each pass."""
    queue: Queue[str] = Queue()
    for turn in (1, 2):
        queue.later("a", None, 5)
        await clock.to(5.0 * turn)
        assert await taken(queue) == [("a", WHOLE)]


def test_two_appointments_for_now_are_one() -> None:
    """Also on the loop that the manager runs on, where what is due at once is no timer."""

    async def work() -> list[tuple[str, Work]]:
        queue: Queue[str] = Queue()
        queue.later("a", None, 0.0)
        queue.later("a", None, 0.0)
        queue.later("a", None, 30.0)
        await settle()
        return await taken(queue)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(work()) == [("a", WHOLE)]


async def test_stopping_cancels_appointments(clock: Clock) -> None:
    """Nothing rings in a manager that stops."""
    queue: Queue[str] = Queue()
    queue.later("a", None, 5)
    queue.stop()
    await clock.to(6)
    assert len(queue) == 0


# Everything at once.


@dataclass
class Owed:
    """What a model says is still to be looked at."""

    whole: bool = False
    units: set[str] = field(default_factory=set)


KEYS = st.sampled_from("abc")
UNITS = st.frozensets(st.sampled_from("xy"), max_size=2)


class Handing(RuleBasedStateMachine):
    """Any order of adding, taking, taking out, finishing and forgetting, against a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue: Queue[str] = Queue()
        self.owed: dict[str, Owed] = {}
        self.running: set[str] = set()

    def teardown(self) -> None:
        """Close the loop; nothing waits on it."""
        self.loop.close()

    @rule(key=KEYS, units=st.none() | UNITS)
    def add(self, key: str, units: frozenset[str] | None) -> None:
        """Work arrives."""
        self.queue.add(key, units)
        if units is None or units:
            owed = self.owed.setdefault(key, Owed())
            owed.whole |= units is None
            owed.units |= units or frozenset()

    @precondition(lambda self: self.owed.keys() - self.running)
    @rule()
    def take(self) -> None:
        """A taker gets all that is owed to a key that nobody has."""
        key, work = self.loop.run_until_complete(asyncio.wait_for(self.queue.take(), 1))
        assert key not in self.running
        owed = self.owed.pop(key)
        assert (work.whole, work.units) == (owed.whole, owed.units)
        self.running.add(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def urgent(self, data: Any) -> None:
        """The pass that runs takes single units out."""
        key = data.draw(st.sampled_from(sorted(self.running)))
        units = self.queue.urgent(key)
        owed = self.owed.get(key, Owed())
        assert units == (frozenset() if owed.whole else owed.units)
        if units:
            del self.owed[key]

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def done(self, data: Any) -> None:
        """A taker is through."""
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.running.remove(key)
        self.queue.done(key)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        """A key is of no interest any more."""
        self.queue.forget(key)
        self.owed.pop(key, None)

    @invariant()
    def it_is_still_exactly_when_nothing_is_owed_and_nothing_runs(self) -> None:
        """And counts what is owed."""
        assert len(self.queue) == len(self.owed)
        assert self.loop.run_until_complete(self._still()) == (not self.owed and not self.running)

    async def _still(self) -> bool:
        waiting = asyncio.ensure_future(self.queue.still())
        await asyncio.sleep(0)
        still = waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return still


TestHanding = Handing.TestCase
TestHanding.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_work_is_true_when_there_is_some() -> None:
    """Neither everything nor a unit is no work."""
    states: Iterator[bool] = map(bool, (Work(), Work(True), Work(units={"x"})))
    assert list(states) == [False, True, True]
