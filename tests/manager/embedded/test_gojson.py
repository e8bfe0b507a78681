"""The faults of JSON in Go's words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.embedded.gojson import DEEPEST, fault

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b"nonsense", "invalid character 'o' in literal null (expecting 'u')"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"{1:2}", "invalid character '1' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'"\x01"', "invalid character '\\x01' in string literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"[" * (DEEPEST + 1), "invalid character '[' exceeded max depth"),
    ],
)
def test_a_fault_is_told_as_go_tells_it(text: bytes, said: str) -> None:
    """The first fault, and the character at which it was seen."""
    assert fault(text) == said


@given(VALUES)
def test_json_has_no_fault(value: object) -> None:
    """Whatever Python writes as JSON is JSON."""
    assert fault(json.dumps(value).encode()) == ""
    assert fault(json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")) == ""


@given(st.binary(max_size=20))
def test_any_bytes_are_judged(text: bytes) -> None:
    """Python and Go agree about what is JSON, but for NaN and its kin, and for characters that are none."""
    try:
        json.loads(text)
    except UnicodeDecodeError:
        return
    except json.JSONDecodeError:
        # Python sees a byte order mark as what it is.
        assert fault(text)
    else:
        assert fault(text) == "" or b"N" in text or b"I" in text or text[:3] == b"\xef\xbb\xbf" or b"\0" in text
