"""`format.*` of Kubernetes: named formats of strings, and what is wrong with a string that does not have one.

The verdicts are those of the API server; the sentences are our own.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from policy.cel.budget import Budget
from policy.cel.ext import url
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import STRING, Type, list_of, opaque, optional_of
from policy.cel.values import ABSENT, Opaque, Optional

TYPE = opaque("kubernetes.NamedFormat")

LABEL: Final = 63  # bytes
SUBDOMAIN: Final = 253

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LETTERED = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", re.ASCII)

Check = Callable[[str], tuple[str, ...]]


def _bounded(pattern: re.Pattern[str], longest: int, sentence: str) -> Check:
    """At most so many bytes, and matched as a whole. What is too long is not matched at all."""

    def check(text: str) -> tuple[str, ...]:
        if len(text) > longest or len(text.encode(errors="replace")) > longest:
            return (f"has more than {longest} characters",)
        return () if pattern.fullmatch(text) else (sentence,)

    return check


def _prefix(check: Check) -> Check:
    """A name that something is appended to: the hyphen at its end counts as a letter."""

    def masked(text: str) -> tuple[str, ...]:
        raw = text.encode(errors="replace")
        # One byte goes with the hyphen, as in the API server: `a-` passes like `a`, and so does `--`.
        return check((raw[:-2] + b"a").decode(errors="replace") if len(raw) > 1 and raw.endswith(b"-") else text)

    return masked


def _simple(test: Callable[[str], bool], sentence: str) -> Check:
    return lambda text: () if test(text) else (sentence,)


_label = _bounded(_LABEL, LABEL, "is not made of a-z, 0-9 and hyphens, with a letter or digit at both ends")
_lettered = _bounded(_LETTERED, LABEL, "is not made of a-z, 0-9 and hyphens, with a letter first and no hyphen last")
_subdomain = _bounded(_SUBDOMAIN, SUBDOMAIN, "is not made of labels of a-z, 0-9 and hyphens between dots")
_name = _bounded(_NAME, LABEL, "is not made of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends")


def _qualified(text: str) -> tuple[str, ...]:
    parts = text.split("/", 2)
    if len(parts) > 2:
        return ("has more than one slash",)
    problems = tuple(f"the part before the slash {problem}" for problem in _subdomain(parts[0])) if len(parts) > 1 else ()
    return problems + tuple(f"the name {problem}" for problem in _name(parts[-1]))


def _label_value(text: str) -> tuple[str, ...]:
    return _name(text) if text else ()


def _uri(text: str) -> tuple[str, ...]:
    found = url.problem(text)
    return () if found is None else (found,)


def is_base64(text: str) -> bool:
    """Base64 with its padding, and not empty."""
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def is_date(text: str) -> bool:
    """A day of the calendar as 2006-01-02."""
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    # The year 0, which Python does not have, is like 2000.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]


def is_datetime(text: str) -> bool:
    """A day, a `T` and a time with its zone. As in the API server, what follows a second `T` is not looked at."""
    parts = text.lower().split("t", 2)
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "byte": _simple(is_base64, "is no base64"),
        "date": _simple(is_date, "is no date"),
        "datetime": _simple(is_datetime, "is no date with a time"),
        "dns1035Label": _lettered,
        "dns1035LabelPrefix": _prefix(_lettered),
        "dns1123Label": _label,
        "dns1123LabelPrefix": _prefix(_label),
        "dns1123Subdomain": _subdomain,
        "dns1123SubdomainPrefix": _prefix(_subdomain),
        "labelValue": _label_value,
        "qualifiedName": _qualified,
        "uri": _uri,
        "uuid": _simple(lambda text: _UUID.fullmatch(text) is not None, "is no UUID"),
    }
)
"""The formats by name, and how each finds what is wrong."""


@dataclass(frozen=True, slots=True)
class Format(Opaque):
    """A format by its name."""

    cel: ClassVar[Type] = TYPE

    name: str

    def __str__(self) -> str:
        return self.name


FORMATS: Final = MappingProxyType({name: Format(name) for name in CHECKS})


def named(name: str) -> Optional:
    """The format of this name, if there is one."""
    found = FORMATS.get(name)
    return ABSENT if found is None else Optional(True, found)


def validate(budget: Budget, kind: Format, text: str) -> Optional:
    """What is wrong with the text: a list of sentences, or nothing."""
    budget.grow(2 * len(text))
    problems = CHECKS[kind.name](text)
    return Optional(True, list(problems)) if problems else ABSENT


def _constant(kind: Format) -> Callable[[], Format]:
    return lambda: kind


LIBRARY = Library(
    "formats",
    functions=(
        *(Function(f"format.{name}", globally((), TYPE, _constant(kind))) for name, kind in FORMATS.items()),
        Function("format.named", globally((STRING,), optional_of(TYPE), named)),
        Function("validate", member((TYPE, STRING), optional_of(list_of(STRING)), validate, budget=True)),
    ),
)
