"""Programs that the tests run, built once from a Go module and kept in the cache of this project."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic

from tests.realserver.lock import held

BUILD_TIMEOUT = 30 * 60.0
"""Seconds that one process waits for another's build."""


class Unavailable(Exception):
    """The programs cannot be had here; the text is one line that says what to install."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one Go module: what its `tool` lines name.

    `package` is the module of which `go.mod` pins the version; `stamps` are variables that the linker sets; `built_as` maps
    the name that Go gives a program to the one it has; `sources` are our own files in it, whose change is another version;
    `remedy` ends the line that says how to do without Go.
    """

    title: str
    module: Path
    package: str
    names: tuple[str, ...]
    minutes: str
    stamps: Mapping[str, str] = field(default_factory=dict)
    built_as: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def version(self) -> str:
        """The version that `go.mod` pins, without the `v`, and the digest of our own sources where there are any."""
        version = pinned(self.module, self.package)
        if not self.sources:
            return version
        digest = sha256(b"\0".join((self.module / source).read_bytes() for source in ("go.sum", *self.sources)))
        return f"{version}-{digest.hexdigest()[:12]}"

    def find(self) -> Path:
        """The folder that holds the programs, built if need be. Raises `Unavailable`."""
        folder = _cache() / self.module.name / self.version
        if not self.missing(folder):
            return folder
        go = shutil.which("go")
        if go is None:
            raise Unavailable(f"no {self.title} programs: install Go 1.26 or newer{self.remedy}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.parent / f"{self.version}.lock"
        with held(
            lock, timeout=BUILD_TIMEOUT, waiting=lambda seconds: self._say(f"another process builds them ({seconds:.0f} s)")
        ):
            if self.missing(folder):
                self._build(go, folder)
        return folder

    def missing(self, folder: Path) -> list[str]:
        """The programs that are not in a folder."""
        return [name for name in self.names if not os.access(folder / name, os.X_OK)]

    def _build(self, go: str, target: Path) -> None:
        # Renamed into place when complete: a build that was cut short must never look like a finished one.
        building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            self._install(go, building)
            for built, name in self.built_as.items():
                (building / built).rename(building / name)
            building.chmod(0o755)
            shutil.rmtree(target, ignore_errors=True)
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def _install(self, go: str, into: Path) -> None:
        flags = " ".join(["-s -w", *(f"-X {variable}={value}" for variable, value in self.stamps.items())])
        environment = os.environ | {"GOBIN": str(into), "CGO_ENABLED": "0"}
        started = monotonic()
        with tempfile.TemporaryFile("w+") as log:
            command = [go, "install", "-trimpath", f"-ldflags={flags}", "tool"]
            process = subprocess.Popen(
                command, cwd=self.module, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            try:
                while (code := _ended(process, seconds=10)) is None:
                    self._say(
                        f"building {self.title} {self.version}, once, in {self.minutes} minutes ({monotonic() - started:.0f} s)"
                    )
            finally:
                process.kill()
                process.wait()
            log.seek(0)
            said = log.read().strip().splitlines()
        if code != 0:
            why = said[-1] if said else f"exit code {code}"
            raise Unavailable(f"building {self.title} {self.version} with {go} failed: {why}")
        self._say(f"built {self.title} {self.version} in {monotonic() - started:.0f} s")

    def _waiting(self, seconds: float) -> None:
        self._say(f"another process builds them ({seconds:.0f} s)")

    def _say(self, text: str) -> None:
        print(f"{self.module.name}: {text}", file=sys.stderr, flush=True)


def pinned(module: Path, package: str) -> str:
    """The version of a package that the `go.mod` in this folder pins, without the `v`."""
    found = re.search(rf"^\s*(?:require )?{re.escape(package)} v(\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    assert found, f"{module}/go.mod pins no {package}"
    return found.group(1)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "copyhold"


def _ended(process: subprocess.Popen[bytes], *, seconds: float) -> int | None:
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
