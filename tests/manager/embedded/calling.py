"""Requests to an ApiServer without HTTP: a server in the test itself, on a clock that the test holds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import orjson

from manager.embedded.assembly import assemble
from manager.embedded.attributes import MASTERS, User
from manager.embedded.bootstrap import bootstrap
from manager.embedded.controllers import Controllers
from manager.embedded.request import Request, Response
from manager.embedded.server import ApiServer
from manager.embedded.store import Store
from manager.embedded.watching import Watch

Manifest = dict[str, Any]
APPLY, MERGE, JSON_PATCH = "application/apply-patch+yaml", "application/merge-patch+json", "application/json-patch+json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: Any
    response: Response

    @property
    def version(self) -> int:
        """The object's resourceVersion."""
        return int(self.body["metadata"]["resourceVersion"])


@dataclass
class Caller:
    """A server, and the means to ask it something as its administrator or as `alice`."""

    store: Store = field(default_factory=Store)
    now: datetime = BEGIN
    server: ApiServer = field(init=False)
    controllers: Controllers = field(init=False)

    def __post_init__(self) -> None:
        users = {"admin-token": User("admin", groups=(MASTERS,)), "alice-token": User("alice")}
        self.server = assemble(self.store, users=users, key=b"k" * 32, clock=lambda: self.now)
        self.controllers = Controllers(self.server, authority="a certificate")
        bootstrap(self.server, 443)
        self.settle()

    def settle(self, rounds: int = 3) -> None:
        """Let the controllers do all that there is to do, and try again what they could not."""
        for _ in range(rounds):
            self.controllers.run()

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        token: str = "admin-token",
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer | Watch:
        """Send one request."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        told = {"Authorization": f"Bearer {token}", "Accept": accept, "User-Agent": "tests/1.0"} | dict(headers or {})
        if content:
            told["Content-Type"] = content_type
        answer = self.server.handle(Request(method, path, urlencode(query), tuple(told.items()), content))
        return answer if isinstance(answer, Watch) else Answer(answer.status, _decoded(answer), answer)

    def __call__(self, method: str, path: str, body: Any = None, **rest: Any) -> Answer:
        """Send a request that is no watch."""
        answer = self.ask(method, path, body, **rest)
        assert isinstance(answer, Answer)
        return answer

    def watch(self, path: str, **rest: Any) -> Watch:
        """Begin a watch."""
        answer = self.ask("GET", path, watch="true", **rest)
        assert isinstance(answer, Watch), answer
        return answer

    def apply(self, manifest: Manifest, *, manager: str = "tests", path: str = "", **query: Any) -> Answer:
        """Server-side apply, of ConfigMaps unless a path is named."""
        name = manifest["metadata"]["name"]
        where = path or f"{CONFIG_MAPS}/{name}"
        return self("PATCH", where, manifest, content_type=APPLY, fieldManager=manager, **query)


def events(watch: Watch) -> Iterator[tuple[str, str]]:
    """What waits in a watch: the type of each event and the name it is about."""
    for line in watch.take(watch.store.revision):
        event = orjson.loads(line)
        yield event["type"], event["object"]["metadata"].get("name", "")


def config_map(name: str, **metadata: Any) -> Manifest:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def _decoded(answer: Response) -> Any:
    return orjson.loads(answer.body) if answer.content_type.startswith("application/json") and answer.body else answer.body
