"""The planner's table, closed: every row is a case, every case is a row, and no item falls through."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Creation, Deletion
from apis.problems import Blocked, Problem, Unavailable
from apis.reasons import Reason
from apis.record import Record
from manager.execute import ACTIONS
from policy import decide as table
from policy.decide import PRUNES, WRITES, Decision, Item, Verb, decide, seen
from policy.ownership import Live
from policy.settle import settle
from policy.target import Desired
from tests.support.build import FIELDS, ME, OTHER, OWNER, hold, item, live, record, want

WANT = want()
MINE = live(hold())
ADOPTED = live(hold(mark="adopted"))
THEIRS = live()
UNREADABLE = Unavailable("the server is gone")

FALSE = "yes, condition false | any | any"
ABSENT = "yes | no | -"
FOREIGN = "yes | yes | no"
OURS = "yes | yes | yes"
ORPHAN = "no, Orphan | yes | yes"
CREATED = "no | yes | yes, created"
WAS_ADOPTED = "no | yes | yes, adopted"
REPLACED = "no | yes | not any more"
GONE = "no | no | -"
UNKNOWN = "not known | any | any"


def row(of: str, given_: Item, verb: Verb, reason: Reason, why: str, *, id: str, **more: bool) -> Any:
    """One case of a row of the table: what is decided on, what comes out, and why that is right."""
    return pytest.param(of, given_, verb, reason, more, why, id=id)


ROWS = [
    row(
        FALSE,
        item(WANT, condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "a condition may also say that nothing is made",
        id="a false condition, nothing there",
    ),
    row(
        FALSE,
        item(WANT, THEIRS, condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "the condition is judged before ownership: no Conflict is reported for what would not be written",
        id="a false condition, somebody else's object",
    ),
    row(
        FALSE,
        item(WANT, MINE, record(WANT, payload="old"), condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "content stays as it is",
        id="a false condition, ours and changed",
        remark=False,
        created=True,
    ),
    row(
        FALSE,
        item(want(protect=False), MINE, record(WANT), condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "protection follows the policy although content does not",
        id="a false condition, protection switched",
        remark=True,
        created=True,
    ),
    row(
        FALSE,
        item(want(protect=False), THEIRS, record(WANT, uid="u0"), condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "marks are only changed on what is provably ours",
        id="a false condition, protection switched, not ours",
        remark=False,
    ),
    row(
        FALSE,
        item(want(protect=False), live(hold(), terminating=True), record(WANT), condition=False),
        Verb.SKIP,
        Reason.CONDITION_NOT_MET,
        "nothing is written to what is going away",
        id="a false condition, protection switched, terminating",
        remark=False,
    ),
    row(ABSENT, item(WANT), Verb.CREATE, Reason.MISSING, "it is wanted and not there", id="never made", created=True),
    row(
        ABSENT,
        item(WANT, None, record(WANT)),
        Verb.CREATE,
        Reason.MISSING,
        "somebody deleted it: it comes back",
        id="made and deleted",
        created=True,
    ),
    row(
        ABSENT,
        item(want(creation="Merge"), None, record(WANT, created=False)),
        Verb.CREATE,
        Reason.MISSING,
        "what was adopted and vanished is made by us the second time",
        id="adopted and deleted",
        created=True,
    ),
    row(
        FOREIGN,
        item(WANT, THEIRS),
        Verb.CONFLICT,
        Reason.FOREIGN,
        "Owner does not take what others made",
        id="theirs under Owner",
    ),
    row(
        FOREIGN,
        item(want(creation="Merge"), THEIRS),
        Verb.ADOPT,
        Reason.FOREIGN,
        "Merge takes part in what others made",
        id="theirs under Merge",
        created=False,
    ),
    row(
        FOREIGN,
        item(WANT, live(uid="u2"), record(WANT)),
        Verb.CONFLICT,
        Reason.FOREIGN,
        "the same name with another UID is another object",
        id="ours was replaced by theirs",
    ),
    row(
        FOREIGN,
        item(WANT, THEIRS, record(WANT, uid="", pending=True)),
        Verb.CONFLICT,
        Reason.FOREIGN,
        "a create whose answer was lost is settled by proof and by nothing less",
        id="our create was lost and somebody was first",
    ),
    row(
        FOREIGN,
        item(WANT, live(hold(OTHER, kind="resourcepermit")), held=(hold(OTHER, kind="resourcepermit"),)),
        Verb.CONFLICT,
        Reason.FOREIGN,
        "a parent of another family is a stranger",
        id="another family's object",
    ),
    row(
        FOREIGN,
        item(want(creation="Merge"), THEIRS, record(want(), uid="", reason=Reason.FIELD_TAKEN, seen=seen(want(), THEIRS))),
        Verb.CONFLICT,
        Reason.FIELD_TAKEN,
        "adopting met a field of another manager: it waits for the object, the payload or force",
        id="adopting waits for a field",
    ),
    row(
        FOREIGN,
        item(WANT, live(hold(OTHER)), kin=True, held=(hold(OTHER),)),
        Verb.APPLY,
        Reason.CHANGED,
        "kin pass Owner and count as creators, so that the last to leave removes it",
        id="kin made it",
        created=True,
    ),
    row(
        OURS,
        item(WANT, MINE, record(WANT)),
        Verb.SKIP,
        Reason.UNCHANGED,
        "what is recorded is what is live and what is wanted",
        id="nothing changed",
    ),
    row(
        OURS,
        item(WANT, MINE, record(WANT, payload="old")),
        Verb.APPLY,
        Reason.CHANGED,
        "the template renders something else",
        id="the payload changed",
        created=True,
    ),
    row(
        OURS,
        item(WANT, live(hold(fields="other")), record(WANT)),
        Verb.APPLY,
        Reason.DRIFTED,
        "a field left our entry: somebody changed or removed it",
        id="a field was taken",
        created=True,
    ),
    row(
        OURS,
        item(WANT, THEIRS, record(WANT)),
        Verb.APPLY,
        Reason.DRIFTED,
        "our entry is gone altogether, and memory knows the UID that the server answered",
        id="our entry vanished",
        created=True,
    ),
    row(
        OURS,
        item(WANT, MINE),
        Verb.APPLY,
        Reason.CHANGED,
        "memory is lost and the proof is there",
        id="proof without memory",
        created=True,
    ),
    row(
        OURS,
        item(WANT, MINE, record(WANT, uid="", pending=True, created=False)),
        Verb.APPLY,
        Reason.CHANGED,
        "our create arrived although its answer was lost: the proven mark says created",
        id="our create was lost and landed",
        created=True,
    ),
    row(
        OURS,
        item(want(creation="Merge"), ADOPTED, record(WANT, created=False, payload="old")),
        Verb.APPLY,
        Reason.CHANGED,
        "adopted stays adopted",
        id="adopted, payload changed",
        created=False,
    ),
    row(
        OURS,
        item(WANT, ADOPTED, record(WANT)),
        Verb.APPLY,
        Reason.DRIFTED,
        "the mark has to say what the server answered",
        id="the mark differs from memory",
        created=True,
    ),
    row(
        OURS,
        item(WANT, MINE, record(WANT, fields="x", reason=Reason.FIELD_TAKEN, seen=seen(WANT, MINE), message="m")),
        Verb.CONFLICT,
        Reason.FIELD_TAKEN,
        "nothing has changed since another manager refused the field: no hot loop",
        id="field taken, nothing new",
    ),
    row(
        OURS,
        item(WANT, live(hold(), version="11"), record(WANT, fields="x", reason=Reason.FIELD_TAKEN, seen=seen(WANT, MINE))),
        Verb.APPLY,
        Reason.DRIFTED,
        "the object changed: perhaps the field is free",
        id="field taken, the object changed",
        created=True,
    ),
    row(
        OURS,
        item(want(force=True), MINE, record(WANT, fields="x", reason=Reason.FIELD_TAKEN, seen=seen(WANT, MINE))),
        Verb.APPLY,
        Reason.DRIFTED,
        "force was switched on",
        id="field taken, force now",
        created=True,
    ),
    row(
        OURS,
        item(want(body={"data": {"b": "2"}}), MINE, record(WANT, reason=Reason.FIELD_TAKEN, seen=seen(WANT, MINE))),
        Verb.APPLY,
        Reason.CHANGED,
        "the author gave the field up",
        id="field taken, the payload changed",
        created=True,
    ),
    row(
        OURS,
        item(WANT, live(hold(), terminating=True), record(WANT)),
        Verb.SKIP,
        Reason.TERMINATING,
        "an apply would succeed and be lost; the object comes again when it is gone",
        id="the object is terminating",
    ),
    row(
        OURS,
        item(WANT, MINE, record(WANT, payload="old"), namespace_terminating=True),
        Verb.SKIP,
        Reason.TERMINATING,
        "nothing is written in a terminating namespace",
        id="the namespace is terminating",
    ),
    row(
        ORPHAN,
        item(None, MINE, record(want(deletion="Orphan"))),
        Verb.ORPHAN,
        Reason.NOT_WANTED,
        "content stays, our marks go",
        id="orphaned",
    ),
    row(
        ORPHAN,
        item(None, ADOPTED, record(want(deletion="Orphan"), created=False)),
        Verb.ORPHAN,
        Reason.NOT_WANTED,
        "Orphan keeps the values that Release would give back",
        id="adopted and orphaned",
    ),
    row(
        ORPHAN,
        item(None, live(hold(), hold(OTHER)), record(want(deletion="Orphan")), held=(hold(OTHER),)),
        Verb.ORPHAN,
        Reason.NOT_WANTED,
        "who stays keeps its own marks",
        id="orphaned while another holds it",
    ),
    row(
        CREATED,
        item(None, MINE, record()),
        Verb.REMOVE,
        Reason.NOT_WANTED,
        "we made it, nobody else holds it",
        id="ours alone",
    ),
    row(
        CREATED,
        item(None, THEIRS, record()),
        Verb.REMOVE,
        Reason.NOT_WANTED,
        "the server answered us this very UID",
        id="ours by memory",
    ),
    row(
        CREATED,
        item(None, live(hold(), hold(OTHER)), record(), held=(hold(OTHER),)),
        Verb.RELEASE,
        Reason.HELD_BY_ANOTHER,
        "whoever leaves last removes it",
        id="ours and another's",
    ),
    row(
        CREATED,
        item(None, live(hold(), hold("uid-dead")), record()),
        Verb.REMOVE,
        Reason.NOT_WANTED,
        "a parent that is gone holds nothing",
        id="ours and a dead parent's",
    ),
    row(
        CREATED,
        item(None, MINE, record(uid="", pending=True, created=False)),
        Verb.REMOVE,
        Reason.NOT_WANTED,
        "the lost create landed: its proven mark says created",
        id="our lost create",
    ),
    row(
        CREATED,
        item(None, live(hold(), terminating=True), record()),
        Verb.SKIP,
        Reason.TERMINATING,
        "it was deleted already: remembered until it is gone",
        id="being deleted",
    ),
    row(
        CREATED,
        item(None, MINE, record(), namespace_terminating=True),
        Verb.SKIP,
        Reason.TERMINATING,
        "the namespace takes it along",
        id="its namespace is being deleted",
    ),
    row(
        WAS_ADOPTED,
        item(None, ADOPTED, record(created=False)),
        Verb.RELEASE,
        Reason.NOT_WANTED,
        "what we adopted is never deleted",
        id="adopted",
        created=False,
    ),
    row(
        WAS_ADOPTED,
        item(None, live(hold(mark="adopted"), hold(OTHER)), record(created=False), held=(hold(OTHER),)),
        Verb.RELEASE,
        Reason.NOT_WANTED,
        "its creator decides what becomes of it",
        id="adopted from another parent",
    ),
    row(
        WAS_ADOPTED,
        item(None, ADOPTED, record(uid="", pending=True, created=False)),
        Verb.RELEASE,
        Reason.NOT_WANTED,
        "the lost adoption landed: its proven mark says adopted",
        id="our lost adoption",
    ),
    row(
        REPLACED,
        item(None, live(uid="u2"), record()),
        Verb.SKIP,
        Reason.REPLACED,
        "another object under the same name is not touched",
        id="another UID",
    ),
    row(
        REPLACED,
        item(None, THEIRS, record(uid="", pending=True)),
        Verb.SKIP,
        Reason.REPLACED,
        "we never got it",
        id="our create lost against another",
    ),
    row(GONE, item(None, None, record()), Verb.SKIP, Reason.ABSENT, "there is nothing to take back", id="deleted by somebody"),
    row(
        GONE,
        item(None, None, record(want(deletion="Orphan"))),
        Verb.SKIP,
        Reason.ABSENT,
        "there is nothing to orphan either",
        id="orphaned and deleted",
    ),
    row(
        UNKNOWN,
        item(None, MINE, record(), known=False),
        Verb.SKIP,
        Reason.UNRESOLVED,
        "not rendered is not the same as not wanted",
        id="its source failed",
    ),
    row(
        UNKNOWN,
        item(None, None, record(), known=False),
        Verb.SKIP,
        Reason.UNRESOLVED,
        "it could not be read, so its absence is not proven: it stays remembered",
        id="it could not be read",
    ),
    row(
        UNKNOWN,
        item(WANT, MINE, record(), condition=Blocked(Reason.CONDITION_FAILED, "no such key")),
        Verb.SKIP,
        Reason.CONDITION_FAILED,
        "whether it is wanted now is not known",
        id="its condition failed",
    ),
    row(
        UNKNOWN,
        item(WANT, None, record(), condition=UNREADABLE),
        Verb.SKIP,
        Reason.UNAVAILABLE,
        "what cannot be read is not taken for absent",
        id="the live object could not be read",
    ),
]


@pytest.mark.parametrize(("of", "given_", "verb", "reason", "more", "why"), ROWS)
def test_the_table(of: str, given_: Item, verb: Verb, reason: Reason, more: dict[str, bool], why: str) -> None:
    """Each row of the planner's table gives its verb and its reason."""
    decision = decide(given_, OWNER)
    assert (decision.verb, decision.reason) == (verb, reason), why
    assert {name: getattr(decision, name) for name in more} == more, why


def _documented() -> dict[str, str]:
    """The rows of the table in the module's docstring: the first three cells, and what follows from them."""
    lines = [line.strip("| ").split(" | ") for line in (table.__doc__ or "").splitlines() if line.startswith("| ")]
    return {" | ".join(cells[:3]): cells[3] for cells in lines[2:]}


def test_the_table_is_closed() -> None:
    """The documented rows are the tested ones: none is missing on either side."""
    assert {case.values[0] for case in ROWS} == set(_documented())


def test_every_word_of_the_table_is_shown_by_a_case() -> None:
    """Each verb and each reason that a row names comes out of a case of that row."""
    vocabulary = {*map(str, Verb), *map(str, Reason)}
    for name, promise in _documented().items():
        shown = {str(word) for case in ROWS if case.values[0] == name for word in case.values[2:4]}
        assert set(re.findall(r"\w+", promise)) & vocabulary <= shown, name


def test_every_verb_has_an_action() -> None:
    """The executor can carry out whatever the planner says, and nothing else."""
    assert set(ACTIONS) == set(Verb)


def test_every_verb_comes_out_of_the_table() -> None:
    """No verb is dead."""
    assert {case.values[2] for case in ROWS} == set(Verb)


def test_a_refusal_says_what_to_do() -> None:
    """A Conflict names both ways out; the object is named where it is shown."""
    message = decide(item(WANT, THEIRS), OWNER).message
    assert message == "it exists and was not created for this parent: delete it, or set policy.creation: Merge to adopt it"


def test_a_waiting_conflict_keeps_its_message() -> None:
    """The field and the manager that were named once are named until something changes."""
    taken = record(WANT, fields="x", reason=Reason.FIELD_TAKEN, seen=seen(WANT, MINE), message=".data.a is held by 'kubectl'")
    assert decide(item(WANT, MINE, taken), OWNER).message == ".data.a is held by 'kubectl'"


# Total, and true for all items.

DESIRED = st.builds(
    want,
    creation=st.sampled_from(Creation),
    deletion=st.sampled_from(Deletion),
    protect=st.booleans(),
    force=st.booleans(),
    body=st.sampled_from([{"data": {"a": "1"}}, {"data": {"a": "2"}}]),
)
HOLDS = st.builds(
    hold, st.sampled_from([ME, OTHER, "uid-dead"]), st.sampled_from(["created", "adopted"]), fields=st.sampled_from([FIELDS, "x"])
)
LIVES = st.builds(
    lambda holds, **rest: live(*holds, **rest),
    st.lists(HOLDS, max_size=3, unique_by=lambda one: one.manager),
    uid=st.sampled_from(["u1", "u2"]),
    version=st.sampled_from(["10", "11"]),
    terminating=st.booleans(),
)
RECORDS = st.builds(
    record,
    DESIRED,
    uid=st.sampled_from(["", "u1", "u2"]),
    created=st.booleans(),
    pending=st.booleans(),
    fields=st.sampled_from([FIELDS, "x"]),
    ok=st.booleans(),
    reason=st.sampled_from([Reason.SUCCEEDED, Reason.FIELD_TAKEN, Reason.FOREIGN, Reason.TERMINATING, Reason.UNAVAILABLE]),
    seen=st.sampled_from(["", *(seen(want(force=force), live()) for force in (False, True))]),
)


@st.composite
def items(draw: st.DrawFn) -> Item:
    """Any item: what is desired or recorded (or both), over any live object and any circumstance."""
    desired, remembered = draw(st.none() | DESIRED), draw(st.none() | RECORDS)
    if desired is None and remembered is None:
        remembered = draw(RECORDS)
    there = draw(st.none() | LIVES)
    living = tuple(one for one in there.others(OWNER.manager) if one.parent == OTHER) if there else ()
    return item(
        desired,
        there,
        remembered,
        condition=draw(st.booleans() | st.just(UNREADABLE)),
        known=desired is not None or draw(st.booleans()),
        kin=bool(living) and draw(st.booleans()),
        held=living,
        namespace_terminating=draw(st.booleans()),
    )


def _proven(of: Item) -> bool:
    return of.live is not None and of.live.held_by(OWNER.manager) is not None


def _ours(of: Item) -> bool:
    answered = of.record is not None and of.live is not None and bool(of.record.uid) and of.record.uid == of.live.uid
    return _proven(of) or answered


@given(items())
def test_deciding_is_total_and_repeatable(of: Item) -> None:
    """Every item has a decision, and the same item has the same one."""
    assert decide(of, OWNER) == decide(of, OWNER)


@given(items())
def test_only_what_is_ours_alone_is_removed(of: Item) -> None:
    """Nothing is deleted that is not ours, that we adopted, that another parent holds, or that is to stay."""
    if decide(of, OWNER).verb is not Verb.REMOVE:
        return
    mine = of.live.held_by(OWNER.manager) if of.live else None
    remembered = of.record is not None and of.live is not None and of.record.uid == of.live.uid and of.record.created
    assert of.desired is None
    assert of.known
    assert _ours(of)
    assert not of.held
    assert remembered or (mine is not None and mine.mark == "created")
    assert of.record is None or of.record.policy.deletion is Deletion.REMOVE


@given(items())
def test_only_what_is_ours_is_taken_back(of: Item) -> None:
    """No Remove, Release or Orphan touches an object that neither proof nor memory calls ours."""
    assert decide(of, OWNER).verb not in PRUNES or (_ours(of) and of.desired is None and of.known)


@given(items())
def test_nothing_is_created_over_a_live_object(of: Item) -> None:
    """Create stands only where nothing is; whatever is live is applied with its UID."""
    verb = decide(of, OWNER).verb
    assert verb is not Verb.CREATE or of.live is None
    assert verb not in (Verb.ADOPT, Verb.APPLY, *PRUNES) or of.live is not None


@given(items())
def test_a_stranger_is_written_only_by_permission(of: Item) -> None:
    """What is not ours is written under Merge or as kin, never otherwise."""
    decision = decide(of, OWNER)
    if decision.writes and of.live is not None and not _ours(of):
        assert of.desired is not None
        assert of.kin or of.desired.policy.creation is Creation.MERGE


@given(items())
def test_a_condition_that_does_not_hold_writes_no_content(of: Item) -> None:
    """False and failed conditions skip; a false one may change marks, on what is provably ours."""
    if of.desired is None or of.condition is True:
        return
    decision = decide(of, OWNER)
    assert decision.verb is Verb.SKIP
    assert not decision.remark or (of.condition is False and _proven(of))


@given(items())
def test_unresolved_removes_nothing(of: Item) -> None:
    """While it is not known what is wanted, nothing is written and nothing is forgotten."""
    unknown = replace(of, desired=None, known=False, record=of.record or record())
    decision = decide(unknown, OWNER)
    assert (decision.verb, decision.reason) == (Verb.SKIP, Reason.UNRESOLVED)
    assert settle(decision, OWNER) == unknown.record


@given(items())
def test_nothing_is_written_where_things_are_going(of: Item) -> None:
    """Neither in a terminating namespace nor to a terminating object."""
    decision = decide(of, OWNER)
    assert not (of.namespace_terminating and decision.writes)
    assert not (of.live is not None and of.live.terminating and decision.writes)


@given(items(), DESIRED, LIVES)
def test_a_record_that_says_what_is_live_and_desired_gives_skip(of: Item, desired: Desired, there: Live) -> None:
    """After a success, the second look is Skip Unchanged and writes nothing."""
    mine = hold(mark="created" if decide(of, OWNER).created else "adopted")
    there = replace(there, terminating=False, holdings=(mine, *there.others(OWNER.manager)))
    remembered = record(desired, uid=there.uid, created=mine.mark == "created", fields=mine.fields)
    decision = decide(item(desired, there, remembered), OWNER)
    assert (decision.verb, decision.reason, decision.writes) == (Verb.SKIP, Reason.UNCHANGED, False)


@given(items())
def test_a_decision_without_a_write_stays_what_it_is(of: Item) -> None:
    """What memory says after a Skip or a Conflict leads to the same verb, and to the same memory: no pass causes the next."""
    decision = decide(of, OWNER)
    if decision.writes:
        return
    memory = settle(decision, OWNER)
    if memory is None and of.desired is None:
        return
    again = decide(replace(of, record=memory), OWNER)
    assert (again.verb, again.reason, again.writes) == (decision.verb, decision.reason, False)
    assert settle(again, OWNER) == memory


def test_writing_verbs_and_taking_verbs_are_what_they_say() -> None:
    """Skip and Conflict write nothing; what takes back is a write."""
    assert set(Verb) - WRITES == {Verb.SKIP, Verb.CONFLICT}
    assert PRUNES < WRITES


def test_a_problem_is_carried_in_its_own_words() -> None:
    """What could not be read is reported with the reason and the sentence of the problem."""
    problem: Problem = Blocked(Reason.FORBIDDEN, "may not get configmaps")
    decision: Decision = decide(item(WANT, MINE, record(), condition=problem), OWNER)
    assert (decision.reason, decision.message) == (Reason.FORBIDDEN, "may not get configmaps")


def test_memory_alone_is_enough_to_take_down() -> None:
    """A recorded target is taken back although nothing is rendered and no condition is looked at."""
    remembered: Record = record(want(condition="object == null"))
    assert decide(item(None, MINE, remembered, condition=False), OWNER).verb is Verb.REMOVE
