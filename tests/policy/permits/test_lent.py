"""Which targets lend the rights of an account, and which give rights in a way that nobody can look into."""

from typing import Any

import pytest

from apis.meta import Manifest
from policy.permits.lent import Lent, lent, needs_live, otherwise
from tests.support.api import ref

PLACE = "solar"
ROBOT: Manifest = {"serviceAccountName": "robot"}


def target(api: str, kind: str, /, *, namespace: str = PLACE, **fields: Any) -> Manifest:
    """An object called x."""
    return ref(api, kind, "x", namespace or None) | fields


def template(pod: Manifest) -> Manifest:
    """A spec with a template of Pods."""
    return {"template": {"spec": pod}}


def workload(kind: str, pod: Manifest) -> Manifest:
    """A workload of this kind, written `apps/v1 Deployment`."""
    api, _, name = kind.partition(" ")
    spec = {"Pod": pod, "CronJob": {"jobTemplate": {"spec": template(pod)}}}.get(name, template(pod))
    return target(api, name, spec=spec)


WORKLOADS = [
    "v1 Pod",
    "v1 ReplicationController",
    "apps/v1 Deployment",
    "apps/v1 StatefulSet",
    "apps/v1 DaemonSet",
    "apps/v1 ReplicaSet",
    "batch/v1 Job",
    "batch/v1 CronJob",
]


@pytest.mark.parametrize("kind", WORKLOADS)
@pytest.mark.parametrize(
    ("pod", "live", "names"),
    [
        (ROBOT, None, ["robot"]),
        (ROBOT, {"serviceAccountName": "other"}, ["robot"]),
        ({"serviceAccount": "robot"}, None, ["robot"]),
        ({"serviceAccount": "robot"}, {"serviceAccountName": "other", "serviceAccount": "other"}, ["other", "robot"]),
        ({}, None, ["default"]),
        ({}, {}, ["default"]),
        ({}, ROBOT, ["robot"]),
        ({"serviceAccountName": ""}, None, ["default"]),
    ],
)
def test_a_workload_lends_the_account_that_it_runs_as(kind: str, pod: Manifest, live: Manifest | None, names: list[str]) -> None:
    """The one that it names, else that of the live one, else `default`; both where they disagree."""
    there = None if live is None else workload(kind, live)
    wanted = workload(kind, pod)
    assert needs_live(wanted) is not bool(pod.get("serviceAccountName"))
    assert lent(wanted, there) == tuple(Lent(PLACE, name, f"{wanted['kind']} solar/x") for name in names)


@pytest.mark.parametrize("spec", [None, [], "x", {"template": None}, {"template": {"spec": [1]}}])
def test_a_malformed_workload_lends_default(spec: Any) -> None:
    """The server will refuse it; until then it is read without a fault."""
    assert [one.name for one in lent(target("apps/v1", "Deployment", spec=spec), None)] == ["default"]


def test_another_kind_lends_every_account_that_it_names() -> None:
    """Custom workloads name them as Kubernetes' own do."""
    spec = {"stages": [{"pod": ROBOT}, {"serviceAccountName": "builder"}], "serviceAccountName": {"not": "a name"}}
    wanted = target("example.com/v1", "Pipeline", spec=spec)
    assert not needs_live(wanted)
    assert [one.name for one in lent(wanted, None)] == ["builder", "robot"]
    assert otherwise(wanted) is None


def test_the_token_of_an_account_lends_it() -> None:
    """The annotation says whose it is; another Secret lends nothing."""
    token = target("v1", "Secret", type="kubernetes.io/service-account-token", data=ROBOT)
    token["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "robot"}
    assert [one.subject for one in lent(token, None)] == ["ServiceAccount/solar/robot"]
    assert lent(target("v1", "Secret", type="Opaque", data=ROBOT), None) == ()


def test_an_account_is_also_meant_by_its_groups() -> None:
    """Those that every account has; what everybody has is no right that it lends."""
    assert Lent(PLACE, "robot", "Pod solar/x").names == {
        "ServiceAccount/solar/robot",
        "Group/system:serviceaccounts",
        "Group/system:serviceaccounts:solar",
    }


@pytest.mark.parametrize(
    ("api", "kind", "fields"),
    [
        ("certificates.k8s.io/v1", "CertificateSigningRequest", {}),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", {}),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {}),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", {}),
        ("apiregistration.k8s.io/v1", "APIService", {}),
        ("rbac.authorization.k8s.io/v2", "RoleSet", {}),
        ("authorization.openshift.io/v1", "RoleBinding", {}),
        ("management.cattle.io/v3", "GlobalRoleBinding", {}),
        ("copyhold.dev/v1alpha1", "GlobalTenantResource", {}),
        ("argoproj.io/v1alpha1", "Application", {}),
        ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", {}),
        ("v1", "Secret", {"type": "bootstrap.kubernetes.io/token"}),
        ("example.com/v1", "ClusterPipeline", {"spec": ROBOT, "namespace": ""}),
    ],
)
def test_what_gives_rights_in_its_own_way_is_unresolved(api: str, kind: str, fields: Any) -> None:
    """It counts as everything, and says which object and why."""
    row = otherwise(target(api, kind, **fields))
    assert row is not None
    assert row["subject"] == "*"
    assert row["unresolved"].startswith(f"{kind}: ")
    assert row["via"].startswith(f"{kind} ")


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "ServiceAccount"),
        ("v1", "Secret"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("apps/v1", "Deployment"),
        ("argoproj.io/v1alpha1", "Rollout"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
        ("example.com/v1", "Roleplay"),
    ],
)
def test_other_kinds_are_looked_into(api: str, kind: str) -> None:
    """Or give no rights at all."""
    assert otherwise(target(api, kind)) is None
