"""Timestamps and durations: what is read, what is written, and that not a nanosecond is lost."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.cel import CelError, times
from policy.cel.times import Duration, Timestamp


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00.5-00:30", 500_000_000),
        ("0001-01-01T00:00:00Z", times.EARLIEST),
        ("9999-12-31T23:59:59.999999999Z", times.LATEST),
    ],
)
def test_a_timestamp_is_read(text: str, nanos: int) -> None:
    """RFC 3339, with any fraction and offset."""
    assert times.parse_timestamp(text) == Timestamp(nanos)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01", "2026-01-01 00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01T00:00:00", "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T23:59:60Z", "0001-01-01T00:00:00+01:00", "soon", "",
        "2026-W01-1T00:00:00Z", "\uff12026-01-01T00:00:00Z",
    ],
)  # fmt: skip
def test_what_is_no_timestamp_is_refused(text: str) -> None:
    """Python reads more than RFC 3339; Kubernetes does not."""
    with pytest.raises(CelError):
        times.parse_timestamp(text)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("1h30m", 5400 * 10**9),
        ("-1.5s", -1_500_000_000),
        ("+3ms", 3_000_000),
        ("1us", 1000),
        ("2µs", 2000),
        (".5h", 1800 * 10**9),
        ("1.0000000019s", 1_000_000_001),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, nanos: int) -> None:
    """Units and fractions; what is below a nanosecond is cut off."""
    assert times.parse_duration(text) == Duration(nanos)


@pytest.mark.parametrize("text", ["", "-", "1", "1d", "s", ".s", "1h-1m", "1 h", "9223372036854775808ns", "9" * 50 + "s", "1es"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Malformed, or more than 64 bits of nanoseconds."""
    with pytest.raises(CelError):
        times.parse_duration(text)


@given(st.integers(times.EARLIEST, times.LATEST))
@settings(max_examples=200)
def test_a_timestamp_reads_as_it_writes(nanos: int) -> None:
    """The text holds the moment to the nanosecond."""
    assert times.parse_timestamp(str(Timestamp(nanos))) == Timestamp(nanos)


@given(st.integers(times.SHORTEST, times.LONGEST))
@settings(max_examples=200)
def test_a_duration_reads_as_it_writes(nanos: int) -> None:
    """The text holds the span to the nanosecond."""
    assert times.parse_duration(str(Duration(nanos))) == Duration(nanos)


@given(st.datetimes(timezones=st.just(UTC)))
@settings(max_examples=100)
def test_a_datetime_is_the_same_moment(moment: datetime) -> None:
    """There and back again."""
    assert times.from_datetime(moment).datetime == moment


def test_values_of_time_are_frozen_and_compare_within_their_type() -> None:
    """They are keys of caches, and a span is no moment."""
    moment = Timestamp(5)
    with pytest.raises(AttributeError, match="frozen"):
        moment.nanos = 6
    assert moment != Duration(5)
    assert {Timestamp(5): 1}[moment] == 1
    assert sorted([Timestamp(7), moment]) == [moment, Timestamp(7)]


@pytest.mark.parametrize(
    ("zone", "hour"), [("", 0), ("UTC", 0), ("+02:00", 2), ("02:00", 2), ("-01:30", 22), ("25:00", 1), ("Europe/Berlin", 1)]
)
def test_a_zone_is_a_name_or_an_offset(zone: str, hour: int) -> None:
    """As in `getHours('Europe/Berlin')`."""
    assert times.zoned(times.parse_timestamp("2026-01-01T00:00:00Z"), zone).hour == hour


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "/etc/passwd", "+12345:00", "1:2:3", "Europe", "\x00"])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    """Also what looks like a path."""
    with pytest.raises(CelError):
        times.zoned(Timestamp(0), zone)


def test_a_moment_before_its_zone_is_out_of_range() -> None:
    """The first year has no hour before its first in a western zone."""
    with pytest.raises(CelError):
        times.zoned(Timestamp(times.EARLIEST), "-01:00")


def test_python_spans_are_read() -> None:
    """A binding may hold them."""
    assert times.from_timedelta(timedelta(microseconds=-1)) == Duration(-1000)
