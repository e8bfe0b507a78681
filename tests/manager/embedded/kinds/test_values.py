"""Rules for single values: schedules, times, names."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.kinds import cron, names, times


@pytest.mark.parametrize(
    ("schedule", "fault"),
    [
        ("* * * * *", ""),
        ("*/5 0-3,7 1 jan-mar MON", ""),
        ("@daily", ""),
        ("@every 5m", ""),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
    ],
)
def test_a_schedule_is_read_as_the_server_reads_it(schedule: str, fault: str):
    """The words are those of its parser."""
    assert cron.fault(schedule) == fault


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+01:30", "2026-01-02T01:34:05Z"),
    ],
)
def test_a_time_is_written_in_utc_to_the_second(text: str, written: str):
    """Fractions are cut off."""
    moment = times.parse(text)
    assert moment is not None
    assert times.seconds(moment) == written


@pytest.mark.parametrize("text", ["", "2026-01-02", "2026-13-02T03:04:05Z", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05"])
def test_what_is_no_time_is_none(text: str):
    """A time has a zone, and a day that there is."""
    assert times.parse(text) is None


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9998, 12, 31), timezones=st.just(UTC)))
def test_a_written_time_is_read_again(moment: datetime):
    """To the microsecond in the longer form."""
    assert times.parse(times.microseconds(moment)) == moment
    assert times.parse(times.seconds(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (names.label, "a-1", "a.b"),
        (names.subdomain, "a.b-1", "a..b"),
        (names.label_1035, "a1", "1a"),
        (names.path_segment, "System:X", "a/b"),
        (names.qualified, "a.b/C_d.e", "a b"),
        (names.label_value, "", "a/"),
        (names.config_key, "A_b.c-d", ".."),
        (names.wildcard, "*.a", "a.*"),
    ],
)
def test_names_have_their_rules(rule: names.Rule, good: str, bad: str):
    """Each says what is wrong."""
    assert rule(good) == []
    assert rule(bad)


def test_a_generated_name_is_judged_without_its_dash():
    """The dash will not be at its end."""
    assert names.subdomain(names.generated("web-")) == []
