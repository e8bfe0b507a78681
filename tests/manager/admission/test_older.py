"""Servers without ValidatingAdmissionPolicy: how they are known, which will do, and what is kept and taken away there."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import pytest

from apis.kind import kinds
from apis.problems import Blocked
from manager.admission import older, register
from manager.admission.keep import keep, policies, remove
from manager.admission.policies import API_VERSION, MUTATING, VALIDATING
from manager.admission.register import NAME, Reach, Url
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.embedded.cluster import Embedded
from manager.http import Client
from manager.install import Installed, install
from tests.support.api import Manifest
from tests.support.older import GROUP, UNSERVED

PLACE = Url("127.0.0.1", 1)
STANDING = policies(manager_namespace="copyhold-system")
OURS = f"{NAME}-policies"


@pytest.fixture
async def cluster() -> AsyncIterator[ApiCluster]:
    """Such a cluster, of the test's own."""
    async with Embedded(unserved=[f"{plural}.{GROUP}" for plural in UNSERVED]) as running:
        client = Client(endpoint(running.url, running.ca, running.token))
        yield ApiCluster(client)
        await client.close(1.0)


async def names(cluster: ApiCluster, kind: str) -> list[str]:
    """The configurations that are there."""
    listing = await cluster.list(await cluster.resource(API_VERSION, kind), metadata=True)
    return [each["metadata"]["name"] for each in listing.items]


async def test_such_a_server_is_known_by_discovery(cluster: ApiCluster) -> None:
    """By the kind that it does not serve; any other one does."""
    assert not await older.enforced(cluster)
    async with Embedded() as running:
        client = Client(endpoint(running.url, running.ca, running.token))
        assert await older.enforced(ApiCluster(client))
        await client.close(1.0)


async def test_our_kinds_are_installed_without_policies(cluster: ApiCluster) -> None:
    """Nothing waits for policies that cannot come."""
    assert await install(cluster, namespace="copyhold-system") == Installed(tuple(kind.crd_name for kind in kinds()))
    assert await keep(cluster, manager_namespace="copyhold-system") == ()


async def test_a_configuration_stands_for_policies_and_goes_with_an_uninstall(cluster: ApiCluster) -> None:
    """It is written once, left by a server that ends, and deleted by whoever removes our policies."""
    wanted = (f"{MUTATING}/{NAME}", f"{VALIDATING}/{NAME}", f"{VALIDATING}/{OURS}")
    assert await register.keep(cluster, PLACE, "CA", policies=STANDING) == wanted
    assert await register.keep(cluster, PLACE, "CA", policies=STANDING) == ()
    await register.withdraw(cluster, PLACE)
    assert (await names(cluster, MUTATING), await names(cluster, VALIDATING)) == ([], [OURS])
    assert await remove(cluster) == (f"{VALIDATING}/{OURS}",)


async def test_nothing_stands_for_policies_on_a_server_that_was_renewed(cluster: ApiCluster) -> None:
    """It would refuse without us what the server's own policies allow."""
    await register.keep(cluster, PLACE, "CA", policies=STANDING)
    await register.keep(cluster, PLACE, "CA")
    assert await names(cluster, VALIDATING) == [NAME]


def test_every_policy_has_a_webhook_that_must_be_answered() -> None:
    """With the policy's own rules and selector, within the reach that is asked for."""
    made = register.standing(STANDING, PLACE, "CA", Reach("test", ("here",)))
    assert made["metadata"]["name"] == "test-policies"
    for policy, webhook in zip(STANDING, made["webhooks"], strict=True):
        matched = policy.manifests()[0]["spec"]["matchConstraints"]
        assert webhook["name"] == f"{policy.name}.policies.copyhold.dev"
        assert webhook["clientConfig"]["url"] == f"https://127.0.0.1:1/policies/{policy.name}"
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "None")
        assert webhook["objectSelector"] == matched["objectSelector"]
        assert webhook["rules"] == [rule | {"scope": "Namespaced"} for rule in matched["resourceRules"]]
        assert webhook["namespaceSelector"] == Reach("test", ("here",)).selector


# Versions


@dataclass(frozen=True, slots=True)
class Versioned:
    """A server of which only the version is asked."""

    version: Manifest

    async def get_raw(self, path: str) -> bytes:
        """The answer of /version."""
        assert path == "/version"
        return json.dumps(self.version).encode()


async def check(version: Manifest, *, served: bool = True) -> None:
    """Look at a server of this version."""
    await older.check(cast(ApiCluster, Versioned(version)), served=served)


@pytest.mark.parametrize("minor", ["29", "29+", "30", "36"])
async def test_a_server_whose_webhooks_have_conditions_will_do(minor: str) -> None:
    """Some providers add a sign to the number."""
    await check({"major": "1", "minor": minor})


@pytest.mark.parametrize("version", [{"major": "1", "minor": "28"}, {"major": "1", "minor": "9+"}, {}], ids=str)
async def test_a_server_that_is_too_old_is_refused_with_the_version_that_will_do(version: Manifest) -> None:
    """Its webhooks would be asked about what passes, and without us nothing would pass."""
    with pytest.raises(Blocked, match=r"use Kubernetes 1\.29 or newer"):
        await check(version)


async def test_without_a_webhook_nothing_is_protected_there() -> None:
    """Who asks hears of the flags."""
    with pytest.raises(Blocked, match="--admission-service or --admission-url"):
        await check({"major": "1", "minor": "29"}, served=False)
