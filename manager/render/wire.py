"""What the pool and its workers share: the bounds, the frames between them, and the environment of a child process.

Light on purpose: no model library, no templates.
"""

import os
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HEADER = 4  # bytes: the length of the frame that follows, big-endian
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one worker. Sizes are in bytes, times in seconds."""

    wall: float = 5.0  # per batch; the parent kills
    cpu: int = 30  # per batch; the kernel kills, should the parent be gone
    memory: int = 512 * MIB  # address space
    resident: int = 128 * MIB  # a worker that holds more after a batch is replaced
    document: int = MIB  # one manifest as JSON
    job: int = 4 * MIB  # all manifests of one job, or its text
    answer: int = 16 * MIB  # one answer; jobs beyond it are asked for again
    frame: int = 4 * MIB  # a batch of several jobs is cut at this size
    largest: int = 16 * MIB  # the inputs of a single job
    jobs: int = 256  # per batch
    start: float = 60.0  # until a new process is ready


def length(size: int) -> bytes:
    """The header of a frame of `size` bytes."""
    return size.to_bytes(HEADER, "big")


def environment(libraries: Iterable[str]) -> dict[str, str]:
    """All that a child process gets: where our own code and, when the interpreter would not find them, its libraries are."""
    own = str(Path(__file__).resolve().parents[2])
    places = [own, *(place for place in map(_place, libraries) if place)]
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    path = [place for place in dict.fromkeys(places) if place not in installed]
    return {"PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"} if path else {"PYTHONDONTWRITEBYTECODE": "1"}


def _place(library: str) -> str:
    """The folder that a top-level module or package is imported from; empty when it is not there."""
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return ""
    return str(Path(spec.origin).parents[1] if spec.submodule_search_locations else Path(spec.origin).parent)
