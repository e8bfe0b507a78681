"""Admission as one replica serves it: where, registered how, kept and taken back; on an embedded cluster of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from apis.meta import GROUP, Manifest
from apis.problems import Forbidden, Invalid, Problem
from manager.admission import register
from manager.admission.keep import remove
from manager.admission.policies import API_VERSION, MUTATING, VALIDATING
from manager.admission.register import NAME, PERMITS, TEMPLATES, Place, Service, Url
from manager.admission.serve import Serving, served, serving
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.embedded.cluster import Embedded
from manager.http import Client
from manager.install import installed
from manager.world import Resource

PERMIT = Resource(GROUP, "v1alpha1", "ResourcePermit", "resourcepermits", True)
SPEC = {"template": {"kind": "ResourcePermitTemplate", "name": "reader"}}

# Where


SETTINGS = [
    pytest.param("", "", "", "", None, id="nothing"),
    pytest.param("https://127.0.0.1:9443", "", "", "", Serving(Url("127.0.0.1", 9443), ("127.0.0.1", 9443)), id="a URL"),
    pytest.param("https://[::1]:9443", "", "", "", Serving(Url("::1", 9443), ("::1", 9443)), id="a URL of IPv6"),
    pytest.param(
        "https://host.example:443", "", "0.0.0.0:9443", "", Serving(Url("host.example", 443), ("0.0.0.0", 9443)), id="elsewhere"
    ),
    pytest.param("", "sys/copyhold:443", "", "", Serving(Service("sys", "copyhold", 443), ("0.0.0.0", 9443)), id="a Service"),
    pytest.param(
        "",
        "sys/copyhold:443",
        "[::]:8443",
        "/certs",
        Serving(Service("sys", "copyhold", 443), ("::", 8443), Path("/certs")),
        id="all of it",
    ),
]


@pytest.mark.parametrize(("url", "service", "listen", "folder", "wanted"), SETTINGS)
def test_flags_say_where_admission_is_served(url: str, service: str, listen: str, folder: str, wanted: Serving | None) -> None:
    """Without a URL or a Service it is not served."""
    assert serving(url, service, listen, folder) == wanted


WRONG = [
    pytest.param("http://127.0.0.1:1", "", "", "", "--admission-url: .* must be https://HOST:PORT", id="no TLS"),
    pytest.param("https://127.0.0.1", "", "", "", "--admission-url", id="no port"),
    pytest.param("https://127.0.0.1:1/permits", "", "", "", "--admission-url", id="a path"),
    pytest.param("https://u:p@127.0.0.1:1", "", "", "", "--admission-url", id="a user"),
    pytest.param("https://127.0.0.1:99999", "", "", "", "--admission-url", id="no such port"),
    pytest.param("https://[::1:1", "", "", "", "--admission-url", id="half an address"),
    pytest.param("", "copyhold:443", "", "", "--admission-service: .* must be NAMESPACE/NAME:PORT", id="no namespace"),
    pytest.param("", "Sys/copyhold:443", "", "", "--admission-service", id="no name"),
    pytest.param("", "sys/copyhold", "", "", "--admission-service", id="no port of the Service"),
    pytest.param("", "a/b:1", "9443", "", "--admission-listen: .* must be ADDRESS:PORT", id="no address"),
    pytest.param("https://h:1", "a/b:1", "", "", "must be left out beside --admission-url", id="both"),
    pytest.param("", "", "0.0.0.0:1", "", "--admission-listen: .* must be used with", id="a place for nothing"),
    pytest.param("", "", "", "/certs", "--admission-certificate: .* must be used with", id="a certificate for nothing"),
]


@pytest.mark.parametrize(("url", "service", "listen", "folder", "says"), WRONG)
def test_a_flag_that_cannot_be_understood_is_named(url: str, service: str, listen: str, folder: str, says: str) -> None:
    """With the form that it should have."""
    with pytest.raises(Invalid, match=says):
        serving(url, service, listen, folder)


# On a cluster


@pytest.fixture
async def cluster() -> AsyncIterator[ApiCluster]:
    """A cluster of the test's own, with our kinds and policies."""
    async with Embedded() as running:
        client = Client(endpoint(running.url, running.ca, running.token))
        cluster = ApiCluster(client)
        async with installed(cluster, namespace="copyhold-system"):
            yield cluster
        await client.close(1.0)


async def allow(request: Manifest) -> Manifest:
    """Yes."""
    return {"allowed": True, "warnings": ["seen"]}


async def refuse(request: Manifest) -> Manifest:
    """No."""
    return {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "not today"}}


HANDLERS = {PERMITS: refuse, TEMPLATES: allow}
HERE = Serving(Url("127.0.0.1", 0), ("127.0.0.1", 0))


@asynccontextmanager
async def serve(cluster: ApiCluster, where: Serving = HERE, *, holds: bool = True, **more: Any) -> AsyncIterator[Place]:
    """Admission within the block; it looks after itself all the time."""
    settings = {"namespace": "default", "period": 0.05} | more
    async with served(cluster, where, HANDLERS, holds=lambda: holds, **settings) as place:
        yield place


async def live(cluster: ApiCluster, kind: str) -> Manifest | None:
    """One of our configurations as it is."""
    return await cluster.get(await cluster.resource(API_VERSION, kind), "", NAME)


async def ask(cluster: ApiCluster) -> None:
    """Ask for a permit."""
    metadata = {"name": "x", "namespace": "default"}
    manifest = {"apiVersion": PERMIT.api_version, "kind": PERMIT.kind, "metadata": metadata, "spec": SPEC}
    await cluster.create(PERMIT, "default", manifest)


async def test_what_is_registered_by_url_is_asked_until_the_end(cluster: ApiCluster) -> None:
    """With the port that the system chose; afterwards nobody is registered, so that nobody waits for it."""
    async with serve(cluster) as place:
        assert isinstance(place, Url)
        assert place.port
        with pytest.raises(Forbidden, match="not today"):
            await ask(cluster)
    assert await live(cluster, MUTATING) is None
    assert await live(cluster, VALIDATING) is None
    await ask(cluster)


async def test_another_replicas_registration_is_left_alone(cluster: ApiCluster) -> None:
    """Who ends takes away only what leads to itself."""
    one, other = Url("127.0.0.1", 1), Url("127.0.0.1", 2)
    await register.keep(cluster, one, "CA")
    await register.withdraw(cluster, other)
    assert await live(cluster, MUTATING) is not None
    await register.withdraw(cluster, one)
    assert await live(cluster, MUTATING) is None
    assert await live(cluster, VALIDATING) is None
    await register.withdraw(cluster, one)


async def test_a_changed_registration_is_repaired_by_who_holds(cluster: ApiCluster) -> None:
    """Whatever was weakened is as it was, and what was deleted is there again."""
    async with serve(cluster):
        before = await live(cluster, MUTATING)
        assert before is not None
        weak = before | {"webhooks": [before["webhooks"][0] | {"failurePolicy": "Ignore", "rules": []}]}
        await cluster.replace(await cluster.resource(API_VERSION, MUTATING), weak)
        await remove_one(cluster, VALIDATING)

        async def repaired() -> bool:
            mutating, validating = await live(cluster, MUTATING), await live(cluster, VALIDATING)
            return mutating is not None and mutating["webhooks"] == before["webhooks"] and validating is not None

        await until(repaired)


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Wait until that is so."""
    for _ in range(1000):
        if await done():
            return
        await asyncio.sleep(0.02)
    raise AssertionError


async def remove_one(cluster: ApiCluster, kind: str) -> None:
    """Delete one of our configurations."""
    found = await live(cluster, kind)
    assert found is not None
    await cluster.delete(await cluster.resource(API_VERSION, kind), "", NAME, uid=found["metadata"]["uid"], resource_version="")


async def test_behind_a_service_the_registration_stays(cluster: ApiCluster) -> None:
    """The next replica is found by the same name and trusted by the same CA; nobody gets a permit meanwhile."""
    where = Serving(Service("default", "copyhold", 443), ("127.0.0.1", 0))
    async with serve(cluster, where, holds=False):
        pass
    first = await live(cluster, MUTATING)
    async with serve(cluster, where):
        assert await live(cluster, MUTATING) == first
    assert first is not None
    assert first["webhooks"][0]["clientConfig"]["service"] == {
        "namespace": "default",
        "name": "copyhold",
        "path": "/permits",
        "port": 443,
    }
    with pytest.raises(Problem):
        await ask(cluster)
    assert set(await remove(cluster)) >= {f"{MUTATING}/{NAME}", f"{VALIDATING}/{NAME}"}
    await ask(cluster)


async def test_an_address_that_is_taken_says_so(cluster: ApiCluster) -> None:
    """With the flag that helps."""
    async with serve(cluster) as place:
        assert isinstance(place, Url)
        with pytest.raises(Invalid, match="--admission-listen"):
            async with serve(cluster, Serving(place, (place.host, place.port))):
                pass
