"""Finds the programs of a Kubernetes control plane, or builds them once with the Go toolchain.

Looked at in this order: the folder that `KUBEBUILDER_ASSETS` names, the cache of this project, a build into that cache.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

from tests.realserver.lock import held

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
MODULE = Path(__file__).parent
BUILD_TIMEOUT = 30 * 60.0


class Unavailable(Exception):
    """No control plane can run here; the text is one line that says what to install."""


def version() -> str:
    """Return the Kubernetes version that `go.mod` pins, without the `v`."""
    pinned = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert pinned, "go.mod pins no k8s.io/kubernetes"
    return pinned.group(1)


def find() -> Path:
    """Return the folder that holds `PROGRAMS`, built if need be, or raise `Unavailable`."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        if missing := _missing(Path(given)):
            raise Unavailable(f"KUBEBUILDER_ASSETS={given} lacks {', '.join(missing)}: add them, or unset it to have them built")
        return Path(given)
    cached = _cache() / version()
    if not _missing(cached):
        return cached
    go = shutil.which("go")
    if go is None:
        raise Unavailable(
            f"no Kubernetes programs: install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder with {', '.join(PROGRAMS)}"
        )
    cached.parent.mkdir(parents=True, exist_ok=True)
    lock = cached.parent / f"{version()}.lock"
    with held(lock, timeout=BUILD_TIMEOUT, waiting=lambda seconds: _say(f"another process builds them ({seconds:.0f} s)")):
        if _missing(cached):
            _build(go, cached)
    return cached


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "copyhold" / "realserver"


def _missing(folder: Path) -> list[str]:
    return [program for program in PROGRAMS if not os.access(folder / program, os.X_OK)]


def _build(go: str, target: Path) -> None:
    # Renamed into place when complete: a build that was cut short must never look like a finished one.
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _install(go, building)
        (building / "server").rename(building / "etcd")
        building.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        building.rename(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _install(go: str, into: Path) -> None:
    major, minor, _ = version().split(".", 2)
    # Without these flags the programs call themselves v0.0.0, and kubectl refuses to compare that with anything.
    stamps = {"gitVersion": f"v{version()}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items())])
    environment = os.environ | {"GOBIN": str(into), "CGO_ENABLED": "0"}
    started = monotonic()
    with tempfile.TemporaryFile("w+") as log:
        command = [go, "install", "-trimpath", f"-ldflags={flags}", "tool"]
        process = subprocess.Popen(command, cwd=MODULE, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            while (code := _ended(process, seconds=10)) is None:
                _say(f"building Kubernetes {version()}, once, in 4 to 8 minutes ({monotonic() - started:.0f} s)")
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        said = log.read().strip().splitlines()
    if code != 0:
        raise Unavailable(f"building Kubernetes {version()} with {go} failed: {said[-1] if said else f'exit code {code}'}")
    _say(f"built Kubernetes {version()} in {monotonic() - started:.0f} s")


def _ended(process: subprocess.Popen[bytes], *, seconds: float) -> int | None:
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def _say(text: str) -> None:
    print(f"realserver: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        print(find())
    except Unavailable as error:
        sys.exit(f"realserver: {error}")
