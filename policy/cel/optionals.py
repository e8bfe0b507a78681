"""Optional values: made, asked, taken out and chained; the functions are those of cel-go's optional library."""

from typing import Any

from policy.cel import macros
from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally, member
from policy.cel.times import Duration
from policy.cel.types import BOOL, T, list_of, optional_of
from policy.cel.values import ABSENT, Optional, UInt


def _zero(value: Any) -> bool:
    """Is it the value that its type has by default?"""
    if value is None or value is False:
        return True
    if isinstance(value, str | bytes | list | tuple):
        return not value
    if type(value) in (int, UInt, float):
        return bool(value == 0)
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, Optional):
        return not value.present
    try:
        return len(value) == 0
    except TypeError:
        return False


def _taken(value: Optional) -> Any:
    if not value.present:
        raise CelError("an optional value that is absent has no value")
    return value.value


def _unwrapped(budget: Budget, items: list[Any]) -> list[Any]:
    budget.charge(len(items))
    if not all(isinstance(item, Optional) for item in items):
        raise CelError("no such overload: a list that is unwrapped holds optional values")
    return [item.value for item in items if item.present]


MAYBE = optional_of(T)
OPTIONAL = Library(
    "optional",
    functions=(
        Function("optional.of", globally((T,), MAYBE, lambda value: Optional(True, value))),
        Function("optional.none", globally((), MAYBE, lambda: ABSENT)),
        Function(
            "optional.ofNonZeroValue",
            globally((T,), MAYBE, lambda value: ABSENT if _zero(value) else Optional(True, value)),
        ),
        Function("optional.unwrap", globally((list_of(MAYBE),), list_of(T), _unwrapped, budget=True)),
        Function("unwrapOpt", member((list_of(MAYBE),), list_of(T), _unwrapped, budget=True)),
        Function("hasValue", member((MAYBE,), BOOL, lambda value: value.present)),
        Function("value", member((MAYBE,), T, _taken)),
        Function("or", member((MAYBE, MAYBE), MAYBE, lambda value, other: value if value.present else other)),
        Function("orValue", member((MAYBE, T), T, lambda value, other: value.value if value.present else other)),
        Function("first", member((list_of(T),), MAYBE, lambda items: Optional(True, items[0]) if items else ABSENT)),
        Function("last", member((list_of(T),), MAYBE, lambda items: Optional(True, items[-1]) if items else ABSENT)),
    ),
    macros=macros.OPTIONALS,
    types=(optional_of(),),
)
