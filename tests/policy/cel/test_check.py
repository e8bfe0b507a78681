"""The checker: which type a text has, and what cannot be right, refused before anything is evaluated."""

import pytest

from policy import cel
from policy.cel import types

VARIABLES = {
    "object": "dyn",
    "now": "timestamp",
    "n": "int",
    "s": "string",
    "l": "list(string)",
    "m": "map(string, list(int))",
    "o": "optional_type(int)",
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("object.a.b", "dyn"),
        ("object == null", "bool"),
        ("n + 1", "int"),
        ("n + object.a", "int"),
        ("object.a + object.b", "dyn"),
        ("s + 'x'", "string"),
        ("l[0]", "string"),
        ("m['a'][0]", "int"),
        ("m.a", "list(int)"),
        ("m.?a", "optional_type(list(int))"),
        ("m[?'a'].orValue([])", "list(int)"),
        ("o.optMap(v, string(v))", "optional_type(string)"),
        ("o.optFlatMap(v, optional.of(v > 1))", "optional_type(bool)"),
        ("l.map(e, size(e))", "list(int)"),
        ("l.filter(e, e != '')", "list(string)"),
        ("m.filter(k, k != '')", "list(string)"),
        ("m.all(k, v, v.size() > 0)", "bool"),
        ("l.transformList(i, e, i)", "list(int)"),
        ("m.transformMap(k, v, size(v))", "map(string, int)"),
        ("m.transformMapEntry(k, v, {v[0]: k})", "map(int, string)"),
        ("now - now", "google.protobuf.Duration"),
        ("now + duration('1s')", "google.protobuf.Timestamp"),
        ("now.getHours('UTC')", "int"),
        ("type(n)", "type(int)"),
        ("[]", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("{}", "map(dyn, dyn)"),
        ("[dyn(1), dyn('a')]", "list(dyn)"),
        ("'%s %d'.format(['a', 1])", "string"),
        ("n > 1 ? s : 'x'", "string"),
        ("cel.bind(a, n, [a])", "list(int)"),
        ("dyn(1) < 1.5", "bool"),
        ("1 < 1.5", "bool"),
        ("optional.none()", "optional_type(dyn)"),
        ("int", "type(int)"),
    ],
)
def test_the_type_of_a_text_is_found(text: str, kind: str) -> None:
    """What an author may rely on, and what places that want a bool ask for."""
    assert str(cel.compile(text, VARIABLES).result_type) == kind


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        pytest.param("object == nope", 1, 11, "no variable `nope`: known are l, m, n, now, o, object, s", id="variable"),
        pytest.param("object.a.all(x,\n y)", 2, 2, "no variable `y`", id="variable of no comprehension"),
        pytest.param("run(object)", 1, 1, "no function `run`", id="function"),
        pytest.param("object.run()", 1, 8, "no method `run`", id="method"),
        pytest.param("size()", 1, 1, r"`size` takes \(string\)", id="arity"),
        pytest.param("size(1)", 1, 1, r"`size` takes .*, not \(int\)", id="overload"),
        pytest.param("1 + 'a'", 1, 3, r"`\+` takes .*, not \(int, string\)", id="operator"),
        pytest.param("1 + 1u", 1, 3, r"not \(int, uint\)", id="signed and unsigned"),
        pytest.param("n == s", 1, 3, r"not \(int, string\)", id="equality of different types"),
        pytest.param("s == null", 1, 3, r"not \(string, null_type\)", id="a string is never null"),
        pytest.param("'a' in n", 1, 5, r"not \(string, int\)", id="in of a number"),
        pytest.param("n.a", 1, 2, "a value of type int has no fields", id="field of a number"),
        pytest.param("has(n.a)", 1, 1, "a value of type int has no fields", id="has of a number"),
        pytest.param("s && true", 1, 1, "an operand of `&&` has to be a bool", id="and of a string"),
        pytest.param("!s", 1, 1, r"`!` takes \(bool\), not \(string\)", id="not of a string"),
        pytest.param("s ? 1 : 2", 1, 3, r"`\?:` takes \(bool, T, T\), not \(string, int, int\)", id="test of a string"),
        pytest.param("true ? 1 : 'a'", 1, 6, r"not \(bool, int, string\)", id="two types"),
        pytest.param("[1, 'a']", 1, 5, "of type string, and what stands before it of type int", id="mixed list"),
        pytest.param("{'a': 1, 'b': 'c'}", 1, 15, "of type string, and what stands before it of type int", id="mixed map"),
        pytest.param("[1, dyn(1)]", 1, 5, "of type dyn, and what stands before it of type int", id="mixed with dyn"),
        pytest.param("{1.5: 1}", 1, 2, "a key is a bool, int, uint or string", id="double as key"),
        pytest.param("n.all(x, true)", 1, 1, "goes over a list or a map", id="loop over a number"),
        pytest.param("l.all(x, x)", 1, 10, "the test of `all` has to be a bool", id="test of a loop"),
        pytest.param("l.all(x)", 1, 3, "takes a variable and an expression", id="half a loop"),
        pytest.param("l.map(x, x + 1)", 1, 12, r"not \(string, int\)", id="element of a loop"),
        pytest.param("s.optMap(x, x)", 1, 3, "is called on an optional value", id="optMap of a string"),
        pytest.param("[?1]", 1, 3, "after `\\?` stands an optional value", id="optional element"),
        pytest.param("timestamp('soon')", 1, 1, "no timestamp", id="literal timestamp"),
        pytest.param("duration('1y')", 1, 1, "no duration", id="literal duration"),
        pytest.param("int('x')", 1, 1, "the text is no int", id="literal conversion"),
        pytest.param("s.matches('(')", 1, 11, "regular expression is malformed", id="literal pattern"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_place(text: str, line: int, column: int, message: str) -> None:
    """A policy that is stored has been looked at."""
    with pytest.raises(cel.CelError, match=message) as caught:
        cel.compile(text, VARIABLES)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text", ["true", "object", "object.a", "object.a == 1", "l.exists(e, e == s)", "object.a ? true : object.b"]
)
def test_what_may_be_a_boolean_is_told(text: str) -> None:
    """A comparison is one, and a field may hold one."""
    assert cel.compile(text, VARIABLES).boolean is True


@pytest.mark.parametrize(
    "text", ["'yes'", "null", "-1", "1 + 1", "[true]", "{}", "now", "size(object)", "object.map(k, k)", "int"]
)
def test_what_is_surely_no_boolean_is_told(text: str) -> None:
    """Nothing is evaluated to know it."""
    assert cel.compile(text, VARIABLES).boolean is False


def test_a_program_knows_the_variables_that_it_reads() -> None:
    """Variables of comprehensions are its own affair, also when they have the name of one outside."""
    assert cel.compile("object.l.all(s, s < now) && n > 1", VARIABLES).names == {"object", "now", "n"}


@pytest.mark.parametrize("text", ["list(int", "map(string)", "a b", "list(int) x", "", "(int)"])
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    """Types of variables are written by hand, too."""
    with pytest.raises(cel.CelError):
        types.parse(text)


@pytest.mark.parametrize("text", ["list(int)", "map(string, list(dyn))", "net.IP", "optional_type(type(int))"])
def test_a_type_reads_as_it_writes(text: str) -> None:
    """One spelling for declarations and messages."""
    assert str(types.parse(text)) == text


def test_without_the_checker_the_values_decide() -> None:
    """Expressions that are only parsed fail when they are evaluated, or not at all."""
    loose = cel.Environment({"n": types.INT}, cel.default(), checked=False)
    assert cel.prepare("n == 1.0", loose).evaluate({"n": 1}) is True
    assert cel.prepare("nope || true", loose).evaluate({}) is True
    with pytest.raises(cel.CelError, match="no variable `nope`"):
        cel.prepare("nope", loose).evaluate({})
    with pytest.raises(cel.CelError, match="does not take"):
        cel.prepare("n + 'a'", loose).evaluate({"n": 1})
