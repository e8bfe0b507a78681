"""YAML as kubectl reads it, with bounded expansion."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.render import text
from manager.render.functions import tojson, toyaml

MOST = 1 << 20


def read(yaml: str) -> list[Any]:
    """The documents without their lines."""
    return [value for _, value in text.documents(yaml, MOST)]


# Compared with `kubectl label --local -o json` of Kubernetes 1.36.
@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("yes", True),
        ("y", True),
        ("n", False),
        ("off", False),
        ("010", 8),
        ("08", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", 3),
        ("0b12", "0b12"),
        ("1_000", 1000),
        ("+1", 1),
        ("1e3", 1000),
        ("1.0", 1),
        ("1.", 1),
        (".5e1", 5),
        ("-.5", -0.5),
        ("1.5", 1.5),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("=", "="),
        ("~", None),
        ("null", None),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
        ("'yes'", "yes"),
        ('"010"', "010"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
    ],
)
def test_a_scalar_means_what_it_means_to_kubectl(plain: str, value: Any) -> None:
    """Type and value, also for booleans."""
    (found,) = read(f"a: {plain}")
    assert (found["a"], type(found["a"])) == (value, type(value))


def test_documents_come_with_their_lines_and_empty_ones_are_there_as_null() -> None:
    """The caller skips them; the line is that of the content."""
    assert list(text.documents("---\n---\nx: 1\n---\n\n- 2\n", MOST)) == [(2, None), (3, {"x": 1}), (6, [2])]


def test_aliases_and_merges_are_expanded() -> None:
    """Own keys win over merged ones, the first of several merged maps wins."""
    assert read("a: &x {k: 1, l: 2}\nb: &y {k: 3}\nc: {<<: [*x, *y], l: 5}\nd: {<<: *y}") == [
        {"a": {"k": 1, "l": 2}, "b": {"k": 3}, "c": {"k": 1, "l": 5}, "d": {"k": 3}}
    ]


def test_keys_that_are_no_strings_become_strings_as_in_json() -> None:
    """Kubernetes knows no other keys."""
    assert read("1: a\ntrue: b\n1.5: c") == [{"1": "a", "true": "b", "1.5": "c"}]


def bomb(levels: int) -> str:
    """Each level holds the one before nine times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("yaml", "line", "message"),
    [
        pytest.param(bomb(9), 1, "more than 100000 values", id="billion laughs"),
        pytest.param("a: &a [*a]", 1, "more than 64 levels", id="an alias of itself"),
        pytest.param("[" * 70 + "]" * 70, 1, "more than 64 levels", id="deep"),
        pytest.param(f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 20)}]", 1, "too large", id="a large string often"),
        pytest.param("a: 1\nb: 2\na: 3", 3, "key stands twice", id="duplicate key"),
        pytest.param("a: !!python/object/apply:os.system [x]", 1, "tag", id="python tag"),
        pytest.param("a: !!binary eA==", 1, "tag", id="binary"),
        pytest.param("a: !!int x", 1, "tag", id="a tag that does not fit"),
        pytest.param("a: .inf", 1, "infinity", id="infinity"),
        pytest.param("? [1]\n: 2", 1, "key has to be a string", id="a list as key"),
        pytest.param("a: 1\n  b: 2", 2, "mapping values", id="syntax"),
        pytest.param("a: *b", 1, "alias", id="unknown alias"),
        pytest.param("a: 1\n<<: 2", 2, "merges maps only", id="merge of a number"),
        pytest.param("a: \x01", 0, "does not allow", id="control character"),
    ],
)
def test_what_is_refused_names_its_line_and_quotes_nothing(yaml: str, line: int, message: str) -> None:
    """Expansion is counted before it takes memory."""
    with pytest.raises(text.Unreadable, match=message) as caught:
        read(yaml)
    assert caught.value.line == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_tojson_writes_yaml_reads_as_the_same_value(value: Any) -> None:
    """In the place of a value, in a flow list, and as a whole document."""
    written = tojson(value)
    assert "\n" not in written
    assert read(f"a: {written}\nb: [{written}]") == [{"a": value, "b": [value]}]
    assert text.document(written, MOST) == value


@given(JSON | st.sampled_from(["y", "0E0", "0o7", "1_0", "~", "", "=", "<<"]))
def test_what_toyaml_writes_yaml_reads_as_the_same_value(value: Any) -> None:
    """Shared objects become no anchors."""
    assert text.document(toyaml([value, value]), MOST) == [value, value]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=12))
def test_what_reads_back_does_so_in_each_place_of_a_block_map(value: str) -> None:
    """As value, as item and as key; among the harmless characters."""
    if re.fullmatch("[A-Za-z0-9 _.:/@+=-]*", value) and text.reads_back(value):
        assert read(f"a: {value}\nb:\n- {value}\nc: {{d: {value}}}\nd:\n  {value}: 1") == [
            {"a": value, "b": [value], "c": {"d": value}, "d": {value: 1}}
        ]
