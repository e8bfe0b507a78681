"""The embedded cluster beside the real control plane: applies a second, watch latency, memory at many objects."""

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import orjson

from bench.stand import CONFIG_MAPS, NAMESPACES, resident
from manager.cluster import ApiCluster
from manager.http import Client
from tests.realserver.access import Access
from tests.support.running import endpoint

MANAGER = "bench"
AT_ONCE = 16
"""Requests in flight, as the manager has them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One server: applies per second (new objects, and again without a change), seconds from a write to its event, megabytes."""

    creates: float
    repeats: float
    latency: float
    slowest: float
    empty: float
    full: float


async def compare(servers: dict[str, tuple[Access, list[int]]], objects: int, say: Callable[[str], None]) -> None:
    """Measure each server in turn and print a table; the last column is the first server's figure over the second's."""
    measured = {name: await _measure(access, pids, objects) for name, (access, pids) in servers.items()}
    say(f"{f'{objects} ConfigMaps':34}" + "".join(f"{name:>12}" for name in measured) + f"{'ratio':>8}")
    rows = {
        "applies a second, new objects": [one.creates for one in measured.values()],
        "applies a second, without a change": [one.repeats for one in measured.values()],
        "ms from a write to its event": [one.latency * 1000 for one in measured.values()],
        "the same, 99th percentile": [one.slowest * 1000 for one in measured.values()],
        "MB, empty": [one.empty for one in measured.values()],
        "MB, full": [one.full for one in measured.values()],
    }
    for what, (ours, theirs) in rows.items():
        say(f"{what:34}{ours:12.1f}{theirs:12.1f}{ours / theirs:8.2f}")


async def _measure(access: Access, pids: list[int], objects: int) -> Measured:
    client = Client(endpoint(access))
    cluster = ApiCluster(client)
    try:
        await cluster.apply(NAMESPACES, "", "bench-servers", _manifest("Namespace", "bench-servers"), manager=MANAGER)
        empty = _memory(pids)
        creates = await _rate(cluster, objects)
        full = _memory(pids)
        repeats = await _rate(cluster, min(objects, 2000))
        times = sorted(await _latencies(cluster, 200))
        return Measured(creates, repeats, statistics.median(times), times[int(len(times) * 0.99)], empty, full)
    finally:
        await client.close()


def _memory(pids: list[int]) -> float:
    return sum(resident(pid) for pid in pids)


async def _rate(cluster: ApiCluster, objects: int) -> float:
    """So many applies, sixteen at a time, as a rate per second."""
    numbers = iter(range(objects))

    async def worker() -> None:
        for number in numbers:
            await _apply(cluster, f"settings-{number}", "same")

    started = perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return objects / (perf_counter() - started)


async def _latencies(cluster: ApiCluster, count: int) -> list[float]:
    """Seconds from sending an apply until its event has come, one after the other."""
    listed = await cluster.list(CONFIG_MAPS, "bench-servers", fields="metadata.name=watched")
    events = cluster.watch(CONFIG_MAPS, "bench-servers", fields="metadata.name=watched", since=listed.resource_version)
    times = []
    for number in range(count):
        sent = perf_counter()
        applying = asyncio.ensure_future(_apply(cluster, "watched", f"value {number}"))
        while (await anext(events)).type == "BOOKMARK":
            pass
        times.append(perf_counter() - sent)
        await applying
    await events.aclose()  # type: ignore[attr-defined]
    return times


async def _apply(cluster: ApiCluster, name: str, value: str) -> None:
    body = _manifest("ConfigMap", name, "bench-servers", data={"value": value, "text": "x" * 200})
    await cluster.apply(CONFIG_MAPS, "bench-servers", name, body, manager=MANAGER)


def _manifest(kind: str, name: str, namespace: str = "", **fields: object) -> bytes:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return orjson.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata} | fields)
