"""The whole manager on an API server without ValidatingAdmissionPolicy: it protects by its webhook, or does not start."""

import json
from collections.abc import Iterator

import pytest

from tests.realserver.access import ControlPlane
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.older import older_embedded, older_real
from tests.support.policies import refused
from tests.support.process import Place, failed_start
from tests.support.process import place as places
from tests.support.stage import config_map, group

ADMISSION = "admissionregistration.k8s.io/v1"
PROTECTION = "copyhold-protection"
SERVING = ("--admission-url", "https://127.0.0.1:0")


@pytest.fixture(scope="module", params=["embedded", "realserver"], ids=["embedded", "real"])
def server(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane of the module's own."""
    real = request.param == "realserver"
    with older_real(request.getfixturevalue("kubectl").parent) if real else older_embedded() as running:
        yield running


@pytest.fixture(scope="module")
def place(server: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """With everything that a manager needs."""
    with places(server, tmp_path_factory.mktemp("older")) as prepared:
        yield prepared


def someone(place: Place, namespace: str) -> Api:
    """A user who may do anything in a namespace."""
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    binding = ref("rbac.authorization.k8s.io/v1", "RoleBinding", "alice", namespace) | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    place.api.create(binding).expect(201)
    return place.api.as_user("alice")


def test_a_manager_that_serves_no_admission_does_not_start(place: Place) -> None:
    """Nothing would protect what it applies: one line with the remedy, and exit code 1."""
    code, lines = failed_start(place.kubeconfig())
    assert code == 1
    (said,) = map(json.loads, lines)
    assert said["level"] == "error"
    assert "ValidatingAdmissionPolicy" in said["message"]
    assert "--admission-service or --admission-url" in said["message"]


def test_what_a_manager_holds_is_protected_while_it_runs_and_after_its_end(place: Place) -> None:
    """In our words while it answers; by the API server alone when it is killed; and its successor takes the target back."""
    replica = place.replica(*SERVING)
    replica.ready()
    assert len(replica.lines("this API server has no ValidatingAdmissionPolicy: our webhook says what our policies would")) == 1
    tenant = place.tenant()
    namespace = place.namespace(tenant)
    parent = place.parent(tenant, group(config_map("held", {"a": "1"})))
    place.ready(parent)
    alice = someone(place, namespace)
    target = config_map("held", namespace=namespace)
    assert "is held by globaltenantresource/" in refused(alice.merge_patch(target, {"data": {"a": "2"}}), PROTECTION)
    alice.merge_patch(target, {"metadata": {"finalizers": None}}).expect(200)

    place.end()
    eventually(lambda: "failed calling webhook" in alice.merge_patch(target, {"data": {"a": "2"}}).message)
    alice.merge_patch(config_map("hers", namespace=namespace), {"data": {}}).expect(404)
    alice.create(config_map("hers", namespace=namespace)).expect(201)

    successor = place.replica(*SERVING)
    successor.ready()
    place.settled(successor)
    eventually(lambda: refused(alice.delete(target), PROTECTION))
    place.remove(parent)
    assert place.api.get(target).status == 404


def test_a_manager_writes_no_policies_and_repairs_its_webhooks(place: Place) -> None:
    """What somebody takes out of the configuration is there again at the next start."""
    place.end()
    replica = place.replica(*SERVING)
    replica.ready()
    place.end()
    configuration = ref(ADMISSION, "ValidatingWebhookConfiguration", "copyhold-policies")
    before = place.api.get(configuration).expect(200).body["webhooks"]
    assert len(before) == 7
    weakened: list[Manifest] = [hook | {"failurePolicy": "Ignore"} for hook in before[1:]]
    place.api.merge_patch(configuration, {"webhooks": weakened}).expect(200)
    place.replica(*SERVING).ready()
    after = place.api.get(configuration).expect(200).body["webhooks"]
    assert [(hook["name"], hook["failurePolicy"]) for hook in after] == [(hook["name"], "Fail") for hook in before]
