"""The numbers and characters of Go's syntax, read into the types that can hold them."""

import math
import re
from typing import Final

from manager.render.gotemplate.lexer import Kind
from manager.render.gotemplate.nodes import Number
from manager.render.gotemplate.quote import Malformed, quote, unquote_char

INT64: Final = range(-(1 << 63), 1 << 63)
UINT64: Final = 1 << 64

# An underscore stands between digits; the prefix of a base counts as one.
_INTEGERS: Final = tuple(
    (re.compile(pattern), base)
    for pattern, base in (
        (r"0[xX]((?:_?[0-9a-fA-F])+)", 16),
        (r"0[oO]((?:_?[0-7])+)", 8),
        (r"0[bB]((?:_?[01])+)", 2),
        (r"(0(?:_?[0-7])*)", 8),
        (r"([1-9](?:_?[0-9])*)", 10),
    )
)
_DIGITS: Final = "[0-9](?:_?[0-9])*"
_HEX: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_FLOAT: Final = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_FLOAT: Final = re.compile(rf"[+-]?0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}")


def number(at: int, text: str, kind: Kind) -> Number:
    """The number that a literal stands for. Raises Malformed."""
    if kind is Kind.CHAR_CONSTANT:
        code, _, end = unquote_char(text, 1, "'")
        if text[end:] != "'":
            raise Malformed(f"malformed character constant: {text}")
        return Number(at, text, code, float(code))
    if kind is Kind.COMPLEX or (text.endswith("i") and float64(text[:-1]) is not None):
        raise Malformed(f"complex numbers are not supported: {text}")
    whole = _integer(text)
    if whole is not None:
        return Number(at, text, whole if whole in INT64 else None, float(whole))
    real = float64(text)
    if real is None:
        raise Malformed(f"illegal number syntax: {quote(text)}")
    if not set(text) & set(".eEpP"):
        raise Malformed(f"integer overflow: {quote(text)}")
    return Number(at, text, int(real) if real.is_integer() and int(real) in INT64 else None, real)


def _integer(text: str) -> int | None:
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    for pattern, base in _INTEGERS:
        found = pattern.fullmatch(digits)
        if found:
            plain = found[1].replace("_", "").lstrip("0") or "0"
            if len(plain) > 64:  # bits: more digits are too many in any base
                return None
            value = int(plain, base)
            value = -value if sign == "-" else value
            return value if value in INT64 or (not sign and value < UINT64) else None
    return None


def float64(text: str) -> float | None:
    """The float64 that a decimal or hexadecimal text stands for; None when it is no float, or one that is too large."""
    plain = text.replace("_", "")
    if _FLOAT.fullmatch(text):
        value = float(plain)
    elif _HEX_FLOAT.fullmatch(text):
        try:
            value = float.fromhex(plain)
        except OverflowError:
            return None
    else:
        return None
    return value if math.isfinite(value) else None


__all__ = ["float64", "number"]
