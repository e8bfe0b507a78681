"""What one execution may use: steps, output, depth, and the size of a single value.

The process around it (`manager.render.worker`) bounds time and memory; these bounds give an error that names the template's line.
"""

from dataclasses import dataclass

from manager.render.gotemplate.errors import Exceeded
from manager.render.wire import Limits

SOURCE = Limits().document
"""Bytes of one template's text, as for any manifest."""

LONGEST = Limits().job
"""Bytes of one string, and elements of one list or map, that a function makes."""

NESTED = 100
"""Lists and maps within each other, in what is printed, compared or copied."""


@dataclass(slots=True)
class Budget:
    """Counts what is used, and raises `Exceeded` when it is more than there is. One per execution.

    A step is a node of the template that is evaluated; a function counts one per element that it makes or looks at.
    """

    steps: int = 1_000_000
    output: int = LONGEST  # bytes
    depth: int = 64  # templates within templates

    def step(self, count: int = 1) -> None:
        """`count` more steps."""
        self.steps -= count
        if self.steps < 0:
            raise Exceeded("the template needs too many steps: shorten its loops")

    def write(self, size: int) -> None:
        """`size` more bytes of output."""
        self.output -= size
        if self.output < 0:
            raise Exceeded("the template's output is too long")

    def take(self, size: int) -> None:
        """A value of `size` bytes or elements, before it is made."""
        if size > LONGEST:
            raise Exceeded(f"a value would have {size} bytes or elements; {LONGEST} are allowed")
        self.step(size >> 6)

    def look(self, size: int) -> None:
        """A value of `size` bytes or elements that is read through as a whole."""
        self.step(size >> 10)

    def enter(self) -> None:
        """One template deeper."""
        self.depth -= 1
        if self.depth < 0:
            raise Exceeded("exceeded maximum template depth")

    def leave(self) -> None:
        """Back from it."""
        self.depth += 1


__all__ = ["LONGEST", "NESTED", "SOURCE", "Budget"]
