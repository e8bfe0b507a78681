"""Functions over strings: parts, places, letters, joining, quoting, as in cel-go's `ext.Strings`; places count characters."""

from collections.abc import Sequence
from typing import Any, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.ext.formatting import formatted
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import DYN, INT, STRING, list_of

SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What `trim` takes away: Unicode's White_Space. Python's own `strip` takes four control characters more."""

_KEEP = "surrogatepass"
_ESCAPES = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
    | {chr(code): "\ufffd" for code in range(0xD800, 0xE000)}
)
PART = 4  # units for a part of a text, which takes more memory than its characters
_SHORT = 256  # below it a search backwards is quick whatever it looks for


def char_at(text: str, index: int) -> str:
    """The character at `index`; the place behind the last one holds an empty text."""
    if not 0 <= index <= len(text):
        raise CelError("the index is out of range")
    return text[index : index + 1]


def index_of(budget: Budget, text: str, wanted: str, start: int = 0) -> int:
    """Where `wanted` begins, at `start` or later; -1 when it does not occur, `start` when it is empty.

    Behind the end the specification has an error, where the API server says -1.
    """
    if not wanted:
        return start
    if not 0 <= start <= len(text):
        raise CelError("the index is out of range")
    budget.read(len(text) + len(wanted))
    return text.find(wanted, start)


def last_index_of(budget: Budget, text: str, wanted: str) -> int:
    """Where `wanted` begins for the last time; -1 when it does not occur."""
    return last_index_of_until(budget, text, wanted, max(len(text) - 1, 0)) if wanted else len(text)


def last_index_of_until(budget: Budget, text: str, wanted: str, start: int) -> int:
    """Where `wanted` begins for the last time at `start` or before; `start` itself when it is empty."""
    if not wanted:
        return start
    if not 0 <= start <= len(text):
        raise CelError("the index is out of range")
    if start == len(text):
        return -1
    budget.read(len(text) + len(wanted))
    if len(wanted) < _SHORT:
        return text.rfind(wanted, 0, start + len(wanted))
    # Python searches backwards in quadratic time at worst, and forwards in linear time.
    budget.grow(len(text) + len(wanted))
    found = text[: start + len(wanted)][::-1].find(wanted[::-1])
    return -1 if found < 0 else min(start + len(wanted), len(text)) - found - len(wanted)


def lower_ascii(budget: Budget, text: str) -> str:
    """The letters A to Z made small."""
    budget.grow(2 * len(text))
    return text.encode(errors=_KEEP).lower().decode(errors=_KEEP)  # of bytes, Python takes the letters of ASCII alone


def upper_ascii(budget: Budget, text: str) -> str:
    """The letters a to z made large."""
    budget.grow(2 * len(text))
    return text.encode(errors=_KEEP).upper().decode(errors=_KEEP)


def replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    """`new` for each `old`, at most `limit` times unless it is negative. An empty `old` is between all characters."""
    budget.read(len(text))
    found = text.count(old)
    times = found if limit < 0 else min(found, limit)
    budget.grow(len(text) + times * max(len(new) - len(old), 0))
    return text.replace(old, new, times)


def split(budget: Budget, text: str, separator: str, limit: int = -1) -> list[str]:
    """The parts between separators, at most `limit` unless it is negative. Without a separator: the characters."""
    if limit == 0:
        return []
    budget.read(len(text))
    parts = text.count(separator) + 1 if separator else len(text)
    parts = parts if limit < 0 else min(parts, limit)
    budget.charge(PART * parts)
    budget.grow(len(text))
    if separator:
        return text.split(separator, parts - 1)
    return [*text[: parts - 1], text[parts - 1 :]] if parts else []


def substring(budget: Budget, text: str, start: int) -> str:
    """The characters from `start` on."""
    return substring_between(budget, text, start, len(text))


def substring_between(budget: Budget, text: str, start: int, end: int) -> str:
    """The characters from `start` up to and without `end`."""
    if start > end:
        raise CelError("a substring cannot end before it starts")
    if start < 0 or end > len(text):
        raise CelError("the index is out of range")
    budget.grow(end - start)
    return text[start:end]


def trim(budget: Budget, text: str) -> str:
    """Without white space at both ends."""
    budget.grow(len(text))
    return text.strip(SPACES)


def reverse(budget: Budget, text: str) -> str:
    """The characters in the other order."""
    budget.grow(len(text))
    return text[::-1]


def join(budget: Budget, parts: Sequence[Any], separator: str = "") -> str:
    """The strings of a list as one."""
    budget.charge(len(parts))
    if not all(isinstance(part, str) for part in parts):
        raise CelError("only strings can be joined")
    budget.grow(sum(map(len, parts)) + len(separator) * max(len(parts) - 1, 0))
    return separator.join(parts)


def quote(budget: Budget, text: str) -> str:
    """In double quotes, with the escapes that CEL reads back."""
    budget.grow(2 * len(text) + 2)
    return f'"{text.translate(_ESCAPES)}"'


_TEXT_INT = (STRING, STRING, INT)

LIBRARY = Library(
    "strings",
    functions=(
        Function("charAt", member((STRING, INT), STRING, char_at)),
        Function("format", member((STRING, list_of(DYN)), STRING, formatted, budget=True)),
        Function(
            "indexOf",
            member((STRING, STRING), INT, index_of, budget=True),
            member(_TEXT_INT, INT, index_of, budget=True),
        ),
        Function(
            "join",
            member((list_of(STRING),), STRING, join, budget=True),
            member((list_of(STRING), STRING), STRING, join, budget=True),
        ),
        Function(
            "lastIndexOf",
            member((STRING, STRING), INT, last_index_of, budget=True),
            member(_TEXT_INT, INT, last_index_of_until, budget=True),
        ),
        Function("lowerAscii", member((STRING,), STRING, lower_ascii, budget=True)),
        Function(
            "replace",
            member((STRING, STRING, STRING), STRING, replace, budget=True),
            member((STRING, STRING, STRING, INT), STRING, replace, budget=True),
        ),
        Function("reverse", member((STRING,), STRING, reverse, budget=True)),
        Function(
            "split",
            member((STRING, STRING), list_of(STRING), split, budget=True),
            member(_TEXT_INT, list_of(STRING), split, budget=True),
        ),
        Function("strings.quote", globally((STRING,), STRING, quote, budget=True)),
        Function(
            "substring",
            member((STRING, INT), STRING, substring, budget=True),
            member((STRING, INT, INT), STRING, substring_between, budget=True),
        ),
        Function("trim", member((STRING,), STRING, trim, budget=True)),
        Function("upperAscii", member((STRING,), STRING, upper_ascii, budget=True)),
    ),
)
