"""Functions over lists: order, sums and places as Kubernetes has them; slices, sorting and flattening as cel-go's `ext.Lists`."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import chain, islice, pairwise
from math import isnan
from operator import le
from typing import Any, Final

from policy.cel.budget import READ, Budget
from policy.cel.error import CelError, Exhausted
from policy.cel.ext.seen import Seen
from policy.cel.library import Function, Library, Macro, globally, member
from policy.cel.macros import Fresh
from policy.cel.syntax import Bind, Call, Loop, Name, Node, Refused
from policy.cel.times import Duration, Timestamp, duration
from policy.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, T, Type, list_of
from policy.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt, compare, equal, name_of, normal

SORTABLE: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
"""The types of values that have an order."""

_SORTABLE_NAMES = frozenset(kind.name for kind in SORTABLE)
_ITEMS = "@items"  # no name that a text can say
_KEYED = "@sortByAssociatedKeys"

# Units, of about 50 ns each.
ITEM: Final = 1  # a value that is only passed on, or compared by Python itself
NUMBER: Final = 3  # a number that is made: for its memory
FOUND: Final = 5  # a value that is looked at
COMPARED: Final = 16  # two values that are compared as CEL does

ALIKE: Final = ({int}, {UInt}, {bool}, {Timestamp}, {Duration})
"""Types whose values Python orders as CEL does."""

Items = Sequence[Any]


def is_sorted(budget: Budget, items: Items) -> bool:
    """Is no value greater than the next one?"""
    if _alike(budget, items):
        return all(map(le, items, islice(items, 1, None)))
    _begins_sortable(items)
    return not any(_order(budget, a, b) > 0 for a, b in pairwise(items))


def greatest(budget: Budget, items: Items) -> Any:
    """The greatest value, the first of equal ones. Raises CelError for an empty list."""
    if items and _alike(budget, items):
        return max(items)
    return _extreme(budget, items, -1)


def least(budget: Budget, items: Items) -> Any:
    """The least value, the first of equal ones. Raises CelError for an empty list."""
    if items and _alike(budget, items):
        return min(items)
    return _extreme(budget, items, 1)


def _extreme(budget: Budget, items: Items, beaten: int) -> Any:
    if not items:
        raise CelError("an empty list has no greatest or least value")
    _begins_sortable(items)
    chosen = items[0]
    for item in items:
        if _order(budget, chosen, item) * beaten > 0:
            chosen = item
    return chosen


def _begins_sortable(items: Items) -> None:
    """By its first value the API server tells whether it orders a list at all."""
    if items and name_of(items[0]) not in _SORTABLE_NAMES:
        raise CelError("values of this type have no order")


def _alike(budget: Budget, items: Items) -> bool:
    """Are all values of one type whose order is Python's? Pays for one comparison of each."""
    budget.charge(ITEM * len(items))
    kinds = set(map(type, items))
    if kinds <= {str} or kinds <= {bytes}:
        budget.read(sum(map(len, items)))
        return True
    return kinds in ALIKE or (kinds == {float} and not any(map(isnan, items)))


def _order(budget: Budget, a: Any, b: Any) -> int:
    """As `compare`; what has no order (NaN, values of two types) is in order anywhere, as in the API server."""
    budget.charge(COMPARED)
    try:
        return compare(a, b, budget)
    except Exhausted:
        raise
    except CelError:
        return 0


def _sum(kind: Type) -> Callable[[Budget, Items], Any]:
    """The sum over values of one kind: zero of that kind for an empty list, an error where it overflows."""

    def add(budget: Budget, items: Items) -> Any:
        budget.charge(COMPARED * len(items))
        values = [normal(item) for item in items]
        names = {name_of(value) for value in values} or {kind.name}
        if len(names) > 1 or not names <= SUMS.keys():
            raise CelError("only numbers or durations of one type have a sum")
        return SUMS[names.pop()](values)

    return add


def _integers(values: list[int]) -> int:
    total = 0
    for value in values:
        total += value
        if not INT_MIN <= total <= INT_MAX:
            raise CelError("integer overflow")
    return total


def _unsigned(values: list[int]) -> UInt:
    total = sum(int(value) for value in values)
    if total > UINT_MAX:
        raise CelError("unsigned integer overflow")
    return UInt(total)


def _doubles(values: list[float]) -> float:
    total = 0.0
    for value in values:  # one after the other, as the API server: `sum` would be more exact
        total += value
    return total


def _durations(values: list[Duration]) -> Duration:
    total = Duration(0)
    for value in values:
        total = duration(total.nanos + value.nanos)
    return total


SUMS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    INT.name: _integers,
    UINT.name: _unsigned,
    DOUBLE.name: _doubles,
    DURATION.name: _durations,
}
"""How values of one type are added."""


def index_of(budget: Budget, items: Items, wanted: Any) -> int:
    """The place of the first value that equals `wanted`, or -1."""
    budget.charge(FOUND * len(items))
    return next((place for place, item in enumerate(items) if equal(item, wanted, budget)), -1)


def last_index_of(budget: Budget, items: Items, wanted: Any) -> int:
    """The place of the last value that equals `wanted`, or -1."""
    budget.charge(FOUND * len(items))
    return next((place for place in range(len(items) - 1, -1, -1) if equal(items[place], wanted, budget)), -1)


def cut(budget: Budget, items: Items, start: int, end: int) -> Items:
    """The values from `start` up to and without `end`."""
    if not 0 <= start <= end <= len(items):
        raise CelError("a slice lies within the list, and its start is not behind its end")
    budget.charge(end - start)
    return items[start:end]


def flatten(budget: Budget, items: Items, depth: int = 1) -> list[Any]:
    """The values, and those of lists in the list down to `depth`, in one list."""
    if depth < 0:
        raise CelError("a list cannot be flattened to a negative depth")
    flat = list(items)
    while depth and any(isinstance(item, list | tuple) for item in flat):
        size = sum(len(item) if isinstance(item, list | tuple) else 1 for item in flat)
        budget.charge(FOUND * (len(flat) + size))
        flat = list(chain.from_iterable(item if isinstance(item, list | tuple) else (item,) for item in flat))
        depth -= 1
    budget.charge(ITEM * len(flat))
    return flat


def numbers(budget: Budget, count: int) -> list[int]:
    """0, 1, 2 ... `count` of them; none when that is negative."""
    budget.charge(NUMBER * max(count, 0))
    return list(range(count))


def reverse(budget: Budget, items: Items) -> Items:
    """The values in the other order."""
    budget.charge(len(items))
    return items[::-1]


def distinct(budget: Budget, items: Items) -> list[Any]:
    """Each value once, where it was first."""
    seen = Seen(budget)
    return [item for item in items if seen.add(item)]


def sort(budget: Budget, items: Items) -> list[Any]:
    """The values in order. Raises CelError unless all are of one type that has an order."""
    return sort_by_keys(budget, items, items)


def sort_by_keys(budget: Budget, items: Items, keys: Items) -> list[Any]:
    """The values in the order of the keys beside them; equal keys keep their order."""
    if len(items) != len(keys):
        raise CelError("there are not as many keys as values")
    rounds = len(keys).bit_length()
    budget.charge(ITEM * len(keys) * rounds)
    kinds = {name_of(key) for key in keys}
    if len(kinds) > 1 or not kinds <= _SORTABLE_NAMES:
        raise CelError("only values of one type that has an order can be sorted")
    if kinds <= {STRING.name, BYTES.name}:
        budget.charge(sum(map(len, keys)) * rounds // READ)
    if _alike(budget, keys):
        places = sorted(range(len(keys)), key=keys.__getitem__)
    else:
        order = cmp_to_key(lambda a, b: _order(budget, a, b))
        places = sorted(range(len(keys)), key=lambda place: order(keys[place]))
    return [items[place] for place in places]


def _sort_by(call: Call, fresh: Fresh) -> Node:
    """`list.sortBy(x, key)`: the list is bound, so that it is computed once, and sorted by a map over it."""
    name, key = call.arguments
    if call.target is None or not isinstance(name, Name) or name.name.startswith("."):
        raise Refused("`sortBy` is called on a list with a variable and a key", call.at)
    mapped = Loop(fresh(), call.at, "map", Name(fresh(), call.at, _ITEMS), (name.name,), None, key)
    ordered = Call(fresh(), call.at, _KEYED, Name(fresh(), call.at, _ITEMS), (mapped,))
    return Bind(fresh(), call.at, _ITEMS, call.target, ordered)


LIBRARY = Library(
    "lists",
    functions=(
        Function("distinct", member((list_of(T),), list_of(T), distinct, budget=True)),
        Function(
            "flatten",
            member((list_of(list_of(T)),), list_of(T), flatten, budget=True),
            member((list_of(DYN), INT), list_of(DYN), flatten, budget=True),
        ),
        Function("indexOf", member((list_of(T), T), INT, index_of, budget=True)),
        Function("isSorted", *(member((list_of(kind),), BOOL, is_sorted, budget=True) for kind in SORTABLE)),
        Function("lastIndexOf", member((list_of(T), T), INT, last_index_of, budget=True)),
        Function("lists.range", globally((INT,), list_of(INT), numbers, budget=True)),
        Function("max", *(member((list_of(kind),), kind, greatest, budget=True) for kind in SORTABLE)),
        Function("min", *(member((list_of(kind),), kind, least, budget=True) for kind in SORTABLE)),
        Function("reverse", member((list_of(T),), list_of(T), reverse, budget=True)),
        Function("slice", member((list_of(T), INT, INT), list_of(T), cut, budget=True)),
        Function("sort", *(member((list_of(kind),), list_of(kind), sort, budget=True) for kind in SORTABLE)),
        Function("sum", *(member((list_of(kind),), kind, _sum(kind), budget=True) for kind in (INT, UINT, DOUBLE, DURATION))),
        Function(_KEYED, *(member((list_of(T), list_of(kind)), list_of(T), sort_by_keys, budget=True) for kind in SORTABLE)),
    ),
    macros=(Macro("sortBy", frozenset({2}), _sort_by),),
)
