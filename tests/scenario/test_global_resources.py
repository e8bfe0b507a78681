"""A GlobalTenantResource gives each namespace of the selected tenants its objects, follows every change, and takes them back.

The acceptance list 10.1 (specs: capsule) is kept by this file and by `test_global_scope.py` (scopes and cluster-scoped kinds),
`test_accounts.py` (who acts), `test_shared_targets.py` (foreign and shared objects) and `test_sources.py` (copies and context).
"""

from tests.support.api import Manifest, eventually
from tests.support.marks import hold_of, holders, manager_of, marks
from tests.support.stage import Stage, config_map, group


def plan(stage: Stage) -> Manifest:
    """Select the tenants of this test that have the plan `gold`."""
    return {"matchLabels": {"plan": "gold", "of": stage.mark}}


def gold(stage: Stage, word: str) -> str:
    """A tenant that `plan` selects."""
    return stage.tenant(word, plan="gold", of=stage.mark)


def test_every_namespace_of_every_selected_tenant_gets_the_objects(stage: Stage) -> None:
    """10.1.16: fan-out over all namespaces of the selected tenants and over no others, each rendered for itself."""
    solar, wind = gold(stage, "solar"), gold(stage, "wind")
    other = stage.tenant("oil", plan="iron", of=stage.mark)
    selected = {stage.namespace("sa", solar): solar, stage.namespace("sb", solar): solar, stage.namespace("wa", wind): wind}
    left_out = [stage.namespace("oa", other), stage.namespace("free")]
    stage.manager()
    target = config_map("x", {"namespace": "{{ namespace.metadata.name }}", "tenant": "{{ tenant.metadata.name }}"})
    parent = stage.global_resource("fan", group(target), tenantSelector=plan(stage))
    stage.ready(parent)
    for namespace, tenant in selected.items():
        live = stage.read(config_map("x", namespace=namespace))
        assert live["data"] == {"namespace": namespace, "tenant": tenant}
        assert hold_of(live, parent) == "created"
        assert holders(live) == {manager_of(parent)}
    for namespace in left_out:
        assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    assert set(stage.items(parent)) == {f"ConfigMap {namespace}/x" for namespace in selected}
    assert stage.read(parent)["status"]["selectedTenants"] == sorted([solar, wind])


def test_a_namespace_selector_narrows_one_group_and_no_other(stage: Stage) -> None:
    """10.1.16: with namespaceSelector only matching namespaces get the objects of that group."""
    solar = gold(stage, "solar")
    dev, prod = stage.namespace("dev", solar, stage="dev"), stage.namespace("prod", solar, stage="prod")
    stage.manager()
    parent = stage.global_resource(
        "narrow",
        group(config_map("dev-only"), namespaceSelector={"matchLabels": {"stage": "dev"}}),
        group(config_map("everywhere")),
        tenantSelector=plan(stage),
    )
    stage.ready(parent)
    assert set(stage.items(parent)) == {
        f"ConfigMap {dev}/dev-only",
        f"ConfigMap {dev}/everywhere",
        f"ConfigMap {prod}/everywhere",
    }
    assert stage.api.get(config_map("dev-only", namespace=prod)).status == 404


def test_a_tenant_that_stops_matching_loses_its_objects_and_the_others_keep_theirs(stage: Stage) -> None:
    """10.1.13: a label change of a tenant takes its objects back; those of other tenants are not touched."""
    solar, wind = gold(stage, "solar"), gold(stage, "wind")
    leaving, staying = stage.namespace("sa", solar), stage.namespace("wa", wind)
    manager = stage.manager()
    parent = stage.global_resource("drift", group(config_map("x")), tenantSelector=plan(stage))
    stage.ready(parent)
    before = stage.read(config_map("x", namespace=staying))
    stage.api.merge_patch(_tenant(solar), {"metadata": {"labels": {"plan": "iron"}}}).expect(200)
    stage.gone(config_map("x", namespace=leaving))
    eventually(lambda: set(stage.items(parent)) == {f"ConfigMap {staying}/x"})
    manager.idle()
    assert stage.read(config_map("x", namespace=staying)) == before
    assert stage.ready(parent)["reason"] == "Succeeded"
    assert stage.read(parent)["status"]["selectedTenants"] == [wind]


def test_a_tenant_that_starts_to_match_gets_the_objects(stage: Stage) -> None:
    """A label change of a tenant gives it the objects without waiting for a resync."""
    solar = stage.tenant("solar", plan="iron", of=stage.mark)
    namespace = stage.namespace("sa", solar)
    stage.manager()
    parent = stage.global_resource("joins", group(config_map("x")), tenantSelector=plan(stage), resyncPeriod="0s")
    stage.ready(parent)
    assert stage.items(parent) == {}
    stage.api.merge_patch(_tenant(solar), {"metadata": {"labels": {"plan": "gold"}}}).expect(200)
    assert hold_of(stage.there(config_map("x", namespace=namespace)), parent) == "created"


def test_a_label_of_a_tenant_that_a_template_reads_renders_anew(stage: Stage) -> None:
    """A label change that selects nobody else still reaches what was rendered from it."""
    solar = gold(stage, "solar")
    namespace = stage.namespace("sa", solar)
    stage.manager()
    target = config_map("x", {"tier": "{{ tenant.metadata.labels.tier | default('none') }}"})
    parent = stage.global_resource("reads", group(target), tenantSelector=plan(stage), resyncPeriod="0s")
    stage.ready(parent)
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"tier": "none"}
    stage.api.merge_patch(_tenant(solar), {"metadata": {"labels": {"tier": "one"}}}).expect(200)
    stage.becomes(config_map("x", namespace=namespace), lambda live: live["data"] == {"tier": "one"})


def test_a_namespace_that_stops_matching_loses_its_objects(stage: Stage) -> None:
    """10.1.14: a label change of a namespace takes back what the group's selector no longer reaches, and only that."""
    solar = gold(stage, "solar")
    leaving, staying = stage.namespace("sa", solar, stage="dev"), stage.namespace("sb", solar, stage="dev")
    stage.manager()
    parent = stage.global_resource(
        "leaves",
        group(config_map("dev-only"), namespaceSelector={"matchLabels": {"stage": "dev"}}),
        group(config_map("everywhere")),
        tenantSelector=plan(stage),
    )
    stage.ready(parent)
    kept = stage.read(config_map("everywhere", namespace=leaving))
    stage.api.merge_patch(_namespace(leaving), {"metadata": {"labels": {"stage": "prod"}}}).expect(200)
    stage.gone(config_map("dev-only", namespace=leaving))
    assert stage.read(config_map("everywhere", namespace=leaving)) == kept
    assert stage.read(config_map("dev-only", namespace=staying))
    stage.ready(parent)


def test_a_namespace_that_leaves_its_tenant_loses_its_objects(stage: Stage) -> None:
    """10.1.14: without the tenant's label a namespace is no part of the scope, and its objects go."""
    solar = gold(stage, "solar")
    namespace = stage.namespace("sa", solar)
    stage.manager()
    parent = stage.global_resource("leaves", group(config_map("x")), tenantSelector=plan(stage))
    stage.ready(parent)
    stage.api.merge_patch(_namespace(namespace), {"metadata": {"labels": {"copyhold.dev/tenant": None}}}).expect(200)
    stage.gone(config_map("x", namespace=namespace))
    eventually(lambda: stage.items(parent) == {})


def test_a_namespace_that_is_made_later_gets_its_objects_at_once(stage: Stage) -> None:
    """10.1.22: a namespace created after the parent is served by its event: there is no resync to wait for."""
    solar = gold(stage, "solar")
    first = stage.namespace("sa", solar)
    manager = stage.manager()
    parent = stage.global_resource("fast", group(config_map("x")), tenantSelector=plan(stage), resyncPeriod="0s")
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    later = stage.namespace("later", solar)
    stage.there(config_map("x", namespace=later), timeout=5)
    eventually(lambda: set(stage.items(parent)) == {f"ConfigMap {first}/x", f"ConfigMap {later}/x"})
    manager.idle()
    written = [sent.path for sent in manager.writes_since(mark) if "configmaps" in sent.path]
    assert len(written) == 1
    assert f"/namespaces/{later}/" in written[0]


def test_a_terminating_namespace_is_left_alone_and_its_item_goes(stage: Stage) -> None:
    """10.1.4: nothing is written into a namespace that is going away, its item leaves the status, and the parent is fine."""
    solar = gold(stage, "solar")
    going, staying = stage.namespace("going", solar), stage.namespace("staying", solar)
    manager = stage.manager()
    parent = stage.global_resource("ends", group(config_map("x", {"a": "old"})), tenantSelector=plan(stage))
    stage.ready(parent)
    pinned = stage.api.create(config_map("pin", namespace=going, finalizers=["tests.invalid/pin"])).expect(201).body
    mark = len(manager.sent)
    stage.api.delete(_namespace(going)).expect(200)
    stage.gone(config_map("x", namespace=going), timeout=30)
    eventually(lambda: set(stage.items(parent)) == {f"ConfigMap {staying}/x"})
    stage.edit(parent, resources=[group(config_map("x", {"a": "new"}))])
    stage.becomes(config_map("x", namespace=staying), lambda live: live["data"] == {"a": "new"})
    assert stage.ready(parent)["reason"] == "Succeeded"
    assert [sent for sent in manager.writes_since(mark) if f"/namespaces/{going}/" in sent.path] == []
    stage.api.merge_patch(pinned, {"metadata": {"finalizers": None}}).expect(200)
    stage.gone(_namespace(going), timeout=40)
    assert set(stage.items(parent)) == {f"ConfigMap {staying}/x"}
    stage.ready(parent)


def test_an_edit_of_the_spec_reaches_every_selected_namespace(stage: Stage) -> None:
    """10.1.17: changed content is applied everywhere, to the same objects, and a field that is left out goes."""
    solar = gold(stage, "solar")
    namespaces = [stage.namespace(word, solar) for word in ("sa", "sb", "sc")]
    stage.manager()
    parent = stage.global_resource("edit", group(config_map("x", {"a": "1", "b": "1"})), tenantSelector=plan(stage))
    stage.ready(parent)
    uids = {namespace: stage.read(config_map("x", namespace=namespace))["metadata"]["uid"] for namespace in namespaces}
    stage.edit(parent, resources=[group(config_map("x", {"a": "2", "c": "1"}))])
    for namespace in namespaces:
        live = stage.becomes(config_map("x", namespace=namespace), lambda live: live["data"] == {"a": "2", "c": "1"})
        assert live["metadata"]["uid"] == uids[namespace]
    stage.ready(parent)


def test_a_target_that_is_no_longer_rendered_is_removed(stage: Stage) -> None:
    """10.1.18: what leaves the spec leaves the cluster; reordering the rest changes nothing."""
    namespace = stage.namespace("sa", gold(stage, "solar"))
    manager = stage.manager()
    first, second, third = (group(config_map(name, {"a": "1"})) for name in ("one", "two", "three"))
    parent = stage.global_resource("shrink", first, second, third, tenantSelector=plan(stage))
    stage.ready(parent)
    kept = {name: stage.read(config_map(name, namespace=namespace)) for name in ("one", "three")}
    mark = len(manager.sent)
    stage.edit(parent, resources=[third, first])
    stage.gone(config_map("two", namespace=namespace))
    eventually(lambda: set(stage.items(parent)) == {f"ConfigMap {namespace}/one", f"ConfigMap {namespace}/three"})
    manager.idle()
    assert {name: stage.read(config_map(name, namespace=namespace)) for name in kept} == kept
    writes = [sent.method for sent in manager.writes_since(mark) if "configmaps" in sent.path]
    assert writes == ["DELETE"]


def test_deleting_the_parent_removes_what_it_created(stage: Stage) -> None:
    """10.1.18: deletion Remove (pruningOnDelete true) takes the objects along with the parent."""
    namespace = stage.namespace("sa", gold(stage, "solar"))
    stage.manager()
    parent = stage.global_resource("remove", group(config_map("x")), tenantSelector=plan(stage))
    stage.ready(parent)
    assert stage.read(parent)["metadata"]["finalizers"] == ["copyhold.dev/cleanup"]
    stage.delete(parent)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_deleting_the_parent_leaves_orphans_without_a_mark(stage: Stage) -> None:
    """10.1.18: deletion Orphan (pruningOnDelete false) keeps object and content, and no mark of ours stays on it."""
    namespace = stage.namespace("sa", gold(stage, "solar"))
    stage.manager()
    target = config_map("x", {"a": "1"}, labels={"app": "x"})
    parent = stage.global_resource("orphan", group(target, policy={"deletion": "Orphan"}), tenantSelector=plan(stage))
    stage.ready(parent)
    before = stage.read(config_map("x", namespace=namespace))
    stage.delete(parent)
    left = stage.read(config_map("x", namespace=namespace))
    assert left["metadata"]["uid"] == before["metadata"]["uid"]
    assert left["data"] == {"a": "1"}
    assert left["metadata"]["labels"] == {"app": "x"}
    assert marks(left) == set()
    assert holders(left) == set()


def test_a_target_that_names_a_foreign_namespace_is_invalid(stage: Stage) -> None:
    """10.1.19: unlike the model, which silently replaces it, a foreign metadata.namespace is Invalid and names both; nothing
    lands in the foreign namespace, and the namespace's other targets are applied.
    """
    namespace, foreign = stage.namespace("sa", gold(stage, "solar")), stage.namespace("foreign")
    stage.manager()
    parent = stage.global_resource(
        "wrong", group(config_map("x", namespace=foreign), config_map("fine")), tenantSelector=plan(stage)
    )
    ready = stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (ready["reason"], stalled["status"], stalled["reason"]) == ("Failed", "True", "ForeignNamespace")
    for text in (ready["message"], stalled["message"]):
        assert f"metadata.namespace is {foreign}" in text
        assert f"namespace {namespace}" in text
    assert "resources[0] targets[0]" in stalled["message"]
    assert stage.api.get(config_map("x", namespace=foreign)).status == 404
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    stage.there(config_map("fine", namespace=namespace))
    stage.edit(parent, resources=[group(config_map("x", namespace="{{ namespace.metadata.name }}"))])
    stage.ready(parent)
    stage.there(config_map("x", namespace=namespace))


def test_a_target_and_a_template_of_one_object_are_merged(stage: Stage) -> None:
    """10.1.20: two sources that render one object with different fields give one object, applied once."""
    namespace = stage.namespace("sa", gold(stage, "solar"))
    stage.manager()
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {b: {{ namespace.metadata.name }}}\n"
    parent = stage.global_resource("merge", group(config_map("x", {"a": "1"}), template=text), tenantSelector=plan(stage))
    stage.ready(parent)
    live = stage.read(config_map("x", namespace=namespace))
    assert live["data"] == {"a": "1", "b": namespace}
    assert holders(live) == {manager_of(parent)}
    assert list(stage.items(parent)) == [f"ConfigMap {namespace}/x"]


def test_two_sources_that_disagree_are_an_error_that_names_both(stage: Stage) -> None:
    """10.1.20: where the fields overlap with different values nothing is applied, and the author learns of both places."""
    namespace = stage.namespace("sa", gold(stage, "solar"))
    stage.manager()
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '2'}\n"
    parent = stage.global_resource("clash", group(config_map("x", {"a": "1"}), template=text), tenantSelector=plan(stage))
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "DuplicateTarget")
    assert "resources[0] targets[0]" in stalled["message"]
    assert "resources[0] template[0]" in stalled["message"]
    assert "data.a" in stalled["message"]
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def _tenant(name: str) -> Manifest:
    return {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": name}}


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
