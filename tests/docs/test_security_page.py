"""Each guard that docs/security.md names has its test, and that test is there."""

import re

from tests.docs.pages import DOCS, table

TESTS = DOCS.parent / "tests"


def test_every_test_that_is_named_is_there() -> None:
    """Under the name that the page says."""
    rows = table((DOCS / "security.md").read_text(), "attack")
    named = [re.findall(r"`(test_\w+)`", row[2]) for row in rows]
    written = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    there = set(re.findall(r"def (test_\w+)\(", written))
    assert [name for names in named for name in names if name not in there] == []
    assert all(named), "an attack without a test"
