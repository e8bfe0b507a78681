"""Unicode as Go's package of that name sees it: one character becomes one character, and bytes that are no text become U+FFFD."""

import unicodedata
from typing import Final

SPACES: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_NO_TEXT: Final = dict.fromkeys(range(56448, 56576), 65533)


def runes(text: str) -> str:
    """The text without the bytes that are none."""
    return text if text.isascii() else text.translate(_NO_TEXT)


def upper(text: str) -> str:
    """Upper case."""
    return text.upper() if text.isascii() else "".join(map(upper_one, runes(text)))


def lower(text: str) -> str:
    """Lower case."""
    return text.lower() if text.isascii() else "".join(map(lower_one, runes(text)))


def upper_one(character: str) -> str:
    """Upper case of one character; some would become two, and stay what they are or become what begins a title."""
    for made in (character.upper(), character.title()):
        if len(made) == 1:
            return made
    return character


def lower_one(character: str) -> str:
    """Lower case of one character."""
    return character.lower()[0]  # only the dotted capital I has a second one: the dot


def title_one(character: str) -> str:
    """The letter as it begins a title."""
    made = character.title()
    return made if len(made) == 1 else character


def is_upper(character: str) -> bool:
    """An upper-case letter?"""
    return unicodedata.category(character) == "Lu"


def is_lower(character: str) -> bool:
    """A lower-case letter?"""
    return unicodedata.category(character) == "Ll"


def is_title(character: str) -> bool:
    """A letter for titles, such as the one of two letters?"""
    return unicodedata.category(character) == "Lt"


def is_letter(character: str) -> bool:
    """A letter?"""
    return character.isalpha()


def is_number(character: str) -> bool:
    """A digit or another number?"""
    return unicodedata.category(character)[0] == "N"


def is_digit(character: str) -> bool:
    """A decimal digit?"""
    return unicodedata.category(character) == "Nd"


def is_punctuation(character: str) -> bool:
    """Punctuation? Symbols are none."""
    return unicodedata.category(character)[0] == "P"
