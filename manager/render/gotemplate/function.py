"""What a function of a template is: its name, its parameters' Go types, and what it is given besides its arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError

VALUE: Final = "reflect.Value"
"""The type of a parameter that takes anything as it is: nil stays nil, and what is missing stays missing.

A parameter of type `interface {}` gets nil for what is missing.
"""


@dataclass(frozen=True, slots=True)
class Context:
    """What one execution gives its functions: its budget, the time, and a source of random bytes."""

    budget: Budget = field(default_factory=Budget)
    time: datetime | None = None
    random: Callable[[int], bytes] | None = None

    def now(self) -> datetime:
        """The time, with its zone. Raises CallError where templates have none."""
        if self.time is None:
            raise CallError("the time is not available here")
        return self.time

    def bytes(self, count: int) -> bytes:
        """`count` random bytes. Raises CallError where templates have none."""
        if self.random is None:
            raise CallError("random values are not available here")
        self.budget.take(count)
        return self.random(count)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of templates: `call(context, *arguments)`.

    `takes` are the Go types of its parameters (`string`, `int`, `interface {}`, `[]string`, ...), `rest` is that of any further
    arguments, empty where there are none. The evaluator checks number and types, with Go's messages; `call` raises CallError for
    what Go's function would answer as its error, or panic with.
    """

    name: str
    call: Callable[..., Any]
    takes: tuple[str, ...] = ()
    rest: str = ""

    @property
    def least(self) -> int:
        """How many arguments it needs."""
        return len(self.takes)

    @property
    def most(self) -> int | None:
        """How many arguments it takes; None for any number."""
        return None if self.rest else len(self.takes)


Functions = Mapping[str, Function]

__all__ = ["VALUE", "Context", "Function", "Functions"]
