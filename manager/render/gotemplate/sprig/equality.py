"""Deep equality and copies, as Go's reflection has them: values of different types are never equal."""

from collections.abc import Iterable
from typing import Any

from manager.render.gotemplate.bounds import NESTED, Budget
from manager.render.gotemplate.errors import CallError, Exceeded
from manager.render.gotemplate.value import Map, Slice, element, gotype, is_nil


def same(budget: Budget, left: Any, right: Any) -> bool:
    """Are they equal to the last element? Raises Exceeded."""
    return _same(budget, left, right, NESTED)


def _same(budget: Budget, left: Any, right: Any, depth: int) -> bool:
    budget.step()
    if depth == 0:
        raise Exceeded(f"a value is nested more than {NESTED} levels deep")
    if gotype(left) != gotype(right) or is_nil(left) != is_nil(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(
            _same(budget, one, other, depth - 1) for one, other in zip(left, right, strict=True)
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(budget, item, right[key], depth - 1) for key, item in left.items())
    return bool(left == right)


def contained(budget: Budget, items: Iterable[Any], needle: Any) -> bool:
    """Is one of them equal?"""
    return any(same(budget, item, needle) for item in items)


def copied(budget: Budget, value: Any) -> Any:
    """The value with maps and lists of its own. Raises CallError for nil, and Exceeded."""
    if value is None:
        raise CallError("reflect: call of reflect.Value.Type on zero Value")
    return _copied(budget, value, NESTED)


def _copied(budget: Budget, value: Any, depth: int) -> Any:
    budget.step()
    if depth == 0:
        raise Exceeded(f"a value is nested more than {NESTED} levels deep")
    if isinstance(value, list):
        return Slice((_copied(budget, item, depth - 1) for item in value), element(value), nil=is_nil(value))
    if isinstance(value, dict):
        made = ((key, _copied(budget, item, depth - 1)) for key, item in value.items())
        return Map(made, element(value), nil=is_nil(value))
    return value
