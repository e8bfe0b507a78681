"""What permits promise, the second half: who acts, failures and retries, templates of others, conditions and marks."""

import json
from typing import Any

import pytest

from apis.meta import GROUP, PROTECTED, TARGET_PREFIX
from policy.account import Accounts
from tests.scenario.permits.acts import MAPS, expire, given, said, strip, target, unwritable, wake
from tests.support.api import Manifest, ref
from tests.support.permits import LOCAL, Permits, config_map
from tests.support.policies import refused
from tests.support.stage import VERSION

STATUS: dict[str, Any] = {"apiGroups": [GROUP], "resources": ["resourcepermits/status"], "verbs": ["get", "patch"]}


def account_of(permit: Manifest) -> tuple[str, str]:
    """Namespace and name of the account that acts, as the status records it; the records say the same."""
    account = permit["status"]["request"]["impersonation"]
    assert permit["status"]["serviceAccount"] == account
    return account["namespace"], account["name"]


# 19: who acts.


def test_10_4_19_the_account_of_the_template_acts(permits: Permits) -> None:
    """Named by either kind of template: it is recorded, and what it may not do is not done."""
    stage = permits.stage
    other = stage.namespace("other")
    least = stage.service_account("least", other)
    stage.grant(least, [MAPS], permits.home)
    stage.service_account("beside")
    stage.manager(permits=True)
    everywhere = permits.global_template("named", impersonation={"namespace": other, "name": "least"})
    assert account_of(given(permits, everywhere)) == (other, "least")
    local = permits.template("local", config_map("more"), impersonation={"name": "beside"})
    failed = permits.asked(local, phase="Failed")
    assert account_of(failed) == (permits.home, "beside")
    assert f"system:serviceaccount:{permits.home}:beside" in failed["status"]["failure"]["message"]


def test_10_4_19_a_local_template_that_names_none_acts_as_default_beside_it(permits: Permits) -> None:
    """The account `default` of the permit's namespace, with no more rights than that has."""
    stage = permits.stage
    default = stage.service_account("default")
    stage.grant(default, [MAPS], permits.home)
    stage.manager(permits=True)
    assert account_of(given(permits, permits.template(impersonation=None))) == (permits.home, "default")


def test_10_4_19_a_global_template_that_names_none_acts_as_the_configured_account(permits: Permits) -> None:
    """The default for what is cluster-scoped, as the operator configured it."""
    permits.stage.manager(permits=True)
    template = permits.global_template(impersonation=None)
    assert account_of(given(permits, template)) == (permits.stage.account.namespace, permits.stage.account.name)


def test_10_4_19_the_manager_lends_no_rights_of_its_own(permits: Permits) -> None:
    """Without any account the permit waits, and says what to set: on purpose there is no fallback to the manager."""
    permits.stage.manager(permits=True, accounts=Accounts())
    permit = permits.asked(permits.global_template(impersonation=None), phase="Created")
    live = permits.stage.becomes(permit, lambda live: said(live)[0] == "ImpersonationFailed")
    assert "spec.impersonation" in said(live)[1]
    assert "--default-service-account" in said(live)[1]


# 20 and 21: rights that are missing.


def test_10_4_20_who_asked_tries_again_when_the_account_has_the_rights(permits: Permits) -> None:
    """Preflight without rights fails and names them; once they are granted alice asks for a retry, then it is reviewed."""
    stage = permits.stage
    least = stage.service_account("least")
    stage.grant_user(permits.alice, [STATUS], permits.home)
    stage.manager(permits=True)
    failed = permits.asked(permits.template(impersonation={"name": "least"}), phase="Failed")
    failure = failed["status"]["failure"]
    assert (failure["stage"], failure["reason"], failure["retryPhase"]) == ("Preflight", "ResourceDryRunFailed", "Requested")
    assert "configmaps" in failure["message"]
    assert [row["verb"] for row in failed["status"]["preview"]] == ["Forbidden"]
    stage.grant(least, [MAPS], permits.home)
    permits.patch(failed, by=permits.alice, phase="Retrying", review={"message": "granted"}).expect(200)
    asked = permits.reaches(failed, "Requested")
    assert [row["verb"] for row in asked["status"]["preview"]] == ["Create"]
    assert "failure" not in asked["status"]
    assert [each["reason"] for each in asked["status"]["transitions"][-2:]] == ["RetryPermittedByUser", "RetrySucceeded"]
    permits.approve(asked)
    permits.reaches(asked, "Active")


def test_10_4_21_rights_that_are_revoked_after_the_approval_fail_the_activation(permits: Permits) -> None:
    """Nothing is written then; after the repair a retry needs no second approval."""
    stage = permits.stage
    least = stage.service_account("least")
    stage.grant(least, [MAPS], permits.home)
    manager = stage.manager(permits=True)
    asked = permits.asked(permits.template(impersonation={"name": "least"}))
    manager.stop()
    permits.approve(asked)
    strip(permits, least.user)
    manager.start()
    failed = permits.reaches(asked, "Failed")
    failure = failed["status"]["failure"]
    assert (failure["stage"], failure["reason"], failure["retryPhase"]) == ("Activation", "ResourceApplyFailed", "Approved")
    assert f"ConfigMap {permits.home}/temporary" in failure["message"]
    stage.api.get(target(permits)).expect(404)
    stage.grant(least, [MAPS], permits.home)
    permits.patch(failed, phase="Retrying").expect(200)
    live = permits.reaches(failed, "Active")
    assert [each["type"] for each in live["status"]["transitions"]].count("Requested") == 1
    stage.read(target(permits))


def test_10_4_21_a_target_that_fails_takes_the_others_back(permits: Permits) -> None:
    """Every target or none, on purpose: what was applied before the failure goes, and the retry gives all of them."""
    stage = permits.stage
    stage.manager(permits=True)
    asked = permits.asked(permits.template("two", config_map("one"), config_map("two")))
    with unwritable(permits, target(permits, "two"), "configmaps"):
        permits.approve(asked)
        failed = permits.reaches(asked, "Failed")
        failure = failed["status"]["failure"]
        assert (failure["stage"], failure["reason"]) == ("Activation", "ResourceApplyFailed")
        assert f"ConfigMap {permits.home}/two" in failure["message"]
        stage.gone(target(permits, "one"))
        stage.becomes(asked, lambda live: not live["status"].get("processedItems"))
    permits.patch(failed, phase="Retrying").expect(200)
    permits.reaches(failed, "Active")
    for name in ("one", "two"):
        stage.read(target(permits, name))


# 22: templates of others.


def test_10_4_22_a_local_template_of_another_namespace_cannot_be_named(permits: Permits) -> None:
    """The look-up is by the namespace of the permit, and a reference has no other."""
    stage = permits.stage
    other = stage.namespace("other")
    stage.manager(permits=True)
    body = {"impersonation": {"name": "default"}, "resources": [config_map()]}
    foreign = stage.create(ref(VERSION, LOCAL, stage.name("foreign"), other) | {"spec": body})
    stage.ready(foreign)
    name = foreign["metadata"]["name"]
    message = permits.ask(foreign).expect(422).message
    assert f"there is no such {LOCAL} in namespace {permits.home}" in message
    for reference in ({"name": name, "namespace": other}, {"name": f"{other}/{name}"}):
        permit = ref(VERSION, "ResourcePermit", stage.name("crafty"), permits.home)
        permit["spec"] = {"template": {"kind": LOCAL, **reference}}
        permits.as_(permits.alice).create(permit).expect(422)


# 23: conditions.


@pytest.mark.parametrize("everywhere", [False, True], ids=["local", "global"])
def test_10_4_23_a_condition_keeps_a_target_as_it_is(permits: Permits, everywhere: bool) -> None:
    """What is there is not even written, what is absent is made, and the permit is active; both as the snapshot says it."""
    stage = permits.stage
    theirs = stage.create(target(permits, "theirs") | {"data": {"theirs": "1"}})
    manager = stage.manager(permits=True)
    groups = [config_map(name, permits.home, creation="Merge", condition="object == null") for name in ("theirs", "absent")]
    offer = permits.global_template if everywhere else permits.template
    template = offer("conditional", *groups, keepFor="1h")
    asked = permits.asked(template)
    assert [row["verb"] for row in asked["status"]["preview"]] == ["Skip", "Create"]
    stage.edit(template, resources=[config_map(each["targets"][0]["metadata"]["name"], permits.home) for each in groups])
    permits.approve(asked)
    live = permits.reaches(asked, "Active")
    assert [each["policy"]["condition"] for each in live["status"]["request"]["resources"]] == ["object == null"] * 2
    assert stage.read(target(permits, "absent"))["data"] == {"for": asked["metadata"]["name"]}
    wake(manager)
    manager.idle()
    assert stage.read(theirs)["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]
    expire(permits, asked)
    stage.gone(target(permits, "absent"))
    assert stage.read(theirs)["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]


def test_10_4_23_a_condition_that_cannot_be_evaluated_fails_the_preflight(permits: Permits) -> None:
    """The failure names the target, and nothing of what the object holds."""
    stage = permits.stage
    stage.create(target(permits) | {"data": {"key": "hidden"}})
    stage.manager(permits=True)
    template = permits.template("crashes", config_map(condition="object.data.absent == '1'"))
    failed = permits.asked(template, phase="Failed")
    failure = failed["status"]["failure"]
    assert (failure["stage"], failure["reason"], failure["retryPhase"]) == ("Preflight", "ResourceDryRunFailed", "Requested")
    assert f"ConfigMap {permits.home}/temporary" in failure["message"]
    assert "hidden" not in json.dumps(failed)


# 24: marks.


def test_10_4_24_nobody_sets_the_marks_of_a_permit(permits: Permits) -> None:
    """Neither who may write the object, nor the account, nor an administrator: on a new object, a free one, and what it gave."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = given(permits, permits.template(defaultDuration="1h"))
    uid = permit["metadata"]["uid"]
    stage.grant_user(permits.alice, [MAPS], permits.home)
    free = stage.create(target(permits, "free"))
    held = stage.read(target(permits))
    for user in (permits.as_(permits.alice), stage.api, stage.api.as_user(stage.account.user)):
        forged = target(permits, "forged")
        forged["metadata"] |= marks(uid, "forged")
        refused(user.create(forged), "copyhold-protection")
        refused(user.merge_patch(free, {"metadata": marks(uid, "free")}), "copyhold-protection")
    for user in (permits.as_(permits.alice), stage.api):
        for change in (marks("f00d", "temporary"), {"annotations": None}, {"labels": {PROTECTED: None}}):
            refused(user.merge_patch(held, {"metadata": change}), "copyhold-protection")
        refused(user.merge_patch(held, {"data": {"for": "me"}}), "copyhold-protection")
        refused(user.delete(held), "copyhold-protection")
    assert stage.read(held)["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]


def marks(uid: str, name: str) -> Manifest:
    """The metadata by which a permit would hold a ConfigMap."""
    return {"labels": {PROTECTED: "true"}, "annotations": {f"{TARGET_PREFIX}{uid}": f"ConfigMap./{name}"}}
