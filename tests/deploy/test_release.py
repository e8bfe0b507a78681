"""A release from its beginning to its end: installed, at work with its own rights, and taken out without a trace."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from apis.kind import kinds
from manager.admission.policies import SELECTOR
from tests.deploy.image import variables
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.embedded import beside
from tests.support.helm import CHART, Helm, is_hook, named
from tests.support.marks import hold_of, holders, marks
from tests.support.process import ROOT, environment
from tests.support.stage import GROUP, VERSION, group

NAMESPACE = "tools"
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "bounds"}, "spec": {"hard": {"pods": "7"}}}
SEALED = r"""
awk '$5 !~ /^\/(dev|proc|sys)(\/|$)/ {print $5}' /proc/self/mountinfo | while read -r place; do
  mount -o remount,bind,ro "$place" || exit 1
done || exit 1
mount -t tmpfs none "$0" && exec "$@"
"""
"""A shell's words: all that is mounted becomes read-only, a small memory file system at $0 apart."""


class Pod:
    """A container of the release as a process: its arguments, its account, and a file system that only /tmp can be written in."""

    def __init__(self, access: Access, folder: Path, pod: Manifest, *more: str) -> None:
        token = access.account_token(NAMESPACE, pod["serviceAccountName"])
        config = access.kubeconfig(folder / f"{pod['serviceAccountName']}.config", token=token)
        (container,) = pod["containers"]
        given = ("--kubeconfig", str(config), "--namespace", NAMESPACE, *more)
        scratch = folder / f"{pod['serviceAccountName']}-tmp"
        scratch.mkdir()
        self._log = folder / f"{pod['serviceAccountName']}.log"
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(
                [*_sealed(scratch), sys.executable, "-m", "manager.cli", *container["args"], *given],
                cwd=ROOT,
                env=environment() | {"TMPDIR": str(scratch)} | variables(tmp=scratch),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self) -> str:
        """All that it has said."""
        return self._log.read_text(errors="replace")

    def told(self, event: str) -> Manifest:
        """Wait until it has logged this."""

        def look() -> Manifest | None:
            assert self.process.poll() is None, f"it ended with code {self.process.returncode}: {self.text}"
            lines = [json.loads(line) for line in self.text.rpartition("\n")[0].splitlines()]
            found: list[Manifest] = [line for line in lines if line["event"] == event]
            return found[0] if found else None

        found = eventually(look, timeout=60)
        assert found is not None
        return found

    def end(self) -> int:
        """SIGTERM, as the kubelet does it; answers the exit code."""
        self.process.terminate()
        return self.process.wait(30)


def _sealed(scratch: Path) -> Sequence[str]:
    """The words before a command that run it as on a read-only root file system; none where that is not allowed."""
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if shutil.which("unshare") is None:
        return ()
    words += ["sh", "-c", SEALED, str(scratch)]
    done = subprocess.run([*words, "true"], capture_output=True, timeout=30, check=False)
    return words if done.returncode == 0 else ()


@contextmanager
def running(pod: Pod) -> Iterator[Pod]:
    """A process that is gone at the end, whatever happens."""
    try:
        yield pod
    finally:
        if pod.process.poll() is None:
            pod.process.kill()
        pod.process.wait()


@pytest.mark.slow
def test_a_release_is_installed_works_with_its_rights_and_goes(server: Access, helm: Helm, tmp_path: Path) -> None:
    """From `helm install` to `helm uninstall`: the manager does its work as its ServiceAccount, and what it gave stays free."""
    with beside(server) as own, Api(own.access.url, own.access.ca, own.access.token) as api:
        helm = Helm(helm.program, tmp_path, own.access.kubeconfig(tmp_path / "administrator"))
        place = ("--namespace", NAMESPACE)
        helm.said("install", "copyhold", str(CHART), *place, "--create-namespace")
        eventually(lambda: [api.list(kind.api_version, kind.kind).expect(200) for kind in kinds()])
        deployment = api.get(ref("apps/v1", "Deployment", "copyhold", NAMESPACE)).expect(200).body
        manager = deployment["spec"]["template"]["spec"]
        outside = ("--listen", "127.0.0.1:0", "--admission-listen", "127.0.0.1:0", "--log-json")
        with running(Pod(own.access, tmp_path, manager, *outside)) as pod:
            _probed(pod, manager["containers"][0])
            _registered(api)
            parent = _distributed(api)
            _upgraded(helm, api, deployment)
            _drained(own.access, api, helm, tmp_path, pod)
        api.get(parent).expect(404)
        quota = api.get(ref("v1", "ResourceQuota", "bounds", "solar")).expect(200).body
        assert (marks(quota), holders(quota)) == (set(), set())
        helm.said("uninstall", "copyhold", *place, "--no-hooks")
        _nothing_left(api)


def _probed(pod: Pod, container: Manifest) -> None:
    """The probes are answered where the Deployment asks."""
    address = pod.told("listening")["address"]
    pod.told("running")
    for probe in ("livenessProbe", "readinessProbe"):
        path = container[probe]["httpGet"]["path"]
        assert httpx.get(f"http://{address}{path}", trust_env=False).status_code == 200, path
    assert container["livenessProbe"]["httpGet"]["path"] != container["readinessProbe"]["httpGet"]["path"]


def _registered(api: Api) -> None:
    """The API server is told to ask the release's Service, and of the keys that sign everybody may read the public ones."""
    hook = api.get(ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "copyhold")).expect(200).body
    (config,) = [webhook["clientConfig"] for webhook in hook["webhooks"]]
    service = api.get(ref("v1", "Service", config["service"]["name"], NAMESPACE)).expect(200).body
    assert config["service"]["namespace"] == NAMESPACE
    assert config["service"]["port"] in [port["port"] for port in service["spec"]["ports"]]
    assert config["caBundle"]
    anybody = api.as_user("anybody", groups=["system:authenticated"])
    anybody.get(ref("v1", "ConfigMap", "copyhold-permit-keys", NAMESPACE)).expect(200)
    anybody.get(ref("v1", "Secret", "copyhold-permit-keys", NAMESPACE)).expect(403)


def _distributed(api: Api) -> Manifest:
    """A quota comes to a tenant's namespace by the default account; answers the parent."""
    api.create(ref(VERSION, "Tenant", "solar")).expect(201)
    space = ref("v1", "Namespace", "solar")
    space["metadata"]["labels"] = {f"{GROUP}/tenant": "solar"}
    # An API server that just started refuses until it knows the kind of a policy's parameters: half a minute at most.
    eventually(lambda: api.create(space).expect(201), timeout=90)
    spec = {"scope": "Namespace", "resources": [group(QUOTA)]}
    parent: Manifest = api.create(ref(VERSION, "GlobalTenantResource", "baseline") | {"spec": spec}).expect(201).body

    def ready() -> bool:
        status = api.get(parent).expect(200).body.get("status") or {}
        told = (status.get("conditions") or [{}])[0]
        assert told.get("status") == "True", told
        account: Manifest = status["serviceAccount"]
        return account == {"name": "distributor", "namespace": NAMESPACE}

    eventually(ready, timeout=60)
    quota = api.get(ref("v1", "ResourceQuota", "bounds", "solar")).expect(200).body
    assert hold_of(quota, parent) == "created"
    return parent


def _upgraded(helm: Helm, api: Api, before: Manifest) -> None:
    """The same chart again changes nothing; what the server filled in is not fought over."""
    helm.said("upgrade", "copyhold", str(CHART), "--namespace", NAMESPACE)
    after = api.get(before).expect(200).body
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def _drained(access: Access, api: Api, helm: Helm, folder: Path, manager: Pod) -> None:
    """What the hook does, by hand, since no kubelet runs its Job: the manager is scaled down, and everything is let go."""
    hooks = [each for each in yaml.safe_load_all(helm.said("get", "hooks", "copyhold", "--namespace", NAMESPACE)) if each]
    assert all(is_hook(each) for each in hooks)
    job = named(hooks, "Job", "copyhold-uninstall")
    needed = [each for each in hooks if each is not job]
    for manifest in needed:
        api.create(manifest).expect(201)
    with running(Pod(access, folder, job["spec"]["template"]["spec"])) as uninstall:
        eventually(lambda: api.get(ref("apps/v1", "Deployment", "copyhold", NAMESPACE)).body["spec"]["replicas"] == 0)
        assert manager.end() == 0
        assert uninstall.process.wait(90) == 0, uninstall.text
    assert "drained: 1 parents" in uninstall.text
    for manifest in needed:
        api.delete(manifest).expect(200)


def _nothing_left(api: Api) -> None:
    """Of the cluster-wide things only the definitions; they go without hanging."""
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        found = api.list("rbac.authorization.k8s.io/v1", kind).expect(200).body["items"]
        assert [each["metadata"]["name"] for each in found if "copyhold" in each["metadata"]["name"]] == []
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        assert api.list("admissionregistration.k8s.io/v1", kind, labelSelector=SELECTOR).expect(200).body["items"] == []
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert api.list("admissionregistration.k8s.io/v1", kind).expect(200).body["items"] == []
    api.get(ref("apps/v1", "Deployment", "copyhold", NAMESPACE)).expect(404)
    assert len(api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition").expect(200).body["items"]) == len(kinds())
    api.delete(ref("v1", "Namespace", NAMESPACE)).expect(200, 202)
    eventually(lambda: api.get(ref("v1", "Namespace", NAMESPACE)).expect(404), timeout=60)
