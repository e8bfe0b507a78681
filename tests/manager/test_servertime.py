"""The time of the API server: what its headers allow, and never more certain than they are."""

import ssl
import time
from datetime import UTC, datetime, timedelta
from email.utils import formatdate

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.cluster import ApiCluster
from manager.http import Client
from manager.servertime import DRIFT, ServerTime
from manager.world import Resource
from tests.realserver.access import Access
from tests.support.running import endpoint

NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
EPOCH = 1_800_000_000.0  # the server's clock when the monotonic one stands at zero
MICROSECOND = timedelta(microseconds=1)  # what a datetime cannot say


class Host:
    """A host: a clock that is some seconds ahead of the server's, and a monotonic one."""

    def __init__(self, ahead: float = 0.0) -> None:
        self.ahead = ahead
        self.elapsed = 0.0
        self.time = ServerTime(self.now, lambda: self.elapsed)

    def now(self) -> datetime:
        """Tell the host's time."""
        return at(EPOCH + self.elapsed + self.ahead)

    def ask(self, to: float, work: float, back: float, *, server: float | None = None) -> None:
        """Send a request that takes its time there, at work and back; `server` is the server's clock at its start."""
        sent = self.elapsed
        told = (EPOCH + sent if server is None else server) + to
        self.elapsed += to + work + back
        self.time.heard(formatdate(int(told), usegmt=True), sent, self.elapsed)


def at(seconds: float) -> datetime:
    """Make a time of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def test_the_hosts_clock_serves_until_the_server_is_heard():
    """There is no other; and nothing is said about its skew."""
    host = Host(ahead=90)
    assert host.time() == at(EPOCH + 90)
    assert (host.time.skew, host.time.uncertainty) == (None, None)


def test_one_answer_is_enough_to_see_a_clock_that_is_minutes_off():
    """The skew is how far the host is ahead, known to half a second and half of what the request took."""
    host = Host(ahead=300)
    host.ask(0.1, 0.0, 0.1)
    assert host.time.uncertainty == timedelta(seconds=0.6)
    assert host.time.skew is not None
    assert abs(host.time.skew - timedelta(seconds=300)) <= timedelta(seconds=0.6)


def test_many_answers_leave_less_doubt_than_one():
    """Two answers around the change of a second bound the clock to what lies between them."""
    host = Host()
    for _ in range(50):
        host.ask(0.005, 0.0, 0.005)
        host.elapsed += 0.03
    assert host.time.uncertainty is not None
    assert host.time.uncertainty < timedelta(seconds=0.05)
    assert abs(host.time() - at(EPOCH + host.elapsed)) <= host.time.uncertainty


def test_a_clock_that_was_set_is_believed_at_once():
    """Bounds that do not meet the ones before replace them: what the server says now is its time."""
    host = Host()
    host.ask(0.01, 0.0, 0.01)
    for changed in (3600.0, -3600.0):
        server = EPOCH + changed
        host.ask(0.01, 0.0, 0.01, server=server)
        assert host.time.uncertainty is not None
        assert abs(host.time() - at(server + 0.02)) <= host.time.uncertainty


@pytest.mark.parametrize(
    "date", ["", "now", "2026-01-01T00:00:00Z", "Thu, 32 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00"]
)
def test_what_is_no_http_date_says_nothing(date: str):
    """A proxy may send anything."""
    host = Host()
    host.time.heard(date, 0.0, 0.1)
    assert host.time.uncertainty is None


def test_doubt_grows_while_nothing_is_heard():
    """Two clocks go apart, and an estimate that is an hour old says so."""
    host = Host()
    host.ask(0.0, 0.0, 0.0)
    before = host.time.uncertainty
    host.elapsed += 3600
    assert before is not None
    assert host.time.uncertainty == before + timedelta(seconds=3600 * DRIFT)


Piece = tuple[float, float, float, float]
"""Seconds that a request is on its way, is worked on, is on its way back, and until the next one."""

pieces = st.floats(0, 5)
requests = st.lists(st.tuples(pieces, pieces, pieces, st.floats(0, 600)), min_size=1, max_size=40)


@given(requests=requests, start=st.floats(0, 1), rate=st.floats(-DRIFT, DRIFT))
def test_the_estimate_is_never_further_off_than_it_says(requests: list[Piece], start: float, rate: float):
    """Whatever the network does, and with clocks that go apart as fast as they may."""
    elapsed = 0.0
    estimate = ServerTime(lambda: at(0), lambda: elapsed)

    def server() -> float:
        return EPOCH + start + elapsed * (1 + rate)

    def error() -> timedelta:
        return abs(estimate() - at(server()))

    for to, work, back, pause in requests:
        sent = elapsed
        elapsed += to + work
        date = formatdate(int(server()), usegmt=True)
        elapsed += back
        estimate.heard(date, sent, elapsed)
        assert error() <= (estimate.uncertainty or timedelta()) + 2 * MICROSECOND
        elapsed += pause
        assert error() <= (estimate.uncertainty or timedelta()) + 2 * MICROSECOND


def test_every_answer_of_a_server_tells_its_time(server: Access):
    """Refusals and watches included."""
    with httpx.Client(verify=ssl.create_default_context(cafile=str(server.ca)), base_url=server.url, trust_env=False) as http:
        token = {"Authorization": f"Bearer {server.token}"}
        answers = [http.get("/version"), http.get("/api/v1/none", headers=token)]
        watch = {"watch": "1", "timeoutSeconds": "1", "fieldSelector": "metadata.name=none"}
        answers.append(http.get("/api/v1/namespaces", params=watch, headers=token))
    host = time.time()
    for answer in answers:
        estimate = ServerTime(lambda: at(host), lambda: 0.0)
        estimate.heard(answer.headers["Date"], 0.0, 0.0)
        assert estimate.uncertainty == timedelta(seconds=0.5), answer.url


async def test_the_time_of_a_server_is_learned_on_the_way(server: Access):
    """A cluster tells its clock about every answer; server and test run on one host, so that there is no skew to speak of."""
    estimate = ServerTime(lambda: datetime.now(UTC), time.monotonic)
    client = Client(endpoint(server))
    try:
        cluster = ApiCluster(client, heard=estimate.heard)
        for _ in range(3):
            await cluster.list(NAMESPACES, metadata=True)
    finally:
        await client.close()
    assert estimate.skew is not None
    assert estimate.uncertainty is not None
    assert abs(estimate.skew) <= estimate.uncertainty + timedelta(milliseconds=1)
