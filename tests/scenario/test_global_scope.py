"""Scopes of a GlobalTenantResource: what one rendering is for, and where cluster-scoped kinds and namespaces come from."""

import pytest

from tests.support.api import Api, Manifest, ref
from tests.support.marks import hold_of, manager_of, owns
from tests.support.policies import refused
from tests.support.stage import RBAC, Stage, config_map, group

READS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def role(name: str, rules: list[Manifest] | None = None) -> Manifest:
    """A ClusterRole: the cluster-scoped target of these tests."""
    return ref(f"{RBAC}/v1", "ClusterRole", name) | {"rules": READS if rules is None else rules}


def selector(stage: Stage) -> Manifest:
    """Select the tenants of this test."""
    return {"matchLabels": {"of": stage.mark}}


def test_a_cluster_scoped_target_is_applied_and_removed(stage: Stage) -> None:
    """10.1.1: a cluster-scoped manifest is applied once, recorded as such, and removed with the parent."""
    stage.manager()
    target = role(stage.name("viewer"))
    parent = stage.global_resource("cluster", group(target), scope="None")
    stage.ready(parent)
    live = stage.read(target)
    assert live["rules"] == READS
    assert hold_of(live, parent) == "created"
    assert owns(live, manager_of(parent), "rules")
    item = stage.items(parent)[f"ClusterRole /{target['metadata']['name']}"]
    assert item["uid"] == live["metadata"]["uid"]
    assert item["status"]["clusterScoped"] is True
    assert "namespace" not in item
    assert "unit" not in item
    stage.delete(parent)
    assert stage.api.get(target).status == 404


def test_a_template_may_render_cluster_scoped_objects(stage: Stage) -> None:
    """10.1.2: what a template renders for a tenant may be cluster-scoped, and goes with the tenant."""
    solar, wind = stage.tenant("solar", of=stage.mark), stage.tenant("wind", of=stage.mark)
    stage.manager()
    text = (
        f"apiVersion: {RBAC}/v1\nkind: ClusterRole\nmetadata: {{name: 'of-{{{{ tenant.metadata.name }}}}'}}\n"
        "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
    )
    parent = stage.global_resource("made", group(template=text), scope="Tenant", tenantSelector=selector(stage))
    stage.ready(parent)
    for tenant in (solar, wind):
        assert stage.read(role(f"of-{tenant}"))["rules"] == READS
        assert stage.items(parent)[f"ClusterRole /of-{tenant}"]["tenant"] == tenant
    stage.api.delete(ref("copyhold.dev/v1alpha1", "Tenant", wind)).expect(200)
    stage.gone(role(f"of-{wind}"))
    assert stage.read(role(f"of-{solar}"))


def test_only_the_account_of_the_parent_may_update_a_cluster_scoped_target(stage: Stage) -> None:
    """10.1.3: users with every right and the administrator are refused by admission; the account that acts is not."""
    stage.manager()
    target = role(stage.name("viewer"))
    parent = stage.global_resource("held", group(target), scope="None")
    stage.ready(parent)
    stage.grant_user("alice", [{"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["*"]}])
    change = {"metadata": {"labels": {"touched": "yes"}}}
    before = stage.read(target)
    for user in (stage.api.as_user("alice"), stage.api):
        for reply in (user.merge_patch(target, change), user.delete(target)):
            assert f"ClusterRole {target['metadata']['name']} is held by" in refused(reply, "copyhold-protection")
    assert stage.read(target) == before
    account: Api = stage.api.as_user(stage.account.user)
    account.merge_patch(target, change).expect(200)
    assert stage.read(target)["metadata"]["labels"]["touched"] == "yes"


def test_scope_namespace_renders_once_per_namespace(stage: Stage) -> None:
    """10.1.6: in scope Namespace both `tenant` and `namespace` are there, and the unit of an item is the namespace."""
    tenant = stage.tenant("solar", of=stage.mark)
    first, second = stage.namespace("a", tenant), stage.namespace("b", tenant)
    stage.manager()
    target = config_map("x", {"is": "{{ tenant.metadata.name }}/{{ namespace.metadata.name }}"})
    parent = stage.global_resource("spaces", group(target), scope="Namespace", tenantSelector=selector(stage))
    stage.ready(parent)
    assert {item["unit"]: item["tenant"] for item in stage.items(parent).values()} == {first: tenant, second: tenant}
    for namespace in (first, second):
        assert stage.read(config_map("x", namespace=namespace))["data"] == {"is": f"{tenant}/{namespace}"}


def test_scope_tenant_renders_once_per_tenant(stage: Stage) -> None:
    """10.1.6: in scope Tenant the manifest names its own namespace, and `namespace` is not there."""
    solar, wind = stage.tenant("solar", of=stage.mark), stage.tenant("wind", of=stage.mark)
    stage.namespace("a", solar)
    stage.namespace("b", solar)
    place = stage.namespace("place")
    stage.manager()
    target = config_map("of-{{ tenant.metadata.name }}", {"seen": "{{ namespace is defined }}"}, place)
    parent = stage.global_resource("tenants", group(target), scope="Tenant", tenantSelector=selector(stage))
    stage.ready(parent)
    assert {key: item["unit"] for key, item in stage.items(parent).items()} == {
        f"ConfigMap {place}/of-{solar}": solar,
        f"ConfigMap {place}/of-{wind}": wind,
    }
    assert stage.read(config_map(f"of-{solar}", namespace=place))["data"] == {"seen": "false"}


def test_scope_none_renders_once(stage: Stage) -> None:
    """10.1.6: in scope None there is neither tenant nor namespace, and the one rendering has no unit."""
    place = stage.namespace("place")
    stage.manager()
    target = config_map("once", {"seen": "{{ tenant is defined or namespace is defined }}"}, place)
    parent = stage.global_resource("once", group(target), scope="None")
    stage.ready(parent)
    assert list(stage.items(parent)) == [f"ConfigMap {place}/once"]
    assert stage.read(config_map("once", namespace=place))["data"] == {"seen": "false"}
    assert stage.read(parent)["status"].get("selectedTenants", []) == []


def test_scope_all_namespaces_reaches_namespaces_with_and_without_tenant(stage: Stage) -> None:
    """In scope AllNamespaces `tenant` is there where the namespace has one; joining and leaving is seen at once."""
    tenant = stage.tenant("solar")
    owned, free = stage.namespace("owned", tenant, of=stage.mark), stage.namespace("free", of=stage.mark)
    stage.namespace("other")
    stage.manager()
    target = config_map("x", {"tenant": "{{ tenant.metadata.name if tenant is defined else 'none' }}"})
    parent = stage.global_resource("all", group(target, namespaceSelector=selector(stage)), scope="AllNamespaces")
    stage.ready(parent)
    assert {key: item.get("tenant", "") for key, item in stage.items(parent).items()} == {
        f"ConfigMap {owned}/x": tenant,
        f"ConfigMap {free}/x": "",
    }
    assert stage.read(config_map("x", namespace=free))["data"] == {"tenant": "none"}
    assert stage.read(config_map("x", namespace=owned))["data"] == {"tenant": tenant}
    later = stage.namespace("later", of=stage.mark)
    stage.there(config_map("x", namespace=later))
    stage.api.merge_patch(ref("v1", "Namespace", free), {"metadata": {"labels": {"of": None}}}).expect(200)
    stage.gone(config_map("x", namespace=free))
    stage.api.merge_patch(ref("v1", "Namespace", later), {"metadata": {"labels": {"copyhold.dev/tenant": tenant}}}).expect(200)
    stage.becomes(config_map("x", namespace=later), lambda live: live["data"] == {"tenant": tenant})


@pytest.mark.parametrize("scope", ["Tenant", "None"])
def test_without_a_namespace_of_its_own_a_target_is_invalid_where_the_scope_implies_none(stage: Stage, scope: str) -> None:
    """10.1.6: scopes Tenant and None need metadata.namespace for namespaced kinds; its lack is the author's mistake."""
    stage.tenant("solar", of=stage.mark)
    stage.manager()
    tenants = selector(stage) if scope == "Tenant" else None
    parent = stage.global_resource("bare", group(config_map("x")), scope=scope, tenantSelector=tenants)
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "Invalid")
    assert f"metadata.namespace is missing: scope {scope} does not imply one" in stalled["message"]


def test_a_target_of_a_changed_scope_moves(stage: Stage) -> None:
    """10.1.6: what the old scope rendered goes, what the new one renders comes; an object that both render stays."""
    tenant = stage.tenant("solar", of=stage.mark)
    namespace, second = stage.namespace("a", tenant), stage.namespace("b", tenant)
    stage.manager()
    parent = stage.global_resource("moves", group(config_map("x")), tenantSelector=selector(stage))
    stage.ready(parent)
    kept = stage.read(config_map("x", namespace=namespace))["metadata"]["uid"]
    stage.edit(parent, scope="None", tenantSelector=None, resources=[group(config_map("x", {}, namespace))])
    stage.gone(config_map("x", namespace=second))
    stage.ready(parent)
    assert list(stage.items(parent)) == [f"ConfigMap {namespace}/x"]
    assert stage.read(config_map("x", namespace=namespace))["metadata"]["uid"] == kept
