"""An administrator frees an object: the marks of dead parents go, those of living ones if that is forced; the content stays.

The protection policy lets a request pass that carries the extra `copyhold.dev/parent`. Who sends it impersonates oneself, by the
name and groups that the server knows (SelfSubjectReview), so that RBAC judges the same person and the audit log names them, with
the parent in `impersonatedUser.extra`. That needs the verb `impersonate` on users, groups and userextras/copyhold.dev/parent,
which `cluster-admin` has.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import orjson

from apis.kind import Kind, Parent, parents
from apis.meta import ACCOUNT_PREFIX, ACTIVE_UNTIL_PREFIX, GROUP, PARENT_EXTRA, PARENT_PREFIX, TARGET_PREFIX, Manifest
from apis.problems import Blocked, Forbidden, Invalid, Stale
from apis.reasons import Reason
from manager.answers import Request, problem
from manager.cluster import ApiCluster
from manager.discovery import ACCEPT
from manager.world import Resource
from policy.ownership import MANAGER_PREFIX, observe, orphan_patch

REVIEW = Resource("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", False)

ROUNDS = 5
"""How often an object that changes meanwhile is looked at again."""

_OWN = (ACCOUNT_PREFIX, ACTIVE_UNTIL_PREFIX, PARENT_PREFIX, TARGET_PREFIX)


# Whose marks an object bears.


def marked(manifest: Manifest) -> dict[str, str]:
    """The parents whose marks or managedFields entries an object bears: UID -> field manager, proven or not."""
    metadata = manifest["metadata"]
    keys = (*(metadata.get("labels") or {}), *(metadata.get("annotations") or {}))
    found = {key.rpartition("/")[2]: "" for key in keys if key.startswith(_OWN)}
    for entry in metadata.get("managedFields") or ():
        manager = entry.get("manager", "")
        if manager.startswith(MANAGER_PREFIX) and manager.count("/") == 2:
            found[manager.rpartition("/")[2]] = manager
    # Without an entry there is only a name to make up: the patch needs the UID at its end.
    return {uid: manager or f"{GROUP}/unknown/{uid}" for uid, manager in sorted(found.items())}


async def living(cluster: ApiCluster) -> dict[str, str]:
    """Every parent that exists: UID -> how messages call it. Raises the problems of listing: what cannot be read may live."""
    found: dict[str, str] = {}
    for kind in parents():
        for manifest in await _metadata(cluster, kind):
            found[manifest["metadata"]["uid"]] = str(Parent(kind, manifest))
    return found


async def _metadata(cluster: ApiCluster, kind: Kind) -> list[Manifest]:
    try:
        resource = await cluster.resource(kind.api_version, kind.kind)
    except Blocked as blocked:
        if blocked.reason == Reason.KIND_UNKNOWN:
            return []
        raise
    return (await cluster.list(resource, metadata=True)).items


@dataclass(frozen=True, slots=True)
class Held:
    """An object, the living parents whose marks it bears (UID -> name), and the dead ones."""

    manifest: Manifest
    living: Mapping[str, str]
    dead: tuple[str, ...]
    proven: frozenset[str]  # the UIDs that hold it by managedFields


def judged(manifest: Manifest, alive: Mapping[str, str]) -> Held:
    """Who of those whose marks an object bears still exists. Pure."""
    uids = marked(manifest)
    return Held(
        manifest,
        {uid: alive[uid] for uid in uids if uid in alive},
        tuple(uid for uid in uids if uid not in alive),
        frozenset(holding.parent for holding in observe(manifest).holdings),
    )


# Freeing it.


@dataclass(frozen=True, slots=True)
class Administrator:
    """Who sends: the user and groups by which the server knows the owner of the credentials."""

    user: str
    groups: tuple[str, ...]

    def headers(self, parent: str) -> str:
        """Impersonate oneself, with the UID of the parent whose marks are dropped. Raises Invalid."""
        values = (self.user, *self.groups, parent)
        if not all(value.isascii() and value.isprintable() for value in values):
            raise Invalid(Reason.INVALID, f"user {self.user!r} or its groups cannot be written into a header")
        groups = "".join(f"Impersonate-Group: {group}\r\n" for group in self.groups)
        extra = f"Impersonate-Extra-{quote(PARENT_EXTRA, safe='')}: {parent}\r\n"
        return f"Impersonate-User: {self.user}\r\n{groups}{extra}"


async def whoami(cluster: ApiCluster) -> Administrator:
    """Whom the server takes us for. Raises the problems of the request."""
    review = await cluster.create(REVIEW, "", {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "metadata": {}})
    info = (review.get("status") or {}).get("userInfo") or {}
    return Administrator(info.get("username") or "", tuple(info.get("groups") or ()))


async def free(
    cluster: ApiCluster,
    administrator: Administrator,
    resource: Resource,
    namespace: str,
    name: str,
    uids: Collection[str],
    exists: Callable[[str], bool],
) -> bool:
    """Drop the marks and entries of these parents from an object; True when there were any.

    `exists` says which others still count: the marks that parents share go with the last of them. Each request tests the
    resourceVersion of what it was decided on. Raises Stale when the object keeps changing, and the problems of the requests.
    """
    wrote = False
    for uid in sorted(uids):
        wrote |= await _free_of(cluster, administrator, resource, namespace, name, uid, exists)
    return wrote


async def _free_of(
    cluster: ApiCluster,
    administrator: Administrator,
    resource: Resource,
    namespace: str,
    name: str,
    uid: str,
    exists: Callable[[str], bool],
) -> bool:
    for _ in range(ROUNDS):
        found = await cluster.get(resource, namespace, name, metadata=True)
        if found is None or uid not in marked(found):
            return False
        operations = orphan_patch(found, marked(found)[uid], exists=exists)
        try:
            await _patch(cluster, administrator, resource, namespace, name, operations, uid)
        except Stale:
            continue
        return True
    raise Stale(f"{resource.kind} {name} changes faster than its marks can be dropped: try again")


async def _patch(
    cluster: ApiCluster,
    administrator: Administrator,
    resource: Resource,
    namespace: str,
    name: str,
    operations: list[Manifest],
    parent: str,
) -> None:
    response = await cluster.client.request(
        "PATCH",
        resource.path(namespace, quote(name, safe=":")),
        query=urlencode({"fieldManager": "copyhold"}),
        headers=f"Content-Type: application/json-patch+json\r\nAccept: application/json\r\n{administrator.headers(parent)}",
        body=orjson.dumps(operations),
    )
    if response.status < 300:
        return
    place = f"{namespace}/{name}" if namespace else name
    secret = (resource.group, resource.plural) == ("", "secrets")
    asked = Request("PATCH", f"{resource.kind} {place}", resource.plural, sensitive=secret)
    found = problem(asked, response.status, response.body, retry_after=response.header("Retry-After"))
    if isinstance(found, Forbidden) and found.reason == Reason.FORBIDDEN:
        needs = (
            "freeing an object needs the verb patch on it, and impersonate on users, groups and "
            "userextras/copyhold.dev/parent; cluster-admin has them"
        )
        raise Forbidden(f"{found}; {needs}") from found
    raise found


# Finding the kind, as kubectl does.


async def kind_named(cluster: ApiCluster, word: str) -> Resource:
    """The served kind that is meant by a kind, plural, singular or short name, with `.group` or `.version.group` if need be.

    Raises Invalid when nothing or more than one kind is called so.
    """
    documents = [orjson.loads(await cluster.get_raw(path, accept=ACCEPT)) for path in ("/api", "/apis")]
    return the_one(word, candidates(word, documents))


def the_one(word: str, found: Iterable[Resource]) -> Resource:
    """The only one of them. Raises Invalid."""
    kinds = {(resource.group, resource.kind): resource for resource in reversed(list(found))}
    if not kinds:
        raise Invalid(Reason.KIND_UNKNOWN, f"{word}: the server has no such kind: correct the name, or install its definition")
    if len(kinds) > 1:
        ways = " or ".join(sorted(f"{one.kind}.{one.group or one.version}" for one in kinds.values()))
        raise Invalid(Reason.KIND_UNKNOWN, f"{word}: is ambiguous: say {ways}")
    return next(iter(kinds.values()))


def candidates(word: str, documents: Iterable[Manifest]) -> Iterator[Resource]:
    """The kinds of these aggregated discovery documents that are called so, in the server's order of preference. Pure."""
    base, _, place = word.lower().partition(".")
    for document in documents:
        for group in document.get("items") or ():
            name = (group.get("metadata") or {}).get("name") or ""
            for version in group.get("versions") or ():
                if place.rstrip(".") not in ("", name, version["version"], f"{version['version']}.{name}"):
                    continue
                for entry in version.get("resources") or ():
                    if base in _names(entry):
                        yield Resource(
                            name,
                            version["version"],
                            entry["responseKind"]["kind"],
                            entry["resource"],
                            entry.get("scope") == "Namespaced",
                            frozenset(entry.get("verbs") or ()),
                        )


def _names(entry: Manifest) -> set[str]:
    kind = (entry.get("responseKind") or {}).get("kind") or ""
    return {kind.lower(), entry["resource"], entry.get("singularResource") or "", *(entry.get("shortNames") or ())} - {""}
