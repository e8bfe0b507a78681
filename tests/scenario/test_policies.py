"""A policy for each group, and how its targets are given back (10.3.1, 5, 6, 8, 11).

Of the acceptance list 10.3, `test_conditions.py` keeps 3, 4, 9, 12 and 13, and `test_protection.py` keeps 2 and 10. Left out:
the migration of old-style specs in 1 (that API is not ours: the field never existed), 7 (permits have tests of their own), 14
(our Tenant has no rules about metadata) and 15 (compiled conditions are a cache inside of processes that hold nothing else, and
there is no command that resets it).

Where our words differ: the marks travel inside the payload of the parent, so there is no lifecycle manager beside it (11).
"""

import pytest

from apis.problems import Unavailable
from tests.support.api import Manifest, eventually, ref
from tests.support.faults import Call, Fault, Faulty, fail
from tests.support.marks import hold_of, holders, manager_of, marks, owns
from tests.support.stage import Stage, config_map, group

ORPHAN = {"deletion": "Orphan"}
MERGE = {"creation": "Merge"}
PROTECTED = "copyhold.dev/protected"


def once(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource whose groups are rendered once."""
    return stage.global_resource(word, *groups, scope="None", **spec)


def here(stage: Stage, name: str, **data: str) -> Manifest:
    """A ConfigMap in the namespace of the stage."""
    return config_map(name, dict(data), stage.home)


def test_each_group_has_its_own_policy(stage: Stage) -> None:
    """10.3.1: groups of one parent are created, adopted, protected, held by a condition and given back each by its own policy."""
    adopted = stage.create(here(stage, "adopted", theirs="1"))
    foreign = stage.create(here(stage, "foreign", theirs="1"))
    manager = stage.manager()
    parent = once(
        stage,
        "mixed",
        group(here(stage, "plain", ours="1")),
        group(here(stage, "open", ours="1"), policy={"protect": False, "deletion": "Orphan"}),
        group(here(stage, "adopted", ours="1"), policy=MERGE),
        group(here(stage, "foreign", ours="1")),
        group(here(stage, "held", ours="1"), policy={"condition": "object != null"}),
    )
    ready = stage.ready(parent, "False")
    assert "applying of 1 resources failed" in ready["message"]
    items = {name.rpartition("/")[2]: item["status"] for name, item in stage.items(parent).items()}
    assert {name: (item["status"], item["reason"], item.get("created", False)) for name, item in items.items()} == {
        "plain": ("True", "Succeeded", True),
        "open": ("True", "Succeeded", True),
        "adopted": ("True", "Succeeded", False),
        "foreign": ("False", "Foreign", False),
        "held": ("True", "ConditionNotMet", False),
    }
    assert items["held"]["message"] == "ConditionNotMet: apply skipped"
    assert "lastApply" not in items["held"]
    assert items["open"]["policy"] == {"creation": "Owner", "protect": False, "force": False, "deletion": "Orphan"}
    assert items["adopted"]["policy"] == {"creation": "Merge", "protect": True, "force": False, "deletion": "Remove"}
    for name, protected in (("plain", True), ("open", False), ("adopted", True)):
        assert (PROTECTED in stage.read(here(stage, name))["metadata"]["labels"]) is protected
    assert stage.read(foreign) == foreign
    assert stage.api.get(here(stage, "held")).status == 404
    manager.idle()
    stage.delete(parent)
    assert stage.api.get(here(stage, "plain")).status == 404
    left = stage.read(here(stage, "open"))
    assert (left["data"], marks(left)) == ({"ours": "1"}, set())
    returned = stage.read(adopted)
    assert (returned["data"], marks(returned)) == ({"theirs": "1"}, set())
    assert stage.read(foreign) == foreign


@pytest.mark.parametrize("whole", [pytest.param(False, id="the group goes"), pytest.param(True, id="the parent goes")])
def test_what_is_created_or_adopted_is_removed_or_orphaned(stage: Stage, whole: bool) -> None:
    """10.3.5: by the policy in memory; Orphan leaves the content and drops marks and record, Remove deletes or gives back."""
    before = {name: stage.create(here(stage, name, theirs="1")) for name in ("adopted-remove", "adopted-orphan")}
    stage.manager()
    groups = [
        group(here(stage, "created-remove", ours="1")),
        group(here(stage, "created-orphan", ours="1"), policy=ORPHAN),
        group(here(stage, "adopted-remove", ours="1"), policy=MERGE),
        group(here(stage, "adopted-orphan", ours="1"), policy={**MERGE, **ORPHAN}),
    ]
    stays = group(here(stage, "stays", ours="1"))
    parent = once(stage, "goes", *groups, stays)
    stage.ready(parent)
    orphan = stage.read(here(stage, "created-orphan"))
    if whole:
        stage.delete(parent)
    else:
        stage.edit(parent, resources=[stays])
        stage.ready(parent)
        assert set(stage.items(parent)) == {f"ConfigMap {stage.home}/stays"}
    assert stage.api.get(here(stage, "created-remove")).status == 404
    after = {name: stage.read(here(stage, name)) for name in ("created-orphan", "adopted-remove", "adopted-orphan")}
    assert {name: live["data"] for name, live in after.items()} == {
        "created-orphan": {"ours": "1"},
        "adopted-remove": {"theirs": "1"},
        "adopted-orphan": {"theirs": "1", "ours": "1"},
    }
    for name, live in after.items():
        assert live["metadata"]["uid"] == before.get(name, orphan)["metadata"]["uid"]
        assert marks(live) == set()
        assert holders(live) == set()


def test_an_orphan_is_free_and_belongs_to_nobody(stage: Stage) -> None:
    """10.3.5: an ordinary user edits and deletes it, and for the next parent under Owner it is Foreign."""
    stage.manager()
    parent = once(stage, "leaves", group(here(stage, "x", ours="1"), policy=ORPHAN))
    stage.ready(parent)
    stage.delete(parent)
    rights = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "delete"]}]
    stage.grant_user(stage.name("alice"), rights, stage.home)
    alice = stage.api.as_user(stage.name("alice"))
    alice.merge_patch(here(stage, "x"), {"data": {"hers": "1"}}).expect(200)
    second = once(stage, "second", group(here(stage, "x", ours="1")))
    stage.ready(second, "False")
    assert stage.items(second)[f"ConfigMap {stage.home}/x"]["status"]["reason"] == "Foreign"
    alice.delete(here(stage, "x")).expect(200)
    stage.ready(second)


@pytest.mark.parametrize("deletion", ["Remove", "Orphan"])
def test_the_last_of_two_parents_takes_the_shared_marks_along(stage: Stage, deletion: str) -> None:
    """10.3.6: while a cordoned parent holds an adopted object, the other one's end leaves protection; its own end strips it."""
    foreign = stage.create(here(stage, "x", theirs="1"))
    stage.manager()
    policy = {**MERGE, "deletion": deletion}
    first = once(stage, "first", group(here(stage, "x", a="1"), policy=policy))
    second = once(stage, "second", group(here(stage, "x", b="2"), policy=policy))
    stage.ready(first)
    stage.ready(second)
    stage.edit(first, cordoned=True)
    eventually(lambda: stage.condition(first, "Cordoned")["status"] == "True")
    stage.delete(second)
    left = stage.read(foreign)
    gone = f"/{second['metadata']['uid']}"
    assert left["metadata"]["labels"]["copyhold.dev/managed"] == "true"
    assert left["metadata"]["labels"][PROTECTED] == "true"
    assert hold_of(left, first) == "adopted"
    assert [mark for mark in marks(left) if mark.endswith(gone)] == []
    assert holders(left) == {manager_of(first)}
    assert left["data"] == {"theirs": "1", "a": "1", **({"b": "2"} if deletion == "Orphan" else {})}
    stage.api.as_user("alice", groups=["system:masters"]).merge_patch(left, {"data": {"x": "1"}}).expect(403)
    stage.edit(first, cordoned=False)
    stage.ready(first)
    stage.delete(first)
    last = stage.read(foreign)
    assert marks(last) == set()
    assert holders(last) == set()
    assert last["data"] == ({"theirs": "1"} if deletion == "Remove" else {"theirs": "1", "a": "1", "b": "2"})
    assert last["metadata"]["uid"] == foreign["metadata"]["uid"]


def test_protection_goes_with_the_last_parent_that_protects(stage: Stage) -> None:
    """10.3.6: when the protecting parent leaves, the other one's marks stay and the object is open."""
    stage.manager()
    open_ = once(stage, "open", group(here(stage, "x", a="1"), policy={"protect": False}))
    stage.ready(open_)
    for deletion in ("Remove", "Orphan"):
        guard = once(stage, f"guard-{deletion.lower()}", group(here(stage, "x", b="2"), policy={"deletion": deletion}))
        stage.ready(guard)
        live = stage.read(here(stage, "x"))
        assert live["metadata"]["labels"][PROTECTED] == "true"
        stage.api.merge_patch(live, {"data": {"c": deletion}}).expect(403)
        stage.delete(guard)
        left = stage.read(here(stage, "x"))
        assert left["metadata"]["uid"] == live["metadata"]["uid"]
        uid = open_["metadata"]["uid"]
        assert marks(left) == {"copyhold.dev/managed", f"parent.copyhold.dev/{uid}", f"service-account.copyhold.dev/{uid}"}
        stage.api.merge_patch(live, {"data": {"c": deletion}}).expect(200)


def refuse_bad(stage: Stage) -> None:
    """An admission policy that refuses ConfigMaps of this stage with a key `bad`."""
    api = "admissionregistration.k8s.io/v1"
    name = stage.name("no-bad")
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}
    match = {
        "resourceRules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": stage.home}},
    }
    check = {"expression": "!('bad' in object.?data.orValue({}))", "message": "bad is not welcome"}
    stage.create(ref(api, "ValidatingAdmissionPolicy", name) | {"spec": {"matchConstraints": match, "validations": [check]}})
    binding = {"policyName": name, "validationActions": ["Deny"]}
    stage.create(ref(api, "ValidatingAdmissionPolicyBinding", name) | {"spec": binding})
    eventually(lambda: stage.api.create(here(stage, "probe", bad="1"), dryRun="All").status == 422)


def test_a_change_that_is_refused_does_not_change_the_policy_in_memory(stage: Stage) -> None:
    """10.3.8: after a refused apply the item keeps the policy of the last success; on a first apply it has the new one."""
    refuse_bad(stage)
    stage.manager()
    parent = once(stage, "refused", group(here(stage, "x", good="1")))
    stage.ready(parent)
    applied = stage.items(parent)[f"ConfigMap {stage.home}/x"]["status"]["lastApply"]
    stage.edit(parent, resources=[group(here(stage, "x", bad="1"), here(stage, "y", bad="1"), policy=ORPHAN)])
    ready = stage.ready(parent, "False")
    assert "bad is not welcome" in ready["message"]
    items = {name.rpartition("/")[2]: item["status"] for name, item in stage.items(parent).items()}
    for name in ("x", "y"):
        assert (items[name]["status"], items[name]["reason"]) == ("False", "Refused")
    assert items["x"]["policy"]["deletion"] == "Remove"
    assert items["x"]["lastApply"] == applied
    assert items["y"]["policy"]["deletion"] == "Orphan"
    assert "lastApply" not in items["y"]
    assert stage.read(here(stage, "x"))["data"] == {"good": "1"}
    stage.delete(parent)
    assert stage.api.get(here(stage, "x")).status == 404


def test_content_and_marks_belong_to_the_manager_of_the_parent(stage: Stage) -> None:
    """10.3.11: one field manager per parent owns content and marks alike; there is no second one for the marks."""
    stage.manager()
    parent = once(stage, "owns", group(here(stage, "x", a="1")))
    stage.ready(parent)
    live = stage.read(here(stage, "x"))
    mine, uid = manager_of(parent), parent["metadata"]["uid"]
    assert [(entry["manager"], entry["operation"]) for entry in live["metadata"]["managedFields"]] == [(mine, "Apply")]
    for place, keys in (
        ("labels", ("copyhold.dev/managed", PROTECTED, f"parent.copyhold.dev/{uid}")),
        ("annotations", (f"service-account.copyhold.dev/{uid}", f"target.copyhold.dev/{uid}")),
    ):
        assert set(live["metadata"][place]) == set(keys)
        assert all(owns(live, mine, "metadata", place, key) for key in keys)
    assert owns(live, mine, "data", "a")
    assert live["metadata"]["annotations"][f"service-account.copyhold.dev/{uid}"] == stage.account.user
    assert live["metadata"]["annotations"][f"target.copyhold.dev/{uid}"] == "ConfigMap./x"


DEPLOYMENT = {
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        },
    }
}


def test_a_release_that_would_leave_something_invalid_becomes_an_orphan(stage: Stage) -> None:
    """10.3.5: an adopted Deployment whose selector only we own stays as it is (422 on giving it back), and its marks go."""
    web = ref("apps/v1", "Deployment", "web", stage.home) | DEPLOYMENT
    foreign = stage.api.apply(web, manager="theirs").expect(201).body
    stage.manager()
    parent = once(stage, "adopts", group(web, policy=MERGE))
    stage.ready(parent)
    stage.api.apply(ref("apps/v1", "Deployment", "web", stage.home), manager="theirs").expect(200)
    assert hold_of(stage.read(web), parent) == "adopted"
    stage.delete(parent)
    left = stage.read(web)
    assert left["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert left["spec"]["selector"] == DEPLOYMENT["spec"]["selector"]
    assert left["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:1"
    assert marks(left) == set()
    assert holders(left) == set()


def test_whoever_of_two_relatives_leaves_last_removes(stage: Stage) -> None:
    """10.3.5: also when the first creator left long ago: the joiner counts as a creator too."""
    manager = stage.manager()
    first = once(stage, "first", group(here(stage, "x", a="1")))
    stage.ready(first)
    second = once(stage, "second", group(here(stage, "x", a="1")))
    stage.ready(second)
    live = stage.read(here(stage, "x"))
    stage.delete(first)
    left = stage.read(here(stage, "x"))
    assert (left["metadata"]["uid"], left["data"]) == (live["metadata"]["uid"], {"a": "1"})
    manager.restart()
    stage.delete(second)
    assert stage.api.get(here(stage, "x")).status == 404


def test_two_relatives_that_leave_at_once_leave_nothing(stage: Stage) -> None:
    """10.3.5: leaving carries the resourceVersion on which it was decided, so never do both believe that the other one stays."""
    stage.manager(workers=4)
    names = [f"x{number}" for number in range(6)]
    parents = [once(stage, word, group(*(here(stage, name, a="1") for name in names))) for word in ("one", "two", "three")]
    for parent in parents:
        stage.ready(parent)
    for name in names:
        assert holders(stage.read(here(stage, name))) == {manager_of(parent) for parent in parents}
    for parent in parents:
        stage.api.delete(parent).expect(200)
    for parent in parents:
        stage.gone(parent)
    assert [name for name in names if stage.api.get(here(stage, name)).status != 404] == []


def test_deletion_switched_in_the_spec_decides_how_a_target_is_given_back(stage: Stage) -> None:
    """10.3.5: an edit from Remove to Orphan reaches memory with the next pass, without another write to the target."""
    manager = stage.manager()
    parent = once(stage, "turns", group(here(stage, "x", a="1")))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(here(stage, "x", a="1"), policy=ORPHAN)])
    stage.ready(parent)
    eventually(lambda: stage.items(parent)[f"ConfigMap {stage.home}/x"]["status"]["policy"]["deletion"] == "Orphan")
    assert [sent for sent in manager.writes_since(mark) if "configmaps" in sent.path] == []
    stage.delete(parent)
    left = stage.read(here(stage, "x"))
    assert (left["data"], marks(left)) == ({"a": "1"}, set())


def test_a_target_that_cannot_be_looked_at_is_looked_at_again(stage: Stage) -> None:
    """10.3.5: at the end of a parent a read that fails is no absence and no reason to wait for ever: it is tried again soon."""
    manager = stage.manager()
    parent = once(stage, "ends", group(here(stage, "x", a="1"), policy={"protect": False}))
    stage.ready(parent)
    manager.stop()
    stage.api.delete(here(stage, "x")).expect(200)
    stage.api.delete(parent).expect(200)
    reads: list[str] = []

    def judge(call: Call) -> Fault | None:
        if call.verb != "get" or call.name != "x":
            return None
        reads.append(call.verb)
        return fail(Unavailable("nobody answers")) if len(reads) < 3 else None

    manager.wrap = lambda cluster: Faulty(cluster, judge)
    manager.start()
    stage.gone(parent)
    assert len(reads) == 3
