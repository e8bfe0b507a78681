"""The main job in numbers: a cold fan-out beside a bare loop, a join, a repair, a removal, an idle minute, memory."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import orjson

from apis.intent import Policy
from apis.meta import Manifest, Ref
from bench.stand import CONFIG_MAPS, RUNNER, TENANT, Process, Stand, target
from manager.world import Actor
from policy.target import Desired, payload

WIDTH = 24
PARENT = "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Shape:
    """How much is measured."""

    namespaces: int
    targets: int
    idle: float
    large: int

    @property
    def size(self) -> int:
        """Targets of the fan-out."""
        return self.namespaces * self.targets


async def measure(stand: Stand, shape: Shape, say: Callable[[str], None]) -> None:
    """Everything, in one run on one server."""
    names = await stand.prepare(shape.namespaces)
    targets = [target(number) for number in range(shape.targets)]
    async with stand.manager() as process:  # also installs the admission policies, so that the bare loop passes them too
        await asyncio.sleep(2)
        for protect in (False, True):
            await _fanout(stand, shape, names, targets, protect=protect, say=say)
        await _life(stand, shape, names, targets, process, say)
    await _restart(stand, shape, say)
    if shape.large:
        await _large(stand, shape, say)


async def _fanout(
    stand: Stand, shape: Shape, names: list[str], targets: list[Manifest], *, protect: bool, say: Callable[[str], None]
) -> None:
    """Bare, managed, bare again: the machine is noisy, so the neighbours of the run are its baseline."""
    word = "protect: true" if protect else "protect: false"
    before = await _bare(stand, names, targets, protect=protect)
    started = perf_counter()
    await stand.parent("fan", targets, protect=protect)
    await stand.ready("fan", shape.size)
    managed = shape.size / (perf_counter() - started)
    started = perf_counter()
    await stand.gone("fan")
    removal = perf_counter() - started
    after = await _bare(stand, names, targets, protect=protect)
    bare = (before + after) / 2
    rates = f"{managed:6.0f} targets/s; bare loop {bare:6.0f}/s ({before:.0f}, {after:.0f})"
    say(f"cold fan-out, {word}: {rates}; ratio {managed / bare:.2f}")
    say(f"removal of all {shape.size}, {word}: {removal:.2f} s")


async def _bare(stand: Stand, names: list[str], targets: list[Manifest], *, protect: bool) -> float:
    """The same PATCHes, from one loop that knows nothing else; answers requests per second."""
    bodies = list(_bodies(names, targets, protect=protect))
    waiting = iter(bodies)
    actor = Actor(RUNNER, PARENT)
    manager = f"copyhold.dev/globaltenantresource/{PARENT}"

    async def send() -> None:
        for namespace, name, body in waiting:
            await stand.cluster.apply(CONFIG_MAPS, namespace, name, body, manager=manager, actor=actor)

    started = perf_counter()
    await asyncio.gather(*(send() for _ in range(WIDTH)))
    rate = len(bodies) / (perf_counter() - started)
    await _delete(stand, names, targets)
    return rate


def _bodies(names: list[str], targets: list[Manifest], *, protect: bool) -> Iterator[tuple[str, str, bytes]]:
    for namespace in names:
        for manifest in targets:
            name = manifest["metadata"]["name"]
            filled = {
                **manifest,
                "metadata": {**manifest["metadata"], "namespace": namespace},
                "data": {**manifest["data"], "where": namespace, "tenant": TENANT},
            }
            desired = Desired(
                Ref("", "v1", "ConfigMap", namespace, name),
                "configmaps",
                False,
                namespace,
                "",
                Policy(protect=protect),
                filled,
                "",
                (),
            )
            account = f"{RUNNER.namespace}/{RUNNER.name}"
            yield namespace, name, orjson.dumps(payload(desired, PARENT, account, created=True, version="1"))


async def _delete(stand: Stand, names: list[str], targets: list[Manifest]) -> None:
    waiting = iter([(namespace, manifest["metadata"]["name"]) for namespace in names for manifest in targets])
    actor = Actor(RUNNER, PARENT)

    async def send() -> None:
        for namespace, name in waiting:
            await stand.cluster.delete(CONFIG_MAPS, namespace, name, uid="", resource_version="", actor=actor)

    await asyncio.gather(*(send() for _ in range(WIDTH)))


async def _life(
    stand: Stand, shape: Shape, names: list[str], targets: list[Manifest], process: Process, say: Callable[[str], None]
) -> None:
    await stand.parent("life", targets, protect=False, force=True)
    await stand.ready("life", shape.size)
    await asyncio.sleep(2)
    joins = [await _join(stand, f"bench-late-{number}", len(targets)) for number in range(5)]
    say(f"namespace joins -> its last object: {_middle(joins):.3f} s (of {len(joins)}: {_spread(joins)})")
    repairs = [await _repair(stand, names[number], targets[0]["metadata"]["name"]) for number in range(5)]
    say(f"foreign edit -> repair: {_middle(repairs):.3f} s (of {len(repairs)}: {_spread(repairs)})")
    await asyncio.sleep(3)
    before = process.writes()
    await asyncio.sleep(shape.idle)
    say(f"writes in {shape.idle:.0f} idle seconds at {shape.size} targets, but for Leases: {process.writes() - before:.0f}")
    workers = ", ".join(f"{worker:.0f}" for worker in process.workers())
    say(f"memory at {shape.size} targets: manager {process.resident():.0f} MB, render workers {workers} MB")


async def _join(stand: Stand, name: str, size: int) -> float:
    started = perf_counter()
    await stand.namespace(name)
    async with asyncio.timeout(30):
        while len((await stand.cluster.list(CONFIG_MAPS, name, labels="bench", metadata=True)).items) < size:
            await asyncio.sleep(0.005)
    return perf_counter() - started


async def _repair(stand: Stand, namespace: str, name: str) -> float:
    started = perf_counter()
    await stand.cluster.merge_patch(CONFIG_MAPS, namespace, name, {"data": {"where": "elsewhere"}}, manager="somebody")
    async with asyncio.timeout(30):
        while True:
            live = await stand.cluster.get(CONFIG_MAPS, namespace, name)
            if live is not None and live["data"]["where"] == namespace:
                return perf_counter() - started
            await asyncio.sleep(0.002)


async def _restart(stand: Stand, shape: Shape, say: Callable[[str], None]) -> None:
    async with stand.manager() as process:
        await asyncio.sleep(10)
        say(f"restart over {shape.size} unchanged targets: {process.writes():.0f} writes, memory {process.resident():.0f} MB")
        await stand.gone("life")


async def _large(stand: Stand, shape: Shape, say: Callable[[str], None]) -> None:
    size = (shape.namespaces + 5) * shape.large
    async with stand.manager() as process:
        started = perf_counter()
        await stand.parent("large", [target(number) for number in range(shape.large)], protect=False)
        await stand.ready("large", size)
        seconds = perf_counter() - started
        await asyncio.sleep(5)
        workers = ", ".join(f"{worker:.0f}" for worker in process.workers())
        say(f"{size} targets under one parent: {seconds:.1f} s, manager {process.resident():.0f} MB, render workers {workers} MB")
        live = await stand.cluster.get_raw("/apis/copyhold.dev/v1alpha1/globaltenantresources/large")
        say(f"the parent object at {size} targets: {len(live) / 1024:.0f} KiB")
        before = process.writes()
        await asyncio.sleep(min(shape.idle, 20))
        say(f"writes after that in {min(shape.idle, 20):.0f} s: {process.writes() - before:.0f}")
        await stand.gone("large")


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _spread(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"
