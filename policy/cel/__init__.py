"""The port to the Common Expression Language: compile a text once, evaluate it over plain JSON.

The library behind it is imported when the first text is compiled, because it costs 10 MB and a third of a second.
Only its interpreter is used: its compiled runner shares state between threads.
"""

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

CACHED = 256
DEPTH = 2500  # Python frames: a level of parentheses costs the interpreter about thirty

MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
METHODS = frozenset(
    {
        "contains", "endsWith", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours",
        "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "matches", "size", "startsWith",
    }
)  # fmt: skip
FUNCTIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "has", "int", "matches", "size", "string", "timestamp", "type", "uint"}
)
BOOLEAN = frozenset(
    {"all", "bool", "contains", "dyn", "endsWith", "exists", "exists_one", "has", "matches", "startsWith"}
)  # what may result in one
TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})


class CelError(Exception):
    """A text that is no CEL, or an evaluation without a result. `line` and `column` start at 1; 0 means not known.

    The message of an evaluation holds no value: it could be the content of a Secret.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled text. `names` are the variables that it reads; `boolean` is False when the result is surely none."""

    text: str
    names: frozenset[str]
    boolean: bool
    _runner: Any

    def evaluate(self, bindings: Mapping[str, Any]) -> Any:
        """The result as plain Python (bool, int, float, str, bytes, list, dict, None, datetime, timedelta).

        `bindings` maps each variable to JSON or to a datetime with a time zone. Raises CelError; a field that is not there
        is an error too, never false.
        """
        library = _library()
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, DEPTH))
        try:
            return _plain(self._runner.evaluate({name: library.json_to_cel(value) for name, value in bindings.items()}))
        except MemoryError:
            raise
        except Exception as error:
            # Every class: the library lets TypeError, KeyError, OverflowError and RecursionError through.
            raise CelError(f"the expression has no result ({_kind(error)})") from error
        finally:
            sys.setrecursionlimit(before)


def compile(text: str, variables: Mapping[str, str]) -> Program:
    """Check the text against the variables (name -> CEL type) and prepare it. Raises CelError with line and column."""
    key = (text, tuple(sorted(variables.items())))
    if key in _programs:
        _programs.move_to_end(key)
        return _programs[key]
    program = _compile(text, variables)
    _programs[key] = program
    if len(_programs) > CACHED:
        _programs.popitem(last=False)
    return program


_programs: OrderedDict[tuple[str, tuple[tuple[str, str], ...]], Program] = OrderedDict()


def _compile(text: str, variables: Mapping[str, str]) -> Program:
    library = _library()
    before = sys.getrecursionlimit()
    try:
        environment = library.Environment(runner_class=_runner())
        sys.setrecursionlimit(DEPTH)
        tree = environment.compile(text)
        names = frozenset(_check(tree, frozenset(variables)))
    except library.CELParseError as error:
        raise CelError("the syntax is wrong here", error.line or 0, error.column or 0) from error
    except RecursionError as error:
        raise CelError("the expression is nested too deeply") from error
    finally:
        sys.setrecursionlimit(before)  # the library's Environment raises it for the whole process
    return Program(text, names, not _other(tree, variables), environment.program(tree, functions=_equality()))


@cache
def _library() -> Any:
    import celpy

    # It logs values at level DEBUG: they may be the content of Secrets.
    logging.getLogger("celpy").setLevel(logging.CRITICAL)
    return celpy


@cache
def _runner() -> Any:
    """The interpreting runner, with one answer put right: `has(a.b.c)` without `a.b` is an error, not false."""
    from celpy import InterpretedRunner
    from celpy.celtypes import BoolType, MapType
    from celpy.evaluation import CELEvalError
    from celpy.evaluation import Evaluator as Interpreter

    class Evaluator(Interpreter):
        def sub_evaluator(self, ast: Any) -> Any:
            return Evaluator(ast, activation=self.activation)

        def macro_has_eval(self, exprlist: Any) -> Any:
            selection = exprlist.children[0]
            while selection.data != "member_dot":
                selection = selection.children[0]
            operand = self.visit(selection.children[0])
            if isinstance(operand, CELEvalError):
                return operand
            if not isinstance(operand, MapType):
                return CELEvalError("has() of what is no map", TypeError, ())
            return BoolType(str(selection.children[1]) in operand)

    class Runner(InterpretedRunner):
        def evaluate(self, context: Any) -> Any:
            return Evaluator(ast=self.ast, activation=self.new_activation()).evaluate(context)

    return Runner


@cache
def _equality() -> dict[str, Any]:
    """`==` and `!=` as CEL means them: values of different types are different, which is no error. The library disagrees."""
    from celpy.celtypes import BoolType, DoubleType, IntType, UintType
    from celpy.evaluation import CELEvalError

    plain = {IntType: int, UintType: int, DoubleType: float}

    def equal(a: Any, b: Any) -> Any:
        if isinstance(a, CELEvalError) or isinstance(b, CELEvalError):
            return a if isinstance(a, CELEvalError) else b
        if isinstance(a, BoolType) != isinstance(b, BoolType):  # to the library, true is 1
            return BoolType(False)
        if type(a) in plain and type(b) in plain:
            return BoolType(plain[type(a)](a) == plain[type(b)](b))
        try:
            return BoolType(bool(a == b))
        except TypeError:
            return BoolType(False)

    def unequal(a: Any, b: Any) -> Any:
        same = equal(a, b)
        return same if isinstance(same, CELEvalError) else BoolType(not same)

    return {"_==_": equal, "_!=_": unequal}


def _check(tree: Any, scope: frozenset[str], bound: frozenset[str] = frozenset()) -> set[str]:
    """Refuse unknown names; the variables that are read. `bound` are the names that comprehensions introduce."""
    if not hasattr(tree, "data"):
        return set()
    match tree.data:
        case "ident":
            return _name(tree.children[0], scope, bound)
        case "dot_ident" | "dot_ident_arg" | "member_object":
            raise CelError("names with a leading dot and message literals are not available", *_place(tree))
        case "ident_arg" if str(tree.children[0]) not in FUNCTIONS:
            raise CelError(f"there is no function `{tree.children[0]}`", *_place(tree))
        case "ident_arg" if str(tree.children[0]) == "has" and _selected(tree) is None:
            raise CelError("`has` takes the selection of a field, as in `has(object.spec)`", *_place(tree))
        case "member_dot_arg":
            return _method(tree, scope, bound)
    return set().union(*(_check(child, scope, bound) for child in tree.children))


def _name(token: Any, scope: frozenset[str], bound: frozenset[str]) -> set[str]:
    name = str(token)
    if name in bound or (name in TYPES and name not in scope):
        return set()
    if name not in scope:
        known = ", ".join(sorted(scope))
        raise CelError(f"there is no variable `{name}`: known are {known}", token.line, token.column)
    return {name}


def _method(tree: Any, scope: frozenset[str], bound: frozenset[str]) -> set[str]:
    target, method = tree.children[0], str(tree.children[1])
    arguments = tree.children[2].children if len(tree.children) > 2 else []
    if method in MACROS:
        variable = _sole_token(arguments[0]) if arguments else None
        if variable is None or len(arguments) not in ((2, 3) if method == "map" else (2,)):
            raise CelError(f"`{method}` takes a variable and an expression", *_place(tree))
        inner = bound | {variable}
        return _check(target, scope, bound).union(*(_check(argument, scope, inner) for argument in arguments[1:]))
    if method not in METHODS:
        raise CelError(f"there is no method `{method}`", *_place(tree))
    return _check(target, scope, bound).union(*(_check(argument, scope, bound) for argument in arguments))


_LEAVES = ("ident", "list_lit", "literal", "map_lit")


def _other(tree: Any, variables: Mapping[str, str]) -> bool:
    """Is the result surely no boolean? The outermost operator tells; a field of an object may hold anything."""
    while len(tree.children) == 1 and tree.data not in _LEAVES:
        tree = tree.children[0]
    match tree.data:
        case "addition" | "list_lit" | "map_lit" | "multiplication":
            return True
        case "expr":
            return any(_other(branch, variables) for branch in tree.children[1:])
        case "ident":
            return variables.get(str(tree.children[0]), "type") not in ("bool", "dyn")
        case "ident_arg":
            return str(tree.children[0]) not in BOOLEAN
        case "literal":
            return str(tree.children[0]) not in ("false", "true")
        case "member_dot_arg":
            return str(tree.children[1]) not in BOOLEAN
        case "unary":
            return bool(tree.children[0].data != "unary_not")
    return False


def _selected(tree: Any) -> Any:
    """The `a.b` of `has(a.b)`, or None."""
    arguments = tree.children[1].children if len(tree.children) > 1 else []
    inner: Any = arguments[0] if len(arguments) == 1 else None
    while hasattr(inner, "data") and len(inner.children) == 1 and inner.data != "member_dot":
        inner = inner.children[0]
    return inner if getattr(inner, "data", "") == "member_dot" else None


def _sole_token(tree: Any) -> str | None:
    """The identifier that an argument consists of, through the one-child nodes of the grammar."""
    while hasattr(tree, "data") and len(tree.children) == 1:
        if tree.data == "ident":
            return str(tree.children[0])
        tree = tree.children[0]
    return None


def _place(tree: Any) -> tuple[int, int]:
    return getattr(tree.meta, "line", 0), getattr(tree.meta, "column", 0)


def _kind(error: Exception) -> str:
    """The class of a failure without its text."""
    cause = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], type) else type(error)
    words = {
        "KeyError": "a field or key is not there",
        "IndexError": "an index is out of range",
        "TypeError": "a value has the wrong type",
        "ValueError": "a value cannot be converted",
        "RecursionError": "it is nested too deeply",
        "ZeroDivisionError": "a division by zero",
    }
    return words.get(cause.__name__, cause.__name__)


def _plain(value: Any) -> Any:
    """The library's values as Python's own."""
    types = _library().celtypes
    if value is None or isinstance(value, bool):
        return value
    conversions: tuple[tuple[type, Callable[[Any], Any]], ...] = (
        (types.BoolType, bool),  # before IntType: it is an int, too
        (types.IntType, int),
        (types.UintType, int),
        (types.DoubleType, float),
        (types.StringType, str.__str__),
        (types.BytesType, bytes),
        (types.ListType, lambda items: [_plain(item) for item in items]),
        (types.MapType, lambda entries: {_plain(key): _plain(item) for key, item in entries.items()}),
        (datetime, lambda moment: moment),
        (timedelta, lambda span: span),
    )
    for kind, convert in conversions:
        if isinstance(value, kind):
            return convert(value)
    raise CelError("the result is not a value")
