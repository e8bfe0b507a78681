"""How temporary access of other systems failed in public, as tests: whose rights are used (numbers are those of the cases)."""

import json
from pathlib import Path
from typing import Any

import pytest

from apis.meta import PARENT_EXTRA
from tests.scenario.permits.acts import MAPS, given, stuck, target, token_of
from tests.support.api import Manifest, eventually, ref
from tests.support.permits import Permits, config_map
from tests.support.process import failed_start
from tests.support.stage import GROUP, RBAC

TEXT: Manifest = {"type": "object", "properties": {"text": {"type": "string"}}}


# 98: what is others'.


@pytest.mark.parametrize("field", ["context", "parameter", "group context", "target"])
def test_case_098_a_local_template_reads_and_writes_nothing_elsewhere(permits: Permits, field: str) -> None:
    """The account could read another's Secret: a namespace in any field that names one is refused all the same."""
    stage = permits.stage
    other = stage.namespace("other")
    stage.create(ref("v1", "Secret", "theirs", other) | {"stringData": {"password": "hidden-wax"}})
    stage.manager(permits=True)
    query = {"index": "it", "apiVersion": "v1", "kind": "Secret", "name": "theirs", "namespace": other}
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"}, "data": "{{ context.it[0].data }}"}
    group: Manifest = {"targets": [copy]}
    spec: dict[str, Any] = {"paramSchema": TEXT}
    reason = "TemplateContextFailed"
    if field == "context":
        spec["context"] = {"resources": [query]}
    elif field == "parameter":
        spec["context"] = {"resources": [query | {"namespace": "{{ params.text }}"}]}
    elif field == "group context":
        group["context"] = {"resources": [query]}
    else:
        group, reason = config_map("crafty", "{{ params.text }}"), "TemplateRenderingFailed"
    permit = permits.ask(permits.template("reads", group, **spec), params={"text": other}).expect(201).body
    message = stuck(permits, permit, reason)
    assert f"its own namespace {permits.home} only" in message
    assert "hidden-wax" not in json.dumps(stage.read(permit))
    stage.api.get(ref("v1", "ConfigMap", "crafty", other)).expect(404)


def test_case_098_a_global_template_reads_what_its_account_may(permits: Permits) -> None:
    """Nobody's rights are lent with it: the read is the account's, and refused as the account's."""
    stage = permits.stage
    other = stage.namespace("other")
    stage.create(ref("v1", "Secret", "theirs", other) | {"stringData": {"password": "hidden-wax"}})
    least = stage.service_account("least")
    stage.grant(least, [MAPS], permits.home)
    stage.manager(permits=True)
    query = {"index": "it", "apiVersion": "v1", "kind": "Secret", "name": "theirs", "namespace": "{{ params.text }}"}
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"}, "data": "{{ context.it[0].data }}"}
    account = {"namespace": permits.home, "name": "least"}
    template = permits.global_template(
        "reads", {"targets": [copy]}, context={"resources": [query]}, paramSchema=TEXT, impersonation=account
    )
    permit = permits.ask(template, params={"text": other}).expect(201).body
    assert least.user in stuck(permits, permit, "TemplateContextFailed")


# 100 and 106: twins.


def test_case_100_accounts_of_the_same_name_are_two(permits: Permits) -> None:
    """The one here may, the one there may not: who acts is known by namespace and name, for each permit anew."""
    stage = permits.stage
    other = stage.namespace("other")
    here, there = stage.service_account("twin"), stage.service_account("twin", other)
    stage.grant(here, [MAPS], permits.home)
    stage.manager(permits=True)
    may = permits.global_template("may", impersonation={"namespace": here.namespace, "name": "twin"})
    may_not = permits.global_template("maynot", config_map("more"), impersonation={"namespace": there.namespace, "name": "twin"})
    failed = permits.ask(may_not).expect(201).body
    given(permits, may)
    failure = permits.reaches(failed, "Failed")["status"]["failure"]
    assert there.user in failure["message"]
    stage.api.get(target(permits, "more")).expect(404)


def test_case_100_a_local_template_acts_as_the_account_beside_it(permits: Permits) -> None:
    """A namespace next to the name of the account is no field of such a template: it means the account here, or is refused."""
    stage = permits.stage
    other = stage.namespace("other")
    stage.service_account("twin")
    there = stage.service_account("twin", other)
    stage.grant(there, [MAPS], permits.home)
    stage.manager(permits=True)
    template = permits.template("crafty", impersonation={"name": "twin", "namespace": other})
    failed = permits.asked(template, phase="Failed")
    assert failed["status"]["request"]["impersonation"] == {"name": "twin", "namespace": permits.home}
    stage.api.get(target(permits)).expect(404)


def test_case_100_an_approving_account_is_not_its_twin(permits: Permits) -> None:
    """An approver is named with its namespace; the same name elsewhere approves nothing."""
    stage = permits.stage
    other = stage.namespace("other")
    here, there = stage.service_account("twin"), stage.service_account("twin", other)
    rules = [{"apiGroups": [GROUP], "resources": ["resourcepermits/status"], "verbs": ["patch"]}]
    for account in (here, there):
        stage.grant(account, rules, permits.home)
    stage.manager(permits=True)
    template = permits.template(approvals={"approvers": [{"kind": "ServiceAccount", "name": there.user}]})
    asked = permits.asked(template)
    message = permits.patch(asked, by=here.user, phase="Approved").expect(403).message
    assert f'subject "{here.user}" is not permitted to approve' in message
    permits.approve(asked, by=there.user)


@pytest.mark.parametrize(("named", "has"), [("admin", "/tenant/admin"), ("/tenant/admin", "admin"), ("admin", "Admin")])
def test_case_106_a_group_is_its_whole_name(permits: Permits, named: str, has: str) -> None:
    """The last part of a path is another group, and so is another case of letters."""
    permits.stage.manager(permits=True)
    template = permits.template(approvals={"approvers": [{"kind": "Group", "name": named}]})
    asked = permits.asked(template)
    message = permits.patch(asked, groups=(has,), phase="Approved").expect(403).message
    assert "is not permitted to approve" in message
    permits.patch(asked, groups=(has, named), phase="Approved").expect(200)


# 104: rights that nobody has.


def test_case_104_an_account_without_escalate_gives_no_rights_that_it_lacks(permits: Permits) -> None:
    """The API server refuses the role, the permit fails before anybody reviews it, and the message says what is lacking."""
    stage = permits.stage
    least = stage.service_account("least")
    stage.grant(least, [MAPS], permits.home)
    writes: dict[str, Any] = {
        "apiGroups": [RBAC],
        "resources": ["roles", "rolebindings"],
        "verbs": ["get", "create", "patch", "delete"],
    }
    stage.grant(least, [writes], permits.home)
    stage.manager(permits=True)
    account = {"name": "least"}
    failed = permits.asked(permits.template("much", rights("secrets"), impersonation=account), phase="Failed")
    failure = failed["status"]["failure"]
    assert failure["stage"] == "Preflight"
    assert "attempting to grant RBAC permissions not currently held" in failure["message"]
    assert {row["verb"] for row in failed["status"]["preview"]} >= {"Forbidden"}
    stage.api.get(ref(f"{RBAC}/v1", "Role", "given", permits.home)).expect(404)
    given(permits, permits.template("little", rights("configmaps"), impersonation=account))
    eventually(lambda: permits.as_(permits.alice).get(target(permits)).status == 404)  # she may look, and nothing is there


def rights(plural: str) -> Manifest:
    """A group that lets who asks get something."""
    rules = [{"apiGroups": [""], "resources": [plural], "verbs": ["get"]}]
    role: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "given"}, "rules": rules}
    bound: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "given"}}
    bound |= {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "given"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "{{ request.username }}"}],
    }
    return {"targets": [role, bound]}


# 107: rights that are given where they do nothing.


def test_case_107_a_manager_that_may_act_for_nobody_says_so_and_ends(permits: Permits, tmp_path: Path) -> None:
    """A RoleBinding with the right to impersonate is accepted and gives nothing: the start names the right and the remedy."""
    stage = permits.stage
    weak = stage.service_account("weak")
    rules = stage.read(ref(f"{RBAC}/v1", "ClusterRole", "copyhold-manager"))["rules"]
    bound = [rule for rule in rules if "impersonate" in rule["verbs"]]
    assert {plural for rule in bound for plural in rule["resources"]} == {"serviceaccounts", f"userextras/{PARENT_EXTRA}"}
    stage.grant(weak, bound, permits.home)
    kubeconfig = stage.access.kubeconfig(tmp_path / "weak", token=token_of(permits, "weak"))
    code, lines = failed_start(kubeconfig)
    assert code == 1
    ended = json.loads(lines[-1])
    assert (ended["level"], ended["reason"]) == ("error", "Forbidden")
    assert f"impersonate on userextras/{PARENT_EXTRA}" in ended["message"]
    assert "by a ClusterRoleBinding" in ended["message"]
