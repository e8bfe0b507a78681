"""What closures share: the frame of an evaluation, and the place of an error in the text.

A frame is a list, the cheapest that Python has: the budget, the bindings, and a slot per variable of a comprehension.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from policy.cel.error import CelError

Frame = list[Any]
Closure = Callable[[Frame], Any]

BUDGET = 0
BINDINGS = 1


class Source:
    """A text, for the line and column of an offset."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    def place(self, at: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1."""
        if self._starts is None:
            self._starts = [0, *(position + 1 for position, character in enumerate(self.text) if character == "\n")]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def located(self, error: CelError, at: int) -> CelError:
        """The error with its place, unless it has one already."""
        if not error.line:
            error.line, error.column = self.place(at)
        return error

    def error(self, message: str, at: int) -> CelError:
        """An error at an offset."""
        return CelError(message, *self.place(at))
