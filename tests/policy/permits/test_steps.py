"""What the manager does with a permit: every step in every phase, and what becomes of the status."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits import lifecycle
from policy.permits.actors import SYSTEM
from policy.permits.moments import LATEST, moment
from policy.permits.ready import SAYS, ready_of
from policy.permits.refusal import Refused
from tests.policy.permits.build import (
    ALICE,
    NOW,
    SECRETS,
    active,
    approved,
    at,
    begun,
    created,
    ended,
    in_phase,
    permit,
    requested,
    rules,
    snapshot,
)

PHASES: tuple[Phase | None, ...] = (None, *Phase)
CHANGED = snapshot(grants=[SECRETS])

Stepped = tuple[Manifest, lifecycle.Step]

STEPS: dict[str, tuple[Callable[[Manifest], Stepped], dict[Phase | None, Phase], str]] = {
    "created": (lambda s: lifecycle.created(permit(s), NOW), {None: Phase.CREATED}, "CreatedByUser"),
    "prepared": (lambda s: lifecycle.prepared(s, snapshot(), NOW), {Phase.CREATED: Phase.REQUESTED}, "PendingReview"),
    "auto_approved": (lambda s: lifecycle.auto_approved(s, snapshot(), NOW), {Phase.CREATED: Phase.APPROVED}, "ApprovedBySystem"),
    "failed": (
        lambda s: lifecycle.failed(s, "ResourceDryRunFailed", "no", NOW, snapshot()),
        {Phase.CREATED: Phase.FAILED, Phase.RETRYING: Phase.FAILED, Phase.APPROVED: Phase.FAILED},
        "ResourceDryRunFailed",
    ),
    "retried": (lambda s: lifecycle.retried(s, NOW), {Phase.RETRYING: Phase.APPROVED}, "RetrySucceeded"),
    "begun": (lambda s: lifecycle.begun(s, NOW), {Phase.APPROVED: Phase.APPROVED}, "ActivationBegun"),
    "activated": (
        lambda s: lifecycle.activated(s | {"active": {"from": "2026-08-31T10:05:00Z"}}, NOW),
        {Phase.APPROVED: Phase.ACTIVE},
        "ActivatedBySystem",
    ),
    "sent_back": (
        lambda s: lifecycle.sent_back(s, "GrantsChanged", "more", CHANGED, NOW),
        {Phase.APPROVED: Phase.REQUESTED},
        "GrantsChanged",
    ),
    "expired": (
        lambda s: lifecycle.expired(s, "ExpiredBySystem", NOW),
        {phase: Phase.EXPIRED for phase in PHASES if phase != Phase.EXPIRED},
        "ExpiredBySystem",
    ),
}


@pytest.mark.parametrize("phase", PHASES, ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_every_step_leads_from_its_phases_and_from_no_other(name: str, phase: Phase | None) -> None:
    """Anywhere else it is a defect of the caller, and said so."""
    take, leads, reason = STEPS[name]
    if phase not in leads:
        with pytest.raises(ValueError, match=r"."):
            take(in_phase(phase))
        return
    status, step = take(in_phase(phase))
    assert (status["phase"], step.type, step.reason) == (leads[phase], leads[phase], reason)
    assert step.actor == (ALICE if name == "created" else SYSTEM)
    assert status.get("transitions") == in_phase(phase).get("transitions"), "the trail is not its business"


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase not in (None, Phase.FAILED, Phase.PENDING)], ids=str)
def test_every_phase_begins_with_its_own_word_of_readiness(phase: Phase) -> None:
    """Only what is ready can be approved, so the condition changes with the phase."""
    condition = ready_of(in_phase(phase))
    assert (condition["status"], condition["reason"], condition["message"]) == SAYS[phase]


def test_what_cannot_be_prepared_stays_created_and_says_why() -> None:
    """Without a transition: it may be tried for days. When the value of the condition does not change, its time does not."""
    status = lifecycle.stuck(created(), "TemplateRenderingFailed", "params.user: is undefined", at(9))
    assert (status["phase"], status["transitions"]) == ("Created", created()["transitions"])
    assert ready_of(status) == {
        "type": "Ready",
        "status": "False",
        "reason": "TemplateRenderingFailed",
        "message": "params.user: is undefined",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-08-31T10:00:00Z",
    }
    with pytest.raises(ValueError, match="Requested"):
        lifecycle.stuck(requested(), "TemplateRenderingFailed", "", NOW)


def test_what_others_say_of_a_permit_stays() -> None:
    """Ready is ours to set, and no other condition."""
    other = {"type": "Audited", "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": "2026-08-31T10:00:00Z"}
    status = created()
    changed, _ = lifecycle.prepared(status | {"conditions": [other, *status["conditions"]]}, snapshot(), NOW)
    assert [each["type"] for each in changed["conditions"]] == ["Ready", "Audited"]


def test_a_long_message_is_cut() -> None:
    """A status has bounds."""
    assert len(ready_of(lifecycle.stuck(created(), "TemplateRenderingFailed", "x" * 9000, NOW))["message"]) == 4096


def test_nobody_is_the_requester_of_a_permit_that_did_not_pass_admission() -> None:
    """Its trail does not begin."""
    bare = permit()
    bare["spec"].pop("requester")
    with pytest.raises(Refused, match=r"spec\.requester"):
        lifecycle.created(bare, NOW)


def test_the_snapshot_is_stored_under_its_digest() -> None:
    """What was found out about it too; the review begins with nothing."""
    status = requested()
    assert status["request"] == snapshot().request | {"digest": snapshot().digest}
    assert (status["preview"], status["grants"], status["roles"]) == (snapshot().preview, snapshot().grants, snapshot().roles)
    assert status["review"] == {"verdict": "Pending"}


def test_an_automatic_approval_is_recorded_like_any_other() -> None:
    """So that it grows old like one, and is for one digest."""
    status, step = lifecycle.auto_approved(created(), snapshot(rules(auto=True)), NOW)
    assert step.message == "Auto Approved"
    review = status["review"]
    assert (review["verdict"], review["reviewer"], review["message"]) == ("Approved", SYSTEM, "Auto Approved")
    assert [(each["reviewer"], each["digest"]) for each in review["approvals"]] == [(SYSTEM, status["request"]["digest"])]


# Failing and trying again.


@pytest.mark.parametrize(
    ("status", "stage", "back"),
    [
        pytest.param(created(), "Preflight", "Requested", id="preflight"),
        pytest.param(approved(), "Activation", "Approved", id="activation"),
        pytest.param(begun(), "Activation", "Approved", id="activation, begun"),
    ],
)
def test_a_failure_says_where_a_retry_leads(status: Manifest, stage: str, back: str) -> None:
    """And what was begun has not been: no end and no retention are fixed."""
    changed, step = lifecycle.failed(status, "ResourceApplyFailed", "no", NOW, snapshot())
    assert changed["failure"] == {"stage": stage, "retryPhase": back, "reason": "ResourceApplyFailed", "message": "no"}
    assert (step.reason, step.message, "active" in changed, "keepUntil" in changed) == ("ResourceApplyFailed", "no", False, False)
    condition = ready_of(changed)
    assert (condition["reason"], condition["message"]) == (
        "ResourceApplyFailed",
        "request failed and may be retried or expired: no",
    )


def test_an_automatic_approval_that_failed_its_trial_is_retried_to_approved() -> None:
    """Nobody reviews it afterwards either."""
    auto = snapshot(rules(auto=True))
    failed, _ = lifecycle.failed(created(), "ResourceDryRunFailed", "no", NOW, auto)
    assert failed["failure"]["retryPhase"] == "Approved"
    status, step = lifecycle.retried(failed | {"phase": "Retrying"}, at(9))
    assert (status["phase"], step.type, step.reason) == ("Approved", Phase.APPROVED, "RetrySucceeded")
    assert (status["review"]["reviewer"], "failure" in status) == (SYSTEM, False)


def test_a_retry_of_the_trial_leads_to_a_review_of_what_was_tried() -> None:
    """With what was found out anew."""
    failed, _ = lifecycle.failed(created(), "ResourceDryRunFailed", "no", NOW, snapshot())
    status, _ = lifecycle.retried(failed | {"phase": "Retrying"}, at(9), CHANGED)
    assert (status["phase"], status["grants"], status["request"]["digest"]) == ("Requested", [SECRETS], CHANGED.digest)
    again, _ = lifecycle.failed(failed | {"phase": "Retrying"}, "ResourceDryRunFailed", "still no", at(9))
    assert (again["failure"]["stage"], again["failure"]["message"]) == ("Preflight", "still no")


def test_a_retry_of_the_activation_keeps_the_approvals() -> None:
    """They were for this very snapshot; how old they may be is the clock's."""
    before = in_phase(Phase.RETRYING)
    status, _ = lifecycle.retried(before, at(9))
    assert (status["review"], status["request"]) == (before["review"], before["request"])


def test_what_is_sent_back_must_be_approved_anew() -> None:
    """By nobody so far, and under the digest of what would happen now."""
    before = approved()
    status, step = lifecycle.sent_back(before, "GrantsChanged", "secrets", CHANGED, NOW)
    assert (status["review"], status["request"]["digest"]) == ({"verdict": "Pending"}, CHANGED.digest)
    assert (step.reason, step.message, before["review"]["verdict"]) == ("GrantsChanged", "secrets", "Approved")


# Time.


@pytest.mark.parametrize(
    ("changes", "until", "kept"),
    [
        pytest.param({}, "2026-08-31T10:35:00Z", "2026-09-30T10:35:00Z", id="duration"),
        pytest.param(
            {"duration": None}, "2026-08-31T18:05:00Z", "2026-09-30T18:05:00Z", id="none: what the template gives at most"
        ),
        pytest.param({"duration": "0s"}, "2026-08-31T18:05:00Z", "2026-09-30T18:05:00Z", id="0 is no end: at most that too"),
        pytest.param({"duration": "9h"}, "2026-08-31T18:05:00Z", "2026-09-30T18:05:00Z", id="longer than the template gives"),
        pytest.param({"duration": None, "maxDuration": None}, None, None, id="no end"),
        pytest.param({"duration": "0s", "maxDuration": None}, None, None, id="0: no end"),
        pytest.param({"keepFor": None}, "2026-08-31T10:35:00Z", None, id="no retention"),
        pytest.param({"duration": "500ms"}, "2026-08-31T10:05:00Z", "2026-09-30T10:05:00Z", id="less than a second"),
    ],
)
def test_the_end_is_fixed_before_the_first_write(changes: dict[str, Any], until: str | None, kept: str | None) -> None:
    """From the moment of the activation, not from the start time; the retention with it, and the trail says so."""
    status, step = lifecycle.begun(approved(snapshot(**changes)), NOW.replace(microsecond=900_000))
    expected = {"from": "2026-08-31T10:05:00Z"} | ({"until": until} if until else {})
    assert (status["active"], status.get("keepUntil"), step.until) == (expected, kept, until or "")
    assert (status["phase"], step.type) == ("Approved", Phase.APPROVED)
    active_, last = lifecycle.activated(status, at(7))
    assert (active_["active"], last.until) == (expected, until or ""), "however long the writes took"


def test_a_permit_begins_once_and_is_active_only_after_that() -> None:
    """Whoever is killed in between goes on with the end that was fixed."""
    with pytest.raises(ValueError, match="begun already"):
        lifecycle.begun(begun(), at(9))
    with pytest.raises(ValueError, match="has not begun"):
        lifecycle.activated(approved(), NOW)


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        pytest.param(active(), "2026-09-30T10:35:00Z", id="with an end: from that"),
        pytest.param(active(snapshot(duration=None, maxDuration=None)), "2026-09-30T11:00:00Z", id="without an end: from now"),
        pytest.param(requested(), "2026-09-30T11:00:00Z", id="never active: from now"),
        pytest.param(active(snapshot(keepFor=None)), None, id="no retention"),
        pytest.param(created(), None, id="nothing known yet"),
    ],
)
def test_the_record_is_kept_from_the_end_that_was_fixed(status: Manifest, kept: str | None) -> None:
    """Ended at eleven."""
    changed, _ = lifecycle.expired(status, "ExpiredBySystem", at(60))
    assert changed.get("keepUntil") == kept
    assert {field: changed.get(field) for field in ("review", "request", "active")} == {
        field: status.get(field) for field in ("review", "request", "active")
    }


@given(
    duration=st.sampled_from(["1ns", "1.5s", "30m", "0", "1w", "15000w"]) | st.none(),
    longest=st.sampled_from(["2s", "8h", "1w"]),
    now=st.datetimes(NOW.replace(tzinfo=None), datetime(9999, 12, 31, 23)).map(lambda time: time.replace(tzinfo=NOW.tzinfo)),
)
def test_no_access_is_longer_than_the_template_gives(duration: str | None, longest: str, now: datetime) -> None:
    """Whatever was asked for, and to the end of time."""
    status, step = lifecycle.begun(approved(snapshot(duration=duration, maxDuration=longest)), now)
    until, most = moment(status["active"]["until"]), {"2s": 2, "8h": 28_800, "1w": 604_800}[longest]
    assert (until - now).total_seconds() <= most
    assert until <= LATEST
    assert step.until == status["active"]["until"]


@given(st.lists(st.sampled_from(["begun", "activated", "failed", "expired", "retried"]), max_size=6))
def test_the_snapshot_changes_only_with_a_render(names: list[str]) -> None:
    """From Requested on: only a step that is given another snapshot stores one."""
    status = approved()
    snapshot_ = {field: status[field] for field in ("request", "preview", "grants", "roles")}
    takes: dict[str, Callable[[Manifest], Stepped]] = {
        "begun": lambda s: lifecycle.begun(s, NOW),
        "activated": lambda s: lifecycle.activated(s, NOW),
        "failed": lambda s: lifecycle.failed(s, "ResourceApplyFailed", "no", NOW),
        "expired": lambda s: lifecycle.expired(s, "ExpiredBySystem", NOW),
        "retried": lambda s: lifecycle.retried(s | {"phase": "Retrying"}, NOW),
    }
    for name in names:
        try:
            status = ended(takes[name](status))
        except (ValueError, KeyError):
            continue
        assert {field: status[field] for field in snapshot_} == snapshot_
