"""How temporary access of other systems failed in public, as tests: approval and expiry (the numbers are those of the cases)."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from manager.permits import proof
from tests.scenario.permits.acts import expire, given, pass_time, public_keys, said, target, token_of, wake
from tests.support.api import Manifest, Reply, eventually, ref
from tests.support.permits import LOCAL, Permits, config_map
from tests.support.stage import GROUP, RBAC, VERSION

STATUS: dict[str, Any] = {"apiGroups": [GROUP], "resources": ["resourcepermits", "resourcepermits/status"], "verbs": ["*"]}
FAR = "2099-01-01T00:00:00Z"


def soon(**by: float) -> str:
    """A time that comes, as users write it."""
    return (datetime.now(UTC) + timedelta(**by)).strftime("%Y-%m-%dT%H:%M:%SZ")


def types(permit: Manifest) -> list[str]:
    """The phases that a permit has been through."""
    return [each["type"] for each in permit["status"]["transitions"]]


# 82 and 83: time.


def test_case_082_the_access_ends_whenever_the_manager_was_restarted(permits: Permits) -> None:
    """A restart in each state between the request and the end loses no appointment."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = permits.asked(permits.template(defaultDuration="1h"))
    manager.restart()
    permits.approve(permit, request={"startTime": soon(minutes=30)})
    manager.restart()
    assert permits.reaches(permit, "Approved")["status"].get("active") is None
    pass_time(manager, minutes=45)
    permits.reaches(permit, "Active")
    manager.restart()
    stage.read(target(permits))
    pass_time(manager, minutes=61)
    stage.gone(target(permits))
    permits.ended(permit)


def test_case_082_what_ended_while_no_manager_ran_is_ended_at_its_start(permits: Permits) -> None:
    """A request, an approval, an access and a record, all long over: the first look ends each."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template(defaultDuration="1h", approvals={"deadline": "24h"})
    later = permits.asked(permits.template("later", config_map("later")))
    permits.approve(later, request={"startTime": soon(hours=1)})
    kept = expire(permits, given(permits, permits.template("kept", config_map("kept"), defaultDuration="1h", keepFor="1h")))
    every = [permits.asked(template), later, given(permits, template), kept]
    manager.stop()
    manager.clock.forward(days=3)
    manager.start()
    stage.gone(target(permits))
    for permit in every:
        permits.ended(permit)
    stage.api.get(target(permits, "later")).expect(404)


def test_case_082_the_end_needs_no_event(permits: Permits) -> None:
    """Nothing happens but that time passes, and the manager looks by itself."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(permits.template(defaultDuration="2s", keepFor="1h"))
    permits.approve(permit)
    done = permits.reaches(permit, "Expired")
    assert done["status"]["transitions"][-1]["reason"] == "ExpiredBySystem"
    stage.gone(target(permits))


def test_case_083_a_late_approval_revives_nothing(permits: Permits) -> None:
    """After the deadline an approval is refused, also before the manager has come to expire the request."""
    stage = permits.stage
    manager = stage.stopped_manager(permits=True)
    manager.clock.forward(hours=-1)  # it is behind: for it there is time
    with manager:
        asked = permits.asked(permits.template(approvals={"deadline": "1s"}, keepFor="1h"))

        def late() -> Reply:
            trial = permits.as_(permits.bob).merge_patch(
                asked, {"status": {"phase": "Approved"}}, subresource="status", dryRun="All"
            )
            return trial.expect(409)

        eventually(late)
        message = permits.patch(asked, phase="Approved").expect(409).message
        assert "its approvals.deadline was" in message
        pass_time(manager, hours=1, minutes=1)
        done = permits.reaches(asked, "Expired")
        assert done["status"]["transitions"][-1]["reason"] == "DeadlineExceeded"
        permits.patch(done, phase="Approved").expect(422)
        assert "Active" not in types(permits.stage.read(asked))


# 85, 86 and 91: who approves.


def test_case_085_being_in_an_approving_group_does_not_let_one_approve_oneself(permits: Permits) -> None:
    """Alice is of the group that approves and may write the status: her own request she does not approve."""
    stage = permits.stage
    stage.grant_user(permits.alice, [STATUS], permits.home)
    stage.manager(permits=True)
    template = permits.template(approvals={"approvers": [{"kind": "Group", "name": "sre"}]})
    asked = permits.asked(template)
    message = permits.patch(asked, by=permits.alice, groups=("sre",), phase="Approved").expect(403).message
    assert f'subject "{permits.alice}" asked for this permit and cannot approve it' in message
    permits.patch(asked, groups=("sre",), phase="Approved").expect(200)
    permits.reaches(asked, "Active")


def test_case_085_an_account_is_the_same_by_its_token_and_by_its_name(permits: Permits) -> None:
    """Asked with a token (which carries a UID), approved by impersonation (which carries none): still one and the same."""
    stage = permits.stage
    bot = stage.service_account("bot")
    stage.grant(bot, [STATUS], permits.home)
    stage.manager(permits=True)
    template = permits.template(approvals={"approvers": [{"kind": "ServiceAccount", "name": bot.user}]})
    permit = ref(VERSION, "ResourcePermit", stage.name("by-token"), permits.home)
    permit["spec"] = {"template": {"kind": LOCAL, "name": template["metadata"]["name"]}}
    by_token = stage.api.with_token(token_of(permits, bot.name))
    stage.made.append(by_token.create(permit).expect(201).body)
    asked = permits.reaches(permit, "Requested")
    assert asked["spec"]["requester"]["uid"]
    for way in (by_token, stage.api.as_user(bot.user)):
        reply = way.merge_patch(asked, {"status": {"phase": "Approved"}}, subresource="status")
        assert "asked for this permit and cannot approve it" in reply.expect(403).message


@pytest.mark.parametrize(
    "approvers",
    [
        pytest.param([], id="empty list"),
        pytest.param({}, id="map"),
        pytest.param([{}], id="nobody"),
        pytest.param([{"kind": "Group", "name": ""}], id="no name"),
        pytest.param([{"kind": "Everybody", "name": "x"}], id="no kind"),
    ],
)
def test_case_086_a_list_that_names_nobody_is_refused(permits: Permits, approvers: Any) -> None:
    """An empty list of approvers does not mean anybody: such a template is not even stored."""
    body = {"impersonation": {"name": permits.account}, "resources": [config_map()], "approvals": {"approvers": approvers}}
    template = ref(VERSION, LOCAL, permits.stage.name("open"), permits.home) | {"spec": body}
    assert "approvers" in permits.stage.api.create(template).expect(400, 422).message


@pytest.mark.parametrize("approvals", [{}, {"approvers": None}], ids=["omitted", "null"])
def test_case_086_without_approvers_rbac_decides_and_the_template_says_so(permits: Permits, approvals: Manifest) -> None:
    """Who may write the status of permits approves, no account does, and the condition of the template warns."""
    stage = permits.stage
    bot = stage.service_account("bot")
    stage.grant(bot, [STATUS], permits.home)
    stage.manager(permits=True)
    template = permits.template(approvals=approvals)
    assert "approvers" in stage.ready(template)["message"]
    asked = permits.asked(template)
    assert permits.patch(asked, by=permits.requester("carol"), phase="Approved").status == 403
    message = permits.patch(asked, by=bot.user, phase="Approved").expect(403).message
    assert "is not permitted to approve requests" in message
    permits.approve(asked)
    permits.reaches(asked, "Active")


TEAMS = {
    "required": 2,
    "approvers": [{"kind": "Group", "name": "team-a"}, {"kind": "Group", "name": "team-b"}],
    "conditions": [
        "!request.status.review.?approvals.orValue([]).exists(a, a.reviewer.name != reviewer.name"
        " && a.reviewer.groups.exists(g, g in reviewer.groups && g in ['team-a', 'team-b']))"
    ],
}
"""Two must approve, who have no team in common: one of each."""


def test_case_091_two_teams_must_both_agree(permits: Permits) -> None:
    """Who is in both teams counts once, a second one of the same team not at all; one of the other team decides."""
    stage = permits.stage
    stage.manager(permits=True)
    carol, dave = permits.reviewer("carol"), permits.reviewer("dave")
    asked = permits.asked(permits.template(approvals=TEAMS))
    permits.patch(asked, groups=("team-a",), phase="Approved").expect(200)
    assert "has approved already" in permits.patch(asked, groups=("team-a", "team-b"), phase="Approved").expect(403, 409).message
    assert "none of the approval conditions" in permits.patch(asked, by=carol, groups=("team-a",), phase="Approved").message
    live = stage.read(asked)
    assert live["status"]["phase"] == "Requested"
    assert len(live["status"]["review"]["approvals"]) == 1
    permits.patch(asked, by=dave, groups=("team-b",), phase="Approved").expect(200)
    permits.reaches(asked, "Active")


# 88 and 89: what was planned, and what was said.


def test_case_088_a_start_that_has_passed_is_refused(permits: Permits) -> None:
    """By who asks, and by who approves."""
    permits.stage.manager(permits=True)
    template = permits.template()
    past = "2020-01-01T00:00:00Z"
    assert f"start time {past} must be in the future" in permits.ask(template, startTime=past).expect(422).message
    asked = permits.asked(template)
    reply = permits.patch(asked, phase="Approved", request={"startTime": past}).expect(422)
    assert "status.request.startTime: must be in the future" in reply.message


def test_case_088_without_a_start_it_begins_at_once(permits: Permits) -> None:
    """Nothing waits for a time that nobody named."""
    permits.stage.manager(permits=True)
    live = given(permits, permits.template())
    assert "startTime" not in live["status"]["request"]


def test_case_088_a_start_that_was_slept_through_gives_nothing_any_more(permits: Permits) -> None:
    """The manager comes back when the approval is too old: the permit expires, and was never active."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    asked = permits.asked(permits.template(defaultDuration="1h", keepFor="30d"))
    permits.approve(asked, request={"startTime": soon(hours=1)})
    manager.stop()
    manager.clock.forward(hours=26)
    manager.start()
    done = permits.reaches(asked, "Expired")
    assert done["status"]["transitions"][-1]["reason"] == "ApprovalLapsed"
    assert "Active" not in types(done)
    stage.api.get(target(permits)).expect(404)


def test_case_089_whoever_drops_a_permit_erases_nothing(permits: Permits) -> None:
    """Expired by a user in each state: what was said and signed before stays, and the whole trail is proved."""
    stage = permits.stage
    stage.manager(permits=True)
    stage.service_account("powerless")
    template = permits.template(keepFor="1h")
    denied, approved = permits.asked(template), permits.asked(permits.template("later", config_map("later"), keepFor="1h"))
    permits.patch(denied, phase="Denied", review={"message": "no"}).expect(200)
    permits.approve(approved, request={"startTime": FAR}, review={"message": "yes"})
    fails = permits.template("fails", impersonation={"name": "powerless"}, keepFor="1h")
    every = [permits.asked(template), denied, approved, permits.asked(fails, phase="Failed"), given(permits, template)]
    for permit in every:
        before = stage.read(permit)["status"]
        permits.patch(permit, phase="Expired", review={"message": "dropped"}).expect(200)
        after = stage.becomes(permit, lambda live: said(live)[0] == "Expired")
        status = after["status"]
        dropped = status["transitions"][len(before["transitions"])]
        assert status["transitions"][: len(before["transitions"])] == before["transitions"]
        assert (dropped["actor"]["name"], dropped["reason"], dropped["message"]) == (permits.bob, "ExpiredByUser", "dropped")
        assert {name: status.get(name) for name in ("review", "request", "failure", "active")} == {
            name: before.get(name) for name in ("review", "request", "failure", "active")
        }
        assert proof.check(after, public_keys(permits)) == []


# 92 and 94: what was given.


def test_case_092_a_target_that_was_deleted_comes_back_and_goes_at_the_end(permits: Permits) -> None:
    """While the permit is active the target is repaired; the one that was made anew is taken back like the first."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = given(permits, permits.template("open", config_map(protect=False), keepFor="1h"))
    first = stage.read(target(permits))
    stage.api.delete(first).expect(200)
    stage.becomes(first, lambda live: live["metadata"]["uid"] != first["metadata"]["uid"])
    stage.becomes(permit, lambda live: said(live)[0] == "Succeeded")
    expire(permits, permit)
    stage.gone(first)


def test_case_092_what_somebody_put_in_the_place_of_a_target_is_not_taken(permits: Permits) -> None:
    """Deleted and made by somebody else meanwhile: the permit ends, and the stranger's object stays."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = given(permits, permits.template("open", config_map(protect=False), keepFor="1h"))
    manager.stop()
    stage.api.delete(target(permits)).expect(200)
    theirs = stage.create(target(permits) | {"data": {"theirs": "1"}})
    permits.patch(permit, phase="Expired").expect(200)
    manager.start()
    stage.becomes(permit, lambda live: said(live)[0] == "Expired")
    assert stage.read(theirs)["metadata"]["uid"] == theirs["metadata"]["uid"]
    assert stage.read(theirs)["data"] == {"theirs": "1"}


def test_case_092_a_target_whose_namespace_went_keeps_no_permit(permits: Permits) -> None:
    """The place of the target is gone with all that was in it: the end of the permit does not wait for what cannot be there."""
    stage = permits.stage
    other = stage.namespace("other")
    stage.manager(permits=True)
    permit = given(permits, permits.global_template("away", config_map("temporary", other), keepFor="1h"))
    stage.read(ref("v1", "ConfigMap", "temporary", other))
    stage.delete(ref("v1", "Namespace", other))
    done = expire(permits, permit)
    assert not done["status"].get("processedItems")


def test_case_094_who_may_mint_tokens_is_given_everything(permits: Permits) -> None:
    """A right to make tokens is in the report, and counts as the right to anything: a condition about Secrets sees it."""
    stage = permits.stage
    stage.manager(permits=True)
    rules = [{"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]}]
    role: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "minter"}, "rules": rules}
    bound: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "minter"}}
    bound |= {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "minter"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "{{ request.username }}"}],
    }
    conditions = ["!grants.allow('get', '', 'secrets')"]
    asked = permits.asked(permits.template("mints", {"targets": [role, bound]}, approvals={"conditions": conditions}))
    [row] = asked["status"]["grants"]
    assert row["resources"] == ["serviceaccounts/token"]
    assert row["subject"] == f"User/{permits.alice}"
    assert "none of the approval conditions were met" in permits.patch(asked, phase="Approved").expect(403).message


# 95: two at once.


def test_case_095_of_an_expiry_and_a_denial_at_once_one_is_written(permits: Permits) -> None:
    """The manager expires ten requests while bob denies them from the other end: each has one end, and all of its trail."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template(approvals={"deadline": "24h"}, keepFor="30d")
    every = [permits.asked(template) for _ in range(10)]
    replies: dict[str, int] = {}

    def deny() -> None:
        for permit in reversed(every):
            replies[permit["metadata"]["name"]] = permits.patch(permit, phase="Denied").status

    bob = threading.Thread(target=deny)
    bob.start()
    pass_time(manager, hours=25)
    bob.join()
    for permit in every:
        denied = replies[permit["metadata"]["name"]] == 200
        live = permits.reaches(permit, "Denied" if denied else "Expired")
        assert types(live) == ["Created", "Requested", "Denied" if denied else "Expired"]
        assert proof.check(live, public_keys(permits)) == []
    wake(manager)
    manager.idle()
    assert {permits.stage.read(permit)["status"]["phase"] for permit in every} <= {"Denied", "Expired"}
