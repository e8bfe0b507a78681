"""Who may name an account, put a namespace into a tenant, or write what we remember, asked of a real API server."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from apis.meta import FINALIZER, GROUP, TENANT_LABEL
from apis.selector import Requirement, Selector
from manager.admission.guards import accounts
from tests.manager.admission.bench import RBAC
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.names import fresh
from tests.support.policies import MANAGER_NAMESPACE, refused

OURS = f"{GROUP}/v1alpha1"
ANY = ["create", "update", "patch", "delete", "deletecollection", "get", "list"]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Manifest:
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} | named


BASIC = (
    _rule("", ["namespaces", "namespaces/status", "namespaces/finalize"], ANY),
    _rule(GROUP, ["tenants", "tenantresources", "globaltenantresources", "targetrecords"], ANY),
    _rule(GROUP, ["tenants/status", "tenantresources/status", "globaltenantresources/status"], ANY),
)
"""What the person of these tests may do by RBAC: everything around our kinds, and nothing that the guards ask for."""


@dataclass(slots=True)
class Person:
    """A user with rights of RBAC, and the objects that are deleted with her."""

    admin: Api
    name: str = field(default_factory=lambda: fresh("alice"))
    made: list[Manifest] = field(default_factory=list)

    @property
    def api(self) -> Api:
        """The server as she sees it."""
        return self.admin.as_user(self.name)

    def may(self, *rules: Manifest) -> None:
        """Give her cluster-wide rights, in force when this returns."""
        name = fresh("right")
        self.make(ref(f"{RBAC}/v1", "ClusterRole", name) | {"rules": list(rules)})
        subject = {"apiGroup": RBAC, "kind": "User", "name": self.name}
        self.make(
            ref(f"{RBAC}/v1", "ClusterRoleBinding", name)
            | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}, "subjects": [subject]}
        )
        for rule in rules:
            eventually(lambda rule=rule: self._allowed(rule))  # type: ignore[misc]

    def make(self, manifest: Manifest) -> Manifest:
        """Create an object as the administrator."""
        body: Manifest = self.admin.create(manifest).expect(201).body
        self.made.append(manifest)
        return body

    def namespace(self, labels: dict[str, str] | None = None) -> Manifest:
        """A namespace made by the administrator."""
        return self.make(_namespace(labels))

    def _allowed(self, rule: Manifest) -> bool:
        attributes = {
            "group": rule["apiGroups"][0],
            "resource": rule["resources"][0].partition("/")[0],
            "subresource": rule["resources"][0].partition("/")[2],
            "verb": rule["verbs"][0],
            "name": rule.get("resourceNames", [""])[0],
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        spec = {"user": self.name, "resourceAttributes": attributes}
        answer = self.admin.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review | {"spec": spec})
        return bool(answer.expect(201).body["status"]["allowed"])


@pytest.fixture
def alice(admin: Api, policies: tuple[Manifest, ...]) -> Iterator[Person]:
    """Somebody with the basic rights."""
    person = Person(admin)
    person.may(*BASIC)
    yield person
    for manifest in reversed(person.made):
        admin.delete(manifest).expect(200, 202, 404)


def _namespace(labels: dict[str, str] | None = None, name: str = "") -> Manifest:
    manifest = ref("v1", "Namespace", name or fresh("guarded"))
    manifest["metadata"]["labels"] = labels or {}
    return manifest


def _labels(**labels: str | None) -> Manifest:
    return {"metadata": {"labels": labels}}


# Accounts

RESOURCES = [{"targets": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]}]


def _local(namespace: str, account: str = "") -> Manifest:
    named = {"serviceAccount": {"name": account}} if account else {}
    return ref(OURS, "TenantResource", fresh("local"), namespace) | {"spec": {"resources": RESOURCES} | named}


def _global(account: str = "") -> Manifest:
    namespace, _, name = account.partition("/")
    named = {"serviceAccount": {"name": name, "namespace": namespace}} if account else {}
    return ref(OURS, "GlobalTenantResource", fresh("global")) | {"spec": {"resources": RESOURCES} | named}


def _impersonate(*accounts: str) -> Manifest:
    return _rule("", ["serviceaccounts"], ["impersonate"], accounts)


def test_an_account_that_its_author_may_not_impersonate_is_refused(alice: Person) -> None:
    """The message names the account, the field and the right that is missing."""
    home = alice.namespace()["metadata"]["name"]
    message = refused(alice.api.create(_local(home, "deployer")), "copyhold-accounts")
    assert message.endswith(
        f"spec.serviceAccount names ServiceAccount {home}/deployer, which you may not impersonate: "
        f"ask for verb impersonate on serviceaccounts/deployer in namespace {home}, or name another account"
    )
    message = refused(alice.api.create(_global(f"{home}/deployer")), "copyhold-accounts")
    assert f"ServiceAccount {home}/deployer, which you may not impersonate" in message


def test_an_account_that_its_author_may_impersonate_is_accepted(alice: Person) -> None:
    """The right may be given for one account; its neighbour stays refused."""
    home = alice.namespace()["metadata"]["name"]
    alice.may(_impersonate("deployer"))
    for parent in (_local(home, "deployer"), _global(f"{home}/deployer")):
        alice.api.create(parent).expect(201)
        alice.made.append(parent)
    refused(alice.api.create(_local(home, "other")), "copyhold-accounts")


def test_a_parent_without_an_account_needs_no_right(alice: Person) -> None:
    """The configured default is named by nobody."""
    home = alice.namespace()["metadata"]["name"]
    alice.api.create(_local(home), dryRun="All").expect(201)
    alice.api.create(_global(), dryRun="All").expect(201)


def test_whoever_changes_a_spec_needs_the_right_to_its_account(alice: Person) -> None:
    """What somebody else named cannot be used by editing what it applies."""
    home = alice.namespace()["metadata"]["name"]
    parent = alice.make(_local(home, "deployer"))
    refused(alice.api.merge_patch(parent, {"spec": {"cordoned": True}}), "copyhold-accounts")
    refused(alice.api.merge_patch(parent, {"spec": {"serviceAccount": {"name": "other"}}}), "copyhold-accounts")
    alice.api.merge_patch(parent, {"spec": {"serviceAccount": None}}, dryRun="All").expect(200)
    alice.may(_impersonate("deployer"))
    alice.api.merge_patch(parent, {"spec": {"cordoned": True}}).expect(200)


def test_metadata_is_free(alice: Person) -> None:
    """Labels, annotations, finalizers and the deletion of a parent need no right to its account."""
    home = alice.namespace()["metadata"]["name"]
    parent = alice.make(_local(home, "deployer"))
    metadata = {"labels": {"a": "b"}, "annotations": {f"{GROUP}/confirm-prune": "x"}, "finalizers": [FINALIZER]}
    alice.api.merge_patch(parent, {"metadata": metadata}).expect(200)
    alice.api.delete(parent).expect(200)
    alice.api.merge_patch(parent, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize("account", ["kube-system/deployment-controller", f"{MANAGER_NAMESPACE}/manager"])
def test_accounts_of_reserved_namespaces_are_refused(admin: Api, policies: tuple[Manifest, ...], account: str) -> None:
    """An administrator, who may impersonate anybody, must allow them by flag."""
    message = refused(admin.create(_global(account)), "copyhold-accounts")
    assert f"ServiceAccount {account} is of a reserved namespace" in message


def test_an_allowed_account_of_a_reserved_namespace_still_needs_the_right(alice: Person) -> None:
    """The flag opens the namespace, not the account."""
    parent = _global(f"{MANAGER_NAMESPACE}/distributor")
    alice.admin.create(parent, dryRun="All").expect(201)
    refused(alice.api.create(parent), "copyhold-accounts")


def test_a_parent_in_a_reserved_namespace_acts_as_its_default_account(alice: Person) -> None:
    """Leaving the name out gives nobody the account `default` of kube-system."""
    message = refused(alice.api.create(_local("kube-system")), "copyhold-accounts")
    assert "ServiceAccount kube-system/default is of a reserved namespace" in message
    refused(alice.api.create(_local("kube-system", "x")), "copyhold-accounts")


# Tenants


def _tenant(selector: Manifest | None = None) -> Manifest:
    spec = {"namespaceSelector": selector} if selector else {}
    return ref(OURS, "Tenant", fresh("solar")) | {"spec": spec}


def _assign(*tenants: str) -> Manifest:
    return _rule(GROUP, ["tenants"], ["assign"], tenants)


LABEL = ("copyhold-tenant-label", "copyhold-tenants")
"""The default label of a Tenant that exists is guarded by both policies, in the same words."""


def test_a_namespace_does_not_label_itself_into_a_tenant(alice: Person) -> None:
    """The default label needs `assign`, at creation and at any change, for a Tenant that exists and for one that does not yet."""
    tenant = alice.make(_tenant())["metadata"]["name"]
    home = alice.namespace()
    for name in (tenant, fresh("later")):
        labels = {TENANT_LABEL: name}
        message = refused(alice.api.create(_namespace(labels)), *LABEL)
        assert f"into Tenant {name}: ask for verb assign on tenants.{GROUP}/{name}, or leave the labels out" in message
        refused(alice.api.merge_patch(home, _labels(**labels)), *LABEL)
        refused(alice.api.apply(_namespace(labels, home["metadata"]["name"])), *LABEL)


@pytest.mark.parametrize("subresource", ["status", "finalize"])
def test_a_subresource_is_no_way_into_a_tenant(alice: Person, subresource: str) -> None:
    """The server lets labels of a namespace be changed through its subresources."""
    home = alice.namespace()
    labelled = home | {"metadata": home["metadata"] | {"labels": {TENANT_LABEL: "solar"}}}
    refused(alice.api.replace(labelled, subresource=subresource), *LABEL)


def test_who_may_assign_to_a_tenant_labels_a_namespace(alice: Person) -> None:
    """The right may be given for one Tenant; another one stays closed."""
    tenant, other = alice.make(_tenant())["metadata"]["name"], alice.make(_tenant())["metadata"]["name"]
    alice.may(_assign(tenant))
    home = alice.namespace()
    alice.api.merge_patch(home, _labels(**{TENANT_LABEL: tenant})).expect(200)
    refused(alice.api.merge_patch(home, _labels(**{TENANT_LABEL: other})), *LABEL)
    alice.api.merge_patch(home, _labels(mine="yes")).expect(200)
    alice.api.merge_patch(home, _labels(**{TENANT_LABEL: None})).expect(200)


def test_what_a_namespace_has_already_needs_no_right(alice: Person) -> None:
    """A member may be labelled, annotated and left by who lacks `assign`."""
    tenant = alice.make(_tenant())["metadata"]["name"]
    member = alice.namespace({TENANT_LABEL: tenant})
    alice.api.merge_patch(member, _labels(mine="yes")).expect(200)
    alice.api.merge_patch(member, {"metadata": {"annotations": {"mine": "yes"}}}).expect(200)
    alice.api.merge_patch(member, _labels(**{TENANT_LABEL: None})).expect(200)
    refused(alice.api.merge_patch(member, _labels(**{TENANT_LABEL: tenant})), *LABEL)


STAGE = fresh("stage")
"""A label key that no other test selects by."""


def _expression(operator: str, *values: str) -> Manifest:
    return {"key": STAGE, "operator": operator} | ({"values": list(values)} if values else {})


EXPRESSIONS = [
    pytest.param({"matchLabels": {STAGE: "dev"}}, id="equal"),
    pytest.param({"matchExpressions": [_expression("In", "dev", "test")]}, id="In"),
    pytest.param({"matchExpressions": [_expression("NotIn", "dev", "test"), _expression("Exists")]}, id="NotIn"),
    pytest.param({"matchExpressions": [_expression("Exists")]}, id="Exists"),
    pytest.param({"matchLabels": {f"{STAGE}-x": "on"}, "matchExpressions": [_expression("DoesNotExist")]}, id="DoesNotExist"),
    pytest.param({"matchLabels": {f"{STAGE}-x": "on"}, "matchExpressions": [_expression("NotIn", "dev")]}, id="NotIn, absent"),
    pytest.param({"matchLabels": {f"{STAGE}-x": "on"}, "matchExpressions": [_expression("In", "dev")]}, id="both"),
]

LABELS: list[dict[str, str]] = [
    stage | extra for extra in ({}, {f"{STAGE}-x": "on"}) for stage in ({}, {STAGE: "dev"}, {STAGE: "prod"})
]


@pytest.mark.parametrize("selector", EXPRESSIONS)
def test_a_selector_of_a_tenant_is_understood_as_we_understand_it(alice: Person, selector: Manifest) -> None:
    """Exactly the labels that the Tenant selects are refused without `assign`, and by whichever way a namespace gets them."""
    tenant = alice.make(_tenant(selector))
    probe = next(labels for labels in LABELS if _matches(selector, labels))
    eventually(lambda: alice.api.create(_namespace(probe), dryRun="All").status == 403)
    for labels in LABELS:
        answer = alice.api.create(_namespace(labels), dryRun="All")
        assert answer.status == (403 if _matches(selector, labels) else 201), labels
    homes = [(labels, alice.namespace(labels)) for labels in LABELS[:3]]
    for old, home in homes:
        for new in LABELS:
            patch = _labels(**{key: new.get(key) for key in (STAGE, f"{STAGE}-x")})
            joins = _matches(selector, new) and not _matches(selector, old)
            answer = alice.api.merge_patch(home, patch, dryRun="All")
            assert answer.status == (403 if joins else 200), (old, new)
    alice.may(_assign(tenant["metadata"]["name"]))
    alice.api.create(_namespace(probe), dryRun="All").expect(201)


def _matches(selector: Manifest, labels: dict[str, str]) -> bool:
    expressions = [
        Requirement(one["key"], one["operator"], tuple(one.get("values", ()))) for one in selector.get("matchExpressions", [])
    ]
    return Selector.of(selector.get("matchLabels", {}), expressions).matches(labels)


def test_a_namespace_joins_a_tenant_through_its_status(alice: Person) -> None:
    """Labels that a selector looks at are guarded in the subresource `status` too."""
    key = fresh("plan")
    alice.make(_tenant({"matchLabels": {key: "gold"}}))
    home = alice.namespace()
    eventually(lambda: alice.api.merge_patch(home, _labels(**{key: "gold"}), dryRun="All").status == 403)
    labelled = home | {"metadata": home["metadata"] | {"labels": {key: "gold"}}}
    refused(alice.api.replace(labelled, subresource="status"), "copyhold-tenants")


def test_a_namespace_that_goes_is_not_held_up(alice: Person) -> None:
    """The namespace controller finalizes a member although it may assign to nothing."""
    tenant = alice.make(_tenant())["metadata"]["name"]
    member = alice.namespace({TENANT_LABEL: tenant})
    alice.api.delete(member).expect(200)
    eventually(lambda: alice.admin.get(member).status == 404)


# Records


def _record() -> Manifest:
    body = {"parent": {"kind": "Tenant", "name": "x", "uid": "x"}, "shard": 0, "count": 0, "digest": "", "data": ""}
    return ref(OURS, "TargetRecord", fresh("record")) | body


def _memories() -> list[object]:
    makers: dict[str, Callable[[Person], Manifest]] = {
        "Tenant": lambda person: person.make(_tenant()),
        "TenantResource": lambda person: person.make(_local(person.namespace()["metadata"]["name"])),
        "GlobalTenantResource": lambda person: person.make(_global()),
    }
    return [pytest.param(maker, id=kind) for kind, maker in makers.items()]


@pytest.mark.parametrize("make", _memories())
def test_a_status_is_not_forged(alice: Person, make: Callable[[Person], Manifest]) -> None:
    """The right to update the status subresource is not enough, by any verb; the right to records is."""
    parent = make(alice)
    patch = {"status": {"size": 3}}
    message = refused(alice.api.merge_patch(parent, patch, subresource="status"), "copyhold-records")
    assert f"{parent['metadata']['name']}: only Copyhold writes what it remembers of its targets" in message
    refused(alice.api.replace(parent | patch, subresource="status"), "copyhold-records")
    only = ref(parent["apiVersion"], parent["kind"], parent["metadata"]["name"], parent["metadata"].get("namespace"))
    refused(alice.api.apply(only | patch, subresource="status"), "copyhold-records")
    alice.may(_rule(GROUP, ["records"], ["update"]))
    alice.api.merge_patch(parent, patch, subresource="status").expect(200)


def test_a_status_in_the_parent_itself_is_ignored(alice: Person) -> None:
    """The server drops it at creation and at an update of the main resource, so no guard is needed there."""
    tenant = _tenant() | {"status": {"size": 3}}
    made = alice.api.create(tenant).expect(201).body
    alice.made.append(tenant)
    assert "status" not in made
    assert "status" not in alice.api.merge_patch(made, {"status": {"size": 3}}).expect(200).body


def test_a_target_record_is_not_forged(alice: Person) -> None:
    """Creating, changing and deleting a record all need the right."""
    refused(alice.api.create(_record()), "copyhold-records")
    record = alice.make(_record())
    refused(alice.api.merge_patch(record, {"count": 1}), "copyhold-records")
    refused(alice.api.merge_patch(record, {"metadata": {"finalizers": [FINALIZER]}}), "copyhold-records")
    refused(alice.api.delete(record), "copyhold-records")
    refused(
        alice.api.delete_all(OURS, "TargetRecord", fieldSelector=f"metadata.name={record['metadata']['name']}"),
        "copyhold-records",
    )
    alice.may(_rule(GROUP, ["records"], ["update"]))
    alice.api.merge_patch(record, {"count": 1}).expect(200)
    alice.api.delete(record).expect(200)


def test_the_right_to_records_in_one_namespace_is_not_enough(alice: Person) -> None:
    """A tenant who may give rights in the own namespace cannot give this one."""
    home = alice.namespace()["metadata"]["name"]
    parent = alice.make(_local(home))
    name = fresh("right")
    alice.make(ref(f"{RBAC}/v1", "Role", name, home) | {"rules": [_rule(GROUP, ["records"], ["update"])]})
    subject = {"apiGroup": RBAC, "kind": "User", "name": alice.name}
    alice.make(
        ref(f"{RBAC}/v1", "RoleBinding", name, home)
        | {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}, "subjects": [subject]}
    )
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    attributes = {"group": GROUP, "resource": "records", "verb": "update", "namespace": home}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    spec = {"user": alice.name, "resourceAttributes": attributes}
    eventually(lambda: alice.admin.request("POST", path, review | {"spec": spec}).body["status"]["allowed"])
    refused(alice.api.merge_patch(parent, {"status": {"size": 3}}, subresource="status"), "copyhold-records")


def test_our_finalizer_may_be_taken_off_by_force(alice: Person) -> None:
    """Whoever may update a parent can end it without us; what it made then stays behind."""
    tenant = _tenant()
    tenant["metadata"]["finalizers"] = [FINALIZER]
    alice.make(tenant)
    alice.api.delete(tenant).expect(200)
    alice.api.merge_patch(tenant, {"metadata": {"finalizers": None}}).expect(200)
    assert alice.admin.get(tenant).status == 404


# Text


def test_the_order_of_allowed_accounts_does_not_matter() -> None:
    """Two replicas whose flags come in another order write the same policy."""
    one = accounts(manager_namespace="here", allowed=["a/b", "c/d"])
    assert one == accounts(manager_namespace="here", allowed=["c/d", "a/b"])


def test_flags_cannot_break_out_of_the_expression() -> None:
    """Whatever is written in a flag stays text."""
    text = accounts(manager_namespace="a'b\"c", allowed=["x'\"] || true || ['/y"]).validations[0].expression
    assert r'["kube-system", "a\'b' not in text
    assert r'"a' + "'" + r'b\"c"' in text
