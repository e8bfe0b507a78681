"""Partial comparison, and diffs that people can read and that show no Secret."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from manager.examples.diff import difference, field, managers, matches, projected

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("expected", "found", "fits"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {"b": "x"}}, {"a": {"b": "x", "c": "y"}}, True),
        ({"a": {"b": "x"}}, {"a": "x"}, False),
        ({"a": None}, {}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {"a": 0}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]}, False),
        ({"a": []}, {"a": []}, True),
        ({"a": []}, {}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": "1"}, {"a": 1}, False),
    ],
)
def test_an_expectation_is_a_part(expected: Manifest, found: Manifest, fits: bool) -> None:
    """Maps may hold more, lists may not; null is absence; types count."""
    assert matches(expected, found) is fits


@given(VALUES, VALUES)
def test_what_does_not_match_differs_where_it_was_asked_about(expected: Any, found: Any) -> None:
    """A failure never comes with an empty diff, and a success always would."""
    same = projected(expected, found) == expected and _types(projected(expected, found)) == _types(expected)
    if not _has_null(expected):
        assert matches(expected, found) is same


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(inner) for key, inner in value.items()}
    return [_types(inner) for inner in value] if isinstance(value, list) else type(value)


def _has_null(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_has_null, inner))


def test_a_diff_shows_what_was_asked_about_and_no_more() -> None:
    """In the order of the expectation, with - for what was expected and + for what is there."""
    expected = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "2", "a": "1"}}
    found = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "1", "b": "3", "c": "4"}}
    assert difference(expected, found).splitlines()[3:] == [
        " apiVersion: v1",
        " kind: ConfigMap",
        " data:",
        "-  b: '2'",
        "+  b: '3'",
        "   a: '1'",
    ]


def test_a_diff_says_that_nothing_is_there() -> None:
    """Instead of a diff against an empty map."""
    assert "+# it is not there" in difference({"kind": "ConfigMap"}, None)


def test_a_diff_shows_hashes_instead_of_secrets() -> None:
    """Neither what was expected nor what is there; stringData is compared with the data that the server makes of it."""
    secret = {"apiVersion": "v1", "kind": "Secret"}
    found = secret | {"data": {"key": "aHVzaC1mb3VuZA=="}, "metadata": {"annotations": {"copy": "hush-found"}}}
    wanted = secret | {"stringData": {"key": "hush-wanted"}, "metadata": {"annotations": {"copy": "hush-wanted"}}}
    text = difference(wanted, found)
    assert text.count("sha256:") == 4
    assert "hush" not in text
    assert "aHVzaC" not in text
    assert difference(secret | {"stringData": {"key": "hush-found"}}, found) == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("data.a", "1"),
        ("metadata.annotations[a.b/c]", "2"),
        ("spec.ports[1].port", 80),
        ("spec.ports[7].port", None),
        ("data.a.b", None),
        ("none", None),
    ],
)
def test_a_field_is_named_by_its_path(path: str, value: Any) -> None:
    """Keys with dots stand in brackets, as do positions."""
    manifest = {
        "data": {"a": "1"},
        "metadata": {"annotations": {"a.b/c": "2"}},
        "spec": {"ports": [{"port": 1}, {"port": 80}]},
    }
    assert field(manifest, path) == value


def test_the_managers_of_fields_are_those_of_all_entries() -> None:
    """By apply or by update; who owns a field together with others stands beside them."""
    entries = [
        {"manager": "b", "operation": "Apply", "fieldsV1": {"f:data": {"f:x": {}, "f:y": {}}}},
        {"manager": "a", "operation": "Update", "fieldsV1": {"f:data": {".": {}, "f:x": {}}}},
    ]
    assert managers({"metadata": {"managedFields": entries}}) == {"data.x": ("a", "b"), "data.y": ("b",)}
