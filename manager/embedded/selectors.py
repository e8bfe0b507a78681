"""Which objects a request means: label and field selectors, as the API server reads them.

Grammar: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api. Messages are those of the server where
clients meet them; a selector that cannot be read is a 400.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apis.meta import Manifest
from manager.embedded.status import StatusError, bad_request

Test = Callable[[Mapping[str, str]], bool]
"""Does it hold for these labels?"""

_KEY = r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_TOKEN = re.compile(r"\s*(==|!=|=|!|<|>|\(|\)|,|[^\s=!<>(),]+)")
_OPERATORS = frozenset(("=", "==", "!=", "!", "<", ">", "(", ")"))
_LONGEST_VALUE = 63
_KEY_RULE = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def everything(_: Mapping[str, str]) -> bool:
    """The empty selector."""
    return True


@lru_cache(maxsize=1024)
def labels(text: str) -> Test:
    """Read a label selector. Raises 400."""
    if not text.strip():
        return everything
    tests = _Reader(text).requirements()
    return tests[0] if len(tests) == 1 else lambda found: all(test(found) for test in tests)


def of_object(item: Manifest, test: Test) -> bool:
    """Does a label selector hold for an object?"""
    return test is everything or test(item["metadata"].get("labels") or {})


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.about = ""

    def requirements(self) -> list[Test]:
        found = [self.requirement()]
        while self.peek() == ",":
            self.at += 1
            if self.peek() in (None, ","):
                raise bad_request(f"found '{self.peek() or ''}', expected: identifier after ','")
            found.append(self.requirement())
        if self.peek() is not None:
            raise bad_request(f"found '{self.peek()}', expected: ',' or 'end of string'")
        return found

    def requirement(self) -> Test:
        if self.peek() == "!":
            self.at += 1
            absent = self.key()
            return lambda found: absent not in found
        key = self.key()
        operator = self.peek()
        if operator in (None, ","):
            return lambda found: key in found
        self.at += 1
        match operator:
            case "=" | "==":
                value = self.value()
                return lambda found: found.get(key) == value
            case "!=":
                other = self.value()
                return lambda found: found.get(key) != other
            case "in":
                wanted = self.values()
                return lambda found: found.get(key) in wanted
            case "notin":
                unwanted = self.values()
                return lambda found: found.get(key) not in unwanted
            case "<" | ">":
                return self.compared(key, operator)
        raise _unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def compared(self, key: str, operator: str) -> Test:
        bound = self.value()
        if not re.fullmatch(r"-?\d+", bound):
            said = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _unreadable(f'values[0]: Invalid value: "{bound}": {said}')
        limit = int(bound)

        def test(found: Mapping[str, str]) -> bool:
            text = found.get(key, "")
            if not re.fullmatch(r"-?\d+", text):
                return False
            return int(text) > limit if operator == ">" else int(text) < limit

        return test

    def key(self) -> str:
        token = self.peek()
        if token in _OPERATORS or token in (None, ","):
            if self.at and self.tokens[self.at - 1] == "!":
                raise _unreadable(f"found '{token or ''}', expected: identifier")
            raise bad_request(f"found '{token or ''}', expected: !, identifier, or 'end of string'")
        if not re.fullmatch(_KEY, str(token)):
            raise _unreadable(f'<nil>: Invalid value: "{token}": {_KEY_RULE}')
        self.at += 1
        self.about = str(token)
        return self.about

    def value(self) -> str:
        token = self.peek()
        if token in (None, ","):
            return ""
        if token in _OPERATORS:
            raise _unreadable(f"found '{token}', expected: identifier")
        self.at += 1
        return self.checked(str(token))

    def values(self) -> frozenset[str]:
        if self.peek() != "(":
            raise _unreadable(f"found '{self.peek() or ''}' expected: '('")
        found: set[str] = set()
        while self.peek() != ")":
            self.at += 1
            token = self.peek()
            if token is None:
                raise _unreadable("found '', expected: ',', ')' or identifier")
            if token in (",", ")"):
                found.add("")
                continue
            found.add(self.checked(str(token)))
            self.at += 1
            if self.peek() not in (",", ")"):
                raise _unreadable(f"found '{self.peek() or ''}', expected: ',' or ')'")
        self.at += 1
        return frozenset(found)

    def checked(self, value: str) -> str:
        if len(value) > _LONGEST_VALUE:
            raise _unreadable(f'values[0][{self.about}]: Invalid value: "{value}": must be no more than {_LONGEST_VALUE} bytes')
        if not re.fullmatch(_VALUE, value):
            raise _unreadable(f'values[0][{self.about}]: Invalid value: "{value}": {_LABEL_RULE}')
        return value

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None


def _unreadable(why: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {why}")


def _tokens(text: str) -> list[str]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:  # nothing is left out: each character is a token or a part of one
            raise bad_request(f"unable to parse requirement: {text!r}")
        found.append(match[1])
        at = match.end()
    return found


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """`metadata.name=x` or `status.phase!=y`."""

    path: str
    value: str
    equal: bool


@lru_cache(maxsize=1024)
def fields(text: str, selectable: tuple[str, ...]) -> tuple[FieldTerm, ...]:
    """Read a field selector. `selectable` are the paths that the kind offers. Raises 400, also for a path that is not offered."""
    terms = tuple(_term(part) for part in _split(text, ",") if part)
    for term in terms:
        if term.path not in selectable:
            offered = ", ".join(f'"{path}"' for path in selectable)
            raise bad_request(f'"{term.path}" is not a known field selector: only {offered}')
    return terms


def matches(item: Manifest, terms: Sequence[FieldTerm]) -> bool:
    """Do all terms hold for an object?"""
    return all((field_value(item, term.path) == term.value) == term.equal for term in terms)


def field_value(item: Manifest, path: str) -> str:
    """The text of a field; "" where there is none."""
    at: Any = item
    for part in path.strip(".").split("."):
        at = at.get(part) if isinstance(at, dict) else None
    if at is None:
        return ""
    if isinstance(at, bool):
        return "true" if at else "false"
    return str(at)


def _term(part: str) -> FieldTerm:
    at, operator = _operator(part)
    if at < 0:
        raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    value = re.sub(r"\\([\\,=])", r"\1", part[at + len(operator) :])
    return FieldTerm(part[:at], value, operator != "!=")


def _operator(part: str) -> tuple[int, str]:
    at = 0
    while at < len(part):
        if part[at] == "\\":
            at += 2
            continue
        for operator in ("!=", "==", "="):
            if part.startswith(operator, at):
                return at, operator
        at += 1
    return -1, ""


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that no backslash escapes."""
    return re.split(rf"(?<!\\){re.escape(separator)}", text)
