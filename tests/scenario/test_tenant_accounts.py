"""Who acts for a TenantResource, what it lacks, and who else may write what it holds (10.2.14-16)."""

from apis.intent import Identity
from tests.support.api import Manifest, eventually
from tests.support.policies import refused
from tests.support.stage import Stage, config_map, group

APPLY = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}]
READ = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
TAKE_BACK = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}]
ALL = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]


def place(stage: Stage, *words: str) -> list[str]:
    """Namespaces of one tenant."""
    tenant = stage.tenant("solar")
    return [stage.namespace(word, tenant) for word in words]


def account(stage: Stage, word: str, namespace: str, *rules: list[Manifest]) -> Identity:
    """An account in a namespace with these rights in it."""
    identity = stage.service_account(word, namespace)
    for rule in rules:
        stage.grant(identity, rule, namespace)
    return identity


def test_the_default_account_is_that_of_the_namespace(stage: Stage) -> None:
    """10.2.14: without serviceAccount `default` of the namespace acts; an override and its removal show in the status."""
    (home,) = place(stage, "own")
    for word in ("default", "other"):
        account(stage, word, home, ALL)
    stage.manager()
    parent = stage.tenant_resource("acts", home, group(config_map("x")))
    mark = f"service-account.copyhold.dev/{parent['metadata']['uid']}"

    def acts(name: str) -> None:
        stage.ready(parent)
        assert stage.read(parent)["status"]["serviceAccount"] == {"namespace": home, "name": name}
        live = stage.read(config_map("x", namespace=home))
        assert live["metadata"]["annotations"][mark] == f"system:serviceaccount:{home}:{name}"
        assert stage.items(parent)[f"ConfigMap {home}/x"]["status"]["account"] == f"{home}/{name}"

    acts("default")
    stage.edit(parent, serviceAccount={"name": "other"})
    acts("other")
    stage.edit(parent, serviceAccount=None)
    acts("default")


def test_the_account_of_one_namespace_needs_rights_in_the_others(stage: Stage) -> None:
    """10.2.14: the account's rights decide, per namespace: what it may not reach fails, the rest is applied."""
    home, second = place(stage, "own", "second")
    identity = account(stage, "default", home, ALL)
    stage.manager()
    parent = stage.tenant_resource("reach", home, group(config_map("x")))
    stage.ready(parent, "False")
    reasons = {key: item["status"]["reason"] for key, item in stage.items(parent).items()}
    assert reasons == {f"ConfigMap {home}/x": "Succeeded", f"ConfigMap {second}/x": "Forbidden"}
    stage.grant(identity, ALL, second)
    stage.ready(parent)
    stage.there(config_map("x", namespace=second))


def test_without_rights_a_target_fails(stage: Stage) -> None:
    """10.2.15: an account without any right applies nothing, and the item names account and verb."""
    (home,) = place(stage, "own")
    account(stage, "default", home)
    stage.manager()
    parent = stage.tenant_resource("weak", home, group(config_map("x")))
    ready = stage.ready(parent, "False")
    assert (ready["reason"], "applying of 1 resources failed" in ready["message"]) == ("Failed", True)
    assert f'User "system:serviceaccount:{home}:default" cannot patch resource "configmaps"' in ready["message"]
    assert stage.api.get(config_map("x", namespace=home)).status == 404


def test_without_read_the_context_fails(stage: Stage) -> None:
    """10.2.15: an account that may apply and not read renders nothing from context."""
    (home,) = place(stage, "own")
    account(stage, "default", home, APPLY, TAKE_BACK)
    stage.create(config_map("facts", {"a": "1"}, home))
    stage.manager()
    context = {"resources": [{"index": "facts", "apiVersion": "v1", "kind": "ConfigMap", "name": "facts"}]}
    parent = stage.tenant_resource("weak", home, group(config_map("x", {"a": "{{ context.facts | length }}"}), context=context))
    ready = stage.ready(parent, "False")
    assert 'cannot get resource "configmaps"' in ready["message"]
    assert stage.items(parent) == {}
    assert stage.api.get(config_map("x", namespace=home)).status == 404


def test_without_read_the_copies_fail(stage: Stage) -> None:
    """10.2.15: an account that may apply and not read copies nothing."""
    home, second = place(stage, "own", "second")
    identity = account(stage, "default", home, APPLY, TAKE_BACK)
    for rule in (APPLY, TAKE_BACK):
        stage.grant(identity, rule, second)
    stage.create(config_map("source", {"a": "1"}, home))
    stage.manager()
    parent = stage.tenant_resource(
        "weak", home, group(namespacedItems=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "source"}])
    )
    ready = stage.ready(parent, "False")
    assert 'cannot get resource "configmaps"' in ready["message"]
    assert stage.api.get(config_map("source", namespace=second)).status == 404
    stage.grant(identity, READ, home)
    stage.ready(parent)
    assert stage.read(config_map("source", namespace=second))["data"] == {"a": "1"}


def test_without_delete_the_prune_fails(stage: Stage) -> None:
    """10.2.15: what may not be removed stays, with its item and the finalizer, until it may."""
    (home,) = place(stage, "own")
    identity = account(stage, "default", home, APPLY)
    stage.manager()
    parent = stage.tenant_resource("weak", home, group(config_map("x"), config_map("y")))
    stage.ready(parent)
    stage.edit(parent, resources=[group(config_map("x"))])
    ready = stage.ready(parent, "False")
    assert "pruning of 1 resources failed" in ready["message"]
    assert stage.items(parent)[f"ConfigMap {home}/y"]["status"]["reason"] == "Forbidden"
    stage.api.delete(parent).expect(200)
    reasons = ["Forbidden", "Forbidden"]
    eventually(lambda: [item["status"]["reason"] for item in stage.items(parent).values()] == reasons)
    assert stage.read(parent)["metadata"]["finalizers"] == ["copyhold.dev/cleanup"]
    assert stage.read(config_map("y", namespace=home))
    stage.grant(identity, TAKE_BACK, home)
    stage.gone(parent, timeout=40)
    assert stage.api.get(config_map("y", namespace=home)).status == 404


def test_only_the_account_that_acts_may_write_what_was_created(stage: Stage) -> None:
    """10.2.16: the tenant's owner with every right is refused, so is another account; the one that acts passes."""
    (home,) = place(stage, "own")
    acting, other = account(stage, "default", home, ALL), account(stage, "other", home, ALL)
    stage.grant_user("alice", ALL, home)
    stage.manager()
    parent = stage.tenant_resource("held", home, group(config_map("x", {"a": "1"})))
    stage.ready(parent)
    target = config_map("x", namespace=home)
    before = stage.read(target)
    for user in ("alice", other.user):
        for reply in (stage.api.as_user(user).merge_patch(target, {"data": {"b": "2"}}), stage.api.as_user(user).delete(target)):
            text = refused(reply, "copyhold-protection")
            assert f"ConfigMap x in namespace {home} is held by tenantresource/{parent['metadata']['uid']}" in text
    assert stage.read(target) == before
    stage.api.as_user(acting.user).merge_patch(target, {"data": {"b": "2"}}).expect(200)
    assert stage.read(target)["data"] == {"a": "1", "b": "2"}


def test_an_account_that_is_made_later_is_waited_for(stage: Stage) -> None:
    """10.2.15: rights come by binding, before or after the parent: a refusal is tried again without an edit."""
    (home,) = place(stage, "own")
    stage.manager()
    parent = stage.tenant_resource("late", home, group(config_map("x")), serviceAccount={"name": "late"}, resyncPeriod="0s")
    stage.ready(parent, "False")
    account(stage, "late", home, ALL)
    stage.ready(parent)
    stage.there(config_map("x", namespace=home))
