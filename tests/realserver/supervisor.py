"""Holds one control plane for a whole test run: `python -m tests.realserver.supervisor <folder> <programs> <pid>`.

It writes `access.json` into the folder (or `failure`), holds the lock `alive` as long as it runs, and ends on SIGTERM or when
the process `pid`, the test run, has gone for whatever reason.
"""

import os
import select
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.realserver.access import write_private
from tests.realserver.lock import held
from tests.realserver.server import NotReady, RealServer

ACCESS, FAILURE, ALIVE, LOG = "access.json", "failure", "alive", "supervisor.log"


def main(folder: Path, programs: Path, run: int) -> None:
    """Serve the test run `run` until it is over."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with held(folder / ALIVE, timeout=5):
        try:
            gone = _death_of(run)
            with RealServer(programs) as server:
                write_private(folder / ACCESS, server.access.dump())
                why = None
                while why is None and not gone():
                    why = server.failed()
                if why is not None:
                    raise NotReady(why)
            # The run was killed, and nobody else is there to tidy up.
            shutil.rmtree(folder, ignore_errors=True)
        except KeyboardInterrupt:
            return
        except Exception as error:
            write_private(folder / FAILURE, str(error))
            raise


def _death_of(pid: int) -> Callable[[], bool]:
    """Return a question that takes half a second and says whether the process has ended, be it reaped or not."""
    if sys.platform == "linux":
        poll = select.poll()
        poll.register(os.pidfd_open(pid), select.POLLIN)
        return lambda: bool(poll.poll(500))
    return lambda: bool(select.select([], [], [], 0.5)) and not _exists(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
