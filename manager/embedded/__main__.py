"""`python -m manager.embedded`: a cluster in the foreground, without the manager, until a signal."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import uvloop

from manager.embedded.cluster import Embedded
from manager.embedded.journal import InUse


def main() -> int:
    """Start one, print where its kubeconfig is, and wait."""
    parser = argparse.ArgumentParser(prog="python -m manager.embedded", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on loopback; any free one by default")
    parser.add_argument("--data", type=Path, help="a folder that keeps everything; in memory by default")
    parser.add_argument("--kubeconfig", type=Path, default=Path("kubeconfig"), help="the file to write")
    parser.add_argument("--user", action="append", default=[], help="a further user, in no group")
    given = parser.parse_args()
    try:
        uvloop.run(_serve(given))
    except (OSError, InUse) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


async def _serve(given: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with Embedded(port=given.port, data=given.data, users=dict.fromkeys(given.user, ())) as cluster:
        print(cluster.kubeconfig(given.kubeconfig).absolute(), flush=True)
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())
