"""A whole cluster as one value: `async with Embedded() as cluster:` and it answers at `cluster.url`.

Guarantees
    Loopback only, TLS with a CA of its own, and nobody without one of its tokens gets more than `ok` from it.
    With `data`, a cluster that is started again is the same one: objects, revisions, CA, tokens, accounts' keys.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from manager import kubeconfig
from manager.embedded.assembly import assemble
from manager.embedded.attributes import MASTERS, User
from manager.embedded.bootstrap import bootstrap
from manager.embedded.controllers import Controllers
from manager.embedded.http import HOST, Face, Intercept
from manager.embedded.journal import Journal
from manager.embedded.server import ApiServer
from manager.embedded.store import WINDOW, Store
from manager.embedded.tls import Authority, new_authority, server_context

ADMIN = "admin"


def utc_now() -> datetime:
    """The real time."""
    return datetime.now(UTC)


class Embedded:
    """An API server with its controllers, on the event loop in which it is entered.

    `users` are further users, or their groups: `{"alice": ()}`. `window` is how many changes are kept for watches. `clock` is the
    time that objects get and tokens are judged by. `unserved` are built-in resources that it does not know (`deployments.apps`).

    Raises OSError when the port is taken, InUse when the folder is.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        data: Path | None = None,
        users: Mapping[str, Sequence[str] | User] | None = None,
        clock: Callable[[], datetime] = utc_now,
        window: int = WINDOW,
        intercept: Intercept | None = None,
        unserved: Collection[str] = (),
    ) -> None:
        self._port = port
        self._data = data
        self._users = dict(users or {})
        self._clock = clock
        self._window = window
        self._intercept = intercept
        self._unserved = frozenset(unserved)

    server: ApiServer
    controllers: Controllers
    url: str
    ca: str
    """The certificate of its CA, as PEM."""
    tokens: Mapping[str, str]
    """A token for each user."""

    @property
    def token(self) -> str:
        """The administrator's token."""
        return self.tokens[ADMIN]

    @property
    def store(self) -> Store:
        """What it holds."""
        return self.server.store

    @property
    def intercept(self) -> Intercept | None:
        """What tests do to requests; it may be set at any time."""
        return self._face.intercept

    @intercept.setter
    def intercept(self, intercept: Intercept | None) -> None:
        self._face.intercept = intercept

    async def __aenter__(self) -> Self:
        journal = Journal(self._data) if self._data is not None else None
        try:
            await self._start(journal)
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        return self

    async def _start(self, journal: Journal | None) -> None:
        facts = _Facts(journal)
        store = Store(window=self._window, keeping=journal is not None)
        if journal is not None:
            journal.load(store)
        authority = facts.authority()
        self.ca = authority.certificate
        self.tokens = facts.tokens((ADMIN, *self._users))
        owners = {ADMIN: (MASTERS,), **self._users}
        users = {self.tokens[name]: _user(name, given) for name, given in owners.items()}
        self.server = assemble(store, users=users, key=facts.key(), clock=self._clock, unserved=self._unserved)
        self.controllers = Controllers(self.server, authority=self.ca)
        self._face = Face(self.server, journal, intercept=self._intercept)
        self._journal = journal
        context = server_context(authority)
        port = await self._face.listen(context, self._port)
        self.url = f"https://{HOST}:{port}"
        bootstrap(self.server, port)
        self.controllers.start(asyncio.get_running_loop())
        await self._face.commits.settle()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.controllers.stop()
        try:
            await self._face.close()
        finally:
            if self._journal is not None:
                self._journal.close()

    def kubeconfig(self, path: Path, *, user: str = ADMIN, namespace: str = "default") -> Path:
        """Write a kubeconfig for a user, that only its owner may read. Raises Invalid over a file that is not one of ours."""
        kubeconfig.write(path, kubeconfig.document(self.url, self.ca, self.tokens[user], namespace))
        return path


def _user(name: str, given: Sequence[str] | User) -> User:
    return given if isinstance(given, User) else User(name, uid=name, groups=tuple(given))


class _Facts:
    """What makes a cluster the same one after a restart; made when it is not there yet."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal

    def authority(self) -> Authority:
        return Authority.load(self._kept("ca", lambda: new_authority().dump()))

    def key(self) -> bytes:
        return self._kept("account-key", lambda: secrets.token_bytes(32))

    def tokens(self, users: Sequence[str]) -> dict[str, str]:
        known: dict[str, str] = orjson.loads(self._kept("tokens", lambda: b"{}"))
        missing = {user: secrets.token_urlsafe(32) for user in users if user not in known}
        if missing and self._journal is not None:
            self._journal.keep("tokens", orjson.dumps(known | missing))
        return {user: (known | missing)[user] for user in users}

    def _kept(self, key: str, make: Callable[[], bytes]) -> bytes:
        found = self._journal.fact(key) if self._journal is not None else None
        if found is not None:
            return found
        made = make()
        if self._journal is not None:
            self._journal.keep(key, made)
        return made
