"""The Helm chart: the same manager as the kustomize base, and what each value changes in it."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from manager.cli import run
from manager.metrics import Metrics
from manager.run import SHARDS
from tests.deploy.values import EVERYTHING, LEAST, SETS
from tests.helm.assets import HELM, MODULE
from tests.support.helm import CHART, Helm, Manifest, is_hook, named
from tests.support.programs import pinned

DEPLOY = CHART.parent
ROOT = DEPLOY.parent
HELMS_OWN = ("app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart")

sets = pytest.mark.parametrize("values", [pytest.param(values, id=name) for name, values in SETS.items()])


def key(manifest: Manifest) -> tuple[str, str, str]:
    """What names an object."""
    return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def container(manifests: list[Manifest]) -> Manifest:
    """The manager's container."""
    found: Manifest = named(manifests, "Deployment", "copyhold")["spec"]["template"]["spec"]["containers"][0]
    return found


# The same manager, written once.


def test_the_chart_has_what_the_manager_folder_and_the_definitions_have() -> None:
    """`make chart` would change nothing."""
    left_out = {"kustomization.yaml", "namespace.yaml"}
    for folder, source, without in (("manager", DEPLOY / "manager", left_out), ("crds", DEPLOY / "crds", set())):
        ours = {path.name: path.read_text() for path in (CHART / "files" / folder).iterdir()}
        theirs = {path.name: path.read_text() for path in source.glob("*.yaml") if path.name not in without}
        assert ours == theirs, f"deploy/chart/files/{folder} is stale: make chart"


def test_the_kustomization_lists_every_file_of_its_folder() -> None:
    """A file that nobody applies is a mistake."""
    listed = yaml.safe_load((DEPLOY / "manager" / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in (DEPLOY / "manager").iterdir() if path.name != "kustomization.yaml")


def test_the_chart_and_the_kustomize_base_are_the_same_manager(helm: Helm, kubectl: Path) -> None:
    """Object by object, but for the namespace, the definitions, hooks and the labels that are Helm's own."""
    built = subprocess.run(
        [str(kubectl), "kustomize", str(DEPLOY / "manager")], capture_output=True, text=True, check=True, timeout=60
    )
    base = {key(each): each for each in yaml.safe_load_all(built.stdout) if each["kind"] != "Namespace"}
    chart = {}
    for each in helm.rendered({"crds": {"install": False}}):
        if is_hook(each):
            continue
        for label in HELMS_OWN:
            del each["metadata"]["labels"][label]
        if each["kind"] == "Deployment":
            del container([each])["imagePullPolicy"]  # the server's own default
        chart[key(each)] = each
    assert sorted(chart) == sorted(base)
    assert [name for name in base if chart[name] != base[name]] == []


def test_the_version_is_one() -> None:
    """The package's, the chart's, and that of the image."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (image,) = yaml.safe_load((DEPLOY / "manager" / "kustomization.yaml").read_text())["images"]
    assert {version} == {chart["version"], chart["appVersion"], image["newTag"]}


# What Helm makes of it.


def test_helm_is_the_one_that_is_pinned(helm: Helm) -> None:
    """As `go.mod` says, or the linker's stamps go nowhere."""
    assert helm.said("version", "--template", "{{.Version}}") == f"v{pinned(MODULE, HELM)}"


@sets
def test_helm_finds_nothing_to_blame(helm: Helm, values: Manifest) -> None:
    """`helm lint --strict`."""
    assert "0 chart(s) failed" in helm.said("lint", "--strict", str(CHART), *helm.given(values))


@sets
def test_every_object_is_named_once_and_none_is_in_another_namespace(helm: Helm, values: Manifest) -> None:
    """The release's namespace stands wherever the base names its own."""
    rendered = helm.rendered(values, namespace="elsewhere")
    keys = [key(each) for each in rendered]
    assert len(keys) == len(set(keys))
    assert {namespace for _, namespace, _ in keys} <= {"", "elsewhere"}
    assert "copyhold-system" not in json.dumps([each for each in rendered if each["kind"] != "CustomResourceDefinition"])


@sets
def test_the_arguments_are_those_of_the_command(helm: Helm, values: Manifest) -> None:
    """`copyhold run` takes what the Deployment gives it."""
    command, *words = container(helm.rendered(values))["args"]
    assert command == "run"
    run.make_context("run", words).close()


def test_definitions_stay_when_the_release_goes(helm: Helm) -> None:
    """All of them bear Helm's word for that."""
    definitions = [each for each in helm.rendered() if each["kind"] == "CustomResourceDefinition"]
    assert len(definitions) == len(list((DEPLOY / "crds").iterdir()))
    assert {each["metadata"]["annotations"]["helm.sh/resource-policy"] for each in definitions} == {"keep"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"replica": 3}, ("replica",), id="a misspelt name"),
        pytest.param({"replicas": 0}, ("replicas",), id="no replica"),
        pytest.param({"permits": {"roles": {"reviewer": ["cluster-admin"]}}}, ("reviewer",), id="a role of others"),
        pytest.param({"allowServiceAccounts": ["distributor"]}, ("allowServiceAccounts",), id="an account without namespace"),
        pytest.param({"uninstall": {"targets": "forget"}}, ("uninstall", "targets"), id="a third way to leave"),
    ],
)
def test_a_value_that_means_nothing_is_refused(helm: Helm, values: Manifest, words: tuple[str, ...]) -> None:
    """By name, before anything is written."""
    done = helm.run("template", "copyhold", str(CHART), *helm.given(values))
    assert done.returncode != 0
    assert all(word in done.stderr for word in words), done.stderr


# What each value changes.

Look = Callable[[list[Manifest]], Any]


def kinds_of(manifests: list[Manifest]) -> set[str]:
    """The kinds that are there."""
    return {each["kind"] for each in manifests}


def labels_of(name: str) -> Look:
    """Into which of Kubernetes' roles a ClusterRole goes."""

    def look(manifests: list[Manifest]) -> list[str]:
        prefix = "rbac.authorization.k8s.io/aggregate-to-"
        labels = named(manifests, "ClusterRole", name)["metadata"]["labels"]
        return sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))

    return look


def rules_of(name: str) -> Look:
    """The rules of a ClusterRole."""
    return lambda manifests: named(manifests, "ClusterRole", name)["rules"]


def args(manifests: list[Manifest]) -> list[str]:
    """The manager's arguments."""
    found: list[str] = container(manifests)["args"]
    return found


def names(kind: str) -> Look:
    """The names of all objects of a kind."""
    return lambda manifests: {each["metadata"]["name"] for each in manifests if each["kind"] == kind}


def egress(manifests: list[Manifest]) -> list[int]:
    """The ports of the API server that the NetworkPolicy lets through."""
    rules = named(manifests, "NetworkPolicy", "copyhold")["spec"]["egress"]
    return [port["port"] for port in rules[1]["ports"]]


def hooked(manifests: list[Manifest]) -> list[str]:
    """The arguments of the Job that runs before a release goes."""
    found: list[str] = named(manifests, "Job", "copyhold-uninstall")["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


WIDGETS = [{"apiGroup": "example.com", "resources": ["widgets"]}]
READ = ["get", "list", "watch"]


@pytest.mark.parametrize(
    ("values", "look", "seen"),
    [
        pytest.param({"replicas": 3}, lambda all_: named(all_, "Deployment", "copyhold")["spec"]["replicas"], 3, id="replicas"),
        pytest.param({"image": {"tag": "x"}}, lambda all_: container(all_)["image"], "copyhold:x", id="tag"),
        pytest.param(
            {"image": {"repository": "a.example/b", "digest": f"sha256:{'0' * 64}"}},
            lambda all_: container(all_)["image"],
            f"a.example/b@sha256:{'0' * 64}",
            id="digest",
        ),
        pytest.param(
            {"watch": {"kinds": WIDGETS}},
            rules_of("copyhold-watch-more"),
            [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": READ}],
            id="watched kinds",
        ),
        pytest.param(
            {"permits": {"kinds": WIDGETS, "bind": False}},
            rules_of("copyhold-permit-removal"),
            [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "patch", "delete"]}],
            id="kinds that permits may lose",
        ),
        pytest.param({}, labels_of("copyhold-permit-requester"), ["edit"], id="requesters"),
        pytest.param({}, labels_of("copyhold-permit-reviewer"), [], id="reviewers"),
        pytest.param({}, labels_of("copyhold-permit-template-author"), ["admin"], id="template authors"),
        pytest.param(
            {"permits": {"roles": {"requester": []}}}, labels_of("copyhold-permit-requester"), [], id="requesters by name only"
        ),
        pytest.param(
            {"permits": {"roles": {"reviewer": ["admin", "edit"]}}},
            labels_of("copyhold-permit-reviewer"),
            ["admin", "edit"],
            id="reviewers by roles",
        ),
        pytest.param({"networkPolicy": {"apiServerPorts": [16443]}}, egress, [16443], id="the port of the API server"),
        pytest.param(
            {"uninstall": {"targets": "remove"}}, hooked, ["uninstall", "--remove", "--yes", "--timeout=240"], id="remove"
        ),
        pytest.param({}, hooked, ["uninstall", "--keep", "--yes", "--timeout=240", "--stop=copyhold"], id="keep"),
        pytest.param({"replicas": 1}, names("PodDisruptionBudget"), set(), id="a single replica may be evicted"),
        pytest.param({}, names("FlowSchema"), {"copyhold-leases", "copyhold-permits"}, id="flow schemas"),
        pytest.param(
            {"flowSchema": {"permitAccounts": ["a/b"]}},
            lambda all_: named(all_, "FlowSchema", "copyhold-permit-accounts")["spec"]["rules"][0]["subjects"],
            [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "b"}}],
            id="accounts of permits",
        ),
    ],
)
def test_a_value_changes_what_it_names(helm: Helm, values: Manifest, look: Look, seen: Any) -> None:
    """Value by value."""
    assert look(helm.rendered(values)) == seen


def test_without_secrets_there_is_no_role_for_them(helm: Helm) -> None:
    """Not in the watch, and in no namespace but the manager's own."""
    rendered = helm.rendered({"watch": {"secrets": False}})
    for each in rendered:
        if each["kind"] == "ClusterRole":
            assert not any("secrets" in rule.get("resources", ()) for rule in each["rules"]), each["metadata"]["name"]


def test_the_default_account_is_the_charts_or_yours_or_nobodys(helm: Helm) -> None:
    """What the manager is told and what is made belong together."""
    flag = "--default-service-account"
    made = helm.rendered(
        {"defaultServiceAccount": {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}}
    )
    assert f"{flag}=copyhold-system/distributor" in args(made)
    assert "distributor" in names("ServiceAccount")(made)
    aggregated = named(made, "ClusterRole", "copyhold-distributor-more")["metadata"]["labels"]
    selector = named(made, "ClusterRole", "copyhold-distributor")["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]
    assert selector.items() <= aggregated.items()
    yours = helm.rendered({"defaultServiceAccount": {"existing": "platform/runner"}})
    assert f"{flag}=platform/runner" in args(yours)
    assert "distributor" not in names("ServiceAccount")(yours)
    nobody = helm.rendered({"defaultServiceAccount": {"create": False}})
    assert [word for word in args(nobody) if word.startswith(flag)] == []
    assert "distributor" not in names("ServiceAccount")(nobody)


def test_what_is_switched_off_is_not_there(helm: Helm) -> None:
    """Nothing is left of it."""
    gone = {"NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "FlowSchema", "Job", "CustomResourceDefinition"}
    assert gone <= kinds_of(helm.rendered())
    assert not gone & kinds_of(helm.rendered(LEAST))
    assert "priorityClassName" not in named(helm.rendered(LEAST), "Deployment", "copyhold")["spec"]["template"]["spec"]


def test_a_certificate_of_cert_manager_is_made_for_the_service_and_mounted_where_the_manager_looks(helm: Helm) -> None:
    """One Secret, one folder, the names of the Service."""
    rendered = helm.rendered(EVERYTHING)
    certificate = named(rendered, "Certificate", "copyhold-admission")["spec"]
    assert "copyhold-admission.copyhold-system.svc" in certificate["dnsNames"]
    assert certificate["issuerRef"] == {"kind": "Issuer", "name": "copyhold-admission"}
    assert named(rendered, "Issuer", "copyhold-admission")["spec"] == {"selfSigned": {}}
    pod = named(rendered, "Deployment", "copyhold")["spec"]["template"]["spec"]
    (volume,) = [each for each in pod["volumes"] if each.get("secret")]
    (mount,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == volume["name"]]
    assert volume["secret"]["secretName"] == certificate["secretName"]
    assert f"--admission-certificate={mount['mountPath']}" in args(rendered)
    issuer = {"admission": {"certManager": {"enabled": True, "issuerRef": {"name": "ours", "kind": "ClusterIssuer"}}}}
    assert "Issuer" not in kinds_of(helm.rendered(issuer))


def test_alerts_speak_of_metrics_that_there_are(helm: Helm) -> None:
    """Every series of every expression is one of the manager's."""
    (rule,) = [each for each in helm.rendered(EVERYTHING) if each["kind"] == "PrometheusRule"]
    expressions = [each["expr"] for group in rule["spec"]["groups"] for each in group["rules"]]
    asked = {series for expression in expressions for series in re.findall(r"copyhold_\w+", expression)}
    families = text_string_to_metric_families(Metrics().text().decode())
    there = {f"{family.name}{end}" for family in families for end in ("", "_total", "_bucket", "_count", "_sum", "_info")}
    assert asked
    assert asked <= there
    assert any(f"copyhold_leases_held) < {SHARDS}" in expression for expression in expressions)


def test_prometheus_finds_the_service_of_the_metrics(helm: Helm) -> None:
    """By its labels and the name of its port."""
    rendered = helm.rendered(EVERYTHING)
    monitor = named(rendered, "ServiceMonitor", "copyhold")["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    (service,) = [each for each in rendered if each["kind"] == "Service" and wanted <= each["metadata"]["labels"].items()]
    assert monitor["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


# The Pod.


@sets
def test_the_ports_of_pod_services_and_policy_belong_together(helm: Helm, values: Manifest) -> None:
    """What listens is what is reached."""
    rendered = helm.rendered(values)
    pod = named(rendered, "Deployment", "copyhold")["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert f"--admission-listen=0.0.0.0:{ports['admission']}" in args(rendered)
    for service in (each for each in rendered if each["kind"] == "Service"):
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports.keys()
    for policy in (each for each in rendered if each["kind"] == "NetworkPolicy"):
        open_ports = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert open_ports == set(ports.values())


@sets
def test_every_container_runs_with_nothing_that_it_does_not_need(helm: Helm, values: Manifest) -> None:
    """Not as root, on a root file system that cannot be written, without capabilities."""
    rendered = helm.rendered(values)
    pods = [each["spec"]["template"]["spec"] for each in rendered if each["kind"] in ("Deployment", "Job")]
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in pod["containers"]:
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert each["resources"]["limits"].keys() == {"memory"}
