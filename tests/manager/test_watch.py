"""Following a collection: whole at first, then every change, whatever happens to the watch."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apis.meta import Manifest
from apis.problems import Blocked, Expired, Forbidden, Gone, Problem, Unavailable
from apis.reasons import Reason
from manager.watch import FIRST, LAST, Replace, State, follow
from manager.world import Event, Listing, Resource

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


def item(name: str, version: int, *, uid: str = "", namespace: str = "team") -> Manifest:
    """An object with a name, a resourceVersion and a uid."""
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def listing(version: int, *items: Manifest) -> Listing:
    """A complete list."""
    return Listing(list(items), str(version))


Step = Event | Problem | None
"""What a scripted watch does next: give an event, fail, or (None) end as servers do after some minutes."""


Deliveries = list[tuple[str, str]]


@dataclass
class Script:
    """A cluster that lists and watches by a script, and a clock that only its own sleeps move."""

    lists: list[Listing | Problem]
    watches: list[list[Step]]
    time: float = 0.0
    lasting: float = 100.0
    slept: list[float] = field(default_factory=list)
    since: list[str] = field(default_factory=list)
    got: list[Any] = field(default_factory=list)
    states: list[tuple[State, Problem | None]] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[dict[str, Any]] = field(default_factory=list)

    async def list(self, resource: Resource, namespace: str = "", **selection: Any) -> Listing:
        """The next list of the script."""
        self.asked.append({"namespace": namespace, **selection})
        if not self.lists:
            await self._end()
        answer = self.lists.pop(0)
        if isinstance(answer, Problem):
            raise answer
        return answer

    async def watch(self, resource: Resource, namespace: str = "", *, since: str, **selection: Any) -> AsyncIterator[Event]:
        """The next watch of the script."""
        self.since.append(since)
        if not self.watches:
            await self._end()
        for step in self.watches.pop(0):
            if isinstance(step, Problem):
                raise step
            if step is None:
                self.time += self.lasting
                return
            yield step

    async def _end(self) -> Any:
        self.done.set()
        return await asyncio.get_running_loop().create_future()

    async def sleep(self, seconds: float) -> None:
        """Time passes at once."""
        self.slept.append(seconds)
        self.time += seconds

    async def run(
        self, *, jitter: Callable[[], float] = lambda: 1.0, again: asyncio.Event | None = None, **selection: Any
    ) -> None:
        """Follow until the script is at its end."""
        following = asyncio.ensure_future(
            follow(
                self,  # type: ignore[arg-type]
                CONFIG_MAP,
                self.got.append,
                lambda state, problem: self.states.append((state, problem)),
                again=again,
                clock=lambda: self.time,
                sleep=self.sleep,
                jitter=jitter,
                **selection,
            )
        )
        ended = asyncio.ensure_future(self.done.wait())
        await asyncio.wait({following, ended}, return_when=asyncio.FIRST_COMPLETED, timeout=5)
        ended.cancel()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        assert self.done.is_set(), "the script did not come to its end"

    @property
    def events(self) -> Deliveries:
        """Type and name of every event that was delivered."""
        return [(event.type, event.object["metadata"]["name"]) for event in self.got if isinstance(event, Event)]


async def test_everything_comes_first_and_then_each_change() -> None:
    """One Replace, then the events in order; the watch continues the list without a gap."""
    first = listing(5, item("a", 1), item("b", 2))
    script = Script([first], [[Event("ADDED", item("c", 6)), Event("MODIFIED", item("a", 7)), Event("DELETED", item("b", 8))]])
    await script.run()
    assert script.got[0] == Replace(first)
    assert script.events == [("ADDED", "c"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert script.since[0] == "5"
    assert [state for state, _ in script.states] == [State.SYNCED]


async def test_the_selection_is_passed_on() -> None:
    """Lists and watches are for the same namespace, labels, fields and form."""
    script = Script([listing(5)], [])
    await script.run(namespace="team", labels="a=b", fields="metadata.name=x", metadata=True)
    assert script.asked == [{"namespace": "team", "labels": "a=b", "fields": "metadata.name=x", "metadata": True}]


async def test_a_watch_that_ends_is_continued_where_it_was() -> None:
    """The server ends every watch after some minutes: the next starts at the last version seen, at once and without a list."""
    bookmark = Event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    script = Script([listing(5)], [[Event("ADDED", item("a", 6)), None], [bookmark, None], [None]])
    await script.run()
    assert script.since == ["5", "6", "9", "9"]
    assert script.slept == []
    assert script.events == [("ADDED", "a")]


async def test_a_server_that_ends_watches_at_once_is_not_hammered() -> None:
    """Watches that last less than a second count as failures."""
    script = Script([listing(5)], [[None]] * 4, lasting=0.1)
    await script.run()
    assert script.slept == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("gap", [Expired("too old"), None], ids=["410 in the watch", "410 in the next watch"])
async def test_case_073_after_an_expired_version_the_differences_are_delivered(gap: Problem | None) -> None:
    """What changed, came and vanished while we could not look comes as events; what stayed comes not at all."""
    before = listing(5, item("same", 1), item("changed", 2), item("vanished", 3), item("replaced", 4, uid="old"))
    after = listing(50, item("same", 1), item("changed", 40), item("new", 41), item("replaced", 42, uid="young"))
    expired = Expired("too old")
    script = Script([before, after], [[gap], [expired]] if gap is None else [[gap]])
    await script.run()
    assert script.events == [
        ("DELETED", "vanished"),
        ("DELETED", "replaced"),
        ("MODIFIED", "changed"),
        ("ADDED", "new"),
        ("ADDED", "replaced"),
    ]
    assert script.slept == []
    assert script.since[-1] == "50"
    assert [state for state, _ in script.states] == [State.SYNCED]


async def test_what_vanished_in_a_gap_is_named_with_its_last_identity() -> None:
    """Whoever keeps records by uid finds the record."""
    script = Script([listing(5, item("a", 3)), listing(9)], [[Expired("too old")]])
    await script.run()
    assert script.got[-1] == Event("DELETED", item("a", 3))


async def test_cluster_scoped_objects_keep_their_place() -> None:
    """No namespace is invented for them."""
    node = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "uid": "u", "resourceVersion": "3"}}
    script = Script([listing(5, node), listing(9)], [[Expired("too old")]])
    await script.run()
    assert script.got[-1] == Event("DELETED", node)


async def test_events_count_for_the_differences() -> None:
    """What was deleted by an event does not vanish a second time, and what was added by one is not new."""
    script = Script(
        [listing(5, item("a", 1)), listing(9, item("b", 7))],
        [[Event("DELETED", item("a", 6)), Event("ADDED", item("b", 7)), Expired("too old")]],
    )
    await script.run()
    assert script.events == [("DELETED", "a"), ("ADDED", "b")]


async def test_versions_that_expire_again_and_again_are_waited_for() -> None:
    """Only the first new list comes at once."""
    script = Script([listing(5)] * 5, [[Expired("too old")]] * 4)
    await script.run()
    assert script.slept == [0.5, 1.0, 2.0]


async def test_a_cut_watch_goes_on_after_a_pause_without_a_list() -> None:
    """Nothing was missed: the version says where to go on."""
    cut = Unavailable("cut")
    script = Script([listing(5)], [[Event("ADDED", item("a", 6)), cut], [cut], [None]])
    await script.run()
    assert script.since == ["5", "6", "6", "6"]
    assert [state for state, _ in script.states] == [
        State.SYNCED,
        State.UNAVAILABLE,
        State.SYNCED,
        State.UNAVAILABLE,
        State.SYNCED,
    ]
    assert script.states[1] == (State.UNAVAILABLE, cut)


@pytest.mark.parametrize("jitter", [0.0, 1.0])
async def test_pauses_grow_to_a_bound_and_are_spread(jitter: float) -> None:
    """Doubled from half a second to thirty seconds, each taken by half to whole."""
    script = Script([Unavailable("down")] * 9, [])
    await script.run(jitter=lambda: jitter)
    share = 1.0 if jitter else 0.5
    assert script.slept == [share * min(LAST, FIRST * 2**number) for number in range(9)]


async def test_success_makes_pauses_short_again() -> None:
    """Last night's trouble is not held against the server."""
    down = Unavailable("down")
    script = Script([down, down, down, listing(5)], [[Event("ADDED", item("a", 6)), down]])
    await script.run()
    assert script.slept == [0.5, 1.0, 2.0, 0.5]


async def test_the_server_says_when_to_come_back() -> None:
    """A 429 names the seconds, and is obeyed."""
    script = Script([Unavailable("slow down", retry_after=7.0)], [])
    await script.run(jitter=lambda: 0.0)
    assert script.slept == [7.0]


async def test_missing_rights_are_reported_and_tried_again_more_and_more_slowly() -> None:
    """There is no event for a new right; and a server that has just started refuses everybody for a moment."""
    refused = Forbidden("cannot list")
    script = Script([*[refused] * 7, listing(5)], [])
    await script.run(jitter=lambda: 0.0)
    assert script.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert script.states == [(State.FORBIDDEN, refused), (State.SYNCED, None)]


async def test_a_kind_that_is_gone_waits_to_be_told() -> None:
    """No polling: when somebody says so, the list is read again and the differences are delivered."""
    again = asyncio.Event()
    gone = Gone("no such kind", what="kind")
    script = Script([listing(5, item("a", 1)), listing(9)], [[gone]])
    running = asyncio.ensure_future(script.run(again=again))
    for _ in range(20):
        await asyncio.sleep(0)
    assert script.states[-1] == (State.GONE, gone)
    assert script.slept == []
    assert script.events == []
    again.set()
    await running
    assert script.events == [("DELETED", "a")]
    assert len(script.states) == 3
    assert not again.is_set()


async def test_being_told_cuts_any_pause_short() -> None:
    """New rights can be announced, too."""
    again = asyncio.Event()
    script = Script([Forbidden("cannot list"), listing(5)], [])

    async def endless(seconds: float) -> None:
        await asyncio.get_running_loop().create_future()

    script.sleep = endless  # type: ignore[method-assign]
    running = asyncio.ensure_future(script.run(again=again))
    for _ in range(20):
        await asyncio.sleep(0)
    again.set()
    await running
    assert script.states[-1] == (State.SYNCED, None)


async def test_any_other_problem_is_tried_again() -> None:
    """A selector that the server does not like must not end the process."""
    blocked = Blocked(Reason.KIND_UNKNOWN, "no such kind")
    script = Script([blocked, listing(5)], [])
    await script.run()
    assert script.states == [(State.UNAVAILABLE, blocked), (State.SYNCED, None)]


async def test_a_handler_that_fails_ends_the_following() -> None:
    """That is a fault of ours and must be seen."""

    def handler(message: object) -> None:
        raise ZeroDivisionError

    script = Script([listing(5)], [])
    with pytest.raises(ZeroDivisionError):
        await follow(script, CONFIG_MAP, handler, lambda state, problem: None)  # type: ignore[arg-type]


async def test_a_watch_is_closed_when_following_ends() -> None:
    """Its connection must not wait for the collector."""
    closed = asyncio.Event()
    started = asyncio.Event()

    class Watching(Script):
        async def watch(self, resource: Resource, namespace: str = "", *, since: str, **selection: Any) -> AsyncIterator[Event]:
            try:
                started.set()
                await asyncio.get_running_loop().create_future()
                yield Event("ADDED", item("never", 1))
            finally:
                closed.set()

    script = Watching([listing(5)], [])
    following = asyncio.ensure_future(follow(script, CONFIG_MAP, script.got.append, lambda state, problem: None))  # type: ignore[arg-type]
    await started.wait()
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    assert closed.is_set()


async def test_little_is_kept_for_each_object() -> None:
    """Per object two short strings; its content is let go at once."""
    import tracemalloc

    def many() -> Listing:
        return listing(
            5, *(item(f"object-{number}", number, uid=f"0b3c5a1e-0000-4000-8000-{number:012}") for number in range(5000))
        )

    script = Script([], [])
    script.got = _Forgetful()
    tracemalloc.start()
    try:
        script.lists = [many()]
        following = asyncio.ensure_future(
            follow(script, CONFIG_MAP, script.got.append, lambda state, problem: None)  # type: ignore[arg-type]
        )
        await script.done.wait()
        kept = sum(trace.size for trace in tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()
        following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    assert kept / 5000 < 400


class _Forgetful(list[Any]):
    """A handler's store that keeps nothing."""

    def append(self, message: Any) -> None:
        """Forget it."""
