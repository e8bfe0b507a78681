"""The digest: the same for the same snapshot however it is written, another one for any other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.permits.digest import digest
from policy.permits.snapshot import Snapshot
from tests.policy.permits.build import PODS, SECRETS, request, requested, snapshot

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def turned(value: Any) -> Any:
    """The same value, with the keys in the other order and whole numbers of the other type."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(list(value))}
    if isinstance(value, list):
        return [turned(each) for each in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=4),
    st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=2), max_size=2),
)
def test_it_does_not_depend_on_the_order_of_keys_or_on_how_a_whole_number_is_written(values: Any, rows: Any) -> None:
    """The server stores neither."""
    assert digest(values, rows, rows) == digest(turned(values), turned(rows), turned(rows))


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": "31m"},
        {"duration": None},
        {"startTime": "2026-08-31T12:00:00Z"},
        {"keepFor": "1d"},
        {"impersonation": {"namespace": "solar-prod", "name": "root"}},
        {"approvals": {"required": 1}},
        {"resources": []},
    ],
)
def test_whatever_is_approved_is_in_it(changes: dict[str, Any]) -> None:
    """Snapshot, account, rules, duration, start and retention."""
    assert digest(request(**changes), [], []) != digest(request(), [], [])


def test_grants_and_the_roles_behind_them_are_in_it() -> None:
    """And neither stands for the other."""
    known = {
        digest(request(), grants, roles)
        for grants, roles in (([], []), ([PODS], []), ([SECRETS], []), ([], [PODS]), ([PODS], [PODS]))
    }
    assert len(known) == 5


def test_neither_itself_nor_the_place_of_the_clear_values_is_in_it() -> None:
    """A status carries the digest of what it holds."""
    status = requested()
    assert status["request"]["digest"] == Snapshot.of(status).digest == snapshot().digest
    assert digest(request() | {"secret": "permit-x"}, [], []) == digest(request(), [], [])


def test_it_says_how_it_was_made() -> None:
    """This very text, so that others can make it too."""
    assert digest({"b": 1.0, "a": "ä"}, [], []) == "sha256:a14597ad11b52be5a24329b53e3588c4fdcb7851dc9142096fb7991d7e5f8a03"
