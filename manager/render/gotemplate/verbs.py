"""Numbers and strings as the verbs of printf write them, with flags, width and precision (fmt, strconv)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from manager.render.gotemplate.quote import printable, quote, raw_quotable
from manager.render.gotemplate.value import encoded, shortest

_BASES: Final = {"b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}
_PRECISION: Final = {"f": 6, "F": 6, "e": 6, "E": 6}


@dataclass(slots=True)
class Flags:
    """What stands between `%` and the verb."""

    plus: bool = False
    minus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    named: bool = False  # `%+v`, which has names of fields where there are any
    syntax: bool = False  # `%#v`, which writes Go
    width: int | None = None
    precision: int | None = None


def pad(text: str, flags: Flags) -> str:
    """The text at its width."""
    missing = (flags.width or 0) - len(text)
    if missing <= 0:
        return text
    return text + " " * missing if flags.minus else ("0" if flags.zero else " ") * missing + text


def _spaced(text: str, flags: Flags) -> str:
    """The text at its width, never with zeros."""
    width = flags.width or 0
    return text.ljust(width) if flags.minus else text.rjust(width)


def boolean(value: bool, verb: str, flags: Flags) -> str | None:
    """A bool; None where the verb is not for it, as in all that follow."""
    return pad("true" if value else "false", flags) if verb in "tv" else None


def integer(value: int, verb: str, flags: Flags, *, signed: bool) -> str | None:
    """An integer of any size."""
    if verb in "cqU":
        return _character(value, verb, flags)
    if verb == "v" and flags.syntax and not signed:
        return _digits(value, "x", Flags(sharp=True, width=flags.width, minus=flags.minus, zero=flags.zero))
    return _digits(value, verb, flags) if verb in "vdboOxX" else None


def _digits(value: int, verb: str, flags: Flags) -> str:
    if flags.precision == 0 and value == 0:
        return " " * (flags.width or 0)
    sign = "-" if value < 0 else "+" if flags.plus else " " if flags.space else ""
    least = flags.precision or 0
    if flags.precision is None and flags.zero and not flags.minus and flags.width is not None:
        least = flags.width - len(sign)
    digits = format(abs(int(value)), _BASES.get(verb, "d")).rjust(least, "0")
    prefix = ""
    if flags.sharp:
        octal = "" if digits.startswith("0") else "0"
        prefix = {"b": "0b", "o": octal, "O": octal, "x": "0x", "X": "0X"}.get(verb, "")
    if verb == "O":
        prefix = "0o" + prefix
    return _spaced(sign + prefix + digits, flags)


def _character(value: int, verb: str, flags: Flags) -> str:
    valid = 0 <= value <= 0x10FFFF
    char = chr(value) if valid and not 0xD800 <= value < 0xE000 else "\ufffd"
    if verb == "c":
        return pad(char, flags)
    if verb == "q":
        return pad(quote(char, "'", ascii=flags.plus), flags)
    code = format(value & 0xFFFFFFFFFFFFFFFF, "X").rjust(max(4, flags.precision or 0), "0")
    seen = f" '{char}'" if flags.sharp and valid and printable(chr(value)) else ""
    return _spaced(f"U+{code}{seen}", flags)


def text(value: str, verb: str, flags: Flags) -> str | None:
    """A string."""
    if verb in "xX":
        return _hexadecimal(encoded(value), verb, flags)
    if verb not in "svq":
        return None
    if flags.precision is not None:
        value = value[: flags.precision]
    if verb == "q" or flags.syntax:
        raw = flags.sharp and raw_quotable(value)
        return pad(f"`{value}`" if raw else quote(value, ascii=flags.plus), flags)
    return pad(value, flags)


def _hexadecimal(data: bytes, verb: str, flags: Flags) -> str:
    data = data[: flags.precision]
    prefix = f"0{verb}" if flags.sharp and data else ""
    bytes_ = [format(byte, f"02{verb}") for byte in data]
    return pad(prefix + (f" {prefix}" if flags.space else "").join(bytes_), flags)


def real(value: float, verb: str, flags: Flags) -> str | None:
    """A float64."""
    if verb not in "vbgGxXfFeE":
        return None
    precision = _PRECISION.get(verb) if flags.precision is None else flags.precision
    number = _signed(_real(value, "g" if verb == "v" else verb.replace("F", "f"), precision))
    if flags.space and number[0] == "+" and not flags.plus:
        number = " " + number[1:]
    if number[1] in "IN":
        unsigned = number[1] == "N" and not (flags.space or flags.plus)
        return _spaced(number[1:] if unsigned else number, flags)
    if flags.sharp and verb != "b":
        number = _pointed(number, verb, precision)
    if not flags.plus and number[0] == "+":
        return pad(number[1:], flags)
    if flags.zero and not flags.minus and flags.width is not None:
        return number[0] + number[1:].rjust(flags.width - 1, "0")
    return pad(number, flags)


def _signed(number: str) -> str:
    return number if number[0] in "+-" else f"+{number}"


def _real(value: float, verb: str, precision: int | None) -> str:
    if not math.isfinite(value):
        return shortest(value)
    if verb == "b":
        exponent = max(math.frexp(value)[1] - 53, -1074) if value else -1074
        sign = "-" if math.copysign(1, value) < 0 else ""
        return f"{sign}{int(Fraction(abs(value)) / Fraction(2) ** exponent)}p{exponent:+}"
    if verb in "xX":
        made = _hexadecimal_float(value, precision)
        return made.upper() if verb == "X" else made
    if precision is None and verb in "gG":
        made = shortest(value)
        return made.upper() if verb == "G" else made
    return format(value, f".{precision}{verb}")


def _hexadecimal_float(value: float, precision: int | None) -> str:
    sign = "-" if math.copysign(1, value) < 0 else ""
    mantissa, exponent = math.frexp(abs(value))
    bits = int(mantissa * (1 << 53))  # 1.xxx in 53 bits
    exponent = exponent - 1 if value else 0
    if precision is not None and precision < 13:
        dropped = 4 * (13 - precision)
        kept, rest = divmod(bits, 1 << dropped)
        half = 1 << (dropped - 1)
        kept += rest > half or (rest == half and kept & 1)
        bits = kept << dropped
        if bits >> 53:
            bits, exponent = bits >> 1, exponent + 1
    fraction = format(bits & ((1 << 52) - 1), "013x")
    fraction = fraction.rstrip("0") if precision is None else fraction[:precision].ljust(precision, "0")
    point = f".{fraction}" if fraction else ""
    return f"{sign}0x{bits >> 52}{point}p{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _pointed(number: str, verb: str, precision: int | None) -> str:
    """The number with its decimal point and, for those that drop them, its trailing zeros."""
    marks = "pP" if verb in "xX" else "eEpP"
    cut = next((place for place, char in enumerate(number) if char in marks), len(number))
    body, tail = number[:cut], number[cut:]
    digits = (6 if precision is None else precision) if verb in "vgGx" else 0
    digits -= len(body[1:].replace(".", "").lstrip("0"))
    if "." not in body:
        digits -= body[1:] == "0"
        body += "."
    return body + "0" * max(digits, 0) + tail


__all__ = ["Flags", "boolean", "integer", "pad", "real", "text"]
