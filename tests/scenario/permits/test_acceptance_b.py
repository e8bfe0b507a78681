"""Who approves a permit, under which conditions, from which template and with which parameters (10.4, 7 to 12)."""

from typing import Any

import pytest

from tests.scenario.permits.acts import clerk, target
from tests.support.api import Manifest, ref
from tests.support.permits import REVIEWS, RULES, Permits, config_map

SCHEMA: Manifest = {
    "type": "object",
    "required": ["user"],
    "properties": {
        "user": {"type": "string", "pattern": "^[a-z]+$"},
        "pods": {"type": "integer", "default": 2},
    },
    "x-kubernetes-validations": [{"rule": "self.pods <= 10 || self.user == 'root'", "message": "only root has so many pods"}],
}


def steps(permit: Manifest) -> list[tuple[str, str]]:
    """Type and reason of each transition."""
    return [(each["type"], each["reason"]) for each in permit["status"]["transitions"]]


def offered(permits: Permits, **approvals: Any) -> Manifest:
    """A template with these rules of approval, as an account that may keep ConfigMaps and nothing else."""
    permits.stage.manager(permits=True)
    return permits.template(impersonation={"name": clerk(permits).name}, approvals=approvals)


# 7: by hand.


def test_10_4_07_manual_approve_records_the_authenticated_reviewer_and_what_they_said(permits: Permits) -> None:
    """Whatever reviewer a client names: recorded is who was authenticated, with their groups."""
    permit = permits.asked(offered(permits))
    forged = {"name": "root", "type": "System", "groups": ["system:masters"]}
    review = {"message": "INC-7 needs it", "reviewer": forged, "verdict": "Denied", "approvals": []}
    permits.patch(permit, groups=("sre",), phase="Approved", review=review).expect(200)
    active = permits.reaches(permit, "Active")
    found = active["status"]["review"]
    assert (found["verdict"], found["message"]) == ("Approved", "INC-7 needs it")
    assert (found["reviewer"]["name"], found["reviewer"]["type"]) == (permits.bob, "User")
    assert "sre" in found["reviewer"]["groups"]
    assert "system:masters" not in found["reviewer"]["groups"]
    step = active["status"]["transitions"][2]
    assert (step["type"], step["reason"], step["message"]) == ("Approved", "ApprovedByUser", "INC-7 needs it")
    assert step["actor"] == found["reviewer"]
    permits.stage.read(target(permits))


def test_10_4_07_manual_deny_gives_nothing_and_is_final(permits: Permits) -> None:
    """The denial records who and why; nobody can approve it afterwards, and who may write the status can end it."""
    permit = permits.asked(offered(permits))
    permits.patch(permit, phase="Denied", review={"message": "not today"}).expect(200)
    denied = permits.reaches(permit, "Denied")
    found = denied["status"]["review"]
    assert (found["verdict"], found["message"], found["reviewer"]["name"]) == ("Denied", "not today", permits.bob)
    assert steps(denied)[-1] == ("Denied", "DeniedByReviewer")
    assert denied["status"]["conditions"][0]["message"] == "request was denied"
    carol = permits.reviewer("carol")
    message = permits.patch(permit, by=carol, phase="Approved").expect(422).message
    assert "invalid ResourcePermit transition: cannot approve a denied request" in message
    permits.patch(permit, by=carol, phase="Expired").expect(200)
    permits.ended(permit)
    permits.stage.api.get(target(permits)).expect(404)


def test_10_4_07_neither_the_requester_nor_an_outsider_reviews(permits: Permits) -> None:
    """RBAC keeps both from the status. Where we differ: a requester whom RBAC lets cannot approve what she asked for."""
    template = offered(permits)
    permit = permits.asked(template)
    for who in (permits.alice, permits.stage.name("outsider")):
        for phase in ("Approved", "Denied", "Expired"):
            assert "resourcepermits/status" in permits.patch(permit, by=who, phase=phase).expect(403).message
    permits.stage.grant_user(permits.alice, REVIEWS, permits.home)
    message = permits.patch(permit, by=permits.alice, phase="Approved").expect(403).message
    assert f'subject "{permits.alice}" asked for this permit and cannot approve it: somebody else must review it' in message
    assert permits.stage.read(permit)["status"]["phase"] == "Requested"


# 8: by the template alone.


def test_10_4_08_one_of_several_conditions_is_enough_and_no_approver_is_asked(permits: Permits) -> None:
    """`auto`: the second condition holds, and the approvers that the template names as well have nothing to say."""
    conditions = ["requester.name == 'somebody else'", "'oncall' in requester.groups"]
    approvers = [{"kind": "User", "name": "nobody"}]
    permit = permits.asked(offered(permits, auto=True, conditions=conditions, approvers=approvers), "Active", groups=("oncall",))
    assert permit["status"]["review"]["reviewer"] == {"name": "copyhold", "type": "System"}
    assert ("Approved", "ApprovedBySystem") in steps(permit)
    permits.stage.read(target(permits))


def test_10_4_08_when_no_condition_holds_the_permit_is_not_even_made(permits: Permits) -> None:
    """`auto`: there is no way around by a review; the refusal names the template."""
    template = offered(permits, auto=True, conditions=["requester.name == 'somebody else'", "'oncall' in requester.groups"])
    message = permits.ask(template, groups=("dba",)).expect(403).message
    name = template["metadata"]["name"]
    assert f"approval conditions not satisfied for template {name}: none of the approval conditions were met" in message
    assert permits.as_(permits.alice).list("copyhold.dev/v1alpha1", "ResourcePermit", permits.home).body["items"] == []


def test_10_4_08_a_condition_over_what_nobody_reviews_is_refused_with_its_error(permits: Permits) -> None:
    """`auto`: there is no reviewer whose name could be compared; the error names the condition."""
    template = offered(permits, auto=True, conditions=["reviewer.name != requester.name"])
    message = permits.ask(template).expect(403).message
    assert "evaluate approval condition 0 (reviewer.name != requester.name): " in message


def test_10_4_08_a_condition_over_the_rights_is_asked_when_they_are_known(permits: Permits) -> None:
    """Where we differ: what looks at `grants` is judged after the rendering, and then the permit fails, giving nothing."""
    role = {"targets": [_role("reads"), _binding("reads")]}
    permits.stage.manager(permits=True)
    approvals = {"auto": True, "conditions": ["!grants.allow('get', '', 'secrets')"]}
    template = permits.template("rights", role, approvals=approvals)
    permit = permits.asked(template, "Failed")
    assert permit["status"]["failure"]["stage"] == "Preflight"
    assert permit["status"]["failure"]["reason"] == "ApprovalConditionsNotMet"
    permits.stage.api.get(_role("reads", permits.home)).expect(404)


def _role(name: str, namespace: str | None = None) -> Manifest:
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    return ref("rbac.authorization.k8s.io/v1", "Role", name, namespace) | {"rules": rules}


def _binding(name: str) -> Manifest:
    group = "rbac.authorization.k8s.io"
    return ref(f"{group}/v1", "RoleBinding", name) | {
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "{{ request.username }}"}],
    }


# 9: who asks.


def test_10_4_09_a_condition_sees_name_and_groups_of_who_asked(permits: Permits) -> None:
    """One who is neither named nor in the group cannot be approved; who is, can."""
    conditions = [f"requester.name == '{permits.alice}'", "'dba' in requester.groups"]
    template = offered(permits, conditions=conditions)
    carol = permits.requester("carol")
    for asked, code in (
        (permits.asked(template), 200),
        (permits.asked(template, by=carol, groups=("dba",)), 200),
        (permits.asked(template, by=carol, groups=("sre",)), 403),
    ):
        reply = permits.as_(permits.bob).merge_patch(asked, {"status": {"phase": "Approved"}}, subresource="status", dryRun="All")
        assert reply.status == code, reply.message
        assert code == 200 or "none of the approval conditions were met" in reply.message


def test_10_4_09_a_forged_requester_is_overwritten_and_refused(permits: Permits) -> None:
    """Neither name nor groups that the client writes count, at creation or later."""
    conditions = ["requester.name == 'root'", "'dba' in requester.groups"]
    template = offered(permits, auto=True, conditions=conditions)
    forged = {"name": "root", "type": "User", "groups": ["dba"], "uid": "1", "seal": {"key": "x", "signature": "y"}}
    assert "none of the approval conditions were met" in permits.ask(template, requester=forged).expect(403).message
    byhand = permits.template("byhand", impersonation=template["spec"]["impersonation"], approvals={"conditions": conditions})
    permit = permits.asked(byhand, requester=forged)
    requester = permit["spec"]["requester"]
    assert (requester["name"], requester["type"]) == (permits.alice, "User")
    assert "dba" not in requester["groups"]
    assert requester["seal"]["signature"] != "y"
    assert permit["status"]["transitions"][0]["actor"]["name"] == permits.alice
    assert "none of the approval conditions were met" in permits.patch(permit, phase="Approved").expect(403).message
    permits.stage.grant_user(permits.alice, [RULES[0] | {"verbs": ["patch"]}], permits.home)
    alice = permits.as_(permits.alice)
    assert "spec cannot be changed" in alice.merge_patch(permit, {"spec": {"requester": forged}}).expect(403).message


def test_10_4_09_an_account_asks_as_what_it_is(permits: Permits) -> None:
    """A ServiceAccount with the right to make permits is recorded as one, with the groups that the server gives it."""
    template = offered(permits)
    robot = permits.stage.service_account("robot")
    permits.stage.grant_user(robot.user, RULES, permits.home)
    requester = permits.asked(template, by=robot.user)["spec"]["requester"]
    assert (requester["name"], requester["type"]) == (robot.user, "ServiceAccount")
    assert f"system:serviceaccounts:{permits.home}" in requester["groups"]


# 10: who approves.


def test_10_4_10_approver_and_condition_are_both_needed(permits: Permits) -> None:
    """A group approves by any of its members, and only what the conditions allow; whoever else may write the status does not."""
    template = offered(
        permits,
        approvers=[{"kind": "User", "name": "nobody"}, {"kind": "Group", "name": "sre"}],
        conditions=["request.spec.reason.startsWith('INC-')", "'manager' in reviewer.groups"],
    )
    name = template["metadata"]["name"]
    permit = permits.asked(template, reason="because")
    message = permits.patch(permit, groups=("manager",), phase="Approved").expect(403).message
    assert f'subject "{permits.bob}" is not permitted to approve requests for template {name}' in message
    message = permits.patch(permit, groups=("sre",), phase="Approved").expect(403).message
    assert f"approval conditions not satisfied for template {name}: none of the approval conditions were met" in message
    permits.patch(permit, groups=("sre", "manager"), phase="Approved").expect(200)
    permits.reaches(permit, "Active")
    permits.stage.read(target(permits))


def test_10_4_10_an_approver_needs_the_right_to_write_the_status_and_deny_needs_no_more(permits: Permits) -> None:
    """Approvers say who may approve among those whom RBAC lets review; they neither replace RBAC, nor bind a denial."""
    permit = permits.asked(offered(permits, approvers=[{"kind": "Group", "name": "sre"}]))
    outsider = permits.stage.name("outsider")
    message = permits.patch(permit, by=outsider, groups=("sre",), phase="Approved").expect(403).message
    assert "resourcepermits/status" in message
    permits.patch(permit, phase="Approved").expect(403)
    permits.patch(permit, phase="Denied").expect(200)
    assert permits.reaches(permit, "Denied")["status"]["review"]["reviewer"]["name"] == permits.bob


def test_10_4_10_an_account_approves_only_when_it_is_named_as_one(permits: Permits) -> None:
    """Where we differ: an entry of kind User or Group never makes an approver of a ServiceAccount."""
    robot = permits.stage.service_account("robot")
    permits.stage.grant_user(robot.user, REVIEWS, permits.home)
    groups = {"kind": "Group", "name": f"system:serviceaccounts:{permits.home}"}
    template = offered(permits, approvers=[groups, {"kind": "User", "name": robot.user}])
    permit = permits.asked(template)
    assert "is not permitted to approve" in permits.patch(permit, by=robot.user, phase="Approved").expect(403).message
    named = permits.template(
        "named",
        impersonation=template["spec"]["impersonation"],
        approvals={"approvers": [{"kind": "ServiceAccount", "name": robot.user}]},
    )
    permit = permits.asked(named)
    permits.approve(permit, by=robot.user)
    active = permits.reaches(permit, "Active")
    assert ("Approved", "ApprovedByServiceAccount") in steps(active)


def test_10_4_10_where_several_must_approve_nothing_is_given_before_the_last_of_them(permits: Permits) -> None:
    """Where we differ: `required: 2` takes two different reviewers, who approved the same digest."""
    carol = permits.reviewer("carol")
    permit = permits.asked(offered(permits, required=2))
    digest = permit["status"]["request"]["digest"]
    first = permits.approve(permit, review={"message": "one", "digest": digest})
    assert (first["status"]["phase"], first["status"]["review"]["verdict"]) == ("Requested", "Pending")
    assert "has approved already: 2 different reviewers must" in permits.patch(permit, phase="Approved").expect(409).message
    stale = {"digest": "sha256:" + "0" * 64}
    message = permits.patch(permit, by=carol, phase="Approved", review=stale).expect(409).message
    assert "this is not what you have seen" in message
    permits.stage.api.get(target(permits)).expect(404)
    permits.approve(permit, by=carol, review={"message": "two", "digest": digest})
    active = permits.reaches(permit, "Active")
    approvals = [(each["reviewer"]["name"], each["message"]) for each in active["status"]["review"]["approvals"]]
    assert approvals == [(permits.bob, "one"), (carol, "two")]
    assert steps(active)[2:4] == [("Requested", "ApprovalRecorded"), ("Approved", "ApprovedByUser")]


# 11: where.


def test_10_4_11_a_global_template_is_for_the_namespaces_that_it_selects(permits: Permits) -> None:
    """Its status lists them, sorted, also when labels change; elsewhere the permit is refused."""
    stage = permits.stage
    stage.manager(permits=True)
    other = stage.namespace("another", stage=stage.mark)
    account = clerk(permits)
    template = permits.global_template(
        "some",
        namespaceSelectors=[{"matchLabels": {"stage": stage.mark}}, {"matchLabels": {"both": stage.mark}}],
        impersonation={"name": account.name, "namespace": account.namespace},
    )
    assert stage.read(template)["status"]["namespaces"] == [other]
    message = permits.ask(template).expect(403).message
    assert f"template {template['metadata']['name']} is not available in namespace {permits.home}" in message
    home = ref("v1", "Namespace", permits.home)
    stage.api.merge_patch(home, {"metadata": {"labels": {"both": stage.mark}}}).expect(200)
    stage.becomes(template, lambda live: live["status"]["namespaces"] == [other, permits.home])
    permit = permits.asked(template)
    permits.approve(permit)
    permits.reaches(permit, "Active")
    stage.api.merge_patch(home, {"metadata": {"labels": {"both": None}}}).expect(200)
    stage.becomes(template, lambda live: live["status"]["namespaces"] == [other])
    permits.ask(template).expect(403)


@pytest.mark.parametrize("kind", ["ResourcePermitTemplate", "GlobalResourcePermitTemplate"])
def test_10_4_11_a_template_that_is_not_there_is_refused(permits: Permits, kind: str) -> None:
    """The answer names kind and place."""
    message = permits.ask(ref("copyhold.dev/v1alpha1", kind, permits.stage.name("missing"))).expect(422).message
    assert f"spec.template: template {permits.stage.name('missing')} not found: there is no such {kind}" in message


# 12: with what.


def _user(permits: Permits) -> Manifest:
    made = target(permits)
    del made["metadata"]["namespace"]
    data = {"user": "{{ params.user }}", "pods": "{{ params.pods }}", "by": "{{ request.username }}"}
    return {"targets": [made | {"data": data}]}


def test_10_4_12_parameters_are_rendered_with_the_defaults_of_their_schema(permits: Permits) -> None:
    """What was asked for is in the snapshot that is reviewed, and in the target that is given."""
    permits.stage.manager(permits=True)
    account = {"name": clerk(permits).name}
    template = permits.template("params", _user(permits), impersonation=account, paramSchema=SCHEMA)
    permit = permits.asked(template, params={"user": "eve"})
    expected = {"user": "eve", "pods": "2", "by": permits.alice}
    assert permit["status"]["request"]["resources"][0]["targets"][0]["data"] == expected
    permits.approve(permit)
    permits.reaches(permit, "Active")
    assert permits.stage.read(target(permits))["data"] == expected


@pytest.mark.parametrize(
    ("params", "text"),
    [
        pytest.param(None, "params.user: Required value", id="none"),
        pytest.param({"user": "B"}, "params.user in body should match '^[a-z]+$'", id="a wrong value"),
        pytest.param({"user": 7}, "params.user in body must be of type string", id="a wrong type"),
        pytest.param({"user": "eve", "pods": 11}, "only root has so many pods", id="a broken rule"),
        pytest.param({"user": "eve", "role": "admin"}, "params.role: unknown parameter", id="an unknown one"),
    ],
)
def test_10_4_12_wrong_parameters_are_refused_in_the_words_of_the_schema(permits: Permits, params: Any, text: str) -> None:
    """The permit is not made; the message names template and parameter."""
    permits.stage.manager(permits=True)
    template = permits.template("params", _user(permits), paramSchema=SCHEMA)
    asked = {} if params is None else {"params": params}
    message = permits.ask(template, **asked).expect(422).message
    assert f"parameters for template {template['metadata']['name']} are invalid: " in message
    assert text in message


def test_10_4_12_parameters_that_no_schema_describes_are_refused(permits: Permits) -> None:
    """A template without a schema takes none."""
    permits.stage.manager(permits=True)
    template = permits.template("plain", config_map())
    assert "the template takes no parameters: remove spec.params" in permits.ask(template, params={"a": 1}).expect(422).message
