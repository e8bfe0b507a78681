"""How admission sees each kind of write: the variable `request` of a policy that denies everything and tells what it saw."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh

API = "admissionregistration.k8s.io/v1"
LABEL = "tests.example/seen"
RBAC = "rbac.authorization.k8s.io/v1"

SEEN = (
    "[request.operation, request.kind.group, request.kind.version, request.kind.kind, request.resource.resource,"
    " has(request.subResource) ? request.subResource : '-', has(request.name) ? request.name : '-',"
    " has(request.namespace) ? request.namespace : '-', object == null ? '-' : string(object.kind),"
    " oldObject == null ? '-' : string(oldObject.kind), namespaceObject == null ? '-' : 'Namespace',"
    " string(request.options.kind), string(request.options.?fieldManager.orValue('-')),"
    " string(request.options.?fieldValidation.orValue('-')), string(request.options.?propagationPolicy.orValue('-')),"
    " string(request.dryRun), string(request.options.?dryRun.orValue([]).size()),"
    " string(request.options.?preconditions.hasValue())].join(' ')"
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A namespace with one object of each kind, all labelled, and a policy that denies whatever bears the label."""

    api: Api
    namespace: str
    label: str

    def thing(self, api_version: str, kind: str, name: str, *, clustered: bool = False, **body: Any) -> Manifest:
        """A labelled object."""
        made = ref(api_version, kind, name, None if clustered else self.namespace)
        return made | {"metadata": made["metadata"] | {"labels": {LABEL: self.label}}} | body

    @property
    def there(self) -> Manifest:
        """A ConfigMap that is there."""
        return self.thing("v1", "ConfigMap", "there")

    @property
    def new(self) -> Manifest:
        """A ConfigMap that is not there."""
        return self.thing("v1", "ConfigMap", "new")

    @property
    def deployment(self) -> Manifest:
        """A Deployment that is there."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        return self.thing("apps/v1", "Deployment", "d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})

    @property
    def place(self) -> Manifest:
        """The namespace."""
        return self.thing("v1", "Namespace", self.namespace, clustered=True)


@pytest.fixture(scope="module")
def scene(admin: Api) -> Iterator[Scene]:
    """The objects, and the policy in force."""
    scene = Scene(admin, fresh("seen"), fresh("seen"))
    pod = {"containers": [{"name": "c", "image": "i"}]}
    for manifest in (
        scene.place,
        scene.there,
        scene.deployment,
        scene.thing("v1", "ServiceAccount", "account"),
        scene.thing("v1", "Pod", "pod", spec=pod),
    ):
        admin.create(manifest).expect(201)
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    constraints = {"objectSelector": {"matchLabels": {LABEL: scene.label}}, "resourceRules": [rule]}
    validations = [{"expression": "false", "messageExpression": SEEN}]
    policy = ref(API, "ValidatingAdmissionPolicy", scene.label)
    binding = ref(API, "ValidatingAdmissionPolicyBinding", scene.label)
    admin.create(policy | {"spec": {"matchConstraints": constraints, "validations": validations}}).expect(201)
    admin.create(binding | {"spec": {"policyName": scene.label, "validationActions": ["Deny"]}}).expect(201)
    eventually(lambda: admin.create(scene.new, dryRun="All").status == 422)
    yield scene
    admin.delete(binding).expect(200)
    admin.delete(policy).expect(200)
    eventually(lambda: admin.delete(scene.place).status in (200, 202, 404, 409))


def _token(scene: Scene) -> Reply:
    path = f"/api/v1/namespaces/{scene.namespace}/serviceaccounts/account/token"
    return scene.api.request("POST", path, {"metadata": {"labels": {LABEL: scene.label}}})


def _eviction(scene: Scene) -> Reply:
    path = f"/api/v1/namespaces/{scene.namespace}/pods/pod/eviction"
    return scene.api.request("POST", path, scene.thing("policy/v1", "Eviction", "pod"))


def _finalize(scene: Scene) -> Reply:
    live = scene.api.get(scene.place).expect(200).body
    return scene.api.request("PUT", f"/api/v1/namespaces/{scene.namespace}/finalize", live | {"spec": {"finalizers": ["a/b"]}})


def _all(scene: Scene) -> Reply:
    return scene.api.delete_all("v1", "ConfigMap", scene.namespace, labelSelector=f"{LABEL}={scene.label}")


def _put(scene: Scene) -> Reply:
    return scene.api.replace(scene.there | {"data": {"a": "b"}})


def _delete(scene: Scene) -> Reply:
    uid = scene.api.get(scene.there).expect(200).body["metadata"]["uid"]
    return scene.api.delete(scene.there, propagation="Foreground", preconditions={"uid": uid})


CHANGE = {"data": {"a": "b"}}
NOTED = {"metadata": {"annotations": {"a": "b"}}}

# Each `$` is the namespace.
ROWS: dict[str, tuple[Callable[[Scene], Reply], str]] = {
    "create": (
        lambda it: it.api.create(it.new, fieldManager="me", fieldValidation="Strict"),
        "CREATE  v1 ConfigMap configmaps - new $ ConfigMap - Namespace CreateOptions me Strict - false 0 false",
    ),
    "put": (_put, "UPDATE  v1 ConfigMap configmaps - there $ ConfigMap ConfigMap Namespace UpdateOptions - - - false 0 false"),
    "merge patch": (
        lambda it: it.api.merge_patch(it.there, CHANGE),
        "UPDATE  v1 ConfigMap configmaps - there $ ConfigMap ConfigMap Namespace UpdateOptions - - - false 0 false",
    ),
    "a patch that changes nothing": (
        lambda it: it.api.merge_patch(it.there, {}),
        "UPDATE  v1 ConfigMap configmaps - there $ ConfigMap ConfigMap Namespace UpdateOptions - - - false 0 false",
    ),
    "apply": (
        lambda it: it.api.apply(it.there | CHANGE, manager="me", force=True),
        "UPDATE  v1 ConfigMap configmaps - there $ ConfigMap ConfigMap Namespace UpdateOptions me - - false 0 false",
    ),
    "apply that creates": (
        lambda it: it.api.apply(it.new | CHANGE, manager="me", dryRun="All"),
        "CREATE  v1 ConfigMap configmaps - new $ ConfigMap - Namespace CreateOptions me - - true 1 false",
    ),
    "delete": (
        lambda it: it.api.delete(it.there),
        "DELETE  v1 ConfigMap configmaps - there $ - ConfigMap Namespace DeleteOptions - - - false 0 false",
    ),
    "delete with a body": (
        _delete,
        "DELETE  v1 ConfigMap configmaps - there $ - ConfigMap Namespace DeleteOptions - - Foreground false 0 true",
    ),
    "delete with a query": (
        lambda it: it.api.delete(it.there, propagationPolicy="Background", dryRun="All"),
        "DELETE  v1 ConfigMap configmaps - there $ - ConfigMap Namespace DeleteOptions - - Background true 1 false",
    ),
    "delete all": (_all, "DELETE  v1 ConfigMap configmaps - - $ - ConfigMap Namespace DeleteOptions - - - false 0 false"),
    "a namespace": (
        lambda it: it.api.create(it.thing("v1", "Namespace", "seen-new", clustered=True)),
        "CREATE  v1 Namespace namespaces - seen-new seen-new Namespace - - CreateOptions - - - false 0 false",
    ),
    "a namespace changes": (
        lambda it: it.api.merge_patch(it.place, NOTED),
        "UPDATE  v1 Namespace namespaces - $ $ Namespace Namespace - UpdateOptions - - - false 0 false",
    ),
    "a namespace's status": (
        lambda it: it.api.merge_patch(it.place, NOTED, subresource="status"),
        "UPDATE  v1 Namespace namespaces status $ $ Namespace Namespace - UpdateOptions - - - false 0 false",
    ),
    "a namespace's end": (
        _finalize,
        "UPDATE  v1 Namespace namespaces finalize $ $ Namespace Namespace - UpdateOptions - - - false 0 false",
    ),
    "a namespace goes": (
        lambda it: it.api.delete(it.place),
        "DELETE  v1 Namespace namespaces - $ $ - Namespace - DeleteOptions - - - false 0 true",
    ),
    "of the cluster": (
        lambda it: it.api.create(it.thing(RBAC, "ClusterRole", "seen-new", clustered=True)),
        "CREATE rbac.authorization.k8s.io v1 ClusterRole clusterroles - seen-new - ClusterRole - - CreateOptions"
        " - - - false 0 false",
    ),
    "a status": (
        lambda it: it.api.merge_patch(it.deployment, {"status": {"replicas": 3}}, subresource="status"),
        "UPDATE apps v1 Deployment deployments status d $ Deployment Deployment Namespace UpdateOptions - - - false 0 false",
    ),
    "a token": (
        _token,
        "CREATE authentication.k8s.io v1 TokenRequest serviceaccounts token account $ TokenRequest - Namespace CreateOptions"
        " - - - false 0 false",
    ),
    "an eviction": (
        _eviction,
        "CREATE policy v1 Eviction pods eviction pod $ Eviction - Namespace CreateOptions - - - false 0 false",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_write_is_seen_by_admission(scene: Scene, name: str) -> None:
    """Operation, kind, names, objects and options are those of the table, on both servers."""
    send, seen = ROWS[name]
    answer = send(scene).expect(422)
    assert answer.message.partition("denied request: ")[2] == seen.replace("$", scene.namespace)


def test_a_scale_is_not_the_object_that_it_scales(scene: Scene) -> None:
    """Admission sees a Scale, which has no labels, so the policy is not about it."""
    scene.api.merge_patch(scene.deployment, {"spec": {"replicas": 2}}, subresource="scale").expect(200)
