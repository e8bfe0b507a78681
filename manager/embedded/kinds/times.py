"""Times as the API server reads and writes them: RFC 3339 in UTC, to the second (`Time`) or the microsecond (`MicroTime`)."""

import re
from datetime import UTC, datetime, timedelta, timezone

SECONDS = "2006-01-02T15:04:05Z07:00"
"""What Go calls the form of a Time, in its errors."""
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"
"""The form of a MicroTime, which has six decimals, neither more nor fewer."""

_PARTS = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:(Z)|([+-])(\d{2}):(\d{2}))", re.ASCII)


def parse(text: str) -> datetime | None:
    """Read an RFC 3339 time; None when it is none."""
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    micro = int((found[7] or "").ljust(6, "0")[:6])
    zone = UTC if found[8] else _zone(found[9], int(found[10]), int(found[11]))
    try:
        return datetime(*(int(part) for part in found.groups()[:6]), micro, tzinfo=zone).astimezone(UTC)  # type: ignore[misc,arg-type]
    except (ValueError, OverflowError):
        # The thirtieth of February, or a zone that leads out of the calendar.
        return None


def seconds(moment: datetime) -> str:
    """As `metav1.Time` is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def microseconds(moment: datetime) -> str:
    """As `metav1.MicroTime` is written."""
    return f"{moment.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%S').rjust(19, '0')}.{moment.microsecond:06}Z"


def refused(text: str, form: str) -> str:
    """Go's words for a text that is no time in `form`."""
    return f'parsing time "{text}" as "{form}": {_reason(text)}'


def has_microseconds(text: str) -> bool:
    """Does a time have exactly six decimals? Go reads a fraction of another length as an error here."""
    found = _PARTS.fullmatch(text)
    return found is not None and len(found[7] or "") == 6


def _zone(sign: str, hours: int, minutes: int) -> timezone:
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(offset if sign == "+" else -offset) if offset < timedelta(hours=24) else UTC


_STEPS = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d{2}", "01"),
    ("-", "-"),
    (r"\d{2}", "02"),
    ("T", "T"),
    (r"\d{1,2}", "15"),
    (":", ":"),
    (r"\d{2}", "04"),
    (":", ":"),
    (r"\d{2}", "05"),
    (r"(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})", "Z07:00"),
)


def _reason(text: str) -> str:
    """The first step of the form that the text does not take."""
    rest = text
    for pattern, step in _STEPS:
        taken = re.match(pattern, rest, re.ASCII)
        if taken is None:
            return f'cannot parse "{rest}" as "{step}"'
        rest = rest[taken.end() :]
    return f'extra text: "{rest}"' if rest else "day out of range"
