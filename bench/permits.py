"""The end of access in numbers: from `until` of a permit until what it gave is gone, also when a replica dies just then.

Measured is, on one watch of RoleBindings that the bench itself keeps open, the moment at which DELETED arrives, less `until` as
the permit's status has it. Server, managers and bench run on one machine, so that all of it is on one clock. Below zero is early.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import perf_counter

from apis.meta import Manifest
from apis.problems import Problem
from bench.stand import Process, Stand
from manager.world import Resource
from policy.permits.moments import moment, stamp

PERMITS = Resource("copyhold.dev", "v1alpha1", "ResourcePermit", "resourcepermits", namespaced=True)
TEMPLATES = Resource("copyhold.dev", "v1alpha1", "ResourcePermitTemplate", "resourcepermittemplates", namespaced=True)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced=True)
RBAC = "rbac.authorization.k8s.io"

NAMESPACE = "bench-permits"
COUNT = 100
PREPARING, LASTING = timedelta(seconds=25), "15s"
"""From the first request to the common start of all permits, and from there to their ends: enough on a slow machine."""

GOAL, GOAL_AFTER_DEATH = 1.0, 5.0
"""Seconds."""


async def measure(stand: Stand, server: str, say: Callable[[str], None]) -> None:
    """Plain deletions, the end of permits, and the same with a replica killed at the first of these ends."""
    await stand.prepare(0)
    await _place(stand)
    times = await _deletions(stand)
    say(f"{server}: {COUNT} RoleBindings deleted one after the other: {sum(times):.2f} s; each {_said(times)}")
    async with stand.manager(*_options("one")):
        await _template(stand)
        ends = await _ends(stand, "alone")
        say(f"{server}: until -> gone, {COUNT} permits: {_said(ends)} (goal {GOAL:.0f} s)")
    async with AsyncExitStack() as stack:
        heir = await stack.enter_async_context(stand.manager(*_options("heir")))
        victim = await stack.enter_async_context(stand.manager(*_options("victim")))
        await _share(heir, victim)
        ends = await _ends(stand, "orphaned", victim)
        say(f"{server}: the same, one of two replicas killed at until: {_said(ends)} (goal {GOAL_AFTER_DEATH:.0f} s)")


def _options(identity: str) -> tuple[str, ...]:
    return "--identity", identity, "--admission-url", "https://127.0.0.1:0"


async def _place(stand: Stand) -> None:
    """A namespace, and an account that may give rights there."""
    await stand.apply(_manifest("v1", "Namespace", NAMESPACE))
    await stand.apply(_manifest("v1", "ServiceAccount", "giver", namespace=NAMESPACE))
    subject = {"kind": "ServiceAccount", "name": "giver", "namespace": NAMESPACE}
    await stand.apply(_binding("giver", "cluster-admin", subject))


async def _deletions(stand: Stand) -> list[float]:
    """Seconds of each."""
    names = [f"plain-{number}" for number in range(COUNT)]
    await asyncio.gather(*(stand.apply(_binding(name, "view", _ALICE)) for name in names))
    times = []
    for name in names:
        started = perf_counter()
        await stand.cluster.delete(BINDINGS, NAMESPACE, name, uid="", resource_version="")
        times.append(perf_counter() - started)
    return times


async def _template(stand: Stand) -> None:
    spec = {
        "impersonation": {"name": "giver"},
        "approvals": {"auto": True},
        "defaultDuration": LASTING,
        "keepFor": "1h",
        "resources": [{"targets": [_binding("{{ request.name }}", "view", _ALICE)]}],
    }
    await _patiently(
        lambda: stand.apply(
            _manifest("copyhold.dev/v1alpha1", "ResourcePermitTemplate", "viewer", namespace=NAMESPACE) | {"spec": spec}
        )
    )


async def _ends(stand: Stand, word: str, victim: Process | None = None) -> list[float]:
    """Make permits that all begin at one time; seconds from the end of each until its binding is gone."""
    names = [f"{word}-{number}" for number in range(COUNT)]
    async with _deleted(stand) as deleted:
        start = datetime.now(UTC) + PREPARING
        for name in names:
            await _patiently(lambda name=name: _ask(stand, name, start))
        until = await _until(stand, names)
        if victim is not None:
            await asyncio.sleep(max((min(until.values()) - datetime.now(UTC)).total_seconds(), 0.0))
            os.kill(victim.pid, signal.SIGKILL)
        async with asyncio.timeout(120):
            while not until.keys() <= deleted.keys():
                await asyncio.sleep(0.05)
    return [(deleted[name] - until[name]).total_seconds() for name in names]


async def _ask(stand: Stand, name: str, start: datetime) -> None:
    spec = {"template": {"kind": TEMPLATES.kind, "name": "viewer"}, "startTime": stamp(start)}
    permit = _manifest("copyhold.dev/v1alpha1", PERMITS.kind, name, namespace=NAMESPACE) | {"spec": spec}
    await stand.cluster.create(PERMITS, NAMESPACE, permit)


async def _until(stand: Stand, names: list[str]) -> dict[str, datetime]:
    """Wait until all of these permits are Active, or were; the end of each."""
    found: dict[str, datetime] = {}
    async with asyncio.timeout(120):
        while not set(names) <= found.keys():
            await asyncio.sleep(0.2)
            for item in (await stand.cluster.list(PERMITS, NAMESPACE)).items:
                status = item.get("status") or {}
                if item["metadata"]["name"] in names and status.get("phase") in ("Active", "Expired"):
                    found[item["metadata"]["name"]] = moment(status["active"]["until"])
    return found


@asynccontextmanager
async def _deleted(stand: Stand) -> AsyncIterator[dict[str, datetime]]:
    """When each RoleBinding was seen to be gone, from now on."""
    found: dict[str, datetime] = {}
    since = (await stand.cluster.list(BINDINGS, NAMESPACE, metadata=True)).resource_version

    async def follow() -> None:
        async for event in stand.cluster.watch(BINDINGS, NAMESPACE, since=since, metadata=True):
            if event.type == "DELETED":
                found[event.object["metadata"]["name"]] = datetime.now(UTC)

    following = asyncio.create_task(follow())
    try:
        yield found
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _share(*processes: Process) -> None:
    """Wait until two replicas have half of the shards each."""
    async with asyncio.timeout(60):
        while {await asyncio.to_thread(process.leases) for process in processes} != {2}:
            await asyncio.sleep(0.2)


async def _patiently(work: Callable[[], Awaitable[None]]) -> None:
    """A kind, a webhook and a template are there a moment after they were made."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await work()
            except Problem:
                await asyncio.sleep(0.1)


_ALICE = {"apiGroup": RBAC, "kind": "User", "name": "alice"}


def _binding(name: str, role: str, subject: Manifest) -> Manifest:
    binding = _manifest(f"{RBAC}/v1", "RoleBinding", name, namespace=NAMESPACE)
    return binding | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}, "subjects": [subject]}


def _manifest(api_version: str, kind: str, name: str, **metadata: str) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def _said(times: list[float]) -> str:
    ordered = sorted(times)
    at = {"min": ordered[0], "p50": ordered[len(ordered) // 2], "p99": ordered[int(len(ordered) * 0.99) - 1], "max": ordered[-1]}
    return ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in at.items())
