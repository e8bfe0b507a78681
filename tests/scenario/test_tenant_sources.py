"""Copies and context of a TenantResource: only from the namespaces of its own tenant (10.2.3, 6, 7, 10)."""

import pytest

from tests.support.api import Manifest
from tests.support.stage import Stage, config_map, group

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def place(stage: Stage, *words: str) -> list[str]:
    """Namespaces of one tenant, the `default` account of the first of which may do everything."""
    tenant = stage.tenant("solar")
    namespaces = [stage.namespace(word, tenant) for word in words]
    stage.grant(stage.service_account("default", namespaces[0]), [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    return namespaces


def context(**reference: object) -> Manifest:
    """The context of a group: one reference under the index `facts`."""
    return {"resources": [CONFIG | {"index": "facts"} | reference]}


FACTS = config_map("x", {"a": "{{ context.facts | map(attribute='data.a') | join(',') }}"})


@pytest.mark.parametrize("source", ["context", "copies"])
def test_a_reference_outside_the_tenant_is_invalid(stage: Stage, source: str) -> None:
    """10.2.7: context and copies from outside the tenant fail with the cross-namespace text, whatever the account may read."""
    (own,) = place(stage, "own")
    foreign = stage.namespace("foreign", stage.tenant("wind"))
    stage.create(config_map("facts", {"a": "secret"}, foreign))
    manager = stage.manager()
    wrong = (
        group(FACTS, context=context(namespace=foreign, name="facts"))
        if source == "context"
        else group(namespacedItems=[CONFIG | {"namespace": foreign, "name": "facts"}])
    )
    parent = stage.tenant_resource("reads", own, wrong)
    ready = stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ForeignNamespace")
    field = "spec.resources[0].context.resources[0]" if source == "context" else "spec.resources[0].namespacedItems[0]"
    for text in (ready["message"], stalled["message"]):
        assert f"{field}: cross-namespace selection is not allowed" in text
        assert f"namespace {foreign} is not one of tenant {stage.name('solar')} (allowed: {own})" in text
    assert stage.items(parent) == {}
    assert [sent for sent in manager.sent if f"/namespaces/{foreign}/" in sent.path] == []


def test_a_reference_whose_namespace_renders_to_one_outside_the_tenant_is_invalid(stage: Stage) -> None:
    """10.2.3: the template of a namespace is judged by what it renders to, and only where it renders to something foreign."""
    own, second = place(stage, "own", "second")
    foreign = stage.namespace("foreign", stage.tenant("wind"))
    stage.create(config_map("facts", {"a": "1"}, own))
    stage.create(config_map("facts", {"a": "secret"}, foreign))
    stage.manager()
    templated = "{{ '" + own + "' if namespace.metadata.name == '" + own + "' else '" + foreign + "' }}"
    parent = stage.tenant_resource("renders", own, group(FACTS, context=context(namespace=templated, name="facts")))
    stage.ready(parent, "False")
    stalled = stage.condition(parent, "Stalled")
    assert (stalled["status"], stalled["reason"]) == ("True", "ForeignNamespace")
    assert f"namespace {foreign} is not one of tenant" in stalled["message"]
    assert stage.read(config_map("x", namespace=own))["data"] == {"a": "1"}
    assert stage.api.get(config_map("x", namespace=second)).status == 404


def test_context_with_a_namespace_is_the_same_for_every_target(stage: Stage) -> None:
    """10.2.6: an explicit namespace gives the same data in every namespace."""
    own, second = place(stage, "own", "second")
    for namespace, value in ((own, "1"), (second, "2")):
        stage.create(config_map("facts", {"a": value}, namespace))
    stage.manager()
    parent = stage.tenant_resource("explicit", own, group(FACTS, context=context(namespace=own, name="facts")))
    stage.ready(parent)
    assert [stage.read(config_map("x", namespace=namespace))["data"]["a"] for namespace in (own, second)] == ["1", "1"]


def test_context_without_a_namespace_is_that_of_the_target(stage: Stage) -> None:
    """10.2.6: without a namespace the context is taken from the iterated one, and its change concerns that one alone."""
    own, second = place(stage, "own", "second")
    for namespace, value in ((own, "1"), (second, "2")):
        stage.create(config_map("facts", {"a": value}, namespace))
    manager = stage.manager()
    parent = stage.tenant_resource("own", own, group(FACTS, context=context(name="facts")), resyncPeriod="0s")
    stage.ready(parent)
    assert [stage.read(config_map("x", namespace=namespace))["data"]["a"] for namespace in (own, second)] == ["1", "2"]
    manager.idle()
    mark = len(manager.sent)
    stage.api.merge_patch(config_map("facts", namespace=second), {"data": {"a": "3"}}).expect(200)
    stage.becomes(config_map("x", namespace=second), lambda live: live["data"] == {"a": "3"})
    manager.idle()
    assert [sent.path for sent in manager.writes_since(mark) if "/configmaps/" in sent.path] == [
        f"/api/v1/namespaces/{second}/configmaps/x"
    ]


def test_a_copy_loses_the_labels_by_which_it_was_selected(stage: Stage) -> None:
    """10.2.10: the labels of the selector are left out, so that a copy is not selected in its turn; the others stay."""
    own, second = place(stage, "own", "second")
    labels = {"share": "yes", "app": "x"}
    stage.create(config_map("source", {"a": "1"}, own, labels=labels))
    stage.manager()
    parent = stage.tenant_resource(
        "copies", own, group(namespacedItems=[CONFIG | {"selector": {"matchLabels": {"share": "yes"}}}])
    )
    stage.ready(parent)
    copy = stage.read(config_map("source", namespace=second))
    assert copy["data"] == {"a": "1"}
    assert copy["metadata"]["labels"]["app"] == "x"
    assert "share" not in copy["metadata"]["labels"]
    assert list(stage.items(parent)) == [f"ConfigMap {second}/source"]
    source = stage.read(config_map("source", namespace=own))
    assert source["metadata"]["labels"] == labels


def test_copies_default_to_the_namespace_of_the_parent(stage: Stage) -> None:
    """10.2.7: without a namespace, copies come from the parent's own; another namespace of the tenant may be named."""
    own, second, third = place(stage, "own", "second", "third")
    stage.create(config_map("mine", {"a": "1"}, own))
    stage.create(config_map("other", {"a": "2"}, second))
    stage.create(config_map("mine", {"a": "decoy"}, second))
    stage.manager()
    copies = [CONFIG | {"name": "mine"}, CONFIG | {"name": "other", "namespace": second}]
    parent = stage.tenant_resource("copies", own, group(namespacedItems=copies))
    stage.ready(parent, "False")
    items = {key: item["status"]["reason"] for key, item in stage.items(parent).items()}
    assert items == {
        f"ConfigMap {own}/other": "Succeeded",
        f"ConfigMap {second}/mine": "Foreign",
        f"ConfigMap {third}/mine": "Succeeded",
        f"ConfigMap {third}/other": "Succeeded",
    }
    assert stage.read(config_map("mine", namespace=third))["data"] == {"a": "1"}
    assert stage.read(config_map("mine", namespace=second))["data"] == {"a": "decoy"}
