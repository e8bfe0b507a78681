"""The embedded cluster as a process of its own, with the same face as the real control plane has for tests.

`python -m tests.support.embedded FOLDER` runs it: its data, certificate and tokens are in that folder, so that it can be
killed and started again as it was.
"""

import asyncio
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Collection
from pathlib import Path
from time import monotonic, sleep
from typing import Self

import uvloop

from tests.realserver.access import ORDINARY, Access, client, write_private
from tests.realserver.scratch import scratch
from tests.realserver.server import TETHER, NotReady, RealServer

DEADLINE = 30.0
ROOT = Path(__file__).parents[2]
ACCESS, LOG, DATA = "access.json", "embedded.log", "data"


class EmbeddedServer:
    """An embedded cluster of its own, for as long as the `with` block lasts; see RealServer.

    `durable` keeps its objects in SQLite, so that `restart` finds them again; without it, they are in memory. `unserved` are
    resources that it does not know.
    """

    access: Access

    def __init__(self, *, durable: bool = False, unserved: Collection[str] = ()) -> None:
        self._durable = durable
        self._unserved = unserved

    def __enter__(self) -> Self:
        self._scratch = scratch()
        self._folder = self._scratch.__enter__()
        try:
            self._run()
            self.access = self._ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._scratch.__exit__(None, None, None)

    @property
    def pids(self) -> list[int]:
        """The processes that it consists of."""
        return [self._process.pid]

    def signal(self, name: str, number: int) -> None:
        """Send a signal to the server, which is all that there is: any name of a program means it."""
        self._process.send_signal(number)

    def restart(self, name: str) -> None:
        """Kill the server and start it again as it was; it is not waited for."""
        self._kill()
        self._run(port=int(self.access.url.rpartition(":")[2]))

    def failed(self) -> str | None:
        """Return what a server that ended by itself left in its log, or None while it runs."""
        code = self._process.poll()
        return None if code is None else f"the embedded server ended with code {code}:\n{self._tail()}"

    def _run(self, port: int = 0) -> None:
        flags = [str(self._folder), f"--port={port}", *(["--durable"] if self._durable else [])]
        flags += [f"--unserved={resource}" for resource in self._unserved]
        with (self._folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(TETHER),
                    str(os.getpid()),
                    sys.executable,
                    "-m",
                    "tests.support.embedded",
                    *flags,
                ],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _ready(self) -> Access:
        deadline = monotonic() + DEADLINE
        while not (self._folder / ACCESS).exists():
            if (why := self.failed()) is not None:
                raise NotReady(why)
            if monotonic() > deadline:
                raise NotReady(f"the embedded server was not ready after {DEADLINE:.0f} s:\n{self._tail()}")
            sleep(0.02)
        access = Access.load((self._folder / ACCESS).read_text())
        with client(access.ca) as http:
            http.get(f"{access.url}/readyz", headers={"Authorization": f"Bearer {access.token}"}).raise_for_status()
        return access

    def _tail(self, lines: int = 20) -> str:
        return "\n".join((self._folder / LOG).read_text(errors="replace").splitlines()[-lines:])

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()


def beside(server: Access) -> EmbeddedServer | RealServer:
    """A server of the same kind as a given one, for a test that needs one of its own."""
    return EmbeddedServer(durable=True) if server.programs is None else RealServer(server.programs)


async def _serve(folder: Path, port: int, *, durable: bool, unserved: Collection[str]) -> None:
    from manager.embedded.cluster import Embedded  # only the serving process needs it

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    data, users = folder / DATA if durable else None, dict.fromkeys(ORDINARY, ())
    async with Embedded(data=data, port=port, users=users, unserved=unserved) as cluster:
        ca = folder / "ca.crt"
        ca.write_text(cluster.ca)
        write_private(folder / ACCESS, Access(cluster.url, ca, cluster.tokens, None).dump())
        await stopped.wait()


def main() -> None:
    """Serve until ended."""
    parser = ArgumentParser(prog="python -m tests.support.embedded", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--unserved", action="append", default=[])
    given = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(given.folder, given.port, durable=given.durable, unserved=given.unserved))


if __name__ == "__main__":
    main()
