"""One control plane that all processes of a test run share: the first to ask starts it, the run's own end stops it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from tests.realserver.access import Access
from tests.realserver.lock import held
from tests.realserver.server import DEADLINE, NotReady
from tests.realserver.supervisor import ACCESS, ALIVE, FAILURE, LOG

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Shared:
    """A test run: its folder, and the process whose end is the run's end."""

    folder: Path
    run: int

    @classmethod
    def begin(cls) -> Self:
        """Make the folder of the run that this process leads; nothing is started yet."""
        return cls(Path(tempfile.mkdtemp(prefix="copyhold-tests-")), os.getpid())

    def join(self, programs: Callable[[], Path]) -> Access:
        """Return the run's control plane, started now if nobody has; `programs` is asked for only then.

        Whoever comes after a failed start gets the same failure, not another wait.
        """
        with held(self.folder / "start", timeout=60 * 60):
            if not (self.folder / ACCESS).exists() and not (self.folder / FAILURE).exists():
                self._start(programs())
        if (self.folder / FAILURE).exists():
            raise NotReady((self.folder / FAILURE).read_text())
        return Access.load((self.folder / ACCESS).read_text())

    def end(self) -> None:
        """Stop what was started, wait until it is gone, and delete the folder."""
        pid = self.folder / "pid"
        if pid.exists() and self._alive():
            os.kill(int(pid.read_text()), signal.SIGTERM)
            with held(self.folder / ALIVE, timeout=30):
                pass
        shutil.rmtree(self.folder)

    def _alive(self) -> bool:
        # By its lock, not by its number: that may belong to another process by now.
        try:
            with held(self.folder / ALIVE, timeout=0):
                return False
        except TimeoutError:
            return True

    def _start(self, programs: Path) -> None:
        with (self.folder / LOG).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.realserver.supervisor", str(self.folder), str(programs), str(self.run)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (self.folder / "pid").write_text(str(process.pid))
        deadline = monotonic() + DEADLINE + 30
        while not (self.folder / ACCESS).exists() and not (self.folder / FAILURE).exists():
            if process.poll() is not None or monotonic() > deadline:
                # It may have ended between the two looks, with its own account of why.
                if not (self.folder / FAILURE).exists():
                    (self.folder / FAILURE).write_text((self.folder / LOG).read_text() or "the supervisor ended without a word")
                return
            sleep(0.1)
        # It outlives this process on purpose and is not ours to wait for: `end` does, by its lock.
        process.returncode = process.poll() or 0
