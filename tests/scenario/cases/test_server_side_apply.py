"""Group A of the cases that went wrong for others: the semantics of server-side apply."""

import base64
import json
from typing import Any

import pytest

from tests.scenario.cases.passes import OPEN, held_by, item, look_again, marks_on, target_writes, writes_of_another_look
from tests.scenario.cases.widgets import definition, install, version, watchable, widget
from tests.support.api import Manifest, eventually, ref
from tests.support.stage import Stage, config_map, group


def _none(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    return stage.global_resource(word, *groups, scope="None", **spec)


def _deployment(stage: Stage, *containers: Manifest, **spec: Any) -> Manifest:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers) or [{"name": "web", "image": "web"}]}}
    return ref("apps/v1", "Deployment", "web", stage.home) | {
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}
    }


def _service(stage: Stage, *ports: Manifest, **spec: Any) -> Manifest:
    return ref("v1", "Service", "web", stage.home) | {"spec": {"ports": list(ports), **spec}}


def test_case_001_a_deployment_that_was_scaled_is_a_conflict_and_is_not_scaled_back(stage: Stage) -> None:
    """Case 1: the autoscaler's value stands; the target says who holds the field, until the template leaves it out."""
    manager = stage.manager()
    wanted = _deployment(stage, replicas=2)
    other = config_map("beside", {"a": "1"}, stage.home)
    parent = _none(stage, "scaled", group(wanted, other))
    stage.ready(parent)
    scale = {"spec": {"replicas": 5}}
    stage.api.merge_patch(wanted, scale, subresource="scale", fieldManager="horizontal-pod-autoscaler").expect(200)
    stage.ready(parent, "False")
    status = item(stage, parent, f"Deployment {stage.home}/web")
    assert status["reason"] == "FieldTaken"
    assert ".spec.replicas is held by 'horizontal-pod-autoscaler'" in status["message"]
    assert item(stage, parent, f"ConfigMap {stage.home}/beside")["reason"] == "Succeeded"
    assert target_writes(writes_of_another_look(stage, manager, parent)) == []
    assert stage.read(wanted)["spec"]["replicas"] == 5

    stage.edit(parent, resources=[group(_deployment(stage), other)])
    stage.ready(parent)
    assert stage.read(wanted)["spec"]["replicas"] == 5


def test_case_002_an_autoscaler_that_is_applied_again_keeps_its_metrics(stage: Stage) -> None:
    """Case 2: two metrics stay two, after another pass, a restart and an edit beside them."""
    manager = stage.manager()
    metrics = [
        {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 80}}}
        for name in ("cpu", "memory")
    ]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    wanted = ref("autoscaling/v2", "HorizontalPodAutoscaler", "web", stage.home)
    wanted |= {"spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": metrics}}
    parent = _none(stage, "scaler", group(wanted))
    stage.ready(parent)
    assert stage.there(wanted)["spec"]["metrics"] == metrics
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []
    wanted["spec"]["maxReplicas"] = 4
    stage.edit(parent, resources=[group(wanted)])
    stage.ready(parent)
    live = stage.read(wanted)["spec"]
    assert (live["maxReplicas"], live["metrics"]) == (4, metrics)


PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "required": ["port", "protocol"],
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}},
    },
}


def test_case_004_an_element_without_its_key_is_the_authors_mistake_and_names_the_field(stage: Stage) -> None:
    """Case 4: where the schema has no default the server refuses the element, and nothing is tried again before an edit."""
    install(stage, definition(stage, version(spec={"type": "object", "properties": {"ports": PORTS}})))
    manager = stage.manager()
    parent = _none(stage, "keyless", group(widget(stage, "w", {"ports": [{"port": 80}]}, stage.home)))
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "Invalid")
    assert stalled["message"].endswith("spec.ports[0].protocol: Required value")
    manager.idle()
    stage.edit(parent, resources=[group(widget(stage, "w", {"ports": [{"port": 80, "protocol": "TCP"}]}, stage.home))])
    stage.ready(parent)


def test_case_004_an_element_whose_key_has_a_default_is_applied_once(stage: Stage) -> None:
    """Case 4, the other half: the server fills the key in, and that is no drift."""
    manager = stage.manager()
    parent = _none(stage, "defaulted", group(_service(stage, {"port": 80})))
    stage.ready(parent)
    assert stage.there(_service(stage))["spec"]["ports"][0]["protocol"] == "TCP"
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []


def test_case_005_a_port_whose_key_another_manager_changed_is_reported_and_not_fought_over(stage: Stage) -> None:
    """Case 5: with both ports under one name the server refuses ours; it is said so, nothing loops, and undoing mends it."""
    manager = stage.manager()
    wanted = _service(stage, {"name": "dns", "port": 53, "protocol": "TCP"})
    parent = _none(stage, "dns", group(wanted, policy=OPEN))
    stage.ready(parent)
    stage.there(wanted)
    path = "/spec/ports/0/protocol"
    stage.api.json_patch(wanted, [{"op": "replace", "path": path, "value": "UDP"}]).expect(200)
    stage.ready(parent, "False")
    status = item(stage, parent, f"Service {stage.home}/web")
    assert status["reason"] == "Invalid"
    assert "spec.ports[1].name" in status["message"]
    manager.idle()
    assert len([one for one in target_writes(manager.sent) if one.status == 422]) < 4
    assert [port["protocol"] for port in stage.read(wanted)["spec"]["ports"]] == ["UDP"]
    stage.api.json_patch(wanted, [{"op": "replace", "path": path, "value": "TCP"}]).expect(200)
    stage.ready(parent)


REQUIRED = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
}


def test_case_007_giving_back_what_the_rest_needs_leaves_the_content_and_takes_the_marks(stage: Stage) -> None:
    """Case 7: where the object would be invalid without our field, it stays as it is, unmarked and held by nobody."""
    install(stage, definition(stage, version(spec=REQUIRED)))
    stage.create(widget(stage, "w", {"a": "theirs", "b": "theirs"}, stage.home))
    manager = stage.manager()
    taking = {"creation": "Merge", "force": True}
    parent = _none(stage, "taker", group(widget(stage, "w", {"a": "ours"}, stage.home), policy=taking))
    stage.ready(parent)
    live = stage.read(widget(stage, "w", {}, stage.home))
    assert (live["spec"], held_by(parent, live)) == ({"a": "ours", "b": "theirs"}, "adopted")
    stage.delete(parent)
    after = stage.read(live)
    assert (after["metadata"]["uid"], after["spec"]) == (live["metadata"]["uid"], {"a": "ours", "b": "theirs"})
    assert marks_on(after) == []
    manager.idle()


def test_case_007_a_template_that_drops_what_the_rest_needs_is_reported_once(stage: Stage) -> None:
    """Case 7, while the parent lives: the refusal names the field, and nothing loops."""
    install(stage, definition(stage, version(spec=REQUIRED)))
    watchable(stage)
    stage.create(widget(stage, "w", {"a": "theirs"}, stage.home))
    manager = stage.manager()
    taking = {"creation": "Merge", "force": True}
    parent = _none(stage, "taker", group(widget(stage, "w", {"a": "ours", "b": "ours"}, stage.home), policy=taking))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(widget(stage, "w", {"b": "ours"}, stage.home), policy=taking)])
    stage.ready(parent, "False")
    status = item(stage, parent, f"Widget {stage.home}/w")
    assert status["reason"] == "Invalid"
    assert "spec.a" in status["message"]
    manager.idle()
    assert [one.status for one in target_writes(manager.sent[mark:])] == [422]
    assert stage.read(widget(stage, "w", {}, stage.home))["spec"] == {"a": "ours", "b": "ours"}


def test_case_008_an_object_that_was_applied_in_a_version_which_is_gone_is_applied_and_removed(stage: Stage) -> None:
    """Case 8: managedFields may name a version that is not served any more; the template moves on, and so does the target."""
    both = definition(stage, version("v1alpha1", storage=False), version("v1"))
    made = install(stage, both)
    stage.manager()
    parent = _none(stage, "versions", group(widget(stage, "w", {"a": "1"}, stage.home, version="v1alpha1")))
    stage.ready(parent)
    before = stage.there(widget(stage, "w", {}, stage.home))
    newest = definition(stage, version("v1"))
    stage.api.merge_patch(made, {"spec": {"versions": newest["spec"]["versions"]}}).expect(200)
    eventually(lambda: stage.api.request("GET", f"/apis/{stage.mark}.test/v1alpha1/widgets").status == 404)
    stage.edit(parent, resources=[group(widget(stage, "w", {"a": "2"}, stage.home))])
    stage.ready(parent)
    after = stage.read(before)
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], {"a": "2"})
    stage.delete(parent)
    stage.gone(before)


def test_case_008_a_parent_goes_although_the_recorded_version_is_gone(stage: Stage) -> None:
    """Case 8, taking down: any served version of the recorded kind will do."""
    made = install(stage, definition(stage, version("v1alpha1", storage=False), version("v1")))
    stage.manager()
    parent = _none(stage, "versions", group(widget(stage, "w", {"a": "1"}, stage.home, version="v1alpha1")))
    stage.ready(parent)
    target = stage.there(widget(stage, "w", {}, stage.home))
    stage.api.merge_patch(made, {"spec": {"versions": [version("v1")]}}).expect(200)
    eventually(lambda: stage.api.request("GET", f"/apis/{stage.mark}.test/v1alpha1/widgets").status == 404)
    stage.delete(parent)
    stage.gone(target)


# The embedded cluster calls no conversion webhooks: there, versions of a kind differ in nothing but their name.
@pytest.mark.parametrize("server", ["realserver"], ids=["real"], indirect=True)
def test_case_010_a_conversion_that_fails_is_tried_again_and_says_so(stage: Stage) -> None:
    """Case 10: a conversion webhook that gives no usable answer holds this target alone, until it does."""
    broken = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]},
    }
    versions = version("v1alpha1", storage=True), version("v1", storage=False)
    made = stage.create(definition(stage, *versions, conversion=broken))
    eventually(lambda: "Established" in [one["type"] for one in stage.read(made)["status"].get("conditions") or ()])
    stage.manager()
    wanted, beside = widget(stage, "w", {"a": "1"}, stage.home), config_map("beside", {"a": "1"}, stage.home)
    parent = _none(stage, "converted", group(wanted), group(beside), resyncPeriod="0s")
    stage.ready(parent, "False")
    status = item(stage, parent, f"Widget {stage.home}/w")
    assert status["reason"] == "Unavailable"
    assert "conversion webhook" in status["message"]
    assert stage.condition(parent, "Stalled")["status"] == "False"
    assert stage.there(beside)["data"] == {"a": "1"}
    stage.api.merge_patch(made, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}).expect(200)
    stage.ready(parent, timeout=60)
    assert stage.read(wanted)["spec"] == {"a": "1"}


def test_case_011_an_empty_map_of_annotations_changes_nothing_again_and_again(stage: Stage) -> None:
    """Case 11: many passes, a restart, and one resourceVersion."""
    manager = stage.manager()
    wanted = config_map("empty", {"a": "1"}, stage.home, annotations={}, labels={})
    parent = _none(stage, "empty", group(wanted))
    stage.ready(parent)
    before = stage.there(wanted)["metadata"]["resourceVersion"]
    for _ in range(5):
        assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []
    assert stage.read(wanted)["metadata"]["resourceVersion"] == before


def test_case_013_a_definition_that_is_a_target_is_written_once(stage: Stage) -> None:
    """Case 13: a CustomResourceDefinition, whose text the server reorders and defaults, is not written at every look."""
    manager = stage.manager()
    wanted = definition(stage, version(spec={"type": "object", "properties": {"ports": PORTS}}))
    parent = _none(stage, "defines", group(wanted))
    stage.ready(parent)
    eventually(lambda: "Established" in [one["type"] for one in stage.read(wanted)["status"]["conditions"]])
    look_again(stage, manager, parent)
    before = stage.read(wanted)["metadata"]["resourceVersion"]
    for _ in range(5):
        assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []
    assert stage.read(wanted)["metadata"]["resourceVersion"] == before
    stage.delete(parent)
    stage.gone(wanted)


def test_case_014_an_explicit_null_is_no_change(stage: Stage) -> None:
    """Case 14: nulls go before the payload is compared or sent."""
    manager = stage.manager()
    wanted = _service(stage, {"port": 80}, selector=None)
    metadata = f"{{name: null-selector, namespace: {stage.home}}}"
    text = f"apiVersion: v1\nkind: Service\nmetadata: {metadata}\nspec: {{selector: null, ports: [{{port: 80}}]}}"
    parent = _none(stage, "nulls", group(wanted), group(template=text))
    stage.ready(parent)
    assert "selector" not in stage.there(wanted)["spec"]
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []


_CPUS = "1000m 1 0.5 500m 2.5 1500m 1e1 10 0.1 100m 1.0 0.250 2000m 1k 4 0.001 3e0 7.50 12 25m"
_MEMORIES = "3072Mi 3Gi 1024Ki 1Mi 1000M 1G 1e9 1048576 0.5Gi 512Mi 1024Mi 128974848 129e6 129M 2048Ki 1.5Gi 100k 1Ti 1024Gi 2E"
QUANTITIES = list(zip(_CPUS.split(), _MEMORIES.split(), strict=True))


def test_case_016_quantities_in_any_spelling_are_applied_once(stage: Stage) -> None:
    """Case 16: forty quantities that the server writes in its own way; nothing is compared by text."""
    manager = stage.manager()
    containers = [
        {"name": f"c{number}", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
        for number, (cpu, memory) in enumerate(QUANTITIES)
    ]
    wanted = _deployment(stage, *containers)
    parent = _none(stage, "quantities", group(wanted))
    stage.ready(parent)
    live = stage.there(wanted)
    assert len(live["spec"]["template"]["spec"]["containers"]) == 20
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []
    after = stage.read(wanted)["metadata"]
    assert (after["generation"], after["resourceVersion"]) == (1, live["metadata"]["resourceVersion"])


def test_case_017_an_empty_label_is_stored_and_stable(stage: Stage) -> None:
    """Case 17: a label whose template renders to nothing is an empty label, and applied once."""
    manager = stage.manager()
    wanted = config_map("labelled", {"a": ""}, stage.home, labels={"team": "{{ '' }}", "other": ""})
    parent = _none(stage, "labelled", group(wanted))
    stage.ready(parent)
    live = stage.there(wanted)
    assert {key: live["metadata"]["labels"][key] for key in ("team", "other")} == {"team": "", "other": ""}
    assert live["data"] == {"a": ""}
    assert writes_of_another_look(stage, manager, parent) == []
    manager.restart()
    assert writes_of_another_look(stage, manager, parent) == []


def test_case_019_a_typed_secret_is_sent_as_it_is_and_shown_nowhere(stage: Stage) -> None:
    """Case 19: the request carries the real data, which its type validates; statuses and messages carry none of it."""
    manager = stage.manager()
    password = "correct-horse-battery"
    auths = {"registry.test": {"username": "solar", "password": password}}
    wanted = ref("v1", "Secret", "pull", stage.home) | {"type": "kubernetes.io/dockerconfigjson"}
    good = wanted | {"stringData": {".dockerconfigjson": json.dumps({"auths": auths})}}
    parent = _none(stage, "pull", group(good))
    stage.ready(parent)
    stored = stage.there(wanted)["data"][".dockerconfigjson"]
    assert json.loads(base64.b64decode(stored)) == {"auths": auths}
    assert writes_of_another_look(stage, manager, parent) == []

    bad = wanted | {"stringData": {".dockerconfigjson": password + " is no JSON"}}
    parent = stage.edit(parent, resources=[group(bad)])
    stage.ready(parent, "False")
    assert item(stage, parent, f"Secret {stage.home}/pull")["reason"] == "Invalid"
    status = json.dumps(stage.read(parent)["status"])
    assert "dockerconfigjson" in status
    for shown in (password, stored, base64.b64encode((password + " is no JSON").encode()).decode()):
        assert shown not in status
    assert stage.read(wanted)["data"][".dockerconfigjson"] == stored
