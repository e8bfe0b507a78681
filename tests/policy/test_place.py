"""Where a document may live, and how the author is told that it may not."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Policy, ScopeKind
from apis.meta import Manifest, Ref
from apis.problems import Invalid
from apis.reasons import Reason
from policy.place import NEEDED_VERBS, Place, Served, check_document, place
from policy.target import Desired
from policy.tenancy import Unit

SOURCE = "resources[0] (quota) targets[1]"
CONFIG_MAPS = Served("configmaps", True, NEEDED_VERBS | {"list", "watch"})
ROLES = Served("clusterroles", False, NEEDED_VERBS)
NO_STRING = "is missing or not a string: every target needs one"
UNIT = Unit("solar-dev", "solar", "solar-dev")


def placed(manifest: Manifest, served: Served, spot: Place) -> Desired:
    """A document on its way: what it states is checked, then it is put in its place."""
    return place(check_document(manifest, spot.source), manifest, served, spot)


def document(kind: str = "ConfigMap", *, namespace: str | None = None, **fields: Any) -> Manifest:
    """A rendered document of this kind."""
    metadata: Manifest = {"name": "settings"} | ({} if namespace is None else {"namespace": namespace})
    api = "v1" if kind == "ConfigMap" else "rbac.authorization.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def where(scope: ScopeKind = ScopeKind.NAMESPACE, *, namespaced: bool = False, unit: Unit = UNIT, **rest: Any) -> Place:
    """A place for documents."""
    about: dict[str, Any] = {"account": "platform/distributor", "policy": Policy(), "source": SOURCE, **rest}
    return Place(unit, scope, namespaced, **about)


@pytest.mark.parametrize(
    ("manifest", "served", "spot", "namespace"),
    [
        pytest.param(document(), CONFIG_MAPS, where(), "solar-dev", id="the namespace is implied"),
        pytest.param(document(namespace="solar-dev"), CONFIG_MAPS, where(), "solar-dev", id="or said"),
        pytest.param(document(namespace=""), CONFIG_MAPS, where(), "solar-dev", id="an empty word says nothing"),
        pytest.param(document(), CONFIG_MAPS, where(ScopeKind.ALL_NAMESPACES), "solar-dev", id="all namespaces"),
        pytest.param(document(namespace="a"), CONFIG_MAPS, where(ScopeKind.TENANT, unit=Unit("solar")), "a", id="tenant"),
        pytest.param(document(namespace="a"), CONFIG_MAPS, where(ScopeKind.NONE, unit=Unit("")), "a", id="once"),
        pytest.param(document("ClusterRole"), ROLES, where(), "", id="a cluster-scoped kind"),
        pytest.param(document("ClusterRole", namespace="x"), ROLES, where(), "", id="a namespace means nothing to it"),
    ],
)
def test_a_document_is_placed(manifest: Manifest, served: Served, spot: Place, namespace: str) -> None:
    """Reference and payload agree about the namespace."""
    desired = placed(manifest, served, spot)
    assert desired.ref.namespace == namespace
    assert desired.manifest["metadata"].get("namespace", "") == namespace
    assert desired.cluster_scoped is not served.namespaced


def test_what_a_placed_document_knows() -> None:
    """Who rendered it, for whom, where it is served, and from which source."""
    desired = placed(document(status={}, data={"a": None}), CONFIG_MAPS, where())
    assert (desired.resource, desired.unit, desired.tenant, desired.sources) == ("configmaps", "solar-dev", "solar", (SOURCE,))
    assert desired.manifest == document(namespace="solar-dev", data={})


@pytest.mark.parametrize(
    ("manifest", "served", "spot", "reason", "message"),
    [
        pytest.param(
            document(namespace="lunar-dev"),
            CONFIG_MAPS,
            where(),
            Reason.FOREIGN_NAMESPACE,
            "v1/ConfigMap settings: metadata.namespace is lunar-dev, but the target is rendered for namespace solar-dev: "
            "leave it out, or use scope Tenant or None",
            id="another namespace",
        ),
        pytest.param(
            document(namespace="kube-system"),
            CONFIG_MAPS,
            where(ScopeKind.ALL_NAMESPACES),
            Reason.FOREIGN_NAMESPACE,
            "v1/ConfigMap settings: metadata.namespace is kube-system, but the target is rendered for namespace solar-dev: "
            "leave it out, or use scope Tenant or None",
            id="another namespace, all namespaces",
        ),
        pytest.param(
            document("ClusterRole"),
            ROLES,
            where(namespaced=True),
            Reason.CLUSTER_SCOPED,
            "rbac.authorization.k8s.io/v1/ClusterRole settings: cluster-scoped kind rbac.authorization.k8s.io/v1/ClusterRole "
            "is not allowed in a TenantResource: ask for it in a GlobalTenantResource",
            id="case 097: a cluster-scoped kind from a tenant",
        ),
        pytest.param(
            document("ClusterRole", namespace="solar-dev"),
            ROLES,
            where(namespaced=True),
            Reason.CLUSTER_SCOPED,
            "rbac.authorization.k8s.io/v1/ClusterRole settings: cluster-scoped kind rbac.authorization.k8s.io/v1/ClusterRole "
            "is not allowed in a TenantResource: ask for it in a GlobalTenantResource",
            id="case 097: with a namespace on it",
        ),
        pytest.param(
            document(),
            CONFIG_MAPS,
            where(ScopeKind.TENANT),
            Reason.INVALID,
            "v1/ConfigMap settings: metadata.namespace is missing: scope Tenant does not imply one",
            id="no namespace, tenant",
        ),
        pytest.param(
            document(),
            CONFIG_MAPS,
            where(ScopeKind.NONE),
            Reason.INVALID,
            "v1/ConfigMap settings: metadata.namespace is missing: scope None does not imply one",
            id="no namespace, once",
        ),
        pytest.param(
            document(),
            Served("tokenreviews", True, frozenset({"create"})),
            where(),
            Reason.INVALID,
            "v1/ConfigMap settings: the kind does not serve delete, get, patch, so it cannot be managed",
            id="a kind without the verbs",
        ),
    ],
)
def test_a_document_in_the_wrong_place_is_the_authors_mistake(
    manifest: Manifest, served: Served, spot: Place, reason: Reason, message: str
) -> None:
    """Invalid, with source, object and remedy."""
    with pytest.raises(Invalid) as mistake:
        placed(manifest, served, spot)
    assert (mistake.value.reason, str(mistake.value)) == (reason, f"{SOURCE}: {message}")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, "apiVersion is missing or not a string: every target needs one"),
        (
            {"apiVersion": 1, "kind": "A", "metadata": {"name": "a"}},
            "apiVersion is missing or not a string: every target needs one",
        ),
        ({"apiVersion": "v1", "kind": "", "metadata": {"name": "a"}}, "kind is missing or not a string: every target needs one"),
        ({"apiVersion": "v1", "kind": "A"}, "v1/A: metadata is missing: give it a name"),
        ({"apiVersion": "v1", "kind": "A", "metadata": []}, "v1/A: metadata is missing: give it a name"),
        (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "generateName": "a-"}},
            "v1/A: metadata.generateName cannot be applied: give metadata.name",
        ),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": 7}}, "v1/A: metadata.name is not a string: quote it"),
        (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": 7}},
            "v1/A: metadata.namespace is not a string: quote it",
        ),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": ["x"]}}, "v1/A: metadata.labels is not a map"),
        (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "annotations": "x"}},
            "v1/A: metadata.annotations is not a map",
        ),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": ""}}, "v1/A: metadata.name is missing"),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": None}}, "v1/A: metadata.name is missing"),
    ],
)
def test_a_document_without_an_identity_is_the_authors_mistake(manifest: Manifest, message: str) -> None:
    """What server-side apply cannot use is refused before anything is sent."""
    with pytest.raises(Invalid) as mistake:
        check_document(manifest, SOURCE)
    assert str(mistake.value) == f"{SOURCE}: {message}"


@pytest.mark.parametrize("value", ["wax", "d2F4=", "d2F4IQ", "d2F4IQ==d2F4", "d2_4", "é", "d2F4 "])
@pytest.mark.parametrize(
    ("kind", "field", "remedy"),
    [("Secret", "data", "stringData"), ("ConfigMap", "binaryData", "data")],
)
def test_a_value_that_cannot_be_decoded_is_the_authors_mistake(kind: str, field: str, remedy: str, value: str) -> None:
    """The server would answer 500, which is tried again and again; neither key nor value is named."""
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, field: {"fine": "", "wrong": value}}
    with pytest.raises(Invalid) as mistake:
        check_document(manifest, SOURCE)
    said = f"{field} has a value that is not base64: encode it, or give it in {remedy}"
    assert str(mistake.value) == f"{SOURCE}: v1/{kind}: {said}"


@given(st.binary(max_size=200), st.sampled_from(["\n", "\r\n", ""]))
def test_what_is_encoded_passes(value: bytes, end: str) -> None:
    """Also in lines, as tools write it; and other kinds have fields of these names, too."""
    encoded = base64.encodebytes(value).decode().replace("\n", end)
    check_document({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": encoded}}, SOURCE)
    check_document({"apiVersion": "x/v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": "wax"}}, SOURCE)


def test_a_document_with_an_identity_states_it() -> None:
    """A null namespace is none."""
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": None, "labels": None}}
    assert check_document(manifest, SOURCE) == Ref("apps", "v1", "Deployment", "", "web")


def _digest(**changes: Any) -> str:
    desired: Desired = placed(document(data=changes.pop("data", {"a": "1"})), CONFIG_MAPS, where(**changes))
    return desired.digest


@pytest.mark.parametrize(
    ("changes", "same", "reason"),
    [
        pytest.param({}, True, "the same document, placed again", id="nothing"),
        pytest.param({"source": "elsewhere"}, True, "where it stands in the spec changes nothing", id="source"),
        pytest.param({"policy": Policy(force=True)}, True, "force changes no payload", id="force"),
        pytest.param({"policy": Policy(condition="true")}, True, "neither does a condition", id="condition"),
        pytest.param({"data": {"a": "1", "b": None}}, True, "nulls are nothing", id="null"),
        pytest.param({"data": {"a": "2"}}, False, "the content", id="content"),
        pytest.param({"policy": Policy(protect=False)}, False, "protection is a mark on the target", id="protection"),
        pytest.param({"account": "platform/other"}, False, "the next apply by a new account rewrites the mark", id="account"),
        pytest.param({"unit": Unit("solar-prod", "solar", "solar-prod")}, False, "another namespace", id="namespace"),
    ],
)
def test_the_digest_changes_with_what_is_sent(changes: dict[str, Any], same: bool, reason: str) -> None:
    """It covers the content and the marks, and nothing else."""
    assert (_digest(**changes) == _digest()) is same, reason
