"""`string.format`: `%s %d %f %e %b %o %x %X` over the values of CEL, as the specification of CEL has it.

The API server still writes some values in an older form (see `docs/cel.md`): `%e` with a raised exponent, strings of
lists in quotes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.times import Duration, Timestamp
from policy.cel.values import TypeValue, UInt, entries, name_of, normal

PRECISION: Final = 6  # digits behind the point, unless the clause says how many
DEEPEST: Final = 64  # lists within lists
SHOWN: Final = 40  # units for a value, its characters apart
_DIGITS = 6  # of a precision: more would be longer than any budget

Clause = Callable[[Budget, Any, int], str]


def formatted(budget: Budget, template: str, values: Sequence[Any]) -> str:
    """Fill the clauses of `template` with `values` in their order; `%%` is a percent sign."""
    budget.grow(len(template))
    parts: list[str] = []
    place, used = 0, 0
    while (found := template.find("%", place)) >= 0:
        parts.append(template[place:found])
        if template.startswith("%%", found):
            parts.append("%")
            place = found + 2
            continue
        clause, precision, place = _clause(template, found + 1)
        if used >= len(values):
            raise CelError("the format has more clauses than there are values")
        parts.append(clause(budget, normal(values[used]), precision))
        used += 1
    parts.append(template[place:])
    return "".join(parts)


def _clause(template: str, start: int) -> tuple[Clause, int, int]:
    """What the clause behind a percent sign does, its precision, and where the text goes on."""
    place, precision = start, PRECISION
    if template.startswith(".", start):
        place = start + 1
        while place < len(template) and template[place] in "0123456789":
            place += 1
        digits = template[start + 1 : place]
        if not 1 <= len(digits) <= _DIGITS:
            raise CelError("the precision of a format clause is a number of 1 to 6 digits")
        precision = int(digits)
    clause = CLAUSES.get(template[place : place + 1])
    if clause is None:
        raise CelError("a format clause is one of %s, %d, %f, %e, %b, %o, %x, %X, with a precision such as %.3f")
    return clause, precision, place + 1


def _string(budget: Budget, value: Any, _: int) -> str:
    return _shown(budget, value, 0)


def _shown(budget: Budget, value: Any, depth: int) -> str:
    if depth > DEEPEST:
        raise CelError("lists and maps are nested too deeply for %s")
    budget.charge(SHOWN)
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case str():
            text = value
        case bytes():
            text = value.decode(errors="replace")
        case int() | Timestamp() | Duration():
            text = str(value)
        case float():
            text = _double(value)
        case TypeValue():
            text = value.name
        case list() | tuple():
            text = f"[{', '.join([_shown(budget, normal(item), depth + 1) for item in value])}]"
        case Mapping():
            shown = [(_shown(budget, key, depth + 1), _shown(budget, normal(item), depth + 1)) for key, item in entries(value)]
            text = f"{{{', '.join(f'{key}: {item}' for key, item in sorted(shown, key=lambda pair: pair[0]))}}}"
        case _:
            raise CelError(f"%s takes no {name_of(value)}")
    budget.grow(len(text))
    return text


def _double(value: float) -> str:
    """The shortest digits that mean this double, never with an exponent."""
    special = _special(value)
    if special is not None:
        return special
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return None


def _decimal(budget: Budget, value: Any, _: int) -> str:
    text = _double(value) if type(value) is float else str(_integer("%d", value))
    budget.grow(len(text))
    return text


def _fixed(budget: Budget, value: Any, precision: int) -> str:
    return _float(budget, "f", value, precision)


def _scientific(budget: Budget, value: Any, precision: int) -> str:
    return _float(budget, "e", value, precision)


def _float(budget: Budget, verb: str, value: Any, precision: int) -> str:
    number = value if type(value) is float else float(_integer(f"%{verb}", value))
    budget.grow(precision + 310)  # a double has at most 309 digits before the point
    return _special(number) or format(number, f".{precision}{verb}")


def _binary(budget: Budget, value: Any, _: int) -> str:
    budget.grow(64)
    return format(int(value) if type(value) is bool else _integer("%b", value), "b")


def _octal(budget: Budget, value: Any, _: int) -> str:
    budget.grow(22)
    return format(_integer("%o", value), "o")


def _hexadecimal(budget: Budget, value: Any, _: int) -> str:
    if isinstance(value, str | bytes):
        budget.grow(2 * len(value))
        raw = value.encode(errors="replace") if isinstance(value, str) else value
        return raw.hex()
    budget.grow(16)
    return format(_integer("%x", value), "x")


def _upper(budget: Budget, value: Any, precision: int) -> str:
    return _hexadecimal(budget, value, precision).upper()


def _integer(verb: str, value: Any) -> int:
    if type(value) is int or type(value) is UInt:
        return int(value)
    raise CelError(f"{verb} takes no {name_of(value)}")


CLAUSES: Final[Mapping[str, Clause]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _upper,
}
"""What the letter of a clause does; all take the budget, the value and the precision."""
