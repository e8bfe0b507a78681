"""The commands as somebody types them: usage, exit codes, what goes to stdout and what to stderr."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

import manager.log
import manager.run
from apis.crd import crd
from apis.intent import Identity
from apis.kind import kinds
from manager import cli, console
from manager.cli import main, plain
from manager.run import Settings

PARENT = """
apiVersion: copyhold.dev/v1alpha1
kind: Tenant
metadata: {name: solar}
---
apiVersion: v1
kind: Namespace
metadata: {name: solar-dev, labels: {copyhold.dev/tenant: solar}}
---
apiVersion: copyhold.dev/v1alpha1
kind: GlobalTenantResource
metadata: {name: baseline}
spec:
  serviceAccount: {name: distributor, namespace: platform}
  resources:
  - policy: {creation: %s, condition: "%s"}
    targets: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "1"}}]
"""
LIVE = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: solar-dev}
data: {a: "2"}
"""


def call(*words: str, stdin: str | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(words), input=stdin, prog_name="copyhold")


# crds


def test_the_definitions_are_one_stream_of_yaml() -> None:
    """What `kubectl apply -f -` takes; one document per kind."""
    result = call("crds")
    assert result.exit_code == 0
    assert list(yaml.safe_load_all(result.stdout)) == [crd(kind) for kind in kinds()]
    assert result.stdout.startswith("---\n")


def test_the_definitions_can_be_had_by_group() -> None:
    """For one family only; a group that is not ours is a mistake."""
    assert len(list(yaml.safe_load_all(call("crds", "copyhold.dev").stdout))) == sum(k.group == "copyhold.dev" for k in kinds())
    wrong = call("crds", "example.com")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "no kind of ours is in example.com" in wrong.stderr


# plan

OUTCOMES = [
    pytest.param("Owner", "true", "", 2, id="changes"),
    pytest.param("Owner", "false", "", 0, id="nothing to do"),
    pytest.param("Owner", "true", LIVE, 1, id="a conflict"),
    pytest.param("Sideways", "true", "", 1, id="an invalid parent"),
]


@pytest.mark.parametrize("output", ["text", "json", "yaml"])
@pytest.mark.parametrize(("creation", "condition", "live", "code"), OUTCOMES)
def test_case_109_the_exit_code_does_not_depend_on_the_output(
    tmp_path: Path, creation: str, condition: str, live: str, code: int, output: str
) -> None:
    """Every outcome in every format, and the same word in the document."""
    (tmp_path / "all.yaml").write_text(PARENT % (creation, condition) + live)
    result = call("plan", "-f", str(tmp_path), "-o", output)
    assert result.exit_code == code
    if output != "text":
        read = json.loads if output == "json" else yaml.safe_load
        assert read(result.stdout)["exitCode"] == code
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_files_come_from_standard_input_too() -> None:
    """As from `kustomize build`."""
    result = call("plan", "-f", "-", stdin=PARENT % ("Owner", "true"))
    assert result.exit_code == 2
    assert result.stdout.endswith("1 to create\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["-f", "absent"], "copyhold: absent: no such file or folder", id="no file"),
        pytest.param(["-f", "-", "gtr/x"], "copyhold: gtr/x: no such parent", id="no parent"),
        pytest.param(["--kubeconfig", "/nonexistent"], "copyhold: ", id="no kubeconfig"),
        pytest.param(["--sideways"], "No such option", id="a wrong option"),
        pytest.param(["-o", "xml"], "Invalid value", id="a wrong format"),
        pytest.param(["--default-service-account", "x"], "is not NAMESPACE/NAME", id="a wrong account"),
    ],
)
def test_whatever_goes_wrong_in_plan_is_1(words: list[str], says: str) -> None:
    """2 means changes: a pipeline must not take a typing error for them."""
    result = call("plan", *words, stdin="")
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.output


def test_the_default_account_is_an_option(tmp_path: Path) -> None:
    """As for the manager."""
    text = (PARENT % ("Owner", "true")).replace("  serviceAccount: {name: distributor, namespace: platform}\n", "")
    (tmp_path / "all.yaml").write_text(text)
    assert "AccountMissing" in call("plan", "-f", str(tmp_path)).stdout
    assert "as platform/x" in call("plan", "-f", str(tmp_path), "--default-service-account", "platform/x").stdout


# Errors


def test_a_problem_is_one_line_and_debug_shows_where(tmp_path: Path) -> None:
    """The traceback is for who develops."""
    short = call("plan", "-f", str(tmp_path))
    assert re.fullmatch(r"copyhold: .* holds no file that ends in \.yaml, \.yml, \.json\n", short.stderr)
    assert call("--debug", "plan", "-f", str(tmp_path)).exception is not None


def test_a_defect_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which says how to see more."""

    def broken(_: Any) -> None:
        raise RuntimeError("some content")

    monkeypatch.setattr(cli, "crd", broken)
    result = call("crds")
    assert result.exit_code == 1
    assert result.stderr == (
        "copyhold: a defect of copyhold (RuntimeError): `copyhold --debug ...` shows where; please report it\n"
    )


def test_a_terminal_is_not_obeyed_to_what_a_manifest_says() -> None:
    """Escape sequences and line breaks of names and messages are replaced."""
    assert plain("a\x1b[31mb\nc\u202ed") == "a\ufffd[31mb c\ufffdd"


@pytest.mark.parametrize("words", [["pln", "-f", "x"], ["--sideways", "plan"], []], ids=["no such command", "option", "nothing"])
def test_what_is_no_command_is_1(words: list[str]) -> None:
    """It may have been meant for plan, where 2 would say changes."""
    result = call(*words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Usage: copyhold" in result.stderr


def test_the_version_is_told() -> None:
    """Also from sources."""
    result = call("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("copyhold, version ")


# run


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the manager and the log would be started with; the manager answers 0."""
    seen: list[Any] = []

    async def run(settings: Settings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(manager.run, "run", run)
    monkeypatch.setattr(manager.log, "configure", lambda level, json: seen.append((level, json)))
    return seen


def test_run_has_defaults_for_everything(started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Outside a cluster."""
    monkeypatch.setattr(console, "ACCOUNT", tmp_path)
    assert call("run", "--identity", "me").exit_code == 0
    assert started == [("info", None), Settings(identity="me", listen="127.0.0.1:8080")]


def test_run_in_a_pod_knows_its_namespace(started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And is reachable for probes."""
    (tmp_path / "namespace").write_text("tools\n")
    (tmp_path / "token").write_text("x")
    monkeypatch.setattr(console, "ACCOUNT", tmp_path)
    assert call("run", "--identity", "me").exit_code == 0
    assert started[1] == Settings(identity="me", namespace="tools", listen="0.0.0.0:8080")


def test_run_passes_every_option_on(started: list[Any]) -> None:
    """Each by its name."""
    words = (
        "--kubeconfig k --context c --kind gtr --kind TenantResource --default-service-account a/b --allow-service-account c/d "
        "--allow-service-account e/f --namespace n --listen [::]:9 --identity i --single-replica --workers 2 --width 3 "
        "--render-workers 4 --log-level debug --log-json --admission-service n/s:443 --admission-listen 0.0.0.0:9443 "
        "--admission-certificate /certs"
    )
    assert call("run", *words.split()).exit_code == 0
    assert started == [
        ("debug", True),
        Settings(
            kubeconfig="k",
            context="c",
            default_account=Identity("a", "b"),
            allowed_accounts=(Identity("c", "d"), Identity("e", "f")),
            kinds=("GlobalTenantResource", "TenantResource"),
            namespace="n",
            listen="[::]:9",
            identity="i",
            leases=False,
            workers=2,
            width=3,
            render_workers=4,
            admission_service="n/s:443",
            admission_listen="0.0.0.0:9443",
            admission_certificate="/certs",
        ),
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["--kind", "ConfigMap"], "is no kind of parent: the kinds are", id="a kind"),
        pytest.param(["--listen", "8080"], "is not ADDRESS:PORT", id="an address"),
        pytest.param(["--allow-service-account", "a/b/c"], "is not NAMESPACE/NAME", id="an account"),
        pytest.param(["--workers", "0"], "0 is not in the range", id="a number"),
        pytest.param(["--admission-url", "http://h:1"], "must be https://HOST:PORT", id="a URL"),
        pytest.param(["--admission-url", "https://h:1", "--admission-service", "a/b:1"], "must be left out", id="two places"),
        pytest.param(["more"], "unexpected extra argument", id="an argument"),
    ],
)
def test_run_refuses_what_it_cannot_mean(started: list[Any], words: list[str], says: str) -> None:
    """Before it starts anything."""
    result = call("run", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert started == []


# release and uninstall


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["release", "configmap"], "Missing argument 'NAME'", id="release without a name"),
        pytest.param(["uninstall"], "--keep or --remove", id="uninstall without a mode"),
        pytest.param(["uninstall", "--remove", "--timeout", "0"], "0.0 is not in the range", id="no time"),
    ],
)
def test_wrong_usage_is_2(words: list[str], says: str) -> None:
    """And says what is missing, before any server is asked."""
    result = call(*words)
    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize("words", [["release", "configmap", "x"], ["uninstall", "--remove"]], ids=["release", "uninstall"])
def test_a_server_that_cannot_be_found_is_1(words: list[str], tmp_path: Path) -> None:
    """One line."""
    result = call(*words, "--kubeconfig", str(tmp_path / "absent"))
    assert result.exit_code == 1
    assert result.stderr.startswith("copyhold: ")
    assert len(result.stderr.splitlines()) == 1
