"""`semver()` of Kubernetes: versions by semver.org; what comes after `+` does not count in comparisons."""

from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import BOOL, INT, STRING, Type, opaque
from policy.cel.values import INT_MAX, UINT_MAX, Opaque

TYPE = opaque("kubernetes.Semver")
CHARACTER = 8  # units: every second one may be a part of its own

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") | _DIGITS

Part = tuple[int, int, str]  # numbers before texts


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver(Opaque):
    """A version; `build` is kept for its text alone."""

    cel: ClassVar[Type] = TYPE

    numbers: tuple[int, int, int]
    before: tuple[Part, ...] = ()
    build: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        if self.before:
            text += "-" + ".".join(str(number) if kind == 0 else name for kind, number, name in self.before)
        return f"{text}+{'.'.join(self.build)}" if self.build else text

    @property
    def order(self) -> tuple[tuple[int, int, int], bool, tuple[Part, ...]]:
        """What comparisons look at: a version comes after its pre-releases."""
        return self.numbers, not self.before, self.before

    def __eq__(self, other: object) -> bool:
        return self.order == other.order if isinstance(other, Semver) else NotImplemented

    def __lt__(self, other: "Semver") -> bool:
        return self.order < other.order

    def __hash__(self) -> int:
        return hash(self.order)


class _NoVersion(CelError):
    pass


def parse(budget: Budget, text: str, normalize: bool = False) -> Semver:
    """Read a version. Normalized, `v1.02` is `1.2.0`. Raises CelError."""
    budget.charge(CHARACTER * len(text))
    return _read(_normalized(text) if normalize else text)


def is_semver(budget: Budget, text: str, normalize: bool = False) -> bool:
    """Is this text a version?"""
    try:
        parse(budget, text, normalize)
    except _NoVersion:
        return False
    return True


def _read(text: str) -> Semver:
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise _NoVersion("a version has three numbers: major.minor.patch")
    rest, plus, build = parts[2].partition("+")
    patch, minus, before = rest.partition("-")
    major, minor, last = (_number(part) for part in (*parts[:2], patch))
    tags = build.split(".") if plus else []
    if not all(_is_name(tag) for tag in tags):
        raise _NoVersion("what follows the plus sign of a version is letters, digits and hyphens between dots")
    return Semver((major, minor, last), tuple(map(_part, before.split("."))) if minus else (), tuple(tags))


def _number(text: str) -> int:
    if text and _DIGITS.issuperset(text) and (text == "0" or text[0] != "0") and len(text) <= 20:
        number = int(text)
        if number <= UINT_MAX:
            return number
    raise _NoVersion("a number of a version has digits only, without leading zeros, and 64 bits")


def _part(text: str) -> Part:
    if text and _DIGITS.issuperset(text):
        return 0, _number(text), ""
    if _is_name(text):
        return 1, 0, text
    raise _NoVersion("a pre-release of a version is letters, digits and hyphens between dots")


def _is_name(text: str) -> bool:
    return bool(text) and _LETTERS.issuperset(text)


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise _NoVersion("a shortened version has no pre-release and no build")
    return ".".join([*parts, "0", "0"][:3])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in _DIGITS else "0" + stripped


def compare(a: Semver, b: Semver) -> int:
    """-1, 0 or 1 as the first is less, equal or greater."""
    return (a > b) - (a < b)


def _signed(number: int) -> int:
    """The int of the same 64 bits: the API server hands out large numbers of a version as negative ones."""
    return number if number <= INT_MAX else number - UINT_MAX - 1


_PAIR = (TYPE, TYPE)

LIBRARY = Library(
    "semver",
    functions=(
        Function(
            "semver",
            globally((STRING,), TYPE, parse, budget=True),
            globally((STRING, BOOL), TYPE, parse, budget=True),
        ),
        Function(
            "isSemver",
            globally((STRING,), BOOL, is_semver, budget=True),
            globally((STRING, BOOL), BOOL, is_semver, budget=True),
        ),
        Function("major", member((TYPE,), INT, lambda version: _signed(version.numbers[0]))),
        Function("minor", member((TYPE,), INT, lambda version: _signed(version.numbers[1]))),
        Function("patch", member((TYPE,), INT, lambda version: _signed(version.numbers[2]))),
        Function("isLessThan", member(_PAIR, BOOL, lambda a, b: a < b)),
        Function("isGreaterThan", member(_PAIR, BOOL, lambda a, b: a > b)),
        Function("compareTo", member(_PAIR, INT, compare)),
    ),
)
