"""Our webhooks as a server holds them, keeps them and asks by them, and what it does while nobody answers."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apis.kind import Kind
from apis.meta import GROUP, PARENT_EXTRA
from manager.admission.policies import MUTATING, VALIDATING
from manager.admission.register import PERMITS, TEMPLATES, Reach, Service, Url, manifests
from tests.support.admission import Outside, allowed, asked, ours, outside
from tests.support.api import Api, Manifest, Reply, eventually, ref

OURS = f"{GROUP}/v1alpha1"
MASTERS = ["system:masters"]
SPEC: Manifest = {"template": {"kind": "ResourcePermitTemplate", "name": "reader"}}
TEMPLATE: Manifest = {"resources": [{"template": "x"}]}


# Text


def test_nothing_of_others_and_no_deletion_is_asked_about() -> None:
    """So that a dead manager keeps nobody from anything but permits."""
    rules = [rule for made in manifests(Url("h", 1), "") for webhook in made["webhooks"] for rule in webhook["rules"]]
    assert all(rule["apiGroups"] == [GROUP] for rule in rules)
    assert {operation for rule in rules for operation in rule["operations"]} == {"CREATE", "UPDATE"}
    assert {resource for rule in rules for resource in rule["resources"]} == {
        "resourcepermits",
        "resourcepermits/status",
        "resourcepermittemplates",
        "globalresourcepermittemplates",
    }


def test_permits_are_refused_and_templates_pass_when_nobody_answers() -> None:
    """The controller judges templates again; nobody else could decide about a permit."""
    mutating, validating = manifests(Url("h", 1), "")
    assert (mutating["kind"], validating["kind"]) == (MUTATING, VALIDATING)
    assert [(each["failurePolicy"], each["timeoutSeconds"]) for each in mutating["webhooks"]] == [("Fail", 10)]
    assert [(each["failurePolicy"], each["timeoutSeconds"]) for each in validating["webhooks"]] == [("Ignore", 5)]


@pytest.mark.parametrize(
    ("place", "client", "hosts"),
    [
        pytest.param(
            Service("system", "copyhold", 443),
            {"service": {"namespace": "system", "name": "copyhold", "path": "/permits", "port": 443}},
            ("copyhold.system.svc", "copyhold.system.svc.cluster.local", "copyhold.system"),
            id="service",
        ),
        pytest.param(Url("127.0.0.1", 9443), {"url": "https://127.0.0.1:9443/permits"}, ("127.0.0.1",), id="address"),
        pytest.param(Url("::1", 9443), {"url": "https://[::1]:9443/permits"}, ("::1",), id="address of IPv6"),
    ],
)
def test_a_server_is_found_by_its_place(place: Service | Url, client: Manifest, hosts: tuple[str, ...]) -> None:
    """The certificate is for the names by which it is asked, and the CA comes along."""
    made = manifests(place, "CA")[0]["webhooks"][0]["clientConfig"]
    assert made.pop("caBundle") == b64encode(b"CA").decode()
    assert (made, place.hosts) == (client, hosts)


def test_what_is_limited_to_namespaces_asks_about_nothing_else() -> None:
    """Under its own name; a selector of namespaces alone would let everything cluster-scoped in."""
    made = manifests(Url("h", 1), "", Reach("trial", ("a", "b")))
    assert [each["metadata"]["name"] for each in made] == ["trial", "trial"]
    hooks = [webhook for each in made for webhook in each["webhooks"]]
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]}
    assert [hook["namespaceSelector"] for hook in hooks] == [selector, selector]
    assert {rule["scope"] for hook in hooks for rule in hook["rules"]} == {"Namespaced"}


def test_what_is_not_limited_asks_about_all() -> None:
    """Global templates too."""
    hooks = [webhook for each in manifests(Url("h", 1), "") for webhook in each["webhooks"]]
    assert [hook["namespaceSelector"] for hook in hooks] == [{}, {}]
    assert {rule["scope"] for hook in hooks for rule in hook["rules"]} == {"*"}


# On a server


@pytest.fixture(scope="module")
def manager() -> Iterator[Outside]:
    """What stands for the manager."""
    with outside() as server:
        yield server


@pytest.fixture
def registered(api: Api, crds: tuple[Kind, ...], manager: Outside, unique: Any, namespace: str) -> Iterator[str]:
    """Our webhooks, for a namespace of the test's own, in force."""
    manager.handlers |= {PERMITS: allowed, TEMPLATES: allowed}
    manager.seen.clear()
    made = ours(manager.place, manager.bundle, unique("hooks"), namespace)
    for manifest in made:
        api.create(manifest).expect(201)
    try:
        asked(api, lambda: api.create(_permit(namespace), dryRun="All"), manager, PERMITS)
        asked(api, lambda: api.create(_template(namespace), dryRun="All"), manager, TEMPLATES)
        manager.seen.clear()
        yield namespace
    finally:
        for manifest in made:
            api.delete(manifest).expect(200)


def _permit(namespace: str, name: str = "permit") -> Manifest:
    return ref(OURS, "ResourcePermit", name, namespace) | {"spec": SPEC}


def _template(namespace: str) -> Manifest:
    return ref(OURS, "ResourcePermitTemplate", "reader", namespace) | {"spec": TEMPLATE}


def _patching(path: str, value: object) -> Callable[[Manifest], Manifest]:
    patch = json.dumps([{"op": "add", "path": path, "value": value}]).encode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": b64encode(patch).decode()}


def test_what_a_server_stores_is_what_we_wrote(api: Api, manager: Outside, unique: Any, namespace: str) -> None:
    """All defaults are spelled out, so that a look at it finds nothing to repair."""
    for manifest in ours(manager.place, manager.bundle, unique("hooks"), namespace):
        stored = api.create(manifest, dryRun="All").expect(201).body
        assert stored["webhooks"] == manifest["webhooks"]


def test_a_permit_becomes_what_admission_makes_of_it(api: Api, manager: Outside, registered: str) -> None:
    """At its creation its requester, at a transition its whole status; a dry run is told to be one."""
    requester = {"name": "system:admin", "type": "User"}
    user = api.as_user("system:admin", groups=MASTERS)
    manager.handlers[PERMITS] = _patching("/spec/requester", requester)
    made = user.create(_permit(registered)).expect(201).body
    assert made["spec"] == SPEC | {"requester": requester}
    step = {"index": 0, "type": "Expired", "timestamp": "2030-01-01T00:00:00Z", "actor": requester, "reason": "R", "hash": "x"}
    status = {"phase": "Expired", "transitions": [step]}
    manager.handlers[PERMITS] = _patching("/status", status)
    changed = user.merge_patch(made, {"status": {"phase": "Active", "size": 7}}, subresource="status").expect(200).body
    assert changed["status"] == status
    first, second = manager.seen[PERMITS]
    assert (first["operation"], first["userInfo"]["username"], first["dryRun"]) == ("CREATE", "system:admin", False)
    assert (second["operation"], second["subResource"], second["object"]["status"]) == (
        "UPDATE",
        "status",
        {"phase": "Active", "size": 7},
    )
    assert "status" not in second["oldObject"]
    user.merge_patch(made, {"status": {"phase": "Active"}}, subresource="status", dryRun="All").expect(200)
    assert manager.seen[PERMITS][-1]["dryRun"]


def test_a_refusal_reaches_the_user_in_our_words(api: Api, manager: Outside, registered: str) -> None:
    """With its code and reason."""
    refusal = {"code": 409, "reason": "Conflict", "message": "this is not what you have seen"}
    manager.handlers[PERMITS] = lambda request: {"allowed": False, "status": refusal}
    reply = api.create(_permit(registered)).expect(409)
    assert (reply.body["reason"], reply.message) == (
        "Conflict",
        'admission webhook "permits.copyhold.dev" denied the request: this is not what you have seen',
    )


def test_the_manager_itself_is_not_asked_about_what_it_writes(api: Api, manager: Outside, registered: str) -> None:
    """Known by the extra with the permit's UID; with another one, and for a creation, it is asked like anybody."""
    made = api.create(_permit(registered)).expect(201).body
    manager.seen.clear()
    itself = api.as_user("copyhold", groups=MASTERS, extra={PARENT_EXTRA: [made["metadata"]["uid"]]})
    itself.merge_patch(made, {"status": {"phase": "Created"}}, subresource="status").expect(200)
    itself.merge_patch(made, {"metadata": {"finalizers": ["copyhold.dev/cleanup"]}}).expect(200)
    itself.merge_patch(made, {"metadata": {"finalizers": None}}).expect(200)
    assert PERMITS not in manager.seen
    api.as_user("x", groups=MASTERS, extra={PARENT_EXTRA: ["other"]}).merge_patch(
        made, {"status": {"phase": "Created"}}, subresource="status", dryRun="All"
    )
    itself.create(_permit(registered, "second"), dryRun="All")
    assert [each["operation"] for each in manager.seen[PERMITS]] == ["UPDATE", "CREATE"]


def test_while_nobody_answers_permits_are_refused_and_nothing_else(
    api: Api, manager: Outside, registered: str, temporary: Callable[[Manifest], Manifest]
) -> None:
    """Templates are made and changed, what is there is deleted, and its namespace goes; then permits are made again."""
    made = api.create(_permit(registered)).expect(201).body
    manager.stop()
    try:
        says = eventually(lambda: _refusal(api.create(_permit(registered, "second"))))
        assert 'failed calling webhook "permits.copyhold.dev"' in says
        assert _refusal(api.merge_patch(made, {"status": {"phase": "Expired"}}, subresource="status"))
        itself = api.as_user("copyhold", groups=MASTERS, extra={PARENT_EXTRA: [made["metadata"]["uid"]]})
        itself.merge_patch(made, {"status": {"phase": "Created"}}, subresource="status").expect(200)
        api.create(_template(registered)).expect(201)
        api.merge_patch(_template(registered), {"spec": {"maxDuration": "1h"}}).expect(200)
        api.merge_patch(made, {"metadata": {"labels": {"a": "b"}}}).expect(200)
        api.delete(_template(registered)).expect(200)
        api.delete(ref("v1", "Namespace", registered)).expect(200, 202)
        eventually(lambda: api.get(ref("v1", "Namespace", registered)).status == 404, 30)
    finally:
        manager.start()


def _refusal(reply: Reply) -> str:
    return reply.message if reply.status == 500 else ""
