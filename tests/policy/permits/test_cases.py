"""How temporary access of other systems failed in public, as tests of what is decided (the numbers are those of the cases)."""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime

import pytest

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits import lifecycle
from policy.permits.due import Action, due
from policy.permits.refusal import Refused
from policy.permits.trail import append, verify
from tests.policy.permits.build import (
    ALICE,
    MADE,
    SUE,
    TOM,
    UID,
    approved,
    at,
    begun,
    in_phase,
    permit,
    refusal,
    requested,
    snapshot,
    wish,
)
from tests.policy.permits.build import rules as approvals

# 83


@pytest.mark.parametrize("minutes", [60, 61, 60 * 24 * 365])
def test_case_083_from_the_deadline_on_nobody_approves(minutes: float) -> None:
    """The deadline is looked at with the state, whether or not anybody has expired the request yet."""
    status = requested(snapshot(approvals(deadline="1h")))
    refused = refusal(status, wish(status, "Approved"), now=at(minutes))
    assert (refused.code, "approvals.deadline" in refused.message) == (409, True)
    assert due(permit(status), at(minutes)).action == Action.EXPIRE
    assert lifecycle.asked(permit(status), wish(status, "Approved"), SUE, at(59.9)).status["phase"] == "Approved"


# 85


@pytest.mark.parametrize(
    ("again", "refuses"),
    [
        pytest.param(ALICE, True, id="herself"),
        pytest.param({**ALICE, "name": "alice@example.com"}, True, id="another name of the same UID"),
        pytest.param({**ALICE, "uid": "u-new"}, True, id="the same name with another UID"),
        pytest.param({"name": "alice", "type": "User"}, True, id="the same name without a UID"),
        pytest.param({**ALICE, "groups": ["sre", "system:masters"]}, True, id="in other groups"),
        pytest.param({"name": "Alice", "type": "User", "groups": []}, False, id="another name to the API server"),
        pytest.param(SUE, False, id="somebody else"),
    ],
)
def test_case_085_the_same_by_name_or_by_uid_approves_nothing(again: Manifest, refuses: bool) -> None:
    """What the API server tells apart in both is two people to us: it knows no other alias."""
    status = requested()
    if refuses:
        refused = refusal(status, wish(status, "Approved"), again)
        assert (refused.code, "asked for this permit" in refused.message) == (403, True)
    else:
        assert lifecycle.asked(permit(status), wish(status, "Approved"), again, at(5)).status["phase"] == "Approved"


# 88

LATER = snapshot(startTime="2026-08-31T12:00:00Z")
"""Two hours after the permit was made."""


@pytest.mark.parametrize(
    ("status", "now", "action", "reason"),
    [
        pytest.param(approved(LATER), at(119), Action.AWAIT_START, "", id="before"),
        pytest.param(approved(LATER), at(120), Action.ACTIVATE, "", id="at its start"),
        pytest.param(
            approved(LATER),
            at(hours=26),
            Action.EXPIRE,
            "ApprovalLapsed",
            id="slept through",
        ),
        pytest.param(approved(), at(5), Action.ACTIVATE, "", id="no start"),
        pytest.param(approved(), at(5, hours=24), Action.EXPIRE, "ApprovalLapsed", id="no start, slept through"),
        pytest.param(begun(), at(34), Action.ACTIVATE, "", id="begun"),
        pytest.param(begun(), at(35), Action.EXPIRE, "ExpiredBySystem", id="begun, and over"),
        pytest.param(in_phase(Phase.ACTIVE), at(35), Action.EXPIRE, "ExpiredBySystem", id="active, and over"),
    ],
)
def test_case_088_what_is_planned_begins_in_time_or_never(status: Manifest, now: datetime, action: Action, reason: str) -> None:
    """No state before the access waits for ever, and none leads to it after its end."""
    found = due(permit(status), now)
    assert (found.action, found.reason) == (action, reason)


# 89


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase != Phase.EXPIRED])
def test_case_089_dropping_adds_to_what_was_said(phase: Phase) -> None:
    """Whoever ends a permit in whatever phase overwrites no field but the phase, the condition and the time of the record."""
    before = in_phase(phase)
    change = lifecycle.asked(permit(before), wish(before, "Expired"), TOM, at(10))
    assert change.step is not None
    assert (change.step.actor, change.step.reason) == (TOM, "ExpiredByUser")
    free = {"phase", "conditions", "observedGeneration", "keepUntil"}
    kept = {name: value for name, value in before.items() if name not in free}
    assert {name: value for name, value in change.status.items() if name not in free} == kept
    assert change.status.get("keepUntil", before.get("keepUntil")) is not None or "request" not in before
    if "keepUntil" in before:
        assert change.status["keepUntil"] == before["keepUntil"]


# 91


def test_case_091_who_is_in_both_teams_is_one_reviewer() -> None:
    """Two are required: the second approval of the same person is refused, in whatever groups they come."""
    teams = [{"kind": "Group", "name": "a"}, {"kind": "Group", "name": "b"}]
    status = requested(snapshot(approvals(required=2, approvers=teams)))
    both = {"name": "tom", "type": "User", "groups": ["a", "b"]}
    once = lifecycle.asked(permit(status), wish(status, "Approved"), both, at(5)).status
    assert once["phase"] == "Requested"
    for again in (both, both | {"groups": ["b"]}, both | {"uid": "u-tom"}):
        assert "has approved already" in refusal(once, wish(once, "Approved"), again, at(6)).message
    other = {"name": "sue", "type": "User", "groups": ["b"]}
    assert lifecycle.asked(permit(once), wish(once, "Approved"), other, at(6)).status["phase"] == "Approved"


# 95


@dataclass
class Store:
    """One status, as an API server keeps it: a write over another version than the one that was read is refused."""

    status: Manifest
    version: int = 0

    def write(self, status: Manifest, version: int) -> bool:
        """True if the status was stored."""
        if version != self.version:
            return False
        self.status, self.version = status, version + 1
        return True


def sign(text: bytes) -> tuple[str, str]:
    """A signature that anybody can check: this is about order, not about keys."""
    return "key", text.decode()[::-1]


def signed(key: str, text: bytes, signature: str) -> bool:
    """Is it one of those?"""
    return (key, signature) == sign(text)


Decide = Callable[[Manifest], tuple[Manifest, lifecycle.Step] | None]
"""From the status that was read to the one to be written; None when there is nothing to decide."""


def party(store: Store, decide: Decide, now: datetime) -> Generator[None, None, bool]:
    """Reads, decides, writes, and begins again when somebody else has written; others go on at each step. True if it wrote."""
    while True:
        status, version = store.status, store.version
        yield
        decided = decide(status)
        if decided is None:
            return False
        after = append(decided[0], UID, decided[1], now, sign)
        yield
        if store.write(after, version):
            return True
        yield


def user(phase: str, actor: Manifest, now: datetime) -> Decide:
    """Somebody asks for a phase, and is refused when it does not follow."""

    def decide(status: Manifest) -> tuple[Manifest, lifecycle.Step] | None:
        try:
            change = lifecycle.asked(permit(status), wish(status, phase), actor, now)
        except Refused:
            return None
        return None if change.step is None else (change.status, change.step)

    return decide


def manager(now: datetime) -> Decide:
    """Expires what is due."""

    def decide(status: Manifest) -> tuple[Manifest, lifecycle.Step] | None:
        found = due(permit(status), now)
        return lifecycle.expired(status, found.reason, now) if found.action == Action.EXPIRE else None

    return decide


def review() -> Manifest:
    """A status that waits for its review until the deadline of one hour, with a trail."""
    of = snapshot(approvals(deadline="1h"))
    first = append(*_apart(lifecycle.created(permit(), MADE)), MADE, sign)
    return append(*_apart(lifecycle.prepared(first, of, MADE)), MADE, sign)


def _apart(stepped: tuple[Manifest, lifecycle.Step]) -> tuple[Manifest, str, lifecycle.Step]:
    return stepped[0], UID, stepped[1]


@pytest.mark.parametrize("wanted", ["Denied", "Approved", "Expired"])
def test_case_095_of_a_thousand_races_none_loses_a_decision(wanted: str) -> None:
    """The manager expires what a user decides about, in any order of reads and writes: one decision counts, and none is erased.

    Sue's clock says that there is still time, the manager's that there is none.
    """
    start, ends = review(), set()
    for seed in range(1000):
        store, chance = Store(start), random.Random(seed)
        parties = {
            "sue": party(store, user(wanted, SUE, at(59)), at(59)),
            "copyhold": party(store, manager(at(61)), at(61)),
        }
        wrote: dict[str, bool] = {}
        while parties:
            name = chance.choice(sorted(parties))
            try:
                next(parties[name])
            except StopIteration as stop:
                wrote[name] = stop.value
                del parties[name]
        made = store.status["transitions"][2:]
        assert verify(store.status["transitions"], UID, signed) is None
        assert store.status["phase"] == made[-1]["type"]
        assert [each["actor"]["name"] for each in made] == [name for name in wrote if wrote[name]]
        assert len(made) == 1
        ends.add(made[0]["reason"])
    assert len(ends) == 2  # both won at times
