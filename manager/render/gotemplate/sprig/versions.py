"""Semantic versions and constraints, read and compared as sprig's library does (Masterminds/semver v3.3)."""

from collections.abc import Callable
from dataclasses import dataclass

import re2  # type: ignore[import-untyped]

LARGEST = (1 << 64) - 1
_TAILS = r"(-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
_VERSION = re2.compile(r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?" + _TAILS)
_PATTERN = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?" + _TAILS
_OPERATOR = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_ONE = re2.compile(rf"\s*({_OPERATOR})\s*{_PATTERN}\s*")
_EACH = re2.compile(rf"({_OPERATOR})\s*{_PATTERN}")
_RANGE = re2.compile(rf"\s*({_PATTERN})\s+-\s+({_PATTERN})\s*")
_ALL = re2.compile(rf"\s*({_OPERATOR})\s*{_PATTERN}\s*((?:\s+|,\s*)({_OPERATOR})\s*{_PATTERN}\s*)*")


class Improper(ValueError):
    """A text that is no version or no constraint."""


@dataclass(frozen=True, slots=True)
class Version:
    """`major.minor.patch-pre+metadata`; `original` is the text that it was read from."""

    major: int
    minor: int
    patch: int
    pre: str = ""
    metadata: str = ""
    original: str = ""

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        return text + (f"-{self.pre}" if self.pre else "") + (f"+{self.metadata}" if self.metadata else "")


def version(text: str) -> Version:
    """A version, `1` and `v1.2` among them. Raises Improper."""
    found = _VERSION.fullmatch(text) if text.isascii() else None
    if found is None:
        raise Improper("Invalid Semantic Version")
    major, minor, patch = (_number((found[group] or "0").removeprefix(".")) for group in (1, 2, 3))
    pre = found[5] or ""
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in pre.split(".")):
        raise Improper("Version segment starts with 0")
    return Version(major, minor, patch, pre, found[7] or "", text)


def _number(text: str) -> int:
    if not _fits(text):
        raise Improper(f'Error parsing version segment: strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _fits(digits: str) -> bool:
    return len(digits.lstrip("0")) <= 20 and int(digits) <= LARGEST


def compare(left: Version, right: Version) -> int:
    """-1, 0 or 1 by the order of SemVer; metadata does not count."""
    ours, theirs = (left.major, left.minor, left.patch), (right.major, right.minor, right.patch)
    if ours != theirs:
        return 1 if ours > theirs else -1
    if left.pre == right.pre:
        return 0
    if not left.pre or not right.pre:
        return 1 if not left.pre else -1
    return _compare_pre(left.pre, right.pre)


def _compare_pre(left: str, right: str) -> int:
    ours, theirs = left.split("."), right.split(".")
    for index in range(max(len(ours), len(theirs))):
        one = ours[index] if index < len(ours) else ""
        other = theirs[index] if index < len(theirs) else ""
        if one != other:
            return 1 if _rank(one) > _rank(other) else -1
    return 0


def _rank(part: str) -> tuple[int, int, str]:
    """Nothing before numbers before words."""
    if part.isdigit() and _fits(part):
        return (1, int(part), "")
    return (2 if part else 0, 0, part)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One comparison. `open_minor` and `open_patch` are true where the text has `x` or nothing, `open` for any of them."""

    operator: str
    bound: Version
    open: bool = False
    open_minor: bool = False
    open_patch: bool = False


def constraints(text: str) -> list[list[Constraint]]:
    """Alternatives, each a list of which all must hold. Raises Improper."""
    for found in _RANGE.finditer(text) if text.isascii() else ():
        text = text.replace(found[0], f">= {found[1]}, <= {found[9]} ", 1)
    return [_alternative(part) for part in text.split("||")]


def _alternative(text: str) -> list[Constraint]:
    if not text.isascii() or _ALL.fullmatch(text) is None:
        raise Improper(f"improper constraint: {text}")
    return [_constraint(found[0]) for found in _EACH.finditer(text)]


def _constraint(text: str) -> Constraint:
    found = _ONE.fullmatch(text)
    if found is None:
        raise Improper(f"improper constraint: {text}")
    operator, major, minor, patch = (found[group] for group in (1, 2, 3, 4))
    pre = found[5] or ""
    try:
        if _any(major):
            return Constraint(operator, version(f"0.0.0{pre}"), open=True)
        if _any(minor):
            return Constraint(operator, version(f"{major}.0.0{pre}"), open=True, open_minor=True)
        if _any(patch):
            return Constraint(operator, version(f"{major}{minor}.0{pre}"), open=True, open_patch=True)
        return Constraint(operator, version(f"{major}{minor}{patch}{pre}"))
    except Improper:
        raise Improper("constraint Parser Error") from None


def _any(part: str | None) -> bool:
    return part is None or part.removeprefix(".") in ("", "x", "X", "*")


def holds(alternatives: list[list[Constraint]], of: Version) -> bool:
    """Does a version satisfy one of the alternatives?"""
    return any(all(_check(each, of) for each in alternative) for alternative in alternatives)


def _check(constraint: Constraint, of: Version) -> bool:
    hidden = bool(of.pre) and not constraint.bound.pre  # who does not ask for pre-releases gets none
    if constraint.operator == "!=":
        return _differs(constraint, of, hidden=hidden)
    return not hidden and _CHECKS[constraint.operator](constraint, of)


def _differs(constraint: Constraint, of: Version, *, hidden: bool) -> bool:
    bound = constraint.bound
    if not constraint.open:
        return compare(of, bound) != 0
    if hidden:
        return False
    if bound.major != of.major:
        return True
    if constraint.open_minor:
        return False
    if bound.minor != of.minor:
        return True
    if constraint.open_patch:
        return bool(of.pre or bound.pre) and _compare_pre(of.pre, bound.pre) != 0
    return bound.patch != of.patch or compare(of, bound) != 0


def _above(constraint: Constraint, of: Version) -> bool:
    bound = constraint.bound
    if constraint.open and of.major == bound.major:
        if constraint.open_minor:
            return False
        if constraint.open_patch:
            return of.minor > bound.minor
    return compare(of, bound) > 0


def _below(constraint: Constraint, of: Version) -> bool:
    return compare(of, constraint.bound) < 0


def _at_least(constraint: Constraint, of: Version) -> bool:
    return compare(of, constraint.bound) >= 0


def _at_most(constraint: Constraint, of: Version) -> bool:
    bound = constraint.bound
    if not constraint.open:
        return compare(of, bound) <= 0
    return of.major < bound.major or (of.major == bound.major and (constraint.open_minor or of.minor <= bound.minor))


def _equal(constraint: Constraint, of: Version) -> bool:
    return _tilde(constraint, of) if constraint.open else compare(of, constraint.bound) == 0


def _tilde(constraint: Constraint, of: Version) -> bool:
    bound = constraint.bound
    if compare(of, bound) < 0:
        return False
    if (bound.major, bound.minor, bound.patch) == (0, 0, 0) and not constraint.open_minor and not constraint.open_patch:
        return True
    return of.major == bound.major and (constraint.open_minor or of.minor == bound.minor)


def _caret(constraint: Constraint, of: Version) -> bool:
    bound = constraint.bound
    if compare(of, bound) < 0:
        return False
    if bound.major > 0 or constraint.open_minor:
        return of.major == bound.major
    if of.major > 0:
        return False
    if bound.minor > 0 or constraint.open_patch:
        return of.minor == bound.minor
    return of.minor == 0 and of.patch == bound.patch


_CHECKS: dict[str, Callable[[Constraint, Version], bool]] = {
    "": _equal,
    "=": _equal,
    ">": _above,
    "<": _below,
    ">=": _at_least,
    "=>": _at_least,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}
