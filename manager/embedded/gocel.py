"""What the real server's CEL library says, for what ours says of the same mistake: users know its words and search for them.

What is in no table is told as our compiler tells it. Messages of ours hold no values; those of cel-go sometimes do, and then
only the beginning is the same.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policy.cel.error import CelError

_TO = "type conversion error from 'string' to '{}'"
_DURATION, _TIMESTAMP = _TO.format("google.protobuf.Duration"), _TO.format("google.protobuf.Timestamp")

_RUNTIME: tuple[tuple[str, str], ...] = (
    (r"no such key: `(.*)`", r"no such key: \1"),
    (r"no such overload: .*|values of these types have no order", "no such overload"),
    (r"the integer overflows 64 bits", "integer overflow"),
    (r"the unsigned integer overflows 64 bits", "unsigned integer overflow"),
    (r"the double is out of the range of an int", "integer overflow"),
    (r"the double is out of the range of a uint", "unsigned integer overflow"),
    (r"the text is no duration as in 1h30m|the duration is out of range", _DURATION),
    (r"the text is no timestamp as in .*|the timestamp is out of range", _TIMESTAMP),
    (r"the text is no (int|uint|double|bool)", _TO.format(r"\1")),
    (r"an optional value that is absent has no value", "optional.none() dereference"),
)

STARTS = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
UNARY = {"!": "!_", "-": "-_"}
OPERATORS = {"in": "@in", "[]": "_[_]", "[?]": "_[?_]", "?:": "_?_:_"}
TYPES = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp", "null_type": "null"}


def failed(error: CelError) -> str:
    """Why an evaluation has no result."""
    for ours, theirs in _RUNTIME:
        found = re.fullmatch(ours, error.message, re.DOTALL)
        if found:
            return found.expand(theirs)
    return error.message


def refused(error: CelError, text: str) -> str:
    """Why a text is not compiled: each mistake with its line and a mark below the place."""
    return "\n".join(_issue(each, text) for each in (error, *error.others))


def _issue(error: CelError, text: str) -> str:
    lines = text.splitlines()
    line = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
    said = _said(error.message, _around(line, error.column - 1))
    column = max(1, error.column) + said.later
    return f"ERROR: <input>:{max(1, error.line)}:{column}: {said.message}\n | {line}\n | {'.' * (column - 1)}^"


@dataclass(frozen=True, slots=True)
class _Complaint:
    """A message as cel-go has it, and how many characters later than ours it points."""

    message: str
    later: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands around the place of an error: `member` after a dot, `later` as far as a parenthesis follows a name."""

    member: bool
    later: int


_NAMED = re.compile(r"\.?\w+\(")


def _around(line: str, at: int) -> _Place:
    found = _NAMED.match(line, at)
    return _Place(line[at : at + 1] == "." or line[at - 1 : at] == ".", found.end() - 1 - at if found else 0)


def _said(message: str, place: _Place) -> _Complaint:
    for ours, theirs in TYPES.items():
        message = message.replace(ours, theirs)
    for pattern, words in _COMPILED:
        found = pattern.fullmatch(message)
        if found is not None:
            return words(found, place)
    return _Complaint(message)


def _overload(found: re.Match[str], place: _Place) -> _Complaint:
    name, types = found[1], list(_parameters(found[2]))
    shown, given = name, f"({', '.join(types)})"
    if name == "in" or not name.replace(".", "").isidentifier():
        shown = UNARY.get(name, name) if len(types) == 1 else OPERATORS.get(name, f"_{name}_")
    elif place.member:
        given = f"{types[0]}.({', '.join(types[1:])})"
    return _Complaint(f"found no matching overload for '{shown}' applied to '{given}'", place.later)


def _parameters(types: str) -> Iterator[str]:
    """Types that are listed, each as it is written: `map(string, int)` is one."""
    depth = start = 0
    for at, character in enumerate(types):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            yield types[start:at].strip()
            start = at + 1
    yield types[start:].strip()


def _words(template: str, later: int = 0) -> Callable[[re.Match[str], _Place], _Complaint]:
    return lambda found, _: _Complaint(template.format(*found.groups()), later)


def _at_parenthesis(template: str) -> Callable[[re.Match[str], _Place], _Complaint]:
    """A call is where its parenthesis is."""
    return lambda found, place: _Complaint(template.format(*found.groups()), place.later)


def _argument(found: re.Match[str], place: _Place) -> _Complaint:
    """A literal that is converted is where it begins."""
    return _Complaint(f"invalid {found[1] or found[2]} argument", place.later + 1)


_COMPILED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], _Place], _Complaint]], ...] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (
            r"there is no (?:variable|function|method) `([^`]+)`.*",
            _at_parenthesis("undeclared reference to '{}' (in container '')"),
        ),
        (r"`([^`]+)` takes .*, not \((.*)\)", _overload),
        (r"(undefined field '.+')", _at_parenthesis("{}")),
        (r"a value of type (.+) has no fields", _at_parenthesis("type '{}' does not support field selection")),
        (
            r"`\w+` goes over a list or a map, and this is of type (.+)",
            _words("expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ),
        (
            r"(?:an operand of `.+`|the test of `.+`) has to be a bool, and this is of type (.+)",
            _words("expected type 'bool' but found '{}'"),
        ),
        (
            r"this is of type (.+), and what stands before it of type (.+): make .+ of them dyn\(\)",
            _words("expected type '{1}' but found '{0}'"),
        ),
        (
            r"after `\?` stands an optional value, and this is of type (.+)",
            _words("expected type 'optional_type({0})' but found '{0}'"),
        ),
        (r"the text is no (duration|timestamp) .*|the (duration|timestamp) is out of range", _argument),
        (r"the regular expression is malformed or too large", _words("invalid matches argument")),
        (
            r"the syntax is wrong here: expected an expression, found the end",
            lambda _found, _place: _Complaint(f"Syntax error: mismatched input '<EOF>' expecting {STARTS}"),
        ),
        (
            r"the syntax is wrong here: expected an operator or the end, found `(.+)`",
            _words("Syntax error: extraneous input '{}' expecting <EOF>"),
        ),
        (r"`has` takes the selection of a field.*", _words("invalid argument to has() macro", 4)),
        (r"`\w+` takes a variable here: a name without a dot", _words("argument must be a simple name")),
        (r"the number does not fit in a signed integer of 64 bits", _words("invalid int literal")),
    )
)
