"""The comparisons of templates: eq, ne, lt, le, gt, ge, and their errors."""

from typing import Any

from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.formats import sprintf
from manager.render.gotemplate.function import Context
from manager.render.gotemplate.value import basic, gotype, is_nil, kind


def eq(context: Context, first: Any, *others: Any) -> bool:
    """Is the first equal to any of the others?"""
    if not others:
        raise CallError("missing argument for comparison")
    return any(_equal(context, first, other) for other in others)


def ne(context: Context, left: Any, right: Any) -> bool:
    """left != right"""
    return not eq(context, left, right)


def lt(context: Context, left: Any, right: Any) -> bool:
    """left < right"""
    kinds = {basic(left), basic(right)}
    if "" in kinds:
        raise CallError("invalid type for comparison")
    if len(kinds) > 1 and kinds != {"int", "uint"}:
        raise _incompatible(left, right)
    if "bool" in kinds:
        raise CallError("invalid type for comparison")
    _look(context, left, right)
    return bool(left < right)


def le(context: Context, left: Any, right: Any) -> bool:
    """left <= right"""
    return lt(context, left, right) or eq(context, left, right)


def gt(context: Context, left: Any, right: Any) -> bool:
    """left > right, which is the inverse of <= even where one is no number"""
    return not le(context, left, right)


def ge(context: Context, left: Any, right: Any) -> bool:
    """left >= right, likewise the inverse of <"""
    return not lt(context, left, right)


def _equal(context: Context, left: Any, right: Any) -> bool:
    families = basic(left), basic(right)
    if families[0] != families[1]:
        if set(families) == {"int", "uint"}:
            return bool(left == right)
        if kind(left) != "invalid" and kind(right) != "invalid":
            raise _incompatible(left, right)
        return False
    if families[0]:
        _look(context, left, right)
        return bool(left == right)
    if kind(left) != kind(right) and "invalid" not in (kind(left), kind(right)):
        shown = sprintf("%s: %v", [left, gotype(left)], context.budget)
        raise CallError(f"non-comparable types {shown}, {gotype(right)}: {sprintf('%v', [right], context.budget)}")
    if is_nil(left) or is_nil(right):
        return is_nil(left) == is_nil(right)
    if isinstance(right, list | dict):
        raise CallError(f"non-comparable type {sprintf('%s', [right], context.budget)}: {gotype(right)}")
    return bool(left == right)


def _look(context: Context, left: Any, right: Any) -> None:
    if isinstance(left, str):
        context.budget.look(min(len(left), len(right)))


def _incompatible(left: Any, right: Any) -> CallError:
    return CallError(f"incompatible types for comparison: {gotype(left)} and {gotype(right)}")


__all__ = ["eq", "ge", "gt", "le", "lt", "ne"]
