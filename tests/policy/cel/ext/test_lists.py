"""Functions over lists, and lists as sets."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError
from policy.cel.ext import lists
from policy.cel.ext.seen import Seen
from policy.cel.values import UInt, equal
from tests.policy.cel.ext.evaluation import evaluate

VALUES = st.one_of(
    st.integers(-3, 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.floats(-2, 2),
    st.just(float(2**53)),
    st.just(float("nan")),
    st.integers(0, 3).map(UInt),
    st.booleans(),
    st.none(),
    st.text("ab1", max_size=1),
    st.lists(st.integers(0, 1), max_size=1),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2, 2].isSorted()", True),
        ("['b', 'a'].isSorted()", False),
        ("[1.0, 0.0 / 0.0, 0.5].isSorted()", True),
        ("[dyn(1), dyn(2.0), dyn(3u)].isSorted()", True),
        ("[dyn(1), dyn('a')].isSorted()", True),
        ("[dyn(2), dyn('a'), dyn(1)].min()", 1),
        ("[].isSorted()", True),
        ("[1, 3].sum()", 4),
        ("[1.5, 2.5].sum()", 4.0),
        ("[1u, 2u].sum() == 3u", True),
        ("[duration('1m'), duration('1s')].sum() == duration('61s')", True),
        ("[].sum()", 0),
        ("[3, 1, 2].min()", 1),
        ("['a', 'b'].max()", "b"),
        ("[dyn(3), dyn(2.0)].min()", 2.0),
        ("[duration('1m'), duration('1s')].max() == duration('1m')", True),
        ("[1, 2, 1].indexOf(1)", 0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[dyn(1)].indexOf(1.0)", 0),
        ("[1].indexOf(2)", -1),
        ("[1, 2, 3].slice(1, 2)", [2]),
        ("[1, 2, 3].slice(3, 3)", []),
        ("[[1], [2]].flatten()", [1, 2]),
        ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(1)", [1, 2, [3]]),
        ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(9)", [1, 2, 3]),
        ("[[1]].flatten(0)", [[1]]),
        ("lists.range(3)", [0, 1, 2]),
        ("lists.range(-1)", []),
        ("[1, 2].reverse()", [2, 1]),
        ("[1, 1, 2].distinct()", [1, 2]),
        ("[dyn(1), dyn(1u), dyn(1.0), dyn(true), dyn('1')].distinct().size()", 3),
        ("[3, 1, 2].sort()", [1, 2, 3]),
        ("['b', 'a'].sort()", ["a", "b"]),
        ("[true, false].sort()", [False, True]),
        ("[timestamp('2021-01-02T00:00:00Z'), timestamp('2021-01-01T00:00:00Z')].sort()[0].getDate()", 1),
        ("[].sort()", []),
        ("['bb', 'a'].sortBy(x, size(x))", ["a", "bb"]),
        ("[2, 1].sortBy(x, [x, 3 - x].sortBy(y, -y)[0])", [2, 1]),
        ("[{'a': 2}, {'a': 1}].sortBy(x, x.a)[0].a", 1),
        ("sets.contains([1, 2], [2, 2])", True),
        ("sets.contains([1], [2])", False),
        ("sets.contains([[1], [2]], [[2]])", True),
        ("sets.equivalent([1, 1], [1])", True),
        ("sets.equivalent([1], [1, 2])", False),
        ("sets.equivalent([dyn(1), dyn(2u)], [dyn(1.0), dyn(2)])", True),
        ("sets.intersects([1], [1, 2])", True),
        ("sets.intersects([], [1])", False),
    ],
)
def test_a_function_of_lists_gives_a_value(text: str, value: object) -> None:
    """Numbers of all types are equal by value, and what is equal keeps its order."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[].min()",
        "[].max()",
        "[9223372036854775807, 1].sum()",
        "[18446744073709551615u, 1u].sum()",
        "dyn(['a']).sum()",
        "[dyn(1), dyn(2.0)].sum()",
        "['a'].sum()",
        "[[1]].isSorted()",
        "[1, 2].slice(2, 1)",
        "[1, 2].slice(-1, 1)",
        "[1, 2].slice(0, 3)",
        "[[1]].flatten(-1)",
        "[1].flatten()",
        "[dyn(1), dyn('a')].sort()",
        "dyn([[1]]).sort()",
        "[1].indexOf('a')",
        "[1].sortBy(1, 2)",
        "[1].sortBy(x.y, 2)",
        "sortBy(x, 2)",
    ],
)
def test_what_has_no_result_is_an_error(text: str) -> None:
    """Empty lists, overflow, values without an order, and places outside of the list."""
    with pytest.raises(CelError):
        evaluate(text)


@given(st.lists(VALUES, max_size=12))
def test_distinct_values_are_those_that_comparison_tells_apart(items: list[Any]) -> None:
    """The table behind it finds what comparing each with each finds."""
    budget = Budget(10**9)
    expected: list[Any] = []
    for item in items:
        if not any(equal(item, other, budget) for other in expected):
            expected.append(item)
    assert list(map(id, lists.distinct(budget, items))) == list(map(id, expected))


@given(st.lists(VALUES, max_size=8), VALUES)
def test_a_value_was_seen_when_an_equal_one_was(items: list[Any], wanted: Any) -> None:
    """By table or by comparison."""
    budget = Budget(10**9)
    seen = Seen(budget)
    for item in items:
        seen.add(item)
    assert seen.has(wanted) == any(equal(item, wanted, budget) for item in items)


@given(st.one_of(st.lists(st.integers(-9, 9)), st.lists(st.text(max_size=3)), st.lists(st.floats(allow_nan=False))))
def test_a_sorted_list_is_sorted(items: list[Any]) -> None:
    """Its first value is the least, its last the greatest."""
    budget = Budget(10**9)
    found = lists.sort(budget, items)
    assert found == sorted(items)
    assert lists.is_sorted(budget, found)
    assert not items or (lists.least(budget, items) == found[0] and lists.greatest(budget, items) == found[-1])
