"""Who sends a request: the owner of its bearer token."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from manager.embedded.attributes import AUTHENTICATED, User
from manager.embedded.auth.tokens import AUDIENCE, BadToken, Tokens
from manager.embedded.status import unauthorized


class Authenticator:
    """Knows the tokens that this server was started with, and those of ServiceAccounts.

    Guarantees: without a valid token there is no user; there are no anonymous requests.
    """

    def __init__(self, users: Mapping[str, User], tokens: Tokens) -> None:
        # By digest: how long a look-up takes then says nothing about the tokens that exist.
        self._users = {_digest(token): _authenticated(user) for token, user in users.items()}
        self._tokens = tokens

    def authenticate(self, headers: Iterable[tuple[str, str]]) -> User:
        """The sender of a request with these headers. Raises 401."""
        token = _bearer(headers)
        if not token:
            raise unauthorized()
        try:
            return self.identify(token)[0]
        except BadToken as error:
            raise unauthorized() from error

    def identify(self, token: str, audiences: Sequence[str] = ()) -> tuple[User, tuple[str, ...]]:
        """The owner of a token, and for which of the wanted audiences (this server, when none is named) it is good.

        Raises BadToken.
        """
        known = self._users.get(_digest(token))
        if known is not None:
            return known, tuple(audiences) or (AUDIENCE,)
        return self._tokens.user(token, audiences or (AUDIENCE,))


def _authenticated(user: User) -> User:
    return user if AUTHENTICATED in user.groups else replace(user, groups=(*user.groups, AUTHENTICATED))


def _bearer(headers: Iterable[tuple[str, str]]) -> str:
    for name, value in headers:
        if name.lower() == "authorization":
            scheme, _, token = value.strip().partition(" ")
            return token.strip() if scheme.lower() == "bearer" else ""
    return ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
