"""The delete budget: its two bounds, its hour, and a confirmation that lets exactly one set of removals go, once."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.budget import FLOOR, SHARE, WINDOW, Pruned, Verdict, budget
from policy.decide import Decision, Verb, decide
from tests.support.build import OWNER, hold, item, live, record, want

NOW = 1_700_000_000.0


def removals(count: int, *, uid: str = "u") -> list[Decision]:
    """Decisions that remove so many targets; `uid` begins the UIDs of the live objects."""
    return [
        decide(item(None, live(hold(), uid=f"{uid}{n}"), record(want(f"t{n}"), uid=f"{uid}{n}")), OWNER) for n in range(count)
    ]


def judge(
    planned: Sequence[Decision], *, total: int, recent: Sequence[Pruned] = (), confirmed: str = "", now: float = NOW
) -> Verdict:
    """The verdict about these removals."""
    return budget(planned, total=total, recent=recent, confirmed=confirmed, now=now)


def test_the_builder_removes() -> None:
    """The decisions of these tests are removals."""
    assert {decision.verb for decision in removals(3)} == {Verb.REMOVE}


@pytest.mark.parametrize(
    ("planned", "total", "gone", "allowed", "reason"),
    [
        pytest.param(0, 100, 99, True, "nothing is removed", id="nothing"),
        pytest.param(10, 10, 0, True, "ten are few, even if they are all", id="all of ten"),
        pytest.param(11, 11, 0, False, "eleven of eleven are more than ten and more than half", id="all of eleven"),
        pytest.param(11, 22, 0, True, "half is not more than half", id="exactly half"),
        pytest.param(11, 21, 0, False, "more than half", id="just more than half"),
        pytest.param(500, 1000, 0, True, "half of many", id="half of many"),
        pytest.param(501, 1000, 0, False, "more than half of many", id="more than half of many"),
        pytest.param(1, 12, 9, True, "ten within the hour", id="the tenth"),
        pytest.param(1, 11, 10, False, "the eleventh of twenty-one within the hour: one by one counts as well", id="one by one"),
        pytest.param(1, 12, 10, True, "the eleventh of twenty-two is half", id="one by one, half"),
    ],
)
def test_more_than_half_and_more_than_ten_need_a_confirmation(
    planned: int, total: int, gone: int, allowed: bool, reason: str
) -> None:
    """Both bounds have to be passed, over everything that went within the hour."""
    recent = [Pruned(NOW - 10, gone)] if gone else []
    assert judge(removals(planned), total=total, recent=recent).allowed is allowed, reason


@pytest.mark.parametrize(
    ("age", "allowed"),
    [(0.0, False), (WINDOW - 1, False), (WINDOW, True), (WINDOW + 1, True)],
)
def test_what_went_an_hour_ago_counts_no_more(age: float, allowed: bool) -> None:
    """The window is one hour."""
    assert judge(removals(5), total=20, recent=[Pruned(NOW - age, 20)]).allowed is allowed


def test_the_message_says_how_many_and_how_to_let_them_go() -> None:
    """Counts, bounds and the annotation with its value."""
    verdict = judge(removals(20), total=30, recent=[Pruned(NOW - 1, 4)])
    assert verdict.message == (
        "20 of 30 targets would be removed (4 were within the last hour), more than the budget of 10 and 50%: "
        f"to let exactly these go, annotate the parent with copyhold.dev/confirm-prune={verdict.digest}"
    )


def test_the_confirmation_lets_exactly_these_removals_go() -> None:
    """The digest that was shown passes; any other word does not."""
    planned = removals(20)
    shown = judge(planned, total=20)
    assert not shown.allowed
    assert judge(planned, total=20, confirmed=shown.digest).allowed
    assert not judge(planned, total=20, confirmed="yes").allowed


def test_the_order_of_removals_does_not_matter() -> None:
    """The digest that was shown is the digest that is asked for."""
    planned = removals(20)
    assert judge(planned[::-1], total=20).digest == judge(planned, total=20).digest


def test_one_removal_more_needs_another_confirmation() -> None:
    """Nobody confirmed the twenty-first."""
    shown = judge(removals(20), total=30)
    assert not judge(removals(21), total=30, confirmed=shown.digest).allowed


def test_a_confirmation_is_good_once() -> None:
    """The annotation stays on the parent; when the same targets were made anew, it does not let them go again."""
    shown = judge(removals(20), total=20)
    assert not judge(removals(20, uid="v"), total=20, recent=[Pruned(NOW - 1, 20)], confirmed=shown.digest).allowed


COUNTS = st.integers(0, 60)


@given(COUNTS, COUNTS, COUNTS)
def test_the_bounds_hold_for_all_counts(planned: int, rest: int, gone: int) -> None:
    """Held exactly when what went within the hour would be more than ten and more than half of what there was."""
    total = planned + rest
    verdict = judge(removals(planned), total=total, recent=[Pruned(NOW, gone)])
    over = planned > 0 and gone + planned > FLOOR and gone + planned > SHARE * (total + gone)
    assert verdict.allowed is not over
    assert bool(verdict.message) is over


@given(st.lists(st.integers(1, 12), max_size=30), st.integers(11, 60))
def test_no_sequence_of_small_removals_gets_past_the_budget(sizes: list[int], start: int) -> None:
    """However it is cut into passes within an hour, more than half and more than ten do not go unconfirmed."""
    recent: list[Pruned] = []
    left = start
    for at, size in enumerate(sizes):
        planned = removals(min(size, left))
        if judge(planned, total=left, recent=recent, now=NOW + at).allowed and planned:
            recent.append(Pruned(NOW + at, len(planned)))
            left -= len(planned)
    gone = start - left
    assert gone <= max(FLOOR, SHARE * start)
