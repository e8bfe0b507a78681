"""A file lock between processes, given back by the kernel however its holder ends."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep


@contextmanager
def held(path: Path, *, timeout: float, waiting: Callable[[float], None] = lambda seconds: None) -> Iterator[None]:
    """Hold the lock at `path`; `waiting` hears every five seconds how long another process has kept us out."""
    with path.open("w") as file:
        started = told = monotonic()
        while not _taken(file.fileno()):
            now = monotonic()
            if now - started > timeout:
                raise TimeoutError(f"another process has held {path} for {timeout:.0f} s")
            if now - told >= 5:
                waiting(now - started)
                told = now
            sleep(0.05)
        yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
