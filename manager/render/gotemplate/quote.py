"""Go's quoted strings and characters, written and read (strconv)."""

import unicodedata
from typing import Final

from manager.render.gotemplate.value import encoded, string

_NAMED: Final = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}
_ESCAPES: Final = {name: char for char, name in _NAMED.items()} | {"\\": "\\"}
_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
_BYTES: Final = range(0xDC80, 0xDD00)  # bytes that are no UTF-8 stand as these (`surrogateescape`)


class Malformed(ValueError):
    """A literal that Go does not read; the text is Go's."""

    def __init__(self, message: str = "invalid syntax") -> None:
        super().__init__(message)


def printable(char: str) -> bool:
    """Can it be seen? As Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space."""
    return char == " " or unicodedata.category(char)[0] in "LMNPS"


def quote(text: str, mark: str = '"', *, ascii: bool = False) -> str:
    """The literal between `mark`s; with `ascii`, all else is escaped."""
    return f"{mark}{''.join(_escaped(char, mark, ascii=ascii) for char in text)}{mark}"


def _escaped(char: str, mark: str, *, ascii: bool) -> str:
    code = ord(char)
    if char in (mark, "\\"):
        return f"\\{char}"
    if printable(char) and (code < 0x80 or not ascii):
        return char
    if char in _NAMED:
        return f"\\{_NAMED[char]}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if code in _BYTES:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def raw_quotable(text: str) -> bool:
    """Can it stand between backquotes unchanged?"""
    return all(char not in "`\x7f\ufeff" and (char >= " " or char == "\t") and ord(char) not in _BYTES for char in text)


def unquote(literal: str) -> str:
    """The string that a literal between double or back quotes stands for. Raises Malformed."""
    inside = literal[1:-1]
    if literal[0] == "`":
        return inside.replace("\r", "")
    if "\\" not in inside:
        return inside
    made, at = bytearray(), 0
    while at < len(inside):
        char, is_byte, at = unquote_char(inside, at, '"')
        made += bytes([char]) if is_byte else encoded(chr(char))
    return string(bytes(made))


def unquote_char(text: str, at: int, mark: str) -> tuple[int, bool, int]:
    """The character or byte at a place inside a literal, whether it is a byte, and where the next one is. Raises Malformed."""
    if text[at : at + 1] in ("", mark, "\n"):
        raise Malformed
    if text[at] != "\\":
        return ord(text[at]), False, at + 1
    kind, after = text[at + 1 : at + 2], at + 2
    if kind in _ESCAPES:
        return ord(_ESCAPES[kind]), False, after
    if kind and kind in "'\"":
        if kind != mark:
            raise Malformed
        return ord(kind), False, after
    if kind in _DIGITS:
        end = after + _DIGITS[kind]
        code = _number(text[after:end], 16, _DIGITS[kind])
        if kind != "x" and (code > 0x10FFFF or 0xD800 <= code < 0xE000):
            raise Malformed
        return code, kind == "x", end
    code = _number(text[at + 1 : at + 4], 8, 3)
    if code > 255:
        raise Malformed
    return code, True, at + 4


def _number(digits: str, base: int, count: int) -> int:
    allowed = "0123456789abcdefABCDEF" if base == 16 else "01234567"
    if len(digits) != count or any(digit not in allowed for digit in digits):
        raise Malformed
    return int(digits, base)


__all__ = ["Malformed", "printable", "quote", "raw_quotable", "unquote", "unquote_char"]
