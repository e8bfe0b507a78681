"""Spans of time as Go writes and reads them, in nanoseconds."""

import re

from manager.render.gotemplate.value import encoded

_UNITS = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,  # the micro sign
    "\u03bcs": 1000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)")
_MOST = 1 << 63


def written(nanos: int) -> str:
    """`1h2m3.5s`; below a second in the unit that fits; `0s`."""
    if nanos == 0:
        return "0s"
    sign, size = ("-" if nanos < 0 else ""), abs(nanos)
    for unit, factor in (("ns", 1), ("\u00b5s", 1000), ("ms", 1_000_000)):
        if size < factor * 1000 and size < 1_000_000_000:
            return f"{sign}{_decimal(size, factor)}{unit}"
    minutes, rest = divmod(size, _UNITS["m"])
    text = _decimal(rest, 1_000_000_000) + "s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    return sign + (f"{minutes // 60}h{text}" if minutes >= 60 else text)


def _decimal(size: int, unit: int) -> str:
    whole, rest = divmod(size, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else str(whole)


def read(text: str) -> int:
    """The nanoseconds of `-1h2.5m`. Raises ValueError with Go's message."""
    invalid = ValueError(f"time: invalid duration {quoted(text)}")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        found = _PART.match(rest)
        whole, fraction, unit = found.groups() if found else ("", "", "")
        if not whole and not fraction:
            raise invalid
        if not unit:
            raise ValueError(f"time: missing unit in duration {quoted(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {quoted(unit)} in duration {quoted(text)}")
        if len(whole.lstrip("0")) > 19:
            raise invalid
        total += int(whole or "0") * _UNITS[unit] + _part(fraction or "", _UNITS[unit])
        if total > _MOST:
            raise invalid
        rest = rest[len(found[0]) :] if found else ""
    if text[0] == "-":
        return -total
    if total == _MOST:
        raise invalid
    return total


def _part(digits: str, factor: int) -> int:
    kept = digits[:18]  # what a 64-bit number holds
    return int(float(int(kept)) * (factor / 10 ** len(kept))) if kept else 0


def quoted(text: str) -> str:
    """The text between quotes as errors about times have it: what is not ASCII is written byte by byte."""
    return '"' + "".join(map(_shown, encoded(text))) + '"'


def _shown(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}"
