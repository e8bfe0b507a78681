"""A Cluster that counts what a manager asks for, and lets one request fail, hang, be lost, or be the manager's last.

Counted are the methods that send one request each; watches, discovery and raw reads are not: a watch changes nothing, and it is
cut with `disturb`. `kill` is what SIGKILL is to a process: nothing that was under way is answered any more, and nothing is sent.
With `within`, collections are followed by that label only: neighbours on a shared server then cost nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from apis.meta import Manifest
from apis.problems import Problem, Unavailable
from manager.cluster import ApiCluster, Operations
from manager.world import Actor, Applied, Event, Listing, Resource

T = TypeVar("T")

READS = frozenset({"get", "list"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request that the manager asks for, before it is sent. `number` counts from 1; reads and deletions have no body."""

    number: int
    verb: str  # the method of Cluster
    resource: Resource
    namespace: str
    name: str
    body: Any = None
    subresource: str = ""

    @property
    def writes(self) -> bool:
        """True for anything but a read."""
        return self.verb not in READS

    @property
    def creates(self) -> bool:
        """True for an apply that the server refuses when the object exists."""
        return self.verb == "apply" and self.body["metadata"].get("resourceVersion") == "1"

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.number}: {self.verb} {self.resource.plural}{self.subresource and '/' + self.subresource} {place}"


Send = Callable[[], Awaitable[Any]]
Fault = Callable[["Faulty", Send], Awaitable[Any]]
"""What happens instead of sending: it may send, before or after something else, or not at all."""

Judge = Callable[[Call], Fault | None]
"""Asked right before each request; None lets it pass. A place to look at the server at that very moment, too."""


# Faults.


async def kill_before(faulty: "Faulty", _send: Send) -> None:
    """The manager dies before the request is sent."""
    faulty.kill()


async def kill_after(faulty: "Faulty", send: Send) -> None:
    """The request is carried out, and the manager dies before it hears of that."""
    try:
        await send()
    finally:
        faulty.kill()


async def lose_answer(_faulty: "Faulty", send: Send) -> None:
    """The request is carried out, or refused, and the answer is lost on its way."""
    try:
        await send()
    except Problem as refusal:
        raise Unavailable("the answer was lost", maybe_done=True) from refusal
    raise Unavailable("the answer was lost", maybe_done=True)


def fail(problem: Problem) -> Fault:
    """The request is not carried out."""

    async def fault(_faulty: "Faulty", _send: Send) -> None:
        raise problem

    return fault


def land_late(gate: asyncio.Event) -> Fault:
    """No answer comes in time, and the request is carried out when `gate` opens."""

    async def fault(faulty: "Faulty", send: Send) -> None:
        async def land() -> None:
            await gate.wait()
            await send()

        faulty.late.append(asyncio.create_task(land(), name="late request"))
        raise Unavailable("no answer in time", maybe_done=True)

    return fault


@dataclass
class Once:
    """A judge that lets one fault happen: at the request (or the write) of this number, counted from 1 over all lives."""

    number: int
    fault: Fault
    writes_only: bool = False
    hit: Call | None = None
    trace: list[Call] = field(default_factory=list)

    def __call__(self, call: Call) -> Fault | None:
        """Count, and strike once."""
        if self.writes_only and not call.writes:
            return None
        self.trace.append(call)
        if len(self.trace) != self.number:
            return None
        self.hit = call
        return self.fault


class Faulty:
    """Implements `Cluster` in front of the real one."""

    def __init__(self, inner: ApiCluster, judge: Judge = lambda _call: None, *, within: str = "") -> None:
        self.inner = inner
        self.judge = judge
        self._within = within
        self.calls: list[Call] = []
        self.late: list[asyncio.Task[None]] = []
        self.killed = asyncio.Event()
        self._disturbance: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def kill(self) -> None:
        """From now on nothing is sent and nothing answered: whoever waits, waits until it is cancelled."""
        self.killed.set()

    def disturb(self, problem: Problem) -> None:
        """End every open watch with this problem."""
        former, self._disturbance = self._disturbance, asyncio.get_running_loop().create_future()
        former.set_exception(problem)
        former.exception()  # seen, also when no watch was open

    @property
    def writes(self) -> list[Call]:
        """The writes so far."""
        return [call for call in self.calls if call.writes]

    def _labels(self, labels: str, fields: str) -> str:
        return labels if fields else ",".join(filter(None, (labels, self._within)))

    async def _alive(self) -> None:
        if not self.killed.is_set():
            return
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError  # the test is clearing away: a `finally` of the dead sends nothing either
        await asyncio.get_running_loop().create_future()

    async def _pass(self, send: Callable[[], Awaitable[T]], verb: str, resource: Resource, *where: str, **what: Any) -> T:
        await self._alive()
        namespace, name = where
        call = Call(len(self.calls) + 1, verb, resource, namespace, name, **what)
        self.calls.append(call)
        fault = self.judge(call)
        try:
            answer: T = await (send() if fault is None else fault(self, send))
        finally:
            await self._alive()
        return answer

    # World

    async def resource(self, api_version: str, kind: str) -> Resource:
        """As the real one."""
        await self._alive()
        return await self.inner.resource(api_version, kind)

    async def any_version(self, group: str, kind: str) -> Resource:
        """As the real one."""
        await self._alive()
        return await self.inner.any_version(group, kind)

    async def served(self) -> tuple[Resource, ...]:
        """As the real one."""
        await self._alive()
        return await self.inner.served()

    def doubt(self) -> None:
        """As the real one."""
        self.inner.doubt()

    async def get_raw(self, path: str, *, accept: str = "application/json") -> bytes:
        """As the real one."""
        await self._alive()
        return await self.inner.get_raw(path, accept=accept)

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """Counted."""
        send = lambda: self.inner.get(resource, namespace, name, actor=actor, metadata=metadata)  # noqa: E731
        return await self._pass(send, "get", resource, namespace, name)

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        actor: Actor | None = None,
        metadata: bool = False,
    ) -> Listing:
        """Counted."""
        labels = self._labels(labels, fields)
        send = lambda: self.inner.list(  # noqa: E731
            resource, namespace, labels=labels, fields=fields, actor=actor, metadata=metadata
        )
        return await self._pass(send, "list", resource, namespace, "")

    async def watch(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", since: str, metadata: bool = False
    ) -> AsyncIterator[Event]:
        """Not counted; ended by `disturb`, silent after `kill`."""
        await self._alive()
        labels = self._labels(labels, fields)
        events = self.inner.watch(resource, namespace, labels=labels, fields=fields, since=since, metadata=metadata)
        try:
            while True:
                following = asyncio.ensure_future(anext(events))
                disturbance = self._disturbance
                try:
                    await asyncio.wait((following, disturbance), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not following.done():
                        following.cancel()
                        await asyncio.gather(following, return_exceptions=True)
                await self._alive()
                if following.cancelled():
                    disturbance.result()
                try:
                    yield following.result()
                except StopAsyncIteration:
                    return
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    # Cluster

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        manager: str,
        force: bool = False,
        actor: Actor | None = None,
        dry_run: bool = False,
        metadata: bool = True,
        proof: str = "",
    ) -> Applied:
        """Counted."""
        send = lambda: self.inner.apply(  # noqa: E731
            resource,
            namespace,
            name,
            body,
            manager=manager,
            force=force,
            actor=actor,
            proof=proof,
            dry_run=dry_run,
            metadata=metadata,
        )
        return await self._pass(send, "apply", resource, namespace, name, body=orjson.loads(body))

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Operations,
        *,
        manager: str = "",
        actor: Actor | None = None,
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """Counted."""
        send = lambda: self.inner.json_patch(  # noqa: E731
            resource, namespace, name, operations, manager=manager, actor=actor, subresource=subresource, proof=proof
        )
        return await self._pass(send, "json_patch", resource, namespace, name, body=operations, subresource=subresource)

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        manager: str = "",
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """Counted."""
        send = lambda: self.inner.merge_patch(  # noqa: E731
            resource, namespace, name, patch, manager=manager, subresource=subresource, proof=proof
        )
        return await self._pass(send, "merge_patch", resource, namespace, name, body=patch, subresource=subresource)

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Counted."""
        send = lambda: self.inner.create(resource, namespace, manifest)  # noqa: E731
        return await self._pass(send, "create", resource, namespace, manifest["metadata"]["name"], body=manifest)

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Counted."""
        metadata = manifest["metadata"]
        send = lambda: self.inner.replace(resource, manifest)  # noqa: E731
        return await self._pass(send, "replace", resource, metadata.get("namespace", ""), metadata["name"], body=manifest)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        actor: Actor | None = None,
        proof: str = "",
        late: bool = False,
    ) -> bool:
        """Counted."""
        send = lambda: self.inner.delete(  # noqa: E731
            resource, namespace, name, uid=uid, resource_version=resource_version, actor=actor, proof=proof, late=late
        )
        return await self._pass(send, "delete", resource, namespace, name)
