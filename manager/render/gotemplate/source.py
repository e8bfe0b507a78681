"""Places in a template's text, as messages show them."""

from dataclasses import dataclass
from typing import Final

from manager.render.gotemplate.value import encoded

LONGEST: Final = 1024
"""Characters of a node that a message shows; Go shows all of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a template, and its name."""

    name: str
    text: str

    def position(self, at: int) -> tuple[int, int]:
        """Line, from 1, and column, in bytes from 0."""
        start = self.text.rfind("\n", 0, at) + 1
        return self.text.count("\n", 0, at) + 1, len(encoded(self.text[start:at]))


def shown(node: object) -> str:
    """A node as it stands in a message."""
    text = str(node)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


__all__ = ["Source", "shown"]
