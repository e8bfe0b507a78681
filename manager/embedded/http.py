"""The HTTP face: TLS on loopback, requests in, answers and watches out.

A request is handled in the step in which its last byte arrives, and its answer is written in that step, unless it has to wait
for the disk, for a fault of a test, or is a watch. HTTP/1.1 with keep-alive; a client that sends its next request early waits.

Guarantees
    An answer, and a line of a watch, tells only what is on disk by then, where there is a disk: nobody ever sees a state that a
    crash could take back.
"""

import asyncio
import gzip
import random
import ssl
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import unquote

from manager.embedded.body import LIMIT
from manager.embedded.journal import Journal
from manager.embedded.request import Request, Response
from manager.embedded.server import Answer, ApiServer, failure
from manager.embedded.status import StatusError, internal
from manager.embedded.store import Change, Store
from manager.embedded.watching import Watch
from manager.embedded.webhooks import Unanswered, answered, ask
from manager.receiving import PROCEED, REFUSAL, Received, Receiver

HOST: Final = "127.0.0.1"
EARLY = 100
"""Requests that a client may send before it has read an answer. Reading goes on meanwhile, or its end would not be noticed."""

COMPRESSED_FROM = 128 * 1024
"""Bytes of a body from which it is compressed for clients that ask for that, as the real server does."""

BOOKMARK_SECONDS = 60.0
WATCH_SECONDS = 1800.0
"""How long a watch lasts when the client names no time; up to twice that."""


class Cut(Exception):
    """Close the connection now, without a further word."""


class Fault:
    """What a test does to one request; by itself nothing. `embedded/faults.py` has those that do something."""

    async def before(self, request: Request) -> Response | None:
        """An answer instead of handling the request. May take its time, and raise Cut."""
        del request
        return None

    async def after(self, request: Request, answer: Answer) -> Answer:
        """The answer that is sent, when the request was carried out. May take its time, and raise Cut."""
        del request
        return answer

    def line(self, line: bytes) -> bytes | None:
        """The line of a watch that is sent; None for none. May raise Cut."""
        return line


Intercept = Callable[[Request], Fault | None]


class Commits:
    """Brings what the store recorded to disk: one transaction at a time, for all requests that wait by then.

    Caveat: when the disk fails, the memory is ahead of it for good, so everything is refused until a restart.
    """

    def __init__(self, store: Store, journal: Journal | None) -> None:
        self._store = store
        self._journal = journal
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._durable = store.revision
        self._running: asyncio.Task[None] | None = None
        self.listeners: set[Callable[[], None]] = set()
        if journal is not None:
            # Controllers write without a request that would wait for the disk; watches wait for it all the same.
            store.listen(self._recorded)

    def _recorded(self, _: Change) -> None:
        if self._journal is not None:
            self._begin(self._journal)

    @property
    def durable(self) -> int:
        """The newest revision that survives this process, or simply the newest one when there is no disk."""
        return self._store.revision if self._journal is None else self._durable

    @property
    def settled(self) -> bool:
        """Is everything that was recorded on disk?"""
        return self._journal is None or self._durable == self._store.revision

    async def settle(self) -> None:
        """Wait until everything that is recorded now is on disk. Raises what the disk says."""
        wanted = self._store.revision
        while self._journal is not None and self._durable < wanted:
            await asyncio.shield(self._begin(self._journal))

    def _begin(self, journal: Journal) -> asyncio.Task[None]:
        """The transaction that runs, or the next one; a new one takes all that is recorded until the loop comes to it."""
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._commit(journal))
        return self._running

    async def _commit(self, journal: Journal) -> None:
        changes = list(self._store.journal)
        await asyncio.get_running_loop().run_in_executor(self._thread, journal.commit, changes)
        del self._store.journal[: len(changes)]
        self._durable = changes[-1].revision
        for listener in tuple(self.listeners):
            listener()
        if self._store.journal:
            # What came meanwhile; this task is not done yet, so it cannot be begun by others.
            asyncio.get_running_loop().call_soon(self._begin, journal)

    async def close(self) -> None:
        """Bring the rest to disk and stop."""
        await self.settle()
        self._thread.shutdown()


class Face:
    """What all connections share."""

    def __init__(self, server: ApiServer, journal: Journal | None = None, *, intercept: Intercept | None = None) -> None:
        self.server = server
        self.commits = Commits(server.store, journal)
        self.intercept = intercept
        self.connections: set[Connection] = set()
        self.closed = False
        self._listener: asyncio.Server | None = None

    async def listen(self, context: ssl.SSLContext, port: int = 0) -> int:
        """Start; the port. Raises OSError when it is taken."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self), HOST, port, ssl=context)
        number: int = self._listener.sockets[0].getsockname()[1]
        return number

    async def close(self) -> None:
        """Stop listening, cut all connections, bring everything to disk."""
        self.closed = True
        if self._listener is not None:
            self._listener.close()
        tasks = [connection.stop() for connection in tuple(self.connections)]
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)
        await self.commits.close()


class Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._receiver = Receiver(self._whole, lambda: self._transport.write(PROCEED), longest=LIMIT)
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its bases
        if self._face.closed:  # its handshake was under way when everything ended
            self._transport.abort()
            return
        self._face.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """A client is gone, and what it waited for with it."""
        del exc
        self._face.connections.discard(self)
        self._writable.set()
        self.stop()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if not self._receiver.feed(data):
            self._transport.write(REFUSAL)
            self._transport.close()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    def stop(self) -> asyncio.Task[None] | None:
        """Cut the connection; the task that may still have to end."""
        if not self._transport.is_closing():
            self._transport.abort()
        if self._task is not None:
            self._task.cancel()
        return self._task

    # Parts.

    def _whole(self, received: Received) -> None:
        """A request is whole."""
        path, _, query = received.target.partition(b"?")
        request = Request(
            method=received.method,
            path=unquote(path.decode("latin-1")),
            query=query.decode("latin-1"),
            headers=received.headers,
            body=received.body,
        )
        self._waiting.append((request, received.keep))
        self._next()
        if len(self._waiting) > EARLY:
            self._transport.abort()

    def _next(self) -> None:
        """Answer what waits, as long as that can be done at once."""
        while self._waiting and (self._task is None or self._task.done()):
            request, keep = self._waiting.popleft()
            if self._face.intercept is None and not self._face.server.webhooks.present:
                answer = self._handled(request)
                if isinstance(answer, Response) and self._face.commits.settled:
                    self._write(request, answer, keep=keep)
                    continue
                self._start(partial(self._finish, request, answer, Fault(), keep=keep))
            else:
                self._start(partial(self._intercepted, request, keep=keep))

    def _handled(self, request: Request) -> Answer:
        try:
            return self._face.server.handle(request)
        except Unanswered:
            raise
        except Exception as error:
            _report(error, request)
            return failure(internal(f"{type(error).__name__} in the embedded server"))

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._working(work))

    async def _working(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # A function, since a task that is cancelled before its first step would leave a coroutine that nobody awaits.
        try:
            await work()
        except Cut:
            self._transport.abort()
            return
        asyncio.get_running_loop().call_soon(self._next)

    async def _intercepted(self, request: Request, *, keep: bool) -> None:
        fault = (self._face.intercept(request) if self._face.intercept else None) or Fault()
        answer: Answer | None = await fault.before(request)
        if answer is None:
            answer = await fault.after(request, await self._answered(request))
        await self._finish(request, answer, fault, keep=keep)

    async def _answered(self, request: Request) -> Answer:
        """Handle a request for which webhooks may have to be asked."""
        try:
            return await answered(lambda: self._handled(request), ask)
        except StatusError as error:
            return failure(error)

    async def _finish(self, request: Request, answer: Answer, fault: Fault, *, keep: bool) -> None:
        try:
            await self._face.commits.settle()
        except Exception as error:
            _report(error, request)
            self._write(request, failure(internal("the storage of the embedded server failed")), keep=False)
            return
        if isinstance(answer, Watch):
            await self._stream(answer, fault)
        else:
            self._write(request, answer, keep=keep)

    def _write(self, request: Request, answer: Response, *, keep: bool) -> None:
        body = answer.body
        head = [_LINES[answer.status], b"Content-Type: %s\r\n" % answer.content_type.encode(), _CACHE, self._date()]
        if len(body) > COMPRESSED_FROM and "gzip" in request.header("accept-encoding"):
            body = gzip.compress(body, compresslevel=1)
            head.append(b"Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n")
        head += [b"Warning: 299 - %s\r\n" % _quoted(text) for text in answer.warnings]
        head += [f"{name}: {value}\r\n".encode() for name, value in answer.headers.items()]
        if not keep:
            head.append(b"Connection: close\r\n")
        head.append(b"Content-Length: %d\r\n\r\n" % len(body))
        self._transport.write(b"".join([*head, b"" if request.method == "HEAD" else body]))
        if not keep:
            self._transport.close()

    def _date(self) -> bytes:
        return _date(int(self._face.server.clock().timestamp()))

    async def _stream(self, watch: Watch, fault: Fault) -> None:
        wake = asyncio.Event()
        watch.wake = wake.set
        commits = self._face.commits
        commits.listeners.add(wake.set)
        try:
            kind, length = b"Content-Type: application/json\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
            self._transport.write(b"".join([_LINES[200], kind, _CACHE, self._date(), length]))
            await self._lines(watch, fault, wake)
            self._transport.write(b"0\r\n\r\n")
        finally:
            commits.listeners.discard(wake.set)
            watch.end()

    async def _lines(self, watch: Watch, fault: Fault, wake: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + (watch.seconds or WATCH_SECONDS * (1 + random.random()))  # noqa: S311 - spreads load
        bookmark = loop.time() + BOOKMARK_SECONDS
        while loop.time() < end:
            wake.clear()
            durable = self._face.commits.durable
            lines = b"".join(filter(None, map(fault.line, watch.take(durable))))
            if watch.bookmarks and loop.time() >= bookmark:
                lines += fault.line(watch.bookmark(durable)) or b""
                bookmark = loop.time() + BOOKMARK_SECONDS
            if lines:
                self._transport.write(b"%x\r\n%b\r\n" % (len(lines), lines))
                await self._writable.wait()
            if watch.ended:
                return
            try:
                async with asyncio.timeout_at(min(end, bookmark)):
                    await wake.wait()
            except TimeoutError:
                continue  # it is time for a bookmark, or over


_CACHE = b"Cache-Control: no-cache, private\r\n"
_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


@lru_cache(maxsize=8)
def _date(second: int) -> bytes:
    """The header that tells the time of the server (RFC 9110, 6.6.1)."""
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()


def _quoted(text: str) -> bytes:
    """A text as a quoted string of a header."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode("ascii", "replace").replace(b"\r", b" ").replace(b"\n", b" ")


def _report(error: Exception, request: Request) -> None:
    """Tell whoever runs this about a defect: where it is, never what was sent."""
    told = {"message": f"embedded server: {request.method} {request.path}", "exception": error}
    asyncio.get_running_loop().call_exception_handler(told)
