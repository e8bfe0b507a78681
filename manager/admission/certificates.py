"""The certificate that the admission server shows, and the CA that the API server checks it by; both renewed before they end.

| What | Lifetime | Renewed | Meanwhile |
| --- | --- | --- | --- |
| CA | 10 years | a year before its end | the bundle holds the old one too, until that ends |
| serving certificate | 90 days | after 60 | replicas that have not read it yet show the old one, which is still good |

A new CA signs nothing for a day: by then every API server has the bundle that holds it. The keys are in one Secret that all
replicas share (`Shared`), or nowhere but in this process, which then is the only one (`Own`), or come from outside (`Files`).
Keys are never logged. `now` is a parameter everywhere.
"""

import ssl
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from apis.meta import Manifest
from apis.problems import Gone, Invalid, Stale, Unavailable
from apis.reasons import Reason
from manager.admission.policies import LABELS
from manager.pki import BACKDATED, Pair, authority, issued, serving
from manager.world import Cluster

NAME = "copyhold-admission"
"""The Secret, in the manager's namespace."""

CA_LIFETIME = timedelta(days=3650)
CA_RENEWED = timedelta(days=365)
"""So long before its end a CA gets its successor."""

LIFETIME = timedelta(days=90)
RENEWED = timedelta(days=30)
"""So long before its end a serving certificate is replaced."""

SETTLED = timedelta(days=1)
"""So long a new CA signs nothing."""

ROUNDS = 5
"""How often a race with another replica over the Secret is run again."""

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Held:
    """All that is kept, as PEM. `bundle` holds the CAs to be trusted, the newest first; `ca_key` is that one's."""

    bundle: str
    ca_key: str = field(repr=False)
    chain: str
    key: str = field(repr=False)


# Pure: what has to be renewed.


def renewed(held: Held | None, hosts: Sequence[str], now: datetime) -> Held:
    """What should be held from now on: the same value when nothing is due. What cannot be read is made anew."""
    read = _read(held) if held is not None else None
    if held is None or read is None:
        ca = _new_ca(now)
        return Held(ca.certificate, ca.key, *_issue(ca, hosts, now))
    cas, leaf = read
    living = [each for each in cas if each.not_valid_after_utc > now]
    if living[:1] != cas[:1]:
        return renewed(None, hosts, now)
    ca, chain, key = Pair("".join(map(_pem, living)), held.ca_key), held.chain, held.key
    young = now - (living[0].not_valid_before_utc + BACKDATED) < SETTLED
    if not _useful(leaf, living, hosts, now) or (leaf.not_valid_after_utc - now <= RENEWED and not young):
        chain, key = _issue(ca, hosts, now)
    if living[0].not_valid_after_utc - now <= CA_RENEWED:
        new = _new_ca(now)
        ca = Pair(new.certificate + ca.certificate, new.key)
    wanted = Held(ca.certificate, ca.key, chain, key)
    return held if wanted == held else wanted


def _useful(leaf: x509.Certificate, trusted: Sequence[x509.Certificate], hosts: Sequence[str], now: datetime) -> bool:
    """Would an API server with these CAs believe it, now, for these names?"""
    return leaf.not_valid_after_utc > now and _hosts(leaf) == set(hosts) and any(_signed(leaf, ca) for ca in trusted)


def _signed(leaf: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(ca)
    except Exception:  # the library raises ValueError, TypeError and InvalidSignature, and all mean no
        return False
    return True


def _read(held: Held) -> tuple[list[x509.Certificate], x509.Certificate] | None:
    """The CAs and the serving certificate, if all of it can be read and the keys belong to them."""
    try:
        cas = x509.load_pem_x509_certificates(held.bundle.encode())
        leaf = x509.load_pem_x509_certificates(held.chain.encode())[0]
        if _public(held.ca_key) != _public_of(cas[0]) or _public(held.key) != _public_of(leaf):
            return None
    except (ValueError, TypeError):
        return None
    return cas, leaf


def _hosts(leaf: x509.Certificate) -> set[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}


def _public(key: str) -> bytes:
    return _bytes(serialization.load_pem_private_key(key.encode(), None).public_key())


def _public_of(certificate: x509.Certificate) -> bytes:
    return _bytes(certificate.public_key())


def _bytes(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _new_ca(now: datetime) -> Pair:
    # A name of its own: in a bundle, whoever checks finds the right one by it.
    return authority(f"copyhold-admission-{token_hex(4)}", now, CA_LIFETIME)


def _issue(ca: Pair, hosts: Sequence[str], now: datetime) -> tuple[str, str]:
    pair = issued(ca, NAME, hosts, now, LIFETIME)
    return pair.certificate, pair.key


# Where they are kept.


class Certificates(ABC):
    """What a server shows. `refresh` is called before the first use, and now and then."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None
        self._shown: tuple[str, str] = ("", "")
        self.bundle = ""

    @abstractmethod
    async def refresh(self) -> None:
        """Read, or renew, what is in force; afterwards `bundle` is what a client has to trust, as PEM.

        Raises Invalid when it is unusable, and the problems of the cluster; what was in force stays so then.
        """

    def front(self) -> ssl.SSLContext:
        """A context that shows, at each handshake, the certificate that is in force by then."""
        front = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        front.minimum_version = ssl.TLSVersion.TLSv1_2

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _front: ssl.SSLContext) -> None:
            if self._context is not None:
                connection.context = self._context

        # Called at each handshake, also without a name. A certificate that is loaded into a context over another one of
        # another kind of key would not replace it.
        front.sni_callback = choose
        return front

    def _show(self, bundle: str, chain: str, key: str) -> None:
        if (chain, key) != self._shown:
            self._context = serving(chain, key)
            self._shown = chain, key
        self.bundle = bundle


class Own(Certificates):
    """Made in this process, and gone with it: for one replica, outside the cluster, whose URL is registered."""

    def __init__(self, hosts: Sequence[str], now: Clock) -> None:
        super().__init__()
        self._hosts = tuple(hosts)
        self._now = now
        self._held: Held | None = None

    async def refresh(self) -> None:
        """Renew what is due."""
        self._held = renewed(self._held, self._hosts, self._now())
        self._show(self._held.bundle, self._held.chain, self._held.key)


class Shared(Certificates):
    """Kept in a Secret of the manager's namespace, for all replicas. Whoever is first makes it, and renews it."""

    def __init__(self, cluster: Cluster, namespace: str, hosts: Sequence[str], now: Clock) -> None:
        super().__init__()
        self._cluster = cluster
        self._namespace = namespace
        self._hosts = tuple(hosts)
        self._now = now
        self._held: Held | None = None

    async def refresh(self) -> None:
        """Read the Secret; write it when it is missing or something is due. A Secret that was deleted is put back as it was."""
        for _ in range(ROUNDS):
            try:
                self._held = await self._settled()
            except Stale as problem:
                if isinstance(problem, Gone) and problem.what == "namespace":
                    remedy = f"create namespace {self._namespace}, or name another one with --namespace"
                    raise Invalid(Reason.INVALID, f"Secret {self._namespace}/{NAME} has no place to be: {remedy}") from problem
                continue  # another replica was first: what it wrote is as good
            self._show(self._held.bundle, self._held.chain, self._held.key)
            return
        raise Unavailable(f"Secret {self._namespace}/{NAME}: others write it all the time: see who does")

    async def _settled(self) -> Held:
        resource = await self._cluster.resource("v1", "Secret")
        live = await self._cluster.get(resource, self._namespace, NAME)
        held = _held(live) if live is not None else self._held
        wanted = renewed(held, self._hosts, self._now())
        if live is None:
            await self._cluster.create(resource, self._namespace, _secret(self._namespace, wanted))
        elif wanted is not held:
            changed = _secret(self._namespace, wanted)
            await self._cluster.replace(resource, live | {"data": (live.get("data") or {}) | changed["data"]})
        return wanted


class Files(Certificates):
    """Given by others, as cert-manager mounts them: a folder with `tls.crt`, `tls.key` and `ca.crt`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def refresh(self) -> None:
        """Read the files, which may have been replaced."""
        try:
            chain, key, bundle = ((self._folder / name).read_text() for name in ("tls.crt", "tls.key", "ca.crt"))
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not text"
            remedy = "give a folder with tls.crt, tls.key and ca.crt with --admission-certificate"
            raise Invalid(Reason.INVALID, f"{self._folder}: no certificate can be read ({why}): {remedy}") from error
        try:
            self._show(bundle, chain, key)
        except (ssl.SSLError, ValueError) as error:
            remedy = "tls.key must be the key of the first certificate in tls.crt, both as PEM and without a passphrase"
            raise Invalid(Reason.INVALID, f"{self._folder}: the certificate cannot be used: {remedy}") from error


def _secret(namespace: str, held: Held) -> Manifest:
    texts = {"ca.crt": held.bundle, "ca.key": held.ca_key, "tls.crt": held.chain, "tls.key": held.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME, "namespace": namespace, "labels": dict(LABELS)},
        "type": "kubernetes.io/tls",
        "data": {name: b64encode(text.encode()).decode() for name, text in texts.items()},
    }


def _held(secret: Manifest) -> Held:
    data = secret.get("data") or {}
    texts = [_text(data.get(name) or "") for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")]
    return Held(*texts)


def _text(value: str) -> str:
    return b64decode(value).decode("ascii", "replace")
