"""Schedules of CronJobs: the five fields of cron, and what is wrong with them in the words of the parser that the server uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))


@dataclass(frozen=True, slots=True)
class _Bounds:
    least: int
    most: int
    names: Mapping[str, int] = field(default_factory=dict)


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: place + 1 for place, name in enumerate(_MONTHS)}),
    _Bounds(0, 6, {name: place for place, name in enumerate(_DAYS)}),
)


class _BadSchedule(Exception):
    pass


def fault(schedule: str) -> str:
    """What is wrong with a schedule, or ""."""
    if not schedule:
        return "empty spec string"
    if schedule.startswith("@"):
        known = schedule in _DESCRIPTORS or schedule.startswith("@every ")
        return "" if known else f"unrecognized descriptor: {schedule}"
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    try:
        for part, bounds in zip(parts, _FIELDS, strict=True):
            for expression in filter(None, part.split(",")):
                _check(expression, bounds)
    except _BadSchedule as error:
        return str(error)
    return ""


def _check(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    low, *high = span.split("-")
    if low in ("*", "?"):
        start, end = bounds.least, bounds.most
    elif len(high) > 1:
        raise _BadSchedule(f"too many hyphens: {expression}")
    else:
        start = _number(low, bounds)
        end = _number(high[0], bounds) if high else start
    step = 1
    if len(steps) > 1:
        raise _BadSchedule(f"too many slashes: {expression}")
    if steps:
        step = _plain_number(steps[0])
        end = end if high else bounds.most
    _within(expression, start, end, step, bounds)


def _within(expression: str, start: int, end: int, step: int, bounds: _Bounds) -> None:
    if start < bounds.least:
        raise _BadSchedule(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise _BadSchedule(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise _BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _BadSchedule(f"step of range should be a positive number: {expression}")


def _number(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _plain_number(text) if named is None else named


def _plain_number(text: str) -> int:
    digits = text.removeprefix("-").removeprefix("+")
    if not digits.isdigit() or not digits.isascii():
        raise _BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if text.startswith("-") and int(digits):
        raise _BadSchedule(f"negative number ({int(text)}) not allowed: {text}")
    return int(digits)
