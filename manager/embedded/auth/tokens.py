"""The tokens of ServiceAccounts: made on request, bound to the account's uid, good for one audience and for a time.

They have the claims of the real server's tokens. They are signed with a secret of this server (HS256): nobody else has to check
them, because no OpenID documents are published.
"""

import hashlib
import hmac
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded.attributes import AUTHENTICATED, User
from manager.embedded.auth.objects import Objects
from manager.embedded.auth.rbac import ACCOUNT_PREFIX
from manager.embedded.auth.refusal import quoted_list
from manager.embedded.store import Key

ISSUER = "https://kubernetes.default.svc"
AUDIENCE = ISSUER
"""Whom a token is for when nobody says: this server."""

LEEWAY = timedelta(minutes=1)
EXTRA = "authentication.kubernetes.io/"
PRIVATE = "kubernetes.io"
_HEADER = {"alg": "HS256", "typ": "JWT"}


class BadToken(Exception):
    """A token that proves nothing; the text says why, to whoever may ask for a TokenReview."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The object besides the account that must live for a token to be good."""

    resource: str  # pods, secrets, nodes
    name: str
    uid: str


_CLAIM = {"pods": "pod", "secrets": "secret", "nodes": "node"}


class Tokens:
    """Makes and checks tokens. `key` is the secret of this server, 32 bytes that stay with its data."""

    def __init__(self, key: bytes, objects: Objects, clock: Callable[[], datetime]) -> None:
        self._key = key
        self._objects = objects
        self._clock = clock

    def issue(self, account: Manifest, *, audiences: Sequence[str], seconds: int, bound: Bound | None = None) -> str:
        """A token of a stored ServiceAccount that is good for `seconds` from now."""
        metadata = account["metadata"]
        now = int(self._clock().timestamp())
        private: Manifest = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound is not None:
            private[_CLAIM[bound.resource]] = {"name": bound.name, "uid": bound.uid}
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            PRIVATE: private,
            "nbf": now,
            "sub": f"{ACCOUNT_PREFIX}{metadata['namespace']}:{metadata['name']}",
        }
        signed = f"{_encode(orjson.dumps(_HEADER))}.{_encode(orjson.dumps(claims))}"
        return f"{signed}.{self._signature(signed)}"

    def user(self, token: str, audiences: Sequence[str] = (AUDIENCE,)) -> tuple[User, tuple[str, ...]]:
        """Whose token it is, and for which of the wanted audiences it is good.

        Raises BadToken when it was not made here, has expired, is for somebody else, or when its account is gone or another one.
        """
        claims = self._claims(token)
        good = tuple(audience for audience in claims["aud"] if audience in audiences)
        if not good:
            raise BadToken(
                f"token audiences {quoted_list(claims['aud'])} is invalid for the target audiences {quoted_list(audiences)}"
            )
        self._in_time(claims)
        private = claims[PRIVATE]
        namespace, account = private["namespace"], private["serviceaccount"]
        self._alive("serviceaccounts", namespace, account)
        extra = {f"{EXTRA}credential-id": (f"JTI={claims['jti']}",)}
        for resource, claim in _CLAIM.items():
            if claim in private:
                # A Pod's node is told, and need not be there.
                if resource != "nodes" or "pod" not in private:
                    self._alive(resource, "" if resource == "nodes" else namespace, private[claim])
                if resource != "secrets":
                    extra |= {f"{EXTRA}{claim}-{part}": (private[claim][part],) for part in ("name", "uid")}
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        return User(claims["sub"], account["uid"], groups, extra), good

    def _claims(self, token: str) -> Any:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(signed).encode()):
            raise BadToken("invalid bearer token")
        try:
            return orjson.loads(_decode(signed.partition(".")[2]))
        except (Error, orjson.JSONDecodeError) as error:  # pragma: no cover - what we signed can be read
            raise BadToken("invalid bearer token") from error

    def _in_time(self, claims: Manifest) -> None:
        now = self._clock().timestamp()
        if now > claims["exp"] + LEEWAY.total_seconds():
            raise BadToken("service account token has expired")
        if now < claims["nbf"] - LEEWAY.total_seconds():
            raise BadToken("service account token is not valid yet")

    def _alive(self, resource: str, namespace: str, claimed: Manifest) -> None:
        """The object that a token was made for must still be that object, and not have been on its way out for a minute."""
        live = self._objects.read(Key(resource, namespace, claimed["name"]))
        if live is None:
            raise BadToken("service account token has been invalidated")
        if live["metadata"]["uid"] != claimed["uid"]:
            raise BadToken(f"service account UID ({live['metadata']['uid']}) does not match claim ({claimed['uid']})")
        since = live["metadata"].get("deletionTimestamp")
        if since is not None and datetime.fromisoformat(since) < self._clock() - LEEWAY:
            raise BadToken("service account token has been invalidated")

    def _signature(self, signed: str) -> str:
        return _encode(hmac.digest(self._key, signed.encode(), hashlib.sha256))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
