"""Dates read from text by Go's layouts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from manager.render.gotemplate.sprig import moments
from manager.render.gotemplate.sprig.durations import quoted
from manager.render.gotemplate.sprig.layouts import Piece, pieces
from manager.render.gotemplate.sprig.moments import MONTHS, WEEKDAYS, Moment

_OFFSETS: Final = {
    "07": re.compile(r"([+-])([0-9]{2})"),
    "0700": re.compile(r"([+-])([0-9]{2})([0-9]{2})"),
    "07:00": re.compile(r"([+-])([0-9]{2}):([0-9]{2})"),
    "070000": re.compile(r"([+-])([0-9]{2})([0-9]{2})([0-9]{2})"),
    "07:00:00": re.compile(r"([+-])([0-9]{2}):([0-9]{2}):([0-9]{2})"),
}
_ABBREVIATION: Final = re.compile(
    r"(?=[^\n]{3})(?:ChST|MeST|(?:GMT|(?=[+-]))[+-]0*(?:[0-9]|1[0-9]|2[0-3])(?![0-9])|GMT"
    r"|[A-Z]{3,4}T(?![A-Z])|WITA(?![A-Z])|[A-Z]{3}(?![A-Z]))"
)
_FRACTION: Final = re.compile(r"[.,][0-9]+")


class Unread(ValueError):
    """A text that is no date of the layout, with Go's message."""


@dataclass(slots=True)
class _Reading:
    """What has been found in the text so far, and what is left of it."""

    rest: str
    year: int = 0
    month: int = 0
    day: int = 0
    yearday: int = 0
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanos: int = 0
    half: str = ""
    offset: int | None = None
    utc: bool = False
    abbreviation: str = ""

    def number(self, *, padded: bool) -> int:
        """One or two digits; two when padded. Raises ValueError."""
        found = re.match(r"[0-9]{2}" if padded else r"[0-9]{1,2}", self.rest)
        if found is None:
            raise ValueError
        self.rest = self.rest[found.end() :]
        return int(found[0])

    def word(self, names: tuple[str, ...], length: int | None = None) -> int:
        """The place of the name that the text begins with, in any case. Raises ValueError."""
        for place, name in enumerate(names):
            known = name[:length]
            if self.rest[: len(known)].lower() == known.lower():
                self.rest = self.rest[len(known) :]
                return place
        raise ValueError

    def taken(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """What matches at this point. Raises ValueError."""
        found = pattern.match(self.rest)
        if found is None:
            raise ValueError
        self.rest = self.rest[found.end() :]
        return found


class _OutOfRange(ValueError):
    """A number that names no month, day, hour, minute or second."""


def read(layout: str, text: str) -> Moment:
    """The moment; what the layout leaves open is the beginning of the year 0 in UTC. Raises Unread."""
    reading = _Reading(text)
    parts = list(pieces(layout))
    for place, piece in enumerate(parts):
        reading.rest = _skipped(piece.text, reading.rest, layout, text)
        if not piece.element:
            break
        held = reading.rest
        try:
            _take(reading, piece.element, parts[place + 1 :])
        except _OutOfRange as error:
            raise Unread(f"parsing time {quoted(text)}: {error} out of range") from None
        except ValueError:
            raise _mismatch(layout, text, held, piece.element) from None
    if reading.rest:
        raise Unread(f"parsing time {quoted(text)}: extra text: {quoted(reading.rest)}")
    return _moment(reading, text)


def _mismatch(layout: str, text: str, held: str, element: str) -> Unread:
    return Unread(f"parsing time {quoted(text)} as {quoted(layout)}: cannot parse {quoted(held)} as {quoted(element)}")


def _skipped(prefix: str, rest: str, layout: str, text: str) -> str:
    """What follows the prefix; a run of spaces stands for any number of them."""
    whole = prefix
    while prefix:
        if prefix[0] == " ":
            if rest and rest[0] != " ":
                raise _mismatch(layout, text, rest, whole)
            prefix, rest = prefix.lstrip(" "), rest.lstrip(" ")
        elif not rest or rest[0] != prefix[0]:
            raise _mismatch(layout, text, rest, whole)
        else:
            prefix, rest = prefix[1:], rest[1:]
    return rest


def _take(reading: _Reading, element: str, following: list[Piece]) -> None:
    taker = _TAKERS.get(element)
    if taker is not None:
        taker(reading)
    elif element[0] in ".,":
        _take_fraction(reading, element)
    else:
        _take_offset(reading, element)
    if element in ("5", "05"):
        # A fraction may follow the seconds without being in the layout.
        after = next((piece.element for piece in following if piece.element), "")
        if _FRACTION.match(reading.rest) and after[:1] not in (".", ","):
            reading.nanos = _nanos(reading.taken(_FRACTION)[0])


def _take_fraction(reading: _Reading, element: str) -> None:
    if element[1] == "0":
        reading.nanos = _nanos(reading.taken(re.compile(f"[.,]{'[0-9]' * (len(element) - 1)}"))[0])
    elif _FRACTION.match(reading.rest):
        reading.nanos = _nanos(reading.taken(_FRACTION)[0])


def _nanos(fraction: str) -> int:
    return int(fraction[1:10].ljust(9, "0"))


def _take_offset(reading: _Reading, element: str) -> None:
    if element[0] == "Z" and reading.rest.startswith("Z"):
        reading.rest, reading.utc = reading.rest[1:], True
        return
    found = reading.taken(_OFFSETS[element[1:]])
    parts = [int(part) for part in found.groups()[1:]]
    for name, part, most in zip(
        ("time zone offset hour", "time zone offset minute", "time zone offset second"), parts, (24, 60, 60), strict=False
    ):
        if part > most:
            raise _OutOfRange(name)
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    reading.offset = (hours * 3600 + minutes * 60 + seconds) * (-1 if found[1] == "-" else 1)


def _take_abbreviation(reading: _Reading) -> None:
    if reading.rest.startswith("UTC"):
        reading.rest, reading.utc = reading.rest[3:], True
    else:
        reading.abbreviation = reading.taken(_ABBREVIATION)[0]


def _take_year(reading: _Reading) -> None:
    reading.year = int(reading.taken(re.compile(r"[0-9]{4}"))[0])


def _take_short_year(reading: _Reading) -> None:
    year = int(reading.taken(re.compile(r"[0-9]{2}"))[0])
    reading.year = year + (1900 if year >= 69 else 2000)


def _take_month(*, padded: bool) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.month = _within("month", reading.number(padded=padded), 1, 12)

    return take


def _take_month_name(length: int | None) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.month = reading.word(MONTHS, length) + 1

    return take


def _take_weekday(length: int | None) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.word(WEEKDAYS, length)

    return take


def _take_day(*, padded: bool, spaced: bool = False) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        if spaced:
            reading.rest = reading.rest.removeprefix(" ")
        reading.day = reading.number(padded=padded)
        if reading.day == 0:
            reading.day = -1  # looked at when the month is known

    return take


def _take_yearday(pattern: str) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.yearday = int(reading.taken(re.compile(pattern))[0]) or -1

    return take


def _take_hour(*, padded: bool, most: int) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.hour = _within("hour", reading.number(padded=padded), 0, most)

    return take


def _take_minute(*, padded: bool) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.minute = _within("minute", reading.number(padded=padded), 0, 59)

    return take


def _take_second(*, padded: bool) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.second = _within("second", reading.number(padded=padded), 0, 59)

    return take


def _take_half(*halves: str) -> Callable[[_Reading], None]:
    def take(reading: _Reading) -> None:
        reading.half = reading.taken(re.compile("|".join(halves)))[0].upper()

    return take


def _within(name: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise _OutOfRange(name)
    return number


def _moment(reading: _Reading, text: str) -> Moment:
    hour = reading.hour
    if reading.half == "PM" and hour < 12:
        hour += 12
    elif reading.half == "AM" and hour == 12:
        hour = 0
    seconds = _day(reading, text) * moments.DAY + hour * 3600 + reading.minute * 60 + reading.second
    if reading.utc:
        return Moment(seconds, reading.nanos)
    if reading.offset is not None:
        zone = reading.abbreviation or ("" if reading.offset else "UTC")
        return Moment(seconds - reading.offset, reading.nanos, reading.offset, zone)
    if reading.abbreviation:
        offset = int(reading.abbreviation[3:]) * 3600 if re.match("GMT.", reading.abbreviation) else 0
        return Moment(seconds, reading.nanos, offset, reading.abbreviation)
    return Moment(seconds, reading.nanos)


def _day(reading: _Reading, text: str) -> int:
    """Days since 1970."""
    year, month, day = reading.year, reading.month, reading.day
    if reading.yearday:
        of_year = moments.days(year, 1, 1) + reading.yearday - 1
        if not 1 <= reading.yearday <= 365 + moments.leap(year):
            raise Unread(f"parsing time {quoted(text)}: day-of-year out of range")
        found = moments.civil(of_year)
        if month and month != found.month:
            raise Unread(f"parsing time {quoted(text)}: day-of-year does not match month")
        if day and day != found.day:
            raise Unread(f"parsing time {quoted(text)}: day-of-year does not match day")
        return of_year
    month = month or 1
    if day and not 1 <= day <= moments.length(year, month):
        raise Unread(f"parsing time {quoted(text)}: day out of range")
    return moments.days(year, month, day or 1)


_TAKERS: dict[str, Callable[[_Reading], None]] = {
    "2006": _take_year,
    "06": _take_short_year,
    "January": _take_month_name(None),
    "Jan": _take_month_name(3),
    "1": _take_month(padded=False),
    "01": _take_month(padded=True),
    "Monday": _take_weekday(None),
    "Mon": _take_weekday(3),
    "2": _take_day(padded=False),
    "_2": _take_day(padded=False, spaced=True),
    "02": _take_day(padded=True),
    "__2": _take_yearday(r" {0,2}[0-9]{1,3}"),
    "002": _take_yearday(r"[0-9]{3}"),
    "15": _take_hour(padded=False, most=23),
    "3": _take_hour(padded=False, most=12),
    "03": _take_hour(padded=True, most=12),
    "4": _take_minute(padded=False),
    "04": _take_minute(padded=True),
    "5": _take_second(padded=False),
    "05": _take_second(padded=True),
    "PM": _take_half("PM", "AM"),
    "pm": _take_half("pm", "am"),
    "MST": _take_abbreviation,
}
