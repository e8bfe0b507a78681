"""Writes the kubeconfig of the embedded cluster: for its owner's eyes only, and never over one that is somebody else's."""

import base64
import os
from pathlib import Path

import yaml

from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason

NAME = "copyhold"
"""What cluster, user and context are called; by it we know our own files again."""


def default() -> Path:
    """Where it is written unless a place is named: a folder of the user's own that outlives no reboot, else his state folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(runtime or state) / NAME / "kubeconfig"


def document(url: str, ca: str, token: str, namespace: str = "") -> Manifest:
    """A kubeconfig for the server at `url`, whose certificate `ca` (PEM) has signed. `namespace` is where its user is at home."""
    home = {"namespace": namespace} if namespace else {}
    authority = base64.b64encode(ca.encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME} | home}],
        "current-context": NAME,
    }


def write(path: Path, config: Manifest) -> None:
    """Write it with mode 0600, whole or not at all. Raises Invalid, with the remedy, over a file that is not one of ours."""
    check(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(yaml.safe_dump(config, sort_keys=False))
        partial.replace(path)
    except OSError as error:
        raise _wrong(f"{path}: cannot be written ({error.strerror}): name another place with --kubeconfig FILE") from error


def check(path: Path) -> None:
    """Raise Invalid, with the remedy, when something else than a kubeconfig of ours is there."""
    if path.exists() and not _ours(path):
        why = "holds something else than a kubeconfig of an embedded cluster, and would be overwritten"
        raise _wrong(f"{path}: {why}: name another place with --kubeconfig FILE")


def remove(path: Path, config: Manifest) -> None:
    """Remove the file if it still is what was written: by now, another cluster's may be there."""
    if _read(path) == config:
        path.unlink(missing_ok=True)


def _ours(path: Path) -> bool:
    config = _read(path)
    parts = [config.get(part) for part in ("clusters", "users", "contexts")] if isinstance(config, dict) else []
    return bool(parts) and all(
        isinstance(part, list) and [isinstance(one, dict) and one.get("name") for one in part] == [NAME] for part in parts
    )


def _read(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None  # not there, or nothing that we wrote


def _wrong(message: str) -> Invalid:
    return Invalid(Reason.INVALID, message)
