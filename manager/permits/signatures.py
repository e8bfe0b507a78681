"""Ed25519: keys, their ids, signatures. The only module that knows the form in which they are kept."""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from hashlib import sha256

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

RAW = 32
"""Bytes of a raw public key (RFC 8032)."""


def key_id(public: bytes) -> str:
    """The id of a raw public key: the first 16 hexadecimal digits of its SHA-256."""
    return sha256(public).hexdigest()[:16]


def raw(private: Ed25519PrivateKey) -> bytes:
    """The raw public key of a private one."""
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def private_pem(private: Ed25519PrivateKey) -> str:
    """The private key as PEM (PKCS8)."""
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def public_pem(public: bytes) -> str:
    """A raw public key as PEM (SubjectPublicKeyInfo), for openssl and the like."""
    return Ed25519PublicKey.from_public_bytes(public).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def load(pem: bytes) -> Ed25519PrivateKey | None:
    """The private key of a PEM, or None when it holds no Ed25519 key."""
    try:
        private = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return private if isinstance(private, Ed25519PrivateKey) else None


def decoded(text: object) -> bytes | None:
    """The bytes of a base64 text, or None when it is none or could be written otherwise."""
    if not isinstance(text, str):
        return None
    try:
        found = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return None
    return found if b64encode(found).decode() == text else None


def sign(private: Ed25519PrivateKey, data: bytes) -> str:
    """The signature in base64."""
    return b64encode(private.sign(data)).decode()


def verify(public: Mapping[str, bytes], key: str, data: bytes, signature: str) -> bool | None:
    """Is `signature` (base64) by the key with that id over `data`? None when the key is not known."""
    known = public.get(key)
    if known is None:
        return None
    found = decoded(signature)
    if found is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(known).verify(found, data)
    except InvalidSignature:
        return False
    return True
