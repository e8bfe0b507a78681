"""What stands in for what is empty, choices, and questions about types."""

from collections.abc import Callable
from typing import Any, NoReturn

from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig.table import BOOL, STRING, plain
from manager.render.gotemplate.value import ANY, gotype, kind, truth


def empty(value: Any) -> bool:
    """Is it nil, false, zero, or without elements?"""
    return not truth(value)


def default(otherwise: Any, *given: Any) -> Any:
    """What is given, or the other where that is empty."""
    return given[0] if given and truth(given[0]) else otherwise


def coalesce(*values: Any) -> Any:
    """The first that is not empty."""
    return next(filter(truth, values), None)


def fail(message: str) -> NoReturn:
    """End the template."""
    raise CallError(message)


def _is(name: Callable[[Any], str]) -> Callable[[str, Any], bool]:
    return lambda target, value: target == name(value)


def _like(target: str, value: Any) -> bool:
    return gotype(value) in (target, f"*{target}")


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        plain("default", default, ANY, rest=ANY),
        plain("empty", empty, ANY),
        plain("coalesce", coalesce, rest=ANY),
        plain("all", lambda *values: all(map(truth, values)), rest=ANY),
        plain("any", lambda *values: any(map(truth, values)), rest=ANY),
        plain("ternary", lambda one, other, chosen: one if chosen else other, ANY, ANY, BOOL),
        plain("fail", fail, STRING),
        plain("typeOf", gotype, ANY),
        plain("typeIs", _is(gotype), STRING, ANY),
        plain("typeIsLike", _like, STRING, ANY),
        plain("kindOf", kind, ANY),
        plain("kindIs", _is(kind), STRING, ANY),
    )
}
