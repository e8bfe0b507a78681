"""Dates as text by Go's layouts: the date Mon Jan 2 15:04:05 MST 2006 written as it should look."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from manager.render.gotemplate.sprig.moments import MONTHS, WEEKDAYS, Moment

_PIECE = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|2006|__2|_2(?!006)|2|3|4|5|PM|pm"
    r"|[-Z](?:070000|07:00:00|0700|07:00|07)|[.,](?:0+|9+)(?![0-9])"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that stands as it is, and the element that follows; the last has none."""

    text: str
    element: str


def pieces(layout: str) -> Iterator[Piece]:
    """The layout taken apart."""
    at = 0
    for found in _PIECE.finditer(layout):
        yield Piece(layout[at : found.start()], found[0])
        at = found.end()
    yield Piece(layout[at:], "")


def written(moment: Moment, layout: str) -> str:
    """The moment in a layout."""
    return "".join(piece.text + (_element(moment, piece.element) if piece.element else "") for piece in pieces(layout))


def _element(moment: Moment, element: str) -> str:
    plain = _ELEMENTS.get(element)
    if plain is not None:
        return plain(moment)
    return _fraction(moment, element) if element[0] in ".," else _offset(moment, element)


def _fraction(moment: Moment, element: str) -> str:
    digits = f"{moment.nanos:09d}".ljust(len(element) - 1, "0")[: len(element) - 1]
    if element[1] == "9":
        digits = digits.rstrip("0")
    return element[0] + digits if digits else ""


def _offset(moment: Moment, element: str) -> str:
    if element[0] == "Z" and moment.offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(moment.offset), 60)
    # Go cuts the seconds off before it looks for the sign.
    text = "-" if moment.offset <= -60 else "+"
    colon = ":" if ":" in element else ""
    text += f"{minutes // 60:02d}"
    digits = len(element.replace(":", "")) - 1
    if digits >= 4:
        text += f"{colon}{minutes % 60:02d}"
    return text + (f"{colon}{seconds:02d}" if digits == 6 else "")


def _year(moment: Moment) -> str:
    year = moment.date.year
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def _abbreviation(moment: Moment) -> str:
    if moment.zone:
        return moment.zone
    minutes = abs(moment.offset) // 60
    return ("-" if moment.offset <= -60 else "+") + f"{minutes // 60:02d}{minutes % 60:02d}"


def _hour12(moment: Moment) -> int:
    return moment.clock[0] % 12 or 12


_ELEMENTS: dict[str, Callable[[Moment], str]] = {
    "January": lambda moment: MONTHS[moment.date.month - 1],
    "Jan": lambda moment: MONTHS[moment.date.month - 1][:3],
    "1": lambda moment: f"{moment.date.month}",
    "01": lambda moment: f"{moment.date.month:02d}",
    "Monday": lambda moment: WEEKDAYS[moment.weekday],
    "Mon": lambda moment: WEEKDAYS[moment.weekday][:3],
    "2": lambda moment: f"{moment.date.day}",
    "_2": lambda moment: f"{moment.date.day:2d}",
    "02": lambda moment: f"{moment.date.day:02d}",
    "__2": lambda moment: f"{moment.yearday:3d}",
    "002": lambda moment: f"{moment.yearday:03d}",
    "15": lambda moment: f"{moment.clock[0]:02d}",
    "3": lambda moment: f"{_hour12(moment)}",
    "03": lambda moment: f"{_hour12(moment):02d}",
    "4": lambda moment: f"{moment.clock[1]}",
    "04": lambda moment: f"{moment.clock[1]:02d}",
    "5": lambda moment: f"{moment.clock[2]}",
    "05": lambda moment: f"{moment.clock[2]:02d}",
    "2006": _year,
    "06": lambda moment: f"{abs(moment.date.year) % 100:02d}",
    "PM": lambda moment: "PM" if moment.clock[0] >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.clock[0] >= 12 else "am",
    "MST": _abbreviation,
}
