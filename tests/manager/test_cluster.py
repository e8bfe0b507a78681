"""The real Cluster: one request per method, what the server leaves out filled in, and its answers as problems."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from apis.intent import Identity
from apis.meta import Manifest
from apis.problems import Blocked, Conflict, Expired, Forbidden, Gone, Invalid, Stale, Unavailable
from apis.reasons import Reason
from manager.cluster import RESTARTS, ApiCluster
from manager.endpoint import Bearer, Endpoint, Response
from manager.http import Client
from manager.watch import Replace, State, follow
from manager.world import Actor, Event, Listing, Resource
from tests.realserver.access import Access
from tests.support.api import Api, ref

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
NAMESPACE = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
ACTOR = Actor(Identity("platform", "distributor"), "0b3c5a1e-0000-4000-8000-000000000001")
MANAGER = "copyhold.dev/tenantresource/0b3c5a1e-0000-4000-8000-000000000001"


class Wire:
    """Stands for the Client: gives scripted answers and remembers what was asked."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.lines: list[bytes] = []
        self.status = 200

    async def request(self, method: str, path: str, **given: Any) -> Response:
        """The next answer."""
        self.asked.append({"method": method, "path": path, **given})
        status, body = self.answers.pop(0)
        if isinstance(body, Exception):
            raise body
        return Response(status, [(b"Retry-After", b"3")], body if isinstance(body, bytes) else orjson.dumps(body))

    def stream(self, path: str, **given: Any) -> "Wire":
        """A stream of the lines that are set."""
        self.asked.append({"method": "WATCH", "path": path, **given})
        return self

    async def __aenter__(self) -> "Wire":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self.lines:
            yield line

    async def read(self) -> bytes:
        """The body of a refusal."""
        return b"\n".join(self.lines)

    def header(self, name: str) -> str | None:
        """No headers."""
        return None


def over(wire: Wire, **settings: Any) -> ApiCluster:
    """A cluster that talks to that wire."""
    return ApiCluster(wire, **settings)  # type: ignore[arg-type]


def failure(code: int, message: str = "", **details: Any) -> tuple[int, Manifest]:
    """An answer that says no."""
    return code, {"kind": "Status", "status": "Failure", "code": code, "message": message, "details": details}


# What is sent.


async def test_an_apply_is_one_patch_that_asks_for_metadata() -> None:
    """Method, path, query and headers, with the parent's account and the proof of the manager."""
    wire = Wire((201, {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}))
    applied = await over(wire).apply(CONFIG_MAP, "team", "a", b"{}", manager=MANAGER, force=True, actor=ACTOR, dry_run=True)
    asked = wire.asked[0]
    assert (asked["method"], asked["path"], asked["body"]) == ("PATCH", "/api/v1/namespaces/team/configmaps/a", b"{}")
    assert parse_qs(asked["query"]) == {"fieldManager": [MANAGER], "force": ["true"], "dryRun": ["All"]}
    assert asked["headers"].splitlines() == [
        "Content-Type: application/apply-patch+yaml",
        "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "Impersonate-User: system:serviceaccount:platform:distributor",
        f"Impersonate-Extra-copyhold.dev%2Fparent: {ACTOR.parent}",
    ]
    assert applied.created
    assert applied.object == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


async def test_a_delete_carries_what_it_was_decided_on() -> None:
    """UID and resourceVersion are preconditions; those that are not known are not sent."""
    wire = Wire((200, {"kind": "Status"}), (200, {"kind": "Status"}))
    await over(wire).delete(CONFIG_MAP, "team", "a", uid="u", resource_version="7")
    await over(wire).delete(CONFIG_MAP, "team", "a", uid="u", resource_version="")
    bodies = [orjson.loads(asked["body"]) for asked in wire.asked]
    assert [body["preconditions"] for body in bodies] == [{"uid": "u", "resourceVersion": "7"}, {"uid": "u"}]
    assert {body["propagationPolicy"] for body in bodies} == {"Background"}


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        ({"kind": "Status", "status": "Success"}, True),
        ({"kind": "PartialObjectMetadata", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        ({"kind": "PartialObjectMetadata", "metadata": {}}, True),
    ],
)
async def test_a_delete_says_whether_the_object_is_gone(answer: Manifest, gone: bool) -> None:
    """A Status, or an object without a deletionTimestamp, is gone; the rest is terminating."""
    assert await over(Wire((200, answer))).delete(CONFIG_MAP, "team", "a", uid="", resource_version="") is gone


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("team", ""),
        ("", "a"),
        ("team", "."),
        ("team", ".."),
        ("..", "a"),
        ("team", "a/status"),
        ("team", "../../secrets/a"),
        ("team/configmaps/b", "a"),
        ("team", "a%2fb"),
        ("team", "a\nb"),
        ("team", "a\x00"),
    ],
)
async def test_a_name_cannot_reach_beyond_its_place(namespace: str, name: str) -> None:
    """Names come from templates: an empty one would mean the whole collection, a path another object or subresource."""
    wire = Wire()
    cluster = over(wire)
    for request in (
        cluster.get(CONFIG_MAP, namespace, name),
        cluster.apply(CONFIG_MAP, namespace, name, b"{}", manager=MANAGER),
        cluster.delete(CONFIG_MAP, namespace, name, uid="", resource_version=""),
        cluster.json_patch(CONFIG_MAP, namespace, name, []),
        cluster.merge_patch(CONFIG_MAP, namespace, name, {}),
        cluster.replace(CONFIG_MAP, {"metadata": {"namespace": namespace, "name": name}}),
    ):
        with pytest.raises(Invalid):
            await request
    assert wire.asked == []


@pytest.mark.parametrize(("name", "written"), [("system:node", "system:node"), ("a b?c#d", "a%20b%3Fc%23d"), ("ä", "%C3%A4")])
async def test_unusual_names_are_written_as_a_path_wants_them(name: str, written: str) -> None:
    """RBAC names may hold nearly anything."""
    wire = Wire((200, {"metadata": {}}))
    await over(wire).get(CONFIG_MAP, "team", name)
    assert wire.asked[0]["path"] == f"/api/v1/namespaces/team/configmaps/{written}"


async def test_an_account_cannot_smuggle_a_header() -> None:
    """Its name comes from a spec."""
    actor = Actor(Identity("team", "x\r\nImpersonate-Group: system:masters"), "uid")
    with pytest.raises(Invalid):
        await over(Wire()).get(CONFIG_MAP, "team", "a", actor=actor)


async def test_cluster_scoped_objects_have_no_namespace_in_their_path() -> None:
    """A namespace that is given all the same is left out."""
    wire = Wire((200, {"metadata": {}}))
    await over(wire).get(NAMESPACE, "team", "a")
    assert wire.asked[0]["path"] == "/api/v1/namespaces/a"


# What comes back.


async def test_what_is_absent_is_none_and_what_is_refused_is_not() -> None:
    """Only a 404 of the object itself means absent."""
    cluster = over(
        Wire(
            failure(404, 'configmaps "a" not found', kind="configmaps"), failure(403, "cannot get"), (404, b"404 page not found")
        )
    )
    assert await cluster.get(CONFIG_MAP, "team", "a") is None
    with pytest.raises(Forbidden):
        await cluster.get(CONFIG_MAP, "team", "a")
    with pytest.raises(Gone) as caught:
        await cluster.get(CONFIG_MAP, "team", "a")
    assert caught.value.what == "kind"


async def test_a_list_is_read_over_all_pages_and_each_object_knows_what_it_is() -> None:
    """Items of lists have neither apiVersion nor kind; those of metadata lists have the wrong ones."""
    pages = [
        {"metadata": {"resourceVersion": "9", "continue": "c1"}, "items": [{"metadata": {"name": "a"}}]},
        {"metadata": {"resourceVersion": "9", "continue": "c2"}, "items": None},
        {"metadata": {"resourceVersion": "9"}, "items": [{"kind": "PartialObjectMetadata", "metadata": {"name": "b"}}]},
    ]
    wire = Wire(*((200, page) for page in pages))
    found = await over(wire).list(CONFIG_MAP, "team", labels="a in (b,c)", fields="metadata.name=x")
    named = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab"]
    assert found == Listing(named, "9")
    queries = [parse_qs(asked["query"]) for asked in wire.asked]
    assert [query.get("continue") for query in queries] == [None, ["c1"], ["c2"]]
    assert all(query["labelSelector"] == ["a in (b,c)"] and query["fieldSelector"] == ["metadata.name=x"] for query in queries)


async def test_case_074_a_list_whose_pages_expire_begins_anew() -> None:
    """Nothing of the old list is kept: an object that vanished between the two is not in the new one."""
    first = {"metadata": {"resourceVersion": "5", "continue": "c"}, "items": [{"metadata": {"name": "vanished"}}]}
    again = {"metadata": {"resourceVersion": "8"}, "items": [{"metadata": {"name": "stays"}}]}
    wire = Wire((200, first), failure(410, "The provided continue parameter is too old"), (200, again))
    found = await over(wire).list(CONFIG_MAP, "team")
    assert [item["metadata"]["name"] for item in found.items] == ["stays"]
    assert found.resource_version == "8"
    assert "continue" not in wire.asked[2]["query"]


async def test_case_074_a_list_that_never_comes_to_its_end_is_unavailable() -> None:
    """A part of a list is never a list."""
    first = {"metadata": {"resourceVersion": "5", "continue": "c"}, "items": []}
    wire = Wire(*[(200, first), failure(410, "too old")] * RESTARTS)
    with pytest.raises(Unavailable):
        await over(wire).list(CONFIG_MAP, "team")


async def test_a_list_that_fails_on_a_later_page_fails() -> None:
    """Whatever the failure is."""
    first = {"metadata": {"resourceVersion": "5", "continue": "c"}, "items": []}
    with pytest.raises(Forbidden):
        await over(Wire((200, first), failure(403, "cannot list"))).list(CONFIG_MAP, "team")


async def collect(cluster: ApiCluster) -> list[Event]:
    """All events of one watch."""
    return [event async for event in cluster.watch(CONFIG_MAP, "team", since="5", labels="a=b", metadata=True)]


async def test_a_watch_gives_its_events_with_bookmarks() -> None:
    """Each line is one event whose object knows what it is."""
    wire = Wire()
    wire.lines = [
        b'{"type":"ADDED","object":{"kind":"PartialObjectMetadata","metadata":{"name":"a"}}}',
        b"",
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}',
    ]
    events = await collect(over(wire))
    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]
    assert events[0].object == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    query = parse_qs(wire.asked[0]["query"])
    assert (query["resourceVersion"], query["allowWatchBookmarks"], query["labelSelector"]) == (["5"], ["true"], ["a=b"])
    assert 300 <= int(query["timeoutSeconds"][0]) <= 400


async def test_case_073_an_expired_version_is_told_in_both_forms() -> None:
    """As the status of the answer, and as an ERROR event in the stream."""
    status = {"kind": "Status", "code": 410, "message": "too old resource version: 5 (9)"}
    wire = Wire()
    wire.lines = [orjson.dumps({"type": "ERROR", "object": status})]
    with pytest.raises(Expired):
        await collect(over(wire))
    wire.status, wire.lines = 410, [orjson.dumps(status)]
    with pytest.raises(Expired):
        await collect(over(wire))


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b"{}", b'{"type":"ADDED"}', b"7"])
async def test_a_line_that_is_no_event_ends_the_watch(line: bytes) -> None:
    """It is a problem, not a silent gap."""
    wire = Wire()
    wire.lines = [line]
    with pytest.raises(Unavailable):
        await collect(over(wire))


async def test_an_answer_that_is_no_object_is_unavailable() -> None:
    """A proxy's page with status 200; after a write nobody knows what happened."""
    with pytest.raises(Unavailable) as caught:
        await over(Wire((200, b"<html>"))).apply(CONFIG_MAP, "team", "a", b"{}", manager=MANAGER)
    assert caught.value.maybe_done
    with pytest.raises(Unavailable) as caught:
        await over(Wire((200, b"[]"))).get(CONFIG_MAP, "team", "a")
    assert not caught.value.maybe_done


async def test_case_103_a_refused_secret_is_not_echoed() -> None:
    """The Cluster knows which kind it asked about."""
    wire = Wire(failure(422, 'Secret "a" is invalid: data[x]: Invalid value: "hunter2"'))
    with pytest.raises(Invalid) as caught:
        await over(wire).apply(SECRET, "team", "a", b"{}", manager=MANAGER)
    assert "hunter2" not in str(caught.value)


async def test_a_throttled_request_says_when_to_come_back() -> None:
    """The header reaches the problem."""
    with pytest.raises(Unavailable) as caught:
        await over(Wire(failure(429, "slow down"))).get(CONFIG_MAP, "team", "a")
    assert caught.value.retry_after == 3.0


async def test_every_request_is_observed() -> None:
    """Method, path, status and time; a request without an answer has status 0."""
    seen: list[tuple[Any, ...]] = []
    times = iter(range(100))
    wire = Wire((200, {"metadata": {}}), failure(409), (0, Unavailable("down")))
    cluster = over(wire, observer=lambda *what: seen.append(what), clock=lambda: float(next(times)))
    await cluster.get(CONFIG_MAP, "team", "a")
    with pytest.raises(Stale):
        await cluster.create(CONFIG_MAP, "team", {"metadata": {"name": "a"}})
    with pytest.raises(Unavailable):
        await cluster.replace(CONFIG_MAP, {"metadata": {"namespace": "team", "name": "a"}})
    await collect(cluster)
    assert seen == [
        ("GET", "/api/v1/namespaces/team/configmaps/a", 200, 1.0),
        ("POST", "/api/v1/namespaces/team/configmaps", 409, 1.0),
        ("PUT", "/api/v1/namespaces/team/configmaps/a", 0, 1.0),
        ("WATCH", "/api/v1/namespaces/team/configmaps", 200, 1.0),
    ]


# On a real server.


def endpoint(server: Access, *, port: int | None = None) -> Endpoint:
    """The real server, perhaps through a port of ours."""
    url = urlsplit(server.url)
    assert url.hostname is not None
    assert url.port is not None
    tls = ssl.create_default_context(cafile=str(server.ca))
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return Endpoint(url.hostname, port or url.port, tls=tls, credentials=Bearer(server.token))


@contextlib.asynccontextmanager
async def connected(server: Access, **settings: Any) -> AsyncIterator[ApiCluster]:
    """A cluster on the real server, closed at the end."""
    client = Client(endpoint(server, port=settings.pop("port", None)))
    try:
        yield ApiCluster(client, **settings)
    finally:
        await client.close(grace=1)


def config_map(namespace: str, name: str, **data: str) -> Manifest:
    """A ConfigMap."""
    return ref("v1", "ConfigMap", name, namespace) | {"data": data}


async def test_the_real_server_creates_updates_and_refuses_by_apply(server: Access, namespace: str) -> None:
    """201 and 200 are told apart; a create-only apply loses, and another manager's field is a conflict that names it."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")

        async def apply(manifest: Manifest, **settings: Any) -> Any:
            settings = {"manager": MANAGER, **settings}
            return await cluster.apply(resource, namespace, "a", orjson.dumps(manifest), **settings)

        wanted = config_map(namespace, "a", x="1")
        first, second = await apply(wanted), await apply(wanted)
        assert (first.created, second.created) == (True, False)
        assert first.object["metadata"]["resourceVersion"] == second.object["metadata"]["resourceVersion"]
        assert (first.object["kind"], first.object["apiVersion"]) == ("ConfigMap", "v1")
        assert "data" not in first.object
        assert (await apply(wanted, metadata=False)).object["data"] == {"x": "1"}
        with pytest.raises(Stale):
            await apply(wanted | {"metadata": wanted["metadata"] | {"resourceVersion": "1"}})
        with pytest.raises(Stale):
            await apply(wanted | {"metadata": wanted["metadata"] | {"uid": "0b3c5a1e-0000-4000-8000-000000000009"}})
        with pytest.raises(Conflict) as conflict:
            await apply(config_map(namespace, "a", x="2"), manager="other")
        assert conflict.value.fields == {".data.x": MANAGER}
        await apply(config_map(namespace, "a", x="2"), manager="other", force=True)
        with pytest.raises(Invalid, match=r"\.dta: field not declared in schema"):
            await apply(wanted | {"dta": {}})
        with pytest.raises(Invalid, match=r"\.data\.x: expected string"):
            await apply(wanted | {"data": {"x": 1}})


async def test_the_real_server_says_what_is_gone(server: Access, namespace: str) -> None:
    """The object, the namespace and the kind."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        with pytest.raises(Gone) as caught:
            await cluster.delete(resource, namespace, "absent", uid="", resource_version="")
        assert caught.value.what == "object"
        body = orjson.dumps(config_map("absent-namespace", "a"))
        with pytest.raises(Gone) as caught:
            await cluster.apply(resource, "absent-namespace", "a", body, manager=MANAGER)
        assert caught.value.what == "namespace"
        with pytest.raises(Gone) as caught:
            await cluster.list(Resource("shop.example.org", "v1", "Cart", "carts", namespaced=True))
        assert caught.value.what == "kind"
        assert await cluster.get(resource, namespace, "absent") is None
        assert await cluster.discovery.gone("shop.example.org", "Cart")
        assert not await cluster.discovery.gone("apps", "Deployment")
        with pytest.raises(Blocked) as unknown:
            await cluster.resource("shop.example.org/v1", "Cart")
        assert unknown.value.reason == Reason.KIND_UNKNOWN


async def test_the_real_server_keeps_preconditions_and_patches(server: Access, namespace: str) -> None:
    """Wrong preconditions and a failed `test` are Stale; a finalizer makes a delete take its time."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        made = await cluster.create(resource, namespace, config_map(namespace, "a", x="1"))
        with pytest.raises(Stale):
            await cluster.create(resource, namespace, config_map(namespace, "a", x="1"))
        with pytest.raises(Stale):
            await cluster.json_patch(resource, namespace, "a", [{"op": "test", "path": "/data/x", "value": "2"}])
        patched = await cluster.merge_patch(resource, namespace, "a", {"metadata": {"finalizers": ["example.org/wait"]}})
        with pytest.raises(Stale):
            await cluster.replace(resource, made)
        with pytest.raises(Stale):
            await cluster.delete(resource, namespace, "a", uid="0b3c5a1e-0000-4000-8000-000000000009", resource_version="")
        metadata = patched["metadata"]
        where = {"uid": metadata["uid"], "resource_version": metadata["resourceVersion"]}
        assert not await cluster.delete(resource, namespace, "a", **where)
        left = await cluster.json_patch(resource, namespace, "a", [{"op": "remove", "path": "/metadata/finalizers"}])
        assert "data" not in left
        assert await cluster.get(resource, namespace, "a") is None
        await cluster.create(resource, namespace, config_map(namespace, "b"))
        assert await cluster.delete(resource, namespace, "b", uid="", resource_version="")


async def test_the_real_server_refuses_an_account_without_rights(server: Access, namespace: str) -> None:
    """The request is the account's, not ours."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        actor = Actor(Identity(namespace, "nobody"), "0b3c5a1e-0000-4000-8000-000000000001")
        body = orjson.dumps(config_map(namespace, "a"))
        for request in (
            cluster.get(resource, namespace, "a", actor=actor),
            cluster.list(resource, namespace, actor=actor),
            cluster.apply(resource, namespace, "a", body, manager=MANAGER, actor=actor),
        ):
            with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:nobody") as caught:
                await request
            assert not caught.value.namespace_terminating


async def test_the_real_server_lists_over_pages_and_as_metadata(
    server: Access, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small pages give the same list as large ones; an empty list of metadata is empty."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        names = [f"a{number}" for number in range(7)]
        for name in names:
            await cluster.create(resource, namespace, config_map(namespace, name, x="1") | {"kind": "ConfigMap"})
        monkeypatch.setattr("manager.cluster.PAGE", 3)
        found = await cluster.list(resource, namespace, metadata=True)
        ours = [item for item in found.items if item["metadata"]["name"] in names]
        assert [item["metadata"]["name"] for item in ours] == names
        assert all(item["kind"] == "ConfigMap" and "data" not in item and item["metadata"]["managedFields"] for item in ours)
        assert (await cluster.list(resource, namespace, labels="none=here", metadata=True)).items == []


async def test_the_real_server_is_followed(server: Access, namespace: str) -> None:
    """The list, then what happens; a label that goes is a DELETED."""
    got: asyncio.Queue[Any] = asyncio.Queue()
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        watched = config_map(namespace, "a", x="1")
        watched["metadata"]["labels"] = {"watched": "yes"}
        await cluster.create(resource, namespace, watched)
        following = asyncio.ensure_future(
            follow(
                cluster,
                resource,
                got.put_nowait,
                lambda state, problem: None,
                namespace=namespace,
                labels="watched=yes",
                metadata=True,
            )
        )
        async with asyncio.timeout(20):
            first = await got.get()
            assert isinstance(first, Replace)
            assert [item["metadata"]["name"] for item in first.listing.items] == ["a"]
            await cluster.merge_patch(resource, namespace, "a", {"data": {"x": "2"}})
            changed = await got.get()
            assert (changed.type, changed.object["kind"], "data" in changed.object) == ("MODIFIED", "ConfigMap", False)
            await cluster.merge_patch(resource, namespace, "a", {"metadata": {"labels": {"watched": None}}})
            assert (await got.get()).type == "DELETED"
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


EXPIRED = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old resource version: 5 (9)"}


@pytest.mark.parametrize("form", ["status", "event"])
async def test_case_073_following_a_real_server_survives_an_expired_version(
    server: Access, namespace: str, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """410 in either form: the new list tells what happened in between."""
    expired = Wire()
    if form == "status":
        expired.status, expired.lines = 410, [orjson.dumps(EXPIRED)]
    else:
        expired.lines = [orjson.dumps({"type": "ERROR", "object": EXPIRED})]
    got: asyncio.Queue[Any] = asyncio.Queue()
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        await cluster.create(resource, namespace, config_map(namespace, "goes"))
        stream, list_ = cluster.client.stream, cluster.list
        streams = iter([expired])
        monkeypatch.setattr(cluster.client, "stream", lambda *args, **given: next(streams, None) or stream(*args, **given))

        async def gap(*args: Any, **given: Any) -> Listing:
            """Between the list and the watch one object goes and another comes."""
            found = await list_(*args, **given)
            monkeypatch.setattr(cluster, "list", list_)
            await cluster.delete(resource, namespace, "goes", uid="", resource_version="")
            await cluster.create(resource, namespace, config_map(namespace, "comes"))
            return found

        monkeypatch.setattr(cluster, "list", gap)
        following = asyncio.ensure_future(
            follow(cluster, resource, got.put_nowait, lambda state, problem: None, namespace=namespace, metadata=True)
        )
        seen: set[tuple[str, str]] = set()
        async with asyncio.timeout(20):
            assert isinstance(await got.get(), Replace)
            while not {("DELETED", "goes"), ("ADDED", "comes")} <= seen:
                event = await got.get()
                seen.add((event.type, event.object["metadata"]["name"]))
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def test_case_074_a_list_of_a_real_server_survives_an_expired_token(
    server: Access, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """410 on page two makes the list begin anew, and the answer is whole."""
    async with connected(server) as cluster:
        resource = await cluster.resource("v1", "ConfigMap")
        names = [f"a{number}" for number in range(5)]
        for name in names:
            await cluster.create(resource, namespace, config_map(namespace, name))
        monkeypatch.setattr("manager.cluster.PAGE", 2)
        request = cluster.client.request
        queries: list[str] = []

        async def spoiled(method: str, path: str, **given: Any) -> Response:
            """The second request is answered as an API server does after a compaction."""
            queries.append(given["query"])
            if len(queries) == 2:
                return Response(410, [], orjson.dumps(EXPIRED))
            return await request(method, path, **given)

        monkeypatch.setattr(cluster.client, "request", spoiled)
        found = await cluster.list(resource, namespace)
        assert [item["metadata"]["name"] for item in found.items if item["metadata"]["name"] in names] == names
        assert ["continue" in query for query in queries[:4]] == [False, True, False, True]


class Proxy:
    """A TCP proxy that can stop forwarding without closing anything, as a firewall does that forgets a connection."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def swallow(self) -> None:
        """From now on nothing more is forwarded on the connections that are open; new ones work."""
        self._open, old = asyncio.Event(), self._open
        self._open.set()
        old.clear()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._run(reader, writer, self._open))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passing: asyncio.Event) -> None:
        upstream, back = await asyncio.open_connection(*self._target)
        try:
            await asyncio.gather(self._pump(reader, back, passing), self._pump(upstream, writer, passing))
        finally:
            writer.close()
            back.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, passing: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                await passing.wait()
                sink.write(data)
                await sink.drain()
        sink.close()


async def test_case_071_a_watch_that_went_silent_is_replaced(server: Access, namespace: str) -> None:
    """A proxy forgets the connection: what happens meanwhile arrives all the same, once, over a new one."""
    direct = endpoint(server)
    got: asyncio.Queue[Any] = asyncio.Queue()
    states: list[State] = []
    async with (
        Proxy(direct.host, direct.port) as proxy,
        connected(server) as cluster,
        connected(server, port=proxy.port, silence=1.0) as watching,
    ):
        resource = await cluster.resource("v1", "ConfigMap")
        following = asyncio.ensure_future(
            follow(
                watching,
                resource,
                got.put_nowait,
                lambda state, problem: states.append(state),
                namespace=namespace,
                jitter=lambda: 0.0,
            )
        )
        async with asyncio.timeout(20):
            assert isinstance(await got.get(), Replace)
            await cluster.create(resource, namespace, config_map(namespace, "before"))
            while (event := await got.get()).object["metadata"]["name"] != "before":
                pass
            proxy.swallow()
            await cluster.create(resource, namespace, config_map(namespace, "meanwhile"))
            while (event := await got.get()).object["metadata"]["name"] != "meanwhile":
                pass
            assert event.type == "ADDED"
        assert states[:2] == [State.SYNCED, State.UNAVAILABLE]
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def test_case_025_the_real_server_gets_a_kind_while_we_run(
    server: Access, api: Api, temporary: Callable[[Manifest], Manifest], unique: Callable[[str], str]
) -> None:
    """First unknown, then created, then found, without a restart."""
    plural = unique("carts").replace("-", "")
    group = "shop.example.org"
    schema = {"openAPIV3Schema": {"type": "object"}}
    crd = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}") | {
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }
    }
    time = 0.0
    async with connected(server, clock=lambda: time) as cluster:
        with pytest.raises(Blocked):
            await cluster.resource(f"{group}/v1", plural.capitalize())
        temporary(crd)
        async with asyncio.timeout(20):
            while True:
                time += 10
                try:
                    found = await cluster.resource(f"{group}/v1", plural.capitalize())
                    break
                except (Blocked, Unavailable):
                    await asyncio.sleep(0.1)  # bounded polling: the server takes its time to serve a new kind
        assert found.plural == plural
