"""The journal: what was acknowledged is there after any end of the process."""

import os
import random
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
import yaml

from manager.embedded.journal import FILE, InUse, Journal
from manager.embedded.store import Change, Key, Kind, Store
from tests.manager.embedded.calling import CONFIG_MAPS, config_map
from tests.support.api import Api

ROOT = Path(__file__).parents[3]


def key(name: str) -> Key:
    """Where an object is."""
    return Key("configmaps", "default", name)


def test_what_was_committed_is_loaded(tmp_path: Path) -> None:
    """Objects, revisions and facts are there again; of an object only its newest state counts."""
    store, journal = Store(keeping=True), Journal(tmp_path)
    for name in ("kept", "changed", "gone"):
        store.put(key(name), config_map(name))
    store.put(key("changed"), config_map("changed", labels={"a": "b"}))
    store.delete(key("gone"))
    journal.commit(store.journal)
    journal.keep("ca", b"secret")
    journal.close()
    again, found = Store(), Journal(tmp_path)
    found.load(again)
    assert again.revision == store.revision
    assert [stored.raw for stored in again.members("configmaps")] == [stored.raw for stored in store.members("configmaps")]
    assert found.fact("ca") == b"secret"
    assert found.fact("other") is None
    found.close()


def test_a_failed_commit_leaves_nothing_behind(tmp_path: Path) -> None:
    """A transaction is written whole or not at all."""
    store, journal = Store(keeping=True), Journal(tmp_path)
    store.put(key("x"), config_map("x"))
    broken = Change(Kind.ADDED, store.journal[0].stored, None)
    broken.stored.raw = object()  # type: ignore[assignment]
    with pytest.raises(Exception, match="type"):
        journal.commit([broken])
    again = Store()
    journal.load(again)
    assert again.members("configmaps") == []
    journal.close()


def test_the_files_are_for_their_owner(tmp_path: Path) -> None:
    """The database and what SQLite puts beside it hold Secrets and keys."""
    folder = tmp_path / "data"
    store, journal = Store(keeping=True), Journal(folder)
    store.put(key("x"), config_map("x"))
    journal.commit(store.journal)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert (folder / FILE).exists()
    journal.close()


def test_a_folder_has_one_user(tmp_path: Path) -> None:
    """A second process is refused instead of mixing two histories."""
    journal = Journal(tmp_path)
    with pytest.raises(InUse, match="in use by another process"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


class Process:
    """A cluster with its data in a folder, as a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.unlink(missing_ok=True)
        command = [sys.executable, "-m", "manager.embedded", "--data", str(folder / "data"), "--kubeconfig", str(self.kubeconfig)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)})
        deadline = monotonic() + 30
        while not self.kubeconfig.exists():
            assert self.process.poll() is None
            assert monotonic() < deadline
            sleep(0.02)
        told = yaml.safe_load(self.kubeconfig.read_text())
        self.url = told["clusters"][0]["cluster"]["server"]
        self.token = told["users"][0]["user"]["token"]
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(_pem(told))

    def kill(self) -> None:
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _pem(told: dict[str, list[dict[str, dict[str, str]]]]) -> bytes:
    import base64

    return base64.b64decode(told["clusters"][0]["cluster"]["certificate-authority-data"])


def write_until_it_dies(process: Process, known: dict[str, int], counter: list[int]) -> None:
    """Create and change objects as fast as it goes, noting each acknowledged resourceVersion."""
    with Api(process.url, process.ca, process.token) as api:
        while True:
            counter[0] += 1
            name = f"c{counter[0] % 50}"
            try:
                reply = api.apply(config_map(name, namespace="default") | {"data": {"n": str(counter[0])}})
            except httpx.TransportError:
                return
            known[name] = counter[0]
            assert reply.status in (200, 201)


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_no_acknowledged_write(tmp_path: Path) -> None:
    """After each kill -9, every object has the content that was acknowledged last, or one that was on its way; and nobody's
    token, CA or revision changed.
    """
    known: dict[str, int] = {}
    counter, identity, revision = [0], None, 0
    for _ in range(4):
        process = Process(tmp_path)
        identity = identity or (process.token, process.ca.read_bytes())
        assert (process.token, process.ca.read_bytes()) == identity
        with Api(process.url, process.ca, process.token) as api:
            listed = api.request("GET", CONFIG_MAPS).expect(200).body
            found = {item["metadata"]["name"]: int(item["data"].get("n", 0)) for item in listed["items"]}
            assert {name: found.get(name, 0) >= n for name, n in known.items()} == dict.fromkeys(known, True)
            assert int(listed["metadata"]["resourceVersion"]) >= revision
            revision = int(listed["metadata"]["resourceVersion"])
        killer = threading.Timer(random.uniform(0.3, 1.0), process.kill)
        killer.start()
        write_until_it_dies(process, known, counter)
        killer.join()
    assert counter[0] > 50
