"""Where a server listens, who we are to it, and what it answers."""

import ssl
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from apis.problems import Invalid
from apis.reasons import Reason


class Credentials(Protocol):
    """Who we are, as header lines; renewed when the server refuses them."""

    def header(self) -> str | None:
        """Header lines, each ended by CRLF (`Authorization: Bearer ...`); None when `renew` must be awaited first.

        Called for every request, so it must be cheap.
        """
        ...

    async def renew(self, refused: str | None) -> bool:
        """Get new ones. `refused` are the lines that met a 401, None when `header` had none.

        True when another try makes sense. Raises Invalid or Unavailable when they cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No credentials in headers: open servers, and client certificates that never change."""

    def header(self) -> str | None:
        """No lines."""
        return ""

    async def renew(self, refused: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """There is nothing to renew."""
        return False


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token that never changes."""

    token: str

    def header(self) -> str | None:
        """One Authorization line."""
        return f"Authorization: Bearer {self.token}\r\n"

    async def renew(self, refused: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """There is nothing to renew."""
        return False

    def __repr__(self) -> str:
        return "Bearer(token=...)"


@dataclass(frozen=True, slots=True)
class As:
    """Our own credentials, and the name and groups of somebody whom we act as (`--as`): that needs the right to `impersonate`.

    For requests that impersonate nobody themselves. Raises Invalid for a name that cannot be a header.
    """

    credentials: Credentials
    user: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (self.user, *self.groups):
            if not name or not name.isascii() or not name.isprintable():
                raise Invalid(Reason.INVALID, f"{name[:80]!r} cannot be written into a header: give another --as or --as-group")

    def header(self) -> str | None:
        """The lines of the credentials, and those that impersonate."""
        lines = self.credentials.header()
        return None if lines is None else lines + self._lines

    async def renew(self, refused: str | None) -> bool:
        """As the credentials do."""
        return await self.credentials.renew(None if refused is None else refused.removesuffix(self._lines))

    @property
    def _lines(self) -> str:
        return f"Impersonate-User: {self.user}\r\n" + "".join(f"Impersonate-Group: {group}\r\n" for group in self.groups)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens and how to speak to it.

    `server_name` is what the certificate must say (the host if empty), `prefix` the path below which the API is served,
    `namespace` where a user is at home: that of the kubeconfig's context, or of the Pod.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    prefix: str = ""
    credentials: Credentials = Anonymous()
    namespace: str = ""

    @property
    def authority(self) -> str:
        """`host:port`, with an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Response(NamedTuple):
    """A whole answer. `headers` are as received: names and values as bytes, in order."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case; None when it is absent."""
        return header(self.headers, name)


def header(headers: list[tuple[bytes, bytes]], name: str) -> str | None:
    """The first header of that name, whatever its case; None when it is absent."""
    wanted = name.lower().encode()
    return next((value.decode("latin-1") for key, value in headers if key.lower() == wanted), None)
