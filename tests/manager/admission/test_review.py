"""Our webhook and the match conditions before it, beside the policies that they stand for: the same verdict on every request."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

import pytest

from apis.copyhold.tenant import KIND as TENANT
from apis.meta import ACCOUNT_PREFIX, FINALIZER, GROUP, PARENT_EXTRA, PROTECTED, TARGET_PREFIX, TENANT_LABEL, Manifest
from apis.problems import Unavailable
from manager.admission import guards, keep, permits
from manager.admission.conditions import NAMESPACE_CONTROLLER, REFUSED, conditions
from manager.admission.policies import Policy
from manager.admission.protection import protection
from manager.admission.review import QUESTIONS, Rights, Unanswered
from manager.embedded.attributes import Attributes, User
from manager.embedded.policies import AdmissionRequest
from manager.embedded.policies.request import Kind, Operation, Resource
from manager.world import Cluster
from tests.manager.admission.court import TENANTS, Court, Stored

SPACE, GOING = "space", "going"
ALL = keep.policies(manager_namespace="copyhold-system", allowed=["copyhold-system/distributor"])
POLICIES = [policy for policy in ALL if not policy.native]
DEPLOYER = f"system:serviceaccount:{SPACE}:deployer"
USERS = {
    "alice": User("alice"),
    "an administrator": User("root", groups=("system:masters",)),
    "the named account": User(DEPLOYER),
    "another account": User(f"system:serviceaccount:{SPACE}:other"),
    "the manager": User(DEPLOYER, extra={PARENT_EXTRA: ("f00d",)}),
    "the namespace controller": User(NAMESPACE_CONTROLLER),
    "the scheduler": User("system:kube-scheduler"),
}
RIGHTS = {
    "records": {"apiGroups": [GROUP], "resources": ["records"], "verbs": ["update", "delete"]},
    "assign": {"apiGroups": [GROUP], "resources": ["tenants"], "verbs": ["assign"]},
    "assign one": {"apiGroups": [GROUP], "resources": ["tenants"], "verbs": ["assign"], "resourceNames": ["gold"]},
    "impersonate": {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]},
}
PEOPLE = {right: User(f"who may {right}") for right in RIGHTS}


@pytest.fixture
def stored() -> Stored:
    """Two namespaces, one of which is going, a Tenant with a selector of its own, one without, and somebody for each right."""
    going = {"name": GOING, "deletionTimestamp": "2030-01-01T00:00:00Z"}
    gold = {"metadata": {"name": "gold"}, "spec": {"namespaceSelector": {"matchLabels": {"metal": "gold"}}}}
    tenants = [{"apiVersion": TENANT.api_version, "kind": TENANT.kind, **each} for each in (gold, {"metadata": {"name": "tin"}})]
    made = Stored({"namespaces": [{"metadata": {"name": SPACE}}, {"metadata": going}], TENANTS.resource: tenants})
    for right, rule in RIGHTS.items():
        made.grant(PEOPLE[right].name, rule)
    return made


def request(
    user: User, kind: Kind, plural: str, old: Manifest | None, new: Manifest | None, subresource: str = ""
) -> AdmissionRequest:
    """What an API server makes of a write."""
    metadata = (new or old or {})["metadata"]
    return AdmissionRequest(
        operation=Operation.CREATE if old is None else Operation.DELETE if new is None else Operation.UPDATE,
        kind=kind,
        resource=Resource(kind.group, kind.version, plural),
        user=user,
        object=new,
        old=old,
        name=metadata["name"],
        namespace=metadata["name"] if kind.kind == "Namespace" else metadata.get("namespace", ""),
        subresource=subresource,
    )


# Rows.

MARKS = {f"{TARGET_PREFIX}f00d": "ConfigMap./x", f"{ACCOUNT_PREFIX}f00d": DEPLOYER}
ENTRY = {"manager": f"{GROUP}/tenantresource/f00d", "fieldsV1": {"f:data": {}}}
HELD: Manifest = {"labels": {PROTECTED: "true"}, "annotations": MARKS, "managedFields": [ENTRY]}
STATES: dict[str, Manifest | None] = {
    "absent": None,
    "free": {},
    "labelled only": {"labels": {PROTECTED: "true"}},
    "marked only": {"annotations": MARKS},
    "a copy": {"labels": {PROTECTED: "true"}, "annotations": {f"{TARGET_PREFIX}f00d": "Service./x"}},
    "held": HELD,
    "held, of another parent": HELD | {"annotations": MARKS | {f"{TARGET_PREFIX}beef": "ConfigMap./x"}},
    "held, with a finalizer": HELD | {"finalizers": ["example.com/wait"]},
    "held, terminating": HELD | {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/wait"]},
    "held, without our entry": HELD | {"managedFields": []},
    "held, relabelled": HELD | {"labels": {PROTECTED: "true", "hers": "yes"}},
}


def config_map(metadata: Manifest | None, namespace: str, data: str = "a") -> Manifest | None:
    """One state of the ConfigMap x."""
    return None if metadata is None else {"metadata": {"name": "x", "namespace": namespace, **metadata}, "data": {"a": data}}


def of_protection(user: User) -> Iterator[AdmissionRequest]:
    """Every step of a ConfigMap from one state to another."""
    kind = Kind("", "v1", "ConfigMap")
    for old, new, namespace in product(STATES.values(), STATES.values(), (SPACE, GOING)):
        if old is None and new is None:
            continue
        for data, subresource in (("a", ""), ("b", ""), ("a", "status"), ("b", "status")):
            if not subresource or (old is not None and new is not None):
                was, becomes = config_map(old, namespace), config_map(new, namespace, data)
                yield request(user, kind, "configmaps", was, becomes, subresource)


def of_namespaces(user: User) -> Iterator[AdmissionRequest]:
    """Every step of a namespace's labels."""
    kind = Kind("", "v1", "Namespace")
    states: list[Manifest | None] = [None, {}, {"metal": "gold"}, {"metal": "tin"}, {TENANT_LABEL: "tin"}, {TENANT_LABEL: "none"}]
    for old, new in product(states, states):
        if new is not None or old is not None:
            was, becomes = (None if each is None else {"metadata": {"name": "n", "labels": each}} for each in (old, new))
            yield request(user, kind, "namespaces", was, becomes)
            if was and becomes:
                yield request(user, kind, "namespaces", was, becomes, "status")


def of_accounts(user: User) -> Iterator[AdmissionRequest]:
    """Parents that name accounts, here, there and in reserved namespaces."""
    kind = Kind(GROUP, "v1alpha1", "GlobalTenantResource")
    accounts = [
        None,
        {"namespace": SPACE, "name": "runner"},
        *({"namespace": "copyhold-system", "name": n} for n in ("x", "distributor")),
    ]
    for old, new in product(accounts, accounts):
        for fresh in (True, False):
            was, becomes = ({"metadata": {"name": "p"}, "spec": {"serviceAccount": each} if each else {}} for each in (old, new))
            yield request(user, kind, "globaltenantresources", None if fresh else was, becomes)


def of_records(user: User) -> Iterator[AdmissionRequest]:
    """What we remember: made, changed, deleted."""
    record = {"metadata": {"name": "r"}}
    for old, new in ((None, record), (record, record), (record, None)):
        yield request(user, Kind(GROUP, "v1alpha1", "TargetRecord"), "targetrecords", old, new)
    tenant = {"metadata": {"name": "t"}}
    yield request(user, Kind(GROUP, "v1alpha1", "Tenant"), "tenants", tenant, tenant, "status")


def of_permits(user: User) -> Iterator[AdmissionRequest]:
    """Permits in some phases: made for oneself and for others, pushed on, edited, and deleted."""
    kind = Kind(GROUP, "v1alpha1", "ResourcePermit")
    step = {"index": 0, "type": "Requested", "actor": {"name": user.name, "type": "User"}, "hash": "a"}
    statuses: list[Manifest] = [
        {},
        {"phase": "Requested", "transitions": [step]},
        {"phase": "Active", "transitions": [step, {**step, "index": 1, "type": "Active", "previous": "a", "hash": "b"}]},
        {"phase": "Active", "transitions": [], "keepUntil": "2031-01-01T00:00:00Z"},
        {"phase": "Expired", "transitions": [step]},
        {"phase": "Expired", "transitions": [step], "keepUntil": "2031-01-01T00:00:00Z"},
    ]
    for namespace in (SPACE, GOING):

        def permit(status: Manifest, namespace: str = namespace, **more: Any) -> Manifest:
            metadata = {"name": "p", "namespace": namespace, "uid": "f00d", "finalizers": [FINALIZER]}
            return {"metadata": metadata, "spec": {"template": "t"}, "status": status} | more

        for status in statuses:
            yield request(user, kind, PLURAL, permit(status), None)
            for other in statuses:
                yield request(user, kind, PLURAL, permit(status), permit(other), "status")
        for spec in ({"template": "t"}, {"template": "other"}, {"requester": {"name": user.name, "type": "User"}}):
            yield request(user, kind, PLURAL, None, permit({}, spec=spec))
            yield request(user, kind, PLURAL, permit({}), permit({}, spec=spec))
        yield request(user, kind, PLURAL, permit({}), permit({}, metadata={"name": "p", "namespace": namespace, "uid": "f00d"}))


PLURAL = permits.PLURAL
ROWS = {
    "copyhold-protection": of_protection,
    "copyhold-accounts": of_accounts,
    "copyhold-tenants": of_namespaces,
    "copyhold-tenant-label": of_namespaces,
    "copyhold-records": of_records,
    "copyhold-permits": of_permits,
    "copyhold-permit-deletion": of_permits,
}


def test_every_policy_has_rows() -> None:
    """A new policy is judged here too."""
    assert set(ROWS) == {policy.name for policy in POLICIES}


@pytest.mark.parametrize("user", [*USERS.values(), *PEOPLE.values()], ids=[*USERS, *PEOPLE])
@pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])
async def test_the_webhook_says_what_the_policy_says(stored: Stored, policy: Policy, user: User) -> None:
    """The same verdict, code and words, on every row."""
    court = Court(policy, stored)
    for row in ROWS[policy.name](user):
        assert await court.webhook(row) == court.policy(row), row


@pytest.mark.parametrize("user", [*USERS.values(), *PEOPLE.values()], ids=[*USERS, *PEOPLE])
@pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])
def test_conditions_open_no_hole_and_ask_about_nothing_else(stored: Stored, policy: Policy, user: User) -> None:
    """What is not asked about is allowed; what is asked about is refused, but in a namespace that goes, or by Tenants."""
    court = Court(policy, stored)
    for row in ROWS[policy.name](user):
        if user.name == NAMESPACE_CONTROLLER and row.operation == Operation.DELETE and row.namespace != GOING:
            continue  # it never does that
        passed, asked = court.policy(row).passed, court.asks(row)
        assert asked or passed, f"a hole: {row}"
        assert not asked or not passed or row.namespace == GOING or policy.params, f"asked for nothing: {row}"


def test_each_policy_refuses_and_allows_some_row(stored: Stored) -> None:
    """The tables above say something."""
    for policy in POLICIES:
        court = Court(policy, stored)
        verdicts = {court.policy(row).passed for user in (*USERS.values(), *PEOPLE.values()) for row in ROWS[policy.name](user)}
        assert verdicts == {True, False}, policy.name


# Text.


@pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])
def test_conditions_read_nothing_that_a_webhook_has_not(policy: Policy) -> None:
    """No variables, no namespace, no parameters; and the parser of a server takes 100,000 characters."""
    for condition in conditions(policy):
        assert not re.search(r"\bvariables\b|\bnamespaceObject\b|\bparams\b", condition["expression"])
        assert len(condition["expression"]) < 20_000
    names = [condition["name"] for condition in conditions(policy)]
    assert (REFUSED in names) == (policy.params is None)
    assert list(policy.conditions) == names[: len(policy.conditions)]


# Rights.


async def test_rights_are_asked_of_the_server_once_and_only_when_needed(stored: Stored) -> None:
    """Of two Tenants the one that would gain the namespace; before that, whether the user may assign to all."""
    court = Court(guards.tenants(), stored)
    gold = {"metadata": {"name": "n", "labels": {"metal": "gold"}}}
    row = request(USERS["alice"], Kind("", "v1", "Namespace"), "namespaces", None, gold)
    assert not (await court.webhook(row)).passed
    asked = [review["spec"]["resourceAttributes"] for review in stored.asked]
    assert [(each["verb"], each["name"]) for each in asked] == [("assign", ""), ("assign", "gold")]
    stored.asked.clear()
    await Court(protection(), stored).webhook(next(of_protection(USERS["alice"])))
    assert stored.asked == []


async def test_rights_are_asked_of_the_server_as_of_the_user(stored: Stored) -> None:
    """With groups and extra, which an authorizer may look at."""
    rights = Rights(cast(Cluster, stored))
    user = User("alice", "1", ("team",), {"scopes": ("a", "b")})
    question = Attributes(user, "update", GROUP, "*", "records")
    with pytest.raises(Unanswered):
        rights.decide(question)
    await rights.ask(question)
    assert not rights.decide(question).allowed
    spec = stored.asked[0]["spec"]
    assert {key: spec[key] for key in ("user", "uid", "groups", "extra")} == {
        "user": "alice",
        "uid": "1",
        "groups": ["team"],
        "extra": {"scopes": ["a", "b"]},
    }


async def test_one_review_asks_about_a_bounded_number_of_rights(stored: Stored) -> None:
    """A label by which very many Tenants select is refused with a remedy, not answered too late."""
    selector = {"namespaceSelector": {"matchLabels": {"all": "yes"}}}
    stored.grant("bob", RIGHTS["assign"] | {"resourceNames": [f"t{n}" for n in range(QUESTIONS + 1)]})
    stored.objects[TENANTS.resource] = [{"metadata": {"name": f"t{n}"}, "spec": selector} for n in range(QUESTIONS + 1)]
    made = {"metadata": {"name": "n", "labels": {"all": "yes"}}}
    with pytest.raises(Unavailable, match="change fewer labels at once"):
        await Court(guards.tenants(), stored).webhook(request(User("bob"), Kind("", "v1", "Namespace"), "namespaces", None, made))
    assert len(stored.asked) == QUESTIONS


async def test_a_namespace_that_is_not_there_is_none_that_goes(stored: Stored) -> None:
    """A request about it is judged as in any namespace."""
    row = request(USERS["alice"], Kind("", "v1", "ConfigMap"), "configmaps", config_map(HELD, "nowhere"), None)
    assert "is held by" in (await Court(protection(), stored).webhook(row)).says
