"""Where a server listens, who we are to it, and what it answers."""

import ssl
from dataclasses import dataclass
from typing import NamedTuple, Protocol


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
class Endpoint:
    """Where a server listens and how to speak to it.

    `server_name` is what the certificate must say (the host if empty), `prefix` the path below which the API is served.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    prefix: str = ""
    credentials: Credentials = Anonymous()

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
