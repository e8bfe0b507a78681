"""A permit on its way through webhook and policies together: what admission makes of a wish, the policies let pass."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from apis.meta import GROUP, PARENT_EXTRA
from manager.admission.certificates import Own
from manager.admission.handlers import handlers
from manager.admission.register import Url
from manager.admission.server import Server
from manager.cluster import ApiCluster
from manager.connect import endpoint
from manager.http import Client
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from policy.permits.lifecycle import Step, created, failed, prepared
from policy.permits.snapshot import Snapshot
from policy.permits.trail import append, seal_text, verify
from tests.realserver.access import Access
from tests.support.admission import ours
from tests.support.api import Api, Manifest, Reply, eventually, ref

OURS = f"{GROUP}/v1alpha1"
HOST = "127.0.0.1"
MASTERS = ["system:masters"]
TARGET: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
SPEC: Manifest = {
    "maxDuration": "8h",
    "keepFor": "1d",
    "approvals": {"required": 2},
    "resources": [{"targets": [TARGET]}],
}


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Manager:
    """What stands for the manager: its keys, and its hands on the server."""

    api: Api
    keyring: Keyring
    namespace: str

    def person(self, name: str) -> Api:
        """A person who may do everything by RBAC."""
        return self.api.as_user(f"{name}-{self.namespace}", groups=MASTERS)

    def wrote(self, permit: Manifest, stepped: tuple[Manifest, Step]) -> Manifest:
        """The permit after a step of the manager."""
        uid = permit["metadata"]["uid"]
        status = append(stepped[0], uid, stepped[1], utc_now(), self.keyring.sign)
        itself = self.api.as_user("copyhold", groups=MASTERS, extra={PARENT_EXTRA: [uid]})
        body: Manifest = itself.replace(permit | {"status": status}, subresource="status").expect(200).body
        return body

    def asked(self, name: str, permit: Manifest, phase: str, **more: Manifest) -> Reply:
        """A person asks for a phase."""
        return self.person(name).merge_patch(permit, {"status": {"phase": phase, **more}}, subresource="status")

    def whole(self, permit: Manifest) -> bool:
        """Is every transition signed, and the requester sealed?"""
        seal = permit["spec"]["requester"]["seal"]
        sealed = self.keyring.verify(seal["key"], seal_text(permit), seal["signature"])
        steps = permit["status"]["transitions"]
        return bool(sealed) and verify(steps, permit["metadata"]["uid"], self.keyring.verify) is None


@pytest.fixture
async def manager(
    server: Access, api: Api, policies: tuple[Manifest, ...], namespace: str, unique: Callable[[str], str]
) -> AsyncIterator[Manager]:
    """Admission with its true handlers, registered for the test's own namespace and in force."""
    client = Client(endpoint(server.url, server.ca.read_text() if server.ca else "", server.token))
    cluster, renderer = ApiCluster(client), Renderer()
    keyring = Keyring(cluster, namespace, utc_now)
    await keyring.refresh()
    certificates = Own([HOST], utc_now)
    await certificates.refresh()
    serving = Server(handlers(cluster, renderer, keyring.sign, utc_now), certificates)
    place = Url(HOST, await serving.start(HOST, 0))
    made = ours(place, certificates.bundle, unique("hooks"), namespace)
    template = ref(OURS, "ResourcePermitTemplate", "reader", namespace) | {"spec": SPEC}

    def begin() -> None:
        for manifest in made:
            api.create(manifest).expect(201)
        stored = api.create(template).expect(201).body
        ready = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "reconciled", "observedGeneration": 1}
        status = {"observedGeneration": 1, "conditions": [ready | {"lastTransitionTime": "2030-01-01T00:00:00Z"}]}
        api.replace(stored | {"status": status}, subresource="status").expect(200)
        eventually(lambda: api.create(permit_of(namespace), dryRun="All").expect(201).body["spec"].get("requester"))

    try:
        await asyncio.to_thread(begin)
        yield Manager(api, keyring, namespace)
    finally:
        for manifest in made:
            await asyncio.to_thread(api.delete, manifest)
        await serving.stop(0)
        await renderer.close()
        await client.close(0)


def permit_of(namespace: str, name: str = "permit") -> Manifest:
    """A permit as somebody asks for it."""
    spec = {"template": {"kind": "ResourcePermitTemplate", "name": "reader"}, "duration": "30m"}
    return ref(OURS, "ResourcePermit", name, namespace) | {"spec": spec}


def snapshot(namespace: str) -> Snapshot:
    """What the manager rendered."""
    return Snapshot(
        {
            "template": {"kind": "ResourcePermitTemplate", "name": "reader", "uid": "t", "generation": 1},
            "impersonation": {"name": "default", "namespace": namespace},
            "approvals": {"auto": False, "required": 2, "selfApproval": "Deny", "validFor": "24h", "requireDigest": False},
            "duration": "30m",
            "maxDuration": "8h",
            "keepFor": "1d",
            "resources": [{"name": "0", "policy": {"creation": "Owner"}, "targets": [TARGET]}],
        }
    )


async def test_a_permit_goes_its_way(manager: Manager) -> None:
    """Asked for, reviewed by two, ended: each step is by who sent it, signed, and let pass by the policies."""

    def story() -> None:
        forged = permit_of(manager.namespace)
        forged["spec"]["requester"] = {"name": "carol", "type": "User"}
        permit = manager.person("alice").create(forged).expect(201).body
        assert permit["spec"]["requester"]["name"] == f"alice-{manager.namespace}"
        permit = manager.wrote(permit, created(permit, utc_now()))
        permit = manager.wrote(permit, prepared(permit["status"], snapshot(manager.namespace), utc_now()))
        assert manager.whole(permit)
        assert manager.asked("alice", permit, "Approved").expect(403)
        first = manager.asked("bob", permit, "Approved", review={"message": "go"}).expect(200)
        assert first.body["status"]["phase"] == "Requested"
        assert "299" in first.headers["warning"]
        assert manager.asked("bob", permit, "Approved").status == 409
        approved = manager.asked("carol", permit, "Approved").expect(200).body
        assert approved["status"]["phase"] == "Approved"
        assert [step["actor"]["name"].partition("-")[0] for step in approved["status"]["transitions"]] == [
            "alice",
            "copyhold",
            "bob",
            "carol",
        ]
        assert manager.whole(approved)
        ended = manager.asked("alice", permit, "Expired").expect(200).body
        assert ended["status"]["phase"] == "Expired"
        assert ended["status"]["keepUntil"]
        assert manager.whole(ended)
        assert manager.asked("alice", permit, "Active").status >= 400

    await asyncio.to_thread(story)


async def test_a_reviewer_shortens_what_is_asked_for(manager: Manager) -> None:
    """The duration and its digest change, the rest of the snapshot stays."""

    def story() -> None:
        permit = manager.person("alice").create(permit_of(manager.namespace)).expect(201).body
        permit = manager.wrote(permit, created(permit, utc_now()))
        permit = manager.wrote(permit, prepared(permit["status"], snapshot(manager.namespace), utc_now()))
        seen = permit["status"]["request"]["digest"]
        wish = {"request": {"duration": "10m", "resources": []}, "review": {"digest": seen}}
        body = manager.asked("bob", permit, "Approved", **wish).expect(200).body
        request = body["status"]["request"]
        assert request["duration"] == "10m"
        assert request["digest"] != seen
        assert request["resources"] == permit["status"]["request"]["resources"]

    await asyncio.to_thread(story)


async def test_a_permit_is_denied_and_another_retried(manager: Manager) -> None:
    """The other two steps that people take."""

    def story() -> None:
        permit = manager.person("alice").create(permit_of(manager.namespace)).expect(201).body
        permit = manager.wrote(permit, created(permit, utc_now()))
        permit = manager.wrote(permit, prepared(permit["status"], snapshot(manager.namespace), utc_now()))
        assert manager.asked("bob", permit, "Denied").expect(200).body["status"]["review"]["verdict"] == "Denied"
        other = manager.person("alice").create(permit_of(manager.namespace, "other")).expect(201).body
        other = manager.wrote(other, created(other, utc_now()))
        said = failed(other["status"], "ResourceDryRunFailed", "no", utc_now(), snapshot(manager.namespace))
        other = manager.wrote(other, said)
        assert manager.asked("alice", other, "Retrying").expect(200).body["status"]["phase"] == "Retrying"

    await asyncio.to_thread(story)


async def test_a_template_that_cannot_work_is_refused(manager: Manager) -> None:
    """By its author's first attempt, in words that name the field."""

    def story() -> None:
        template = ref(OURS, "ResourcePermitTemplate", "wrong", manager.namespace)
        template["spec"] = SPEC | {"approvals": {"conditions": ["reviewer.name =="]}}
        assert "conditions" in manager.api.create(template).expect(422).message

    await asyncio.to_thread(story)


async def test_a_permit_without_its_template_is_refused(manager: Manager) -> None:
    """Templates are read as they are now."""

    def story() -> None:
        permit = permit_of(manager.namespace)
        permit["spec"]["template"]["name"] = "absent"
        assert "template absent not found" in manager.api.create(permit).expect(422).message

    await asyncio.to_thread(story)
