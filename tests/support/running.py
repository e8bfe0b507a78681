"""A manager under test: one replica in a thread of its own, as its ServiceAccount, for the parents of one test."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

import uvloop

from apis.intent import Identity
from apis.kind import Parent
from apis.meta import Manifest
from apis.reasons import Reason
from manager import connect
from manager.admission.handlers import template_reader
from manager.cluster import ApiCluster
from manager.controller import Controller, Options
from manager.controller import Told as Tellings
from manager.elector import Alone
from manager.endpoint import Endpoint
from manager.http import Client
from manager.inprocess import Clock as Passing
from manager.permits.desk import Ears, Permits
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.world import Cluster
from policy.account import Accounts
from tests.realserver.access import Access

T = TypeVar("T")

READS = frozenset({"GET", "WATCH"})


@dataclass(frozen=True)
class Sent:
    """One request that the manager sent."""

    method: str
    path: str
    status: int

    @property
    def writes(self) -> bool:
        """True for anything but a read."""
        return self.method not in READS


@dataclass(frozen=True)
class Told:
    """One thing that the manager told about a parent; the product makes an Event of it."""

    parent: str
    type: str
    reason: str
    note: str


class Clock(Passing):
    """The time of day as the manager sees it: the real one, and what a test has let pass beyond it."""

    def forward(self, **by: float) -> None:
        """Let time pass: `hours=1`. Nothing is woken by that; an edit of a parent is."""
        self.passed += timedelta(**by)


class Mine(Alone):
    """The parents of one test: those whose name starts with its mark. Tests share a server, not a manager."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.controller: Controller | None = None

    def holds(self, uid: str) -> bool:
        """True for a parent or a Tenant whose name carries the mark."""
        assert self.controller is not None
        parent = self.controller.state.parents.get(uid)
        if parent is not None:
            return self.mark in parent.name
        state = self.controller.state
        others = (*state.tenants.values(), *state.templates.values())
        return any(each["metadata"]["uid"] == uid and self.mark in each["metadata"]["name"] for each in others)


@dataclass
class Running:
    """Start, stop and look into a manager from a synchronous test."""

    access: Access
    mark: str
    options: Options = field(default_factory=Options)
    sent: list[Sent] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    wrap: Callable[[Any], Any] = lambda cluster: cluster
    clock: Clock = field(default_factory=Clock)
    permits: bool = False
    transitions: list[Manifest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._error: BaseException | None = None
        self.controller: Controller | None = None

    def __enter__(self) -> "Running":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> "Running":
        """Run until everything has been seen once."""
        self._ready.clear()
        self._thread = threading.Thread(target=self._run, name=f"manager {self.mark}", daemon=True)
        self._thread.start()
        assert self._ready.wait(60), "the manager did not start"
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        """Stop as on a signal."""
        if self._thread is not None and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
            self._thread = None
            if self._error is not None:
                raise self._error

    def restart(self) -> "Running":
        """Stop, and start with an empty memory."""
        self.stop()
        return self.start()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._main())
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        client = Client(endpoint(self.access))
        cluster = self.wrap(ApiCluster(client, observer=self._observe))
        renderer = Renderer()
        mine = Mine(self.mark)
        self.controller = Controller(
            cluster,
            renderer,
            Schemas(cluster.get_raw),
            self.options,
            elector=mine,
            told=Tellings(self._tell),
            now=self.clock,
            permits=await self._permits(cluster),
        )
        mine.controller = self.controller
        try:
            await self.controller.start()
            self._ready.set()
            await self._stop.wait()
        finally:
            await self.controller.stop()
            await renderer.close()
            await client.close()

    async def _permits(self, cluster: Cluster) -> Permits | None:
        if not self.permits:
            return None
        keyring = Keyring(cluster, "copyhold-system", self.clock)
        await keyring.refresh()
        ears = Ears(transition=lambda _permit, made: self.transitions.append(made))
        return Permits(keyring, "copyhold-system", template_reader(cluster), ears)

    def _observe(self, method: str, path: str, status: int, _seconds: float) -> None:
        self.sent.append(Sent(method, path, status))

    def _tell(self, parent: Parent, type_: str, reason: Reason, note: str) -> None:
        self.told.append(Told(str(parent), type_, str(reason), note))

    @property
    def alive(self) -> bool:
        """True between start and stop."""
        return self._thread is not None

    def call(self, work: Callable[[Controller], Coroutine[Any, Any, T]]) -> T:
        """Run something in the manager's own loop."""
        assert self._loop is not None
        assert self.controller is not None
        return asyncio.run_coroutine_threadsafe(work(self.controller), self._loop).result(60)

    def idle(self) -> None:
        """Wait until there is nothing to do now."""
        self.call(lambda controller: controller.idle())

    def writes_since(self, mark: int) -> list[Sent]:
        """The writes after the first `mark` requests."""
        return [sent for sent in self.sent[mark:] if sent.writes]


def endpoint(access: Access) -> Endpoint:
    """Where our client finds the server, with the token of this access."""
    return connect.endpoint(access.url, access.ca.read_text(), access.token)


def options(default: Identity | None = None, **other: Any) -> Options:
    """Options with a default account for cluster-scoped parents."""
    return replace(Options(accounts=Accounts(default=default)), **other)
