"""Tenants report which namespaces they have. Their own small loop: a Tenant applies nothing."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog

from apis.copyhold.tenant import KIND
from apis.copyhold.tenant import namespaces as selector_of
from apis.meta import Manifest
from apis.problems import Invalid, Problem, Stale
from apis.reasons import Reason
from manager.elector import Elector
from manager.state import State
from manager.world import Cluster
from policy.permits.moments import stamp
from policy.tenancy import Tenancy

log = structlog.get_logger("copyhold")

PAUSE = 1.0
"""Seconds after which a status that could not be written is tried again."""


class Tenancies:
    """Writes the status of Tenants, when it differs from what is there."""

    def __init__(self, cluster: Cluster, state: State, elector: Elector, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._state = state
        self._elector = elector
        self._now = now
        self._changed: set[str] = set()
        self._wake = asyncio.Event()

    def changed(self, name: str) -> None:
        """A Tenant, or which namespaces it has, is not what it was."""
        self._changed.add(name)
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            names, self._changed = self._changed, set()
            for name in sorted(names):
                tenant = self._state.tenants.get(name)
                if tenant is not None:
                    with self._elector.writing(tenant["metadata"]["uid"]):
                        await self._report(name, tenant)

    async def _report(self, name: str, tenant: Manifest) -> None:
        if not self._elector.holds(tenant["metadata"]["uid"]):
            return
        status = tenant_status(tenant, self._state.tenancy, stamp(self._now()))
        if status == tenant.get("status"):
            return
        metadata = {"uid": tenant["metadata"]["uid"], "resourceVersion": tenant["metadata"]["resourceVersion"]}
        try:
            resource = await self._cluster.resource(KIND.api_version, KIND.kind)
            await self._cluster.merge_patch(resource, "", name, {"metadata": metadata, "status": status}, subresource="status")
        except Stale:
            # A newer state is on its way through the watch; if only its status differs, nobody brings it back here.
            asyncio.get_running_loop().call_later(PAUSE, self.changed, name)
        except Problem as problem:
            log.warning("tenant status not written", tenant=name, reason=str(problem.reason), message=str(problem))
            asyncio.get_running_loop().call_later(PAUSE, self.changed, name)


def tenant_status(tenant: Manifest, tenancy: Tenancy, now: str) -> Manifest:
    """The status of a Tenant: its namespaces, and whether an older Tenant has some that it selects too. Pure."""
    name = tenant["metadata"]["name"]
    members = list(tenancy.members(name))
    claimed = tenancy.claimed.get(name, ())
    ready, reason, message = "True", Reason.SUCCEEDED, f"{len(members)} namespaces"
    try:
        selector_of(tenant)
    except Invalid as problem:
        ready, reason, message = "False", problem.reason, str(problem)
    if ready == "True" and claimed:
        names = ", ".join(claimed[:20]) + (" ..." if len(claimed) > 20 else "")
        reason, message = Reason.NAMESPACE_CLAIMED, f"an older Tenant has {names}: change its labels or a selector"
        ready = "False"
    before = {condition["type"]: condition for condition in (tenant.get("status") or {}).get("conditions") or ()}
    same = before.get("Ready", {}).get("status") == ready
    generation = tenant["metadata"].get("generation", 0)
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": str(reason),
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": before["Ready"]["lastTransitionTime"] if same else now,
    }
    return {"observedGeneration": generation, "conditions": [condition], "namespaces": members, "size": len(members)}
