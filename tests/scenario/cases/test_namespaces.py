"""Group D of the cases that went wrong for others: namespaces that come, go and change hands."""

import asyncio
from time import monotonic
from typing import Any

import pytest

from manager.controller import Controller
from tests.scenario.cases.passes import item, target_writes
from tests.support.api import Manifest, eventually, ref
from tests.support.stage import Stage, config_map, group


def _over(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    """A parent over the namespaces of this test's tenants. It never resyncs: only events drive it."""
    selector = {"matchLabels": {"plan": stage.mark}}
    return stage.global_resource(word, *groups, tenantSelector=selector, resyncPeriod="0s", **spec)


def _copy(namespace: str, value: str = "1") -> Manifest:
    return config_map("copy", {"a": value}, namespace)


def test_case_031_nothing_is_made_in_a_namespace_that_is_going(stage: Stage) -> None:
    """Case 31: while a slow finalizer holds the namespace its targets go one by one, and none of them is put back."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("slow", tenant)
    holder = stage.api.create(config_map("holder", {}, place, finalizers=["tests/slow"])).expect(201).body
    manager = stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    stage.ready(parent)
    stage.there(_copy(place))
    manager.idle()
    mark = len(manager.sent)
    stage.api.delete(ref("v1", "Namespace", place), propagation="Foreground").expect(200)
    stage.gone(_copy(place))
    stage.edit(parent, resources=[group(_copy("", "2"))])
    stage.ready(parent)
    manager.idle()
    assert target_writes(manager.sent[mark:]) == []
    stage.api.merge_patch(holder, {"metadata": {"finalizers": None}}).expect(200)
    stage.gone(ref("v1", "Namespace", place))
    eventually(lambda: stage.items(parent) == {})
    assert stage.ready(parent)["message"] == "reconciled 0 targets"
    assert target_writes(manager.sent[mark:]) == []


def test_case_032_a_namespace_that_left_its_tenant_is_cleaned_and_never_held(stage: Stage) -> None:
    """Case 32: no finalizer and no other write of ours is ever on a namespace, so that it can go at any time."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("leaver", tenant)
    manager = stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    stage.ready(parent)
    stage.there(_copy(place))
    namespace = ref("v1", "Namespace", place)
    stage.api.merge_patch(namespace, {"metadata": {"labels": {"copyhold.dev/tenant": None}}}).expect(200)
    stage.gone(_copy(place))
    live = stage.read(namespace)
    assert live["metadata"].get("finalizers") is None
    assert live["spec"]["finalizers"] == ["kubernetes"]
    stage.delete(namespace)
    stage.ready(parent)
    assert [one for one in manager.sent if one.writes and one.path.endswith(f"/namespaces/{place}")] == []


def test_case_034_a_namespace_that_came_after_the_parent_gets_later_updates_too(stage: Stage) -> None:
    """Case 34: the targets are what the selection gives at each look, not at the first."""
    tenant = stage.tenant(plan=stage.mark)
    early = stage.namespace("early", tenant)
    stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    stage.ready(parent)
    late = stage.namespace("late", tenant)
    stage.there(_copy(late))
    stage.edit(parent, resources=[group(_copy("", "2"))])
    for place in (early, late):
        stage.becomes(_copy(place), lambda live: bool(live["data"] == {"a": "2"}))
    assert stage.ready(parent)["message"] == "reconciled 2 targets"


def test_case_035_a_new_namespace_has_its_copy_at_once(stage: Stage) -> None:
    """Case 35: without any resync, the watch on namespaces alone brings the copy within a second or so (a busy machine: five)."""
    tenant = stage.tenant(plan=stage.mark)
    stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    stage.ready(parent)
    started = monotonic()
    late = stage.namespace("late", tenant)
    stage.there(_copy(late))
    assert monotonic() - started < 5


def test_case_037_the_last_namespace_recovers_when_its_blocker_goes(stage: Stage) -> None:
    """Case 37: the foreign object is waited for by name, and its deletion is the event."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(word, tenant) for word in ("a", "b", "c")]
    blocker = stage.create(_copy(places[1], "theirs"))
    stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    condition = stage.ready(parent, "False")
    assert condition["message"].startswith("applying of 1 resources failed")
    assert item(stage, parent, f"ConfigMap {places[1]}/copy")["reason"] == "Foreign"
    for place in (places[0], places[2]):
        assert stage.read(_copy(place))["data"] == {"a": "1"}
    assert stage.read(blocker)["data"] == {"a": "theirs"}
    stage.api.delete(blocker).expect(200)
    stage.ready(parent)
    assert stage.read(_copy(places[1]))["data"] == {"a": "1"}


@pytest.mark.slow
def test_case_038_many_namespaces_that_are_deleted_at_once_leave_no_work_behind(stage: Stage) -> None:
    """Case 38: 100 namespaces (500 in the case; two processors need minutes to unmake those) go, and the queue drains."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(f"n{number}", tenant) for number in range(100)]
    manager = stage.manager()
    parent = _over(stage, "copies", group(_copy("")))
    eventually(lambda: stage.ready(parent, timeout=60)["message"] == "reconciled 100 targets", timeout=60)
    manager.idle()
    tasks = manager.call(_tasks)
    mark = len(manager.sent)
    for place in places:
        stage.api.delete(ref("v1", "Namespace", place)).expect(200)

    def empty() -> bool:
        return bool(stage.ready(parent, timeout=1)["message"] == "reconciled 0 targets")

    eventually(empty, timeout=240)
    manager.idle()
    assert manager.call(_length) == 0
    assert manager.call(_tasks) <= tasks + 2
    # Nothing is written where everything goes anyway; what is read is bounded by what went.
    assert target_writes(manager.sent[mark:]) == []
    assert len([one for one in manager.sent[mark:] if one.method == "GET"]) <= 3 * len(places)
    assert stage.items(parent) == {}


async def _tasks(_: Controller) -> int:
    return len(asyncio.all_tasks())


async def _length(controller: Controller) -> int:
    return len(controller.queue)
