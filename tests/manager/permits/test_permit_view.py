"""What is shown of a permit, from nothing but the object: times, phases, and what may be missing."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from manager.permits.glance import approved, left, span
from manager.permits.listing import table
from manager.permits.trailview import verdict
from manager.permits.view import whole
from manager.permits.waiting import board, story
from policy.permits.step import Step
from tests.manager.permits.bureau import KEY_ID, NOW, PUBLIC, SYSTEM, active, permit, requested, went


def texts(one: Manifest) -> list[str]:
    """The lines of a permit."""
    return [line.text for line in whole(one, NOW)]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (3600, "1h"),
        (3661, "1h1m"),
        (90061, "1d1h"),
        (86430, "1d"),
    ],
)
def test_a_span_has_its_two_largest_units(seconds: float, text: str) -> None:
    """Whole seconds that are left."""
    assert span(timedelta(seconds=seconds)) == text


def of_phase(phase: Phase, **status: Any) -> Manifest:
    """A permit in a phase, with this in its status."""
    one = requested()
    one["status"] |= {"phase": str(phase), **status}
    return one


@pytest.mark.parametrize(
    ("one", "text"),
    [
        pytest.param(active(), "29m58s", id="until"),
        pytest.param(active("2026-03-01T11:59:55Z"), "overdue for 5s", id="overdue"),
        pytest.param(of_phase(Phase.ACTIVE, active={"from": "2026-03-01T11:00:00Z"}), "no end", id="no end"),
        pytest.param(requested(), "23h to decide", id="a deadline"),
        pytest.param(requested(approvals={"deadline": "30m"}), "overdue for 30m to decide", id="a missed deadline"),
        pytest.param(requested(approvals={}), "", id="no deadline"),
        pytest.param(of_phase(Phase.APPROVED, request={"startTime": "2026-03-01T13:00:00Z"}), "starts in 1h", id="a start"),
        pytest.param(of_phase(Phase.APPROVED, request={"startTime": "2026-03-01T11:00:00Z"}), "", id="a start that was"),
        pytest.param(of_phase(Phase.EXPIRED), "", id="over"),
        pytest.param(permit(), "", id="new"),
    ],
)
def test_the_time_that_is_left_is_that_of_the_phase(one: Manifest, text: str) -> None:
    """By the clock that is given."""
    assert left(one, NOW) == text


def test_only_approvals_of_the_present_snapshot_count() -> None:
    """Those of an earlier one are shown, and are void."""
    one = active()
    one["status"]["review"]["approvals"].append(
        {"reviewer": {"name": "carol", "type": "User"}, "time": "2026-03-01T11:30:00Z", "digest": "sha256:old", "message": "ok"}
    )
    assert str(approved(one)) == "1 of 1"
    assert "  2026-03-01T11:30:00Z carol: ok (of what it was before)" in texts(one)


def test_the_preview_names_fields_and_who_stands_against_them() -> None:
    """A conflict is not the same as a field that is taken over."""
    one = requested()
    place = {"kind": "ConfigMap", "namespace": "a", "name": "b"}
    one["status"]["preview"] = [
        {**place, "verb": "Conflict", "taken": [".data.x"], "message": "held"},
        {**place, "verb": "Patch", "paths": [".data.y"], "taken": [".data.y"]},
        {"kind": "Node", "name": "n", "verb": "Forbidden", "message": "not yours"},
    ]
    shown = "\n".join(texts(one))
    assert "  conflict  ConfigMap a/b: held\n            .data.x is held by another manager\n" in shown
    assert "  patch     ConfigMap a/b\n            .data.y\n            .data.y is taken from another manager\n" in shown
    assert "  forbidden Node n: not yours" in shown


def test_a_snapshot_without_rights_says_so() -> None:
    """What is absent could also be unknown."""
    one = requested()
    one["status"]["grants"] = []
    assert "  no rights to anybody" in texts(one)
    assert "grants" not in texts(permit())


def test_what_is_unresolved_counts_as_everything() -> None:
    """And is seen at once."""
    one = requested()
    one["status"]["grants"] = [{"subject": "User/alice", "unresolved": "ClusterRole x is not there", "via": "RoleBinding a/b"}]
    line = next(line for line in whole(one, NOW) if "ClusterRole x" in line.text)
    assert "User/alice may do anything in the whole cluster" in line.text
    assert line.style == "bold red"


def test_a_failure_says_where_a_retry_leads() -> None:
    """While it is one."""
    failure = {"stage": "Activation", "retryPhase": "Approved", "reason": "ResourceApplyFailed", "message": "no"}
    one = of_phase(Phase.FAILED, failure=failure)
    assert "  Activation: ResourceApplyFailed: no" in texts(one)
    assert "  a retry that succeeds leads to Approved" in texts(one)
    assert "failure" not in texts(of_phase(Phase.ACTIVE, failure=failure))


def test_a_denial_and_automatic_approval_are_told() -> None:
    """With who decided, where somebody did."""
    one = of_phase(Phase.DENIED)
    one["status"]["review"] = {"verdict": "Denied", "reviewer": {"name": "bob", "type": "User"}, "message": "not today"}
    assert "  denied by bob: not today" in texts(one)
    assert "  approved without a reviewer, where a condition holds" in texts(requested(approvals={"auto": True}))
    assert "  0 of 1, by whoever may write the status of permits" in texts(requested(approvals={}))


PARTS = ("request", "review", "preview", "grants", "conditions", "active", "failure", "transitions", "phase")


@given(st.sets(st.sampled_from(PARTS)), st.sampled_from(list(Phase)))
def test_whatever_is_missing_it_is_shown(without: set[str], phase: Phase) -> None:
    """A status is written by others, and by versions that are not ours."""
    one = active()
    one["status"] = {part: value for part, value in one["status"].items() if part not in without}
    if "phase" not in without:
        one["status"]["phase"] = str(phase)
    assert texts(one)
    assert list(table([one], NOW, namespaces=True))
    assert verdict(one, {KEY_ID: PUBLIC}).lines
    assert list(story(one)) or "transitions" in without
    Console(file=None, quiet=True).print(board(one, NOW))


def test_a_stuck_permit_tells_what_it_waits_for() -> None:
    """While it is merely being prepared, there is nothing to tell."""
    one = went(permit(), Step(Phase.CREATED, SYSTEM, "CreatedByUser"))
    assert len(list(story(one))) == 1
    one["status"]["conditions"][0] |= {"reason": "TemplateRenderingFailed", "message": "params.user is not defined"}
    assert list(story(one))[-1].text == "not ready: TemplateRenderingFailed: params.user is not defined"


def test_columns_are_as_wide_as_what_stands_in_them() -> None:
    """On a terminal, where some letters take two columns."""
    rows = list(table([permit("a", reason="\u65e5\u672c"), permit("much-longer", reason="x" * 100)], NOW, namespaces=False))
    assert rows[1].index("alice") == rows[2].index("alice") == rows[0].index("REQUESTER")
    assert rows[2].endswith("x" * 59 + "\u2026")
