"""Which shards this replica may work on, and until when: the Leases of `policy.election`, kept in a thread of their own.

The thread has its own event loop and connections, so that a busy main loop does not cost a Lease. What it learns reaches the
main loop as callbacks; what it grants is read from the `Fence`, by any thread, right before each write.

Caveat: the Fence bounds when a write is sent and how long its answer is waited for. A server may carry out later what it had
received by then.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from math import ceil
from secrets import token_hex
from time import monotonic
from typing import NamedTuple

import structlog

from apis.meta import Manifest
from apis.problems import Gone, Problem, Stale
from manager.world import Cluster, Resource
from policy.election import (
    MEMBER_PREFIX,
    SHARD_PREFIX,
    Action,
    Do,
    Lease,
    Phase,
    Terms,
    View,
    answered,
    drained,
    left,
    observe,
    open_until,
    refused,
    sent,
    step,
    stopping,
)

Clock = Callable[[], float]
Connect = Callable[[], AbstractAsyncContextManager[Cluster]]
"""Opens a cluster with connections of its own; called, entered and left inside the thread."""

API_VERSION = "coordination.k8s.io/v1"
LABELS = {"app.kubernetes.io/part-of": "copyhold"}

log = structlog.get_logger(__name__)


class Span(NamedTuple):
    """When a tenure began, and when its fence closes unless it is renewed: readings of the Fence's clock."""

    acquired: float
    until: float
    inherited: bool = False


class Fence:
    """How long this replica may still write for a shard. Every method may be called from any thread.

    The clock is monotonic and goes on while the process is stopped: who wakes up too late finds the fence closed.
    """

    def __init__(self, clock: Clock = monotonic) -> None:
        self._clock = clock
        self._spans: dict[int, Span] = {}
        self._bound: ContextVar[tuple[int, float | None] | None] = ContextVar("fence", default=None)

    def remaining(self, shard: int, since: float | None = None) -> float:
        """Seconds until writes for `shard` must have ended; 0 when it is not ours, or not in the tenure that began at `since`."""
        span = self._spans.get(shard)
        if span is None or since not in (None, span.acquired):
            return 0.0
        return max(span.until - self._clock(), 0.0)

    def acquired_at(self, shard: int) -> float | None:
        """When the present tenure began, or None when the shard is not ours: it names the tenure."""
        span = self._spans.get(shard)
        return span.acquired if span is not None and span.until > self._clock() else None

    def inherited_at(self, shard: int) -> float | None:
        """When the present tenure began, if the holder before did not give the shard back; else None."""
        span = self._spans.get(shard)
        return span.acquired if span is not None and span.inherited else None

    @contextmanager
    def writing(self, shard: int) -> Iterator[None]:
        """Within this block, and in tasks begun in it, `gate` speaks for this shard and for the tenure that it has now.

        A later tenure does not open the gate again: what was decided in the earlier one must be decided anew.
        """
        token = self._bound.set((shard, self.acquired_at(shard)))
        try:
            yield
        finally:
            self._bound.reset(token)

    def gate(self) -> float | None:
        """What the HTTP client asks right before it sends a write: the seconds that remain, None outside any `writing` block."""
        bound = self._bound.get()
        if bound is None:
            return None
        shard, since = bound
        return self.remaining(shard, since) if since is not None else 0.0

    def grant(self, spans: dict[int, Span]) -> None:
        """Replace what is granted. Only the Elector calls this."""
        self._spans = spans  # one assignment: no reader sees half of it


class Elector:
    """Takes, renews and gives back the Leases of shards. Used in the main loop: `start`, then `stop`.

    `gained` and `lost` are called in the main loop with the number of a shard. `drain` is awaited there before a shard is given
    to another replica; it should end the work of that shard, and has `terms.drain` seconds before the fence closes without it.
    `identity` should be readable (the Pod's name); a random part is added, since two processes of one name would be one holder.
    """

    def __init__(
        self,
        connect: Connect,
        namespace: str,
        identity: str,
        *,
        gained: Callable[[int], None],
        lost: Callable[[int], None],
        drain: Callable[[int], Awaitable[None]] | None = None,
        shards: int = 4,
        terms: Terms = Terms(),  # noqa: B008 - frozen
        clock: Clock = monotonic,
    ) -> None:
        self.identity = f"{identity}-{token_hex(4)}"
        self.fence = Fence(clock)
        self._connect = connect
        self._namespace = namespace
        self._gained = gained
        self._lost = lost
        self._drain = drain
        self._terms = terms
        self._clock = clock
        self._view = View(self.identity, shards, terms)
        self._told: dict[int, float] = {}  # the tenures that the main loop knows of
        self._stop_by: float | None = None
        self._thread = threading.Thread(target=self._main, name="leases", daemon=True)
        self._draining: set[asyncio.Task[None]] = set()

    # In the main loop

    async def start(self) -> None:
        """Start the thread. What it gains is told by `gained`."""
        self._home = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._home.create_future()
        self._ready = asyncio.Event()
        self._thread.start()
        await self._ready.wait()

    async def stop(self) -> None:
        """Leave: drain, give everything back, and end the thread. Raises what ended the thread, if it was not us."""
        with suppress(RuntimeError):  # its loop is closed: it has ended by itself, and `_ended` says why
            self._loop.call_soon_threadsafe(self._leave)
        await self.wait()

    async def wait(self) -> None:
        """Wait until the thread has ended. Raises what ended it, if it was not `stop`: by then nothing is held any more."""
        await asyncio.shield(self._ended)
        self._thread.join()

    def _begin_drain(self, shard: int) -> None:
        task = self._home.create_task(self._drain_then_say(shard))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def _drain_then_say(self, shard: int) -> None:
        try:
            if self._drain is not None:
                await self._drain(shard)
        finally:
            with suppress(RuntimeError):  # the thread did not wait so long
                self._loop.call_soon_threadsafe(self._drained, shard)

    def _end(self, error: BaseException | None) -> None:
        self._ready.set()
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    # In the thread

    def _main(self) -> None:
        error: BaseException | None = None
        try:
            asyncio.run(self._run())
        except BaseException as caught:
            error = caught
        self.fence.grant({})
        with suppress(RuntimeError):  # the main loop is closed: nobody is left to be told
            for shard in self._told:
                self._home.call_soon_threadsafe(self._lost, shard)
            self._home.call_soon_threadsafe(self._end, error)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._home.call_soon_threadsafe(self._ready.set)
        async with self._connect() as cluster:
            resource = await self._resource(cluster)
            if resource is None:
                return
            looking = asyncio.create_task(self._look(cluster, resource))
            turning = asyncio.create_task(self._turn(cluster, resource))
            try:
                # Whichever ends first: `_look` only ever ends by an error.
                done, _ = await asyncio.wait((looking, turning), return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                looking.cancel()
                turning.cancel()
                await asyncio.gather(looking, turning, return_exceptions=True)

    async def _resource(self, cluster: Cluster) -> Resource | None:
        """The kind Lease, as soon as the server answers; None when we are to stop before that."""
        while self._stop_by is None:
            try:
                return await cluster.resource(API_VERSION, "Lease")
            except Problem as problem:
                log.warning("leases cannot be looked up", problem=str(problem))
                await self._nap()
        return None

    async def _look(self, cluster: Cluster, resource: Resource) -> None:
        """Keep the view up to date."""
        while True:
            asked = self._clock()
            try:
                async with asyncio.timeout(self._terms.request):
                    listing = await cluster.list(resource, self._namespace)
            except (Problem, TimeoutError) as problem:
                log.warning("leases cannot be listed", problem=str(problem) or "no answer in time")
            else:
                leases = [lease_of(item) for item in listing.items if _ours(item)]
                self._learn(observe(self._view, leases, asked, self._clock()))
                self._wake.set()
            await asyncio.sleep(self._terms.retry)

    async def _turn(self, cluster: Cluster, resource: Resource) -> None:
        """Decide and act until there is nothing to do any more."""
        while not left(self._view) and (self._stop_by is None or self._clock() < self._stop_by):
            view, actions = step(self._view, self._clock())
            self._learn(view)
            for action in actions:
                if action.do is Do.DRAIN:
                    self._home.call_soon_threadsafe(self._begin_drain, action.shard)
            requests = (action for action in actions if action.do is not Do.DRAIN)
            await asyncio.gather(*(self._act(cluster, resource, action) for action in requests))
            await self._nap()

    async def _nap(self) -> None:
        """Until something happens, and never so long that a renewal would be late."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._terms.retry / 2):
                await self._wake.wait()
        self._wake.clear()

    async def _act(self, cluster: Cluster, resource: Resource, action: Action) -> None:
        asked = self._clock()
        self._learn(sent(self._view, action, asked))
        try:
            async with asyncio.timeout(self._terms.request):
                lease = await self._send(cluster, resource, action)
        except (Problem, TimeoutError) as problem:
            stale = isinstance(problem, Stale)
            if not stale:  # another replica was first: nothing to tell
                log.warning("a lease was not written", lease=action.name, problem=str(problem) or "no answer in time")
            self._learn(refused(self._view, action, stale=stale))
        else:
            self._learn(answered(self._view, action, lease, asked, self._clock()))

    async def _send(self, cluster: Cluster, resource: Resource, action: Action) -> Lease | None:
        before = action.lease
        if action.do is Do.DELETE:
            if before is not None:
                with suppress(Gone):
                    await cluster.delete(resource, self._namespace, action.name, uid=before.uid, resource_version=before.version)
            return None
        manifest = self._manifest(action, datetime.now(UTC))
        if before is None:
            return lease_of(await cluster.create(resource, self._namespace, manifest))
        return lease_of(await cluster.replace(resource, manifest))

    def _manifest(self, action: Action, now: datetime) -> Manifest:
        before = action.lease or Lease(action.name, "", "")
        taken = action.do is Do.ACQUIRE
        metadata: Manifest = {"name": action.name, "namespace": self._namespace, "labels": LABELS}
        if before.version:
            metadata |= {"uid": before.uid, "resourceVersion": before.version}
        stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": API_VERSION,
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": "" if action.do is Do.RELEASE else self.identity,
                "leaseDurationSeconds": ceil(self._terms.lease),
                "acquireTime": stamp if taken or not before.acquired else before.acquired,
                "renewTime": stamp,
                "leaseTransitions": before.transitions + taken,
            },
        }

    def _learn(self, view: View) -> None:
        """Take over a new view: the fence first, then the news for the main loop."""
        self._view = view
        spans = {
            shard: Span(tenure.acquired, until, tenure.inherited)
            for shard, tenure in view.tenures.items()
            if (until := open_until(view, shard)) is not None
        }
        self.fence.grant(spans)
        now = {shard: tenure.acquired for shard, tenure in view.tenures.items() if tenure.phase is not Phase.DRAINED}
        before, self._told = self._told, now
        for shard, acquired in before.items():
            if now.get(shard) != acquired:
                self._home.call_soon_threadsafe(self._lost, shard)
        for shard, acquired in now.items():
            if before.get(shard) != acquired:
                self._home.call_soon_threadsafe(self._gained, shard)

    def _drained(self, shard: int) -> None:
        self._learn(drained(self._view, shard))
        self._wake.set()

    def _leave(self) -> None:
        self._learn(stopping(self._view))
        self._stop_by = self._clock() + self._terms.drain + self._terms.lease
        self._wake.set()


def lease_of(manifest: Manifest) -> Lease:
    """A Lease as the server sent it. What is missing is empty: nobody holds it."""
    metadata, spec = manifest["metadata"], manifest.get("spec") or {}
    return Lease(
        name=metadata["name"],
        holder=spec.get("holderIdentity") or "",
        version=metadata["resourceVersion"],
        uid=metadata["uid"],
        transitions=spec.get("leaseTransitions") or 0,
        duration=float(spec.get("leaseDurationSeconds") or 0),
        acquired=spec.get("acquireTime") or "",
    )


def _ours(manifest: Manifest) -> bool:
    return bool(manifest["metadata"]["name"].startswith((SHARD_PREFIX, MEMBER_PREFIX)))
