"""What a parent shows: its status field by field, what wakes it, and what is told as Events."""

import re

from tests.support.api import Manifest, eventually
from tests.support.running import Told
from tests.support.stage import Stage, config_map, group

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def every(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource over the tenants of this test."""
    return stage.global_resource(word, *groups, tenantSelector={"matchLabels": {"of": stage.mark}}, **spec)


def test_the_status_holds_account_tenants_size_and_one_item_per_target(stage: Stage) -> None:
    """The whole status of a parent that is Ready: nothing is missing and nothing else is there."""
    solar, wind = stage.tenant("solar", of=stage.mark), stage.tenant("wind", of=stage.mark)
    namespace = stage.namespace("space", solar)
    stage.manager()
    policy = {"creation": "Merge", "protect": False, "force": True, "deletion": "Orphan", "condition": "object == null"}
    parent = every(stage, "shown", group(config_map("x", {"a": "1"}), policy=policy))
    stage.ready(parent)
    live, status = stage.read(config_map("x", namespace=namespace)), stage.read(parent)["status"]
    (item,) = status.pop("processedItems")
    conditions = {condition["type"]: condition for condition in status.pop("conditions")}
    assert status == {
        "observedGeneration": 1,
        "selectedTenants": [solar, wind],
        "serviceAccount": {"name": "runner", "namespace": stage.home},
        "size": 1,
    }
    assert re.fullmatch("[0-9a-f]{16}", item.pop("payload"))
    assert re.fullmatch("[0-9a-f]{16}", item.pop("fields"))
    assert TIME.fullmatch(item["status"].pop("lastApply"))
    assert item == {
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": namespace,
        "name": "x",
        "tenant": solar,
        "unit": namespace,
        "uid": live["metadata"]["uid"],
        "resource": "configmaps",
        "status": {
            "type": "Ready",
            "status": "True",
            "reason": "Succeeded",
            "created": True,
            "account": f"{stage.home}/runner",
            "policy": {"creation": "Merge", "protect": False, "force": True, "deletion": "Orphan"},
        },
    }
    told = {word: (condition["status"], condition["reason"]) for word, condition in conditions.items()}
    assert told == {
        "Ready": ("True", "Succeeded"),
        "Reconciling": ("False", "Succeeded"),
        "Stalled": ("False", "Succeeded"),
        "Cordoned": ("False", "Active"),
    }
    assert conditions["Ready"]["message"] == "reconciled 1 targets"
    assert all(condition["observedGeneration"] == 1 for condition in conditions.values())
    assert all(TIME.fullmatch(condition["lastTransitionTime"]) for condition in conditions.values())


def test_items_are_in_order_and_counted(stage: Stage) -> None:
    """Two looks at one state give one status: items are sorted by identity, and `size` counts them."""
    tenant = stage.tenant("solar", of=stage.mark)
    namespaces = sorted(stage.namespace(word, tenant) for word in ("b", "a", "c"))
    stage.manager()
    parent = every(stage, "sorted", group(config_map("two"), config_map("one")))
    stage.ready(parent)
    assert list(stage.items(parent)) == [f"ConfigMap {namespace}/{name}" for namespace in namespaces for name in ("one", "two")]
    assert stage.read(parent)["status"]["size"] == 6


def test_a_scope_without_any_namespace_is_ready_with_nothing(stage: Stage) -> None:
    """A selector that matches nobody is no error."""
    stage.manager()
    parent = every(stage, "empty", group(config_map("x")))
    assert stage.ready(parent)["message"] == "reconciled 0 targets"
    status = stage.read(parent)["status"]
    assert (status["size"], status["processedItems"], status.get("selectedTenants", [])) == (0, [], [])
    assert "finalizers" not in stage.read(parent)["metadata"]
    stage.delete(parent)


def test_a_condition_keeps_its_time_while_its_status_is_the_same(stage: Stage) -> None:
    """An edit that succeeds again changes generation and not the transition of conditions that did not flip."""
    stage.namespace("space", stage.tenant("solar", of=stage.mark))
    manager = stage.manager()
    parent = every(stage, "steady", group(config_map("x", {"a": "1"})))
    stage.ready(parent)
    stalled = dict(stage.condition(parent, "Stalled"))
    manager.clock.forward(hours=1)
    stage.edit(parent, resources=[group(config_map("x", {"a": "2"}))])
    stage.ready(parent)
    later = stage.condition(parent, "Stalled")
    assert later["observedGeneration"] == stalled["observedGeneration"] + 1
    assert later["lastTransitionTime"] == stalled["lastTransitionTime"]


def test_a_parent_that_is_ready_writes_nothing(stage: Stage) -> None:
    """Idle is silent: no write and no read, and a restart over unchanged targets writes nothing either."""
    tenant = stage.tenant("solar", of=stage.mark)
    for word in ("a", "b", "c"):
        stage.namespace(word, tenant)
    manager = stage.manager()
    parent = every(stage, "idle", group(config_map("x"), config_map("y")))
    stage.ready(parent)
    manager.idle()
    before = stage.read(parent)
    mark = len(manager.sent)
    manager.restart()
    manager.idle()
    assert manager.writes_since(mark) == []
    assert stage.read(parent) == before


def test_an_edit_of_an_annotation_starts_a_pass(stage: Stage) -> None:
    """Whoever wants a look now edits an annotation of the parent; our own status writes start none."""
    stage.namespace("space", stage.tenant("solar", of=stage.mark))
    stage.create(config_map("facts", {"a": "1"}, stage.home))
    manager = stage.manager()
    context = {"resources": [CONFIG | {"index": "facts", "namespace": stage.home, "name": "facts"}]}
    target = config_map("x", {"a": "{{ context.facts[0].data.a }}"})
    parent = every(stage, "looks", group(target, context=context), resyncPeriod="0s")

    def looks() -> int:
        path = f"/api/v1/namespaces/{stage.home}/configmaps/facts"
        return sum(sent.method == "GET" and sent.path == path for sent in manager.sent)

    def settled() -> int:
        manager.idle()
        return looks()

    stage.ready(parent)
    # One more look follows when the watch on the source is there.
    eventually(lambda: settled() == settled() and looks() >= 2)
    before = settled()
    stage.api.merge_patch(parent, {"metadata": {"annotations": {"tests.invalid/look": "now"}}}).expect(200)
    eventually(lambda: looks() == before + 1)
    assert settled() == before + 1


def test_the_resync_compares_and_writes_nothing(stage: Stage) -> None:
    """resyncPeriod is a safety net: everything is looked at again after it, and what is right is not written."""
    stage.namespace("space", stage.tenant("solar", of=stage.mark))
    stage.create(config_map("facts", {"a": "1"}, stage.home))
    manager = stage.manager()
    context = {"resources": [CONFIG | {"index": "facts", "namespace": stage.home, "name": "facts"}]}
    parent = every(stage, "again", group(config_map("x"), context=context), resyncPeriod="1s")
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)

    def looks() -> int:
        return sum(sent.method == "GET" and sent.path.endswith("/configmaps/facts") for sent in manager.sent[mark:])

    eventually(lambda: looks() >= 3)
    assert manager.writes_since(mark) == []


def test_a_change_of_state_is_told_once(stage: Stage) -> None:
    """Events: becoming Ready and failing are told with reason and message; looking again tells nothing."""
    namespace = stage.namespace("space", stage.tenant("solar", of=stage.mark))
    stage.create(config_map("taken", {"a": "theirs"}, namespace))
    manager = stage.manager()
    parent = every(stage, "told", group(config_map("x")))
    stage.ready(parent)
    name = f"GlobalTenantResource {stage.name('told')}"
    eventually(lambda: manager.told == [Told(name, "Normal", "Succeeded", "reconciled 1 targets")])
    stage.api.merge_patch(parent, {"metadata": {"annotations": {"tests.invalid/look": "now"}}}).expect(200)
    manager.idle()
    stage.edit(parent, resources=[group(config_map("x"), config_map("taken"))])
    ready = stage.ready(parent, "False")
    eventually(lambda: len(manager.told) == 2)
    assert manager.told[1] == Told(name, "Warning", "Failed", ready["message"])
    assert f"ConfigMap {namespace}/taken: Foreign" in ready["message"]
    stage.edit(parent, resources=[group(config_map("x"))])
    stage.ready(parent)
    eventually(lambda: len(manager.told) == 3)
    assert manager.told[2].type == "Normal"


def test_a_tenant_shows_its_namespaces(stage: Stage) -> None:
    """A Tenant's own status lists its namespaces, and follows them."""
    stage.manager()
    tenant = stage.tenant("solar")
    one, two = stage.namespace("one", tenant), stage.namespace("two", tenant)
    parent = {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": tenant}}
    stage.becomes(parent, lambda live: (live.get("status") or {}).get("namespaces") == [one, two])
    assert stage.condition(parent)["message"] == "2 namespaces"
    stage.api.merge_patch(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": two}},
        {"metadata": {"labels": {"copyhold.dev/tenant": None}}},
    ).expect(200)
    stage.becomes(parent, lambda live: live["status"]["namespaces"] == [one] and live["status"]["size"] == 1)
