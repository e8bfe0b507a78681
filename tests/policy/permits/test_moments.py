"""Times as the API writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.permits.moments import LATEST, later, moment, stamp

NINE = datetime(2026, 8, 31, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-08-31T09:00:00Z", "2026-08-31t09:00:00z", "2026-08-31T09:00:00.000Z", "2026-08-31T11:00:00+02:00"]
)
def test_one_moment_has_many_texts(text: str) -> None:
    """All of RFC 3339."""
    assert moment(text) == NINE
    assert stamp(moment(text)) == "2026-08-31T09:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-08-31",
        "2026-08-31T09:00:00",
        "2026-08-31 09:00:00Z",
        "20260831T090000Z",
        "2026-13-01T09:00:00Z",
        "2026-08-31T09:00:60Z",
        "2026-08-31T09:00:00+25:00",
        "0001-01-01T00:00:00+01:00",
        "2026-W01-1T09:00:00Z",
        "٢٠٢٦-08-31T09:00:00Z",
    ],
)
def test_what_is_no_moment_is_refused_with_an_example(text: str) -> None:
    """Also what other readers of ISO 8601 would take."""
    with pytest.raises(ValueError, match="such as 2026-08-31T10:00:00Z"):
        moment(text)


def test_a_begun_second_counts_as_its_beginning() -> None:
    """So that nothing lasts longer for being rounded."""
    assert stamp(NINE.replace(microsecond=999_999)) == stamp(NINE)
    assert stamp(datetime(2026, 8, 31, 11, tzinfo=timezone(timedelta(hours=2)))) == stamp(NINE)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.floats(0, 1e10))
def test_there_is_always_a_moment_later(start: datetime, seconds: float) -> None:
    """At most the end of the last year."""
    begin = start.replace(tzinfo=UTC, microsecond=0)
    assert begin <= later(begin, seconds) <= LATEST
    assert moment(stamp(begin)) == begin
