"""Why a field is refused, in the words of the real server (apimachinery's util/validation/field and Go's way to print values)."""

import json
from collections.abc import Iterable
from typing import Any

from manager.embedded.gostruct import Struct
from manager.embedded.status import Cause

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"

NOWHERE = "<nil>"
"""The field of a cause that is about no field."""


class Omitted:
    """Stands for a value that is not shown."""


OMITTED = Omitted()


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A value that breaks a rule."""
    return _with_value(INVALID, "Invalid value", field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> Cause:
    """A value of the wrong type."""
    return _with_value(TYPE_INVALID, "Invalid value", field, value, detail)


def required(field: str, detail: str = "") -> Cause:
    """A field that is not there."""
    return Cause(REQUIRED, _joined("Required value", detail), field)


def duplicate(field: str, value: Any) -> Cause:
    """A value that stands there twice."""
    return _with_value(DUPLICATE, "Duplicate value", field, value, "")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """A value outside an enumeration, which is shown in the order given."""
    listed = ", ".join(quote(each) for each in supported)
    return _with_value(NOT_SUPPORTED, "Unsupported value", field, value, f"supported values: {listed}" if listed else "")


def forbidden(field: str, detail: str) -> Cause:
    """A value that may not be there now."""
    return Cause(FORBIDDEN, _joined("Forbidden", detail), field)


def too_long(field: str, most: int) -> Cause:
    """More than `most` bytes (which is said of characters, too)."""
    return Cause(TOO_LONG, f"Too long: may not be more than {most} {'byte' if most == 1 else 'bytes'}", field)


def too_many(field: str, found: int, most: int) -> Cause:
    """More than `most` items."""
    return _with_value(TOO_MANY, "Too many", field, found, f"must have at most {most} {'item' if most == 1 else 'items'}")


def internal(field: str, detail: str) -> Cause:
    """A failure of the server."""
    return Cause(INTERNAL, _joined("Internal error", detail), field)


def child(path: str, name: str) -> str:
    """The path of a field below another one."""
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    """The path of an entry of a map."""
    return f"{path}[{name}]"


def index(path: str, place: int) -> str:
    """The path of an item of a list."""
    return f"{path}[{place}]"


def _with_value(reason: str, word: str, field: str, value: Any, detail: str) -> Cause:
    said = word if value is OMITTED else f"{word}: {shown(value)}"
    return Cause(reason, _joined(said, detail), field)


def _joined(said: str, detail: str) -> str:
    return f"{said}: {detail}" if detail else said


def shown(value: Any) -> str:
    """A value as it stands in a message."""
    match value:
        case str():
            return quote(value)
        case bool():
            return "true" if value else "false"
        case float():
            return general(value)
        case int():
            return str(value)
    return to_json(value)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quote(text: str) -> str:
    """As Go's strconv.Quote does it."""
    return f'"{"".join(_escaped(each) for each in text)}"'


def _escaped(each: str) -> str:
    if each in _ESCAPES:
        return _ESCAPES[each]
    if each == " " or each.isprintable():
        return each
    code = ord(each)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def general(value: float) -> str:
    """A float as Go's `%v` prints it: the shortest digits, an exponent below 1e-4 and from a million."""
    return _float(value, 1e-4, 1e6)


def _float(value: float, small: float, large: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    digits, exponent = _digits(value)
    sign = "-" if value < 0 else ""
    if small <= abs(value) < large:
        return sign + _plain(digits, exponent)
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that mean this value, and the power of ten of the first one."""
    mantissa, _, power = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    return digits.rstrip("0") or "0", exponent + int(power or 0)


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def printed(value: Any) -> str:
    """A value as Go's `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return general(value)
        case dict():
            return f"map[{' '.join(f'{name}:{printed(value[name])}' for name in sorted(value))}]"
        case list():
            return f"[{' '.join(map(printed, value))}]"
    return str(value)


def to_json(value: Any) -> str:
    """As Go's json.Marshal writes it: keys sorted, no spaces, and `<`, `>` and `&` escaped."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _json_text(value)
        case int():
            return str(value)
        case float():
            # Go leaves out the zero of an exponent of one digit here, and only here.
            return _float(value, 1e-6, 1e21).replace("e-0", "e-")
        case dict():
            names = value if isinstance(value, Struct) else sorted(value)
            return "{" + ",".join(f"{_json_text(name)}:{to_json(value[name])}" for name in names) + "}"
    return f"[{','.join(to_json(each) for each in value)}]"


def _json_text(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    for each in "<>&\u2028\u2029":
        written = written.replace(each, f"\\u{ord(each):04x}")
    return written
