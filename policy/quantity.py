"""Kubernetes quantities: exact decimal numbers with a suffix, read and written as the API server reads and writes them.

The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: a signed decimal number, then nothing, a decimal suffix
(`n u m k M G T P E`), a binary one (`Ki Mi Gi Ti Pi Ei`) or an exponent (`e3`, `E-2`).

    parse("1000m") -> 1        parse("1024Mi") -> 1Gi      parse("1.5Gi") -> 1536Mi
    parse("0.5")   -> 500m     parse("1e4")    -> 10e3     parse("0.1n")  -> 1n

The server keeps a number in one of two forms, and what it answers depends on the form: *small* (64 bits and a power of
ten) or *big* (a decimal rounded away from zero to nano). Only a small one is ever an integer: `1Ei` and `1.5Gi` are not.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LONGEST: Final = 4_000
"""Digits of a number, and characters of a text: the server has no such limit, and can be made to fill its memory."""

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
NANO: Final = -9

_SMALL_DIGITS = 18  # what surely fits 64 bits
_BINARY_DIGITS = 15
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("eEinumkKMGTP")


class NotAQuantity(ValueError):
    """A text that is no quantity, or a result that would have more than `LONGEST` digits. The message never shows the text."""


class Format(StrEnum):
    """How a quantity is written; it remembers how it was read."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_OF = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_OF = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled` times ten to the `exponent`. Two are equal when their numbers are; `text` is the canonical form, if known.

    `big` tells the form that the server would hold it in.
    """

    unscaled: int
    exponent: int = 0
    format: Format = Format.DECIMAL
    big: bool = False
    text: str = ""

    def __str__(self) -> str:
        return self.text or _written(self)

    def __eq__(self, other: object) -> bool:
        return self.compare(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(_reduced(self.unscaled, self.exponent))

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1: less, equal or greater, by the exact numbers."""
        if self.sign != other.sign:
            return 1 if self.sign > other.sign else -1
        sizes = _magnitude(self), _magnitude(other)
        if self.sign == 0 or sizes[0] != sizes[1]:
            # Numbers of different length need no common exponent, which could be two thousand million digits away.
            return self.sign * ((sizes[0] > sizes[1]) - (sizes[0] < sizes[1]))
        low = min(self.exponent, other.exponent)
        mine, theirs = (_at(each, low) for each in (self, other))
        return (mine > theirs) - (mine < theirs)

    def add(self, other: "Quantity") -> "Quantity":
        """The exact sum, in the format of this one unless it is zero. Raises NotAQuantity when it has too many digits."""
        format_ = self.format if self.unscaled else other.format
        if not (self.big or other.big):
            total = _small_sum(self, other)
            if total is not None:
                return Quantity(*total, format_)
        low = min(self.exponent, other.exponent)
        return Quantity(_at(self, low) + _at(other, low), low, format_, big=True)

    def sub(self, other: "Quantity") -> "Quantity":
        """The exact difference; as `add`."""
        return self.add(other.negated())

    def negated(self) -> "Quantity":
        """The number with the other sign."""
        return Quantity(-self.unscaled, self.exponent, self.format, self.big)

    def integer(self) -> int | None:
        """The number as int64, or None when the server would not say it is one (a fraction, too large, or a big form)."""
        if self.big or self.exponent < 0:
            return None
        scaled = _scaled(self.unscaled, self.exponent)
        return scaled if scaled is not None and INT64_MIN <= scaled <= INT64_MAX else None

    def approximate(self) -> float:
        """The nearest the server comes to a double: infinite when it is too large for one."""
        try:
            base = float(self.unscaled)
        except OverflowError:
            base = float("inf") * self.sign
        return base if self.exponent == 0 else base * _power_of_ten(self.exponent)

    def rounded_up(self, exponent: int) -> "Quantity":
        """Rounded away from zero to a multiple of ten to the `exponent` (-3 for milli)."""
        if self.exponent >= exponent and not self.big:
            return self
        return Quantity(_shortened(self, exponent), exponent, self.format, self.big)


def of(number: int, format_: Format = Format.DECIMAL) -> Quantity:
    """The quantity of an int64."""
    return Quantity(number, 0, format_)


def parse(text: str) -> Quantity:
    """Read a quantity. Raises NotAQuantity; an empty text is none, and neither are spaces."""
    if not text or len(text) > LONGEST:
        raise NotAQuantity("a quantity has 1 to 4000 characters" if text else "an empty text is no quantity")
    if text == "0":
        return Quantity(0, text=text)
    negative, whole, fraction, suffix = _split(text)
    power, format_ = _meaning(suffix)
    return _small(text, negative, whole, fraction, power, format_) or _big(negative, whole, fraction, power, format_)


def _split(text: str) -> tuple[bool, str, str, str]:
    """Sign, digits before the point, digits behind it, suffix: each may be missing in the text."""
    start = 1 if text[0] in "+-" else 0
    point = _end_of(text, start, _DIGITS)
    whole = text[start:point]
    end = _end_of(text, point + 1, _DIGITS) if text[point : point + 1] == "." else point
    letters = _end_of(text, end, _LETTERS)
    signed = letters + 1 if text[letters : letters + 1] in ("+", "-") else letters
    if _end_of(text, signed, _DIGITS) < len(text):
        raise NotAQuantity("a quantity is a number followed by a suffix or an exponent")
    return text[0] == "-", whole, text[point + 1 : end], text[end:]


def _end_of(text: str, start: int, allowed: frozenset[str]) -> int:
    end = start
    while end < len(text) and text[end] in allowed:
        end += 1
    return end


def _meaning(suffix: str) -> tuple[int, Format]:
    """The power (of two for binary suffixes, else of ten) and the format that a suffix stands for."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL
    if suffix in _BINARY:
        return _BINARY[suffix], Format.BINARY
    digits = suffix[1:].removeprefix("-").removeprefix("+") if suffix[:1] in ("e", "E") else ""
    if digits and len(suffix) - len(digits) <= 2 and _end_of(digits, 0, _DIGITS) == len(digits):
        power = int(suffix[1:])
        if abs(power) < 2**31 - LONGEST:
            return power, Format.EXPONENT
    raise NotAQuantity("a quantity's suffix is one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent like e3")


def _small(text: str, negative: bool, whole: str, fraction: str, power: int, format_: Format) -> Quantity | None:
    """The number in the server's small form, or None where it takes the other one."""
    whole = whole.lstrip("0") or "0"
    exponent, factor, room = power, 1, _SMALL_DIGITS - len(whole) - len(fraction)
    if format_ is Format.BINARY:
        # Three tenths of the power of two are about its decimal digits.
        exponent, factor, room = 0, 1 << power, -1 if fraction else _BINARY_DIGITS - len(whole) - power * 3 // 10 - 1
    exponent -= len(fraction)
    if room < 0 or exponent < NANO:
        return None
    digits = whole + fraction
    value = int(digits)
    if value * factor > INT64_MAX:
        return None
    canonical = (
        value & 7 != 0 if format_ is Format.BINARY else exponent % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    )
    # The server takes the text over as it is by this rough test: "+5" and "1.500" stay.
    return Quantity((-value if negative else value) * factor, exponent, format_, text=text if canonical else "")


def _big(negative: bool, whole: str, fraction: str, power: int, format_: Format) -> Quantity:
    """The number in the big form: a multiple of nano; binary ones end at the largest int64.

    A suffix without digits is none here (`Ei`), although it is a zero in the small form (`Mi`).
    """
    if not whole + fraction:
        raise NotAQuantity("a quantity has digits")
    value = int(whole + fraction)
    if format_ is Format.BINARY:
        value, power = value << power, 0
    exact = Quantity(value, power - len(fraction))
    if value:
        exact = Quantity(_shortened(exact, NANO), NANO)
    if format_ is Format.BINARY:
        if exact.compare(Quantity(INT64_MAX)) > 0:
            exact = Quantity(INT64_MAX)
        elif value and exact.compare(Quantity(1)) < 0:
            format_ = Format.DECIMAL
    return Quantity(-exact.unscaled if negative else exact.unscaled, exact.exponent, format_, big=True)


def _small_sum(left: Quantity, right: Quantity) -> tuple[int, int] | None:
    """Mantissa and exponent of the sum where 64 bits hold all of it, else None."""
    if right.unscaled == 0:
        return left.unscaled, left.exponent
    if left.unscaled == 0:
        return right.unscaled, right.exponent
    low = min(left.exponent, right.exponent)
    scaled = [_scaled(each.unscaled, each.exponent - low) for each in (left, right)]
    if any(each is None or not INT64_MIN <= each <= INT64_MAX for each in scaled):
        return None
    total = sum(each for each in scaled if each is not None)
    return (total, low) if INT64_MIN <= total <= INT64_MAX else None


def _scaled(number: int, power: int) -> int | None:
    """`number` times ten to the `power`, or None when that surely does not fit 64 bits."""
    if number == 0:
        return 0
    return None if power > _SMALL_DIGITS else number * 10**power


def _at(quantity: Quantity, exponent: int) -> int:
    """The number in units of ten to a lower `exponent`."""
    power = quantity.exponent - exponent
    if quantity.unscaled == 0:
        return 0
    if power + quantity.unscaled.bit_length() * 3 // 10 > LONGEST:
        raise NotAQuantity("the result has more than 4000 digits")
    return quantity.unscaled * int(10**power)


def _shortened(quantity: Quantity, exponent: int) -> int:
    """The number in units of ten to the `exponent`, rounded away from zero."""
    if quantity.exponent >= exponent:
        return _at(quantity, exponent)
    power = exponent - quantity.exponent
    size = abs(quantity.unscaled)
    if size == 0:
        return 0
    shorter = 1 if power > LONGEST * 2 else -(-size // 10**power)
    return quantity.sign * shorter


def _magnitude(quantity: Quantity) -> int:
    """The place of the first digit: equal for numbers of equal length before the point."""
    return _length(abs(quantity.unscaled)) + quantity.exponent if quantity.unscaled else 0


def _length(number: int) -> int:
    """How many decimal digits a positive number has; `str` refuses long ones."""
    guess = max((number.bit_length() - 1) * 30103 // 100000, 1)
    while 10**guess <= number:
        guess += 1
    return guess


def _reduced(number: int, exponent: int, base: int = 10) -> tuple[int, int]:
    """The same number without factors of `base`, and how often that was taken out, above `exponent`."""
    if number == 0:
        return 0, 0
    while number % base == 0:
        number //= base
        exponent += 1
    return number, exponent


def _power_of_ten(power: int) -> float:
    """Ten to the `power` as Go's `math.Pow10` makes it, by two table entries: not always the nearest double."""
    if power < -323 or power > 308:
        return 0.0 if power < 0 else float("inf")
    far, near = divmod(abs(power), 32)
    return float(f"1e{far * 32}") * float(f"1e{near}") if power >= 0 else float(f"1e-{far * 32}") / float(f"1e{near}")


def _written(quantity: Quantity) -> str:
    """The canonical form: no fraction, no precision lost, the suffix as large as can be.

    A suffix that does not exist (`1000E`) is left out, as the server does.
    """
    if quantity.unscaled == 0:
        return "0"
    if quantity.format is Format.BINARY:
        whole = Quantity(_shortened(quantity, 0))
        if abs(whole.unscaled) >= 1024 and whole.compare(quantity) == 0:
            number, power = _reduced(whole.unscaled, 0, 1024)
            return f"{number}{_BINARY_OF.get(power * 10, '')}"
    number, power = _reduced(quantity.unscaled, quantity.exponent)
    number, power = number * int(10 ** (power % 3)), power - power % 3
    if quantity.format is Format.EXPONENT:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_OF.get(power, '')}"
