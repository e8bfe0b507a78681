"""Base64 and the steps of JSON pointers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError
from policy.cel.ext import encoders
from tests.policy.cel.ext.evaluation import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('base64.decode("aGVsbG8=")', b"hello"),
        ('base64.decode("aGVsbG8")', b"hello"),
        (r'base64.decode("aGVs\nbG8=")', b"hello"),
        ('base64.decode("")', b""),
        ('base64.encode(b"hello")', "aGVsbG8="),
        ('jsonpatch.escapeKey("k8s.io/my~label")', "k8s.io~1my~0label"),
    ],
)
def test_an_encoder_gives_a_value(text: str, value: object) -> None:
    """Padding may be missing."""
    assert evaluate(text) == value


@pytest.mark.parametrize("text", ["a", "aGVsbG8==", "a b=", "aGVsbG8=x", "=", "-_-_", "é"])
def test_what_is_no_base64_is_an_error(text: str) -> None:
    """Wrong letters, wrong length, wrong padding."""
    with pytest.raises(CelError, match="no base64"):
        evaluate("base64.decode(text)", {"text": text})


@given(st.binary(max_size=40))
def test_bytes_come_back(value: bytes) -> None:
    """With their padding and without."""
    text = encoders.encode(Budget(), value)
    assert encoders.decode(Budget(), text) == encoders.decode(Budget(), text.rstrip("=")) == value
