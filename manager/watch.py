"""Follows one collection: what is there, then every change, across ended, cut and silent watches and expired versions.

Guarantees
    The handler first gets one `Replace` with everything, then an `Event` for each change; never an event before the list.
    After a gap it gets what the gap hid: a new list is compared with what was known, and objects that vanished come as DELETED.
    Nothing is polled: an open watch waits for the server, and only failures are tried again.
Caveats
    DELETED also means that an object no longer matches the selector. After a gap its object holds only apiVersion, kind,
    name, namespace and the last known uid and resourceVersion.
    Several changes of one object during a gap come as one event.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from apis.meta import Manifest
from apis.problems import Expired, Forbidden, Gone, Problem, Unavailable
from manager.world import Cluster, Event, Listing, Resource

FIRST, LAST = 0.5, 30.0
"""Seconds between the first two attempts, and at most, after failures: doubled each time, then taken by half to whole."""

FORBIDDEN = 30.0
"""Seconds between attempts while RBAC refuses, after 1, 2, 4 ... at first: there is no event for a new right, and a server that
has just started refuses everybody for a moment."""

SHORT = 1.0
"""A watch that ends in fewer seconds than this counts as a failure, so that a server that ends each at once is not hammered."""


class State(StrEnum):
    """What `on_state` is told, once for each change."""

    SYNCED = "synced"  # the list was delivered, and changes since then are
    UNAVAILABLE = "unavailable"  # tried again soon
    FORBIDDEN = "forbidden"  # tried again, more and more slowly
    GONE = "gone"  # the kind is not served: tried again when told


@dataclass(frozen=True, slots=True)
class Replace:
    """Everything there is, once at the beginning."""

    listing: Listing


Handler = Callable[[Replace | Event], None]
"""Called for each change, in order, from the event loop: it must be quick. What it raises ends `follow`."""

OnState = Callable[[State, Problem | None], None]
"""Told about a new state, with the problem that made it."""


async def follow(
    cluster: Cluster,
    resource: Resource,
    handler: Handler,
    on_state: OnState,
    *,
    namespace: str = "",
    labels: str = "",
    fields: str = "",
    metadata: bool = False,
    again: asyncio.Event | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> NoReturn:
    """Follow a collection until cancelled. All namespaces when `namespace` is empty.

    Setting `again` cuts any pause short, and is the only way on when the kind was gone; it is cleared when it was seen.
    `clock` gives seconds, `jitter` a number from 0 to 1. Problems go to `on_state`, they are not raised.
    """
    view = _View(resource, handler)
    told = _Told(on_state)
    pauses = _Pauses(again or asyncio.Event(), sleep, jitter)
    since: str | None = None
    failures = 0
    while True:
        try:
            if since is None:
                # No name for the list: it would be held for as long as the watch lasts.
                since = view.replace(await cluster.list(resource, namespace, labels=labels, fields=fields, metadata=metadata))
            told.state(State.SYNCED, None)
            began = clock()
            events = cluster.watch(resource, namespace, labels=labels, fields=fields, since=since, metadata=metadata)
            try:
                async for event in events:
                    failures = 0
                    since = view.event(event) or since
            finally:
                if isinstance(events, AsyncGenerator):
                    await events.aclose()  # now, not when the collector comes by: it holds a connection
            failures = failures + 1 if clock() - began < SHORT else 0
            if failures:
                await pauses.back_off(failures)
        except Expired:
            # The first time at once: versions expire in the ordinary course of things.
            since = None
            if failures:
                await pauses.back_off(failures)
            failures += 1
        except Problem as problem:
            failures += 1
            told.state(_state(problem), problem)
            await pauses.after(problem, failures)
            if isinstance(problem, Gone):
                since = None


def _state(problem: Problem) -> State:
    match problem:
        case Forbidden():
            return State.FORBIDDEN
        case Gone():
            return State.GONE
        case _:
            return State.UNAVAILABLE


@dataclass(slots=True)
class _Told:
    """The last state that was told."""

    on_state: OnState
    last: State | None = None

    def state(self, state: State, problem: Problem | None) -> None:
        if state != self.last:
            self.last = state
            self.on_state(state, problem)


@dataclass(slots=True)
class _View:
    """What the handler knows: for each object its place, and its uid and resourceVersion, each as one string to stay small."""

    resource: Resource
    handler: Handler
    known: dict[str, str] | None = None

    def replace(self, listing: Listing) -> str:
        """Deliver a list: whole the first time, as differences after that. Its resourceVersion."""
        before = self.known
        self.known = {_place(item): _mark(item) for item in listing.items}
        if before is None:
            self.handler(Replace(listing))
            return listing.resource_version
        for place, mark in before.items():
            now = self.known.get(place)
            if now is None or _uid(now) != _uid(mark):  # the same name may be another object by now
                self.handler(Event("DELETED", self._remains(place, mark)))
        for item in listing.items:
            was = before.get(_place(item))
            if was is None or _uid(was) != _uid(_mark(item)):
                self.handler(Event("ADDED", item))
            elif was != _mark(item):
                self.handler(Event("MODIFIED", item))
        return listing.resource_version

    def event(self, event: Event) -> str:
        """Deliver an event; the resourceVersion from which a new watch goes on."""
        item = event.object
        version: str = (item.get("metadata") or {}).get("resourceVersion") or ""
        if event.type == "BOOKMARK" or self.known is None:
            return version
        if event.type == "DELETED":
            self.known.pop(_place(item), None)
        else:
            self.known[_place(item)] = _mark(item)
        self.handler(event)
        return version

    def _remains(self, place: str, mark: str) -> Manifest:
        namespace, _, name = place.partition("/")
        uid, _, version = mark.partition(" ")
        metadata = {"name": name, "uid": uid, "resourceVersion": version} | ({"namespace": namespace} if namespace else {})
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": metadata}


def _place(item: Manifest) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace') or ''}/{metadata['name']}"


def _mark(item: Manifest) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('uid') or ''} {metadata.get('resourceVersion') or ''}"


def _uid(mark: str) -> str:
    return mark.partition(" ")[0]


@dataclass(slots=True)
class _Pauses:
    """How long to wait before the next attempt."""

    again: asyncio.Event
    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[], float]

    async def after(self, problem: Problem, failures: int) -> None:
        match problem:
            case Forbidden():
                await self._pause(min(FORBIDDEN, 2.0 ** min(failures - 1, 16)) * (1 + self.jitter() / 2))
            case Gone():
                await self._pause(None)
            case Unavailable(retry_after=float(seconds)):
                await self._pause(seconds * (1 + self.jitter() / 2))
            case _:
                await self.back_off(failures)

    async def back_off(self, failures: int) -> None:
        whole = min(LAST, FIRST * 2.0 ** min(failures - 1, 16))
        await self._pause(whole * (1 + self.jitter()) / 2)

    async def _pause(self, seconds: float | None) -> None:
        """Wait that many seconds, or for ever, but no longer than until we are told to go on."""
        told = asyncio.ensure_future(self.again.wait())
        waits: list[asyncio.Future[object]] = [told]  # type: ignore[list-item]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self.again.clear()
