"""Which kinds there are: found when they come late, unavailable rather than unknown, gone only with proof."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from apis.problems import Blocked, Forbidden, Gone, Problem, Unavailable
from apis.reasons import Reason
from manager.discovery import PAUSE, Discovery, catalogue
from manager.world import Resource

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def entry(plural: str, kind: str, *, scope: str = "Namespaced") -> dict[str, Any]:
    """One resource as aggregated discovery lists it."""
    verbs = ["get", "list", "watch", "patch", "delete"]
    return {"resource": plural, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": scope, "verbs": verbs}


def group(name: str, **versions: list[dict[str, Any]] | None) -> dict[str, Any]:
    """One group with its versions in order; None is a version whose server does not answer."""
    served = [
        {"version": version, "resources": resources or [], "freshness": "Stale" if resources is None else "Current"}
        for version, resources in versions.items()
    ]
    return {"metadata": {"name": name} if name else {}, "versions": served}


def document(*groups: dict[str, Any]) -> bytes:
    """An APIGroupDiscoveryList."""
    return orjson.dumps({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups})


CORE = document(group("", v1=[entry("configmaps", "ConfigMap"), entry("namespaces", "Namespace", scope="Cluster")]))
SHOP = group("shop.example.org", v1=[entry("carts", "Cart")], v1beta1=[entry("carts", "Cart"), entry("lists", "Wish")])


class Server:
    """Answers by path; counts what was asked; an answer that is a problem is raised."""

    def __init__(self, *groups: dict[str, Any], services: Any = ()) -> None:
        self.asked: list[str] = []
        self.time = 1000.0
        self.answers: dict[str, bytes | Problem] = {}
        self.serve(*groups, services=services)
        self.before: Callable[[], Awaitable[None]] | None = None
        self.discovery = Discovery(self.fetch, lambda: self.time)

    def serve(self, *groups: dict[str, Any], services: Any = ()) -> None:
        """Serve these groups from now on."""
        self.answers = {"/api": CORE, "/apis": document(*groups), SERVICES: orjson.dumps({"items": services or None})}

    async def fetch(self, path: str, accept: str) -> bytes:
        """One GET."""
        self.asked.append(path)
        if self.before is not None:
            await self.before()
        answer = self.answers[path]
        if isinstance(answer, Problem):
            raise answer
        return answer

    @property
    def readings(self) -> int:
        """How often discovery was read."""
        return self.asked.count("/apis")


async def test_a_kind_has_its_place_and_verbs() -> None:
    """Everything that a request needs comes out of one reading."""
    server = Server(SHOP)
    cart = await server.discovery.resource("shop.example.org/v1beta1", "Cart")
    verbs = frozenset({"get", "list", "watch", "patch", "delete"})
    assert cart == Resource("shop.example.org", "v1beta1", "Cart", "carts", namespaced=True, verbs=verbs)
    namespace = await server.discovery.resource("v1", "Namespace")
    assert (namespace.group, namespace.plural, namespace.namespaced) == ("", "namespaces", False)
    assert server.readings == 1


async def test_the_servers_order_of_versions_is_its_preference() -> None:
    """Any version of a recorded kind will do, and the first is the best; a hint for another is taken when that is served."""
    discovery = Server(SHOP).discovery
    assert (await discovery.any_version("shop.example.org", "Cart")).version == "v1"
    assert (await discovery.any_version("shop.example.org", "Wish")).version == "v1beta1"
    assert (await discovery.by_plural("shop.example.org", "carts")).version == "v1"
    assert (await discovery.by_plural("shop.example.org", "carts", "v1beta1")).version == "v1beta1"
    assert (await discovery.by_plural("shop.example.org", "carts", "v7")).version == "v1"
    assert (await discovery.by_plural("shop.example.org", "lists")).kind == "Wish"


async def test_every_kind_is_served_once_in_its_preferred_version() -> None:
    """A sweep over all kinds reads none twice."""
    served = await Server(SHOP).discovery.served()
    assert {(kind.kind, kind.version) for kind in served} == {
        ("ConfigMap", "v1"),
        ("Namespace", "v1"),
        ("Cart", "v1"),
        ("Wish", "v1beta1"),
    }


async def test_kinds_with_equal_verbs_share_them() -> None:
    """A cluster with a thousand kinds keeps a handful of verb sets."""
    served = await Server(SHOP).discovery.served()
    assert len({id(kind.verbs) for kind in served if kind.group}) == 1


async def test_an_unknown_kind_blocks_and_names_the_remedy() -> None:
    """Somebody has to install it, or to correct the name."""
    with pytest.raises(Blocked, match="CustomResourceDefinition") as caught:
        await Server().discovery.resource("shop.example.org/v1", "Cart")
    assert caught.value.reason == Reason.KIND_UNKNOWN


async def test_case_025_a_kind_that_is_created_later_is_found() -> None:
    """Misses read again, but at most every few seconds."""
    server = Server()
    for _ in range(5):
        with pytest.raises(Blocked):
            await server.discovery.resource("shop.example.org/v1", "Cart")
    assert server.readings == 1
    server.serve(SHOP)
    server.time += PAUSE - 0.1
    with pytest.raises(Blocked):
        await server.discovery.resource("shop.example.org/v1", "Cart")
    server.time += 0.2
    assert (await server.discovery.resource("shop.example.org/v1", "Cart")).plural == "carts"
    assert server.readings == 2


async def test_what_is_known_is_not_read_again() -> None:
    """Hours later the answer still costs no request."""
    server = Server(SHOP)
    for _ in range(10):
        server.time += 3600
        await server.discovery.resource("shop.example.org/v1", "Cart")
    assert server.readings == 1


async def test_many_who_miss_at_once_share_one_reading() -> None:
    """A hundred parents of one missing kind cost one reading, also when the first of them gives up."""
    server = Server()
    release = asyncio.Event()

    async def wait() -> None:
        await release.wait()

    server.before = wait
    tasks = [asyncio.ensure_future(server.discovery.resource("v1", "ConfigMap")) for _ in range(100)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    release.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, Resource) for result in results[1:])
    assert server.readings == 1


async def test_a_group_whose_server_is_down_is_unavailable_not_unknown() -> None:
    """Its kinds may well exist."""
    server = Server(group("metrics.k8s.io", v1beta1=None))
    with pytest.raises(Unavailable, match=r"metrics\.k8s\.io"):
        await server.discovery.resource("metrics.k8s.io/v1beta1", "PodMetrics")
    with pytest.raises(Blocked):
        await server.discovery.resource("shop.example.org/v1", "Cart")


async def test_a_kind_that_a_stale_group_still_lists_is_known() -> None:
    """The server remembers what the group served, and so do we."""
    down = group("metrics.k8s.io", v1beta1=[entry("pods", "PodMetrics")])
    down["versions"][0]["freshness"] = "Stale"
    assert (await Server(down).discovery.resource("metrics.k8s.io/v1beta1", "PodMetrics")).plural == "pods"


async def test_discovery_that_fails_is_unavailable_and_what_was_known_stays() -> None:
    """A failed reading decides nothing."""
    server = Server(SHOP)
    await server.discovery.resource("v1", "ConfigMap")
    server.answers["/apis"] = Unavailable("down")
    server.time += 60
    assert (await server.discovery.resource("shop.example.org/v1", "Cart")).plural == "carts"
    for ask in (server.discovery.resource("x/v1", "Y"), server.discovery.gone("x", "Y")):
        with pytest.raises(Unavailable, match="down"):
            await ask


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"null", b'{"kind":"APIGroupList","groups":[]}'])
def test_another_form_of_discovery_is_refused(body: bytes) -> None:
    """An old server, or no API server at all, must not look like one without kinds."""
    with pytest.raises(Unavailable):
        catalogue([body])


async def test_a_path_that_was_not_served_is_looked_up_again() -> None:
    """A version was removed from a CRD: after the 404 the next question reads, but not each one of a hundred."""
    server = Server(SHOP)
    await server.discovery.resource("shop.example.org/v1", "Cart")
    server.serve(group("shop.example.org", v1beta1=[entry("carts", "Cart")]))
    server.time += PAUSE
    for _ in range(10):
        server.discovery.doubt()
        assert (await server.discovery.any_version("shop.example.org", "Cart")).version == "v1beta1"
    assert server.readings == 2


# Gone (promise 5).

AVAILABLE = {"conditions": [{"type": "Available", "status": "True"}]}
DOWN = {"conditions": [{"type": "Available", "status": "False"}]}


@pytest.mark.parametrize(
    ("groups", "services", "gone"),
    [
        pytest.param([], [], True, id="no group, no service"),
        pytest.param([SHOP], [], False, id="a version serves it"),
        pytest.param([group("shop.example.org", v1=[])], [], True, id="the group is served without it"),
        pytest.param([group("shop.example.org", v1=None)], [], False, id="a version is stale"),
        pytest.param([group("shop.example.org", v1=[], v2=None)], [], False, id="another version of the group is stale"),
        pytest.param([], [("shop.example.org", DOWN)], False, id="a service of the group is down"),
        pytest.param([], [("shop.example.org", {})], False, id="a service of the group has no condition yet"),
        pytest.param([], [("shop.example.org", AVAILABLE)], True, id="the group's service is up and lists nothing"),
        pytest.param([], [("other.example.org", DOWN)], True, id="a service of another group is down"),
    ],
)
async def test_a_kind_is_gone_only_with_proof(groups: list[dict[str, Any]], services: list[tuple[str, Any]], gone: bool) -> None:
    """Discovery of the group succeeded, no version serves the kind, and no APIService of the group is unavailable."""
    items = [{"spec": {"group": name}, "status": state} for name, state in services]
    assert await Server(*groups, services=items).discovery.gone("shop.example.org", "Cart") is gone


@pytest.mark.parametrize("refusal", [Forbidden("no rights"), Gone("no such kind", what="kind")])
async def test_without_rights_on_services_the_freshness_decides(refusal: Problem) -> None:
    """Reading APIServices is a second opinion that a small role does not have."""
    server = Server()
    server.answers[SERVICES] = refusal
    assert await server.discovery.gone("shop.example.org", "Cart")


async def test_gone_is_never_concluded_from_old_knowledge() -> None:
    """The kind may have been installed since the last reading."""
    server = Server()
    await server.discovery.resource("v1", "ConfigMap")
    server.serve(SHOP)
    server.time += PAUSE
    assert not await server.discovery.gone("shop.example.org", "Cart")


async def test_services_that_cannot_be_read_prove_nothing() -> None:
    """Unavailable is passed on."""
    server = Server()
    server.answers[SERVICES] = Unavailable("down")
    with pytest.raises(Unavailable):
        await server.discovery.gone("shop.example.org", "Cart")
