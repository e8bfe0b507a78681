"""Lists taken as sets, as in cel-go's `ext.Sets`: order and repetition do not count, numbers are equal by value."""

from collections.abc import Sequence
from typing import Any

from policy.cel.budget import Budget
from policy.cel.ext.seen import Seen
from policy.cel.library import Function, Library, globally
from policy.cel.types import BOOL, T, list_of


def contains(budget: Budget, items: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Is each of `wanted` one of `items`?"""
    there = _seen(budget, items)
    return all(there.has(each) for each in wanted)


def equivalent(budget: Budget, a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Do both contain each other?"""
    return contains(budget, a, b) and contains(budget, b, a)


def intersects(budget: Budget, a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Have both one value in common?"""
    there = _seen(budget, b)
    return any(there.has(each) for each in a)


def _seen(budget: Budget, items: Sequence[Any]) -> Seen:
    seen = Seen(budget)
    for item in items:
        seen.add(item)
    return seen


_LISTS = (list_of(T), list_of(T))

LIBRARY = Library(
    "sets",
    functions=(
        Function("sets.contains", globally(_LISTS, BOOL, contains, budget=True)),
        Function("sets.equivalent", globally(_LISTS, BOOL, equivalent, budget=True)),
        Function("sets.intersects", globally(_LISTS, BOOL, intersects, budget=True)),
    ),
)
