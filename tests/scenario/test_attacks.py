"""What a tenant might try: forged marks, managers and records, borrowed accounts, foreign namespaces, leaked Secrets.

The numbers are those of the failure cases that the project collected from other operators (097, 098, 100, 103, 104).
"""

import base64
import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog

from manager.log import configure
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.marks import GROUP, hold_of, holders, manager_of, owns
from tests.support.policies import refused
from tests.support.running import Running
from tests.support.stage import RBAC, VERSION, Stage, config_map, group

CONFIG_MAPS: list[Manifest] = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
EVERYTHING: list[Manifest] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def once(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource whose groups are rendered once."""
    return stage.global_resource(word, *groups, scope="None", **spec)


def here(stage: Stage, name: str, **data: str) -> Manifest:
    """A ConfigMap in the namespace of the stage."""
    return config_map(name, dict(data), stage.home)


def someone(stage: Stage, rules: list[Manifest], namespace: str = "") -> Api:
    """A user with these rights, in one namespace or everywhere."""
    stage.grant_user(stage.name("alice"), rules, namespace)
    return stage.api.as_user(stage.name("alice"))


def place(stage: Stage, word: str = "solar") -> str:
    """A namespace of a tenant of its own, whose `default` account may do everything everywhere."""
    namespace = stage.namespace(word, stage.tenant(word))
    stage.grant(stage.service_account("default", namespace), EVERYTHING)
    return namespace


def reason(stage: Stage, parent: Manifest, target: str) -> str:
    """The reason of one processed item."""
    found: str = stage.items(parent)[target]["status"]["reason"]
    return found


# Forged marks, field managers and records.


def test_marks_in_a_template_are_dropped(stage: Stage) -> None:
    """A template that renders our marks, managed fields or a uid gets the marks that its own parent gives, and no others."""
    victim = "0b5c9f5e-0000-4000-8000-000000000000"
    stage.manager()
    forged = here(stage, "x", a="1")
    forged["metadata"] |= {
        "labels": {f"{GROUP}/managed": "no", f"parent.{GROUP}/{victim}": "created", "app": "web"},
        "annotations": {
            f"service-account.{GROUP}/{victim}": "system:serviceaccount:kube-system:root",
            f"target.{GROUP}/{victim}": "ConfigMap./x",
            f"active-until.{GROUP}/{victim}": "2099-01-01T00:00:00Z",
            "note": "kept",
        },
        "uid": victim,
        "resourceVersion": "7",
        "managedFields": [{"manager": f"{GROUP}/globaltenantresource/{victim}", "operation": "Apply"}],
    }
    parent = once(stage, "forges", group(forged, policy={"protect": False}))
    stage.ready(parent)
    live = stage.read(forged)
    uid = parent["metadata"]["uid"]
    assert live["metadata"]["labels"] == {f"{GROUP}/managed": "true", f"parent.{GROUP}/{uid}": "created", "app": "web"}
    assert live["metadata"]["annotations"] == {f"service-account.{GROUP}/{uid}": stage.account.user, "note": "kept"}
    assert live["metadata"]["uid"] != victim
    assert holders(live) == {manager_of(parent)}


def test_forged_marks_on_an_object_prove_nothing(stage: Stage) -> None:
    """Labels of a parent on somebody's object, under any name of a field manager, neither make it ours nor get it deleted."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    stage.manager()
    parent = once(stage, "waits", group(here(stage, "other", a="1")))
    stage.ready(parent)
    labels = {f"{GROUP}/managed": "true", f"parent.{GROUP}/{parent['metadata']['uid']}": "created"}
    plain = here(stage, "plain", hers="1")
    dressed = here(stage, "dressed", hers="1")
    for forged, manager in ((plain, "kubectl"), (dressed, manager_of(parent))):
        forged["metadata"]["labels"] = labels
        alice.create(forged, fieldManager=manager).expect(201)
    before = {name: stage.read(here(stage, name)) for name in ("plain", "dressed")}
    stage.edit(parent, resources=[group(here(stage, "plain", a="1"), here(stage, "dressed", a="1"))])
    stage.ready(parent, "False")
    assert stage.api.get(here(stage, "other")).status == 404
    for name, live in before.items():
        assert reason(stage, parent, f"ConfigMap {stage.home}/{name}") == "Foreign"
        assert stage.read(live) == live
    stage.delete(parent)
    for live in before.values():
        assert stage.read(live) == live


def test_an_object_that_claims_to_be_of_a_relative_is_no_kin(stage: Stage) -> None:
    """A joiner does not rely on a forged `created` mark, even with a complete entry: the other parent's record must say so."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    stage.manager()
    first = once(stage, "first", group(here(stage, "other", a="1")))
    stage.ready(first)
    forged = here(stage, "x", hers="1")
    forged["metadata"]["labels"] = {f"{GROUP}/managed": "true", f"parent.{GROUP}/{first['metadata']['uid']}": "created"}
    alice.apply(forged, manager=manager_of(first)).expect(201)
    before = stage.read(forged)
    assert owns(before, manager_of(first), "metadata", "labels", f"parent.{GROUP}/{first['metadata']['uid']}")
    second = once(stage, "second", group(here(stage, "x", a="1")))
    stage.ready(second, "False")
    assert reason(stage, second, f"ConfigMap {stage.home}/x") == "Foreign"
    stage.delete(second)
    assert stage.read(forged) == before
    stage.delete(first)
    assert stage.read(forged) == before


def test_a_forged_hold_of_a_living_parent_makes_the_creator_release(stage: Stage) -> None:
    """Who may patch a target can keep the object alive beyond its parent, empty and free of our hold: a right he had before."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    stage.manager()
    other = once(stage, "other", group(here(stage, "other", a="1")))
    parent = once(stage, "makes", group(here(stage, "x", a="1"), policy={"protect": False}))
    stage.ready(other)
    stage.ready(parent)
    forged = here(stage, "x")
    forged["metadata"]["labels"] = {f"parent.{GROUP}/{other['metadata']['uid']}": "created"}
    alice.apply(forged, manager=manager_of(other)).expect(200)
    stage.delete(parent)
    left = stage.read(here(stage, "x"))
    assert hold_of(left, parent) is None
    assert holders(left) == {manager_of(other)}
    assert not left.get("data")


def test_a_held_object_is_not_forged(stage: Stage) -> None:
    """Nobody but the manager locks an object: the marks that protect are refused to everybody else, on create and on update."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    plain = alice.create(here(stage, "plain", hers="1")).expect(201).body
    locked = {
        "labels": {f"{GROUP}/protected": "true"},
        "annotations": {f"target.{GROUP}/f00d": "ConfigMap./plain", f"service-account.{GROUP}/f00d": "system:serviceaccount:x:y"},
    }
    for user in (alice, stage.api, stage.api.as_user(stage.account.user)):
        refused(user.merge_patch(plain, {"metadata": locked}), "copyhold-protection")
    forged = here(stage, "fresh")
    forged["metadata"] |= {"labels": locked["labels"], "annotations": {f"target.{GROUP}/f00d": "ConfigMap./fresh"}}
    refused(alice.create(forged), "copyhold-protection")


def test_marks_laid_out_for_a_later_adoption_stop_it(stage: Stage) -> None:
    """An object with a `target` mark of nobody's is not adopted: the refusal names the annotation, and without it all is well."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    trap = here(stage, "x", hers="1")
    trap["metadata"]["annotations"] = {
        f"target.{GROUP}/f00d": "ConfigMap./x",
        f"service-account.{GROUP}/f00d": f"system:serviceaccount:{stage.home}:hers",
    }
    before = alice.create(trap).expect(201).body
    stage.manager()
    parent = once(stage, "adopts", group(here(stage, "x", a="1"), policy={"creation": "Merge"}))
    stage.ready(parent, "False")
    item = stage.items(parent)[f"ConfigMap {stage.home}/x"]["status"]
    assert item["reason"] == "Refused"
    assert f"remove the annotation target.{GROUP}/f00d" in item["message"]
    assert stage.read(trap) == before
    alice.merge_patch(trap, {"metadata": {"annotations": None}}).expect(200)
    stage.ready(parent, timeout=40)
    assert hold_of(stage.read(trap), parent) == "adopted"


def test_marks_copied_to_another_object_bind_nobody(stage: Stage) -> None:
    """Labels and annotations of a protected target on another object neither protect it nor make the manager touch it."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    manager = stage.manager()
    parent = once(stage, "makes", group(here(stage, "x", a="1")))
    stage.ready(parent)
    metadata = stage.read(here(stage, "x"))["metadata"]
    copy = here(stage, "copy", hers="1")
    copy["metadata"] |= {"labels": metadata["labels"], "annotations": metadata["annotations"]}
    manager.idle()
    mark = len(manager.sent)
    alice.create(copy).expect(201)
    stage.nudge(parent)
    manager.idle()
    assert [sent for sent in manager.sent[mark:] if "/configmaps/" in sent.path] == []
    alice.merge_patch(copy, {"data": {"hers": "2"}}).expect(200)
    stage.delete(parent)
    assert stage.read(copy)["data"] == {"hers": "2"}
    alice.delete(copy).expect(200)


def test_a_forged_record_is_refused_and_deletes_nothing(stage: Stage) -> None:
    """Who may write the status of a parent by RBAC still may not write its records; nothing but our own memory names victims."""
    resources = ["globaltenantresources", "globaltenantresources/status", "targetrecords", "targetrecords/status"]
    alice = someone(stage, [{"apiGroups": [GROUP], "resources": resources, "verbs": ["*"]}])
    victim = stage.create(here(stage, "victim", hers="1"))
    stage.manager()
    parent = once(stage, "makes", group(here(stage, "x", a="1")))
    stage.ready(parent)
    item = stage.read(parent)["status"]["processedItems"][0]
    forged = item | {"name": "victim", "uid": victim["metadata"]["uid"]}
    for status in ({"processedItems": [item, forged], "size": 2}, {"processedItems": [], "size": 0}):
        refused(alice.merge_patch(parent, {"status": status}, subresource="status"), "copyhold-records")
    record = ref(VERSION, "TargetRecord", stage.name("forged")) | {
        "parent": {"kind": "GlobalTenantResource", "name": parent["metadata"]["name"], "uid": parent["metadata"]["uid"]},
        "shard": 0,
        "count": 1,
        "digest": "0",
        "data": "0",
    }
    refused(alice.create(record), "copyhold-records")
    alice.merge_patch(parent, {"status": {"processedItems": []}}).expect(200)
    assert stage.read(parent)["status"]["processedItems"] == [item]
    stage.delete(parent)
    assert stage.read(victim) == victim


def test_an_object_that_somebody_locks_by_a_finalizer_keeps_its_parent_waiting(stage: Stage) -> None:
    """A target that cannot go yet stays recorded, its parent stays and says why, and both go when the lock is taken off."""
    alice = someone(stage, CONFIG_MAPS, stage.home)
    stage.manager()
    parent = once(stage, "waits", group(here(stage, "x", a="1"), here(stage, "y", a="1")))
    stage.ready(parent)
    alice.merge_patch(here(stage, "x"), {"metadata": {"finalizers": ["example.com/lock"]}}).expect(200)
    stage.api.delete(parent).expect(200)
    stage.gone(here(stage, "y"))
    live = stage.becomes(here(stage, "x"), lambda live: "deletionTimestamp" in live["metadata"])
    eventually(lambda: reason(stage, parent, f"ConfigMap {stage.home}/x") == "Terminating")
    assert set(stage.items(parent)) == {f"ConfigMap {stage.home}/x"}
    assert stage.read(parent)["metadata"]["finalizers"] == ["copyhold.dev/cleanup"]
    alice.merge_patch(live, {"metadata": {"finalizers": None}}).expect(200)
    stage.gone(parent)
    assert stage.api.get(here(stage, "x")).status == 404


# Accounts and tenants.


def test_an_account_is_named_only_by_who_may_impersonate_it(stage: Stage) -> None:
    """Writing a parent does not lend its account: naming one, or editing what acts as one, needs `impersonate` on it."""
    parents: list[Manifest] = [{"apiGroups": [GROUP], "resources": ["tenantresources", "globaltenantresources"], "verbs": ["*"]}]
    alice = someone(stage, parents)
    namespace = place(stage)
    root = stage.service_account("root", namespace)
    local = ref(VERSION, "TenantResource", stage.name("borrows"), namespace)
    local["spec"] = {"serviceAccount": {"name": "root"}, "resources": [group(config_map("x", {"a": "1"}))]}
    everywhere = ref(VERSION, "GlobalTenantResource", stage.name("borrows"))
    everywhere["spec"] = local["spec"] | {"serviceAccount": {"name": "root", "namespace": namespace}, "scope": "None"}
    for parent in (local, everywhere):
        assert f"ServiceAccount {namespace}/root" in refused(alice.create(parent), "copyhold-accounts")
    theirs = stage.tenant_resource("theirs", namespace, group(config_map("x", {"a": "1"})), serviceAccount={"name": "root"})
    edit = {"spec": {"resources": [group(config_map("y", {"a": "1"}))]}}
    refused(alice.merge_patch(theirs, edit), "copyhold-accounts")
    impersonate = {"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [root.name], "verbs": ["impersonate"]}
    stage.grant_user(stage.name("alice"), [impersonate], namespace)
    alice.create(local, dryRun="All").expect(201)
    alice.create(everywhere, dryRun="All").expect(201)
    alice.merge_patch(theirs, edit, dryRun="All").expect(200)


def test_a_namespace_does_not_join_a_tenant_by_itself(stage: Stage) -> None:
    """Labels that put a namespace into a tenant need `assign` on it; a refused namespace gets nothing of the tenant's."""
    rules: list[Manifest] = [{"apiGroups": [""], "resources": ["namespaces", "namespaces/status"], "verbs": ["*"]}]
    alice = someone(stage, rules)
    tenant = stage.tenant("solar", of=stage.mark)
    member, outsider = stage.namespace("member", tenant), stage.namespace("outsider")
    stage.manager()
    parent = stage.global_resource(
        "secret", group(config_map("x", {"a": "1"})), tenantSelector={"matchLabels": {"of": stage.mark}}
    )
    stage.ready(parent)
    label = {"metadata": {"labels": {f"{GROUP}/tenant": tenant}}}
    for subresource in (None, "status"):
        answer = alice.merge_patch(ref("v1", "Namespace", outsider), label, subresource=subresource)
        refused(answer, "copyhold-tenants", "copyhold-tenant-label")
    made = ref("v1", "Namespace", stage.name("made")) | label
    made["metadata"] = {**label["metadata"], "name": stage.name("made")}
    refused(alice.create(made), "copyhold-tenants", "copyhold-tenant-label")
    stage.nudge(parent)
    assert set(stage.items(parent)) == {f"ConfigMap {member}/x"}
    assert stage.api.get(config_map("x", namespace=outsider)).status == 404


def test_accounts_of_one_name_in_two_namespaces_are_two(stage: Stage) -> None:
    """Case 100: an account is its namespace and its name; the rights of its namesake elsewhere are never used."""
    strong, weak = place(stage, "strong"), place(stage, "weak")
    mighty = stage.service_account("runner", strong)
    feeble = stage.service_account("runner", weak)
    stage.grant(mighty, CONFIG_MAPS)
    stage.manager()
    local = stage.tenant_resource("local", weak, group(config_map("x", {"a": "1"})), serviceAccount={"name": "runner"})
    account = {"name": feeble.name, "namespace": feeble.namespace}
    everywhere = once(stage, "everywhere", group(config_map("y", {"a": "1"}, weak)), serviceAccount=account)
    for parent, name in ((local, "x"), (everywhere, "y")):
        ready = stage.ready(parent, "False")
        assert f'User "{feeble.user}" cannot' in ready["message"]
        assert mighty.user not in ready["message"]
        assert stage.read(parent)["status"]["serviceAccount"] == account
        assert stage.api.get(config_map(name, namespace=weak)).status == 404
    stage.edit(everywhere, serviceAccount={"name": mighty.name, "namespace": mighty.namespace})
    stage.ready(everywhere)
    live = stage.read(config_map("y", namespace=weak))
    uid = everywhere["metadata"]["uid"]
    assert live["metadata"]["annotations"][f"service-account.{GROUP}/{uid}"] == mighty.user
    stage.ready(local, "False")
    stage.grant(feeble, CONFIG_MAPS, weak)
    refused(stage.api.as_user(feeble.user).merge_patch(live, {"data": {"b": "1"}}), "copyhold-protection")
    stage.ready(local, timeout=40)


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_parent_gives_no_rights_that_its_account_lacks(stage: Stage, kind: str) -> None:
    """Case 104: the API server refuses the escalation, the message says which right is missing, and holding it is enough."""
    account = stage.service_account("minimal")
    verbs = ["create", "patch", "get", "delete"]
    stage.grant(account, [{"apiGroups": [RBAC], "resources": ["roles", "clusterroles"], "verbs": verbs}])
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    role = ref(f"{RBAC}/v1", kind, stage.name("gives"), stage.home if kind == "Role" else None) | {"rules": [rule]}
    stage.manager()
    parent = once(stage, "gives", group(role), serviceAccount={"name": account.name, "namespace": account.namespace})
    ready = stage.ready(parent, "False")
    item = stage.items(parent)[f"{kind} {stage.home if kind == 'Role' else ''}/{role['metadata']['name']}"]["status"]
    assert item["reason"] == "Forbidden"
    assert "attempting to grant RBAC permissions not currently held" in item["message"]
    assert account.user in item["message"]
    assert "secrets" in item["message"]
    assert "not currently held" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "False"
    assert stage.api.get(role).status == 404
    stage.grant(account, [rule], stage.home if kind == "Role" else "")
    stage.ready(parent, timeout=40)
    assert stage.read(role)["rules"] == [rule]


# What a TenantResource must not reach.


def cluster_kinds(stage: Stage) -> list[Manifest]:
    """One manifest of each cluster-scoped kind that the server lets be managed."""
    found = []
    groups = stage.api.request("GET", "/apis").expect(200).body["groups"]
    versions = [("/api/v1", "v1")]
    versions += [(f"/apis/{one['preferredVersion']['groupVersion']}", one["preferredVersion"]["groupVersion"]) for one in groups]
    for path, version in versions:
        for resource in stage.api.request("GET", path).expect(200).body["resources"]:
            managed = {"get", "patch", "delete"} <= set(resource["verbs"])
            if managed and not resource["namespaced"] and "/" not in resource["name"]:
                found.append(ref(version, resource["kind"], stage.name("seized")))
    return found


def as_text(manifest: Manifest) -> str:
    """A document of a text template; JSON is YAML."""
    return f"{json.dumps(manifest)}\n---\n"


def as_output(manifest: Manifest) -> str:
    """The same, where kind and version only come out of expressions."""
    kind, version = list(manifest["kind"]), list(manifest["apiVersion"])
    metadata = json.dumps(manifest["metadata"])
    return f"apiVersion: {{{{ {version} | join }}}}\nkind: {{{{ {kind} | join }}}}\nmetadata: {metadata}\n---\n"


FORMS: dict[str, Callable[[list[Manifest]], Manifest]] = {
    "targets": lambda kinds: group(*kinds),
    "targets with a namespace": lambda kinds: group(
        *({**one, "metadata": {**one["metadata"], "namespace": "{{ namespace.metadata.name }}"}} for one in kinds)
    ),
    "a template": lambda kinds: group(template="".join(map(as_text, kinds))),
    "the output of a template": lambda kinds: group(template="".join(map(as_output, kinds))),
    "a List": lambda kinds: group(template=as_text({"apiVersion": "v1", "kind": "List", "items": kinds})),
    "a List in a List": lambda kinds: group(
        template=as_text({"kind": "List", "apiVersion": "v1", "items": [{"kind": "List", "apiVersion": "v1", "items": kinds}]})
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_cluster_scoped_kind_comes_out_of_a_tenant_resource(stage: Stage, form: str) -> None:
    """Case 097: every cluster-scoped kind is refused in every form, whatever the account may do; what is beside it is applied."""
    namespace = place(stage)
    manager = stage.manager()
    kinds = cluster_kinds(stage)
    assert {"Namespace", "ClusterRole", "CustomResourceDefinition", "GlobalTenantResource", "Node"} <= {
        one["kind"] for one in kinds
    }
    beside = group(config_map("beside", {"a": "1"}))
    parent = stage.tenant_resource("seizes", namespace, FORMS[form](kinds), beside)
    ready = stage.ready(parent, "False")
    assert "is not allowed in a TenantResource: ask for it in a GlobalTenantResource" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "True"
    reasons = {item["kind"]: item["status"]["reason"] for item in stage.items(parent).values()}
    assert reasons == {one["kind"]: "ClusterScopedKind" for one in kinds} | {"ConfigMap": "Succeeded"}
    for one in kinds:
        assert stage.api.get(one).status == 404, one
    wrote = {sent.path for sent in manager.writes_since(0) if f"/namespaces/{namespace}/" not in sent.path}
    assert all("/tenants/" in path for path in wrote)


def test_a_generated_name_is_refused(stage: Stage) -> None:
    """Case 097: `generateName` is no way to an object that nobody can find again, whatever the kind and its scope."""
    namespace = place(stage)
    manager = stage.manager()
    documents: list[Manifest] = [
        {"apiVersion": version, "kind": kind, "metadata": {"generateName": "seized-"}}
        for version, kind in (("v1", "Namespace"), (f"{RBAC}/v1", "ClusterRole"), ("v1", "ConfigMap"))
    ]
    for document in documents:
        parent = stage.tenant_resource(f"makes-{document['kind'].lower()}", namespace, group(template=as_text(document)))
        ready = stage.ready(parent, "False")
        assert "metadata.generateName cannot be applied: give metadata.name" in ready["message"]
        assert stage.condition(parent, "Stalled")["reason"] == "Invalid"
    body = ref(VERSION, "TenantResource", stage.name("schema"), namespace) | {"spec": {"resources": [group(documents[2])]}}
    stage.api.create(body).expect(422)
    assert not [sent for sent in manager.writes_since(0) if "seized" in sent.path or sent.method == "POST"]


SECRET = {"apiVersion": "v1", "kind": "Secret"}
REFERENCES: dict[str, Callable[[str], Manifest]] = {
    "context by name": lambda space: {"context": [SECRET | {"index": "s", "namespace": space, "name": "key"}]},
    "context by selector": lambda space: {
        "context": [SECRET | {"index": "s", "namespace": space, "selector": {"matchLabels": {"a": "b"}}}]
    },
    "context of all": lambda space: {"context": [SECRET | {"index": "s", "namespace": space}]},
    "copy by name": lambda space: {"copies": [SECRET | {"namespace": space, "name": "key"}]},
    "copy by selector": lambda space: {"copies": [SECRET | {"namespace": space, "selector": {"matchLabels": {"a": "b"}}}]},
    "a target": lambda space: {"target": SECRET | {"metadata": {"name": "key", "namespace": space}}},
    "a template": lambda space: {"template": as_text(SECRET | {"metadata": {"name": "key", "namespace": space}})},
}


def referring(word: str, space: str) -> Manifest:
    """A group in which one field names a namespace."""
    parts: Manifest = REFERENCES[word](space)
    if "context" in parts:
        copied = config_map("leak", {"all": "{{ context.s | tojson }}"})
        return group(copied, context={"resources": parts["context"]})
    if "copies" in parts:
        return group(namespacedItems=parts["copies"])
    return group(parts["target"]) if "target" in parts else group(template=parts["template"])


@pytest.mark.parametrize("spelled", [pytest.param(False, id="as it is"), pytest.param(True, id="by an expression")])
@pytest.mark.parametrize("word", REFERENCES)
def test_no_reference_of_a_tenant_resource_leaves_its_tenant(stage: Stage, word: str, spelled: bool) -> None:
    """Case 098: a foreign namespace in any field is the author's mistake, though the account could read it; nothing is read."""
    namespace, foreign = place(stage, "solar"), stage.namespace("wind", stage.tenant("wind"))
    stage.create({**ref("v1", "Secret", "key", foreign), "data": {"key": "czNjcjN0"}})
    manager = stage.manager()
    said = f"{{{{ '{foreign[:4]}' ~ '{foreign[4:]}' }}}}" if spelled else foreign
    parent = stage.tenant_resource("reaches", namespace, referring(word, said))
    ready = stage.ready(parent, "False")
    assert foreign in ready["message"]
    assert namespace in ready["message"]
    assert stage.condition(parent, "Stalled")["reason"] == "ForeignNamespace"
    manager.idle()
    assert [sent for sent in manager.sent if f"/namespaces/{foreign}/" in sent.path] == []
    for target in (ref("v1", "Secret", "key", namespace), config_map("leak", namespace=namespace)):
        assert stage.api.get(target).status == 404


# Secrets.


CANARY = "hunter2-c4n4ry"
ENCODED = base64.b64encode(CANARY.encode()).decode()
HEX = CANARY.encode().hex()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the manager logs, from debug upwards."""
    root = logging.getLogger()
    handlers, level, stream = root.handlers[:], root.level, io.StringIO()
    configure("debug", json=True, stream=stream)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def secret(stage: Stage, name: str, **fields: object) -> Manifest:
    """A Secret in the namespace of the stage."""
    return {**ref("v1", "Secret", name, stage.home), **fields}


def source(stage: Stage) -> Manifest:
    """Context: the Secret `source` of the stage, which holds the canary."""
    stage.create(secret(stage, "source", data={"key": ENCODED}))
    one = {"index": "s", "apiVersion": "v1", "kind": "Secret", "namespace": stage.home, "name": "source"}
    return {"resources": [one]}


def an_invalid_type(stage: Stage) -> Manifest:
    """The server says what it does not like about the content."""
    return group(secret(stage, "x", type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": CANARY}))


def an_invalid_value(stage: Stage) -> Manifest:
    """What is not Base64 is quoted by decoders."""
    return group(secret(stage, "x", data={"key": f"{CANARY}!"}))


def an_invalid_shape(stage: Stage) -> Manifest:
    """A map where a string has to be."""
    return group(secret(stage, "x", data={"key": {"deep": CANARY}}))


def an_invalid_key(stage: Stage) -> Manifest:
    """The value stands beside a key that the server refuses."""
    return group(secret(stage, "x", stringData={"not a key": CANARY}))


def an_immutable_secret(stage: Stage) -> Manifest:
    """An update that the server refuses, of a Secret that holds another value."""
    stage.create(secret(stage, "x", immutable=True, data={"key": "YQ=="}))
    return group(secret(stage, "x", stringData={"key": CANARY}), policy={"creation": "Merge", "force": True})


def a_conflicting_field(stage: Stage) -> Manifest:
    """Another manager holds the key with another value."""
    stage.create(secret(stage, "x", data={"key": ENCODED}))
    return group(secret(stage, "x", stringData={"key": f"{CANARY}-ours"}), policy={"creation": "Merge"})


def a_failing_condition(stage: Stage) -> Manifest:
    """An evaluation that fails on the content."""
    stage.create(secret(stage, "x", data={"key": ENCODED}))
    condition = "int(string(object.data.key)) > 3 || object.data[object.data.key] == 'x'"
    return group(secret(stage, "x", stringData={"key": "a"}), policy={"creation": "Merge", "condition": condition})


def a_failing_template(stage: Stage) -> Manifest:
    """A filter that cannot read the content."""
    target = secret(stage, "x", stringData={"key": "{{ context.s[0].data.key | b64decode | fromjson }}"})
    return group(target, context=source(stage))


def a_wrong_key_of_a_template(stage: Stage) -> Manifest:
    """The content as the name of something that is not there."""
    target = secret(stage, "x", stringData={"key": "{{ context.s[0].data[context.s[0].data.key] }}"})
    return group(target, context=source(stage))


def an_unsafe_text(stage: Stage) -> Manifest:
    """Content that must not be spliced into YAML."""
    context = source(stage)
    stage.api.merge_patch(secret(stage, "source"), {"stringData": {"raw": f"{CANARY}: {{"}}).expect(200)
    document = as_text(secret(stage, "x")).replace(
        "}\n---", ', "stringData": {"key": {{ context.s[0].data.raw | b64decode }}}}\n---'
    )
    return group(template=document, context=context)


def a_broken_document(stage: Stage) -> Manifest:
    """Rendered YAML that does not parse around the content."""
    document = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x, namespace: {stage.home}}}\nstringData: {{key: {CANARY}]"
    return group(template=document)


def two_that_disagree(stage: Stage) -> Manifest:
    """Two renderings of one Secret with two values."""
    return group(secret(stage, "x", stringData={"key": CANARY}), secret(stage, "x", stringData={"key": f"{CANARY}-2"}))


LEAKS = (
    an_invalid_type,
    an_invalid_value,
    an_invalid_shape,
    an_invalid_key,
    an_immutable_secret,
    a_conflicting_field,
    a_failing_condition,
    a_failing_template,
    a_wrong_key_of_a_template,
    an_unsafe_text,
    a_broken_document,
    two_that_disagree,
)


def spoken(stage: Stage, manager: Running, parent: Manifest, logged: io.StringIO) -> str:
    """All that anybody can read about a parent: status, Events, log, and a defect's traceback."""
    told = [notice.note for notice in manager.told]
    return json.dumps([stage.read(parent).get("status"), told, logged.getvalue()])


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_no_content_of_a_secret_is_spoken(stage: Stage, logged: io.StringIO, leak: Callable[[Stage], Manifest]) -> None:
    """Case 103: whatever is wrong with a Secret, its content is in no status, no Event and no line of the log."""
    given = leak(stage)
    manager = stage.manager()
    parent = once(stage, "speaks", given)
    ready = stage.ready(parent, "False")
    assert ready["message"]
    eventually(lambda: manager.told)
    stage.nudge(parent)
    manager.restart()
    stage.ready(parent, "False")
    said = spoken(stage, manager, parent, logged)
    assert "defect" not in said
    for form in (CANARY, ENCODED, ENCODED.rstrip("="), HEX, base64.b64encode(f"{CANARY}-ours".encode()).decode()):
        assert form not in said


def test_a_secret_that_is_applied_and_taken_back_is_not_spoken(stage: Stage, logged: io.StringIO) -> None:
    """Case 103: the same for the ordinary life of a Secret: made, changed, drifted, taken back, and its record."""
    manager = stage.manager()
    target = secret(stage, "x", stringData={"key": CANARY})
    parent = once(stage, "keeps", group(target, policy={"protect": False}))
    stage.ready(parent)
    assert stage.read(target)["data"] == {"key": ENCODED}
    before = spoken(stage, manager, parent, logged)
    stage.api.merge_patch(target, {"data": {"key": "YQ=="}}).expect(200)
    stage.ready(parent, "False")
    assert reason(stage, parent, f"Secret {stage.home}/x") == "FieldTaken"
    said = before + spoken(stage, manager, parent, logged)
    stage.delete(parent)
    said += logged.getvalue()
    for form in (CANARY, ENCODED, HEX):
        assert form not in said
