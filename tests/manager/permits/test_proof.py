"""What can be proved about a permit: all of an honest one, in every phase, and nothing that was written over it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.kind import Kind
from apis.meta import PARENT_EXTRA, Manifest
from manager.permits.proof import Part, check, key_ids
from policy.permits import steps
from policy.permits.snapshot import Snapshot
from policy.permits.trail import hash_of, head
from policy.permits.why import Why
from tests.manager.permits.life import ALICE, BOB, CAROL, MALLORY, Life, snapshot
from tests.support.api import Api


def _adjusted(life: Life) -> Life:
    life.requested().ask("Approved", BOB)
    return life.ask("Approved", CAROL, request=life.status["request"] | {"duration": "10m"}).ask("Approved", BOB)


def _sent_back(life: Life, why: Why = Why.PREVIEW_CHANGED) -> Life:
    return life.begun().take(steps.sent_back(life.status, why, "a target is there by now", snapshot(), life.now))


def _preflight(life: Life, *, auto: bool) -> Life:
    rendered = snapshot(auto=auto, required=1)
    life.created().take(steps.failed(life.status, "ResourceDryRunFailed", "no", life.now, rendered)).ask("Retrying", BOB)
    return life.take(steps.retried(life.status, life.now, rendered))


HONEST: dict[str, Callable[[Life], Life]] = {
    "new": lambda life: life,
    "created": Life.created,
    "requested": Life.requested,
    "one approval": lambda life: life.requested().ask("Approved", BOB),
    "approved": Life.approved,
    "approved with another duration": _adjusted,
    "approved by its template": Life.auto,
    "denied": lambda life: life.requested().ask("Denied", BOB),
    "begun": Life.begun,
    "active": Life.active,
    "active without end": lambda life: life.active(duration=None),
    "active by its template": lambda life: life.auto().take(steps.begun(life.status, life.now)),
    "failed": Life.failed,
    "retried": lambda life: life.failed().ask("Retrying", ALICE).take(steps.retried(life.status, life.now)),
    "failed before its review": lambda life: _preflight(life, auto=False),
    "failed before its template approved": lambda life: _preflight(life, auto=True),
    "sent back": _sent_back,
    "approved again": lambda life: _sent_back(life).ask("Approved", CAROL).ask("Approved", BOB),
    "expired": lambda life: life.active().take(steps.expired(life.status, Why.EXPIRED, life.now)),
    "expired early": lambda life: life.active().ask("Expired", ALICE),
    "expired before it began": lambda life: life.created().ask("Expired", ALICE),
}


@pytest.mark.parametrize("live", HONEST.values(), ids=HONEST.keys())
def test_an_honest_permit_is_proved_in_every_phase(live: Callable[[Life], Life]):
    """Or the manager would take back what it should give."""
    life = live(Life())
    assert life.found(known=head(life.permit.get("status") or {})) == []


def test_a_permit_outlives_its_key():
    """Old public keys stay for ever."""
    life = Life().requested()
    life.rotate()
    life.ask("Approved", BOB)
    assert len(key_ids(life.permit)) == 2
    assert life.found() == []


def _to(path: str, **fields: Any) -> Callable[[Manifest], None]:
    """Write fields over an object of a permit: `status.active`."""

    def tamper(permit: Manifest) -> None:
        _at(permit, path).update(fields)

    return tamper


def _without(path: str, field: str | int = -1) -> Callable[[Manifest], None]:
    """Take a field out of an object of a permit, or the last element out of a list."""

    def tamper(permit: Manifest) -> None:
        _at(permit, path).pop(field)

    return tamper


def _at(permit: Manifest, path: str) -> Any:
    found: Any = permit
    for part in path.split("."):
        found = found[int(part) if part.isdigit() else part]
    return found


TARGET = "status.request.resources.0.targets.0.metadata"
APPROVALS = "status.review.approvals"
LATE = "2027-01-01T00:00:00Z"


def _approved_by_hand(permit: Manifest) -> None:
    digest = permit["status"]["request"]["digest"]
    said = [{"reviewer": each, "time": "2026-03-01T12:00:01Z", "digest": digest} for each in (BOB, CAROL)]
    permit["status"]["review"]["approvals"] = said


def _digest_anew(permit: Manifest) -> None:
    _at(permit, TARGET).update(name="admins")
    digest = Snapshot.of(permit["status"]).digest
    for holder in (permit["status"]["request"], *_at(permit, APPROVALS)):
        holder["digest"] = digest


def _twice(permit: Manifest) -> None:
    _at(permit, APPROVALS)[1] = _at(permit, APPROVALS)[0]


SEAL, SNAPSHOT, APPROVAL = ("seal", None), ("snapshot", None), ("approvals", None)


@pytest.mark.parametrize(
    ("live", "tamper", "found"),
    [
        pytest.param(Life.requested, _to("spec.requester", name="bob"), [SEAL, ("requester", 0)], id="requester"),
        pytest.param(Life.requested, _without("spec.requester", "seal"), [SEAL], id="no seal"),
        pytest.param(Life.requested, _to("spec.requester.seal", key="0" * 16), [SEAL], id="key of the seal"),
        pytest.param(Life.requested, _to("spec", params={"user": "root"}), [SEAL], id="parameters"),
        pytest.param(Life.requested, _to("metadata", name="other"), [SEAL], id="another name"),
        pytest.param(Life.requested, _to("metadata", uid="other"), [("trail", 0)], id="another permit"),
        pytest.param(Life.requested, _to("status", phase="Approved"), [("phase", 1), APPROVAL], id="phase"),
        pytest.param(Life.requested, _without("status", "transitions"), [("phase", None), SNAPSHOT], id="no trail"),
        pytest.param(Life.approved, _without("status.transitions"), [("phase", 2), APPROVAL], id="tail"),
        pytest.param(Life.active, _to(TARGET, name="admins"), [SNAPSHOT], id="target"),
        pytest.param(Life.active, _to("status", grants=[]), [SNAPSHOT], id="grants"),
        pytest.param(Life.active, _to("status.roles.0", uid="r-2"), [SNAPSHOT], id="role"),
        pytest.param(Life.active, _to("status.request", duration="8h"), [SNAPSHOT], id="duration"),
        pytest.param(Life.active, _without("status", "request"), [("snapshot", 5)], id="no snapshot"),
        pytest.param(Life.active, _digest_anew, [("snapshot", 5), APPROVAL, APPROVAL], id="target and digest"),
        pytest.param(Life.active, _to("status.active", until=LATE), [("end", 5)], id="end"),
        pytest.param(Life.active, _without("status.active", "until"), [("end", 5)], id="no end"),
        pytest.param(Life.active, _without("status", "active"), [("end", 5)], id="end taken out"),
        pytest.param(Life.begun, _without("status", "active"), [("end", 4)], id="end taken out before the first write"),
        pytest.param(Life.approved, _to("status", active={"from": LATE}), [("end", None)], id="begun by nobody"),
        pytest.param(Life.requested, _approved_by_hand, [APPROVAL, APPROVAL], id="approvals"),
        pytest.param(Life.approved, _without(APPROVALS), [APPROVAL], id="an approval taken out"),
        pytest.param(Life.approved, _twice, [APPROVAL], id="an approval twice"),
        pytest.param(Life.approved, _to(f"{APPROVALS}.1", reviewer=MALLORY), [APPROVAL], id="another reviewer"),
        pytest.param(Life.approved, _to(f"{APPROVALS}.0", time=LATE), [APPROVAL], id="a later approval"),
    ],
)
def test_what_somebody_wrote_over_a_permit_is_found(
    live: Callable[[Life], Life], tamper: Callable[[Manifest], Any], found: list[tuple[str, int | None]]
):
    """Whoever may write the status, or the store itself, still has no key."""
    life = live(Life())
    tamper(life.permit)
    assert life.found() == found


def test_an_approval_from_before_the_review_began_anew_does_not_count():
    """Not even of the same digest: what would happen had changed, and nobody has looked at that."""
    life = Life().approved()
    before = life.status["review"]
    life.take(steps.begun(life.status, life.now))
    life.take(steps.sent_back(life.status, Why.PREVIEW_CHANGED, "a target is there by now", snapshot(), life.now))
    assert life.status["request"]["digest"] == before["digest"]
    life.status["review"] = before
    assert life.found() == [(Part.APPROVALS, None)] * 2


def test_a_transition_that_was_made_without_a_key_is_found_first():
    """All hashes right, the phase, the approval and the end as they should be: and no signature of ours."""
    life = Life().requested(required=1)
    mallory = Life()
    mallory.permit = copy.deepcopy(life.permit)
    mallory.ask("Approved", BOB).take(steps.begun(mallory.status, mallory.now))
    life.permit = mallory.permit
    assert life.found() == [(Part.TRAIL, 2)]
    for link in life.status["transitions"][2:]:
        link["key"] = next(iter(life.public))
    assert life.found() == [(Part.TRAIL, 2)]
    del life.status["transitions"][2]["signature"]
    assert life.found() == [(Part.TRAIL, 2)]


def test_a_status_of_an_earlier_time_shows_against_a_hash_that_was_noted():
    """Somebody puts back what was stored before the permit was ended."""
    life = Life().active()
    earlier = copy.deepcopy(life.permit)
    life.ask("Expired", BOB)
    noted = head(life.status)
    life.permit = earlier
    assert life.found() == []
    assert life.found(known=noted) == [(Part.TRAIL, 6)]


@pytest.mark.parametrize("nothing", [None, {}, [], "Active"])
def test_a_permit_whose_status_was_lost_is_a_new_one(nothing: Any):
    """Nothing of it can be proved but who asked for it; and a hash that was noted is missing."""
    life = Life().active()
    noted = head(life.status)
    life.permit["status"] = nothing
    assert life.found() == []
    assert life.found(known=noted) == [(Part.TRAIL, 0)]


def test_a_permit_of_another_cluster_is_not_proved():
    """Its keys are not ours."""
    life, other = Life().active(), Life()
    assert [(finding.part, finding.index) for finding in check(life.permit, other.public)] == [(Part.SEAL, None), (Part.TRAIL, 0)]


def test_a_seal_made_before_the_server_gave_the_name_is_right():
    """`generateName`: admission sees no name."""
    life = Life()
    del life.permit["metadata"]["name"]
    life.seal()
    life.permit["metadata"]["name"] = "inc-x7k2p"
    assert life.created().found() == []


def test_each_finding_names_the_field():
    """The reader of a condition or of the command must know where to look."""
    life = Life().active()
    life.status["active"]["until"] = "2027-01-01T00:00:00Z"
    [finding] = check(life.permit, life.public)
    signed = life.status["transitions"][-1]["until"]
    assert str(finding) == f"status.active.until is 2027-01-01T00:00:00Z, and {signed} was signed"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
places = st.sampled_from(
    [
        ("spec",),
        ("metadata",),
        ("spec", "requester"),
        ("spec", "requester", "seal"),
        ("metadata", "uid"),
        ("status", "transitions"),
        ("status", "request"),
        ("status", "grants"),
        ("status", "review"),
        ("status", "review", "approvals"),
        ("status", "active"),
        ("status", "transitions", 0),
        ("status", "transitions", 1, "index"),
        ("status", "transitions", 1, "key"),
        ("status", "transitions", 1, "signature"),
        ("status", "transitions", 1, "hash"),
    ]
)
ACTIVE = Life().active()


@given(place=places, value=json_values)
def test_a_file_may_hold_anything(place: tuple[str | int, ...], value: Any):
    """What is no permit is not proved, and never a crash."""
    permit = copy.deepcopy(ACTIVE.permit)
    holder: Any = permit
    for part in place[:-1]:
        holder = holder[part]
    if json.dumps(holder[place[-1]]) == json.dumps(value):
        return
    holder[place[-1]] = value
    findings = check(permit, ACTIVE.public)
    assert findings
    assert all(str(finding) for finding in findings)
    key_ids(permit)


def test_what_a_server_stores_is_what_was_signed(api: Api, crds: tuple[Kind, ...], namespace: str):
    """Numbers, characters and empty things come back in another text, and mean the same."""
    life, me = Life(), api.as_user("alice", groups=["system:masters"])
    life.permit["spec"]["requester"] = {"name": "alice", "type": "User", "groups": ["system:masters"]}
    life.permit["metadata"] = {"namespace": namespace, "generateName": "inc-"}
    life.permit["spec"] |= {"params": {"size": 1.0, "share": 2.5, "big": 1e21, "text": "\u00fc\u2028<&>", "none": [], "no": {}}}
    life.seal()
    life.permit = me.create(life.permit).expect(201).body
    life.created()
    rendered = snapshot(name="\U0001f511 <&>")
    target: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}, "more": [1.0, 0.1, -3, True, {"deep": {"": ""}}]}
    rendered.request["resources"][0]["targets"].append(target)
    life.take(steps.prepared(life.status, rendered, life.now)).ask("Approved", BOB, review={"message": "g\u00f6 <on>"})
    life.ask("Approved", CAROL).take(steps.begun(life.status, life.now)).take(steps.activated(life.status, life.now))
    manager = api.as_user("manager", groups=["system:masters"], extra={PARENT_EXTRA: [life.permit["metadata"]["uid"]]})
    manager.merge_patch(life.permit, {"status": life.status}, subresource="status").expect(200)
    noted = head(life.status)
    life.permit = api.get(life.permit).expect(200).body
    assert life.status["transitions"][-1]["until"]
    assert life.found(known=noted) == []


def test_the_hash_of_a_trail_that_has_no_uid_is_not_that_of_one_that_has():
    """An export without metadata proves nothing."""
    life = Life().created()
    assert hash_of("", life.status["transitions"][0]) != life.status["transitions"][0]["hash"]
    assert life.status["phase"] == Phase.CREATED
