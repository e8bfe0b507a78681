"""A plain HTTP/1.1 client on kept-alive connections, made to cost as little CPU per request as Python allows.

Guarantees
    A write is sent at most once: it is repeated only after a 401, which the server gives before it does anything.
    A GET is repeated once, and only when a kept-alive connection was closed before a byte of the answer came.
    `Unavailable.maybe_done` is true for every write whose bytes left us and whose answer did not arrive whole.
    A timeout covers the wait for a connection, connecting, and the answer.
    A write passes the gate immediately before its bytes are sent, and ends before the time that the gate gives.
Assumptions
    One event loop: a client belongs to the loop that it is first used on, and to no other thread.
Caveats
    An answer without a length (neither Content-Length nor chunked) counts as cut: its end cannot be told from a broken wire.

Nothing here logs. Messages name the method, the path and the address, never headers or bodies.
"""

import asyncio
import contextlib
import re
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from apis.problems import Invalid, Unavailable
from apis.reasons import Reason

CONNECTIONS = 24
TIMEOUT = 30.0
READ_TIMEOUT = 90.0
IDLE = 50.0
"""Seconds after which a kept-alive connection is not used again: servers and load balancers drop them after 60 s and more,
and a write that meets such a drop cannot be repeated."""

_LINES = re.compile(r"(?:[!-9;-~]+: [ -~]*\r\n)*")

_HELD_BYTES = 1 << 20
"""Bytes of unread lines at which a stream stops reading from its socket."""

Gate = Callable[[], float | None]
"""Seconds that remain for writes, None for no bound; it may also raise a Problem. Called right before a write is sent."""


class Credentials(Protocol):
    """Who we are, as header lines; renewed when the server refuses them."""

    def header(self) -> str | None:
        """Header lines, each ended by CRLF (`Authorization: Bearer ...`); None when `renew` must be awaited first.

        Called for every request, so it must be cheap.
        """
        ...

    async def renew(self, refused: str | None) -> bool:
        """Get new ones. `refused` are the lines that met a 401, None when `header` had none.

        True when another try makes sense. Raises Invalid or Unavailable when they cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No credentials in headers: open servers, and client certificates that never change."""

    def header(self) -> str | None:
        """No lines."""
        return ""

    async def renew(self, refused: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """There is nothing to renew."""
        return False


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token that never changes."""

    token: str

    def header(self) -> str | None:
        """One Authorization line."""
        return f"Authorization: Bearer {self.token}\r\n"

    async def renew(self, refused: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """There is nothing to renew."""
        return False

    def __repr__(self) -> str:
        return "Bearer(token=...)"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and how to speak to it.

    `server_name` is what the certificate must say (the host if empty), `prefix` the path below which the API is served.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    prefix: str = ""
    credentials: Credentials = Anonymous()

    @property
    def authority(self) -> str:
        """`host:port`, with an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Response(NamedTuple):
    """A whole answer. `headers` are as received: names and values as bytes, in order."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case; None when it is absent."""
        return _header(self.headers, name)


def _header(headers: list[tuple[bytes, bytes]], name: str) -> str | None:
    wanted = name.lower().encode()
    return next((value.decode("latin-1") for key, value in headers if key.lower() == wanted), None)


class _Dropped(Exception):
    """The connection was closed before a byte of the answer came."""


class _Connection(asyncio.Protocol):
    """One kept-alive connection: at most one request is under way on it."""

    __slots__ = (
        "_answered",
        "_body",
        "_future",
        "_headers",
        "_label",
        "_loop",
        "_parser",
        "_pool",
        "_timer",
        "_write",
        "alive",
        "idle_since",
        "made",
        "transport",
        "used",
    )

    transport: asyncio.Transport

    def __init__(self, pool: "Client", loop: asyncio.AbstractEventLoop) -> None:
        self._pool = pool
        self._loop = loop
        self._parser: Any = HttpResponseParser(self)
        self._future: asyncio.Future[Response] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._answered = False
        self._label = ""
        self._write = False
        self.made = self.alive = False
        self.used = False
        self.idle_since = 0.0

    def send(self, data: bytes, label: str, deadline: float, *, write: bool) -> asyncio.Future[Response]:
        """Send one request; the future gives its Response, or `_Dropped` or Unavailable."""
        future: asyncio.Future[Response] = self._loop.create_future()
        self._future = future
        self._label = label
        self._write = write
        self._answered = False
        self._timer = self._loop.call_at(deadline, self._expire)
        self.transport.write(data)
        return future

    def give_up(self, future: asyncio.Future[Response]) -> None:
        """Nobody waits for this answer any more. If it has already come, the connection may serve others and stays."""
        if self._future is future:
            self.abort()

    def abort(self) -> None:
        """Close without waiting for anything."""
        self.alive = False
        self.transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not asserted: uvloop's TLS transport is no subclass
        self.made = self.alive = True
        self._pool._all.add(self)

    def data_received(self, data: bytes) -> None:
        if self._future is None:
            self.abort()  # an answer that nobody asked for
            return
        self._answered = True
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(self._broken(f"the answer is not HTTP/1.1: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.alive = False
        self._parser = None  # the parser holds this object: do not leave the circle to the collector
        if self._answered:
            self._fail(self._broken("the connection was cut in the middle of the answer"))
        else:
            self._fail(_Dropped(str(exc) if exc else "closed by the server"))
        self._pool._lost(self)

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status: int = self._parser.get_status_code()
        headers, self._headers = self._headers, []
        parts, self._body = self._body, []
        if status < 200:
            return  # informational: the answer is still to come
        future, self._future = self._future, None
        if future is None or self._timer is None:
            self.abort()
            return
        self._timer.cancel()
        self._answered = False
        if self.alive and self._parser.should_keep_alive():
            self.used = True
            self._pool._free(self)
        else:
            self.abort()
        if not future.done():
            future.set_result(Response(status, headers, parts[0] if len(parts) == 1 else b"".join(parts)))

    def _expire(self) -> None:
        self._fail(self._broken("no answer in time"))
        self._pool._forget_idle()  # what silenced this connection may have silenced the others

    def _broken(self, what: str) -> Unavailable:
        return Unavailable(f"{self._label}: {what}", maybe_done=self._write)

    def _fail(self, problem: Exception) -> None:
        future, self._future = self._future, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.alive:
            self.abort()
        if future is not None and not future.done():
            future.set_exception(problem)


class Client:
    """Requests over at most `connections` connections to one endpoint; each stream has a connection of its own."""

    def __init__(self, endpoint: Endpoint, *, connections: int = CONNECTIONS, gate: Gate | None = None) -> None:
        self.endpoint = endpoint
        self._limit = connections
        self._gate = gate
        self._credentials = endpoint.credentials
        self._fixed = f"Host: {endpoint.authority}\r\nUser-Agent: copyhold\r\n"
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._streams: set[Stream] = set()
        self._waiters: deque[asyncio.Future[_Connection | None]] = deque()
        self._slots = 0  # connections that are open or being opened
        self._closing = False
        self._change: asyncio.Event | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        headers: str = "",
        body: bytes | None = None,
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - the caller's bound is also capped by the gate, which a scope around us could not be
        late: bool = False,
    ) -> Response:
        """Send one request and read its answer.

        `path` and `query` are already percent-encoded; `headers` are whole lines, each ended by CRLF; `timeout` is in seconds.
        `late` sends a write without asking the gate.
        Any status is an answer. Raises Unavailable, and Invalid when the request cannot be written as HTTP.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        write = method != "GET"
        label = f"{method} {path}"
        target = f"{self.endpoint.prefix}{path}?{query}" if query else f"{self.endpoint.prefix}{path}"
        _check(target, headers)
        fresh = renewed = False
        while True:
            proof = self._credentials.header()
            if proof is None:
                proof = await self._prove(None, label, deadline)
            connection = await self._acquire(loop, label, deadline, fresh=fresh)
            try:
                until = self._pass(loop, label, deadline) if write and not late else deadline
            except BaseException:
                self._free(connection)
                raise
            future = connection.send(self._bytes(method, target, headers, proof, body), label, until, write=write)
            try:
                response = await future
            except asyncio.CancelledError:
                connection.give_up(future)
                raise
            except _Dropped as error:
                if write or fresh or not connection.used:
                    message = f"{label}: {self.endpoint.authority} closed the connection without an answer"
                    raise Unavailable(message, maybe_done=write) from error
                fresh = True
                continue
            if response.status != 401 or renewed or not await self._renew(proof, label, deadline):
                return response
            fresh = renewed = True  # a new client certificate needs a new connection

    def stream(
        self,
        path: str,
        *,
        query: str = "",
        headers: str = "",
        timeout: float = TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
    ) -> "Stream":
        """A GET whose answer is read line by line, as `async with client.stream(...) as stream: async for line in stream`.

        `timeout` bounds the time until the answer's headers are there, `read_timeout` the silence between two pieces of it; both
        are in seconds.
        """
        target = f"{self.endpoint.prefix}{path}?{query}" if query else f"{self.endpoint.prefix}{path}"
        _check(target, headers)
        return Stream(self, path, target, headers, timeout, read_timeout)

    async def close(self, grace: float = 5.0) -> None:
        """Refuse new requests, wait `grace` seconds for those under way, and close every connection."""
        self._closing = True
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(Unavailable("the client is closing"))
        self._forget_idle()
        for stream in tuple(self._streams):
            stream.abort()
        with contextlib.suppress(TimeoutError):
            await self._until_closed(grace)
        for connection in tuple(self._all):
            connection.abort()
        with contextlib.suppress(TimeoutError):
            await self._until_closed(1.0)

    async def _until_closed(self, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while self._all or self._streams:
                self._change = asyncio.Event()
                await self._change.wait()

    # Requests.

    def _bytes(self, method: str, target: str, headers: str, proof: str, body: bytes | None) -> bytes:
        if body is None:
            return f"{method} {target} HTTP/1.1\r\n{self._fixed}{proof}{headers}\r\n".encode("latin-1")
        length = len(body)
        return (
            f"{method} {target} HTTP/1.1\r\n{self._fixed}{proof}{headers}Content-Length: {length}\r\n\r\n".encode("latin-1")
            + body
        )

    def _pass(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float) -> float:
        """Ask the gate; the deadline that it leaves."""
        remaining = self._gate() if self._gate is not None else None
        if remaining is None:
            return deadline
        if remaining <= 0:
            raise Unavailable(f"{label}: not sent, the time in which this replica may write is over")
        return min(deadline, loop.time() + remaining)

    async def _prove(self, refused: str | None, label: str, deadline: float) -> str:
        await self._renew(refused, label, deadline)
        proof = self._credentials.header()
        if proof is None:
            raise Unavailable(f"{label}: there are no valid credentials for {self.endpoint.authority}")
        return proof

    async def _renew(self, refused: str | None, label: str, deadline: float) -> bool:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._credentials.renew(refused)
        except TimeoutError as error:
            raise Unavailable(f"{label}: no new credentials in time") from error

    # The pool.

    async def _acquire(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float, *, fresh: bool) -> _Connection:
        """A connection that is ours alone; a new one when `fresh`."""
        if fresh:
            self._forget_idle()
        while True:
            if self._closing:
                raise Unavailable(f"{label}: the client is closing")
            now = loop.time()
            while self._idle:
                connection = self._idle.pop()
                if connection.alive and now - connection.idle_since < IDLE:
                    return connection
                connection.abort()
            if self._slots < self._limit:
                self._slots += 1
                return await self._open(loop, label, deadline)
            waited = await self._wait(loop, label, deadline)
            if waited is None:
                return await self._open(loop, label, deadline)
            if waited.alive and not fresh:
                return waited
            waited.abort()

    async def _wait(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float) -> _Connection | None:
        """The next connection that comes free, or None for the right to open one."""
        waiter: asyncio.Future[_Connection | None] = loop.create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                connection = waiter.result()  # it came while we were being cancelled: pass it on
                if connection is None:
                    self._pass_slot()
                else:
                    self._free(connection)
            if isinstance(error, TimeoutError):
                raise Unavailable(f"{label}: all {self._limit} connections stayed busy") from error
            raise

    async def _open(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float) -> _Connection:
        """Open a connection in a place that the caller has counted. Once made, the connection gives the place back itself."""
        connection = _Connection(self, loop)
        try:
            await self._dial(loop, connection, label, deadline)
        except BaseException:
            if connection.made:
                connection.abort()
            else:
                self._pass_slot()
            raise
        if not connection.alive:
            raise Unavailable(f"{label}: {self.endpoint.authority} closed the new connection at once")
        return connection

    async def _dial(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, label: str, deadline: float) -> None:
        end = self.endpoint
        name = (end.server_name or end.host) if end.tls is not None else None
        try:
            async with asyncio.timeout_at(deadline):
                await loop.create_connection(lambda: protocol, end.host, end.port, ssl=end.tls, server_hostname=name)
        except ssl.SSLCertVerificationError as error:
            why = f"{error.verify_message}; check the certificate authority"
            raise Unavailable(f"{label}: the certificate of {end.authority} is not trusted: {why}") from error
        except TimeoutError as error:
            raise Unavailable(f"{label}: {end.authority} does not accept a connection in time") from error
        except OSError as error:
            raise Unavailable(f"{label}: no connection to {end.authority}: {error.strerror or type(error).__name__}") from error

    def _free(self, connection: _Connection) -> None:
        """A connection came back whole: to the next in line, or to rest."""
        if self._closing or not connection.alive:
            connection.abort()
            return
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        connection.idle_since = connection._loop.time()
        self._idle.append(connection)

    def _lost(self, connection: _Connection) -> None:
        """A connection is closed: its place is free."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._pass_slot()
        self._changed()

    def _pass_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._slots -= 1

    def _forget_idle(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def _changed(self) -> None:
        if self._change is not None:
            self._change.set()


class _Lines(asyncio.Protocol):
    """The connection of a stream: splits what arrives into lines, and stops reading while too many of them wait."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, label: str, silence: float) -> None:
        self._loop = loop
        self._parser: Any = HttpResponseParser(self)
        self._partial: list[bytes] = []
        self._held = 0
        self._paused = False
        self._silence = silence
        self._heard = loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._wake: asyncio.Future[None] | None = None
        self.what = label
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.lines: deque[bytes] = deque()
        self.problem: Exception | None = None
        self.complete = False
        self.closed: asyncio.Future[None] = loop.create_future()

    async def change(self) -> None:
        """Wait until something new arrived."""
        self._wake = self._loop.create_future()
        try:
            await self._wake
        finally:
            self._wake = None

    def take(self) -> bytes:
        """The next line that waits."""
        line = self.lines.popleft()
        self._held -= len(line)
        if self._paused and self._held < _HELD_BYTES // 2:
            self._paused = False
            self._heard = self._loop.time()
            self.transport.resume_reading()
        return line

    def watch_silence(self) -> None:
        """From now on, too long a silence is a failure."""
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(self._silence, self._look)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # not asserted: uvloop's TLS transport is no subclass

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._end(Unavailable(f"{self.what}: the answer is not HTTP/1.1: {error}"))
        if self._held > _HELD_BYTES and not self._paused and self.problem is None and not self.complete:
            self._paused = True
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self._end(None if self.complete else Unavailable(f"{self.what}: the connection was cut"))
        self._parser = None  # the parser holds this object: do not leave the circle to the collector
        if not self.closed.done():
            self.closed.set_result(None)

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status: int = self._parser.get_status_code()
        if status < 200:
            self.headers = []
            return
        self.status = status
        self._poke()

    def on_body(self, body: bytes) -> None:
        if b"\n" not in body:
            self._partial.append(body)
            return
        first, *rest = body.split(b"\n")
        self._partial.append(first)
        lines = [b"".join(self._partial), *rest[:-1]]
        self._partial = [rest[-1]] if rest[-1] else []
        self.lines.extend(lines)
        self._held += sum(map(len, lines))  # whole lines only: reading must go on until a long one is whole
        self._poke()

    def on_message_complete(self) -> None:
        if self.status < 200:
            return
        if self._partial:
            self.lines.append(b"".join(self._partial))
            self._held += len(self.lines[-1])
            self._partial = []
        self.complete = True
        self._end(None)

    def _look(self) -> None:
        quiet = self._loop.time() - self._heard
        if self._paused or quiet < self._silence:
            self._timer = self._loop.call_later(self._silence if self._paused else self._silence - quiet, self._look)
            return
        self._end(Unavailable(f"{self.what}: silent for {self._silence:g} s"))

    def _end(self, problem: Unavailable | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.problem is None and not (self.complete and problem):
            self.problem = problem
        self.transport.abort()
        self._poke()

    def _poke(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class Stream:
    """One streamed answer: `status`, and its body line by line. The iteration ends when the server ends the answer.

    Raises Unavailable when the connection is cut or silent; the beginning of a line that was cut is never given out.
    """

    def __init__(self, client: Client, path: str, target: str, headers: str, timeout: float, read_timeout: float) -> None:
        self._client = client
        self._label = f"GET {path}"
        self._target = target
        self._headers = headers
        self._timeout = timeout
        self._read_timeout = read_timeout
        self._wire: _Lines | None = None

    @property
    def status(self) -> int:
        """The status code of the answer."""
        return self._opened.status

    def header(self, name: str) -> str | None:
        """The first header of that name; None when it is absent."""
        return _header(self._opened.headers, name)

    async def read(self) -> bytes:
        """The rest of the answer at once, lines joined; meant for answers that say why there is no stream."""
        return b"\n".join([line async for line in self])

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        client = self._client
        if client._closing:
            raise Unavailable(f"{self._label}: the client is closing")
        deadline = loop.time() + self._timeout
        client._streams.add(self)
        try:
            proof = await self._send(loop, deadline)
            if self.status == 401 and await client._renew(proof, self._label, deadline):
                await self._hang_up()
                await self._send(loop, deadline)
        except BaseException:
            await self._hang_up()
            client._streams.discard(self)
            client._changed()
            raise
        self._opened.watch_silence()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await self._hang_up()
        finally:
            self._client._streams.discard(self)
            self._client._changed()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        wire = self._opened
        while True:
            while wire.lines:
                yield wire.take()
            if wire.problem is not None:
                raise wire.problem
            if wire.complete:
                return
            await wire.change()

    def abort(self) -> None:
        """End the stream from outside: its reader gets Unavailable."""
        if self._wire is not None:
            self._wire._end(Unavailable(f"{self._label}: the client is closing"))

    @property
    def _opened(self) -> _Lines:
        if self._wire is None:
            raise RuntimeError("a stream is opened with `async with`")
        return self._wire

    async def _send(self, loop: asyncio.AbstractEventLoop, deadline: float) -> str:
        """Open the connection, send the request, wait for the headers of the answer. Returns what we proved ourselves with."""
        client = self._client
        proof = client._credentials.header()
        if proof is None:
            proof = await client._prove(None, self._label, deadline)
        wire = _Lines(loop, self._label, self._read_timeout)
        await client._dial(loop, wire, self._label, deadline)
        self._wire = wire
        wire.transport.write(client._bytes("GET", self._target, self._headers, proof, None))
        try:
            async with asyncio.timeout_at(deadline):
                while not wire.status and wire.problem is None:
                    await wire.change()
        except TimeoutError as error:
            raise Unavailable(f"{self._label}: no answer in time") from error
        if wire.problem is not None and not wire.status:
            raise wire.problem
        return proof

    async def _hang_up(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.what = self._label
            wire._end(None)
            await wire.closed


def _check(target: str, headers: str) -> None:
    """Nothing may end a header line early: a name with a line break in it would become a header of its own choosing."""
    if not target.isascii() or not target.isprintable() or " " in target:
        raise Invalid(Reason.INVALID, "a request path holds characters that are not allowed in one")
    if not _LINES.fullmatch(headers):
        raise Invalid(Reason.INVALID, "a request header holds characters that are not allowed in one")
