"""Tenants say which namespaces they have."""

import asyncio
from datetime import UTC, datetime
from typing import cast

import pytest

from apis.copyhold.tenant import KIND
from apis.meta import TENANT_LABEL, Manifest
from manager import tenancies
from manager.elector import Alone
from manager.state import State
from manager.tenancies import Tenancies
from manager.world import Cluster, Resource
from tests.support.objects import Objects

TENANTS = Resource(KIND.group, KIND.version, KIND.kind, KIND.plural, namespaced=False)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def tenant() -> Manifest:
    """A Tenant with the default selector."""
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "solar", "generation": 1}, "spec": {}}


async def test_a_status_that_met_a_newer_tenant_is_written_once_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes of namespaces follow each other faster than the watch shows our first status: the second is not lost."""
    monkeypatch.setattr(tenancies, "PAUSE", 0.001)
    cluster, state = Objects(TENANTS), State()
    state.tenants["solar"] = cluster.put(TENANTS, tenant())
    state.namespaces["prod"] = {"metadata": {"name": "prod", "labels": {TENANT_LABEL: "solar"}}}
    newer = cluster.put(TENANTS, tenant() | {"status": {"size": 7}})  # our own former write, not seen yet
    again = asyncio.Event()

    def second(write: int) -> str:
        if write == 2:
            again.set()
        return ""

    cluster.fault = second
    loop = Tenancies(cast(Cluster, cluster), state, Alone(), lambda: NOW)
    working = asyncio.create_task(loop.run())
    loop.changed("solar")
    await asyncio.sleep(0)
    state.tenants["solar"] = newer  # the watch: only the status differs, so nobody is told
    async with asyncio.timeout(10):
        await again.wait()
    working.cancel()
    assert cluster.objects(TENANTS)[0]["status"]["namespaces"] == ["prod"]
