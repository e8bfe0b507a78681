"""Whatever docs/cel.md says of an expression is so: its rows run, its limits are those of the code, no function is left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from manager.embedded import rules
from manager.embedded.policies import policy
from policy import cel, conditions
from policy.cel import regex, types
from policy.cel.environment import LIMITS, default
from policy.cel.ext.authorizer import AUTHORIZER, COST, Attributes, Authorizer
from policy.cel.values import equal, name_of

PAGE = Path(__file__).parents[2] / "docs" / "cel.md"
TEXT = PAGE.read_text()
SEPARATOR = re.compile(r"\s+-> ")
VARIABLES = {"object": types.DYN, "now": types.TIMESTAMP, "authorizer": AUTHORIZER}


@dataclass(frozen=True, slots=True)
class Row:
    """An expression and what the page says of it."""

    line: int
    expression: str
    outcome: str


def blocks(language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a language, with the line at which each begins."""
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        yield TEXT.count("\n", 0, found.start(1)) + 1, found[1]


def rows() -> Iterator[Row]:
    """The rows `expression -> outcome` of the page."""
    for start, block in blocks("cel"):
        for offset, line in enumerate(block.splitlines()):
            expression, outcome = SEPARATOR.split(line)
            yield Row(start + offset, expression, outcome)


ROWS = list(rows())
[(_, _OBJECT)] = blocks("yaml")
OBJECT = yaml.safe_load(_OBJECT)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def allowed(asked: Attributes) -> tuple[bool, str]:
    """Everybody may get Secrets in the namespace `shop`, as the page says."""
    right = (asked.verb, asked.group, asked.resource, asked.namespace) == ("get", "", "secrets", "shop")
    return (True, "") if right else (False, "nothing grants it")


BINDINGS = {"object": OBJECT, "now": NOW, "authorizer": Authorizer(allowed)}


def value(expression: str) -> Any:
    """What the expression is."""
    return cel.compile(expression, VARIABLES).value(BINDINGS, cel.Budget())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"line {row.line}: {row.expression}")
def test_a_row_is_true(row: Row) -> None:
    """The value in its type, or the error that the page tells."""
    kind, _, message = row.outcome.partition(": ")
    match kind:
        case "refused":
            with pytest.raises(cel.CelError, match=re.escape(message) or None):
                cel.compile(row.expression, VARIABLES)
        case "fails":
            program = cel.compile(row.expression, VARIABLES)
            with pytest.raises(cel.CelError, match=re.escape(message) or None):
                program.evaluate(BINDINGS)
        case _:
            found, wanted = value(row.expression), value(row.outcome)
            assert name_of(found) == name_of(wanted)
            assert equal(found, wanted, cel.Budget()), (found, wanted)


def _names() -> Iterator[str]:
    """All that is called, as it is written."""
    vocabulary = default()
    yield from (f"{name}(" for name in vocabulary.functions if "@" not in name)
    yield from (f".{name}(" for name in vocabulary.methods if "@" not in name)
    yield from (f".{name}(" if member else f"{name}(" for name, member in vocabulary.macros)


@pytest.mark.parametrize("name", sorted(set(_names())))
def test_every_function_has_an_example(name: str) -> None:
    """Also one that is added later."""
    assert any(re.search(rf"(?<![\w.]){re.escape(name)}" if name[0] != "." else re.escape(name), row.expression) for row in ROWS)


@pytest.mark.parametrize("name", sorted(default().constants))
def test_every_type_is_named(name: str) -> None:
    """What `type(...)` may be compared with."""
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize(
    ("what", "number"),
    [
        pytest.param("characters of a `condition`", conditions.LONGEST, id="condition"),
        pytest.param("characters of any expression", LIMITS.length, id="length"),
        pytest.param("levels of nesting", LIMITS.depth, id="depth"),
        pytest.param("words and signs", LIMITS.words, id="words"),
        pytest.param("characters of a regular expression", regex.LONGEST, id="pattern"),
        pytest.param("classes of Unicode (", regex.CLASSES, id="classes"),
        pytest.param("cost of one evaluation", cel.LIMIT, id="cost"),
        pytest.param("cost of all rules for one object", rules.TOTAL, id="rules"),
        pytest.param("of all validations of one admission policy", policy.BUDGET, id="validations"),
        pytest.param("cost of all match conditions", policy.CONDITIONS_BUDGET, id="match conditions"),
        pytest.param("cost of one question", COST, id="authorizer"),
    ],
)
def test_a_limit_is_that_of_the_code(what: str, number: int) -> None:
    """A number that stands in two places is compared."""
    [line] = [line for line in TEXT.splitlines() if line.startswith("| ") and line.split(" | ")[0].find(what) > 0]
    assert f"{number:,}" in line


@pytest.mark.parametrize("name", sorted(conditions.VARIABLES))
def test_every_variable_of_a_condition_is_explained(name: str) -> None:
    """In the table of variables."""
    assert f"| `{name}` |" in TEXT
