"""What the tests of the libraries share: an expression is compiled and evaluated in one step."""

from collections.abc import Mapping
from typing import Any

from policy import cel


def evaluate(text: str, bindings: Mapping[str, Any] | None = None, budget: cel.Budget | None = None) -> Any:
    """The value of the text; variables are `dyn`. Raises CelError at compilation or at evaluation."""
    values = bindings or {}
    return cel.compile(text, dict.fromkeys(values, "dyn")).evaluate(values, budget)
