"""Who may approve, and which conditions hold: approvers and conditions must both agree, of several one is enough."""

from typing import Any

import pytest

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.problems import Invalid
from policy.permits.actors import SYSTEM
from policy.permits.approvals import check_conditions, check_reviewer, demand, met, needs_grants, recheck
from policy.permits.lifecycle import auto_approved
from policy.permits.refusal import Refused
from tests.policy.permits.build import (
    ALICE,
    BOT,
    NOW,
    PODS,
    SECRETS,
    SUE,
    TOM,
    approved,
    created,
    in_phase,
    permit,
    requested,
    rules,
    snapshot,
)

USER_SUE = {"kind": "User", "name": "sue"}
GROUP_SRE = {"kind": "Group", "name": "sre"}
ACCOUNT = {"kind": "ServiceAccount", "name": BOT["name"]}
NAMESAKE = {"kind": "ServiceAccount", "name": "system:serviceaccount:other:bot"}


def refused(*arguments: Any) -> str:
    """Why a reviewer may not approve; empty when they may."""
    try:
        check_reviewer(*arguments)
    except Refused as refusal:
        return f"{refusal.code}: {refusal.message}"
    return ""


@pytest.mark.parametrize(
    ("approvers", "reviewer", "may"),
    [
        pytest.param(None, SUE, True, id="omitted: whom RBAC lets"),
        pytest.param(None, BOT, False, id="omitted: no account all the same"),
        pytest.param([], SUE, False, id="empty: nobody"),
        pytest.param([USER_SUE], SUE, True, id="by name"),
        pytest.param([USER_SUE], TOM, False, id="another name"),
        pytest.param([{"kind": "User", "name": "Sue"}], SUE, False, id="names have their case"),
        pytest.param([USER_SUE, GROUP_SRE], TOM, True, id="one entry is enough"),
        pytest.param([{"kind": "Group", "name": "sue"}], SUE, False, id="a user is no group"),
        pytest.param(
            [{"kind": "Group", "name": "admin"}], TOM | {"groups": ["/tenant/admin"]}, False, id="a group by its whole name"
        ),
        pytest.param([GROUP_SRE], BOT, False, id="an account in the group"),
        pytest.param([{"kind": "User", "name": BOT["name"]}], BOT, False, id="an account named as a user"),
        pytest.param([ACCOUNT], BOT, True, id="an account by its whole name"),
        pytest.param([NAMESAKE], BOT, False, id="its namesake of another namespace"),
        pytest.param([{"kind": "ServiceAccount", "name": "sue"}], SUE, False, id="a user named as an account"),
        pytest.param([{"kind": "Robot", "name": "sue"}], SUE, False, id="an unknown kind"),
        pytest.param([GROUP_SRE], {"name": "sue", "type": "User"}, False, id="no groups"),
    ],
)
def test_an_approver_is_named_by_kind_and_name(approvers: Any, reviewer: Manifest, may: bool) -> None:
    """The text of the refusal names the subject and the template."""
    given = rules() if approvers is None else rules(approvers=approvers)
    said = refused(given, reviewer, ALICE, "pod-reader")
    text = f'403: subject "{reviewer["name"]}" is not permitted to approve requests for template pod-reader'
    assert said.startswith(text) != may
    assert bool(said) != may


@pytest.mark.parametrize("again", [ALICE, {"name": "alice", "type": "User"}, ALICE | {"name": "al"}], ids=["same", "name", "UID"])
@pytest.mark.parametrize(
    "approvals", [rules(), {}, rules(approvers=[{"kind": "User", "name": "alice"}])], ids=["Deny", "none", "named"]
)
def test_the_requester_is_no_reviewer(approvals: Manifest, again: Manifest) -> None:
    """Unless the template says Allow, and then only where the approvers name them."""
    assert "cannot approve it" in refused(approvals, again, ALICE, "t")
    assert "cannot approve it" not in refused(approvals | {"selfApproval": "Allow"}, again, ALICE, "t")


# Conditions.


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["true", " "], r"conditions\[1\] is blank"),
        (["request.spec."], r"conditions\[0\] does not compile: line 1, column"),
        (["params.user == 'x'"], r"conditions\[0\] does not compile: .*there is no variable `params`"),
        (["size(grants)"], r"conditions\[0\] does not compile to a boolean"),
        (["grants.allow('get', '')"], r"conditions\[0\] does not compile"),
        (["requester.allow('get', '', 'pods')"], r"conditions\[0\] does not compile"),
        (["1 ==", "true", "'a'"], r"conditions\[0\] .*; conditions\[2\] "),
    ],
)
def test_what_is_no_condition_is_named(texts: list[str], message: str) -> None:
    """All of them at once."""
    with pytest.raises(Invalid, match=f"^approval conditions are invalid: {message}"):
        check_conditions(texts)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("!grants.allow('get', '', 'secrets')", True),
        ("grants.exists(g, g.subject == 'User/alice' && 'secrets' in g.resources)", True),
        ("request.spec.reason.startsWith('INC-') && 'sre' in reviewer.groups", False),
        ("requestor.name == requester.name", False),
        ("request.metadata.name == 'grants'", False),
        ("[1].all(grants, grants > 0)", False),
    ],
)
def test_a_condition_looks_at_grants_or_it_does_not(text: str, needs: bool) -> None:
    """So that the others can be asked before anything is rendered."""
    check_conditions([text])
    assert needs_grants(text) == needs


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        pytest.param(None, True, id="omitted"),
        pytest.param([], False, id="empty"),
        pytest.param(["false", "true"], True, id="one is enough"),
        pytest.param(["false", "false"], False, id="none"),
        pytest.param(["request.spec.nothing", "true"], True, id="an error beside a true one"),
        pytest.param(["reviewer.name != requester.name"], True, id="reviewer and requester"),
        pytest.param(["requestor.type == 'User' && 'dev' in requestor.groups"], True, id="the old name"),
        pytest.param(["!has(requester.seal)"], True, id="no seal"),
        pytest.param(["request.metadata.namespace == 'solar-prod'"], True, id="the whole permit"),
        pytest.param(["!grants.allow('get', '', 'secrets')"], True, id="grants"),
        pytest.param(["grants.all(g, g.unresolved == '')"], True, id="grants as a list, every field is there"),
    ],
)
def test_the_first_condition_that_is_true_decides(conditions: list[str] | None, holds: bool) -> None:
    """They see the permit, both people and the rights that it gives."""
    given = {} if conditions is None else {"conditions": conditions}
    assert met(given, permit({}), SUE, [PODS]) is holds


def test_secrets_are_refused_by_whatever_way_they_are_given() -> None:
    """Also by rights that nobody could find out."""
    given = {"conditions": ["!grants.allow('get', '', 'secrets')"]}
    for row in (SECRETS, {"subject": "Group/sre", "unresolved": "no such role"}, SECRETS | {"verbs": ["*"], "resources": ["*"]}):
        assert not met(given, permit({}), SUE, [PODS, row])


def test_errors_are_collected_and_hold_no_values() -> None:
    """Each with its number and its expression."""
    given = {"conditions": ["false", "request.spec.secret == 'x'", "int(requester.name) > 1", "request.spec.reason"]}
    asked = permit({})
    asked["spec"]["reason"] = "hidden"
    with pytest.raises(Refused) as caught:
        met(given, asked, SUE, [])
    first, second, third = caught.value.message.split("; ")
    assert first.startswith("evaluate approval condition 1 (request.spec.secret == 'x'): ")
    assert second.startswith("evaluate approval condition 2 (int(requester.name) > 1): ")
    assert third == "evaluate approval condition 3 (request.spec.reason): it gives no boolean"
    assert "alice" not in caught.value.message
    assert "hidden" not in caught.value.message


def test_a_condition_that_costs_too_much_is_an_error_like_another() -> None:
    """It approves nothing, and does not stop the one after it."""
    dear = "[0,1,2,3,4,5,6,7,8,9]"
    text = f"{dear}.all(a, {dear}.all(b, {dear}.all(c, {dear}.all(d, {dear}.all(e, {dear}.all(f, {dear}.all(g, a >= 0)))))))"
    with pytest.raises(Refused, match="evaluate approval condition 0"):
        met({"conditions": [text]}, permit({}), SUE, [])
    assert met({"conditions": [text, "true"]}, permit({}), SUE, [])


def test_without_a_reviewer_there_are_groups_and_nothing_else() -> None:
    """As at an automatic approval: a name has to be guarded."""
    guarded = {"conditions": ["!has(reviewer.name) && reviewer.groups.size() == 0"]}
    assert met(guarded, permit({}), None, [])
    with pytest.raises(Refused, match="evaluate approval condition 0"):
        met({"conditions": ["reviewer.name == 'sue'"]}, permit({}), None, [])


def test_unmet_conditions_are_a_refusal_in_the_words_of_the_template() -> None:
    """Or the errors."""
    text = "approval conditions not satisfied for template t: "
    with pytest.raises(Refused, match=f"^{text}none of the approval conditions were met$"):
        demand({"conditions": ["false"]}, permit({}), None, [], "t")
    with pytest.raises(Refused, match=f"^{text}evaluate approval condition 0"):
        demand({"conditions": ["request.nothing"]}, permit({}), None, [], "t")
    demand({}, permit({}), None, [], "t")


# Before the activation.


def with_approvals(*reviewers: Manifest, of: Manifest | None = None, **changes: Any) -> Manifest:
    """An approved permit with the approvals of these people."""
    status = approved(snapshot(of))
    one = status["review"]["approvals"][0]
    return status | {"review": {"verdict": "Approved", "approvals": [one | {"reviewer": each} | changes for each in reviewers]}}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(with_approvals(), "0 of 1 approvals", id="nobody"),
        pytest.param(with_approvals(SUE, of=rules()) | {"review": {}}, "0 of 1 approvals", id="no review"),
        pytest.param(with_approvals(SUE, digest="sha256:0"), "is for another digest", id="another digest"),
        pytest.param(with_approvals(SUE, SUE | {"groups": []}), "approved twice", id="twice"),
        pytest.param(with_approvals(ALICE), "asked for this permit", id="the requester"),
        pytest.param(with_approvals(BOT), "is not permitted", id="an account"),
        pytest.param(with_approvals(SYSTEM), "is not permitted", id="the manager, though it is not automatic"),
        pytest.param(
            with_approvals(SUE)
            | {"grants": [SECRETS], "request": approved()["request"] | {"approvals": rules(conditions=["false"])}},
            "none of the approval conditions",
            id="conditions",
        ),
    ],
)
def test_what_is_not_approved_as_it_must_be_is_not_activated(status: Manifest, message: str) -> None:
    """However it came into the status."""
    with pytest.raises(Refused, match=message):
        recheck(permit(status))


def test_the_grants_of_the_present_are_what_the_conditions_see_before_the_activation() -> None:
    """A role that was widened since then gives what nobody approved."""
    status = approved(snapshot(rules(conditions=["!grants.allow('get', '', 'secrets')"])))
    recheck(permit(status))
    with pytest.raises(Refused, match="none of the approval conditions were met"):
        recheck(permit(status | {"grants": [SECRETS]}))


def test_what_is_approved_as_it_must_be_may_be_activated() -> None:
    """By a reviewer, or by the template itself."""
    recheck(permit(approved()))
    status, _ = auto_approved(created(), snapshot(rules(auto=True, conditions=["size(reviewer.groups) == 0"])), NOW)
    recheck(permit(status))
    recheck(permit(in_phase(Phase.FAILED)))


def test_no_requested_permit_passes_the_check_before_the_activation() -> None:
    """Its phase alone does not make it approved."""
    with pytest.raises(Refused, match="0 of 1 approvals"):
        recheck(permit(requested() | {"phase": "Approved"}))
