"""Roles and bindings as RBAC reads them, and who gets what by a snapshot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import RoleSeen
from apis.meta import Manifest
from policy.permits.bound import Bound, Snapshot, bound, rows
from policy.permits.lent import Lent
from policy.permits.roles import Binding, Role, RoleKey, laid_over, rules_of, seen, subject, takers
from tests.support.api import ref

API = "rbac.authorization.k8s.io/v1"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
ANY: Manifest = {"matchLabels": {}}


def cluster_role(name: str, *rules: Manifest, labels: dict[str, str] | None = None, takes: Any = None) -> Role:
    """A ClusterRole; `takes` are the selectors of its aggregation."""
    manifest = ref(API, "ClusterRole", name) | {"rules": list(rules)}
    manifest["metadata"]["labels"] = labels
    return Role.of(
        manifest | ({"aggregationRule": {"clusterRoleSelectors": takes}} if takes is not None else {}), uid=f"uid-{name}"
    )


def bind(name: str, kind: str, role: str, *subjects: str, namespace: str = "") -> Binding:
    """A binding to a role."""
    return Binding(namespace, name, RoleKey(kind, "" if kind == "ClusterRole" else namespace, role), subjects or ("User/alice",))


def book(*roles: Role) -> dict[RoleKey, Role]:
    """The roles by their keys."""
    return {role.key: role for role in roles}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({"kind": "User", "name": "alice"}, "User/alice"),
        ({"kind": "Group", "name": "sre"}, "Group/sre"),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "ci"}, "ServiceAccount/ci/robot"),
        ({"kind": "ServiceAccount", "name": "robot"}, "ServiceAccount/solar/robot"),
        ({"kind": "User", "name": "system:serviceaccount:ci:robot"}, "ServiceAccount/ci/robot"),
        ({"kind": "User", "name": "ci:robot"}, "User/ci:robot"),
        ({"kind": "User", "name": "system:serviceaccount:ci"}, "User/system:serviceaccount:ci"),
        ({"kind": "Group", "name": "system:serviceaccount:ci:robot"}, "Group/system:serviceaccount:ci:robot"),
    ],
)
def test_a_subject_has_one_name(manifest: Manifest, expected: str) -> None:
    """However the binding writes it."""
    assert subject(manifest, "solar") == expected


def test_a_binding_refers_to_a_role_of_its_own_namespace() -> None:
    """Or to a ClusterRole, which has none."""
    reference = {"kind": "Role", "name": "reader"}
    near = Binding.of(ref(API, "RoleBinding", "x", "solar") | {"roleRef": reference})
    far = Binding.of(ref(API, "RoleBinding", "x", "solar") | {"roleRef": reference | {"kind": "ClusterRole"}})
    assert (near.role, str(near)) == (RoleKey("Role", "solar", "reader"), "RoleBinding solar/x")
    assert (far.role, str(far.role)) == (RoleKey("ClusterRole", "", "reader"), "ClusterRole reader")


@pytest.mark.parametrize("value", [None, "x", 1, ["x"], {"x": 1}])
def test_what_is_malformed_gives_nothing(value: Any) -> None:
    """The server refuses it; until then it is read without a fault."""
    role = Role.of(ref(API, "ClusterRole", "x") | {"rules": value, "aggregationRule": value})
    assert (role.rules, role.selectors) == ((), ())
    assert Binding.of(ref(API, "RoleBinding", "x", "solar") | {"roleRef": value, "subjects": value}).subjects == ()
    assert cluster_role("x", takes=[{"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}]).selectors == ()


@pytest.mark.parametrize(
    ("target", "field", "expected"),
    [
        ({"rules": [PODS]}, "rules", [PODS]),
        ({"rules": []}, "rules", []),
        ({"rules": None}, "rules", [SECRETS]),
        ({}, "rules", [SECRETS]),
        ({}, "aggregationRule", {"clusterRoleSelectors": [ANY]}),
    ],
)
def test_a_role_that_is_adopted_keeps_what_the_target_does_not_state(target: Manifest, field: str, expected: Any) -> None:
    """Server-side apply replaces such a list as a whole."""
    live = ref(API, "ClusterRole", "x") | {"rules": [SECRETS], "aggregationRule": {"clusterRoleSelectors": [ANY]}}
    assert laid_over(ref(API, "ClusterRole", "x") | target, live)[field] == expected


def test_a_role_that_is_adopted_keeps_its_labels() -> None:
    """And gets those of the target."""
    live, target = ref(API, "ClusterRole", "x"), ref(API, "ClusterRole", "x")
    live["metadata"]["labels"], target["metadata"]["labels"] = {"a": "1", "b": "1"}, {"b": "2"}
    assert laid_over(target, live)["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert laid_over(target, None) == target


# Aggregation.

NAMES = ["a", "b", "c", "d"]
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=10)


@given(EDGES)
def test_aggregation_is_followed_to_its_end(edges: list[tuple[str, str]]) -> None:
    """Over several steps and in circles: who takes a role has its rules, and who has them takes it."""
    found = book(
        *(
            cluster_role(
                name,
                PODS | {"resources": [name]},
                labels={name: "true"},
                takes=[{"matchLabels": {other: "true"}} for one, other in edges if one == name],
            )
            for name in NAMES
        )
    )
    for key in found:
        has = {resource for rule in rules_of(key, found) for resource in rule["resources"]}
        assert key.name in has
        for other in found:
            assert (other.name in has - {key.name}) is (key in takers(other, found))


def test_a_selector_may_select_all() -> None:
    """Also roles without labels, but never its own."""
    known = book(cluster_role("all", takes=[ANY]), cluster_role("plain", PODS))
    assert rules_of(RoleKey("ClusterRole", "", "all"), known) == (PODS,)
    assert takers(RoleKey("ClusterRole", "", "plain"), known) == {RoleKey("ClusterRole", "", "all")}


def test_only_cluster_roles_are_aggregated() -> None:
    """A selector means no Role, whatever its labels."""
    near = Role(RoleKey("Role", "solar", "near"), (SECRETS,), {"a": "b"})
    whole = cluster_role("all", takes=[ANY])
    assert rules_of(whole.key, book(whole, near)) == ()
    assert takers(near.key, book(whole, near)) == frozenset()


@given(st.permutations([PODS, SECRETS, {**PODS, "verbs": ["list", "get"]}]))
def test_the_digest_of_a_role_is_that_of_its_rules(rules: list[Manifest]) -> None:
    """Neither their order nor that of their words matters."""
    role = cluster_role("x", *rules)
    row = seen(role.key, book(role))
    assert row == seen(role.key, book(cluster_role("x", PODS, SECRETS)))
    assert row != seen(role.key, book(cluster_role("x", PODS)))
    assert RoleSeen.model_validate(row).model_dump(mode="json", by_alias=True, exclude_defaults=True) == row


def test_a_role_that_nothing_is_known_of_has_no_digest() -> None:
    """Nor a UID."""
    assert seen(RoleKey("Role", "solar", "x"), {}) == {"kind": "Role", "namespace": "solar", "name": "x"}


# Who gets what.


def test_the_own_bindings_of_a_snapshot_count_once() -> None:
    """An existing binding that the snapshot also has is looked at as it will be."""
    own = bind("x", "Role", "reader", "User/alice", namespace="solar")
    role = Role(RoleKey("Role", "solar", "reader"), (PODS,))
    there = [
        bind("x", "Role", "reader", "User/bob", namespace="solar"),
        bind("y", "Role", "reader", "User/carol", namespace="solar"),
    ]
    assert bound(Snapshot((role,), (own,)), there, book(role)) == [
        Bound("User/alice", "solar", role.key, "RoleBinding solar/x"),
        Bound("User/carol", "solar", role.key, "Role solar/reader through RoleBinding solar/y"),
    ]


def test_a_lent_account_brings_its_bindings_of_all_namespaces() -> None:
    """By its own name and by its groups; those of others are not its own."""
    there = [
        bind("a", "ClusterRole", "view", "ServiceAccount/solar/robot", "User/bob"),
        bind("b", "Role", "reader", "ServiceAccount/solar/robot", namespace="wind"),
        bind("c", "Role", "reader", "Group/system:serviceaccounts:solar", namespace="solar"),
        bind("d", "Role", "reader", "ServiceAccount/wind/robot", namespace="wind"),
        bind("e", "ClusterRole", "view", "Group/system:authenticated"),
    ]
    found = bound(Snapshot(lent=(Lent("solar", "robot", "Pod solar/x"),)), there, {})
    assert [(one.subject, one.namespace, one.via) for one in found] == [
        ("ServiceAccount/solar/robot", "", "Pod solar/x through ClusterRoleBinding a"),
        ("ServiceAccount/solar/robot", "solar", "Pod solar/x through RoleBinding solar/c"),
        ("ServiceAccount/solar/robot", "wind", "Pod solar/x through RoleBinding wind/b"),
    ]


@pytest.mark.parametrize(
    ("snapshot", "everywhere", "places"),
    [
        (Snapshot(), False, ()),
        (Snapshot(bindings=(bind("x", "ClusterRole", "view"),)), False, ()),
        (Snapshot(roles=(Role(RoleKey("Role", "solar", "x")), Role(RoleKey("Role", "solar", "y")))), False, ("solar",)),
        (Snapshot(roles=(Role(RoleKey("Role", "solar", "x")), cluster_role("y"))), True, ()),
        (Snapshot(lent=(Lent("solar", "robot", "Pod solar/x"),)), True, ()),
    ],
)
def test_no_more_bindings_are_asked_for_than_matter(snapshot: Snapshot, everywhere: bool, places: tuple[str, ...]) -> None:
    """A large cluster has many."""
    assert (snapshot.everywhere, snapshot.places) == (everywhere, places)


def test_a_role_that_is_not_known_is_a_row_that_says_why() -> None:
    """Each subject has one."""
    known = cluster_role("view", PODS, SECRETS)
    ghost = RoleKey("ClusterRole", "", "ghost")
    given_rights = [Bound("User/alice", "solar", known.key, "x"), Bound("User/bob", "", ghost, "y")]
    assert [row.get("unresolved", row.get("resources")) for row in rows(given_rights, book(known), {ghost: "gone"})] == [
        ["pods"],
        ["secrets"],
        "gone",
    ]
