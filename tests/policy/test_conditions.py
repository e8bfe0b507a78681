"""Apply conditions: what is refused, what holds, and that a failure tells nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from policy.conditions import FAILED, LONGEST, check, holds, uses_now

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROTATION = (
    "object == null || !has(object.metadata.annotations) || !('k' in object.metadata.annotations)"
    " || now >= timestamp(object.metadata.annotations['k']) + duration('720h')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "omit the field", id="empty"),
        pytest.param(" \n\t", "omit the field", id="blank"),
        pytest.param("true || " + "x" * LONGEST, "more than 4096 characters", id="too long"),
        pytest.param("object ==", "does not compile: line 1, column", id="syntax"),
        pytest.param("size(object.data)", "does not compile to a boolean", id="a number"),
        pytest.param("now", "does not compile to a boolean", id="a time"),
        pytest.param("object == null &&\n params.x", "line 2, column 2: there is no variable `params`", id="other variables"),
    ],
)
def test_what_is_no_condition_is_the_authors_to_fix(text: str, message: str) -> None:
    """Each refusal says what to do."""
    with pytest.raises(Invalid, match=message) as caught:
        check(text)
    assert caught.value.reason is Reason.INVALID


def test_a_condition_of_exactly_4096_characters_passes_whatever_blanks_surround_it() -> None:
    """The limit counts after trimming."""
    text = "true || '" + "x" * (LONGEST - len("true || '' == ''")) + "' == ''"
    assert len(text) == LONGEST
    check(f"  {text}\n")


def annotated(moment: str) -> dict[str, Any]:
    """An object that was rotated at `moment`."""
    return {"metadata": {"annotations": {"k": moment}}}


@pytest.mark.parametrize(
    ("object", "verdict"),
    [
        pytest.param(None, True, id="absent"),
        pytest.param({"metadata": {}}, True, id="never rotated"),
        pytest.param(annotated("2025-12-31T00:00:00Z"), False, id="rotated yesterday"),
        pytest.param(annotated("2025-12-02T00:00:00Z"), True, id="rotated 30 days ago"),
        pytest.param(annotated("2025-12-02T00:00:01Z"), False, id="a second less"),
    ],
)
def test_the_rotation_idiom_holds_when_it_is_time(object: dict[str, Any] | None, verdict: bool) -> None:
    """The expression that the specification recommends."""
    assert holds(ROTATION, object, NOW) is verdict


@pytest.mark.parametrize(
    ("text", "object"),
    [
        pytest.param(ROTATION, annotated("soon"), id="malformed time"),
        pytest.param("object.status.x == 1", {}, id="missing field"),
        pytest.param("has(object.metadata.annotations)", None, id="has of an absent object"),
        pytest.param("object.n", {"n": 1}, id="a number"),
        pytest.param("object.x", {"x": "true"}, id="the text of a boolean"),
    ],
)
def test_without_a_strict_boolean_the_target_waits_and_the_message_is_always_the_same(text: str, object: Any) -> None:
    """The object may hold a secret, so nothing of it may show."""
    with pytest.raises(Blocked) as caught:
        holds(text, object, NOW)
    assert (caught.value.reason, caught.value.message) == (Reason.CONDITION_FAILED, FAILED)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ROTATION, True),
        ("object == null", False),
        ("object.x == 'now'", False),
        ('object.x == "now\\" now"', False),
        ("object.x == r'now'", False),
        ("object.x == '''now\n''' // now", False),
        ("object.now == 1", False),
        ("object\n . now == 1", False),
        ("now<timestamp('2030-01-01T00:00:00Z')", True),
        ("nowhere", False),
        ("'a' == 'b' || now > now", True),
    ],
)
def test_whether_time_alone_can_change_the_verdict_is_read_off_the_words(text: str, answer: bool) -> None:
    """Literals, comments and fields of that name do not count."""
    assert uses_now(text) is answer


@given(st.text(alphabet="now'\"\\r\n /.x", max_size=30))
def test_a_text_that_reads_now_is_always_recognised(prefix: str) -> None:
    """Never a false no, as far as the prefix itself compiles as a string."""
    literal = repr(prefix).replace("\n", "")
    assert uses_now(f"{literal} == 'a' || now == now")


def test_a_condition_that_costs_too_much_is_the_authors_to_fix() -> None:
    """Another try would cost the same."""
    with pytest.raises(Invalid, match="too much time or memory") as caught:
        holds("object.l.all(a, object.l.all(b, a == b || true))", {"l": list(range(1000))}, NOW)
    assert caught.value.reason is Reason.CONDITION_FAILED
