"""A TenantResource gives each namespace of its own tenant its objects: the tenant of the namespace that it lives in.

The acceptance list 10.2 (specs: capsule) is kept by this file and by `test_tenant_accounts.py` (who acts, who may write),
`test_tenant_sources.py` (copies and context) and `test_shared_targets.py` (10.2.8, 9, 12, 18). Row 13, objects that bear the
label of an older implementation, has no test: there is no older implementation of ours, and marks of another product prove
nothing here.
"""

import pytest

from tests.support.api import Manifest, eventually, ref
from tests.support.marks import hold_of, holders, manager_of, marks
from tests.support.stage import RBAC, Stage, config_map, group


def place(stage: Stage, *words: str) -> list[str]:
    """Namespaces of one tenant, the `default` account of the first of which may do everything."""
    tenant = stage.tenant("solar")
    namespaces = [stage.namespace(word, tenant) for word in words]
    stage.grant(stage.service_account("default", namespaces[0]), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    return namespaces


def test_the_tenant_is_that_of_its_namespace(stage: Stage) -> None:
    """10.2.4: all namespaces of the tenant are reached, its own too, and no namespace of another tenant."""
    home, second = place(stage, "own", "second")
    other = stage.namespace("other", stage.tenant("wind"))
    stage.manager()
    parent = stage.tenant_resource("fan", home, group(config_map("x")))
    stage.ready(parent)
    assert set(stage.items(parent)) == {f"ConfigMap {home}/x", f"ConfigMap {second}/x"}
    assert stage.api.get(config_map("x", namespace=other)).status == 404
    later = stage.namespace("later", stage.name("solar"))
    assert hold_of(stage.there(config_map("x", namespace=later)), parent) == "created"


def test_templates_see_tenant_namespace_and_parent(stage: Stage) -> None:
    """10.2.4: a template reads labels of the namespace and owners of the tenant, for each namespace anew."""
    tenant = stage.tenant("solar", plan="gold")
    home, dev = stage.namespace("own", tenant, stage="ops"), stage.namespace("dev", tenant, stage="dev")
    stage.grant(stage.service_account("default", home), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    stage.manager()
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
        "  stage: {{ namespace.metadata.labels.stage }}\n"
        "  plan: {{ tenant.metadata.labels.plan }}\n"
        "  owner: {{ tenant.spec.owners[0].name }}\n"
        "  parent: {{ parent.metadata.namespace }}/{{ parent.metadata.name }}\n"
    )
    parent = stage.tenant_resource("sees", home, group(template=text))
    stage.ready(parent)
    for namespace, word in ((home, "ops"), (dev, "dev")):
        assert stage.read(config_map("x", namespace=namespace))["data"] == {
            "stage": word,
            "plan": "gold",
            "owner": "alice",
            "parent": f"{home}/{stage.name('sees')}",
        }
    stage.api.merge_patch(ref("v1", "Namespace", dev), {"metadata": {"labels": {"stage": "prod"}}}).expect(200)
    stage.becomes(config_map("x", namespace=dev), lambda live: live["data"]["stage"] == "prod")


def test_without_a_tenant_there_is_nothing_to_do_until_there_is_one(stage: Stage) -> None:
    """10.2.4: in a namespace of no tenant the parent says NoTenant, and a label is enough to go on."""
    home = stage.namespace("own")
    tenant = stage.tenant("solar")
    stage.grant(stage.service_account("default", home), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    stage.manager()
    parent = stage.tenant_resource("waits", home, group(config_map("x")))
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "NoTenant"
    assert f"namespace {home} belongs to no Tenant" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "False"
    stage.api.merge_patch(ref("v1", "Namespace", home), {"metadata": {"labels": {"copyhold.dev/tenant": tenant}}}).expect(200)
    stage.ready(parent)
    stage.there(config_map("x", namespace=home))


@pytest.mark.parametrize("source", ["targets", "template"])
def test_a_cluster_scoped_target_is_refused(stage: Stage, source: str) -> None:
    """10.2.1: a cluster-scoped kind, from a target or a template, is refused with the "cluster-scoped kind" text."""
    (home,) = place(stage, "own")
    stage.manager()
    target = ref(f"{RBAC}/v1", "ClusterRole", stage.name("role")) | {"rules": []}
    text = f"apiVersion: {RBAC}/v1\nkind: ClusterRole\nmetadata: {{name: {stage.name('role')}}}\nrules: []\n"
    wrong = group(target) if source == "targets" else group(template=text)
    parent = stage.tenant_resource("wide", home, wrong, group(config_map("fine")))
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ClusterScopedKind")
    assert f"cluster-scoped kind {RBAC}/v1/ClusterRole is not allowed" in stalled["message"]
    assert f"resources[0] {source}[0]" in stalled["message"]
    assert stage.api.get(target).status == 404
    stage.there(config_map("fine", namespace=home))


def test_a_cluster_scoped_kind_cannot_be_copied(stage: Stage) -> None:
    """10.2.1: the same for a reference in namespacedItems."""
    (home,) = place(stage, "own")
    stage.manager()
    parent = stage.tenant_resource("wide", home, group(namespacedItems=[{"apiVersion": "v1", "kind": "Namespace", "name": home}]))
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ClusterScopedKind")
    assert "spec.resources[0].namespacedItems[0]: cluster-scoped kind v1/Namespace is not allowed" in stalled["message"]


def test_a_terminating_namespace_is_skipped_and_its_item_goes(stage: Stage) -> None:
    """10.2.2: a namespace of the tenant that is going away gets nothing, and leaves the status without an error."""
    home, going = place(stage, "own", "going")
    manager = stage.manager()
    pinned = stage.api.create(config_map("pin", namespace=going, finalizers=["tests.invalid/pin"])).expect(201).body
    stage.api.delete(ref("v1", "Namespace", going)).expect(200)
    parent = stage.tenant_resource("skips", home, group(config_map("x")))
    stage.ready(parent)
    manager.idle()
    assert set(stage.items(parent)) == {f"ConfigMap {home}/x"}
    assert [sent for sent in manager.sent if f"/namespaces/{going}/" in sent.path] == []
    stage.api.merge_patch(pinned, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize("source", ["targets", "template"])
def test_a_target_in_a_foreign_namespace_is_invalid(stage: Stage, source: str) -> None:
    """10.2.5: unlike the model, which places it in the iterated namespace, a foreign metadata.namespace is Invalid, naming both;
    the foreign namespace stays empty.
    """
    (home,) = place(stage, "own")
    foreign = stage.namespace("foreign", stage.tenant("wind"))
    stage.manager()
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: {foreign}}}\n"
    wrong = group(config_map("x", namespace=foreign)) if source == "targets" else group(template=text)
    parent = stage.tenant_resource("wrong", home, wrong)
    ready = stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (ready["reason"], stalled["status"], stalled["reason"]) == ("Failed", "True", "ForeignNamespace")
    for text in (ready["message"], stalled["message"]):
        assert f"metadata.namespace is {foreign}, but the target is rendered for namespace {home}" in text
    for namespace in (foreign, home):
        assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_a_target_in_a_foreign_namespace_that_was_right_before_is_not_removed(stage: Stage) -> None:
    """10.2.5: what cannot be rendered any more is kept as it is: not rendered is not the same as not wanted."""
    (home,) = place(stage, "own")
    stage.manager()
    parent = stage.tenant_resource("keeps", home, group(config_map("x"), config_map("y")))
    stage.ready(parent)
    before = {name: stage.read(config_map(name, namespace=home)) for name in ("x", "y")}
    stage.edit(parent, resources=[group(config_map("x", namespace="elsewhere"))])
    stage.ready(parent, "False")
    assert {name: stage.read(config_map(name, namespace=home)) for name in ("x", "y")} == before
    stage.edit(parent, resources=[group(config_map("x"))])
    stage.ready(parent)
    stage.gone(config_map("y", namespace=home))


def test_create_update_and_prune(stage: Stage) -> None:
    """10.2.11: the life of targets: made, changed in place, and taken back one by one and all together."""
    home, second = place(stage, "own", "second")
    stage.manager()
    parent = stage.tenant_resource("cycle", home, group(config_map("x", {"a": "1"}), config_map("y", {"a": "1"})))
    stage.ready(parent)
    uid = stage.read(config_map("x", namespace=second))["metadata"]["uid"]
    stage.edit(parent, resources=[group(config_map("x", {"a": "2"}))])
    for namespace in (home, second):
        stage.gone(config_map("y", namespace=namespace))
        stage.becomes(config_map("x", namespace=namespace), lambda live: live["data"] == {"a": "2"})
    stage.ready(parent)
    assert stage.read(config_map("x", namespace=second))["metadata"]["uid"] == uid
    assert stage.read(parent)["status"]["size"] == 2
    stage.delete(parent)
    for namespace in (home, second):
        assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_a_target_and_a_template_of_one_object_merge_their_keys(stage: Stage) -> None:
    """10.2.11 and 10.2.19: keys that do not conflict come together in one object; what one source drops goes, the rest stays."""
    (home,) = place(stage, "own")
    stage.manager()
    target = config_map("x", {"a": "1"})
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {from: template}}\ndata: {b: '2'}\n"
    parent = stage.tenant_resource("merge", home, group(target), group(template=text))
    stage.ready(parent)
    live = stage.read(config_map("x", namespace=home))
    assert live["data"] == {"a": "1", "b": "2"}
    assert live["metadata"]["labels"]["from"] == "template"
    assert holders(live) == {manager_of(parent)}
    assert list(stage.items(parent)) == [f"ConfigMap {home}/x"]
    stage.edit(parent, resources=[group(target)])
    left = stage.becomes(config_map("x", namespace=home), lambda live: live["data"] == {"a": "1"})
    assert left["metadata"]["uid"] == live["metadata"]["uid"]
    assert "from" not in left["metadata"]["labels"]


def test_an_orphan_stays_when_its_parent_goes(stage: Stage) -> None:
    """10.2.17: with deletion Orphan (pruningOnDelete false) the objects stay and `managed` disappears, with every other mark."""
    (home,) = place(stage, "own")
    stage.manager()
    policy = {"deletion": "Orphan"}
    parent = stage.tenant_resource("orphans", home, group(config_map("x", {"a": "1"}), config_map("y"), policy=policy))
    stage.ready(parent)
    live = stage.read(config_map("x", namespace=home))
    assert live["metadata"]["labels"]["copyhold.dev/managed"] == "true"
    stage.edit(parent, resources=[group(config_map("x", {"a": "1"}), policy=policy)])
    eventually(lambda: set(stage.items(parent)) == {f"ConfigMap {home}/x"})
    assert marks(stage.read(config_map("y", namespace=home))) == set()
    stage.delete(parent)
    left = stage.read(config_map("x", namespace=home))
    assert (left["metadata"]["uid"], left["data"]) == (live["metadata"]["uid"], {"a": "1"})
    assert marks(left) == set()
    assert holders(left) == set()
    again = stage.tenant_resource("again", home, group(config_map("x", {"a": "1"})))
    assert "Foreign" in stage.ready(again, "False")["message"]


def test_two_tenants_do_not_see_each_other(stage: Stage) -> None:
    """10.2.4: parents of the same name in two tenants hold two sets of objects; the end of one leaves the other."""
    (home,) = place(stage, "own")
    other = stage.namespace("other", stage.tenant("wind"))
    stage.grant(stage.service_account("default", other), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    stage.manager()
    parents: dict[str, Manifest] = {
        namespace: stage.tenant_resource("same", namespace, group(config_map("x"))) for namespace in (home, other)
    }
    for namespace, parent in parents.items():
        stage.ready(parent)
        assert list(stage.items(parent)) == [f"ConfigMap {namespace}/x"]
    stage.delete(parents[home])
    assert hold_of(stage.read(config_map("x", namespace=other)), parents[other]) == "created"
