"""Objects that somebody else made, or that several parents hold (10.1.7, 8, 12; 10.2.8, 9, 12, 18).

`settings.adopt` of the model is `policy.creation: Merge` here, `settings.force` is `policy.force`, and `managed-by` is the label
`copyhold.dev/managed` with one label per parent beside it.
"""

from tests.support.api import Manifest, eventually
from tests.support.marks import hold_of, holders, manager_of, marks, owns
from tests.support.stage import Stage, config_map, group

MERGE = {"creation": "Merge"}


def place(stage: Stage) -> str:
    """A namespace of a tenant of this test whose `default` account may do everything."""
    namespace = stage.namespace("space", stage.tenant("solar", of=stage.mark))
    stage.grant(stage.service_account("default", namespace), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    return namespace


def every(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource over the tenant of this test."""
    return stage.global_resource(word, *groups, tenantSelector={"matchLabels": {"of": stage.mark}}, **spec)


def test_two_global_resources_leave_a_foreign_object_as_it_is(stage: Stage) -> None:
    """10.1.7: with adoption off both parents fail with "applying of", and neither content nor labels change."""
    namespace = place(stage)
    before = stage.create(config_map("x", {"mine": "1"}, namespace, labels={"app": "theirs"}))
    manager = stage.manager()
    parents = [every(stage, word, group(config_map("x", {word: "1"}))) for word in ("one", "two")]
    for parent in parents:
        ready = stage.ready(parent, "False")
        assert ready["reason"] == "Failed"
        assert "applying of 1 resources failed" in ready["message"]
        assert "Foreign" in ready["message"]
        assert "set policy.creation: Merge to adopt it" in ready["message"]
        item = stage.items(parent)[f"ConfigMap {namespace}/x"]
        assert (item["status"]["reason"], item["status"].get("created", False)) == ("Foreign", False)
        assert "lastApply" not in item["status"]
    manager.idle()
    assert stage.read(before) == before
    for parent in parents:
        stage.delete(parent)
    assert stage.read(before) == before


def test_a_foreign_object_with_another_value_is_foreign_before_it_is_a_conflict_of_fields(stage: Stage) -> None:
    """10.1.7: whether an object may be adopted is said before whose field it is, at the first look and without flapping."""
    namespace = place(stage)
    before = stage.create(config_map("x", {"a": "theirs"}, namespace))
    manager = stage.manager()
    parent = every(stage, "late", group(config_map("x", {"a": "ours"})))
    ready = stage.ready(parent, "False")
    manager.idle()
    assert [told.note for told in manager.told] == [ready["message"]]
    assert stage.items(parent)[f"ConfigMap {namespace}/x"]["status"]["reason"] == "Foreign"
    assert stage.read(before) == before


def test_a_foreign_object_that_goes_makes_room_at_once(stage: Stage) -> None:
    """10.1.7: what a conflict waits for is watched: the deletion of the foreign object is followed by our creation."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"mine": "1"}, namespace))
    stage.manager()
    parent = every(stage, "waits", group(config_map("x", {"ours": "1"})), resyncPeriod="0s")
    stage.ready(parent, "False")
    stage.api.delete(foreign, preconditions={"uid": foreign["metadata"]["uid"]}).expect(200)
    stage.ready(parent)
    live = stage.read(config_map("x", namespace=namespace))
    assert live["data"] == {"ours": "1"}
    assert hold_of(live, parent) == "created"


def test_adoption_keeps_foreign_keys_and_gives_them_back_alone(stage: Stage) -> None:
    """10.1.12: off fails; on succeeds, keeps foreign keys, and taking back leaves the object as it was before."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"theirs": "1"}, namespace, labels={"app": "theirs"}))
    stage.manager()
    parent = every(stage, "adopts", group(config_map("x", {"ours": "1"})))
    stage.ready(parent, "False")
    stage.edit(parent, resources=[group(config_map("x", {"ours": "1"}), policy=MERGE)])
    stage.ready(parent)
    live = stage.read(foreign)
    assert live["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert live["data"] == {"theirs": "1", "ours": "1"}
    assert hold_of(live, parent) == "adopted"
    assert live["metadata"]["labels"]["app"] == "theirs"
    assert stage.items(parent)[f"ConfigMap {namespace}/x"]["status"].get("created", False) is False
    stage.delete(parent)
    left = stage.read(foreign)
    assert left["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert left["data"] == {"theirs": "1"}
    assert left["metadata"]["labels"] == {"app": "theirs"}
    assert marks(left) == set()


def test_owner_after_merge_keeps_what_was_adopted(stage: Stage) -> None:
    """10.1.12: switching from Merge back to Owner neither fails nor turns adopted into created."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"theirs": "1"}, namespace))
    stage.manager()
    parent = every(stage, "turns", group(config_map("x", {"ours": "1"}), policy=MERGE))
    stage.ready(parent)
    stage.edit(parent, resources=[group(config_map("x", {"ours": "2"}))])
    stage.ready(parent)
    live = stage.read(foreign)
    assert live["data"] == {"theirs": "1", "ours": "2"}
    assert hold_of(live, parent) == "adopted"
    stage.delete(parent)
    assert stage.read(foreign)["data"] == {"theirs": "1"}


def test_a_second_parent_with_another_value_fails_and_the_first_value_stays(stage: Stage) -> None:
    """10.1.8: without force the second parent reports field and holder, the first stays Ready, and the marks stay."""
    namespace = place(stage)
    stage.manager()
    first = every(stage, "first", group(config_map("x", {"a": "1"})))
    stage.ready(first)
    second = every(stage, "second", group(config_map("x", {"a": "2"})))
    ready = stage.ready(second, "False")
    assert ready["reason"] == "Failed"
    assert "applying of 1 resources failed" in ready["message"]
    item = stage.items(second)[f"ConfigMap {namespace}/x"]["status"]
    assert item["reason"] == "FieldTaken"
    assert ".data.a" in item["message"]
    assert manager_of(first) in item["message"]
    assert "policy.force: true" in item["message"]
    live = stage.read(config_map("x", namespace=namespace))
    assert live["data"] == {"a": "1"}
    assert live["metadata"]["labels"]["copyhold.dev/managed"] == "true"
    assert owns(live, manager_of(first), "data", "a")
    assert not owns(live, manager_of(second), "data", "a")
    stage.ready(first)
    stage.delete(first)
    stage.ready(second)
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "2"}


def test_two_tenant_resources_with_different_keys_share_one_object(stage: Stage) -> None:
    """10.2.8: what a relative created passes Owner: both are Ready and share the object; the last one removes it."""
    namespace = place(stage)
    stage.manager()
    first = stage.tenant_resource("first", namespace, group(config_map("x", {"a": "1"})))
    stage.ready(first)
    second = stage.tenant_resource("second", namespace, group(config_map("x", {"b": "2"})))
    stage.ready(second)
    live = stage.read(config_map("x", namespace=namespace))
    assert live["data"] == {"a": "1", "b": "2"}
    assert [hold_of(live, parent) for parent in (first, second)] == ["created", "created"]
    for parent, key, other in ((first, "a", "b"), (second, "b", "a")):
        assert owns(live, manager_of(parent), "data", key)
        assert not owns(live, manager_of(parent), "data", other)
    stage.delete(first)
    left = stage.read(config_map("x", namespace=namespace))
    assert left["metadata"]["uid"] == live["metadata"]["uid"]
    assert left["data"] == {"b": "2"}
    assert holders(left) == {manager_of(second)}
    stage.ready(second)
    stage.delete(second)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_a_tenant_resource_and_a_global_one_are_kin(stage: Stage) -> None:
    """10.2.8: the two kinds are one family: what the one created the other may join, and the object stays while one holds it."""
    namespace = place(stage)
    stage.manager()
    wide = every(stage, "wide", group(config_map("x", {"a": "1"})))
    stage.ready(wide)
    uid = stage.read(config_map("x", namespace=namespace))["metadata"]["uid"]
    local = stage.tenant_resource("local", namespace, group(config_map("x", {"b": "2"})))
    stage.ready(local)
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "1", "b": "2"}
    stage.delete(wide)
    left = stage.read(config_map("x", namespace=namespace))
    assert (left["metadata"]["uid"], left["data"]) == (uid, {"b": "2"})
    stage.ready(local)
    stage.delete(local)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_two_tenant_resources_with_the_same_key_conflict(stage: Stage) -> None:
    """10.2.9: without force the second fails and the first value stays."""
    namespace = place(stage)
    stage.manager()
    first = stage.tenant_resource("first", namespace, group(config_map("x", {"a": "1"})))
    stage.ready(first)
    second = stage.tenant_resource("second", namespace, group(config_map("x", {"a": "2"})))
    ready = stage.ready(second, "False")
    assert "FieldTaken" in ready["message"]
    assert manager_of(first) in ready["message"]
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "1"}
    stage.ready(first)


def test_with_force_the_second_tenant_resource_wins_and_the_first_says_so(stage: Stage) -> None:
    """10.2.9: the second takes the key and is Ready. The model reports the first as Ready until its next resync; ours sees the
    lost field as an event and reports it at once, without a fight.
    """
    namespace = place(stage)
    manager = stage.manager()
    first = stage.tenant_resource("first", namespace, group(config_map("x", {"a": "1"})), resyncPeriod="0s")
    stage.ready(first)
    second = stage.tenant_resource("second", namespace, group(config_map("x", {"a": "2"}), policy={"force": True}))
    stage.ready(second)
    ready = stage.ready(first, "False")
    assert "FieldTaken" in ready["message"]
    assert f".data.a is held by '{manager_of(second)}'" in ready["message"]
    live = stage.read(config_map("x", namespace=namespace))
    assert live["data"] == {"a": "2"}
    assert holders(live) == {manager_of(first), manager_of(second)}
    manager.idle()
    mark = len(manager.sent)
    stage.edit(second, resyncPeriod="5m")
    stage.ready(second)
    manager.idle()
    assert [sent for sent in manager.writes_since(mark) if "configmaps" in sent.path] == []
    stage.delete(second)
    stage.ready(first)
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "1"}


def test_two_tenant_resources_adopt_one_object_and_leave_each_others_keys(stage: Stage) -> None:
    """10.2.12: both adopt with different keys and co-manage the object; the one that goes takes its own keys only."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"theirs": "1"}, namespace))
    stage.manager()
    first = stage.tenant_resource("first", namespace, group(config_map("x", {"a": "1"}), policy=MERGE))
    second = stage.tenant_resource("second", namespace, group(config_map("x", {"b": "2"}), policy=MERGE))
    stage.ready(first)
    stage.ready(second)
    live = stage.read(foreign)
    assert live["data"] == {"theirs": "1", "a": "1", "b": "2"}
    assert [hold_of(live, parent) for parent in (first, second)] == ["adopted", "adopted"]
    stage.delete(first)
    left = stage.read(foreign)
    assert left["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert left["data"] == {"theirs": "1", "b": "2"}
    assert hold_of(left, second) == "adopted"
    assert hold_of(left, first) is None
    assert left["metadata"]["labels"]["copyhold.dev/protected"] == "true"
    stage.ready(second)
    stage.delete(second)
    assert stage.read(foreign)["data"] == {"theirs": "1"}
    assert marks(stage.read(foreign)) == set()


def test_a_tenant_resource_adopts_only_when_told_to(stage: Stage) -> None:
    """10.2.18: adoption off fails and changes nothing, on succeeds."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"theirs": "1"}, namespace))
    stage.manager()
    parent = stage.tenant_resource("adopts", namespace, group(config_map("x", {"ours": "1"})))
    ready = stage.ready(parent, "False")
    assert "applying of 1 resources failed" in ready["message"]
    assert stage.read(foreign) == foreign
    stage.edit(parent, resources=[group(config_map("x", {"ours": "1"}), policy=MERGE)])
    stage.ready(parent)
    assert stage.read(foreign)["data"] == {"theirs": "1", "ours": "1"}


def test_a_value_that_somebody_else_holds_is_taken_only_by_force(stage: Stage) -> None:
    """10.1.12: adopting with another value for a foreign key is FieldTaken, and force takes it."""
    namespace = place(stage)
    foreign = stage.create(config_map("x", {"a": "theirs"}, namespace))
    stage.manager()
    parent = every(stage, "takes", group(config_map("x", {"a": "ours"}), policy=MERGE))
    stage.ready(parent, "False")
    assert stage.items(parent)[f"ConfigMap {namespace}/x"]["status"]["reason"] == "FieldTaken"
    assert stage.read(foreign)["data"] == {"a": "theirs"}
    assert marks(stage.read(foreign)) == set()
    stage.edit(parent, resources=[group(config_map("x", {"a": "ours"}), policy={"creation": "Merge", "force": True})])
    stage.ready(parent)
    live = stage.read(foreign)
    assert live["data"] == {"a": "ours"}
    assert hold_of(live, parent) == "adopted"
    eventually(lambda: stage.items(parent)[f"ConfigMap {namespace}/x"]["status"]["reason"] == "Succeeded")
