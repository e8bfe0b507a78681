"""Policies without a server: which requests they see, what they say, and that ours hold here as on the real server.

What the engine says word by word is judged beside the real server in tests/contract/test_admission_policies.py.
"""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from apis.meta import ACCOUNT_PREFIX, MANAGED, PARENT_EXTRA, PARENT_PREFIX, PROTECTED, TARGET_PREFIX, Manifest
from manager.admission import keep
from manager.embedded.attributes import AUTHENTICATED, MASTERS, User
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.policies import AdmissionRequest, Policies
from manager.embedded.policies.checks import check_binding, check_policy
from manager.embedded.policies.request import Kind, Operation, Resource
from manager.embedded.served import Served
from manager.embedded.status import StatusError
from manager.embedded.store import Store
from tests.manager.embedded.auth.stored import ALICE, binding, drop, named, put, role, rule

API = "admissionregistration.k8s.io/v1"
ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
TENANT = Served("copyhold.dev", "v1alpha1", "Tenant", "tenants", namespaced=False)
DEPLOYER = User("system:serviceaccount:blue:deployer", groups=("system:serviceaccounts", AUTHENTICATED))
MANAGER = replace(DEPLOYER, extra={PARENT_EXTRA: ("f00d",)})
OTHER = replace(DEPLOYER, name="system:serviceaccount:blue:other")
CONTROLLER = User("system:serviceaccount:kube-system:endpointslice-controller")


@dataclass(frozen=True, slots=True)
class Stand:
    """A store with policies in force."""

    store: Store
    engine: Policies

    @classmethod
    def build(cls, *manifests: Manifest) -> "Stand":
        """Store the manifests, and a namespace `blue`."""
        store = Store()
        put(store, named("Namespace", "blue", status={"phase": "Active"}), *manifests)
        return cls(store, Policies(store, _served, Authorizer(store)))

    def verdict(self, request: AdmissionRequest) -> int:
        """200, or the code of the refusal."""
        try:
            self.engine.admit(request)
        except StatusError as error:
            return error.code
        return 200


def _served(group: str, version: str, kind: str) -> Served | None:
    return TENANT if (group, kind) == ("copyhold.dev", "Tenant") else None


def config_map(name: str = "c", **metadata: Any) -> Manifest:
    """A ConfigMap in the namespace blue."""
    made = named("ConfigMap", name, "blue", data={"a": "b"})
    return made | {"metadata": made["metadata"] | metadata}


def request(new: Manifest | None, old: Manifest | None = None, user: User = ALICE, **more: Any) -> AdmissionRequest:
    """The write that makes `new` of `old`."""
    operation = Operation.CREATE if old is None else Operation.DELETE if new is None else Operation.UPDATE
    metadata = (new or old or {})["metadata"]
    fields = {
        "operation": operation,
        "kind": Kind("", "v1", "ConfigMap"),
        "resource": Resource("", "v1", "configmaps"),
        "user": user,
        "object": new,
        "old": old,
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
    }
    return AdmissionRequest(**{**fields, **more})


def policy(name: str = "p", expression: str = "false", **spec: Any) -> tuple[Manifest, Manifest]:
    """A policy about ConfigMaps and its binding of the same name."""
    rules = [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}]
    wanted = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}], **spec}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return (
        named("ValidatingAdmissionPolicy", name, "", API, spec=wanted),
        named("ValidatingAdmissionPolicyBinding", name, "", API, spec=bound),
    )


def test_a_denial_names_policy_and_binding() -> None:
    """The words, code, reason and cause are those of the real server."""
    with pytest.raises(StatusError) as denied:
        Stand.build(*policy()).engine.admit(request(config_map()))
    said = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: false"
    assert denied.value.manifest() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "c" is forbidden: {said}',
        "reason": "Invalid",
        "details": {"name": "c", "kind": "configmaps", "causes": [{"message": said}]},
        "code": 422,
    }


def test_a_policy_without_a_binding_says_nothing() -> None:
    """Only a binding puts it in force."""
    written, _ = policy()
    assert Stand.build(written).verdict(request(config_map())) == 200


def test_a_policy_counts_from_when_it_is_stored_to_when_it_is_deleted() -> None:
    """Nothing that was remembered outlives a change."""
    stand = Stand.build()
    asked = request(config_map())
    assert stand.verdict(asked) == 200
    put(stand.store, *policy())
    assert stand.verdict(asked) == 422
    put(stand.store, policy(expression="true")[0])
    assert stand.verdict(asked) == 200
    put(stand.store, policy()[0])
    drop(stand.store, "ValidatingAdmissionPolicyBinding", "p")
    assert stand.verdict(asked) == 200


def test_what_no_policy_is_about_is_not_looked_at() -> None:
    """A request costs nothing when no rule names its resource: its object is not even read."""
    nothing = replace(request(config_map()), resource=Resource("", "v1", "secrets"), object={})
    assert Stand.build(*policy()).verdict(nothing) == 200


def test_policies_are_not_asked_about_themselves() -> None:
    """Or nobody could repair one that refuses everything."""
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    stand = Stand.build(*policy(matchConstraints={"resourceRules": rules}))
    assert stand.verdict(request(config_map())) == 422
    kind = Kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")
    resource = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
    assert stand.verdict(request(config_map(), kind=kind, resource=resource)) == 200
    review = Kind("authorization.k8s.io", "v1", "SubjectAccessReview")
    reviews = Resource("authorization.k8s.io", "v1", "subjectaccessreviews")
    assert stand.verdict(request(config_map(), kind=review, resource=reviews)) == 200


def test_the_first_policy_by_name_is_named() -> None:
    """Several denials make one answer."""
    with pytest.raises(StatusError, match="ValidatingAdmissionPolicy 'a'"):
        Stand.build(*policy("b"), *policy("a")).engine.admit(request(config_map()))


def test_warnings_come_with_the_answer() -> None:
    """A binding that only warns lets the request pass."""
    written, bound = policy()
    bound["spec"]["validationActions"] = ["Warn", "Audit"]
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': failed expression: false"
    assert Stand.build(written, bound).engine.admit(request(config_map())) == [said]


def test_another_version_of_the_same_resource_matches() -> None:
    """With matchPolicy Equivalent a policy sees the version that it names, whatever the client used; with Exact it does not."""
    rules = [{"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["things"]}]
    expression = "object.apiVersion != 'x.io/v1' || request.kind.version != 'v1' || request.requestKind.version != 'v2'"
    asked = request(
        config_map() | {"apiVersion": "x.io/v2", "kind": "Thing"},
        kind=Kind("x.io", "v2", "Thing"),
        resource=Resource("x.io", "v2", "things"),
        others={Resource("x.io", "v1", "things"): Kind("x.io", "v1", "Thing")},
    )
    for policy_of_match, verdict in (("Equivalent", 422), ("Exact", 200)):
        constraints = {"resourceRules": rules, "matchPolicy": policy_of_match}
        assert Stand.build(*policy(expression=expression, matchConstraints=constraints)).verdict(asked) == verdict


ASKS = "authorizer.group('').resource('pods').check('get').allowed()"
COSTLY = f"!{ASKS} && !{ASKS}"
"""Two questions about rights cost 700,000 units, of a million that one expression may cost and ten million for all."""


def test_variables_are_computed_once_and_only_when_read() -> None:
    """A costly variable can be read by twenty validations, and one that fails is not seen when nobody reads it."""
    variables = [{"name": "costly", "expression": COSTLY}, {"name": "bad", "expression": "object.none"}]
    validations = [{"expression": "variables.costly"}] * 20
    assert Stand.build(*policy(variables=variables, validations=validations)).verdict(request(config_map())) == 200


def test_all_expressions_together_have_a_budget() -> None:
    """Twenty validations that each cost most of what one may are too many; ten are not."""
    assert Stand.build(*policy(validations=[{"expression": COSTLY}] * 10)).verdict(request(config_map())) == 200
    with pytest.raises(StatusError, match="running out of cost budget"):
        Stand.build(*policy(validations=[{"expression": COSTLY}] * 20)).engine.admit(request(config_map()))


# Our own policies


def ours() -> tuple[Manifest, ...]:
    """All policies and bindings that the manager writes."""
    return keep.manifests(manager_namespace="copyhold-system", allowed=("kube-system/chosen",))


def test_our_policies_are_right() -> None:
    """All their expressions compile, with the types that they must have."""
    for manifest in ours():
        check = check_policy if manifest["kind"] == "ValidatingAdmissionPolicy" else check_binding
        assert check(manifest) == [], manifest["metadata"]["name"]


def held(name: str = "c", parent: str = "f00d", account: str = DEPLOYER.name, **body: Any) -> Manifest:
    """A ConfigMap that a parent holds."""
    labels = {MANAGED: "true", PROTECTED: "true", f"{PARENT_PREFIX}{parent}": "created"}
    annotations = {f"{ACCOUNT_PREFIX}{parent}": account, f"{TARGET_PREFIX}{parent}": "ConfigMap./c"}
    entries = [{"manager": f"copyhold.dev/tenantresource/{parent}", "operation": "Apply"}]
    return config_map(name, labels=labels, annotations=annotations, managedFields=entries) | body


def without(manifest: Manifest, *names: str) -> Manifest:
    """The object without some of its metadata."""
    return manifest | {"metadata": {key: value for key, value in manifest["metadata"].items() if key not in names}}


def joined(*objects: Manifest) -> Manifest:
    """A held object with the marks of several parents."""
    first = objects[0]
    marks = {key: {k: v for each in objects for k, v in each["metadata"][key].items()} for key in ("labels", "annotations")}
    return first | {"metadata": first["metadata"] | marks}


HELD = held()
FREE = config_map()
RED = {"data": {"a": "red"}}
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}


@pytest.mark.parametrize(
    ("new", "old", "user", "code"),
    [
        pytest.param(HELD, None, MANAGER, 200, id="the manager makes a held object"),
        pytest.param(HELD, None, DEPLOYER, 403, id="the account makes one without us"),
        pytest.param(held(account=ALICE.name), None, ALICE, 403, id="a user makes one that names herself"),
        pytest.param(held("other"), None, ALICE, 200, id="marks of another name are copied"),
        pytest.param(None, held("other"), ALICE, 200, id="a copy is deleted"),
        pytest.param(HELD | RED, HELD, ALICE, 403, id="a user edits"),
        pytest.param(HELD | RED, HELD, ADMIN, 403, id="an administrator edits"),
        pytest.param(HELD | RED, HELD, DEPLOYER, 200, id="the named account edits"),
        pytest.param(HELD | RED, HELD, OTHER, 403, id="another account edits"),
        pytest.param(HELD | RED, HELD, MANAGER, 200, id="the manager edits"),
        pytest.param(HELD | RED, HELD, CONTROLLER, 200, id="a controller edits"),
        pytest.param(without(HELD, "labels"), HELD, ALICE, 403, id="a user takes the label off"),
        pytest.param(without(HELD, "annotations"), HELD, ALICE, 403, id="a user takes the annotations off"),
        pytest.param(without(HELD, "managedFields"), HELD, ALICE, 403, id="a user wipes managedFields"),
        pytest.param(config_map() | {"metadata": HELD["metadata"] | {"finalizers": ["a/b"]}}, HELD, ALICE, 200, id="a finalizer"),
        pytest.param(HELD | {"status": {"x": 1}}, HELD, ALICE, 200, id="a status"),
        pytest.param(None, HELD, ALICE, 403, id="a user deletes"),
        pytest.param(None, HELD, ADMIN, 403, id="an administrator deletes"),
        pytest.param(None, HELD, DEPLOYER, 200, id="the named account deletes"),
        pytest.param(None, HELD | {"metadata": HELD["metadata"] | LEAVING}, ALICE, 200, id="what is leaving is deleted again"),
        pytest.param(HELD, FREE, MANAGER, 200, id="adoption by the manager"),
        pytest.param(HELD, FREE, ALICE, 403, id="adoption by a user"),
        pytest.param(joined(HELD, held(parent="beef")), HELD, MANAGER, 200, id="another parent joins"),
        pytest.param(joined(held(), held(parent="beef")), FREE, MANAGER, 403, id="forged marks are not adopted"),
        pytest.param(FREE, HELD, MANAGER, 200, id="the manager lets go"),
        pytest.param(FREE | RED, FREE, ALICE, 200, id="a free object is edited"),
    ],
)
def test_a_held_object_is_protected(new: Manifest | None, old: Manifest | None, user: User, code: int) -> None:
    """The verdicts of the design's table, with the policies as they are installed."""
    assert Stand.build(*ours()).verdict(request(new, old, user)) == code


def test_a_refusal_says_who_holds_the_object_and_what_helps() -> None:
    """The message is computed by the policy."""
    with pytest.raises(StatusError) as denied:
        Stand.build(*ours()).engine.admit(request(HELD | RED, HELD))
    assert denied.value.message == (
        "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'copyhold-protection' with binding 'copyhold-protection'"
        " denied request: ConfigMap c in namespace blue is held by tenantresource/f00d: change or delete that parent,"
        " or free the object with: copyhold release ConfigMap c --namespace blue"
    )


def test_what_leaves_with_its_namespace_is_free() -> None:
    """A namespace that is being deleted takes held objects along."""
    stand = Stand.build(*ours())
    put(stand.store, named("Namespace", "blue") | {"metadata": {"name": "blue", **LEAVING}})
    assert stand.verdict(request(None, HELD)) == 200


def test_marks_cannot_be_changed_through_a_subresource() -> None:
    """A status may be written, with the marks as they were."""
    stand = Stand.build(*ours())
    assert stand.verdict(request(HELD | {"status": {}}, HELD, subresource="status")) == 200
    assert stand.verdict(request(without(HELD, "annotations"), HELD, subresource="status")) == 403


def parent(account: str = "") -> Manifest:
    """A TenantResource in the namespace blue."""
    spec = {"serviceAccount": {"name": account}} if account else {}
    return named("TenantResource", "p", "blue", "copyhold.dev/v1alpha1", spec=spec)


@pytest.mark.parametrize(
    ("new", "old", "user", "code"),
    [
        pytest.param(parent(), None, ALICE, 200, id="no account"),
        pytest.param(parent("robot"), None, ALICE, 403, id="an account"),
        pytest.param(parent("robot"), None, ADMIN, 200, id="an account, by an administrator"),
        pytest.param(parent("own"), None, ALICE, 200, id="an account that one may impersonate"),
        pytest.param(parent("robot"), parent("robot"), ALICE, 200, id="an account that was there"),
        pytest.param(parent("robot"), parent("own"), ALICE, 403, id="another account"),
    ],
)
def test_an_account_is_named_by_who_may_act_as_it(new: Manifest, old: Manifest | None, user: User, code: int) -> None:
    """The policy asks the server's own authorizer."""
    mine = role("r", rule("serviceaccounts", "impersonate", resourceNames=["own"]), namespace="blue")
    stand = Stand.build(*ours(), mine, binding("b", "Role/r", "User/alice", namespace="blue"))
    kind, resource = Kind("copyhold.dev", "v1alpha1", "TenantResource"), Resource("copyhold.dev", "v1alpha1", "tenantresources")
    assert stand.verdict(request(new, old, user, kind=kind, resource=resource)) == code


@pytest.mark.parametrize(
    ("labels", "user", "code"),
    [
        pytest.param({"a": "b"}, ALICE, 200, id="a label that nobody selects"),
        pytest.param({"team": "solar"}, ALICE, 403, id="a label that a Tenant selects"),
        pytest.param({"team": "wind"}, ALICE, 200, id="a label of a Tenant that one may assign"),
        pytest.param({"team": "solar"}, ADMIN, 200, id="by an administrator"),
        pytest.param({"copyhold.dev/tenant": "later"}, ALICE, 403, id="the label of a Tenant to come"),
    ],
)
def test_a_namespace_joins_a_tenant_by_who_may_assign(labels: Manifest, user: User, code: int) -> None:
    """A policy with parameters is asked for each Tenant."""
    tenants = [
        named("Tenant", name, "", "copyhold.dev/v1alpha1", spec={"namespaceSelector": {"matchLabels": {"team": name}}})
        for name in ("solar", "wind")
    ]
    mine = role("r", rule("tenants", "assign", "copyhold.dev", resourceNames=["wind"]))
    stand = Stand.build(*ours(), *tenants, mine, binding("b", "ClusterRole/r", "User/alice"))
    new = named("Namespace", "red") | {"metadata": {"name": "red", "labels": labels}}
    asked = request(new, user=user, kind=Kind("", "v1", "Namespace"), resource=Resource("", "v1", "namespaces"), namespace="red")
    assert stand.verdict(asked) == code


def test_memory_is_written_by_who_may_update_records() -> None:
    """Neither the owner of a parent nor an account writes what the manager remembers."""
    kind, resource = Kind("copyhold.dev", "v1alpha1", "TargetRecord"), Resource("copyhold.dev", "v1alpha1", "targetrecords")
    record = named("TargetRecord", "t", "", "copyhold.dev/v1alpha1")
    stand = Stand.build(*ours())
    assert stand.verdict(request(record, user=ALICE, kind=kind, resource=resource)) == 403
    assert stand.verdict(request(record, user=ADMIN, kind=kind, resource=resource)) == 200
