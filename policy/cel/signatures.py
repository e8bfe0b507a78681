"""The operators as the checker sees them: which types they take, and which they give."""

from collections.abc import Mapping

from policy.cel.library import Signature
from policy.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    K,
    T,
    Type,
    V,
    list_of,
    map_of,
    optional_of,
)

NUMBERS = (INT, UINT, DOUBLE)
ORDERED = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)


def _both(*kinds: Type) -> tuple[Signature, ...]:
    return tuple(Signature((kind, kind), kind) for kind in kinds)


_EQUALITY = (Signature((T, T), BOOL),)
_ORDER = (
    *(Signature((kind, kind), BOOL) for kind in ORDERED),
    *(Signature((one, other), BOOL) for one in NUMBERS for other in NUMBERS if one != other),
)
OPERATORS: Mapping[str, tuple[Signature, ...]] = {
    "==": _EQUALITY,
    "!=": _EQUALITY,
    "<": _ORDER,
    "<=": _ORDER,
    ">": _ORDER,
    ">=": _ORDER,
    "in": (Signature((T, list_of(T)), BOOL), Signature((K, map_of(K, V)), BOOL)),
    "+": (
        *_both(*NUMBERS, STRING, BYTES, DURATION),
        Signature((TIMESTAMP, DURATION), TIMESTAMP),
        Signature((DURATION, TIMESTAMP), TIMESTAMP),
        Signature((list_of(T), list_of(T)), list_of(T)),
    ),
    "-": (
        *_both(*NUMBERS, DURATION),
        Signature((TIMESTAMP, DURATION), TIMESTAMP),
        Signature((TIMESTAMP, TIMESTAMP), DURATION),
    ),
    "*": _both(*NUMBERS),
    "/": _both(*NUMBERS),
    "%": _both(INT, UINT),
    "-_": (Signature((INT,), INT), Signature((DOUBLE,), DOUBLE)),
    "?:": (Signature((BOOL, T, T), T),),
    "!_": (Signature((BOOL,), BOOL),),
    "[]": (
        Signature((list_of(T), INT), T),
        Signature((map_of(K, V), K), V),
        Signature((optional_of(list_of(T)), INT), optional_of(T)),
        Signature((optional_of(map_of(K, V)), K), optional_of(V)),
    ),
    "[?]": (
        Signature((list_of(T), INT), optional_of(T)),
        Signature((map_of(K, V), K), optional_of(V)),
        Signature((optional_of(list_of(T)), INT), optional_of(T)),
        Signature((optional_of(map_of(K, V)), K), optional_of(V)),
    ),
}
