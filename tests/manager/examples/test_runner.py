"""`copyhold test`, as somebody runs it on a cluster of his own: what is told, what is left behind, and exit codes."""

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from manager.cli import main
from tests.support.api import Api, Manifest, ref

CLUSTER = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner, namespace: NAME}
rules: [{apiGroups: [""], resources: [configmaps, secrets], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner, namespace: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner, namespace: NAME}]
"""
ROOT = Path(__file__).parents[3]
PARENT = """
apiVersion: copyhold.dev/v1alpha1
kind: GlobalTenantResource
metadata: {name: NAME}
spec:
  scope: None
  serviceAccount: {name: runner, namespace: NAME}
  resources:
  - targets:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAME}, data: {a: "1"}}
    - {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: NAME}, stringData: {key: hush-found}}
"""

Folder = Callable[[str], Path]
Play = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("crds", "policies")


@pytest.fixture
def name(unique: Callable[[str], str]) -> str:
    """What everything in the folder of this test is called."""
    return unique("example")


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Folder:
    """Makes the folder of this test with the given steps."""

    def make(steps: str) -> Path:
        place = tmp_path / "small"
        (place / "cluster").mkdir(parents=True)
        for file, text in {"cluster/all.yaml": CLUSTER, "parent.yaml": PARENT, "expect.yaml": f"steps:\n{steps}"}.items():
            (place / file).write_text(text.replace("NAME", name))
        return place

    return make


@pytest.fixture
def run(kubeconfig: str) -> Play:
    """Plays folders on the run's real server."""

    def run(*words: object) -> Result:
        return CliRunner().invoke(main, ["test", *map(str, words), "--kubeconfig", kubeconfig], prog_name="copyhold")

    return run


EXPECTED = "- expect: {objects: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: NAME}, data: {a: '1'}}}\n"


def test_what_comes_true_is_told_and_nothing_is_left_behind(run: Play, folder: Folder, name: str, api: Api) -> None:
    """Exit code 0, a line a step; the namespace and the parent are gone, kinds and policies that were there are not."""
    result = run(folder(f"- title: it is there\n{EXPECTED.replace('- ', '  ', 1)}"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "small: small"
    assert lines[2].startswith("  ✓ it is there (")
    assert lines[-1].startswith("1 example passed (")
    assert api.get(ref("v1", "Namespace", name)).status == 404
    assert api.get(ref("copyhold.dev/v1alpha1", "GlobalTenantResource", name)).status == 404


def test_what_fails_shows_a_diff_and_no_secret_and_the_rest_is_skipped(run: Play, folder: Folder, name: str, api: Api) -> None:
    """Exit code 1. The value of a Secret appears neither in clear nor in Base64. What was made is removed all the same."""
    steps = f"""
- title: hopes
  expect:
    within: 500ms
    objects:
    - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: {name}}}, data: {{a: "2"}}}}
    - {{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: {name}}}, stringData: {{key: hush-wanted}}}}
    absent: {{apiVersion: v1, kind: ConfigMap, namespace: {name}, name: x}}
    ready: {{kind: GlobalTenantResource, name: {name}, status: "False"}}
    owners: {{of: {{apiVersion: v1, kind: ConfigMap, namespace: {name}, name: x}}, fields: {{data.a: somebody}}}}
- advance: 1h
"""
    result = run(folder(steps))
    assert result.exit_code == 1, result.output
    assert "-  a: '2'\n        +  a: '1'" not in result.stdout  # each line of a failure is indented by itself
    for line in ("-  a: '2'", "+  a: '1'", "- let 1h pass (skipped)", "-status: False", "+status: True", "-data.a: somebody"):
        assert line in result.stdout
    assert f"+data.a: GlobalTenantResource/{name}" in result.stdout
    assert f"ConfigMap {name}/x is there; expected to be absent" in result.stdout
    assert result.stdout.count("sha256:") == 2
    assert "hush" not in result.output
    assert "aHVzaC" not in result.output
    assert "1 of 1 example failed: small" in result.stdout
    assert api.get(ref("v1", "Namespace", name)).status == 404


def test_junit_is_all_that_goes_to_stdout(run: Play, folder: Folder) -> None:
    """The lines for people go to stderr."""
    result = run(folder(EXPECTED), "-o", "junit")
    assert result.exit_code == 0, result.output
    (suite,) = ElementTree.fromstring(result.stdout)
    assert suite.get("name") == "small"
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "0")
    assert "1 example passed" in result.stderr


def test_what_is_there_already_is_not_touched(run: Play, folder: Folder, name: str, namespace: str, api: Api) -> None:
    """Neither overwritten nor removed: the example is refused, with the remedy, and nothing of it is made."""
    there = ref("v1", "ConfigMap", "x", namespace) | {"data": {"mine": "1"}}
    api.create(there).expect(201)
    place = folder(EXPECTED)
    (place / "cluster" / "more.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: {namespace}}}\n"
    )
    result = run(place)
    assert result.exit_code == 1, result.output
    assert f"ConfigMap {namespace}/x is on this cluster already" in result.stdout
    assert "run on what is there with --keep" in result.stdout
    assert api.get(there).expect(200).body["data"] == {"mine": "1"}
    assert api.get(ref("v1", "Namespace", name)).status == 404


def test_an_example_is_not_played_beside_a_manager(run: Play, folder: Folder, name: str, namespace: str, api: Api) -> None:
    """Both would do the same work: its Lease says that one is running."""
    spec = {"holderIdentity": "pod-1", "renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}", "leaseDurationSeconds": 30}
    api.create(ref("coordination.k8s.io/v1", "Lease", "copyhold-shard-0", namespace) | {"spec": spec}).expect(201)
    result = run(folder(EXPECTED), "--namespace", namespace)
    assert result.exit_code == 1, result.output
    assert "a manager is running on this cluster (pod-1): stop it, or choose another cluster" in result.stdout
    assert api.get(ref("v1", "Namespace", name)).status == 404


def test_an_interrupted_example_is_cleared_up(kubeconfig: str, folder: Folder, name: str, api: Api) -> None:
    """Ctrl-C in the middle of a step: nothing is left behind."""
    place = folder(f"- expect: {{absent: {{apiVersion: v1, kind: Namespace, name: {name}}}, within: 1h}}\n")
    given = [sys.executable, "-m", "manager.cli", "test", str(place), "--kubeconfig", kubeconfig]
    # A run of tests in the background may have been told to ignore Ctrl-C, and its children inherit that.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, preexec_fn=heard
    ) as process:
        assert process.stdout is not None
        assert any("set up" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=150)
        assert process.returncode == 1, said
    assert api.get(ref("v1", "Namespace", name)).status == 404
    assert api.get(ref("copyhold.dev/v1alpha1", "GlobalTenantResource", name)).status == 404


def test_a_refusal_that_does_not_come_is_a_failure(run: Play, folder: Folder, name: str) -> None:
    """A step with `refused` fails when the server does what it was asked."""
    step = f"- delete: {{apiVersion: v1, kind: ServiceAccount, namespace: {name}, name: runner}}\n  refused: held by\n"
    result = run(folder(step))
    assert result.exit_code == 1
    assert "was not refused, but carried out; expected: held by" in result.stdout


def test_what_cannot_be_read_is_wrong_usage(run: Play, folder: Folder, tmp_path: Path) -> None:
    """Exit code 2 before anything is played, with file, line, step, field and remedy."""
    result = run(folder(EXPECTED + "- advance: soon\n"))
    assert result.exit_code == 2
    assert "expect.yaml line 3: step 2: steps[1].advance: must be a Go duration" in " ".join(result.stderr.split())
    assert run(tmp_path / "none").exit_code == 2


TEMPLATE = """
apiVersion: copyhold.dev/v1alpha1
kind: ResourcePermitTemplate
metadata: {name: NAME, namespace: NAME}
spec:
  impersonation: {name: runner}
  keepFor: 30d
  resources:
  - targets: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {for: "{{ request.username }}"}}]
"""
ASK = """
- apply:
    apiVersion: copyhold.dev/v1alpha1
    kind: ResourcePermit
    metadata: {name: mine, namespace: NAME}
    spec: {template: {kind: ResourcePermitTemplate, name: NAME}}
- expect: {phases: {namespace: NAME, name: mine, phase: Requested}}
"""


@pytest.fixture
def permits(folder: Folder, name: str) -> Folder:
    """The same for an example with a permit."""

    def make(steps: str) -> Path:
        place = folder((ASK + steps).replace("NAME", name))
        (place / "parent.yaml").write_text(TEMPLATE.replace("NAME", name))
        return place

    return make


def test_an_example_with_permits_leaves_nothing_behind(run: Play, permits: Folder, name: str, api: Api) -> None:
    """Neither the record that is kept for 30 days, nor webhooks, nor keys; and what is not as expected is said in one line."""
    steps = f"""
- as: {{user: bob, groups: [system:masters]}}
  approve: {{namespace: {name}, name: mine, start: 1h}}
- advance: 1h
- expect:
    phases: {{namespace: {name}, name: mine, phase: Active}}
- as: {{user: bob, groups: [system:masters]}}
  expire: {{namespace: {name}, name: mine}}
- expect:
    within: 5s
    phases:
    - {{namespace: {name}, name: mine, phase: Expired, reason: ExpiredBySystem}}
    - {{namespace: {name}, name: mine, phase: Denied}}
    - {{namespace: {name}, name: yours, phase: Active}}
    can: {{as: alice, verb: get, resource: pods/log, namespace: {name}, name: web}}
    cannot: {{as: {{user: bob, groups: [system:masters]}}, verb: list, resource: deployments.apps}}
"""
    result = run(permits(steps))
    assert result.exit_code == 1, result.output
    permit = f"ResourcePermit.copyhold.dev {name}/mine"
    for line in (
        f"{permit} is Expired by ExpiredByUser; expected by ExpiredBySystem",
        f"{permit} is Expired (Expired: ",
        f"ResourcePermit.copyhold.dev {name}/yours is not there; expected it to be Active",
        f"alice cannot get pods/log web in {name}; expected that they can",
        "bob can list deployments.apps; expected that they cannot",
    ):
        assert line in result.stdout, result.stdout
    assert "1 of 1 example failed: small" in result.stdout
    assert result.stdout.count("✗") == 1, result.stdout
    assert api.get(ref("v1", "Namespace", name)).status == 404
    assert not any(name in str(configuration) for configuration in _configurations(api))


def _configurations(api: Api) -> list[Manifest]:
    """All webhooks that are registered."""
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return [item for kind in kinds for item in api.list("admissionregistration.k8s.io/v1", kind).expect(200).body["items"]]


def test_permits_need_a_namespace_of_the_example(run: Play, permits: Folder, name: str, api: Api) -> None:
    """Admission is served for the namespaces that the example makes, and for no other."""
    place = permits("")
    account = f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: default}}\n"
    (place / "cluster" / "all.yaml").write_text(account)
    result = run(place)
    assert result.exit_code == 1, result.output
    assert "an example with permits makes its namespaces: add the namespace of its permits to cluster/" in result.stdout
    assert api.get(ref("v1", "ServiceAccount", name, "default")).status == 404


def test_an_address_of_admission_that_is_none_is_named(run: Play, permits: Folder) -> None:
    """Exit code 1 with the flag."""
    result = run(permits(""), "--admission-url", "http://here")
    assert result.exit_code == 1, result.output
    assert "--admission-url: 'http://here' must be https://HOST:PORT" in " ".join(result.stderr.split())
