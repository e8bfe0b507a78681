"""A cluster administrator deletes the webhooks and writes as the manager: nothing is applied that was not signed.

The private keys stay in the manager's namespace; whoever has those too is beyond what the trail can show.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.permits.canonical import canonical
from tests.scenario.permits.tampering import absent, active, as_the_manager, given, look, says, without_webhooks
from tests.support.api import Manifest, ref
from tests.support.permits import Permits

FUTURE = "2099-01-01T00:00:00Z"
FAILURE = {"stage": "Activation", "retryPhase": "Approved", "reason": "ResourceApplyFailed", "message": "try again"}
Forge = Callable[[Manifest], Manifest]


def unsigned(permit: Manifest, kind: str, reason: str, **more: Any) -> list[Manifest]:
    """The trail with one more step, whole but for a signature that its author cannot make."""
    steps = permit["status"]["transitions"]
    last = steps[-1]
    step = {**last, "index": len(steps), "previous": last["hash"], "type": kind, "reason": reason, **more}
    return [*steps, step]


def approval(permit: Manifest) -> Manifest:
    """Approved by bob, who never heard of it."""
    bob = {"name": "bob", "type": "User", "groups": []}
    digest = permit["status"]["request"]["digest"]
    said = {"reviewer": bob, "time": permit["status"]["transitions"][-1]["timestamp"], "digest": digest}
    review = {"verdict": "Approved", "reviewer": bob, "digest": digest, "approvals": [said]}
    steps = unsigned(permit, "Approved", "ApprovedByUser", actor=bob)
    return {"phase": "Approved", "review": review, "transitions": steps}


def other_targets(permit: Manifest) -> Manifest:
    """Other targets under the signed digest."""
    groups = [group | {"targets": [_seized(permit)]} for group in permit["status"]["request"]["resources"]]
    return {"request": {"resources": groups}}


def _seized(permit: Manifest) -> Manifest:
    return ref("v1", "ConfigMap", "seized", permit["metadata"]["namespace"])


BEFORE: Mapping[str, Forge] = {
    "the phase alone": lambda _: {"phase": "Retrying", "failure": FAILURE},
    "an approval": approval,
    "active at once": lambda permit: {
        **approval(permit),
        "phase": "Active",
        "active": {"from": "2026-01-01T00:00:00Z", "until": FUTURE},
        "transitions": unsigned(permit, "Active", "ActivatedBySystem", until=FUTURE),
    },
    "other targets": other_targets,
    "another account": lambda _: {"request": {"impersonation": {"namespace": "kube-system", "name": "root"}}},
    "no trail": lambda permit: {**approval(permit), "transitions": []},
}


@pytest.mark.parametrize("word", BEFORE)
def test_nothing_is_given_that_was_not_signed(permits: Permits, word: str) -> None:
    """Whatever is written into a permit that waits for its review, no target is made, and the permit says why."""
    manager = permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(defaultDuration="1h"))
    without_webhooks(permits)
    as_the_manager(permits, permit, **BEFORE[word](permit))
    look(manager)
    message = says(permits, permit, "TrailBroken")
    assert "nothing is applied" in message
    assert "make another one" in message
    manager.restart()
    says(permits, permit, "TrailBroken")
    manager.idle()
    absent(permits, given(permits))
    absent(permits, _seized(permit))


def test_a_phase_without_approvals_is_over_at_once(permits: Permits) -> None:
    """Approved by nobody is good for no time: the permit ends, and gave nothing."""
    manager = permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(defaultDuration="1h"))
    as_the_manager(permits, permit, phase="Approved")
    permits.ended(permit)
    assert "ActivationBegun" not in [each["reason"] for each in manager.transitions]


def test_an_unsigned_step_of_an_administrators_own_is_not_acted_on(permits: Permits) -> None:
    """Without the webhook the policies let a step pass that is by its sender: the manager asks for a signature."""
    manager = permits.stage.manager(permits=True)
    permit = permits.asked(permits.template())
    without_webhooks(permits)
    root = {"name": "root", "type": "User", "groups": ["system:masters"]}
    forged = approval(permit)
    digest = permit["status"]["request"]["digest"]
    said = {"reviewer": root, "time": permit["status"]["transitions"][-1]["timestamp"], "digest": digest}
    forged["review"] = {"verdict": "Approved", "reviewer": root, "digest": digest, "approvals": [said]}
    forged["transitions"][-1] |= {"actor": root}
    permits.patch(permit, by="root", groups=("system:masters",), **forged).expect(200)
    says(permits, permit, "TrailBroken")
    manager.idle()
    absent(permits, given(permits))


def test_a_permit_that_did_not_pass_admission_is_not_begun(permits: Permits) -> None:
    """Made while the webhook was deleted, it has no requester and no seal: it gets neither a finalizer's worth nor a trail."""
    manager = permits.stage.manager(permits=True)
    template = permits.template(approvals={"auto": True})
    without_webhooks(permits)
    for requester in ({}, {"requester": {"name": permits.alice, "type": "User"}}):
        permit = permits.ask(template, **requester).expect(201).body
        message = says(permits, permit, "TrailBroken")
        assert "did not pass admission" in message
    manager.idle()
    absent(permits, given(permits))


ACTIVE: Mapping[str, Forge] = {
    "a later end": lambda _: {"active": {"until": FUTURE}},
    "no end": lambda _: {"active": {"until": None}},
    "other targets": other_targets,
    "a longer duration": lambda _: {"request": {"duration": "9000h"}},
    "a cut trail": lambda permit: {"transitions": permit["status"]["transitions"][:-1], "phase": "Approved"},
    "no trail": lambda _: {"transitions": []},
    "an older whole": lambda permit: {
        "phase": "Requested",
        "transitions": permit["status"]["transitions"][:2],
        "review": {"verdict": "Pending", "reviewer": None, "approvals": None, "digest": None},
        "active": None,
        "keepUntil": None,
    },
    "a step of the system": lambda permit: {"transitions": unsigned(permit, "Active", "ActivatedBySystem", until=FUTURE)},
    "forgotten targets": lambda _: {"processedItems": None, "size": 0, "active": {"until": FUTURE}},
}


@pytest.mark.parametrize("word", ACTIVE)
def test_what_was_given_is_taken_back_when_it_cannot_be_proved_any_more(permits: Permits, word: str) -> None:
    """An active permit that somebody rewrote ends at once, and gives nothing new."""
    manager = permits.stage.manager(permits=True)
    permit = active(permits, permits.template(defaultDuration="1h", keepFor="1h"))
    without_webhooks(permits)
    as_the_manager(permits, permit, **ACTIVE[word](permit))
    permits.stage.gone(given(permits))
    says(permits, permit, "TrailBroken")
    manager.idle()
    absent(permits, given(permits))
    absent(permits, _seized(permit))


@pytest.mark.parametrize("word", ["a later end", "no end", "other targets", "no trail", "forgotten targets"])
def test_what_was_rewritten_while_no_manager_ran_is_taken_back(permits: Permits, word: str) -> None:
    """The same for a manager that begins with an empty memory."""
    manager = permits.stage.manager(permits=True)
    permit = active(permits, permits.template(defaultDuration="1h", keepFor="1h"))
    manager.stop()
    without_webhooks(permits)
    as_the_manager(permits, permit, **ACTIVE[word](permit))
    manager.start()
    permits.stage.gone(given(permits))
    says(permits, permit, "TrailBroken")


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "while it does not"])
def test_targets_that_a_denial_was_to_hide_are_taken_back(permits: Permits, running: bool) -> None:
    """Records that were wiped, under a phase in which nothing is desired, do not make the manager forget what it gave."""
    manager = permits.stage.manager(permits=True)
    permit = active(permits, permits.template(defaultDuration="1h"))
    if not running:
        manager.stop()
    forged = {"phase": "Denied", "transitions": unsigned(permit, "Denied", "DeniedByReviewer")}
    as_the_manager(permits, permit, processedItems=None, size=0, **forged)
    if not running:
        manager.start()
    permits.stage.gone(given(permits))


def test_a_rewritten_permit_can_be_ended(permits: Permits) -> None:
    """What says TrailBroken is ended like any other, and goes."""
    manager = permits.stage.manager(permits=True)
    permit = active(permits, permits.template(defaultDuration="1h"))
    as_the_manager(permits, permit, active={"until": FUTURE})
    look(manager)
    permits.stage.gone(given(permits))
    says(permits, permit, "TrailBroken")
    permits.patch(permit, phase="Expired").expect(200)
    permits.ended(permit)


def test_a_key_that_an_attacker_published_signs_nothing(permits: Permits) -> None:
    """A step signed with a key of one's own, whose public half was put into the ConfigMap, is not believed."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = permits.asked(permits.template())
    key = Ed25519PrivateKey.generate()
    keys = ref("v1", "ConfigMap", "copyhold-permit-keys", "copyhold-system")
    public = b64encode(key.public_key().public_bytes_raw()).decode()
    stage.api.merge_patch(keys, {"data": {"forged0000000000": public}}).expect(200)
    try:
        without_webhooks(permits)
        forged = approval(permit)
        forged["transitions"][-1] |= {"key": "forged0000000000"}
        as_the_manager(permits, permit, **_signed(forged, permit, key))
        says(permits, permit, "TrailBroken")
        manager.idle()
        absent(permits, given(permits))
    finally:
        stage.api.merge_patch(keys, {"data": {"forged0000000000": None}}).expect(200)


def _signed(forged: Manifest, permit: Manifest, key: Any) -> Manifest:
    """The last transition hashed and signed as the trail is, by this key."""
    *before, last = forged["transitions"]
    outside = {"hash", "key", "signature", "eventTime"}
    text = {
        "permit": permit["metadata"]["uid"],
        "transition": {name: value for name, value in last.items() if name not in outside},
    }
    hashed = f"sha256:{sha256(canonical(text)).hexdigest()}"
    made = last | {"hash": hashed, "signature": b64encode(key.sign(hashed.encode())).decode()}
    return forged | {"transitions": [*before, made]}
