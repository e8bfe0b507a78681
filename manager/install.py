"""Makes a cluster know our kinds and obey our policies, and takes away again what was put there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

import orjson

from apis.crd import crd
from apis.kind import Kind, kinds
from apis.meta import GROUP, PROTECTED, TARGET_PREFIX, TENANT_LABEL, Manifest
from apis.problems import Blocked, Forbidden, Gone, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.admission.keep import keep
from manager.admission.keep import remove as remove_policies
from manager.admission.older import kind_of
from manager.admission.policies import POLICY, SELECTOR
from manager.cluster import ApiCluster
from manager.editor import Editor
from manager.world import Resource

MANAGER = f"{GROUP}/install"
"""The field manager of our CustomResourceDefinitions."""

CRD = Resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False)
PATIENCE = 60.0
"""Seconds that a server may take until it serves a new kind and obeys a new policy: a real one takes about two."""

PAUSE = 0.05
TRIAL = "copyhold-trial"
"""The name of the objects with which policies are tried, as dry runs."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What was put into a cluster: the CustomResourceDefinitions that were not there before, and whether policies were not."""

    definitions: tuple[str, ...] = ()
    policies: bool = False


async def install(cluster: ApiCluster, *, namespace: str, allowed: tuple[str, ...] = (), update: bool = False) -> Installed:
    """Install what is missing, and with `update` bring what is there to this version; answers when it is in force.

    `namespace` is the manager's own, `allowed` are accounts as `namespace/name` (see `admission.keep`). Raises problems.
    """
    created = [kind.crd_name for kind in kinds() if await _defined(cluster, kind, update=update)]
    for kind in kinds():
        await _until(lambda kind=kind: _served(cluster, kind))  # type: ignore[misc]
    policy = await kind_of(cluster, POLICY)
    if policy is None:
        return Installed(tuple(created))  # our webhook says what they would say, from when the manager serves it
    there = (await cluster.list(policy, labels=SELECTOR, metadata=True)).items
    if update or not there:
        await keep(cluster, manager_namespace=namespace, allowed=allowed)
    await _until(lambda: _obeyed(cluster))
    return Installed(tuple(created), not there)


async def remove(cluster: ApiCluster, installed: Installed) -> None:
    """Take away what `install` put there. Policies first: one whose parameters have no kind refuses everything that it sees."""
    if installed.policies:
        await remove_policies(cluster)
    for name in installed.definitions:
        live = await cluster.get(CRD, "", name, metadata=True)
        if live is not None:
            await cluster.delete(CRD, "", name, uid=live["metadata"]["uid"], resource_version="")
    cluster.doubt()


@asynccontextmanager
async def installed(cluster: ApiCluster, *, namespace: str) -> AsyncIterator[Installed]:
    """Our kinds and policies within the block; what was there before stays as it is."""
    made = await install(cluster, namespace=namespace)
    try:
        yield made
    finally:
        await remove(cluster, made)


async def _defined(cluster: ApiCluster, kind: Kind, *, update: bool) -> bool:
    """Write the definition if it is missing or to be updated; answers whether it was missing."""
    live = await cluster.get(CRD, "", kind.crd_name, metadata=True)
    if live is not None and not update:
        return False
    body = orjson.dumps(crd(kind))
    return (await cluster.apply(CRD, "", kind.crd_name, body, manager=MANAGER, force=True)).created


async def _served(cluster: ApiCluster, kind: Kind) -> bool:
    """Listed by discovery, and answering: a server begins to serve a kind a moment after it says so."""
    cluster.doubt()
    resource = await cluster.resource(kind.api_version, kind.kind)
    await cluster.list(resource, labels=f"{GROUP}/none", metadata=True)
    return True


async def _obeyed(cluster: ApiCluster) -> bool:
    """Try two policies with dry runs: protection refuses, and the one that reads Tenants has found that kind."""
    editor = Editor(cluster)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TRIAL, "labels": {TENANT_LABEL: TRIAL}}}
    await editor.create(space, dry_run=True)
    try:
        await editor.create(_held(), dry_run=True)
    except Forbidden as problem:
        return problem.reason == Reason.REFUSED
    return False


def _held() -> Manifest:
    """An object that says of itself that a parent protects it."""
    marks = {"labels": {PROTECTED: "true"}, "annotations": {f"{TARGET_PREFIX}{TRIAL}": f"ConfigMap./{TRIAL}"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TRIAL, "namespace": "default", **marks}}


async def _until(attempt: Callable[[], object]) -> None:
    """Wait until an attempt succeeds. Raises its last problem, or Unavailable, when that takes too long."""
    deadline = monotonic() + PATIENCE
    while True:
        problem: Problem = Unavailable("the server does not obey our admission policies yet: try again in a minute")
        try:
            if await attempt():  # type: ignore[misc]
                return
        except (Blocked, Gone, Unavailable, Stale) as found:
            problem = found
        if monotonic() > deadline:
            raise problem
        await asyncio.sleep(PAUSE)
