"""`python -m bench`: start a control plane, measure, print a table. Ratios count; the times are this machine's."""

import argparse
import asyncio
import sys

import uvloop

from bench.expressions import measure as measure_expressions
from bench.fanout import Shape, measure
from bench.permits import measure as measure_permits
from bench.servers import compare
from bench.stand import Stand
from tests.realserver.assets import find
from tests.realserver.server import RealServer
from tests.support.embedded import EmbeddedServer


def main() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--namespaces", type=int, default=200)
    parser.add_argument("--targets", type=int, default=10, help="per namespace")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds of the idle measurement")
    parser.add_argument("--large", type=int, default=40, help="targets per namespace of the memory measurement; 0 leaves it out")
    parser.add_argument("--objects", type=int, default=10_000, help="of the comparison of servers; 0 leaves it out")
    parser.add_argument("--servers", action="store_true", help="only the comparison of the embedded with the real server")
    parser.add_argument("--cel", action="store_true", help="only the expressions: ours beside other implementations of CEL")
    parser.add_argument("--permits", action="store_true", help="only permits: from their end until their access is gone")
    arguments = parser.parse_args()
    if arguments.permits:
        with EmbeddedServer() as embedded, RealServer(find()) as real, _runner() as runner:
            for name, server in {"embedded": embedded.access, "real": real.access}.items():
                runner.run(measure_permits(Stand(server), name, _say))
        return 0
    if arguments.cel:
        measure_expressions(_say)
        return 0
    shape = Shape(arguments.namespaces, arguments.targets, arguments.idle, arguments.large)
    if arguments.objects:
        with EmbeddedServer() as embedded, RealServer(find()) as real, _runner() as runner:
            servers = {"embedded": (embedded.access, embedded.pids), "real": (real.access, real.pids)}
            runner.run(compare(servers, arguments.objects, _say))
    if not arguments.servers:
        with RealServer(find()) as server, _runner() as runner:
            runner.run(measure(Stand(server.access), shape, _say))
    return 0


def _runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
