"""Several replicas as processes: whoever dies when access ends, it ends, and each step of it is recorded once."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from apis.copyhold.resourcepermit import KIND
from manager.permits import proof
from manager.permits.keys import NAME as KEYS
from manager.permits.keys import public_keys
from policy.permits.moments import moment
from tests.support.api import Manifest, eventually, ref
from tests.support.names import fresh
from tests.support.permits import LOCAL
from tests.support.process import NAMESPACE, Place, Replica
from tests.support.stage import RBAC, VERSION, group

PERMITS = 20
TRAIL = [
    ("Created", "CreatedByUser"),
    ("Approved", "ApprovedBySystem"),
    ("Approved", "ActivationBegun"),
    ("Active", "ActivatedBySystem"),
    ("Expired", "ExpiredBySystem"),
]
TAKEOVER = 12.0
"""Seconds in which what a dead replica had is certainly another's, and done, on a machine that is busy."""


@pytest.fixture
def replicas(place: Place) -> Iterator[list[Replica]]:
    """Two replicas that share all shards and serve admission; the second one is registered."""
    place.end()
    with ExitStack() as stack:
        stack.callback(_unregister, place)
        stack.callback(place.end)
        made = [_replica(place), _replica(place)]
        place.settled(*made)
        yield made


def _replica(place: Place) -> Replica:
    made = place.replica("--admission-url", "https://127.0.0.1:0")
    made.ready()
    return made


def _unregister(place: Place) -> None:
    """Who was killed could not withdraw itself."""
    for kind in ("Mutating", "Validating"):
        found = ref("admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration", "copyhold")
        place.api.delete(found).expect(200, 404)


@pytest.fixture
def space(place: Place) -> Iterator[str]:
    """A namespace with an account that may give rights; answers its name."""
    name = place.namespace(place.tenant())
    subject = {"kind": "ServiceAccount", "name": "giver", "namespace": name}
    place.api.create(ref("v1", "ServiceAccount", "giver", name)).expect(201)
    binding = ref(f"{RBAC}/v1", "RoleBinding", "giver", name)
    binding |= {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [subject]}
    place.api.create(binding).expect(201)
    yield name
    place.api.delete(ref("v1", "Namespace", name)).expect(200)


def template(place: Place, space: str, duration: str) -> Manifest:
    """A template that gives the right to view, approved by itself."""
    binding = ref(f"{RBAC}/v1", "RoleBinding", "{{ request.name }}")
    binding["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    binding["subjects"] = [{"apiGroup": RBAC, "kind": "User", "name": "alice"}]
    spec = {
        "impersonation": {"name": "giver"},
        "approvals": {"auto": True},
        "defaultDuration": duration,
        "keepFor": "1h",
        "resources": [group(binding)],
    }
    made: Manifest = eventually(lambda: place.api.create(ref(VERSION, LOCAL, "viewer", space) | {"spec": spec}).expect(201)).body
    return made


def ask(place: Place, space: str) -> Manifest:
    """A permit, as soon as the template is Ready and admission is in force."""
    spec = {"template": {"kind": LOCAL, "name": "viewer"}}
    permit = ref(VERSION, KIND.kind, fresh("permit"), space) | {"spec": spec}
    made: Manifest = eventually(lambda: place.api.create(permit).expect(201)).body
    return made


def bindings(place: Place, space: str) -> list[str]:
    """The bindings that permits have given."""
    items = place.api.list(f"{RBAC}/v1", "RoleBinding", space, labelSelector="copyhold.dev/managed").expect(200).body["items"]
    return [item["metadata"]["name"] for item in items]


def in_phase(place: Place, space: str, phase: str) -> list[Manifest]:
    """All permits, once each is in this phase."""
    items: list[Manifest] = place.api.list(VERSION, KIND.kind, space).expect(200).body["items"]
    others = {item["metadata"]["name"]: item.get("status") for item in items if (item.get("status") or {}).get("phase") != phase}
    assert not others, f"{len(others)} of {len(items)} are not {phase}: {next(iter(others.items()))}"
    return items


def reached(time: datetime) -> None:
    """Wait until a time of day."""
    tick = threading.Event()
    while (left := (time - datetime.now(UTC)).total_seconds()) > 0:
        tick.wait(left)


def test_access_ends_when_the_replica_in_charge_is_killed_at_its_end(place: Place, replicas: list[Replica], space: str) -> None:
    """SIGKILL at `until`, of the replica that also serves admission: the other one takes back what both had given."""
    _, victim = replicas
    template(place, space, "30s")
    for _ in range(PERMITS):
        ask(place, space)
    active = eventually(lambda: in_phase(place, space, "Active"), timeout=25)
    assert len(bindings(place, space)) == PERMITS
    reached(min(moment(permit["status"]["active"]["until"]) for permit in active))
    victim.kill()
    reached(max(moment(permit["status"]["active"]["until"]) for permit in active))
    eventually(lambda: not bindings(place, space), timeout=TAKEOVER)
    over = eventually(lambda: in_phase(place, space, "Expired"), timeout=TAKEOVER)
    keys = public_keys(place.api.get(ref("v1", "ConfigMap", KEYS, NAMESPACE)).expect(200).body)
    for permit in over:
        assert [(each["type"], each["reason"]) for each in permit["status"]["transitions"]] == TRAIL
        assert proof.check({"apiVersion": VERSION, "kind": KIND.kind} | permit, keys) == []
