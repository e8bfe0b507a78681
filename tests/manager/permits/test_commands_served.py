"""`copyhold permit ...` on a server: what it stores is what was signed, and what it says is what is shown."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from apis.copyhold.permitstatus import Phase
from apis.kind import Kind
from apis.meta import PARENT_EXTRA, Manifest
from manager.cli import main
from policy.permits.step import Step
from policy.permits.trail import seal_text
from tests.manager.permits.bureau import ALICE, SYSTEM, keys, requested, sign, template, went
from tests.realserver.access import Access
from tests.support.api import Api, eventually, ref
from tests.support.names import fresh

ROOT = ["system:masters"]
SOURCES = Path(__file__).parents[3]
Call = Callable[..., Result]


@pytest.fixture
def call(server: Access, namespace: str, crds: tuple[Kind, ...], tmp_path: Path) -> Call:
    """Run a command as the administrator, whose context names the test's namespace."""
    kubeconfig = server.kubeconfig(tmp_path / "kubeconfig", namespace=namespace)

    def run(command: str, *words: str) -> Result:
        return CliRunner().invoke(main, ["permit", command, "--kubeconfig", str(kubeconfig), *words], prog_name="copyhold")

    return run


def stored(api: Api, namespace: str, wanted: Manifest) -> Manifest:
    """The permit with its status, sealed and signed for what the server makes of it."""
    made = {**wanted, "metadata": {"namespace": namespace, "name": wanted["metadata"]["name"]}}
    made["spec"] = {**made["spec"], "requester": {**ALICE, "groups": ROOT}}
    key, signature = sign(seal_text(made))
    made["spec"]["requester"]["seal"] = {"key": key, "signature": signature}
    body = {field: made[field] for field in ("apiVersion", "kind", "metadata", "spec")}
    created: Manifest = api.as_user("alice", groups=ROOT).create(body).expect(201).body
    steps = [_step(each, created["spec"]["requester"]) for each in wanted["status"]["transitions"]]
    rest = {key: value for key, value in wanted["status"].items() if key != "transitions"}
    return written(api, went({**created, "status": rest}, *steps))


def _step(transition: Manifest, requester: Manifest) -> Step:
    """The step behind a transition; the first is by the requester."""
    actor = {key: value for key, value in requester.items() if key != "seal"} if not transition["index"] else transition["actor"]
    return Step(Phase(transition["type"]), actor, transition["reason"], until=transition.get("until", ""))


def written(api: Api, one: Manifest) -> Manifest:
    """Write a status as the manager does."""
    manager = api.as_user("manager", groups=ROOT, extra={PARENT_EXTRA: [one["metadata"]["uid"]]})
    body: Manifest = manager.merge_patch(one, {"status": one["status"]}, subresource="status").expect(200).body
    return body


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Do something beside the block; what goes wrong in it is raised at the end."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        yield
        doing.result()


def test_what_the_server_stores_is_what_was_signed(api: Api, namespace: str, call: Call, tmp_path: Path) -> None:
    """It defaults, prunes and orders: shown, verified and exported, the permit is still proved."""
    one = requested()
    one["status"]["transitions"][0]["actor"] = {**ALICE, "groups": ROOT}
    stored(api, namespace, one)
    api.create(keys(namespace)).expect(201)
    listed = call("list")
    assert (listed.exit_code, listed.stdout.split()[7:9]) == (0, ["incident-1042", "Requested"])
    shown = call("show", "incident-1042", "--keys-namespace", namespace)
    assert shown.exit_code == 0
    assert "  0   ok      2026-03-01T12:00:00Z Created by alice" in shown.stdout
    verified = call("verify", "incident-1042", "--keys-namespace", namespace)
    assert (verified.exit_code, verified.stderr) == (0, "")
    exported = call("export", "incident-1042", "--keys-namespace", namespace)
    (tmp_path / "export.json").write_text(exported.stdout)
    offline = CliRunner().invoke(
        main, ["permit", "verify", *[str(tmp_path / "export.json"), "--keys", str(tmp_path / "export.json")]]
    )
    assert (offline.exit_code, offline.stderr) == (0, "")
    assert "managedFields" not in exported.stdout


def test_what_the_server_refuses_is_in_its_words(api: Api, namespace: str, call: Call) -> None:
    """Somebody without rights, by --as; and what is not there."""
    outsider = fresh("outsider")
    result = call("list", "--as", outsider, "--as-group", "nobodies")
    assert result.exit_code == 1
    assert f'User "{outsider}" cannot list resource "resourcepermits"' in result.stderr
    assert call("expire", "absent", "--as", outsider).exit_code == 1
    absent = call("expire", "absent")
    assert absent.exit_code == 3
    assert f"ResourcePermit {namespace}/absent" in absent.stderr


def test_a_request_waits_for_its_end(api: Api, namespace: str, call: Call) -> None:
    """It follows the permit that it made, and no other."""
    api.create(template(namespace=namespace)).expect(201)

    def decided() -> None:
        place = ref("copyhold.dev/v1alpha1", "ResourcePermit", "mine", namespace)
        made = eventually(lambda: api.get(place).expect(200).body)
        status = {**requested()["status"], "transitions": []}
        for step in (Step(Phase.CREATED, ALICE, "CreatedByUser"), Step(Phase.DENIED, SYSTEM, "DeniedByReviewer", "not today")):
            made = written(api, went({**made, "status": {**status, **(made.get("status") or {})}}, step))

    with meanwhile(decided):
        result = call("request", "pod-reader", "--name", "mine", "--reason", "INC-1", "--wait")
    assert result.exit_code == 4
    assert result.stdout.endswith("Denied by copyhold (System): DeniedByReviewer: not today\n")


def test_a_permit_is_asked_for_under_a_name_of_the_server(api: Api, namespace: str, call: Call) -> None:
    """Made of the template's name; the object is what was meant."""
    schema = {"type": "object", "required": ["pods"], "properties": {"pods": {"type": "array", "items": {"type": "string"}}}}
    api.create(template(schema, namespace=namespace)).expect(201)
    result = call("request", "pod-reader", "--param", "pods=[a]", "-o", "json")
    assert result.exit_code == 0
    made = json.loads(result.stdout)
    assert made["metadata"]["name"].startswith("pod-reader-")
    assert api.get(made).expect(200).body["spec"]["params"] == {"pods": ["a"]}


def test_kubectl_finds_the_commands(
    server: Access, kubectl: Path, namespace: str, crds: tuple[Kind, ...], tmp_path: Path
) -> None:
    """As every plugin: a program `kubectl-permit` on the path."""
    plugin = tmp_path / "kubectl-permit"
    plugin.write_text(f"#!{sys.executable}\nfrom manager.permits.commands import kubectl\nkubectl()\n")
    plugin.chmod(0o755)
    kubeconfig = str(server.kubeconfig(tmp_path / "kubeconfig", namespace=namespace))
    environment = {"PATH": str(tmp_path), "KUBECONFIG": kubeconfig, "PYTHONPATH": str(SOURCES)}
    words = [str(kubectl), "permit", "show", "absent"]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 3
    assert f"ResourcePermit {namespace}/absent is not there" in result.stderr
