"""Group E of the cases that went wrong for others: prune, ownership, deletion."""

from typing import Any

import pytest

from tests.scenario.cases.faults import Mortal, Overtaken
from tests.scenario.cases.passes import OPEN, held_by, item, look_again, managed, marks_on, target_writes
from tests.scenario.cases.widgets import definition, install, version, widget
from tests.support.api import Manifest, eventually, ref
from tests.support.running import Running
from tests.support.stage import RBAC, Stage, config_map, group

ORPHAN, MERGE = {"deletion": "Orphan"}, {"creation": "Merge"}


def _uid(manifest: Manifest) -> str:
    uid: str = manifest["metadata"]["uid"]
    return uid


def _here(stage: Stage, name: str, value: str = "1") -> Manifest:
    """A target in the home namespace, for scope None."""
    return config_map(name, {"a": value}, stage.home)


def _none(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    return stage.global_resource(word, *groups, scope="None", **spec)


# Moving and renaming.


def test_case_040_a_target_that_moves_to_a_parent_which_takes_it_first_keeps_its_uid(stage: Stage) -> None:
    """Case 40, the new one first: it joins what its kin created, so that the old one only lets go; and back again."""
    stage.manager()
    target = _here(stage, "moving")
    old = _none(stage, "old", group(_here(stage, "stays")), group(target))
    new = _none(stage, "new", group(_here(stage, "other")))
    stage.ready(old), stage.ready(new)
    before = stage.there(target)

    stage.edit(new, resources=[group(_here(stage, "other")), group(target)])
    stage.ready(new)
    stage.edit(old, resources=[group(_here(stage, "stays"))])
    stage.ready(old)
    moved = stage.becomes(target, lambda live: not held_by(old, live))
    assert _uid(moved) == _uid(before)
    assert held_by(new, moved) == "created"
    assert moved["data"] == {"a": "1"}
    assert "ConfigMap " + f"{stage.home}/moving" not in stage.items(old)

    stage.edit(old, resources=[group(_here(stage, "stays")), group(target)])
    stage.ready(old)
    stage.edit(new, resources=[group(_here(stage, "other"))])
    stage.ready(new)
    back = stage.becomes(target, lambda live: not held_by(new, live))
    assert _uid(back) == _uid(before)
    assert held_by(old, back) == "created"
    stage.delete(old)
    stage.gone(target)


def test_case_040_a_target_that_leaves_its_old_parent_first_keeps_its_uid(stage: Stage) -> None:
    """Case 40, the old one first: it waits a moment before it removes, and the new one takes the target over."""
    stage.manager()
    target = _here(stage, "moving")
    old = _none(stage, "old", group(_here(stage, "stays")), group(target))
    new = _none(stage, "new", group(_here(stage, "other")))
    stage.ready(old), stage.ready(new)
    before = stage.there(target)
    stage.edit(old, resources=[group(_here(stage, "stays"))])
    stage.edit(new, resources=[group(_here(stage, "other")), group(target)])
    moved = stage.becomes(target, lambda live: not held_by(old, live))
    assert (_uid(moved), held_by(new, moved)) == (_uid(before), "created")
    stage.ready(old), stage.ready(new)
    assert f"ConfigMap {stage.home}/moving" not in stage.items(old)
    stage.delete(new)
    stage.gone(target)


def test_case_040_a_target_that_is_orphaned_before_the_other_parent_takes_it_keeps_its_uid(stage: Stage) -> None:
    """Case 40, the old one first: its group says Orphan before it goes, and the new one adopts."""
    stage.manager()
    target = _here(stage, "moving")
    old = _none(stage, "old", group(_here(stage, "stays")), group(target))
    stage.ready(old)
    before = stage.there(target)
    stage.edit(old, resources=[group(_here(stage, "stays")), group(target, policy=ORPHAN)])
    stage.ready(old)
    stage.edit(old, resources=[group(_here(stage, "stays"))])
    stage.ready(old)
    free = stage.becomes(target, lambda live: not held_by(old, live))
    assert (_uid(free), free["data"], marks_on(free)) == (_uid(before), {"a": "1"}, [])
    new = _none(stage, "new", group(target, policy=MERGE))
    stage.ready(new)
    taken = stage.there(target)
    assert (_uid(taken), held_by(new, taken)) == (_uid(before), "adopted")


def test_case_040_targets_that_move_while_their_old_parent_is_cordoned_keep_their_uid(stage: Stage) -> None:
    """Case 40, the old one edited first: cordoned, it takes nothing back until the new one holds the target."""
    stage.manager()
    target = _here(stage, "moving")
    old = _none(stage, "old", group(_here(stage, "stays")), group(target))
    stage.ready(old)
    before = stage.there(target)
    stage.edit(old, cordoned=True, resources=[group(_here(stage, "stays"))])
    eventually(lambda: stage.condition(old, "Cordoned")["status"] == "True")
    new = _none(stage, "new", group(target))
    stage.ready(new)
    stage.edit(old, cordoned=False)
    moved = stage.becomes(target, lambda live: not held_by(old, live))
    assert (_uid(moved), held_by(new, moved)) == (_uid(before), "created")
    stage.ready(old)


def test_case_041_a_parent_is_renamed_by_orphaning_and_adopting(stage: Stage) -> None:
    """Case 41: deletion with Orphan leaves every object with its content and without our marks; the new name adopts them."""
    stage.manager()
    targets = [_here(stage, f"keep-{number}") for number in range(3)]
    old = _none(stage, "before", group(*targets))
    stage.ready(old)
    uids = {target["metadata"]["name"]: _uid(stage.there(target)) for target in targets}
    stage.edit(old, resources=[group(*targets, policy=ORPHAN)])
    stage.ready(old)
    stage.delete(old)
    for target in targets:
        live = stage.read(target)
        assert _uid(live) == uids[target["metadata"]["name"]]
        assert live["data"] == {"a": "1"}
        assert marks_on(live) == []
    new = _none(stage, "after", group(*targets, policy=MERGE))
    stage.ready(new)
    for target in targets:
        live = stage.read(target)
        assert (_uid(live), held_by(new, live)) == (uids[target["metadata"]["name"]], "adopted")


# Guards.


def test_case_043_targets_that_were_never_ours_do_not_widen_the_delete_budget(stage: Stage) -> None:
    """Case 43: the share is counted over what the parent holds, so foreign objects in the list do not let more go."""
    mine = [_here(stage, f"mine-{number}") for number in range(12)]
    foreign = [_here(stage, f"foreign-{number}") for number in range(13)]
    for manifest in foreign:
        stage.create(manifest)
    stage.manager()
    parent = _none(stage, "guarded", group(*mine), group(*foreign))
    stage.ready(parent, "False")
    for manifest in mine:
        stage.there(manifest)
    stage.edit(parent, resources=[group(*foreign)])
    blocked = eventually(lambda: stage.condition(parent, "PruneBlocked"))
    assert blocked["status"] == "True"
    assert blocked["message"].startswith("12 of 12 targets would be removed")
    assert len(managed(stage, stage.home)) == 12
    digest = blocked["message"].rpartition("=")[2]
    stage.api.merge_patch(parent, {"metadata": {"annotations": {"copyhold.dev/confirm-prune": digest}}}).expect(200)
    for manifest in mine:
        stage.gone(manifest)
    for manifest in foreign:
        assert stage.read(manifest)["data"] == {"a": "1"}


def test_case_044_a_removal_that_was_refused_is_still_tracked_and_done_later(stage: Stage) -> None:
    """Case 44: the record goes when the object does, not when it was asked to go."""
    stage.manager()
    account = stage.service_account("writer")
    rule = {"apiGroups": [""], "resources": ["configmaps"]}
    stage.grant(account, [rule | {"verbs": ["get", "list", "create", "patch", "update"]}], stage.home)
    identity = {"name": account.name, "namespace": account.namespace}
    kept, dropped = _here(stage, "kept"), _here(stage, "dropped")
    parent = _none(stage, "tracked", group(kept), group(dropped), serviceAccount=identity)
    stage.ready(parent)
    stage.edit(parent, resources=[group(kept)])
    condition = stage.ready(parent, "False")
    assert "pruning of 1 resources failed" in condition["message"]
    assert item(stage, parent, f"ConfigMap {stage.home}/dropped")["reason"] == "Forbidden"
    assert stage.read(dropped)["data"] == {"a": "1"}
    stage.grant(account, [rule | {"verbs": ["delete"]}], stage.home)
    stage.gone(dropped, timeout=35)
    stage.ready(parent)
    assert list(stage.items(parent)) == [f"ConfigMap {stage.home}/kept"]


@pytest.mark.slow
@pytest.mark.parametrize("carried_out", [False, True], ids=["before the write", "before its answer"])
def test_case_046_whatever_write_the_manager_dies_at_nothing_is_lost(stage: Stage, carried_out: bool) -> None:
    """Case 46: a finalizer and a record stand for every object that was made, and the next manager takes all of it back."""
    for last in range(1, 20):
        targets = [_here(stage, f"made-{last}-{number}") for number in range(2)]
        parent = _none(stage, f"mortal-{last}", group(*targets))
        if not _dies(stage, parent, last, carried_out=carried_out):
            break
        live = stage.read(parent)
        recorded = stage.items(parent)
        for target in targets:
            made = stage.api.get(target)
            if made.status == 200:
                assert "copyhold.dev/cleanup" in live["metadata"]["finalizers"]
                assert f"ConfigMap {stage.home}/{target['metadata']['name']}" in recorded
                assert held_by(parent, made.body) == "created"
        with stage.stopped_manager() as manager:
            stage.ready(parent)
            for target in targets:
                assert held_by(parent, stage.there(target)) == "created"
            stage.delete(parent)
            for target in targets:
                stage.gone(target)
            manager.idle()
    assert last > 4, "finalizer, record, two targets and the status are five writes"


@pytest.mark.slow
@pytest.mark.parametrize("carried_out", [False, True], ids=["before the write", "before its answer"])
def test_case_046_whatever_write_of_the_taking_down_the_manager_dies_at_the_next_one_finishes_it(
    stage: Stage, carried_out: bool
) -> None:
    """Case 46, the way back: the finalizer stays until the last object is gone."""
    for last in range(1, 20):
        targets = [_here(stage, f"unmade-{last}-{number}") for number in range(2)]
        parent = _none(stage, f"leaving-{last}", group(*targets))
        with stage.stopped_manager():
            stage.ready(parent)
        stage.api.delete(parent).expect(200)
        died = _dies(stage, parent, last, carried_out=carried_out)
        left = [target for target in targets if stage.api.get(target).status == 200]
        assert not left or stage.read(parent)["metadata"]["finalizers"] == ["copyhold.dev/cleanup"]
        if died:
            with stage.stopped_manager():
                stage.gone(parent)
        for target in targets:
            stage.gone(target)
        if not died:
            break
    assert last > 2, "two deletes and the finalizer are three writes"


def _dies(stage: Stage, parent: Manifest, last: int, *, carried_out: bool) -> bool:
    """Run a manager until its `last` write, or until the parent is through; True when it died."""
    mortals: list[Mortal] = []

    def wrap(cluster: Any) -> Mortal:
        mortals.append(Mortal(cluster, last, carried_out=carried_out))
        return mortals[-1]

    running = stage.stopped_manager()
    running.wrap = wrap

    def through() -> bool:
        reply = stage.api.get(parent)
        done = reply.status == 404 or any(
            one["type"] == "Ready" and one["status"] == "True" for one in reply.body.get("status", {}).get("conditions", [])
        )
        deleting = reply.status == 200 and "deletionTimestamp" in reply.body["metadata"]
        return mortals[0].dead.is_set() or (done and not deleting)

    with running:
        eventually(through)
    return mortals[0].dead.is_set()


def test_case_047_an_object_with_copied_marks_is_never_touched(stage: Stage) -> None:
    """Case 47: labels are for finding, only the field manager's entry proves; another controller may copy labels as it likes."""
    manager = stage.manager()
    target = _here(stage, "original")
    parent = _none(stage, "prolific", group(target, policy=OPEN))
    stage.ready(parent)
    original = stage.there(target)
    child = config_map("child", {"from": "a controller"}, stage.home)
    child["metadata"] |= {
        "labels": original["metadata"]["labels"],
        "annotations": original["metadata"]["annotations"],
    }
    before = stage.create(child)
    look_again(stage, manager, parent)
    stage.edit(parent, resources=[group(_here(stage, "another"), policy=OPEN)])
    stage.gone(target)
    stage.ready(parent)
    stage.delete(parent)
    after = stage.read(child)
    assert (_uid(after), after["metadata"]["resourceVersion"]) == (_uid(before), before["metadata"]["resourceVersion"])
    assert not [one for one in manager.sent if one.writes and one.path.endswith("/child")]


def test_case_049_targets_are_taken_back_in_the_reverse_of_the_order_in_which_they_were_made(stage: Stage) -> None:
    """Case 49: what others stand on is made first and removed last."""
    manager = stage.manager()
    account = ref("v1", "ServiceAccount", "worker", stage.home)
    role = ref(f"{RBAC}/v1", "Role", "worker", stage.home) | {"rules": []}
    binding = ref(f"{RBAC}/v1", "RoleBinding", "worker", stage.home) | {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "worker"},
        "subjects": [{"kind": "ServiceAccount", "name": "worker", "namespace": stage.home}],
    }
    settings = _here(stage, "worker")
    service = ref("v1", "Service", "worker", stage.home) | {"spec": {"ports": [{"port": 80}]}}
    wanted = ["serviceaccounts", "roles", "rolebindings", "configmaps", "services"]
    parent = _none(stage, "ordered", group(service, settings, binding, role, account))
    stage.ready(parent)
    assert _order(manager, "PATCH", 0) == wanted
    mark = len(manager.sent)
    stage.delete(parent)
    assert _order(manager, "DELETE", mark) == wanted[::-1]


def _order(manager: Running, method: str, mark: int) -> list[str]:
    return [one.path.split("/")[-2] for one in target_writes(manager.sent[mark:]) if one.method == method]


def test_case_050_a_parent_goes_although_what_its_template_reads_is_gone(stage: Stage) -> None:
    """Case 50: taking down needs memory alone; while the parent lives, the missing source holds what was made from it."""
    stage.manager()
    source = stage.create(config_map("source", {"a": "1"}, stage.home))
    read = {"index": "source", "apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "source"}
    context = {"resources": [read | {"optional": False}]}
    target = config_map("derived", {"a": "{{ context.source[0].data.a }}"}, stage.home)
    parent = _none(stage, "reader", group(target, context=context))
    stage.ready(parent)
    assert stage.there(target)["data"] == {"a": "1"}
    stage.api.delete(source).expect(200)
    condition = stage.ready(parent, "False")
    assert "ConfigMap " + f"{stage.home}/source is not there" in condition["message"]
    assert stage.read(target)["data"] == {"a": "1"}
    stage.delete(parent)
    stage.gone(target)


def test_case_052_a_source_that_bears_the_labels_of_another_tool_is_copied_and_cleaned_up(stage: Stage) -> None:
    """Case 52: our marks have keys of their own, so that managed-by of a source neither hides a copy nor is lost."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("a", tenant)
    labels = {"share": "yes", "app.kubernetes.io/managed-by": "Helm"}
    source = stage.create(config_map("source", {"a": "1"}, stage.home, labels=labels))
    stage.manager()
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "selector": {"matchLabels": {"share": "yes"}}}]
    parent = stage.global_resource("copier", group(namespacedItems=copies), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(parent)
    copy = stage.there(config_map("source", namespace=place))
    assert copy["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    stage.api.delete(source).expect(200)
    stage.gone(copy)
    stage.ready(parent)


def test_case_052_a_source_that_is_itself_a_target_gives_none_of_its_marks_to_the_copy(stage: Stage) -> None:
    """Case 52, our own labels on the source: the copy belongs to the copying parent alone."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("a", tenant)
    stage.manager()
    first = _none(stage, "maker", group(config_map("source", {"a": "1"}, stage.home, labels={"share": "yes"})))
    stage.ready(first)
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "selector": {"matchLabels": {"share": "yes"}}}]
    second = stage.global_resource("copier", group(namespacedItems=copies), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(second)
    copy = stage.there(config_map("source", namespace=place))
    assert (held_by(first, copy), held_by(second, copy)) == ("", "created")
    stage.delete(first)
    stage.gone(copy)
    stage.ready(second)


def test_case_053_a_delete_that_is_overtaken_by_a_new_object_of_the_same_name_spares_it(stage: Stage) -> None:
    """Case 53: every delete names the UID on which it was decided."""
    target = _here(stage, "raced")
    others: list[Manifest] = []

    def replace_it(name: str) -> None:
        if name == "raced" and not others:
            stage.api.delete(target).expect(200)
            others.append(stage.api.create(_here(stage, "raced", "somebody else's")).expect(201).body)

    running = stage.stopped_manager()
    running.wrap = lambda cluster: Overtaken(cluster, replace_it)
    stage.stack.enter_context(running)
    parent = _none(stage, "raced", group(target, policy=OPEN))
    stage.ready(parent)
    stage.there(target)
    stage.delete(parent)
    after = stage.read(target)
    assert len(others) == 1
    assert (_uid(after), after["data"]) == (_uid(others[0]), {"a": "somebody else's"})
    assert after["metadata"]["resourceVersion"] == others[0]["metadata"]["resourceVersion"]


@pytest.mark.parametrize("leaver", [0, 1], ids=["who made it leaves first", "who joined leaves first"])
def test_case_055_a_shared_target_stays_until_its_last_parent_leaves(stage: Stage, leaver: int) -> None:
    """Case 55: the marks count the owners; the last one removes the object, whoever made it."""
    manager = stage.manager()
    target = _here(stage, "shared")
    first = _none(stage, "first", group(target))
    stage.ready(first)
    before = stage.there(target)
    second = _none(stage, "second", group(target))
    stage.ready(second)
    leaving, staying = (first, second) if leaver == 0 else (second, first)
    stage.delete(leaving)
    after = stage.read(target)
    assert (_uid(after), after["data"]) == (_uid(before), {"a": "1"})
    assert (held_by(leaving, after), held_by(staying, after)) == ("", "created")
    manager.idle()
    stage.ready(staying)
    stage.delete(staying)
    stage.gone(target)


def test_case_056_one_object_in_two_versions_is_refused_with_the_names_of_both_sources(stage: Stage) -> None:
    """Case 56: the identity has no version, so two versions of one object are one object that is said twice."""
    install(stage, definition(stage, version("v1"), version("v2", storage=False)))
    manager = stage.manager()
    old, new = (widget(stage, "web", {"a": "b"}, stage.home, version=name) for name in ("v1", "v2"))
    parent = _none(stage, "twice", group(old, name="old"), group(new, name="new"))
    condition = stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "DuplicateTarget")
    assert "resources[0] (old) targets[0]" in condition["message"]
    assert "resources[1] (new) targets[0]" in condition["message"]
    assert "apiVersion" in condition["message"]
    stage.gone(old)
    assert target_writes(manager.sent) == []
    stage.edit(parent, resources=[group(new)])
    stage.ready(parent)
    stage.there(new)


def test_case_058_nothing_is_revived_while_a_parent_is_deleted_in_the_foreground(stage: Stage) -> None:
    """Case 58: a parent that is going is only taken down, whatever the propagation policy."""
    manager = stage.manager()
    targets = [_here(stage, f"child-{number}") for number in range(3)]
    parent = _none(stage, "foreground", group(*targets))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    stage.api.delete(parent, propagation="Foreground").expect(200)
    stage.gone(parent)
    for target in targets:
        stage.gone(target)
    manager.idle()
    assert sorted(one.method for one in target_writes(manager.sent[mark:])) == ["DELETE"] * 3


def test_case_058_a_copy_goes_once_with_its_source_that_is_deleted_in_the_foreground(stage: Stage) -> None:
    """Case 58, the source: while it is terminating its copy stays as it is, and then goes for good."""
    tenant = stage.tenant(plan=stage.mark)
    place = stage.namespace("a", tenant)
    source = stage.create(config_map("source", {"a": "1"}, stage.home, labels={"share": "yes"}, finalizers=["tests/slow"]))
    manager = stage.manager()
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "selector": {"matchLabels": {"share": "yes"}}}]
    parent = stage.global_resource("copier", group(namespacedItems=copies), tenantSelector={"matchLabels": {"plan": stage.mark}})
    stage.ready(parent)
    copy = stage.there(config_map("source", namespace=place))
    manager.idle()
    mark = len(manager.sent)
    with stage.api.watch("v1", "ConfigMap", place, resourceVersion=copy["metadata"]["resourceVersion"], timeout=20) as events:
        stage.api.delete(source, propagation="Foreground").expect(200)
        look_again(stage, manager, parent)
        assert _uid(stage.read(copy)) == _uid(copy)
        stage.api.merge_patch(source, {"metadata": {"finalizers": None}}).expect(200)
        assert next(events).type == "DELETED"
    look_again(stage, manager, parent)
    stage.gone(copy)
    assert [one.method for one in target_writes(manager.sent[mark:])] == ["DELETE"]


def test_case_059_no_target_ever_gets_an_owner_reference(stage: Stage) -> None:
    """Case 59: the garbage collector has no say in what is ours: targets and records bear no owner references at all."""
    tenant = stage.tenant(plan=stage.mark)
    places = [stage.namespace(word, tenant) for word in ("a", "b")]
    account = stage.service_account("default", places[0])
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}])
    manager = stage.manager()
    wide = stage.global_resource(
        "wide", group(config_map("wide", {"a": "1"})), tenantSelector={"matchLabels": {"plan": stage.mark}}
    )
    text = "{% for n in range(120) %}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-{{ n }}}\n---\n{% endfor %}"
    local = stage.tenant_resource("local", places[0], group(template=text))
    stage.ready(wide), stage.ready(local, timeout=40)
    manager.idle()
    objects = [one for place in places for one in managed(stage, place)]
    assert len(objects) == 2 + 240
    records = stage.api.list("copyhold.dev/v1alpha1", "TargetRecord", labelSelector=f"copyhold.dev/record-of={_uid(local)}").body[
        "items"
    ]
    assert records
    assert [one["metadata"]["name"] for one in objects + records if one["metadata"].get("ownerReferences")] == []


def test_case_061_a_parent_whose_account_became_weaker_is_taken_down_as_the_one_that_applied(stage: Stage) -> None:
    """Case 61: each record says as whom the target was written, and that account is tried where the present one may not."""
    stage.manager()
    weak = stage.service_account("weak")
    target = _here(stage, "strong")
    parent = _none(stage, "weakened", group(target))
    stage.ready(parent)
    stage.edit(parent, serviceAccount={"name": weak.name, "namespace": weak.namespace})
    stage.ready(parent, "False")
    assert item(stage, parent, f"ConfigMap {stage.home}/strong")["reason"] == "Forbidden"
    assert stage.read(target)["data"] == {"a": "1"}
    stage.delete(parent)
    stage.gone(target)


def test_case_062_a_parent_that_is_deleted_while_no_manager_runs_goes_when_one_does(stage: Stage) -> None:
    """Case 62: the finalizer keeps the promise across an outage, and the message of a missing right says what to do."""
    manager = stage.manager()
    target = _here(stage, "waiting")
    account = stage.service_account("writer")
    identity = {"name": account.name, "namespace": account.namespace}
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], stage.home)
    parent = _none(stage, "uninstalled", group(target), serviceAccount=identity)
    stage.ready(parent)
    manager.stop()
    stage.api.delete(parent).expect(200)
    bindings = stage.api.list(f"{RBAC}/v1", "RoleBinding", stage.home).body["items"]
    for binding in bindings:
        stage.api.delete(ref(f"{RBAC}/v1", "RoleBinding", binding["metadata"]["name"], stage.home)).expect(200)
    manager.start()
    refused = f"ConfigMap {stage.home}/waiting"
    eventually(lambda: item(stage, parent, refused)["reason"] == "Forbidden")
    assert account.user in item(stage, parent, refused)["message"]
    assert stage.read(target)["data"] == {"a": "1"}
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], stage.home)
    stage.gone(parent, timeout=35)
    stage.gone(target)


def test_case_064_one_group_is_cleaned_up_while_the_rest_is_kept(stage: Stage) -> None:
    """Case 64: `deletion` is said per group, and a group may hold a single target."""
    stage.manager()
    kept, wrong = _here(stage, "kept"), _here(stage, "wrong")
    parent = _none(stage, "mixed", group(kept, policy=ORPHAN), group(wrong, policy=ORPHAN))
    stage.ready(parent)
    before = stage.there(kept)
    stage.edit(parent, resources=[group(kept, policy=ORPHAN), group(wrong)])
    stage.ready(parent)
    stage.edit(parent, resources=[group(kept, policy=ORPHAN)])
    stage.gone(wrong)
    stage.delete(parent)
    after = stage.read(kept)
    assert (_uid(after), after["data"], marks_on(after)) == (_uid(before), {"a": "1"}, [])
