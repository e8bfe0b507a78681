"""Who may give rights away. The rows beside the real server are in tests/contract/test_rbac.py; here is what moves them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from manager.embedded.attributes import AUTHENTICATED, MASTERS, Attributes, User
from manager.embedded.auth.escalation import check_escalation
from manager.embedded.auth.rbac import GROUP, Authorizer
from manager.embedded.auth.rule import Rule
from manager.embedded.status import StatusError
from manager.embedded.store import Store
from tests.manager.embedded.auth.stored import ALICE, binding, named, put, role, rule

PODS = rule("pods", "get list")


def attempt(store: Store, new: Manifest, old: Manifest | None = None, user: User = ALICE) -> str:
    """What the user hears who writes `new` over `old`; nothing when it passes."""
    plural = new["kind"].lower() + "s"
    namespace = new["metadata"].get("namespace", "")
    name = new["metadata"]["name"] if old else ""
    asked = Attributes(user, "update" if old else "create", GROUP, "v1", plural, namespace=namespace, name=name)
    try:
        check_escalation(asked, new, old, Authorizer(store))
    except StatusError as error:
        return error.message
    return ""


def holding(*rules: Manifest, namespace: str = "blue") -> Store:
    """A store in which alice holds these rules in the namespace."""
    store = Store()
    put(store, role("own", *rules, namespace=namespace), binding("own", "Role/own", "User/alice", namespace=namespace))
    return store


def test_what_one_holds_can_be_given() -> None:
    """A part of a wider rule is held, too."""
    assert attempt(holding(rule("*", "get")), role("r", rule("pods pods/log", "get"), namespace="blue")) == ""


def test_the_refusal_lists_what_is_missing() -> None:
    """Rules that differ in their verb are told in one, sorted."""
    said = attempt(holding(rule("pods", "get")), role("r", rule("secrets pods", "get list watch"), namespace="blue"))
    assert said == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["system:authenticated"])'
        " is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}'
    )


def test_the_refusal_ends_with_roles_that_are_missing() -> None:
    """A right may be missing because a bound role is."""
    store = Store()
    put(store, binding("b", "ClusterRole/gone", "User/alice"))
    said = attempt(store, role("r", PODS, namespace="blue"))
    assert said.endswith('; resolution errors: [clusterrole.rbac.authorization.k8s.io "gone" not found]')


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(role("r", PODS, namespace="blue"), None, id="a role"),
        pytest.param(role("r", PODS), None, id="a cluster role"),
        pytest.param(binding("b", "ClusterRole/cluster-admin", "User/alice"), None, id="a binding"),
    ],
)
def test_masters_give_what_they_like(new: Manifest, old: Manifest | None) -> None:
    """Whoever may everything is asked nothing."""
    assert attempt(Store(), new, old, User("root", groups=(MASTERS, AUTHENTICATED))) == ""


def test_other_kinds_are_no_matter() -> None:
    """A ConfigMap gives no rights."""
    asked = Attributes(ALICE, "create", "", "v1", "configmaps", namespace="blue")
    check_escalation(asked, named("ConfigMap", "c", "blue"), None, Authorizer(Store()))


def test_the_garbage_collector_needs_no_rights() -> None:
    """Finalizers and owner references of a role may be changed by whoever may update it."""
    old = role("r", PODS, namespace="blue")
    new = old | {"metadata": old["metadata"] | {"finalizers": ["a/b"], "managedFields": [{}]}}
    assert attempt(Store(), new, old) == ""
    assert attempt(Store(), new | {"metadata": new["metadata"] | {"labels": {"a": "b"}}}, old) != ""


def test_a_binding_to_a_role_that_is_missing_is_not_found() -> None:
    """The answer names the binding's kind and the role's name, as the real server's does."""
    said = attempt(Store(), binding("b", "Role/gone", "User/bob", namespace="blue"))
    assert said == 'rolebindings.rbac.authorization.k8s.io "gone" not found'


_WORDS = st.lists(st.sampled_from(["a", "b", "a/x", "*/x", "*"]), min_size=1, max_size=2).map(tuple)
_NAMES = st.lists(st.sampled_from(["n", "m"]), max_size=2).map(tuple)
_RULES = st.builds(Rule, _WORDS, _WORDS, _WORDS, _NAMES)


@given(_RULES)
def test_a_rule_covers_its_own_parts(one: Rule) -> None:
    """Nobody is refused what he has."""
    assert all(one.covers(part) for part in one.parts())


@given(_RULES, _RULES, st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]), st.sampled_from(["", "n", "o"]))
def test_what_is_covered_gives_nothing_new(one: Rule, other: Rule, word: str, subresource: str, name: str) -> None:
    """Whatever a covered rule allows, the covering one allows."""
    asked = Attributes(ALICE, word, word, "v1", word, subresource, name=name)
    if all(one.covers(part) for part in other.parts()) and other.allows(asked):
        assert one.allows(asked)
