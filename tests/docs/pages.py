"""What tests read in the pages of the documentation."""

from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the tables whose first column has this head, cell by cell."""
    return list(_rows(text.splitlines(), first))


def _rows(lines: list[str], first: str) -> Iterator[list[str]]:
    inside = False
    for line, before in zip(lines, ["", *lines], strict=False):
        if not line.startswith("|"):
            inside = False
        elif line.startswith("| ---"):
            inside = before.startswith(f"| {first} |")
        elif inside:
            yield [cell.strip() for cell in line.strip("|").split(" | ")]
