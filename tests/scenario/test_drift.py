"""What somebody else does to a target is followed by events: put back, taken back, reported, or left alone.

Resyncs are off in all of these tests, so that nothing but events can be the cause.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from apis.meta import Key
from tests.support.api import Api, Manifest, eventually
from tests.support.faults import Faulty, Send
from tests.support.marks import hold_of, holders, manager_of, marks, owns
from tests.support.running import Running
from tests.support.stage import Stage, config_map, group

OPEN = {"protect": False}
FORCE = {"protect": False, "force": True}


def once(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource whose groups are rendered once, without a resync."""
    return stage.global_resource(word, *groups, scope="None", resyncPeriod="0s", **spec)


def here(stage: Stage, name: str, **data: str) -> Manifest:
    """A ConfigMap in the namespace of the stage."""
    return config_map(name, dict(data), stage.home)


def status(stage: Stage, parent: Manifest, name: str) -> Manifest:
    """The status of the item for a ConfigMap."""
    found: Manifest = stage.items(parent)[f"ConfigMap {stage.home}/{name}"]["status"]
    return found


def someone(stage: Stage) -> Api:
    """A user who may do anything to ConfigMaps of the stage."""
    name = stage.name("alice")
    verbs = ["get", "list", "create", "update", "patch", "delete"]
    stage.grant_user(name, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}], stage.home)
    return stage.api.as_user(name)


def target_writes(manager: Running, mark: int) -> list[str]:
    """The writes to ConfigMaps since then."""
    return [f"{sent.method} {sent.path}" for sent in manager.writes_since(mark) if "/configmaps/" in sent.path]


def test_a_deleted_target_comes_back(stage: Stage) -> None:
    """Drift: a target that somebody deletes is made anew by the event alone."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "keeps", group(here(stage, "x", a="1"), here(stage, "y", a="1"), policy=OPEN))
    stage.ready(parent)
    first = stage.read(here(stage, "x"))
    manager.idle()
    mark = len(manager.sent)
    alice.delete(first).expect(200)
    again = stage.becomes(here(stage, "x"), lambda live: live["metadata"]["uid"] != first["metadata"]["uid"])
    assert again["data"] == {"a": "1"}
    assert hold_of(again, parent) == "created"
    eventually(lambda: stage.items(parent)[f"ConfigMap {stage.home}/x"].get("uid") == again["metadata"]["uid"])
    stage.ready(parent)
    assert target_writes(manager, mark) == [f"PATCH /api/v1/namespaces/{stage.home}/configmaps/x"]


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"data": {"a": None}}, id="a value"),
        pytest.param({"data": None}, id="the whole map"),
        pytest.param({"metadata": {"labels": {"app": None}}}, id="a label"),
        pytest.param({"metadata": {"labels": None, "annotations": None}}, id="all labels and annotations"),
        pytest.param({"metadata": {"labels": {"copyhold.dev/managed": None}}}, id="the mark by which it is watched"),
    ],
)
def test_what_somebody_removes_comes_back(stage: Stage, patch: Manifest) -> None:
    """Drift: a removed field is put back by the event alone, marks too, on the same object."""
    alice = someone(stage)
    manager = stage.manager()
    target = here(stage, "x", a="1", b="2")
    target["metadata"]["labels"] = {"app": "web"}
    parent = once(stage, "keeps", group(target, policy=OPEN))
    stage.ready(parent)
    before = stage.read(target)
    manager.idle()
    mark = len(manager.sent)
    alice.merge_patch(target, patch).expect(200)

    def restored(live: Manifest) -> bool:
        same = all(live["metadata"].get(field) == before["metadata"][field] for field in ("uid", "labels", "annotations"))
        return same and live.get("data") == before["data"]

    stage.becomes(target, restored)
    manager.idle()
    stage.ready(parent)
    assert len(target_writes(manager, mark)) == 1


def test_an_edited_field_is_taken_back_by_force(stage: Stage) -> None:
    """Drift: with `force` a value that somebody else wrote is written over; what else he wrote stays."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "takes", group(here(stage, "x", a="1"), policy=FORCE))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    alice.merge_patch(here(stage, "x"), {"data": {"a": "hers", "b": "hers"}}).expect(200)
    live = stage.becomes(here(stage, "x"), lambda live: live["data"] == {"a": "1", "b": "hers"})
    assert owns(live, manager_of(parent), "data", "a")
    manager.idle()
    stage.ready(parent)
    assert len(target_writes(manager, mark)) == 1


def test_an_edited_field_is_a_conflict_without_force(stage: Stage) -> None:
    """Drift: the conflict names field and manager, is tried once, and ends when the field is given up or `force` is set."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "reports", group(here(stage, "x", a="1", b="2"), policy=OPEN))
    stage.ready(parent)
    alice.merge_patch(here(stage, "x"), {"data": {"a": "hers"}}, fieldManager="alices-editor").expect(200)
    ready = stage.ready(parent, "False")
    item = status(stage, parent, "x")
    assert (item["status"], item["reason"]) == ("False", "FieldTaken")
    assert ".data.a is held by 'alices-editor'" in item["message"]
    assert "policy.force: true" in item["message"]
    assert "hers" not in item["message"].replace("alices", "")
    assert "FieldTaken" in ready["message"]
    assert stage.read(here(stage, "x"))["data"] == {"a": "hers", "b": "2"}
    manager.idle()
    mark = len(manager.sent)
    stage.nudge(parent)
    manager.idle()
    assert target_writes(manager, mark) == []
    alice.merge_patch(here(stage, "x"), {"data": {"a": None}}).expect(200)
    stage.becomes(here(stage, "x"), lambda live: live["data"] == {"a": "1", "b": "2"})
    stage.ready(parent)
    alice.merge_patch(here(stage, "x"), {"data": {"a": "again"}}, fieldManager="alices-editor").expect(200)
    stage.ready(parent, "False")
    stage.edit(parent, resources=[group(here(stage, "x", a="1", b="2"), policy=FORCE)])
    stage.ready(parent)
    assert stage.read(here(stage, "x"))["data"] == {"a": "1", "b": "2"}


def test_what_we_do_not_own_is_left_alone(stage: Stage) -> None:
    """Drift: fields of others on a target may come, change and go without any write of ours, and outlive a change of ours."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "shares", group(here(stage, "x", a="1"), policy=OPEN))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    for patch in (
        {"data": {"hers": "1"}, "metadata": {"labels": {"hers": "1"}}},
        {"data": {"hers": "2"}, "metadata": {"labels": {"hers": None}}},
    ):
        alice.merge_patch(here(stage, "x"), patch).expect(200)
        stage.nudge(parent)
        manager.idle()
    assert target_writes(manager, mark) == []
    stage.edit(parent, resources=[group(here(stage, "x", a="2"), policy=OPEN)])
    stage.ready(parent)
    assert stage.read(here(stage, "x"))["data"] == {"a": "2", "hers": "2"}


def test_the_same_value_from_somebody_else_is_no_drift(stage: Stage) -> None:
    """Drift: who applies the same value becomes a holder beside us, and nothing is repaired or reported."""
    manager = stage.manager()
    parent = once(stage, "agrees", group(here(stage, "x", a="1"), policy=OPEN))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    stage.api.apply(here(stage, "x", a="1"), manager="agreeing").expect(200)
    stage.nudge(parent)
    manager.idle()
    assert target_writes(manager, mark) == []
    stage.ready(parent)


def fight(stage: Stage, alice: Api, seconds: float) -> int:
    """Write our field over whenever it is not hers, for that long; answers how often."""
    count, end = 0, monotonic() + seconds
    while monotonic() < end:
        if stage.read(here(stage, "x"))["data"]["a"] != "hers":
            alice.merge_patch(here(stage, "x"), {"data": {"a": "hers"}}).expect(200)
            count += 1
    return count


def test_two_writers_that_fight_are_slowed_down_and_reported(stage: Stage) -> None:
    """Drift: a few repairs are normal life; after that each waits longer than the one before, and the item says Contested."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "fights", group(here(stage, "x", a="1"), here(stage, "beside", a="1"), policy=FORCE))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)

    def contested() -> bool:
        fight(stage, alice, 0.2)
        return bool(status(stage, parent, "x")["reason"] == "Contested")

    eventually(contested)
    fight(stage, alice, 4)
    repairs = target_writes(manager, mark)
    assert set(repairs) == {f"PATCH /api/v1/namespaces/{stage.home}/configmaps/x"}
    assert 5 <= len(repairs) <= 10  # five at once, then after 1, 2, 4 and 8 seconds
    item = status(stage, parent, "x")
    assert (item["status"], item["reason"]) == ("False", "Contested")
    assert "somebody keeps changing what we apply" in item["message"]
    assert stage.condition(parent)["status"] == "False"
    assert status(stage, parent, "beside")["status"] == "True"
    stage.becomes(here(stage, "x"), lambda live: live.get("data") == {"a": "1"}, timeout=60)
    stage.ready(parent)


def test_two_parents_that_fight_are_slowed_down_and_reported(stage: Stage) -> None:
    """Drift: two of our own parents that take one field from each other by force end up reported, not in a hot loop."""
    manager = stage.manager()
    first = once(stage, "first", group(here(stage, "x", a="1"), policy=FORCE))
    stage.ready(first)
    mark = len(manager.sent)
    second = once(stage, "second", group(here(stage, "x", a="2"), policy=FORCE))

    def contested() -> bool:
        items = [item for parent in (first, second) for item in stage.items(parent).values()]
        return "Contested" in {item["status"]["reason"] for item in items}

    eventually(contested)
    assert len(target_writes(manager, mark)) <= 16
    live = stage.read(here(stage, "x"))
    assert holders(live) == {manager_of(first), manager_of(second)}
    assert live["data"]["a"] in ("1", "2")
    stage.delete(second)
    stage.becomes(here(stage, "x"), lambda live: live.get("data") == {"a": "1"}, timeout=60)
    stage.ready(first, timeout=40)
    assert [mark for mark in marks(stage.read(here(stage, "x"))) if second["metadata"]["uid"] in mark] == []


@pytest.mark.parametrize("what", ["deleted", "edited"])
def test_what_happens_while_our_write_is_under_way_is_seen(stage: Stage, what: str) -> None:
    """Drift: the watch may tell of a deletion or an edit before our own write is answered; it is followed all the same."""
    alice = someone(stage)
    manager = stage.stopped_manager()
    key = Key("", "ConfigMap", stage.home, "x")
    struck: list[str] = []

    def known() -> str:
        assert manager.controller is not None
        live = manager.controller.index.live(key)
        return live.version if live else ""

    async def until(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110 - the index tells nobody that it changed
                await asyncio.sleep(0.01)

    async def meddle(_faulty: Faulty, send: Send) -> Any:
        answer = await send()
        await until(lambda: known() != "")
        first = known()
        if what == "deleted":
            await asyncio.to_thread(alice.delete, here(stage, "x"))
        else:
            await asyncio.to_thread(alice.merge_patch, here(stage, "x"), {"data": {"a": "hers"}})
        await until(lambda: known() != first)
        struck.append(answer.object["metadata"]["uid"])
        return answer

    manager.wrap = lambda cluster: Faulty(cluster, lambda call: meddle if call.creates and not struck else None)
    manager.start()
    stage.stack.callback(manager.stop)
    parent = once(stage, "makes", group(here(stage, "x", a="1"), policy=FORCE))
    eventually(lambda: bool(struck))
    live = stage.becomes(here(stage, "x"), lambda live: live.get("data") == {"a": "1"})
    assert (live["metadata"]["uid"] == struck[0]) is (what == "edited")
    eventually(lambda: stage.items(parent)[f"ConfigMap {stage.home}/x"]["uid"] == live["metadata"]["uid"])
    stage.ready(parent)


MANY = """
{% for number in range(NUMBER) %}
apiVersion: v1
kind: ConfigMap
metadata: {name: "WORD-{{ number }}", namespace: HOME}
data: {number: "{{ number }}"}
---
{% endfor %}
"""


@pytest.mark.slow
def test_a_restart_over_2000_unchanged_targets_writes_nothing(stage: Stage) -> None:
    """Drift: records, digests and one list tell that nothing changed; what did change meanwhile is found and repaired alone."""
    alice = someone(stage)
    manager = stage.manager()
    words = ("a", "b", "c", "d")
    groups = [
        group(template=MANY.replace("NUMBER", "500").replace("WORD", word).replace("HOME", stage.home), policy=FORCE)
        for word in words
    ]
    parent = once(stage, "many", *groups)
    stage.ready(parent, timeout=120)
    manager.idle()
    listed = stage.api.list("v1", "ConfigMap", stage.home, labelSelector="copyhold.dev/managed=true").expect(200).body["items"]
    assert len(listed) == 2000
    manager.stop()
    mark = len(manager.sent)
    manager.start()
    stage.nudge(parent, timeout=60)
    manager.idle()
    assert [sent for sent in manager.writes_since(mark) if "globaltenantresources" not in sent.path] == []
    assert [sent for sent in manager.sent[mark:] if "/configmaps/" in sent.path] == []
    manager.stop()
    alice.merge_patch(here(stage, "a-7"), {"data": {"number": "8"}}).expect(200)
    alice.delete(here(stage, "b-7")).expect(200)
    mark = len(manager.sent)
    manager.start()
    stage.becomes(here(stage, "a-7"), lambda live: live["data"] == {"number": "7"}, timeout=60)
    stage.there(here(stage, "b-7"), timeout=60)
    manager.idle()
    assert sorted(target_writes(manager, mark)) == [
        f"PATCH /api/v1/namespaces/{stage.home}/configmaps/{name}" for name in ("a-7", "b-7")
    ]
