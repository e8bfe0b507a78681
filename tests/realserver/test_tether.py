"""Nothing that a server started outlives it."""

import os
import subprocess
import sys

import pytest

from tests.realserver.server import TETHER
from tests.support.api import eventually

STARTER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), "/bin/sleep", "60"])
print(child.pid, flush=True)
time.sleep(60)
"""


def runs(pid: int) -> bool:
    """Say whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_tethered_program_dies_with_its_starter() -> None:
    """Even a starter that is killed, and so can stop nothing, leaves nothing running."""
    with subprocess.Popen([sys.executable, "-c", STARTER, str(TETHER)], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        child = int(starter.stdout.readline())
        assert runs(child)
        starter.kill()
    eventually(lambda: not runs(child), timeout=10)


def test_a_program_whose_starter_is_gone_does_not_start() -> None:
    """A starter that died before the tether was tied is noticed."""
    if sys.platform == "linux":
        assert subprocess.run([sys.executable, "-I", "-S", str(TETHER), "1", "/bin/true"], check=False).returncode == 1
