"""Validating webhooks: which requests they see, what their answers mean, and that they are asked over HTTPS."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apis.meta import Manifest
from manager.embedded.attributes import MASTERS, User
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.policies import AdmissionRequest
from manager.embedded.policies.request import Kind, Operation, Resource
from manager.embedded.status import StatusError
from manager.embedded.store import Key, Store
from manager.embedded.tls import Authority, new_authority, server_context
from manager.embedded.webhooks import Unanswered, Webhooks, answered, ask
from manager.embedded.webhooks.review import Call, Outcome
from manager.embedded.webhooks.webhooks import CONFIGURATIONS
from tests.manager.embedded.auth.stored import named

ADMIN = User("admin", groups=(MASTERS,))
ALLOWED = {"allowed": True}


def hook(name: str = "check.tests.example", url: str = "https://127.0.0.1:1/check", **rest: Any) -> Manifest:
    """A webhook about ConfigMaps."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    return {
        "name": name,
        "clientConfig": {"url": url},
        "rules": rules,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
        **rest,
    }


def judges(*hooks: Manifest) -> Webhooks:
    """The webhooks of one configuration."""
    store = Store()
    configuration = named("ValidatingWebhookConfiguration", "c", "", "admissionregistration.k8s.io/v1", webhooks=list(hooks))
    store.put(Key(CONFIGURATIONS, "", "c"), configuration)
    return Webhooks(store, Authorizer(store))


def request(**more: Any) -> AdmissionRequest:
    """The creation of a ConfigMap."""
    fields = {
        "operation": Operation.CREATE,
        "kind": Kind("", "v1", "ConfigMap"),
        "resource": Resource("", "v1", "configmaps"),
        "user": ADMIN,
        "object": named("ConfigMap", "x", "blue"),
        "old": None,
        "name": "x",
        "namespace": "blue",
    }
    return AdmissionRequest(**{**fields, **more})


@dataclass(slots=True)
class Asked:
    """Answers every call with the same response, and remembers the calls."""

    response: Manifest = field(default_factory=lambda: ALLOWED)
    failure: str = ""
    calls: list[Call] = field(default_factory=list)

    async def __call__(self, call: Call) -> Outcome:
        """Answer a call."""
        self.calls.append(call)
        return Outcome(self.response, self.failure)


async def admit(webhooks: Webhooks, asked: Asked, what: AdmissionRequest | None = None) -> list[str]:
    """Judge a request, with whatever has to be asked."""
    return await answered(lambda: webhooks.admit(what or request()), asked)


async def test_a_webhook_is_asked_once_and_its_warnings_come_along() -> None:
    """The request is handled anew with the answer; a second object would be a second question."""
    asked = Asked({"allowed": True, "warnings": ["careful"]})
    assert await admit(judges(hook()), asked) == ["careful"]
    assert len(asked.calls) == 1


def test_nothing_is_asked_where_nobody_can_ask() -> None:
    """What controllers write passes."""
    assert judges(hook()).admit(request()) == []


@pytest.mark.parametrize(
    ("wanted", "what", "calls"),
    [
        pytest.param({}, {}, 1, id="what its rules name"),
        pytest.param({}, {"operation": Operation.UPDATE}, 0, id="another operation"),
        pytest.param({}, {"resource": Resource("", "v1", "secrets")}, 0, id="another resource"),
        pytest.param({"rules": []}, {}, 0, id="no rules"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, {}, 0, id="another label"),
        pytest.param({"matchConditions": [{"name": "n", "expression": "object.metadata.name == 'y'"}]}, {}, 0, id="a condition"),
        pytest.param(
            {"matchConditions": [{"name": "n", "expression": "request.name == 'x'"}]}, {}, 1, id="a condition that holds"
        ),
        pytest.param({}, {"kind": Kind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")}, 0, id="itself"),
    ],
)
async def test_a_webhook_sees_what_it_wants(wanted: Manifest, what: Manifest, calls: int) -> None:
    """Rules, selectors and conditions are those of policies."""
    asked = Asked()
    await admit(judges(hook(**wanted)), asked, request(**what))
    assert len(asked.calls) == calls


@pytest.mark.parametrize(
    ("response", "code", "reason", "message"),
    [
        pytest.param({"allowed": False}, 400, "", "without explanation", id="nothing"),
        pytest.param({"allowed": False, "status": {"message": "no", "code": 403}}, 403, "", ": no", id="a message"),
        pytest.param({"allowed": False, "status": {"reason": "Forbidden"}}, 400, "Forbidden", ": Forbidden", id="a reason"),
        pytest.param({"allowed": False, "status": {"code": 200}}, 400, "", "without explanation", id="a code of success"),
    ],
)
async def test_a_denial_is_what_the_webhook_says(response: Manifest, code: int, reason: str, message: str) -> None:
    """Code, reason and message go to the client."""
    with pytest.raises(StatusError) as denied:
        await admit(judges(hook()), Asked(response))
    said = 'admission webhook "check.tests.example" denied the request'
    assert denied.value.message.startswith(said)
    assert denied.value.message.removeprefix(said).strip() == message
    assert (denied.value.code, denied.value.reason) == (code, reason)


async def test_a_failure_is_the_request_s_unless_it_is_ignored() -> None:
    """failurePolicy decides."""
    asked = Asked(failure="failed to call webhook: no")
    with pytest.raises(StatusError) as failed:
        await admit(judges(hook()), asked)
    said = 'failed calling webhook "check.tests.example": failed to call webhook: no'
    assert failed.value.manifest() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {said}",
        "reason": "InternalError",
        "details": {"causes": [{"message": said}]},
        "code": 500,
    }
    assert await admit(judges(hook(failurePolicy="Ignore")), asked) == []


async def test_a_webhook_with_side_effects_is_no_good_for_a_dry_run() -> None:
    """400, in the words of the real server."""
    with pytest.raises(StatusError, match="does not support dry run"):
        await admit(judges(hook(sideEffects="Some")), Asked(), request(dry_run=True))


async def test_a_question_is_the_same_when_only_the_server_s_fields_differ() -> None:
    """Handled anew, a creation gets another uid and another time."""
    asked, round_ = Asked(), iter(range(10))
    webhooks = judges(hook())

    def handle() -> list[str]:
        thing = named("ConfigMap", "x", "blue")
        return webhooks.admit(request(object=thing | {"metadata": thing["metadata"] | {"uid": str(next(round_))}}))

    await answered(handle, asked)
    assert len(asked.calls) == 1


async def test_a_request_that_changes_for_ever_times_out() -> None:
    """There is an end to asking."""
    round_ = iter(range(1000))
    webhooks = judges(hook())
    with pytest.raises(StatusError) as ended:
        await answered(lambda: webhooks.admit(request(name=str(next(round_)))), Asked())
    assert ended.value.code == 504


def test_what_is_unanswered_says_how_much() -> None:
    """For logs; the objects themselves are not in it."""
    assert str(Unanswered(())) == "0 webhooks have to be asked"


# Over HTTPS


@dataclass(slots=True)
class Outside:
    """A server of webhooks on loopback; `respond` makes the body of an answer from that of a question."""

    authority: Authority
    port: int = 0
    respond: Callable[[Any], Any] = lambda review: {**review, "response": {"uid": review["request"]["uid"], **ALLOWED}}
    seen: list[Any] = field(default_factory=list)

    def hook(self, **rest: Any) -> Manifest:
        """A webhook that it serves."""
        client = {
            "url": f"https://127.0.0.1:{self.port}/check",
            "caBundle": b64encode(self.authority.certificate.encode()).decode(),
        }
        return hook(clientConfig=client, **rest)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length"))
        review = json.loads(await reader.readexactly(length))
        self.seen.append((head.split("\r\n")[0], review))
        body = json.dumps(self.respond(review)).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    """A server of webhooks."""
    served = Outside(new_authority())
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=server_context(served.authority))
    served.port = server.sockets[0].getsockname()[1]
    yield served
    server.close()
    await server.wait_closed()


async def test_a_webhook_is_called_with_a_review(outside: Outside) -> None:
    """It sees the request as the real server shows it."""
    webhooks = judges(outside.hook())
    assert await answered(lambda: webhooks.admit(request()), ask) == []
    line, review = outside.seen[0]
    assert line == "POST /check?timeout=5s HTTP/1.1"
    asked = review["request"]
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert (asked["operation"], asked["name"], asked["namespace"], asked["dryRun"]) == ("CREATE", "x", "blue", False)
    assert asked["object"]["metadata"]["name"] == "x"
    assert asked["oldObject"] is None
    assert asked["userInfo"] == {"username": "admin", "groups": ["system:masters"]}


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        pytest.param(lambda review: {}, "received invalid webhook response: webhook response was absent", id="no response"),
        pytest.param(lambda review: {"response": {"uid": "x"}}, "expected response.uid=", id="another uid"),
        pytest.param(
            lambda review: {"response": {"uid": review["request"]["uid"]}},
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            id="no kind",
        ),
        pytest.param(
            lambda review: {**review, "response": {"uid": review["request"]["uid"], "allowed": True, "patch": "W10="}},
            "validating webhook may not return response.patch",
            id="a patch",
        ),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(outside: Outside, respond: Callable[[Any], Any], message: str) -> None:
    """What a webhook must not say is told as the real server tells it."""
    outside.respond = respond
    webhooks = judges(outside.hook())
    with pytest.raises(StatusError) as failed:
        await answered(lambda: webhooks.admit(request()), ask)
    assert message in failed.value.message


@pytest.mark.parametrize(
    "client",
    [
        pytest.param({"url": "https://127.0.0.1:1/"}, id="nobody listens"),
        pytest.param({"service": {"name": "s", "namespace": "n"}}, id="a Service"),
        pytest.param({"url": "http://127.0.0.1:1/"}, id="no TLS"),
        pytest.param({"url": "https://127.0.0.1:1/", "caBundle": "eA=="}, id="a CA that is none"),
    ],
)
async def test_a_webhook_that_cannot_be_asked_is_a_failure(client: Manifest) -> None:
    """The request fails, and says which webhook it was."""
    webhooks = judges(hook(clientConfig=client))
    with pytest.raises(StatusError, match="failed calling webhook"):
        await answered(lambda: webhooks.admit(request()), ask)


async def test_a_webhook_of_another_ca_is_not_trusted(outside: Outside) -> None:
    """The bundle is all that is trusted."""
    bundle = b64encode(new_authority().certificate.encode()).decode()
    webhooks = judges(hook(clientConfig={"url": f"https://127.0.0.1:{outside.port}/", "caBundle": bundle}))
    with pytest.raises(StatusError, match="failed calling webhook"):
        await answered(lambda: webhooks.admit(request()), ask)
    assert outside.seen == []
