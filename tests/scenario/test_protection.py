"""Who may write and delete what a parent protects, asked through a parent's whole life (10.3.2, 10; 10.3.7 is for permits).

Which single requests pass is tried row by row in `tests/manager/admission/test_protection.py`; here the manager sets the marks.
"""

import pytest

from apis.intent import Identity
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.marks import hold_of, holders, marks
from tests.support.policies import refused
from tests.support.stage import Stage, config_map, group

PROTECTION = "copyhold-protection"
EDITS: list[Manifest] = [
    {"data": {"a": "hers"}},
    {"data": {"hers": "1"}},
    {"metadata": {"labels": {"hers": "1"}}},
    {"metadata": {"labels": {"copyhold.dev/protected": None}}},
    {"metadata": {"annotations": None}},
]


def once(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource whose groups are rendered once."""
    return stage.global_resource(word, *groups, scope="None", **spec)


def here(stage: Stage, name: str, **data: str) -> Manifest:
    """A ConfigMap in the namespace of the stage."""
    return config_map(name, dict(data), stage.home)


def someone(stage: Stage, word: str = "alice", group: str = "", resource: str = "configmaps") -> Api:
    """A user who may do anything to a kind in the namespace of the stage, as an owner of a tenant may."""
    name = stage.name(word)
    stage.grant_user(name, [{"apiGroups": [group], "resources": [resource], "verbs": ["*"]}], stage.home)
    return stage.api.as_user(name)


def as_account(stage: Stage, account: Identity) -> Api:
    """The server as a ServiceAccount, without the manager's extra."""
    return stage.api.as_user(account.user)


def powerful(stage: Stage, word: str) -> Identity:
    """An account that may do anything to ConfigMaps of the stage."""
    account = stage.service_account(word)
    stage.grant(account, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], stage.home)
    return account


def named(account: Identity) -> Manifest:
    """`spec.serviceAccount`."""
    return {"name": account.name, "namespace": account.namespace}


@pytest.mark.parametrize("origin", ["created", "adopted"])
def test_a_tenant_owner_cannot_change_or_delete_what_is_protected(stage: Stage, origin: str) -> None:
    """10.3.2: updates and deletion of created and adopted targets are refused with holder and remedy; the account passes."""
    alice = someone(stage)
    if origin == "adopted":
        stage.create(here(stage, "x", theirs="1"))
    manager = stage.manager()
    parent = once(stage, "guards", group(here(stage, "x", a="1"), policy={"creation": "Merge"}))
    stage.ready(parent)
    live = stage.read(here(stage, "x"))
    assert hold_of(live, parent) == origin
    for edit in EDITS:
        message = refused(alice.merge_patch(live, edit), PROTECTION)
        assert f"ConfigMap x in namespace {stage.home} is held by globaltenantresource/{parent['metadata']['uid']}" in message
        assert f"copyhold release ConfigMap x --namespace {stage.home}" in message
    refused(alice.delete(live), PROTECTION)
    refused(stage.api.delete(live), PROTECTION)
    assert stage.read(live) == live
    other = powerful(stage, "other")
    refused(as_account(stage, other).merge_patch(live, {"data": {"other": "1"}}), PROTECTION)
    as_account(stage, stage.account).merge_patch(live, {"data": {"runner": "1"}}).expect(200)
    as_account(stage, stage.account).delete(live, dryRun="All").expect(200)
    manager.idle()
    stage.delete(parent)
    if origin == "adopted":
        alice.merge_patch(live, {"data": {"hers": "1"}}).expect(200)
        alice.delete(live).expect(200)


@pytest.mark.parametrize("origin", ["created", "adopted"])
def test_without_protection_a_tenant_owner_may_change_and_delete(stage: Stage, origin: str) -> None:
    """10.3.2: `protect: false` lets updates and deletion through."""
    alice = someone(stage)
    if origin == "adopted":
        stage.create(here(stage, "x", theirs="1"))
    stage.manager()
    parent = once(stage, "opens", group(here(stage, "x", a="1"), policy={"creation": "Merge", "protect": False}))
    stage.ready(parent)
    live = stage.read(here(stage, "x"))
    assert hold_of(live, parent) == origin
    for edit in EDITS:
        alice.merge_patch(live, edit, dryRun="All").expect(200)
    alice.merge_patch(live, {"data": {"hers": "1"}}).expect(200)
    alice.delete(live).expect(200)
    again = stage.becomes(here(stage, "x"), lambda now: now["metadata"]["uid"] != live["metadata"]["uid"])
    assert again["data"] == {"a": "1"}


def test_protection_is_in_force_while_the_manager_is_down(stage: Stage) -> None:
    """10.3.2: the API server itself refuses, from the very write that creates the target, and a restart finds nothing to do."""
    alice = someone(stage)
    manager = stage.manager()
    parent = once(stage, "guards", group(here(stage, "x", a="1")))
    stage.ready(parent)
    manager.idle()
    manager.stop()
    live = stage.read(here(stage, "x"))
    for edit in EDITS:
        refused(alice.merge_patch(live, edit), PROTECTION)
    refused(alice.delete(live), PROTECTION)
    mark = len(manager.sent)
    manager.start()
    stage.nudge(parent)
    manager.idle()
    assert stage.read(live) == live
    assert [sent for sent in manager.writes_since(mark) if "/configmaps/" in sent.path] == []


def test_a_recreated_object_trusts_nobody_who_was_named_before(stage: Stage) -> None:
    """10.3.10: what was deleted and made anew is not ours, and when another account holds it, the former one is refused."""
    alice = someone(stage)
    former, latter = powerful(stage, "former"), powerful(stage, "latter")
    manager = stage.manager()
    first = once(stage, "first", group(here(stage, "x", a="1")), serviceAccount=named(former))
    stage.ready(first)
    live = stage.read(here(stage, "x"))
    manager.stop()
    as_account(stage, former).delete(live).expect(200)
    mine = alice.create(here(stage, "x", hers="1")).expect(201).body
    manager.start()
    stage.ready(first, "False")
    assert stage.items(first)[f"ConfigMap {stage.home}/x"]["status"]["reason"] == "Foreign"
    assert stage.read(mine) == mine
    second = once(stage, "second", group(here(stage, "x", b="2"), policy={"creation": "Merge"}), serviceAccount=named(latter))
    stage.ready(second)
    held = stage.read(mine)
    assert hold_of(held, second) == "adopted"
    assert hold_of(held, first) is None
    refused(as_account(stage, former).merge_patch(held, {"data": {"b": "3"}}), PROTECTION)
    refused(as_account(stage, former).delete(held), PROTECTION)
    as_account(stage, latter).merge_patch(held, {"data": {"c": "3"}}).expect(200)
    stage.delete(first)
    assert stage.read(mine)["metadata"]["uid"] == mine["metadata"]["uid"]


def test_a_new_account_takes_the_place_of_the_former_one(stage: Stage) -> None:
    """10.3.10: when a parent's account changes, the mark names the new one and the former is refused."""
    former, latter = powerful(stage, "former"), powerful(stage, "latter")
    stage.manager()
    parent = once(stage, "moves", group(here(stage, "x", a="1")), serviceAccount=named(former))
    stage.ready(parent)
    before = stage.read(here(stage, "x"))
    as_account(stage, former).merge_patch(before, {"data": {"c": "3"}}).expect(200)
    refused(as_account(stage, latter).merge_patch(before, {"data": {"c": "4"}}), PROTECTION)
    stage.edit(parent, serviceAccount=named(latter))
    stage.ready(parent)
    live = stage.read(here(stage, "x"))
    assert live["metadata"]["uid"] == before["metadata"]["uid"]
    refused(as_account(stage, former).merge_patch(live, {"data": {"c": "4"}}), PROTECTION)
    as_account(stage, latter).merge_patch(live, {"data": {"c": "4"}}).expect(200)


def test_both_accounts_of_two_parents_write_what_they_share(stage: Stage) -> None:
    """10.3.10: parents of different accounts may hold one object; each account is named beside the other."""
    former, latter = powerful(stage, "former"), powerful(stage, "latter")
    stage.manager()
    parents = [
        once(stage, word, group(here(stage, "x", **{word: "1"})), serviceAccount=named(account))
        for word, account in (("one", former), ("two", latter))
    ]
    for parent in parents:
        stage.ready(parent)
    for account in (former, latter):
        as_account(stage, account).merge_patch(here(stage, "x"), {"data": {account.name: "1"}}).expect(200)
    stage.delete(parents[0])
    refused(as_account(stage, former).merge_patch(here(stage, "x"), {"data": {"c": "1"}}), PROTECTION)
    as_account(stage, latter).merge_patch(here(stage, "x"), {"data": {"c": "1"}}).expect(200)


def test_protection_switched_off_and_on_is_followed_by_the_marks(stage: Stage) -> None:
    """10.3.4: no protection outlives the switch, whoever had set it, and content is untouched by switching."""
    alice = someone(stage)
    stage.manager()
    parent = once(stage, "switches", group(here(stage, "x", a="1")))
    stage.ready(parent)
    uid = stage.read(here(stage, "x"))["metadata"]["uid"]
    for protect in (False, True):
        stage.edit(parent, resources=[group(here(stage, "x", a="1"), policy={"protect": protect})])
        stage.ready(parent)
        live = stage.read(here(stage, "x"))
        assert (live["metadata"]["uid"], live["data"]) == (uid, {"a": "1"})
        assert any(mark.startswith("target.copyhold.dev/") for mark in marks(live)) is protect
        assert ("copyhold.dev/protected" in marks(live)) is protect
        alice.merge_patch(live, {"data": {"hers": "1"}}, dryRun="All").expect(403 if protect else 200)


def test_the_endpoint_slices_of_a_protected_service_are_free(stage: Stage) -> None:
    """10.3.10: the endpoint controller copies labels; without a `target` annotation that means the slice they bind nobody."""
    alice = someone(stage, group="discovery.k8s.io", resource="endpointslices")
    manager = stage.manager()
    service = ref("v1", "Service", "web", stage.home)
    service["metadata"]["labels"] = {"app": "web"}
    service["spec"] = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    parent = once(stage, "serves", group(service))
    stage.ready(parent)
    refused(stage.api.delete(service), PROTECTION)

    def slices() -> list[Manifest]:
        found = stage.api.list("discovery.k8s.io/v1", "EndpointSlice", stage.home).expect(200).body["items"]
        kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
        return [kind | item for item in found if item["metadata"]["labels"]["kubernetes.io/service-name"] == "web"]

    copy = eventually(slices)[0]
    assert copy["metadata"]["labels"]["copyhold.dev/protected"] == "true"
    assert not any("copyhold.dev" in key for key in copy["metadata"].get("annotations") or {})
    assert holders(copy) == set()
    manager.idle()
    mark = len(manager.sent)
    alice.merge_patch(copy, {"metadata": {"annotations": {"hers": "1"}}}).expect(200)
    alice.delete(copy).expect(200)
    eventually(slices)
    stage.nudge(parent)
    manager.idle()
    assert [sent for sent in manager.sent[mark:] if "endpointslices" in sent.path] == []
    assert set(stage.items(parent)) == {f"Service {stage.home}/web"}
    stage.delete(parent)
    eventually(lambda: not slices())
