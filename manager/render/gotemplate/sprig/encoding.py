"""Base64 and Base32. What does not decode becomes the text of Go's error, as sprig has it."""

import base64
import re
from typing import Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig.table import STRING, growing, plain
from manager.render.gotemplate.value import encoded, string

_BASE64: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_LETTERS64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_LETTERS32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_PAD: Final = ord("=")
_NEWLINES: Final = b"\r\n"


def encode64(budget: Budget, text: str) -> str:
    """Base64 of the bytes."""
    data = encoded(text)
    budget.take(len(data) * 4 // 3 + 4)
    return base64.b64encode(data).decode()


def decode64(text: str) -> str:
    """The bytes behind Base64; newlines in it do not count."""
    data = encoded(text)
    bare = data.translate(None, _NEWLINES)
    if _BASE64.fullmatch(bare):
        return string(base64.b64decode(bare))
    return f"illegal base64 data at input byte {_wrong64(data)}"


def _wrong64(data: bytes) -> int:
    """Where Go's decoder gives up."""
    at = next((at for at, byte in enumerate(data) if byte not in _LETTERS64 and byte not in _NEWLINES), len(data))
    place = sum(byte not in _NEWLINES for byte in data[:at]) % 4  # within four letters
    if at == len(data):
        return at - place
    if data[at] != _PAD or place < 2:
        return at
    after = _behind_newlines(data, at + 1)
    if place == 2:
        if after == len(data):
            return after
        if data[after] != _PAD:
            return after - 1
        after = _behind_newlines(data, after + 1)
    return after


def _behind_newlines(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _NEWLINES:
        at += 1
    return at


def encode32(budget: Budget, text: str) -> str:
    """Base32 of the bytes."""
    data = encoded(text)
    budget.take(len(data) * 8 // 5 + 8)
    return base64.b32encode(data).decode()


def decode32(text: str) -> str:
    """The bytes behind Base32; newlines in it do not count."""
    data = encoded(text).translate(None, _NEWLINES)
    end = next((at for at, byte in enumerate(data) if byte not in _LETTERS32), len(data))
    wrong = _wrong32(data, end)
    if wrong is not None:
        return f"illegal base32 data at input byte {wrong}"
    return string(base64.b32decode(data[:end] + b"=" * (-end % 8)))


def _wrong32(data: bytes, end: int) -> int | None:
    """Where Go's decoder gives up over data of which letters go up to `end`; None where it does not."""
    place, left = end % 8, len(data) - end - 1
    if left < 0:
        return end - place if place else None
    if data[end] != _PAD or place < 2 or left >= 8:
        return end
    if left + place < 7:
        return len(data)
    for step in range(7 - place):
        if step < left and data[end + 1 + step] != _PAD:
            return end + step
    return end if place in (3, 6) else None


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        growing("b64enc", encode64, STRING),
        plain("b64dec", decode64, STRING),
        growing("b32enc", encode32, STRING),
        plain("b32dec", decode32, STRING),
    )
}
