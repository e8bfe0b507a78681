"""The registry, and what a Parent knows about its object."""

import pkgutil

import pytest

import apis.copyhold
from apis.kind import Parent, find, kinds, parents
from apis.meta import Manifest
from apis.problems import Invalid
from tests.apis.objects import gtr, record, tenant, tr


def parent(manifest: Manifest) -> Parent:
    """The manifest as the Parent that it names."""
    kind = find("copyhold.dev", manifest["kind"])
    assert kind is not None
    return Parent(kind, manifest)


def test_the_native_kinds_are_found_by_their_folder() -> None:
    """Nobody lists them anywhere."""
    native = {kind.kind for kind in kinds() if kind.group == "copyhold.dev"}
    assert {"Tenant", "TenantResource", "GlobalTenantResource", "TargetRecord"} <= native


def test_a_file_that_bears_the_name_of_a_kind_declares_it() -> None:
    """One file per kind, called as the kind in lower case."""
    files = {module.name for module in pkgutil.iter_modules(apis.copyhold.__path__)}
    assert {kind.singular for kind in kinds() if kind.group == "copyhold.dev"} <= files


def test_parents_are_the_kinds_that_are_lowered() -> None:
    """A Tenant and a TargetRecord apply nothing."""
    assert set(parents()) == {kind for kind in kinds() if kind.lower is not None}
    assert {"Tenant", "TargetRecord"}.isdisjoint(kind.kind for kind in parents())


def test_no_two_kinds_share_a_name() -> None:
    """Plurals and short names of a group are one name space in the API server."""
    for group in {kind.group for kind in kinds()}:
        names = [name for kind in kinds() if kind.group == group for name in (kind.plural, kind.singular, *kind.short_names)]
        assert len(names) == len(set(names))


def test_tenant_resources_are_one_family() -> None:
    """Local and global ones are kin; a Tenant has no kin."""
    families = {kind.kind: kind.family for kind in kinds()}
    assert families["TenantResource"] == families["GlobalTenantResource"] == "tenantresource"
    assert families["Tenant"] == families["TargetRecord"] == ""


def test_a_kind_that_is_not_ours_is_not_found() -> None:
    """Neither another group's Tenant nor another kind of our group."""
    assert find("capsule.clastix.io", "Tenant") is None
    assert find("copyhold.dev", "Pod") is None


def test_a_parent_reads_its_metadata() -> None:
    """As the server stored it."""
    manifest = tr()
    manifest["metadata"] |= {
        "uid": "1-2-3",
        "generation": 4,
        "resourceVersion": "99",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["copyhold.dev/cleanup"],
        "deletionTimestamp": "2026-08-31T10:02:13Z",
    }
    manifest["status"] = {"size": 1}
    ours = parent(manifest)
    assert (ours.name, ours.namespace, ours.uid, ours.generation, ours.resource_version) == (
        "quota",
        "solar-dev",
        "1-2-3",
        4,
        "99",
    )
    assert (ours.labels, ours.annotations, ours.finalizers) == ({"a": "b"}, {"c": "d"}, ("copyhold.dev/cleanup",))
    assert ours.deleting
    assert ours.status == {"size": 1}
    assert ours.manager == "copyhold.dev/tenantresource/1-2-3"
    assert (ours.ref.api_version, ours.ref.kind, str(ours.ref)) == (
        "copyhold.dev/v1alpha1",
        "TenantResource",
        "TenantResource.copyhold.dev solar-dev/quota",
    )


def test_a_parent_from_a_file_has_no_metadata_of_a_server() -> None:
    """Nothing is missing, all is empty."""
    ours = parent(gtr())
    assert (ours.uid, ours.generation, ours.resource_version) == ("", 0, "")
    assert (ours.labels, ours.annotations, ours.finalizers, ours.status, ours.deleting) == ({}, {}, (), {}, False)


def test_a_parent_without_apiversion_is_known_by_its_kind() -> None:
    """The items of a list bear neither apiVersion nor kind."""
    kind = find("copyhold.dev", "GlobalTenantResource")
    assert kind is not None
    ours = Parent(kind, {"metadata": {"name": "baseline"}})
    assert str(ours) == "GlobalTenantResource baseline"
    assert ours.ref.api_version == "copyhold.dev/v1alpha1"


@pytest.mark.parametrize(
    ("manifest", "title"),
    [(gtr(), "GlobalTenantResource baseline"), (tr(), "TenantResource solar-dev/quota"), (tenant(), "Tenant solar")],
)
def test_messages_call_an_object_by_kind_and_name(manifest: Manifest, title: str) -> None:
    """With its namespace where the kind has one."""
    assert str(parent(manifest)) == title


def test_a_field_manager_has_room() -> None:
    """An API server takes at most 128 bytes (specs/apiserver.md, 12)."""
    uid = "01234567-89ab-cdef-0123-456789abcdef"
    for kind in parents():
        assert len(Parent(kind, {"metadata": {"uid": uid}}).manager.encode()) <= 128


@pytest.mark.parametrize("manifest", [tenant(), record()], ids=["a tenant", "a record"])
def test_what_applies_nothing_has_no_intent(manifest: Manifest) -> None:
    """Asking is the mistake of whoever named the object."""
    with pytest.raises(Invalid, match="apply nothing"):
        parent(manifest).intent()
