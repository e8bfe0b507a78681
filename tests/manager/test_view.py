"""The live view of `copyhold up`: what counts as news, what a row says, and what fits on a terminal."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, cast

import pytest
from rich.console import Console

from apis.kind import Parent, find
from apis.meta import Key, Ref
from apis.problems import Blocked, Problem, Stale
from apis.reasons import Reason
from apis.record import Record
from manager.execute import Outcome
from manager.memory import Memory
from manager.tenure import Tenure
from manager.view import Line, News, ParentRow, TargetRow, Watcher, board, rows, short_age
from manager.world import Cluster, Resource
from policy.decide import Decision, Item, Verb

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = Key("", "ConfigMap", "a", "x")


def parent(name: str = "baseline", ready: str = "True", message: str = "reconciled 1 targets", **metadata: Any) -> Parent:
    """A GlobalTenantResource with a Ready condition."""
    kind = find("copyhold.dev", "GlobalTenantResource")
    assert kind is not None
    condition = {"type": "Ready", "status": ready, "reason": "Succeeded" if ready == "True" else "Failed", "message": message}
    return Parent(kind, {"metadata": {"name": name, "uid": f"uid-{name}", **metadata}, "status": {"conditions": [condition]}})


def record(key: Key = KEY, *, ok: bool = True, reason: Reason = Reason.SUCCEEDED, message: str = "") -> Record:
    """What is remembered of a target."""
    return Record(
        Ref(key.group, "v1", key.kind, key.namespace, key.name),
        "configmaps",
        False,
        "a",
        "",
        ok=ok,
        reason=reason,
        message=message,
    )


def tenure(owner: Parent, *records: Record) -> Tenure:
    """The parent in the manager's editor."""
    resource = Resource("copyhold.dev", "v1alpha1", "GlobalTenantResource", "globaltenantresources", False)
    memory = Memory(cast(Cluster, None), owner, resource, resource, inline=True)  # no test here lets it be written
    return Tenure(owner, memory, {one.key: one for one in records})


def outcome(verb: Verb, reason: Reason, *, wrote: bool = False, problem: Problem | None = None, message: str = "") -> Outcome:
    """What became of a decision about KEY."""
    decision = Decision(Item(KEY, None, None, None), verb, reason, message)
    return Outcome(decision, record(), problem, wrote=wrote)


def test_a_permit_shows_its_phase_for_whom_it_is_and_until_when() -> None:
    """Who watches wants to know how long somebody has what."""
    kind = find("copyhold.dev", "ResourcePermit")
    assert kind is not None
    condition = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "managed resources are ready"}
    status = {"phase": "Active", "active": {"until": "2026-01-02T03:34:05Z"}, "conditions": [condition]}
    spec = {"requester": {"name": "alice", "type": "User"}}
    permit = Parent(kind, {"metadata": {"name": "x", "namespace": "a", "uid": "u"}, "spec": spec, "status": status})
    message = "for alice, until 2026-01-02T03:34:05Z, managed resources are ready"
    assert rows([permit], {}, {}) == [ParentRow("ResourcePermit a/x", "True", "Active", message, ())]


@pytest.mark.parametrize(
    ("phase", "said", "good"),
    [
        pytest.param("Requested", "PendingReview by copyhold (System)", True, id="a step of the manager"),
        pytest.param("Active", "ActivatedBySystem by copyhold (System), until 2026-01-02T03:34:05Z", True, id="with an end"),
        pytest.param("Denied", "DeniedByReviewer by bob: not today", False, id="somebody says no"),
    ],
)
def test_a_step_of_a_permit_is_a_line_with_phase_actor_and_end(phase: str, said: str, *, good: bool) -> None:
    """What kind of actor it was is said where it was no user."""
    system = {"name": "copyhold", "type": "System"}
    given: dict[str, dict[str, Any]] = {
        "Requested": {"actor": system, "reason": "PendingReview"},
        "Active": {"actor": system, "reason": "ActivatedBySystem", "until": "2026-01-02T03:34:05Z"},
        "Denied": {"actor": {"name": "bob", "type": "User"}, "reason": "DeniedByReviewer", "message": "not today"},
    }
    lines: list[Line] = []
    watcher = Watcher(lines.append, now=lambda: NOW)
    watcher.stepped({"metadata": {"name": "x", "namespace": "a"}}, {"type": phase, **given[phase]})
    assert lines == [Line(NOW, "ResourcePermit a/x", phase, said, good=good)]


def heard(*outcomes: Outcome) -> list[str]:
    """The lines about these outcomes, one after the other."""
    lines: list[Line] = []
    watcher = Watcher(lines.append, now=lambda: NOW)
    held = tenure(parent())
    for one in outcomes:
        watcher.settled(held, one)
    return [str(line) for line in lines]


CREATED = outcome(Verb.CREATE, Reason.MISSING, wrote=True)
UNCHANGED = outcome(Verb.SKIP, Reason.UNCHANGED)
FOREIGN = outcome(Verb.CONFLICT, Reason.FOREIGN, message="it exists")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        pytest.param([CREATED], ["03:04:05 Create ConfigMap a/x: Missing (GlobalTenantResource baseline)"], id="a write"),
        pytest.param([UNCHANGED], [], id="nothing to do"),
        pytest.param(
            [FOREIGN, FOREIGN],
            ["03:04:05 Conflict ConfigMap a/x: Foreign: it exists (GlobalTenantResource baseline)"],
            id="the same again is no news",
        ),
        pytest.param(
            [outcome(Verb.APPLY, Reason.DRIFTED, problem=Blocked(Reason.FORBIDDEN, "not allowed\n\x1b[1m"))],
            ["03:04:05 Apply ConfigMap a/x: Forbidden: not allowed � (GlobalTenantResource baseline)".replace(" � ", " �[1m ")],
            id="a problem, as one harmless line",
        ),
        pytest.param(
            [outcome(Verb.SKIP, Reason.CONDITION_NOT_MET, message="ConditionNotMet: apply skipped")],
            ["03:04:05 Skip ConfigMap a/x: ConditionNotMet: apply skipped (GlobalTenantResource baseline)"],
            id="a message that begins with the reason",
        ),
        pytest.param([outcome(Verb.APPLY, Reason.DRIFTED, problem=Stale("moved"))], [], id="what is decided again at once"),
    ],
)
def test_a_line_is_news(outcomes: list[Outcome], said: list[str]) -> None:
    """Writes and changes of what is wrong; not what is as it was."""
    assert heard(*outcomes) == said


def test_what_was_wrong_is_news_again_after_it_was_right() -> None:
    """Conflict, as wanted, conflict: two lines."""
    assert len(heard(FOREIGN, UNCHANGED, FOREIGN)) == 2


def test_a_parent_that_is_gone_leaves_no_news_behind() -> None:
    """Its targets are forgotten; what was said stays among the last events."""
    watcher = Watcher(now=lambda: NOW)
    held = tenure(parent())
    watcher.settled(held, CREATED)
    watcher.told(held.parent, "Warning", Reason.FAILED, "a note")
    assert watcher.news == {("uid-baseline", KEY): News(Verb.CREATE, Reason.MISSING, NOW)}
    watcher.dropped(held.parent)
    assert watcher.news == {}
    assert [line.good for line in watcher.last] == [True, False]


def test_a_row_puts_what_is_wrong_first() -> None:
    """Parents by name, targets by name, but first those that are not as they should be, with the reason why."""
    one = parent("one", "False", "waits for two")
    bad = Key("", "ConfigMap", "z", "x")
    held = tenure(one, record(), record(bad, ok=False, reason=Reason.FOREIGN, message="it exists"))
    news = {("uid-one", KEY): News(Verb.CREATE, Reason.MISSING, NOW)}
    found = rows([parent("two"), one], {"uid-one": held}, news)
    assert found == [
        ParentRow(
            "GlobalTenantResource one",
            "False",
            "Failed",
            "waits for two",
            (TargetRow(bad, False, "", "Foreign", "it exists", None), TargetRow(KEY, True, "Create", "Missing", "", NOW)),
        ),
        ParentRow("GlobalTenantResource two", "True", "Succeeded", "reconciled 1 targets", ()),
    ]
    (going,) = rows([parent("gone", deletionTimestamp="2026-01-02T03:04:05Z")], {}, {})
    assert (going.ready, going.reason) == ("Unknown", "Deleting")


def drawn(parents: list[ParentRow], lines: list[Line], height: int) -> list[str]:
    """The board as text."""
    console = Console(file=StringIO(), width=100, height=height, color_system=None)
    console.print(board("export KUBECONFIG=/x", parents, lines, NOW, height))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_board_shows_parents_targets_ages_and_events() -> None:
    """One line each, cut at the width."""
    targets = (
        TargetRow(Key("", "ConfigMap", "z", "x"), False, "Conflict", "Foreign", "it exists " * 20, NOW),
        TargetRow(KEY, True, "Create", "Missing", "", NOW - timedelta(minutes=3)),
    )
    row = ParentRow("GlobalTenantResource one", "False", "Failed", "look\x1b[2J below", targets)
    lines = drawn([row], [Line(NOW, "ConfigMap a/x", "Create", "Missing", good=True)], 24)
    assert lines[0] == "export KUBECONFIG=/x"
    assert lines[2] == "GlobalTenantResource one  not ready  Failed: look�[2J below"
    assert lines[3].startswith("  Conflict  ConfigMap z/x  Foreign  0s  it exists it exists")
    assert lines[3].endswith("…")
    assert lines[4] == "  Create    ConfigMap a/x  Missing  3m"
    assert lines[-1] == "03:04:05 Create ConfigMap a/x: Missing"


def test_the_board_fits_the_terminal_and_says_what_it_left_out() -> None:
    """However many targets there are."""
    targets = tuple(TargetRow(Key("", "ConfigMap", "a", f"x{n:03}"), True, "", "Succeeded", "", None) for n in range(300))
    row = ParentRow("GlobalTenantResource one", "True", "Succeeded", "", targets)
    lines = drawn([row, row], [Line(NOW, "x", "y", "z", good=True)] * 8, 30)
    assert len(lines) <= 30
    assert sum("more" in line for line in lines) == 2
    assert len(drawn([row] * 3, [], 5)) == 6  # too small a terminal: parents at least, and rich crops


def test_an_empty_board_says_what_to_do() -> None:
    """Nothing was loaded and nothing applied yet."""
    assert any("kubectl apply" in line for line in drawn([], [], 24))


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (7199, "1h"), (86400, "1d"), (1e6, "11d")]
)
def test_an_age_is_short(seconds: float, text: str) -> None:
    """One number and one letter."""
    assert short_age(seconds) == text
