"""A cluster for the commands of permits: templates, permits and keys in memory, and admission as the product does it."""

import asyncio
import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.problems import Problem, Stale
from manager.answers import Request, problem
from manager.permits import signatures
from manager.permits.options import Access, Connection
from manager.world import Event, Listing, Resource
from policy.permits.lifecycle import asked
from policy.permits.ready import entered
from policy.permits.refusal import Refused
from policy.permits.snapshot import Snapshot
from policy.permits.step import Step
from policy.permits.trail import append, seal_text

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
PLACE = "solar-prod"
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = signatures.raw(KEY)
KEY_ID = signatures.key_id(PUBLIC)
ALICE: Manifest = {"name": "alice", "type": "User", "groups": ["dev"]}
SYSTEM: Manifest = {"name": "copyhold", "type": "System"}

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "pull", "namespace": PLACE},
    "data": {"token": "sha256:aa"},
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "incident", "namespace": PLACE},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    "subjects": [{"kind": "User", "name": "alice"}],
}
REQUEST: Manifest = {
    "template": {"kind": "ResourcePermitTemplate", "name": "pod-reader", "uid": "t-1", "generation": 3},
    "impersonation": {"namespace": PLACE, "name": "permit-runner"},
    "approvals": {"required": 1, "deadline": "24h", "approvers": [{"kind": "User", "name": "bob"}]},
    "duration": "30m",
    "maxDuration": "8h",
    "keepFor": "30d",
    "resources": [{"name": "rights", "policy": {"creation": "Owner", "deletion": "Remove"}, "targets": [SECRET, BINDING]}],
}
PREVIEW = [
    {"kind": "Secret", "version": "v1", "namespace": PLACE, "name": "pull", "verb": "Patch", "paths": [".data.token"]},
    {"group": "rbac.authorization.k8s.io", "kind": "RoleBinding", "namespace": PLACE, "name": "incident", "verb": "Create"},
]
GRANTS = [
    {
        "subject": "User/alice",
        "namespace": PLACE,
        "verbs": ["get", "list"],
        "apiGroups": [""],
        "resources": ["pods"],
        "via": f"RoleBinding {PLACE}/incident",
    }
]


def sign(data: bytes) -> tuple[str, str]:
    """The manager's signature."""
    return KEY_ID, signatures.sign(KEY, data)


def permit(name: str = "incident-1042", **spec: Any) -> Manifest:
    """A permit as admission lets it in."""
    made: Manifest = {
        "apiVersion": "copyhold.dev/v1alpha1",
        "kind": "ResourcePermit",
        "metadata": {"namespace": PLACE, "name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-03-01T11:00:00Z"},
        "spec": {
            "template": {"kind": "ResourcePermitTemplate", "name": "pod-reader"},
            "reason": "INC-1042",
            "requester": ALICE,
            **spec,
        },
    }
    key, signature = sign(seal_text(made))
    made["spec"]["requester"] = {**ALICE, "seal": {"key": key, "signature": signature}}
    return made


def went(one: Manifest, *steps: Step) -> Manifest:
    """The permit after these steps."""
    status = one.get("status") or {}
    for step in steps:
        status = append(entered(status, step.type, NOW), one["metadata"]["uid"], step, NOW, sign)
    return {**one, "status": status}


def requested(name: str = "incident-1042", **request: Any) -> Manifest:
    """A permit that waits for its reviewers."""
    made = went(permit(name), Step(Phase.CREATED, ALICE, "CreatedByUser"))
    snapshot = Snapshot({**REQUEST, **request}, PREVIEW, GRANTS)
    made["status"] = snapshot.into(made["status"]) | {"review": {"verdict": "Pending"}}
    return went(made, Step(Phase.REQUESTED, SYSTEM, "PendingReview"))


def active(until: str = "2026-03-01T12:29:58Z") -> Manifest:
    """A permit that gives access."""
    made = requested()
    approval = {"reviewer": {"name": "bob", "type": "User"}, "time": "2026-03-01T12:00:00Z", "digest": digest(made)}
    made["status"] |= {"review": {"verdict": "Approved", "reviewer": approval["reviewer"], "approvals": [approval]}}
    made = went(made, Step(Phase.APPROVED, approval["reviewer"], "ApprovedByUser"))
    made["status"] |= {"active": {"from": "2026-03-01T11:59:58Z", "until": until}, "keepUntil": "2026-03-31T12:29:58Z"}
    return went(made, Step(Phase.ACTIVE, SYSTEM, "ActivatedBySystem", until=until))


def digest(one: Manifest) -> str:
    """The digest of its snapshot."""
    found: str = one["status"]["request"]["digest"]
    return found


def keys(namespace: str = "copyhold-system") -> Manifest:
    """The ConfigMap with the public keys."""
    public = signatures.b64encode(PUBLIC).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": "copyhold-permit-keys"},
        "data": {"current": KEY_ID, KEY_ID: public},
    }


def template(schema: Manifest | None = None, *, name: str = "pod-reader", namespace: str = PLACE) -> Manifest:
    """A template; a global one without a namespace."""
    kind = "ResourcePermitTemplate" if namespace else "GlobalResourcePermitTemplate"
    return {
        "apiVersion": "copyhold.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "spec": {"resources": [{"targets": [SECRET]}]} | ({"paramSchema": schema} if schema is not None else {}),
    }


@dataclass
class Bureau:
    """What is stored, who asks, and what becomes of a permit after it was made. `refused` is the answer to reading a kind."""

    objects: list[Manifest] = field(default_factory=list)
    user: str = "bob"
    groups: tuple[str, ...] = ()
    later: Sequence[Manifest] = ()
    refused: dict[str, Problem] = field(default_factory=dict)
    patches: list[Manifest] = field(default_factory=list)
    before_patch: Manifest | None = None
    admission: bool = True

    @property
    def client(self) -> "Bureau":
        """There are no connections that could rest."""
        return self

    def forget_idle(self) -> None:
        """Nothing rests."""

    @asynccontextmanager
    async def connect(self, access: Access) -> AsyncIterator[Connection]:
        """In the place of `Access.connect`."""
        self.user, self.groups = access.user or self.user, access.groups
        yield Connection(self, access.namespace or PLACE, lambda: NOW)  # type: ignore[arg-type]

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Every kind is served."""
        group, _, version = api_version.rpartition("/")
        return Resource(group, version, kind, f"{kind.lower()}s", not kind.startswith("Global"))

    async def get(self, resource: Resource, namespace: str, name: str, **_: Any) -> Manifest | None:
        """One object."""
        if resource.kind in self.refused:
            raise self.refused[resource.kind]
        return copy.deepcopy(self._find(resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", *, fields: str = "", **_: Any) -> Listing:
        """The objects of a kind, by namespace and name."""
        if resource.kind in self.refused:
            raise self.refused[resource.kind]
        places = [one for one in self.objects if one["kind"] == resource.kind]
        named = [one for one in places if namespace in ("", one["metadata"].get("namespace"))]
        found = [one for one in named if fields in ("", f"metadata.name={one['metadata']['name']}")]
        return Listing(copy.deepcopy(found), "1")

    async def watch(self, resource: Resource, namespace: str = "", **_: Any) -> AsyncIterator[Event]:
        """What becomes of the permit; the last one is deleted when it says so."""
        for one in self.later:
            gone = bool(one["metadata"].get("deletionTimestamp"))
            yield Event("DELETED" if gone else "MODIFIED", copy.deepcopy(one))
        for _ in range(20):
            await asyncio.sleep(0)
        raise AssertionError("the command should have ended")

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """Store it, with the name and the UID that a server gives."""
        metadata = {**manifest["metadata"]}
        metadata["name"] = metadata.get("name") or metadata.pop("generateName") + "x7k2p"
        if self._find(resource, namespace, metadata["name"]):
            raise Stale(f"{resource.kind} {namespace}/{metadata['name']} already exists")
        made = {**manifest, "metadata": {**metadata, "uid": f"uid-{metadata['name']}"}}
        self.objects.append(made)
        return copy.deepcopy(made)

    async def merge_patch(
        self, resource: Resource, namespace: str, name: str, patch: Manifest, *, manager: str, subresource: str
    ) -> Manifest:
        """What admission makes of a status that somebody writes."""
        assert subresource == "status"
        self.patches.append(patch)
        if self.before_patch is not None:
            self.objects = [self.before_patch]
        request = Request("PATCH", f"{resource.kind} {namespace}/{name}", resource.plural)
        found = self._find(resource, namespace, name)
        if found is None:
            raise problem(request, 404, _status(404, f'resourcepermits.copyhold.dev "{name}" not found'))
        wanted = _merged(found.get("status") or {}, patch["status"])
        if not self.admission:
            return {**found, "status": wanted}
        actor = {"name": self.user, "type": "User", "groups": list(self.groups)}
        try:
            change = asked(found, wanted, actor, NOW)
        except Refused as refused:
            words = f'admission webhook "permits.copyhold.dev" denied the request: {refused.message}'
            raise problem(request, refused.code, _status(refused.code, words)) from None
        uid = found["metadata"]["uid"]
        found["status"] = append(change.status, uid, change.step, NOW, sign) if change.step else change.status
        return copy.deepcopy(found)

    def _find(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        key = (resource.kind, namespace, name)
        return next((one for one in self.objects if key == (one["kind"], *_place(one))), None)


def _place(one: Manifest) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _status(code: int, message: str) -> bytes:
    return orjson.dumps({"kind": "Status", "code": code, "message": message})


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    return {**old, **{key: _merged(old.get(key), value) for key, value in patch.items()}}
