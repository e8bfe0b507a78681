"""What a ValidatingAdmissionPolicy says: the real server and our engine judge the same requests alike, word by word."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from manager.embedded.attributes import AUTHENTICATED, MASTERS, User
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.policies import AdmissionRequest, Policies
from manager.embedded.policies.checks import check_binding, check_policy
from manager.embedded.policies.policies import BINDINGS, POLICIES
from manager.embedded.policies.request import Kind, Operation, Resource
from manager.embedded.served import Served
from manager.embedded.status import StatusError
from manager.embedded.store import Key, Store
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh

API = "admissionregistration.k8s.io/v1"
ROW = "tests.example/row"
CONFIG_MAP = Kind("", "v1", "ConfigMap")
CONFIG_MAPS = Resource("", "v1", "configmaps")
SERVED = Served("", "v1", "ConfigMap", "configmaps", namespaced=True)
PATIENCE = 4  # seconds: the real server looks for new policies once a second
ADMIN = User("admin", "admin", (MASTERS, AUTHENTICATED))
"""As the tests' own administrator is known to the real server, but for a group without a name."""


def rules(resources: str = "configmaps", operations: str = "CREATE", **rest: Any) -> list[Manifest]:
    """Build resource rules of the core group."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": resources.split(), "operations": operations.split()}
    return [rule | rest]


def check(expression: str, **rest: Any) -> Manifest:
    """Build a validation."""
    return {"expression": expression} | rest


@dataclass(frozen=True, slots=True)
class Row:
    """A policy, its binding and one request about a ConfigMap of its own, named `subject`; `$` in texts is the namespace."""

    validations: tuple[Manifest, ...] = ()
    spec: Manifest = field(default_factory=dict)
    constraints: Manifest = field(default_factory=dict)
    binding: Manifest = field(default_factory=dict)
    operation: Operation = Operation.CREATE
    old: Manifest = field(default_factory=dict)
    new: Manifest = field(default_factory=dict)
    others: tuple[Manifest, ...] = ()  # further ConfigMaps of the namespace: parameters


def named(name: str, value: str) -> Manifest:
    """Build a variable or a match condition."""
    return {"name": name, "expression": value}


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
SMALL = {"name": "limits", "parameterNotFoundAction": "Deny"}
LIMITS = {"metadata": {"name": "limits", "labels": {"use": "params"}}, "data": {"most": "3"}}
OTHER_LIMITS = {"metadata": {"name": "limits-b", "labels": {"use": "params"}}, "data": {"most": "1"}}
EXPENSIVE = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, %s)))"
COSTLY = EXPENSIVE % (EXPENSIVE % "a < 11 && b < 11 && c < 11")
LONG = "'0123456789'.replace('', '0123456789').replace('', '0123456789').replace('', '0123456789')"
ALLOWED = "authorizer.group('').resource('configmaps').namespace('$').name('x').check('get').allowed()"

ROWS: dict[str, Row] = {
    "passes": Row((check("true"),)),
    "fails": Row((check("1 == 2"),)),
    "fails with a message": Row((check("false", message="  not so  "),)),
    "fails with an expression for a message": Row((check("false", messageExpression="'no: ' + object.metadata.name"),)),
    "a message expression that fails": Row((check("false", messageExpression="string(object.data.none)", message="fixed"),)),
    "a message expression that fails, alone": Row((check(" 1 == 3 ", messageExpression="string(object.data.none)"),)),
    "an empty message expression": Row((check("false", messageExpression="'  '", message="fixed"),)),
    "a message of two lines": Row((check("false", messageExpression="'a\\nb'", message="fixed"),)),
    "a long message": Row((check("false", messageExpression=LONG, message="fixed"),)),
    "a message that asks for rights": Row(
        (check("false", messageExpression="variables.may ? 'may' : 'may not'", message="fixed"),),
        {"variables": [named("may", ALLOWED)]},
    ),
    "a reason": Row((check("false", reason="Forbidden"),)),
    "another reason": Row((check("false", reason="RequestEntityTooLarge"),)),
    "the first of two": Row((check("true"), check("false", message="second"), check("false", message="third"))),
    "a field that is not there": Row((check("object.data.none == 'x'"),)),
    "an index that is not there": Row((check("object.metadata.labels['none'] == 'x'"),)),
    "an error that is ignored": Row((check("object.data.none == 'x'"),), {"failurePolicy": "Ignore"}),
    "a denial in spite of Ignore": Row((check("false"),), {"failurePolicy": "Ignore"}),
    "a conversion that fails": Row((check("int(object.data.a) > 0"),)),
    "a conversion that fails in a variable": Row(
        (check("variables.x > duration('1s')"),), {"variables": [named("x", "duration(object.data.a)")]}
    ),
    "a division": Row((check("1 / (size(object.data) - 1) == 1"),)),
    "an absent value": Row((check("object.?data.?b.value() == ''"),)),
    "an error of types": Row((check("object.data.a > 3"),)),
    "a condition that does not hold": Row((check("false"),), {"matchConditions": [named("never", "false")]}),
    "a condition that holds": Row((check("false", message="x"),), {"matchConditions": [named("always", "has(object.metadata)")]}),
    "a condition that fails": Row((check("false"),), {"matchConditions": [named("bad", "object.data.none == ''")]}),
    "two conditions that fail": Row(
        (check("false"),), {"matchConditions": [named("bad", "object.data.none == ''"), named("worse", "object.data.more == ''")]}
    ),
    "a condition that fails and one that is false": Row(
        (check("false"),), {"matchConditions": [named("bad", "object.data.none == ''"), named("never", "false")]}
    ),
    "a condition that fails and is ignored": Row(
        (check("false"),), {"matchConditions": [named("bad", "object.data.none == ''")], "failurePolicy": "Ignore"}
    ),
    "a condition sees no namespace": Row((check("false"),), {"matchConditions": [named("in", "namespaceObject != null")]}),
    "variables": Row(
        (check("variables.twice == 'aa'", messageExpression="variables.twice + '!'"),),
        {"variables": [named("once", "object.data.a"), named("twice", "variables.once + variables.once")]},
    ),
    "a variable that fails": Row((check("variables.x == ''"),), {"variables": [named("x", "object.data.none")]}),
    "a variable that fails and is not read": Row((check("true"),), {"variables": [named("x", "object.data.none")]}),
    "a variable that fails in another": Row(
        (check("variables.y == ''"),), {"variables": [named("x", "object.data.none"), named("y", "variables.x")]}
    ),
    "a variable that fails beside what is true": Row(
        (check("variables.x == '' || true"),), {"variables": [named("x", "object.data.none")]}
    ),
    "a variable that is there, though it fails": Row(
        (check("has(variables.x) && variables.?x.hasValue()", message="no"),), {"variables": [named("x", "object.data.none")]}
    ),
    "variables as a map": Row(
        (check("dyn(variables)['x'] == 'a' && !has(variables.y)", message="no"),),
        {"variables": [named("x", "object.data.a"), named("y", "1")]},
    ),
    "an optional field of the request": Row((check("request.?subResource.orValue('none') == 'none'"),)),
    "a moment of the namespace": Row((check("namespaceObject.metadata.creationTimestamp < timestamp('2000-01-01T00:00:00Z')"),)),
    "an optional index": Row((check("object[?1] == 2"),)),
    "a variable of the request": Row((check("variables.dry"),), {"variables": [named("dry", "request.dryRun")]}),
    "optionals in variables": Row(
        (check("variables.x.orValue('z') == 'y'", message="x"),), {"variables": [named("x", "object.?data[?'none']")]}
    ),
    "a dry run": Row((check("!request.dryRun", messageExpression="request.operation"),)),
    "the request": Row(
        (
            check(
                "false",
                messageExpression=(
                    "[request.kind.group, request.kind.version, request.kind.kind, request.resource.resource,"
                    " request.requestKind.kind, request.requestResource.resource, request.name, request.namespace,"
                    " request.operation, string(has(request.subResource)), string(request.options.kind),"
                    " string(request.options.dryRun[0])].join(',')"
                ),
            ),
        )
    ),
    "the user": Row(
        (check("false", messageExpression="request.userInfo.username + string('system:masters' in request.userInfo.groups)"),)
    ),
    "a user without extras": Row((check("has(request.userInfo.extra)"),)),
    "the object": Row((check("object.kind == 'ConfigMap' && object.apiVersion == 'v1' && oldObject == null"),)),
    "the namespace": Row((check("namespaceObject.metadata.name == '$' && namespaceObject.status.phase == 'Active'"),)),
    "the finalizers of the namespace": Row((check("namespaceObject.spec.finalizers == ['kubernetes']"),)),
    "rights": Row((check(f"{ALLOWED}", message="may"),)),
    "rights of an account": Row(
        (check("authorizer.serviceAccount('$', 'default').group('').resource('configmaps').check('get').allowed()"),)
    ),
    "rights to the request": Row((check("authorizer.requestResource.check('escalate').allowed()"),)),
    "rights to a path": Row((check("!authorizer.path('/metrics').check('get').allowed()", message="allowed"),)),
    "the reason of a decision": Row((check(f"{ALLOWED.replace('allowed', 'reason')} == ''"),)),
    "an update": Row(
        (check("object.data.a == oldObject.data.a", messageExpression="oldObject.data.a + ' to ' + object.data.a"),),
        operation=Operation.UPDATE,
        new={"data": {"a": "b"}},
    ),
    "a deletion": Row(
        (check("object != null", messageExpression="'deleting ' + oldObject.metadata.name"),), operation=Operation.DELETE
    ),
    "a creation only": Row((check("false"),), constraints={"resourceRules": rules()}, operation=Operation.UPDATE),
    "another resource": Row((check("false"),), constraints={"resourceRules": rules("secrets")}),
    "all resources": Row((check("false"),), constraints={"resourceRules": rules("*", "*")}),
    "subresources": Row((check("false"),), constraints={"resourceRules": rules("configmaps/*", "*")}),
    "subresources of all": Row((check("false"),), constraints={"resourceRules": rules("*/status", "*")}),
    "with all subresources": Row((check("false"),), constraints={"resourceRules": rules("*/*", "*")}),
    "another version": Row((check("false"),), constraints={"resourceRules": rules(apiVersions=["v2"])}),
    "another group": Row((check("false"),), constraints={"resourceRules": rules(apiGroups=["apps"])}),
    "of the cluster": Row((check("false"),), constraints={"resourceRules": rules(scope="Cluster")}),
    "of namespaces": Row((check("false"),), constraints={"resourceRules": rules(scope="Namespaced")}),
    "its name": Row((check("false"),), constraints={"resourceRules": rules(resourceNames=["subject"])}),
    "another name": Row((check("false"),), constraints={"resourceRules": rules(resourceNames=["other"])}),
    "excluded": Row((check("false"),), constraints={"excludeResourceRules": rules("*", "*")}),
    "not excluded": Row((check("false"),), constraints={"excludeResourceRules": rules("*", "UPDATE")}),
    "excluded by name": Row((check("false"),), constraints={"excludeResourceRules": rules("*", "*", resourceNames=["subject"])}),
    "another namespace": Row(
        (check("false"),), constraints={"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    ),
    "not another namespace": Row(
        (check("false"),),
        constraints={
            "namespaceSelector": {
                "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}]
            }
        },
    ),
    "the label of the old object": Row(
        (check("false"),), operation=Operation.UPDATE, new={"metadata": {"labels": {ROW: "other"}}}
    ),
    "a binding elsewhere": Row(
        (check("false"),),
        binding={"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}},
    ),
    "a binding to updates": Row((check("false"),), binding={"matchResources": {"resourceRules": rules(operations="UPDATE")}}),
    "a warning": Row((check("false", message="careful"),), binding={"validationActions": ["Warn"]}),
    "an audit": Row((check("false"),), binding={"validationActions": ["Audit"]}),
    "a warning about an error": Row((check("object.data.none == 'x'"),), binding={"validationActions": ["Warn", "Audit"]}),
    "a parameter": Row(
        (check("object.data.size() < int(params.data.most)", messageExpression="'at most ' + params.data.most"),),
        PARAMS,
        binding={"paramRef": SMALL},
        others=(LIMITS,),
        new={"data": {"a": "a", "b": "b", "c": "c"}},
    ),
    "a parameter that passes": Row(
        (check("object.data.size() < int(params.data.most)"),), PARAMS, binding={"paramRef": SMALL}, others=(LIMITS,)
    ),
    "no parameter": Row((check("params != null"),), PARAMS),
    "a parameter that is missing": Row((check("true"),), PARAMS, binding={"paramRef": SMALL | {"name": "none"}}),
    "a parameter that may be missing": Row(
        (check("false"),), PARAMS, binding={"paramRef": {"name": "none", "parameterNotFoundAction": "Allow"}}
    ),
    "a parameter that is missing, ignored": Row(
        (check("true"),), PARAMS | {"failurePolicy": "Ignore"}, binding={"paramRef": SMALL | {"name": "none"}}
    ),
    "a parameter elsewhere": Row(
        (check("params.metadata.namespace == 'default'"),),
        PARAMS,
        binding={"paramRef": SMALL | {"name": "kube-root-ca.crt", "namespace": "kube-system"}},
    ),
    "selected parameters": Row(
        (check("object.data.size() < int(params.data.most)", messageExpression="'at most ' + params.data.most"),),
        PARAMS,
        binding={"paramRef": {"selector": {"matchLabels": {"use": "params"}}, "parameterNotFoundAction": "Deny"}},
        others=(LIMITS, OTHER_LIMITS),
        new={"data": {"a": "a", "b": "b"}},
    ),
    "no selected parameter": Row(
        (check("false"),),
        PARAMS,
        binding={"paramRef": {"selector": {"matchLabels": {"use": "none"}}, "parameterNotFoundAction": "Allow"}},
    ),
    "a kind of parameters that is not served": Row(
        (check("true"),),
        {"paramKind": {"apiVersion": "tests.example/v1", "kind": "Nothing"}},
        binding={"paramRef": SMALL},
    ),
    "a kind of parameters that is not served, ignored": Row(
        (check("false"),),
        {"paramKind": {"apiVersion": "tests.example/v1", "kind": "Nothing"}, "failurePolicy": "Ignore"},
        binding={"paramRef": SMALL},
    ),
    "an audit annotation that fails": Row(
        (check("true"),), {"auditAnnotations": [{"key": "note", "valueExpression": "string(object.data.none)"}]}
    ),
    "an audit annotation": Row(
        (check("true"),), {"auditAnnotations": [{"key": "note", "valueExpression": "string(object.metadata.name)"}]}
    ),
    "an expression that costs too much": Row((check(COSTLY),)),
    "an expression that costs too much, ignored": Row((check(COSTLY),), {"failurePolicy": "Ignore"}),
    "rights asked often": Row(
        (check(f"[1, 2, 3, 4].all(x, {ALLOWED})"),),
    ),
}


def _written(manifest: Any, namespace: str) -> Any:
    """The manifest with the namespace's name in place of `$`."""
    if isinstance(manifest, str):
        return manifest.replace("$", namespace)
    if isinstance(manifest, list | tuple):
        return [_written(each, namespace) for each in manifest]
    return {key: _written(each, namespace) for key, each in manifest.items()} if isinstance(manifest, dict) else manifest


@dataclass(frozen=True, slots=True)
class Ground:
    """All rows' policies on a server, each bound to the objects that bear its label, and the same in our engine."""

    api: Api
    namespace: str
    prefix: str
    engine: Policies
    store: Store

    def title(self, row: str) -> str:
        """The name of a row's policy and binding."""
        return f"{self.prefix}-{list(ROWS).index(row)}"

    def subject(self, row: str, name: str, more: Manifest) -> Manifest:
        """A row's ConfigMap."""
        made = ref("v1", "ConfigMap", name, self.namespace) | {"data": {"a": "a"}}
        labels = {ROW: self.title(row)} | more.get("metadata", {}).get("labels", {})
        return made | {"data": more.get("data", made["data"]), "metadata": made["metadata"] | {"labels": labels}}


@pytest.fixture(scope="module")
def ground(admin: Api) -> Iterator[Ground]:
    """Write all policies at once: the real server takes a second to see them."""
    namespace, prefix = fresh("policies"), fresh("row")
    stored = admin.create(ref("v1", "Namespace", namespace)).expect(201).body
    eventually(lambda: admin.get(ref("v1", "ConfigMap", "kube-root-ca.crt", namespace)).status == 200)
    store = Store()
    store.put(Key("namespaces", "", namespace), stored)
    ground = Ground(admin, namespace, prefix, Policies(store, _served, Authorizer(store)), store)
    made = [manifest for name, row in ROWS.items() for manifest in _manifests(ground, name, row)]
    for manifest in made:
        body = admin.create(manifest).expect(201).body
        plural = POLICIES if manifest["kind"] == "ValidatingAdmissionPolicy" else BINDINGS
        store.put(Key(plural, "", manifest["metadata"]["name"]), body)
    for row in ROWS.values():
        for other in row.others:
            placed = other["metadata"] | {"namespace": namespace}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap"} | other | {"metadata": placed}
            admin.create(manifest).expect(201, 409)
    for each in (
        *admin.list("v1", "ConfigMap", namespace).body["items"],
        *admin.list("v1", "ConfigMap", "kube-system").body["items"],
    ):
        metadata = each["metadata"]
        store.put(Key("configmaps", metadata["namespace"], metadata["name"]), {"apiVersion": "v1", "kind": "ConfigMap"} | each)
    yield ground
    for manifest in reversed(made):
        admin.delete(manifest).expect(200, 404)
    admin.delete(ref("v1", "Namespace", namespace)).expect(200, 202)


def _served(group: str, version: str, kind: str) -> Served | None:
    return SERVED if (group, version, kind) == ("", "v1", "ConfigMap") else None


def _manifests(ground: Ground, name: str, row: Row) -> tuple[Manifest, Manifest]:
    title = ground.title(name)
    constraints = {
        "resourceRules": rules(operations="CREATE UPDATE DELETE"),
        "objectSelector": {"matchLabels": {ROW: title}},
        **row.constraints,
    }
    policy = ref(API, "ValidatingAdmissionPolicy", title) | {
        "spec": _written({"matchConstraints": constraints, "validations": row.validations, **row.spec}, ground.namespace)
    }
    binding = ref(API, "ValidatingAdmissionPolicyBinding", title) | {
        "spec": _written({"policyName": title, "validationActions": ["Deny"], **row.binding}, ground.namespace)
    }
    return policy, binding


@pytest.mark.parametrize("name", ROWS)
def test_a_policy_says_the_same_on_both(ground: Ground, name: str) -> None:
    """Status, reason, message, causes and warnings of a dry run are those of our engine."""
    row = ROWS[name]
    old = None
    subject = "subject"
    if row.operation != Operation.CREATE:
        subject = f"{ground.title(name)}-subject"
        old = _prepared(ground, name, row, subject)
    new = None if row.operation == Operation.DELETE else ground.subject(name, subject, row.new)
    ours = _ours(ground, row, subject, old, new)

    def same() -> bool:
        assert _theirs(ground, row, subject, new) == ours
        return True

    eventually(same, PATIENCE)


def _prepared(ground: Ground, name: str, row: Row, subject: str) -> Manifest:
    """Store the row's object with its label, which the row's policy may not allow: while it is not bound."""
    ground.api.create(ref("v1", "ConfigMap", subject, ground.namespace) | {"data": {"a": "a"}}).expect(201)
    binding = ref(API, "ValidatingAdmissionPolicyBinding", ground.title(name))
    spec = ground.api.get(binding).expect(200).body["spec"]
    ground.api.delete(binding).expect(200)
    labelled = ground.subject(name, subject, row.old)

    def stored() -> Manifest:
        answer = ground.api.replace(labelled)
        assert answer.status == 200
        body: Manifest = answer.body
        return body

    old = eventually(stored, 8)
    ground.api.create(binding | {"spec": spec}).expect(201)
    return old


def _theirs(ground: Ground, row: Row, subject: str, new: Manifest | None) -> Manifest:
    match row.operation:
        case Operation.CREATE:
            answer = ground.api.create(new or {}, dryRun="All")
        case Operation.UPDATE:
            answer = ground.api.replace(new or {}, dryRun="All")
        case _:
            answer = ground.api.delete(ref("v1", "ConfigMap", subject, ground.namespace), dryRun="All")
    return _said(answer)


def _said(answer: Reply) -> Manifest:
    warnings = [part.split('"')[1] for part in answer.headers.get("warning", "").split(", 299") if '"' in part]
    if answer.status < 400:
        return {"passes": True, "warnings": warnings}
    return {key: answer.body.get(key) for key in ("code", "reason", "message", "details")}


def _ours(ground: Ground, row: Row, subject: str, old: Manifest | None, new: Manifest | None) -> Manifest:
    options = {Operation.CREATE: "CreateOptions", Operation.UPDATE: "UpdateOptions"}.get(row.operation, "DeleteOptions")
    request = AdmissionRequest(
        operation=row.operation,
        kind=CONFIG_MAP,
        resource=CONFIG_MAPS,
        user=ADMIN,
        object=new,
        old=old,
        name=subject,
        namespace=ground.namespace,
        options={"kind": options, "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
        dry_run=True,
    )
    try:
        warnings = ground.engine.admit(request)
    except StatusError as error:
        status = error.manifest()
        return {key: status.get(key) for key in ("code", "reason", "message", "details")}
    return {"passes": True, "warnings": warnings}


# Policies and bindings that are wrong themselves

RULES = {"resourceRules": rules()}


def policy(**spec: Any) -> Manifest:
    """Build a policy that is right but for what is given."""
    right = {"matchConstraints": RULES, "validations": [check("true")], "failurePolicy": "Fail"}
    return ref(API, "ValidatingAdmissionPolicy", "wrong.tests.example") | {"spec": {**right, **spec}}


def binding(**spec: Any) -> Manifest:
    """Build a binding that is right but for what is given."""
    right = {"policyName": "wrong.tests.example", "validationActions": ["Deny"]}
    return ref(API, "ValidatingAdmissionPolicyBinding", "wrong.tests.example") | {"spec": {**right, **spec}}


def over(**constraints: Any) -> Manifest:
    """Build a policy with these constraints."""
    return policy(matchConstraints={**RULES, **constraints})


WRONG: dict[str, Manifest] = {
    "nothing wrong": policy(),
    "a syntax": policy(validations=[check("object.x ==")]),
    "a name that is not there": policy(validations=[check("nothing.x == 1")]),
    "a function that is not there": policy(validations=[check("nothing(object)")]),
    "no bool": policy(validations=[check("'x'")]),
    "perhaps a bool": policy(validations=[check("object.data.x")]),
    "no expression": policy(validations=[check("  ")]),
    "a message that is no text": policy(validations=[check("true", messageExpression="1 + 1")]),
    "a message that may be no text": policy(validations=[check("true", messageExpression="object.metadata.name")]),
    "a message that asks for rights": policy(validations=[check("true", messageExpression=ALLOWED)]),
    "an empty message expression": policy(validations=[check("true", messageExpression="  ")]),
    "an empty message": policy(validations=[check("true", message=" ")]),
    "a message of two lines": policy(validations=[check("true", message="a\nb")]),
    "a reason": policy(validations=[check("true", reason="Unauthorized")]),
    "nothing to check": policy(validations=[]),
    "no constraints": policy(matchConstraints=None),
    "no rules": policy(matchConstraints={}),
    "a failure policy": policy(failurePolicy="Sometimes"),
    "params that are not declared": policy(validations=[check("params.x == 1")]),
    "params without a kind": policy(paramKind={"apiVersion": "v1"}),
    "a condition without a name": policy(matchConditions=[named("", "true")]),
    "a condition with a bad name": policy(matchConditions=[named("a b", "true")]),
    "two conditions of one name": policy(matchConditions=[named("a", "true"), named("a", "true")]),
    "a condition that is no bool": policy(matchConditions=[named("a", "1")]),
    "a condition that reads variables": policy(variables=[named("x", "1")], matchConditions=[named("a", "variables.x == 1")]),
    "an empty condition": policy(matchConditions=[named("a", "")]),
    "a variable with a bad name": policy(variables=[named("a-b", "1")]),
    "a variable with a reserved name": policy(variables=[named("namespace", "1")]),
    "a variable that is not there": policy(validations=[check("variables.x == 1")], variables=[named("y", "1")]),
    "a variable of another type": policy(validations=[check("variables.x == 'x'")], variables=[named("x", "1")]),
    "a variable that comes later": policy(variables=[named("x", "variables.y"), named("y", "1")]),
    "an empty variable": policy(variables=[named("x", " ")]),
    "an annotation with a bad key": policy(auditAnnotations=[{"key": "a b", "valueExpression": "'x'"}]),
    "two annotations of one key": policy(
        auditAnnotations=[{"key": "a", "valueExpression": "'x'"}, {"key": "a", "valueExpression": "'y'"}]
    ),
    "an annotation that is no text": policy(auditAnnotations=[{"key": "a", "valueExpression": "1"}]),
    "an operation": over(resourceRules=rules(operations="PATCH")),
    "all operations and one": over(resourceRules=rules(operations="* CREATE")),
    "all groups and one": over(resourceRules=rules(apiGroups=["*", "apps"])),
    "all versions and one": over(resourceRules=rules(apiVersions=["*", "v1"])),
    "no version": over(resourceRules=rules(apiVersions=[""])),
    "no resources": over(resourceRules=rules(resources="")),
    "all subresources and one": over(resourceRules=rules("pods/* pods/log")),
    "a subresource of all and of one": over(resourceRules=rules("*/log pods/log")),
    "everything and more": over(resourceRules=rules("*/* pods")),
    "all resources and one": over(resourceRules=rules("* pods")),
    "a scope": over(resourceRules=rules(scope="Here")),
    "two names": over(resourceRules=rules(resourceNames=["a", "a"])),
    "a match policy": over(matchPolicy="Roughly"),
    "a selector": over(objectSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
    "a binding": binding(),
    "no policy": binding(policyName=""),
    "a bad policy name": binding(policyName="A_b"),
    "no action": binding(validationActions=[]),
    "an action": binding(validationActions=["Refuse"]),
    "an action twice": binding(validationActions=["Deny", "Deny"]),
    "a denial and a warning": binding(validationActions=["Deny", "Warn"]),
    "parameters by nothing": binding(paramRef={"parameterNotFoundAction": "Deny"}),
    "parameters by two ways": binding(paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}),
    "no action without parameters": binding(paramRef={"name": "a"}),
    "an action without parameters": binding(paramRef={"name": "a", "parameterNotFoundAction": "Warn"}),
    "a rule of a binding": binding(matchResources={"resourceRules": rules(operations="PATCH")}),
}


@pytest.mark.parametrize("manifest", [pytest.param(manifest, id=name) for name, manifest in WRONG.items()])
def test_a_wrong_policy_is_refused_alike(api: Api, manifest: Manifest) -> None:
    """The causes are the same on both, but for what the compiler of CEL says of a text."""
    answer = api.create(manifest, dryRun="All")
    judged = check_policy(manifest) if manifest["kind"] == "ValidatingAdmissionPolicy" else check_binding(manifest)
    ours = [_cause(cause.manifest()) for cause in judged]
    theirs = [_cause(cause) for cause in answer.causes] if answer.status == 422 else []
    assert ours == theirs
    assert answer.status == (422 if ours else 201)


def _cause(cause: Manifest) -> Manifest:
    return cause | {"message": cause["message"].partition("compilation failed")[0]}


TEXTS = (
    "nothing", "nothing(1)", "object.nothing()", "1 + 'a'", "object.x ==", "'a' == 1", "[1].all(x, nothing)", "size(1)",
    "request.nope == 1", "request.object == 1", "has(request.kind.nope)", "authorizer.nope()", "object.x.startsWith(1)",
    "'a'.startsWith(1)", "a b", "(", "variables.x", "1 in 2", "!1", "-'a'", "has(object)",
    "object.all(1, true)", "int('a', 3)", "namespaceObject.metadata.managedFields == 1", "9999999999999999999 == 1", "true && 1",
    "true\n  && nothing.x", "request.nope == 1 || request.kind.nope == 1", "request.name == 1", "[request.name, 1] == []",
    "request['name'] == 'a'", "request.kind == request.resource", "request.userInfo.extra['a'] == 'a'", "request.a.nothing(1)",
    "namespaceObject.metadata.creationTimestamp == 'a'", "namespaceObject.status.conditions[0].nope == ''", "request.name",
    "[object.a, 'a'] == []", "object.?a == 2", "object.nothing() || request.x", "1 ? true : false", "'a'.matches('[')",
    "true ? (true ? 1 : 2) : (false ? 'a' : true)", "1 + 'a' == 2 && 'a' - 1 == 2", "size(1, 2)", "[?1]", "duration('x') == null",
    "[1, 'a', true] == [2, 'b']", "object.all(x, x.all(y, nothing))", "'a' == null",
)  # fmt: skip


OF_VARIABLES = (
    "variables.nope", "has(variables.nope)", "variables.y == 'a'", "variables.?y.orValue('a') == 'a'", "variables['y'] == 1",
    "variables.y.z", "variables == null || variables.nope", "variables.y == 1", "dyn(variables).y == 1", "object[?1] == 2",
    "request.?name.orValue('') == 'a'", "[request.?name.orValue(''), 'a'] == []", "request == null", "namespaceObject == null",
    "request.options.nope == 1", "has(variables.y) && request.dryRun",
)  # fmt: skip


@pytest.mark.parametrize("text", OF_VARIABLES)
def test_the_variables_of_a_policy_are_an_object_with_fields(api: Api, text: str) -> None:
    """As are the request and its namespace; each may be null, as the types go."""
    manifest = policy(validations=[check(text)], variables=[named("y", "1")])
    answer = api.create(manifest, dryRun="All").expect(201, 422)
    assert [cause.manifest() for cause in check_policy(manifest)] == (answer.causes if answer.status == 422 else [])


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_is_no_expression_is_refused_in_the_same_words(api: Api, text: str) -> None:
    """The first error of the compiler, with its place, is told as the real server tells it."""
    manifest = policy(validations=[check(text)])
    answer = api.create(manifest, dryRun="All").expect(422)
    assert [cause.manifest() for cause in check_policy(manifest)] == answer.causes
