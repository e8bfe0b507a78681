"""The two kinds of connections as protocols of the event loop: one request after another, and one stream of lines."""

import asyncio
from collections import deque
from typing import Any, Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from apis.problems import Unavailable
from manager.endpoint import Response

HELD_BYTES = 1 << 20
"""Bytes of unread lines at which a stream stops reading from its socket."""


class Pool(Protocol):
    """What a connection tells its pool."""

    def joined(self, connection: "Connection") -> None:
        """It is open."""
        ...

    def free(self, connection: "Connection") -> None:
        """Its answer is there: it can take the next request."""
        ...

    def lost(self, connection: "Connection") -> None:
        """It is closed."""
        ...

    def forget_idle(self) -> None:
        """What silenced it may have silenced the others: none that is idle is used again."""
        ...


class Dropped(Exception):
    """The connection was closed before a byte of the answer came."""


class Connection(asyncio.Protocol):
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

    def __init__(self, pool: Pool, loop: asyncio.AbstractEventLoop) -> None:
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
        """Send one request; the future gives its Response, or `Dropped` or Unavailable."""
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
        self._pool.joined(self)

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
            self._fail(Dropped(str(exc) if exc else "closed by the server"))
        self._pool.lost(self)

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
            self._pool.free(self)
        else:
            self.abort()
        if not future.done():
            future.set_result(Response(status, headers, parts[0] if len(parts) == 1 else b"".join(parts)))

    def _expire(self) -> None:
        self._fail(self._broken("no answer in time"))
        self._pool.forget_idle()  # what silenced this connection may have silenced the others

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


class Lines(asyncio.Protocol):
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
        if self._paused and self._held < HELD_BYTES // 2:
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
        if self._held > HELD_BYTES and not self._paused and self.problem is None and not self.complete:
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
