"""Dates and spans of time. The process has no zone of its own: what Go calls local is UTC."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.function import Context, Function, Functions
from manager.render.gotemplate.sprig import durations, layouts, readings
from manager.render.gotemplate.sprig.moments import ZERO, Moment
from manager.render.gotemplate.sprig.numbers import parsed, wrapped
from manager.render.gotemplate.sprig.objects import Time
from manager.render.gotemplate.sprig.table import STRING, TIME, plain
from manager.render.gotemplate.value import ANY, Int32, Int64

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 1024
_SECOND: Final = 1_000_000_000
_DAY: Final = "2006-01-02"


def now(context: Context) -> Time:
    """The time of the execution."""
    since = context.now() - _EPOCH
    return Time(Moment(since // timedelta(seconds=1), since.microseconds * 1000))


def _moment(context: Context, value: Any, *types: type[int]) -> Moment:
    """A time as it is, an integer as seconds since 1970, and for anything else the time of the execution."""
    if isinstance(value, Time):
        return value.moment
    return Moment(int(value)) if type(value) in types else now(context).moment


def date_in_zone(context: Context, layout: str, value: Any, zone: str) -> str:
    """The date by a layout, in a zone."""
    return layouts.written(_moment(context, value, Int64, int, Int32).within(zone), layout)


def date(context: Context, layout: str, value: Any) -> str:
    """The date by a layout, in UTC."""
    return date_in_zone(context, layout, value, "Local")


def _html_date(context: Context, value: Any) -> str:
    return date(context, _DAY, value)


def _html_date_in_zone(context: Context, value: Any, zone: str) -> str:
    return date_in_zone(context, _DAY, value, zone)


def _short(*texts: str) -> None:
    """Raises Exceeded for what is too long to be a date, a layout or a span: they are read piece by piece."""
    if max(map(len, texts)) > _LONGEST:
        raise Exceeded(f"a date, its layout and a span of time have at most {_LONGEST} characters")


def _modified(span: str, time: Time) -> Time:
    _short(span)
    try:
        return Time(time.moment.moved(durations.read(span)))
    except ValueError as error:
        raise CallError(str(error)) from None


def _modified_or_same(span: str, time: Time) -> Time:
    try:
        return _modified(span, time)
    except CallError:
        return time


def _since(context: Context, moment: Moment) -> int:
    span = now(context).moment.total - moment.total
    return min(max(span, -(1 << 63)), (1 << 63) - 1)


def ago(context: Context, value: Any) -> str:
    """How long it is past, to the second."""
    span = _since(context, _moment(context, value, Int64, int))
    seconds, rest = divmod(abs(span), _SECOND)
    whole = (seconds + (2 * rest >= _SECOND)) * _SECOND
    return durations.written(whole if span >= 0 else -whole)


def duration(value: Any) -> str:
    """So many seconds as a span; an `int` counts for nothing, as in the original."""
    seconds = 0
    if isinstance(value, str):
        number = parsed(value, 10) or 0
        seconds = min(max(number, -(1 << 63)), (1 << 63) - 1)
    elif isinstance(value, Int64):
        seconds = value
    return durations.written(wrapped(seconds * _SECOND))


_ROUND: Final = (("y", 365 * 86_400), ("mo", 30 * 86_400), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


def duration_round(context: Context, value: Any) -> str:
    """The span in its largest unit, without a sign: of a text, of nanoseconds, or since a time."""
    size = abs(_span(context, value))
    for unit, seconds in _ROUND:
        if size > seconds * _SECOND:
            return f"{size // (seconds * _SECOND)}{unit}"
    return "0s"


def _span(context: Context, value: Any) -> int:
    if isinstance(value, Time):
        return _since(context, value.moment)
    if isinstance(value, Int64):
        return value
    if not isinstance(value, str):
        return 0
    _short(value)
    try:
        return durations.read(value)
    except ValueError:
        return 0


def _read(layout: str, text: str) -> Time:
    _short(layout, text)
    try:
        return Time(readings.read(layout, text))
    except readings.Unread as error:
        raise CallError(str(error)) from None


def _read_or_zero(layout: str, text: str) -> Time:
    try:
        return _read(layout, text)
    except CallError:
        return Time(ZERO)


def _charged(name: str, call: Callable[..., Any], *takes: str) -> Function:
    """A function that needs the time of the execution; charged for the layout and for what it becomes."""

    def charged(context: Context, *arguments: Any) -> Any:
        context.budget.step(sum(len(argument) for argument in arguments if isinstance(argument, str)))
        made = call(context, *arguments)
        context.budget.take(len(made) if isinstance(made, str) else 0)
        return made

    return Function(name, charged, takes)


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        _charged("now", now),
        _charged("date", date, STRING, ANY),
        _charged("dateInZone", date_in_zone, STRING, ANY, STRING),
        _charged("date_in_zone", date_in_zone, STRING, ANY, STRING),
        _charged("htmlDate", _html_date, ANY),
        _charged("htmlDateInZone", _html_date_in_zone, ANY, STRING),
        _charged("ago", ago, ANY),
        _charged("durationRound", duration_round, ANY),
        plain("duration", duration, ANY),
        plain("dateModify", _modified_or_same, STRING, TIME),
        plain("date_modify", _modified_or_same, STRING, TIME),
        plain("mustDateModify", _modified, STRING, TIME),
        plain("must_date_modify", _modified, STRING, TIME),
        plain("toDate", _read_or_zero, STRING, STRING),
        plain("mustToDate", _read, STRING, STRING),
        plain("unixEpoch", lambda time: str(time.moment.seconds), TIME),
    )
}
