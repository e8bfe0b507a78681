"""What holds a parent: deletion, cordon, an invalid spec, its account, its dependencies, its scope - in this order."""

from policy.account import Accounts
from tests.support.api import Manifest, eventually
from tests.support.marks import hold_of
from tests.support.running import Running
from tests.support.stage import Stage, config_map, group

BROKEN = config_map("x", {"a": "{{ nobody.knows }}"})


def every(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource over the tenant of this test."""
    return stage.global_resource(word, *groups, tenantSelector={"matchLabels": {"of": stage.mark}}, **spec)


def place(stage: Stage) -> str:
    """A namespace of a tenant of this test."""
    return stage.namespace("space", stage.tenant("solar", of=stage.mark))


def becomes_held(stage: Stage, parent: Manifest, reason: str) -> Manifest:
    """Wait until the present generation is held for this reason; answers Ready."""

    def check() -> Manifest:
        ready = dict(stage.condition(parent))
        assert (ready["status"], ready["reason"]) == ("False", reason), ready
        return ready

    return eventually(check)


def test_a_dependency_comes_first(stage: Stage) -> None:
    """dependsOn: a missing and an unready dependency are waited for by name, and their becoming Ready is an event."""
    namespace = place(stage)
    stage.create(config_map("taken", {"a": "theirs"}, namespace))
    stage.manager()
    after = every(stage, "after", group(config_map("x")), dependsOn=[{"name": stage.name("before")}], resyncPeriod="0s")
    ready = becomes_held(stage, after, "DependencyNotReady")
    assert ready["message"] == f"spec.dependsOn: {stage.name('before')} is not there: create it, or take it out"
    assert stage.condition(after, "Stalled")["status"] == "False"
    before = every(stage, "before", group(config_map("taken")))
    stage.ready(before, "False")
    eventually(lambda: stage.condition(after)["message"] == f"spec.dependsOn: {stage.name('before')} is not Ready yet")
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    stage.edit(before, resources=[group(config_map("free"))])
    stage.ready(after)
    stage.there(config_map("x", namespace=namespace))


def test_a_dependency_that_fails_later_stops_further_changes_and_takes_nothing_back(stage: Stage) -> None:
    """dependsOn: while it is not Ready the dependent's objects stay as they are; its deletion waits for nobody."""
    namespace = place(stage)
    stage.create(config_map("taken", {"a": "theirs"}, namespace))
    stage.manager()
    before = every(stage, "before", group(config_map("free")))
    after = every(stage, "after", group(config_map("x", {"a": "1"})), dependsOn=[{"name": stage.name("before")}])
    stage.ready(after)
    stage.edit(before, resources=[group(config_map("taken"))])
    stage.ready(before, "False")
    becomes_held(stage, after, "DependencyNotReady")
    stage.edit(after, resources=[group(config_map("x", {"a": "2"}))])
    becomes_held(stage, after, "DependencyNotReady")
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "1"}
    assert list(stage.items(after)) == [f"ConfigMap {namespace}/x"]
    stage.delete(after)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_dependencies_in_a_circle_are_the_authors_mistake(stage: Stage) -> None:
    """dependsOn: a cycle is Stalled and spelled out, and breaking it is enough."""
    namespace = place(stage)
    stage.manager()
    names = {word: stage.name(word) for word in ("one", "two")}
    one = every(stage, "one", group(config_map("one")), dependsOn=[{"name": names["two"]}])
    two = every(stage, "two", group(config_map("two")), dependsOn=[{"name": names["one"]}])
    for parent, other in ((one, "two"), (two, "one")):
        ready = becomes_held(stage, parent, "DependencyCycle")
        me = parent["metadata"]["name"]
        assert f"{me} -> {names[other]} -> {me}" in ready["message"]
        assert stage.condition(parent, "Stalled")["status"] == "True"
    assert stage.api.get(config_map("one", namespace=namespace)).status == 404
    stage.edit(two, dependsOn=None)
    for parent in (one, two):
        stage.ready(parent)
        assert stage.condition(parent, "Stalled")["status"] == "False"


def test_a_dependency_of_a_tenant_resource_is_looked_for_in_its_own_namespace(stage: Stage) -> None:
    """dependsOn: the same name in another namespace of the tenant is another parent."""
    tenant = stage.tenant("solar")
    own, second = stage.namespace("own", tenant), stage.namespace("second", tenant)
    for namespace in (own, second):
        identity = stage.service_account("default", namespace)
        stage.grant(identity, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    stage.manager()
    stage.ready(stage.tenant_resource("before", second, group(config_map("there"))))
    after = stage.tenant_resource("after", own, group(config_map("x")), dependsOn=[{"name": stage.name("before")}])
    assert "is not there" in becomes_held(stage, after, "DependencyNotReady")["message"]
    stage.tenant_resource("before", own, group(config_map("here")))
    stage.ready(after)


def test_a_cordoned_parent_does_nothing(stage: Stage) -> None:
    """cordoned: neither edits nor new namespaces nor drift are acted on, Ready stays as it was; uncordoning catches up."""
    tenant = stage.tenant("solar", of=stage.mark)
    namespace = stage.namespace("space", tenant)
    manager = stage.manager()
    parent = every(stage, "rests", group(config_map("x", {"a": "1"}), config_map("y"), policy={"protect": False}))
    before = dict(stage.ready(parent))
    stage.edit(parent, cordoned=True, resources=[group(config_map("x", {"a": "2"}), policy={"protect": False})])
    cordoned = eventually(lambda: _is(stage, parent, "Cordoned", "True"))
    assert cordoned["reason"] == "Cordoned"
    ready = stage.condition(parent)
    assert (ready["status"], ready["reason"], ready["message"]) == (before["status"], before["reason"], before["message"])
    assert ready["lastTransitionTime"] == before["lastTransitionTime"]
    manager.idle()
    mark = len(manager.sent)
    later = stage.namespace("later", tenant)
    stage.api.merge_patch(config_map("x", namespace=namespace), {"data": {"a": "drifted"}}).expect(200)
    stage.api.merge_patch(parent, {"metadata": {"annotations": {"look": "again"}}}).expect(200)
    _pass_of_another(stage, manager)
    assert [sent for sent in manager.writes_since(mark) if "/configmaps/" in sent.path and "other" not in sent.path] == []
    assert stage.read(config_map("x", namespace=namespace))["data"] == {"a": "drifted"}
    assert stage.read(config_map("y", namespace=namespace))
    assert stage.api.get(config_map("x", namespace=later)).status == 404
    stage.edit(parent, cordoned=False)
    assert eventually(lambda: _is(stage, parent, "Cordoned", "False"))["reason"] == "Active"
    stage.there(config_map("x", namespace=later))
    stage.gone(config_map("y", namespace=namespace))


def test_a_cordoned_parent_can_be_deleted(stage: Stage) -> None:
    """cordoned: deletion is the one thing that it does not suspend."""
    namespace = place(stage)
    stage.manager()
    parent = every(stage, "rests", group(config_map("x")))
    stage.ready(parent)
    stage.edit(parent, cordoned=True)
    eventually(lambda: _is(stage, parent, "Cordoned", "True"))
    stage.delete(parent)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_a_parent_that_is_born_cordoned_starts_when_it_is_released(stage: Stage) -> None:
    """cordoned: nothing is written to targets before, not even a finalizer."""
    namespace = place(stage)
    stage.manager()
    parent = every(stage, "born", group(config_map("x")), cordoned=True)
    eventually(lambda: _is(stage, parent, "Cordoned", "True"))
    assert "finalizers" not in stage.read(parent)["metadata"]
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404
    stage.edit(parent, cordoned=False)
    stage.ready(parent)
    assert hold_of(stage.read(config_map("x", namespace=namespace)), parent) == "created"


def test_what_holds_a_parent_is_judged_in_order(stage: Stage) -> None:
    """Cordon, then the spec, then the account, then dependencies: with everything wrong at once the first one is said."""
    namespace = place(stage)
    stage.manager(accounts=Accounts())
    parent = every(stage, "all", group(BROKEN), serviceAccount=None, cordoned=True, dependsOn=[{"name": stage.name("absent")}])
    eventually(lambda: _is(stage, parent, "Cordoned", "True"))
    assert stage.condition(parent, "Stalled")["status"] == "False"
    stage.edit(parent, cordoned=False)
    ready = becomes_held(stage, parent, "RenderFailed")
    assert "there is no `nobody`" in ready["message"]
    assert "spec.resources[0].targets[0].data.a" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "True"
    stage.edit(parent, resources=[group(config_map("x"))])
    becomes_held(stage, parent, "AccountMissing")
    assert stage.condition(parent, "Stalled")["status"] == "False"
    stage.edit(parent, serviceAccount={"name": stage.account.name, "namespace": stage.account.namespace})
    becomes_held(stage, parent, "DependencyNotReady")
    stage.edit(parent, dependsOn=None)
    stage.ready(parent)
    stage.there(config_map("x", namespace=namespace))
    stage.edit(parent, cordoned=True, resources=[group(BROKEN)])
    stage.delete(parent)
    assert stage.api.get(config_map("x", namespace=namespace)).status == 404


def test_dependencies_come_before_the_scope(stage: Stage) -> None:
    """A TenantResource in a namespace of no tenant that also lacks a dependency says the latter first."""
    lone = stage.namespace("lone")
    stage.manager()
    parent = stage.tenant_resource("both", lone, group(config_map("x")), dependsOn=[{"name": stage.name("absent")}])
    becomes_held(stage, parent, "DependencyNotReady")
    stage.edit(parent, dependsOn=None)
    becomes_held(stage, parent, "NoTenant")


def _is(stage: Stage, parent: Manifest, type_: str, status: str) -> Manifest:
    condition = dict(stage.condition(parent, type_))
    assert condition["status"] == status, condition
    return condition


def _pass_of_another(stage: Stage, manager: Running) -> None:
    """All events so far have been taken in: one that came after them was acted on."""
    stage.ready(stage.global_resource("other", group(config_map("other", {}, stage.home)), scope="None"))
    manager.idle()
