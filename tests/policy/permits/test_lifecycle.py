"""What users may ask of a permit: every phase, every wish, every kind of actor; and that nothing else of theirs counts."""

import copy
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.actors import SYSTEM
from policy.permits.lifecycle import TRANSITIONS, Change, asked
from policy.permits.refusal import Refused
from tests.policy.permits.build import (
    ALICE,
    BOT,
    NOW,
    SUE,
    TOM,
    active,
    approved,
    at,
    created,
    in_phase,
    permit,
    refusal,
    requested,
    rules,
    snapshot,
    wish,
)

PHASES: tuple[Phase | None, ...] = (None, *Phase)

ACCOUNT = [{"kind": "ServiceAccount", "name": BOT["name"]}]
OPEN = rules(selfApproval="Allow", approvers=[{"kind": "User", "name": "sue"}, {"kind": "User", "name": "alice"}, *ACCOUNT])
"""Rules by which each of our actors may approve."""

# From -> to -> what comes out: the reason of the transition, or the beginning of the refusal.
INVALID = "invalid ResourcePermit transition: "
NO = "transitioning ResourcePermit from {} to {} is not supported"
SAME = "ResourcePermit status can only be changed by requesting a lifecycle transition"
NOT_READY = "cannot approve ResourcePermit: rendered resources are not ready: request is being prepared"

TABLE: dict[tuple[Phase | None, Phase], str] = {
    **{(Phase(p), Phase.APPROVED): "ApprovedBy{}" for p in ("Requested", "Pending")},
    **{(p, Phase.APPROVED): NOT_READY for p in (None, Phase.CREATED)},
    (Phase.DENIED, Phase.APPROVED): INVALID + "cannot approve a denied request",
    **{(Phase(p), Phase.DENIED): "DeniedByReviewer" for p in ("Requested", "Pending")},
    **{(Phase(p), Phase.DENIED): INVALID + "cannot deny an already approved or active request" for p in ("Approved", "Active")},
    **{(p, Phase.ACTIVE): INVALID + "can only activate an approved request" for p in PHASES if p != Phase.APPROVED},
    (Phase.APPROVED, Phase.ACTIVE): "unchanged",
    **{(p, Phase.RETRYING): INVALID + "can only retry a failed request" for p in PHASES},
    (Phase.FAILED, Phase.RETRYING): "RetryPermittedBy{}",
    (Phase.EXPIRED, Phase.FAILED): INVALID + "cannot fail an expired request",
    **{(p, Phase.EXPIRED): "ExpiredBy{}" for p in PHASES},
    **{(p, p): SAME for p in Phase},
}


def outcome(status: Manifest, wanted: Manifest, actor: Manifest) -> tuple[str, Change | None]:
    """The reason of the transition, or the refusal."""
    try:
        change = asked(permit(status), wanted, actor, NOW)
    except Refused as refused:
        return refused.message, None
    return change.step.reason if change.step else "unchanged", change


@pytest.mark.parametrize("actor", [SUE, ALICE, BOT], ids=["reviewer", "requester", "service account"])
@pytest.mark.parametrize(("phase", "to"), list(product(PHASES, Phase)), ids=str)
def test_every_wish_in_every_phase_has_its_one_answer(phase: Phase | None, to: Phase, actor: Manifest) -> None:
    """The table is closed: what is not in it is not supported."""
    status = in_phase(phase, snapshot(OPEN))
    row = TABLE.get((phase, to))
    expected = NO.format(phase or "Initializing", to) if row is None else row.format(actor["type"])
    said, change = outcome(status, wish(status, to, message="because"), actor)
    assert said.startswith(expected)
    if change is None or change.step is None:
        assert change is None or change.status == status
    else:
        assert said == expected
        assert (change.step.type, change.status["phase"], change.step.actor) == (to, to, actor)
        assert change.step.message == "because"


@pytest.mark.parametrize("phase", PHASES, ids=str)
def test_the_same_status_changes_nothing(phase: Phase | None) -> None:
    """Whoever sends back what they read has not asked for anything."""
    status = in_phase(phase)
    assert asked(permit(status), copy.deepcopy(status), SUE, NOW) == Change(status)


# Ending, activating, limits.


def test_whoever_ends_a_permit_leaves_the_review_as_it_is() -> None:
    """The record says who approved, and the transition who ended it; a message of the reviewer is not one of theirs."""
    status = asked(permit(requested()), {"phase": "Approved", "review": {"message": "LGTM"}}, SUE, NOW).status
    result = asked(permit(status), wish(status, "Expired"), ALICE, at(7))
    assert result.step is not None
    assert (result.status["review"], result.step.actor, result.step.message) == (status["review"], ALICE, "")
    assert result.status["keepUntil"] == "2026-09-30T10:07:00Z"


def test_an_early_end_keeps_the_retention_that_was_fixed() -> None:
    """Counted from the end that was approved."""
    status = active()
    result = asked(permit(status), wish(status, "Expired"), ALICE, at(7)).status
    assert result["keepUntil"] == status["keepUntil"] == "2026-09-30T10:35:00Z"


def test_who_asks_for_the_activation_is_told_that_it_comes() -> None:
    """Before its start it is too early to ask, from then on there is nothing to do."""
    status = approved()
    result = asked(permit(status), wish(status, "Active"), ALICE, NOW)
    assert (result.status, result.step, "is activated as soon as" in result.warning) == (status, None, True)
    later = approved(snapshot(startTime="2026-08-31T12:00:00Z"))
    assert refusal(later, wish(later, "Active")).code == 409
    assert asked(permit(later), wish(later, "Active"), ALICE, at(120)).step is None


def test_after_two_hundred_transitions_a_permit_can_only_be_ended() -> None:
    """So that nobody fills the object up."""
    status = in_phase(Phase.FAILED) | {"transitions": [{}] * TRANSITIONS}
    assert "has 200 entries" in refusal(status, wish(status, "Retrying")).message
    assert asked(permit(status), wish(status, "Expired"), SUE, NOW).status["phase"] == "Expired"


def test_a_status_that_grows_too_large_can_only_be_ended() -> None:
    """A reviewer in very many groups, or with very much to say, must not keep the end from being written."""
    status = requested()
    many = SUE | {"groups": ["sre", *(f"group-{number}" for number in range(60_000))]}
    refused = refusal(status, wish(status, "Approved"), many)
    assert (refused.code, "status would have more than 1000000 bytes" in refused.message) == (422, True)
    assert asked(permit(status), wish(status, "Expired"), many, NOW).status["phase"] == "Expired"


def test_a_permit_that_is_being_deleted_can_only_be_ended() -> None:
    """Nothing would come of an approval."""
    status = requested()
    assert refusal(status, wish(status, "Approved"), deletionTimestamp="2026-08-31T10:04:00Z").code == 409
    going = permit(status, deletionTimestamp="2026-08-31T10:04:00Z")
    assert asked(going, wish(status, "Expired"), SUE, NOW).status["phase"] == "Expired"


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (["Approved"], 400, "status: Invalid value: must be an object"),
        ({"phase": "Approved", "review": "yes"}, 400, "status.review: Invalid value: must be an object"),
        ({"phase": "Approved", "request": [1]}, 400, "status.request: Invalid value: must be an object"),
        ({"phase": "Approved", "review": {"message": 1}}, 422, "status.review.message: Invalid value: must be a string"),
        ({"phase": "Approved", "review": {"message": "x" * 4097}}, 422, "status.review.message: Too long"),
        ({"phase": "Approved", "review": {"digest": {}}}, 422, "status.review.digest: Invalid value: must be a string"),
        ({"phase": "Granted"}, 422, "status.phase: Unsupported value"),
        ({"phase": ["Approved"]}, 422, "status.phase: Unsupported value"),
        ({"phase": None}, 422, "status.phase: Required value"),
        ({}, 422, "status.phase: Required value"),
    ],
)
def test_what_is_no_status_is_refused_by_its_field(wanted: Any, code: int, message: str) -> None:
    """Admission comes before the schema: anything may be sent."""
    refused = refusal(requested(), wanted)
    assert (refused.code, refused.message[: len(message)]) == (code, message)


# Invariants.

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["Approved", "Active", "sue", "alice", "System", "5m", "sha256:0"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "type", "reviewer", "approvals", "message", "digest", "resources"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
ADJUSTABLE = {"duration", "keepFor", "startTime", "digest"}
OURS = ("preview", "grants", "roles", "processedItems", "records", "size", "serviceAccount", "active", "failure", "transitions")


@settings(max_examples=300, deadline=None)
@given(
    phase=st.sampled_from(PHASES),
    to=st.sampled_from(Phase),
    garbage=st.dictionaries(st.sampled_from((*OURS, "request", "review", "keepUntil", "conditions", "other")), JSON, max_size=5),
    actor=st.sampled_from([SUE, ALICE, BOT, TOM]),
)
def test_a_clients_status_never_alters_what_is_not_theirs(
    phase: Phase | None, to: Phase, garbage: dict[str, Any], actor: Manifest
) -> None:
    """Actor, snapshot, items and transitions: whatever is sent, they come from the stored object and the authenticated user."""
    status = in_phase(phase, snapshot(OPEN))
    before = copy.deepcopy(status)
    try:
        result = asked(permit(status), status | garbage | {"phase": str(to)}, actor, NOW)
    except Refused:
        assert status == before
        return
    assert status == before, "the stored status is not edited"
    assert {field: result.status.get(field) for field in OURS} == {field: before.get(field) for field in OURS}
    assert set(result.status) <= set(before) | {"phase", "conditions", "observedGeneration", "keepUntil", "review"}
    old, new = before.get("request", {}), result.status.get("request", {})
    assert {k: v for k, v in new.items() if k not in ADJUSTABLE} == {k: v for k, v in old.items() if k not in ADJUSTABLE}
    assert (old == new) or to == Phase.APPROVED
    if result.step is not None:
        assert result.step.actor == actor
        assert result.step.actor != SYSTEM
        assert result.status["phase"] == result.step.type
    review, earlier = result.status.get("review", {}), before.get("review", {})
    if review != earlier:
        assert review.get("reviewer", actor) == actor
        assert all(each in earlier.get("approvals", ()) or each["reviewer"] == actor for each in review.get("approvals", ()))


@settings(max_examples=100, deadline=None)
@given(
    reviewers=st.lists(st.sampled_from([SUE, TOM, ALICE, BOT, SUE | {"groups": []}]), max_size=6),
    required=st.integers(1, 3),
)
def test_only_so_many_different_reviewers_approve(reviewers: list[Manifest], required: int) -> None:
    """In whatever order they come: neither the requester nor an account that nobody named counts, and nobody counts twice."""
    status = requested(snapshot(rules(required=required)))
    for reviewer in reviewers:
        _, change = outcome(status, wish(status, "Approved"), reviewer)
        status = change.status if change else status
    counted = {each["name"] for each in reviewers} & {"sue", "tom"}
    assert (status["phase"] == "Approved") == (len(counted) >= required)


def test_created_is_where_every_trail_begins() -> None:
    """The requester is the actor, without the seal."""
    assert created()["transitions"] == [{"type": "Created", "actor": ALICE, "reason": "CreatedByUser", "message": ""}]
