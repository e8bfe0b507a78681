"""Every construct and every function of text/template, executed by Go and by us."""

import re
from pathlib import Path

import pytest
import yaml

from manager.render.gotemplate.functions import FUNCTIONS
from tests.support.gotemplate import Case, Go, ours

DATA = {
    "a": "x",
    "n": 5,
    "f": 1.5,
    "l": [1, "b", None, {"k": "v"}],
    "m": {"x": 1, "y": None, "z": {"q": "é"}},
    "t": True,
    "e": "",
    "nul": None,
    "u": "héllo",
    "big": 1e21,
}

ROWS: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text())


@pytest.mark.parametrize("missingkey", ["default", "zero", "error"])
@pytest.mark.parametrize("topic", ROWS)
def test_each_row_comes_to_what_it_comes_to_in_go(go: Go, topic: str, missingkey: str) -> None:
    """The output, or the error with its position, whatever is done with missing keys."""
    cases = [Case(row, DATA, missingkey) for row in ROWS[topic]]
    assert {case.template: ours(case) for case in cases} == {case.template: go.outcome(case) for case in cases}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_three_rows(name: str) -> None:
    """No function is claimed that was not compared."""
    called = re.compile(rf"[{{(|] *{name}\b")
    assert sum(1 for rows in ROWS.values() for row in rows if called.search(row)) >= 3
