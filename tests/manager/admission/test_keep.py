"""Installing the policies, keeping them and taking them away, against a cluster in memory."""

import json
import ssl
from collections.abc import Callable
from copy import deepcopy
from typing import cast
from urllib.parse import urlsplit

import pytest

from apis.problems import Gone, Stale
from manager.admission.keep import MANAGER, keep, manifests, remove
from manager.admission.policies import API_VERSION, BINDING, MUTATING, POLICY, SELECTOR, VALIDATING
from manager.cluster import ApiCluster
from manager.endpoint import Bearer, Endpoint
from manager.http import Client
from manager.world import Applied, Cluster, Listing, Resource
from tests.realserver.access import Access
from tests.support.api import Manifest
from tests.support.policies import ALLOWED, MANAGER_NAMESPACE

WANTED = manifests(manager_namespace="copyhold-system")
KINDS = {
    POLICY: "validatingadmissionpolicies",
    BINDING: "validatingadmissionpolicybindings",
    MUTATING: "mutatingwebhookconfigurations",
    VALIDATING: "validatingwebhookconfigurations",
}


class Memory:
    """As much of a cluster as the policies need."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Manifest] = {}
        self.writes: list[str] = []
        self.version = 0

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The kinds of policies and webhooks."""
        assert api_version == API_VERSION
        return Resource("admissionregistration.k8s.io", "v1", kind, KINDS[kind], namespaced=False)

    async def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """A copy of what is stored."""
        return deepcopy(self.stored.get((resource.kind, name)))

    async def list(self, resource: Resource, namespace: str = "", *, labels: str, metadata: bool) -> Listing:
        """Everything of the kind; all of it is ours here."""
        assert (labels, metadata) == (SELECTOR, True)
        return Listing([deepcopy(one) for (kind, _), one in self.stored.items() if kind == resource.kind], str(self.version))

    async def apply(self, resource: Resource, namespace: str, name: str, body: bytes, *, manager: str, force: bool) -> Applied:
        """Server-side apply of what is not there."""
        assert (manager, force) == (MANAGER, True)
        assert (resource.kind, name) not in self.stored
        self._store(json.loads(body), f"apply {resource.kind}/{name}")
        return Applied(created=True, object={})

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """PUT under the resourceVersion of what was read."""
        live = self.stored[resource.kind, manifest["metadata"]["name"]]
        if live["metadata"]["resourceVersion"] != manifest["metadata"]["resourceVersion"]:
            raise Stale("the object has been modified")
        self._store(deepcopy(manifest), f"replace {resource.kind}/{manifest['metadata']['name']}")
        return manifest

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str, resource_version: str) -> bool:
        """DELETE under preconditions."""
        live = self.stored.get((resource.kind, name))
        if live is None:
            raise Gone("not there")
        assert (uid, resource_version) == (live["metadata"]["uid"], live["metadata"]["resourceVersion"])
        self.writes.append(f"delete {resource.kind}/{name}")
        del self.stored[resource.kind, name]
        return True

    def _store(self, manifest: Manifest, write: str) -> None:
        self.version += 1
        manifest["metadata"] |= {"resourceVersion": str(self.version), "uid": manifest["metadata"]["name"]}
        self.stored[manifest["kind"], manifest["metadata"]["name"]] = manifest
        self.writes.append(write)


@pytest.fixture
def memory() -> Memory:
    """A cluster without policies."""
    return Memory()


async def _keep(memory: Memory) -> tuple[str, ...]:
    return await keep(cast(Cluster, memory), manager_namespace="copyhold-system")


def _titles() -> tuple[str, ...]:
    return tuple(f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in WANTED)


async def test_all_policies_are_installed(memory: Memory) -> None:
    """Each policy comes before its binding, and the answer names what was written."""
    assert await _keep(memory) == _titles()
    assert [one["spec"] for one in memory.stored.values()] == [manifest["spec"] for manifest in WANTED]


async def test_a_restart_over_unchanged_policies_writes_nothing(memory: Memory) -> None:
    """What is right is only read; what others put into labels and annotations does not matter."""
    await _keep(memory)
    for live in memory.stored.values():
        live["metadata"]["annotations"] = {"mine": "yes"}
        live["metadata"]["labels"]["mine"] = "yes"
    memory.writes.clear()
    assert await _keep(memory) == ()
    assert memory.writes == []


def _weaken(live: Manifest) -> None:
    live["spec"]["validations"][0]["expression"] = "true"


def _narrow(live: Manifest) -> None:
    live["spec"]["matchConstraints"]["excludeResourceRules"] = [{"apiGroups": ["*"]}]


def _let_out(live: Manifest) -> None:
    live["spec"].setdefault("matchConditions", []).append({"name": "off", "expression": "false"})


def _ignore(live: Manifest) -> None:
    live["spec"]["failurePolicy"] = "Ignore"


def _add_variable(live: Manifest) -> None:
    live["spec"]["variables"].append({"name": "mine", "expression": "1"})


def _unlabel(live: Manifest) -> None:
    live["metadata"].pop("labels")


async def test_other_replicas_edits_meanwhile_are_stale(memory: Memory) -> None:
    """A repair is made under the resourceVersion that was read."""
    await _keep(memory)
    _weaken(memory.stored[POLICY, "copyhold-protection"])
    get = memory.get

    async def racing(resource: Resource, namespace: str, name: str) -> Manifest | None:
        read = await get(resource, namespace, name)
        memory.stored[resource.kind, name]["metadata"]["resourceVersion"] = "newer"
        return read

    memory.get = racing  # type: ignore[method-assign]
    with pytest.raises(Stale):
        await _keep(memory)


@pytest.mark.parametrize("edit", [_weaken, _narrow, _let_out, _ignore, _add_variable, _unlabel])
async def test_an_edited_policy_is_put_right(memory: Memory, edit: Callable[[Manifest], None]) -> None:
    """Whatever was changed, removed or added, afterwards the live text is ours, and nothing else was written."""
    await _keep(memory)
    edit(memory.stored[POLICY, "copyhold-protection"])
    assert await _keep(memory) == (f"{POLICY}/copyhold-protection",)
    assert memory.stored[POLICY, "copyhold-protection"]["spec"] == WANTED[0]["spec"]
    assert await _keep(memory) == ()


async def test_a_binding_that_only_warns_is_put_right(memory: Memory) -> None:
    """The binding is kept like the policy."""
    await _keep(memory)
    memory.stored[BINDING, "copyhold-records"]["spec"]["validationActions"] = ["Warn"]
    assert await _keep(memory) == (f"{BINDING}/copyhold-records",)


async def test_other_flags_are_another_text(memory: Memory) -> None:
    """A new flag is written at the next start."""
    await _keep(memory)
    written = await keep(cast(Cluster, memory), manager_namespace="copyhold-system", allowed=["copyhold-system/distributor"])
    assert written == (f"{POLICY}/copyhold-accounts",)


async def test_an_uninstall_removes_bindings_before_policies(memory: Memory) -> None:
    """Nothing of ours is left, and no policy is asked any more while they go."""
    await _keep(memory)
    removed = await remove(cast(Cluster, memory))
    assert not memory.stored
    assert sorted(removed) == sorted(_titles())
    assert [title.partition("/")[0] for title in removed] == [BINDING] * 9 + [POLICY] * 9
    assert await remove(cast(Cluster, memory)) == ()


async def test_what_somebody_else_removed_is_no_problem(memory: Memory) -> None:
    """An uninstall goes on when a policy goes between the list and the deletion."""
    await _keep(memory)
    delete = memory.delete

    async def racing(resource: Resource, namespace: str, name: str, *, uid: str, resource_version: str) -> bool:
        if name == "copyhold-records":
            memory.stored.pop((resource.kind, name))
        return await delete(resource, namespace, name, uid=uid, resource_version=resource_version)

    memory.delete = racing  # type: ignore[method-assign]
    assert len(await remove(cast(Cluster, memory))) == 16
    assert not memory.stored


async def test_what_the_server_stored_is_right(server: Access, policies: tuple[Manifest, ...]) -> None:
    """Over policies that a real server holds, a start writes nothing."""
    address = urlsplit(server.url)
    tls = ssl.create_default_context(cafile=str(server.ca))
    client = Client(Endpoint(address.hostname or "", address.port or 443, tls=tls, credentials=Bearer(server.token)))
    try:
        cluster = ApiCluster(client)
        assert await keep(cluster, manager_namespace=MANAGER_NAMESPACE, allowed=[ALLOWED]) == ()
    finally:
        await client.close()
