"""Regular expressions, in RE2 as in Go, matched over bytes in linear time."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from manager.render.gotemplate.bounds import LONGEST, Budget
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Function, Functions
from manager.render.gotemplate.quote import quote, raw_quotable
from manager.render.gotemplate.sprig.letters import runes
from manager.render.gotemplate.sprig.table import INT, STRING, growing
from manager.render.gotemplate.value import Slice, encoded, string, strings

MEMORY: Final = 1 << 20  # bytes that one compiled pattern may take
SOURCE: Final = 1024  # bytes of a pattern
SMALL: Final = 64  # states of a pattern for which RE2 hardly ever needs more than a look at each byte
STEPS: Final = 8192  # states of a small pattern times bytes of a text that count as one step
STEPS_LARGE: Final = 512  # the same for a large one, which may take a look at each state for each byte
_REFERENCE: Final = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))?")
_SPECIAL: Final = frozenset(r"\.+*?()|[]{}^$")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, of which `program` is what `re2` makes of it."""

    source: str
    program: Any

    def find(self, budget: Budget, data: bytes) -> Iterator[Any]:
        """The matches from the left; an empty one counts only where no other has just ended."""
        at, end, states = 0, -1, int(self.program.programsize)
        while at <= len(data):
            # All that follows, although most searches stop at their match: there are patterns that have it look further.
            budget.step(1 + (len(data) - at) * states // (STEPS if states <= SMALL else STEPS_LARGE))
            found = self.program.search(data, at)
            if found is None:
                return
            if found.end() > found.start() or found.start() != end:
                yield found
            end = found.end()
            at = end if end > at else at + _width(data, at)


def _width(data: bytes, at: int) -> int:
    """Bytes of the character there; 1 for a byte that is none, and at the end."""
    length = next((size for size, least in ((4, 0xF0), (3, 0xE0), (2, 0xC0)) if data[at : at + 1] >= bytes([least])), 1)
    try:
        data[at : at + length].decode()
    except UnicodeDecodeError:
        return 1
    return length


def pattern(budget: Budget, source: str) -> Pattern:
    """The compiled pattern. Raises CallError with a text like Go's."""
    budget.step(len(source))
    if len(source) > SOURCE:
        raise CallError(f"error parsing regexp: a pattern has at most {SOURCE} characters")
    return _compiled(source)


@lru_cache(maxsize=128)
def _compiled(source: str) -> Pattern:
    import re2  # type: ignore[import-untyped]  # with the first pattern: most templates have none

    if runes(source) != source:
        raise CallError(f"error parsing regexp: invalid UTF-8: `{source}`")
    if _any_byte(source):
        raise CallError(r"error parsing regexp: invalid escape sequence: `\C`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        return Pattern(source, re2.compile(encoded(source), options))
    except re2.error as error:
        said = error.args[0] if error.args else ""
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise CallError(f"error parsing regexp: {_reason(reason)}") from None


def _any_byte(source: str) -> bool:
    """Is there a `\\C`, which stands for half a character?"""
    return "\\C" in source.replace("\\\\", "")


_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}


def _reason(said: str) -> str:
    """RE2's words as Go puts them: `missing ): (` as ``missing closing ): `(` ``."""
    what, _, where = said.partition(": ")
    return f"{_WORDS.get(what, what)}: `{where}`"


def _must(budget: Budget, source: str) -> Pattern:
    """The pattern, with what Go panics with where there is none."""
    try:
        return pattern(budget, source)
    except CallError as error:
        raise CallError(f"regexp: Compile({_shown(source)}): {error.message}") from None


def _shown(source: str) -> str:
    return f"`{source}`" if raw_quotable(source) else quote(source)


def _failing(name: str, call: Callable[..., Any], *takes: str) -> Function:
    """A function that answers an error over a pattern that is none."""

    def failing(budget: Budget, source: str, *arguments: Any) -> Any:
        return call(budget, pattern(budget, source), *arguments)

    return growing(name, failing, *takes)


def _twins(name: str, call: Callable[..., Any], *takes: str) -> tuple[Function, Function]:
    """The function that panics over a pattern that is none, and the one that answers an error."""

    def panicking(budget: Budget, source: str, *arguments: Any) -> Any:
        return call(budget, _must(budget, source), *arguments)

    return growing(name, panicking, *takes), _failing(f"must{name[0].upper()}{name[1:]}", call, *takes)


def _match(budget: Budget, regex: Pattern, text: str) -> bool:
    return next(regex.find(budget, encoded(text)), None) is not None


def _match_quietly(budget: Budget, source: str, text: str) -> bool:
    try:
        regex = pattern(budget, source)
    except CallError:
        return False
    return _match(budget, regex, text)


def _first(budget: Budget, regex: Pattern, text: str) -> str:
    found = next(regex.find(budget, encoded(text)), None)
    return string(found.group()) if found else ""


def _spans(budget: Budget, regex: Pattern, data: bytes, most: int) -> Iterator[tuple[int, int]]:
    for number, found in enumerate(regex.find(budget, data)):
        if number == most:
            return
        yield found.span()


def _all(budget: Budget, regex: Pattern, text: str, most: int) -> Slice:
    data = encoded(text)
    found = strings(string(data[start:end]) for start, end in _spans(budget, regex, data, most))
    return found or Slice(element=STRING, nil=True)


def _split(budget: Budget, regex: Pattern, text: str, most: int) -> Slice:
    if most == 0:
        return Slice(element=STRING, nil=True)
    data = encoded(text)
    if regex.source and not data:
        return strings([""])
    parts: list[str] = []
    begin = end = 0
    for start, stop in _spans(budget, regex, data, most):
        if most > 0 and len(parts) == most - 1:
            break
        end = start
        if stop != 0:
            parts.append(string(data[begin:end]))
        begin = stop
    if end != len(data):
        parts.append(string(data[begin:]))
    return strings(parts)


def _replace_literally(budget: Budget, regex: Pattern, text: str, replacement: str) -> str:
    return _filled(budget, regex, text, [encoded(replacement)])


def _replace(budget: Budget, regex: Pattern, text: str, replacement: str) -> str:
    return _filled(budget, regex, text, _template(replacement))


def _filled(budget: Budget, regex: Pattern, text: str, parts: list[bytes | str]) -> str:
    """The text with the parts for each match: bytes as they are, strings as names of groups."""
    groups = dict(regex.program.groupindex)
    data = encoded(text)
    pieces: list[bytes] = []
    size = last = 0
    for found in regex.find(budget, data):
        budget.step(len(parts))
        made = (part if isinstance(part, bytes) else _group(found, groups, part) for part in parts)
        pieces += [data[last : found.start()], *made]
        size += sum(map(len, pieces[-1 - len(parts) :]))
        if size > LONGEST:
            break
        last = found.end()
    budget.take(size)
    return string(b"".join([*pieces, data[last:]]))


def _group(found: Any, groups: dict[Any, int], name: str) -> bytes:
    number = int(name) if name.isdecimal() and len(name) < 10 else groups.get(name, groups.get(name.encode(), -1))
    if not 0 <= number <= found.re.groups:
        return b""
    return bytes(found.group(number) or b"")


def _template(text: str) -> list[bytes | str]:
    """A replacement taken apart: text as bytes, names of groups (`$1`, `${name}`) as strings."""
    parts: list[bytes | str] = []
    last = 0
    for found in _REFERENCE.finditer(text):
        parts.append(encoded(text[last : found.start()]))
        name = found[1] or found[2]
        parts.append(name or b"$")
        last = found.end()
    return [*parts, encoded(text[last:])]


def _quoted(budget: Budget, text: str) -> str:
    budget.take(2 * len(text))
    budget.step(len(text))
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        growing("regexMatch", _match_quietly, STRING, STRING),
        _failing("mustRegexMatch", _match, STRING, STRING),
        *_twins("regexFind", _first, STRING, STRING),
        *_twins("regexFindAll", _all, STRING, STRING, INT),
        *_twins("regexReplaceAll", _replace, STRING, STRING, STRING),
        *_twins("regexReplaceAllLiteral", _replace_literally, STRING, STRING, STRING),
        *_twins("regexSplit", _split, STRING, STRING, INT),
        growing("regexQuoteMeta", _quoted, STRING),
    )
}
