"""The entries of `metadata.managedFields`: who owns which fields of an object, since when, in which version."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded.fields import FieldSet
from manager.embedded.typed import same

APPLY, UPDATE = "Apply", "Update"


@dataclass(frozen=True, slots=True)
class Key:
    """Whose entry it is: a manager has one that he applies, and one for each version in which he updates; per subresource."""

    manager: str
    operation: str
    api_version: str = ""  # of Update only
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The text by which the server sorts managers."""
        parts = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        parts["subresource"] = self.subresource
        return orjson.dumps({name: value for name, value in parts.items() if value}).decode()

    def __str__(self) -> str:
        text = f'"{self.manager}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class Entry:
    """What one manager owns, since when (RFC 3339, whole seconds), in which version."""

    key: Key
    api_version: str
    fields: FieldSet
    time: str = ""

    def manifest(self) -> Manifest:
        """As it stands in managedFields."""
        out: Manifest = {"manager": self.key.manager, "operation": self.key.operation, "apiVersion": self.api_version}
        if not self.key.manager:
            del out["manager"]
        if self.time:
            out["time"] = self.time
        out |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields.fields_v1()}
        if self.key.subresource:
            out["subresource"] = self.key.subresource
        return out


Managed = dict[Key, Entry]


class BadEntry(ValueError):
    """An entry that the server does not understand."""


def decode(entries: Iterable[Any]) -> Managed:
    """Read managedFields. Raises BadEntry."""
    return {entry.key: entry for entry in map(_entry, _checked(entries))}


def _checked(entries: Iterable[Any]) -> list[Mapping[str, Any]]:
    listed = list(entries)
    if not all(isinstance(entry, dict) for entry in listed):
        raise BadEntry("an entry is no object")
    return listed


def _entry(entry: Mapping[str, Any]) -> Entry:
    operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
    if operation not in (APPLY, UPDATE):
        raise BadEntry("operation must be `Apply` or `Update`")
    if not version:
        raise BadEntry("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise BadEntry(f"fieldsType {entry.get('fieldsType', '')!r} in a managed fields entry")
    key = Key(entry.get("manager") or "", operation, version if operation == UPDATE else "", entry.get("subresource") or "")
    try:
        return Entry(key, version, FieldSet.parse(entry.get("fieldsV1") or {}), _seconds(entry.get("time") or ""))
    except (ValueError, TypeError) as error:
        raise BadEntry(f"error decoding a managed fields entry: {error}") from error


def encode(managed: Managed) -> list[Manifest]:
    """The entries in the server's order: Apply before Update, then by time, manager, version and subresource."""
    ordered = sorted(managed.values(), key=_place)
    return [entry.manifest() for entry in ordered]


def _place(entry: Entry) -> tuple[str, ...]:
    return entry.key.operation, entry.time, entry.key.manager, entry.api_version, entry.key.subresource


@lru_cache(maxsize=1024)
def _seconds(time: str) -> str:
    return stamp(datetime.fromisoformat(time)) if time else ""


def stamp(now: datetime) -> str:
    """A time as entries carry it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def keep_times(new: Manifest, live: Manifest) -> Manifest:
    """`live` itself when `new` differs from it in nothing but the times of its entries; else `new`.

    The last step before an object is stored: only then is it known that an apply in other words (`1000m` for `1`) changed
    nothing.
    """
    before = metadata_of(live).get("managedFields") or []
    after = metadata_of(new).get("managedFields") or []
    if new is live or len(before) != len(after) or not after:
        return new
    timeless = [[{**entry, "time": ""} for entry in entries] for entries in (before, after)]
    return live if timeless[0] == timeless[1] and same(bare(new), bare(live)) else new


def metadata_of(manifest: Manifest) -> Manifest:
    """The metadata, empty when there is none."""
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def bare(manifest: Manifest) -> Manifest:
    """The object without managedFields."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return manifest
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def with_entries(content: Manifest, entries: list[Manifest]) -> Manifest:
    """The object with these managedFields, without them when there are none."""
    if not entries:
        return bare(content)
    return {**content, "metadata": {**metadata_of(content), "managedFields": entries}}
