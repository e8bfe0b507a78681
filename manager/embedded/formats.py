"""The formats of strings that schemas may name, each with its test (https://spec.openapis.org/registry/format/)."""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from email.utils import parseaddr
from ipaddress import IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

from policy.cel.error import CelError
from policy.cel.times import parse_duration


def known(name: str) -> bool:
    """Is it one? Dashes do not matter."""
    return name.replace("-", "") in _TESTS


def fits(name: str, text: str) -> bool:
    """Is the text of this format? The format is a known one."""
    return _TESTS[name.replace("-", "")](text)


def _matching(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    with suppress(ValueError):
        date.fromisoformat(text if not text.startswith("0000") else f"2000{text[4:]}")
        return True
    return False


_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


def _date_time(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.partition("t")[0])
    return bool(separator) and _date(day) and found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


_WORDED = re.compile(r"([0-9]+)\s*([A-Za-z\u00b5]+)")
_UNITS = ("ns", "us", "\u00b5s", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _duration(text: str) -> bool:
    """As Go reads durations, or somewhere in it a number with a unit in words: `2 weeks`."""
    with suppress(CelError):
        parse_duration(text)
        return True
    units = [unit.lower() for _, unit in _WORDED.findall(text)]
    return any(unit in _UNITS or unit.startswith(_LONG_UNITS) for unit in units)


def _ipv4(text: str) -> bool:
    return "." in text and (_is(IPv4Address, _decimal(text)) or _is(IPv6Address, text))


def _decimal(address: str) -> str:
    """Without leading zeroes: they were read as decimal once, and still are."""
    return re.sub(r"(^|\.)0+([0-9])", r"\1\2", address)


def _ipv6(text: str) -> bool:
    return ":" in text and "%" not in text and _is(IPv6Address, text)


def _is(kind: type[IPv4Address | IPv6Address], text: str) -> bool:
    with suppress(ValueError):
        kind(text)
        return True
    return False


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch(r"[0-9]+", bits):
        return False
    with suppress(ValueError):
        ip_network(f"{_decimal(address)}/{bits}", strict=False)
        return True
    return False


def _uri(text: str) -> bool:
    """What may stand in a request line: an absolute URI, or a path that begins at the root."""
    if not text or any(ord(each) < 0x21 or ord(each) == 0x7F for each in text) or re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return False
    with suppress(ValueError):
        return text.startswith("/") or bool(urlsplit(text).scheme)
    return False


def _email(text: str) -> bool:
    _, address = parseaddr(text)
    local, at, domain = address.rpartition("@")
    return bool(local and at and domain) and not re.search(r"[\s@]", domain)


def _hostname(text: str) -> bool:
    labels = text.split(".")
    if not text or len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in labels):
        return False
    if len(labels) == 1:
        return _HOST.fullmatch(text) is not None
    return all(map(_HOST.fullmatch, labels[:-1])) and re.fullmatch(r"[^\W\d_]{2,63}", labels[-1]) is not None


_HOST = re.compile(r"[^\W_](?:(?:[^\W_]|-)*[^\W_])?")


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((place + 1) * (10 if each == "X" else int(each)) for place, each in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    return (
        bool(re.fullmatch(r"[0-9]{13}", digits)) and sum((1, 3)[at % 2] * int(each) for at, each in enumerate(digits)) % 10 == 0
    )


_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


def _card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    doubled = (2 * int(each) if at % 2 else int(each) for at, each in enumerate(reversed(digits)))
    return _CARD.fullmatch(digits) is not None and sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


_HEX4 = "[0-9a-fA-F]{4}"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_BYTE = "([01]?[0-9]?[0-9]|2[0-4][0-9]|25[0-5])"


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _matching(f"[0-9a-fA-F]{{8}}-?{_HEX4}-?{version}-?{variant}-?[0-9a-fA-F]{{12}}")


def _short(most: int, expression: str) -> Callable[[str], bool]:
    test = _matching(expression)
    return lambda text: len(text) <= most and test(text)


_TESTS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "uri": _uri,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _matching("([0-9a-fA-F]{2}([:-]))([0-9a-fA-F]{2}[:-])*[0-9a-fA-F]{2}|([0-9a-fA-F]{4}[.])+[0-9a-fA-F]{4}"),
    "uuid": _uuid(_HEX4, _HEX4),
    "uuid3": _uuid("3[0-9a-fA-F]{3}", _HEX4),
    "uuid4": _uuid("4[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
    "uuid5": _uuid("5[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _card,
    "ssn": _matching(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matching("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "byte": _matching("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": _short(63, _LABEL),
    "k8slongname": _short(253, rf"{_LABEL}(\.{_LABEL})*"),
}
