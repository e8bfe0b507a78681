"""What memory says afterwards: wide before a write, true after it, and never narrower than what may be there."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Creation, Deletion
from apis.problems import Blocked, Conflict, Forbidden, Gone, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason
from apis.record import Record
from policy.decide import Decision, Item, Verb, decide, seen
from policy.plan import held_back
from policy.settle import MESSAGE_LIMIT, announce, first_record, joined, settle
from tests.support.build import OWNER, hold, item, live, policy, record, want

WANT = want()
MINE = live(hold())
THEIRS = live()
ORPHAN = policy(deletion="Orphan")
LOST = Unavailable("the answer was lost", maybe_done=True)
NEVER_SENT = Unavailable("the connection was refused")


def settled(of: Item, problem: Problem | None = None) -> Record | None:
    """The record after the decision on this item, or after that decision failed."""
    return settle(decide(of, OWNER), OWNER, problem)


# Before a write.


@pytest.mark.parametrize(
    ("of", "why"),
    [
        pytest.param(item(WANT), "a create may land without an answer", id="create"),
        pytest.param(item(want(creation="Merge"), THEIRS), "so may an adoption", id="adopt"),
        pytest.param(item(WANT, MINE), "and an apply by proof alone, after memory was lost", id="apply without memory"),
        pytest.param(item(WANT, live(hold("uid-kin")), kin=True), "joining kin makes us a holder", id="kin"),
        pytest.param(item(WANT, None, record(WANT, uid="", reason=Reason.FORBIDDEN)), "it was never made", id="failed before"),
    ],
)
def test_what_memory_does_not_know_is_announced(of: Item, why: str) -> None:
    """Before a target is made it is remembered: who acts, and that an answer is owed."""
    announced = announce(decide(of, OWNER), OWNER)
    assert announced is not None, why
    assert (announced.pending, announced.account, announced.uid) == (True, "platform/distributor", ""), why


@pytest.mark.parametrize(
    ("of", "why"),
    [
        pytest.param(item(WANT, MINE, record(WANT, payload="old")), "memory knows its UID", id="apply"),
        pytest.param(item(WANT, None, record(WANT)), "memory is wide enough: it is recorded", id="recreate"),
        pytest.param(item(WANT, None, record(WANT, uid="", pending=True)), "it was announced already", id="announced"),
        pytest.param(item(None, MINE, record()), "a removal makes nothing", id="remove"),
        pytest.param(item(WANT, MINE, record(WANT)), "nothing is sent", id="skip"),
        pytest.param(item(WANT, THEIRS), "nothing is sent either", id="conflict"),
    ],
)
def test_what_memory_knows_is_not_announced_again(of: Item, why: str) -> None:
    """No write of memory precedes what it is wide enough for."""
    assert announce(decide(of, OWNER), OWNER) is None, why


def test_a_first_record_has_the_wanted_policy_without_its_condition() -> None:
    """Taking down looks at no condition."""
    first = first_record(want(condition="object == null", deletion="Orphan"))
    assert (first.policy.deletion, first.policy.condition, first.uid) == (Deletion.ORPHAN, None, "")


# After a decision that wrote nothing.

KEPT = [
    pytest.param(
        item(want(deletion="Orphan"), MINE, record(WANT, ok=False, message="m", seen="s", reason=Reason.STALE)),
        {
            "ok": True,
            "reason": Reason.SUCCEEDED,
            "message": "",
            "seen": "",
            "policy": first_record(want(deletion="Orphan")).policy,
        },
        "what is as wanted is a success under the present policy",
        id="unchanged",
    ),
    pytest.param(
        item(WANT, THEIRS),
        {"uid": "", "created": False, "ok": False, "reason": Reason.FOREIGN, "seen": seen(WANT, THEIRS)},
        "it is shown, and nothing of it is ours",
        id="foreign, never ours",
    ),
    pytest.param(
        item(WANT, live(uid="u2"), record(WANT)),
        {"uid": "", "created": False, "pending": False, "ok": False, "reason": Reason.FOREIGN},
        "ours is gone, the name is theirs: nothing is remembered that could remove it",
        id="foreign, ours replaced",
    ),
    pytest.param(
        item(WANT, None, condition=False),
        {"uid": "", "ok": True, "reason": Reason.CONDITION_NOT_MET, "message": "ConditionNotMet: apply skipped"},
        "a condition that does not hold is no failure",
        id="condition false, nothing there",
    ),
    pytest.param(
        item(want(deletion="Orphan"), MINE, record(WANT), condition=False),
        {"uid": "u1", "created": True, "policy": ORPHAN},
        "our marks follow the policy, so memory does",
        id="condition false, ours",
    ),
    pytest.param(
        item(WANT, MINE, record(WANT, uid="", created=False, fields="", pending=True), condition=False),
        {"uid": "u1", "created": True, "fields": MINE.holdings[0].fields, "pending": False, "ok": True},
        "the answer to its create was lost, and the proof says who made it",
        id="condition false, ours by proof",
    ),
    pytest.param(
        item(WANT, live(uid="u2"), record(WANT), condition=False),
        {"created": False, "ok": True},
        "another object stands there now: it is not one that we created",
        id="condition false, replaced",
    ),
    pytest.param(
        item(WANT, None, record(WANT, uid="", pending=True), condition=False),
        {"pending": True},
        "an answer is still owed",
        id="condition false, pending",
    ),
    pytest.param(
        item(WANT, MINE, record(WANT), namespace_terminating=True),
        {"uid": "u1", "ok": True, "reason": Reason.TERMINATING, "message": ""},
        "the namespace takes it along: no failure, and remembered until it is gone",
        id="namespace terminating, ours",
    ),
    pytest.param(
        item(WANT, live(hold(), terminating=True), record(WANT)),
        {"uid": "u1", "ok": False, "reason": Reason.TERMINATING},
        "what is wanted is going away",
        id="object terminating",
    ),
    pytest.param(
        item(WANT, MINE, record(WANT), condition=Blocked(Reason.CONDITION_FAILED, "no such key")),
        {"uid": "u1", "created": True, "ok": False, "reason": Reason.CONDITION_FAILED, "message": "no such key"},
        "the mistake is shown and nothing is forgotten",
        id="condition failed",
    ),
]


@pytest.mark.parametrize(("of", "expected", "why"), KEPT)
def test_what_is_wanted_is_kept(of: Item, expected: dict[str, Any], why: str) -> None:
    """The record of a wanted target after a Skip or a Conflict."""
    after = settled(of)
    assert after is not None, why
    assert {name: getattr(after, name) for name in expected} == expected, why


@pytest.mark.parametrize(
    ("of", "why"),
    [
        pytest.param(item(None, None, record()), "it is gone", id="absent"),
        pytest.param(item(None, live(uid="u2"), record()), "the name is another object's", id="replaced"),
        pytest.param(item(WANT, None, namespace_terminating=True), "it was never made and cannot be", id="never made"),
    ],
)
def test_what_is_gone_is_forgotten(of: Item, why: str) -> None:
    """A record goes only when nothing of ours is there."""
    assert settled(of) is None, why


@pytest.mark.parametrize(
    ("of", "ok", "reason"),
    [
        pytest.param(item(None, live(hold(), terminating=True), record()), True, Reason.TERMINATING, id="being deleted"),
        pytest.param(item(None, MINE, record(), namespace_terminating=True), True, Reason.TERMINATING, id="namespace going"),
        pytest.param(item(None, MINE, record(), known=False), True, Reason.SUCCEEDED, id="unresolved: as it was"),
    ],
)
def test_what_is_not_gone_is_remembered(of: Item, ok: bool, reason: Reason) -> None:
    """What leaves stays in memory until it is gone."""
    after = settled(of)
    assert after is not None
    assert (after.uid, after.ok, after.reason) == ("u1", ok, reason)


def test_what_the_delete_budget_holds_is_remembered_and_shown() -> None:
    """A removal that was held back is a failure with the way out in its message."""
    (held,) = held_back([decide(item(None, MINE, record()), OWNER)], "annotate the parent")
    after = settle(held, OWNER)
    assert after == record(ok=False, reason=Reason.PRUNE_BLOCKED, message="annotate the parent")


def test_a_slowed_repair_is_shown() -> None:
    """Contested leaves everything else as memory had it."""
    drifted = decide(item(WANT, live(hold(fields="x")), record(WANT)), OWNER)
    contested = replace(drifted, verb=Verb.SKIP, reason=Reason.CONTESTED, message="slowed down")
    assert settle(contested, OWNER) == record(WANT, ok=False, reason=Reason.CONTESTED, message="slowed down")


# After a failure.


def test_a_failed_change_does_not_decide_how_the_target_is_taken_back() -> None:
    """The policy, the payload and the UID of the last success stay."""
    before = record(WANT)
    changed = want(deletion="Orphan", body={"data": {"a": "2"}})
    after = settled(item(changed, MINE, before), Invalid(Reason.INVALID, "data: expected string"))
    assert after == replace(before, ok=False, reason=Reason.INVALID, message="data: expected string")


@pytest.mark.parametrize(
    ("of", "problem", "pending"),
    [
        pytest.param(item(WANT), LOST, True, id="create, answer lost"),
        pytest.param(item(WANT, None, record(WANT)), LOST, True, id="made again, answer lost: the UID is the former object's"),
        pytest.param(item(WANT), NEVER_SENT, False, id="create, never arrived"),
        pytest.param(item(WANT), Stale("somebody was first"), False, id="create, somebody was first"),
        pytest.param(item(WANT), Forbidden("may not create"), False, id="create, refused"),
        pytest.param(item(WANT, None, record(WANT, uid="", pending=True)), NEVER_SENT, True, id="an answer is still owed"),
        pytest.param(item(want(creation="Merge"), THEIRS), LOST, True, id="adopt, answer lost"),
        pytest.param(item(WANT, MINE, record(WANT, payload="old")), LOST, False, id="apply: the UID is proof enough"),
    ],
)
def test_a_write_that_may_have_landed_stays_pending(of: Item, problem: Problem, pending: bool) -> None:
    """An answer that was lost is settled later, by proof."""
    after = settled(of, problem)
    assert after is not None
    assert after.pending is pending


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Invalid(Reason.APPLY_UNSUPPORTED, "m"), Reason.APPLY_UNSUPPORTED),
        (Blocked(Reason.REFUSED, "m"), Reason.REFUSED),
        (Forbidden("m"), Reason.FORBIDDEN),
        (Unavailable("m"), Reason.UNAVAILABLE),
        (Stale("m"), Reason.STALE),
        (Gone("m", what="namespace"), Reason.STALE),
    ],
)
def test_a_failure_has_the_reason_of_its_problem(problem: Problem, reason: Reason) -> None:
    """The record says who must act."""
    after = settled(item(WANT), problem)
    assert after is not None
    assert (after.ok, after.reason, after.message, after.account) == (False, reason, "m", "platform/distributor")


def test_a_conflict_names_field_and_manager_and_waits() -> None:
    """The message names both, in order, with the ways out; `seen` says until when to wait."""
    problem = Conflict("conflict", {".spec.replicas": "hpa", ".data.a": "kubectl"})
    after = settled(item(WANT, MINE, record(WANT, payload="old")), problem)
    assert after is not None
    assert after.message == (
        ".data.a is held by 'kubectl'; .spec.replicas is held by 'hpa': "
        "give the field up in the template, or set policy.force: true to take it"
    )
    assert (after.reason, after.seen) == (Reason.FIELD_TAKEN, seen(WANT, MINE))


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(item(WANT, MINE, record(WANT, payload="old")), id="apply"),
        pytest.param(item(want(creation="Merge"), THEIRS), id="adopt"),
        pytest.param(item(WANT, live(hold("uid-kin")), kin=True), id="join"),
    ],
)
def test_a_conflict_is_not_tried_again_before_something_changes(of: Item) -> None:
    """The next pass over the same object says Conflict and sends nothing."""
    after = settled(of, Conflict("conflict", {".data.a": "kubectl"}))
    again = decide(replace(of, record=after), OWNER)
    assert (again.verb, again.reason, again.writes) == (Verb.CONFLICT, Reason.FIELD_TAKEN, False)
    assert settle(again, OWNER) == after


def test_who_joins_kin_holds_the_target_also_while_its_fields_are_taken() -> None:
    """By its marks alone: whoever leaves first leaves the object to the other, whose content waits for it to change."""
    before, after = live(hold("uid-kin")), live(hold("uid-kin"), hold(), version="11")
    decision = decide(item(WANT, before, kin=True), OWNER)
    assert decision.joins
    remembered = joined(decision, OWNER, Conflict("taken", {".data.a": "copyhold.dev/globaltenantresource/uid-kin"}), after)
    assert (remembered.uid, remembered.created, remembered.pending, remembered.ok) == (after.uid, True, False, False)
    assert (remembered.reason, remembered.seen) == (Reason.FIELD_TAKEN, seen(WANT, after))
    assert decide(item(WANT, after, remembered), OWNER).verb is Verb.CONFLICT
    assert decide(item(WANT, live(hold(), version="12"), remembered), OWNER).verb is Verb.APPLY


def test_a_refused_create_in_a_terminating_namespace_is_no_failure() -> None:
    """What was there goes with the namespace; what never was is forgotten."""
    going = Forbidden("namespace is being terminated", namespace_terminating=True)
    assert settled(item(WANT), going) is None
    after = settled(item(WANT, None, record(WANT)), going)
    assert after is not None
    assert (after.ok, after.reason) == (True, Reason.TERMINATING)


def test_a_failed_removal_is_remembered() -> None:
    """Forgotten only when gone."""
    after = settled(item(None, MINE, record()), Forbidden("may not delete"))
    assert after == record(ok=False, reason=Reason.FORBIDDEN, message="may not delete")


def test_messages_are_bounded() -> None:
    """A server that answers a novel does not fill the status."""
    after = settled(item(WANT), Blocked(Reason.REFUSED, "x" * 100_000))
    assert after is not None
    assert len(after.message) == MESSAGE_LIMIT
    assert after.message.endswith(" ...")


PROBLEMS = st.sampled_from([LOST, NEVER_SENT, Stale("s"), Gone("g"), Forbidden("f"), Invalid(Reason.INVALID, "i")])
ITEMS = st.builds(
    item,
    st.builds(want, creation=st.sampled_from(Creation), deletion=st.sampled_from(Deletion)),
    st.sampled_from([None, MINE, THEIRS, live(hold(), uid="u2")]),
    st.none() | st.builds(record, uid=st.sampled_from(["", "u1"]), pending=st.booleans(), created=st.booleans()),
    condition=st.booleans(),
)


@given(ITEMS, PROBLEMS)
def test_a_failure_forgets_nothing(of: Item, problem: Problem) -> None:
    """Whatever goes wrong, the target stays recorded, with the UID and the word `created` of the last answer."""
    decision: Decision = decide(of, OWNER)
    after = settle(decision, OWNER, problem)
    assert after is not None
    before = of.record or first_record(want())
    assert (after.uid, after.created, after.key) == (before.uid, before.created, of.key)
    assert after.pending or not before.pending
