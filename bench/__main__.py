"""`python -m bench`: start a control plane, measure, print a table. Ratios count; the times are this machine's."""

import argparse
import asyncio
import sys

import uvloop

from bench.fanout import Shape, measure
from bench.stand import Stand
from tests.realserver.assets import find
from tests.realserver.server import RealServer


def main() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--namespaces", type=int, default=200)
    parser.add_argument("--targets", type=int, default=10, help="per namespace")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds of the idle measurement")
    parser.add_argument("--large", type=int, default=40, help="targets per namespace of the memory measurement; 0 leaves it out")
    arguments = parser.parse_args()
    shape = Shape(arguments.namespaces, arguments.targets, arguments.idle, arguments.large)
    with RealServer(find()) as server, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure(Stand(server.access), shape, lambda line: print(line, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
