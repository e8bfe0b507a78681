"""What a status says after a pass: a table of conditions, times that mean something, and messages that end."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Identity
from apis.meta import Manifest
from apis.problems import Blocked, Forbidden, Invalid, Problem, Unavailable
from apis.reasons import AUTHOR, Reason
from apis.record import Record
from manager.report import MESSAGE_LIMIT, Standing, report
from manager.surroundings import Trouble
from policy.budget import Pruned
from tests.support.build import parent, record, want

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
MISTAKE = Invalid(Reason.INVALID, "spec.resources: required")
REFUSED = Blocked(Reason.ACCOUNT_MISSING, "no account acts for this parent")
UNREADABLE = Forbidden("may not get secrets")


def standing(
    *records: Record, before: Manifest | None = None, kind: str = "GlobalTenantResource", generation: int = 2, **rest: Any
) -> Standing:
    """How a parent with these records stands."""
    namespace = "solar-dev" if kind == "TenantResource" else ""
    of = parent(kind=kind, namespace=namespace, generation=generation, status=before)
    return Standing(parent=of, records={one.key: one for one in records}, now=NOW, **rest)


def conditions(status: Manifest) -> dict[str, Manifest]:
    """The conditions by type."""
    return {condition["type"]: condition for condition in status["conditions"]}


def told(of: Standing) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {name: (condition["status"], condition["reason"]) for name, condition in conditions(report(of)).items()}


def ready(of: Standing) -> str:
    """The message of Ready."""
    return str(conditions(report(of))["Ready"]["message"])


def well(name: str = "settings", **known: Any) -> Record:
    """A target as it should be."""
    return record(want(name), **known)


def ill(name: str = "broken", reason: Reason = Reason.FORBIDDEN, message: str = "may not patch") -> Record:
    """A target that failed."""
    return record(want(name), ok=False, reason=reason, message=message)


def _row(ready: Any, reconciling: bool = False, stalled: Reason | None = None, cordoned: bool = False) -> dict[str, Any]:
    return {
        "Ready": ready,
        "Reconciling": ("True", "Progressing") if reconciling else ("False", "Succeeded"),
        "Stalled": ("True", str(stalled)) if stalled else ("False", "Succeeded"),
        "Cordoned": ("True", "Cordoned") if cordoned else ("False", "Active"),
    }


SUCCEEDED, FAILED, UNKNOWN = ("True", "Succeeded"), ("False", "Failed"), ("Unknown", "Progressing")
CASES = [
    pytest.param(standing(well()), _row(SUCCEEDED), "Current", "all is as wanted", id="success"),
    pytest.param(standing(), _row(SUCCEEDED), "Current", "nothing is wanted, and nothing is there", id="nothing wanted"),
    pytest.param(
        standing(well(), ill()), _row(FAILED), "InProgress", "somebody else must act, and it is tried again", id="one failed"
    ),
    pytest.param(
        standing(ill(reason=Reason.UNSAFE_VALUE)),
        _row(FAILED, stalled=Reason.UNSAFE_VALUE),
        "Failed",
        "only an edit can mend it",
        id="the author's mistake in a target",
    ),
    pytest.param(
        standing(well(), hold=MISTAKE),
        _row(("False", "Invalid"), stalled=Reason.INVALID),
        "Failed",
        "the spec itself is wrong",
        id="the author's mistake in the spec",
    ),
    pytest.param(
        standing(well(), hold=REFUSED),
        _row(("False", "AccountMissing")),
        "InProgress",
        "an administrator can mend it",
        id="held by somebody else",
    ),
    pytest.param(
        standing(well(), hold=Unavailable("timeout")),
        _row(("False", "Unavailable")),
        "InProgress",
        "it passes",
        id="held by nobody",
    ),
    pytest.param(
        standing(well(), troubles=(Trouble("solar-dev", UNREADABLE),)),
        _row(FAILED),
        "InProgress",
        "a source could not be read",
        id="a source failed",
    ),
    pytest.param(
        standing(
            well(), troubles=(Trouble("a", UNREADABLE), Trouble("b", Invalid(Reason.RENDER_FAILED, "line 1"), "resources[0]"))
        ),
        _row(FAILED, stalled=Reason.RENDER_FAILED),
        "Failed",
        "one of the troubles is the author's",
        id="a template failed",
    ),
    pytest.param(standing(well(), working=True), _row(UNKNOWN, reconciling=True), "InProgress", "it works", id="working"),
    pytest.param(
        standing(ill(reason=Reason.INVALID), working=True),
        _row(UNKNOWN, reconciling=True, stalled=Reason.INVALID),
        "InProgress",
        "work comes before failure for whoever waits",
        id="working on a mistake",
    ),
    pytest.param(
        standing(well(), cordoned=True),
        _row(SUCCEEDED, cordoned=True),
        "Current",
        "it says what it said before; at first, reconciled",
        id="cordoned",
    ),
]


def _kstatus(generation: int, status: Manifest) -> str:
    """What kstatus makes of the status of a custom resource."""
    if status["observedGeneration"] != generation:
        return "InProgress"
    for condition in status["conditions"]:
        if (condition["type"], condition["status"]) == ("Reconciling", "True"):
            return "InProgress"
        if (condition["type"], condition["status"]) == ("Stalled", "True"):
            return "Failed"
    return "Current" if conditions(status)["Ready"]["status"] == "True" else "InProgress"


@pytest.mark.parametrize(("of", "expected", "kstatus", "reason"), CASES)
def test_the_conditions(of: Standing, expected: dict[str, Any], kstatus: str, reason: str) -> None:
    """Ready, Reconciling, Stalled and Cordoned, and what tools that wait read from them."""
    assert told(of) == expected, reason
    assert _kstatus(2, report(of)) == kstatus, reason


@pytest.mark.parametrize("reason", sorted(AUTHOR))
def test_every_mistake_of_the_author_stalls(reason: Reason) -> None:
    """And names the target."""
    stalled = conditions(report(standing(ill(reason=reason, message="m"))))["Stalled"]
    assert (stalled["status"], stalled["reason"]) == ("True", str(reason))
    assert stalled["message"] == f"ConfigMap solar-dev/broken: {reason}: m"


@pytest.mark.parametrize("reason", sorted(set(Reason) - AUTHOR))
def test_nothing_else_stalls(reason: Reason) -> None:
    """What others must mend is tried again."""
    assert told(standing(ill(reason=reason)))["Stalled"] == ("False", "Succeeded")


def test_a_cordoned_parent_keeps_what_it_said() -> None:
    """Its last result, good or bad, with the time of that."""
    failed = report(standing(ill()))
    after = conditions(report(standing(ill(), cordoned=True, before=failed)))
    assert after["Ready"] == conditions(failed)["Ready"]
    assert after["Cordoned"]["message"] == "is cordoned: nothing is applied and nothing is taken back"


# Times.


def _aged(status: Manifest) -> Manifest:
    return {
        **status,
        "conditions": [{**condition, "lastTransitionTime": EARLIER} for condition in status["conditions"]],
    }


def test_a_time_changes_only_with_its_status() -> None:
    """Another reason or message is no transition."""
    before = _aged(report(standing(ill(message="one"))))
    after = conditions(report(standing(ill(message="two"), before=before)))
    assert after["Ready"]["lastTransitionTime"] == EARLIER
    assert after["Ready"]["message"] != conditions(before)["Ready"]["message"]


def test_a_status_that_changes_has_the_time_of_the_change() -> None:
    """Only that condition's."""
    before = _aged(report(standing(ill())))
    after = conditions(report(standing(well(), before=before)))
    assert after["Ready"]["lastTransitionTime"] == NOW
    assert {after[name]["lastTransitionTime"] for name in ("Reconciling", "Stalled", "Cordoned")} == {EARLIER}


def test_a_second_pass_writes_the_same_status() -> None:
    """Nothing differs, so memory writes nothing."""
    before = _aged(report(standing(well(), ill())))
    assert report(standing(well(), ill(), before=before)) == before


def test_every_condition_speaks_of_the_present_generation() -> None:
    """And so does the status."""
    status = report(standing(well(), generation=7))
    assert status["observedGeneration"] == 7
    assert {condition["observedGeneration"] for condition in status["conditions"]} == {7}


STANDINGS = st.builds(
    lambda records, trouble, **rest: standing(*records, troubles=trouble, **rest),
    st.lists(
        st.builds(ill, st.text("ab", min_size=1, max_size=3), st.sampled_from(Reason), st.text(max_size=3))
        | st.builds(well, st.text("cd", min_size=1, max_size=3)),
        max_size=5,
    ),
    st.lists(st.builds(Trouble, st.just("u"), st.sampled_from([MISTAKE, REFUSED, UNREADABLE])), max_size=3).map(tuple),
    hold=st.sampled_from([None, None, MISTAKE, REFUSED]),
    cordoned=st.booleans(),
    working=st.booleans(),
)


@given(STANDINGS, STANDINGS)
def test_conditions_are_well_formed_and_keep_their_times(first: Standing, second: Standing) -> None:
    """For any two passes in a row: each type once, known words, and a new time exactly where the status changed."""
    before = _aged(report(first))
    changed = Standing(**{**_fields(second), "parent": parent(generation=2, status=before)})
    after = report(changed)
    assert [condition["type"] for condition in after["conditions"]] == ["Ready", "Reconciling", "Stalled", "Cordoned"]
    for name, condition in conditions(after).items():
        assert condition["status"] in ("True", "False", "Unknown")
        assert condition["reason"]
        same = conditions(before)[name]["status"] == condition["status"]
        assert condition["lastTransitionTime"] == (EARLIER if same else NOW)


def _fields(of: Standing) -> dict[str, Any]:
    return {name: getattr(of, name) for name in Standing.__dataclass_fields__}


# Messages.


def test_success_says_how_many() -> None:
    """Of all that is recorded."""
    assert ready(standing(well("a"), well("b"))) == "reconciled 2 targets"


def test_failures_are_told_apart_by_what_was_tried() -> None:
    """Sources, removals, applies; the first three of each by name."""
    leaving = [ill(f"old-{n}", message="may not delete") for n in range(2)]
    failed = [ill(f"new-{n}") for n in range(5)]
    of = standing(
        well(),
        *leaving,
        *failed,
        troubles=(Trouble("solar-dev", UNREADABLE),),
        leaving=frozenset(one.key for one in leaving),
    )
    assert ready(of).split("; ") == [
        "1 sources failed: may not get secrets",
        "pruning of 2 resources failed: ConfigMap solar-dev/old-0: Forbidden: may not delete",
        "ConfigMap solar-dev/old-1: Forbidden: may not delete",
        "applying of 5 resources failed: ConfigMap solar-dev/new-0: Forbidden: may not patch",
        "ConfigMap solar-dev/new-1: Forbidden: may not patch",
        "ConfigMap solar-dev/new-2: Forbidden: may not patch (and 2 more)",
    ]


def test_a_problem_is_told_once() -> None:
    """A source that failed and the target that is shown for it say the same: it is spelled out as the source's."""
    of = standing(ill(message=str(UNREADABLE)), troubles=(Trouble("solar-dev", UNREADABLE),))
    assert ready(of) == "1 sources failed: may not get secrets"


def test_a_warning_is_a_condition_of_its_own() -> None:
    """The delete budget shows as PruneBlocked, and goes when it is over."""
    blocked = standing(well(), warnings=((Reason.PRUNE_BLOCKED, "annotate the parent"),))
    shown = conditions(report(blocked))["PruneBlocked"]
    assert (shown["status"], shown["reason"], shown["message"]) == ("True", "PruneBlocked", "annotate the parent")
    assert "PruneBlocked" not in conditions(report(standing(well(), before=report(blocked))))


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(standing(hold=Blocked(Reason.REFUSED, "x" * 50_000)), id="what holds it"),
        pytest.param(standing(*(ill(f"t{n}", message="x" * 1024) for n in range(5000))), id="case 065: many long failures"),
        pytest.param(
            standing(troubles=tuple(Trouble(f"u{n}", Unavailable(f"{n} " + "x" * 5000)) for n in range(2000))), id="many sources"
        ),
        pytest.param(standing(hold=Invalid(Reason.INVALID, "x" * 50_000)), id="a long mistake"),
        pytest.param(standing(warnings=((Reason.PRUNE_BLOCKED, "x" * 50_000),)), id="a long warning"),
    ],
)
def test_messages_are_bounded(of: Standing) -> None:
    """No condition is longer than a status can bear, and a cut shows."""
    texts = [condition["message"] for condition in report(of)["conditions"]]
    assert max(map(len, texts)) <= MESSAGE_LIMIT
    assert all(text.endswith(" ...") for text in texts if len(text) == MESSAGE_LIMIT)


# The rest of the status.


def test_the_account_is_told_and_kept() -> None:
    """A pass that is held before the account is known leaves the last one."""
    known = report(standing(identity=Identity("platform", "distributor")))
    assert known["serviceAccount"] == {"namespace": "platform", "name": "distributor"}
    assert report(standing(before=known, hold=REFUSED))["serviceAccount"] == known["serviceAccount"]
    assert "serviceAccount" not in report(standing(hold=REFUSED))


@pytest.mark.parametrize(
    ("kind", "tenants", "expected"),
    [
        ("GlobalTenantResource", ("lunar", "solar"), ["lunar", "solar"]),
        ("GlobalTenantResource", (), []),
        ("GlobalTenantResource", None, None),
        ("TenantResource", ("solar",), None),
    ],
)
def test_the_selected_tenants_are_told(kind: str, tenants: tuple[str, ...] | None, expected: list[str] | None) -> None:
    """By a parent that selects, when it has selected."""
    assert report(standing(kind=kind, tenants=tenants)).get("selectedTenants") == expected


def test_what_was_pruned_within_the_hour_is_remembered() -> None:
    """Another replica goes on counting; whole seconds do."""
    assert report(standing(pruned=(Pruned(1_700_000_000.7, 3),)))["pruned"] == [{"at": 1_700_000_000, "count": 3}]
    assert "pruned" not in report(standing())


def test_memory_writes_its_own_fields() -> None:
    """The report has none of them."""
    fields = set(report(standing(well(), identity=Identity("a", "b"), tenants=("t",), pruned=(Pruned(1.0, 1),))))
    assert fields == {"observedGeneration", "conditions", "serviceAccount", "selectedTenants", "pruned"}


def test_a_hold_of_any_kind_has_its_own_reason() -> None:
    """No text is parsed to learn what holds a parent."""
    holds: list[Problem] = [MISTAKE, REFUSED, UNREADABLE, Unavailable("t")]
    assert [told(standing(hold=hold))["Ready"] for hold in holds] == [("False", str(hold.reason)) for hold in holds]
