"""Go's `time.Time` as a value, and the calendar behind it: any year, nanoseconds, a zone with its abbreviation."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAY = 86_400
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds: the years that Python's calendar knows


@dataclass(frozen=True, slots=True)
class Civil:
    """A date as people write it."""

    year: int
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time: seconds since 1970 in UTC and nanoseconds, shown `offset` seconds east of UTC."""

    seconds: int
    nanos: int = 0
    offset: int = 0
    zone: str = "UTC"

    @property
    def local(self) -> int:
        """Seconds since 1970 on the clock of the zone."""
        return self.seconds + self.offset

    @property
    def date(self) -> Civil:
        """The date in the zone."""
        return civil(self.local // DAY)

    @property
    def clock(self) -> tuple[int, int, int]:
        """Hour, minute and second in the zone."""
        second = self.local % DAY
        return second // 3600, second // 60 % 60, second % 60

    @property
    def weekday(self) -> int:
        """Counted from Sunday, which is 0."""
        return (self.local // DAY + 4) % 7

    @property
    def yearday(self) -> int:
        """Counted from 1."""
        return self.local // DAY - days(self.date.year, 1, 1) + 1

    @property
    def total(self) -> int:
        """Nanoseconds since 1970."""
        return self.seconds * 1_000_000_000 + self.nanos

    def moved(self, nanos: int) -> "Moment":
        """So many nanoseconds later."""
        seconds, rest = divmod(self.total + nanos, 1_000_000_000)
        return Moment(seconds, rest, self.offset, self.zone)

    def within(self, zone: str) -> "Moment":
        """The same point in a zone of the database; one that it does not know is UTC."""
        known = _zone(zone)
        if known is None:
            return Moment(self.seconds, self.nanos)
        near = datetime.fromtimestamp(min(max(self.seconds, _EARLIEST + DAY), _LATEST - DAY), UTC).astimezone(known)
        offset = near.utcoffset()
        return Moment(self.seconds, self.nanos, int(offset.total_seconds()) if offset else 0, near.tzname() or "")


ZERO = Moment(_EARLIEST)
"""What Go makes of a text that is no date: the first moment of the year 1."""


@cache
def _loaded(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a directory of the database
        return None


def _zone(name: str) -> ZoneInfo | None:
    # The process has no zone of its own: what Go calls local is UTC, the same on every host.
    return None if name in ("", "UTC", "Local") or len(name) > 64 else _loaded(name)


def leap(year: int) -> bool:
    """Has the year a 29th of February?"""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def length(year: int, month: int) -> int:
    """Days of a month."""
    return 29 if month == 2 and leap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the Gregorian calendar, which is taken to have held always."""
    shifted = year - (month <= 2)  # years begin in March here, so the leap day is their last
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(count: int) -> Civil:
    """The date so many days after 1970-01-01."""
    era, of_era = divmod(count + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return Civil(year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1)
