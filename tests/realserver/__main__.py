"""`python -m tests.realserver`: a control plane in the foreground, for trying things by hand, until Ctrl-C."""

import signal
import sys
from argparse import ArgumentParser
from time import sleep

from tests.realserver.assets import Unavailable, find, version
from tests.realserver.server import NotReady, RealServer


def main() -> int:
    """Start one, print how to reach it, and wait."""
    ArgumentParser(prog="python -m tests.realserver", description=__doc__).parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with RealServer(find()) as server:
            kubeconfig = server.access.kubeconfig(server.access.ca.parent / "admin.kubeconfig")
            print(f"export KUBECONFIG={kubeconfig}", flush=True)
            print(f"# Kubernetes {version()} at {server.access.url}; {server.access.kubectl}; Ctrl-C stops it", flush=True)
            while (why := server.failed()) is None:
                sleep(0.5)
            print(why, file=sys.stderr)
    except (Unavailable, NotReady) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
