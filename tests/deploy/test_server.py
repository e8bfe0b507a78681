"""What a server makes of the deployment: it takes every object, and the rights are those that are meant and no more."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.deploy.values import SETS
from tests.realserver.access import Access
from tests.support.api import Api, eventually, ref
from tests.support.helm import CHART, Helm, Manifest, named

NAMESPACE, GROUP, RBAC = "copyhold-system", "copyhold.dev", "rbac.authorization.k8s.io"
MANAGER = f"system:serviceaccount:{NAMESPACE}:copyhold"
DISTRIBUTOR = f"system:serviceaccount:{NAMESPACE}:distributor"
OF_OTHERS = ("cert-manager.io", "monitoring.coreos.com")
"""Groups that a bare server does not serve."""


def taken(api: Api, manifest: Manifest) -> None:
    """The server would store this object, and knows every field of it."""
    api.apply(manifest, manager="copyhold-tests", force=True, dryRun="All", fieldValidation="Strict").expect(200, 201)


@pytest.mark.parametrize("values", [pytest.param(values, id=name) for name, values in SETS.items()])
def test_every_object_of_the_chart_is_taken(helm: Helm, api: Api, namespace: str, values: Manifest) -> None:
    """As a dry run, hooks and definitions among them."""
    for manifest in helm.rendered(values, namespace=namespace):
        if manifest["apiVersion"].partition("/")[0] not in OF_OTHERS:
            eventually(lambda manifest=manifest: taken(api, manifest) is None)  # type: ignore[misc]


def test_every_object_of_the_kustomize_base_is_taken(api: Api, kubectl: Path, manager_access: Access) -> None:
    """As a dry run over what is there."""
    built = subprocess.run(
        [str(kubectl), "kustomize", str(CHART.parent / "manager")], capture_output=True, text=True, check=True, timeout=60
    )
    manifests = list(yaml.safe_load_all(built.stdout))
    assert named(manifests, "Deployment", "copyhold")["spec"]["template"]["spec"]["containers"][0]["image"] == "copyhold:0.1.0"
    for manifest in manifests:
        eventually(lambda manifest=manifest: taken(api, manifest) is None)  # type: ignore[misc]


# Rights.


def may(api: Api, user: str, verb: str, what: str, *, namespace: str = "", name: str = "", groups: tuple[str, ...] = ()) -> bool:
    """Does the server allow this? `what` is `resource.group` or `resource/subresource.group`; a group may be missing."""
    resource, _, group = what.partition(".")
    resource, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace, "name": name}
    spec = {"user": user, "groups": list(groups), "resourceAttributes": asked}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body).expect(201)
    allowed: bool = answer.body["status"]["allowed"]
    return allowed


HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


@pytest.mark.parametrize(
    ("user", "verb", "what", "where", "name", "allowed"),
    [
        # What the manager does as itself.
        pytest.param(MANAGER, "patch", f"resourcepermits/status.{GROUP}", "a", "", True, id="writes the status of permits"),
        pytest.param(MANAGER, "delete", f"resourcepermits.{GROUP}", "a", "", True, id="deletes permits at their end"),
        pytest.param(MANAGER, "create", f"resourcepermits.{GROUP}", "a", "", False, id="asks for no permits"),
        pytest.param(MANAGER, "list", f"clusterrolebindings.{RBAC}", "", "", True, id="resolves bindings"),
        pytest.param(MANAGER, "delete", f"rolebindings.{RBAC}", "a", "", True, id="takes a binding back"),
        pytest.param(MANAGER, "create", f"rolebindings.{RBAC}", "a", "", False, id="gives no rights"),
        pytest.param(MANAGER, "escalate", f"clusterroles.{RBAC}", "", "", False, id="escalates nothing"),
        pytest.param(MANAGER, "impersonate", "serviceaccounts", "a", "b", True, id="acts as accounts"),
        pytest.param(MANAGER, "impersonate", "users", "", "alice", False, id="acts as no user"),
        pytest.param(MANAGER, "impersonate", "groups", "", "system:masters", False, id="acts as no group"),
        pytest.param(MANAGER, "delete", "configmaps", "a", "", False, id="removes no target as itself"),
        pytest.param(MANAGER, "create", "pods", "a", "", False, id="runs nothing"),
        *(
            pytest.param(
                MANAGER, verb, f"{what}.admissionregistration.k8s.io", "", "copyhold", True, id=f"{verb}: its own {what}"
            )
            for what in HOOKS
            for verb in ("get", "create", "update", "patch", "delete")
        ),
        *(
            pytest.param(
                MANAGER, verb, f"{what}.admissionregistration.k8s.io", "", "theirs", False, id=f"{verb}: no other {what}"
            )
            for what in HOOKS
            for verb in ("get", "update", "patch", "delete")
        ),
        # In its own namespace and in others.
        pytest.param(MANAGER, "create", "secrets", NAMESPACE, "", True, id="keeps keys"),
        pytest.param(MANAGER, "delete", "secrets", NAMESPACE, "", True, id="drops clear snapshots"),
        pytest.param(MANAGER, "create", "secrets", "a", "", False, id="makes Secrets nowhere else"),
        pytest.param(MANAGER, "update", "configmaps", NAMESPACE, "copyhold-permit-keys", True, id="publishes keys"),
        pytest.param(MANAGER, "update", "configmaps", NAMESPACE, "kube-root-ca.crt", False, id="changes no other ConfigMap"),
        pytest.param(MANAGER, "update", "leases.coordination.k8s.io", NAMESPACE, "", True, id="renews Leases"),
        # The default account.
        pytest.param(DISTRIBUTOR, "patch", "resourcequotas", "a", "", True, id="the distributor bounds"),
        pytest.param(DISTRIBUTOR, "create", "networkpolicies.networking.k8s.io", "a", "", True, id="the distributor fences"),
        pytest.param(DISTRIBUTOR, "get", "secrets", "a", "", False, id="the distributor reads no Secret"),
        pytest.param(DISTRIBUTOR, "create", "configmaps", "a", "", False, id="the distributor writes nothing else"),
        pytest.param(DISTRIBUTOR, "create", f"rolebindings.{RBAC}", "a", "", False, id="the distributor gives no rights"),
        # Everybody.
        pytest.param("alice", "get", "configmaps", NAMESPACE, "copyhold-permit-keys", True, id="everybody checks trails"),
        pytest.param("alice", "get", "secrets", NAMESPACE, "copyhold-permit-keys", False, id="nobody signs"),
    ],
)
def test_rights_are_what_is_needed(
    api: Api, manager_access: Access, user: str, verb: str, what: str, where: str, name: str, allowed: bool
) -> None:
    """Right by right, as the server's authorizer judges after `kubectl apply -k deploy/manager`."""
    groups = ("system:authenticated",)
    # The authorizer and the controller that fills aggregated roles learn of a change a moment later.
    eventually(lambda: may(api, user, verb, what, namespace=where, name=name, groups=groups) is allowed)


@pytest.mark.parametrize("kind", ["Role", "RoleBinding"])
def test_the_manager_may_empty_what_a_foreign_finalizer_keeps(
    api: Api, manager_access: Access, namespace: str, kind: str
) -> None:
    """Also a binding of a role that gives more than the manager has."""
    manifest = ref(f"{RBAC}/v1", kind, "kept", namespace)
    manifest["metadata"]["finalizers"] = ["example.com/kept"]
    if kind == "Role":
        manifest["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    else:
        manifest["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
        manifest["subjects"] = [{"apiGroup": RBAC, "kind": "User", "name": "zoe"}]
    api.create(manifest).expect(201)
    manager = api.as_user(MANAGER)
    eventually(lambda: may(api, MANAGER, "bind", f"clusterroles.{RBAC}"))
    manager.delete(manifest).expect(200)
    try:
        manager.merge_patch(manifest, {"rules": None} if kind == "Role" else {"subjects": None}).expect(200)
        left = api.get(manifest).expect(200).body
        assert not left.get("rules")
        assert not left.get("subjects")
    finally:
        api.merge_patch(manifest, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize(
    ("role", "verb", "what", "allowed"),
    [
        pytest.param("copyhold-permit-requester", "create", f"resourcepermits.{GROUP}", True, id="a requester asks"),
        pytest.param(
            "copyhold-permit-requester", "get", f"resourcepermittemplates.{GROUP}", True, id="a requester reads templates"
        ),
        pytest.param(
            "copyhold-permit-requester", "patch", f"resourcepermits/status.{GROUP}", False, id="a requester approves nothing"
        ),
        pytest.param(
            "copyhold-permit-requester", "create", f"resourcepermittemplates.{GROUP}", False, id="and writes no template"
        ),
        pytest.param("copyhold-permit-reviewer", "patch", f"resourcepermits/status.{GROUP}", True, id="a reviewer approves"),
        pytest.param("copyhold-permit-reviewer", "create", f"resourcepermits.{GROUP}", False, id="a reviewer asks for nothing"),
        pytest.param(
            "copyhold-permit-template-author", "create", f"resourcepermittemplates.{GROUP}", True, id="an author writes"
        ),
        pytest.param(
            "copyhold-permit-template-author", "patch", f"resourcepermits/status.{GROUP}", False, id="and approves nothing"
        ),
        pytest.param("copyhold-platform", "delete", f"records.{GROUP}", True, id="the platform deletes any permit"),
        pytest.param("admin", "delete", f"records.{GROUP}", False, id="admin only undecided ones"),
        pytest.param("view", "create", f"resourcepermits.{GROUP}", False, id="view asks for nothing"),
        pytest.param("view", "get", f"resourcepermits.{GROUP}", True, id="view reads"),
        pytest.param("edit", "create", f"resourcepermits.{GROUP}", True, id="edit asks"),
        pytest.param("edit", "create", f"resourcepermittemplates.{GROUP}", False, id="edit writes no template"),
        pytest.param("admin", "create", f"resourcepermittemplates.{GROUP}", True, id="admin writes templates"),
        pytest.param("admin", "patch", f"resourcepermits/status.{GROUP}", False, id="admin approves nothing"),
    ],
)
def test_roles_for_people_give_what_they_say(
    api: Api,
    manager_access: Access,
    namespace: str,
    unique: Callable[[str], str],
    role: str,
    verb: str,
    what: str,
    allowed: bool,
) -> None:
    """Bound in one namespace, to somebody who has nothing else."""
    user = unique("person")
    binding = ref(f"{RBAC}/v1", "RoleBinding", "person", namespace) | {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }
    api.create(binding).expect(201)
    read = (f"resourcepermits.{GROUP}", f"resourcepermittemplates.{GROUP}")  # every one of these roles reads one of them
    eventually(lambda: any(may(api, user, "get", each, namespace=namespace) for each in read))
    eventually(lambda: may(api, user, verb, what, namespace=namespace) is allowed)
