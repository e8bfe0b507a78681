"""What `kubectl get` shows of an object: the cells of a row of a meta.k8s.io/v1 Table."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import jsonpath, times
from manager.embedded.served import Column

UNKNOWN = "<unknown>"
NONE = "<none>"
UNSET = "<unset>"


def plain(obj: Manifest, now: datetime) -> list[Any]:
    """Name and creation time: what every kind has."""
    del now
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp", UNKNOWN)]


def custom(columns: Sequence[Column], obj: Manifest, now: datetime) -> list[Any]:
    """The cells of a custom resource: what the columns' paths find; the first column is the name, and has none."""
    return [
        _cell(column, jsonpath.parse(column.path).find(obj), now) if column.path else obj["metadata"]["name"]
        for column in columns
    ]


def _found(column: Column, obj: Manifest, now: datetime) -> Any:
    return _cell(column, jsonpath.parse(column.path).find(obj), now)


def _cell(column: Column, found: list[Any], now: datetime) -> Any:
    if not found:
        return None
    value = found[0]
    match column.type:
        case "string":
            return _text(value)
        case "integer" if type(value) in (int, float):
            return int(value)
        case "number" if type(value) in (int, float):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return "<invalid>" if times.parse(value) is None else age(value, now)
    return None


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case float():
            return causes.general(value)
        case int():
            return str(value)
    return causes.to_json(value)


def age(timestamp: Any, now: datetime) -> str:
    """How long ago, as `kubectl` writes it; `<unknown>` for what never was."""
    moment = times.parse(timestamp) if timestamp else None
    return UNKNOWN if moment is None else duration(int((now - moment).total_seconds()))


def seconds_between(start: str, end: str | None, now: datetime) -> int:
    """From one time to another, or to now."""
    began, ended = times.parse(start), times.parse(end) if end else now
    return int((ended - began).total_seconds()) if began and ended else 0


def duration(seconds: int) -> str:
    """A span in one or two units, the fewer the longer it is (apimachinery's HumanDuration)."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    _, (unit, name), (smaller, smaller_name) = next(each for each in _UNITS if seconds < each[0])
    rest = seconds % unit // smaller if smaller else 0
    return f"{seconds // unit}{name}" + (f"{rest}{smaller_name}" if rest else "")


_NO_UNIT = (0, "")
_SECOND, _MINUTE, _HOUR = (1, "s"), (60, "m"), (3600, "h")
_DAY, _YEAR = (86400, "d"), (365 * 86400, "y")
_UNITS: tuple[tuple[float, tuple[int, str], tuple[int, str]], ...] = (
    (2 * 60, _SECOND, _NO_UNIT),
    (10 * 60, _MINUTE, _SECOND),
    (3 * 3600, _MINUTE, _NO_UNIT),
    (8 * 3600, _HOUR, _MINUTE),
    (2 * 86400, _HOUR, _NO_UNIT),
    (8 * 86400, _DAY, _HOUR),
    (2 * _YEAR[0], _DAY, _NO_UNIT),
    (8 * _YEAR[0], _YEAR, _DAY),
    (float("inf"), _YEAR, _NO_UNIT),
)
