"""Mutating webhooks: what a server makes of their patches, in which order, and what it tells its clients."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.admission import NAMESPACE_NAME, Outside, outside
from tests.support.api import Api, Manifest, eventually, ref

Answer = Callable[[Manifest], Manifest]
KIND = "MutatingWebhookConfiguration"


@pytest.fixture(scope="module")
def hooks() -> Iterator[Outside]:
    """A server of webhooks; the path says which one is asked."""
    with outside() as server:
        yield server


def patch(*operations: tuple[str, str, Any]) -> Answer:
    """A webhook that changes the object so."""
    listed = [{"op": op, "path": path} | ({} if op == "remove" else {"value": value}) for op, path, value in operations]
    text = b64encode(json.dumps(listed).encode()).decode()
    return lambda request: {"allowed": True, "patch": text, "patchType": "JSONPatch"}


def webhook(hooks: Outside, namespace: str, path: str, **more: Any) -> Manifest:
    """A webhook about the ConfigMaps of a namespace."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]
    expression = {"key": NAMESPACE_NAME, "operator": "In", "values": [namespace]}
    client = hooks.place.client(path) | {"caBundle": b64encode(hooks.bundle.encode()).decode()}
    return {
        "name": f"{path.strip('/')}.tests.example",
        "clientConfig": client,
        "rules": rules,
        "namespaceSelector": {"matchExpressions": [expression]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


@pytest.fixture
def register(api: Api, hooks: Outside, namespace: str, unique: Callable[[str], str]) -> Iterator[Callable[..., None]]:
    """Register webhooks by their answers, in the order of the paths, and wait until they are asked."""
    made: list[Manifest] = []

    def register(answers: dict[str, Answer], **more: Any) -> None:
        hooks.handlers |= answers
        hooks.seen.clear()
        configuration = ref("admissionregistration.k8s.io/v1", KIND, unique("mutate"))
        webhooks = [webhook(hooks, namespace, path, **more) for path in answers]
        made.append(api.create(configuration | {"webhooks": webhooks}).expect(201).body)
        probe = ref("v1", "ConfigMap", "probe", namespace)
        eventually(lambda: api.create(probe, dryRun="All") and set(answers) <= set(hooks.seen))
        hooks.seen.clear()

    yield register
    for configuration in made:
        api.delete(configuration).expect(200)


def thing(namespace: str, **data: str) -> Manifest:
    """A ConfigMap."""
    return ref("v1", "ConfigMap", "thing", namespace) | {"data": data}


def test_each_webhook_sees_what_the_one_before_it_made(
    api: Api, hooks: Outside, namespace: str, register: Callable[..., None]
) -> None:
    """At a creation, an update, and an apply; the object that is stored is the last one."""
    add = patch(("add", "/metadata/labels", {"from": "first"}))
    register({"/a": add, "/b": patch(("add", "/data", {"seen": "yes"}))})
    made = api.create(thing(namespace, a="1")).expect(201).body
    assert (made["metadata"]["labels"], made["data"]) == ({"from": "first"}, {"seen": "yes"})
    assert hooks.seen["/a"][0]["object"]["data"] == {"a": "1"}
    assert hooks.seen["/b"][0]["object"]["metadata"]["labels"] == {"from": "first"}
    changed = api.merge_patch(made, {"data": {"b": "2"}}).expect(200).body
    assert changed["data"] == {"seen": "yes"}
    assert hooks.seen["/a"][-1]["object"]["data"] == {"seen": "yes", "b": "2"}
    assert hooks.seen["/a"][-1]["oldObject"]["data"] == {"seen": "yes"}
    assert api.apply(thing(namespace, c="3")).expect(200).body["data"] == {"seen": "yes"}
    assert api.get(made).body["data"] == {"seen": "yes"}


def test_what_a_webhook_adds_belongs_to_no_manager(api: Api, namespace: str, register: Callable[..., None]) -> None:
    """managedFields tell what the client sent."""
    register({"/a": patch(("add", "/data/more", "x"))})
    made = api.apply(thing(namespace, a="1"), manager="me").expect(201).body
    assert made["data"] == {"a": "1", "more": "x"}
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["fieldsV1"]) == ("me", {"f:data": {"f:a": {}}})


def test_a_webhook_is_asked_before_the_object_has_an_identity(
    api: Api, hooks: Outside, namespace: str, register: Callable[..., None]
) -> None:
    """No uid, and no name where the server makes one up."""
    register({"/a": patch()})
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "thing-", "namespace": namespace}}
    made = api.create(nameless).expect(201).body
    assert made["metadata"]["name"].startswith("thing-")
    (asked,) = hooks.seen["/a"]
    assert "uid" not in asked["object"]["metadata"]
    assert (asked.get("name", ""), asked["object"]["metadata"].get("name", "")) == ("", "")


ANSWERS = [
    pytest.param({"allowed": False, "status": {"message": "no", "code": 403}}, id="denied"),
    pytest.param({"allowed": False}, id="denied without a word"),
    pytest.param({"allowed": True, "warnings": ["careful"]}, id="a warning"),
    pytest.param({"allowed": True, "patch": b64encode(b"[]").decode()}, id="no patchType"),
    pytest.param({"allowed": True, "patchType": "JSONPatch"}, id="no patch"),
]
SAYS = {
    "denied": (403, 'admission webhook "a.tests.example" denied the request: no'),
    "denied without a word": (400, 'admission webhook "a.tests.example" denied the request without explanation'),
    "a warning": (201, ""),
    "no patchType": (500, "received invalid webhook response: webhook returned response.patch but not response.patchType"),
    "no patch": (500, "received invalid webhook response: webhook returned response.patchType but not response.patch"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_client_is_told_what_came_of_it(
    api: Api, hooks: Outside, namespace: str, register: Callable[..., None], answer: Manifest, request: pytest.FixtureRequest
) -> None:
    """In the same words by both servers."""
    register({"/a": patch()})
    hooks.handlers["/a"] = lambda _: answer
    reply = api.create(thing(namespace))
    status, says = SAYS[request.node.callspec.id.partition("-")[2]]
    assert (reply.status, says in reply.message if says else True) == (status, True), reply
    assert ("careful" in reply.headers.get("warning", "")) == (answer.get("warnings") == ["careful"])


def test_a_webhook_is_asked_again_about_what_others_changed(
    api: Api, hooks: Outside, namespace: str, register: Callable[..., None]
) -> None:
    """With reinvocationPolicy IfNeeded, once."""
    register({"/a": patch(), "/b": patch(("add", "/data", {"b": "1"}))}, reinvocationPolicy="IfNeeded")
    api.create(thing(namespace, a="1")).expect(201)
    assert [each["object"].get("data") for each in hooks.seen["/a"]] == [{"a": "1"}, {"b": "1"}]
    assert len(hooks.seen["/b"]) == 1


def test_nobody_can_write_while_a_webhook_is_silent(
    api: Api, hooks: Outside, namespace: str, register: Callable[..., None]
) -> None:
    """With failurePolicy Fail; with Ignore the object passes as it was sent."""
    register({"/a": patch(("add", "/data", {"b": "1"}))}, failurePolicy="Ignore")
    hooks.stop()
    try:
        assert eventually(lambda: api.create(thing(namespace, a="1"), dryRun="All").expect(201).body["data"] == {"a": "1"})
    finally:
        hooks.start()
