"""Functions over strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError
from policy.cel.ext import strings
from tests.policy.cel.ext.evaluation import evaluate

PARTS = st.text("ab", max_size=8)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"abc".charAt(1)', "b"),
        ('"abc".charAt(3)', ""),
        ('"tacocat".indexOf("ac")', 1),
        ('"tacocat".indexOf("a", 3)', 5),
        ('"tacocat".indexOf("x")', -1),
        ('"tacocat".indexOf("", 3)', 3),
        ('"tacocat".lastIndexOf("at")', 5),
        ('"tacocat".lastIndexOf("a", 3)', 1),
        ('"tacocat".lastIndexOf("")', 7),
        ('"a".lastIndexOf("a", 1)', -1),
        ('"".lastIndexOf("x")', -1),
        ('"TacoCÆt".lowerAscii()', "tacocÆt"),
        ('"tacoCßt".upperAscii()', "TACOCßT"),
        ('"a-b-c".replace("-", "+")', "a+b+c"),
        ('"a-b-c".replace("-", "+", 1)', "a+b-c"),
        ('"abc".replace("", "-", 2)', "-a-bc"),
        ('"a,b,c".split(",")', ["a", "b", "c"]),
        ('"a,b,c".split(",", 2)', ["a", "b,c"]),
        ('"a,b,c".split(",", 0)', []),
        ('"abc".split("", 2)', ["a", "bc"]),
        ('"".split("")', []),
        ('"".split(",")', [""]),
        ('"tacocat".substring(4)', "cat"),
        ('"tacocat".substring(0, 4)', "taco"),
        (r'" \t\u00a0text\u2028".trim()', "text"),
        (r'"\u200btext\u001c".trim()', "\u200btext\x1c"),
        ('["x", "y"].join("-")', "x-y"),
        ('["x", "y"].join()', "xy"),
        ('"abc".reverse()', "cba"),
        (r'strings.quote("a\"b\n\\")', r'"a\"b\n\\"'),
    ],
)
def test_a_function_of_strings_gives_a_value(text: str, value: object) -> None:
    """Places count characters, and each function has its corners."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '"abc".charAt(4)',
        '"abc".charAt(-1)',
        '"abc".indexOf("a", -1)',
        '"abc".indexOf("a", 4)',
        '"abc".lastIndexOf("a", -1)',
        '"abc".substring(4)',
        '"abc".substring(2, 1)',
        '"abc".substring(0, 4)',
        '["a", dyn(1)].join()',
        "[1].join()",
        '"abc".charAt("a")',
    ],
)
def test_a_place_outside_of_the_text_is_an_error(text: str) -> None:
    """And so is a value of another type."""
    with pytest.raises(CelError):
        evaluate(text)


@given(st.text("ab", max_size=600), PARTS, st.integers(0, 600))
def test_the_last_place_is_found_in_long_texts_as_in_short_ones(text: str, wanted: str, start: int) -> None:
    """What is long is looked for from the other end, which changes nothing."""
    wanted *= 40  # on both sides of what is short
    start = min(start, max(len(text) - 1, 0))
    found = strings.last_index_of_until(Budget(), text, wanted, start)
    assert found == (text.rfind(wanted, 0, start + len(wanted)) if wanted else start)


@given(st.text("ab,", max_size=20), st.sampled_from([",", "", "b,"]), st.integers(-1, 8))
def test_the_parts_of_a_text_make_it_up(text: str, separator: str, limit: int) -> None:
    """Joined again they are the text, unless none were wanted."""
    parts = strings.split(Budget(), text, separator, limit)
    assert limit != 0 or parts == []
    assert limit == 0 or separator.join(parts) == text
    assert limit < 0 or len(parts) <= limit
