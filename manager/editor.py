"""What a person does to a cluster: read, apply, edit and delete one object, under his own name or another's."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from time import monotonic
from urllib.parse import quote, urlencode

import orjson

from apis.meta import Manifest, Ref
from apis.problems import Blocked, Conflict, Gone, Invalid, Stale, Unavailable
from apis.reasons import Reason
from manager.answers import Request, problem
from manager.cluster import ApiCluster
from manager.world import Resource

MANAGER = "copyhold-hands"
"""The field manager of what is applied and edited, unless another is named."""

PATIENCE = 20.0
"""Seconds for which a request is repeated that may succeed by itself."""

PAUSE = 0.1

_JSON = "Accept: application/json\r\nContent-Type: application/json\r\n"
_APPLY = "Accept: application/json\r\nContent-Type: application/apply-patch+yaml\r\n"
_MERGE = "Accept: application/json\r\nContent-Type: application/merge-patch+json\r\n"


@dataclass(frozen=True, slots=True)
class Editor:
    """One person at a cluster. `user` "" is whoever the connection's credentials are; another is impersonated.

    Each method is one request, beside discovery when a kind is not known yet, and raises the problems of `apis.problems`.
    """

    cluster: ApiCluster
    user: str = ""
    groups: tuple[str, ...] = ()

    def of(self, user: str, groups: Iterable[str] = ()) -> "Editor":
        """The editor of somebody else."""
        return replace(self, user=user, groups=tuple(groups))

    async def read(self, ref: Ref) -> Manifest | None:
        """The object as it is, or None. Raises Invalid when a namespaced kind is asked for without a namespace."""
        try:
            return await self._send("GET", ref, _JSON)
        except Gone as gone:
            if gone.what == "kind":
                raise
            return None

    async def apply(self, manifest: Manifest, *, manager: str = "", force: bool = False) -> Manifest:
        """Server-side apply; answers the object as stored."""
        query = {"fieldManager": manager or MANAGER, "force": "true" if force else "false"}
        return await self._send("PATCH", Ref.of(manifest), _APPLY, query, orjson.dumps(manifest))

    async def edit(self, patch: Manifest, *, manager: str = "", subresource: str = "") -> Manifest:
        """A JSON merge patch that names its object by apiVersion, kind and metadata; answers the object as stored."""
        query = {"fieldManager": manager or MANAGER}
        return await self._send("PATCH", Ref.of(patch), _MERGE, query, orjson.dumps(patch), subresource)

    async def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """POST; with `dry_run` everything is judged and nothing stored."""
        query = {"fieldManager": MANAGER} | ({"dryRun": "All"} if dry_run else {})
        return await self._send("POST", Ref.of(manifest), _JSON, query, orjson.dumps(manifest))

    async def delete(self, ref: Ref) -> None:
        """DELETE with background propagation. Raises Gone when nothing is there."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        await self._send("DELETE", ref, _JSON, body=orjson.dumps(options))

    async def _send(
        self,
        method: str,
        ref: Ref,
        headers: str,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        subresource: str = "",
    ) -> Manifest:
        resource = await self.cluster.resource(ref.api_version, ref.kind)
        path = _path(resource, ref, "" if method == "POST" else ref.name, subresource)
        sensitive = (resource.group, resource.plural) == ("", "secrets")
        request = Request(method, str(ref), resource.plural, sensitive=sensitive, apply=headers is _APPLY)
        answer = await self.cluster.client.request(
            method, path, query=urlencode(query or {}), headers=headers + self._impersonating(), body=body
        )
        if answer.status >= 300:
            found = problem(request, answer.status, answer.body, retry_after=answer.header("Retry-After"))
            if isinstance(found, Gone) and found.what == "kind":
                self.cluster.doubt()
            raise found
        manifest: Manifest = orjson.loads(answer.body)
        return manifest

    def _impersonating(self) -> str:
        if not self.user:
            return ""
        lines = [("Impersonate-User", self.user), *(("Impersonate-Group", group) for group in self.groups)]
        return "".join(f"{name}: {value}\r\n" for name, value in lines)


async def persistently(attempt: Callable[[], Awaitable[object]], patience: float = PATIENCE) -> None:
    """Try until it succeeds, for `patience` seconds: what was written before (rights, kinds) comes into force a moment later.

    Raises Invalid and Conflict at once, since only another request helps, and in the end the last problem.
    """
    deadline = monotonic() + patience
    while True:
        try:
            await attempt()
            return
        except (Blocked, Gone, Stale, Unavailable) as problem:
            if isinstance(problem, Conflict) or monotonic() > deadline:
                raise
        await asyncio.sleep(PAUSE)


def _path(resource: Resource, ref: Ref, name: str, subresource: str) -> str:
    if resource.namespaced and not ref.namespace:
        raise Invalid(Reason.INVALID, f"{ref}: metadata.namespace is missing: add it, there is no default namespace here")
    namespace = quote(ref.namespace, safe="") if resource.namespaced else ""
    return resource.path(namespace, quote(name, safe=":"), subresource)
