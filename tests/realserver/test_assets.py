"""Where the programs come from, and what is said when they come from nowhere."""

from pathlib import Path

import pytest

from tests.realserver.assets import PROGRAMS, Unavailable, find, version


def install(folder: Path, *programs: str) -> Path:
    """Put empty programs into a folder."""
    folder.mkdir(parents=True)
    for program in programs:
        (folder / program).touch(mode=0o755)
    return folder


def test_a_folder_that_is_named_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`KUBEBUILDER_ASSETS` comes before the cache."""
    folder = install(tmp_path / "given", *PROGRAMS)
    install(tmp_path / "copyhold" / "realserver" / version(), *PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find() == folder


def test_a_folder_that_is_named_must_be_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incomplete folder is refused, not silently replaced by another."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(install(tmp_path / "given", "etcd", "kube-apiserver", "kubectl")))
    with pytest.raises(Unavailable, match="lacks kube-controller-manager: add them, or unset it"):
        find()


def test_the_cache_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was built before is used, by version, and Go is not asked for."""
    folder = install(tmp_path / "copyhold" / "realserver" / version(), *PROGRAMS)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert find() == folder


def test_without_go_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of a skipped test is something to act on."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match=r"install Go 1\.26 or newer, or set KUBEBUILDER_ASSETS") as error:
        find()
    assert "\n" not in str(error.value)


def test_a_build_that_failed_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed build says Go's last words, and the next try starts afresh."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(go.parent))
    with pytest.raises(Unavailable, match="failed: no network"):
        find()
    assert [each.name for each in (tmp_path / "copyhold" / "realserver").iterdir()] == [f"{version()}.lock"]
