"""The manifests of our policies, and what the server makes of them."""

from collections.abc import Callable

import pytest

from manager.admission.keep import manifests, policies
from manager.admission.policies import BINDING, LABELS, NOT_SYSTEM, POLICY, Policy, Rule, Validation
from tests.support.api import Api, Manifest
from tests.support.policies import MANAGER_NAMESPACE

WANTED = manifests(manager_namespace=MANAGER_NAMESPACE)
POLICIES = [manifest for manifest in WANTED if manifest["kind"] == POLICY]


def _names(kept: list[Manifest]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in kept]


def test_every_policy_has_a_binding_that_denies() -> None:
    """A policy without a binding is not asked, and one that only warns holds nobody."""
    bindings = [manifest for manifest in WANTED if manifest["kind"] == BINDING]
    assert _names(bindings) == _names(POLICIES)
    for binding in bindings:
        assert binding["spec"]["policyName"] == binding["metadata"]["name"]
        assert binding["spec"]["validationActions"] == ["Deny"]


@pytest.mark.parametrize("manifest", WANTED, ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_our_objects_are_found_by_name_and_label(manifest: Manifest) -> None:
    """Whoever lists policies sees whose they are, and an uninstall finds them all."""
    assert manifest["metadata"]["name"].startswith("copyhold-")
    assert manifest["metadata"]["labels"] == LABELS


@pytest.mark.parametrize("policy", POLICIES, ids=lambda one: one["metadata"]["name"])
def test_a_policy_fails_closed_and_answers_403(policy: Manifest) -> None:
    """An error of an expression refuses the request, and a refusal is no 422."""
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert {validation["reason"] for validation in policy["spec"]["validations"]} == {"Forbidden"}


def test_few_policies_have_parameters() -> None:
    """A policy whose parameters have no kind refuses everything it sees, so there are no more of them than needed."""
    found = [policy.name for policy in policies(manager_namespace="x") if policy.params]
    assert found == ["copyhold-tenants", "copyhold-permit-accounts", "copyhold-template-accounts"]


@pytest.mark.parametrize("manifest", WANTED, ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_the_server_stores_what_we_send(api: Api, crds: object, manifest: Manifest) -> None:
    """Defaults are spelled out: the stored spec equals ours, or a restart would write."""
    answer = api.apply(manifest, force=True, manager="test", dryRun="All").expect(200, 201)
    assert answer.body["spec"] == manifest["spec"]


def test_the_server_finds_no_fault_in_an_expression(
    api: Api, policies: tuple[Manifest, ...], unique: Callable[[str], str], temporary: Callable[[Manifest], Manifest]
) -> None:
    """Expressions compile when a policy is written: one that does not is refused, so those that are there do."""
    broken = Policy(unique("broken"), (Rule(("",), ("configmaps",), ("CREATE",)),), (Validation("nothing", "x", "'x'"),))
    answer = api.create(broken.manifests()[0]).expect(422)
    assert "undeclared reference to 'nothing'" in answer.message
    stored = api.list("admissionregistration.k8s.io/v1", POLICY, labelSelector="app.kubernetes.io/managed-by=copyhold").body
    assert set(_names(stored["items"])) >= set(_names(POLICIES))


def test_parts_that_a_policy_lacks_are_left_out() -> None:
    """The server stores no empty lists, so neither do we send any."""
    policy, binding = Policy("x", (Rule(("",), ("pods",), ("CREATE",)),), (Validation("true", "no", "'no'"),)).manifests()
    assert set(policy["spec"]) == {"failurePolicy", "matchConstraints", "validations"}
    assert policy["spec"]["matchConstraints"]["objectSelector"] == {}
    assert set(binding["spec"]) == {"policyName", "validationActions"}


def test_the_system_condition_is_shared() -> None:
    """Controllers pass where they would otherwise be held up, by one rule."""
    users = {policy.name for policy in policies(manager_namespace="x") if NOT_SYSTEM in policy.conditions.values()}
    assert users == {"copyhold-protection", "copyhold-records", "copyhold-permit-accounts", "copyhold-template-accounts"}
