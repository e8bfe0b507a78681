"""Approving one's own permit, twice, or what was not looked at: by every name that one person can have."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.scenario.permits.tampering import ALL, absent, given, refused, token_of, unchanged
from tests.support.api import Api, ref
from tests.support.permits import LOCAL, Permits
from tests.support.stage import VERSION


def test_an_approval_of_an_older_digest_is_refused(permits: Permits) -> None:
    """What changed since it was looked at is not approved: the first reviewer shortened it, the second had seen the long one."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(maxDuration="8h", approvals={"required": 2}))
    seen = permit["status"]["request"]["digest"]
    dave = permits.reviewer("dave")
    changed = permits.approve(permit, request={"duration": "30m"}, review={"digest": seen})
    assert changed["status"]["phase"] == "Requested"
    assert changed["status"]["request"]["digest"] != seen
    message = refused(permits.patch(permit, by=dave, phase="Approved", review={"digest": seen}), 409)
    assert "not what you have seen" in message
    assert changed["status"]["request"]["digest"] in message
    assert permits.stage.read(permit)["status"]["review"] == changed["status"]["review"]
    absent(permits, given(permits))


def test_an_earlier_approval_does_not_count_for_what_was_changed(permits: Permits) -> None:
    """Two must agree on one thing: a reviewer who prolongs it takes the first one's approval away."""
    permits.stage.manager(permits=True)
    template = permits.template(defaultDuration="30m", maxDuration="8h", approvals={"required": 2})
    permit = permits.asked(template)
    dave = permits.reviewer("dave")
    permits.approve(permit)
    changed = permits.approve(permit, by=dave, request={"duration": "8h"})
    assert changed["status"]["phase"] == "Requested"
    assert [each["reviewer"]["name"] for each in changed["status"]["review"]["approvals"]] == [dave]
    refused(permits.patch(permit, by=dave, phase="Approved"), 409, says="has approved already")
    absent(permits, given(permits))


@dataclass(frozen=True)
class Double:
    """One person twice: as who asks, and as who approves."""

    asks: Api
    approves: Api
    code: int = 403


def renamed(api: Api, name: str, uid: str) -> Api:
    """A user with a UID, which an identity provider gives."""
    other = api.as_user(name)
    other._identity = [*other._identity, ("Impersonate-Uid", uid)]
    return other


def the_same_user(permits: Permits) -> Double:
    """Alice approves."""
    permits.stage.grant_user(permits.alice, ALL, permits.home)
    return Double(permits.as_(permits.alice), permits.as_(permits.alice))


def by_a_group(permits: Permits) -> Double:
    """Alice is in the group that approves."""
    permits.stage.grant_user(permits.alice, ALL, permits.home)
    return Double(permits.as_(permits.alice, "sre"), permits.as_(permits.alice, "sre"))


def as_administrator(permits: Permits) -> Double:
    """An administrator who asked."""
    return Double(permits.as_("root", "system:masters"), permits.as_("root", "system:masters"))


def another_name(permits: Permits) -> Double:
    """Who was renamed is still the same, by the UID."""
    late = permits.stage.name("alice-married")
    for name in (permits.alice, late):
        permits.stage.grant_user(name, ALL, permits.home)
    return Double(renamed(permits.stage.api, permits.alice, "uid-of-alice"), renamed(permits.stage.api, late, "uid-of-alice"))


def an_own_account(permits: Permits) -> Double:
    """An account that alice made, by impersonation."""
    account = permits.stage.service_account("puppet")
    permits.stage.grant(account, ALL, permits.home)
    groups = ("system:serviceaccounts", "system:authenticated", "sre")
    return Double(permits.as_(permits.alice), permits.as_(account.user, *groups))


def an_own_token(permits: Permits) -> Double:
    """An account that alice made, by a token for it."""
    account = permits.stage.service_account("puppet")
    permits.stage.grant(account, ALL, permits.home)
    return Double(permits.as_(permits.alice), permits.stage.api.with_token(token_of(permits, account.name)))


def an_approver_itself(permits: Permits) -> Double:
    """An account that may approve, and asks: by two tokens."""
    account = permits.stage.service_account("approver")
    permits.stage.grant(account, ALL, permits.home)
    return Double(*(permits.stage.api.with_token(token_of(permits, account.name)) for _ in range(2)))


DOUBLES = (the_same_user, by_a_group, as_administrator, another_name, an_own_account, an_own_token, an_approver_itself)


@pytest.mark.parametrize("double", DOUBLES, ids=lambda double: double.__name__)
def test_nobody_approves_what_they_asked_for(permits: Permits, double: Callable[[Permits], Double]) -> None:
    """By no name, group, account or token of one's own; a stranger is let through by the same template."""
    stage = permits.stage
    stage.manager(permits=True)
    approver = {"kind": "ServiceAccount", "name": f"system:serviceaccount:{permits.home}:approver"}
    groups = [{"kind": "Group", "name": name} for name in ("sre", "system:serviceaccounts", "system:masters")]
    late = {"kind": "User", "name": stage.name("alice-married")}
    users = [{"kind": "User", "name": name} for name in (permits.alice, permits.bob)]
    template = permits.template(approvals={"approvers": [*users, late, *groups, approver]})
    one = double(permits)
    spec = {"template": {"kind": LOCAL, "name": template["metadata"]["name"]}}
    permit = one.asks.create(ref(VERSION, "ResourcePermit", stage.name("own"), permits.home) | {"spec": spec}).expect(201).body
    stage.made.append(permit)
    permit = permits.reaches(permit, "Requested")
    message = refused(one.approves.merge_patch(permit, {"status": {"phase": "Approved"}}, subresource="status"), one.code)
    assert "approve" in message
    unchanged(permit, stage.read(permit))
    absent(permits, given(permits))
    permits.approve(permit)


def test_who_approved_does_not_approve_twice(permits: Permits) -> None:
    """Two reviewers are two persons: one of them counts once, by another name with the same UID, too."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(approvals={"required": 2}))
    late = permits.reviewer("bob-married")
    first, second = (renamed(permits.stage.api, name, "uid-of-bob") for name in (permits.bob, late))
    body = {"status": {"phase": "Approved"}}
    first.merge_patch(permit, body, subresource="status").expect(200)
    for again in (first, second):
        refused(again.merge_patch(permit, body, subresource="status"), 409, says="has approved already")
    assert permits.stage.read(permit)["status"]["phase"] == "Requested"


def test_an_approver_of_another_template_is_none_of_this(permits: Permits) -> None:
    """RBAC lets somebody write the status; the template does not name them, nor their accounts."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(approvals={"approvers": [{"kind": "Group", "name": "sre"}]}))
    refused(permits.patch(permit, phase="Approved"), 403, says="spec.approvals.approvers of the template must name it")
    refused(permits.patch(permit, groups=("sre-",), phase="Approved"), 403)
    permits.patch(permit, groups=("sre",), phase="Approved").expect(200)
