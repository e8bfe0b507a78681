"""A review: who may approve what, what they saw, what they may adjust, and what stands against it."""

from typing import Any

import pytest

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.lifecycle import asked
from policy.permits.refusal import Refused
from tests.policy.permits.build import ALICE, BOT, NOW, SECRETS, SUE, TOM, at, permit, refusal, requested, rules, snapshot, wish

# A review.


def test_an_approval_records_the_authenticated_user_and_not_the_one_that_is_sent() -> None:
    """Name, type, UID and groups come from the API server."""
    status = requested()
    forged = wish(status, "Approved", message="fine", reviewer=TOM, verdict="Approved", approvals=[{"reviewer": TOM}])
    result = asked(permit(status), forged, SUE, NOW)
    digest = status["request"]["digest"]
    assert result.status["review"] == {
        "verdict": "Approved",
        "reviewer": SUE,
        "message": "fine",
        "digest": digest,
        "approvals": [{"reviewer": SUE, "time": "2026-08-31T10:05:00Z", "digest": digest, "message": "fine"}],
    }
    assert (result.status["phase"], result.warning) == ("Approved", "")


def test_a_denial_ends_the_review_and_keeps_the_approvals_on_record() -> None:
    """One reviewer who denies is enough, whoever approved before."""
    first = asked(permit(requested(snapshot(rules(required=2)))), {"phase": "Approved"}, SUE, NOW).status
    result = asked(permit(first), wish(first, "Denied", message="no"), TOM, NOW)
    review = result.status["review"]
    assert (review["verdict"], review["reviewer"], review["message"]) == ("Denied", TOM, "no")
    assert [each["reviewer"] for each in review["approvals"]] == [SUE]


def test_a_quorum_needs_so_many_different_reviewers() -> None:
    """Until then the permit stays Requested, and each is told how many are missing."""
    status = requested(snapshot(rules(required=2)))
    first = asked(permit(status), wish(status, "Approved", message="one"), SUE, NOW)
    assert first.step is not None
    assert (first.status["phase"], first.step.type, first.step.reason) == ("Requested", Phase.REQUESTED, "ApprovalRecorded")
    assert (first.warning, first.step.message) == ("1 of 2 approvals", "1 of 2 approvals: one")
    second = asked(permit(first.status), wish(first.status, "Approved"), TOM, at(6))
    assert second.step is not None
    assert (second.status["phase"], second.step.reason, second.warning) == ("Approved", "ApprovedByUser", "")
    assert [each["reviewer"]["name"] for each in second.status["review"]["approvals"]] == ["sue", "tom"]
    assert "message" not in second.status["review"], "what sue said is not what tom said"


@pytest.mark.parametrize(
    "again",
    [SUE, SUE | {"groups": ["dev", "ops"]}, SUE | {"uid": "u-other"}, SUE | {"name": "sue@example.org"}],
    ids=["the same", "other groups", "the name", "the UID"],
)
def test_one_reviewer_counts_once(again: Manifest) -> None:
    """By name and by UID; being in two groups does not make two persons."""
    status = asked(permit(requested(snapshot(rules(required=2)))), {"phase": "Approved"}, SUE, NOW).status
    refused = refusal(status, {"phase": "Approved"}, again)
    assert (refused.code, "approved already" in refused.message) == (409, True)


def test_an_approval_that_has_grown_old_does_not_count_for_the_quorum() -> None:
    """Each of the approvals must be good when the last one comes; the reviewer may give theirs again."""
    status = asked(permit(requested(snapshot(rules(required=2, validFor="1h")))), {"phase": "Approved"}, SUE, at(0)).status
    late = asked(permit(status), wish(status, "Approved"), TOM, at(60))
    assert late.warning.startswith("1 of 2 approvals (earlier approvals were for something else, or are too old")
    again = asked(permit(late.status), wish(late.status, "Approved"), SUE, at(61))
    assert again.status["phase"] == "Approved"


# What was seen.


def test_an_approval_of_an_older_digest_is_refused() -> None:
    """What was looked at is not what would be applied."""
    older, status = requested(), requested(snapshot(duration="1h"))
    refused = refusal(status, wish(status, "Approved", digest=older["request"]["digest"]))
    assert refused.code == 409
    assert refused.message.startswith("this is not what you have seen: status.review.digest")


def test_an_approval_may_have_to_name_its_digest() -> None:
    """With `requireDigest` an approval without one is refused; also one that only inherits what another reviewer named."""
    status = requested(snapshot(rules(requireDigest=True, required=2)))
    assert refusal(status, wish(status, "Approved")).message.startswith("status.review.digest: Required value")
    named = asked(permit(status), wish(status, "Approved", digest=status["request"]["digest"]), SUE, NOW).status
    assert refusal(named, wish(named, "Approved"), TOM).message.startswith("status.review.digest: Required value")


def test_the_digest_that_is_named_is_that_of_before_the_adjustments() -> None:
    """Nobody can compute the other one; what is recorded is what was approved in the end."""
    status = requested()
    wanted = wish(status, "Approved", digest=status["request"]["digest"]) | {"request": {"duration": "10m"}}
    result = asked(permit(status), wanted, SUE, NOW).status
    assert result["request"]["digest"] != status["request"]["digest"]
    assert result["review"]["approvals"][0]["digest"] == result["request"]["digest"] == result["review"]["digest"]


def test_a_snapshot_that_is_not_what_its_digest_says_is_not_approved() -> None:
    """However it got there: it would be signed with the next adjustment."""
    status = requested()
    request = status["request"] | {"resources": []}
    refused = refusal(status | {"request": request}, wish(status | {"request": request}, "Approved"))
    assert (refused.code, "status.request is not what its digest says" in refused.message) == (409, True)


# Adjustments.


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("duration", "8h", "8h"),
        ("duration", "1m", "1m"),
        ("keepFor", "2w", "2w"),
        ("startTime", "2026-08-31T12:00:00Z", "2026-08-31T12:00:00Z"),
        ("startTime", "2026-08-31T14:00:00+02:00", "2026-08-31T12:00:00Z"),
    ],
)
def test_who_approves_may_adjust_duration_retention_and_start(field: str, value: str, stored: str) -> None:
    """Nothing else of the snapshot, and the digest follows."""
    status = requested()
    result = asked(permit(status), {"phase": "Approved", "request": {field: value, "resources": []}}, SUE, NOW).status
    expected = status["request"] | {field: stored, "digest": result["request"]["digest"]}
    assert result["request"] == expected
    assert {field: result[field] for field in ("preview", "grants", "roles")} == {
        field: status[field] for field in ("preview", "grants", "roles")
    }
    assert result["request"]["digest"] != status["request"]["digest"]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("duration", "8h1s", "status.request.duration: 8h1s is not within the template's maxDuration: ask for at most 8h"),
        ("duration", "0s", "status.request.duration: 0s is not within"),
        ("duration", "soon", "status.request.duration: must be a duration such as"),
        ("duration", "9" * 65, "status.request.duration: Too long"),
        ("duration", 30, "status.request.duration: Invalid value: must be a string"),
        ("keepFor", "-1h", "status.request.keepFor: must be a duration"),
        ("startTime", "2026-08-31T10:05:00Z", "status.request.startTime: must be in the future"),
        ("startTime", "tomorrow", "status.request.startTime: must be a time with its zone"),
        ("startTime", "2026-08-31T12:00:00", "status.request.startTime: must be a time with its zone"),
    ],
)
def test_an_adjustment_that_is_not_allowed_is_refused_by_its_field(field: str, value: Any, message: str) -> None:
    """422, with what would be allowed."""
    refused = refusal(requested(), {"phase": "Approved", "request": {field: value}})
    assert (refused.code, refused.message.removeprefix("request properties are invalid: ")[: len(message)]) == (422, message)


def test_an_adjustment_clears_the_approvals_before_it() -> None:
    """They were for something else; also the reviewer's own."""
    status = asked(permit(requested(snapshot(rules(required=2)))), {"phase": "Approved"}, SUE, NOW).status
    shorter = asked(permit(status), wish(status, "Approved") | {"request": {"duration": "5m"}}, TOM, NOW)
    assert [each["reviewer"]["name"] for each in shorter.status["review"]["approvals"]] == ["tom"]
    assert (shorter.status["phase"], shorter.warning.startswith("1 of 2 approvals (earlier")) == ("Requested", True)
    own = asked(permit(status), wish(status, "Approved") | {"request": {"duration": "5m"}}, SUE, NOW)
    assert [each["reviewer"]["name"] for each in own.status["review"]["approvals"]] == ["sue"]
    last = asked(permit(shorter.status), wish(shorter.status, "Approved"), SUE, NOW)
    assert (last.status["phase"], last.status["request"]["duration"]) == ("Approved", "5m")


def test_an_adjustment_that_is_left_out_or_null_keeps_what_is_stored() -> None:
    """A reviewer who sends a status without a duration has not asked for access without end."""
    status = requested()
    for request in ({}, None, {"duration": None, "keepFor": None, "startTime": None}):
        assert asked(permit(status), {"phase": "Approved", "request": request}, SUE, NOW).status["request"] == status["request"]


def test_a_start_that_has_passed_meanwhile_does_not_stand_against_an_approval() -> None:
    """A merge patch sends along what is stored: only what differs is an adjustment."""
    status = requested(snapshot(startTime="2026-08-31T10:01:00Z"))
    assert asked(permit(status), wish(status, "Approved"), SUE, NOW).status["request"] == status["request"]


@pytest.mark.parametrize("to", ["Denied", "Expired"])
def test_only_an_approval_adjusts(to: str) -> None:
    """Whoever denies or ends a permit changes nothing of the record."""
    status = requested()
    assert asked(permit(status), {"phase": to, "request": {"duration": "1m"}}, SUE, NOW).status["request"] == status["request"]


# What stands against an approval.


def test_nobody_approves_what_they_asked_for() -> None:
    """By name and UID of the authenticated user, unless the template allows it."""
    status = requested()
    for oneself in (ALICE, ALICE | {"uid": "u-new"}, ALICE | {"name": "alice@example.org"}):
        refused = refusal(status, wish(status, "Approved"), oneself)
        assert (refused.code, "asked for this permit and cannot approve it" in refused.message) == (403, True)
    allowed = requested(snapshot(rules(selfApproval="Allow")))
    assert asked(permit(allowed), wish(allowed, "Approved"), ALICE, NOW).status["phase"] == "Approved"


def test_a_service_account_of_ones_own_approves_nothing() -> None:
    """Also when everybody may approve, and when its groups would do."""
    for approvals in (rules(), rules(approvers=[{"kind": "Group", "name": "sre"}, {"kind": "User", "name": BOT["name"]}])):
        status = requested(snapshot(approvals))
        assert refusal(status, wish(status, "Approved"), BOT).code == 403


def test_a_late_approval_does_not_revive_a_request() -> None:
    """Even when the manager has not ended it yet: at the deadline it is too late."""
    status = requested(snapshot(rules(deadline="1h")))
    refused = refusal(status, wish(status, "Approved"), now=at(60))
    assert (refused.code, "its approvals.deadline was 2026-08-31T11:00:00Z" in refused.message) == (409, True)
    assert asked(permit(status), wish(status, "Approved"), SUE, at(59.9)).status["phase"] == "Approved"


def test_what_is_not_ready_is_not_approved() -> None:
    """The message is that of the condition."""
    status = requested()
    status = status | {"conditions": [{"type": "Ready", "status": "False", "reason": "TrailBroken", "message": "link 2"}]}
    refused = refusal(status, wish(status, "Approved"))
    assert refused.message == "cannot approve ResourcePermit: rendered resources are not ready: link 2"
    assert refusal(status | {"conditions": []}, wish(status, "Approved")).code == 409


def test_conditions_see_the_reviewer_the_grants_and_what_was_adjusted() -> None:
    """A template can refuse what gives secrets, and what is too long, whoever approves."""
    conditions = [
        "!grants.allow('get', '', 'secrets') && reviewer.name != requester.name && request.status.request.duration == '5m'"
    ]
    status = requested(snapshot(rules(conditions=conditions)))
    shorter = {"phase": "Approved", "request": {"duration": "5m"}}
    assert asked(permit(status), shorter, SUE, NOW).status["phase"] == "Approved"
    none = "approval conditions not satisfied for template pod-reader: none of the approval conditions were met"
    assert (refusal(status, wish(status, "Approved")).code, refusal(status, wish(status, "Approved")).message) == (403, none)
    secrets = requested(snapshot(rules(conditions=conditions), grants=[SECRETS]))
    assert refusal(secrets, shorter).message == none


def test_a_permit_without_a_requester_is_not_approved() -> None:
    """It did not pass admission: nobody can say that its reviewer is somebody else."""
    status = requested()
    bare = permit(status)
    bare["spec"].pop("requester")
    with pytest.raises(Refused, match=r"spec\.requester is missing"):
        asked(bare, wish(status, "Approved"), SUE, NOW)
