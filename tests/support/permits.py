"""Permits on a stage: admission in force for the namespace of one test, and the people involved."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import uvloop

from apis.copyhold.resourcepermit import KIND
from manager.admission.certificates import Own
from manager.admission.handlers import handlers
from manager.admission.policies import Policy
from manager.admission.register import PERMITS, TEMPLATES, Url
from manager.admission.server import Server
from manager.cluster import ApiCluster
from manager.http import Client
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from tests.realserver.access import Access
from tests.support.admission import HOST, ours
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.rights import NAMESPACE
from tests.support.running import endpoint
from tests.support.stage import VERSION, Stage

LOCAL, GLOBAL = "ResourcePermitTemplate", "GlobalResourcePermitTemplate"
RULES = [
    {"apiGroups": ["copyhold.dev"], "resources": ["resourcepermits"], "verbs": ["get", "list", "watch", "create", "delete"]},
]
REVIEWS = [
    {"apiGroups": ["copyhold.dev"], "resources": ["resourcepermits"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["copyhold.dev"], "resources": ["resourcepermits/status"], "verbs": ["get", "update", "patch"]},
]


@dataclass
class Office:
    """The product's admission server in a thread of its own, as the manager's account, with the manager's keys."""

    access: Access
    requests: list[Manifest] = field(default_factory=list)
    policies: Sequence[Policy] = ()

    def __post_init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="admission", daemon=True)
        self.place = Url(HOST, 0)
        self.bundle = ""
        self._certificates: Own | None = None

    def start(self) -> "Office":
        """Listen, on the port of before if there was one."""
        if not self._thread.is_alive():
            self._thread.start()
        self.run(self._start())
        return self

    def stop(self) -> None:
        """Listen no longer: whoever asks gets no answer."""
        self.run(self._stop())

    def close(self) -> None:
        """End for good."""
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Any) -> Any:
        """Run something in the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _start(self) -> None:
        self._client = Client(endpoint(self.access))
        self._renderer = Renderer()
        cluster = ApiCluster(self._client)
        now = lambda: datetime.now(UTC)  # noqa: E731
        self.keyring = Keyring(cluster, NAMESPACE, now)
        await self.keyring.refresh()
        if self._certificates is None:  # whoever was told whom to trust still does after a restart
            self._certificates = Own([HOST], now)
            await self._certificates.refresh()
            self.bundle = self._certificates.bundle
        decides = handlers(cluster, self._renderer, self.keyring.sign, now, policies=self.policies)
        self._server = Server(decides, self._certificates)
        self.place = Url(HOST, await self._server.start(HOST, self.place.port))

    async def _stop(self) -> None:
        await self._server.stop(0)
        await self._renderer.close()
        await self._client.close()


@contextmanager
def office(access: Access) -> Iterator[Office]:
    """An admission server that listens within the block."""
    made = Office(access).start()
    try:
        yield made
    finally:
        made.close()


@dataclass
class Permits:
    """A stage with admission in force in its namespace `home`, two people, and an account that acts."""

    stage: Stage
    office: Office
    home: str
    account: str
    alice: str = ""
    bob: str = ""

    # People.

    def as_(self, user: str, *groups: str) -> Api:
        """The server as a person sees it, by real impersonation and RBAC."""
        return self.stage.api.as_user(user, groups=list(groups))

    def reviewer(self, word: str, namespace: str = "") -> str:
        """Somebody who may write the status of permits; answers the user name."""
        name = f"{word}-{self.stage.mark}"
        self.stage.grant_user(name, REVIEWS, namespace or self.home)
        return name

    def requester(self, word: str, namespace: str = "") -> str:
        """Somebody who may make permits; answers the user name."""
        name = f"{word}-{self.stage.mark}"
        self.stage.grant_user(name, RULES, namespace or self.home)
        return name

    # Templates and permits.

    def template(self, word: str = "reader", *groups: Manifest, **spec: Any) -> Manifest:
        """A template in `home` that acts as the account, Ready; answers it."""
        body = {"impersonation": {"name": self.account}, "resources": list(groups) or [config_map()], **spec}
        return self._offered(ref(VERSION, LOCAL, self.stage.name(word), self.home) | {"spec": body})

    def global_template(self, word: str = "everywhere", *groups: Manifest, **spec: Any) -> Manifest:
        """A global template that acts as the account, Ready; answers it."""
        account = {"name": self.account, "namespace": self.home}
        body = {"impersonation": account, "resources": list(groups) or [config_map()], **spec}
        return self._offered(ref(VERSION, GLOBAL, self.stage.name(word)) | {"spec": body})

    def _offered(self, manifest: Manifest) -> Manifest:
        made = self.stage.create(manifest)
        self.stage.ready(made)
        return made

    def ask(self, template: Manifest, *, by: str = "", groups: tuple[str, ...] = (), namespace: str = "", **spec: Any) -> Reply:
        """Make a permit from a template, as somebody (alice unless said); the answer of the server, whatever it is."""
        body = {"template": {"kind": template["kind"], "name": template["metadata"]["name"]}, **spec}
        permit = ref(VERSION, KIND.kind, fresh(self.stage.name("permit")), namespace or self.home) | {"spec": body}
        reply = self.as_(by or self.alice, *groups).create(permit)
        if reply.status == 201:
            self.stage.made.append(reply.body)
        return reply

    def asked(self, template: Manifest, phase: str = "Requested", **how: Any) -> Manifest:
        """A permit that was made and is in a phase by now."""
        permit: Manifest = self.ask(template, **how).expect(201).body
        return self.reaches(permit, phase)

    def patch(self, permit: Manifest, *, by: str = "", groups: tuple[str, ...] = (), **status: Any) -> Reply:
        """Write into the status of a permit, as somebody (bob unless said)."""
        return self.as_(by or self.bob, *groups).merge_patch(permit, {"status": status}, subresource="status")

    def approve(self, permit: Manifest, *, by: str = "", **status: Any) -> Manifest:
        """Approve what is there now; answers the permit."""
        body: Manifest = self.patch(permit, by=by, phase="Approved", **status).expect(200).body
        return body

    def reaches(self, permit: Manifest, phase: str, timeout: float = 20) -> Manifest:
        """Wait until a permit is in a phase; answers it."""

        def look() -> Manifest:
            live: Manifest = self.stage.api.get(permit).expect(200).body
            status = live.get("status") or {}
            said = [(each["reason"], each["message"]) for each in status.get("conditions") or ()]
            assert status.get("phase") == phase, f"{status.get('phase')}: {said}"
            return live

        return eventually(look, timeout=timeout)

    def ended(self, permit: Manifest, timeout: float = 20) -> None:
        """Wait until the permit is gone."""
        eventually(lambda: self.stage.api.get(permit).expect(404), timeout=timeout)


def config_map(name: str = "temporary", namespace: str = "", **policy: Any) -> Manifest:
    """A group with one ConfigMap, whose data say who asked."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"for": "{{ request.name }}"}}
    return {"policy": policy, "targets": [target]}


@contextmanager
def permits(stage: Stage, desk: Office) -> Iterator[Permits]:
    """Admission in force for the namespace `home` of a stage, until the end of the block."""
    made = ours(desk.place, desk.bundle, stage.name("permits"), stage.home)
    for manifest in made:
        stage.api.create(manifest).expect(201)
    try:
        found = Permits(stage, desk, stage.home, stage.account.name)
        found.alice, found.bob = found.requester("alice"), found.reviewer("bob")
        eventually(partial(_in_force, found))
        yield found
    finally:
        for manifest in made:
            stage.api.delete(manifest).expect(200, 404)


def _in_force(found: Permits) -> Reply:
    """A server asks a moment after it was told whom: until then a permit of an unknown template is made, as a dry run."""
    nobody = {"template": {"kind": LOCAL, "name": "nobody"}}
    permit = ref(VERSION, KIND.kind, "trial", found.home) | {"spec": nobody}
    return found.as_(found.alice).create(permit, dryRun="All").expect(422)


__all__ = ["GLOBAL", "LOCAL", "PERMITS", "TEMPLATES", "Office", "Permits", "config_map", "office", "permits"]
