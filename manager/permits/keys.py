"""The keys that permits are signed with: private in a Secret, public in a ConfigMap, both `copyhold-permit-keys`.

    Secret     `current`: the id of the key that signs; `since`: when it was made; `<id>.key`: its private key (PEM, PKCS8);
               `<id>.pub`: every public key that ever signed (base64 of the 32 bytes)
    ConfigMap  `current`; `<id>`: the public key (base64); `<id>.pem`: the same as PEM. For whoever wants to verify offline

The Secret decides and the ConfigMap repeats it: what somebody puts into the ConfigMap is not believed, and what somebody takes
out is put back. Only when the Secret is lost are the public keys taken over from the ConfigMap, so that what was signed before
can still be verified; the private key that goes with rotation is gone for good.

Guarantees
    A key signs only after it was published, so that every other replica can verify at once what this one has signed.
    Replicas that begin, or rotate, at the same time end with one and the same key: the first write wins, the others read it.
Caveat
    A replica that has not looked since a rotation signs with the key before; it verifies as every old one does.

Problems: Blocked (a damaged Secret: an administrator), Gone (the namespace is not there), Forbidden, Unavailable.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apis.meta import Manifest
from apis.problems import Blocked, Gone, Stale
from apis.reasons import Reason
from manager.permits import signatures
from manager.world import Cluster, Resource
from policy.permits.moments import stamp

NAME = "copyhold-permit-keys"
LIFETIME = timedelta(days=90)
"""How long a key signs."""

ATTEMPTS = 5
"""How often other replicas may be first, before that counts as a problem."""

STRANGE_BOUND = 1000
"""Ids of unknown keys that are remembered, before they are forgotten all at once."""

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Keys:
    """The key that signs, and all public ones by id."""

    current: str
    since: datetime
    private: Ed25519PrivateKey = field(repr=False)
    public: Mapping[str, bytes]

    @classmethod
    def made(cls, now: datetime, older: Mapping[str, bytes]) -> "Keys":
        """A new key, and the public ones that were before it."""
        private = Ed25519PrivateKey.generate()
        public = signatures.raw(private)
        current = signatures.key_id(public)
        return cls(current, now, private, {**older, current: public})


class Keyring:
    """Signs, and verifies what any replica has signed. `lifetime` is how long a key signs; `now` gives the time in UTC.

    `refresh` must have been awaited before anything is signed.
    """

    def __init__(self, cluster: Cluster, namespace: str, now: Callable[[], datetime], *, lifetime: timedelta = LIFETIME) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._now = now
        self._lifetime = lifetime
        self._keys: Keys | None = None
        self._strange: frozenset[str] = frozenset()  # ids that were looked for and not found
        self._reading = asyncio.Lock()

    @property
    def current(self) -> str:
        """The id of the key that signs."""
        return self._known.current

    @property
    def public(self) -> Mapping[str, bytes]:
        """The raw public keys, by id."""
        return self._known.public

    def sign(self, data: bytes) -> tuple[str, str]:
        """The id of the key, and the signature in base64."""
        keys = self._known
        return keys.current, signatures.sign(keys.private, data)

    def verify(self, key: str, data: bytes, signature: str) -> bool | None:
        """Is the signature (base64) right? None when the key is not known: `learn` may help."""
        return signatures.verify(self.public, key, data, signature)

    async def there(self) -> bool:
        """Were keys made before? No, too, where they may not be read."""
        try:
            return await self._cluster.get(SECRETS, self._namespace, NAME, metadata=True) is not None
        except (Blocked, Gone):
            return False

    async def refresh(self) -> None:
        """Read the keys; make them where there are none, renew them where it is time, publish what is not published."""
        async with self._reading:
            await self._settle(lambda keys: self._now() >= keys.since + self._lifetime)

    async def rotate(self) -> None:
        """Sign with a new key from now on. The old private key is gone, the old public key stays."""
        before = self.current
        async with self._reading:
            # Another replica may have been first: one new key is enough.
            await self._settle(lambda keys: keys.current == before)

    async def learn(self, keys: Iterable[str]) -> None:
        """Read again when one of these ids is not known; once for each, or forged ids would cost a request each time."""
        unknown = frozenset(keys) - self.public.keys() - self._strange
        if unknown:
            await self.refresh()
            strange = unknown - self.public.keys()
            self._strange = strange | (self._strange if len(self._strange) < STRANGE_BOUND else frozenset())

    @property
    def _known(self) -> Keys:
        if self._keys is None:
            raise RuntimeError("the keys were not read: await refresh() first")
        return self._keys

    async def _settle(self, old: Callable[[Keys], bool]) -> None:
        for _ in range(ATTEMPTS):
            try:
                keys = await self._stored(old)
                await self._publish(keys)
            except Stale as problem:
                if isinstance(problem, Gone) and problem.what != "object":
                    raise
                continue  # somebody else was first: theirs it is
            if self._keys is None or self._keys.current != keys.current:
                log.info("permit key", key=keys.current, since=stamp(keys.since), known=len(keys.public))
            self._keys = keys
            return
        raise Stale(f"Secret {self._namespace}/{NAME} and the ConfigMap of that name keep changing: see who else writes them")

    async def _stored(self, old: Callable[[Keys], bool]) -> Keys:
        """The keys that the Secret holds when this returns. Raises Stale when somebody else wrote it meanwhile."""
        secret = await self._cluster.get(SECRETS, self._namespace, NAME)
        if secret is None:
            published = await self._cluster.get(CONFIG_MAPS, self._namespace, NAME)
            keys = Keys.made(self._now(), public_keys(published or {}))
            await self._cluster.create(SECRETS, self._namespace, _secret(keys, self._metadata()))
            return keys
        keys = _read(secret, f"{self._namespace}/{NAME}")
        if old(keys):
            keys = Keys.made(self._now(), keys.public)
            await self._cluster.replace(SECRETS, _secret(keys, secret["metadata"]))
        return keys

    async def _publish(self, keys: Keys) -> None:
        wanted = _published(keys)
        found = await self._cluster.get(CONFIG_MAPS, self._namespace, NAME)
        if found is None:
            await self._cluster.create(CONFIG_MAPS, self._namespace, _config_map(wanted, self._metadata()))
        elif found.get("data") != wanted:
            await self._cluster.replace(CONFIG_MAPS, _config_map(wanted, found["metadata"]))

    def _metadata(self) -> Manifest:
        return {"namespace": self._namespace, "name": NAME}


def public_keys(config_map: Manifest) -> dict[str, bytes]:
    """The raw public keys of a ConfigMap `copyhold-permit-keys`, by id. What is no key, or has another id, is left out."""
    return _public(config_map.get("data") or {}, "")


def _public(data: Mapping[str, object], ending: str) -> dict[str, bytes]:
    found = {name.removesuffix(ending): signatures.decoded(text) for name, text in data.items() if name.endswith(ending)}
    return {name: key for name, key in found.items() if key and len(key) == signatures.RAW and signatures.key_id(key) == name}


def _read(secret: Manifest, name: str) -> Keys:
    data: dict[str, str] = secret.get("data") or {}
    try:
        texts = {key: b64decode(value).decode() for key, value in data.items()}
        current, since = texts["current"], datetime.fromisoformat(texts["since"])
        private = signatures.load(texts[f"{current}.key"].encode())
    except (KeyError, ValueError) as error:
        raise _damaged(name) from error
    public = _public(texts, ".pub")
    if private is None or public.get(current) != signatures.raw(private) or since.tzinfo is None:
        raise _damaged(name)
    return Keys(current, since, private, public)


def _damaged(name: str) -> Blocked:
    remedy = "delete it: a new key is made, and the public keys are taken over from the ConfigMap of the same name"
    return Blocked(Reason.INVALID, f"Secret {name} does not hold the keys of permits any more; restore it, or {remedy}")


def _secret(keys: Keys, metadata: Manifest) -> Manifest:
    texts = {
        "current": keys.current,
        "since": stamp(keys.since),
        f"{keys.current}.key": signatures.private_pem(keys.private),
    } | {f"{key}.pub": b64encode(public).decode() for key, public in keys.public.items()}
    data = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}


def _published(keys: Keys) -> dict[str, str]:
    raw = {key: b64encode(public).decode() for key, public in keys.public.items()}
    pem = {f"{key}.pem": signatures.public_pem(public) for key, public in keys.public.items()}
    return {"current": keys.current, **raw, **pem}


def _config_map(data: Mapping[str, str], metadata: Manifest) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
