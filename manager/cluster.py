"""A Kubernetes API server as a Cluster: each method is one request, and each answer a value or a problem."""

import random
import re
import time
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from apis.meta import PARENT_EXTRA, Manifest
from apis.problems import Blocked, Expired, Gone, Invalid, Problem, Unavailable
from apis.reasons import Reason
from manager.answers import Request, event_problem, problem
from manager.discovery import Discovery
from manager.endpoint import Response
from manager.http import READ_TIMEOUT, TIMEOUT, Client
from manager.world import Actor, Applied, Event, Listing, Resource

PAGE = 500
"""Objects asked for in one page of a list."""

WATCH_SECONDS = 300.0
"""Seconds after which the server is asked to end a watch, and up to a third more, so that they do not all end together."""

RESTARTS = 5
"""Times that a list begins anew because its pages expired, before it counts as Unavailable."""

_JSON = "Accept: application/json\r\n"
_METADATA = "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n"
_METADATA_LIST = "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1\r\n"
_APPLY = "Content-Type: application/apply-patch+yaml\r\n"
_JSON_PATCH = "Content-Type: application/json-patch+json\r\n"
_MERGE_PATCH = "Content-Type: application/merge-patch+json\r\n"
_BODY = "Content-Type: application/json\r\n"

Operations = list[Manifest]
"""The operations of a JSON patch (RFC 6902), each an object with `op`, `path` and what belongs to it."""

Observer = Callable[[str, str, int, float], None]
"""Told about each request: method, path, status (0 when there was no answer), seconds until the answer was there."""

Heard = Callable[[str, float, float], None]
"""Told the `Date` header of each answer, and when the request was begun and answered, by the cluster's `clock`."""


class ApiCluster:
    """The Cluster behind a Client.

    Objects always carry their own `apiVersion` and `kind`, also in lists and where only metadata was asked for, although the
    server leaves them out there or writes `PartialObjectMetadata`. `timeout` is in seconds, for each request; `silence` is the
    time in seconds after which a watch without any sign of life counts as dead (bookmarks come about every minute).
    """

    def __init__(
        self,
        client: Client,
        *,
        observer: Observer | None = None,
        heard: Heard | None = None,
        timeout: float = TIMEOUT,
        silence: float = READ_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self.discovery = Discovery(self._fetch, clock)
        self._observer = observer
        self._heard = heard
        self._timeout = timeout
        self._silence = silence
        self._clock = clock
        self._itself: Manifest | None = None

    # Reading.

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The served kind; Blocked(KindUnknown), or Unavailable while its group does not answer."""
        return await self.discovery.resource(api_version, kind)

    async def any_version(self, group: str, kind: str) -> Resource:
        """Any served version of a kind; Blocked(KindUnknown) only when it is provably gone, else Unavailable."""
        try:
            return await self.discovery.any_version(group, kind)
        except Blocked:
            if await self.discovery.gone(group, kind):
                raise
        raise Unavailable(f"{kind}.{group}: discovery cannot say whether the kind is gone")

    async def served(self) -> tuple[Resource, ...]:
        """Every served kind, each in its preferred version."""
        return await self.discovery.served()

    def doubt(self) -> None:
        """Kinds may have come or gone: the next question about one reads discovery again."""
        self.discovery.doubt()

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """The object, or None when it is not there. Raises Gone when its kind is not, Forbidden, Unavailable."""
        request = _request("GET", resource, namespace, name)
        headers = (_METADATA if metadata else _JSON) + _acting(actor)
        try:
            response = await self._send(request, _object(resource, namespace, name), headers=headers)
        except Gone as gone:
            if gone.what == "kind":
                raise
            return None
        return _named(resource, _loads(request, response.body))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        actor: Actor | None = None,
        metadata: bool = False,
    ) -> Listing:
        """All objects over all pages, from one moment: when a page expires, the list begins anew, without what it had."""
        headers = (_METADATA_LIST if metadata else _JSON) + _acting(actor)
        for _ in range(RESTARTS):
            try:
                return await self._pages(resource, namespace, _selected(labels, fields), headers)
            except Expired:
                continue
        raise Unavailable(f"list {resource.plural}: its pages expired {RESTARTS} times before they were read")

    async def _pages(self, resource: Resource, namespace: str, selected: dict[str, str], headers: str) -> Listing:
        request = _request("GET", resource, namespace)
        path = _collection(resource, namespace)
        items: list[Manifest] = []
        token = ""
        while True:
            query = urlencode({**selected, "limit": PAGE} | ({"continue": token} if token else {}))
            page = _loads(request, (await self._send(request, path, query=query, headers=headers)).body)
            items += [_named(resource, item) for item in page.get("items") or ()]  # the empty list of metadata is null
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return Listing(items, metadata.get("resourceVersion") or "")

    async def watch(
        self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "", since: str, metadata: bool = False
    ) -> AsyncIterator[Event]:
        """One watch request, until the server ends it. Bookmarks come as events of type BOOKMARK.

        Raises Expired when `since` is too old (410 as status or as event), Unavailable when the stream is cut or silent.
        """
        request = _request("GET", resource, namespace)
        seconds = int(WATCH_SECONDS * (1 + random.random() / 3))  # noqa: S311 - spreads load, guards nothing
        query = urlencode(
            _selected(labels, fields)
            | {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        )
        path = _collection(resource, namespace)
        headers = _METADATA if metadata else _JSON  # a watch asked for as a list ends at once, with no event
        started = self._clock()
        stream = self.client.stream(path, query=query, headers=headers, timeout=self._timeout, read_timeout=self._silence)
        async with stream:
            self._observe("WATCH", path, stream.status, started)
            if stream.status != 200:
                raise self._problem(request, stream.status, await stream.read(), stream.header("Retry-After"))
            async for line in stream:
                if line:
                    yield _event(request, resource, line)

    async def get_raw(self, path: str, *, accept: str = "application/json") -> bytes:
        """The body of a GET on any path (with its query), as the manager itself: discovery, OpenAPI, health."""
        return await self._fetch(path, accept)

    # Writing.

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        manager: str,
        force: bool = False,
        actor: Actor | None = None,
        proof: str = "",
        dry_run: bool = False,
        metadata: bool = True,
    ) -> Applied:
        """Server-side apply. Raises Conflict, Stale (uid, resourceVersion), Invalid, Forbidden, Gone, Unavailable.

        No `fieldValidation` is asked for: server-side apply refuses unknown fields by itself.
        """
        request = _request("PATCH", resource, namespace, name, apply=True)
        response = await self._send(
            request,
            _object(resource, namespace, name),
            query=_patch_query(manager, "true" if force else "false", dry_run=dry_run),
            headers=_APPLY + (_METADATA if metadata else _JSON) + _acting(actor) + await self._proving(proof),
            body=body,
        )
        return Applied(response.status == 201, _named(resource, _loads(request, response.body)))

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Operations,
        *,
        manager: str = "",
        actor: Actor | None = None,
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """A JSON patch; a failed `test` operation is Stale. Answers metadata only, except for a subresource."""
        headers = _JSON_PATCH + (_JSON if subresource else _METADATA) + _acting(actor) + await self._proving(proof)
        return await self._patch(resource, namespace, name, operations, manager, subresource, headers)

    async def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        manager: str = "",
        subresource: str = "",
        proof: str = "",
    ) -> Manifest:
        """A JSON merge patch as the manager itself; a resourceVersion in it makes it conditional (Stale).

        Answers the whole object.
        """
        headers = _MERGE_PATCH + _JSON + await self._proving(proof)
        return await self._patch(resource, namespace, name, patch, manager, subresource, headers)

    async def _patch(
        self, resource: Resource, namespace: str, name: str, patch: Any, manager: str, subresource: str, headers: str
    ) -> Manifest:
        request = _request("PATCH", resource, namespace, name)
        path = _object(resource, namespace, name, subresource)
        query = _patch_query(manager, "", dry_run=False)
        response = await self._send(request, path, query=query, headers=headers, body=orjson.dumps(patch))
        return _named(resource, _loads(request, response.body))

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """POST as the manager itself; Stale when the object exists."""
        request = _request("POST", resource, namespace, (manifest.get("metadata") or {}).get("name") or "")
        path = _collection(resource, namespace)
        response = await self._send(request, path, headers=_BODY + _JSON, body=orjson.dumps(manifest))
        return _named(resource, _loads(request, response.body))

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """PUT as the manager itself; Stale when the resourceVersion is not the live one."""
        metadata = manifest.get("metadata") or {}
        namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
        request = _request("PUT", resource, namespace, name)
        path = _object(resource, namespace, name)
        response = await self._send(request, path, headers=_BODY + _JSON, body=orjson.dumps(manifest))
        return _named(resource, _loads(request, response.body))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str,
        actor: Actor | None = None,
        proof: str = "",
        late: bool = False,
    ) -> bool:
        """DELETE with preconditions (an empty one is not asked for), background propagation. `late` passes the client's gate.

        True when the object is gone at once, False when it is terminating. Raises Stale when a precondition does not hold, Gone.
        """
        request = _request("DELETE", resource, namespace, name)
        wanted = {"uid": uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {key: value for key, value in wanted.items() if value},
            "propagationPolicy": "Background",
        }
        headers = _BODY + _METADATA + _acting(actor) + await self._proving(proof)
        body = orjson.dumps(options)
        response = await self._send(request, _object(resource, namespace, name), headers=headers, body=body, late=late)
        left = _loads(request, response.body)
        return left.get("kind") == "Status" or not (left.get("metadata") or {}).get("deletionTimestamp")

    # One request.

    async def _proving(self, proof: str) -> str:
        """The headers with which the manager acts as itself for a parent. Only who may `impersonate` the extra can send them."""
        if not proof:
            return ""
        me = await self._myself()
        user = me.get("username") or ""
        # The server knows the groups of an account by itself, and naming them would ask for rights of their own.
        named = [] if user.startswith("system:serviceaccount:") else me.get("groups") or []
        groups = "".join(f"Impersonate-Group: {group}\r\n" for group in named if group != "system:authenticated")
        return _impersonating(user, proof) + groups

    async def _myself(self) -> Manifest:
        """Who the server takes us for (SelfSubjectReview); asked once."""
        if self._itself is None:
            request, path = Request("POST", "SelfSubjectReview"), "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            body = orjson.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
            answer = await self._send(request, path, headers=_BODY + _JSON, body=body)
            self._itself = (_loads(request, answer.body).get("status") or {}).get("userInfo") or {}
        return self._itself

    async def _send(
        self, request: Request, path: str, *, query: str = "", headers: str = _JSON, body: bytes | None = None, late: bool = False
    ) -> Response:
        started = self._clock()
        try:
            response = await self.client.request(
                request.method, path, query=query, headers=headers, body=body, timeout=self._timeout, late=late
            )
        except Problem:
            self._observe(request.method, path, 0, started)
            raise
        self._observe(request.method, path, response.status, started)
        if self._heard is not None and (date := response.header("Date")):
            self._heard(date, started, self._clock())
        if response.status >= 300:
            raise self._problem(request, response.status, response.body, response.header("Retry-After"))
        return response

    async def _fetch(self, path: str, accept: str) -> bytes:
        path, _, query = path.partition("?")
        return (await self._send(Request("GET", path), path, query=query, headers=f"Accept: {accept}\r\n")).body

    def _problem(self, request: Request, status: int, body: bytes, retry_after: str | None) -> Problem:
        found = problem(request, status, body, retry_after=retry_after)
        if isinstance(found, Gone) and found.what == "kind":
            self.discovery.doubt()
        return found

    def _observe(self, method: str, path: str, status: int, started: float) -> None:
        if self._observer is not None:
            self._observer(method, path, status, self._clock() - started)


def _request(method: str, resource: Resource, namespace: str, name: str = "", *, apply: bool = False) -> Request:
    place = f"{namespace}/{name}" if namespace else name
    secret = resource.plural == "secrets" and not resource.group
    return Request(method, f"{resource.kind} {place}" if place else resource.kind, resource.plural, sensitive=secret, apply=apply)


# Paths. A name comes from templates: it must not reach beyond its place in the path.

_PLAIN = re.compile(r"[A-Za-z0-9_:.-]+")


def _segment(text: str, what: str) -> str:
    if _PLAIN.fullmatch(text) and text not in (".", ".."):
        return text
    if not text or text in (".", "..") or "/" in text or "%" in text or not text.isprintable():
        raise Invalid(Reason.INVALID, f"{text[:80]!r} cannot be the {what} of an object")
    return quote(text, safe="")


def _object(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    # An empty part would address the collection instead, and DELETE on that deletes everything in it.
    place = _segment(namespace, "namespace") if resource.namespaced else ""
    return resource.path(place, _segment(name, "name"), subresource)


def _collection(resource: Resource, namespace: str) -> str:
    return resource.path(_segment(namespace, "namespace") if namespace else "")


# Queries and headers.


def _selected(labels: str, fields: str) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


@lru_cache(maxsize=4096)
def _patch_query(manager: str, force: str, *, dry_run: bool) -> str:
    wanted = {"fieldManager": manager, "force": force, "dryRun": "All" if dry_run else ""}
    return urlencode({key: value for key, value in wanted.items() if value}, safe="/")


@lru_cache(maxsize=4096)
def _impersonating(user: str, parent: str) -> str:
    if not (user + parent).isascii() or not (user + parent).isprintable():
        raise Invalid(Reason.INVALID, f"{user[:80]!r} cannot be the name of a ServiceAccount")
    return f"Impersonate-User: {user}\r\nImpersonate-Extra-{quote(PARENT_EXTRA, safe='')}: {parent}\r\n"


def _acting(actor: Actor | None) -> str:
    return _impersonating(actor.identity.user, actor.parent) if actor is not None else ""


# Answers.


def _loads(request: Request, body: bytes) -> Manifest:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unavailable(f"{request.subject}: the answer is not JSON", maybe_done=request.write) from error
    if not isinstance(found, dict):
        raise Unavailable(f"{request.subject}: the answer is not an object", maybe_done=request.write)
    return found


def _named(resource: Resource, manifest: Manifest) -> Manifest:
    """Fill in what the server left out; the object is fresh from the wire and nobody else has it yet."""
    manifest["apiVersion"] = resource.api_version
    manifest["kind"] = resource.kind
    return manifest


def _event(request: Request, resource: Resource, line: bytes) -> Event:
    try:
        found = orjson.loads(line)
        kind, item = found["type"], found["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise Unavailable(f"watch {resource.plural}: a line is not an event") from error
    if kind == "ERROR":
        raise event_problem(request, item)
    return Event(kind, _named(resource, item))
