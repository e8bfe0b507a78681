"""Kinds and policies are put into a cluster, and taken away only by whoever brought them; on an embedded cluster."""

from collections.abc import AsyncIterator

import pytest

from apis.kind import kinds
from apis.meta import Ref
from apis.problems import Forbidden, Gone, Invalid
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.editor import Editor
from manager.embedded.cluster import Embedded
from manager.http import Client
from manager.install import CRD, Installed, install, remove

TENANT = {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": {"name": "solar"}}
PLACE = Ref("", "v1", "ConfigMap", "default", "x")


@pytest.fixture
async def cluster() -> AsyncIterator[ApiCluster]:
    """Our client of an embedded cluster of the test's own."""
    async with Embedded() as running:
        client = Client(endpoint(running.url, running.ca, running.token))
        yield ApiCluster(client)
        await client.close(1.0)


async def test_what_is_there_stays_and_what_was_brought_goes(cluster: ApiCluster) -> None:
    """The first brings everything, a second nothing; kinds can be used at once, and policies are obeyed."""
    first = await install(cluster, namespace="copyhold-system")
    assert first == Installed(tuple(kind.crd_name for kind in kinds()), True)
    second = await install(cluster, namespace="copyhold-system")
    assert second == Installed()
    await Editor(cluster).apply(TENANT)
    await remove(cluster, second)
    assert await Editor(cluster).read(Ref.of(TENANT)) is not None
    await remove(cluster, first)
    assert (await cluster.list(CRD)).items == []


async def test_an_older_definition_is_brought_up_to_date_only_when_asked(cluster: ApiCluster) -> None:
    """`copyhold up` does that, a test on somebody's cluster does not."""
    await install(cluster, namespace="copyhold-system")
    edit = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    names = {"names": {"plural": "tenants", "kind": "Tenant", "singular": "tenant", "shortNames": ["older"]}}
    name = "tenants.copyhold.dev"
    await Editor(cluster).edit(edit | {"metadata": {"name": name}, "spec": names})
    for update, expected in ((False, ["older"]), (True, None)):
        await install(cluster, namespace="copyhold-system", update=update)
        live = await cluster.get(CRD, "", name)
        assert live is not None
        found = live["spec"]["names"].get("shortNames")
        assert (found == ["older"]) is (expected is not None)


async def test_hands_are_somebodys(cluster: ApiCluster) -> None:
    """Another person is impersonated, with his groups; a namespaced object has to say where it is."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}, "data": {"a": "1"}}
    editor = Editor(cluster)
    with pytest.raises(Forbidden, match="alice"):
        await editor.of("alice").apply(manifest)
    stored = await editor.of("alice", ["system:masters"]).apply(manifest, manager="hers")
    assert [entry["manager"] for entry in stored["metadata"]["managedFields"]] == ["hers"]
    assert (await editor.edit(manifest | {"data": {"a": "2"}}))["data"] == {"a": "2"}
    await editor.delete(PLACE)
    assert await editor.read(PLACE) is None
    with pytest.raises(Gone):
        await editor.delete(PLACE)
    with pytest.raises(Invalid, match=r"metadata\.namespace is missing"):
        await editor.read(Ref("", "v1", "ConfigMap", "", "x"))
