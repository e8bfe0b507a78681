"""Does an object look as it is expected to, and where not? Pure: partial comparison, and a diff that shows no Secret.

| expected | matches |
| --- | --- |
| a map | a map that has at least these keys, each with a value that matches |
| a list | a list of the same length, entry by entry |
| null | nothing: the field is absent |
| anything else | the same value of the same type |
"""

import base64
import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from apis.meta import Manifest
from policy.ownership import paths

ABSENT = None
"""What a field that is not there is compared as."""


def difference(expected: Manifest, found: Manifest | None) -> str:
    """A unified diff of the fields that were expected; empty when all match. Values of Secrets are shown as hashes."""
    expected = as_stored(expected)
    if found is not None and matches(expected, found):
        return ""
    wanted = _lines(hidden(expected))
    seen = _lines(hidden(projected(expected, found))) if found is not None else ["# it is not there"]
    return unified(wanted, seen)


def unified(expected: list[str], found: list[str]) -> str:
    """The diff of lines, with `-` for what was expected and `+` for what is there."""
    return "\n".join(difflib.unified_diff(expected, found, "expected", "found", lineterm="", n=50))


def matches(expected: Any, found: Any) -> bool:
    """Is everything that was expected there?"""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(matches(value, found.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        same_length = isinstance(found, list) and len(expected) == len(found)
        return same_length and all(matches(one, other) for one, other in zip(expected, found, strict=True))
    if isinstance(expected, bool) or isinstance(found, bool):  # in Python, True == 1
        return expected is found
    return bool(expected == found)


def projected(expected: Any, found: Any) -> Any:
    """The part of what is there that was asked about, in the order in which it was asked."""
    if isinstance(expected, dict) and isinstance(found, dict):
        asked = (key for key, value in expected.items() if key in found or value is None)
        return {key: projected(expected[key], found.get(key)) for key in asked}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [projected(one, other) for one, other in zip(expected, found, strict=True)]
    return found


# Secrets.


def secret(manifest: Manifest) -> bool:
    """Is its content nobody's business?"""
    return manifest.get("kind") == "Secret" and manifest.get("apiVersion") == "v1"


def as_stored(manifest: Manifest) -> Manifest:
    """`stringData` of a Secret as the `data` that the server makes of it."""
    if not secret(manifest) or not isinstance(manifest.get("stringData"), dict):
        return manifest
    encoded = {key: _encoded(value) for key, value in manifest["stringData"].items()}
    rest = {key: value for key, value in manifest.items() if key != "stringData"}
    return rest | {"data": {**(manifest.get("data") or {}), **encoded}}


def _encoded(value: Any) -> str | None:
    return base64.b64encode(str(value).encode()).decode() if value is not None else None


def hidden(manifest: Manifest) -> Manifest:
    """The same object with hashes for the values of a Secret; its annotations too, since tools keep copies of it there."""
    if not secret(manifest):
        return manifest
    shown = {key: _hashes(value) if key in ("data", "stringData") else value for key, value in manifest.items()}
    metadata = shown.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
        shown["metadata"] = {**metadata, "annotations": _hashes(metadata["annotations"])}
    return shown


def _hashes(values: Any) -> Any:
    return {key: fingerprint(value) for key, value in values.items()} if isinstance(values, dict) else fingerprint(values)


def fingerprint(value: Any) -> str | None:
    """`sha256:` and the beginning of the hash: enough to see whether two values are the same. None stays None."""
    return None if value is None else f"sha256:{hashlib.sha256(str(value).encode()).hexdigest()[:16]}"


# Single fields.

_PART = re.compile(r"\[([^\]]+)\]|([^.\[]+)")


def field(manifest: Any, path: str) -> Any:
    """The value at a path such as `data.key`, `spec.ports[0].port` or `metadata.annotations[a.b/c]`; None when it is absent."""
    value = manifest
    for bracketed, plain in _PART.findall(path):
        if isinstance(value, list):
            value = value[int(bracketed)] if bracketed.isdigit() and int(bracketed) < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(bracketed or plain)
        else:
            return None
    return value


def shown(manifest: Manifest, path: str) -> str:
    """The value at a path, for people; of a Secret its hash."""
    value = field(manifest, path)
    return str(fingerprint(value) if secret(manifest) else value)


def managers(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Which field managers own each field (`data.a`), by apply or by update, in alphabetical order."""
    owners: dict[str, set[str]] = {}
    for manager, path in _owned(manifest):
        owners.setdefault(path, set()).add(manager)
    return {path: tuple(sorted(names)) for path, names in owners.items()}


def _owned(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for entry in manifest["metadata"].get("managedFields") or ():
        for path in paths(entry.get("fieldsV1") or {}):
            yield entry.get("manager", ""), path.removeprefix(".")


def _lines(manifest: Any) -> list[str]:
    text: str = yaml.dump(manifest, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text.splitlines()
