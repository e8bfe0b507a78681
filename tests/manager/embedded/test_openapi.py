"""The built-in kinds, as the stored facts tell of them."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

from manager.embedded import openapi
from manager.embedded.schema import ListType, Schema

KINDS = {served.resource: served for served in openapi.builtin()}


def test_every_kind_is_served_in_one_stable_version() -> None:
    """Of a group with several, the newest one is."""
    assert KINDS["horizontalpodautoscalers.autoscaling"].version == "v2"
    assert len({(served.group, served.plural) for served in KINDS.values()}) == len(KINDS) > 60
    assert {"configmaps", "deployments.apps", "customresourcedefinitions.apiextensions.k8s.io"} <= KINDS.keys()


def test_a_kind_comes_with_its_discovery() -> None:
    """Names, verbs and subresources are those of the real server."""
    deployments = KINDS["deployments.apps"]
    assert (deployments.kind, deployments.singular, deployments.namespaced) == ("Deployment", "deployment", True)
    assert (deployments.short_names, deployments.categories) == (("deploy",), ("all",))
    assert deployments.subresources == {"scale", "status"}
    assert {"get", "list", "watch", "create", "patch"} <= deployments.verbs
    assert [column.name for column in deployments.columns][:3] == ["Name", "Ready", "Up-to-date"]
    assert not deployments.custom


def test_schemas_say_how_lists_are_shared_and_patched() -> None:
    """List-map keys for server-side apply, merge keys for strategic merge patches."""
    pod = KINDS["pods"].schema.properties["spec"]
    containers = pod.properties["containers"]
    assert (containers.list_type, containers.list_keys) == (ListType.MAP, ("name",))
    assert (containers.patch_strategy, containers.patch_key) == ("merge", "name")
    assert containers.items is not None
    ports = containers.items.properties["ports"]
    assert ports.list_keys == ("containerPort", "protocol")
    assert ports.items is not None
    assert ports.items.properties["protocol"].default == "TCP"
    assert pod.properties["volumes"].patch_strategy == "merge,retainKeys"
    assert pod.properties["nodeSelector"].atomic
    assert KINDS["roles.rbac.authorization.k8s.io"].schema.properties["rules"].list_type == ListType.ATOMIC


def test_quantities_and_ports_are_told_by_reference_and_format() -> None:
    """Neither has a type."""
    container = KINDS["pods"].schema.properties["spec"].properties["containers"].items
    assert container is not None
    limits = container.properties["resources"].properties["limits"].additional
    assert limits is not None
    assert (limits.type, limits.reference.rsplit(".", 1)[1]) == ("", "Quantity")
    port = container.properties["livenessProbe"].properties["httpGet"].properties["port"]
    assert port.int_or_string
    assert not port.type


def test_what_is_open_is_open_and_what_is_closed_is_closed() -> None:
    """A field that nobody knows is found by this."""
    config = KINDS["configmaps"].schema
    assert config.closed
    assert config.child("spec") is None
    assert config.properties["data"].child("anything") is config.properties["data"].additional
    raw = KINDS["controllerrevisions.apps"].schema.properties["data"]
    assert raw.preserve_unknown
    assert not raw.closed


def test_a_schema_that_holds_itself_is_one() -> None:
    """JSONSchemaProps is read once, however deep somebody looks."""
    node: Schema = KINDS["customresourcedefinitions.apiextensions.k8s.io"].schema
    for name in ("spec", "versions"):
        node = node.properties[name]
    assert node.items is not None
    first: Schema = node.items.properties["schema"].properties["openAPIV3Schema"]
    inner = first.properties["not"].properties["not"]
    assert inner.properties is first.properties


def test_every_schema_can_be_read() -> None:
    """A kind without one would fail at its first object."""
    for served in openapi.builtin():
        assert served.schema.type == "object", served.resource


def test_subresources_have_schemas_in_the_document_of_their_kind() -> None:
    """A Scale is not of the group of what it scales."""
    scale = openapi.definition("autoscaling", "v1", "Scale", within=("apps", "v1"))
    assert scale is not None
    assert scale.properties["spec"].properties["replicas"].format == "int32"
    assert openapi.definition("", "v1", "Nothing") is None
    assert openapi.definition("no.such", "v1", "Nothing") is None


def test_a_document_is_one_of_openapi_without_descriptions() -> None:
    """What kubectl looks for in it is there: the kinds, and that PATCH knows fieldValidation."""
    text = openapi.openapi_document("apps", "v1")
    assert text is not None
    document = json.loads(text)
    parameters = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]["parameters"]
    assert "fieldValidation" in [parameter["name"] for parameter in parameters]
    assert "description" not in document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert openapi.openapi_document("apps", "v1beta1") is None


def test_an_empty_cluster_holds_the_default_roles() -> None:
    """Aggregated roles come without rules: a controller fills them."""
    held = {(seed["kind"], seed["metadata"]["name"]): seed for seed in openapi.bootstrap()}
    assert "rules" not in held["ClusterRole", "edit"]
    assert held["ClusterRole", "cluster-admin"]["rules"]
    assert held["ClusterRoleBinding", "cluster-admin"]["subjects"]
    assert held["PriorityClass", "system-node-critical"]["value"] == 2000001000
    assert not {"uid", "resourceVersion", "managedFields"} & held["ClusterRole", "edit"]["metadata"].keys()


def test_versions_are_in_the_order_of_discovery() -> None:
    """Core first, and each once."""
    versions = openapi.versions()
    assert versions[0] == ("", "v1")
    assert all(one != other for one, other in pairwise(versions))
    assert openapi.root(*versions[0]) == "/api/v1"
    assert openapi.root("apps", "v1") == "/apis/apps/v1"


@pytest.mark.parametrize("name", [openapi.DISCOVERY, openapi.COLUMNS, openapi.BOOTSTRAP])
def test_facts_are_packed_json(name: str) -> None:
    """Each file can be read back."""
    assert json.loads(openapi.unpack(name))


def test_discovery_reads_no_schema() -> None:
    """A server starts with all kinds and uses few of them."""
    code = (
        "from manager.embedded import openapi\n"
        "openapi.builtin()\n"
        "assert not openapi._nodes\n"
        "assert not openapi._definitions.cache_info().currsize\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
