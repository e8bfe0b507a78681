"""Go durations become seconds; the same words as the API server takes (`test_served.py`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.duration import seconds


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0", 0),
        ("0s", 0),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5h", 1800),
        ("1.h", 3600),
        ("90s", 90),
        ("1m1s", 61),
        ("1s1m", 61),
        ("1500ms", 1.5),
        ("250us", 250e-6),
        ("250µs", 250e-6),
        ("250μs", 250e-6),
        ("7ns", 7e-9),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_a_go_duration_is_a_number_of_seconds(text: str, length: float) -> None:
    """Units add up in any order."""
    assert seconds(text) == pytest.approx(length)


@pytest.mark.parametrize(
    "text", ["", "10", "-1s", "+1s", "1d", "1w", "1h 30m", " 1h", "1h\n", "1H", "s", ".s", "1..5h", "\uff11h"]
)
def test_anything_else_is_refused_with_the_remedy(text: str) -> None:
    """Days, signs, blanks and digits of other scripts."""
    with pytest.raises(ValueError, match=r"such as 10m, 1h30m or 0s.*days and weeks as hours"):
        seconds(text)


def test_what_go_cannot_hold_is_refused() -> None:
    """Go counts nanoseconds in 64 bits."""
    with pytest.raises(ValueError, match="292 years"):
        seconds("2562048h")


@given(st.integers(0, 1000), st.integers(0, 59), st.integers(0, 59))
def test_the_parts_add_up(hours: int, minutes: int, rest: int) -> None:
    """What Go prints is read back."""
    assert seconds(f"{hours}h{minutes}m{rest}s") == hours * 3600 + minutes * 60 + rest
