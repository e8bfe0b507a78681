"""Lists: what is taken from them, and lists made of others. None is changed in place."""

import math
from collections.abc import Callable
from typing import Any

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Function, Functions
from manager.render.gotemplate.sprig.equality import contained, same
from manager.render.gotemplate.sprig.numbers import to_integer
from manager.render.gotemplate.sprig.table import INT, NIL_POINTER, growing, plain
from manager.render.gotemplate.value import ANY, LIST, Slice, element, kind, truth

Items = list[Any]


def _listed(value: Any, refusal: str) -> Items:
    """The list. Raises CallError with the refusal, of which `%s` is the kind of what is none."""
    if isinstance(value, list):
        return value
    raise CallError(NIL_POINTER if value is None else refusal % kind(value))


def _nil() -> Slice:
    return Slice(nil=True)


def append(value: Any, item: Any) -> Items:
    """The list with one more at the end."""
    return [*_listed(value, "Cannot push on type %s"), item]


def prepend(value: Any, item: Any) -> Items:
    """The list with one more in front."""
    return [item, *_listed(value, "Cannot prepend on type %s")]


def first(value: Any) -> Any:
    """The first element; nil of an empty list."""
    return next(iter(_listed(value, "Cannot find first on type %s")), None)


def last(value: Any) -> Any:
    """The last element; nil of an empty list."""
    return next(reversed(_listed(value, "Cannot find last on type %s")), None)


def rest(value: Any) -> Items:
    """All but the first; a nil list of an empty one."""
    items = _listed(value, "Cannot find rest on type %s")
    return list(items[1:]) if items else _nil()


def initial(value: Any) -> Items:
    """All but the last; a nil list of an empty one."""
    items = _listed(value, "Cannot find initial on type %s")
    return list(items[:-1]) if items else _nil()


def reverse(value: Any) -> Items:
    """The list from its end."""
    return list(reversed(_listed(value, "Cannot find reverse on type %s")))


def compact(value: Any) -> Items:
    """The elements that are not empty."""
    return list(filter(truth, _listed(value, "Cannot compact on type %s")))


def uniq(budget: Budget, value: Any) -> Items:
    """The elements, each once."""
    found: Items = []
    for item in _listed(value, "Cannot find uniq on type %s"):
        if not contained(budget, found, item):
            found.append(item)
    return found


def without(budget: Budget, value: Any, *omitted: Any) -> Items:
    """The elements that are none of those."""
    return [item for item in _listed(value, "Cannot find without on type %s") if not contained(budget, omitted, item)]


def has(budget: Budget, needle: Any, value: Any) -> bool:
    """Is it an element?"""
    return value is not None and contained(budget, _listed(value, "Cannot find has on type %s"), needle)


def part(value: Any, *bounds: Any) -> Any:
    """The elements from the first bound on, before the second; nil of an empty list."""
    items = _listed(value, "list should be type of slice or array but %s")
    if not items:
        return None
    start = to_integer(bounds[0]) if bounds else 0
    end = to_integer(bounds[1]) if len(bounds) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise CallError("reflect.Value.Slice: slice index out of bounds")
    return Slice(items[start:end], element(items))


def concat(budget: Budget, *values: Any) -> Items:
    """The lists, one behind the other; a nil list when there is nothing in them."""
    budget.take(sum(len(value) for value in values if isinstance(value, list)))
    joined = [item for value in values for item in _listed(value, "Cannot concat type %s as list")]
    return joined or _nil()


def chunk(size: int, value: Any) -> Slice:
    """The list in lists of so many elements."""
    items = _listed(value, "Cannot chunk type %s")
    count = math.floor((len(items) - 1) / size) + 1 if size else -1
    if size < -1 and count == len(items) == 1:
        size = 1
    if count < 0 or (size < 0 and count):
        raise CallError("runtime error: makeslice: len out of range")
    return Slice((items[at * size : (at + 1) * size] for at in range(count)), LIST)


def _each(name: str, makes: Callable[..., Function], call: Callable[..., Any], *takes: str, rest: str = "") -> list[Function]:
    """The function and its `must` twin: the one panics, the other answers an error, which reads the same."""
    must = f"must{name[0].upper()}{name[1:]}"
    return [makes(name, call, *takes, rest=rest), makes(must, call, *takes, rest=rest)]


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        plain("list", lambda *items: list(items), rest=ANY),
        plain("tuple", lambda *items: list(items), rest=ANY),
        *_each("append", plain, append, ANY, ANY),
        *_each("push", plain, append, ANY, ANY),
        *_each("prepend", plain, prepend, ANY, ANY),
        *_each("first", plain, first, ANY),
        *_each("last", plain, last, ANY),
        *_each("rest", plain, rest, ANY),
        *_each("initial", plain, initial, ANY),
        *_each("reverse", plain, reverse, ANY),
        *_each("compact", plain, compact, ANY),
        *_each("uniq", growing, uniq, ANY),
        *_each("without", growing, without, ANY, rest=ANY),
        *_each("has", growing, has, ANY, ANY),
        *_each("slice", plain, part, ANY, rest=ANY),
        *_each("chunk", plain, chunk, INT, ANY),
        growing("concat", concat, rest=ANY),
        growing("deepEqual", same, ANY, ANY),
    )
}
