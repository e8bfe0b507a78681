"""Kubernetes Events about parents: told once, counted after that, and never in the way of a pass.

    record(notice)   sync, never waits: fold into a running series, or take a token of the parent and queue
    run()            the only writer: creates in order, then the series that are due, then waits; idle means no writes

| Bound | Value |
| --- | --- |
| the same notice again within `SERIES_GAP` | one Event, whose `series` is patched at most once in `PATCH_GAP` |
| writes about one parent | `BURST` at once, then one in `REFILL` |
| waiting creates | `QUEUE_BOUND`; what does not fit is dropped and counted |
| series and buckets kept | `KEPT_BOUND` each, the longest unused go first |

Events are best effort: what the server does not take after `TRIES` is dropped and counted. Notes are written under the rule of
`apis.problems`, that a message names object, field and remedy and never holds the content of an object; a notice has no other
place where content could be put. Specification: `events.k8s.io/v1`, whose server bounds every field that is bounded here.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import count

import structlog

from apis.meta import GROUP, Manifest, Ref
from apis.problems import Gone, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.metrics import Metrics
from manager.world import Cluster, Resource

EVENTS = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True)
CONTROLLER = f"{GROUP}/manager"
DEFAULT_NAMESPACE = "default"
"""Where Events about cluster-scoped objects have to be (validation of the server)."""

SERIES_GAP = timedelta(minutes=10)
PATCH_GAP = timedelta(minutes=1)
BURST = 25
REFILL = timedelta(seconds=5)
QUEUE_BOUND = 1000
KEPT_BOUND = 2000
TRIES = 3
RETRY_BOUND = 30.0
NOTE_BOUND = 1024
WORD_BOUND = 128
NAME_BOUND = 253

log = structlog.get_logger()


class Type(StrEnum):
    """The two types that the API knows."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Result(StrEnum):
    """What became of a notice: the values of the metric `copyhold_events_total`."""

    CREATED = "created"
    FOLDED = "folded"  # counted in a series
    PATCHED = "patched"  # the count of a series was written
    THROTTLED = "throttled"  # the parent has no token left
    QUEUE_FULL = "queue_full"
    FAILED = "failed"  # the server did not take it


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth telling about a parent. `action` is one word for what the manager did or tried, e.g. `Apply`.

    `labels` are those of the Event, for whoever selects by them.
    """

    parent: Ref
    uid: str
    type: Type
    reason: Reason
    action: str
    note: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket as a value: `tokens` at the time `at`."""

    tokens: float
    at: datetime

    def filled(self, now: datetime) -> "Bucket":
        """The bucket at `now`; a clock that went back fills nothing."""
        return Bucket(min(float(BURST), self.tokens + max(now - self.at, timedelta()) / REFILL), now)

    @property
    def grants(self) -> bool:
        """True when there is a whole token, but for rounding: `ready_at` is exact to a microsecond."""
        return self.tokens >= 1 - 1e-6

    def ready_at(self) -> datetime:
        """When there is a whole token."""
        return self.at + max(1 - self.tokens, 0.0) * REFILL


@dataclass(frozen=True, slots=True)
class Series:
    """One Event on the server: where it is, how often it happened, and what of that is written."""

    namespace: str
    name: str
    last: datetime
    written_at: datetime
    count: int = 1
    written: int = 1
    created: bool = False

    @property
    def dirty(self) -> bool:
        """True when the server does not know the count yet."""
        return self.created and self.count > self.written


class Recorder:
    """Writes Events as the manager itself.

    `instance` names this replica. `clock` gives the time in UTC and `pause` waits for some seconds between tries.

    Guarantees: `record` does not wait and does not raise; no write happens unless something was recorded.
    Caveats: counts of a series are written up to `PATCH_GAP` later; a replica that ends without `flush(final=True)` may leave
    some unwritten.
    """

    def __init__(
        self,
        cluster: Cluster,
        metrics: Metrics,
        *,
        instance: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._instance = _cut(instance, WORD_BOUND)
        self._clock = clock
        self._pause = pause
        self._queue: deque[tuple[Notice, Manifest]] = deque()
        self._series: OrderedDict[Notice, Series] = OrderedDict()
        self._dirty: set[Notice] = set()
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._wake = asyncio.Event()
        self._numbers = count()

    def record(self, notice: Notice) -> None:
        """Tell, or count what was told already."""
        now = self._clock()
        notice = replace(notice, note=_cut(notice.note, NOTE_BOUND), action=_cut(notice.action or notice.reason, WORD_BOUND))
        known = self._series.get(notice)
        if known is not None and now - known.last <= SERIES_GAP:
            self._keep(notice, replace(known, last=now, count=known.count + 1))
            self._count(Result.FOLDED)
            self._wake.set()
        elif len(self._queue) >= QUEUE_BOUND:
            self._count(Result.QUEUE_FULL)
        elif not self._take(notice.uid, now):
            self._count(Result.THROTTLED)
        else:
            self._begin(notice, now)

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        while True:
            self._wake.clear()
            await self.flush()
            due = self._next_due()
            try:
                async with asyncio.timeout(None if due is None else max((due - self._clock()).total_seconds(), 0.0)):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def flush(self, *, final: bool = False) -> None:
        """Write what waits: all creates and the series that are due, or all of those too when it is the `final` time."""
        while self._queue:
            await self._create(*self._queue.popleft())
        for notice in sorted(self._dirty, key=lambda each: self._series[each].written_at):
            if notice not in self._dirty:
                # Dropped while another write was under way.
                continue
            now = self._clock()
            if final or (self._due(notice) <= now and self._take(notice.uid, now)):
                await self._patch(notice)

    def _begin(self, notice: Notice, now: datetime) -> None:
        namespace = notice.parent.namespace or DEFAULT_NAMESPACE
        # Time and a number: two replicas do not meet at one microsecond and one number, and if they do, one Event is lost.
        end = f".{int(now.timestamp() * 1_000_000):x}{next(self._numbers) & 0xFFF:03x}"
        name = notice.parent.name[: NAME_BOUND - len(end)].rstrip("-.") + end
        self._keep(notice, Series(namespace, name, last=now, written_at=now))
        self._queue.append((notice, _manifest(notice, namespace, name, self._instance, now)))
        self._wake.set()

    async def _create(self, notice: Notice, manifest: Manifest) -> None:
        namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        done = await self._try(notice, lambda: self._cluster.create(EVENTS, namespace, manifest))
        known = self._series.get(notice)
        if known is None or known.name != name:
            return
        if done:
            self._count(Result.CREATED)
            self._keep(notice, replace(known, created=True))
        else:
            # Nothing is there that a count could be written to: the next time is told anew.
            self._drop(notice)

    async def _patch(self, notice: Notice) -> None:
        series = self._series[notice]
        body: Manifest = {"series": {"count": series.count, "lastObservedTime": _micro(series.last)}}
        if await self._try(notice, lambda: self._cluster.merge_patch(EVENTS, series.namespace, series.name, body)):
            self._count(Result.PATCHED)
            now = self._clock()
            if (known := self._series.get(notice)) is not None and known.name == series.name:
                self._keep(notice, replace(known, written=series.count, written_at=now))
        else:
            self._drop(notice)

    async def _try(self, notice: Notice, send: Callable[[], Awaitable[Manifest]]) -> bool:
        """Send, again after a pause when nobody is to blame; False when the Event is lost."""
        for attempt in range(TRIES):
            try:
                await send()
                return True
            except Unavailable as problem:
                if attempt + 1 < TRIES:
                    await self._pause(min(problem.retry_after or 2.0**attempt, RETRY_BOUND))
            except Gone as problem:
                # The namespace is going, or somebody deleted the Event.
                return self._lost(notice, problem)
            except Stale:
                # Our own earlier try was carried out although its answer was lost.
                return True
            except Problem as problem:
                return self._lost(notice, problem)
        return self._lost(notice, None)

    def _lost(self, notice: Notice, problem: Problem | None) -> bool:
        self._count(Result.FAILED)
        log.warning("event_lost", parent=notice.parent, reason=notice.reason, problem=problem)
        return False

    def _keep(self, notice: Notice, series: Series) -> None:
        self._series[notice] = series
        self._series.move_to_end(notice)
        if series.dirty:
            self._dirty.add(notice)
        else:
            self._dirty.discard(notice)
        if len(self._series) > KEPT_BOUND:
            self._drop(next(iter(self._series)))

    def _drop(self, notice: Notice) -> None:
        self._series.pop(notice, None)
        self._dirty.discard(notice)

    def _take(self, uid: str, now: datetime) -> bool:
        bucket = self._buckets.get(uid, Bucket(float(BURST), now)).filled(now)
        granted = bucket.grants
        self._buckets[uid] = replace(bucket, tokens=max(bucket.tokens - granted, 0.0))
        self._buckets.move_to_end(uid)
        if len(self._buckets) > KEPT_BOUND:
            self._buckets.popitem(last=False)
        return granted

    def _due(self, notice: Notice) -> datetime:
        bucket = self._buckets.get(notice.uid)
        due = self._series[notice].written_at + PATCH_GAP
        return due if bucket is None else max(due, bucket.ready_at())

    def _next_due(self) -> datetime | None:
        return min((self._due(notice) for notice in self._dirty), default=None)

    def _count(self, result: Result) -> None:
        self._metrics.event(result.value)


def _manifest(notice: Notice, namespace: str, name: str, instance: str, now: datetime) -> Manifest:
    parent = notice.parent
    regarding = {"apiVersion": parent.api_version, "kind": parent.kind, "name": parent.name, "uid": notice.uid}
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"namespace": namespace, "name": name} | ({"labels": dict(notice.labels)} if notice.labels else {}),
        "eventTime": _micro(now),
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "type": notice.type.value,
        "reason": notice.reason.value,
        "action": notice.action,
        "note": notice.note,
        "regarding": regarding | ({"namespace": parent.namespace} if parent.namespace else {}),
    }


def _micro(moment: datetime) -> str:
    """A time in the form of `metav1.MicroTime`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str, bound: int) -> str:
    """At most `bound` bytes of UTF-8: the server counts bytes, and refuses."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= bound:
        return data.decode()
    return data[: bound - 3].decode(errors="ignore") + "..."
