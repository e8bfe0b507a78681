"""Our policies: which there are, how they are installed and kept as they should be, and how they go, the webhooks too."""

from collections.abc import Sequence

import orjson

from apis.meta import Manifest
from apis.problems import Gone
from manager.admission import guards, permits
from manager.admission.older import enforced, kind_of
from manager.admission.policies import API_VERSION, BINDING, MUTATING, POLICY, SELECTOR, VALIDATING, Policy
from manager.admission.protection import protection
from manager.world import Cluster

MANAGER = "copyhold.dev/admission"
"""The field manager that creates the policies and webhooks."""


def policies(*, manager_namespace: str, allowed: Sequence[str] = ()) -> tuple[Policy, ...]:
    """All our policies. `allowed`: accounts of kube-system or the manager's namespace, as `namespace/name`, that may be named."""
    return (
        protection(),
        guards.accounts(manager_namespace=manager_namespace, allowed=allowed),
        guards.tenants(),
        guards.tenant_label(),
        guards.records(),
        permits.changes(),
        permits.deletion(),
        *permits.accounts(),
    )


def manifests(*, manager_namespace: str, allowed: Sequence[str] = ()) -> tuple[Manifest, ...]:
    """All policies and bindings, in the order in which they are written."""
    kept = policies(manager_namespace=manager_namespace, allowed=allowed)
    return tuple(manifest for policy in kept for manifest in policy.manifests())


async def keep(cluster: Cluster, *, manager_namespace: str, allowed: Sequence[str] = ()) -> tuple[str, ...]:
    """Make the live policies what they should be; answers the names (`Kind/name`) that had to be written.

    Guarantees: policies that are already right are only read. What others added to a policy, which would weaken it, is gone
    afterwards. Where the server does not serve the kind (see `older.py`), there is nothing to keep.
    Assumes that the CRDs are served: the server refuses a policy over Tenants before.
    Raises the problems of the cluster; Stale when another replica was at it in the same moment.
    """
    wanted = manifests(manager_namespace=manager_namespace, allowed=allowed) if await enforced(cluster) else ()
    return tuple([_title(manifest) for manifest in wanted if await put(cluster, manifest)])


async def remove(cluster: Cluster) -> tuple[str, ...]:
    """Delete all our webhooks, policies and bindings, those of an older version too; answers what was deleted.

    To be called before the CRDs go: a policy whose parameters have no kind refuses everything that it sees.
    """
    removed = []
    for kind in (MUTATING, VALIDATING, BINDING, POLICY):
        resource = await kind_of(cluster, kind)
        if resource is None:
            continue
        for live in (await cluster.list(resource, labels=SELECTOR, metadata=True)).items:
            metadata = live["metadata"]
            name = metadata["name"]
            try:
                await cluster.delete(resource, "", name, uid=metadata["uid"], resource_version=metadata["resourceVersion"])
            except Gone:
                # Another replica, or an administrator, was first.
                continue
            removed.append(f"{kind}/{name}")
    return tuple(removed)


async def put(cluster: Cluster, wanted: Manifest) -> bool:
    """Make one object of admission what it should be; did it have to be written? Raises the problems of the cluster."""
    resource = await cluster.resource(API_VERSION, wanted["kind"])
    name = wanted["metadata"]["name"]
    live = await cluster.get(resource, "", name)
    if live is None:
        await cluster.apply(resource, "", name, orjson.dumps(wanted), manager=MANAGER, force=True)
        return True
    if _right(live, wanted):
        return False
    # Not an apply: it leaves what others added, as a condition that lets everything out, or a second action, which is invalid.
    labels = live["metadata"].get("labels", {}) | wanted["metadata"]["labels"]
    await cluster.replace(resource, wanted | {"metadata": live["metadata"] | {"labels": labels}})
    return True


def _right(live: Manifest, wanted: Manifest) -> bool:
    labels = live["metadata"].get("labels", {})
    same = all(live.get(field) == value for field, value in wanted.items() if field != "metadata")
    return same and labels.items() >= wanted["metadata"]["labels"].items()


def _title(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"
