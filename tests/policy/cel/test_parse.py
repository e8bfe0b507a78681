"""The parser: what literals mean, how operators bind, what is refused and where, and that no text breaks it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import cel
from policy.cel import types
from policy.cel.environment import default
from policy.cel.values import UInt

ENVIRONMENT = cel.Environment({"object": types.DYN, "x": types.INT}, default(), strict=False)


def value(text: str, bindings: Any = None) -> Any:
    """The result of a text over `object` and `x`."""
    return cel.prepare(text, ENVIRONMENT).value({"object": bindings, "x": 1}, cel.Budget())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("0xffU", UInt(255), id="unsigned hexadecimal"),
        pytest.param("-9223372036854775808", -(2**63), id="the smallest integer"),
        pytest.param("18446744073709551615u", UInt(2**64 - 1), id="the largest unsigned integer"),
        pytest.param(".5e1", 5.0, id="a double without digits before the dot"),
        pytest.param(r"'\x41\u00e9\U0001F431\101\n'", "Aé🐱A\n", id="escapes"),
        pytest.param(r"r'\n'", "\\n", id="raw"),
        pytest.param(r"b'\xff\377ÿ'", b"\xff\xff\xc3\xbf", id="bytes"),
        pytest.param("'''a'b\nc'''", "a'b\nc", id="three quotes"),
        pytest.param("'a' // no more\n + 'b'", "ab", id="a comment"),
        pytest.param("1 + 2 * 3 - 4 / 2 % 3", 5, id="precedence"),
        pytest.param("10 - 3 - 2", 5, id="left to right"),
        pytest.param("true || false && false", True, id="and binds closer than or"),
        pytest.param("1 < 2 == true", True, id="relations go left to right"),
        pytest.param("false ? 1 : false ? 2 : 3", 3, id="conditionals go right to left"),
        pytest.param("!false && !!true", True, id="negation"),
        pytest.param("- -1 - -1", 2, id="minus signs"),
        pytest.param("-1.5", -1.5, id="a negative literal"),
        pytest.param("[1, 2,]", [1, 2], id="a comma at the end of a list"),
        pytest.param("{'a': 1,}", {"a": 1}, id="a comma at the end of a map"),
        pytest.param("[?optional.of(1), ?optional.none()]", [1], id="optional elements"),
        pytest.param("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}, id="optional entries"),
        pytest.param("{'b-c': 2}.`b-c`", 2, id="a quoted field"),
        pytest.param("{'b': 2}.?b.value()", 2, id="optional selection"),
        pytest.param("{'b': 2}[?'c'].orValue(3)", 3, id="optional index"),
        pytest.param("{'in': 1, 'for': 2}.for", 2, id="a reserved word is a field"),
    ],
)
def test_a_text_means_what_the_grammar_says(text: str, result: Any) -> None:
    """Literals, precedence and the optional syntax."""
    found = value(text)
    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        pytest.param("", 1, 1, "expected an expression, found the end", id="nothing"),
        pytest.param("object ==\n b c", 2, 4, "expected an operator or the end, found `c`", id="two values"),
        pytest.param("(1", 1, 3, r"expected `\)`, found the end", id="an open parenthesis"),
        pytest.param("[1 2]", 1, 4, "expected `,` or `]`, found `2`", id="a list without comma"),
        pytest.param("{'a' 1}", 1, 6, "expected `:` and the value of the key", id="a map without colon"),
        pytest.param("true ? 1", 1, 9, "expected `:`, and the value for the other case", id="half a conditional"),
        pytest.param("object.1", 1, 7, "expected an operator or the end, found `.1`", id="a number as a field"),
        pytest.param("object.true", 1, 8, "expected a field or a method, found `true`", id="a literal as a field"),
        pytest.param("for", 1, 1, "`for` is a reserved word", id="a reserved word"),
        pytest.param("'abc", 1, 1, "a string that begins here does not end", id="an open string"),
        pytest.param("1 # 2", 1, 3, "no word or sign begins with '#'", id="a foreign sign"),
        pytest.param(r"'\q'", 1, 1, r"no escape `\\q`", id="an unknown escape"),
        pytest.param(r"'\ud800'", 1, 1, "stands for no character", id="half a character"),
        pytest.param("9223372036854775808", 1, 1, "does not fit in a signed integer", id="a number too large"),
        pytest.param("99999999999999999999u", 1, 1, "does not fit in an unsigned integer", id="an unsigned number too large"),
        pytest.param("-!true", 1, 2, "need parentheses between them", id="mixed signs"),
        pytest.param("Pod{name: 'a'}", 1, 4, "message literals are not available", id="a message literal"),
        pytest.param("object.all(1, true)", 1, 12, "takes a variable here", id="a comprehension over no name"),
        pytest.param("object.transformList(a, a, 1)", 1, 25, "two different variables", id="the same variable twice"),
        pytest.param("has(object)", 1, 1, "takes the selection of a field", id="has of a variable"),
        pytest.param("a.`b c", 1, 3, "a quoted field holds letters", id="an open quoted field"),
    ],
)
def test_a_syntax_error_says_where_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    """Whoever wrote the text can find the place."""
    with pytest.raises(cel.CelError, match=message) as caught:
        cel.prepare(text, ENVIRONMENT)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("&&".join(["true"] * 10_000), id="and"),
        pytest.param("||".join(["false"] * 9_000) + "||true", id="or"),
        pytest.param("+".join(["1"] * 9_000) + " == 9000", id="plus"),
        pytest.param("".join("false ? false : " for _ in range(3_000)) + "true", id="conditionals"),
        pytest.param("!" * 10_000 + "true", id="not"),
    ],
)
def test_a_long_chain_is_not_deep(text: str) -> None:
    """Generated policies are long; their length must not be nesting."""
    assert value(text) is True


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 1500 + "true" + ")" * 1500, id="parentheses"),
        pytest.param("[" * 1500 + "]" * 1500, id="lists"),
        pytest.param("object" + "[0]" * 1500, id="indexes"),
        pytest.param("object" + ".a" * 1500, id="fields"),
        pytest.param("object" + ".size()" * 1500, id="calls"),
        pytest.param("has(object" + ".a" * 1500 + ")", id="has"),
        pytest.param("[1].all(x, " * 200 + "true" + ")" * 200, id="comprehensions"),
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    """What walks the tree recurses, and Python's stack is small."""
    with pytest.raises(cel.CelError, match="nested too deeply"):
        cel.prepare(text, ENVIRONMENT)


def test_the_limits_are_those_of_the_environment() -> None:
    """A condition may be shorter than a policy."""
    small = cel.Environment({}, default(), limits=cel.Limits(length=10, depth=3, words=7))
    cel.prepare("((1))", small)
    for text, message in (("'1234567890'", "10 characters"), ("1+1+1+1+1", "7 words"), ("(((1)))", "nested")):
        with pytest.raises(cel.CelError, match=message):
            cel.prepare(text, small)


WORDS = [
    "object", "x", "a", "all", "map", "has", "size", "optional", "in", "true", "null", "1", "2u", "1.5", "'s'", "b'b'", "r'x'",
    "(", ")", "[", "]", "{", "}", ".", "?", ":", ",", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "<", ">=", "`q`", " ", "\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=30).map("".join) | st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_text_brings_out_another_exception(text: str) -> None:
    """Parser and checker raise CelError or nothing; so does the evaluation of what they let pass."""
    try:
        value(text, {"a": [1, {"b": None}], "s": "text"})
    except cel.CelError:
        return
