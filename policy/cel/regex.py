"""Regular expressions in linear time: RE2 with a bounded cache, charged by the text and by what the pattern becomes."""

import re
from typing import Any, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError

MEMORY = 1 << 20  # bytes that one compiled pattern may take
LONGEST = 4096  # characters of a pattern
CACHED = 512
CLASSES = 64  # classes of Unicode (`\pL`) in a pattern: reading one takes RE2 0.1 ms
COMPILING = 500  # units for a new pattern, besides its length
STATE: Final = 20  # and for each of its states
TOO_LARGE: Final = 500_000  # units for finding out that a pattern takes more than MEMORY
STEPS: Final = 7  # states of a pattern times characters that take as long as a unit, at worst
SMALL: Final = 10  # states of which RE2 keeps every combination: it takes one step for a character whatever the pattern

_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")  # and not a C behind an escaped backslash


def pattern(text: str, *, groups: bool = False) -> Any:
    """The compiled pattern (an object of `re2`), with its groups only where they are asked for: they cost time.

    Raises CelError when the text is none.
    """
    found = _compiled.get((text, groups))
    if found is None:
        if len(text) > LONGEST:
            raise CelError(f"a regular expression has at most {LONGEST} characters")
        if len(_compiled) >= CACHED:
            _compiled.clear()  # an expression that makes ever new patterns; others compile theirs once more
        found = _compiled[text, groups] = _compile(text, groups)
    return found


_compiled: dict[tuple[str, bool], Any] = {}


class _TooLarge(CelError):
    """A pattern that RE2 worked on for long before it gave up."""


def _compile(text: str, groups: bool) -> Any:
    import re2  # type: ignore[import-untyped]  # with the first pattern: most expressions have none

    if _ANY_BYTE.search(text):
        raise CelError(r"a regular expression has no \C: half a character is no text")
    if text.count(r"\p") + text.count(r"\P") > CLASSES:
        raise CelError(f"a regular expression has at most {CLASSES} classes of Unicode")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    options.never_capture = not groups
    try:
        return re2.compile(text, options)
    except re2.error as error:
        kind = _TooLarge if "too large" in str(error) else CelError
        raise kind("the regular expression is malformed or too large") from error


def ready(budget: Budget, text: str, source: str, *, groups: bool = False) -> Any:
    """The pattern `source`, with all paid for that it takes to run over `text` once.

    To what Kubernetes weighs (a tenth times a quarter of the lengths) comes the size of a program that is not small: linear
    time is the length of the text times that, and `a{900}` has 900 states. A pattern that is not known yet is paid for,
    too; those that stand in an expression are known from its compilation on.
    """
    budget.charge((len(text) // 10 + 1) * (len(source) // 4 + 1))
    found = _compiled.get((source, groups)) or _new(budget, source, groups)
    if groups or found.programsize > SMALL:
        budget.charge(len(text) * int(found.programsize) // STEPS)
    return found


def _new(budget: Budget, source: str, groups: bool) -> Any:
    """A pattern that is not known yet, paid for by its length before and by its states afterwards: they are known only then."""
    budget.charge(COMPILING + 20 * len(source))
    try:
        found = pattern(source, groups=groups)
    except _TooLarge:
        budget.charge(TOO_LARGE)
        raise
    budget.charge(STATE * int(found.programsize))
    return found


def matches(budget: Budget, text: str, source: str) -> bool:
    """Does the pattern match somewhere in the text?"""
    return ready(budget, text, source).search(text) is not None
