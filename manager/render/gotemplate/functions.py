"""The functions that text/template itself has."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final
from urllib.parse import quote_plus

from manager.render.gotemplate import compare, formats
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import VALUE, Context, Function, Functions
from manager.render.gotemplate.quote import printable
from manager.render.gotemplate.value import (
    ANY,
    MISSING,
    Slice,
    Uint8,
    element,
    encoded,
    gotype,
    string,
    truth,
    zero,
)

_HTML: Final = str.maketrans({"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"})
_JS: Final = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def index(context: Context, item: Any, *indexes: Any) -> Any:
    """`item[a][b]...`"""
    if item is None or item is MISSING:
        raise CallError("index of untyped nil")
    for at in indexes:
        if item is None:
            raise CallError("index of nil pointer")
        if isinstance(item, dict):
            item = item.get(_key(at), zero(element(item)))
        elif isinstance(item, list | str):
            context.budget.look(len(item))
            item = _at(item, at)
        else:
            raise CallError(f"can't index item of type {gotype(item)}")
    return item


def _key(at: Any) -> str:
    if at is None or at is MISSING:
        raise CallError("value is nil; should be of type string")
    if not isinstance(at, str):
        raise CallError(f"value has type {gotype(at)}; should be string")
    return at


def _at(item: list[Any] | str, at: Any) -> Any:
    data = encoded(item) if isinstance(item, str) else item
    place = _place(at, len(data))
    if place == len(data):
        raise CallError(f"reflect: {'string' if isinstance(item, str) else 'slice'} index out of range")
    return Uint8(data[place]) if isinstance(item, str) else data[place]


def _place(at: Any, most: int) -> int:
    if at is None or at is MISSING:
        raise CallError("cannot index slice/array with nil")
    if not isinstance(at, int) or isinstance(at, bool):
        raise CallError(f"cannot index slice/array with type {gotype(at)}")
    if not 0 <= at <= most:
        raise CallError(f"index out of range: {int(at)}")
    return int(at)


def slice_(context: Context, item: Any, *indexes: Any) -> Any:
    """`item[a:b]`, `item[a:b:c]`. A slice ends where its elements do: there is no capacity beyond them."""
    if item is None or item is MISSING:
        raise CallError("slice of untyped nil")
    if len(indexes) > 3:
        raise CallError(f"too many slice indexes: {len(indexes)}")
    if not isinstance(item, list | str):
        raise CallError(f"can't slice item of type {gotype(item)}")
    if isinstance(item, str) and len(indexes) == 3:
        raise CallError("cannot 3-index slice a string")
    context.budget.look(len(item))
    data = encoded(item) if isinstance(item, str) else item
    places = [_place(at, len(data)) for at in indexes]
    bounds = [*places, *(0, len(data))[len(places) :]]
    for left, right in pairwise(bounds):
        if left > right:
            raise CallError(f"invalid slice index: {left} > {right}")
    context.budget.take(bounds[1] - bounds[0])
    cut = data[bounds[0] : bounds[1]]
    if isinstance(cut, bytes):
        return string(cut)
    return Slice(cut, element(item)) if isinstance(item, Slice) else cut


def length(context: Context, item: Any) -> int:
    """How many bytes or elements it has."""
    if item is None:
        raise CallError("len of nil pointer")
    if item is MISSING:
        raise CallError("reflect: call of reflect.Value.Type on zero Value")
    if not isinstance(item, str | list | dict):
        raise CallError(f"len of type {gotype(item)}")
    context.budget.look(len(item))
    return len(encoded(item)) if isinstance(item, str) else len(item)


def _not(_: Context, value: Any) -> bool:
    return not truth(value)


def _print(context: Context, *args: Any) -> str:
    return formats.sprint(list(args), context.budget)


def _println(context: Context, *args: Any) -> str:
    return formats.sprintln(list(args), context.budget)


def _printf(context: Context, pattern: str, *args: Any) -> str:
    return formats.sprintf(pattern, list(args), context.budget)


def _escaper(escape: Callable[[str], str]) -> Callable[..., str]:
    """A function that escapes its arguments, printed as by `print`, but for nil, which is no value here."""

    def escaped(context: Context, *args: Any) -> str:
        text = formats.sprint(["<no value>" if arg is None else arg for arg in args], context.budget)
        context.budget.take(6 * len(text))
        return escape(text)

    return escaped


def html(text: str) -> str:
    """The text with HTML's characters escaped."""
    return text.translate(_HTML)


def js(text: str) -> str:
    """The text as it may stand in a JavaScript string."""
    return "".join(map(_js, text))


def _js(char: str) -> str:
    if char in _JS:
        return _JS[char]
    if char < " ":
        return f"\\u{ord(char):04X}"
    return char if char <= "\x7f" or printable(char) or "\udc80" <= char <= "\udcff" else f"\\u{ord(char):04X}"


def urlquery(text: str) -> str:
    """The text as it may stand in the query of a URL."""
    return quote_plus(encoded(text), safe="")


def _evaluated(_: Context, *_args: Any) -> Any:
    """What the evaluator does itself, because not all arguments are evaluated or because it knows the name."""
    raise AssertionError("the evaluator does not call this")


AND: Final = Function("and", _evaluated, (VALUE,), VALUE)
OR: Final = Function("or", _evaluated, (VALUE,), VALUE)
CALL: Final = Function("call", _evaluated, (VALUE,), VALUE)
"""A value is never a function here, so `call` always fails."""

FUNCTIONS: Final[Functions] = {
    function.name: function
    for function in (
        AND,
        OR,
        CALL,
        Function("html", _escaper(html), rest=ANY),
        Function("index", index, (VALUE,), VALUE),
        Function("js", _escaper(js), rest=ANY),
        Function("len", length, (VALUE,)),
        Function("not", _not, (VALUE,)),
        Function("print", _print, rest=ANY),
        Function("printf", _printf, ("string",), ANY),
        Function("println", _println, rest=ANY),
        Function("slice", slice_, (VALUE,), VALUE),
        Function("urlquery", _escaper(urlquery), rest=ANY),
        Function("eq", compare.eq, (VALUE,), VALUE),
        Function("ge", compare.ge, (VALUE, VALUE)),
        Function("gt", compare.gt, (VALUE, VALUE)),
        Function("le", compare.le, (VALUE, VALUE)),
        Function("lt", compare.lt, (VALUE, VALUE)),
        Function("ne", compare.ne, (VALUE, VALUE)),
    )
}

__all__ = ["AND", "CALL", "FUNCTIONS", "OR", "VALUE", "Context", "Function", "Functions"]
