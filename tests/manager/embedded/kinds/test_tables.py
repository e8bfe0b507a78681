"""Cells of tables: ages, and the columns of definitions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from manager.embedded.kinds.tables import age, custom, duration
from manager.embedded.served import Column

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (2 * 86400, "2d"),
        (2 * 86400 + 3600, "2d1h"),
        (8 * 86400, "8d"),
        (730 * 86400 - 1, "729d"),
        (730 * 86400, "2y"),
        (731 * 86400, "2y1d"),
        (8 * 365 * 86400, "8y"),
    ],
)
def test_a_span_has_two_units_at_most(seconds: int, shown: str):
    """As `kubectl get` shows ages."""
    assert duration(seconds) == shown


def test_what_has_no_time_has_no_age():
    """A null or missing time is unknown."""
    assert age(None, NOW) == age("", NOW) == "<unknown>"


@pytest.mark.parametrize(
    ("type_", "value", "cell"),
    [
        ("string", "text", "text"),
        ("string", 7, "7"),
        ("string", True, "true"),
        ("string", 1.5, "1.5"),
        ("string", None, "<no value>"),
        ("string", {"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
        ("string", [], "[]"),
        ("integer", 7, 7),
        ("integer", 1.5, 1),
        ("integer", "7", None),
        ("number", 7, 7),
        ("number", 1.5, 1.5),
        ("boolean", True, True),
        ("boolean", 7, None),
        ("date", "2025-12-31T23:59:55Z", "5s"),
        ("date", "yesterday", "<invalid>"),
        ("date", 7, None),
    ],
)
def test_a_column_shows_values_of_its_type(type_: str, value: Any, cell: Any):
    """What does not fit is not shown."""
    obj = {"metadata": {"name": "x"}, "spec": {"a": value}}
    assert custom([Column("Name"), Column("A", type_, ".spec.a")], obj, NOW) == ["x", cell]


def test_a_column_shows_nothing_where_nothing_is():
    """And the first value where there are many."""
    columns = [Column("A", "string", ".spec.a"), Column("B", "string", ".spec.b[*]")]
    assert custom(columns, {"metadata": {"name": "x"}, "spec": {"b": ["one", "two"]}}, NOW) == [None, "one"]


def test_ages_are_those_of_the_given_time():
    """Time is a parameter."""
    assert age("2025-12-31T00:00:00Z", NOW + timedelta(hours=1)) == "25h"
