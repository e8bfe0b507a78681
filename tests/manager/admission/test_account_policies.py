"""Who may delete a ServiceAccount that permits act as: asked of a server that holds our policies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from apis.meta import GROUP, PARENT_EXTRA
from manager.admission.permits import accounts
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.policies import refused

OURS = f"{GROUP}/v1alpha1"
RBAC = "rbac.authorization.k8s.io"
BY_PERMIT, BY_TEMPLATE = (policy.name for policy in accounts())
MASTERS = ["system:masters"]
TIME = "2030-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, and somebody who may do everything in it."""

    admin: Api
    namespace: str
    person: str

    @property
    def user(self) -> Api:
        """The person."""
        return self.admin.as_user(self.person)

    def account(self) -> Manifest:
        """A ServiceAccount of its own."""
        made: Manifest = self.admin.create(ref("v1", "ServiceAccount", fresh("runner"), self.namespace)).expect(201).body
        return made

    def permit(self, account: Manifest, phase: str, *, namespace: str = "") -> Manifest:
        """A permit in this phase that acts as the account."""
        spec = {"template": {"kind": "ResourcePermitTemplate", "name": "reader"}}
        permit = ref(OURS, "ResourcePermit", fresh("permit"), self.namespace) | {"spec": spec}
        made: Manifest = self.admin.create(permit).expect(201).body
        request = {
            "template": {"kind": "ResourcePermitTemplate", "name": "reader", "uid": "t", "generation": 1},
            "impersonation": {"name": account["metadata"]["name"], "namespace": namespace or self.namespace},
            "approvals": {},
            "resources": [],
            "digest": "sha256:0",
        }
        step = {"index": 0, "type": phase, "timestamp": TIME, "actor": {"name": "copyhold", "type": "System"}, "reason": "R"}
        status = {"phase": phase, "request": request, "transitions": [step | {"hash": "sha256:0"}]}
        extra = {PARENT_EXTRA: [made["metadata"]["uid"]]}
        manager = self.admin.as_user("system:serviceaccount:copyhold-system:copyhold", groups=MASTERS, extra=extra)
        manager.merge_patch(made, {"status": status}, subresource="status").expect(200)
        return made

    def deletes(self, account: Manifest, by: Api | None = None) -> Reply:
        """The answer to a deletion of the account, as a dry run."""
        return (by or self.user).delete(account, dryRun="All")


@pytest.fixture(scope="module")
def place(admin: Api, policies: tuple[Manifest, ...]) -> Iterator[Place]:
    """A namespace for the module, where the policies are obeyed."""
    place = Place(admin, fresh("accounts"), fresh("carol"))
    admin.create(ref("v1", "Namespace", place.namespace)).expect(201)
    binding = ref(f"{RBAC}/v1", "RoleBinding", "admin", place.namespace) | {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": place.person}],
    }
    admin.create(binding).expect(201)
    probe = place.account()
    place.permit(probe, "Active")
    eventually(lambda: BY_PERMIT in place.deletes(probe).message)
    yield place
    admin.delete(ref("v1", "Namespace", place.namespace)).expect(200, 202)


@pytest.mark.parametrize("phase", ["Requested", "Pending", "Approved", "Active", "Failed", "Retrying"])
def test_an_account_stays_while_a_permit_needs_it(place: Place, phase: str) -> None:
    """Approved, it is what will act; active, it is what takes back."""
    account = place.account()
    permit = place.permit(account, phase)
    message = refused(place.deletes(account), BY_PERMIT)
    assert f"is used by ResourcePermit {permit['metadata']['name']} (phase {phase}): expire it first" in message


@pytest.mark.parametrize("phase", ["Created", "Denied", "Expired"])
def test_an_account_that_no_permit_needs_may_go(place: Place, phase: str) -> None:
    """Nobody acts for a permit that is not prepared, was denied, or is over."""
    account = place.account()
    place.permit(account, phase)
    eventually(lambda: place.deletes(account).expect(200))


def test_an_account_of_the_same_name_elsewhere_is_another(place: Place) -> None:
    """The snapshot names the namespace, too."""
    account = place.account()
    place.permit(account, "Active", namespace="elsewhere")
    place.permit(place.account(), "Active")
    place.deletes(account).expect(200)


def test_an_administrator_may_force_it(place: Place) -> None:
    """Who may `delete` on records.copyhold.dev; the manager takes back by itself then."""
    account = place.account()
    place.permit(account, "Active")
    eventually(lambda: refused(place.deletes(account), BY_PERMIT))
    place.deletes(account, place.admin).expect(200)


def test_the_account_of_a_global_template_stays(place: Place) -> None:
    """Its permits may be in any namespace, which no policy sees: the template goes first."""
    account = place.account()
    named: dict[str, Any] = {"name": account["metadata"]["name"], "namespace": place.namespace}
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    template = ref(OURS, "GlobalResourcePermitTemplate", fresh("wide")) | {
        "spec": {"impersonation": named, "resources": [{"targets": [target]}]}
    }
    place.admin.create(template).expect(201)
    try:
        message = eventually(lambda: refused(place.deletes(account), BY_TEMPLATE))
        assert f"is used by GlobalResourcePermitTemplate {template['metadata']['name']}" in message
    finally:
        place.admin.delete(template).expect(200)
    eventually(lambda: place.deletes(account).expect(200))


def test_a_namespace_goes_with_the_accounts_in_it(admin: Api, policies: tuple[Manifest, ...]) -> None:
    """Nothing of ours stands in the way of a namespace."""
    place = Place(admin, fresh("leaving"), "nobody")
    admin.create(ref("v1", "Namespace", place.namespace)).expect(201)
    place.permit(place.account(), "Active")
    space = ref("v1", "Namespace", place.namespace)
    admin.delete(space).expect(200, 202)
    eventually(lambda: admin.get(space).expect(404), timeout=60)
