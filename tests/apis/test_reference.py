"""The reference is written from the models, whole and not stale."""

from pathlib import Path

from apis.kind import kinds
from apis.reasons import Reason
from apis.reference import reference

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_is_that_of_the_models() -> None:
    """docs/reference.md is what `make docs` writes."""
    assert (DOCS / "reference.md").read_text() == reference(kinds()), "run make docs"


def test_every_kind_has_a_chapter_with_its_fields() -> None:
    """A field anywhere in a model has a row under its whole path."""
    text = reference(kinds())
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == [kind.kind for kind in kinds()]
    for path in (
        "spec.resources[].policy.creation",
        "spec.namespaceSelector.matchExpressions[].key",
        "status.conditions[].reason",
    ):
        assert f"| `{path}` |" in text


def test_every_row_is_one_line_of_four_cells() -> None:
    """No description breaks the table."""
    rows = [line.replace("\\|", "") for line in reference(kinds()).splitlines() if line.startswith("| `")]
    assert {row.count("|") for row in rows} == {5}


def test_every_reason_is_explained() -> None:
    """Whatever a condition can give as its reason, the page about conditions says what to do."""
    text = (DOCS / "troubleshooting.md").read_text()
    assert [reason for reason in Reason if f"`{reason}`" not in text] == []
