"""Group F of the cases that went wrong for others: scale, watches, and what runs away."""

import json
from time import monotonic
from typing import Any

import pytest

from manager.controller import Controller
from tests.scenario.cases.passes import OPEN, item, look_again, target_writes, writes_of_another_look
from tests.support.api import Manifest, eventually, ref
from tests.support.running import Running
from tests.support.stage import Stage, config_map, group


def _none(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    return stage.global_resource(word, *groups, scope="None", **spec)


def _watches(manager: Running) -> int:
    async def count(controller: Controller) -> int:
        return controller.watches.open

    return manager.call(count)


@pytest.mark.slow
def test_case_065_many_long_errors_stay_within_bounds(stage: Stage) -> None:
    """Case 65: 1,500 refused targets make a small parent: 50 shown, every message cut, the rest in bounded records."""
    name = "x" * 900
    head = "{% for n in range(1500) %}\n---\napiVersion: v1\nkind: ConfigMap\n"
    text = head + f"metadata: {{name: bad-{{{{ n }}}}, namespace: {stage.home}}}\ndata: {{'{name}': '1'}}\n{{% endfor %}}"
    stage.manager()
    parent = _none(stage, "refused", group(template=text))
    condition = stage.ready(parent, "False", timeout=120)
    assert condition["message"].startswith("applying of 1500 resources failed")
    assert len(condition["message"]) <= 4096
    live = stage.read(parent)
    assert len(json.dumps(live)) < 300_000
    status = live["status"]
    assert status["size"] == 1500
    assert status["records"]["ready"] == 0
    assert sum(shard["count"] for shard in status["records"]["shards"]) == 1500
    assert len(status["processedItems"]) == 50
    for one in status["processedItems"]:
        assert one["status"]["reason"] == "Invalid"
        assert 0 < len(one["status"]["message"]) <= 1024
    for shard in status["records"]["shards"]:
        record = stage.read(ref("copyhold.dev/v1alpha1", "TargetRecord", shard["name"]))
        assert len(json.dumps(record)) < 1_000_000


def test_case_067_a_copy_of_300_kib_needs_no_annotation(stage: Stage) -> None:
    """Case 67: nothing of the content is kept in annotations, whose limit is 256 KiB for all of them."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("a", tenant)
    content = {f"part-{number}": "x" * 30 * 1024 for number in range(10)}
    stage.create(config_map("large", content, stage.home, labels={"share": "yes"}))
    manager = stage.manager()
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "selector": {"matchLabels": {"share": "yes"}}}]
    parent = stage.global_resource("copier", group(namespacedItems=copies), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(parent)
    copy = stage.there(config_map("large", namespace=place))
    assert copy["data"] == content
    assert len(json.dumps(copy["metadata"]["annotations"])) < 1024
    assert len(json.dumps(stage.read(parent)["status"])) < 4096
    assert writes_of_another_look(stage, manager, parent) == []


def test_case_068_a_source_that_selects_its_own_copies_does_not_feed_itself(stage: Stage) -> None:
    """Case 68: the copies bear the label that selects them, in namespaces that are read; there are as many as asked for."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(word, tenant) for word in ("a", "b", "c")]
    account = stage.service_account("default", places[0])
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}])
    source = stage.create(config_map("source", {"a": "1"}, places[0], labels={"share": "yes"}))
    manager = stage.manager()
    selector = {"matchLabels": {"share": "yes"}}
    local = stage.tenant_resource(
        "local", places[0], group(namespacedItems=[{"apiVersion": "v1", "kind": "ConfigMap", "selector": selector}])
    )
    stage.ready(local)
    for place in places[1:]:
        assert stage.there(config_map("source", namespace=place))["data"] == {"a": "1"}
    manager.idle()
    mark = len(manager.sent)
    look_again(stage, manager, local)
    assert manager.writes_since(mark) == []
    assert stage.read(source)["metadata"]["resourceVersion"] == source["metadata"]["resourceVersion"]
    stage.api.merge_patch(source, {"data": {"a": "2"}}).expect(200)
    for place in places[1:]:
        stage.becomes(config_map("source", namespace=place), lambda live: bool(live["data"] == {"a": "2"}))
    manager.idle()
    assert len(target_writes(manager.sent[mark:])) == 2


def test_case_068_a_global_copy_into_the_namespace_of_its_source_is_left_out(stage: Stage) -> None:
    """Case 68, the source's own namespace among the targets: an object is never a copy of itself."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(word, tenant) for word in ("a", "b")]
    source = stage.create(config_map("source", {"a": "1"}, places[0], labels={"share": "yes"}))
    manager = stage.manager()
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": places[0], "selector": {"matchLabels": {"share": "yes"}}}]
    parent = stage.global_resource("copier", group(namespacedItems=copies), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(parent)
    stage.there(config_map("source", namespace=places[1]))
    assert list(stage.items(parent)) == [f"ConfigMap {places[1]}/source"]
    assert writes_of_another_look(stage, manager, parent) == []
    assert stage.read(source)["metadata"]["resourceVersion"] == source["metadata"]["resourceVersion"]


@pytest.mark.slow
def test_case_070_two_hundred_groups_share_their_watches(stage: Stage) -> None:
    """Case 70: watches are counted by what is watched, not by who wants it: two kinds and one source are three."""
    stage.create(config_map("source", {"a": "1"}, stage.home))
    manager = stage.manager()
    before = _watches(manager)
    read = {"index": "source", "apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "source"}
    parents = []
    for number in range(4):
        groups = [
            group(
                config_map(f"copy-{number}-{of}", {"a": "{{ context.source[0].data.a }}"}, stage.home),
                ref("v1", "ServiceAccount", f"account-{number}-{of}", stage.home),
                context={"resources": [read]},
            )
            for of in range(50)
        ]
        parents.append(_none(stage, f"groups-{number}", *groups))
    for parent in parents:
        assert stage.ready(parent, timeout=60)["message"] == "reconciled 100 targets"
    assert _watches(manager) - before == 3


@pytest.mark.slow
def test_case_076_many_parents_write_their_statuses_without_conflicts(stage: Stage) -> None:
    """Case 76: 100 parents (500 in the case), each with one writer of its status; no answer is a 409."""
    manager = stage.manager()
    targets = [config_map(f"many-{number}", {"a": "1"}, stage.home) for number in range(100)]
    parents = [_none(stage, f"many-{number}", group(target)) for number, target in enumerate(targets)]
    for parent in parents:
        stage.ready(parent, timeout=60)
    for parent, target in zip(parents, targets, strict=True):
        stage.edit(parent, resources=[group(target | {"data": {"a": "2"}})])
    for parent, target in zip(parents, targets, strict=True):
        stage.ready(parent, timeout=60)
        assert stage.read(target)["data"] == {"a": "2"}
    manager.idle()
    assert [one for one in manager.sent if one.status == 409] == []
    statuses = [one for one in manager.sent if one.path.endswith("/status") and "globaltenantresources" in one.path]
    assert len(statuses) <= 3 * len(parents), "one before the targets are made, one after, one for the edit"


def test_case_077_sources_beyond_the_cap_of_watches_are_compared_at_the_resync(stage: Stage) -> None:
    """Case 77: one source is watched, the others are read once a period; none is forgotten."""
    sources = [stage.create(config_map(f"source-{number}", {"a": "1"}, stage.home)) for number in range(3)]
    manager = stage.manager(streams=1)
    reads = [
        {"index": f"s{number}", "apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": f"source-{number}"}
        for number in range(3)
    ]
    before = _watches(manager)
    text = {f"a{number}": f"{{{{ context.s{number}[0].data.a }}}}" for number in range(3)}
    target = config_map("sum", text, stage.home)
    parent = _none(stage, "capped", group(target, context={"resources": reads}), resyncPeriod="1s")
    stage.ready(parent)
    assert _watches(manager) - before == 2, "the targets, and one of three sources"
    for source in sources:
        stage.api.merge_patch(source, {"data": {"a": "2"}}).expect(200)
    stage.becomes(target, lambda live: bool(live["data"] == {"a0": "2", "a1": "2", "a2": "2"}))


def test_case_077_foreign_objects_beyond_the_cap_of_waits_are_compared_at_the_resync(stage: Stage) -> None:
    """Case 77, what is waited for: one foreign object is watched, the others are looked at once a period."""
    foreign = [stage.create(config_map(f"taken-{number}", {"a": "theirs"}, stage.home)) for number in range(3)]
    manager = stage.manager(waits=1)
    before = _watches(manager)
    parent = _none(
        stage,
        "waiting",
        group(*(config_map(f"taken-{number}", {"a": "1"}, stage.home) for number in range(3))),
        resyncPeriod="1s",
    )
    stage.ready(parent, "False")
    manager.idle()
    assert _watches(manager) - before <= 2, "the targets, and one of three foreign objects"
    for one in foreign:
        stage.api.delete(one).expect(200)
    stage.ready(parent)
    assert all(stage.read(one)["data"] == {"a": "1"} for one in foreign)


@pytest.mark.slow
def test_case_079_a_condition_that_runs_away_fails_alone_and_soon(stage: Stage) -> None:
    """Case 79: a deep comprehension over 10,000 keys meets the cost budget; the target beside it never waits for it."""
    large = {f"k{number}": "" for number in range(10_000)}
    stage.create(config_map("large", large, stage.home))
    manager = stage.manager()
    deep = "object.data.all(a, object.data.all(b, object.data.all(c, a + b != c)))"
    policy = OPEN | {"creation": "Merge"}
    beside = config_map("beside", {"a": "1"}, stage.home)
    started = monotonic()
    parent = _none(
        stage,
        "deep",
        group(config_map("large", {"mine": "1"}, stage.home), policy=policy | {"condition": deep}),
        group(beside, policy=policy | {"condition": "object == null || object.data.size() == 1"}),
    )
    stage.ready(parent, "False", timeout=40)
    assert monotonic() - started < 30
    status = item(stage, parent, f"ConfigMap {stage.home}/large")
    assert status["reason"] == "ConditionEvaluationFailed"
    assert status["message"].startswith("ConditionEvaluationFailed: expression could not be evaluated")
    assert stage.read(beside)["data"] == {"a": "1"}
    assert "mine" not in stage.read(config_map("large", namespace=stage.home))["data"]
    manager.idle()


def test_case_080_a_field_that_a_condition_misses_is_an_error_and_neither_yes_nor_no(stage: Stage) -> None:
    """Case 80: the target is not applied and not pruned, and says that its condition could not be evaluated."""
    manager = stage.manager()
    wanted = config_map("wanted", {"a": "1"}, stage.home)
    parent = _none(stage, "missing", group(wanted, policy=OPEN))
    stage.ready(parent)
    before = stage.there(wanted)
    policy = OPEN | {"condition": "object.status.phase != 'Done'"}
    manager.idle()
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(wanted | {"data": {"a": "2"}}, policy=policy)])
    stage.ready(parent, "False")
    status = item(stage, parent, f"ConfigMap {stage.home}/wanted")
    assert status["reason"] == "ConditionEvaluationFailed"
    assert status["message"] == "ConditionEvaluationFailed: expression could not be evaluated"
    manager.idle()
    assert target_writes(manager.sent[mark:]) == []
    after = stage.read(wanted)
    assert (after["metadata"]["uid"], after["data"]) == (before["metadata"]["uid"], {"a": "1"})
    stage.edit(parent, resources=[group(wanted | {"data": {"a": "2"}}, policy=OPEN | {"condition": "!has(object.status)"})])
    stage.ready(parent)
    eventually(lambda: stage.read(wanted)["data"] == {"a": "2"})
