"""What docs/cel.md shows is so in Kubernetes, too: its rows are validation rules of a kind on the real API server."""

import re
from collections.abc import Iterator

import pytest

from tests.contract.test_cel_functions import Verdict, _definition, _evaluated
from tests.docs.test_cel_page import ROWS, Row
from tests.realserver.access import Access
from tests.support.api import Api

QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
OURS = re.compile(r"\b(?:object|now|authorizer)\b")
"""What a validation rule does not see."""

DIFFERENT = {
    "math.": "not there",
    "regex.": "not there",
    "base64.": "not there",
    "jsonpatch.": "not there",
    '"abc".reverse()': "not there",
    "%e": "an older form",
    "lists.range(200)": "costs less there",
}
"""What a row has to hold to be left out here; the page lists each of these as a difference."""


def _rules() -> Iterator[tuple[Row, str, Verdict]]:
    """The rows as rules, with the verdict that the page promises. A row that is refused comes to nothing to evaluate."""
    for row in ROWS:
        if OURS.search(QUOTED.sub("", row.expression)) or any(text in row.expression for text in DIFFERENT):
            continue
        match row.outcome.partition(":")[0]:
            case "refused":
                yield row, f"dyn({row.expression}) == dyn(1)", Verdict.REFUSED
            case "fails":
                yield row, f"dyn({row.expression}) == dyn(1)", Verdict.FAILED
            case _:
                yield row, f"({row.expression}) == ({row.outcome})", Verdict.TRUE


RULES = list(_rules())


@pytest.fixture(scope="module")
def verdicts(realserver: Access) -> dict[str, Verdict]:
    """What the API server makes of each rule; those that it will not evaluate because they look expensive are not in it."""
    with Api(realserver.url, realserver.ca, realserver.token) as api:
        rules = [rule for _, rule, _ in RULES]
        causes = api.create(_definition(rules), dryRun="All").expect(422).causes
        found: dict[str, Verdict] = {}
        dear: set[str] = set()
        for cause in causes:
            for place in re.findall(r"validations\[(\d+)\]\.rule$", cause["field"]):
                if "estimated" in cause["message"]:
                    dear.add(rules[int(place)])
                else:
                    found[rules[int(place)]] = Verdict.REFUSED
        rest = [rule for rule in rules if rule not in found and rule not in dear]
        definition = _definition(rest)
        api.create(definition).expect(201)
        try:
            return found | _evaluated(api, definition, rest)
        finally:
            api.delete(definition).expect(200)


@pytest.mark.parametrize(("row", "rule", "verdict"), RULES, ids=[f"line {row.line}: {row.expression}" for row, _, _ in RULES])
def test_a_row_of_the_page_is_so_in_kubernetes(verdicts: dict[str, Verdict], row: Row, rule: str, verdict: Verdict) -> None:
    """Except for what the page lists as different."""
    if rule not in verdicts:
        pytest.skip("the API server guesses that this costs too much for a rule")
    assert verdicts[rule] is verdict
