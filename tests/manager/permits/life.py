"""A permit that lives as one does in a cluster, and the key that its trail is signed with."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apis.meta import Manifest
from manager.permits import signatures
from manager.permits.proof import Part, check
from policy.permits import steps
from policy.permits.lifecycle import asked
from policy.permits.snapshot import Snapshot
from policy.permits.step import Step
from policy.permits.trail import append, seal_text

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
UID = "0b3c5a1e-0000-4000-8000-000000000001"
ALICE: Manifest = {"name": "alice", "type": "User", "groups": ["sre"], "uid": "u-1"}
BOB: Manifest = {"name": "bob", "type": "User", "groups": ["sre"]}
CAROL: Manifest = {"name": "carol", "type": "User", "groups": []}
MALLORY: Manifest = {"name": "mallory", "type": "User", "groups": []}
ROLE: Manifest = {"kind": "Role", "namespace": "solar", "name": "reader", "uid": "r-1", "rulesDigest": "sha256:11"}
GRANT: Manifest = {"subject": "User/alice", "namespace": "solar", "verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


def snapshot(*, name: str = "readers", required: int = 2, auto: bool = False, duration: str | None = "30m") -> Snapshot:
    """What a template rendered."""
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name}}
    request: Manifest = {
        "template": {"kind": "ResourcePermitTemplate", "name": "pods", "uid": "t-1", "generation": 1},
        "impersonation": {"namespace": "solar", "name": "runner"},
        "approvals": {"auto": auto, "required": required, "selfApproval": "Deny", "validFor": "24h"},
        "resources": [{"name": "0", "policy": {"creation": "Owner"}, "targets": [binding]}],
        "keepFor": "30d",
    }
    return Snapshot(request | ({"duration": duration} if duration else {}), (), (GRANT,), (ROLE,))


@dataclass
class Life:
    """A permit that lives as one does in a cluster: each step is signed when it is taken, and a second passes."""

    now: datetime = START
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    public: dict[str, bytes] = field(default_factory=dict)
    permit: Manifest = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.public = {signatures.key_id(signatures.raw(self.key)): signatures.raw(self.key)}
        metadata = {"namespace": "solar", "name": "inc-1042", "uid": UID, "creationTimestamp": "2026-03-01T12:00:00Z"}
        spec: Manifest = {"template": {"kind": "ResourcePermitTemplate", "name": "pods"}, "requester": dict(ALICE)}
        self.permit = {"apiVersion": "copyhold.dev/v1alpha1", "kind": "ResourcePermit", "metadata": metadata, "spec": spec}
        self.seal()

    def sign(self, data: bytes) -> tuple[str, str]:
        """Sign with the present key."""
        return signatures.key_id(signatures.raw(self.key)), signatures.sign(self.key, data)

    def seal(self) -> None:
        """Seal the request, as admission does."""
        key, signature = self.sign(seal_text(self.permit))
        self.permit["spec"]["requester"]["seal"] = {"key": key, "signature": signature}

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = Ed25519PrivateKey.generate()
        self.public[signatures.key_id(signatures.raw(self.key))] = signatures.raw(self.key)

    def take(self, changed: tuple[Manifest, Step | None]) -> "Life":
        """Take a step."""
        status, step = changed
        assert step is not None
        stored = append(status, self.permit["metadata"]["uid"], step, self.now, self.sign)
        self.permit = json.loads(json.dumps(self.permit | {"status": stored}))
        self.now += timedelta(seconds=1)
        return self

    @property
    def status(self) -> Manifest:
        """The status as it is now."""
        found: Manifest = self.permit["status"]
        return found

    def ask(self, phase: str, actor: Manifest, **wanted: Any) -> "Life":
        """Ask for a transition, as a user does."""
        change = asked(self.permit, self.status | {"phase": phase} | wanted, actor, self.now)
        return self.take((change.status, change.step))

    def created(self) -> "Life":
        """The first step."""
        return self.take(steps.created(self.permit, self.now))

    def requested(self, **kind: Any) -> "Life":
        """Ready for review."""
        return self.created().take(steps.prepared(self.status, snapshot(**kind), self.now))

    def approved(self, **kind: Any) -> "Life":
        """Approved by two."""
        return self.requested(**kind).ask("Approved", BOB).ask("Approved", CAROL)

    def begun(self, **kind: Any) -> "Life":
        """Before the first write."""
        return self.approved(**kind).take(steps.begun(self.status, self.now))

    def active(self, **kind: Any) -> "Life":
        """With access."""
        return self.begun(**kind).take(steps.activated(self.status, self.now))

    def failed(self) -> "Life":
        """Not activated, and all taken back."""
        return self.begun().take(steps.failed(self.status, "ResourceApplyFailed", "Role solar/reader: no", self.now))

    def auto(self) -> "Life":
        """Approved by the template."""
        return self.created().take(steps.auto_approved(self.status, snapshot(auto=True, required=1), self.now))

    def found(self, **known: str) -> list[tuple[Part, int | None]]:
        """What speaks against it: which part, and the transition."""
        return [(finding.part, finding.index) for finding in check(self.permit, self.public, **known)]
