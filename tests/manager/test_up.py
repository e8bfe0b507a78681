"""`copyhold up` as a process: what it prints, what can be done with it, and how it ends."""

import base64
import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from manager import kubeconfig
from manager.cli import main
from tests.support.api import Api, eventually, ref

ROOT = Path(__file__).parents[2]
QUOTA = ROOT / "examples" / "quota"
COMMAND = (sys.executable, "-m", "manager.cli", "up")


@dataclass
class Up:
    """A running one. `text` is what it has written so far."""

    process: subprocess.Popen[bytes]
    kubeconfig: Path
    read: Callable[[], str]
    text: str = ""

    def says(self, pattern: str, timeout: float = 30) -> re.Match[str]:
        """Wait until it has written this; answers the match."""

        def look() -> re.Match[str] | None:
            self.text += self.read()
            found = re.search(pattern, self.text)
            assert found or self.process.poll() is None, f"ended with code {self.process.returncode}: {self.text}"
            return found

        found = eventually(look, timeout=timeout)
        assert found is not None
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal; answers the exit code."""
        self.process.send_signal(number)
        return self.process.wait(20)

    def api(self) -> Api:
        """The administrator's client, by what the kubeconfig says."""
        config: Any = yaml.safe_load(self.kubeconfig.read_text())
        ca = self.kubeconfig.with_suffix(".crt")
        ca.write_bytes(base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]))
        return Api(config["clusters"][0]["cluster"]["server"], ca, config["users"][0]["user"]["token"])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Starts one with these arguments, its output in a pipe or (`terminal=True`) on a terminal; ended after the test."""
    with ExitStack() as stack:

        def run(*words: object, terminal: bool = False) -> Up:
            place = tmp_path / "kubeconfig"
            given = [*COMMAND, "--kubeconfig", str(place), *map(str, words)]
            output = stack.enter_context(_terminal() if terminal else _pipe())
            process = subprocess.Popen(
                given,
                cwd=ROOT,
                env=os.environ | {"COLUMNS": "160", "LINES": "50", "TERM": "xterm"},
                stdin=subprocess.DEVNULL,
                stdout=output.write,
                stderr=subprocess.STDOUT,
            )
            stack.callback(_stop, process)
            return Up(process, place, output.take)

        yield run


@dataclass
class Output:
    """Two ends of a pipe."""

    reading: int
    write: int

    def take(self) -> str:
        """What is there now."""
        text = b""
        while select.select([self.reading], [], [], 0)[0]:
            try:
                piece = os.read(self.reading, 1 << 16)
            except OSError:  # a terminal whose other side is gone
                break
            if not piece:
                break
            text += piece
        return text.decode(errors="replace")


@contextmanager
def _pipe() -> Iterator[Output]:
    output = Output(*os.pipe())
    yield output
    os.close(output.reading)
    os.close(output.write)


@contextmanager
def _terminal() -> Iterator[Output]:
    output = Output(*pty.openpty())
    yield output
    os.close(output.reading)
    os.close(output.write)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait(10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_folder_is_loaded_told_and_repaired_and_a_signal_ends_it(start: Callable[..., Up], number: int) -> None:
    """Line by line in a pipe; the kubeconfig is its owner's alone and goes with the cluster. Exit code 0."""
    started = monotonic()
    up = start("--load", QUOTA)
    assert up.says(r"^export KUBECONFIG=(\S+)\n")[1] == str(up.kubeconfig)
    assert monotonic() - started < 30  # two seconds on a machine that does nothing else
    assert stat.S_IMODE(up.kubeconfig.stat().st_mode) == 0o600
    up.says(r"\d\d:\d\d:\d\d Create ConfigMap solar-dev/tenant: Missing \(GlobalTenantResource baseline\)\n")
    up.says(r"Succeeded GlobalTenantResource baseline: reconciled 6 targets\n")
    with up.api() as api:
        tenant = ref("v1", "ConfigMap", "tenant", "solar-dev")
        uid = api.get(tenant).expect(200).body["metadata"]["uid"]
        up.text = ""
        api.delete(tenant).expect(200)
        up.says("Create ConfigMap solar-dev/tenant: Missing")
        assert api.get(tenant).expect(200).body["metadata"]["uid"] != uid
        notes = [event["note"] for event in api.list("events.k8s.io/v1", "Event", "default").expect(200).body["items"]]
        assert "reconciled 6 targets" in notes
    assert "\x1b" not in up.text
    assert up.end(number) == 0
    assert not up.kubeconfig.exists()


def test_a_terminal_gets_a_live_view(start: Callable[..., Up]) -> None:
    """The board with parents, targets, verbs and reasons; who waits says for what."""
    up = start("--load", QUOTA, "--load", ROOT / "examples" / "ordered", terminal=True)
    up.says(r"GlobalTenantResource baseline.*Ready")
    up.says(r"DependencyNotReady: .*schema is not Ready")
    up.says(r"Conflict.*ConfigMap depot/schema.*Foreign")
    up.says(r"Create.*ConfigMap solar-dev/tenant.*Missing")
    assert up.end() == 0


def test_what_is_kept_in_a_folder_is_there_again(start: Callable[..., Up], tmp_path: Path) -> None:
    """Objects, address and token survive the process; the manager goes on where it was and writes nothing."""
    data = tmp_path / "data"
    up = start("--data", data, "--load", QUOTA)
    up.says("reconciled 6 targets")
    config = up.kubeconfig.read_text()
    tenant = ref("v1", "ConfigMap", "tenant", "solar-dev")
    with up.api() as api:
        before = api.get(tenant).expect(200).body
    assert up.end() == 0
    assert up.kubeconfig.read_text() == config  # good again when it comes back at the same port
    port = re.search(r"https://127\.0\.0\.1:(\d+)", config)
    assert port is not None
    again = start("--data", data, "--port", port[1])
    again.says("export KUBECONFIG")
    assert again.kubeconfig.read_text() == config
    with again.api() as api:
        assert api.get(tenant).expect(200).body == before
    assert again.end() == 0


def test_a_permit_outlives_the_process_and_each_of_its_steps_is_told(start: Callable[..., Up], tmp_path: Path) -> None:
    """Two users by impersonation; phase, actor and end in a line each. The keys are kept, or the request would prove nothing."""
    data = tmp_path / "data"
    up = start("--data", data, "--load", ROOT / "examples" / "permit-pod-reader")
    up.says("export KUBECONFIG")
    permit = ref("copyhold.dev/v1alpha1", "ResourcePermit", "incident-1042", "shop")
    binding = ref("rbac.authorization.k8s.io/v1", "RoleBinding", "incident-1042", "shop")
    asked = {"template": {"kind": "ResourcePermitTemplate", "name": "pod-reader"}, "params": {"user": "alice"}}
    with up.api() as api:
        eventually(lambda: api.as_user("alice").create(permit | {"spec": asked}).expect(201), 30)
        up.says(r"Requested ResourcePermit shop/incident-1042: PendingReview by copyhold \(System\)\n")
    assert up.end() == 0
    again = start("--data", data)
    again.says("export KUBECONFIG")
    with again.api() as api:
        approval, end = ({"status": {"phase": phase}} for phase in ("Approved", "Expired"))
        eventually(lambda: api.as_user("bob").merge_patch(permit, approval, subresource="status").expect(200), 30)
        again.says(r"Approved ResourcePermit shop/incident-1042: ApprovedByUser by bob\n")
        again.says(r"Active ResourcePermit shop/incident-1042: ActivatedBySystem by copyhold \(System\), until 20\S+Z\n")
        assert api.get(binding).status == 200
        api.as_user("bob").merge_patch(permit, end, subresource="status").expect(200)
        again.says(r"Expired ResourcePermit shop/incident-1042: ExpiredByUser by bob\n")
        assert api.get(binding).status == 404
    assert again.end() == 0


def told(*words: object) -> tuple[int, str]:
    """The exit code and what stderr says, for what fails at once."""
    result = CliRunner().invoke(main, ["up", *map(str, words)], prog_name="copyhold")
    return result.exit_code, " ".join(result.stderr.split())


def test_what_cannot_be_loaded_is_said_before_anything_starts(tmp_path: Path) -> None:
    """A folder that is missing, one without parents, YAML that cannot be read: exit code 1 and the remedy."""
    place = ("--kubeconfig", tmp_path / "kubeconfig")
    code, said = told(*place, "--load", tmp_path / "none")
    assert (code, "no such folder: name a folder that holds parent.yaml" in said) == (1, True), said
    code, said = told(*place, "--load", tmp_path)
    assert (code, "parent.yaml is missing" in said) == (1, True), said
    (tmp_path / "parent.yaml").write_text("a: [")
    code, said = told(*place, "--load", tmp_path)
    assert (code, "parent.yaml line" in said) == (1, True), said
    assert not (tmp_path / "kubeconfig").exists()


def test_a_port_that_is_taken_is_said_with_the_remedy(tmp_path: Path) -> None:
    """Exit code 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = told("--kubeconfig", tmp_path / "kubeconfig", "--port", port)
    assert code == 1
    assert f"127.0.0.1:{port}" in said
    assert "choose another --port, or leave it out for a free one" in said


def test_wrong_usage_has_a_code_of_its_own() -> None:
    """An option that is not known, a port that is none."""
    assert told("--nothing")[0] == 2
    assert told("--port", "70000")[0] == 2


# The kubeconfig.


def test_a_kubeconfig_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    """Neither one with other clusters in it nor something else altogether; our own is."""
    place = tmp_path / "config"
    for text in ("clusters: [{name: production}]", "notes", "{", "clusters: [{name: copyhold}, {name: production}]"):
        place.write_text(text)
        code, said = told("--kubeconfig", place)
        assert code == 1
        assert "name another place with --kubeconfig FILE" in said
        assert place.read_text() == text
    place.unlink()
    first, second = (kubeconfig.document("https://127.0.0.1:1", "ca", token) for token in ("a", "b"))
    kubeconfig.write(place, first)
    kubeconfig.write(place, second)
    kubeconfig.remove(place, first)
    assert yaml.safe_load(place.read_text()) == second
    kubeconfig.remove(place, second)
    assert list(tmp_path.iterdir()) == []


def test_a_kubeconfig_stands_in_a_folder_of_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The runtime folder, else the state folder, else the state folder's usual place."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    assert kubeconfig.default() == Path("/run/user/1/copyhold/kubeconfig")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert kubeconfig.default() == Path("/state/copyhold/kubeconfig")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kubeconfig.default() == tmp_path / ".local" / "state" / "copyhold" / "kubeconfig"
