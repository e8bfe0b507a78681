"""What an expression of a policy sees: the request's variables, and the policy's own, each computed when first read."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from manager.embedded import gocel
from policy.cel.error import CelError, Exhausted

VARIABLES = "variables"
"""The name under which a policy's own variables are: `variables.x`."""


class OutOfBudget(Exception):
    """All expressions of one evaluation together cost too much."""

    def __str__(self) -> str:
        return "validation failed due to running out of cost budget, no further validation rules will be run"


class Computed(Protocol):
    """How a variable is computed."""

    def compute(self, scope: "Scope") -> Any:
        """Its value, as CEL has it. Raises CelError."""


class Scope(dict[str, Any]):
    """Names and their values. One scope is one evaluation, with one budget of `left` units for everything in it."""

    def __init__(self, known: Mapping[str, Any], variables: Mapping[str, Computed], budget: int) -> None:
        super().__init__(known)
        self[VARIABLES] = Variables(self, variables)
        self.left = budget

    def pay(self, units: int) -> None:
        """Take what an expression cost. Raises OutOfBudget."""
        self.left -= units
        if self.left < 0:
            raise OutOfBudget


class Variables(Mapping[str, Any]):
    """A policy's own variables: each is computed once, when it is first asked for; a failure is kept, too."""

    def __init__(self, scope: Scope, computed: Mapping[str, Computed]) -> None:
        self._scope = scope
        self._computed = computed
        self._values: dict[str, Any] = {}
        self._failures: dict[str, CelError] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._failures:
            raise self._failures[name]
        if name not in self._values:
            self._values[name] = self._compute(name)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._computed

    def __iter__(self) -> Iterator[str]:
        return iter(self._computed)

    def __len__(self) -> int:
        return len(self._computed)

    def _compute(self, name: str) -> Any:
        try:
            return self._computed[name].compute(self._scope)
        except Exhausted:
            raise
        except CelError as error:
            failure = CelError(f'composited variable "{name}" fails to evaluate: {gocel.failed(error)}')
            self._failures[name] = failure
            raise failure from error
