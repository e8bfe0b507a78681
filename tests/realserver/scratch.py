"""A folder for one server's data: in memory where there is one, and never left behind for long."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.realserver.lock import held


@contextmanager
def scratch() -> Iterator[Path]:
    """Hold an empty folder that only its owner may read; it is deleted at the end.

    Whoever was killed could not delete its own: the next one finds its lock free and does it.
    """
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    root = base / f"copyhold-realserver-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    with held(root / "lock", timeout=30):
        _sweep(root)
        folder = Path(tempfile.mkdtemp(dir=root))
        alive = (folder / "alive").open("w")
        fcntl.flock(alive, fcntl.LOCK_EX)
    try:
        with alive:
            data = folder / "data"
            data.mkdir()
            yield data
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(root: Path) -> None:
    for alive in root.glob("*/alive"):
        with alive.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(alive.parent, ignore_errors=True)
