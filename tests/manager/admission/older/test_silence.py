"""While no replica answers, where our webhook stands for our policies: nothing is opened, and next to nothing is blocked."""

from collections.abc import Iterator

import pytest

from apis.meta import GROUP, PROTECTED, TARGET_PREFIX, TENANT_LABEL, Manifest
from tests.manager.admission.bench import Bench, with_marks
from tests.manager.admission.test_guards import BASIC, Person
from tests.manager.admission.test_protection import ATTACKS, PASSES
from tests.support.api import Api, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.older import Standing
from tests.support.rights import ACCOUNT, NAMESPACE

OURS = f"{GROUP}/v1alpha1"


@pytest.fixture(scope="module")
def settings(bench: Bench) -> Manifest:
    """A held ConfigMap, from the time when somebody answered."""
    return bench.held(bench.object("settings", data={"colour": "blue"}), parent="f00d")


@pytest.fixture(scope="module")
def silence(webhook: Standing, bench: Bench, settings: Manifest) -> Iterator[None]:
    """Nobody answers in this module."""
    with webhook.silent():
        eventually(lambda: unanswered(bench.user.delete(settings, dryRun="All"), "copyhold-protection"))
        yield


pytestmark = pytest.mark.usefixtures("silence")


def unanswered(reply: Reply, policy: str) -> bool:
    """Was the request refused because nobody said what this policy says?"""
    return reply.status == 500 and f'failed calling webhook "{policy}.policies.{GROUP}"' in reply.message


@pytest.mark.parametrize("who", ["user", "admin", "other"])
def test_a_held_object_is_neither_changed_nor_deleted(bench: Bench, settings: Manifest, who: str) -> None:
    """Every attack that the policy refuses is refused, and the object stays as it was."""
    actor: Api = getattr(bench, who)
    for name, attack in ATTACKS.items():
        assert unanswered(attack(actor, settings), "copyhold-protection"), name
    assert bench.admin.get(settings).expect(200).body == settings


def test_nobody_makes_a_free_object_held(bench: Bench) -> None:
    """Marks are not forged meanwhile."""
    thing = bench.object()
    assert unanswered(bench.user.create(with_marks(thing, "x", bench.named)), "copyhold-protection")
    bench.user.create(thing).expect(201)
    assert unanswered(bench.user.apply(with_marks(thing, "x", bench.named)), "copyhold-protection")


def test_what_leaves_a_held_object_as_it_is_passes(bench: Bench, settings: Manifest) -> None:
    """Finalizers and owner references are anybody's: nobody's controller waits for us with those."""
    thing = bench.held(bench.object(data={"a": "1"}))
    for name, edit in PASSES.items():
        assert edit(bench.user, thing).status == 200, name


def test_status_and_scale_of_a_held_object_are_open(bench: Bench) -> None:
    """Operators, kubelets and autoscalers go on."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    deployment = bench.held(bench.object(api_version="apps/v1", kind="Deployment", spec=spec))
    bench.user.merge_patch(deployment, {"status": {"replicas": 1}}, subresource="status").expect(200)
    bench.user.merge_patch(deployment, {"spec": {"replicas": 3}}, subresource="scale").expect(200)


def test_the_named_account_and_copies_of_marks_are_free(bench: Bench) -> None:
    """As while somebody answers."""
    bench.account.merge_patch(bench.held(bench.object(data={"a": "1"})), {"data": {"a": "2"}}).expect(200)
    copy = with_marks(bench.object(), "away", bench.named)
    copy["metadata"]["annotations"][f"{TARGET_PREFIX}away"] = "ConfigMap./another"
    bench.user.create(copy).expect(201)
    bench.user.merge_patch(copy, {"data": {"a": "1"}}).expect(200)
    bench.user.delete(copy).expect(200)


def test_the_manager_applies_and_takes_back(bench: Bench) -> None:
    """A replica that comes back is not held up by its own absence."""
    thing = bench.object(data={"a": "1"})
    bench.held(thing, parent="back")
    bench.held(thing | {"data": {"a": "2"}}, parent="back")
    bench.manager("back").delete(thing).expect(200)


def test_a_namespace_with_held_objects_goes(bench: Bench) -> None:
    """Whatever is in it, and though somebody else's controller must take its finalizer off first."""
    namespace = ref("v1", "Namespace", fresh("going"))
    bench.admin.create(namespace).expect(201)
    name = namespace["metadata"]["name"]
    waiting = ref("v1", "ConfigMap", "waiting", name)
    bench.held(waiting)
    bench.user.merge_patch(waiting, {"metadata": {"finalizers": ["example.com/wait"]}}).expect(200)
    bench.held(ref("v1", "Secret", "held", name))
    bench.user.delete(namespace).expect(200)
    eventually(lambda: bench.admin.get(waiting).expect(200).body["metadata"].get("deletionTimestamp"), timeout=20)
    bench.user.merge_patch(waiting, {"metadata": {"finalizers": None}}).expect(200)
    eventually(lambda: bench.admin.get(namespace).status == 404, timeout=20)


def test_a_namespace_with_a_permit_that_nobody_may_delete_goes(bench: Bench) -> None:
    """The namespace controller deletes it, and nobody else does."""
    namespace = ref("v1", "Namespace", fresh("going"))
    bench.admin.create(namespace).expect(201)
    permit = ref(OURS, "ResourcePermit", "permit", namespace["metadata"]["name"])
    made = bench.admin.create(permit | {"spec": {"template": {"kind": "ResourcePermitTemplate", "name": "x"}}}).expect(201).body
    status = {"phase": "Active", "size": 0, "processedItems": [], "transitions": []}
    manager = bench.manager(made["metadata"]["uid"], bench.person)
    manager.replace(made | {"status": status}, subresource="status").expect(200)
    person = Person(bench.admin)
    person.may({"apiGroups": [GROUP], "resources": ["resourcepermits"], "verbs": ["delete"]})
    assert unanswered(person.api.delete(permit), "copyhold-permit-deletion")
    bench.user.delete(namespace).expect(200)
    eventually(lambda: bench.admin.get(namespace).status == 404, timeout=20)
    for manifest in reversed(person.made):
        bench.admin.delete(manifest).expect(200)


def test_what_a_replica_needs_to_start_again_is_written(bench: Bench) -> None:
    """Its Leases, Secrets and Deployment bear no marks, so no webhook is asked about them, whoever writes them."""
    for who in (bench.admin.as_user(f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}", groups=["system:masters"]), bench.user):
        lease = ref("coordination.k8s.io/v1", "Lease", fresh("lease"), NAMESPACE) | {"spec": {"holderIdentity": "a"}}
        who.create(lease).expect(201)
        who.merge_patch(lease, {"spec": {"holderIdentity": "b"}}).expect(200)
        who.delete(lease).expect(200)
        secret = ref("v1", "Secret", fresh("keys"), NAMESPACE)
        who.create(secret).expect(201)
        who.merge_patch(secret, {"data": {"a": "AA=="}}).expect(200)
        who.delete(secret).expect(200)
        deployment = ref("apps/v1", "Deployment", "copyhold", NAMESPACE)
        who.merge_patch(deployment, {"metadata": {"labels": {"restarted": fresh("at")}}}).expect(200)


def test_who_may_not_is_kept_out_of_tenants_and_of_our_memory(bench: Bench) -> None:
    """By the API server's own authorizer, for which nobody is asked; only unsaid Tenants keep a namespace waiting."""
    alice = Person(bench.admin)
    alice.may(*BASIC)
    try:
        labelled = ref("v1", "Namespace", fresh("labelled"))
        labelled["metadata"]["labels"] = {TENANT_LABEL: "x"}
        refusal = alice.api.create(labelled)
        assert any(unanswered(refusal, policy) for policy in ("copyhold-tenants", "copyhold-tenant-label"))
        bench.user.create(labelled).expect(201)
        bench.user.merge_patch(labelled, {"metadata": {"labels": {"team": "a"}}}).expect(200)
        alice.api.merge_patch(labelled, {"metadata": {"annotations": {"a": "b"}}}).expect(200)
        assert unanswered(alice.api.merge_patch(labelled, {"metadata": {"labels": {"team": "b"}}}), "copyhold-tenants")
        alice.api.delete(labelled).expect(200)
        record = ref(OURS, "TargetRecord", fresh("record"))
        record |= {"parent": {"kind": "Tenant", "name": "x", "uid": "x"}, "shard": 0, "count": 0, "digest": "", "data": ""}
        assert unanswered(alice.api.create(record), "copyhold-records")
        bench.user.create(record, dryRun="All").expect(201)
    finally:
        for manifest in reversed(alice.made):
            bench.admin.delete(manifest).expect(200, 202, 404)


def test_no_object_without_the_label_is_asked_about(bench: Bench) -> None:
    """Neither made, changed nor deleted."""
    thing = bench.object(data={"a": "1"})
    assert PROTECTED not in thing["metadata"].get("labels", {})
    bench.user.create(thing).expect(201)
    bench.user.merge_patch(thing, {"data": {"a": "2"}}).expect(200)
    bench.user.delete(thing).expect(200)
