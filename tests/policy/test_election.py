"""Who holds which shard: single decisions by table, and whole histories of several members by simulation."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.election import (
    Action,
    Do,
    Lease,
    Phase,
    Seen,
    Tenure,
    Terms,
    View,
    answered,
    drained,
    left,
    member_name,
    members,
    observe,
    open_until,
    refused,
    sent,
    shard_name,
    step,
    stopping,
)
from policy.members import owner

ME, OTHER = "manager-0", "manager-1"
MINE = next(shard for shard in range(99) if owner(shard, [ME, OTHER], 99) == ME)
THEIRS = next(shard for shard in range(99) if owner(shard, [ME, OTHER], 99) == OTHER)


def shard_lease(shard: int, holder: str, version: str = "1") -> Lease:
    """A shard's Lease as a list shows it."""
    return Lease(shard_name(shard), holder, version, uid="u")


def member_lease(identity: str, version: str = "1") -> Lease:
    """A member's Lease as a list shows it."""
    return Lease(member_name(identity), identity, version, uid="u")


def view(*leases: Lease, at: float = 0.0, shards: int = 99, **fields) -> View:
    """What `ME` knows that has just seen these Leases, and has beaten itself."""
    start = View(ME, shards=shards, beaten=at, **fields)
    return observe(start, [member_lease(ME), *leases], at, at)


def decisions(seen: View, now: float, shard: int) -> list[Do]:
    """What is decided about one shard."""
    return [action.do for action in step(seen, now)[1] if action.shard == shard]


def holding(seen: View, shard: int, *, renewed: float, phase: Phase = Phase.HOLDING) -> View:
    """The same view with a tenure in it."""
    tenure = Tenure(acquired=renewed, renewed=renewed, tried=renewed, phase=phase, drain_by=renewed + 5)
    return replace(seen, tenures={shard: tenure})


@pytest.mark.parametrize(
    ("leases", "shard", "now", "expected"),
    [
        pytest.param([], MINE, 0, [Do.ACQUIRE], id="nobody ever had it"),
        pytest.param([shard_lease(MINE, "")], MINE, 0, [Do.ACQUIRE], id="it was released"),
        pytest.param([shard_lease(MINE, OTHER)], MINE, 3.9, [], id="somebody has it"),
        pytest.param([shard_lease(MINE, OTHER)], MINE, 4.0, [Do.ACQUIRE], id="nobody renewed it for a lease"),
        pytest.param([shard_lease(MINE, ME)], MINE, 0, [Do.ACQUIRE], id="the answer to our acquisition was lost"),
        pytest.param([member_lease(OTHER), shard_lease(THEIRS, "")], THEIRS, 0, [], id="another member should have it"),
        pytest.param([member_lease(OTHER), shard_lease(THEIRS, "")], THEIRS, 4.0, [Do.ACQUIRE], id="that member is dead"),
    ],
)
def test_when_a_shard_is_acquired(leases, shard, now, expected):
    """A Lease is taken by who should have it, when it is free or has not changed for its duration on our own clock."""
    assert decisions(view(*leases), now, shard) == expected


@pytest.mark.parametrize(
    ("leases", "shard", "phase", "now", "expected"),
    [
        pytest.param([], MINE, Phase.HOLDING, 0.9, [], id="not yet due"),
        pytest.param([], MINE, Phase.HOLDING, 1.0, [Do.RENEW], id="due"),
        pytest.param([], MINE, Phase.HOLDING, 3.0, [Do.ACQUIRE], id="the fence has closed: a new tenure"),
        pytest.param([member_lease(OTHER)], THEIRS, Phase.HOLDING, 0.5, [Do.DRAIN], id="another should have it"),
        pytest.param([member_lease(OTHER)], THEIRS, Phase.HOLDING, 1.0, [Do.DRAIN, Do.RENEW], id="renewed while it drains"),
        pytest.param([member_lease(OTHER)], THEIRS, Phase.DRAINING, 1.0, [Do.RENEW], id="draining"),
        pytest.param([member_lease(OTHER)], THEIRS, Phase.DRAINED, 0.5, [Do.RELEASE], id="drained"),
    ],
)
def test_what_becomes_of_a_tenure(leases, shard, phase, now, expected):
    """A tenure is renewed in time, drained when another should have it, and released after that."""
    seen = holding(view(shard_lease(shard, ME), *leases), shard, renewed=0.0, phase=phase)
    assert decisions(seen, now, shard) == expected


def test_a_tenure_that_somebody_else_took_is_over():
    """Whatever our clock says: the server says who has it."""
    seen = holding(view(shard_lease(MINE, OTHER)), MINE, renewed=0.0)
    after, actions = step(seen, 0.1)
    assert MINE not in after.tenures
    assert not [action for action in actions if action.shard == MINE]


def test_draining_has_an_end():
    """Work that does not end in time is cut off by the fence, and the shard is released."""
    seen = holding(view(shard_lease(THEIRS, ME), member_lease(OTHER)), THEIRS, renewed=4.5, phase=Phase.DRAINING)
    seen = replace(
        seen, tenures={THEIRS: replace(seen.tenures[THEIRS], drain_by=5.0)}, seen=view(member_lease(OTHER), at=4.5).seen
    )
    after, actions = step(seen, 5.0)
    assert open_until(after, THEIRS) is None
    assert [action.do for action in actions if action.shard == THEIRS] == [Do.RELEASE]


def test_the_fence_counts_from_the_start_of_the_request():
    """The server may have stored the renewal at any moment since it was sent."""
    seen = view(shard_lease(MINE, ""))
    acquire = Action(Do.ACQUIRE, shard_name(MINE), MINE)
    after = answered(seen, acquire, shard_lease(MINE, ME, "2"), asked=10.0, now=11.5)
    assert open_until(after, MINE) == 13.0
    assert after.tenures[MINE].acquired == 11.5


def test_a_renewal_that_is_answered_too_late_does_not_reopen_the_fence():
    """Once closed, a fence opens only with a new tenure."""
    seen = holding(view(shard_lease(MINE, ME)), MINE, renewed=0.0)
    late = answered(seen, Action(Do.RENEW, shard_name(MINE), MINE), shard_lease(MINE, ME, "2"), asked=2.0, now=3.5)
    assert MINE not in step(late, 3.5)[0].tenures


def test_a_list_that_was_asked_for_before_our_write_does_not_undo_it():
    """What we wrote after the question is newer than the answer."""
    acquire = Action(Do.ACQUIRE, shard_name(MINE), MINE)
    seen = answered(view(shard_lease(MINE, "")), acquire, shard_lease(MINE, ME, "2"), asked=1.0, now=1.2)
    after = observe(seen, [shard_lease(MINE, "")], asked=1.1, now=1.3)
    assert after.seen[shard_name(MINE)].lease.holder == ME


def test_after_a_refused_write_a_lease_is_left_alone_until_it_is_seen_again():
    """Nobody hammers a Lease with a version that is known to be old."""
    seen = refused(view(shard_lease(MINE, "")), Action(Do.ACQUIRE, shard_name(MINE), MINE), stale=True)
    assert decisions(seen, 0.1, MINE) == []
    assert decisions(observe(seen, [shard_lease(MINE, "", "2")], 0.2, 0.2), 0.2, MINE) == [Do.ACQUIRE]


def test_a_renewal_without_an_answer_is_tried_again_soon():
    """Three tries fit into the time that the fence leaves."""
    seen = holding(view(shard_lease(MINE, ME)), MINE, renewed=0.0)
    tried = sent(seen, Action(Do.RENEW, shard_name(MINE), MINE), 1.0)
    assert decisions(tried, 1.4, MINE) == []
    assert decisions(tried, 1.5, MINE) == [Do.RENEW]


def test_a_lease_that_somebody_deleted_is_not_free_at_once():
    """Its holder does not know yet: its fence must close first."""
    seen = view(shard_lease(MINE, OTHER))
    gone = observe(seen, [member_lease(ME)], 1.0, 1.0)
    assert decisions(gone, 4.9, MINE) == []
    assert decisions(gone, 5.0, MINE) == [Do.ACQUIRE]


def test_nothing_is_done_before_the_first_look():
    """Who knows nothing takes nothing."""
    assert step(View(ME), 100.0)[1] == ()


def test_a_member_that_has_long_been_silent_is_deleted():
    """A replica that crashed leaves a Lease that somebody must remove; one that is only silent is merely not counted."""
    seen = view(member_lease(OTHER))
    assert members(seen, 3.9) == [ME, OTHER]
    assert members(seen, 4.0) == [ME]
    deleted = [action for action in step(seen, 60.0)[1] if action.do is Do.DELETE]
    assert [action.name for action in deleted] == [member_name(OTHER)]


def test_leaving_gives_everything_back():
    """The member goes first, so that the others know whose turn it is; then each shard is drained and released."""
    seen = stopping(holding(view(shard_lease(MINE, ME)), MINE, renewed=0.0))
    seen, actions = step(seen, 0.1)
    assert [action.do for action in actions] == [Do.DRAIN, Do.DELETE]
    seen = answered(seen, actions[1], None, 0.1, 0.2)
    assert not left(seen)
    seen, actions = step(drained(seen, MINE), 0.2)
    assert [action.do for action in actions] == [Do.RELEASE]
    assert open_until(seen, MINE) is None
    assert left(answered(seen, actions[0], shard_lease(MINE, "", "3"), 0.2, 0.3))


def test_what_is_acquired_while_leaving_is_only_released():
    """An acquisition that was under way gives no tenure in which anything is written."""
    seen = stopping(view(shard_lease(MINE, "")))
    after = answered(seen, Action(Do.ACQUIRE, shard_name(MINE), MINE), shard_lease(MINE, ME, "2"), 0.0, 0.1)
    assert open_until(after, MINE) is None
    assert decisions(after, 0.1, MINE) == [Do.RELEASE]


# Simulation

SHARDS = 3


class Server:
    """Serialises writes by resourceVersion; what a member is told is a copy."""

    def __init__(self) -> None:
        self.leases: dict[str, Lease] = {}
        self.version = 0

    def act(self, action: Action, identity: str) -> Lease | bool | None:
        """The stored Lease, None when it was deleted, False when it is not what the action is based on."""
        live = self.leases.get(action.name)
        if (live.version if live else None) != (action.lease.version if action.lease else None):
            return False
        if action.do is Do.DELETE:
            del self.leases[action.name]
            return None
        self.version += 1
        holder = "" if action.do is Do.RELEASE else identity
        self.leases[action.name] = Lease(action.name, holder, str(self.version), uid="u")
        return self.leases[action.name]


@dataclass
class Process:
    """One replica: its view, and a clock of its own that runs while the process is stopped."""

    view: View
    rate: float
    offset: float
    stopped_until: float = 0.0
    dead: bool = False
    waiting: int = 0
    spans: list[list[float]] = field(default_factory=list)  # shard, from, to: when a fence was open, in real time
    open: dict[int, list[float]] = field(default_factory=dict)

    def clock(self, real: float) -> float:
        """What its clock shows."""
        return self.offset + self.rate * real

    def real(self, clock: float) -> float:
        """When its clock shows that."""
        return (clock - self.offset) / self.rate


@dataclass
class World:
    """A server, some replicas, and a network and a scheduler that do what they like until `calm`."""

    random: Random
    terms: Terms
    calm: float
    now: float = 0.0
    server: Server = field(default_factory=Server)
    processes: list[Process] = field(default_factory=list)
    events: list[tuple[float, int, Process | None, Callable[[], None]]] = field(default_factory=list)
    count: int = 0

    def at(self, when: float, process: Process | None, act: Callable[[], None]) -> None:
        """Do something later; what a stopped process does waits until it goes on."""
        self.count += 1
        heappush(self.events, (when, self.count, process, act))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self.events and self.events[0][0] <= until:
            self.now, _, process, act = heappop(self.events)
            if process is None:
                act()
            elif process.dead:
                continue
            elif process.stopped_until > self.now:
                self.at(process.stopped_until, process, act)
            else:
                act()
                self.note(process)

    def note(self, process: Process) -> None:
        """Write down when which fence is open, as `Fence.remaining` would answer at any time."""
        for shard in range(SHARDS):
            until = open_until(process.view, shard)
            span = process.open.get(shard)
            if until is None or process.real(until) <= self.now:
                if span is not None:
                    span[2] = min(span[2], self.now)
                    del process.open[shard]
            elif span is None:
                process.open[shard] = [shard, self.now, process.real(until)]
                process.spans.append(process.open[shard])
            else:
                span[2] = process.real(until)

    def start(self, identity: str) -> None:
        """A new replica, with a clock of its own."""
        rough = self.now < self.calm
        rate = self.random.uniform(0.9, 1.1) if rough else 1.0
        process = Process(View(identity, SHARDS, self.terms), rate, self.random.uniform(0, 1e6))
        self.processes.append(process)
        self.look(process)
        self.turn(process)
        self.at(self.now + self.random.uniform(1, 20), None, lambda: self.strike(process))

    def strike(self, process: Process) -> None:
        """Stop, crash, or ask a process to leave."""
        if self.now >= self.calm or process.dead:
            return
        fate = self.random.random()
        if fate < 0.7:
            process.stopped_until = self.now + self.random.choice([0.3, 2.5, 3.5, 5.0, 9.0])
        elif fate < 0.85:
            process.dead = True
            for span in process.open.values():
                span[2] = min(span[2], self.now)
            self.at(self.now + 1, None, lambda: self.start(f"m{len(self.processes)}"))
        else:
            process.view = stopping(process.view)
            self.at(self.now + 1, None, lambda: self.start(f"m{len(self.processes)}"))
        self.at(self.now + self.random.uniform(1, 12), None, lambda: self.strike(process))

    def delay(self) -> float:
        """How long a message is under way."""
        if self.now >= self.calm or self.random.random() < 0.9:
            return self.random.uniform(0.005, 0.05)
        return self.random.choice([0.4, 1.0, 2.0, 4.5, 8.0])

    def request(
        self, process: Process, serve: Callable[[], object], done: Callable[[object], None], failed: Callable[[], None]
    ) -> None:
        """Send a request: it may arrive late, or its answer may be late or lost; the caller waits 1.5 s of its clock."""
        finished = False

        def finish(act: Callable[[], None]) -> None:
            nonlocal finished
            if not finished:
                finished = True
                act()

        def arrive() -> None:
            answer = serve()
            if self.now >= self.calm or self.random.random() < 0.95:
                self.at(self.now + self.delay(), process, lambda: finish(lambda: done(answer)))

        self.at(self.now + self.delay(), None, arrive)
        self.at(self.now + 1.5 / process.rate, process, lambda: finish(failed))

    def look(self, process: Process) -> None:
        """List the Leases, and again after half a second."""
        asked = process.clock(self.now)

        def done(answer: object) -> None:
            process.view = observe(process.view, answer, asked, process.clock(self.now))
            self.at(self.now + 0.5 / process.rate, process, lambda: self.look(process))

        serve = lambda: list(self.server.leases.values())  # noqa: E731
        self.request(process, serve, done, lambda: self.look(process))

    def turn(self, process: Process) -> None:
        """Decide and act; the next turn comes when all requests have ended."""
        process.view, actions = step(process.view, process.clock(self.now))
        self.note(process)
        for action in actions:
            if action.do is Do.DRAIN:
                self.drain(process, action.shard)
            else:
                self.send(process, action)
        if not process.waiting:
            self.later(process)

    def later(self, process: Process) -> None:
        """The next turn."""
        self.at(self.now + 0.2 / process.rate, process, lambda: self.turn(process))

    def drain(self, process: Process, shard: int) -> None:
        """End the work of a shard, at once, soon, or too late."""

        def done() -> None:
            process.view = drained(process.view, shard)

        self.at(self.now + self.random.choice([0.0, 0.5, 7.0]), process, done)

    def send(self, process: Process, action: Action) -> None:
        """Carry out one action."""
        asked = process.clock(self.now)
        process.view = sent(process.view, action, asked)
        process.waiting += 1

        def after() -> None:
            process.waiting -= 1
            if not process.waiting:
                self.later(process)

        def done(answer: object) -> None:
            if answer is False:
                process.view = refused(process.view, action, stale=True)
            else:
                process.view = answered(process.view, action, answer, asked, process.clock(self.now))
            after()

        def failed() -> None:
            process.view = refused(process.view, action, stale=False)
            after()

        self.request(process, lambda: self.server.act(action, process.view.me), done, failed)


def overlaps(world: World) -> list[tuple[list[float], list[float]]]:
    """Pairs of spans of one shard in which two replicas' fences were open at the same moment."""
    spans = sorted((*span, number) for number, process in enumerate(world.processes) for span in process.spans)
    found = []
    for i, (shard, start, end, who) in enumerate(spans):
        for other, begin, finish, whose in spans[i + 1 :]:
            if other == shard and whose != who and begin < end and start < finish:
                found.append(((shard, start, end, who), (other, begin, finish, whose)))
    return found


def simulate(seed: int, terms: Terms) -> World:
    """A minute and a half of trouble, then forty seconds of calm."""
    world = World(Random(seed), terms, calm=90.0)
    for n in range(3):
        world.start(f"m{n}")
    world.run(130.0)
    return world


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_two_fences_of_one_shard_are_never_open_at_once(seed):
    """Whatever is stopped, crashes, comes late or gets lost, with clocks that differ by a fifth; and afterwards all is held."""
    world = simulate(seed, Terms())
    assert overlaps(world) == []
    alive = [process for process in world.processes if not process.dead and not process.view.stopping]
    for shard in range(SHARDS):
        holders = [process.view.me for process in alive if open_until(process.view, shard) is not None]
        assert holders == [owner(shard, [process.view.me for process in alive], SHARDS)]


def test_the_simulation_would_notice():
    """With a fence longer than the lease it finds the overlap that a margin prevents."""
    assert any(overlaps(simulate(seed, replace(Terms(), margin=-2.0))) for seed in range(20))


def test_the_simulation_is_not_empty():
    """Shards change hands in it, many times."""
    world = simulate(1, Terms())
    assert sum(len(process.spans) for process in world.processes) > 10
    assert all(isinstance(seen, Seen) for process in world.processes for seen in process.view.seen.values())
