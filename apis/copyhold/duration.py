"""Durations as text (`10m`, `1h30m`, `30d`) to seconds, pure."""

import re
from collections.abc import Mapping

PATTERN = r"^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"
"""Go's `time.ParseDuration` without a sign: no days and no weeks."""

LONG_PATTERN = r"^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$"
"""A Go duration that also knows days (24 hours) and weeks."""

_LONGEST = 2**63 / 1e9  # Go counts nanoseconds in 64 bits
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w)")
_SECONDS: Mapping[str, float] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}


def seconds(text: str) -> float:
    """The length of a Go duration in seconds. Raises ValueError, with the remedy, for anything else; Go has no `d` and no `w`."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError("must be a Go duration such as 10m, 1h30m or 0s: write days and weeks as hours (24h, 168h)")
    return _length(text, "write 0s for never")


def checked(text: str) -> str:
    """The text as it is, when it is a Go duration. Raises ValueError as `seconds` does."""
    seconds(text)
    return text


def extended(text: str) -> float:
    """The length in seconds of a Go duration that may also have days and weeks (`30d`, `1w12h`). Raises ValueError."""
    if not re.fullmatch(LONG_PATTERN, text):
        raise ValueError("must be a duration such as 30m, 8h, 30d or 2w")
    return _length(text, "omit the field for no end")


def long_checked(text: str) -> str:
    """The text as it is, when it is such a duration. Raises ValueError as `extended` does."""
    extended(text)
    return text


def _length(text: str, remedy: str) -> float:
    length = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if length > _LONGEST:
        raise ValueError(f"must be shorter than 292 years, which is the longest Go duration: {remedy}")
    return length
