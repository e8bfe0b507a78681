"""The standard functions and conversions of the specification; formats and ranges are those of cel-go."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from math import isfinite, isinf, isnan
from typing import Any

from policy.cel import macros, operators, regex, times
from policy.cel.budget import READ, Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, Overload, globally, member
from policy.cel.times import SECOND, Duration, Timestamp
from policy.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    K,
    T,
    V,
    list_of,
    map_of,
    type_of,
)
from policy.cel.values import TypeValue, UInt, name_of

UNKNOWN = 3000  # units for a time zone that is looked for on disk and not found
CONVERSION = 30  # units for reading a moment or a span, besides the length of its text


def _to_int(value: float) -> int:
    if not (isfinite(value) and -(2**63) < value < 2**63):
        raise CelError("the double is out of the range of an int")
    return int(value)


def _to_uint(value: float) -> UInt:
    if not (isfinite(value) and 0 <= value < 2**64):
        raise CelError("the double is out of the range of a uint")
    return UInt(int(value))


_SIGNED = re.compile(r"[+-]?[0-9]{1,30}")
_UNSIGNED = re.compile(r"[0-9]{1,30}")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+", re.IGNORECASE)
_UNDERSCORE = re.compile(r"(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])")  # Go lets them stand between digits


def _read_int(text: str) -> int:
    if _SIGNED.fullmatch(text) is None:
        raise CelError("the text is no int")
    return operators.signed(int(text))


def _read_uint(text: str) -> UInt:
    if _UNSIGNED.fullmatch(text) is None:
        raise CelError("the text is no uint")
    return operators.unsigned(int(text))


def _read_double(budget: Budget, text: str) -> float:
    budget.read(len(text))
    digits = _UNDERSCORE.sub("", text) if "_" in text else text
    try:
        if _DOUBLE.fullmatch(digits) is not None:
            value = float(digits)
        elif _HEXADECIMAL.fullmatch(digits) is not None:
            value = float.fromhex(digits)
        else:
            raise CelError("the text is no double")
    except OverflowError:
        value = float("inf")
    if isinf(value) and "n" not in text.lower():
        raise CelError("the text is out of the range of a double")
    return value


TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _read_bool(text: str) -> bool:
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise CelError("the text is no bool")


def _read_timestamp(budget: Budget, text: str) -> Timestamp:
    budget.charge(CONVERSION + len(text) // 10)
    return times.parse_timestamp(text)


def _read_duration(budget: Budget, text: str) -> Duration:
    budget.charge(CONVERSION + len(text))
    return times.parse_duration(text)


def write_double(value: float) -> str:
    """A double as Go's `%g` writes it: its shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent = _shortest(value)
    if -4 <= exponent < PLAIN:
        return f"{value:.{max(len(digits) - 1 - exponent, 0)}f}"
    sign = "-" if value < 0 else ""
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


PLAIN = 6  # the power of ten from which a double is written with an exponent


def _shortest(value: float) -> tuple[str, int]:
    """The fewest digits that tell the value, and the power of ten of the first."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = len(whole) - 1 - (len(whole + fraction) - len(digits) if whole.strip("0") == "" else 0) + int(exponent or 0)
    return digits.rstrip("0") or "0", power if digits else 0


def _decode(budget: Budget, value: bytes) -> str:
    budget.grow(len(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("the bytes are no UTF-8") from None


def _encode(budget: Budget, value: str) -> bytes:
    budget.grow(len(value))
    return value.encode("utf-8", "surrogatepass")


def _same(value: Any) -> Any:
    return value


CONVERSIONS = (
    Function("bool", globally((BOOL,), BOOL, _same), globally((STRING,), BOOL, _read_bool)),
    Function("bytes", globally((BYTES,), BYTES, _same), globally((STRING,), BYTES, _encode, budget=True)),
    Function(
        "double",
        globally((DOUBLE,), DOUBLE, _same),
        globally((INT,), DOUBLE, float),
        globally((UINT,), DOUBLE, float),
        globally((STRING,), DOUBLE, _read_double, budget=True),
    ),
    Function(
        "duration",
        globally((DURATION,), DURATION, _same),
        globally((STRING,), DURATION, _read_duration, budget=True),
    ),
    Function("dyn", globally((T,), DYN, _same)),
    Function(
        "int",
        globally((INT,), INT, _same),
        globally((DOUBLE,), INT, _to_int),
        globally((UINT,), INT, lambda value: operators.signed(int(value))),
        globally((STRING,), INT, _read_int),
        globally((TIMESTAMP,), INT, lambda moment: moment.nanos // SECOND),
        globally((DURATION,), INT, lambda span: span.nanos),
    ),
    Function(
        "string",
        globally((STRING,), STRING, _same),
        globally((BOOL,), STRING, lambda value: "true" if value else "false"),
        globally((INT,), STRING, str),
        globally((UINT,), STRING, str),
        globally((DOUBLE,), STRING, write_double),
        globally((BYTES,), STRING, _decode, budget=True),
        globally((TIMESTAMP,), STRING, str),
        globally((DURATION,), STRING, str),
    ),
    Function(
        "timestamp",
        globally((TIMESTAMP,), TIMESTAMP, _same),
        globally((STRING,), TIMESTAMP, _read_timestamp, budget=True),
        globally((INT,), TIMESTAMP, lambda seconds: times.timestamp(seconds * SECOND)),
    ),
    Function("type", globally((T,), type_of(T), lambda value: TypeValue(name_of(value)))),
    Function(
        "uint",
        globally((UINT,), UINT, _same),
        globally((DOUBLE,), UINT, _to_uint),
        globally((INT,), UINT, operators.unsigned),
        globally((STRING,), UINT, _read_uint),
    ),
)


def _searched(test: Callable[[str, str], bool]) -> Callable[[Budget, str, str], bool]:
    def run(budget: Budget, text: str, part: str) -> bool:
        budget.read(len(text))
        return test(text, part)

    return run


def _starts(budget: Budget, text: str, part: str) -> bool:
    if len(part) > READ:
        budget.read(min(len(text), len(part)))
    return text.startswith(part)


def _ends(budget: Budget, text: str, part: str) -> bool:
    if len(part) > READ:
        budget.read(min(len(text), len(part)))
    return text.endswith(part)


SIZED = (STRING, BYTES, list_of(T), map_of(K, V))
TEXTS = (
    Function(
        "size",
        *(globally((kind,), INT, len) for kind in SIZED),
        *(member((kind,), INT, len) for kind in SIZED),
    ),
    Function("contains", member((STRING, STRING), BOOL, _searched(lambda text, part: part in text), budget=True)),
    Function("startsWith", member((STRING, STRING), BOOL, _starts, budget=True)),
    Function("endsWith", member((STRING, STRING), BOOL, _ends, budget=True)),
    Function(
        "matches",
        globally((STRING, STRING), BOOL, regex.matches, budget=True),
        member((STRING, STRING), BOOL, regex.matches, budget=True),
    ),
)

PARTS: Mapping[str, Callable[[Any], int]] = {
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getFullYear": lambda moment: moment.year,
    "getHours": lambda moment: moment.hour,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
    "getMinutes": lambda moment: moment.minute,
    "getMonth": lambda moment: moment.month - 1,
    "getSeconds": lambda moment: moment.second,
}
WHOLE = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND, "getMilliseconds": 1_000_000}


def _zoned(budget: Budget, moment: Timestamp, zone: str) -> datetime:
    budget.charge(CONVERSION)
    try:
        return times.zoned(moment, zone)
    except CelError:
        budget.charge(UNKNOWN)
        raise


def _part(name: str, part: Callable[[Any], int]) -> Function:
    """A part of a date, in UTC or in a zone; of a duration, the whole number of hours, minutes and so on."""
    overloads: list[Overload] = [
        member((TIMESTAMP,), INT, lambda moment: part(moment.datetime)),
        member((TIMESTAMP, STRING), INT, lambda budget, moment, zone: part(_zoned(budget, moment, zone)), budget=True),
    ]
    if name in WHOLE:
        unit = WHOLE[name]
        overloads.append(member((DURATION,), INT, lambda span: abs(span.nanos) // unit * (1 if span.nanos >= 0 else -1)))
    return Function(name, *overloads)


STANDARD = Library(
    "standard",
    functions=(*CONVERSIONS, *TEXTS, *(_part(name, part) for name, part in PARTS.items())),
    macros=(*macros.STANDARD, *macros.TWO_VARIABLES, *macros.BINDINGS),
    types=(
        BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT, list_of(), map_of(), type_of(),
    ),
)  # fmt: skip
