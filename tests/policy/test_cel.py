"""The port to CEL: what compiles, what it reads, and that nothing missing ever counts as false."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VARIABLES = {"object": "dyn", "now": "timestamp"}


def evaluate(text: str, value: Any = None) -> Any:
    """The result over `object` and the fixed `now`."""
    return cel.compile(text, VARIABLES).evaluate({"object": value, "now": NOW})


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        pytest.param("object == null", None, True, id="null is null"),
        pytest.param("object == null", {}, False, id="an empty map is not null"),
        pytest.param("object != null", {"a": 1}, True, id="a map is not null"),
        pytest.param("object != null", None, False, id="null is not unequal to null"),
        pytest.param("object.a == 'x' || object.a != 'x'", {"a": 1}, True, id="values of different types differ"),
        pytest.param("object.a == 1", {"a": True}, False, id="true is not 1"),
        pytest.param("object.a == 1.0 && object.a != 1.5", {"a": 1}, True, id="numbers are compared by value"),
        pytest.param("object.a == ['1']", {"a": [1]}, False, id="lists are compared item by item"),
        pytest.param("object.a.b == 'x'", {"a": {"b": "x"}}, True, id="field selection"),
        pytest.param("object['a/b'] == 'x'", {"a/b": "x"}, True, id="keys with slashes"),
        pytest.param("has(object.a)", {}, False, id="has of an absent field"),
        pytest.param("has(object.a) && has(object.a.b)", {"a": {"b": 1}}, True, id="has of present fields"),
        pytest.param("has((object.a.b))", {"a": {"b": 1}}, True, id="has through parentheses"),
        pytest.param("object.items.all(i, i.n > 0)", {"items": [{"n": 1}, {"n": 2}]}, True, id="all"),
        pytest.param("object.items.exists(i, has(i.n))", {"items": [{}, {"n": 2}]}, True, id="has in a comprehension"),
        pytest.param("size(object.items.filter(i, i > 1))", {"items": [1, 2, 3]}, 2, id="an integer"),
        pytest.param("object.items.map(i, i * 2)", {"items": [1, 2]}, [2, 4], id="a list"),
        pytest.param("{'a': object.x}", {"x": 1.5}, {"a": 1.5}, id="a map"),
        pytest.param("now >= timestamp(object.t) + duration('5m')", {"t": "2025-12-31T23:00:00Z"}, True, id="time"),
        pytest.param("object.gone == 1 || true", {}, True, id="a true alternative swallows an error, as CEL says"),
    ],
)
def test_expressions_have_the_results_of_the_language(text: str, value: Any, result: Any) -> None:
    """Results are plain Python values of the exact type."""
    found = evaluate(text, value)
    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("object.status.x == 1", {"status": {}}, id="a field that is not there"),
        pytest.param("object.status.x == 1", None, id="a field of null"),
        pytest.param("has(object.status.x)", {}, id="has below a field that is not there"),
        pytest.param("has(object.x)", None, id="has of null"),
        pytest.param("[object].exists(o, has(o.q.z))", {}, id="the same inside a comprehension"),
        pytest.param("object.n / 0 == 1", {"n": 1}, id="division by zero"),
        pytest.param("timestamp(object.t) < now", {"t": "yesterday"}, id="a malformed time"),
        pytest.param("object.n", {"n": 2**70}, id="a number of more than 64 bits"),
    ],
)
def test_what_is_missing_or_malformed_is_an_error_and_never_false(text: str, value: Any) -> None:
    """Failure case 80: a missing field read as false lets a policy decide on nothing."""
    with pytest.raises(cel.CelError):
        evaluate(text, value)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        pytest.param("object ==\n b c", 2, 4, "syntax", id="syntax"),
        pytest.param("object == nope", 1, 11, "no variable `nope`: known are now, object", id="variable"),
        pytest.param("object.a.all(x, y)", 1, 17, "no variable `y`", id="variable of no comprehension"),
        pytest.param("run(object)", 1, 1, "no function `run`", id="function"),
        pytest.param("object.run()", 1, 1, "no method `run`", id="method"),
        pytest.param("has(object)", 1, 1, "selection of a field", id="has of a variable"),
        pytest.param("object.a.all(1, true)", 1, 1, "takes a variable", id="comprehension over no name"),
        pytest.param(".object", 1, 1, "leading dot", id="leading dot"),
    ],
)
def test_errors_of_compilation_say_where_and_what(text: str, line: int, column: int, message: str) -> None:
    """Unknown names are refused before anything is evaluated."""
    with pytest.raises(cel.CelError, match=message) as caught:
        cel.compile(text, VARIABLES)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_an_error_of_evaluation_quotes_no_value() -> None:
    """The object may be a Secret."""
    with pytest.raises(cel.CelError) as caught:
        evaluate("int(object.data.password) == 1", {"data": {"password": "hunter2"}})
    assert "hunter2" not in str(caught.value)


def test_deep_nesting_is_refused_and_leaves_the_recursion_limit_alone() -> None:
    """The library raises the limit of the whole process; the port puts it back."""
    before = sys.getrecursionlimit()
    with pytest.raises(cel.CelError, match="deep"):
        cel.compile("(" * 1500 + "true" + ")" * 1500, VARIABLES)
    assert evaluate("true") is True
    assert sys.getrecursionlimit() == before


def test_a_program_is_compiled_once_and_the_cache_is_bounded() -> None:
    """The same text and variables give the same program."""
    assert cel.compile("object == 1", VARIABLES) is cel.compile("object == 1", VARIABLES)
    for number in range(cel.CACHED + 10):
        cel.compile(f"object == {number}", VARIABLES)
    assert len(cel._programs) == cel.CACHED


def test_a_program_knows_the_variables_that_it_reads() -> None:
    """Comprehension variables are its own affair."""
    assert cel.compile("object.l.all(now2, now2 < now)", VARIABLES).names == {"object", "now"}


def test_the_library_is_imported_with_the_first_text() -> None:
    """A process that evaluates nothing does not pay for it."""
    code = "import sys, policy.conditions; sys.exit('celpy' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_json_goes_in_and_comes_back_as_it_was(value: Any) -> None:
    """Conversion loses nothing."""
    assert evaluate("object", value) == value


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "!object.a",
        "object",
        "object.a",
        "object['a']",
        "object.a == 1",
        "'a' in object",
        "has(object.a)",
        "bool('true')",
        "object.all(k, k == 'a')",
        "object.a.startsWith('b')",
        "(object.a || false)",
        "object.a ? true : object.b",
        "dyn(1)",
    ],
)
def test_what_may_be_a_boolean_is_told(text: str) -> None:
    """A comparison is one, and a field may hold one."""
    assert cel.compile(text, VARIABLES).boolean is True


@pytest.mark.parametrize(
    "text",
    [
        "'yes'",
        "null",
        "-1",
        "-object.n",
        "1 + 1",
        "2 * object.n",
        "[true]",
        "[]",
        "{'a': true}",
        "{}",
        "now",
        "now.getHours()",
        "size(object)",
        "object.a.size()",
        "object.map(k, k == 'a')",
        "(object.n + 1)",
        "object.a ? true : 1",
        "int",
    ],
)
def test_what_is_surely_no_boolean_is_told(text: str) -> None:
    """The outermost operator says so before anything is evaluated."""
    assert cel.compile(text, VARIABLES).boolean is False
