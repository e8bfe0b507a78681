"""The budget: what is too much ends at once, and without having taken the memory."""

import tracemalloc
from typing import Any

import pytest

from policy import cel

VARIABLES = {"object": "dyn"}
MEGABYTES = 20
BIG = "a" * 1_000_000


def doubled(first: str, step: str, times: int = 40, last: str = "{}") -> str:
    """`cel.bind` in `cel.bind`, each made of the one before."""
    text = f"cel.bind(a0, {first}, "
    for number in range(times):
        text += f"cel.bind(a{number + 1}, {step.replace('@', f'a{number}')}, "
    return text + last.format(f"a{times}") + ")" * (times + 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("object.l.all(a, object.l.all(b, object.l.all(c, true)))", id="nested comprehensions"),
        pytest.param("object.l.map(a, object.l.map(b, b))", id="a table"),
        pytest.param("object.l.map(a, {'x': dyn(a), 'y': dyn([a])})", id="many maps"),
        pytest.param("object.m.transformMap(k, v, k + k)", id="a transformed map"),
        pytest.param(doubled("object.big", "@ + @"), id="a doubled string"),
        pytest.param(doubled("[1, 2, 3]", "@ + @"), id="a doubled list"),
        pytest.param(doubled("[1, 2, 3]", "[@, @]"), id="a result that is small only as long as it is shared"),
        pytest.param(doubled("[1, 2, 3]", "[@, @]", last="{0} == {0}"), id="and compared"),
        pytest.param("object.l.map(x, object.big + 'x')", id="many large strings"),
        pytest.param("object.l.all(x, object.big == object.same)", id="large strings compared"),
        pytest.param("object.l.all(x, !object.big.contains('b'))", id="large strings searched"),
        pytest.param("object.l.all(x, !(-1 in object.l))", id="large lists searched"),
        pytest.param("object.l.all(x, 'a'.matches('a' + string(x)) || true)", id="ever new patterns"),
        pytest.param("object.l.all(x, object.big.matches('(a+)+b') || true)", id="a pattern over much"),
        pytest.param("object.l.all(x, object.big.startsWith(object.same))", id="long beginnings"),
        pytest.param("object.l.all(x, timestamp(x).getHours('No/' + string(x)) > 0 || true)", id="zones that are not there"),
        pytest.param("object.l.all(x, object.gone == 1 || object.gone == 2 || true)", id="failures that are absorbed"),
        pytest.param("object.l.exists(x, x / 0 == 1)", id="failures that are kept"),
        pytest.param("object.l.all(x, timestamp('2026-01-01T00:00:' + '00Z') > timestamp(x))", id="many times"),
    ],
)
def test_too_much_is_refused_at_once(text: str) -> None:
    """Whoever may write an expression must not be able to stop the one who evaluates it."""
    value = {"l": list(range(100_000)), "m": {f"k{number}": 1 for number in range(50_000)}, "big": BIG, "same": BIG[:-1] + "a"}
    program = cel.compile(text, VARIABLES)
    with pytest.raises(cel.Exhausted):
        program.evaluate({"object": value})
    tracemalloc.start()
    try:
        with pytest.raises(cel.Exhausted):
            program.evaluate({"object": value})
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES * 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        pytest.param("object.matches('(a+)+$b')", BIG, False, id="a pattern that others take for ever for"),
        pytest.param("object.contains('b')", BIG, False, id="one search"),
        pytest.param("object == object + ''", BIG, True, id="one comparison"),
        pytest.param("object.all(x, x >= 0 && x < 10000)", list(range(10_000)), True, id="ten thousand steps"),
        pytest.param("+".join(["1"] * 2000), None, 2000, id="a long chain"),
    ],
)
def test_what_is_large_but_bounded_has_a_result(text: str, value: Any, result: Any) -> None:
    """An object may have a megabyte."""
    assert cel.compile(text, VARIABLES).evaluate({"object": value}) == result


def test_the_budget_is_never_absorbed() -> None:
    """Otherwise `|| true` would buy more of it."""
    for text in ("object.all(x, object.all(y, true)) || true", "[1].exists(z, object.all(x, object.all(y, true)) || true)"):
        with pytest.raises(cel.Exhausted):
            cel.compile(text, VARIABLES).evaluate({"object": list(range(1000))})


def test_a_budget_can_be_given_and_tells_what_was_spent() -> None:
    """Several evaluations may share one."""
    program = cel.compile("object.all(x, x > 0)", VARIABLES)
    budget = cel.Budget(1000)
    assert program.evaluate({"object": [1, 2, 3]}, budget) is True
    once = budget.spent
    assert once > 0
    program.evaluate({"object": [1, 2, 3]}, budget)
    assert budget.spent == 2 * once
    with pytest.raises(cel.Exhausted):
        program.evaluate({"object": [1] * 100}, budget)


def test_the_cost_is_the_same_each_time() -> None:
    """What passed once passes again."""
    program = cel.compile("object.filter(x, x.matches('a.*b')).size() + size(object[0] + 'x')", VARIABLES)
    budgets = [cel.Budget() for _ in range(3)]
    for budget in budgets:
        program.evaluate({"object": ["ab", "b"]}, budget)
    assert len({budget.spent for budget in budgets}) == 1
