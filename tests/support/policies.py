"""The fixture that makes a real server refuse what our policies refuse."""

from collections.abc import Callable
from functools import partial

import pytest

from apis.kind import Kind
from apis.meta import GROUP, PROTECTED, TARGET_PREFIX
from manager.admission.keep import manifests
from tests.support.api import Api, Manifest, Reply, eventually, ref

MANAGER_NAMESPACE = "copyhold-system"
ALLOWED = f"{MANAGER_NAMESPACE}/distributor"

CANARY = "copyhold-tests-canary"


@pytest.fixture(scope="session")
def policies(admin: Api, crds: tuple[Kind, ...]) -> tuple[Manifest, ...]:
    """All our policies, in force on the run's real server. They are installed once and left, and no test may change them.

    A policy takes about a second to be obeyed, so each is tried with a dry run until it refuses.
    """
    installed = manifests(manager_namespace=MANAGER_NAMESPACE, allowed=[ALLOWED])
    for manifest in [*canary(), *installed]:
        eventually(partial(_installed, admin, manifest))
    obeyed(admin)
    return installed


def obeyed(admin: Api) -> None:
    """Wait until each of our policies refuses."""
    for name, attempt in _attempts(admin).items():
        eventually(partial(_obeyed, attempt, name), timeout=30)


def refused(reply: Reply, *policies: str) -> str:
    """Assert that one of these policies refused the request; return what the user reads."""
    __tracebackhide__ = True
    assert any(_said(policy, reply.expect(403).message) for policy in policies), reply.message
    assert reply.body["reason"] == "Forbidden"
    return reply.message


def _installed(admin: Api, manifest: Manifest) -> bool:
    # 409: another worker created it at the same moment.
    return admin.apply(manifest, force=True).expect(200, 201, 409).status != 409


def _obeyed(attempt: Callable[[], Reply], policy: str) -> bool:
    reply = attempt()
    return reply.status == 403 and _said(policy, reply.message)


def _said(policy: str, message: str) -> bool:
    """Did this policy refuse, or the webhook that stands for it? No server of a test has both."""
    webhook = f'admission webhook "{policy}.policies.{GROUP}" denied the request: '
    return f"ValidatingAdmissionPolicy '{policy}'" in message or message.startswith(webhook)


def canary() -> list[Manifest]:
    """A user without our rights who may otherwise write what the guards look at, and a Tenant to be kept out of."""
    rules = [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]},
        {"apiGroups": [GROUP], "resources": ["targetrecords"], "verbs": ["create"]},
    ]
    role = ref("rbac.authorization.k8s.io/v1", "ClusterRole", CANARY) | {"rules": rules}
    binding = ref("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", CANARY) | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": CANARY},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": CANARY}],
    }
    tenant = ref(f"{GROUP}/v1alpha1", "Tenant", CANARY) | {"spec": {"namespaceSelector": {"matchLabels": {CANARY: "yes"}}}}
    return [role, binding, tenant]


def _attempts(admin: Api) -> dict[str, Callable[[], Reply]]:
    user = admin.as_user(CANARY)
    marked = ref("v1", "ConfigMap", CANARY, "default")
    marked["metadata"] |= {"labels": {PROTECTED: "true"}, "annotations": {f"{TARGET_PREFIX}x": f"ConfigMap./{CANARY}"}}
    parent = ref(f"{GROUP}/v1alpha1", "TenantResource", CANARY, "kube-system")
    parent["spec"] = {"resources": [{"template": "x"}]}
    record = ref(f"{GROUP}/v1alpha1", "TargetRecord", CANARY)
    record |= {"parent": {"kind": "Tenant", "name": "x", "uid": "x"}, "shard": 0, "count": 0, "digest": "", "data": ""}
    permit = ref(f"{GROUP}/v1alpha1", "ResourcePermit", CANARY, "default")
    permit["spec"] = {"template": {"kind": "ResourcePermitTemplate", "name": "x"}, "requester": {"name": "x", "type": "User"}}
    return {
        "copyhold-protection": lambda: admin.create(marked, dryRun="All"),
        "copyhold-accounts": lambda: admin.create(parent, dryRun="All"),
        "copyhold-tenants": lambda: user.create(_labelled({CANARY: "yes"}), dryRun="All"),
        "copyhold-tenant-label": lambda: user.create(_labelled({f"{GROUP}/tenant": "x"}), dryRun="All"),
        "copyhold-permits": lambda: admin.create(permit, dryRun="All"),
        "copyhold-records": lambda: user.create(record, dryRun="All"),
    }


def _labelled(labels: dict[str, str]) -> Manifest:
    namespace = ref("v1", "Namespace", CANARY)
    namespace["metadata"]["labels"] = labels
    return namespace
