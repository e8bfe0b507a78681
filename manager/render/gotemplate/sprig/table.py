"""How the functions of this package are declared: name, Python function, Go types of the parameters."""

from collections.abc import Callable
from typing import Any, Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.function import Context, Function
from manager.render.gotemplate.value import Object
from manager.render.gotemplate.value import text as printed

STRING: Final = "string"
INT: Final = "int"
FLOAT: Final = "float64"
BOOL: Final = "bool"
UINT32: Final = "uint32"
TIME: Final = "time.Time"

NIL_POINTER: Final = "runtime error: invalid memory address or nil pointer dereference"
"""What Go says of the type of nil."""


def plain(name: str, function: Callable[..., Any], *takes: str, rest: str = "") -> Function:
    """A function of its arguments alone. It is charged for the size of what it gets; what it makes is no larger."""

    def call(context: Context, *arguments: Any) -> Any:
        context.budget.step(sum(map(_size, arguments)) >> 4)
        return function(*arguments)

    return Function(name, call, takes, rest)


def slow(name: str, function: Callable[..., Any], *takes: str) -> Function:
    """The same for a function that looks at each character: it is charged for each."""

    def call(context: Context, *arguments: Any) -> Any:
        context.budget.step(sum(map(_size, arguments)))
        return function(*arguments)

    return Function(name, call, takes)


def growing(name: str, function: Callable[..., Any], *takes: str, rest: str = "") -> Function:
    """A function of a budget and its arguments, which may make more than it gets or look at what is nested."""

    def call(context: Context, *arguments: Any) -> Any:
        context.budget.step(sum(map(_size, arguments)) >> 4)
        return function(context.budget, *arguments)

    return Function(name, call, takes, rest)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | dict) else 0


def words(value: Any, budget: Budget) -> str:
    """A value as sprig makes a string of it."""
    return value.text() if isinstance(value, Object) else printed(value, budget)
