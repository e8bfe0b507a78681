"""The HTTP client against servers that fail in every way that was seen, on both event loops."""

import asyncio
import contextlib
import functools
import inspect
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest
import uvloop

from apis.problems import Invalid, Unavailable
from manager.endpoint import Bearer, Endpoint, Response
from manager.http import Client, Stream

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def on_both_loops(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on asyncio's own loop and on uvloop, whose transports differ in small things."""

    @pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
    @functools.wraps(test)
    def run(loop: Callable[[], asyncio.AbstractEventLoop], **given: object) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(20):
                await test(**given)

        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(bounded())

    wanted = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = wanted.replace(parameters=[*wanted.parameters.values(), loop])
    del run.__wrapped__
    return cast(Callable[..., None], run)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One whole request: head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.partition(b":")[2]))
    return head


class Server:
    """A server whose connections are handled, in order, by a script: the last entry goes on for all further ones."""

    def __init__(self, *script: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.script = list(script)
        self.tls = tls
        self.connections = 0
        self.requests: list[bytes] = []
        self.heard = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = self.script[min(self.connections, len(self.script) - 1)]
        self.connections += 1
        task = asyncio.ensure_future(self._run(handler, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                await handler(reader, writer)
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    await writer.wait_closed()

    def hear(self, request: bytes) -> None:
        """Remember a request."""
        self.requests.append(request)
        self.heard.set()

    def answering(self, *answers: bytes, then: bytes | None = None) -> Handler:
        """Answer the requests of a connection one by one, then close it (or go on with `then`)."""

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in answers:
                self.hear(await read_request(reader))
                writer.write(answer)
                await writer.drain()
            while then is not None:
                self.hear(await read_request(reader))
                writer.write(then)
                await writer.drain()

        return handler

    def silent(self, *answers: bytes) -> Handler:
        """Answer some requests, read the next one and never answer it."""

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in answers:
                self.hear(await read_request(reader))
                writer.write(answer)
                await writer.drain()
            self.hear(await read_request(reader))
            await asyncio.get_running_loop().create_future()

        return handler

    def dropping(self, *answers: bytes) -> Handler:
        """Answer some requests, read the next one and close without a byte."""

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in answers:
                self.hear(await read_request(reader))
                writer.write(answer)
                await writer.drain()
            self.hear(await read_request(reader))

        return handler


@contextlib.asynccontextmanager
async def client(server: Server, **settings: object) -> AsyncIterator[Client]:
    """A client of that server, closed at the end."""
    connecting = {key: settings.pop(key) for key in ("tls", "server_name", "credentials", "prefix") if key in settings}
    made = Client(Endpoint("127.0.0.1", server.port, **connecting), **settings)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        await made.close(grace=0.1)


@on_both_loops
async def test_a_request_is_sent_whole_and_its_answer_read() -> None:
    """Method, path below the prefix, query, our headers, the proof and the body arrive; status, headers and body come back."""
    server = Server()
    server.script = [server.answering(b"HTTP/1.1 201 Created\r\nX-One: a\r\nContent-Length: 5\r\n\r\nhello")]
    async with server, client(server, credentials=Bearer("t0ken"), prefix="/base") as http:
        answer = await http.request("PATCH", "/a/b", query="x=1", headers="Accept: application/json\r\n", body=b"{}")
    assert (answer.status, answer.body, answer.header("x-one"), answer.header("absent")) == (201, b"hello", "a", None)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"PATCH /base/a/b?x=1 HTTP/1.1"
    assert set(lines[1:]) >= {b"Authorization: Bearer t0ken", b"Accept: application/json", b"Content-Length: 2"}
    assert f"Host: 127.0.0.1:{server.port}".encode() in lines
    assert body == b"{}"


@on_both_loops
async def test_a_connection_is_used_again() -> None:
    """Ten requests one after another need one connection."""
    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server) as http:
        for _ in range(10):
            assert (await http.request("GET", "/")).body == b"ok"
    assert server.connections == 1


@on_both_loops
async def test_no_more_connections_are_opened_than_allowed() -> None:
    """Fifty requests at once share three connections, and all are answered."""
    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server, connections=3) as http:
        answers = await asyncio.gather(*(http.request("GET", f"/{number}") for number in range(50)))
    assert all(answer.body == b"ok" for answer in answers)
    assert server.connections == 3


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", id="chunked"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", id="informational first"),
    ],
)
@on_both_loops
async def test_every_framing_is_understood(answer: bytes) -> None:
    """Chunks are joined, and what is only informational is no answer; the connection stays usable."""
    server = Server()
    server.script = [server.answering(then=answer)]
    async with server, client(server) as http:
        for _ in range(2):
            assert (await http.request("GET", "/")).body == b"abcde"
    assert server.connections == 1


@on_both_loops
async def test_an_answer_without_a_body_is_complete() -> None:
    """204 and 304 end with their headers."""
    server = Server()
    server.script = [server.answering(then=b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")]
    async with server, client(server) as http:
        assert [(await http.request("GET", "/")).status for _ in range(2)] == [304, 304]


@on_both_loops
async def test_a_server_that_closes_after_each_answer_costs_only_connections() -> None:
    """`Connection: close` is obeyed: the next request opens a new connection, writes too."""
    server = Server()
    server.script = [server.answering(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")]
    async with server, client(server) as http:
        for _ in range(3):
            assert (await http.request("PATCH", "/", body=b"x")).status == 200
    assert server.connections == 3


@on_both_loops
async def test_a_read_on_a_connection_that_was_dropped_is_repeated_once() -> None:
    """The server closed a kept-alive connection just as the next GET went out: nobody notices."""
    server = Server()
    server.script = [server.dropping(OK), server.answering(then=OK)]
    async with server, client(server) as http:
        await http.request("GET", "/1")
        assert (await http.request("GET", "/2")).body == b"ok"
    assert server.connections == 2
    assert [request.split()[1] for request in server.requests] == [b"/1", b"/2", b"/2"]


@on_both_loops
async def test_a_read_that_is_dropped_again_is_unavailable() -> None:
    """One repetition, not a loop."""
    server = Server()
    server.script = [server.dropping(OK), server.dropping()]
    async with server, client(server) as http:
        await http.request("GET", "/1")
        with pytest.raises(Unavailable, match="closed the connection") as caught:
            await http.request("GET", "/2")
    assert not caught.value.maybe_done
    assert len(server.requests) == 3


@on_both_loops
async def test_a_write_that_was_dropped_is_never_repeated() -> None:
    """It may have been carried out, and says so."""
    server = Server()
    server.script = [server.dropping(OK), server.answering(then=OK)]
    async with server, client(server) as http:
        await http.request("GET", "/1")
        with pytest.raises(Unavailable) as caught:
            await http.request("PATCH", "/2", body=b"x")
    assert caught.value.maybe_done
    assert [request.split()[1] for request in server.requests] == [b"/1", b"/2"]


@pytest.mark.parametrize(("method", "maybe"), [("GET", False), ("PATCH", True), ("DELETE", True)])
@pytest.mark.parametrize(
    "part",
    [
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nwithout a length",
        b"SSH-2.0-OpenSSH_9.6\r\n",
    ],
)
@on_both_loops
async def test_half_an_answer_is_no_answer(part: bytes, method: str, maybe: bool) -> None:
    """A cut in the middle is Unavailable, for a write with the remark that it may have been carried out."""
    server = Server()
    server.script = [server.answering(part)]
    async with server, client(server) as http:
        with pytest.raises(Unavailable) as caught:
            await http.request(method, "/", body=b"x")
    assert caught.value.maybe_done is maybe
    assert server.connections == 1


@pytest.mark.parametrize(("method", "maybe"), [("GET", False), ("PATCH", True)])
@on_both_loops
async def test_a_silent_server_is_given_up(method: str, maybe: bool) -> None:
    """The timeout covers the answer, and connections of the same age are not trusted any more."""
    server = Server()
    server.script = [server.silent(), server.answering(then=OK)]
    async with server, client(server) as http:
        with pytest.raises(Unavailable, match="no answer in time") as caught:
            await http.request(method, "/", timeout=0.05)
        assert caught.value.maybe_done is maybe
        assert (await http.request("GET", "/")).body == b"ok"


@on_both_loops
async def test_the_timeout_covers_the_wait_for_a_connection() -> None:
    """A write that never got a connection was certainly not carried out."""
    server = Server()
    server.script = [server.silent()]
    async with server, client(server, connections=1) as http:
        first = asyncio.ensure_future(http.request("GET", "/", timeout=5))
        await server.heard.wait()
        with pytest.raises(Unavailable, match="stayed busy") as caught:
            await http.request("PATCH", "/", body=b"x", timeout=0.05)
        assert not caught.value.maybe_done
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


@on_both_loops
async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """Nothing was sent, so nothing was done."""
    server = Server()
    server.script = [server.silent()]
    async with server:
        pass
    async with client(server) as http:
        with pytest.raises(Unavailable, match="no connection to") as caught:
            await http.request("PATCH", "/", body=b"x")
    assert not caught.value.maybe_done


@on_both_loops
async def test_whoever_waits_gets_the_place_of_a_connection_that_broke() -> None:
    """Broken connections do not use up the pool."""
    server = Server()
    server.script = [server.dropping(), server.dropping(), server.answering(then=OK)]
    async with server, client(server, connections=1) as http:
        results = await asyncio.gather(*(http.request("PATCH", "/", body=b"x") for _ in range(4)), return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable, Unavailable, Response, Response]


@on_both_loops
async def test_a_request_that_was_given_up_takes_its_connection_along() -> None:
    """The late answer must not be taken for the answer to the next request."""
    server = Server()
    server.script = [server.silent(), server.answering(then=OK)]
    async with server, client(server, connections=1) as http:
        request = asyncio.ensure_future(http.request("GET", "/slow"))
        await server.heard.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert (await http.request("GET", "/next")).body == b"ok"
    assert server.connections == 2


@on_both_loops
async def test_those_who_give_up_waiting_pass_on_what_they_got() -> None:
    """Cancelling any waiter at any moment loses no connection."""
    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server, connections=1) as http:
        for rounds in range(20):
            tasks = [asyncio.ensure_future(http.request("GET", "/")) for _ in range(4)]
            for _ in range(rounds):
                await asyncio.sleep(0)
            tasks[1].cancel()
            tasks[2].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert (await http.request("GET", "/", timeout=2)).body == b"ok"


@on_both_loops
async def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    """Some servers send 408 on idle connections: it is no answer to what comes next."""
    server = Server()
    server.script = [
        server.answering(OK + b"HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n", then=OK),
        server.answering(then=OK),
    ]
    async with server, client(server) as http:
        answers = [(await http.request("GET", "/")).status for _ in range(2)]
    assert answers == [200, 200]
    assert server.connections == 2


# The gate.


@on_both_loops
async def test_the_gate_is_asked_for_writes_only() -> None:
    """A reader needs no Lease."""
    asked: list[str] = []
    server = Server()
    server.script = [server.answering(then=OK)]

    def gate() -> float | None:
        asked.append("gate")
        return None

    async with server, client(server, gate=gate) as http:
        await http.request("GET", "/")
        assert asked == []
        await http.request("PATCH", "/", body=b"x")
        assert asked == ["gate"]


@pytest.mark.parametrize("remaining", [0.0, -3.0])
@on_both_loops
async def test_a_write_after_the_time_is_not_sent(remaining: float) -> None:
    """Whoever lost the Lease sends nothing, and the connection stays good."""
    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server, gate=lambda: remaining) as http:
        await http.request("GET", "/")
        with pytest.raises(Unavailable, match="not sent") as caught:
            await http.request("PATCH", "/", body=b"x")
        assert not caught.value.maybe_done
        await http.request("GET", "/")
    assert [request.split()[0] for request in server.requests] == [b"GET", b"GET"]
    assert server.connections == 1


@on_both_loops
async def test_a_gate_that_raises_lets_nothing_through() -> None:
    """Its problem is the request's problem."""

    def gate() -> float | None:
        raise Unavailable("the Lease is not ours")

    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server, gate=gate) as http:
        with pytest.raises(Unavailable, match="not ours"):
            await http.request("PATCH", "/", body=b"x")
    assert server.requests == []


@on_both_loops
async def test_a_write_ends_before_the_time_that_remains() -> None:
    """The timeout of a write is what remains of the Lease, if that is less."""
    server = Server()
    server.script = [server.silent()]
    async with server, client(server, gate=lambda: 0.05) as http:
        with pytest.raises(Unavailable, match="no answer in time") as caught:
            await http.request("PATCH", "/", body=b"x", timeout=60)
    assert caught.value.maybe_done


# Credentials.


class Changing:
    """Credentials that are renewed to the next of a list of tokens; an empty one means that there is none yet."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refused: list[str | None] = []

    def header(self) -> str | None:
        """The Authorization line."""
        return f"Authorization: {self.tokens[0]}\r\n" if self.tokens[0] else None

    async def renew(self, refused: str | None) -> bool:
        """The next one, if there is one."""
        self.refused.append(refused)
        if len(self.tokens) == 1:
            return False
        self.tokens.pop(0)
        return True


UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"


@on_both_loops
async def test_refused_credentials_are_renewed_once_also_for_a_write() -> None:
    """A 401 is given before anything is done, so even a write may be sent again, over a new connection."""
    server = Server()
    server.script = [server.answering(UNAUTHORIZED, then=UNAUTHORIZED), server.answering(then=OK)]
    proof = Changing("old", "new")
    async with server, client(server, credentials=proof) as http:
        assert (await http.request("PATCH", "/", body=b"x")).status == 200
    assert proof.refused == ["Authorization: old\r\n"]
    assert [b"Authorization: old" in request for request in server.requests] == [True, False]
    assert server.connections == 2


@pytest.mark.parametrize("tokens", [("old",), ("old", "bad", "worse")])
@on_both_loops
async def test_credentials_that_stay_refused_are_an_answer(tokens: tuple[str, ...]) -> None:
    """No second renewal: the caller sees the 401."""
    server = Server()
    server.script = [server.answering(then=UNAUTHORIZED)]
    async with server, client(server, credentials=Changing(*tokens)) as http:
        assert (await http.request("GET", "/")).status == 401
    assert len(server.requests) == min(len(tokens), 2)


@on_both_loops
async def test_credentials_that_expired_are_renewed_before_anything_is_sent() -> None:
    """`header` has none, so `renew` is asked first."""
    server = Server()
    server.script = [server.answering(then=OK)]
    proof = Changing("", "new")
    async with server, client(server, credentials=proof) as http:
        await http.request("GET", "/")
    assert proof.refused == [None]
    assert b"Authorization: new" in server.requests[0]


@on_both_loops
async def test_without_any_credentials_nothing_is_sent() -> None:
    """Renewing gave none either."""
    server = Server()
    server.script = [server.answering(then=OK)]
    async with server, client(server, credentials=Changing("")) as http:
        with pytest.raises(Unavailable, match="no valid credentials"):
            await http.request("GET", "/")
    assert server.requests == []


def test_a_token_is_not_shown() -> None:
    """Whoever prints an endpoint does not print its token."""
    assert "t0ken" not in repr(Endpoint("host", 443, credentials=Bearer("t0ken")))


# What cannot be written as HTTP.


@pytest.mark.parametrize(
    ("path", "query", "headers"),
    [
        ("/a b", "", ""),
        ("/a\r\nX: y", "", ""),
        ("/ä", "", ""),
        ("/a", "q=\n", ""),
        ("/a", "", "X: a\nY: b\r\n"),
        ("/a", "", "X: a\r\n\r\nGET / HTTP/1.1\r\n"),
        ("/a", "", "X: a"),
        ("/a", "", "X: ä\r\n"),
    ],
)
@on_both_loops
async def test_nothing_can_be_smuggled_into_a_request(path: str, query: str, headers: str) -> None:
    """Line breaks, blanks and foreign letters in paths and headers are refused before a byte is sent."""
    http = Client(Endpoint("127.0.0.1", 1))
    with pytest.raises(Invalid):
        await http.request("GET", path, query=query, headers=headers)
    with pytest.raises(Invalid):
        http.stream(path, query=query, headers=headers)


@pytest.mark.parametrize(("host", "authority"), [("10.0.0.1", "10.0.0.1:6443"), ("fd00::1", "[fd00::1]:6443"), ("k", "k:6443")])
def test_an_address_is_written_as_a_url_wants_it(host: str, authority: str) -> None:
    """IPv6 goes into brackets."""
    assert Endpoint(host, 6443).authority == authority


# Streams.

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def gather(stream: Stream, into: list[bytes]) -> None:
    """Take line after line, so that what came before a problem is kept."""
    async for line in stream:
        into.append(line)  # noqa: PERF401 - a comprehension would lose it


@on_both_loops
async def test_a_stream_gives_line_after_line() -> None:
    """Lines are what stands between line ends, however the chunks cut them; the last needs no line end."""
    server = Server()
    server.script = [server.answering(HEAD + chunk(b"one\ntw") + chunk(b"o\n\nthree\nfo") + chunk(b"ur") + END)]
    async with server, client(server) as http, http.stream("/watch", query="watch=1") as stream:
        assert stream.status == 200
        assert [line async for line in stream] == [b"one", b"two", b"", b"three", b"four"]
    assert server.requests[0].startswith(b"GET /watch?watch=1 HTTP/1.1\r\n")


@on_both_loops
async def test_a_line_may_have_many_megabytes() -> None:
    """Nothing limits a line, and reading stops while nobody takes the lines."""
    big = b"x" * 5_000_000
    server = Server()
    body = b"".join(chunk(big[start : start + 60_000]) for start in range(0, len(big), 60_000))
    server.script = [server.answering(HEAD + chunk(b"small\n") + (body + chunk(b"\n")) * 3 + END)]
    async with server, client(server) as http, http.stream("/") as stream:
        lengths = [len(line) async for line in stream]
    assert lengths == [5, 5_000_000, 5_000_000, 5_000_000]


@on_both_loops
async def test_many_small_lines_pass_a_slow_reader_whole() -> None:
    """Backpressure loses and reorders nothing."""
    lines = [f"{number}".encode() * 20 for number in range(40_000)]
    text = b"\n".join(lines) + b"\n"
    server = Server()
    server.script = [server.answering(HEAD + b"".join(chunk(text[at : at + 8191]) for at in range(0, len(text), 8191)) + END)]
    got = []
    async with server, client(server) as http, http.stream("/") as stream:
        async for line in stream:
            got.append(line)
            if len(got) % 1000 == 0:
                await asyncio.sleep(0)
    assert got == lines


@on_both_loops
async def test_a_stream_that_is_cut_gives_no_half_line() -> None:
    """What came whole is given out, then the cut is a problem."""
    server = Server()
    server.script = [server.answering(HEAD + chunk(b"one\nhal"))]
    got: list[bytes] = []
    async with server, client(server) as http, http.stream("/") as stream:
        with pytest.raises(Unavailable, match="cut"):
            await gather(stream, got)
    assert got == [b"one"]


@on_both_loops
async def test_a_silent_stream_is_given_up() -> None:
    """No byte for `read_timeout` seconds means that the wire is dead, although nobody closed it."""
    server = Server()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"one\n"))
        await asyncio.get_running_loop().create_future()

    server.script = [handler]
    got: list[bytes] = []
    async with server, client(server) as http, http.stream("/", read_timeout=0.05) as stream:
        with pytest.raises(Unavailable, match="silent for"):
            await gather(stream, got)
    assert got == [b"one"]


@on_both_loops
async def test_a_stream_needs_its_headers_in_time() -> None:
    """The first timeout is that of any request."""
    server = Server()
    server.script = [server.silent()]
    async with server, client(server) as http:
        with pytest.raises(Unavailable, match="no answer in time"):
            async with http.stream("/", timeout=0.05):
                pass


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200", b"hello\r\n\r\n"])
@on_both_loops
async def test_a_stream_that_does_not_begin_is_unavailable(part: bytes) -> None:
    """Closed before the headers were there, or no HTTP at all."""
    server = Server()
    server.script = [server.answering(part)]
    async with server, client(server) as http:
        with pytest.raises(Unavailable):
            async with http.stream("/"):
                pass


@on_both_loops
async def test_a_refused_stream_can_be_read_for_its_reason() -> None:
    """An answer with an error has a body like any other."""
    server = Server()
    server.script = [server.answering(b"HTTP/1.1 410 Gone\r\nRetry-After: 1\r\nContent-Length: 9\r\n\r\ntoo\nold\n\n")]
    async with server, client(server) as http, http.stream("/") as stream:
        assert (stream.status, stream.header("retry-after")) == (410, "1")
        assert await stream.read() == b"too\nold\n"


@on_both_loops
async def test_a_stream_renews_refused_credentials_once() -> None:
    """As requests do."""
    server = Server()
    server.script = [server.answering(UNAUTHORIZED), server.answering(HEAD + chunk(b"one\n") + END)]
    async with server, client(server, credentials=Changing("old", "new")) as http, http.stream("/") as stream:
        assert [line async for line in stream] == [b"one"]


@on_both_loops
async def test_streams_do_not_take_the_places_of_requests() -> None:
    """With one connection for requests and two streams open, a request still goes through."""
    server = Server()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        await asyncio.get_running_loop().create_future()

    server.script = [endless, endless, server.answering(then=OK)]
    async with server, client(server, connections=1) as http, http.stream("/1"), http.stream("/2"):
        assert (await http.request("GET", "/")).body == b"ok"


@on_both_loops
async def test_leaving_a_stream_closes_its_connection() -> None:
    """The server sees the end at once; it would go on sending otherwise."""
    server = Server()
    closed = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"one\n"))
        with contextlib.suppress(ConnectionError):
            await reader.read()
        closed.set()

    server.script = [handler]
    async with server, client(server) as http:
        async with http.stream("/") as stream:
            async for line in stream:
                assert line == b"one"
                break
        await asyncio.wait_for(closed.wait(), 2)


# The end.


@on_both_loops
async def test_closing_lets_requests_finish_and_refuses_new_ones() -> None:
    """What is under way gets its answer, what comes later is told."""
    server = Server()
    release = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.hear(await read_request(reader))
        await release.wait()
        writer.write(OK)
        await writer.drain()
        await reader.read()

    server.script = [handler]
    async with server, client(server, connections=1) as http:
        under_way = asyncio.ensure_future(http.request("PATCH", "/", body=b"x"))
        await server.heard.wait()
        waiting = asyncio.ensure_future(http.request("GET", "/"))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(http.close(grace=5))
        with pytest.raises(Unavailable, match="closing"):
            await waiting
        with pytest.raises(Unavailable, match="closing"):
            await http.request("GET", "/")
        release.set()
        assert (await under_way).body == b"ok"
        await closing


@on_both_loops
async def test_closing_ends_streams_and_what_takes_too_long() -> None:
    """Readers of streams get a problem instead of waiting for ever."""
    server = Server()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        await asyncio.get_running_loop().create_future()

    server.script = [endless, server.silent()]

    async def reader_of(http: Client, opened: asyncio.Event) -> None:
        async with http.stream("/") as stream:
            opened.set()
            async for _ in stream:
                pass

    async with server, client(server) as http:
        opened = asyncio.Event()
        reading = asyncio.ensure_future(reader_of(http, opened))
        await opened.wait()
        request = asyncio.ensure_future(http.request("PATCH", "/", body=b"x"))
        await server.heard.wait()
        await http.close(grace=0.05)
        with pytest.raises(Unavailable, match="closing"):
            await reading
        with pytest.raises(Unavailable) as caught:
            await request
        assert caught.value.maybe_done


# TLS.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA of the tests' own (`ca.pem`), with a certificate for `server.test` and one for a client."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    for name in ("server.test", "client"):
        openssl("req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / "extensions").write_text(f"subjectAltName=DNS:{name}\n")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signing)
    return folder


def serving(certificates: Path, *, ask: bool = False) -> ssl.SSLContext:
    """The server's side of TLS; `ask` for a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.test.pem", certificates / "server.test.key")
    if ask:
        context.load_verify_locations(certificates / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def trusting(certificates: Path) -> ssl.SSLContext:
    """The client's side of TLS."""
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@on_both_loops
async def test_requests_and_streams_go_over_tls(certificates: Path) -> None:
    """The certificate's name may differ from the address, as `tls-server-name` says."""
    server = Server(tls=serving(certificates))
    server.script = [server.answering(then=OK), server.answering(HEAD + chunk(b"one\n") + END)]
    async with server, client(server, tls=trusting(certificates), server_name="server.test") as http:
        for _ in range(3):
            assert (await http.request("PATCH", "/", body=b"x" * 300_000)).body == b"ok"
        async with http.stream("/") as stream:
            assert [line async for line in stream] == [b"one"]
    assert server.connections == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # asyncio's own server leaves a transport after a failed handshake
@on_both_loops
async def test_a_server_with_another_name_is_not_trusted(certificates: Path) -> None:
    """The message says what is wrong with the certificate; nothing was sent."""
    server = Server(tls=serving(certificates))
    server.script = [server.answering(then=OK)]
    async with server, client(server, tls=trusting(certificates), server_name="other.test") as http:
        with pytest.raises(Unavailable, match=r"certificate of 127.0.0.1:\d+ is not trusted: .*other.test") as caught:
            await http.request("PATCH", "/", body=b"x")
    assert not caught.value.maybe_done
    assert server.requests == []


@on_both_loops
async def test_a_client_certificate_is_shown(certificates: Path) -> None:
    """A server that asks for one gets it."""
    server = Server(tls=serving(certificates, ask=True))
    server.script = [server.answering(then=OK)]
    context = trusting(certificates)
    context.load_cert_chain(certificates / "client.pem", certificates / "client.key")
    async with server, client(server, tls=context, server_name="server.test") as http:
        assert (await http.request("GET", "/")).body == b"ok"


@on_both_loops
async def test_a_tls_connection_that_is_dropped_is_like_any_other(certificates: Path) -> None:
    """The rules about repeating do not depend on the wire."""
    server = Server(tls=serving(certificates))
    server.script = [
        server.dropping(OK),
        server.answering(OK),
        server.answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
    ]
    async with server, client(server, tls=trusting(certificates), server_name="server.test") as http:
        await http.request("GET", "/1")
        assert (await http.request("GET", "/2")).body == b"ok"
        with pytest.raises(Unavailable) as caught:
            await http.request("PATCH", "/3", body=b"x")
    assert caught.value.maybe_done
