"""`quantity()` of Kubernetes: exact numbers with a suffix, over `policy.quantity`."""

from dataclasses import dataclass
from typing import ClassVar

from policy import quantity as exact
from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import BOOL, DOUBLE, INT, STRING, Type, opaque
from policy.cel.values import Opaque

TYPE = opaque("kubernetes.Quantity")


@dataclass(frozen=True, slots=True)
class Quantity(Opaque):
    """A quantity as a value of CEL; equal when the numbers are."""

    cel: ClassVar[Type] = TYPE

    number: exact.Quantity

    def __str__(self) -> str:
        return str(self.number)


def parse(budget: Budget, text: str) -> Quantity:
    """Read a quantity. Raises CelError."""
    budget.read(len(text))
    try:
        return Quantity(exact.parse(text))
    except exact.NotAQuantity as error:
        raise CelError(str(error)) from error


def is_quantity(budget: Budget, text: str) -> bool:
    """Is this text a quantity?"""
    try:
        parse(budget, text)
    except CelError as error:
        if isinstance(error.__cause__, exact.NotAQuantity):
            return False
        raise
    return True


def as_integer(quantity: Quantity) -> int:
    """The number as an int. Raises CelError where `isInteger` is false."""
    number = quantity.number.integer()
    if number is None:
        raise CelError("the quantity is no integer of 64 bits")
    return number


def add(budget: Budget, quantity: Quantity, other: Quantity | int) -> Quantity:
    """The exact sum. Raises CelError when it has too many digits."""
    return _combine(budget, quantity, _number(other))


def sub(budget: Budget, quantity: Quantity, other: Quantity | int) -> Quantity:
    """The exact difference. Raises CelError when it has too many digits."""
    return _combine(budget, quantity, _number(other).negated())


def _number(value: Quantity | int) -> exact.Quantity:
    return value.number if isinstance(value, Quantity) else exact.of(value, exact.Format.EXPONENT)


def _combine(budget: Budget, quantity: Quantity, other: exact.Quantity) -> Quantity:
    budget.charge(1 + quantity.number.unscaled.bit_length() // 64)
    try:
        return Quantity(quantity.number.add(other))
    except exact.NotAQuantity as error:
        raise CelError(str(error)) from error


def compare(a: Quantity, b: Quantity) -> int:
    """-1, 0 or 1 as the first is less, equal or greater."""
    return a.number.compare(b.number)


_PAIR = (TYPE, TYPE)

LIBRARY = Library(
    "quantity",
    functions=(
        Function("quantity", globally((STRING,), TYPE, parse, budget=True)),
        Function("isQuantity", globally((STRING,), BOOL, is_quantity, budget=True)),
        # The API server takes it as a function only, although its documentation calls it on the quantity.
        Function("sign", globally((TYPE,), INT, lambda quantity: quantity.number.sign)),
        Function("isInteger", member((TYPE,), BOOL, lambda quantity: quantity.number.integer() is not None)),
        Function("asInteger", member((TYPE,), INT, as_integer)),
        Function("asApproximateFloat", member((TYPE,), DOUBLE, lambda quantity: quantity.number.approximate())),
        Function("add", member(_PAIR, TYPE, add, budget=True), member((TYPE, INT), TYPE, add, budget=True)),
        Function("sub", member(_PAIR, TYPE, sub, budget=True), member((TYPE, INT), TYPE, sub, budget=True)),
        Function("isLessThan", member(_PAIR, BOOL, lambda a, b: compare(a, b) < 0)),
        Function("isGreaterThan", member(_PAIR, BOOL, lambda a, b: compare(a, b) > 0)),
        Function("compareTo", member(_PAIR, INT, compare)),
    ),
)
