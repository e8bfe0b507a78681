"""Secrets in a snapshot: everybody who may read the permit sees which values there are, nobody what they are.

A value is shown as the SHA-256 of its bytes, so that a reviewer can see whether two of them are the same. Caveat: whoever can
guess a value can prove the guess.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from apis.meta import Manifest
from policy.permits.canonical import canonical
from policy.target import LAST_APPLIED


def masked(targets: Sequence[Manifest]) -> list[Manifest]:
    """The targets, with the values of Secrets as `sha256:<hex>` of what they decode to."""
    return [_masked(target) if is_secret(target) else target for target in targets]


def matches(shown: Sequence[Manifest], clear: Sequence[Manifest]) -> bool:
    """Are these the clear targets behind the masked ones?"""
    return canonical(masked(clear)) == canonical(list(shown))


def is_secret(target: Manifest) -> bool:
    """Is it a Secret of the core group?"""
    return target.get("apiVersion") == "v1" and target.get("kind") == "Secret"


def _masked(secret: Manifest) -> Manifest:
    hidden = {field: _hidden(secret[field], read) for field, read in _READ.items() if secret.get(field) is not None}
    return _without_last_applied(secret) | hidden


def _hidden(values: Any, read: Callable[[Any], bytes]) -> Any:
    if not isinstance(values, dict):
        return _hash(canonical(values))  # the server will refuse it; what it holds is hidden all the same
    return {key: _hash(read(value)) for key, value in values.items()}


def _hash(value: bytes) -> str:
    return f"sha256:{sha256(value).hexdigest()}"


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return _plain(value)


def _plain(value: Any) -> bytes:
    return value.encode(errors="surrogatepass") if isinstance(value, str) else canonical(value)


_READ: dict[str, Callable[[Any], bytes]] = {"data": _decoded, "stringData": _plain}


def _without_last_applied(secret: Manifest) -> Manifest:
    """`kubectl apply` keeps the whole Secret there, in clear text."""
    metadata = secret.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return secret
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return secret | {"metadata": metadata | {"annotations": kept}}
