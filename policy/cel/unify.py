"""Which type may stand for which, and what type variables then are; the rules are those of cel-go's checker.

`Bindings` map the name of a type variable to its type so far. Nothing here changes a mapping that it is given.
"""

from collections.abc import Mapping, Sequence

from policy.cel import types
from policy.cel.types import Type

Bindings = Mapping[str, Type]

PRIMITIVES = frozenset({"bool", "bytes", "double", "int", "string", "uint"})
_ANY = frozenset({types.DYN, types.ERROR})
_PLAIN = frozenset({*PRIMITIVES, "list", "map", "type"})  # null is no value of theirs


def assign(bound: Bindings, actual: Sequence[Type], expected: Sequence[Type]) -> Bindings | None:
    """The bindings with which each actual type may stand for the expected one; None when there are none."""
    found: dict[str, Type] = dict(bound)
    return found if all(_assign(found, one, other) for one, other in zip(actual, expected, strict=True)) else None


def resolve(bound: Bindings, kind: Type, *, final: bool = False) -> Type:
    """The type with its variables replaced; `final`: those that stayed free are `dyn`."""
    if kind.variable:
        found = bound.get(kind.name)
        if found is None:
            return types.DYN if final else kind
        return resolve(bound, found, final=final)
    if not kind.parameters:
        return kind
    return Type(kind.name, tuple(resolve(bound, parameter, final=final) for parameter in kind.parameters))


def renamed(kind: Type, suffix: str) -> Type:
    """The type with fresh variables: those of one use of an overload."""
    if kind.variable:
        return Type(kind.name + suffix, variable=True)
    return Type(kind.name, tuple(renamed(parameter, suffix) for parameter in kind.parameters)) if kind.parameters else kind


def general(a: Type, b: Type) -> Type:
    """The one that says less."""
    return a if _says_less(a, b) else b


def _says_less(a: Type, b: Type) -> bool:
    if a in _ANY or a.variable:
        return True
    if b in _ANY or b.variable:
        return False
    if b == types.NULL:
        return _nullable(a)
    if not a.parameters or not b.parameters:
        return a == b
    if a.name != b.name or len(a.parameters) != len(b.parameters):
        return False
    return all(_says_less(x, y) for x, y in zip(a.parameters, b.parameters, strict=True))


def _assign(bound: dict[str, Type], actual: Type, expected: Type) -> bool:
    if expected.variable:
        answer = _bind(bound, actual, expected)
        if answer is not None:
            return answer
    if actual.variable:
        return bool(_bind(bound, expected, actual))
    if actual in _ANY or expected in _ANY:
        return True
    if actual == types.NULL:
        return _nullable(expected)
    if expected == types.NULL:
        return _nullable(actual)
    if actual.name == "type" and expected.name == "type":
        return True
    if not actual.parameters or not expected.parameters:
        return actual == expected
    if actual.name != expected.name or len(actual.parameters) != len(expected.parameters):
        return False
    return all(_assign(bound, x, y) for x, y in zip(actual.parameters, expected.parameters, strict=True))


def _bind(bound: dict[str, Type], kind: Type, variable: Type) -> bool | None:
    """May the variable be this type? None: only if the variable in turn can be bound by the other side."""
    if kind == variable:
        return True
    before = bound.get(variable.name)
    if before is None:
        if _mentions(bound, kind, variable):
            return None
        bound[variable.name] = kind
        return True
    if before == kind:
        return True
    if not _assign(bound, kind, before):
        return False
    wider = general(kind, before)
    if not _mentions(bound, wider, variable):
        bound[variable.name] = wider
    return True


def _mentions(bound: Bindings, kind: Type, variable: Type) -> bool:
    if kind.variable:
        if kind == variable:
            return True
        found = bound.get(kind.name)
        return found is not None and _mentions(bound, found, variable)
    return any(_mentions(bound, parameter, variable) for parameter in kind.parameters)


def _nullable(kind: Type) -> bool:
    return kind == types.NULL or kind.name not in _PLAIN
