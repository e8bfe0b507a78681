"""Timestamps and durations to the nanosecond: reading, writing, the limits of both, and the parts of a date.

Ranges and formats are those of cel-go: a timestamp lies in the years 1 to 9999, a duration in 64 bits of nanoseconds.
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache, total_ordering
from typing import Any, Self, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from policy.cel.error import CelError

SECOND = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
EARLIEST = -62_135_596_800 * SECOND
LATEST = 253_402_300_800 * SECOND - 1
SHORTEST = -(2**63)
LONGEST = 2**63 - 1
MICROSECOND = timedelta(microseconds=1)


@total_ordering
class Nanoseconds:
    """A frozen count of nanoseconds; not a dataclass, because conditions make them all the time and these take half as long."""

    __slots__ = ("nanos",)
    nanos: int

    def __init__(self, nanos: int) -> None:
        _store(self, nanos)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.nanos == self.nanos

    def __lt__(self, other: Self) -> bool:
        return self.nanos < other.nanos if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.nanos))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nanos})"


_store = cast(Any, Nanoseconds).nanos.__set__


class Timestamp(Nanoseconds):
    """A moment: nanoseconds since 1970-01-01T00:00:00Z."""

    __slots__ = ()

    def __str__(self) -> str:
        seconds, nanos = divmod(self.nanos, SECOND)
        days, second = divmod(seconds, 86_400)
        day = date.fromordinal(EPOCH_DAY + days).isoformat()
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"{day}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}{fraction}Z"

    @property
    def datetime(self) -> datetime:
        """The moment in UTC; what a microsecond cannot hold is cut off."""
        return EPOCH + timedelta(microseconds=self.nanos // 1000)


class Duration(Nanoseconds):
    """A span of time in nanoseconds."""

    __slots__ = ()

    def __str__(self) -> str:
        seconds, nanos = divmod(abs(self.nanos), SECOND)
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"{'-' if self.nanos < 0 else ''}{seconds}{fraction}s"

    @property
    def timedelta(self) -> timedelta:
        """The span; what a microsecond cannot hold is cut off."""
        return timedelta(microseconds=abs(self.nanos) // 1000 * (1 if self.nanos >= 0 else -1))


def timestamp(nanos: int) -> Timestamp:
    """The moment, if it lies in the years 1 to 9999; CelError otherwise."""
    if not EARLIEST <= nanos <= LATEST:
        raise CelError("the timestamp is out of range")
    return Timestamp(nanos)


def duration(nanos: int) -> Duration:
    """The span, if its nanoseconds fit in 64 bits; CelError otherwise."""
    if not SHORTEST <= nanos <= LONGEST:
        raise CelError("the duration is out of range")
    return Duration(nanos)


def from_datetime(moment: datetime) -> Timestamp:
    """A Python datetime as a timestamp; it needs a time zone."""
    if moment.tzinfo is UTC:
        return _from_utc(moment)
    if moment.tzinfo is None:
        raise CelError("a time without a zone is no timestamp")
    return Timestamp(_nanos(moment))


@lru_cache(maxsize=16)  # all conditions of one look have the same `now`
def _from_utc(moment: datetime) -> Timestamp:
    return Timestamp(_nanos(moment))


def _nanos(moment: datetime) -> int:
    span = moment - EPOCH
    return (span.days * 86_400 + span.seconds) * SECOND + span.microseconds * 1000


def from_timedelta(span: timedelta) -> Duration:
    """A Python timedelta as a duration."""
    return duration(span // MICROSECOND * 1000)


# Go's reading of RFC 3339: no lower case, no leap second, but an hour of one digit, a comma, and zones to 24:60.
_RFC3339 = re.compile(
    r"([0-9]{4}-[01][0-9]-[0-3][0-9]T(?:[01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:[.,]([0-9]+))?(?:Z|([+-](?:[01][0-9]|2[0-4]):(?:[0-5][0-9]|60)))"
)
CLOCK = len("2006-01-02T15:04:05")
USUAL = len("2006-01-02T15:04:05Z")


def _usual(text: str) -> bool:
    """Is it in the form that Kubernetes writes, as far as Python's own reader does not look at it?"""
    return (
        text[10] == "T" and text[19] == "Z" and text[4] == "-" == text[7] and text[13] == ":" == text[16]
        and (text[11] < "2" or text[12] < "4")  # Python takes the hour 24
    )  # fmt: skip


def parse_timestamp(text: str) -> Timestamp:
    """Read RFC 3339. Raises CelError for what is malformed or out of range."""
    if len(text) == USUAL and _usual(text):
        try:
            return Timestamp(_nanos(datetime.fromisoformat(text)))
        except ValueError:
            pass  # it says below what is wrong
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise CelError("the text is no timestamp as in 2006-01-02T15:04:05Z")
    clock, fraction, zone = found.groups()
    try:
        whole = f"{clock}Z" if len(clock) == CLOCK else f"{clock.replace('T', 'T0')}Z"
        seconds = int(datetime.fromisoformat(whole).timestamp())  # exact: a double holds the seconds of all years
    except ValueError:
        raise CelError("the timestamp is out of range") from None
    if fraction is None and zone is None:
        return Timestamp(seconds * SECOND)
    if zone is not None:
        away = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        seconds += away if zone[0] == "-" else -away
    return timestamp(seconds * SECOND + (int(fraction[:9].ljust(9, "0")) if fraction else 0))


UNITS = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,  # micro sign
    "\u03bcs": 1000,  # Greek letter mu
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII)
_DIGITS = 40  # more digits than any duration in range has


def parse_duration(text: str) -> Duration:
    """Read a duration as Go does: `1h30m`, `-1.5s`, `0`. Raises CelError for what is malformed or out of range."""
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return Duration(0)
    total, end = 0, 0
    while end < len(body):
        found = _PART.match(body, end)
        if found is None or not (found[1] or found[2]) or len(found[1]) > _DIGITS:
            raise CelError("the text is no duration as in 1h30m")
        unit, fraction = UNITS[found[3]], (found[2] or "")[:_DIGITS]
        total += int(found[1] or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        end = found.end()
    if not body:
        raise CelError("the text is no duration as in 1h30m")
    return duration(-total if text[0] == "-" else total)


_OFFSET = re.compile(r"([+-]?)([0-9]{1,4}):([0-9]{1,4})")


def _offset(text: str) -> timedelta:
    """`+01:30`; like cel-go, without a look at whether a clock has so many hours."""
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise CelError("there is no such time zone")
    away = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return -away if found[1] == "-" else away


def zoned(moment: Timestamp, zone: str) -> datetime:
    """What a clock shows at the moment in a zone: a name of the IANA database or an offset such as `-02:30`. Raises CelError."""
    try:
        if ":" in zone:
            return moment.datetime + _offset(zone)
        return moment.datetime.astimezone(_zone(zone))
    except OverflowError:
        raise CelError("the timestamp is out of range") from None


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a directory of the database
        raise CelError("there is no such time zone") from None
