"""Admission of permits as API servers ask for it: what is stored bears a seal and a trail that hold."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apis.copyhold.resourcepermit import KIND
from apis.intent import Group
from apis.kind import Kind
from apis.meta import PARENT_EXTRA
from apis.problems import Invalid
from manager.admission.register import PERMITS, TEMPLATES
from manager.permits.admit import Admission
from policy.permits.lifecycle import created, prepared
from policy.permits.snapshot import Snapshot
from policy.permits.trail import append, seal_text, verify
from tests.manager.permits.offers import LOCAL, local, ready
from tests.support.admission import Outside, asked, ours, outside
from tests.support.api import Api, Manifest, ref

KEY = Ed25519PrivateKey.generate()
MASTERS = ["system:masters"]
SCHEMA = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "share": {"type": "number"},
        "more": {"type": "object", "additionalProperties": True},
    },
}
TEMPLATE = ready(local(paramSchema=SCHEMA, maxDuration="8h"))


def sign(data: bytes) -> tuple[str, str]:
    """Sign with the only key."""
    return "key", b64encode(KEY.sign(data)).decode()


def right(key: str, data: bytes, signature: str) -> bool | None:
    """Is it a signature by the only key?"""
    try:
        KEY.public_key().verify(b64decode(signature), data)
    except InvalidSignature:
        return False
    return key == "key"


async def _template_of(kind: str, namespace: str, name: str) -> Manifest | None:
    return TEMPLATE if (kind, name) == (LOCAL.kind, "reader") else None


async def _fine(_: Sequence[Group]) -> list[Invalid]:
    return []


@pytest.fixture(scope="module")
def manager() -> Iterator[Outside]:
    """The admission server, with the decisions behind it."""
    decisions = Admission(_template_of, _fine, sign, lambda: datetime.now(UTC))
    with outside() as server, ThreadPoolExecutor() as pool:

        def decided(decide: Callable[[Manifest], Any]) -> Callable[[Manifest], Manifest]:
            return lambda request: pool.submit(lambda: asyncio.run(decide(request))).result()

        server.handlers |= {PERMITS: decided(decisions.review), TEMPLATES: decided(decisions.template)}
        yield server


@dataclass(frozen=True, slots=True)
class Desk:
    """A namespace in which permits pass by admission."""

    api: Api
    namespace: str

    def person(self, name: str) -> Api:
        """A user who may do everything that RBAC knows."""
        return self.api.as_user(name, groups=MASTERS)

    def itself(self, permit: Manifest) -> Api:
        """The manager."""
        return self.api.as_user("copyhold", groups=MASTERS, extra={PARENT_EXTRA: [permit["metadata"]["uid"]]})

    def permit(self, **spec: Any) -> Manifest:
        """A permit as a user writes it."""
        asks = {"template": {"kind": LOCAL.kind, "name": "reader"}, "params": {"user": "a"}, **spec}
        return ref(KIND.api_version, KIND.kind, "incident", self.namespace) | {"spec": asks}

    def reviewed(self, permit: Manifest) -> Manifest:
        """The permit as the manager prepares it for its review."""
        uid, now = permit["metadata"]["uid"], datetime.now(UTC)
        status, step = created(permit, now)
        status = append(status, uid, step, now, sign)
        request = {
            "template": {"kind": LOCAL.kind, "name": "reader", "uid": "t-1", "generation": 3},
            "impersonation": {"namespace": self.namespace, "name": "runner"},
            "approvals": {"approvers": [{"kind": "User", "name": "bob"}]},
            "duration": "30m",
            "maxDuration": "8h",
            "resources": [{"name": "a", "policy": {"creation": "Owner"}, "targets": [{"apiVersion": "v1", "kind": "ConfigMap"}]}],
        }
        status, step = prepared(status, Snapshot(request), now)
        status = append(status, uid, step, now, sign)
        stored: Manifest = self.itself(permit).merge_patch(permit, {"status": status}, subresource="status").expect(200).body
        return stored


@pytest.fixture
def desk(
    api: Api,
    crds: tuple[Kind, ...],
    policies: tuple[Manifest, ...],
    manager: Outside,
    unique: Callable[[str], str],
    namespace: str,
) -> Iterator[Desk]:
    """Our webhooks, for a namespace of the test's own, in force."""
    made = ours(manager.place, manager.bundle, unique("admitted"), namespace)
    desk = Desk(api, namespace)
    manager.seen.clear()
    for manifest in made:
        api.create(manifest).expect(201)
    try:
        asked(api, lambda: desk.person("alice").create(desk.permit(), dryRun="All"), manager, PERMITS)
        yield desk
    finally:
        for manifest in made:
            api.delete(manifest).expect(200)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"user": "a"}, id="text"),
        pytest.param({"share": 1.0, "user": "é \U0001f511 \u2028"}, id="a whole float, and text beyond ASCII"),
        pytest.param({"share": 0.1, "more": {"a": [1, 2.5, None, True, {"b": ""}], "c": {}}}, id="more"),
        pytest.param({"share": 1e21, "more": {"n": 12345678901234567}}, id="large numbers"),
        pytest.param({}, id="none"),
    ],
)
def test_the_seal_is_over_what_is_stored(desk: Desk, params: Manifest) -> None:
    """The server's own way to write a value breaks no seal; another requester does."""
    sent = desk.permit(params=params, requester={"name": "alice", "type": "System", "groups": ["forged"]})
    stored = desk.person("alice").create(sent).expect(201).body
    requester = stored["spec"]["requester"]
    assert (requester["name"], requester["type"]) == ("alice", "User")
    assert "forged" not in requester["groups"]
    seal = requester["seal"]
    assert right(seal["key"], seal_text(stored), seal["signature"])
    assert not right(seal["key"], seal_text(stored | {"spec": stored["spec"] | {"duration": "8h"}}), seal["signature"])


def test_a_refused_permit_is_not_made(desk: Desk) -> None:
    """In the words that name the field."""
    reply = desk.person("alice").create(desk.permit(duration="9h")).expect(422)
    assert "spec.duration: requested duration 9h exceeds template maxDuration 8h" in reply.message
    assert desk.api.get(desk.permit()).status == 404


def test_what_is_stored_of_a_hijacked_approval_is_the_approval(desk: Desk) -> None:
    """A reviewer who sends transitions, targets and a reviewer along approves, and does nothing else."""
    waiting = desk.reviewed(desk.person("alice").create(desk.permit()).expect(201).body)
    uid, digest = waiting["metadata"]["uid"], waiting["status"]["request"]["digest"]
    forged = {
        "phase": "Approved",
        "review": {"digest": digest, "message": "fine", "reviewer": {"name": "carol", "type": "User"}},
        "request": {"resources": [{"name": "b", "policy": {}, "targets": [{"apiVersion": "v1", "kind": "Secret"}]}]},
        "transitions": [],
        "processedItems": [{"kind": "Secret", "name": "x"}],
        "serviceAccount": {"namespace": "kube-system", "name": "admin"},
    }
    approved = desk.person("bob").merge_patch(waiting, {"status": forged}, subresource="status").expect(200).body
    before, after = waiting["status"], approved["status"]
    assert (after["phase"], after["review"]["reviewer"]["name"], after["review"]["message"]) == ("Approved", "bob", "fine")
    assert after["request"] == before["request"]
    assert after["transitions"][:-1] == before["transitions"]
    assert verify(after["transitions"], uid, right) is None
    assert not {"processedItems", "serviceAccount"} & set(after)


def test_who_asked_is_refused_and_a_dry_run_is_not_stored(desk: Desk) -> None:
    """Neither leaves a trace."""
    waiting = desk.reviewed(desk.person("alice").create(desk.permit()).expect(201).body)
    approval = {"status": {"phase": "Approved", "review": {"digest": waiting["status"]["request"]["digest"]}}}
    desk.person("alice").merge_patch(waiting, approval, subresource="status").expect(403)
    stale = {"status": {"phase": "Approved", "review": {"digest": "sha256:0"}}}
    desk.person("bob").merge_patch(waiting, stale, subresource="status").expect(409)
    tried = desk.person("bob").merge_patch(waiting, approval, subresource="status", dryRun="All").expect(200).body
    assert tried["status"]["phase"] == "Approved"
    assert "signature" not in tried["status"]["transitions"][-1]
    assert desk.api.get(waiting).expect(200).body["status"] == waiting["status"]
