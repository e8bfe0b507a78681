"""Builders for permits in each phase, as admission and the manager leave them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits import lifecycle
from policy.permits.refusal import Refused
from policy.permits.snapshot import Snapshot

MADE = datetime(2026, 8, 31, 10, tzinfo=UTC)
NOW = MADE + timedelta(minutes=5)
UID = "5d0e2c9e-0000-4000-8000-000000000001"

ALICE: Manifest = {"name": "alice", "type": "User", "uid": "u-alice", "groups": ["dev"]}
"""Who asks."""
SUE: Manifest = {"name": "sue", "type": "User", "uid": "u-sue", "groups": ["sre"]}
TOM: Manifest = {"name": "tom", "type": "User", "groups": ["sre"]}
"""Who review."""
BOT: Manifest = {"name": "system:serviceaccount:ci:bot", "type": "ServiceAccount", "uid": "u-bot", "groups": ["sre"]}

PODS = {"subject": "User/alice", "namespace": "solar-prod", "verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
ROLE = {"kind": "Role", "namespace": "solar-prod", "name": "reader", "uid": "r", "rulesDigest": "sha256:1"}
SECRETS = PODS | {"resources": ["secrets"]}


def at(minutes: float = 0, *, hours: float = 0) -> datetime:
    """So long after the permit was made."""
    return MADE + timedelta(minutes=minutes, hours=hours)


def rules(**changes: Any) -> Manifest:
    """The rules of approval of the template."""
    return {"auto": False, "required": 1, "selfApproval": "Deny", "validFor": "24h"} | changes


def request(approvals: Manifest | None = None, **changes: Any) -> Manifest:
    """The snapshot, without its digest; a field that is None is left out."""
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "solar-prod"}, "data": {"k": "v"}}
    made = {
        "template": {"kind": "ResourcePermitTemplate", "name": "pod-reader", "uid": "t", "generation": 1},
        "impersonation": {"namespace": "solar-prod", "name": "permit-runner"},
        "approvals": rules() if approvals is None else approvals,
        "duration": "30m",
        "maxDuration": "8h",
        "keepFor": "30d",
        "resources": [{"name": "reader", "policy": {"creation": "Owner"}, "targets": [target]}],
    }
    return {field: value for field, value in (made | changes).items() if value is not None}


def snapshot(approvals: Manifest | None = None, *, grants: Any = (PODS,), **changes: Any) -> Snapshot:
    """What the manager found out when it rendered and tried."""
    preview = {"kind": "ConfigMap", "name": "a", "namespace": "solar-prod", "verb": "Create"}
    return Snapshot(request(approvals, **changes), [preview], list(grants), [ROLE])


def permit(status: Manifest | None = None, **metadata: Any) -> Manifest:
    """The permit of alice."""
    made: Manifest = {
        "apiVersion": "copyhold.dev/v1alpha1",
        "kind": "ResourcePermit",
        "metadata": {"name": "incident", "namespace": "solar-prod", "uid": UID, "creationTimestamp": "2026-08-31T10:00:00Z"}
        | metadata,
        "spec": {
            "template": {"kind": "ResourcePermitTemplate", "name": "pod-reader"},
            "requester": ALICE | {"seal": {"key": "k", "signature": "s"}},
        },
    }
    return made if status is None else made | {"status": status}


def ended(stepped: tuple[Manifest, lifecycle.Step]) -> Manifest:
    """The status of a step, with a transition as it is in a trail, unsigned."""
    status, step = stepped
    transition: Manifest = {"type": str(step.type), "actor": step.actor, "reason": step.reason, "message": step.message}
    if "request" in status:
        transition["digest"] = status["request"]["digest"]
    return status | {"transitions": [*status.get("transitions", ()), transition]}


def created() -> Manifest:
    """The status at first."""
    return ended(lifecycle.created(permit(), MADE))


def requested(of: Snapshot | None = None) -> Manifest:
    """The status of a permit that waits for its review."""
    return ended(lifecycle.prepared(created(), of or snapshot(), MADE))


def approved(of: Snapshot | None = None, *, when: datetime = NOW) -> Manifest:
    """The status after sue approved."""
    change = lifecycle.asked(permit(requested(of)), {"phase": "Approved"}, SUE, when)
    assert change.step is not None
    return ended((change.status, change.step))


def begun(of: Snapshot | None = None, *, when: datetime = NOW) -> Manifest:
    """The status right before the first write."""
    return ended(lifecycle.begun(approved(of, when=when), when))


def active(of: Snapshot | None = None, *, when: datetime = NOW) -> Manifest:
    """The status while the access is given; one target is recorded."""
    item = {"kind": "ConfigMap", "name": "a", "namespace": "solar-prod", "version": "v1", "uid": "x"}
    return ended(lifecycle.activated(begun(of, when=when) | {"processedItems": [item], "size": 1}, when))


def in_phase(phase: Phase | None, of: Snapshot | None = None) -> Manifest:
    """A status of each phase, reached by the steps that lead there; empty for a permit that nobody has seen yet."""
    match phase:
        case None:
            return {}
        case Phase.CREATED:
            return created()
        case Phase.REQUESTED:
            return requested(of)
        case Phase.PENDING:
            return requested(of) | {"phase": "Pending"}
        case Phase.DENIED:
            return _asked(requested(of), "Denied")
        case Phase.APPROVED:
            return approved(of)
        case Phase.ACTIVE:
            return active(of)
        case Phase.FAILED:
            return ended(lifecycle.failed(approved(of), "ResourceApplyFailed", "no", NOW))
        case Phase.RETRYING:
            return _asked(in_phase(Phase.FAILED, of), "Retrying")
        case Phase.EXPIRED:
            return _asked(active(of), "Expired")


def _asked(status: Manifest, phase: str) -> Manifest:
    change = lifecycle.asked(permit(status), status | {"phase": phase}, SUE, NOW)
    assert change.step is not None
    return ended((change.status, change.step))


def wish(status: Manifest, phase: str, **review: Any) -> Manifest:
    """What a merge patch of the subresource makes of the stored status."""
    sent = status | {"phase": phase}
    return sent | {"review": status.get("review", {}) | review} if review else sent


def refusal(status: Manifest, wanted: Any, actor: Manifest = SUE, now: datetime = NOW, **metadata: Any) -> Refused:
    """The refusal that this must be."""
    with pytest.raises(Refused) as caught:
        lifecycle.asked(permit(status, **metadata), wanted, actor, now)
    return caught.value
