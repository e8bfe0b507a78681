"""The closures of one operator between two operands: the common types at once, all others by `operators`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from policy.cel import operators
from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.frame import BUDGET, Closure, Frame, Source
from policy.cel.times import EARLIEST, LATEST, Duration, Timestamp
from policy.cel.values import INT_MAX, INT_MIN, equal

if TYPE_CHECKING:
    from policy.cel.compiler import Compiler

Binary = Callable[[Any, Any, Budget], Any]
BINARY: Mapping[str, Binary] = {
    "==": equal,
    "!=": operators.unequal,
    "<": operators.less,
    "<=": operators.less_or_equal,
    ">": operators.greater,
    ">=": operators.greater_or_equal,
    "in": operators.contained,
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "%": operators.modulo,
}


def pair(compiler: "Compiler", operator: str, left: Closure, right: Closure, at: int) -> Closure:
    """One operator between two operands."""
    if operator in ("==", "!="):
        return _equality(compiler, operator, left, right, at)
    compiler.budgeted = True
    operation, source = BINARY[operator], compiler.source
    slow = _slow(operation, source, at)
    match operator:
        case "+":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                if type(a) is int and type(b) is int and INT_MIN <= (result := a + b) <= INT_MAX:
                    return result
                if type(a) is Timestamp and type(b) is Duration and EARLIEST <= (nanos := a.nanos + b.nanos) <= LATEST:
                    return Timestamp(nanos)
                return slow(a, b, frame[BUDGET])

        case "-":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                if type(a) is int and type(b) is int and INT_MIN <= (result := a - b) <= INT_MAX:
                    return result
                return slow(a, b, frame[BUDGET])

        case "<":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                if type(a) is type(b):
                    if type(a) is int:
                        return a < b
                    if type(a) is Timestamp:
                        return a.nanos < b.nanos
                return slow(a, b, frame[BUDGET])

        case "<=":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                return a <= b if type(a) is int and type(b) is int else slow(a, b, frame[BUDGET])

        case ">":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                return a > b if type(a) is int and type(b) is int else slow(a, b, frame[BUDGET])

        case ">=":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                if type(a) is type(b):
                    if type(a) is int:
                        return a >= b
                    if type(a) is Timestamp:
                        return a.nanos >= b.nanos
                return slow(a, b, frame[BUDGET])

        case "in":

            def run(frame: Frame) -> Any:
                a, b = left(frame), right(frame)
                return a in b if type(b) is dict and type(a) is str else slow(a, b, frame[BUDGET])

        case _:

            def run(frame: Frame) -> Any:
                return slow(left(frame), right(frame), frame[BUDGET])

    return run


def _slow(operation: Binary, source: Source, at: int) -> Binary:
    def run(a: Any, b: Any, budget: Budget) -> Any:
        try:
            return operation(a, b, budget)
        except CelError as error:
            raise source.located(error, at) from None

    return run


def _equality(compiler: "Compiler", operator: str, left: Closure, right: Closure, at: int) -> Closure:
    """`==` and `!=`, without a budget where one side is a constant that is compared at once."""
    negated = operator == "!="
    for one, other in ((left, right), (right, left)):
        if not compiler.is_constant(other):
            continue
        value = compiler.value(other)
        if value is None:
            return _unless(one) if negated else _null(one)
        if type(value) in (str, int, bool):
            return _against(one, value, negated)
    compiler.budgeted = True
    source = compiler.source

    def run(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        try:
            return equal(a, b, frame[BUDGET]) is not negated
        except CelError as error:
            raise source.located(error, at) from None

    return run


def _null(operand: Closure) -> Closure:
    return lambda frame: operand(frame) is None


def _unless(operand: Closure) -> Closure:
    return lambda frame: operand(frame) is not None


def _against(left: Closure, value: Any, negated: bool) -> Closure:
    kind, free = type(value), Budget()  # comparing with a literal costs no more than the literal is long

    def run(frame: Frame) -> bool:
        found = left(frame)
        if type(found) is kind:
            return (found == value) is not negated
        if found is None:
            return negated
        return equal(found, value, free) is not negated

    return run
