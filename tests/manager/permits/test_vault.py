"""Where the clear values of a snapshot are kept, and when they go."""

import base64
from typing import Any

import pytest

from apis.copyhold.resourcepermit import KIND
from apis.kind import Kind
from apis.meta import PARENT_EXTRA, Manifest
from apis.problems import Blocked, Stale
from apis.reasons import Reason
from manager.permits import vault
from policy.permits.masking import masked
from tests.manager.permits.preparing import bench
from tests.realserver.access import Access
from tests.support.api import Api, ref
from tests.support.stage import config_map

WORD = "hush"


def secret(word: str = WORD) -> Manifest:
    """A Secret among the targets."""
    return ref("v1", "Secret", "copy", "solar") | {"data": {"word": base64.b64encode(word.encode()).decode()}}


@pytest.fixture
def permit(api: Api, namespace: str, crds: tuple[Kind, ...]) -> Manifest:
    """A permit on the server, without a status; it goes with its namespace."""
    spec = {"template": {"kind": "ResourcePermitTemplate", "name": "access"}}
    body: Manifest = api.create(ref(KIND.api_version, KIND.kind, "incident", namespace) | {"spec": spec}).expect(201).body
    return body


def shown(permit: Manifest, *targets: Manifest) -> Manifest:
    """The permit with these targets, masked, in its snapshot."""
    resources = [{"name": "x", "policy": {}, "targets": masked(targets)}]
    return {**permit, "status": {"request": {"resources": resources}}}


def kept(api: Api, namespace: str, permit: Manifest) -> Any:
    """The answer to a read of the vault's Secret."""
    return api.get(ref("v1", "Secret", vault.name_of(permit), namespace))


async def test_clear_values_are_kept_read_and_dropped(api: Api, server: Access, namespace: str, permit: Manifest) -> None:
    """In one immutable Secret that names the permit; keeping them twice, or dropping them twice, is fine."""
    targets = [config_map("a", {"k": "v"}, "solar"), secret()]
    async with bench(server) as at:
        for _ in range(2):
            assert await vault.keep(at.cluster, namespace, permit, targets) == vault.name_of(permit)
        held = kept(api, namespace, permit).expect(200).body
        assert held["immutable"] is True
        assert held["metadata"]["labels"] == {vault.PERMIT_LABEL: permit["metadata"]["uid"]}
        assert await vault.read(at.cluster, namespace, shown(permit, *targets)) == targets
        for _ in range(2):
            await vault.drop(at.cluster, namespace, permit)
    kept(api, namespace, permit).expect(404)


async def test_a_snapshot_without_secrets_needs_no_vault(api: Api, server: Access, namespace: str, permit: Manifest) -> None:
    """What it shows is what is applied."""
    targets = [config_map("a", {"k": "v"}, "solar")]
    async with bench(server) as at:
        assert await vault.keep(at.cluster, namespace, permit, targets) == ""
        assert await vault.read(at.cluster, namespace, shown(permit, *targets)) == targets
    kept(api, namespace, permit).expect(404)


async def test_values_that_are_not_those_of_the_snapshot_are_not_given(server: Access, namespace: str, permit: Manifest) -> None:
    """Missing, or others: nothing may be applied, and no message tells one."""
    async with bench(server) as at:
        with pytest.raises(Blocked, match="is not there") as missing:
            await vault.read(at.cluster, namespace, shown(permit, secret()))
        await vault.keep(at.cluster, namespace, permit, [secret("other")])
        with pytest.raises(Blocked, match="does not hold what its snapshot shows") as other:
            await vault.read(at.cluster, namespace, shown(permit, secret()))
    for caught in (missing, other):
        assert caught.value.reason == Reason.TRAIL_BROKEN
        assert WORD not in str(caught.value)


async def test_what_an_earlier_preparation_left_is_replaced_until_the_status_shows_it(
    api: Api, server: Access, namespace: str, permit: Manifest
) -> None:
    """A second preparation may render another value; after the first is in the status, nothing replaces it."""
    async with bench(server) as at:
        await vault.keep(at.cluster, namespace, permit, [secret("first")])
        await vault.keep(at.cluster, namespace, permit, [secret("second")])
        assert await vault.read(at.cluster, namespace, shown(permit, secret("second"))) == [secret("second")]
        request = {
            "template": {"kind": "ResourcePermitTemplate", "name": "access", "uid": "u", "generation": 1},
            "impersonation": {"namespace": namespace, "name": "runner"},
            "approvals": {},
            "resources": [],
            "digest": "sha256:0",
        }
        itself = api.as_user("manager", groups=["system:masters"], extra={PARENT_EXTRA: [permit["metadata"]["uid"]]})
        itself.merge_patch(permit, {"status": {"request": request}}, subresource="status").expect(200)
        with pytest.raises(Stale):
            await vault.keep(at.cluster, namespace, permit, [secret("third")])
        assert await vault.read(at.cluster, namespace, shown(permit, secret("second"))) == [secret("second")]


async def test_values_of_permits_that_are_gone_are_swept(api: Api, server: Access, namespace: str, permit: Manifest) -> None:
    """Of those that nobody knows, one that is there all the same keeps its own; other Secrets are left alone."""
    gone = {"metadata": {**permit["metadata"], "name": "past", "uid": "past-uid"}}
    replaced = {"metadata": {**permit["metadata"], "uid": "former-uid"}}
    known = {"metadata": {**permit["metadata"], "name": "known", "uid": "known-uid"}}
    api.create(secret() | {"metadata": {"name": "theirs", "namespace": namespace}}).expect(201)
    async with bench(server) as at:
        for each in (permit, gone, replaced, known):
            await vault.keep(at.cluster, namespace, each, [secret()])
        assert await vault.sweep(at.cluster, namespace, {"known-uid"}) == 2
        assert await vault.sweep(at.cluster, namespace, {"known-uid"}) == 0
    for each, status in ((permit, 200), (known, 200), (gone, 404), (replaced, 404)):
        kept(api, namespace, each).expect(status)
    api.get(ref("v1", "Secret", "theirs", namespace)).expect(200)
