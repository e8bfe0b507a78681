"""Who may do what to a held object, asked of a real API server."""

import re
from collections.abc import Callable
from functools import partial

import pytest

from apis.meta import ACCOUNT_PREFIX, MANAGED, PARENT_EXTRA, PARENT_PREFIX, PROTECTED, TARGET_PREFIX
from manager.admission.protection import NAME, protection
from tests.manager.admission.bench import Bench, field_manager, title, with_marks, with_metadata
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.policies import refused

Attack = Callable[[Api, Manifest], Reply]


@pytest.fixture(scope="module")
def settings(bench: Bench) -> Manifest:
    """A held ConfigMap that every attack is tried on; a refused attack leaves it as it was."""
    return bench.held(bench.object("settings", data={"colour": "blue"}), parent="f00d")


def _uid(thing: Manifest) -> str:
    annotations: dict[str, str] = thing["metadata"]["annotations"]
    return next(key.removeprefix(TARGET_PREFIX) for key in annotations if key.startswith(TARGET_PREFIX))


def _gone(api: Api, thing: Manifest) -> bool:
    return api.get(thing).status == 404


def _metadata(**fields: object) -> Manifest:
    return {"metadata": fields}


def _entry(thing: Manifest) -> int:
    return next(i for i, entry in enumerate(thing["metadata"]["managedFields"]) if entry["manager"].startswith("copyhold.dev/"))


def _replace_without_marks(api: Api, thing: Manifest) -> Reply:
    bare = {key: value for key, value in thing["metadata"].items() if key not in ("labels", "annotations", "managedFields")}
    return api.replace(thing | {"metadata": bare})


def _delete_collection(api: Api, thing: Manifest) -> Reply:
    return api.delete_all(
        thing["apiVersion"],
        thing["kind"],
        thing["metadata"]["namespace"],
        fieldSelector=f"metadata.name={thing['metadata']['name']}",
    )


def _apply_as(manager: str) -> Attack:
    return lambda api, thing: api.apply(
        ref(thing["apiVersion"], thing["kind"], thing["metadata"]["name"], thing["metadata"]["namespace"])
        | {"data": {"colour": "red"}},
        manager=manager,
        force=True,
    )


ATTACKS: dict[str, Attack] = {
    "edit a value": lambda api, it: api.merge_patch(it, {"data": {"colour": "red"}}),
    "add a value": lambda api, it: api.merge_patch(it, {"data": {"shape": "round"}}),
    "add a field": lambda api, it: api.merge_patch(it, {"immutable": True}),
    "add a label": lambda api, it: api.merge_patch(it, _metadata(labels={"mine": "yes"})),
    "add an annotation": lambda api, it: api.merge_patch(it, _metadata(annotations={"mine": "yes"})),
    "take the protected label off": lambda api, it: api.merge_patch(it, _metadata(labels={PROTECTED: None})),
    "change the protected label": lambda api, it: api.merge_patch(it, _metadata(labels={PROTECTED: "false"})),
    "take all labels off": lambda api, it: api.merge_patch(it, _metadata(labels=None)),
    "take the target annotation off": lambda api, it: api.merge_patch(
        it, _metadata(annotations={f"{TARGET_PREFIX}{_uid(it)}": None})
    ),
    "name another kind in the target annotation": lambda api, it: api.merge_patch(
        it, _metadata(annotations={f"{TARGET_PREFIX}{_uid(it)}": f"Secret./{it['metadata']['name']}"})
    ),
    "name another object in the target annotation": lambda api, it: api.merge_patch(
        it, _metadata(annotations={f"{TARGET_PREFIX}{_uid(it)}": "ConfigMap./another"})
    ),
    "take the label off and change the annotation at once": lambda api, it: api.merge_patch(
        it, _metadata(labels={PROTECTED: None}, annotations={f"{TARGET_PREFIX}{_uid(it)}": "ConfigMap./another"})
    ),
    "take all marks off at once": lambda api, it: api.merge_patch(it, _metadata(labels=None, annotations=None)),
    "replace it by one without marks": _replace_without_marks,
    "name oneself in the parent's account annotation": lambda api, it: api.merge_patch(
        it, _metadata(annotations={f"{ACCOUNT_PREFIX}{_uid(it)}": "system:serviceaccount:x:other"})
    ),
    "name oneself in a new account annotation": lambda api, it: api.merge_patch(
        it, _metadata(annotations={f"{ACCOUNT_PREFIX}new": "x", f"{TARGET_PREFIX}new": title(it)})
    ),
    "wipe managedFields": lambda api, it: api.merge_patch(it, _metadata(managedFields=[{}])),
    "empty managedFields": lambda api, it: api.json_patch(
        it, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    ),
    "remove our managedFields entry": lambda api, it: api.json_patch(
        it, [{"op": "remove", "path": f"/metadata/managedFields/{_entry(it)}"}]
    ),
    "rename the manager of our entry": lambda api, it: api.json_patch(
        it, [{"op": "replace", "path": f"/metadata/managedFields/{_entry(it)}/manager", "value": "kubectl"}]
    ),
    "shrink the fields of our entry": lambda api, it: api.json_patch(
        it, [{"op": "replace", "path": f"/metadata/managedFields/{_entry(it)}/fieldsV1", "value": {"f:data": {}}}]
    ),
    "apply by force": _apply_as("kubectl"),
    "apply by force under our manager's name": lambda api, it: _apply_as(field_manager(_uid(it)))(api, it),
    "apply the same value under a manager's name like ours": lambda api, it: api.apply(
        ref("v1", "ConfigMap", it["metadata"]["name"], it["metadata"]["namespace"]) | {"data": it["data"]},
        manager=field_manager("other"),
    ),
    "delete": lambda api, it: api.delete(it),
    "delete in the foreground": lambda api, it: api.delete(it, propagation="Foreground"),
    "delete the collection": _delete_collection,
}


@pytest.mark.parametrize("who", ["user", "admin", "other"])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nobody_else_changes_or_deletes_a_held_object(bench: Bench, settings: Manifest, attack: Attack, who: str) -> None:
    """A user, an administrator and an account that is not named are refused, and the object stays as it was."""
    actor: Api = getattr(bench, who)
    refused(attack(actor, settings), NAME)
    assert bench.admin.get(settings).expect(200).body == settings


def test_a_refusal_names_object_parent_and_remedy(bench: Bench, settings: Manifest) -> None:
    """Whoever is refused reads which object it was, which parent holds it, and what to do."""
    message = refused(bench.user.delete(settings), NAME)
    assert message.partition("request: ")[2] == (
        f"ConfigMap settings in namespace {bench.namespace} is held by tenantresource/f00d: change or delete "
        f"that parent, or free the object with: copyhold release ConfigMap settings --namespace {bench.namespace}"
    )


def test_a_refusal_names_every_parent(bench: Bench) -> None:
    """An object that two parents hold is refused in the name of both, and of no other."""
    thing = bench.object(data={"a": "1"})
    bench.held(thing, parent="one")
    bench.held(thing, parent="two")
    bench.manager("three").apply(bench.object(thing["metadata"]["name"], data={"b": "1"}), manager=field_manager("three"))
    message = refused(bench.user.delete(thing), NAME)
    holders = message.partition(" is held by ")[2].partition(":")[0].split(", ")
    assert sorted(holders) == ["tenantresource/one", "tenantresource/two"]


def test_a_parent_that_left_no_entry_is_named_by_its_uid(bench: Bench) -> None:
    """A system component may have wiped managedFields; the object stays held, and the mark still tells by whom."""
    thing = bench.held(bench.object(data={"a": "1"}), parent="f00d")
    component = bench.admin.as_user("system:kube-controller-manager", groups=["system:masters"])
    component.merge_patch(thing, _metadata(managedFields=[{}])).expect(200)
    assert " is held by f00d: " in refused(bench.user.delete(thing), NAME)


PASSES: dict[str, Attack] = {
    "add a finalizer": lambda api, it: api.merge_patch(it, _metadata(finalizers=["example.com/wait"])),
    "remove a finalizer": lambda api, it: api.merge_patch(it, _metadata(finalizers=None)),
    "add an owner reference": lambda api, it: api.merge_patch(
        it, _metadata(ownerReferences=[_owner(api.get(ref("v1", "Namespace", it["metadata"]["namespace"])).body)])
    ),
    "remove an owner reference": lambda api, it: api.merge_patch(it, _metadata(ownerReferences=None)),
    "apply the same value": lambda api, it: api.apply(
        ref("v1", "ConfigMap", it["metadata"]["name"], it["metadata"]["namespace"]) | {"data": it["data"]}
    ),
    "write it back unchanged": lambda api, it: api.replace(api.get(it).body),
}


def _owner(thing: Manifest) -> Manifest:
    names = {key: thing["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": thing["apiVersion"], "kind": thing["kind"]} | names


def test_finalizers_and_owner_references_are_anybodys(bench: Bench) -> None:
    """What leaves labels, annotations, content and our managedFields entries as they were passes."""
    thing = bench.held(bench.object(data={"a": "1"}))
    for name, edit in PASSES.items():
        assert edit(bench.user, thing).status == 200, name


def test_a_change_beside_a_finalizer_is_seen(bench: Bench, settings: Manifest) -> None:
    """A finalizer does not carry another change through."""
    patch = {"metadata": {"finalizers": ["example.com/wait"]}, "data": {"colour": "red"}}
    refused(bench.user.merge_patch(settings, patch), NAME)


def test_a_big_object_may_get_a_finalizer(bench: Bench) -> None:
    """Comparing 900 KB of content stays within the cost that the server allows a policy."""
    thing = bench.held(bench.object(data={f"key-{i}": "x" * 900 for i in range(1000)}))
    bench.user.merge_patch(thing, _metadata(finalizers=["example.com/wait"])).expect(200)
    bench.user.merge_patch(thing, _metadata(finalizers=None)).expect(200)
    refused(bench.user.merge_patch(thing, {"data": {"key-999": "y"}}), NAME)


def test_a_held_object_is_created_with_the_extra(bench: Bench) -> None:
    """The named account creates a held object when the manager sends the request."""
    assert bench.hold(bench.object(data={"a": "1"}), fresh("uid")).status == 201


@pytest.mark.parametrize("who", ["account", "user", "admin"])
def test_a_held_object_is_not_created_without_the_extra(bench: Bench, who: str) -> None:
    """Nobody else creates one, not the account that it names either."""
    actor: Api = getattr(bench, who)
    thing = with_marks(bench.object(), fresh("uid"), bench.named)
    message = refused(actor.create(thing), NAME)
    assert f"ConfigMap {thing['metadata']['name']} in namespace {bench.namespace} bears the marks" in message
    refused(actor.apply(thing), NAME)


def test_marks_that_name_their_author_are_refused(bench: Bench) -> None:
    """A user who puts herself down as the account gains nothing."""
    refused(bench.user.create(with_marks(bench.object(), fresh("uid"), bench.person)), NAME)


def test_a_generated_name_is_no_way_around(bench: Bench) -> None:
    """The name that the server generates is the one that is compared."""
    thing = with_marks(bench.object("thing-"), "gen", bench.named)
    thing["metadata"]["generateName"] = thing["metadata"].pop("name")
    path = f"/api/v1/namespaces/{bench.namespace}/configmaps"
    # The author cannot know the name, so the marks mean nothing and the object is free.
    made = bench.user.request("POST", path, thing).expect(201).body
    bench.user.delete(made).expect(200)


@pytest.mark.parametrize("copied", ["ConfigMap./another", "Secret./{name}", "ConfigMap.apps/{name}", "{name}", ""])
def test_marks_that_mean_another_object_bind_nobody(bench: Bench, copied: str) -> None:
    """Labels and annotations that a controller copied elsewhere leave the copy free: create, edit, delete."""
    thing = with_marks(bench.object(), "away", bench.named)
    thing["metadata"]["annotations"][f"{TARGET_PREFIX}away"] = copied.format(name=thing["metadata"]["name"])
    bench.user.create(thing).expect(201)
    bench.user.merge_patch(thing, {"data": {"a": "1"}}).expect(200)
    bench.user.delete(thing).expect(200)


@pytest.mark.parametrize(
    "edit",
    [
        lambda api, it: api.merge_patch(it, {"data": {"a": "2"}}),
        lambda api, it: api.merge_patch(it, _metadata(labels={"mine": "yes"})),
        lambda api, it: api.delete(it),
    ],
    ids=["data", "labels", "delete"],
)
def test_the_named_account_writes_without_the_extra(bench: Bench, edit: Attack) -> None:
    """The ServiceAccount that the object names may change and delete it by itself."""
    edit(bench.account, bench.held(bench.object(data={"a": "1"}))).expect(200)


def test_an_account_that_only_the_new_object_names_is_refused(bench: Bench, settings: Manifest) -> None:
    """Who writes oneself into the marks is judged by the marks that were there before."""
    annotations = {f"{ACCOUNT_PREFIX}new": bench.unnamed, f"{TARGET_PREFIX}new": title(settings)}
    refused(bench.other.merge_patch(settings, _metadata(annotations=annotations)), NAME)


def test_a_user_whose_name_is_in_the_marks_is_no_account(bench: Bench) -> None:
    """Only ServiceAccounts count, though an annotation may hold any text."""
    thing = bench.object(data={"a": "1"})
    bench.hold(with_metadata(thing, {}, {}), "person").expect(201)
    marks = with_marks(thing, "person", bench.person)
    bench.manager("person").apply(marks, manager=field_manager("person"), force=True).expect(200)
    refused(bench.user.delete(thing), NAME)


def test_another_account_joins(bench: Bench) -> None:
    """A second parent with another account applies its own marks beside the first one's."""
    thing = bench.object(data={"a": "1"})
    bench.held(thing, parent="first")
    bench.hold(thing, "second", bench.unnamed).expect(200)
    bench.other.merge_patch(thing, {"data": {"a": "2"}}).expect(200)
    bench.account.merge_patch(thing, {"data": {"a": "3"}}).expect(200)


def test_an_unprotecting_parents_account_is_not_named(bench: Bench) -> None:
    """An account annotation without the target annotation of the same parent opens nothing; with the extra it does."""
    thing = bench.held(bench.object(data={"a": "1"}), parent="strict")
    mild = with_metadata(
        bench.object(thing["metadata"]["name"], data={"b": "1"}),
        {MANAGED: "true", f"{PARENT_PREFIX}mild": "adopted"},
        {f"{ACCOUNT_PREFIX}mild": bench.unnamed},
    )
    bench.manager("mild", bench.unnamed).apply(mild, manager=field_manager("mild")).expect(200)
    refused(bench.other.merge_patch(thing, {"data": {"a": "2"}}), NAME)
    mild["data"]["b"] = "2"
    bench.manager("mild", bench.unnamed).apply(mild, manager=field_manager("mild")).expect(200)


def test_adoption_needs_the_extra(bench: Bench) -> None:
    """A free object becomes held by the manager, and by nobody else."""
    thing = bench.object(data={"theirs": "1"})
    bench.user.create(thing).expect(201)
    marks = with_marks(bench.object(thing["metadata"]["name"]), "adopter", bench.named)
    for actor in (bench.account, bench.user, bench.admin):
        refused(actor.apply(marks), NAME)
    bench.hold(marks, "adopter").expect(200)
    refused(bench.user.delete(thing), NAME)


def test_what_the_parent_does_not_own_is_held_too(bench: Bench) -> None:
    """A field that was there before the adoption is neither changed nor removed by its author."""
    thing = bench.object(data={"a": "1"}, binaryData={"theirs": "AA=="})
    bench.user.create(thing).expect(201)
    bench.held(bench.object(thing["metadata"]["name"], data={"ours": "1"}))
    refused(bench.user.merge_patch(thing, {"binaryData": {"theirs": "AAA="}}), NAME)
    refused(bench.user.merge_patch(thing, {"binaryData": None}), NAME)


def test_an_unlabelled_object_with_forged_marks_cannot_be_adopted(bench: Bench) -> None:
    """Marks that were forged while nothing looked keep the manager out until they are gone, so they never open a held object."""
    thing = bench.object(data={"theirs": "1"})
    forged = {f"{TARGET_PREFIX}forged": title(thing), f"{ACCOUNT_PREFIX}forged": bench.unnamed}
    bench.user.create(with_metadata(thing, {}, forged)).expect(201)
    message = refused(bench.hold(bench.object(thing["metadata"]["name"]), "adopter"), NAME)
    assert f"remove the annotation {TARGET_PREFIX}forged" in message
    bench.user.merge_patch(thing, _metadata(annotations={f"{TARGET_PREFIX}forged": None})).expect(200)
    bench.hold(bench.object(thing["metadata"]["name"]), "adopter").expect(200)
    refused(bench.other.delete(thing), NAME)


def test_the_label_alone_does_not_complete_forged_marks(bench: Bench) -> None:
    """A user who adds the label to marks that she forged before would make the object held."""
    thing = bench.object()
    bench.user.create(with_metadata(thing, {}, {f"{TARGET_PREFIX}forged": title(thing)})).expect(201)
    refused(bench.user.merge_patch(thing, _metadata(labels={PROTECTED: "true"})), NAME)


def test_an_orphaned_object_is_free(bench: Bench) -> None:
    """The manager drops marks and managedFields entry in one patch, and then anybody may edit."""
    thing = bench.held(bench.object(data={"a": "1"}), parent="leaver")
    entry, metadata = _entry(thing), thing["metadata"]
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "remove", "path": "/metadata/annotations"},
        {"op": "remove", "path": f"/metadata/managedFields/{entry}"},
    ]
    bench.manager("leaver").json_patch(thing, operations).expect(200)
    bench.user.merge_patch(thing, {"data": {"a": "2"}}).expect(200)


def test_a_repeated_apply_and_a_removal_pass(bench: Bench) -> None:
    """The manager's own path: apply again, apply something else, delete."""
    thing = bench.object(data={"a": "1"})
    for value in ("1", "1", "2"):
        bench.hold(thing | {"data": {"a": value}}, "parent").expect(200, 201)
    bench.manager("parent").delete(thing).expect(200)


def test_a_dry_run_is_judged_alike(bench: Bench, settings: Manifest) -> None:
    """A preview tells the truth."""
    refused(bench.user.merge_patch(settings, {"data": {"colour": "red"}}, dryRun="All"), NAME)
    bench.account.merge_patch(settings, {"data": {"colour": "red"}}, dryRun="All").expect(200)


def test_the_extra_cannot_be_sent_without_the_right(bench: Bench, server: Access, settings: Manifest) -> None:
    """Who may impersonate the named account and lacks the right to the extra is refused by RBAC, before any policy."""
    bench.grant("carol", [{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}])
    carol = bench.admin.with_token(server.tokens["carol"])
    eventually(lambda: carol.as_user(bench.named).get(settings).status == 200)
    forger = carol.as_user(bench.named, extra={PARENT_EXTRA: ["f00d"]})
    assert 'cannot impersonate resource "userextras/copyhold.dev/parent"' in forger.delete(settings).expect(403).message


def test_a_services_endpoint_slices_appear(bench: Bench) -> None:
    """The endpoint controller copies the marks of a held Service, and its copy is free."""
    service = bench.held(bench.object(api_version="v1", kind="Service", spec={"ports": [{"port": 80}], "selector": {"app": "x"}}))
    selector = f"kubernetes.io/service-name={service['metadata']['name']}"

    def slices() -> list[Manifest]:
        found = bench.admin.list("discovery.k8s.io/v1", "EndpointSlice", bench.namespace, labelSelector=selector)
        items: list[Manifest] = found.expect(200).body["items"]
        return items

    appeared: Manifest = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"} | eventually(slices)[0]
    assert appeared["metadata"]["labels"][PROTECTED] == "true"
    bench.user.merge_patch(appeared, _metadata(labels={"mine": "yes"})).expect(200)


@pytest.fixture
def deployment(bench: Bench) -> Manifest:
    """A held Deployment with two replicas."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    return bench.held(bench.object(api_version="apps/v1", kind="Deployment", spec=spec))


def test_a_held_deployment_is_scaled_but_not_edited(bench: Bench, deployment: Manifest) -> None:
    """The subresource `scale` is open, for autoscalers; the field that it writes is not."""
    bench.user.merge_patch(deployment, {"spec": {"replicas": 3}}, subresource="scale").expect(200)
    refused(bench.user.merge_patch(deployment, {"spec": {"replicas": 4}}), NAME)


def test_the_status_of_a_held_object_is_open(bench: Bench, deployment: Manifest) -> None:
    """An operator reports through `status`, and may annotate there what is its own."""
    bench.user.merge_patch(deployment, {"status": {"replicas": 1}}, subresource="status").expect(200)
    patch = _metadata(annotations={"example.com/revision": "7"})
    bench.user.merge_patch(deployment, patch, subresource="status").expect(200)


@pytest.mark.parametrize(
    "patch",
    [
        lambda it: _metadata(annotations={f"{TARGET_PREFIX}{_uid(it)}": None}),
        lambda it: _metadata(annotations={f"{ACCOUNT_PREFIX}{_uid(it)}": "system:serviceaccount:x:y"}),
        lambda it: _metadata(annotations=None),
        lambda it: _metadata(annotations={f"{ACCOUNT_PREFIX}new": "system:serviceaccount:x:y", f"{TARGET_PREFIX}new": title(it)}),
    ],
    ids=["target annotation", "account annotation", "all annotations", "new marks"],
)
@pytest.mark.parametrize("who", ["user", "admin", "other"])
def test_marks_do_not_come_off_through_a_subresource(
    bench: Bench, deployment: Manifest, patch: Callable[[Manifest], Manifest], who: str
) -> None:
    """The server lets annotations be changed through `status`; the policy does not."""
    actor: Api = getattr(bench, who)
    message = refused(actor.merge_patch(deployment, patch(deployment), subresource="status"), NAME)
    assert "cannot be changed through its status" in message


def test_managed_fields_are_not_wiped_through_a_subresource(bench: Bench, deployment: Manifest) -> None:
    """The server itself keeps the entries of the main resource then."""
    patch = {"metadata": {"managedFields": [{}]}, "status": {"replicas": 1}}
    answer = bench.user.merge_patch(deployment, patch, subresource="status").expect(200).body
    kept = deployment["metadata"]["managedFields"]
    assert [entry for entry in answer["metadata"]["managedFields"] if entry.get("subresource") != "status"] == kept


def test_a_held_cluster_scoped_object_is_not_deleted(bench: Bench) -> None:
    """An administrator is refused for cluster-scoped objects too, and the remedy names no namespace."""
    role = ref("rbac.authorization.k8s.io/v1", "ClusterRole", fresh("held")) | {"rules": []}
    bench.held(role, parent="global")
    for actor in (bench.admin, bench.user):
        message = refused(actor.delete(role), NAME)
        assert message.endswith(f"copyhold release ClusterRole {role['metadata']['name']}")
    bench.manager("global").delete(role).expect(200)


def test_a_namespace_with_held_objects_goes(bench: Bench) -> None:
    """Who may delete a namespace takes the held objects with it; the namespace controller is not held up."""
    namespace = ref("v1", "Namespace", fresh("going"))
    bench.admin.create(namespace).expect(201)
    for kind in ("ConfigMap", "Secret"):
        bench.held(ref("v1", kind, "held", namespace["metadata"]["name"]))
    bench.user.delete(namespace).expect(200)
    eventually(lambda: bench.admin.get(namespace).status == 404, timeout=20)


def test_anything_passes_in_a_terminating_namespace(bench: Bench) -> None:
    """In a namespace that is going, a held object may be edited and deleted by anybody."""
    namespace = ref("v1", "Namespace", fresh("going"))
    bench.admin.create(namespace).expect(201)
    thing = ref("v1", "ConfigMap", "held", namespace["metadata"]["name"])
    bench.held(thing | {"metadata": thing["metadata"] | {"finalizers": ["example.com/wait"]}})
    bench.user.delete(namespace).expect(200)
    eventually(lambda: bench.user.merge_patch(thing, {"data": {"a": "1"}}).expect(200))
    bench.user.delete(thing).expect(200)
    bench.user.merge_patch(thing, _metadata(finalizers=None)).expect(200)
    eventually(lambda: bench.admin.get(namespace).status == 404, timeout=20)


def test_a_held_namespace_is_not_deleted_by_others_and_goes_with_the_manager(bench: Bench) -> None:
    """A Namespace can be a target itself; once the manager deletes it, its finalization passes."""
    namespace = ref("v1", "Namespace", fresh("held"))
    bench.held(namespace, parent="owner")
    refused(bench.user.delete(namespace), NAME)
    refused(bench.user.merge_patch(namespace, _metadata(labels={PROTECTED: None}), subresource="status"), NAME)
    bench.manager("owner").delete(namespace).expect(200)
    eventually(lambda: bench.admin.get(namespace).status == 404, timeout=20)


def test_garbage_collection_takes_a_held_dependent(bench: Bench) -> None:
    """A held object whose owner is deleted goes with it, in the background and in the foreground."""
    for propagation in ("Background", "Foreground"):
        owner = bench.admin.create(bench.object()).expect(201).body
        dependent = bench.object()
        dependent["metadata"]["ownerReferences"] = [_owner(owner) | {"blockOwnerDeletion": True}]
        bench.held(dependent)
        bench.user.delete(owner, propagation=propagation).expect(200)
        eventually(partial(_gone, bench.admin, dependent))


@pytest.mark.parametrize(
    "system",
    [
        "system:serviceaccount:kube-system:persistent-volume-binder",
        "system:kube-scheduler",
        "system:kube-controller-manager",
        "system:apiserver",
    ],
)
def test_system_components_write_held_objects(bench: Bench, system: str) -> None:
    """The volume binder annotates a held claim, as the scheduler and the API server itself do their work."""
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = bench.held(bench.object(kind="PersistentVolumeClaim", spec=size))
    # The group only gives the right of RBAC; the policy looks at the user's name.
    component = bench.admin.as_user(system, groups=["system:masters"])
    patch = _metadata(annotations={"pv.kubernetes.io/bind-completed": "yes"})
    component.merge_patch(claim, patch).expect(200)


@pytest.mark.parametrize("lookalike", ["system:serviceaccount:kube-system-x:a", "x:system:kube-scheduler", "system:node:a"])
def test_names_like_those_of_the_system_open_nothing(bench: Bench, settings: Manifest, lookalike: str) -> None:
    """The whole name counts, and the namespace of the account with it."""
    actor = bench.admin.as_user(lookalike, groups=["system:masters"])
    refused(actor.merge_patch(settings, {"data": {"colour": "red"}}), NAME)


def test_a_kubelet_ends_a_held_pod_that_is_terminating(bench: Bench) -> None:
    """The last deletion of a Pod comes from its node, after the one that was allowed."""
    pod = bench.object(kind="Pod", spec={"nodeName": "nowhere", "containers": [{"name": "x", "image": "x"}]})
    bench.held(pod, parent="owner")
    node = bench.admin.as_user("system:node:nowhere", groups=["system:masters"])
    refused(node.delete(pod), NAME)
    bench.manager("owner").delete(pod).expect(200)
    assert bench.admin.get(pod).expect(200).body["metadata"]["deletionTimestamp"]
    node.request(
        "DELETE",
        bench.admin.path("v1", "Pod", namespace=bench.namespace, name=pod["metadata"]["name"]),
        {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0},
    ).expect(200)
    assert bench.admin.get(pod).status == 404


def test_the_text_names_no_user_but_those_of_the_system() -> None:
    """Any replica writes the same policy, whatever account it runs as."""
    text = str(protection().manifests())
    assert set(re.findall(r"system:[a-z:-]+", text)) == {
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:serviceaccount:kube-system:",
        "system:serviceaccount:",
    }
    assert protection() == protection()
