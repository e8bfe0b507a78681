"""One CEL text of a policy: compiled, or with the reason why it is none, and evaluated within a budget."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from manager.embedded import gocel
from manager.embedded.policies.scope import OutOfBudget, Scope
from policy.cel.budget import LIMIT, Budget
from policy.cel.environment import Environment, default
from policy.cel.error import CelError, Exhausted
from policy.cel.program import Program, program
from policy.cel.types import DYN, Type

OVER_LIMIT = "operation cancelled: actual cost limit exceeded"


class NoResult(Exception):
    """An expression that fails; the text is what a user is told."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A text with its program; without one, `problem` says what is wrong with the text."""

    text: str
    program: Program | None
    problem: str = ""

    @property
    def type(self) -> Type:
        """The type of its result."""
        return DYN if self.program is None else self.program.result_type

    def value(self, scope: Scope) -> Any:
        """What the text says in a scope. Raises NoResult, and OutOfBudget when nothing more may be evaluated there."""
        if self.program is None:
            raise NoResult(f"compilation error: {self.problem}")
        try:
            return self.compute(scope)
        except CelError as error:
            raise NoResult(f"expression '{self.text}' resulted in error: {gocel.failed(error)}") from error

    def compute(self, scope: Scope) -> Any:
        """The same for who reads it as a variable. Raises CelError and OutOfBudget."""
        if self.program is None:
            raise CelError(self.problem)
        budget = Budget(min(LIMIT, scope.left))
        try:
            result = self.program.value(scope, budget)
        except Exhausted as error:
            if scope.left <= LIMIT:
                raise OutOfBudget from error
            raise Exhausted(OVER_LIMIT) from error
        finally:
            scope.left -= min(budget.spent, budget.limit)
        scope.pay(0)
        return result


def compiled(text: str, variables: Mapping[str, Type], results: Collection[Type] = ()) -> Expression:
    """Compile a text that sees these variables and must result in one of the types; without any, in whatever it likes."""
    try:
        found = program(text, Environment(variables, default()))
    except CelError as error:
        return Expression(text, None, f"compilation failed: {gocel.refused(error, text)}")
    if results and found.result_type not in results:
        listed = list(map(str, results))
        wanted = listed[0] if len(listed) == 1 else f"one of [{' '.join(listed)}]"
        return Expression(text, None, f"must evaluate to {wanted} but got {found.result_type}")
    return Expression(text, found)
