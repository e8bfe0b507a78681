"""Everything is done as the parent's account: which one that is, and what happens when it lacks a right (10.1.3, 5, 9-11, 15)."""

from collections.abc import Sequence

from apis.intent import Identity
from policy.account import Accounts
from tests.support.api import Manifest, eventually
from tests.support.marks import hold_of
from tests.support.stage import Stage, config_map, group


def rights(*verbs: str, resource: str = "configmaps") -> list[Manifest]:
    """Rules over one resource of the core group."""
    return [{"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}]


APPLY = rights("create", "patch")
TAKE_BACK = rights("delete")


def place(stage: Stage) -> tuple[str, Manifest]:
    """A namespace of a tenant, and the fields of a GlobalTenantResource that select the tenant."""
    tenant = stage.tenant("solar", of=stage.mark)
    return stage.namespace("space", tenant), {"tenantSelector": {"matchLabels": {"of": stage.mark}}}


def account(stage: Stage, word: str, *rules: Sequence[Manifest]) -> Identity:
    """An account of this test with these rights everywhere."""
    identity = stage.service_account(word)
    for rule in rules:
        stage.grant(identity, list(rule))
    return identity


def named(identity: Identity) -> Manifest:
    """`spec.serviceAccount`."""
    return {"name": identity.name, "namespace": identity.namespace}


def test_the_status_shows_the_account_that_acts(stage: Stage) -> None:
    """10.1.15: status.serviceAccount is the account of the spec, or the configured default without one."""
    namespace, selected = place(stage)
    other = account(stage, "other", APPLY, TAKE_BACK)
    stage.manager()
    parent = stage.global_resource("acts", group(config_map("x")), serviceAccount=None, **selected)
    stage.ready(parent)
    assert stage.read(parent)["status"]["serviceAccount"] == named(stage.account)
    stage.edit(parent, serviceAccount=named(other))
    stage.ready(parent)
    assert stage.read(parent)["status"]["serviceAccount"] == named(other)
    mark = f"service-account.copyhold.dev/{parent['metadata']['uid']}"
    live = stage.becomes(config_map("x", namespace=namespace), lambda live: live["metadata"]["annotations"][mark] == other.user)
    assert hold_of(live, parent) == "created"
    assert stage.items(parent)[f"ConfigMap {namespace}/x"]["status"]["account"] == f"{other.namespace}/{other.name}"


def test_without_any_account_the_parent_is_blocked_and_says_how_to_go_on(stage: Stage) -> None:
    """10.1.15: no account in the spec and none configured is AccountMissing with the remedy; our own rights are never lent."""
    namespace, selected = place(stage)
    stage.manager(accounts=Accounts())
    parent = stage.global_resource("none", group(config_map("x")), serviceAccount=None, **selected)
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "AccountMissing"
    assert "set spec.serviceAccount" in ready["message"]
    assert "--default-service-account" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "False"
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    assert "finalizers" not in stage.read(parent)["metadata"]
    stage.edit(parent, serviceAccount=named(stage.account))
    stage.ready(parent)


def test_an_account_that_may_not_read_the_sources_fails_until_it_may(stage: Stage) -> None:
    """10.1.5: copies with an explicit account without read on the sources fail, and go on by themselves when it has it."""
    namespace, selected = place(stage)
    weak = account(stage, "weak", APPLY, TAKE_BACK)
    stage.create(config_map("source", {"a": "1"}, stage.home))
    stage.manager()
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "source"}]
    parent = stage.global_resource("copies", group(namespacedItems=copies), serviceAccount=named(weak), **selected)
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert f'User "{weak.user}" cannot get resource "configmaps"' in ready["message"]
    assert stage.api.get(config_map("source", namespace=namespace)).status == 404
    assert stage.condition(parent, "Stalled")["status"] == "False"
    stage.grant(weak, rights("get"), stage.home)
    stage.ready(parent)
    assert stage.read(config_map("source", namespace=namespace))["data"] == {"a": "1"}


def test_a_default_account_that_may_not_read_the_sources_fails(stage: Stage) -> None:
    """10.1.5: the same for the configured default, here with a selector: the right to list is missing."""
    namespace, selected = place(stage)
    weak = account(stage, "weak", APPLY, TAKE_BACK)
    stage.create(config_map("source", {"a": "1"}, stage.home, labels={"share": "yes"}))
    stage.manager(accounts=Accounts(default=weak))
    copies = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "selector": {"matchLabels": {"share": "yes"}}}]
    parent = stage.global_resource("copies", group(namespacedItems=copies), serviceAccount=None, **selected)
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert f'User "{weak.user}" cannot list resource "configmaps"' in ready["message"]
    assert stage.read(parent)["status"]["serviceAccount"] == named(weak)
    assert stage.api.get(config_map("source", namespace=namespace)).status == 404


def test_an_account_that_may_not_create_fails_until_it_may(stage: Stage) -> None:
    """10.1.9: without create on the targets the parent is Failed, the item says Forbidden, and a grant is enough to go on."""
    namespace, selected = place(stage)
    weak = account(stage, "weak", rights("patch"), TAKE_BACK)
    stage.manager()
    parent = stage.global_resource("creates", group(config_map("x")), serviceAccount=named(weak), **selected)
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert "applying of 1 resources failed" in ready["message"]
    item = stage.items(parent)[f"ConfigMap {namespace}/x"]
    assert (item["status"]["status"], item["status"]["reason"]) == ("False", "Forbidden")
    assert weak.user in item["status"]["message"]
    assert "lastApply" not in item["status"]
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    stage.grant(weak, rights("create"), namespace)
    stage.ready(parent)
    assert hold_of(stage.read(config_map("x", namespace=namespace)), parent) == "created"


def test_an_account_that_may_not_read_the_context_applies_nothing_of_it(stage: Stage) -> None:
    """10.1.10: the group whose context cannot be read is not applied at all; unlike the model, which aborts the round, what
    needs no context is applied (design 2: what could be rendered is applied, and nothing is removed).
    """
    namespace, selected = place(stage)
    weak = account(stage, "weak", APPLY, TAKE_BACK)
    stage.create(config_map("facts", {"a": "1"}, stage.home))
    stage.manager()
    facts = {"index": "facts", "apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "facts"}
    needing = config_map("needs", {"a": "{{ context.facts[0].data.a }}"})
    parent = stage.global_resource(
        "context",
        group(needing, config_map("beside"), context={"resources": [facts]}),
        group(config_map("independent")),
        serviceAccount=named(weak),
        **selected,
    )
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert f'User "{weak.user}" cannot get resource "configmaps"' in ready["message"]
    assert list(stage.items(parent)) == [f"ConfigMap {namespace}/independent"]
    for name in ("needs", "beside"):
        assert stage.api.get(config_map(name, namespace=namespace)).status == 404
    stage.grant(weak, rights("get"), stage.home)
    stage.ready(parent)
    assert stage.read(config_map("needs", namespace=namespace))["data"] == {"a": "1"}


def test_an_account_that_may_not_delete_keeps_item_and_finalizer(stage: Stage) -> None:
    """10.1.11: a prune that is refused leaves object, item and finalizer; a grant lets the parent go."""
    namespace, selected = place(stage)
    weak = account(stage, "weak", APPLY)
    stage.manager()
    parent = stage.global_resource("keeps", group(config_map("x"), config_map("y")), serviceAccount=named(weak), **selected)
    stage.ready(parent)
    stage.edit(parent, resources=[group(config_map("x", {"a": "1"}))])
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Failed"
    assert "pruning of 1 resources failed" in ready["message"]
    item = stage.items(parent)[f"ConfigMap {namespace}/y"]
    assert (item["status"]["status"], item["status"]["reason"]) == ("False", "Forbidden")
    # A failed prune holds up nothing else (design 7).
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "1"}
    stage.api.delete(parent).expect(200)

    def both_failed() -> bool:
        items = stage.items(parent).values()
        return [item["status"]["reason"] for item in items] == ["Forbidden", "Forbidden"]

    eventually(both_failed)
    live = stage.read(parent)
    assert live["metadata"]["finalizers"] == ["copyhold.dev/cleanup"]
    assert all(stage.read(config_map(name, namespace=namespace)) for name in ("x", "y"))
    stage.grant(weak, TAKE_BACK, namespace)
    stage.gone(parent, timeout=40)
    assert all(stage.api.get(config_map(name, namespace=namespace)).status == 404 for name in ("x", "y"))


def test_a_changed_account_writes_its_name_on_the_targets_although_nothing_else_changed(stage: Stage) -> None:
    """10.1.3: who may write a held object follows the spec: the former account is refused, the new one passes."""
    namespace, selected = place(stage)
    old, new = (account(stage, word, rights("create", "patch", "delete", "get")) for word in ("old", "new"))
    stage.manager()
    parent = stage.global_resource("turns", group(config_map("x")), serviceAccount=named(old), **selected)
    stage.ready(parent)
    target = config_map("x", namespace=namespace)
    stage.api.as_user(old.user).merge_patch(target, {"data": {"a": "1"}}).expect(200)
    stage.edit(parent, serviceAccount=named(new))
    stage.ready(parent)
    reply = stage.api.as_user(old.user).merge_patch(target, {"data": {"a": "2"}}).expect(403)
    assert "is held by" in reply.message
    stage.api.as_user(new.user).merge_patch(target, {"data": {"a": "3"}}).expect(200)
