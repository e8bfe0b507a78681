"""Decisions and dry runs as the rows that reviewers read."""

from typing import Any

import pytest

from apis.meta import Manifest, Ref
from apis.problems import Blocked, Forbidden, Invalid, Problem
from apis.reasons import Reason
from manager.permits.trial import LONGEST, foreseen, row
from manager.preview import Change, Preview
from policy.decide import Decision, Verb
from tests.support.build import item, want


def decided(verb: Verb, reason: Reason, message: str = "", *, condition: bool | Problem = True, **rules: Any) -> Decision:
    """A decision about the ConfigMap solar-dev/settings."""
    return Decision(item(want(**rules), condition=condition), verb, reason, message)


CHANGED = Preview((Change(".data.a", "before", "after"),))
TAKEN = Preview(taken={".data.a": "kubectl"})


@pytest.mark.parametrize(
    ("decision", "preview", "expected"),
    [
        pytest.param(decided(Verb.CREATE, Reason.MISSING), Preview(), {"verb": "Create"}, id="nothing is there"),
        pytest.param(decided(Verb.ADOPT, Reason.FOREIGN), CHANGED, {"verb": "Adopt", "paths": [".data.a"]}, id="adopted"),
        pytest.param(decided(Verb.APPLY, Reason.CHANGED), CHANGED, {"verb": "Patch", "paths": [".data.a"]}, id="ours"),
        pytest.param(decided(Verb.SKIP, Reason.CONDITION_NOT_MET, "skipped"), Preview(), {"verb": "Skip"}, id="condition"),
        pytest.param(
            decided(Verb.CONFLICT, Reason.FOREIGN, "it exists"),
            Preview(),
            {"verb": "Conflict", "message": "ConfigMap solar-dev/settings: it exists"},
            id="foreign",
        ),
        pytest.param(
            decided(Verb.ADOPT, Reason.FOREIGN),
            TAKEN,
            {
                "verb": "Conflict",
                "taken": [".data.a"],
                "message": "ConfigMap solar-dev/settings: .data.a is held by kubectl: "
                "leave the field out of the template, or set policy.force: true there",
            },
            id="a field is held",
        ),
        pytest.param(
            decided(Verb.ADOPT, Reason.FOREIGN, force=True), TAKEN, {"verb": "Adopt", "taken": [".data.a"]}, id="and taken"
        ),
        pytest.param(
            decided(Verb.CREATE, Reason.MISSING),
            Preview(problem=Forbidden("ConfigMap solar-dev/settings: no")),
            {"verb": "Forbidden", "message": "ConfigMap solar-dev/settings: no"},
            id="the account may not",
        ),
        pytest.param(
            decided(Verb.CREATE, Reason.MISSING),
            Preview(problem=Invalid(Reason.INVALID, "ConfigMap solar-dev/settings: wrong")),
            {"verb": "Create", "message": "ConfigMap solar-dev/settings: wrong"},
            id="the server refuses it",
        ),
        pytest.param(
            decided(Verb.SKIP, Reason.CONDITION_FAILED, condition=Blocked(Reason.CONDITION_FAILED, "not evaluated")),
            Preview(),
            {"verb": "Skip", "message": "ConfigMap solar-dev/settings: not evaluated"},
            id="a condition that fails",
        ),
        pytest.param(
            decided(Verb.SKIP, Reason.TERMINATING),
            Preview(),
            {
                "verb": "Skip",
                "message": "ConfigMap solar-dev/settings: its namespace is being deleted: wait until it is gone",
            },
            id="a place that goes",
        ),
    ],
)
def test_a_row_says_what_would_happen_and_what_stands_against_it(decision: Decision, preview: Preview, expected: Any) -> None:
    """The verb, paths without values, and a message only where it could not be applied."""
    target: Manifest = {"version": "v1", "kind": "ConfigMap", "namespace": "solar-dev", "name": "settings"}
    assert foreseen(decision, preview) == target | expected


def test_a_message_is_bounded() -> None:
    """Whatever a server says."""
    said = row(Ref("", "v1", "ConfigMap", "solar", "x"), "Create", message="y" * 5000)["message"]
    assert len(said) == LONGEST
    assert said.endswith("…")
