"""The keys that permits are signed with: one for all replicas, renewed, never lost sight of, never shown."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from apis.meta import Manifest
from apis.problems import Blocked, Gone, Stale, Unavailable
from manager.cluster import ApiCluster
from manager.http import Client
from manager.permits.keys import CONFIG_MAPS, LIFETIME, NAME, SECRETS, STRANGE_BOUND, Keyring, public_keys
from manager.permits.signatures import key_id
from manager.world import Resource
from tests.realserver.access import Access
from tests.support.api import Api, ref
from tests.support.logs import logged
from tests.support.objects import Objects
from tests.support.running import endpoint

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TEXT = b"sha256:0123"


class World:
    """A cluster, a namespace for the keys, and a time that goes only when told to. `before` runs ahead of one write."""

    def __init__(self, cluster: ApiCluster, namespace: str) -> None:
        self.namespace = namespace
        self.now = START
        self.writes: list[str] = []
        self.reads = 0
        self.before: Callable[[], Coroutine[Any, Any, object]] | None = None
        self._cluster = cluster

    def keyring(self) -> Keyring:
        """The keyring of one more replica, which has read nothing."""
        return Keyring(self, self.namespace, lambda: self.now)  # type: ignore[arg-type]  # only what a keyring needs

    async def opened(self) -> Keyring:
        """A keyring that has read."""
        ring = self.keyring()
        await ring.refresh()
        return ring

    async def get(self, resource: Resource, namespace: str, name: str, **how: Any) -> Manifest | None:
        """Read."""
        self.reads += 1
        return await self._cluster.get(resource, namespace, name, **how)

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Create."""
        await self._first()
        self.writes.append(f"create {resource.kind}")
        return await self._cluster.create(resource, namespace, manifest)

    async def replace(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Replace."""
        await self._first()
        self.writes.append(f"replace {resource.kind}")
        return await self._cluster.replace(resource, manifest)

    async def _first(self) -> None:
        before, self.before = self.before, None
        if before is not None:
            await before()


@pytest.fixture
async def world(server: Access, namespace: str) -> AsyncIterator[World]:
    """A server with a namespace for the keys, where there are none yet."""
    client = Client(endpoint(server))
    yield World(ApiCluster(client), namespace)
    await client.close()


def stored(api: Api, namespace: str, kind: str) -> dict[str, str]:
    """The data of the Secret (decoded) or of the ConfigMap, as the server has it."""
    data: dict[str, str] = api.get(ref("v1", kind, NAME, namespace)).expect(200).body["data"]
    return {key: b64decode(value).decode() for key, value in data.items()} if kind == "Secret" else data


async def test_the_first_replica_makes_a_key_and_publishes_it(world: World, api: Api):
    """The private key is in the Secret alone; the public one is there for everybody, as 32 bytes and as PEM."""
    ring = await world.opened()
    secret, published = stored(api, world.namespace, "Secret"), stored(api, world.namespace, "ConfigMap")
    assert secret["current"] == published["current"] == ring.current
    assert "PRIVATE" in secret[f"{ring.current}.key"]
    assert "PRIVATE" not in str(published)
    raw = b64decode(published[ring.current])
    assert key_id(raw) == ring.current
    assert load_pem_public_key(published[f"{ring.current}.pem"].encode()).public_bytes_raw() == raw  # type: ignore[union-attr]


async def test_whether_there_were_keys_before_is_known_without_making_any(world: World):
    """A manager that serves no admission asks, and must not be the first to make them."""
    ring = world.keyring()
    assert not await ring.there()
    await world.opened()
    assert await ring.there()


async def test_what_one_replica_signs_every_other_verifies(world: World):
    """And nothing else passes."""
    one, other = await world.opened(), await world.opened()
    key, signature = one.sign(TEXT)
    assert other.verify(key, TEXT, signature) is True
    assert other.verify(key, TEXT + b"4", signature) is False
    assert other.verify(key, TEXT, signature[:-3] + "B==") is False
    assert other.verify(key, TEXT, "?") is False
    assert other.verify("0" * 16, TEXT, signature) is None


async def test_replicas_that_begin_at_once_end_with_one_key(world: World):
    """Whoever writes first decides; the others read again."""
    rings = [world.keyring() for _ in range(4)]
    await asyncio.gather(*(ring.refresh() for ring in rings))
    assert len({ring.current for ring in rings}) == 1
    assert len(rings[0].public) == 1


async def test_a_replica_that_is_second_takes_the_key_of_the_first(world: World):
    """The other one was there between our look and our create."""
    first, second = world.keyring(), world.keyring()
    world.before = first.refresh
    await second.refresh()
    assert second.current == first.current


async def test_a_second_look_writes_nothing(world: World):
    """Idle means idle."""
    ring = await world.opened()
    before = len(world.writes)
    await ring.refresh()
    assert world.writes[before:] == []


async def test_a_key_is_renewed_when_its_time_is_over(world: World, api: Api):
    """The old private key is gone, and what it signed is still right."""
    ring = await world.opened()
    old, signature = ring.sign(TEXT)
    world.now += LIFETIME - timedelta(seconds=1)
    await ring.refresh()
    assert ring.current == old
    world.now += timedelta(seconds=1)
    await ring.refresh()
    assert ring.current != old
    assert ring.verify(old, TEXT, signature) is True
    secret, published = stored(api, world.namespace, "Secret"), stored(api, world.namespace, "ConfigMap")
    assert [name for name in secret if name.endswith(".key")] == [f"{ring.current}.key"]
    assert {old, ring.current} < published.keys()
    assert (await world.opened()).verify(old, TEXT, signature) is True


async def test_replicas_that_renew_at_once_make_one_new_key(world: World):
    """Or every replica would throw away the key of another."""
    one, other = await world.opened(), await world.opened()
    world.before = other.rotate
    await one.rotate()
    assert one.current == other.current
    assert len(one.public) == 2


async def test_a_key_that_another_replica_renewed_is_learned_when_it_is_met(world: World):
    """By one read, and by no more for an id that nobody knows."""
    one, other = await world.opened(), await world.opened()
    await one.rotate()
    key, signature = one.sign(TEXT)
    assert other.verify(key, TEXT, signature) is None
    await other.learn([key])
    assert other.verify(key, TEXT, signature) is True
    await other.learn([key, "forged"])
    before = world.reads
    await other.learn([key, "forged"])
    assert world.reads == before


async def test_a_public_key_that_somebody_took_away_is_put_back(world: World, api: Api):
    """Old ones too; and the whole ConfigMap."""
    ring = await world.opened()
    old = ring.current
    await ring.rotate()
    whole = stored(api, world.namespace, "ConfigMap")
    there = ref("v1", "ConfigMap", NAME, world.namespace)
    api.merge_patch(there, {"data": {old: None, f"{ring.current}.pem": None}}).expect(200)
    await ring.refresh()
    assert stored(api, world.namespace, "ConfigMap") == whole
    api.delete(there).expect(200)
    await ring.refresh()
    assert stored(api, world.namespace, "ConfigMap") == whole


async def test_a_key_that_somebody_published_is_not_believed(world: World, api: Api):
    """The ConfigMap repeats what the Secret says; it says nothing itself."""
    ring = await world.opened()
    forged = b64encode(bytes(32)).decode()
    there = ref("v1", "ConfigMap", NAME, world.namespace)
    api.merge_patch(there, {"data": {key_id(bytes(32)): forged, "current": key_id(bytes(32))}}).expect(200)
    await ring.learn([key_id(bytes(32))])
    assert ring.public.keys() == {ring.current}
    assert stored(api, world.namespace, "ConfigMap")["current"] == ring.current


async def test_what_was_signed_outlives_a_secret_that_was_lost(world: World, api: Api):
    """A new key is made, and the public ones are still published."""
    ring = await world.opened()
    key, signature = ring.sign(TEXT)
    api.delete(ref("v1", "Secret", NAME, world.namespace)).expect(200)
    again = await world.opened()
    assert again.current != key
    assert again.verify(key, TEXT, signature) is True


@pytest.mark.parametrize("field", ["current", "since", "key", "pub"])
async def test_a_damaged_secret_is_named_and_not_written_over(world: World, api: Api, field: str):
    """An administrator must decide: the key may still be somewhere. Nothing of its content is told."""
    ring = await world.opened()
    name = field if field in ("current", "since") else f"{ring.current}.{field}"
    there = ref("v1", "Secret", NAME, world.namespace)
    api.merge_patch(there, {"stringData": {name: "confidential"}}).expect(200)
    before = len(world.writes)
    with pytest.raises(Blocked, match=f"Secret {world.namespace}/{NAME} does not hold the keys of permits any more") as caught:
        await world.opened()
    assert "confidential" not in str(caught.value)
    assert world.writes[before:] == []
    assert ring.sign(TEXT)[0] == ring.current


async def test_a_namespace_that_is_not_there_is_told(world: World):
    """Nothing can be made in it."""
    world.namespace = "not-there-at-all"
    with pytest.raises(Gone):
        await world.opened()


async def test_nothing_of_a_key_is_logged_or_shown(world: World, api: Api):
    """Not by making, renewing or printing it."""
    with logged() as lines:
        ring = await world.opened()
        first = stored(api, world.namespace, "Secret")[f"{ring.current}.key"]
        await ring.rotate()
    second = stored(api, world.namespace, "Secret")[f"{ring.current}.key"]
    said = str(lines) + repr(ring) + repr(vars(ring))
    assert [line["event"] for line in lines] == ["permit key", "permit key"]
    for pem in (first, second):
        assert not any(line in said for line in pem.splitlines()[1:-1])


# Without a server


def rings(number: int = 1) -> tuple[Objects, list[Keyring]]:
    """Keyrings on a cluster in memory, whose writes can fail."""
    objects = Objects(SECRETS, CONFIG_MAPS)
    return objects, [Keyring(objects, "system", lambda: START) for _ in range(number)]  # type: ignore[arg-type]


@pytest.mark.parametrize("write", [1, 2])
async def test_a_write_whose_answer_was_lost_is_found_done(write: int):
    """The next look continues where it ended, with the same key."""
    objects, [one, other] = rings(2)
    objects.fault = lambda number: "lost" if number == write else ""
    with pytest.raises(Unavailable):
        await one.refresh()
    await one.refresh()
    await other.refresh()
    assert one.current == other.current
    assert len(objects.objects(SECRETS)) == len(objects.objects(CONFIG_MAPS)) == 1


async def test_a_key_does_not_sign_before_it_is_published():
    """Or another replica would take what it signed for a forgery."""
    objects, [ring] = rings()
    await ring.refresh()
    old = ring.current
    objects.fault = lambda number: "refused" if number == 4 else ""
    with pytest.raises(Unavailable):
        await ring.rotate()
    assert ring.current == old
    await ring.refresh()
    assert ring.current != old


async def test_nothing_is_signed_before_the_keys_were_read():
    """A defect of ours, and none that could be overlooked."""
    _, [ring] = rings()
    with pytest.raises(RuntimeError, match="await refresh"):
        ring.sign(TEXT)


async def test_a_secret_that_always_changes_is_told():
    """Somebody else writes it; we do not try for ever."""
    objects, [ring] = rings()
    await ring.refresh()

    async def replace(resource: Resource, manifest: Manifest) -> Manifest:
        raise Stale("changed meanwhile")

    objects.replace = replace  # type: ignore[method-assign]
    with pytest.raises(Stale, match=f"Secret system/{NAME} and the ConfigMap of that name keep changing"):
        await ring.rotate()


async def test_ids_that_nobody_knows_are_not_remembered_without_bound():
    """A forger may invent as many as there is time for."""
    _, [ring] = rings()
    await ring.refresh()
    for number in range(5):
        await ring.learn(f"{number}-{each}" for each in range(STRANGE_BOUND // 2))
    assert len(ring._strange) <= 2 * STRANGE_BOUND


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"current": "0123456789abcdef"},
        {key_id(bytes(32)): "no base64"},
        {key_id(bytes(32)): b64encode(bytes(31)).decode()},
        {"0123456789abcdef": b64encode(bytes(32)).decode()},
    ],
)
def test_what_is_no_key_is_no_key(data: dict[str, str]):
    """A name that does not fit its key would let one key pass for another."""
    assert public_keys({"data": data}) == {}
