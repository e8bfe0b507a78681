"""The command `copyhold up`: an embedded cluster in this process, how to reach it, and what runs on it, until a signal comes.

The line that points kubectl at the cluster shall be out at once, so this imports no more than it needs until then.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from apis.intent import Identity
from apis.problems import Invalid
from apis.reasons import Reason
from manager import kubeconfig
from manager.connect import endpoint
from manager.embedded.cluster import Embedded
from manager.embedded.journal import InUse
from manager.examples.example import Setup, setup
from policy.account import Accounts


@dataclass(frozen=True, slots=True)
class Settings:
    """How it runs; see `copyhold up --help`. `port` 0 is a free one, `data` None keeps everything in memory."""

    load: tuple[str, ...] = ()
    data: Path | None = None
    port: int = 0
    kubeconfig: Path | None = None
    default_account: Identity | None = None
    namespace: str = "copyhold-system"

    @property
    def accounts(self) -> Accounts:
        """What policy wants to know of accounts."""
        return Accounts(self.default_account, self.namespace)


async def up(settings: Settings) -> int:
    """Run until SIGINT or SIGTERM; answers the exit code. Raises problems that keep it from starting."""
    setups = [setup(Path(folder)) for folder in settings.load]
    place = settings.kubeconfig or kubeconfig.default()
    kubeconfig.check(place)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    work = asyncio.create_task(_work(settings, setups, place))
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
    for task in (work, stopped):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return 0


async def _work(settings: Settings, setups: Sequence[Setup], place: Path) -> None:
    async with _served(settings) as cluster, _pointed(settings, cluster, place):
        from manager.live import live

        where = endpoint(cluster.url, cluster.ca, cluster.token)
        await live(f"{_export(place)}   {cluster.url}", where, settings.accounts, setups)


@asynccontextmanager
async def _served(settings: Settings) -> AsyncIterator[Embedded]:
    """The cluster. Raises Invalid, with the remedy, when the port or the folder cannot be had."""
    cluster = Embedded(data=settings.data, port=settings.port)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(cluster)
        except InUse as error:
            remedy = "end that one, or name another folder with --data"
            raise Invalid(Reason.INVALID, f"{settings.data}: another process has this cluster open: {remedy}") from error
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else type(error).__name__
            why = f"cannot start the cluster on 127.0.0.1:{settings.port} ({said})"
            raise Invalid(Reason.INVALID, f"{why}: choose another --port, or leave it out for a free one") from error
        yield cluster


@asynccontextmanager
async def _pointed(settings: Settings, cluster: Embedded, place: Path) -> AsyncIterator[None]:
    """A kubeconfig for the cluster, which goes with it unless the cluster can come back; and two lines that say so."""
    config = kubeconfig.document(cluster.url, cluster.ca, cluster.token)
    kubeconfig.write(place, config)
    kept = f"in {settings.data}" if settings.data is not None else "in memory"
    click.echo(_export(place))
    click.echo(f"# an embedded cluster at {cluster.url}, {kept}, with the manager; Ctrl-C ends it")
    try:
        yield
    finally:
        if settings.data is None:
            kubeconfig.remove(place, config)


def _export(place: Path) -> str:
    return f"export KUBECONFIG={shlex.quote(os.path.abspath(place))}"
