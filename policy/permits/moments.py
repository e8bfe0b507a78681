"""Points in time as the API writes them: RFC 3339, UTC, whole seconds."""

import re
from datetime import UTC, datetime, timedelta

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII | re.IGNORECASE)
LATEST = datetime.max.replace(tzinfo=UTC)
EARLIEST = datetime.min.replace(tzinfo=UTC)


def moment(text: str) -> datetime:
    """The point in time, in UTC. Raises ValueError, with an example, for what is not RFC 3339."""
    try:
        if not _RFC3339.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a time with its zone, such as 2026-08-31T10:00:00Z") from None


def stamp(at: datetime) -> str:
    """The text of a point in time; a begun second counts as its beginning."""
    return at.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def later(at: datetime, seconds: float) -> datetime:
    """So many seconds after it, at most the end of the year 9999."""
    try:
        return at + timedelta(seconds=seconds)
    except OverflowError:
        return LATEST
