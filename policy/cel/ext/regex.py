"""Finding by regular expressions: `find` and `findAll` of Kubernetes, `regex.*` of cel-go; RE2, in linear time."""

from collections.abc import Iterator
from typing import Any, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally, member
from policy.cel.regex import ready
from policy.cel.types import INT, STRING, list_of, optional_of
from policy.cel.values import ABSENT, Optional

MATCH: Final = 60  # units for one match


def find(budget: Budget, text: str, source: str) -> str:
    """What the pattern matches first, or an empty text."""
    return next(iter(find_all(budget, text, source, 1)), "")


def find_all(budget: Budget, text: str, source: str, limit: int = -1) -> list[str]:
    """All that the pattern matches, at most `limit` unless that is negative."""
    found = _matches(budget, ready(budget, text, source), text, limit)
    return [match[0].decode() for match in found]


def extract(budget: Budget, text: str, source: str) -> Optional:
    """What the pattern matches first (its group, if it has one); absent without a match or with an empty group."""
    compiled = _one_group(budget, text, source)
    found = next(_matches(budget, compiled, text, 1), None)
    if found is None or (compiled.groups and not found[1]):
        return ABSENT
    return Optional(True, found[compiled.groups].decode())


def extract_all(budget: Budget, text: str, source: str) -> list[str]:
    """All that the pattern matches (its group, if it has one), without empty groups."""
    compiled = _one_group(budget, text, source)
    parts = [found[compiled.groups] or b"" for found in _matches(budget, compiled, text, -1)]
    return [part.decode() for part in parts if part or not compiled.groups]


def replace(budget: Budget, text: str, source: str, replacement: str, limit: int = -1) -> str:
    r"""`replacement` for each match, at most `limit` unless that is negative; `\1` is a group, `\\` a backslash."""
    if limit > 2**31 - 1:
        raise CelError("integer overflow")
    compiled = ready(budget, text, source, groups=True)
    pieces = _pieces(replacement, compiled.groups) if limit else []
    raw = text.encode()
    parts: list[bytes] = []
    end = 0
    for found in _matches(budget, compiled, text, limit):
        parts.append(raw[end : found.start()])
        for piece in pieces:
            part = piece.encode() if isinstance(piece, str) else found[piece] or b""
            budget.grow(len(part))
            parts.append(part)
        end = found.end()
    budget.grow(len(raw))
    return b"".join([*parts, raw[end:]]).decode()


def _matches(budget: Budget, compiled: Any, text: str, limit: int) -> Iterator[Any]:
    """The matches that Go would find, in the bytes of the text: an empty one right behind another is none."""
    end, count, raw = -1, 0, text.encode()
    if limit == 0:
        return
    for found in compiled.finditer(raw):
        budget.charge(MATCH)
        start = found.start()
        # Behind an empty match it goes on with the next byte, which may lie within a character.
        if found.end() == start and (start == end or (start < len(raw) and raw[start] & 0xC0 == 0x80)):
            continue
        end = found.end()
        budget.grow(end - start)
        yield found
        count += 1
        if count == limit:
            return


def _one_group(budget: Budget, text: str, source: str) -> Any:
    compiled = ready(budget, text, source, groups=True)
    if compiled.groups > 1:
        raise CelError("the regular expression has more than one group")
    return compiled


def _pieces(replacement: str, groups: int) -> list[str | int]:
    """A replacement as texts and numbers of groups."""
    head, *rest = replacement.split("\\")
    pieces: list[str | int] = [head]
    escaped = False
    for part in rest:
        if escaped:  # the part behind an escaped backslash
            escaped = False
            pieces.append(part)
        elif part == "":
            escaped = True
            pieces.append("\\")
        elif part[0] not in "0123456789" or int(part[0]) > groups:
            raise CelError("in a replacement, a backslash stands before another one or before the number of a group")
        else:
            pieces += [int(part[0]), part[1:]]
    if escaped:
        raise CelError("a replacement does not end with a backslash")
    return pieces


_FIND = (STRING, STRING)

LIBRARY = Library(
    "regex",
    functions=(
        Function("find", member(_FIND, STRING, find, budget=True)),
        Function(
            "findAll",
            member(_FIND, list_of(STRING), find_all, budget=True),
            member((STRING, STRING, INT), list_of(STRING), find_all, budget=True),
        ),
        Function("regex.extract", globally(_FIND, optional_of(STRING), extract, budget=True)),
        Function("regex.extractAll", globally(_FIND, list_of(STRING), extract_all, budget=True)),
        Function(
            "regex.replace",
            globally((STRING, STRING, STRING), STRING, replace, budget=True),
            globally((STRING, STRING, STRING, INT), STRING, replace, budget=True),
        ),
    ),
)
