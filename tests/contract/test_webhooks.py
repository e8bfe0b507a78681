"""Validating webhooks: the server calls ours, and tells its clients what they said as our judge does."""

import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from manager.embedded.status import StatusError
from manager.embedded.tls import new_authority, server_context
from manager.embedded.webhooks.hook import Hook
from manager.embedded.webhooks.review import judge, read
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.names import fresh

ROW = "tests.example/webhook"
Respond = Callable[[Any], Any]


@dataclass(slots=True)
class Outside:
    """A server of webhooks on loopback; the last part of the path says which row is asked for."""

    port: int
    bundle: str
    rows: dict[str, Respond]
    seen: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    """A server of webhooks in a thread."""
    authority = new_authority()
    held: list[Outside] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            name = self.path.partition("?")[0].rpartition("/")[2]
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            held[0].seen[name] = review
            body = json.dumps(held[0].rows[name](review)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context: ssl.SSLContext = server_context(authority)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    held.append(Outside(server.server_address[1], b64encode(authority.certificate.encode()).decode(), {}))
    yield held[0]
    server.shutdown()
    server.server_close()


def saying(**response: Any) -> Respond:
    """A webhook that answers so."""
    return lambda review: {**review, "response": {"uid": review["request"]["uid"], **response}}


ROWS: dict[str, Respond] = {
    "allowed": saying(allowed=True),
    "a warning": saying(allowed=True, warnings=["careful", "very"]),
    "denied": saying(allowed=False),
    "a message": saying(allowed=False, status={"message": "no"}),
    "a message and a code": saying(allowed=False, status={"message": "no", "code": 403, "reason": "Forbidden"}),
    "a reason": saying(allowed=False, status={"reason": "Conflict", "code": 409}),
    "a code of success": saying(allowed=False, status={"message": "fine", "code": 200}),
    "details": saying(
        allowed=False,
        status={"message": "no", "code": 422, "reason": "Invalid", "details": {"causes": [{"field": "x", "message": "y"}]}},
    ),
    "no response": lambda review: review,
    "no uid": lambda review: {**review, "response": {"allowed": True}},
    "another uid": saying(allowed=True, uid="x"),
    "a patch": saying(allowed=True, patch="W10=", patchType="JSONPatch"),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_answer_of_a_webhook_means_the_same(api: Api, namespace: str, outside: Outside, name: str) -> None:
    """Code, reason, message, details and warnings of a request are what our judge makes of the same answer."""
    mark = fresh("hook")
    outside.rows[mark] = ROWS[name]
    configuration = ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", mark)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "scope": "*"}
    webhook = {
        "name": f"{mark}.tests.example",
        "clientConfig": {"url": f"https://127.0.0.1:{outside.port}/{mark}", "caBundle": outside.bundle},
        "rules": [rule],
        "objectSelector": {"matchLabels": {ROW: mark}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    thing = ref("v1", "ConfigMap", "thing", namespace)
    thing["metadata"]["labels"] = {ROW: mark}
    api.create(configuration | {"webhooks": [webhook]}).expect(201)
    try:

        def same() -> bool:
            answer = api.create(thing, dryRun="All")
            assert mark in outside.seen
            assert _said(answer.status, answer.body, answer.headers.get("warning", "")) == _ours(webhook, outside, mark)
            return True

        eventually(same, 10)
    finally:
        api.delete(configuration).expect(200)
    asked = outside.seen[mark]["request"]
    assert (asked["name"], asked["operation"], asked["dryRun"]) == ("thing", "CREATE", True)
    assert asked["object"]["metadata"]["labels"] == {ROW: mark}


def test_a_name_that_the_server_makes_up_is_the_one_that_a_webhook_saw(api: Api, namespace: str, outside: Outside) -> None:
    """However often the request is handled."""
    mark = fresh("hook")
    outside.rows[mark] = saying(allowed=True)
    configuration = ref("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", mark)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"], "scope": "*"}
    webhook = {
        "name": f"{mark}.tests.example",
        "clientConfig": {"url": f"https://127.0.0.1:{outside.port}/{mark}", "caBundle": outside.bundle},
        "rules": [rule],
        "objectSelector": {"matchLabels": {ROW: mark}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    metadata = {"generateName": "thing-", "namespace": namespace, "labels": {ROW: mark}}
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    api.create(configuration | {"webhooks": [webhook]}).expect(201)
    try:

        def told() -> bool:
            made = api.create(thing).expect(201).body["metadata"]["name"]
            return mark in outside.seen and bool(outside.seen[mark]["request"]["object"]["metadata"]["name"] == made)

        eventually(told, 10)
    finally:
        api.delete(configuration).expect(200)


def _said(status: int, body: Manifest, warning: str) -> Manifest:
    if status < 400:
        return {"allowed": True, "warnings": warning.count("299 - ")}
    shown = {key: body.get(key) for key in ("code", "reason")}
    shown["message"] = _without_uid(body.get("message") or "")
    shown["details"] = _without_uid(json.dumps(body.get("details"), sort_keys=True))
    return shown


def _without_uid(text: str) -> str:
    """The text without the uid of the call, of which each has another."""
    before, mark, after = text.partition("response.uid=")
    return before + mark + after.partition(", got")[2]


def _ours(webhook: Manifest, outside: Outside, mark: str) -> Manifest:
    hook = Hook.of(webhook, mark)
    review = outside.seen[mark]
    outcome = read(json.dumps(outside.rows[mark](review)).encode(), review["request"]["uid"])
    try:
        return {"allowed": True, "warnings": len(judge(hook, outcome))}
    except StatusError as error:
        return _said(error.code, error.manifest(), "")
