"""What Go makes of templates by chance, and what we make of them."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manager.render.gotemplate.functions import FUNCTIONS
from manager.render.gotemplate.sprig import FUNCTIONS as SPRIG
from tests.support.gotemplate import Case, Go, ours
from tests.support.gotemplategrammar import DATA, broken, templates

# Where we differ on purpose: complex numbers, addresses, and the indexes of `slice`, which Go's own does not take from fields.
_APART = re.compile(r"[0-9.]i\b|%[^a-zA-Z\"]*p|slice")
_RUN = settings(max_examples=1000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@_RUN
@given(templates(), st.sampled_from(["default", "zero", "error"]))
@example("{{range 2}}a{{range 0}}{{else}}b{{break}}c{{end}}d{{end}}", "default")
def test_a_template_comes_to_the_same_as_in_go(go: Go, template: str, missingkey: str) -> None:
    """The output, or the error with its position."""
    _compare(go, Case(template, DATA, missingkey))


@pytest.mark.slow
@_RUN
@given(templates(sprig=True), st.sampled_from(["default", "zero", "error"]))
def test_a_template_with_functions_of_sprig_does_too(go: Go, template: str, missingkey: str) -> None:
    """The types of what they answer are seen by what comes after them."""
    case = Case(template, DATA, missingkey, plain=False)
    assert ours(case, {**FUNCTIONS, **SPRIG}) == go.outcome(case)


@pytest.mark.slow
@_RUN
@given(broken())
def test_a_broken_template_is_refused_with_the_words_of_go(go: Go, template: str) -> None:
    """A few wrong characters: the same error with the same position, or the same output if they did no harm."""
    if not _APART.search(template):
        _compare(go, Case(template, DATA))


def _compare(go: Go, case: Case) -> None:
    assert ours(case) == go.outcome(case)
