"""What a real API server makes of our CustomResourceDefinitions."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apis.kind import Kind, find
from apis.meta import Manifest
from tests.apis.mistakes import MISTAKES, Mistake
from tests.apis.objects import CONFIG_MAP, GONE, changed, gtr, record, tenant, tr
from tests.realserver.access import Access
from tests.support.api import Api, Reply, eventually
from tests.support.crds import DEFINITIONS

pytestmark = pytest.mark.usefixtures("crds")

EXAMPLE = gtr(
    scope="Namespace",
    tenantSelector={"matchLabels": {"plan": "gold"}},
    serviceAccount={"name": "distributor", "namespace": "platform"},
    dependsOn=[{"name": "crds"}],
    resyncPeriod="10m",
    cordoned=False,
    resources=[
        {
            "name": "quota",
            "namespaceSelector": {"matchLabels": {"stage": "dev"}},
            "policy": {"creation": "Owner", "protect": True, "force": False, "deletion": "Remove"},
            "targets": [
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": "baseline", "labels": {"tenant": "{{ tenant.metadata.name }}"}},
                    "spec": {"hard": {"pods": "{{ 10 * 2 }}"}},
                }
            ],
        },
        {
            "name": "registry",
            "policy": {"creation": "Merge", "condition": "object == null || !has(object.metadata.annotations)"},
            "context": {
                "resources": [{"index": "pull", "apiVersion": "v1", "kind": "Secret", "namespace": "platform", "name": "pull"}]
            },
            "template": "{% for secret in context.pull %}\napiVersion: v1\nkind: Secret\n{% endfor %}\n",
        },
        {
            "name": "copies",
            "namespacedItems": [
                {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "platform", "selector": {"matchLabels": {"share": "yes"}}}
            ],
            "additionalMetadata": {"labels": {"copied-for": "{{ namespace.metadata.name }}"}, "annotations": {}},
        },
    ],
)


def _tried(api: Api, manifest: Manifest) -> Reply:
    """The answer to a creation that is not stored, as strict about unknown fields as `kubectl apply` is."""
    placed = changed(manifest, "metadata", "namespace", to="default") if manifest["kind"] == "TenantResource" else manifest
    return api.create(placed, dryRun="All", fieldValidation="Strict")


@pytest.mark.parametrize("name", ["Established", "NamesAccepted"])
def test_every_kind_is_accepted(crds: tuple[Kind, ...], api: Api, name: str) -> None:
    """Structural, within the cost budget of CEL, and without a clash of names."""
    for kind in crds:
        conditions = api.request("GET", f"{DEFINITIONS}/{kind.crd_name}").expect(200).body["status"]["conditions"]
        found = {one["type"]: one["status"] for one in conditions}
        assert found[name] == "True"
        assert "NonStructuralSchema" not in found


@pytest.mark.parametrize(
    "manifest",
    [EXAMPLE, gtr(), tr(), tenant(), tenant(namespaceSelector={"matchLabels": {"team": "sun"}}), record()],
    ids=["the example of the design", "a global one", "a local one", "a bare tenant", "a tenant by its own label", "a record"],
)
def test_a_good_object_is_stored(api: Api, manifest: Manifest) -> None:
    """The shapes that the documents show."""
    _tried(api, manifest).expect(201)


def test_a_tenant_without_spec_is_stored(api: Api) -> None:
    """A name is enough: the label is the default."""
    _tried(api, changed(tenant(), "spec", to=GONE)).expect(201)


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one.served is not None], ids=lambda mistake: mistake.id)
def test_a_mistake_is_refused_with_its_field(api: Api, mistake: Mistake) -> None:
    """The server refuses what our models refuse, and names the same field."""
    reply = _tried(api, mistake.manifest).expect(400, 422)
    assert mistake.served is not None
    assert mistake.served in reply.message


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one.served is None], ids=lambda mistake: mistake.id)
def test_some_mistakes_only_our_models_see(api: Api, mistake: Mistake) -> None:
    """When the server learns to see them, the comment beside them is out of date."""
    _tried(api, mistake.manifest).expect(201)


@pytest.mark.parametrize(
    ("mistake", "remedy"),
    [
        pytest.param(changed(gtr(), "spec", "resources", 0, "policy", to={"condition": " "}), "omit the field", id="condition"),
        pytest.param(gtr(resources=[{}]), "at least one source is required: add targets", id="no source"),
        pytest.param(gtr(scope="None", tenantSelector={}), "remove it, or change the scope", id="scope"),
        pytest.param(tenant(namespaceSelector={}), "an empty selector would claim every namespace", id="empty selector"),
        pytest.param(tenant("a" * 64), "at most 63 characters", id="a name that is no label value"),
    ],
)
def test_a_rule_tells_the_remedy(api: Api, mistake: Manifest, remedy: str) -> None:
    """Rules in CEL carry our words to whoever runs `kubectl apply`."""
    assert remedy in _tried(api, mistake).expect(422).message


@pytest.mark.parametrize("period", ["0", "0s", "1s", "10m", "1h30m", "1.5h", ".5h", "1.h", "1000ms", "2562047h", "1000000µs"])
def test_a_go_duration_is_a_period(api: Api, period: str) -> None:
    """The same table as for our own parser, judged by the server's."""
    _tried(api, gtr(resyncPeriod=period)).expect(201)


@pytest.mark.parametrize(
    "period", ["", "10", "-1s", "1d", "1w", "1h 30m", "1H", "s", ".s", "999ms", "1ns", "2562048h", "99999999999h"]
)
def test_anything_else_is_no_period(api: Api, period: str) -> None:
    """Days, signs, blanks, and what is too short or too long."""
    assert "resyncPeriod" in _tried(api, gtr(resyncPeriod=period)).expect(422).message


def test_defaults_are_visible(api: Api) -> None:
    """What we assume is what `kubectl get -o yaml` shows."""
    bare = changed(
        gtr(), "spec", "resources", 0, "context", to={"resources": [{"index": "a", "apiVersion": "v1", "kind": "Secret"}]}
    )
    spec = _tried(api, bare).expect(201).body["spec"]
    assert (spec["scope"], spec["resyncPeriod"], spec["cordoned"]) == ("Namespace", "10m", False)
    group = spec["resources"][0]
    assert group["policy"] == {"creation": "Owner", "protect": True, "force": False, "deletion": "Remove"}
    assert group["context"]["resources"][0]["optional"] is True


def test_defaults_do_not_change_the_meaning(api: Api) -> None:
    """An object means the same before and after the server has filled in its defaults."""
    kind = find("copyhold.dev", "GlobalTenantResource")
    assert kind is not None
    stored = _tried(api, gtr()).expect(201).body
    assert kind.parse(stored) == kind.parse(gtr())


def test_a_target_is_stored_as_it_was_written(api: Api) -> None:
    """Nothing of a raw object is pruned, at any depth."""
    target: dict[str, Any] = CONFIG_MAP | {"unknown": {"deep": [{"a": {}, "b": "{{ 1 }}"}]}}
    target["metadata"] = target["metadata"] | {"labels": {"x": "{{ y }}"}, "extra": 1}
    stored = _tried(api, gtr(resources=[{"targets": [target]}])).expect(201).body
    assert stored["spec"]["resources"][0]["targets"] == [target]


def test_a_field_that_is_empty_is_its_default(api: Api) -> None:
    """`policy:` with nothing behind it, as our models read it too."""
    stored = _tried(api, changed(gtr(), "spec", "resources", 0, "policy", to=None)).expect(201).body
    assert stored["spec"]["resources"][0]["policy"]["creation"] == "Owner"


def test_the_manager_can_write_its_status(
    api: Api, temporary: Callable[[Manifest], Manifest], unique: Callable[[str], str]
) -> None:
    """Conditions, items with words of a later version, records; nothing of it is pruned, and the spec stays."""
    made = temporary(gtr(unique("status")))
    item = {
        "group": "",
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": "solar-dev",
        "name": "settings",
        "tenant": "solar",
        "uid": "1-2-3",
        "resource": "configmaps",
        "unit": "solar-dev",
        "payload": "sha256:1",
        "fields": "sha256:2",
        "seen": "17",
        "later": {"a": [1]},
        "status": {
            "type": "Ready",
            "status": "True",
            "reason": "Unchanged",
            "message": "",
            "verb": "Skip",
            "created": True,
            "clusterScoped": False,
            "lastApply": "2026-08-31T10:02:13Z",
            "policy": {"creation": "Owner", "protect": True, "force": False, "deletion": "Remove"},
            "account": "platform/distributor",
            "pending": True,
            "gone": "2026-08-31T10:02:14Z",
            "later": True,
        },
    }
    status = {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Succeeded",
                "message": "1 of 1 applied",
                "observedGeneration": 1,
                "lastTransitionTime": "2026-08-31T10:02:13Z",
            }
        ],
        "size": 1,
        "serviceAccount": {"namespace": "platform", "name": "distributor"},
        "selectedTenants": ["solar", "wind"],
        "processedItems": [item],
        "pruned": [{"at": 1788170533, "count": 11}],
        "records": {"count": 1, "ready": 1, "shards": [{"name": "r-0", "digest": "sha256:3", "count": 1}]},
    }
    written = api.merge_patch(made, {"status": status}, subresource="status", fieldValidation="Strict").expect(200).body
    assert written["status"] == status
    assert written["metadata"]["generation"] == 1
    assert _columns(api, written) == {
        "Name": written["metadata"]["name"],
        "Items": 1,
        "Ready": "True",
        "Status": "1 of 1 applied",
    }


def test_a_tenant_shows_its_namespaces(api: Api, temporary: Callable[[Manifest], Manifest], unique: Callable[[str], str]) -> None:
    """The names, sorted, and their number as a column."""
    made = temporary(tenant(unique("solar")))
    status = {"observedGeneration": 1, "namespaces": ["solar-dev", "solar-prod"], "size": 2}
    written = api.merge_patch(made, {"status": status}, subresource="status", fieldValidation="Strict").expect(200).body
    assert written["status"] == status
    assert _columns(api, written)["Namespaces"] == 2


def test_a_record_is_written_and_read(api: Api, temporary: Callable[[Manifest], Manifest], unique: Callable[[str], str]) -> None:
    """A kind with a field `items` would be taken for a list; this one is not, and it holds a megabyte."""
    made = temporary(record(unique("record"), data="A" * 1_048_576))
    assert made["parent"]["group"] == "copyhold.dev"
    assert _columns(api, made)["Parent"] == "baseline"


def test_explain_shows_our_words(server: Access, kubectl: Path, tmp_path: Path) -> None:
    """The docstrings of the models are the documentation of the fields."""
    config = server.kubeconfig(tmp_path / "kubeconfig")

    def explained() -> str:
        command = [str(kubectl), f"--kubeconfig={config}", f"--cache-dir={tmp_path}", "explain"]
        done = subprocess.run(
            [*command, "globaltenantresource.spec.resources.policy"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The server publishes the OpenAPI of a new kind a moment after it serves the kind.
    text = " ".join(eventually(explained).split())
    assert "How the targets of this group are written and taken back." in text
    assert "Omit the field to apply always." in text
    assert "enum: Owner, Merge" in text


def _columns(api: Api, manifest: Manifest) -> dict[str, Any]:
    """What `kubectl get` shows of the object, without its age."""
    table = api.get(manifest, accept="application/json;as=Table;v=v1;g=meta.k8s.io").expect(200).body
    shown = zip(table["columnDefinitions"], table["rows"][0]["cells"], strict=True)
    return {column["name"]: cell for column, cell in shown if column["name"] != "Age"}
