"""Grants as lines for people."""

import pytest

from apis.meta import Manifest
from manager.permits.granttext import line, lines
from policy.permits.grants import unresolved

ALICE = {"subject": "User/alice"}
CORE = {"apiGroups": [""]}
RBAC = {"apiGroups": ["rbac.authorization.k8s.io"]}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            CORE | {"verbs": ["get", "list"], "resources": ["pods"], "namespace": "solar", "via": "RoleBinding solar/x"},
            "User/alice may get, list pods in solar (by RoleBinding solar/x)",
        ),
        (CORE | {"verbs": ["get"], "resources": ["pods/log", "pods"]}, "User/alice may get pods/log, pods in the whole cluster"),
        (
            CORE | {"verbs": ["get"], "resources": ["secrets"], "resourceNames": ["a", "b"]},
            "User/alice may get secrets called a, b in the whole cluster",
        ),
        (
            {"verbs": ["*"], "resources": ["deployments"], "apiGroups": ["apps", "extensions"]},
            "User/alice may do anything with deployments of apps, extensions in the whole cluster",
        ),
        (
            {"verbs": ["get"], "resources": ["pods"], "apiGroups": ["*"]},
            "User/alice may get pods of all API groups in the whole cluster",
        ),
        (CORE | {"verbs": ["get"], "resources": ["*"]}, "User/alice may get everything of core in the whole cluster"),
        (
            {"verbs": ["*"], "resources": ["*"], "apiGroups": ["*"]},
            "User/alice may do anything with everything in the whole cluster, which amounts to every right",
        ),
        ({"verbs": ["get"], "nonResourceURLs": ["/metrics"]}, "User/alice may get URLs /metrics in the whole cluster"),
        (
            CORE | {"verbs": ["get"], "resources": ["pods"], "nonResourceURLs": ["*"]},
            "User/alice may get pods, and URLs * in the whole cluster",
        ),
        (
            RBAC | {"verbs": ["bind"], "resources": ["roles"], "via": "RoleBinding solar/x"},
            "User/alice may bind roles of rbac.authorization.k8s.io in the whole cluster (by RoleBinding solar/x),"
            " which amounts to every right",
        ),
        (
            CORE | {"verbs": ["get"], "resources": [f"r{index}" for index in range(10)]},
            "User/alice may get r0, r1, r2, r3, r4, r5, r6, r7 and 2 more in the whole cluster",
        ),
    ],
)
def test_a_rule_is_a_sentence(row: Manifest, expected: str) -> None:
    """Who, what, where, and by which object."""
    assert line(ALICE | row) == expected


def test_what_is_not_known_says_why() -> None:
    """Also where nobody can say who gets it."""
    assert lines([unresolved("Group/sre", "Role solar/x is not there", namespace="solar"), unresolved("*", "501 more")]) == [
        "Group/sre may do anything in solar, as far as is known: Role solar/x is not there",
        "somebody may do anything in the whole cluster, as far as is known: 501 more",
    ]


def test_names_cannot_write_to_the_terminal() -> None:
    """A subject comes from a template, and may hold anything."""
    text = line(
        {"subject": "User/a\x1b[2J\nroot", "verbs": ["g\u202eet"], "apiGroups": [""], "resources": ["pods"], "via": "x\r"}
    )
    assert text == "User/a?[2J?root may g?et pods in the whole cluster (by x?)"
