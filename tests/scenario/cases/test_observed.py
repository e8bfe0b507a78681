"""Group J of the cases that went wrong for others: seen on the nearest relative of this software."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.scenario.cases.passes import (
    OPEN,
    appointments,
    held_by,
    item,
    managed,
    target_writes,
    writes_of_another_look,
)
from tests.support.api import Event, Manifest, eventually
from tests.support.running import Sent
from tests.support.stage import Stage, config_map, group

MEGABYTE = 1_000_000


def _many(count: int, namespace: str = "") -> str:
    """A template of many ConfigMaps."""
    place = f", namespace: {namespace}" if namespace else ""
    head = f"{{% for n in range({count}) %}}\n---\napiVersion: v1\nkind: ConfigMap\n"
    return head + f"metadata: {{name: many-{{{{ n }}}}{place}}}\ndata: {{a: '1'}}\n{{% endfor %}}"


def _count(stage: Stage, namespace: str) -> int:
    """The ConfigMaps in a namespace but for its root certificate. (A server counts only where nothing selects.)"""
    listing = stage.api.list("v1", "ConfigMap", namespace, limit=1).expect(200).body
    certificate = stage.api.get(config_map("kube-root-ca.crt", namespace=namespace)).status == 200
    return len(listing["items"]) + int(listing["metadata"].get("remainingItemCount") or 0) - certificate


def _applies(sent: list[Sent]) -> list[Sent]:
    return [one for one in target_writes(sent) if one.method == "PATCH"]


@pytest.mark.slow
def test_case_112_a_parent_that_is_deleted_during_its_first_pass_leaves_nothing_behind(stage: Stage) -> None:
    """Case 112: the finalizer and the records stood before the first of 900 targets, so that every one is taken back."""
    manager = stage.manager()
    parent = stage.global_resource("brief", group(template=_many(900, stage.home)), scope="None")

    def some() -> bool:
        return _count(stage, stage.home) >= 200

    eventually(some, timeout=60)
    stage.api.delete(parent).expect(200)
    stage.gone(parent, timeout=60)
    mark = len(manager.sent)
    assert _count(stage, stage.home) == 0
    manager.idle()
    # The answer to the finalizer's own removal may be counted after the parent was seen to be gone; a target may not.
    assert [sent for sent in manager.writes_since(mark) if "/configmaps/" in sent.path] == []
    assert _count(stage, stage.home) == 0


@pytest.mark.slow
def test_case_113_a_parent_with_8000_targets_is_ready_and_then_at_rest(stage: Stage) -> None:
    """Case 113: its object stays small, its records are in bounded shards, and a second pass and a restart write nothing."""
    places = [stage.namespace(f"n{number}", labels="many") for number in range(8)]
    tenant = stage.tenant(plan=stage.mark)
    for place in places:
        stage.api.merge_patch(_namespace(place), {"metadata": {"labels": {"copyhold.dev/tenant": tenant}}}).expect(200)
    manager = stage.manager()
    parent = stage.global_resource("large", group(template=_many(1000)), tenantSelector={"matchLabels": {"plan": stage.mark}})
    condition = stage.ready(parent, timeout=300)
    assert condition["message"] == "reconciled 8000 targets"
    assert sum(_count(stage, place) for place in places) == 8000
    live = stage.api.request("GET", stage.api.path(parent["apiVersion"], parent["kind"], name=parent["metadata"]["name"]))
    assert len(str(live.body)) < MEGABYTE
    assert live.body["status"]["size"] == 8000
    shards = live.body["status"]["records"]["shards"]
    assert len(shards) >= 8
    assert sum(shard["count"] for shard in shards) == 8000
    assert len(_applies(manager.sent)) == 8000
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []
    stage.api.delete(parent).expect(200)
    stage.gone(parent, timeout=300)
    assert sum(_count(stage, place) for place in places) == 0
    records = stage.api.list(parent["apiVersion"], "TargetRecord", labelSelector=f"copyhold.dev/record-of={_uid(parent)}")
    assert records.body["items"] == []


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _uid(manifest: Manifest) -> str:
    uid: str = manifest["metadata"]["uid"]
    return uid


@pytest.mark.parametrize("leaver", [0, 1], ids=["who made it leaves", "who came second leaves"])
def test_case_114_of_two_parents_that_disagree_the_survivor_has_its_way_and_the_object_never_vanishes(
    stage: Stage, leaver: int
) -> None:
    """Case 114: the second joins although its value waits; when one leaves, the other's value stands, on the same object."""
    stage.manager()
    targets = [config_map("shared", {"a": str(number)}, stage.home) for number in (1, 2)]
    first = stage.global_resource("first", group(targets[0]), scope="None", resyncPeriod="0s")
    stage.ready(first)
    before = stage.there(targets[0])
    second = stage.global_resource("second", group(targets[1]), scope="None", resyncPeriod="0s")
    stage.ready(second, "False")
    status = item(stage, second, f"ConfigMap {stage.home}/shared")
    assert status["reason"] == "FieldTaken"
    assert f".data.a is held by 'copyhold.dev/globaltenantresource/{_uid(first)}'" in status["message"]
    joined = stage.read(targets[0])
    assert (_uid(joined), joined["data"]) == (_uid(before), {"a": "1"})
    assert (held_by(first, joined), held_by(second, joined)) == ("created", "created")

    leaving, staying = (first, second) if leaver == 0 else (second, first)
    value = "2" if leaver == 0 else "1"
    with stage.api.watch(
        "v1", "ConfigMap", stage.home, fieldSelector="metadata.name=shared", resourceVersion=joined["metadata"]["resourceVersion"]
    ) as events:
        stage.delete(leaving)
        seen = list(_until(events, lambda live: live.get("data") == {"a": value} and not held_by(leaving, live)))
    assert {event.type for event in seen} == {"MODIFIED"}
    stage.ready(staying)
    after = stage.read(targets[0])
    assert (_uid(after), after["data"], held_by(staying, after)) == (_uid(before), {"a": value}, "created")
    stage.delete(staying)
    stage.gone(targets[0])


def _until(events: Iterator[Event], done: Any) -> Iterator[Event]:
    for event in events:
        yield event
        if event.type == "DELETED" or done(event.object):
            return
    raise AssertionError("the watch ended before the survivor's value stood")


@pytest.mark.slow
def test_case_115_when_a_namespace_joins_only_that_namespace_is_written(stage: Stage) -> None:
    """Case 115: 2,000 targets stand in twenty namespaces, and none of them is asked for or applied again."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(f"n{number}", tenant) for number in range(20)]
    manager = stage.manager()
    parent = stage.global_resource("joined", group(template=_many(100)), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(parent, timeout=120)
    assert sum(_count(stage, place) for place in places) == 2000
    manager.idle()
    mark = len(manager.sent)
    late = stage.namespace("late", tenant)

    def filled() -> bool:
        return _count(stage, late) == 100

    eventually(filled, timeout=30)
    eventually(lambda: stage.ready(parent)["message"] == "reconciled 2100 targets")
    manager.idle()
    written = target_writes(manager.sent[mark:])
    assert {one.path.split("/")[4] for one in written} == {late}
    assert len(written) == 100
    read = [one for one in manager.sent[mark:] if one.method == "GET" and any(f"/{place}/" in one.path for place in places)]
    assert read == []


@pytest.mark.slow
def test_case_116_an_idle_manager_of_2000_targets_sends_nothing(stage: Stage) -> None:
    """Case 116: for 20 seconds no request at all, and the one appointment left is the resync in ten minutes."""
    manager = stage.manager()
    parent = stage.global_resource("idle", group(template=_many(2000, stage.home), policy=OPEN), scope="None")
    stage.ready(parent, timeout=120)
    manager.idle()
    version = stage.api.list("v1", "ConfigMap", stage.home, limit=1).body["metadata"]["resourceVersion"]
    mark = len(manager.sent)
    with stage.api.watch("v1", "ConfigMap", stage.home, resourceVersion=version, timeout=20) as events:
        assert list(events) == []
    assert [one for one in manager.sent[mark:] if one.method != "WATCH"] == []
    assert appointments(manager, parent) == ["*"]
    assert len(managed(stage, stage.home)) == 2000
