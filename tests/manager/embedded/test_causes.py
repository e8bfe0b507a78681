"""Values as Go prints them: in messages, as JSON and quoted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded import causes, gostruct
from manager.embedded.status import Cause


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(1234567.5, "1.2345675e+06", id="from a million"),
        pytest.param(999999.5, "999999.5", id="below a million"),
        pytest.param(100000.0, "100000", id="a whole number"),
        pytest.param(1e20, "1e+20", id="a large one"),
        pytest.param(0.0001, "0.0001", id="a small one"),
        pytest.param(0.00001, "1e-05", id="a smaller one"),
        pytest.param(-20.5, "-20.5", id="below zero"),
        pytest.param(0.0, "0", id="zero"),
        pytest.param(float("inf"), "+Inf", id="infinite"),
    ],
)
def test_a_float_is_printed_as_go_prints_it(value: float, text: str) -> None:
    """With `%v`."""
    assert causes.general(value) == causes.printed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": [None, True]}, '{"a":[null,true],"b":1}', id="keys in order"),
        pytest.param("<a&b>\u2028", '"\\u003ca\\u0026b\\u003e\\u2028"', id="what HTML would mistake"),
        pytest.param(1e-7, "1e-7", id="a small number"),
        pytest.param(1e21, "1e+21", id="a large number"),
        pytest.param(2.0, "2", id="a whole number"),
        pytest.param(gostruct.rule({"rule": "true"}), None, id="a struct in its own order"),
    ],
)
def test_json_is_written_as_go_writes_it(value: Any, text: str | None) -> None:
    """Sorted, without spaces, safe in HTML; a struct keeps its order."""
    struct = '{"Rule":"true","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}'
    assert causes.to_json(value) == (struct if text is None else text)


JSON: st.SearchStrategy[Any] = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)


@given(JSON | st.dictionaries(st.text(), JSON))
def test_what_is_written_can_be_read(value: Any) -> None:
    """It is JSON, whatever else it is."""
    assert json.loads(causes.to_json(value)) == value


def test_text_is_quoted_as_go_quotes_it() -> None:
    """Printable letters of all scripts stay."""
    assert causes.quote('a"\\\n\x01\u00a0ä\U000e0001') == '"a\\"\\\\\\n\\x01\\u00a0ä\\U000e0001"'


def test_values_stand_in_messages_by_their_type() -> None:
    """Text quoted, numbers plain, everything else as JSON."""
    values: list[Any] = ["a", True, 1, 0.5, None, {"a": []}]
    assert [causes.shown(value) for value in values] == ['"a"', "true", "1", "0.5", "null", '{"a":[]}']
    assert causes.printed({"b": [None, "x"], "a": {}}) == "map[a:map[] b:[<nil> x]]"


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        pytest.param(causes.required("a"), "Required value", id="required"),
        pytest.param(causes.too_long("a", 1), "Too long: may not be more than 1 byte", id="too long"),
        pytest.param(causes.too_many("a", 3, 1), "Too many: 3: must have at most 1 item", id="too many"),
        pytest.param(
            causes.not_supported("a", "b", ["c", "d"]), 'Unsupported value: "b": supported values: "c", "d"', id="choice"
        ),
        pytest.param(causes.invalid("a", causes.OMITTED, "why"), "Invalid value: why", id="a value that is not shown"),
        pytest.param(causes.forbidden("a", "why"), "Forbidden: why", id="forbidden"),
        pytest.param(causes.internal("a", "why"), "Internal error: why", id="internal"),
        pytest.param(causes.duplicate("a", {"b": 1}), 'Duplicate value: {"b":1}', id="duplicate"),
    ],
)
def test_a_cause_says_what_the_server_says(cause: Cause, message: str) -> None:
    """Word by word."""
    assert (cause.message, cause.field) == (message, "a")
