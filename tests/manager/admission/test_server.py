"""The server that is asked for admission: what it answers, and what it does not let happen."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from apis.problems import Unavailable
from manager.admission import server as module
from manager.admission.certificates import Own
from manager.admission.server import BODY_BOUND, Handler, Server
from tests.support.logs import logged

Manifest = dict[str, Any]
HOST = "127.0.0.1"
SECRET = "do-not-tell"


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, method: str, path: str, body: bytes = b"", headers: str = "") -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, and read its answer."""
        self.send(method, path, body, headers)
        return await self.answer(head=method == "HEAD")

    def send(self, method: str, path: str, body: bytes = b"", headers: str = "") -> None:
        """Send one request."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.writer.write(head.encode() + body)

    async def answer(self, *, head: bool = False) -> tuple[int, Mapping[str, str], bytes]:
        """Read one answer."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = b"" if head else await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(lines[0].split(" ")[1]), headers, body

    async def review(self, path: str, **request: Any) -> Manifest:
        """Ask for a decision; the response."""
        status, headers, body = await self.ask("POST", path, review(**request))
        assert (status, headers["content-type"]) == (200, "application/json")
        answered = json.loads(body)
        assert (answered["apiVersion"], answered["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        response: Manifest = answered["response"]
        return response


def review(**request: Any) -> bytes:
    """An AdmissionReview of a request."""
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", **request}}
    return json.dumps(body).encode()


async def allow(request: Manifest) -> Manifest:
    """Allow everything, and say what was asked about."""
    return {"allowed": True, "warnings": [str(request.get("name"))]}


async def fail(request: Manifest) -> Manifest:
    """Have a defect that quotes what was sent."""
    raise KeyError(request["object"])


async def lack(request: Manifest) -> Manifest:
    """Not be able to decide now."""
    raise Unavailable("the template cannot be read")


HANDLERS: dict[str, Handler] = {"/permits": allow, "/defect": fail, "/unavailable": lack}


@asynccontextmanager
async def serving(handlers: Mapping[str, Handler] = HANDLERS, **more: Any) -> AsyncIterator[Callable[[], Awaitable[Client]]]:
    """A server; what is given connects to it, trusting its CA alone."""
    certificates = Own([HOST], lambda: datetime.now(UTC))
    await certificates.refresh()
    server = Server(handlers, certificates, **more)
    port = await server.start(HOST, 0)
    context = ssl.create_default_context(cadata=certificates.bundle)
    clients: list[Client] = []

    async def connect() -> Client:
        clients.append(Client(*await asyncio.open_connection(HOST, port, ssl=context)))
        return clients[-1]

    try:
        yield connect
    finally:
        await server.stop(0.1)
        for client in clients:
            client.writer.transport.abort()


async def test_a_review_is_answered_with_the_uid_of_its_request() -> None:
    """Whatever the handler says otherwise."""
    async with serving() as connect:
        client = await connect()
        assert await client.review("/permits", name="a") == {"uid": "u-1", "allowed": True, "warnings": ["a"]}
        assert await client.review("/permits?timeout=10s", name="b", uid="u-2") == {
            "uid": "u-2",
            "allowed": True,
            "warnings": ["b"],
        }


@pytest.mark.parametrize(
    ("path", "code", "reason", "says"),
    [
        pytest.param("/defect", 500, "InternalError", "a defect (KeyError)", id="defect"),
        pytest.param("/unavailable", 503, "ServiceUnavailable", "the template cannot be read", id="problem"),
        pytest.param("/slow", 504, "Timeout", "could not decide in time", id="too slow"),
    ],
)
async def test_a_handler_that_fails_allows_nothing(path: str, code: int, reason: str, says: str) -> None:
    """The user reads why; neither the answer nor the log holds what was sent."""

    async def slow(request: Manifest) -> Manifest:
        await asyncio.Event().wait()
        raise AssertionError

    with logged() as lines:
        async with serving(HANDLERS | {"/slow": slow}, answer_seconds=0.2) as connect:
            client = await connect()
            response = await client.review(path, object={"data": SECRET})
            assert (await client.review("/permits"))["allowed"]
    assert not response["allowed"]
    assert (response["status"]["code"], response["status"]["reason"]) == (code, reason)
    assert says in response["status"]["message"]
    assert SECRET not in str(response) + str(lines)
    assert [line["path"] for line in lines] == [path]


REQUESTS = [
    pytest.param("GET", "/healthz", b"", 200, id="health"),
    pytest.param("HEAD", "/healthz", b"", 200, id="its head"),
    pytest.param("POST", "/healthz", b"", 405, id="health is not posted"),
    pytest.param("GET", "/permits", b"", 405, id="a review is posted"),
    pytest.param("POST", "/elsewhere", review(), 404, id="another path"),
    pytest.param("POST", "/permits", b"{", 400, id="no JSON"),
    pytest.param("POST", "/permits", b"[]", 400, id="no object"),
    pytest.param("POST", "/permits", b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', 400, id="no request"),
    pytest.param("POST", "/permits", review().replace(b"k8s.io/v1", b"k8s.io/v1beta1"), 400, id="another version"),
    pytest.param("POST", "/permits", review(uid=3), 400, id="no uid"),
    pytest.param("POST", "/permits", b" " * (BODY_BOUND + 1), 413, id="too large"),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REQUESTS)
async def test_what_is_no_review_gets_a_status(method: str, path: str, body: bytes, status: int) -> None:
    """And the connection goes on."""
    async with serving() as connect:
        client = await connect()
        got, headers, _ = await client.ask(method, path, body)
        assert got == status
        assert "connection" not in headers
        assert (await client.review("/permits"))["allowed"]


async def test_a_review_of_the_greatest_size_is_read() -> None:
    """As large as the API server takes an object."""
    async with serving() as connect:
        client = await connect()
        filler = "x" * (BODY_BOUND - len(review(name="")))
        assert (await client.review("/permits", name=filler))["warnings"] == [filler]


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"])
async def test_what_is_not_http_ends_the_connection(sent: bytes) -> None:
    """With 400, and nothing else is read."""
    async with serving() as connect:
        client = await connect()
        client.writer.write(sent)
        status, headers, _ = await client.answer()
        assert (status, headers["connection"]) == (400, "close")
        assert await client.reader.read() == b""


async def test_requests_that_come_early_are_answered_in_order() -> None:
    """A client need not wait before it asks again."""
    async with serving() as connect:
        client = await connect()
        for name in "abc":
            client.send("POST", "/permits", review(name=name))
        got = [json.loads((await client.answer())[2])["response"]["warnings"] for _ in "abc"]
        assert got == [["a"], ["b"], ["c"]]


async def test_a_client_that_asks_too_early_too_often_is_cut() -> None:
    """What waits costs memory."""

    async def wait(request: Manifest) -> Manifest:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving({"/permits": wait}) as connect:
        client = await connect()
        for _ in range(module.EARLY + 2):
            client.send("POST", "/permits", review())
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.answer()


async def test_a_client_that_wants_to_close_is_obeyed() -> None:
    """The answer says so too."""
    async with serving() as connect:
        client = await connect()
        status, headers, _ = await client.ask("POST", "/permits", review(), "Connection: close\r\n")
        assert (status, headers["connection"]) == (200, "close")
        assert await client.reader.read() == b""


async def test_a_client_that_asks_before_it_sends_is_told_to_go_on() -> None:
    """Some announce a large body so."""
    async with serving() as connect:
        client = await connect()
        body = review(name="a")
        head = f"POST /permits HTTP/1.1\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        client.writer.write(head.encode())
        assert (await client.answer())[0] == 100
        client.writer.write(body)
        assert (await client.answer())[0] == 200


async def test_more_than_the_width_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more are decided at the same time, and nobody is forgotten."""
    monkeypatch.setattr(module, "WIDTH", 2)
    running: list[int] = []
    full, go = asyncio.Event(), asyncio.Event()
    peak = 0

    async def count(request: Manifest) -> Manifest:
        nonlocal peak
        running.append(1)
        peak = max(peak, len(running))
        if len(running) == 2:
            full.set()
        await go.wait()
        running.pop()
        return {"allowed": True}

    async with serving({"/permits": count}) as connect:
        clients = [await connect() for _ in range(5)]
        asked = [asyncio.ensure_future(client.review("/permits")) for client in clients]
        await full.wait()
        go.set()
        assert all(response["allowed"] for response in await asyncio.gather(*asked))
    assert peak == 2


async def test_more_connections_than_the_bound_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there go on."""
    monkeypatch.setattr(module, "CONNECTIONS", 1)
    async with serving() as connect:
        first = await connect()
        assert (await first.review("/permits"))["allowed"]
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await (await connect()).review("/permits")
        assert (await first.review("/permits"))["allowed"]


async def test_a_client_that_sends_half_a_request_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow ones cannot hold what others need."""
    monkeypatch.setattr(module, "READ_SECONDS", 0.3)
    async with serving() as connect:
        client = await connect()
        client.writer.write(b"POST /permits HTTP/1.1\r\n")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.answer()


async def test_a_client_that_went_away_is_not_decided_about() -> None:
    """What is being worked out for it ends."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: Manifest) -> Manifest:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with serving({"/permits": wait}) as connect:
        client = await connect()
        client.send("POST", "/permits", review())
        await begun.wait()
        client.writer.transport.abort()
        await ended.wait()


async def test_a_stop_lets_the_last_answer_out() -> None:
    """What is being decided when the server stops is answered within its grace."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(request: Manifest) -> Manifest:
        begun.set()
        await go.wait()
        return {"allowed": True}

    certificates = Own([HOST], lambda: datetime.now(UTC))
    await certificates.refresh()
    server = Server({"/permits": wait}, certificates)
    port = await server.start(HOST, 0)
    context = ssl.create_default_context(cadata=certificates.bundle)
    client = Client(*await asyncio.open_connection(HOST, port, ssl=context))
    asked = asyncio.ensure_future(client.review("/permits"))
    await begun.wait()
    stopping = asyncio.ensure_future(server.stop(5.0))
    await asyncio.sleep(0)
    go.set()
    assert (await asked)["allowed"]
    await stopping
    client.writer.transport.abort()
    with pytest.raises(OSError):
        await asyncio.open_connection(HOST, port, ssl=context)
