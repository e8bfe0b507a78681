"""An HTTPS server that an API server asks for admission: POST an AdmissionReview to one of the paths, GET /healthz.

| Request | Answer |
| --- | --- |
| POST on a path of the handlers, an AdmissionReview of v1 | 200 and the review with the handler's response |
| the same, and the handler fails or takes too long | 200, `allowed: false` and a status of 500, 503 or 504 |
| POST on a path of the handlers, anything else | 400, 413 |
| GET /healthz | 200 while the event loop turns |
| anything else | 404, 405 |

Guarantees
    Whatever goes wrong in here allows nothing. What was sent is never logged, nor what an exception says, which may quote it.
Bounds
    BODY_BOUND, LONGEST_HEADERS, CONNECTIONS, WIDTH requests that are decided at the same time, ANSWER_SECONDS for each with its
    waiting, READ_SECONDS for a request to be whole, IDLE_SECONDS between two on one connection.
Caveat
    Nobody is asked who they are: a review tells of nothing but its own request, and an answer changes nothing here.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Protocol, cast

import orjson
import structlog

from apis.meta import Manifest
from apis.problems import Problem, Unavailable
from manager.health import Answer, plain
from manager.receiving import PROCEED, REFUSAL, Received, Receiver

log = structlog.get_logger("copyhold")

BODY_BOUND = 3 * 1024 * 1024
"""Bytes of a review: the API server's own bound for a request."""

CONNECTIONS = 256
WIDTH = 32
EARLY = 4
"""Requests that a client may send before it has read an answer."""

READ_SECONDS = 10.0
ANSWER_SECONDS = 8.0
"""Below the 10 s that we tell the API server to wait, so that a user reads our words and not its own."""

IDLE_SECONDS = 180.0
"""Above the 90 s after which the API server's client closes by itself, so that it never sends into a connection that we close."""

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

Handler = Callable[[Manifest], Awaitable[Manifest]]
"""From the `request` of a review to its `response`; the uid is added here."""


class Serving(Protocol):
    """Where the TLS context comes from."""

    def front(self) -> ssl.SSLContext:
        """A context that shows, at each handshake, the certificate that is in force by then."""
        ...


class Server:
    """Answers reviews by handlers, each known by its path (`/permits`)."""

    def __init__(self, handlers: Mapping[str, Handler], certificates: Serving, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._handlers = handlers
        self._certificates = certificates
        self._answer_seconds = answer_seconds
        self._slots = asyncio.Semaphore(WIDTH)
        self._listener: asyncio.Server | None = None
        self.connections: set[Connection] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (which is chosen by the system when 0 was asked for). Raises OSError when it is taken."""
        loop = asyncio.get_running_loop()
        context = self._certificates.front()
        self._listener = await loop.create_server(
            lambda: Connection(self), host, port, ssl=context, ssl_handshake_timeout=READ_SECONDS, ssl_shutdown_timeout=1.0
        )
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    async def stop(self, grace: float = 2.0) -> None:
        """Listen no longer, let what is being decided be answered for `grace` seconds, then cut what is left."""
        if self._listener is None:
            return
        self._listener.close()
        busy = [connection.task for connection in self.connections if connection.task is not None]
        if busy:
            await asyncio.wait(busy, timeout=grace)
        for connection in tuple(self.connections):
            connection.abort()
        await asyncio.gather(*busy, return_exceptions=True)
        self._listener = None

    async def answer(self, received: Received) -> Answer:
        """The answer to one request."""
        path = received.target.partition(b"?")[0].decode("latin-1")
        if path == "/healthz":
            return plain(HTTPStatus.OK, "ok") if received.method in ("GET", "HEAD") else _only("GET, HEAD")
        handler = self._handlers.get(path)
        if handler is None:
            return plain(HTTPStatus.NOT_FOUND, f"here are {', '.join(sorted(self._handlers))} and /healthz")
        if received.method != "POST":
            return _only("POST")
        if len(received.body) > BODY_BOUND:
            return plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {BODY_BOUND} bytes")
        request = _request(received.body)
        if request is None:
            return plain(HTTPStatus.BAD_REQUEST, f"not an {KIND} of {API_VERSION} with a request and its uid")
        response = await self._decided(path, handler, request)
        review = {"apiVersion": API_VERSION, "kind": KIND, "response": {**response, "uid": request["uid"]}}
        return Answer(HTTPStatus.OK, orjson.dumps(review), "application/json")

    async def _decided(self, path: str, handler: Handler, request: Manifest) -> Manifest:
        try:
            async with asyncio.timeout(self._answer_seconds), self._slots:
                return await handler(request)
        except TimeoutError:
            log.warning("admission took too long", path=path, seconds=self._answer_seconds)
            return _failed(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", "Copyhold could not decide in time: try again")
        except Problem as problem:
            log.warning("admission could not decide", path=path, reason=str(problem.reason), message=str(problem))
            busy = isinstance(problem, Unavailable)
            code = HTTPStatus.SERVICE_UNAVAILABLE if busy else HTTPStatus.INTERNAL_SERVER_ERROR
            return _failed(code, "ServiceUnavailable" if busy else "InternalError", f"Copyhold could not decide: {problem}")
        except Exception as error:
            log.error("admission failed by a defect", path=path, error=type(error).__name__, where=_where(error))
            remedy = "see the log of its manager, and please report it"
            said = f"Copyhold failed by a defect ({type(error).__name__}): {remedy}"
            return _failed(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", said)


class Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._receiver = Receiver(self._whole, lambda: self._transport.write(PROCEED), longest=BODY_BOUND)
        self._waiting: deque[Received] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._reading = False
        self.task: asyncio.Task[None] | None = None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its bases
        if len(self._server.connections) >= CONNECTIONS:
            self._transport.abort()
            return
        self._server.connections.add(self)
        self._expect(READ_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """A client is gone: nobody waits for an answer any more."""
        self._server.connections.discard(self)
        self._expect(None)
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if not self._reading and self.task is None:
            self._reading = True
            self._expect(READ_SECONDS)
        if not self._receiver.feed(data):
            self._transport.write(REFUSAL)
            self._transport.close()

    # Parts.

    def abort(self) -> None:
        """Cut the connection now."""
        self._transport.abort()

    def _expect(self, seconds: float | None) -> None:
        """Cut the connection when so long nothing has changed; None: it is our turn."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self.abort)

    def _whole(self, received: Received) -> None:
        self._waiting.append(received)
        self._expect(None)
        if len(self._waiting) > EARLY:
            self.abort()
        elif self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._answered())

    async def _answered(self) -> None:
        while self._waiting and not self._transport.is_closing():
            received = self._waiting.popleft()
            answer = await self._server.answer(received)
            self._transport.write(answer.wire(keep=received.keep, head=received.method == "HEAD"))
            if not received.keep:
                self._transport.close()
        self.task = None
        self._reading = False
        self._expect(IDLE_SECONDS)


def _request(body: bytes) -> Manifest | None:
    """The request of a review, if it is one of our version."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND):
        return None
    request = review.get("request")
    return request if isinstance(request, dict) and isinstance(request.get("uid"), str) else None


def _failed(code: HTTPStatus, reason: str, message: str) -> Manifest:
    return {"allowed": False, "status": {"code": code.value, "reason": reason, "message": message}}


def _where(error: Exception) -> str:
    """The line in which an exception was raised: never its text."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""


def _only(methods: str) -> Answer:
    return plain(HTTPStatus.METHOD_NOT_ALLOWED, f"only {methods}", allow=methods)
