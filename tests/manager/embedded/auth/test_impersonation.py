"""As whom a request acts. What each header needs is judged beside the real server in tests/contract/test_rbac.py."""

import pytest

from manager.embedded.attributes import AUTHENTICATED, Attributes, User
from manager.embedded.auth.impersonation import Impersonation
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.status import StatusError
from manager.embedded.store import Store
from tests.manager.embedded.auth.stored import ALICE, asks, binding, put, role, rule

IDENTITY = "authentication.k8s.io"
PARENT = "Impersonate-Extra-Copyhold.dev%2fparent"
ASKED = asks("list", "configmaps", namespace="blue")


def impersonation(*rules: object) -> Impersonation:
    """Alice holds these rules in the whole cluster."""
    store = Store()
    put(store, role("r", *rules), binding("b", "ClusterRole/r", "User/alice"))  # type: ignore[arg-type]
    return Impersonation(Authorizer(store))


def refusal(subject: Impersonation, *headers: tuple[str, str]) -> str:
    """The words of a refused impersonation."""
    with pytest.raises(StatusError) as refused:
        subject.acting(ASKED, headers)
    return refused.value.message


def test_a_request_without_headers_acts_as_its_sender() -> None:
    """Other headers mean nothing."""
    assert impersonation().acting(ASKED, [("Accept", "*/*")]) is ALICE


def test_all_headers_make_the_user() -> None:
    """Name, uid, groups in their order and extras, whose keys are percent-encoded and in lower case."""
    subject = impersonation(
        rule("users groups", "impersonate"), rule("uids userextras/copyhold.dev/parent", "impersonate", IDENTITY)
    )
    everything = [
        ("impersonate-user", "zoe"),
        ("Impersonate-Uid", "z-1"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Group", "a"),
        (PARENT, "x"),
        (PARENT, "y"),
    ]
    acting = subject.acting(ASKED, everything)
    assert acting == User("zoe", "z-1", ("b", "a", AUTHENTICATED), {"copyhold.dev/parent": ("x", "y")})


def test_an_account_gets_its_groups_from_the_server() -> None:
    """Who impersonates a ServiceAccount need not know its groups."""
    subject = impersonation(rule("serviceaccounts", "impersonate"))
    acting = subject.acting(ASKED, [("Impersonate-User", "system:serviceaccount:blue:robot")])
    assert acting.groups == ("system:serviceaccounts", "system:serviceaccounts:blue", AUTHENTICATED)


def test_a_refusal_names_the_first_mode_that_fits() -> None:
    """Without any right, the answer is about the constrained way and the request itself."""
    said = refusal(impersonation(), ("Impersonate-User", "zoe"))
    assert said == (
        'configmaps is forbidden: User "alice" cannot impersonate-on:user-info:list resource "configmaps"'
        ' in API group "" in the namespace "blue"'
    )


def test_a_refusal_names_the_mode_that_worked_before() -> None:
    """Who has impersonated the old way before hears what is missing there."""
    subject = impersonation(rule("users", "impersonate", resourceNames=["zoe"]))
    subject.acting(ASKED, [("Impersonate-User", "zoe")])
    said = refusal(subject, ("Impersonate-User", "zed"))
    assert (
        said == 'users "zed" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope'
    )


def test_the_extra_of_a_parent_needs_its_own_right() -> None:
    """Who may impersonate accounts cannot pose as the manager."""
    subject = impersonation(rule("serviceaccounts", "impersonate"))
    said = refusal(subject, ("Impersonate-User", "system:serviceaccount:blue:robot"), (PARENT, "x"))
    assert 'cannot impersonate resource "userextras/copyhold.dev/parent" in API group "authentication.k8s.io"' in said


def test_a_group_needs_a_user() -> None:
    """A header that only makes sense beside a user is refused, in the words of the real server."""
    said = refusal(impersonation(), ("Impersonate-Group", "a"))
    assert said == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)}'
        " without impersonating a user name"
    )


def test_an_associated_node_is_impersonated_by_its_own_account_alone() -> None:
    """The token of an account that runs on a node opens the node's name, and no other one."""
    extra = {"authentication.kubernetes.io/node-name": ("n1",)}
    agent = User("system:serviceaccount:blue:agent", groups=(AUTHENTICATED,), extra=extra)
    store = Store()
    put(
        store,
        role("on", rule("configmaps", "impersonate-on:associated-node:list")),
        binding("on", "ClusterRole/on", "ServiceAccount/blue/agent"),
        role("node", rule("nodes", "impersonate:associated-node", IDENTITY)),
        binding("node", "ClusterRole/node", "ServiceAccount/blue/agent"),
    )
    subject = Impersonation(Authorizer(store))
    asked = Attributes(agent, "list", resource="configmaps", namespace="blue")
    acting = subject.acting(asked, [("Impersonate-User", "system:node:n1")])
    assert (acting.name, acting.groups) == ("system:node:n1", ("system:nodes", AUTHENTICATED))
    with pytest.raises(StatusError):
        subject.acting(asked, [("Impersonate-User", "system:node:n2")])
