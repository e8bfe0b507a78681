"""Every function of sprig that we claim, over the same arguments in Go and here."""

import re

import pytest

from manager.render.gotemplate.sprig import ABSENT, FUNCTIONS
from tests.support.gotemplate import Go
from tests.support.sprigrows import DRAWN, calls, case, executed, template, written

KNOWN = 211  # functions of sprig 3.3.0
LEAST = 3  # rows of a function
CALLS = 100  # of each function, by chance

# A version that is copied in Go becomes 0.0.0, and a map within itself ends Go's process.
_APART = re.compile(r"semver.*eepCopy|eepCopy.*semver|\bset\b.*\.m\b")


def test_every_claimed_function_has_its_rows() -> None:
    """And no other one has."""
    assert set(written()) == set(FUNCTIONS)
    assert {name for name, rows in written().items() if len(rows) < LEAST} == set()


def test_claimed_and_left_out_together_are_what_sprig_has(go: Go) -> None:
    """As many names, each of which the program knows, except for the environment and the network, which it has been denied."""
    denied = {"env", "expandenv", "getHostByName"}
    assert denied < set(ABSENT)
    assert len(set(FUNCTIONS) | set(ABSENT)) == len(FUNCTIONS) + len(ABSENT) == KNOWN
    named = sorted({*FUNCTIONS, *ABSENT} - denied)
    assert [name for name in named if "not defined" in go.outcome(case(f"{{{{ {name} nil nil nil }}}}")).error] == []


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_comes_to_the_same_as_in_go(go: Go, name: str) -> None:
    """The rows that are written down: the output, or the error with its position."""
    for row in written()[name]:
        assert executed(case(template(row))) == go.outcome(case(template(row))), row


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - DRAWN))
def test_a_function_comes_to_the_same_over_arguments_by_chance(go: Go, name: str) -> None:
    """Awkward values, wrong types, too few arguments: the output, or the error with its position."""
    for text in calls(FUNCTIONS[name], CALLS):
        if not _APART.search(text):
            assert executed(case(text)) == go.outcome(case(text)), text
