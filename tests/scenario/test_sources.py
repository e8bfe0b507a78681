"""Copies and context of a GlobalTenantResource: read anywhere, followed by event, missing only when it is certain (10.1.21)."""

from tests.support.api import Manifest, eventually, ref
from tests.support.marks import hold_of
from tests.support.stage import Stage, config_map, group

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def spaces(stage: Stage, *words: str) -> list[str]:
    """Namespaces of one tenant of this test."""
    tenant = stage.tenant("solar", of=stage.mark)
    return [stage.namespace(word, tenant) for word in words]


def every(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource over the tenant of this test, without a resync: only events drive."""
    return stage.global_resource(
        word, *groups, tenantSelector={"matchLabels": {"of": stage.mark}}, **{"resyncPeriod": "0s"} | spec
    )


def reading(*references: Manifest) -> Manifest:
    """`context` of a group."""
    return {"resources": [CONFIG | reference for reference in references]}


def test_context_may_come_from_a_namespace_outside_the_tenant(stage: Stage) -> None:
    """10.1.21: the administrator's parent reads anywhere its account may, by name and by selector."""
    (namespace,) = spaces(stage, "space")
    for name in ("one", "two"):
        stage.create(config_map(name, {"value": name}, stage.home, labels={"share": stage.mark}))
    stage.manager()
    context = reading(
        {"index": "one", "namespace": stage.home, "name": "one"},
        {"index": "all", "namespace": stage.home, "selector": {"matchLabels": {"share": stage.mark}}},
        {"index": "none", "namespace": stage.home, "name": "absent"},
    )
    target = config_map(
        "x",
        {
            "one": "{{ context.one[0].data.value }}",
            "all": "{{ context.all | map(attribute='metadata.name') | join(',') }}",
            "none": "{{ context.none | length | string }}",
        },
    )
    parent = every(stage, "reads", group(target, context=context))
    stage.ready(parent)
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"one": "one", "all": "one,two", "none": "0"}


def test_a_change_of_context_renders_anew(stage: Stage) -> None:
    """10.1.21: changed, new and deleted context objects reach the targets by event, without an edit or a resync."""
    (namespace,) = spaces(stage, "space")
    first = stage.create(config_map("first", {"value": "1"}, stage.home, labels={"share": stage.mark}))
    stage.manager()
    context = reading({"index": "all", "namespace": stage.home, "selector": {"matchLabels": {"share": stage.mark}}})
    target = config_map("x", {"all": "{{ context.all | map(attribute='data.value') | join(',') }}"})
    parent = every(stage, "follows", group(target, context=context))
    stage.ready(parent)
    uid = stage.read(config_map("x", namespace=namespace))["metadata"]["uid"]

    def follows(value: str) -> None:
        live = stage.becomes(config_map("x", namespace=namespace), lambda live: live["data"] == {"all": value})
        assert live["metadata"]["uid"] == uid

    follows("1")
    stage.api.merge_patch(first, {"data": {"value": "2"}}).expect(200)
    follows("2")
    second = stage.create(config_map("second", {"value": "3"}, stage.home, labels={"share": stage.mark}))
    follows("2,3")
    stage.api.delete(second).expect(200)
    follows("2")


def test_a_copy_follows_its_source(stage: Stage) -> None:
    """Copies are made in every namespace but their own, follow each edit of the source by event, and go with it."""
    one, two = spaces(stage, "one", "two")
    source = stage.create(config_map("x", {"a": "1"}, one, labels={"app": "x"}, annotations={"note": "kept"}))
    stage.manager()
    parent = every(stage, "copies", group(namespacedItems=[CONFIG | {"namespace": one, "name": "x"}]))
    stage.ready(parent)
    copy = stage.read(config_map("x", namespace=two))
    assert copy["data"] == {"a": "1"}
    assert copy["metadata"]["labels"]["app"] == "x"
    assert copy["metadata"]["annotations"]["note"] == "kept"
    assert hold_of(copy, parent) == "created"
    assert list(stage.items(parent)) == [f"ConfigMap {two}/x"]
    stage.api.merge_patch(source, {"data": {"a": "2", "b": "1"}}).expect(200)
    stage.becomes(config_map("x", namespace=two), lambda live: live["data"] == {"a": "2", "b": "1"})
    stage.api.delete(source).expect(200)
    stage.gone(config_map("x", namespace=two))
    stage.ready(parent)
    assert stage.items(parent) == {}
    stage.create(config_map("x", {"a": "3"}, one))
    stage.becomes(config_map("x", namespace=two), lambda live: live["data"] == {"a": "3"})
    stage.read(parent)
    assert hold_of(stage.read(config_map("x", namespace=one)), parent) is None


def test_copies_of_secrets_follow_and_keep_their_type(stage: Stage) -> None:
    """The commonest source: a Secret by selector, with metadata added for each namespace."""
    (namespace,) = spaces(stage, "space")
    secret = ref("v1", "Secret", "pull", stage.home) | {"type": "example.com/token", "data": {"token": "b25l"}}
    secret["metadata"]["labels"] = {"share": stage.mark}
    source = stage.create(secret)
    stage.manager()
    copies = [{"apiVersion": "v1", "kind": "Secret", "namespace": stage.home, "selector": {"matchLabels": {"share": stage.mark}}}]
    extra = {"labels": {"for": "{{ namespace.metadata.name }}"}, "annotations": {"by": "{{ parent.metadata.name }}"}}
    parent = every(stage, "secrets", group(namespacedItems=copies, additionalMetadata=extra))
    stage.ready(parent)
    copy = stage.read(ref("v1", "Secret", "pull", namespace))
    assert (copy["type"], copy["data"]) == ("example.com/token", {"token": "b25l"})
    assert copy["metadata"]["labels"]["for"] == namespace
    assert "share" not in copy["metadata"]["labels"]
    assert copy["metadata"]["annotations"]["by"] == stage.name("secrets")
    stage.api.merge_patch(source, {"data": {"token": "dHdv"}}).expect(200)
    stage.becomes(ref("v1", "Secret", "pull", namespace), lambda live: live["data"] == {"token": "dHdv"})


def test_a_missing_source_that_is_not_optional_blocks_until_it_is_there(stage: Stage) -> None:
    """`optional: false`: the parent says which object is missing, and its creation is enough to go on."""
    (namespace,) = spaces(stage, "space")
    stage.manager()
    copies = [CONFIG | {"namespace": stage.home, "name": "source", "optional": False}]
    parent = every(stage, "needs", group(namespacedItems=copies), group(config_map("beside")))
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert f"spec.resources[0].namespacedItems[0]: ConfigMap {stage.home}/source is not there: create it" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "False"
    stage.there(config_map("beside", namespace=namespace))
    stage.create(config_map("source", {"a": "1"}, stage.home))
    stage.ready(parent)
    assert stage.read(config_map("source", namespace=namespace))["data"] == {"a": "1"}


def test_a_source_that_goes_missing_takes_nothing_along_when_it_is_not_optional(stage: Stage) -> None:
    """`optional: false`: a source that cannot be had is not the same as one that is not wanted: the copy stays."""
    (namespace,) = spaces(stage, "space")
    source = stage.create(config_map("source", {"a": "1"}, stage.home))
    manager = stage.manager()
    copies = [CONFIG | {"namespace": stage.home, "name": "source", "optional": False}]
    parent = every(stage, "needs", group(namespacedItems=copies), group(config_map("beside")))
    stage.ready(parent)
    before = stage.read(config_map("source", namespace=namespace))
    stage.api.delete(source).expect(200)
    stage.ready(parent, "False")
    stage.edit(parent, resources=[group(namespacedItems=copies)])
    eventually(lambda: stage.condition(parent)["status"] == "False")
    manager.idle()
    assert stage.read(config_map("source", namespace=namespace)) == before
    assert stage.read(config_map("beside", namespace=namespace))
    stage.delete(parent)
    for name in ("source", "beside"):
        assert stage.api.get(config_map(name, namespace=namespace)).status == 404


def test_a_missing_optional_source_is_told_and_does_no_harm(stage: Stage) -> None:
    """`optional: true`, the default: nothing is copied, the parent is Ready, and an Event says what was left out."""
    (namespace,) = spaces(stage, "space")
    manager = stage.manager()
    parent = every(stage, "may", group(namespacedItems=[CONFIG | {"namespace": stage.home, "name": "source"}]))
    stage.ready(parent)
    assert stage.items(parent) == {}
    told = [told for told in manager.told if told.reason == "SourceMissing"]
    assert {(told.type, told.note) for told in told} == {
        ("Normal", f"ConfigMap {stage.home}/source is not there and optional: left out")
    }
    stage.create(config_map("source", {"a": "1"}, stage.home))
    stage.there(config_map("source", namespace=namespace))


def test_a_reference_may_follow_tenant_and_namespace(stage: Stage) -> None:
    """10.1.21: name, namespace and selector of a reference are templates over tenant, namespace and parent."""
    one, two = spaces(stage, "one", "two")
    for namespace in (one, two):
        stage.create(config_map(f"for-{namespace}", {"is": namespace}, stage.home))
    stage.manager()
    context = reading({"index": "own", "namespace": stage.home, "name": "for-{{ namespace.metadata.name }}", "optional": False})
    parent = every(stage, "templated", group(config_map("x", {"is": "{{ context.own[0].data.is }}"}), context=context))
    stage.ready(parent)
    for namespace in (one, two):
        assert stage.read(config_map("x", namespace=namespace))["data"] == {"is": namespace}
    stage.api.merge_patch(config_map(f"for-{two}", namespace=stage.home), {"data": {"is": "changed"}}).expect(200)
    stage.becomes(config_map("x", namespace=two), lambda live: live["data"] == {"is": "changed"})
    assert stage.read(config_map("x", namespace=one))["data"] == {"is": one}
