"""Group C of the cases that went wrong for others: kinds that come and go."""

from tests.scenario.cases.passes import held_by, item, target_writes, writes_of_another_look
from tests.scenario.cases.widgets import definition, install, version, watchable, widget
from tests.support.api import eventually
from tests.support.stage import Stage, config_map, group


def test_case_025_a_kind_that_is_installed_later_is_applied_without_a_restart(stage: Stage) -> None:
    """Case 25: the miss is not cached; the definition wakes who waits for it, and the rest never waited."""
    manager = stage.manager()
    wanted, beside = widget(stage, "w", {"a": "1"}, stage.home), config_map("beside", {"a": "1"}, stage.home)
    parent = stage.global_resource("early", group(wanted), group(beside), scope="None", resyncPeriod="0s")
    condition = stage.ready(parent, "False")
    assert "KindUnknown" in condition["message"] or "the server has no such kind" in condition["message"]
    assert stage.there(beside)["data"] == {"a": "1"}
    install(stage, definition(stage, version()))
    stage.ready(parent)
    assert held_by(parent, stage.read(wanted)) == "created"
    assert writes_of_another_look(stage, manager, parent) == []


def test_case_025_a_target_of_a_kind_that_the_manager_may_not_watch_is_repaired_at_the_resync(stage: Stage) -> None:
    """Case 25, without the right to watch: what was applied is read again, as the account, once a period."""
    install(stage, definition(stage, version()))
    stage.manager()
    wanted = widget(stage, "w", {"a": "1"}, stage.home)
    parent = stage.global_resource(
        "polled", group(wanted, policy={"protect": False, "force": True}), scope="None", resyncPeriod="1s"
    )
    stage.ready(parent)
    stage.there(wanted)
    stage.api.merge_patch(wanted, {"spec": {"a": "theirs"}}).expect(200)
    stage.becomes(wanted, lambda live: bool(live["spec"] == {"a": "1"}))
    stage.api.delete(wanted).expect(200)
    stage.there(wanted)


def test_case_025_a_parent_says_that_the_manager_may_not_watch_what_it_wrote(stage: Stage) -> None:
    """Case 25, without the right to watch: Ready, and a condition that names the kind and the remedy."""
    install(stage, definition(stage, version()))
    manager = stage.manager()
    parent = stage.global_resource("unseen", group(widget(stage, "w", {"a": "1"}, stage.home)), scope="None", resyncPeriod="0s")
    stage.ready(parent)
    condition = eventually(lambda: stage.condition(parent, "WatchForbidden"))
    assert condition["status"] == "True"
    assert "widgets" in condition["message"]
    assert "rbac.copyhold.dev/aggregate-to-watch" in condition["message"]
    stage.ready(parent)
    assert writes_of_another_look(stage, manager, parent) == []


def test_case_026_a_parent_goes_although_the_kind_of_its_targets_is_gone(stage: Stage) -> None:
    """Case 26: a manager that starts after the definition went finds that the kind, and so every object of it, is gone."""
    kind = install(stage, definition(stage, version()))
    watchable(stage)
    manager = stage.manager()
    wanted, beside = widget(stage, "w", {"a": "1"}, stage.home), config_map("beside", {"a": "1"}, stage.home)
    parent = stage.global_resource("bereft", group(wanted), group(beside), scope="None")
    stage.ready(parent)
    manager.stop()
    stage.delete(kind)
    manager.start()
    stage.api.delete(parent).expect(200)
    stage.gone(parent)
    stage.gone(beside)


def test_case_026_a_kind_that_goes_and_comes_back_is_applied_again(stage: Stage) -> None:
    """Case 26, while the parent lives: the loss is said, nothing is pruned on its account, and the return is noticed."""
    kind = install(stage, definition(stage, version()))
    watchable(stage)
    stage.manager()
    wanted, beside = widget(stage, "w", {"a": "1"}, stage.home), config_map("beside", {"a": "1"}, stage.home)
    parent = stage.global_resource("bereft", group(wanted), group(beside), scope="None", resyncPeriod="0s")
    stage.ready(parent)
    before = stage.there(beside)
    stage.delete(kind)
    eventually(lambda: item(stage, parent, f"Widget {stage.home}/w")["reason"] == "KindUnknown", timeout=40)
    assert stage.condition(parent)["status"] == "False"
    install(stage, definition(stage, version()))
    stage.ready(parent, timeout=40)
    assert held_by(parent, stage.read(wanted)) == "created"
    assert stage.read(beside)["metadata"]["uid"] == before["metadata"]["uid"]


def test_case_028_a_namespace_that_is_stuck_terminating_is_left_alone_and_reported(stage: Stage) -> None:
    """Case 28: whatever holds it (here a finalizer; broken discovery would hold every namespace), we add nothing to it."""
    tenant = stage.tenant(plan=stage.mark)
    stuck, fine = stage.namespace("stuck", tenant), stage.namespace("fine", tenant)
    holder = stage.api.create(config_map("holder", {}, stuck, finalizers=["tests/slow"])).expect(201).body
    manager = stage.manager()
    parent = stage.global_resource(
        "both", group(config_map("both", {"a": "1"})), tenantSelector={"matchLabels": {"plan": stage.mark}}
    )
    stage.ready(parent)
    stage.there(config_map("both", namespace=stuck))
    manager.idle()
    mark = len(manager.sent)
    stage.api.request("DELETE", f"/api/v1/namespaces/{stuck}").expect(200)
    stage.gone(config_map("both", namespace=stuck))
    stage.edit(parent, resources=[group(config_map("both", {"a": "2"}))])
    stage.becomes(config_map("both", namespace=fine), lambda live: bool(live["data"] == {"a": "2"}))
    stage.ready(parent)
    manager.idle()
    assert {one.path.split("/")[4] for one in target_writes(manager.sent[mark:])} == {fine}
    stage.api.merge_patch(holder, {"metadata": {"finalizers": None}}).expect(200)
    eventually(lambda: stage.api.request("GET", f"/api/v1/namespaces/{stuck}").status == 404)
    eventually(lambda: list(stage.items(parent)) == [f"ConfigMap {fine}/both"])


def test_case_029_a_manager_starts_although_a_kind_is_absent(stage: Stage) -> None:
    """Case 29: one parent's unknown kind holds neither the start nor any other parent, nor what else it wants."""
    missing, beside = widget(stage, "w", {"a": "1"}, stage.home), config_map("beside", {"a": "1"}, stage.home)
    parent = stage.global_resource("partial", group(missing, name="extra"), group(beside), scope="None")
    other = stage.global_resource("other", group(config_map("other", {"a": "1"}, stage.home)), scope="None")
    stage.manager()
    stage.ready(other)
    stage.ready(parent, "False")
    assert stage.there(beside)["data"] == {"a": "1"}
    status = item(stage, parent, "Widget " + f"{stage.home}/w")
    assert status["reason"] == "KindUnknown"
    assert "install its CustomResourceDefinition or correct the name" in status["message"]
