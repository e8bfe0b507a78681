"""One replica as a process: probes, metrics, logs, idleness, restarts, errors at the start, and an API server that goes away."""

import base64
import json
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from manager.metrics import CONTENT_TYPE
from tests.support.api import Manifest, eventually, ref
from tests.support.process import Place, Proxy, Replica, failed_start, install, lasts
from tests.support.stage import GROUP, config_map, group

ADMISSION = "admissionregistration.k8s.io/v1"
SECRET = "wax-under-the-seal"


@pytest.fixture
def lone(place: Place) -> Replica:
    """The only replica."""
    return place.alive(1)[0]


def settings_of(place: Place, *texts: str) -> Manifest:
    """A parent with one ConfigMap for each text, Ready in the one namespace of a new tenant."""
    tenant = place.tenant()
    place.namespace(tenant)
    parent = place.parent(tenant, group(*(config_map(f"settings-{n}", {"text": text}) for n, text in enumerate(texts))))
    place.ready(parent)
    return parent


# Probes, metrics, logs.


def test_a_replica_is_ready_when_everything_has_been_seen_and_says_before_what_is_missing(place: Place) -> None:
    """/readyz is 503 and names what has not been seen; /healthz is 200 all the time."""
    place.end()
    proxy = Proxy(place.server.access)
    policies = proxy.hold(lambda sent: "/validatingadmissionpolicies/" in sent.path)
    namespaces = proxy.hold(lambda sent: sent.path == "/api/v1/namespaces")
    replica = place.replica(proxy=proxy)
    policies.wait()
    assert replica.probe("/healthz") == (200, "ok\n")
    assert replica.probe("/readyz") == (503, "everything: watching has not begun\n")
    policies.release()
    namespaces.wait()
    eventually(lambda: replica.probe("/readyz") == (503, "namespaces\n"))
    assert replica.probe("/healthz") == (200, "ok\n")
    assert replica.lines("running") == []
    namespaces.release()
    replica.ready()
    assert replica.probe("/readyz") == (200, "ok\n")
    assert replica.probe("/secrets")[0] == 404


def test_the_metrics_are_prometheus_text_and_count_what_was_done(place: Place, lone: Replica) -> None:
    """/metrics parses, every family is ours or the process's, and requests, passes, targets and Leases are counted."""
    before = {
        "applies": lone.metric("copyhold_requests_total", verb="PATCH", resource="configmaps", code="201"),
        "ready": lone.metric("copyhold_targets", kind="ConfigMap", state="ready"),
        "passes": lone.metric("copyhold_reconcile_passes_total", kind="GlobalTenantResource"),
    }
    parent = settings_of(place, "a", "b", "c")
    name = parent["metadata"]["name"]
    eventually(lambda: lone.metric("copyhold_targets", kind="ConfigMap", state="ready") == before["ready"] + 3)
    assert lone.metric("copyhold_requests_total", verb="PATCH", resource="configmaps", code="201") == before["applies"] + 3
    assert lone.metric("copyhold_reconcile_passes_total", kind="GlobalTenantResource") > before["passes"]
    assert lone.metric("copyhold_parent_condition", name=name, condition="Ready") == 1
    assert lone.leases() == 4
    answer = httpx.get(f"http://{lone.address}/metrics", trust_env=False)
    assert answer.headers["content-type"] == CONTENT_TYPE
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert {name for name in names if not name.startswith(("copyhold_", "process_"))} == set()
    place.remove(parent)
    eventually(lambda: lone.metric("copyhold_targets", kind="ConfigMap", state="ready") == before["ready"])
    assert f'name="{name}"' not in lone.probe("/metrics")[1]


def test_the_log_is_one_json_object_a_line_and_no_secret_is_in_it(place: Place) -> None:
    """At debug too, and also when the server refuses a Secret and says why in its own words."""
    place.end()
    replica = place.replica("--log-level", "debug")
    tenant = place.tenant()
    place.namespace(tenant)
    sound = ref("v1", "Secret", "sound") | {"stringData": {"key": SECRET}}
    refused = ref("v1", "Secret", "refused") | {"type": "kubernetes.io/tls", "stringData": {"key": SECRET}}
    broken = ref("v1", "Secret", "broken") | {"data": {"key": SECRET}}  # no base64
    parent = place.parent(tenant, group(sound, refused, broken))
    told = eventually(
        lambda: [line for line in replica.lines("told") if parent["metadata"]["name"] in line["parent"]], timeout=40
    )
    assert {line["type"] for line in told} == {"Warning"}
    assert all({"time", "level", "event"} <= line.keys() for line in replica.lines())
    assert {line["level"] for line in replica.lines()} <= {"debug", "info", "warning"}
    text = replica.text() + json.dumps(place.api.get(parent).expect(200).body["status"])
    for form in (SECRET, base64.b64encode(SECRET.encode()).decode()):
        assert form not in text
    place.api.merge_patch(parent, {"spec": {"resources": [group(sound)]}}).expect(200)
    place.ready(parent)
    place.remove(parent)
    place.end()


# Writing nothing.


def test_a_replica_with_nothing_to_do_writes_nothing_but_its_leases_and_reads_nothing_but_those(
    place: Place, lone: Replica
) -> None:
    """Idle means: no write but the Leases. And nothing is polled."""
    parent = settings_of(place, "a", "b")
    eventually(lambda: lone.metric("copyhold_queue_depth") == 0)
    _quiet(lone)
    before, since = place.versions(), len(lone.proxy.sent)
    lasts(3, lambda: None)
    seen = lone.proxy.sent[since:]
    assert [f"{sent.method} {sent.path}" for sent in seen if not sent.lease] == []
    assert {sent.method for sent in seen if sent.writes} == {"PUT"}
    assert place.versions() == before
    place.remove(parent)


def test_a_restart_over_unchanged_targets_writes_nothing_but_leases(place: Place) -> None:
    """10.7: what was applied is recognised by its records: no apply, no status, no policy, no Event is written again."""
    place.end()
    first = place.alive(1)[0]
    parents = [settings_of(place, "a", "b", "c"), settings_of(place, "d")]
    _quiet(first)
    assert first.terminate() == 0
    assert place.members(first) == set()
    before = place.versions()
    (second,) = place.alive(1)
    passes = {str(parent["metadata"]["name"]) for parent in parents}
    eventually(lambda: second.metric("copyhold_reconcile_passes_total") >= len(passes))
    eventually(lambda: second.metric("copyhold_targets", state="ready") == 4)
    _quiet(second)
    assert [f"{sent.method} {sent.path}" for sent in second.proxy.sent if sent.writes and not sent.lease] == []
    assert place.versions() == before
    place.remove(*parents)


def _quiet(replica: Replica) -> None:
    """Wait until nothing but Leases has gone by for a second."""

    def others() -> int:
        return sum(not sent.lease for sent in replica.proxy.sent)

    def still() -> bool:
        before = others()
        lasts(1, lambda: None)
        return others() == before

    eventually(still)


# Errors at the start.


def test_without_our_kinds_a_replica_says_how_to_install_them_and_ends(place: Place) -> None:
    """One line with the remedy, and exit code 1."""
    place.end()
    definition = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"targetrecords.{GROUP}")
    place.api.delete(definition).expect(200)
    try:
        eventually(lambda: place.api.get(definition).expect(404))
        path = f"/apis/{GROUP}/v1alpha1/targetrecords"
        eventually(lambda: place.api.request("GET", path).status == 404)
        code, lines = failed_start(place.kubeconfig())
    finally:
        install(place.api)
    assert code == 1
    (said,) = map(json.loads, lines)
    assert (said["level"], said["reason"]) == ("error", "KindUnknown")
    assert "TargetRecord in copyhold.dev/v1alpha1" in said["message"]
    assert "copyhold crds | kubectl apply --server-side -f -" in said["message"]


def test_a_port_that_is_taken_is_named_and_not_called_a_defect(place: Place) -> None:
    """One line with the address and the option, and exit code 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, lines = failed_start(place.kubeconfig(), "--listen", address)
    assert code == 1
    (said,) = map(json.loads, lines)
    assert f"cannot listen on {address}" in said["message"]
    assert "--listen" in said["message"]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        pytest.param("absent", None, ("there is no kubeconfig at", "--kubeconfig"), id="no such file"),
        pytest.param("broken", "{not: [yaml", ("not a valid kubeconfig",), id="not YAML"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path, file: str, text: str | None, words: tuple[str, ...]) -> None:
    """One line with the file, and exit code 1."""
    path = tmp_path / file
    if text is not None:
        path.write_text(text)
    code, lines = failed_start(path)
    assert code == 1
    (said,) = map(json.loads, lines)
    assert all(word in said["message"] for word in (str(path), *words))


def test_a_server_that_is_not_there_and_one_that_does_not_know_us_are_told_apart(place: Place) -> None:
    """One line with the address or with the refusal, and exit code 1."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        code, lines = failed_start(place.kubeconfig(server=f"https://{address}"))
    assert code == 1
    (said,) = map(json.loads, lines)
    assert said["reason"] == "Unavailable"
    assert f"no connection to {address}" in said["message"]
    code, lines = failed_start(place.kubeconfig(token="of somebody else"))
    assert code == 1
    (said,) = map(json.loads, lines)
    assert said["reason"] == "Forbidden"
    assert "credentials" in said["message"]


# The API server goes away.


@pytest.mark.parametrize("how", ["paused", "restarted"])
def test_a_replica_recovers_from_an_api_server_that_was_away_and_removes_nothing(place: Place, lone: Replica, how: str) -> None:
    """10.2: longer than a Lease, or with all connections and watches cut: it goes on by itself, and what is there stays."""
    parent = settings_of(place, "a", "b")
    before = place.targets(parent)
    since = len(lone.proxy.sent)
    if how == "paused":
        place.server.signal("kube-apiserver", signal.SIGSTOP)
        try:
            eventually(lambda: len(lone.lines("lease lost")) >= 4, timeout=15)
        finally:
            place.server.signal("kube-apiserver", signal.SIGCONT)
    else:
        place.server.restart("kube-apiserver")
    url = urlsplit(place.server.access.url)
    eventually(lambda: _answers(place, f"{url.scheme}://{url.netloc}/readyz"), timeout=30)
    place.settled(lone, timeout=40)
    place.change(parent, resources=[group(*(config_map(f"settings-{n}", {"text": text}) for n, text in enumerate("abc")))])
    place.ready(parent, timeout=60)
    after = place.targets(parent)
    assert len(after) == 3
    assert {name: after[name]["metadata"]["uid"] for name in before} == {
        name: item["metadata"]["uid"] for name, item in before.items()
    }
    assert [sent.path for sent in lone.proxy.writes(since) if sent.method == "DELETE"] == []
    assert lone.alive
    place.drop(parent)


def _answers(place: Place, url: str) -> bool:
    try:
        return place.api.request("GET", urlsplit(url).path).status == 200
    except httpx.TransportError:
        return False


# Admission policies.


def test_policies_that_somebody_deletes_or_weakens_are_put_back_by_the_event(place: Place, lone: Replica) -> None:
    """No resync is waited for: the watch shows it."""
    policy = ref(ADMISSION, "ValidatingAdmissionPolicy", "copyhold-protection")
    binding = ref(ADMISSION, "ValidatingAdmissionPolicyBinding", "copyhold-protection")
    right = {manifest["kind"]: place.api.get(manifest).expect(200).body["spec"] for manifest in (policy, binding)}

    def restored() -> bool:
        for manifest in (policy, binding):
            assert place.api.get(manifest).expect(200).body["spec"] == right[manifest["kind"]]
        return True

    for manifest in (policy, binding):
        place.api.delete(manifest).expect(200)
        eventually(restored, timeout=5)
    out = [{"name": "nobody", "expression": "false"}]
    place.api.merge_patch(policy, {"spec": {"matchConditions": out}}).expect(200)
    eventually(restored, timeout=5)
    place.api.merge_patch(binding, {"spec": {"validationActions": ["Audit"]}}).expect(200)
    eventually(restored, timeout=5)
    place.api.merge_patch(policy, {"spec": {"failurePolicy": "Ignore"}, "metadata": {"labels": None}}).expect(200)
    eventually(restored, timeout=5)


def test_targets_stay_protected_while_no_replica_runs(place: Place, lone: Replica) -> None:
    """10.4: the policy is the server's: an administrator is refused, and what the manager wrote stays as it is."""
    parent = settings_of(place, "a")
    (target,) = place.targets(parent).values()
    target |= {"apiVersion": "v1", "kind": "ConfigMap"}
    place.end()
    reply = eventually(lambda: place.api.merge_patch(target, {"data": {"text": "b"}}, dryRun="All").expect(403), timeout=10)
    assert "copyhold" in reply.message
    place.api.merge_patch(target, {"data": {"text": "b"}}).expect(403)
    place.api.delete(target).expect(403)
    assert place.api.get(target).expect(200).body["metadata"]["resourceVersion"] == target["metadata"]["resourceVersion"]
    place.alive(1)
    place.remove(parent)
