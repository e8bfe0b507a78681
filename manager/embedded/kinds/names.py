"""What names may look like: the rules of Kubernetes, in its words (apimachinery's util/validation)."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

Rule: TypeAlias = Callable[[str], list[str]]
"""The complaints about a name, which nobody changes; of a `generateName`, the text without its last dash is asked about."""

_KEPT = 4096

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_BAD_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    f"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    rf"with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_LABEL}(\.{_LABEL})*')"
)
_BAD_LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    f"with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)
_BAD_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"
)
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    f"an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_QUALIFIED = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}') with an optional DNS "
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_BAD_CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)


def _limited(text: str, most: int, expression: re.Pattern[str], complaint: str, unit: str = "bytes") -> list[str]:
    long = [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []
    return long if expression.fullmatch(text) else [*long, complaint]


_LABEL_FORM = re.compile(_LABEL)
_SUBDOMAIN_FORM = re.compile(_SUBDOMAIN)
_LABEL_1035_FORM = re.compile(_LABEL_1035)
_NAME_PART_FORM = re.compile(_NAME_PART)
_VALUE_FORM = re.compile(_VALUE)
_CONFIG_KEY_FORM = re.compile(_CONFIG_KEY)


@lru_cache(maxsize=_KEPT)
def label(text: str) -> list[str]:
    """An RFC 1123 label, of 63 bytes at most: namespaces, ports, containers."""
    dots = _SUBDOMAIN_FORM.fullmatch(text) is not None
    return _limited(text, 63, _LABEL_FORM, "must not contain dots" if dots else _BAD_LABEL, "characters")


@lru_cache(maxsize=_KEPT)
def subdomain(text: str) -> list[str]:
    """An RFC 1123 subdomain, of 253 bytes at most: most names."""
    return _limited(text, 253, _SUBDOMAIN_FORM, _BAD_SUBDOMAIN, "characters")


_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_WILDCARD_FORM = re.compile(_WILDCARD)
_BAD_WILDCARD = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    f"alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for "
    f"validation is '{_WILDCARD}')"
)


def wildcard(text: str) -> list[str]:
    """A subdomain behind `*.`."""
    return _limited(text, 253, _WILDCARD_FORM, _BAD_WILDCARD, "characters")


@lru_cache(maxsize=_KEPT)
def label_1035(text: str) -> list[str]:
    """A label that begins with a letter."""
    return _limited(text, 63, _LABEL_1035_FORM, _BAD_LABEL_1035, "characters")


def path_segment(text: str) -> list[str]:
    """Whatever can be one step of a path: the names of RBAC."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in text]


@lru_cache(maxsize=_KEPT)
def qualified(text: str) -> list[str]:
    """A label's key: a name with an optional prefix."""
    parts = text.split("/")
    if len(parts) > 2:
        return [_QUALIFIED]
    said: list[str] = []
    if len(parts) == 2:
        said += ["prefix part must be non-empty"] if not parts[0] else [f"prefix part {each}" for each in subdomain(parts[0])]
    name = parts[-1]
    if not name:
        said.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        said.append("name part must be no more than 63 bytes")
    return said if _NAME_PART_FORM.fullmatch(name) else [*said, _BAD_NAME_PART]


@lru_cache(maxsize=_KEPT)
def label_value(text: str) -> list[str]:
    """A label's value."""
    return _limited(text, 63, _VALUE_FORM, _BAD_VALUE)


@lru_cache(maxsize=_KEPT)
def config_key(text: str) -> list[str]:
    """A key of a ConfigMap's or a Secret's data."""
    said = _limited(text, 253, _CONFIG_KEY_FORM, _BAD_CONFIG_KEY, "characters")
    if text == ".":
        return [*said, "must not be '.'"]
    if text == "..":
        return [*said, "must not be '..'"]
    return [*said, "must not start with '..'"] if text.startswith("..") else said


def anything(text: str) -> list[str]:
    """No rule but the one about paths."""
    del text
    return []


def joined(*rules: Rule) -> Rule:
    """All of these rules."""
    return lambda text: [each for rule in rules for each in rule(text)]


def generated(prefix: str) -> str:
    """The text that a `generateName` is judged by: a dash at its end will not be the end (and the server takes one too many)."""
    return f"{prefix[:-2]}a" if prefix.endswith("-") and len(prefix) > 1 else prefix
