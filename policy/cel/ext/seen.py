"""Which values were there already: by a table where Python's equality is CEL's, one by one where it is not."""

from typing import Any

from policy.cel.budget import Budget
from policy.cel.values import UInt, equal, normal

EXACT = 2**53 - 1  # up to here, int, uint and double of the same number are one key, and of no other number
LOOKUP = 24  # units for a look at the table
COMPARISON = 4  # units for comparing two values; lists and maps pay for their content besides


class Seen:
    """The values so far. `add` and `has` charge what they do."""

    __slots__ = ("_budget", "_others", "_table")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._table: set[Any] = set()
        self._others: list[Any] = []

    def add(self, value: Any) -> bool:
        """Take the value; True when no equal one was there."""
        if self.has(value):
            return False
        key = _key(value)
        if key is None:
            self._others.append(value)
        else:
            self._table.add(key)
        return True

    def has(self, value: Any) -> bool:
        """Was an equal value taken before?"""
        self._budget.charge(LOOKUP)
        if type(value) is str:
            self._budget.read(len(value))
        key = _key(value)
        if key is not None and key in self._table:
            return True
        self._budget.charge(COMPARISON * len(self._others))
        return any(equal(value, other, self._budget) for other in self._others)


def _key(value: Any) -> Any:
    """What stands for the value in a table, or None where only a comparison can tell."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool:
        return kind, value
    if kind is int or kind is UInt or kind is float:
        return value if -EXACT <= value <= EXACT else None
    return (kind,) if normal(value) is None else None
