"""Becomes the program named by its arguments, and dies with the process that started it.

Run as a file: `python tether.py <pid of the starter> <program> <argument> ...`. The kernel keeps the promise on Linux, even
when the starter is killed; elsewhere the starter has to stop what it started.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(starter: int, command: list[str]) -> None:
    """Tie this process to `starter`, then become `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # The starter may have died before the call, and then nobody would tell us.
        if os.getppid() != starter:
            sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
