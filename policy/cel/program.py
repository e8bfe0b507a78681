"""Compile a text once, evaluate it over plain JSON as often as wanted; programs are cached with a bound."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.cel import types
from policy.cel.budget import LIMIT, Budget
from policy.cel.check import check
from policy.cel.compiler import Compiled, compiled
from policy.cel.environment import LIMITS, Environment, default, typed
from policy.cel.error import CelError, Exhausted
from policy.cel.frame import Frame
from policy.cel.parse import Limits, parse
from policy.cel.types import Type
from policy.cel.values import plain

CACHED = 256
UNSPENT = Budget(0)  # for programs that never look at it
_ATOMS = frozenset({bool, str, type(None)})


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled text. `names` are the variables that it reads, `result_type` is what the checker found.

    Evaluations share nothing, so that threads may evaluate the same program at once, and an evaluation another one.
    """

    text: str
    names: frozenset[str]
    result_type: Type
    _compiled: Compiled
    _slots: tuple[None, ...]

    @property
    def boolean(self) -> bool:
        """False when the result is surely no bool."""
        return self.result_type in (types.BOOL, types.DYN)

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The result as plain Python (bool, int, float, str, bytes, list, dict, None, datetime, timedelta).

        `bindings` maps each variable to JSON or to a datetime with a time zone; what is a Mapping is only asked with `in`
        and `[]`, so that it may compute its values. `budget` is what it may cost, and tells afterwards what it did.
        Raises CelError; a field that is not there is an error too, never false.
        """
        if budget is None and not self._compiled.budgeted:
            value = self._run([UNSPENT, bindings, *self._slots])
            return value if type(value) in _ATOMS else _plain(value, Budget(LIMIT))
        spent = Budget(LIMIT) if budget is None else budget
        return _plain(self.value(bindings, spent), spent)

    def value(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        """The result as CEL has it: a uint is a UInt, a timestamp a Timestamp (see `policy.cel.values`)."""
        budget.charge(self._compiled.cost)
        return self._run([budget, bindings, *self._slots])

    def _run(self, frame: Frame) -> Any:
        try:
            return self._compiled.run(frame)
        except RecursionError as error:
            raise CelError("the expression has no result: it is nested too deeply") from error


def _plain(value: Any, budget: Budget) -> Any:
    if type(value) in _ATOMS:
        return value
    try:
        return plain(value, budget)
    except RecursionError as error:
        raise CelError("the expression has no result: it is nested too deeply") from error


def program(text: str, environment: Environment) -> Program:
    """Parse, check and compile a text. Raises CelError with line and column."""
    tree = parse(text, environment.vocabulary.macros, environment.limits)
    checked = check(tree, text, environment)
    try:
        closures = compiled(tree, text, checked, strict=environment.strict)
    except RecursionError as error:
        raise CelError("the expression is nested too deeply") from error
    slots = (None,) * (checked.size - 2)
    return Program(text, frozenset(checked.names), checked.result, closures, slots)


def compile(text: str, variables: Mapping[str, Type | str], limits: Limits = LIMITS) -> Program:
    """Check the text against the variables (name -> CEL type) and prepare it. Raises CelError with line and column."""
    key = (text, limits, *sorted(variables.items()))
    with _lock:
        if key in _programs:
            _programs.move_to_end(key)
            return _programs[key]
    made = program(text, Environment(typed(variables), default(), limits=limits))
    with _lock:
        kept = _programs.setdefault(key, made)
        if len(_programs) > CACHED:
            _programs.popitem(last=False)
    return kept


_programs: OrderedDict[tuple[Any, ...], Program] = OrderedDict()
_lock = threading.Lock()

__all__ = ["CACHED", "CelError", "Exhausted", "Program", "compile", "program"]
