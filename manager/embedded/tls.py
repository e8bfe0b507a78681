"""The certificates of a cluster: a CA of its own, and one for the server that it signs anew at each start."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
ADDRESSES = ("127.0.0.1", "::1")
YEARS = 10


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its certificate, which everybody may see, and its key, as PEM."""

    certificate: str
    key: str

    def dump(self) -> bytes:
        """Both, as they are kept."""
        return (self.certificate + self.key).encode()

    @classmethod
    def load(cls, kept: bytes) -> "Authority":
        """Read what `dump` wrote."""
        certificate, mark, rest = kept.decode().partition("-----END CERTIFICATE-----\n")
        return cls(certificate + mark, rest)


def new_authority() -> Authority:
    """Make a CA. Certificates are judged by the real time, whatever clock a cluster has."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "copyhold-ca")])
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
        _valid(x509.CertificateBuilder())
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(made.public_bytes(serialization.Encoding.PEM).decode(), _pem(key))


def server_context(authority: Authority) -> ssl.SSLContext:
    """What a server on loopback needs: a fresh key with a certificate of this CA."""
    signer = serialization.load_pem_private_key(authority.key.encode(), None)
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    names = [*(x509.DNSName(name) for name in NAMES), *(x509.IPAddress(ip_address(each)) for each in ADDRESSES)]
    made = (
        _valid(x509.CertificateBuilder())
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)  # type: ignore[arg-type]
        .sign(signer, hashes.SHA256())  # type: ignore[arg-type]
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads keys from files only; this one is gone before anybody else could open it.
    with tempfile.TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.touch(mode=0o600)
        chain.write_text(made.public_bytes(serialization.Encoding.PEM).decode() + authority.certificate + _pem(key))
        context.load_cert_chain(chain)
    return context


def _valid(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * YEARS))
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
