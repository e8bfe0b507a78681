"""Builders for what the tests of auth and of policies keep in a store: roles, bindings, accounts, policies."""

from datetime import UTC, datetime, timedelta
from typing import Any

from apis.meta import Manifest
from manager.embedded.attributes import AUTHENTICATED, Attributes, User
from manager.embedded.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES
from manager.embedded.store import Key, Store

RBAC = f"{GROUP}/v1"
ALICE = User("alice", "a-1", (AUTHENTICATED,))
PLACES = {
    "Role": ROLES,
    "ClusterRole": CLUSTER_ROLES,
    "RoleBinding": ROLE_BINDINGS,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Pod": "pods",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies.admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "Tenant": "tenants.copyhold.dev",
}


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The moment that it shows."""
        return self.now

    def advance(self, **span: float) -> None:
        """Move it on."""
        self.now += timedelta(**span)


def put(store: Store, *manifests: Manifest) -> None:
    """Store objects, each with a uid of its own."""
    for manifest in manifests:
        metadata = manifest["metadata"]
        key = Key(PLACES[manifest["kind"]], metadata.get("namespace", ""), metadata["name"])
        store.put(key, manifest | {"metadata": {"uid": f"uid-{store.revision}", **metadata}})


def drop(store: Store, kind: str, name: str, namespace: str = "") -> None:
    """Delete an object."""
    store.delete(Key(PLACES[kind], namespace, name))


def named(kind: str, name: str, namespace: str = "", api_version: str = "v1", **body: Any) -> Manifest:
    """An object with a name."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | body


def rule(resources: str = "", verbs: str = "*", groups: str = "", **rest: Any) -> Manifest:
    """A rule; lists are written with spaces, no group is the core group."""
    return {"apiGroups": groups.split() or [""], "resources": resources.split(), "verbs": verbs.split()} | rest


def role(name: str, *rules: Manifest, namespace: str = "") -> Manifest:
    """A Role, or without a namespace a ClusterRole."""
    return named("Role" if namespace else "ClusterRole", name, namespace, RBAC, rules=list(rules))


def binding(name: str, to: str, *subjects: str, namespace: str = "") -> Manifest:
    """A binding to `Kind/name` of subjects `User/name`, `Group/name` or `ServiceAccount/namespace/name`."""
    kind, _, target = to.partition("/")
    reference = {"apiGroup": GROUP, "kind": kind, "name": target}
    made = named("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace, RBAC)
    return made | {"roleRef": reference, "subjects": list(map(_subject, subjects))}


def _subject(text: str) -> Manifest:
    kind, *rest = text.split("/")
    if kind == "ServiceAccount":
        # In a RoleBinding the namespace may be left out.
        return {"kind": kind, "name": rest[-1]} | ({"namespace": rest[0]} if len(rest) > 1 else {})
    return {"kind": kind, "name": rest[0], "apiGroup": GROUP}


def asks(verb: str, resource: str, user: User = ALICE, **more: str) -> Attributes:
    """A question about a resource of the core group, `pods/log` with its subresource."""
    plural, _, subresource = resource.partition("/")
    return Attributes(user, verb, resource=plural, subresource=subresource, **more)
