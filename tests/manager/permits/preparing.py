"""What preparing needs in a test: surroundings over a server, and permits and templates as a server would hold them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from apis.copyhold.resourcepermit import KIND
from apis.intent import Identity
from apis.kind import Parent
from apis.meta import GROUP, Key, Manifest
from manager.cluster import ApiCluster
from manager.http import Client
from manager.index import Index
from manager.permits.prepare import Prepared, prepare
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.surroundings import Surroundings
from manager.world import Resource
from policy.account import Accounts
from policy.tenancy import tenancy
from tests.realserver.access import Access
from tests.support.running import endpoint

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)
UID = "7d9c1c0e-0000-4000-8000-000000000042"
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
ACCOUNTS = Accounts(manager_namespace="copyhold-system")


@dataclass
class Bench:
    """A cluster and what is around it, for the permits of one test."""

    cluster: ApiCluster
    around: Surroundings

    async def prepare(self, template: Manifest, permit: Manifest, accounts: Accounts = ACCOUNTS) -> Prepared:
        """Prepare, at NOW, over the namespaces that there are now."""
        await self.look()
        return await prepare(self.cluster, replace(self.around, accounts=accounts), template, permit, NOW)

    async def look(self) -> None:
        """See the namespaces that there are now."""
        listing = await self.cluster.list(NAMESPACES, metadata=True)
        self.around = replace(self.around, tenancy=tenancy((), listing.items))


@asynccontextmanager
async def bench(access: Access) -> AsyncIterator[Bench]:
    """Surroundings over a server, as its administrator."""
    client = Client(endpoint(access))
    cluster, renderer = ApiCluster(client), Renderer()

    async def nobody(_: str, __: Key) -> bool:
        return False

    around = Surroundings(
        world=cluster,
        renderer=renderer,
        schemas=Schemas(cluster.get_raw),
        tenancy=tenancy((), ()),
        accounts=ACCOUNTS,
        index=Index(),
        exists=lambda _: True,
        records_say=nobody,
    )
    try:
        yield Bench(cluster, around)
    finally:
        await renderer.close()
        await client.close()


def local(namespace: str, account: str, *groups: Manifest, **spec: Any) -> Manifest:
    """A ResourcePermitTemplate as a server would hold it."""
    return _template("ResourcePermitTemplate", groups, {"impersonation": {"name": account}, **spec}, namespace=namespace)


def everywhere(account: Identity | None, *groups: Manifest, **spec: Any) -> Manifest:
    """A GlobalResourcePermitTemplate as a server would hold it."""
    named = {} if account is None else {"impersonation": {"name": account.name, "namespace": account.namespace}}
    return _template("GlobalResourcePermitTemplate", groups, {**named, **spec})


def _template(kind: str, groups: tuple[Manifest, ...], spec: Manifest, **metadata: str) -> Manifest:
    about = {"name": "access", "uid": "template-uid", "generation": 3, **metadata}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind,
        "metadata": about,
        "spec": {**spec, "resources": list(groups)},
    }


def permit(namespace: str, template: Manifest, params: Manifest | None = None, **spec: Any) -> Manifest:
    """A permit of alice as a server would hold it."""
    asked = {
        "template": {"kind": template["kind"], "name": template["metadata"]["name"]},
        "requester": {"name": "alice", "type": "User", "groups": ["dev"]},
        **({} if params is None else {"params": params}),
        **spec,
    }
    metadata = {
        "name": "incident",
        "namespace": namespace,
        "uid": UID,
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-31T07:59:58Z",
    }
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata, "spec": asked}


def parent_of(permit: Manifest, prepared: Prepared) -> Parent:
    """The permit with its snapshot in the status, as a parent."""
    status = prepared.snapshot.into({"phase": "Requested"})
    return Parent(KIND, {**permit, "status": status})


def rows(prepared: Prepared) -> dict[str, str]:
    """The preview: name of the target -> verb."""
    return {row["name"]: row["verb"] for row in prepared.snapshot.preview}
