"""Base64 between strings and bytes, as in cel-go's `ext.Encoders`: padding may be missing, other letters may not be there."""

import binascii
import re

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally
from policy.cel.types import BYTES, STRING

_ALPHABET = re.compile(r"[A-Za-z0-9+/]*(={0,2})")


def decode(budget: Budget, text: str) -> bytes:
    """The bytes that base64 stands for. Line ends are skipped. Raises CelError for what is no base64."""
    budget.grow(len(text))
    joined = text.replace("\n", "").replace("\r", "")
    found = _ALPHABET.fullmatch(joined)
    rest = len(joined) % 4
    if found is None or (rest != 0 if found[1] else rest == 1):
        raise CelError("the text is no base64")
    return binascii.a2b_base64(joined + "=" * (-rest % 4))


def encode(budget: Budget, value: bytes) -> str:
    """Base64 of the bytes, with padding."""
    budget.grow(len(value) // 3 * 4 + 4)
    return binascii.b2a_base64(value, newline=False).decode()


LIBRARY = Library(
    "encoders",
    functions=(
        Function("base64.decode", globally((STRING,), BYTES, decode, budget=True)),
        Function("base64.encode", globally((BYTES,), STRING, encode, budget=True)),
    ),
)
