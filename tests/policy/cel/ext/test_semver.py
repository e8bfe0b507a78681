"""Versions by semver.org."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError
from policy.cel.ext import semver
from tests.policy.cel.ext.evaluation import evaluate

ORDERED = ["0.0.1", "0.9.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.b", "1.0.0-b", "1.0.0", "1.10.0"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('semver("1.2.3").major()', 1),
        ('semver("1.2.3").minor()', 2),
        ('semver("1.2.3").patch()', 3),
        ('semver("18446744073709551615.0.0").major()', -1),
        ('semver("1.2.3+a") == semver("1.2.3+b")', True),
        ('semver("1.2.3").isGreaterThan(semver("1.2.3-rc.1"))', True),
        ('semver("1.2.3").isLessThan(semver("2.0.0"))', True),
        ('semver("v1.0", true) == semver("1.0.0")', True),
        ('semver("01.02.03", true).compareTo(semver("1.2.3"))', 0),
        ('semver("1.2.3-rc.1+b.2")', "1.2.3-rc.1+b.2"),
        ('isSemver("1.0.0")', True),
        ('isSemver("v1.0.0")', False),
        ('isSemver("1.0")', False),
        ('isSemver("01.0.0")', False),
        ('isSemver("1.0.0-01")', False),
        ('isSemver("1.0.0-")', False),
        ('isSemver("1.0.0+")', False),
        ('isSemver("1.0.0+001")', True),
        ('isSemver("1.0.0-a_b")', False),
        ('isSemver("1.0-rc", true)', False),
        ('isSemver("000.0.0", true)', True),
        ('isSemver("18446744073709551616.0.0")', False),
    ],
)
def test_a_version_answers(text: str, value: object) -> None:
    """Strictly, or after normalization."""
    assert evaluate(text) == value


@pytest.mark.parametrize("text", ['semver("1")', 'semver("1.0-rc", true)', 'semver("1.2.3") < semver("1.2.4")', "semver(1)"])
def test_what_is_no_version_is_an_error(text: str) -> None:
    """Versions are compared by name, not by operators."""
    with pytest.raises(CelError):
        evaluate(text)


@given(st.integers(0, len(ORDERED) - 1), st.integers(0, len(ORDERED) - 1))
def test_versions_have_the_order_of_the_specification(low: int, high: int) -> None:
    """Numbers before texts, fewer parts before more, a pre-release before its version."""
    a, b = (semver.parse(Budget(), ORDERED[place]) for place in (low, high))
    assert semver.compare(a, b) == (low > high) - (low < high)
    assert (a == b) == (low == high)
    assert a != b or hash(a) == hash(b)
