"""What people might try with a permit: another's name, a status of their own making, their own approval.

All of them are whom the API server authenticated, with the rights that RBAC gives them; webhook and policies are in force.
"""

from collections.abc import Callable, Mapping

import pytest

from tests.scenario.permits.tampering import ALL, absent, active, given, refused, token_of, unchanged
from tests.support.api import Api, Manifest, ref
from tests.support.marks import manager_of
from tests.support.permits import Permits, config_map
from tests.support.stage import VERSION

FUTURE = "2099-01-01T00:00:00Z"


# Who asked.


FORGED_REQUESTERS: Mapping[str, Manifest] = {
    "another user": {"name": "carol", "type": "User"},
    "the manager": {"name": "copyhold", "type": "System"},
    "groups": {"name": "carol", "type": "User", "groups": ["system:masters"]},
    "a seal": {"name": "carol", "type": "User", "seal": {"key": "k", "signature": "c2lnbmF0dXJl"}},
}


@pytest.mark.parametrize("word", FORGED_REQUESTERS)
def test_a_forged_requester_becomes_who_asks(permits: Permits, word: str) -> None:
    """Whatever a client writes as its requester, the permit is asked for by whom the server authenticated."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(), requester=FORGED_REQUESTERS[word])
    assert permit["spec"]["requester"]["name"] == permits.alice
    assert permit["spec"]["requester"]["type"] == "User"
    assert "system:masters" not in permit["spec"]["requester"]["groups"]
    assert permit["status"]["transitions"][0]["actor"]["name"] == permits.alice


def test_nobody_becomes_the_requester_afterwards(permits: Permits) -> None:
    """The spec is not changed, by a namespace admin as little as by a cluster administrator or the manager itself."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template())
    carol = permits.stage.name("carol")
    permits.stage.grant_user(carol, ALL, permits.home)
    body = {"spec": {"requester": {"name": permits.bob}}}
    for somebody in (permits.as_(carol), permits.stage.api, permits.as_("root", "system:masters")):
        assert "spec cannot be changed" in refused(somebody.merge_patch(permit, body), 403)
    unchanged(permit, permits.stage.read(permit))


def test_a_permit_is_not_swapped_for_another_of_its_name(permits: Permits) -> None:
    """A seal is for one permit: its requester, copied into a permit that somebody else makes, is not believed."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template())
    mallory = permits.requester("mallory")
    spec = {"template": permit["spec"]["template"], "requester": permit["spec"]["requester"]}
    stolen = ref(VERSION, "ResourcePermit", permits.stage.name("stolen"), permits.home) | {"spec": spec}
    made = permits.as_(mallory).create(stolen).expect(201).body
    assert made["spec"]["requester"]["name"] == mallory
    assert made["spec"]["requester"]["seal"] != permit["spec"]["requester"]["seal"]
    permits.as_(mallory).delete(made).expect(200)


# What a status says.


def a_review(permit: Manifest) -> Manifest:
    """Somebody else approved, it says."""
    carol = {"name": "carol", "type": "User", "groups": []}
    digest = permit["status"]["request"]["digest"]
    approval = {"reviewer": carol, "time": "2026-01-01T00:00:00Z", "digest": digest}
    return {"review": {"verdict": "Approved", "reviewer": carol, "digest": digest, "approvals": [approval, approval]}}


def a_transition(permit: Manifest) -> Manifest:
    """A step that nobody took."""
    steps = permit["status"]["transitions"]
    step = steps[-1] | {"index": len(steps), "type": "Approved", "reason": "ApprovedByUser", "previous": steps[-1]["hash"]}
    return {"transitions": [*steps, step]}


def a_snapshot(permit: Manifest) -> Manifest:
    """Other targets, under the digest of those that were reviewed."""
    seized = [ref("v1", "ConfigMap", "seized", "default")]
    groups = [group | {"targets": seized} for group in permit["status"]["request"]["resources"]]
    account = {"namespace": "kube-system", "name": "root"}
    return {"request": {"resources": groups, "impersonation": account, "maxDuration": "9000h"}}


def a_digest(permit: Manifest) -> Manifest:
    """A digest of nothing."""
    return {"request": {"digest": f"sha256:{'0' * 64}"}}


def an_item(permit: Manifest) -> Manifest:
    """Somebody's object among what was given, to have it taken back."""
    status = {"type": "Ready", "status": "True", "created": True, "lastApply": "2026-01-01T00:00:00Z"}
    bystander = {"version": "v1", "kind": "ConfigMap", "namespace": permit["metadata"]["namespace"], "name": "bystander"}
    return {"processedItems": [bystander | {"uid": "u", "resource": "configmaps", "unit": "x", "status": status}], "size": 1}


FORGERIES: Mapping[str, Callable[[Manifest], Manifest]] = {
    "reviewer": a_review,
    "transitions": a_transition,
    "no transitions": lambda _: {"transitions": []},
    "snapshot": a_snapshot,
    "digest": a_digest,
    "processedItems": an_item,
    "active.until": lambda _: {"active": {"from": "2026-01-01T00:00:00Z", "until": FUTURE}},
    "keepUntil": lambda _: {"keepUntil": "2026-01-01T00:00:00Z"},
    "preview and grants": lambda _: {"preview": [], "grants": [], "roles": []},
    "account": lambda _: {"serviceAccount": {"namespace": "kube-system", "name": "root"}},
    "conditions": lambda _: {"conditions": []},
}


def everything(permit: Manifest) -> Manifest:
    """All forgeries at once."""
    body: Manifest = {}
    for forge in FORGERIES.values():
        body |= forge(permit)
    return body | {"request": a_snapshot(permit)["request"] | a_digest(permit)["request"], "transitions": []}


def people(permits: Permits) -> Mapping[str, Api]:
    """A requester who may write the status, a reviewer, an admin of the namespace, and one of the cluster."""
    permits.stage.grant_user(permits.alice, ALL, permits.home)
    carol = permits.stage.name("carol")
    permits.stage.grant_user(carol, ALL, permits.home)
    alice, bob = permits.as_(permits.alice), permits.as_(permits.bob)
    return {"requester": alice, "reviewer": bob, "admin": permits.as_(carol), "root": permits.as_("root", "system:masters")}


def test_a_status_is_not_written(permits: Permits) -> None:
    """Any field of the status that somebody writes without asking for a transition is refused, whoever it is."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template(maxDuration="1h", keepFor="1h"))
    for who, api in people(permits).items():
        for word, forge in FORGERIES.items():
            reply = api.merge_patch(permit, {"status": forge(permit)}, subresource="status")
            assert "requesting a lifecycle transition" in refused(reply, 422), (who, word)
        put = api.replace(permit | {"status": permit["status"] | everything(permit)}, subresource="status")
        assert "requesting a lifecycle transition" in refused(put, 422), who
    unchanged(permit, permits.stage.read(permit))
    absent(permits, given(permits))


def test_a_status_in_the_permit_itself_counts_for_nothing(permits: Permits) -> None:
    """A status sent while a permit is made, or with its spec, is dropped."""
    permits.stage.manager(permits=True)
    template = permits.template()
    other = permits.asked(template)
    spec = {"template": other["spec"]["template"]}
    approved = other["status"] | {"phase": "Approved"} | a_review(other)
    made = ref(VERSION, "ResourcePermit", permits.stage.name("dressed"), permits.home) | {"spec": spec, "status": approved}
    permit = permits.as_(permits.alice).create(made).expect(201).body
    permits.stage.made.append(permit)
    assert not permit.get("status", {}).get("review")
    permit = permits.reaches(permit, "Requested")
    permits.stage.api.merge_patch(permit, {"status": approved, "metadata": {"labels": {"a": "b"}}}).expect(200)
    assert permits.stage.read(permit)["status"] == permit["status"]
    absent(permits, given(permits))


def test_what_comes_with_an_approval_counts_for_nothing(permits: Permits) -> None:
    """An approval that brings every forgery along is an approval by who sent it, of what was there, and gives that."""
    stage = permits.stage
    stage.manager(permits=True)
    bystander = stage.create(ref("v1", "ConfigMap", "bystander", permits.home))
    permit = permits.asked(permits.template(maxDuration="1h", keepFor="1h"))
    before = permit["status"]
    after = permits.approve(permit, **everything(permit))["status"]
    assert after["transitions"][:-1] == before["transitions"]
    assert after["transitions"][-1]["actor"]["name"] == permits.bob
    assert [each["reviewer"]["name"] for each in after["review"]["approvals"]] == [permits.bob]
    changed = {field for field in before.keys() | after.keys() if before.get(field) != after.get(field)}
    assert changed <= {"phase", "review", "conditions", "transitions"}
    live = permits.reaches(permit, "Active")
    assert live["status"]["active"]["until"] < FUTURE
    assert live["status"]["keepUntil"] > live["status"]["active"]["until"]
    assert stage.read(given(permits))["data"] == {"for": permit["metadata"]["name"]}
    permits.patch(permit, phase="Expired", **an_item(permit)).expect(200)
    stage.gone(given(permits))
    assert stage.read(bystander)["metadata"]["uid"] == bystander["metadata"]["uid"]


def test_the_time_of_an_active_permit_is_not_stretched(permits: Permits) -> None:
    """No wish moves `active.until`, and none makes the record vanish earlier."""
    permits.stage.manager(permits=True)
    permit = active(permits, permits.template(maxDuration="1h", keepFor="1h"))
    for api in people(permits).values():
        for body in ({"active": {"until": FUTURE}}, {"request": {"duration": "9000h"}}, {"keepUntil": None}, {"active": None}):
            for phase in (None, "Approved", "Active", "Requested", "Created", "Failed"):
                sent = body | ({"phase": phase} if phase else {})
                api.merge_patch(permit, {"status": sent}, subresource="status").expect(200, 403, 409, 422)
                unchanged(permit, permits.stage.read(permit))


def test_no_phase_is_taken_that_is_the_managers(permits: Permits) -> None:
    """Nobody asks for Active, Created, Requested or Failed: what was not approved is not given."""
    permits.stage.manager(permits=True)
    permit = permits.asked(permits.template())
    for api in people(permits).values():
        for phase in ("Active", "Created", "Failed", "Pending", "Retrying", "Nonsense"):
            refused(api.merge_patch(permit, {"status": {"phase": phase}}, subresource="status"), 422)
        api.merge_patch(permit, {"status": {"phase": "Requested"}}, subresource="status").expect(200)
    unchanged(permit, permits.stage.read(permit))


def test_the_extra_of_the_manager_cannot_be_borrowed(permits: Permits) -> None:
    """Who may impersonate users, but not the extra of the manager, does not speak as the manager."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(permits.template())
    rules = [{"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}]
    account = stage.service_account("impersonator")
    stage.grant(account, rules)
    extra = {"copyhold.dev/parent": [permit["metadata"]["uid"]]}
    forger = stage.api.with_token(token_of(permits, account.name)).as_user(permits.bob, extra=extra)
    forger.merge_patch(permit, {"status": {"phase": "Active"}}, subresource="status").expect(403)
    unchanged(permit, stage.read(permit))


# Marks on targets.


def test_marks_on_a_target_move_no_end(permits: Permits) -> None:
    """What an admin of the namespace writes on a target changes nothing: the record knows what was given, and until when."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template("open", config_map(protect=False), defaultDuration="1h")
    permit = active(permits, template)
    uid = permit["metadata"]["uid"]
    manager.stop()
    metadata = {
        "labels": {"copyhold.dev/managed": None, f"parent.copyhold.dev/{uid}": "adopted"},
        "annotations": {f"active-until.copyhold.dev/{uid}": FUTURE},
        "managedFields": [{}],
    }
    stage.api.merge_patch(given(permits), {"metadata": metadata}).expect(200)
    manager.clock.forward(hours=2)
    manager.start()
    stage.gone(given(permits))
    permits.ended(permit)


def test_marks_of_a_permit_on_an_object_of_somebody_take_nothing_away(permits: Permits) -> None:
    """An object that is dressed as given, field manager and all, and is not, stays when the permit ends."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = active(permits, permits.template("open", config_map(protect=False)))
    uid = permit["metadata"]["uid"]
    victim = ref("v1", "ConfigMap", "victim", permits.home) | {"data": {"hers": "1"}}
    victim["metadata"]["labels"] = {"copyhold.dev/managed": "true", f"parent.copyhold.dev/{uid}": "created"}
    stage.api.apply(victim, manager=manager_of(permit)).expect(201)
    permits.patch(permit, phase="Expired").expect(200)
    stage.gone(given(permits))
    permits.ended(permit)
    assert stage.read(victim)["data"] == {"hers": "1"}


def test_a_protected_target_is_not_touched(permits: Permits) -> None:
    """Nobody but the manager and the account writes or deletes it while it is given."""
    stage = permits.stage
    stage.manager(permits=True)
    active(permits, permits.template())
    before = stage.read(given(permits))
    for body in ({"metadata": {"labels": None}}, {"metadata": {"annotations": None}}, {"data": {"for": "me"}}):
        stage.api.merge_patch(given(permits), body).expect(403)
    stage.api.delete(given(permits)).expect(403)
    assert stage.read(given(permits)) == before
