"""Serves admission for as long as a block lasts: certificates, server and registration, put together and kept."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from apis.problems import Invalid, Problem
from apis.reasons import Reason
from manager.admission import register
from manager.admission.certificates import Certificates, Files, Own, Shared
from manager.admission.policies import Policy
from manager.admission.register import EVERYWHERE, Place, Reach, Service, Url
from manager.admission.server import Handler, Server
from manager.world import Cluster

log = structlog.get_logger("copyhold")

PERIOD = 60.0
"""Seconds between two looks at the certificates and at the registration."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Where admission is served, under which name it is registered, and with whose certificate.

    `listen` is ADDRESS:PORT. Behind a Service all replicas share one certificate; a URL leads to this process alone, and is
    registered only while it runs. `folder` holds a certificate of somebody else's.
    """

    place: Place
    listen: tuple[str, int]
    folder: Path | None = None

    def certificates(self, cluster: Cluster, namespace: str, now: Callable[[], datetime]) -> Certificates:
        """Who provides them. `namespace` is the manager's."""
        if self.folder is not None:
            return Files(self.folder)
        if isinstance(self.place, Service):
            return Shared(cluster, namespace, self.place.hosts, now)
        return Own(self.place.hosts, now)


LISTEN = ("0.0.0.0", 9443)  # noqa: S104 - the API server comes from outside the Pod
"""Where replicas behind a Service listen unless they are told."""


def serving(url: str, service: str, listen: str, folder: str) -> Serving | None:
    """What the settings say, each as its flag takes it and "" for not given; None when no admission is to be served.

    Raises Invalid, naming the flag.
    """
    if url and service:
        raise _wrong("--admission-service", service, "left out beside --admission-url")
    if not url and not service:
        if listen or folder:
            flag, value = ("--admission-listen", listen) if listen else ("--admission-certificate", folder)
            raise _wrong(flag, value, "used with --admission-service or --admission-url")
        return None
    place = _url(url) if url else _service(service)
    default = (place.host, place.port) if isinstance(place, Url) else LISTEN
    return Serving(place, _address(listen) if listen else default, Path(folder) if folder else None)


def _url(text: str) -> Url:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or text.lower() not in (f"https://{host}:{port}", f"https://[{host}]:{port}"):
        raise _wrong("--admission-url", text, "https://HOST:PORT")
    return Url(host, port)


def _service(text: str) -> Service:
    name, _, port = text.rpartition(":")
    parts = name.split("/")
    if len(parts) != 2 or not all(map(_LABEL.fullmatch, parts)) or not _is_port(port):
        raise _wrong("--admission-service", text, "NAMESPACE/NAME:PORT")
    return Service(parts[0], parts[1], int(port))


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not _is_port(port):
        raise _wrong("--admission-listen", text, "ADDRESS:PORT")
    return host.strip("[]"), int(port)


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 1 << 16


def _wrong(flag: str, value: str, form: str) -> Invalid:
    return Invalid(Reason.INVALID, f"{flag}: {value!r} must be {form}")


@asynccontextmanager
async def served(
    cluster: Cluster,
    serving: Serving,
    handlers: Mapping[str, Handler],
    *,
    namespace: str,
    holds: Callable[[], bool],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    period: float = PERIOD,
    reach: Reach = EVERYWHERE,
    policies: Sequence[Policy] = (),
) -> AsyncIterator[Place]:
    """Serve and register within the block, and give the place, with the port that was bound.

    At the start every replica registers; afterwards the one for which `holds` is true repairs what others change. `policies` are
    those for which our webhook stands in; their handler must be among `handlers`.
    Raises Invalid when the address or the certificate cannot be had, and the problems of the cluster.
    """
    certificates = serving.certificates(cluster, namespace, now)
    await certificates.refresh()
    server = Server(handlers, certificates)
    port = await _listening(server, *serving.listen)
    place = Url(serving.place.host, port) if isinstance(serving.place, Url) and not serving.place.port else serving.place
    keeping: asyncio.Task[None] | None = None
    try:
        registered = partial(register.keep, cluster, place, reach=reach, policies=policies)
        _tell(await registered(certificates.bundle))
        keeping = asyncio.create_task(_kept(registered, certificates, holds, period), name="admission")
        yield place
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        if isinstance(place, Url):
            with contextlib.suppress(Problem):  # the server may be what ended
                await register.withdraw(cluster, place, reach)
        await server.stop()


async def _listening(server: Server, host: str, port: int) -> int:
    try:
        bound = await server.start(host, port)
    except OSError as error:
        why = error.strerror or type(error).__name__
        remedy = "choose another address with --admission-listen"
        raise Invalid(Reason.INVALID, f"cannot serve admission on {host}:{port} ({why}): {remedy}") from error
    log.info("serving admission", address=f"{host}:{bound}")
    return bound


async def _kept(
    registered: Callable[[str], Awaitable[tuple[str, ...]]], certificates: Certificates, holds: Callable[[], bool], period: float
) -> None:
    """A replica that does not repair looks at its certificates all the same: the Secret may have been renewed."""
    while True:
        await asyncio.sleep(period)
        try:
            await certificates.refresh()
            if holds():
                _tell(await registered(certificates.bundle))
        except Problem as problem:
            log.warning("admission not kept", reason=str(problem.reason), message=str(problem))


def _tell(written: tuple[str, ...]) -> None:
    if written:
        log.info("webhooks written", names=list(written))
