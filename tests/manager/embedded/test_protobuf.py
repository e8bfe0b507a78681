"""Bodies in protobuf become what their JSON would be."""

import struct

import pytest

from manager.embedded.protobuf import MAGIC, Malformed, read


def varint(value: int) -> bytes:
    """A number in base 128."""
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def inner(number: int, content: bytes | str) -> bytes:
    """A field with a length: text, bytes or a message."""
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    """An envelope around an object."""
    return MAGIC + inner(1, inner(1, api_version) + inner(2, kind)) + inner(2, raw)


def test_a_config_map() -> None:
    """Metadata, a map of texts, a map of bytes."""
    metadata = inner(1, "x") + inner(3, "default") + inner(8, b"") + inner(11, inner(1, "l") + inner(2, "1"))
    raw = inner(1, metadata) + inner(2, inner(1, "a") + inner(2, "b")) + inner(3, inner(1, "bin") + inner(2, b"\xff"))
    assert read(body("v1", "ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default", "creationTimestamp": None, "labels": {"l": "1"}},
        "data": {"a": "b"},
        "binaryData": {"bin": "/w=="},
    }


def test_times_quantities_and_numbers() -> None:
    """A time is seconds, a quantity a message around text, a port a number or text; negative numbers have ten bytes."""
    pod = inner(2, inner(3, "Always") + number(4, -5))
    assert read(body("v1", "Pod", pod))["spec"]["terminationGracePeriodSeconds"] == -5
    quota = inner(2, inner(1, inner(1, "cpu") + inner(2, inner(1, "500m"))))
    assert read(body("v1", "ResourceQuota", quota))["spec"]["hard"] == {"cpu": "500m"}
    port = inner(1, number(3, 80) + inner(4, number(1, 1) + inner(3, "http")))
    assert read(body("v1", "Service", inner(2, port)))["spec"]["ports"] == [{"port": 80, "targetPort": "http"}]
    metadata = inner(1, inner(8, number(1, 1_900_000_000)))
    assert read(body("v1", "ConfigMap", metadata))["metadata"]["creationTimestamp"] == "2030-03-17T17:46:40Z"


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"{}",
        MAGIC + inner(1, "x")[:-1],
        MAGIC + b"\x0f",
        body("v1", "Nonsense", b""),
        body("v1", "ConfigMap", inner(1, "x")[:-1]),
        body("v1", "ConfigMap", struct.pack("<B", 0x0D) + b"\0"),
        MAGIC + b"\xff" * 11,
    ],
)
def test_what_is_no_message_is_refused(wrong: bytes) -> None:
    """Whatever the bytes are, the answer is a refusal and no crash."""
    with pytest.raises(Malformed):
        read(wrong)
