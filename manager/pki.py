"""Certificates: authorities of our own, what they sign for servers, and the TLS contexts in which that is served."""

import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(days=1)
"""By how much a certificate is older than it is: whoever checks it may have another clock."""

END = "-----END CERTIFICATE-----\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate, which everybody may see, and its key, as PEM."""

    certificate: str
    key: str = field(repr=False)

    def dump(self) -> bytes:
        """Both, as they are kept."""
        return (self.certificate + self.key).encode()

    @classmethod
    def load(cls, kept: bytes) -> "Pair":
        """Read what `dump` wrote."""
        certificate, mark, rest = kept.decode().partition(END)
        return cls(certificate + mark, rest)


def authority(name: str, now: datetime, lifetime: timedelta) -> Pair:
    """Make a CA: a fresh P-256 key and its own signature."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    made = (
        _valid(now, lifetime)
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(_pem(made), _key_pem(key))


def issued(ca: Pair, name: str, hosts: Sequence[str], now: datetime, lifetime: timedelta) -> Pair:
    """Make what a server needs: a fresh P-256 key, and a certificate of this CA for these DNS names and IP addresses."""
    signer = serialization.load_pem_private_key(ca.key.encode(), None)
    issuer = x509.load_pem_x509_certificate(ca.certificate.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        _valid(now, lifetime)
        .subject_name(_name(name))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)  # type: ignore[arg-type]
        .sign(signer, hashes.SHA256())  # type: ignore[arg-type]
    )
    return Pair(_pem(made), _key_pem(key))


def serving(chain: str, key: str) -> ssl.SSLContext:
    """The context of a server that shows this chain. Raises ssl.SSLError when the key is not that of the first certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads keys from files only; this one is gone before anybody else could open it.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chain.pem"
        file.touch(mode=0o600)
        file.write_text(chain + key)
        context.load_cert_chain(file)
    return context


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _valid(now: datetime, lifetime: timedelta) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - BACKDATED).not_valid_after(now + lifetime)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
