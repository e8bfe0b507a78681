"""The time of the API server, as the `Date` headers of its answers tell it: permits live by its clock, not by the host's.

A header has whole seconds: at some moment between sending the request and receiving the answer, the server's clock stood in
[Date, Date + 1 s). That bounds the offset between its clock and our monotonic one; the bounds of many answers are intersected,
so that the estimate is soon much better than a second.

Guarantee: while both clocks keep within `DRIFT` of each other, the estimate is at most `uncertainty` off.
Caveats: a server whose clock was set, or several servers that differ by more than their bounds, give bounds that do not meet;
then what the latest answer says is all that counts. A suspended host is behind until the next answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

DRIFT = 0.001
"""Seconds per second that two clocks may go apart: each may be slewed by 500 ppm."""

RESOLUTION = 1.0
"""Seconds in which a `Date` header counts."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The server's clock minus our monotonic one, in seconds since 1970, as it was at the monotonic time `at`."""

    low: float
    high: float
    at: float

    def aged(self, at: float) -> "Bounds":
        """The bounds later, when the clocks may have gone apart."""
        apart = DRIFT * max(at - self.at, 0.0)
        return Bounds(self.low - apart, self.high + apart, at)

    def within(self, other: "Bounds") -> "Bounds | None":
        """What both allow; None when they do not meet."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Bounds(low, high, other.at) if low <= high else None


class ServerTime:
    """The API server's clock: `time()` is its time in UTC, and the host's until the server has been heard.

    `now` is the host's time in UTC and `monotonic` seconds that never go back, on which `heard` is told.
    """

    def __init__(self, now: Callable[[], datetime], monotonic: Callable[[], float]) -> None:
        self._now = now
        self._monotonic = monotonic
        self._bounds: Bounds | None = None

    def __call__(self) -> datetime:
        """The time now, in UTC."""
        if self._bounds is None:
            return self._now().astimezone(UTC)
        return datetime.fromtimestamp((self._bounds.low + self._bounds.high) / 2 + self._monotonic(), UTC)

    def heard(self, date: str, sent_at: float, received_at: float) -> None:
        """An answer with this `Date` header; the two times are monotonic. What is not an HTTP date says nothing."""
        second = _seconds(date)
        if second is None or received_at < sent_at:
            return
        # At the moment m of sent_at <= m <= received_at, the clock stood at `second` or less than a second after it.
        said = Bounds(second - received_at, second + RESOLUTION - sent_at, received_at)
        kept = None if self._bounds is None else self._bounds.aged(received_at).within(said)
        self._bounds = kept or said

    @property
    def uncertainty(self) -> timedelta | None:
        """How far the estimate may be off, either way; None while the server has not been heard."""
        if self._bounds is None:
            return None
        bounds = self._bounds.aged(self._monotonic())
        return timedelta(seconds=(bounds.high - bounds.low) / 2)

    @property
    def skew(self) -> timedelta | None:
        """How far the host's clock is ahead of the server's; None while the server has not been heard."""
        return None if self._bounds is None else self._now() - self()


@lru_cache(maxsize=8)
def _seconds(date: str) -> float | None:
    """Seconds since 1970; None for what is no HTTP date (RFC 9110, 5.6.7). Answers of one second share one header."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, IndexError):
        return None
    return None if moment.tzinfo is None else moment.timestamp()
