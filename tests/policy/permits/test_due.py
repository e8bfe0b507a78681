"""The rules of the clock: what is due in each phase, right before and right at each moment."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.due import Action, Due, due, ending
from policy.permits.lifecycle import expired
from policy.permits.moments import LATEST, moment, stamp
from policy.permits.snapshot import Snapshot
from tests.policy.permits.build import MADE, NOW, TOM, active, approved, at, begun, in_phase, permit, requested, rules, snapshot

SECOND = timedelta(seconds=1)
ITEM = {"kind": "ConfigMap", "name": "a"}


def at_noon(approvals: Manifest | None = None) -> Snapshot:
    """A maintenance window: it starts two hours after it was made."""
    return snapshot(approvals, startTime="2026-08-31T12:00:00Z")


def gone(status: Manifest) -> Manifest:
    """Nothing is recorded any more."""
    return status | {"processedItems": []}


def ended(of: Snapshot | None = None) -> Manifest:
    """An expired permit, with something to take back."""
    return expired(active(of), "ExpiredBySystem", at(35))[0]


def twice() -> Manifest:
    """Approved by two, an hour apart."""
    status = approved(snapshot(BRIEF), when=at(50))
    first = status["review"]["approvals"][0]
    second = first | {"reviewer": TOM, "time": stamp(at(100))}
    return status | {"review": {"verdict": "Approved", "approvals": [first, second]}}


def row(status: Manifest, now: datetime, action: Action, until: datetime | None = None, reason: str = "", *, id: str) -> Any:
    """What is due, and when to look again."""
    return pytest.param(status, now, Due(action, until, reason), id=id)


FOREVER = snapshot(duration=None, maxDuration=None)
LIMITED = rules(deadline="1h")
BRIEF = rules(validFor="1h")

ROWS = [
    row({}, NOW, Action.CREATE, id="new"),
    row(in_phase(Phase.CREATED), NOW, Action.PREPARE, id="created"),
    row(requested(), NOW, Action.AWAIT_REVIEW, id="requested, no deadline"),
    row(requested(snapshot(LIMITED)), at(60) - SECOND, Action.AWAIT_REVIEW, at(60), id="requested, before the deadline"),
    row(requested(snapshot(LIMITED)), at(60), Action.EXPIRE, None, "DeadlineExceeded", id="requested, at the deadline"),
    row(
        requested(snapshot(LIMITED)) | {"phase": "Pending"},
        at(60),
        Action.EXPIRE,
        None,
        "DeadlineExceeded",
        id="pending likewise",
    ),
    row(approved(), NOW, Action.ACTIVATE, at(5, hours=24), id="approved"),
    row(approved(snapshot(BRIEF)), at(65) - SECOND, Action.ACTIVATE, at(65), id="approved, still good"),
    row(approved(snapshot(BRIEF)), at(65), Action.EXPIRE, None, "ApprovalLapsed", id="approved, too old"),
    row(twice(), at(110) - SECOND, Action.ACTIVATE, at(110), id="approved twice, both still good"),
    row(twice(), at(110), Action.EXPIRE, None, "ApprovalLapsed", id="approved twice, the first too old"),
    row(approved(at_noon()), at(120) - SECOND, Action.AWAIT_START, at(120), id="before the start"),
    row(approved(at_noon()), at(120), Action.ACTIVATE, at(120, hours=24), id="at the start"),
    row(approved(at_noon(BRIEF)), at(120), Action.ACTIVATE, at(180), id="good from the start"),
    row(approved(at_noon(BRIEF)), at(180), Action.EXPIRE, None, "ApprovalLapsed", id="too long after the start"),
    row(approved(at_noon(BRIEF), when=at(150)), at(209), Action.ACTIVATE, at(210), id="approved after the start: from then"),
    row(approved() | {"review": {"verdict": "Approved"}}, NOW, Action.EXPIRE, None, "ApprovalLapsed", id="approved by nobody"),
    row(begun(), at(35) - SECOND, Action.ACTIVATE, at(35), id="begun"),
    row(begun(), at(35), Action.EXPIRE, None, "ExpiredBySystem", id="begun, and its time is over"),
    row(begun(snapshot(BRIEF, duration="8h")), at(120), Action.ACTIVATE, at(485), id="begun in time: the approval was acted on"),
    row(begun(FOREVER), at(hours=999), Action.ACTIVATE, id="begun, without end"),
    row(active(), at(35) - SECOND, Action.KEEP, at(35), id="active"),
    row(active(), at(35), Action.EXPIRE, None, "ExpiredBySystem", id="active, at its end"),
    row(active(FOREVER), at(hours=9999), Action.KEEP, id="active, without end"),
    row(active() | {"active": {"until": "soon"}}, NOW, Action.EXPIRE, None, "ExpiredBySystem", id="an end that nobody can read"),
    row(in_phase(Phase.RETRYING), NOW, Action.RETRY, id="retrying"),
    row(in_phase(Phase.FAILED), NOW, Action.TAKE_BACK, id="failed"),
    row(in_phase(Phase.DENIED), NOW, Action.TAKE_BACK, id="denied"),
    row(ended(), at(35), Action.TAKE_BACK, id="expired, not yet gone"),
    row(gone(ended()) | {"records": {"count": 3}}, at(35), Action.TAKE_BACK, id="expired, recorded elsewhere"),
    row(gone(ended()), at(36), Action.RETAIN, at(35, hours=24 * 30), id="expired, kept"),
    row(gone(ended()), at(35, hours=24 * 30), Action.DELETE, id="expired, kept long enough"),
    row(gone(ended(snapshot(keepFor=None))), at(35), Action.DELETE, id="expired, not kept"),
    row(in_phase(Phase.RETRYING) | {"processedItems": [ITEM]}, NOW, Action.TAKE_BACK, id="retrying, with something left"),
    row(requested() | {"records": {"count": 1}}, NOW, Action.TAKE_BACK, id="requested, with something left"),
]


@pytest.mark.parametrize(("status", "now", "expected"), ROWS)
def test_each_phase_has_its_clock(status: Manifest, now: datetime, expected: Due) -> None:
    """A moment that is reached has passed."""
    assert due(permit(status), now) == expected


def test_every_phase_and_every_action_is_in_the_table() -> None:
    """So that a new one is not forgotten."""
    assert {each.values[0].get("phase") for each in ROWS} == {None, *Phase}
    assert {each.values[2].action for each in ROWS} == set(Action)


@pytest.mark.parametrize(
    ("status", "terminating", "action"),
    [
        pytest.param({}, False, Action.DELETE, id="nobody saw it"),
        pytest.param(requested(), False, Action.DELETE, id="requested"),
        pytest.param(active(), False, Action.EXPIRE, id="active: that ends, and is written down"),
        pytest.param(active() | {"phase": "Expired"}, False, Action.TAKE_BACK, id="it has ended"),
        pytest.param(gone(active() | {"phase": "Expired"}), False, Action.RETAIN, id="was active: kept as a record"),
        pytest.param(gone(active() | {"phase": "Expired"}), True, Action.DELETE, id="nothing holds a namespace that goes away"),
        pytest.param(active(), True, Action.EXPIRE, id="but what it gave is taken back first"),
    ],
)
def test_a_permit_that_is_being_deleted_takes_back_first(status: Manifest, terminating: bool, action: Action) -> None:
    """Then it goes, as an expired one does."""
    going = permit(status, deletionTimestamp="2026-08-31T10:10:00Z")
    assert due(going, at(10), namespace_terminating=terminating).action == action


@given(
    phase=st.sampled_from(Phase),
    until=st.datetimes(MADE.replace(tzinfo=None), datetime(9999, 12, 31)).map(lambda time: time.replace(tzinfo=MADE.tzinfo)),
    seconds=st.floats(-1e6, 1e9),
)
def test_nothing_is_given_or_kept_at_or_after_its_end(phase: Phase, until: datetime, seconds: float) -> None:
    """In no phase, and at no time."""
    try:
        now = until + timedelta(seconds=seconds)
    except OverflowError:
        now = LATEST
    status = in_phase(phase) | {"active": {"from": stamp(MADE), "until": stamp(until)}}
    found = due(permit(status), now)
    if found.action in (Action.KEEP, Action.ACTIVATE):
        assert now < moment(stamp(until)) == found.at


@given(status=st.sampled_from([each.values[0] for each in ROWS]), minutes=st.floats(0, 1e5), more=st.floats(0, 1e5))
def test_nothing_changes_before_the_moment_that_is_named(status: Manifest, minutes: float, more: float) -> None:
    """Whoever waits until then misses nothing: until then the answer stays the same."""
    now = at(minutes)
    first = due(permit(status), now)
    later = now + timedelta(minutes=more)
    if first.at is None or later < first.at:
        assert due(permit(status), later) == first
    else:
        assert due(permit(status), later) != first


@pytest.mark.parametrize(
    ("status", "now", "pressing"),
    [
        pytest.param({}, NOW, False, id="new"),
        pytest.param(active() | {"processedItems": [ITEM]}, at(35) - SECOND, False, id="before its end"),
        pytest.param(active() | {"processedItems": [ITEM]}, at(600), True, id="after its end"),
        pytest.param(gone(active()), at(600), False, id="after its end, and gone"),
        pytest.param(ended() | {"processedItems": [ITEM]}, NOW, True, id="ended by somebody"),
        pytest.param(ended() | {"records": {"count": 3}}, NOW, True, id="ended, recorded elsewhere"),
        pytest.param(in_phase(Phase.FAILED) | {"processedItems": [ITEM]}, NOW, True, id="failed half way"),
        pytest.param({"phase": "Active", "active": {"until": "x"}, "processedItems": [ITEM]}, NOW, True, id="unreadable"),
    ],
)
def test_access_that_is_over_and_still_there_is_pressing(status: Manifest, now: datetime, pressing: bool) -> None:
    """Whatever else is in the status: this must not raise."""
    assert ending(permit(status), now) is pressing


def test_access_of_a_permit_that_is_being_deleted_is_pressing() -> None:
    """Whoever deletes a permit ends it."""
    deleted = permit(active() | {"processedItems": [ITEM]})
    deleted["metadata"] = deleted["metadata"] | {"deletionTimestamp": "2026-08-31T10:00:00Z"}
    assert ending(deleted, NOW)
