"""A tiny HTTP/1.1 server for probes and metrics: `/healthz`, `/readyz`, `/metrics`, and nothing else.

| Path | Answer |
| --- | --- |
| `/healthz` | 200 while the event loop turns |
| `/readyz` | 200, or 503 with a line for each thing that is missing |
| `/metrics` | 200 with the Prometheus text |

One request per connection. Bounds: `HEAD_BOUND` bytes of request, `READ_SECONDS` until they are there, `WRITE_SECONDS` until the
answer is taken, `CONNECTIONS_BOUND` at a time. Nothing here asks for credentials, and only the metrics name objects of tenants.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

HEAD_BOUND = 8192
READ_SECONDS = 5.0
WRITE_SECONDS = 10.0
LINGER_SECONDS = 1.0
CONNECTIONS_BOUND = 64
TEXT = "text/plain; charset=utf-8"

Ready = Callable[[], list[str]]
"""What is missing until the manager can work, one short line each; empty when it is ready."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT
    allow: str = ""

    def wire(self, *, head: bool = False, keep: bool = False) -> bytes:
        """The bytes to send; `head` leaves the body out and keeps its length (RFC 9110, 9.3.2), `keep` the connection open."""
        lines = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            *([] if keep else ["Connection: close"]),
            *([f"Allow: {self.allow}"] if self.allow else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if head else self.body)


@dataclass(frozen=True, slots=True)
class Exposition:
    """How metrics are written out: a function that another thread may call, and the content type of what it returns."""

    text: Callable[[], bytes]
    content_type: str


class Health:
    """The server. `ready` is asked on each probe and must be quick."""

    def __init__(self, ready: Ready, metrics: Exposition, *, read_seconds: float = READ_SECONDS) -> None:
        self._ready = ready
        self._metrics = metrics
        self._read_seconds = read_seconds
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (which is chosen by the system when 0 was asked for). Raises OSError when it is taken."""
        self._server = await asyncio.start_server(self._connected, host, port, limit=HEAD_BOUND)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self, grace: float = 2.0) -> None:
        """Listen no longer, let answers under way be taken for `grace` seconds, then cut what is left."""
        if self._server is None:
            return
        self._server.close()
        if self._busy:
            await asyncio.wait(self._busy, timeout=grace)
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, answer = await self._exchange(reader)
            writer.write(answer.wire(head=method == "HEAD"))
            async with asyncio.timeout(WRITE_SECONDS):
                await writer.drain()
            await _linger(reader, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            # The client went away: there is nobody to tell, and a port scan is not worth a line in the log.
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader) -> tuple[str, Answer]:
        if len(self._busy) > CONNECTIONS_BOUND:
            return "", plain(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
        try:
            async with asyncio.timeout(self._read_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return "", plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {HEAD_BOUND} bytes")
        except TimeoutError:
            return "", plain(HTTPStatus.REQUEST_TIMEOUT, "no request came")
        match head.split(b"\r\n", 1)[0].decode("latin-1").split(" "):
            case [method, target, "HTTP/1.0" | "HTTP/1.1"]:
                return method, await self._answer(method, target.partition("?")[0])
        return "", plain(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1.1")

    async def _answer(self, method: str, path: str) -> Answer:
        if path not in ("/healthz", "/readyz", "/metrics"):
            return plain(HTTPStatus.NOT_FOUND, "here are /healthz, /readyz and /metrics")
        if method not in ("GET", "HEAD"):
            return plain(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD", allow="GET, HEAD")
        if path == "/metrics":
            # Ten thousand parents are a third of a second of text: not on the loop that renews the Leases.
            return Answer(HTTPStatus.OK, await asyncio.to_thread(self._metrics.text), self._metrics.content_type)
        missing = self._ready() if path == "/readyz" else []
        if missing:
            return plain(HTTPStatus.SERVICE_UNAVAILABLE, "\n".join(missing))
        return plain(HTTPStatus.OK, "ok")


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take what the client still sends before closing: closing on unread bytes resets the connection and loses the answer."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(HEAD_BOUND):
                pass


def plain(status: HTTPStatus, text: str, *, allow: str = "") -> Answer:
    """One line of text."""
    return Answer(status, f"{text}\n".encode(), allow=allow)
