"""Base64 as Go reads it: the standard alphabet with padding; line ends are skipped and nothing else."""

import base64
import binascii

WRONG = "illegal base64 data"
"""How Go begins to complain."""


class NotBase64(ValueError):
    """A text that is no base64; the message is Go's."""


def canonical(text: str) -> str:
    """The same bytes without line ends. Raises NotBase64."""
    bare = text.replace("\r", "").replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(bare, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise NotBase64(f"{WRONG} at input byte {_fault(text)}") from None


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _fault(text: str) -> int:
    """The offset that Go names: of a stray character, of padding at a wrong place, or of the group that is not finished."""
    place = 0
    for index, char in enumerate(text):
        if char in "\r\n":
            continue
        if char in _ALPHABET:
            place = (place + 1) % 4
        elif char != "=" or place < 2:
            return index
        else:
            return _padding_fault(text, index + 1, second=place == 2)
    return len(text) - place


def _padding_fault(text: str, index: int, *, second: bool) -> int:
    index = _past_line_ends(text, index)
    if not second or index == len(text):
        return index
    return _past_line_ends(text, index + 1) if text[index] == "=" else index - 1


def _past_line_ends(text: str, index: int) -> int:
    while index < len(text) and text[index] in "\r\n":
        index += 1
    return index
