"""The evaluation: results are plain Python, nothing missing ever counts as false, and nothing that is read is changed."""

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel
from policy.cel import program
from policy.cel.times import Duration, Timestamp
from policy.cel.values import Optional, UInt

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
        pytest.param("object.a == true", {"a": 1}, False, id="1 is not true"),
        pytest.param("object.a == object.b", {"a": [True], "b": [1]}, False, id="nor inside of a list"),
        pytest.param("object.a == object.b", {"a": {"x": 0}, "b": {"x": False}}, False, id="nor inside of a map"),
        pytest.param("true in object", [1], False, id="nor as an element"),
        pytest.param("1 in object", [True], False, id="nor the other way round"),
        pytest.param("object.a == 1.0 && object.a != 1.5", {"a": 1}, True, id="numbers are compared by value"),
        pytest.param("object.a > 1 && object.a < 1.5", {"a": 1.25}, True, id="and ordered by value"),
        pytest.param("1.0 in object", [1], True, id="an element by value"),
        pytest.param("object.a == object.a", {"a": float("nan")}, False, id="NaN is not itself"),
        pytest.param("object == object", [float("nan")], False, id="nor inside of a list"),
        pytest.param("object.a == ['1']", {"a": [1]}, False, id="lists are compared item by item"),
        pytest.param("object.a.b == 'x'", {"a": {"b": "x"}}, True, id="field selection"),
        pytest.param("object['a/b'] == 'x'", {"a/b": "x"}, True, id="keys with slashes"),
        pytest.param("object.a[1]", {"a": (1, 2)}, 2, id="a tuple is a list"),
        pytest.param("has(object.a)", {}, False, id="has of an absent field"),
        pytest.param("has(object.a)", {"a": None}, True, id="has of a null"),
        pytest.param("has(object.a) && has(object.a.b)", {"a": {"b": 1}}, True, id="has of present fields"),
        pytest.param("has(object.x)", None, False, id="null has nothing, as in Kubernetes"),
        pytest.param("object.?x.hasValue()", 5, False, id="nor does a number"),
        pytest.param("object[?'x'].hasValue()", None, False, id="nor by its key"),
        pytest.param("object in {'a': 1}", None, False, id="null is no key"),
        pytest.param("has((object.a.b))", {"a": {"b": 1}}, True, id="has through parentheses"),
        pytest.param("object.?a.?b.orValue('none')", {"a": {}}, "none", id="optional selection"),
        pytest.param("object.?a.b.hasValue()", {}, False, id="selection goes on inside of an optional"),
        pytest.param("object.items.all(i, i.n > 0)", {"items": [{"n": 1}, {"n": 2}]}, True, id="all"),
        pytest.param("object.items.exists(i, has(i.n))", {"items": [{}, {"n": 2}]}, True, id="has in a comprehension"),
        pytest.param("object.all(k, v, k == 'a' && v == 1)", {"a": 1}, True, id="keys and values of a map"),
        pytest.param("size(object.items.filter(i, i > 1))", {"items": [1, 2, 3]}, 2, id="an integer"),
        pytest.param("object.items.map(i, i > 1, i * 2)", {"items": [1, 2]}, [4], id="a list, filtered"),
        pytest.param("object.map(x, object.map(y, x + y))", [1, 2], [[2, 3], [3, 4]], id="comprehensions in each other"),
        pytest.param("cel.bind(a, object.x, a * a)", {"x": 3}, 9, id="a binding"),
        pytest.param("{'a': object.x}", {"x": 1.5}, {"a": 1.5}, id="a map"),
        pytest.param("{dyn(true): 1, dyn(1): 2}[dyn(true)]", None, 1, id="true and 1 are two keys"),
        pytest.param("now >= timestamp(object.t) + duration('5m')", {"t": "2025-12-31T23:00:00Z"}, True, id="time"),
        pytest.param("object.t < now", {"t": datetime(2025, 1, 1, tzinfo=UTC)}, True, id="a datetime in the object"),
        pytest.param("object.t.getHours()", {"t": datetime(2025, 1, 1, 5, tzinfo=UTC)}, 5, id="and its methods"),
        pytest.param("object.gone == 1 || true", {}, True, id="a true alternative swallows an error, as CEL says"),
        pytest.param("object.gone == 1 && false", {}, False, id="a false condition, too"),
        pytest.param("object.l.exists(x, x.a == 1)", {"l": [{}, {"a": 1}]}, True, id="exists swallows an error"),
        pytest.param("object.l.all(x, x.a == 1)", {"l": [{}, {"a": 2}]}, False, id="all swallows an error"),
        pytest.param("object.n", {"n": 2**70}, float(2**70), id="a number of more than 64 bits is a double"),
        pytest.param("object.n + 0.5 > 1.0", {"n": 2**63}, True, id="and is reckoned with as one"),
        pytest.param("string(type(object.n) == double)", {"n": 2**63}, "true", id="and has its type"),
        pytest.param("5u / 2u", None, 2, id="a uint is a plain integer"),
        pytest.param("type(object)", [], "list", id="a type is its name"),
        pytest.param("object.?a", {"a": 1}, 1, id="an optional is its value"),
        pytest.param("object.?a", {}, None, id="or None"),
        pytest.param("now", None, NOW, id="a time"),
        pytest.param("duration('90s')", None, timedelta(seconds=90), id="a duration"),
        pytest.param("b'ab' + b'c'", None, b"abc", id="bytes"),
    ],
)
def test_expressions_have_the_results_of_the_language(text: str, value: Any, result: Any) -> None:
    """Results are plain Python values of the exact type."""
    found = evaluate(text, value)
    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        pytest.param("object.status.x == 1", {"status": {}}, "no such key: `x`", id="a field that is not there"),
        pytest.param("object.status.x == 1", None, "has no fields", id="a field of null"),
        pytest.param("object.a.b", {"a": "text"}, "has no fields", id="a field of a string"),
        pytest.param("object['a']", ["a"], "has no fields", id="a key of a list"),
        pytest.param("object[0]", "text", "does not take", id="an index of a string"),
        pytest.param("object[-1]", [1], "out of range", id="a negative index"),
        pytest.param("object[true]", [1, 2], "does not take", id="true is no index"),
        pytest.param("object[1]", {"a": 1}, "no such key", id="a key that is not there"),
        pytest.param("has(object.status.x)", {}, "no such key: `status`", id="has below a field that is not there"),
        pytest.param("has(object.x)", [], "has no fields", id="has of a list"),
        pytest.param("[object].exists(o, has(o.q.z))", {}, "no such key", id="the same inside a comprehension"),
        pytest.param("object.n / 0 == 1", {"n": 1}, "division by zero", id="division by zero"),
        pytest.param("object.n + 1", {"n": 2**63 - 1}, "overflows", id="overflow"),
        pytest.param("object.n * 2", {"n": -(2**63)}, "overflows", id="overflow below"),
        pytest.param("-object.n", {"n": -(2**63)}, "overflows", id="the smallest integer has no negative"),
        pytest.param("0u - object.n", {"n": UInt(1)}, "overflows", id="an unsigned integer below zero"),
        pytest.param("object.n + 1.0", {"n": 1}, "does not take", id="an integer and a double"),
        pytest.param("object.b + 1", {"b": True}, "does not take", id="true is no number"),
        pytest.param("object.b < 1", {"b": True}, "no order", id="nor ordered with one"),
        pytest.param("object.n < 1", {"n": float("nan")}, "NaN has no order", id="NaN is before nothing"),
        pytest.param("object.a || false", {"a": "x"}, "is no bool", id="a string is no bool"),
        pytest.param("!object.a", {"a": None}, "does not take", id="null is no bool"),
        pytest.param("object.a ? 1 : 2", {"a": 1}, "is no bool", id="1 is no bool"),
        pytest.param("object.all(x, x)", [1], "is no bool", id="nor in a comprehension"),
        pytest.param("timestamp(object.t) < now", {"t": "yesterday"}, "no timestamp", id="a malformed time"),
        pytest.param("size(object)", 5, "`size` does not take", id="the size of a number"),
        pytest.param("object.startsWith('a')", None, "`startsWith` does not take", id="a method of null"),
        pytest.param("object.map(x, x)", 5, "goes over", id="a loop over a number"),
        pytest.param("{dyn('a'): 1, object: 2}", "a", "comes twice", id="the same key twice"),
        pytest.param("{object: 2}", 1.0, "no key of this type", id="a double as a key"),
        pytest.param("object.?a.value()", {}, "has no value", id="the value of nothing"),
        pytest.param("object.t < now", {"t": datetime(2026, 1, 1)}, "without a zone", id="a time without zone"),
        pytest.param("object.t == 1", {"t": object()}, "does not know", id="a value that is none"),
    ],
)
def test_what_is_missing_or_malformed_is_an_error_and_never_false(text: str, value: Any, message: str) -> None:
    """Failure case 80: a missing field read as false lets a policy decide on nothing."""
    with pytest.raises(cel.CelError, match=message):
        evaluate(text, value)


def test_an_error_of_evaluation_has_its_place() -> None:
    """The author of a long policy finds the operation that failed."""
    with pytest.raises(cel.CelError) as caught:
        evaluate("object.a == 1 &&\n  object.b / 0 == 1", {"a": 1, "b": 2})
    assert (caught.value.line, caught.value.column) == (2, 12)


def test_an_error_of_evaluation_quotes_no_value() -> None:
    """The object may be a Secret."""
    for text in ("int(object.data.password) == 1", "object.data[object.data.password]", "duration(object.data.password)"):
        with pytest.raises(cel.CelError) as caught:
            evaluate(text, {"data": {"password": "hunter2"}})
        assert "hunter2" not in str(caught.value)


def test_the_first_failure_is_told_when_nothing_decides() -> None:
    """The one that the author meets first."""
    with pytest.raises(cel.CelError, match="`first`"):
        evaluate("object.first && object.second && true", {})


def test_a_variable_without_a_value_fails_only_where_it_is_read() -> None:
    """A place may leave out what it does not have."""
    program = cel.compile("object == 1 || now < now", VARIABLES)
    assert program.evaluate({"object": 1}) is True
    with pytest.raises(cel.CelError, match="the variable `now` has no value"):
        program.evaluate({"object": 2})


class Lazy(Mapping[str, Any]):
    """A map that counts what it computes."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts
        self.computed: list[str] = []

    def __getitem__(self, key: str) -> Any:
        program = cel.compile(self.texts[key], {"variables": "dyn"})
        self.computed.append(key)
        return program.evaluate({"variables": self})

    def __contains__(self, key: object) -> bool:
        return key in self.texts

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def test_a_mapping_computes_what_is_selected_and_nothing_else() -> None:
    """The variables of an admission policy are expressions over each other."""
    variables = Lazy(a="1 + 1", b="variables.a * 2", c="1 / 0")
    assert cel.compile("has(variables.c) && variables.b == 4", {"variables": "dyn"}).evaluate({"variables": variables}) is True
    assert variables.computed == ["b", "a"]


def test_an_error_of_a_computed_value_is_absorbed_like_any_other() -> None:
    """`||` does not care where a failure comes from."""
    variables = Lazy(c="1 / 0")
    assert cel.compile("variables.c == 1 || true", {"variables": "dyn"}).evaluate({"variables": variables}) is True


def test_the_bindings_themselves_may_be_computed() -> None:
    """A variable that is not read costs nothing."""
    bindings = Lazy(object="40 + 2", now="1 / 0")
    assert cel.compile("object == 42", VARIABLES).evaluate(bindings) is True
    assert bindings.computed == ["object"]


def test_nothing_that_is_bound_is_changed_or_handed_out() -> None:
    """A result can be kept and edited."""
    value = {"l": [1, {"a": 2}]}
    found = evaluate("object", value)
    assert found == value
    found["l"][1]["a"] = 3
    assert value == {"l": [1, {"a": 2}]}
    assert evaluate("[1, 2]") is not evaluate("[1, 2]")


def test_the_value_of_cel_keeps_its_types() -> None:
    """Who compares values and not JSON asks for them."""
    program = cel.compile("[dyn(1u), dyn(timestamp(5)), dyn(duration('1ns')), dyn(optional.of(1))]", {})
    assert program.value({}, cel.Budget()) == [UInt(1), Timestamp(5 * 10**9), Duration(1), Optional(True, 1)]


def test_a_program_is_evaluated_by_many_threads_at_once() -> None:
    """Evaluations share nothing."""
    program = cel.compile("object.map(x, object.filter(y, y <= x).size())", VARIABLES)
    wrong: list[Any] = []

    def work(size: int) -> None:
        for _ in range(30):
            found = program.evaluate({"object": list(range(size))})
            if found != list(range(1, size + 1)):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(size,)) for size in (3, 17, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_program_is_compiled_once_and_the_cache_is_bounded() -> None:
    """The same text and variables give the same program."""
    assert cel.compile("object == 1", VARIABLES) is cel.compile("object == 1", VARIABLES)
    assert cel.compile("object == 1", VARIABLES) is not cel.compile("object == 1", {**VARIABLES, "object": "int"})
    for number in range(cel.CACHED + 10):
        cel.compile(f"object == {number}", VARIABLES)
    assert len(program._programs) == cel.CACHED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_json_goes_in_and_comes_back_as_it_was(value: Any) -> None:
    """Nothing is lost, and everything is equal to itself."""
    assert evaluate("object", value) == value
    assert evaluate("object == object", value) is True


NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(NUMBERS, NUMBERS, st.sampled_from("+-*/%"))
@settings(max_examples=100, deadline=None)
def test_arithmetic_is_exact_or_fails(a: int, b: int, operator: str) -> None:
    """64 bits: the mathematical result, or an error; division and remainder go toward zero."""
    program = cel.compile(f"a {operator} b", {"a": "int", "b": "int"})
    whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else None
    exact = {"+": a + b, "-": a - b, "*": a * b, "/": whole, "%": a - b * whole if whole is not None else None}[operator]
    if exact is None or not -(2**63) <= exact < 2**63:
        with pytest.raises(cel.CelError):
            program.evaluate({"a": a, "b": b})
    else:
        assert program.evaluate({"a": a, "b": b}) == exact


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["", "a", "b"])


@given(SCALARS, SCALARS)
@settings(max_examples=100, deadline=None)
def test_equality_is_symmetric_and_agrees_with_membership(a: Any, b: Any) -> None:
    """`a == b`, `b == a` and `a in [b]` are one question; `!=` is its opposite."""
    program = cel.compile("[a == b, b == a, a in [b], !(a != b), [a] == [b]]", {"a": "dyn", "b": "dyn"})
    assert len(set(program.evaluate({"a": a, "b": b}))) == 1


def test_times_in_other_zones_are_the_same_moment() -> None:
    """A datetime is read with its offset."""
    east = timezone(timedelta(hours=2))
    assert evaluate("object == now", datetime(2026, 1, 1, 2, tzinfo=east)) is True
