"""What is told about a parent, how often, and that telling never disturbs the work."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest, Ref
from apis.problems import Forbidden, Gone, Problem, Stale, Unavailable
from apis.reasons import Reason
from manager.cluster import ApiCluster
from manager.endpoint import Bearer, Endpoint
from manager.events import (
    BURST,
    KEPT_BOUND,
    NOTE_BOUND,
    PATCH_GAP,
    QUEUE_BOUND,
    REFILL,
    SERIES_GAP,
    Bucket,
    Notice,
    Recorder,
    Type,
)
from manager.http import Client
from manager.metrics import Metrics
from manager.world import Resource
from tests.realserver.access import Access
from tests.support.api import Api

START = datetime(2026, 3, 1, 12, 0, 0, 5, UTC)
PARENT = Ref("copyhold.dev", "v1alpha1", "TenantResource", "solar", "web")
FAILED = Notice(PARENT, "uid-1", Type.WARNING, Reason.FORBIDDEN, "Apply", "ConfigMap solar/a: the account may not patch it")
SECOND = timedelta(seconds=1)


class Clock:
    """A clock that goes only when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by


class Server:
    """The two writes that a recorder makes; `problems` are raised first, one for each request."""

    def __init__(self) -> None:
        self.created: list[Manifest] = []
        self.patched: list[tuple[str, Manifest]] = []
        self.problems: list[Problem] = []
        self.requests = 0

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Take an Event, unless there is a problem."""
        self._fail()
        assert resource.path(namespace) == f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self.created.append(manifest)
        return manifest

    async def merge_patch(self, resource: Resource, namespace: str, name: str, patch: Manifest, **_: Any) -> Manifest:
        """Take a patch, unless there is a problem."""
        self._fail()
        self.patched.append((name, patch))
        return patch

    def _fail(self) -> None:
        self.requests += 1
        if self.problems:
            raise self.problems.pop(0)


class Stage:
    """A recorder with its clock, its server and its metrics."""

    def __init__(self) -> None:
        self.clock, self.server, self.metrics = Clock(), Server(), Metrics()
        self.paused: list[float] = []
        self.recorder = Recorder(
            self.server,  # type: ignore[arg-type]  # only the writes that a recorder makes
            self.metrics,
            instance="copyhold-0",
            clock=self.clock,
            pause=self._pause,
        )

    async def _pause(self, seconds: float) -> None:
        self.paused.append(seconds)

    def count(self, result: str) -> float:
        """Read the metric."""
        return self.metrics.registry.get_sample_value("copyhold_events_total", {"result": result}) or 0

    async def tell(self, notice: Notice = FAILED, times: int = 1) -> None:
        """Record and write what is due."""
        for _ in range(times):
            self.recorder.record(notice)
        await self.recorder.flush()


@pytest.fixture
def stage() -> Stage:
    """A stage where nothing has happened."""
    return Stage()


async def test_an_event_says_who_what_why_and_about_whom(stage: Stage):
    """Every field that the API asks for, in its form."""
    await stage.tell()
    (event,) = stage.server.created
    assert event["metadata"].pop("name").startswith("web.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "solar"},
        "eventTime": "2026-03-01T12:00:00.000005Z",
        "reportingController": "copyhold.dev/manager",
        "reportingInstance": "copyhold-0",
        "type": "Warning",
        "reason": "Forbidden",
        "action": "Apply",
        "note": "ConfigMap solar/a: the account may not patch it",
        "regarding": {
            "apiVersion": "copyhold.dev/v1alpha1",
            "kind": "TenantResource",
            "namespace": "solar",
            "name": "web",
            "uid": "uid-1",
        },
    }


async def test_an_event_about_a_cluster_scoped_parent_lives_in_default(stage: Stage):
    """The server refuses any other namespace for it."""
    await stage.tell(replace(FAILED, parent=replace(PARENT, kind="Tenant", namespace="")))
    (event,) = stage.server.created
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]


@pytest.mark.parametrize("letter", ["x", "ä", "€", "\ud800"])
async def test_a_note_has_at_most_a_kilobyte(stage: Stage, letter: str):
    """In bytes, as the server counts, and never in the middle of a letter."""
    await stage.tell(replace(FAILED, note=letter * 2000))
    note = stage.server.created[0]["note"]
    assert NOTE_BOUND - 6 <= len(note.encode()) <= NOTE_BOUND
    assert note.endswith("...")


async def test_a_long_name_is_cut_to_a_valid_one(stage: Stage):
    """The name of an Event begins with that of its parent, which may have all 253 letters itself."""
    await stage.tell(replace(FAILED, parent=replace(PARENT, name="a" * 230 + "." * 1 + "b" * 22)))
    name = stage.server.created[0]["metadata"]["name"]
    assert len(name) <= 253
    assert ".." not in name
    assert "-." not in name


async def test_the_same_again_is_counted_and_patched_once_a_minute(stage: Stage):
    """A fault that repeats a hundred times in a minute costs two writes."""
    await stage.tell()
    for _ in range(100):
        stage.clock.advance(SECOND / 2)
        await stage.tell()
    assert (len(stage.server.created), stage.server.patched) == (1, [])
    stage.clock.advance(timedelta(seconds=10))
    await stage.recorder.flush()
    name = stage.server.created[0]["metadata"]["name"]
    assert stage.server.patched == [(name, {"series": {"count": 101, "lastObservedTime": "2026-03-01T12:00:50.000005Z"}})]
    await stage.tell()
    assert len(stage.server.patched) == 1
    stage.clock.advance(PATCH_GAP)
    await stage.recorder.flush()
    assert stage.server.patched[1][1]["series"]["count"] == 102


async def test_the_same_after_a_long_silence_is_told_anew(stage: Stage):
    """A series ends after ten minutes without a repetition."""
    await stage.tell()
    stage.clock.advance(SERIES_GAP)
    await stage.tell()
    assert len(stage.server.created) == 1
    stage.clock.advance(SERIES_GAP + SECOND)
    await stage.tell()
    first, second = (event["metadata"]["name"] for event in stage.server.created)
    assert first != second


@pytest.mark.parametrize(
    "other",
    [
        replace(FAILED, uid="uid-2"),
        replace(FAILED, reason=Reason.REFUSED),
        replace(FAILED, note="ConfigMap solar/b: the account may not patch it"),
        replace(FAILED, type=Type.NORMAL),
    ],
)
async def test_what_differs_is_told_apart(stage: Stage, other: Notice):
    """Another parent, reason, note or type is another Event."""
    await stage.tell()
    await stage.tell(other)
    assert len({event["metadata"]["name"] for event in stage.server.created}) == 2


async def test_a_parent_tells_a_burst_and_then_one_thing_in_five_seconds(stage: Stage):
    """A parent with a thousand failing targets does not fill the store; another parent is not affected."""
    for number in range(BURST + 10):
        await stage.tell(replace(FAILED, note=str(number)))
    assert (len(stage.server.created), stage.count("throttled")) == (BURST, 10)
    await stage.tell(replace(FAILED, uid="uid-2"))
    assert len(stage.server.created) == BURST + 1
    stage.clock.advance(REFILL)
    await stage.tell(replace(FAILED, note="later"), times=1)
    await stage.tell(replace(FAILED, note="too much"), times=1)
    assert [event["note"] for event in stage.server.created][-1] == "later"


async def test_a_count_waits_for_a_token_and_is_not_lost(stage: Stage):
    """The patches of series draw on the same bucket."""
    for number in range(BURST):
        await stage.tell(replace(FAILED, note=str(number)), times=2)
    stage.clock.advance(PATCH_GAP)
    await stage.recorder.flush()
    tokens = PATCH_GAP // REFILL
    assert len(stage.server.patched) == tokens
    while len(stage.server.patched) < BURST:
        stage.clock.advance(REFILL)
        await stage.recorder.flush()
        tokens += 1
        assert len(stage.server.patched) == tokens


async def test_recording_never_waits_and_drops_what_does_not_fit(stage: Stage):
    """With the API server away the queue is full, the pass goes on, and the metric says so."""
    for number in range(QUEUE_BOUND + 5):
        stage.recorder.record(replace(FAILED, uid=str(number)))
    assert (stage.server.requests, stage.count("queue_full")) == (0, 5)
    await stage.recorder.flush()
    assert len(stage.server.created) == QUEUE_BOUND


@pytest.mark.parametrize(
    ("problems", "created", "paused", "failed"),
    [
        pytest.param([Unavailable("503")], 1, [1.0], 0, id="tried again"),
        pytest.param([Unavailable("429", retry_after=7)], 1, [7], 0, id="after what the server asked for"),
        pytest.param([Unavailable("429", retry_after=9999)], 1, [30.0], 0, id="but not for ever"),
        pytest.param([Unavailable("503")] * 3, 0, [1.0, 2.0], 1, id="three times"),
        pytest.param([Unavailable("cut", maybe_done=True), Stale("exists")], 0, [1.0], 0, id="the first try was carried out"),
        pytest.param([Forbidden("no")], 0, [], 1, id="forbidden"),
        pytest.param([Gone("namespace", what="namespace")], 0, [], 1, id="the namespace is gone"),
    ],
)
async def test_a_failing_server_costs_a_bounded_number_of_tries(
    stage: Stage, problems: list[Problem], created: int, paused: list[float], failed: int
):
    """Events are best effort, and each loss is counted."""
    stage.server.problems = list(problems)
    await stage.tell()
    assert (len(stage.server.created), stage.paused, stage.count("failed")) == (created, paused, failed)


async def test_after_a_loss_the_next_time_is_told_anew(stage: Stage):
    """Nothing is there that a count could be patched into."""
    stage.server.problems = [Forbidden("no")]
    await stage.tell(times=3)
    await stage.tell()
    assert len(stage.server.created) == 1
    stage.server.problems = [Gone("the Event was deleted")]
    await stage.tell()
    stage.clock.advance(PATCH_GAP)
    await stage.recorder.flush()
    await stage.tell()
    assert (len(stage.server.created), stage.server.patched) == (2, [])


async def test_nothing_recorded_is_nothing_written(stage: Stage):
    """Idle means no writes: an hour later, and at the end."""
    await stage.tell()
    requests = stage.server.requests
    stage.clock.advance(timedelta(hours=1))
    await stage.recorder.flush()
    await stage.recorder.flush(final=True)
    assert stage.server.requests == requests


async def test_the_last_flush_writes_the_counts_that_are_not_due(stage: Stage):
    """A replica that ends leaves no count behind."""
    await stage.tell(times=4)
    await stage.recorder.flush(final=True)
    assert [patch["series"]["count"] for _, patch in stage.server.patched] == [4]


async def test_running_writes_what_is_recorded_and_sleeps_otherwise(stage: Stage):
    """The loop turns for a notice and for nothing else."""
    running = asyncio.create_task(stage.recorder.run())
    for number in range(3):
        stage.recorder.record(replace(FAILED, note=str(number)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(stage.server.created) == number + 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stage.server.requests == 3


async def test_memory_is_bounded_whatever_is_recorded(stage: Stage):
    """The longest unused series goes first, and is told anew when it comes again."""
    for number in range(KEPT_BOUND + 1):
        await stage.tell(replace(FAILED, uid=str(number)))
    await stage.tell(replace(FAILED, uid="0"))
    await stage.tell(replace(FAILED, uid=str(KEPT_BOUND)))
    assert len(stage.server.created) == KEPT_BOUND + 2


@given(st.lists(st.tuples(st.floats(-10, 60), st.booleans()), max_size=200))
def test_a_bucket_never_gives_more_than_burst_and_refill(steps: list[tuple[float, bool]]):
    """Whatever the clock does, going back included."""
    now = highest = START
    forward = timedelta()
    bucket, taken = Bucket(float(BURST), now), 0
    for seconds, wants in steps:
        step = timedelta(seconds=seconds)
        forward += max(step, timedelta())
        now += step
        highest = max(now, highest)
        bucket = bucket.filled(now)
        assert 0 <= bucket.tokens <= BURST
        assert bucket.filled(bucket.ready_at()).grants
        if wants and bucket.grants:
            bucket, taken = replace(bucket, tokens=max(bucket.tokens - 1, 0.0)), taken + 1
    assert taken <= BURST + forward / REFILL + 1e-3


@pytest.fixture
async def real(server: Access) -> AsyncIterator[ApiCluster]:
    """The real server, as the code under test sees it."""
    url = urlsplit(server.url)
    assert url.hostname
    assert url.port
    trust = ssl.create_default_context(cafile=str(server.ca))
    client = Client(Endpoint(url.hostname, url.port, tls=trust, credentials=Bearer(server.token)))
    yield ApiCluster(client)
    await client.close()


async def test_a_real_server_takes_events_and_their_counts(server: Access, real: ApiCluster, api: Api, namespace: str):
    """Whatever the validation of `events.k8s.io/v1` asks for, of a namespaced and of a cluster-scoped parent."""
    clock = Clock()
    recorder = Recorder(real, Metrics(), instance="copyhold-0", clock=clock)
    parent = replace(PARENT, namespace=namespace)
    notices = [
        replace(FAILED, parent=parent, note="ä" * 2000),
        replace(FAILED, parent=replace(parent, kind="Tenant", namespace="", name=namespace), type=Type.NORMAL, action=""),
    ]
    for notice in notices:
        recorder.record(notice)
        recorder.record(notice)
    await recorder.flush()
    clock.advance(PATCH_GAP)
    await recorder.flush()
    for place, notice in zip((namespace, "default"), notices, strict=True):
        listed = api.list("events.k8s.io/v1", "Event", namespace=place).expect(200).body["items"]
        (event,) = [each for each in listed if each["regarding"]["name"] == notice.parent.name]
        assert (event["series"]["count"], event["type"]) == (2, notice.type), json.dumps(event)
