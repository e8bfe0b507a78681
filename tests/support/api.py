"""A small synchronous client of a Kubernetes API server: what was sent and what was answered, nothing in between.

It is the tests' own, apart from the code under test, and it never raises for a status: `api.create(manifest).expect(201)`.
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

Manifest = dict[str, Any]
Headers = list[tuple[str, str]]
T = TypeVar("T")

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: its status and its decoded body (text when it was not JSON)."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def expect(self, *statuses: int) -> Self:
        """Fail with the whole answer unless its status is one of `statuses`; return it otherwise."""
        __tracebackhide__ = True
        assert self.status in statuses, f"{self.status}, wanted {' or '.join(map(str, statuses))}: {_text(self.body)}"
        return self

    @property
    def message(self) -> str:
        """The `message` of a `Status` body."""
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else str(self.body)

    @property
    def causes(self) -> list[dict[str, str]]:
        """The `details.causes` of a `Status` body."""
        return (self.body.get("details") or {}).get("causes") or []


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch."""

    type: str
    object: Manifest


class NotServed(AssertionError):
    """A kind is not in discovery; an assertion, since a server lists a new kind a moment after it has accepted its definition."""


@dataclass(slots=True)
class _Resources:
    """Which path serves a kind, asked of discovery once per group version and again for a kind it did not name."""

    http: httpx.Client
    token: str
    known: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def find(self, api_version: str, kind: str) -> tuple[str, bool]:
        if kind not in self.known.get(api_version, {}):
            self.known[api_version] = self._read(api_version)
        try:
            return self.known[api_version][kind]
        except KeyError:
            raise NotServed(f"the server serves no {kind} in {api_version}") from None

    def _read(self, api_version: str) -> dict[str, tuple[str, bool]]:
        answer = self.http.get(_root(api_version), headers={"Authorization": f"Bearer {self.token}"})
        if answer.status_code == 404:
            return {}
        listed = Reply(answer.status_code, answer.json()).expect(200).body["resources"]
        return {each["kind"]: (each["name"], each["namespaced"]) for each in listed if "/" not in each["name"]}


class Api:
    """An API server as one user sees it.

    Objects are named by a manifest, of which `apiVersion`, `kind` and `metadata` are enough (see `ref`). Further keywords of
    every method are query parameters under their Kubernetes names: `dryRun="All"`, `fieldManager="me"`.
    """

    def __init__(
        self,
        url: str,
        ca: Path | None,
        token: str,
        as_user: str | None = None,
        extra: Mapping[str, Sequence[str]] | None = None,
        *,
        groups: Sequence[str] = (),
    ) -> None:
        trust: ssl.SSLContext | bool = ssl.create_default_context(cafile=str(ca)) if ca else True
        self._http = httpx.Client(base_url=url, verify=trust, trust_env=False, timeout=30)
        self._resources = _Resources(self._http, token)
        self._token = token
        self._identity = _identity(token, as_user, groups, extra or {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def as_user(self, name: str, *, groups: Sequence[str] = (), extra: Mapping[str, Sequence[str]] | None = None) -> "Api":
        """Return the same server through the same connections, impersonating `name`; this client's token stays the proof."""
        return self._sharing(self._token, _identity(self._token, name, groups, extra or {}))

    def with_token(self, token: str) -> "Api":
        """Return the same server through the same connections, as whoever owns `token`."""
        return self._sharing(token, _identity(token, None, (), {}))

    def _sharing(self, token: str, identity: Headers) -> "Api":
        other = object.__new__(Api)
        other._http, other._resources, other._token, other._identity = self._http, self._resources, token, identity
        return other

    # Requests by path

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str | None = None,
        content_type: str = "application/json",
        **query: Any,
    ) -> Reply:
        """Send one request to a path of the server; `body` may be text that is sent as it is.

        A read whose connection is closed before an answer comes is sent once more, as Go's client and kubectl do.
        """
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        headers = self._headers(accept, content_type if content is not None else None)
        try:
            answer = self._http.request(method, path, params=_params(query), content=content, headers=headers)
        except httpx.RemoteProtocolError:
            if method != "GET":
                raise
            answer = self._http.request(method, path, params=_params(query), content=content, headers=headers)
        return Reply(answer.status_code, _decoded(answer), dict(answer.headers))

    def path(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Return where a kind, or one object of it, is served."""
        plural, namespaced = self._resources.find(api_version, kind)
        inside = f"/namespaces/{namespace}" if namespaced and namespace else ""
        parts = [f"{_root(api_version)}{inside}/{plural}", *filter(None, (name and quote(name, safe=":"), subresource))]
        return "/".join(parts)

    # Requests by object

    def get(self, manifest: Manifest, *, subresource: str | None = None, accept: str | None = None, **query: Any) -> Reply:
        """GET the object."""
        return self.request("GET", self._object(manifest, subresource), accept=accept, **query)

    def list(
        self, api_version: str, kind: str, namespace: str | None = None, *, accept: str | None = None, **query: Any
    ) -> Reply:
        """LIST a kind, in one namespace or in all."""
        return self.request("GET", self.path(api_version, kind, namespace=namespace), accept=accept, **query)

    def create(self, manifest: Manifest, *, subresource: str | None = None, accept: str | None = None, **query: Any) -> Reply:
        """POST the manifest to its collection, or to a subresource of the object it names."""
        metadata = manifest["metadata"]
        path = (
            self._object(manifest, subresource)
            if subresource
            else self.path(manifest["apiVersion"], manifest["kind"], namespace=metadata.get("namespace"))
        )
        return self.request("POST", path, manifest, accept=accept, **query)

    def replace(self, manifest: Manifest, *, subresource: str | None = None, accept: str | None = None, **query: Any) -> Reply:
        """PUT the manifest."""
        return self.request("PUT", self._object(manifest, subresource), manifest, accept=accept, **query)

    def apply(
        self,
        manifest: Manifest,
        *,
        manager: str = "tests",
        force: bool = False,
        subresource: str | None = None,
        accept: str | None = None,
        **query: Any,
    ) -> Reply:
        """PATCH with server-side apply, as field manager `manager`."""
        query = {"fieldManager": manager, "force": force} | query
        return self._patch(APPLY, manifest, manifest, subresource, accept, query)

    def merge_patch(
        self, manifest: Manifest, patch: Any, *, subresource: str | None = None, accept: str | None = None, **query: Any
    ) -> Reply:
        """PATCH the object that `manifest` names with a JSON merge patch."""
        return self._patch(MERGE, manifest, patch, subresource, accept, query)

    def strategic_patch(
        self, manifest: Manifest, patch: Any, *, subresource: str | None = None, accept: str | None = None, **query: Any
    ) -> Reply:
        """PATCH the object that `manifest` names with a strategic merge patch."""
        return self._patch(STRATEGIC, manifest, patch, subresource, accept, query)

    def json_patch(
        self,
        manifest: Manifest,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str | None = None,
        accept: str | None = None,
        **query: Any,
    ) -> Reply:
        """PATCH the object that `manifest` names with a list of JSON patch operations."""
        return self._patch(JSON_PATCH, manifest, operations, subresource, accept, query)

    def delete(
        self,
        manifest: Manifest,
        *,
        preconditions: Mapping[str, str] | None = None,
        propagation: str | None = None,
        accept: str | None = None,
        **query: Any,
    ) -> Reply:
        """DELETE the object, with `preconditions` on uid and resourceVersion and a propagation policy if given."""
        return self.request("DELETE", self._object(manifest, None), _options(preconditions, propagation), accept=accept, **query)

    def delete_all(
        self, api_version: str, kind: str, namespace: str | None = None, *, propagation: str | None = None, **query: Any
    ) -> Reply:
        """DELETE the collection, or what a selector picks of it."""
        return self.request("DELETE", self.path(api_version, kind, namespace=namespace), _options(None, propagation), **query)

    @contextmanager
    def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        accept: str | None = None,
        timeout: int = 20,
        **query: Any,
    ) -> Iterator[Iterator[Event]]:
        """Watch a kind inside a `with` block; the server ends the stream after `timeout` seconds.

        The request has been answered when the block is entered: what is done inside it is seen.
        """
        query = {"watch": True, "timeoutSeconds": timeout} | query
        path = self.path(api_version, kind, namespace=namespace)
        with self._http.stream(
            "GET", path, params=_params(query), headers=self._headers(accept, None), timeout=timeout + 10
        ) as answer:
            if answer.status_code != 200:
                answer.read()
                Reply(answer.status_code, _decoded(answer)).expect(200)
            yield (Event(**json.loads(line)) for line in answer.iter_lines() if line)

    def _patch(
        self,
        content_type: str,
        manifest: Manifest,
        body: Any,
        subresource: str | None,
        accept: str | None,
        query: dict[str, Any],
    ) -> Reply:
        path = self._object(manifest, subresource)
        return self.request("PATCH", path, body, accept=accept, content_type=content_type, **query)

    def _object(self, manifest: Manifest, subresource: str | None) -> str:
        metadata = manifest["metadata"]
        return self.path(
            manifest["apiVersion"],
            manifest["kind"],
            namespace=metadata.get("namespace"),
            name=metadata["name"],
            subresource=subresource,
        )

    def _headers(self, accept: str | None, content_type: str | None) -> Headers:
        given = [("Accept", accept or "application/json")]
        if content_type:
            given.append(("Content-Type", content_type))
        return [*self._identity, *given]


def ref(api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest:
    """Return the manifest that only names an object."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def eventually(fn: Callable[[], T], timeout: float = 20) -> T:
    """Return what `fn` answers once that is true; a failed assertion inside it counts as not yet, until `timeout`."""
    __tracebackhide__ = True
    deadline = monotonic() + timeout
    while True:
        try:
            answer = fn()
            if answer:
                return answer
            why = f"still {answer!r} after {timeout} s"
        except AssertionError as error:
            why = f"still failing after {timeout} s: {error}"
        assert monotonic() < deadline, why
        sleep(0.1)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _identity(token: str, user: str | None, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> Headers:
    return [
        ("Authorization", f"Bearer {token}"),
        *([("Impersonate-User", user)] if user else []),
        *(("Impersonate-Group", group) for group in groups),
        # A header name has no slash: the key is percent-encoded, and the server decodes it.
        *((f"Impersonate-Extra-{quote(key, safe='')}", value) for key, values in extra.items() for value in values),
    ]


def _options(preconditions: Mapping[str, str] | None, propagation: str | None) -> Manifest | None:
    chosen = {"preconditions": preconditions, "propagationPolicy": propagation}
    given = {key: value for key, value in chosen.items() if value}
    return {"apiVersion": "v1", "kind": "DeleteOptions"} | given if given else None


def _params(query: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in query.items()}


def _decoded(answer: httpx.Response) -> Any:
    # /openapi/v3 calls its JSON text/plain.
    is_json = "json" in answer.headers.get("content-type", "") or answer.text.startswith("{")
    return answer.json() if is_json else answer.text


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, indent=1)
