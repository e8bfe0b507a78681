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
from types import TracebackType
from typing import Self

from apis.problems import Invalid, Unavailable
from apis.reasons import Reason
from manager.endpoint import Endpoint, Response, header
from manager.wires import Connection, Dropped, Lines

CONNECTIONS = 24
TIMEOUT = 30.0
READ_TIMEOUT = 90.0
IDLE = 50.0
"""Seconds after which a kept-alive connection is not used again: servers and load balancers drop them after 60 s and more,
and a write that meets such a drop cannot be repeated."""

_LINES = re.compile(r"(?:[!-9;-~]+: [ -~]*\r\n)*")

Gate = Callable[[], float | None]
"""Seconds that remain for writes, None for no bound; it may also raise a Problem. Called right before a write is sent."""


class Client:
    """Requests over at most `connections` connections to one endpoint; each stream has a connection of its own."""

    def __init__(self, endpoint: Endpoint, *, connections: int = CONNECTIONS, gate: Gate | None = None) -> None:
        self.endpoint = endpoint
        self._limit = connections
        self._gate = gate
        self._credentials = endpoint.credentials
        self._fixed = f"Host: {endpoint.authority}\r\nUser-Agent: copyhold\r\n"
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._streams: set[Stream] = set()
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
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
                self.free(connection)
                raise
            future = connection.send(self._bytes(method, target, headers, proof, body), label, until, write=write)
            try:
                response = await future
            except asyncio.CancelledError:
                connection.give_up(future)
                raise
            except Dropped as error:
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
        self.forget_idle()
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

    async def _acquire(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float, *, fresh: bool) -> Connection:
        """A connection that is ours alone; a new one when `fresh`."""
        if fresh:
            self.forget_idle()
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

    async def _wait(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float) -> Connection | None:
        """The next connection that comes free, or None for the right to open one."""
        waiter: asyncio.Future[Connection | None] = loop.create_future()
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
                    self.free(connection)
            if isinstance(error, TimeoutError):
                raise Unavailable(f"{label}: all {self._limit} connections stayed busy") from error
            raise

    async def _open(self, loop: asyncio.AbstractEventLoop, label: str, deadline: float) -> Connection:
        """Open a connection in a place that the caller has counted. Once made, the connection gives the place back itself."""
        connection = Connection(self, loop)
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

    def joined(self, connection: Connection) -> None:
        """A connection is open."""
        self._all.add(connection)

    def free(self, connection: Connection) -> None:
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

    def lost(self, connection: Connection) -> None:
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

    def forget_idle(self) -> None:
        """No idle connection is used again."""
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def _changed(self) -> None:
        if self._change is not None:
            self._change.set()


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
        self._wire: Lines | None = None

    @property
    def status(self) -> int:
        """The status code of the answer."""
        return self._opened.status

    def header(self, name: str) -> str | None:
        """The first header of that name; None when it is absent."""
        return header(self._opened.headers, name)

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
    def _opened(self) -> Lines:
        if self._wire is None:
            raise RuntimeError("a stream is opened with `async with`")
        return self._wire

    async def _send(self, loop: asyncio.AbstractEventLoop, deadline: float) -> str:
        """Open the connection, send the request, wait for the headers of the answer. Returns what we proved ourselves with."""
        client = self._client
        proof = client._credentials.header()
        if proof is None:
            proof = await client._prove(None, self._label, deadline)
        wire = Lines(loop, self._label, self._read_timeout)
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
