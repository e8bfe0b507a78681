"""Finding, extracting and replacing by regular expressions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError, Exhausted
from policy.cel.ext import regex
from tests.policy.cel.ext.evaluation import evaluate

ABSENT = "absent"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"abc 123".find("[0-9]+")', "123"),
        ('"abc".find("x")', ""),
        ('"äöü".find("ö.")', "öü"),
        ('"123 abc 456".findAll("[0-9]+")', ["123", "456"]),
        ('"123 abc 456".findAll("[0-9]+", 1)', ["123"]),
        ('"123 abc 456".findAll("[0-9]+", 0)', []),
        ('"123 abc 456".findAll("[0-9]+", -1)', ["123", "456"]),
        ('"123 abc".findAll("[0-9]*")', ["123", "", "", "", ""]),
        ('"éa".findAll("x*")', ["", "", ""]),
        (r'"abab".findAll("\\b")', ["", ""]),
        (r'"a\\C".find("\\\\C")', "\\C"),
        ('regex.extract("item-A, item-B", r"item-(\\w+)").value()', "A"),
        ('regex.extract("hello", "l+").value()', "ll"),
        ('regex.extract("hello", "x").hasValue()', False),
        ('regex.extract("hello", "(x?)h").hasValue()', False),
        ('regex.extract("hello", "x*").value()', ""),
        ('regex.extractAll("id:1, id:2", "id:[0-9]")', ["id:1", "id:2"]),
        ('regex.extractAll("a1b2", "[a-z]([0-9]?)")', ["1", "2"]),
        ('regex.extractAll("ab", "[a-z]([0-9]?)")', []),
        ('regex.replace("banana", "a", "x")', "bxnxnx"),
        ('regex.replace("banana", "a", "x", 2)', "bxnxna"),
        ('regex.replace("banana", "a", "x", 0)', "banana"),
        ('regex.replace("banana", "a", "x", -12)', "bxnxnx"),
        (r'regex.replace("foo bar", "(fo)o (ba)r", r"\2 \1")', "ba fo"),
        (r'regex.replace("ab", "(a)|(b)", r"<\1\2\\>")', r"<a\><b\>"),
        ('regex.replace("é", "", "-")', "-é-"),
    ],
)
def test_a_function_of_patterns_gives_a_value(text: str, value: object) -> None:
    """An empty match behind another match is none, and no match begins within a character."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '"abc".find("(")',
        '"abc".findAll(dyn("["), 0)',
        '"abc".find(dyn("(?=a)"))',
        r'"abc".find(dyn("\\C"))',
        'regex.extract("ab", "(a)(b)")',
        'regex.extractAll("ab", "(a)(b)")',
        r'regex.replace("a", "(a)", r"\2")',
        r'regex.replace("a", "a", "\\x")',
        r'regex.replace("a", "a", "\\")',
        'regex.replace("a", "a", "b", 2147483648)',
    ],
)
def test_a_pattern_that_is_none_is_an_error(text: str) -> None:
    """So are groups that are too many, and references to groups that are not there."""
    with pytest.raises(CelError):
        evaluate(text)


@pytest.mark.parametrize("source", ["a{900}b", "(?:a{1,30}){1,30}b", "(a?){500}a{500}c", "(?:a|b)*a(?:a|b){200}c"])
def test_a_pattern_that_is_large_inside_is_too_expensive_for_a_long_text(source: str) -> None:
    """Linear time would still be seconds."""
    with pytest.raises(Exhausted):
        evaluate("text.find(pattern)", {"text": "a" * 1_000_000, "pattern": source})


def test_many_matches_are_too_expensive() -> None:
    """Each match costs more than its characters."""
    with pytest.raises(Exhausted):
        evaluate('text.findAll("a")', {"text": "ab" * 50_000})


@given(st.text("aé1", max_size=12), st.sampled_from(["a*", "é|", "[^a]*", "1?a", "(a|é)+", ".", "$", "^"]))
def test_what_is_replaced_by_itself_stays(text: str, source: str) -> None:
    """And all that is found is in the text, in its order."""
    assert regex.replace(Budget(), text, f"({source})", r"\1") == text
    place = 0
    for part in regex.find_all(Budget(), text, source):
        place = text.index(part, place) + len(part)
