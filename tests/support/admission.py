"""Our admission server in a thread, for tests that let an API server ask it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Thread
from typing import Any

from manager.admission.certificates import Own
from manager.admission.register import Place, Url, manifests
from manager.admission.server import Handler, Server
from tests.support.api import Api, Manifest, eventually

HOST = "127.0.0.1"
NAMESPACE_NAME = "kubernetes.io/metadata.name"


class Outside:
    """A server with handlers that a test exchanges; `seen` are the requests that it was asked about, by path."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Manifest], Manifest]] = {}
        self.seen: dict[str, list[Manifest]] = {}
        self.place: Place = Url(HOST, 0)
        self.bundle = ""
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._server: Server | None = None

    def start(self) -> None:
        """Listen, on the port of before if there was one."""
        if not self._thread.is_alive():
            self._thread.start()
        self._run(self._start())

    def stop(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._run(self._server.stop(0))
            self._server = None

    def close(self) -> None:
        """End for good."""
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        certificates = Own([HOST], lambda: datetime.now(UTC))
        await certificates.refresh()
        self.bundle = certificates.bundle
        self._server = Server(_Any(self._answer), certificates)
        self.place = Url(HOST, await self._server.start(HOST, self.place.port))

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _answer(self, path: str, request: Manifest) -> Manifest:
        self.seen.setdefault(path, []).append(request)
        return self.handlers[path](request)


class _Any(dict[str, Handler]):
    """A handler for any path."""

    def __init__(self, answer: Callable[[str, Manifest], Any]) -> None:
        super().__init__()
        self._answer = answer

    def get(self, path: str, default: Any = None) -> Handler:  # type: ignore[override]
        return lambda request: self._answer(path, request)


@contextmanager
def outside() -> Iterator[Outside]:
    """A server that listens within the block."""
    server = Outside()
    server.start()
    try:
        yield server
    finally:
        server.close()


def allowed(request: Manifest) -> Manifest:
    """The answer yes."""
    return {"allowed": True}


def ours(place: Place, bundle: str, name: str, namespace: str) -> tuple[Manifest, Manifest]:
    """Our own configurations, under another name and for one namespace alone, so that they are in nobody's way."""
    made = manifests(place, bundle)
    expression = {"key": NAMESPACE_NAME, "operator": "In", "values": [namespace]}
    for manifest in made:
        manifest["metadata"] = {"name": name}  # without our label: whoever uninstalls leaves it alone
        manifest["webhooks"][0]["namespaceSelector"] = {"matchExpressions": [expression]}
    return made


def asked(api: Api, attempt: Callable[[], object], outside: Outside, path: str) -> None:
    """Wait until an attempt makes the server ask: it takes a moment to know of a configuration."""

    def tried() -> bool:
        attempt()
        return bool(outside.seen.get(path))

    eventually(tried)
