"""Who may: RBAC over stored roles and bindings."""

import pytest

from manager.embedded.attributes import MASTERS, Attributes, User
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.status import StatusError
from manager.embedded.store import Store
from tests.manager.embedded.auth.stored import ALICE, asks, binding, drop, put, role, rule

LOGS = {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}
ROBOT = User("system:serviceaccount:blue:robot")


def allowed(*rules: object, asked: Attributes) -> bool:
    """Is it allowed to whom these rules are bound in the whole cluster?"""
    store = Store()
    put(store, role("r", *rules), binding("b", "ClusterRole/r", f"User/{asked.user.name}"))  # type: ignore[arg-type]
    return Authorizer(store).decide(asked).allowed


@pytest.mark.parametrize(
    ("granted", "asked", "verdict"),
    [
        pytest.param(rule("pods", "get"), asks("get", "pods"), True, id="what is granted"),
        pytest.param(rule("pods", "get"), asks("list", "pods"), False, id="another verb"),
        pytest.param(rule("pods", "get"), asks("get", "secrets"), False, id="another resource"),
        pytest.param(rule("pods", "get", "apps"), asks("get", "pods"), False, id="another group"),
        pytest.param(rule("pods", "get", "*"), asks("get", "pods", group="apps"), True, id="any group"),
        pytest.param(rule("pods", "*"), asks("impersonate", "pods"), True, id="any verb"),
        pytest.param(rule("*", "get"), asks("get", "pods/log"), True, id="any resource and subresource"),
        pytest.param(rule("pods", "get"), asks("get", "pods/log"), False, id="a subresource is no resource"),
        pytest.param(rule("pods/log", "get"), asks("get", "pods/log"), True, id="a subresource"),
        pytest.param(rule("pods/log", "get"), asks("get", "pods"), False, id="a resource is no subresource"),
        pytest.param(rule("*/log", "get"), asks("get", "pods/log"), True, id="a subresource of any resource"),
        pytest.param(rule("*/log", "get"), asks("get", "pods/exec"), False, id="another subresource of any resource"),
        pytest.param(rule("pods/*", "get"), asks("get", "pods/log"), False, id="there is no pods/*"),
        pytest.param(rule("pods", "get", resourceNames=["a"]), asks("get", "pods", name="a"), True, id="a name"),
        pytest.param(rule("pods", "get", resourceNames=["a"]), asks("get", "pods", name="b"), False, id="another name"),
        pytest.param(rule("pods", "list", resourceNames=["a"]), asks("list", "pods"), False, id="a list has no name"),
        pytest.param(LOGS, Attributes(ALICE, "get", path="/logs/a"), True, id="below a path"),
        pytest.param(LOGS, Attributes(ALICE, "get", path="/logs"), False, id="above a path"),
        pytest.param({"nonResourceURLs": ["*"], "verbs": ["get"]}, Attributes(ALICE, "get", path="/x"), True, id="any path"),
        pytest.param({"nonResourceURLs": ["*"], "verbs": ["*"]}, asks("get", "pods"), False, id="a path is no resource"),
        pytest.param(rule("*", "*", "*"), Attributes(ALICE, "get", path="/x"), False, id="a resource is no path"),
    ],
)
def test_a_rule_allows_what_it_says(granted: object, asked: Attributes, verdict: bool) -> None:
    """Verbs, groups, resources, names and paths are matched as the real server does."""
    assert allowed(granted, asked=asked) is verdict


@pytest.mark.parametrize(
    ("subject", "user", "verdict"),
    [
        pytest.param("User/alice", ALICE, True, id="a user"),
        pytest.param("User/bob", ALICE, False, id="another user"),
        pytest.param("Group/crew", User("bob", groups=("crew",)), True, id="a group"),
        pytest.param("Group/alice", ALICE, False, id="a group with a user's name"),
        pytest.param("ServiceAccount/blue/robot", ROBOT, True, id="an account"),
        pytest.param("ServiceAccount/red/robot", ROBOT, False, id="one elsewhere"),
        pytest.param("ServiceAccount/robot", ROBOT, True, id="an account beside the binding"),
        pytest.param("User/system:serviceaccount:blue:robot", ROBOT, True, id="an account as user"),
    ],
)
def test_a_binding_means_its_subjects(subject: str, user: User, verdict: bool) -> None:
    """Users, groups and ServiceAccounts, whose namespace a RoleBinding may leave out."""
    store = Store()
    put(store, role("r", rule("pods", "get"), namespace="blue"), binding("b", "Role/r", subject, namespace="blue"))
    assert Authorizer(store).decide(asks("get", "pods", user, namespace="blue")).allowed is verdict


def test_a_binding_in_a_namespace_gives_nothing_elsewhere() -> None:
    """A ClusterRole that a RoleBinding gives counts in its namespace alone."""
    store = Store()
    put(store, role("r", rule("pods", "get")), binding("b", "ClusterRole/r", "User/alice", namespace="blue"))
    decide = Authorizer(store).decide
    assert decide(asks("get", "pods", namespace="blue")).allowed
    assert not decide(asks("get", "pods", namespace="red")).allowed
    assert not decide(asks("get", "pods")).allowed


def test_the_reason_names_the_binding() -> None:
    """Who is allowed learns by which binding, role and subject."""
    store = Store()
    put(
        store,
        role("r", rule("pods", "get"), namespace="blue"),
        binding("b", "Role/r", "Group/crew", "User/alice", namespace="blue"),
    )
    reason = Authorizer(store).decide(asks("get", "pods", namespace="blue")).reason
    assert reason == 'RBAC: allowed by RoleBinding "b/blue" of Role "r" to User "alice"'


def test_a_refusal_names_roles_that_are_missing() -> None:
    """A 403 ends with the bound roles that do not exist, each once."""
    store = Store()
    put(store, binding("b", "ClusterRole/gone", "User/alice"), binding("c", "ClusterRole/gone", "User/alice"))
    with pytest.raises(StatusError) as refused:
        Authorizer(store).require(asks("list", "configmaps", namespace="default"))
    assert refused.value.message == (
        'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"'
        ': RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )


def test_masters_may_everything() -> None:
    """Members of system:masters need no role."""
    assert Authorizer(Store()).decide(asks("escalate", "anything", User("root", groups=(MASTERS,)))).allowed


def test_an_answer_follows_the_objects() -> None:
    """What is stored, changed or deleted counts from the next question on."""
    store = Store()
    decide = Authorizer(store).decide
    asked = asks("get", "pods", namespace="blue")
    assert not decide(asked).allowed
    put(store, role("r", rule("pods", "get"), namespace="blue"), binding("b", "Role/r", "User/alice", namespace="blue"))
    assert decide(asked).allowed
    put(store, role("r", rule("pods", "list"), namespace="blue"))
    assert not decide(asked).allowed
    put(store, role("r", rule("pods", "get"), namespace="blue"))
    assert decide(asked).allowed
    drop(store, "RoleBinding", "b", "blue")
    assert not decide(asked).allowed


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            asks("get", "pods/log", name="x"),
            'pods "x" is forbidden: User "alice" cannot get resource "pods/log" in API group "" at the cluster scope',
        ),
        (Attributes(ALICE, "get", path="/foo"), 'forbidden: User "alice" cannot get path "/foo"'),
        (
            asks("list", "deployments", User('<a&"b'), group="apps", namespace="blue"),
            'deployments.apps is forbidden: User "&lt;a&amp;\\"b" cannot list resource "deployments" in API group "apps"'
            ' in the namespace "blue"',
        ),
    ],
)
def test_a_refusal_is_worded_as_by_the_real_server(asked: Attributes, message: str) -> None:
    """Scope, subresource and masked markup are those of Kubernetes."""
    with pytest.raises(StatusError) as refused:
        Authorizer(Store()).require(asked)
    assert (refused.value.code, refused.value.message) == (403, message)


def test_a_refusal_about_a_path_has_empty_details() -> None:
    """As the real server's: there is no resource to tell of."""
    with pytest.raises(StatusError) as refused:
        Authorizer(Store()).require(Attributes(ALICE, "get", path="/foo"))
    assert refused.value.manifest()["details"] == {}
