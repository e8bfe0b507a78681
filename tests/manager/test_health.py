"""The server of probes and metrics, asked over real sockets."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from manager.health import CONNECTIONS_BOUND, HEAD_BOUND, Exposition, Health
from manager.metrics import CONTENT_TYPE, Metrics

HOST = "127.0.0.1"


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the server, closed whatever happens."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


class Running:
    """A server, what it lacks, and a way to send it bytes."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.metrics = Metrics()
        self.health = Health(lambda: self.missing, Exposition(self.metrics.text, CONTENT_TYPE), read_seconds=0.2)
        self.port = 0

    async def send(self, request: bytes, *, end: bool = False) -> bytes:
        """Send bytes and return all that comes back until the server closes."""
        async with connection(self.port) as (reader, writer):
            writer.write(request)
            if end:
                writer.write_eof()
            return await asyncio.wait_for(reader.read(), 10)

    async def ask(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Send a request and return status and body."""
        answer = await self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), body.decode()


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A server that is ready."""
    it = Running()
    it.port = await it.health.start(HOST, 0)
    yield it
    await it.health.stop(grace=0.1)


async def test_alive_says_ok(running: Running):
    """Liveness does not depend on readiness: a restart would not bring a missing watch."""
    running.missing = ["watch of namespaces"]
    assert await running.ask("/healthz") == (200, "ok\n")


async def test_ready_says_what_is_missing(running: Running):
    """Whoever curls the probe sees why."""
    assert await running.ask("/readyz") == (200, "ok\n")
    running.missing = ["watch of namespaces", "lease of shard 3"]
    assert await running.ask("/readyz") == (503, "watch of namespaces\nlease of shard 3\n")


async def test_metrics_are_written_in_a_thread_of_their_own():
    """A long text must not stop the loop that renews the Leases."""
    threads: list[int] = []

    def text() -> bytes:
        threads.append(threading.get_ident())
        return b"copyhold_queue_depth 7.0\n"

    it = Running()
    it.health = Health(list, Exposition(text, CONTENT_TYPE))
    it.port = await it.health.start(HOST, 0)
    answer = await it.send(b"GET /metrics?name=x HTTP/1.1\r\n\r\n")
    await it.health.stop()
    assert b"copyhold_queue_depth 7.0" in answer
    assert f"Content-Type: {CONTENT_TYPE}".encode() in answer
    assert threads != [threading.get_ident()]


async def test_head_has_the_length_and_no_body(running: Running):
    """RFC 9110, 9.3.2."""
    answer = await running.send(b"HEAD /healthz HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 3\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        pytest.param(b"GET /secrets HTTP/1.1", 404, id="another path"),
        pytest.param(b"GET / HTTP/1.1", 404, id="the root"),
        pytest.param(b"POST /healthz HTTP/1.1", 405, id="a write"),
        pytest.param(b"GET /healthz HTTP/1.0", 200, id="an old client"),
        pytest.param(b"GET /healthz HTTP/2.0", 400, id="another protocol"),
        pytest.param(b"GET  /healthz HTTP/1.1", 400, id="not a request line"),
        pytest.param(b"\x16\x03\x01\x02\x00", 400, id="a TLS hello"),
        pytest.param(b"", 400, id="nothing"),
    ],
)
async def test_every_request_gets_the_status_of_its_fault(running: Running, request_line: bytes, status: int):
    """And the connection is closed after it."""
    answer = await running.send(request_line + b"\r\n\r\n")
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close\r\n" in answer
    assert (b"Allow: GET, HEAD\r\n" in answer) is (status == 405)


async def test_a_request_without_end_is_cut_at_the_bound(running: Running):
    """Nobody fills the memory with a header."""
    answer = await running.send(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (2 * HEAD_BOUND))
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_silent_client_is_sent_away(running: Running):
    """Nobody holds a connection open by saying nothing, or half of something."""
    assert (await running.send(b"GET /healthz")).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_leaves_early_disturbs_nobody(running: Running):
    """A cut request has no answer, and the next one has."""
    assert await running.send(b"GET /hea", end=True) == b""
    assert await running.ask("/healthz") == (200, "ok\n")


async def test_connections_beyond_the_bound_are_turned_away():
    """A flood of slow clients costs a bounded number of tasks; those that were first are served."""
    it = Running()
    it.health = Health(list, Exposition(it.metrics.text, CONTENT_TYPE))
    it.port = await it.health.start(HOST, 0)
    async with AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connection(it.port)) for _ in range(CONNECTIONS_BOUND)]
        assert await it.ask("/healthz") == (503, "too many connections\n")
        reader, writer = slow[0]
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        await it.health.stop(grace=0)


async def test_stopping_lets_an_answer_under_way_be_taken_and_then_listens_no_more():
    """A scrape at the end of a rollout is not cut in half."""
    asked, go_on = threading.Event(), threading.Event()

    def text() -> bytes:
        asked.set()
        go_on.wait(10)
        return b"late\n"

    it = Running()
    it.health = Health(list, Exposition(text, CONTENT_TYPE))
    it.port = await it.health.start(HOST, 0)
    scrape = asyncio.ensure_future(it.ask("/metrics"))
    await asyncio.to_thread(asked.wait, 10)
    stopping = asyncio.ensure_future(it.health.stop(grace=10))
    go_on.set()
    await stopping
    assert await scrape == (200, "late\n")
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection(HOST, it.port)
    await it.health.stop()
