"""When to try again: a table by who must act, and a truce for two writers that fight."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apis.problems import Blocked, Conflict, Expired, Forbidden, Gone, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from policy.pace import FIGHT_CAP, FIGHT_LIMIT, FIGHT_WINDOW, backoff, truce

INVALID = Invalid(Reason.INVALID, "m")
BLOCKED = Blocked(Reason.NO_TENANT, "m")
FORBIDDEN = Forbidden("m")
UNAVAILABLE = Unavailable("m")
TOLD = Unavailable("m", retry_after=7.0)
STALE = Stale("m")


@pytest.mark.parametrize(
    ("problem", "first", "reason"),
    [
        pytest.param(INVALID, [None] * 6, "only an edit can mend it", id="invalid"),
        pytest.param(FORBIDDEN, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0], "rights have no event", id="forbidden"),
        pytest.param(BLOCKED, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0], "its event may be missed", id="blocked"),
        pytest.param(UNAVAILABLE, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0], "a server that is down needs quiet", id="down"),
        pytest.param(Expired("m"), [0.25, 0.5, 1.0], "the list starts anew", id="expired"),
        pytest.param(TOLD, [7.0, 7.0, 7.0], "a server that named a time is obeyed", id="told"),
        pytest.param(Unavailable("m", retry_after=0.0), [0.25, 0.5], "but never into a hot loop", id="told now"),
        pytest.param(STALE, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 6.4], "the world moved: look again soon", id="stale"),
    ],
)
def test_the_wait_depends_on_who_must_act(problem: Problem, first: list[float | None], reason: str) -> None:
    """The waits after the first, second ... failure, without jitter."""
    assert [backoff(problem, attempt, 0.0) for attempt in range(len(first))] == pytest.approx(first), reason


@pytest.mark.parametrize(
    ("problem", "cap"),
    [(FORBIDDEN, 30.0), (BLOCKED, 30.0), (UNAVAILABLE, 60.0), (STALE, 12.8), (Conflict("m", {}), 12.8), (Gone("m"), 12.8)],
)
@given(attempt=st.integers(0, 10_000), jitter=st.floats(0, 1, exclude_max=True))
def test_no_wait_is_longer_than_its_cap(problem: Problem, cap: float, attempt: int, jitter: float) -> None:
    """After ten thousand failures as after ten."""
    wait = backoff(problem, attempt, jitter)
    assert wait is not None
    assert 0 < wait <= cap


@given(st.floats(0, 1, exclude_max=True), st.floats(0.01, 3600))
def test_a_server_is_never_asked_before_the_time_that_it_named(jitter: float, wanted: float) -> None:
    """Jitter only adds."""
    wait = backoff(Unavailable("m", retry_after=wanted), 0, jitter)
    assert wait is not None
    assert wanted <= wait <= wanted * 1.5


def test_jitter_spreads_those_that_failed_together() -> None:
    """The last waits twice as long as the first."""
    waits = [backoff(UNAVAILABLE, 3, jitter) for jitter in (0.0, 0.5, 0.999)]
    assert waits == pytest.approx([2.0, 3.0, 4.0], rel=0.01)


# The truce.


@pytest.mark.parametrize(
    ("repairs", "now", "wait", "reason"),
    [
        pytest.param([], 0.0, 0.0, "nothing was repaired", id="none"),
        pytest.param([0.0] * 4, 0.0, 0.0, "that is normal life", id="four at once"),
        pytest.param([0.0] * 5, 0.0, 1.0, "the fifth starts a truce", id="five at once"),
        pytest.param([0.0] * 5, 1.0, 0.0, "which is over after a second", id="five, a second later"),
        pytest.param([0.0] * 6, 0.0, 2.0, "each further one waits twice as long", id="six"),
        pytest.param([0.0] * 9, 0.0, 16.0, "and again", id="nine"),
        pytest.param([0.0] * 40, 0.0, 60.0, "but never longer than a minute", id="forty"),
        pytest.param([0.0] * 9, 120.0, 0.0, "after two quiet minutes all is forgotten", id="long ago"),
    ],
)
def test_a_fight_is_slowed_down(repairs: list[float], now: float, wait: float, reason: str) -> None:
    """Seconds to leave the target alone."""
    assert truce(repairs, now) == pytest.approx(wait), reason


MOST = 12
"""How many repairs of one target a minute can see, whoever fights."""


@settings(max_examples=50)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=40))
def test_a_target_is_repaired_a_bounded_number_of_times_a_minute(pauses: list[float]) -> None:
    """An opponent that strikes at once or after a while, for twenty minutes: never a hot loop, and never a surrender."""
    now, repairs, turn = 0.0, list[float](), 0
    while now < 1200:
        now += pauses[turn % len(pauses)]
        turn += 1
        now += truce(repairs, now)
        assert truce(repairs, now) == pytest.approx(0.0, abs=1e-6)
        repairs.append(now)
        assert sum(at > now - FIGHT_WINDOW for at in repairs) <= MOST
    gaps = [after - before for before, after in pairwise(repairs)]
    assert max(gaps) <= FIGHT_CAP + 5 + 1e-6


@given(st.lists(st.floats(0, 1000), max_size=20), st.floats(0, 1000))
def test_a_truce_is_never_negative_and_never_long(times: list[float], later: float) -> None:
    """Whatever is remembered of a target."""
    repairs = sorted(times)
    now = (repairs[-1] if repairs else 0.0) + later
    assert 0.0 <= truce(repairs, now) <= FIGHT_CAP


def test_a_few_repairs_a_minute_are_never_slowed() -> None:
    """Five edits by hand within a minute are repaired at once."""
    repairs: list[float] = []
    for turn in range(FIGHT_LIMIT):
        assert truce(repairs, turn * 10.0) == 0.0
        repairs.append(turn * 10.0)
