"""The trail: no change of what was signed goes unseen, and nothing but the trail itself decides that."""

import copy
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.canonical import canonical
from policy.permits.step import Step
from policy.permits.trail import Flaw, append, hash_of, head, seal_text, seal_texts, verify

UID = "0b3c5a1e-0000-4000-8000-000000000001"
NOW = datetime(2026, 3, 1, 12, 0, 0, 999_999, UTC)
ALICE: Manifest = {"name": "alice", "type": "User", "uid": "u-1", "groups": ["sre"]}
KEYS = {"k1": b"one", "k2": b"two"}
STATUS: Manifest = {"request": {"digest": "sha256:aa"}}


def signer(key: str) -> Callable[[bytes], tuple[str, str]]:
    """Sign with one of the keys; a keyed hash does for the pure part."""
    return lambda data: (key, hmac.new(KEYS[key], data, hashlib.sha256).hexdigest())


def right(key: str, data: bytes, signature: str) -> bool | None:
    """Verify with any of the keys."""
    return signer(key)(data)[1] == signature if key in KEYS else None


def step(phase: Phase, **more: Any) -> Step:
    """A step by Alice."""
    return Step(phase, more.pop("actor", ALICE), more.pop("reason", f"{phase}ByUser"), **more)


def trail(*steps: Step, status: Manifest = STATUS, key: str = "k1") -> Manifest:
    """A status with these steps, all signed by one key."""
    for each in steps:
        status = append(status, UID, each, NOW, signer(key))
    return status


LIFE = (
    step(Phase.CREATED, message="INC-1042"),
    step(Phase.REQUESTED),
    step(Phase.APPROVED, message="go"),
    step(Phase.ACTIVE, until="2026-03-01T12:30:00Z"),
    step(Phase.EXPIRED),
)


def flaw(transitions: list[Any], **known: str) -> tuple[int, Flaw] | None:
    """The first broken link: where, and what."""
    broken = verify(transitions, UID, right, **known)
    return (broken.index, broken.flaw) if broken else None


def resealed(transitions: list[Manifest]) -> list[Manifest]:
    """The trail as somebody would write it who has no key: all hashes are right, and the signatures are the old ones."""
    previous = ""
    for transition in transitions:
        transition.pop("previous", None)
        transition |= {"previous": previous} if previous else {}
        transition["hash"] = previous = hash_of(UID, transition)
    return transitions


def test_a_transition_says_who_did_what_when_to_which_snapshot():
    """Whole seconds in UTC; what is empty is not there, so that the server stores what was hashed."""
    made = trail(step(Phase.APPROVED, actor={**ALICE, "uid": None}, until="2026-03-01T13:00:00Z"))["transitions"][0]
    assert {key: made[key] for key in made if key not in ("hash", "key", "signature")} == {
        "index": 0,
        "type": "Approved",
        "timestamp": "2026-03-01T12:00:00Z",
        "actor": {"name": "alice", "type": "User", "groups": ["sre"]},
        "reason": "ApprovedByUser",
        "until": "2026-03-01T13:00:00Z",
        "digest": "sha256:aa",
    }


def test_the_hash_is_what_the_documentation_says():
    """Somebody else's program must be able to compute it from the stored object alone."""
    first, second = trail(*LIFE[:2])["transitions"]
    text = (
        '{"permit":"%s","transition":{"actor":{"groups":["sre"],"name":"alice","type":"User","uid":"u-1"},"digest":"sha256:aa",'
        '"index":1,"previous":"%s","reason":"RequestedByUser","timestamp":"2026-03-01T12:00:00Z","type":"Requested"}}'
    )
    assert second["hash"] == "sha256:" + hashlib.sha256((text % (UID, first["hash"])).encode()).hexdigest()
    assert signer("k1")(second["hash"].encode()) == (second["key"], second["signature"])


def test_appending_leaves_the_status_before_it_alone():
    """A new value comes out; the one that was read stays as it was read."""
    before = trail(LIFE[0])
    kept = copy.deepcopy(before)
    assert len(append(before, UID, LIFE[1], NOW, None)["transitions"]) == 2
    assert before == kept


def test_a_whole_life_verifies():
    """Also when keys were renewed in the middle of it."""
    assert flaw(trail(*LIFE[3:], status=trail(*LIFE[:3]), key="k2")["transitions"]) is None
    assert flaw([]) is None


def test_a_dry_run_signs_nothing():
    """What it wrote, if anybody kept it, is not believed."""
    status = append(trail(LIFE[0]), UID, LIFE[1], NOW, None)
    assert "signature" not in status["transitions"][1]
    assert flaw(status["transitions"]) == (1, Flaw.UNSIGNED)


def test_the_time_of_the_event_is_not_a_part_of_it():
    """It is written after the transition was signed."""
    transitions = trail(*LIFE)["transitions"]
    transitions[2]["eventTime"] = "2026-03-01T12:00:01.000000Z"
    assert flaw(transitions) is None


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        pytest.param(lambda t: t.pop(2), (2, Flaw.INDEX), id="one taken out"),
        pytest.param(lambda t: t.insert(2, t[1]), (2, Flaw.INDEX), id="one put in twice"),
        pytest.param(lambda t: t.reverse(), (0, Flaw.INDEX), id="turned round"),
        pytest.param(lambda t: t[3].pop("previous"), (3, Flaw.PREVIOUS), id="a link that follows nobody"),
        pytest.param(lambda t: t[0].update(previous=None), (0, Flaw.PREVIOUS), id="null before the first"),
        pytest.param(lambda t: t[3].update(until="2027-01-01T00:00:00Z"), (3, Flaw.HASH), id="a later end"),
        pytest.param(lambda t: t[2]["actor"].update(name="bob"), (2, Flaw.HASH), id="another reviewer"),
        pytest.param(lambda t: t[2].update(more=1), (2, Flaw.HASH), id="a field more"),
        pytest.param(lambda t: t[1].pop("signature"), (1, Flaw.UNSIGNED), id="no signature"),
        pytest.param(lambda t: t[1].update(key=7), (1, Flaw.UNSIGNED), id="a key that is no id"),
        pytest.param(lambda t: t[1].update(key="k3"), (1, Flaw.UNKNOWN_KEY), id="a key that nobody knows"),
        pytest.param(lambda t: t[1].update(key="k2"), (1, Flaw.SIGNATURE), id="a key that did not sign"),
        pytest.param(lambda t: t[4].update(signature=t[3]["signature"]), (4, Flaw.SIGNATURE), id="a signature of another link"),
        pytest.param(lambda t: t.__setitem__(1, "Approved"), (1, Flaw.SHAPE), id="no object"),
        pytest.param(lambda t: (t.pop(3), resealed(t)), (3, Flaw.INDEX), id="taken out and hashed anew"),
    ],
)
def test_what_was_done_to_a_trail_is_named(tamper: Callable[[list[Manifest]], Any], found: tuple[int, Flaw]):
    """By the first link that is wrong, and what is wrong with it."""
    transitions = trail(*LIFE)["transitions"]
    tamper(transitions)
    assert flaw(transitions) == found


def test_whoever_hashes_a_forged_trail_anew_still_lacks_the_key():
    """The hashes are all right then, and the first link with another content is not signed."""
    transitions = trail(*LIFE)["transitions"]
    transitions[2]["actor"] = {"name": "mallory", "type": "User", "groups": []}
    assert flaw(resealed(transitions)) == (2, Flaw.SIGNATURE)


def test_a_trail_is_good_for_its_own_permit_only():
    """Copied to another one, or kept while the permit was made anew, it is worth nothing."""
    transitions = trail(*LIFE)["transitions"]
    broken = verify(transitions, "another", right)
    assert broken is not None
    assert (broken.index, broken.flaw) == (0, Flaw.HASH)
    assert broken.message.startswith("status.transitions[0] is not as it was written: ")


@given(cut=st.integers(0, len(LIFE) - 1))
def test_a_tail_that_was_cut_shows_against_a_hash_that_is_known(cut: int):
    """Each link alone is right; a hash that an Event has told is missing."""
    whole = trail(*LIFE)
    rest = whole["transitions"][:cut]
    assert flaw(rest) is None
    assert flaw(rest, known=head(whole)) == (cut, Flaw.CUT)
    assert flaw(whole["transitions"], known=head({"transitions": rest})) is None


texts = st.text(max_size=20)
steps = st.builds(
    Step,
    type=st.sampled_from(Phase),
    actor=st.fixed_dictionaries({"name": texts, "type": st.just("User"), "groups": st.lists(texts, max_size=2)}),
    reason=texts,
    message=texts,
    until=st.sampled_from(["", "2026-03-01T12:30:00Z"]),
)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


@given(life=st.lists(steps, min_size=1, max_size=5), data=st.data())
def test_any_change_of_any_field_of_any_transition_is_found(life: list[Step], data: st.DataObject):
    """At that transition, and not earlier."""
    transitions = trail(*life)["transitions"]
    index = data.draw(st.integers(0, len(life) - 1), "transition")
    field = data.draw(st.sampled_from([*sorted(transitions[index]), "until", "previous", "eventTimes"]), "field")
    changed = copy.deepcopy(transitions)
    if data.draw(st.booleans(), "take it out"):
        changed[index].pop(field, None)
    else:
        changed[index][field] = data.draw(values, "value")
    same = json.dumps(changed, sort_keys=True) == json.dumps(transitions, sort_keys=True)
    found = flaw(changed)
    assert (found is None) == same
    assert found is None or found[0] == index


@given(life=st.lists(steps, max_size=4), data=st.data())
def test_any_part_of_a_change_deep_inside_is_found(life: list[Step], data: st.DataObject):
    """The name of an actor, one of the groups."""
    transitions = trail(LIFE[0], *life)["transitions"]
    index = data.draw(st.integers(0, len(life)), "transition")
    changed = copy.deepcopy(transitions)
    part = data.draw(st.sampled_from(["name", "type", "uid", "groups"]), "part")
    changed[index]["actor"][part] = data.draw(texts.filter(lambda text: text != transitions[index]["actor"].get(part)), "value")
    assert flaw(changed) == (index, Flaw.HASH)


# Canonical JSON


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"n": 1.0, "m": [2.5, -0.0, 1e21]}, '{"m":[2.5,0,1000000000000000000000],"n":1}'),
        ("\u00fc\u2028<\n", '"\u00fc\u2028<\\n"'),
        ({}, "{}"),
    ],
)
def test_canonical_json_is_one_text_for_one_value(value: Any, text: str):
    """Sorted, without spaces, whole floats as the integers that the server makes of them."""
    assert canonical(value) == text.encode()


@given(value=st.dictionaries(texts, values, max_size=4))
def test_canonical_json_reads_as_what_it_was(value: Manifest):
    """And the order in which the keys came means nothing."""
    assert json.loads(canonical(value)) == value
    assert canonical(dict(reversed(value.items()))) == canonical(value)


# The seal

PERMIT: Manifest = {
    "metadata": {"namespace": "solar", "name": "inc-1042", "uid": UID},
    "spec": {"template": {"kind": "ResourcePermitTemplate", "name": "pods"}, "requester": ALICE | {"seal": {"key": "k1"}}},
}


def test_the_seal_covers_the_spec_but_not_itself():
    """It is made before it is there; status, labels and UID come later."""
    bare = copy.deepcopy(PERMIT) | {"status": {"phase": "Created"}}
    del bare["spec"]["requester"]["seal"]
    assert seal_text(bare) == seal_text(PERMIT)
    assert b"seal" not in seal_text(PERMIT)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda permit: permit["spec"]["requester"].update(name="bob"),
        lambda permit: permit["spec"]["requester"].update(groups=["admins"]),
        lambda permit: permit["spec"].update(reason="other"),
        lambda permit: permit["spec"]["template"].update(name="all"),
        lambda permit: permit["metadata"].update(namespace="lunar"),
        lambda permit: permit["metadata"].update(name="inc-1043"),
    ],
)
def test_another_request_has_another_seal(tamper: Callable[[Manifest], None]):
    """A seal is good for one requester, one spec and one place."""
    other = copy.deepcopy(PERMIT)
    tamper(other)
    assert seal_text(other) != seal_text(PERMIT)


def test_a_generated_name_is_not_there_yet_when_the_seal_is_made():
    """Afterwards both texts are tried."""
    asked = copy.deepcopy(PERMIT)
    asked["metadata"] = {"namespace": "solar", "generateName": "inc-"}
    assert seal_text(asked) in seal_texts(PERMIT)
    assert seal_text(PERMIT) in seal_texts(PERMIT)
