"""Field sets of `metadata.managedFields`: which entry is ours, what it proves, and who else holds an object.

An object is ours when its managedFields hold an Apply entry of our manager and that entry owns our parent label. A label
alone proves nothing: anybody can copy it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from apis.meta import GROUP, MANAGED, PARENT_PREFIX, PROTECTED, TARGET_PREFIX, Manifest
from policy.target import digest_of, is_mark

MANAGER_PREFIX = f"{GROUP}/"


@dataclass(frozen=True, slots=True)
class Holding:
    """One parent's proven hold on an object."""

    manager: str  # copyhold.dev/<kind>/<uid>
    mark: str  # "created" or "adopted": what that parent applied
    fields: str  # digest of its managedFields entry: the fields, and when an apply last changed the object

    @property
    def parent(self) -> str:
        """The UID of the parent."""
        return self.manager.rpartition("/")[2]

    @property
    def kind(self) -> str:
        """The parent's kind, in lower case."""
        return self.manager.split("/")[1]


@dataclass(frozen=True, slots=True)
class Live:
    """What is there, as far as deciding needs it: metadata only."""

    uid: str
    version: str
    terminating: bool = False
    holdings: tuple[Holding, ...] = ()

    def held_by(self, manager: str) -> Holding | None:
        """The hold of this manager, if it is proven."""
        return next((holding for holding in self.holdings if holding.manager == manager), None)

    def others(self, manager: str) -> tuple[Holding, ...]:
        """The proven holds of other parents."""
        return tuple(holding for holding in self.holdings if holding.manager != manager)


def observe(manifest: Manifest) -> Live:
    """Read the metadata of a live object."""
    metadata = manifest["metadata"]
    return Live(
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        terminating="deletionTimestamp" in metadata,
        holdings=tuple(_holdings(metadata)),
    )


def _holdings(metadata: Manifest) -> Iterator[Holding]:
    labels = metadata.get("labels") or {}
    for entry in metadata.get("managedFields") or ():
        manager = entry.get("manager", "")
        if not (manager.startswith(MANAGER_PREFIX) and manager.count("/") == 2 and _applies(entry)):
            continue
        label = f"{PARENT_PREFIX}{manager.rpartition('/')[2]}"
        fields = entry.get("fieldsV1") or {}
        if label in labels and f"f:{label}" in fields.get("f:metadata", {}).get("f:labels", {}):
            # The time: an apply of ours that we do not know of (sent before a crash, or landing late) may change values alone.
            yield Holding(manager, labels[label], digest_of([fields, entry.get("time")]))


def _applies(entry: Manifest) -> bool:
    return entry.get("operation") == "Apply" and not entry.get("subresource")


def entry_of(manifest: Manifest, manager: str) -> Manifest | None:
    """The `fieldsV1` of this manager's Apply entry, proven or not."""
    for entry in manifest["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and _applies(entry):
            return entry.get("fieldsV1") or {}
    return None


def extract(manifest: Manifest, fields: Manifest) -> Manifest:
    """The part of a live object that a field set owns (structured-merge-diff's extraction).

    Sets are written as `f:<field>`, `k:<key of an associative list>`, `v:<value of a set>`; `.` owns the place itself.
    """
    owned = _extract(manifest, fields) if fields else {}
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], **owned}


def _extract(value: Any, fields: Manifest) -> Any:
    """The owned part of a value; a leaf of the field set owns all that is below it."""
    inner = {key: nested for key, nested in fields.items() if key != "."}
    if not inner:
        return value
    if isinstance(value, dict):
        owned = ((key[2:], nested) for key, nested in inner.items() if key.startswith("f:"))
        return {name: _extract(value[name], nested) for name, nested in owned if name in value}
    if isinstance(value, list):
        return [_extract(item, nested) for key, nested in inner.items() for item in value if _is_item(item, key)]
    return value


def _is_item(item: Any, key: str) -> bool:
    wanted: Any = orjson.loads(key[2:]) if key[:2] in ("k:", "v:") else None
    if key.startswith("k:"):
        return isinstance(item, dict) and all(item.get(name) == part for name, part in wanted.items())
    return key.startswith("v:") and bool(item == wanted)


def paths(fields: Manifest, prefix: str = "") -> Iterator[str]:
    """The leaves of a field set as readable paths: `.data.a`, `.spec.ports[port=80].name`."""
    for key, nested in fields.items():
        if key == ".":
            continue
        path = f"{prefix}.{key[2:]}" if key.startswith("f:") else f"{prefix}[{key[2:]}]"
        yield from paths(nested, path) if any(inner != "." for inner in nested) else (path,)


def orphan_patch(manifest: Manifest, manager: str, *, exists: Callable[[str], bool]) -> list[Manifest]:
    """The JSON patch that drops our marks and our managedFields entry and leaves the content.

    Marks that several parents share go with the last of them. `exists` says whether the parent with a UID still lives: marks of
    the dead bind nobody. The patch tests the resourceVersion, so it is only applied to the object that was looked at.
    """
    metadata = manifest["metadata"]
    staying = _Staying(
        living=frozenset(hold.parent for hold in observe(manifest).others(manager) if exists(hold.parent)),
        annotations=metadata.get("annotations") or {},
    )
    operations: list[Manifest] = [{"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}]
    for place in ("labels", "annotations"):
        gone = (key for key in metadata.get(place) or {} if is_mark(key) and not staying.need(key))
        operations.extend({"op": "remove", "path": f"/metadata/{place}/{_escape(key)}"} for key in gone)
    entries = metadata.get("managedFields") or []
    for index in reversed(range(len(entries))):
        if entries[index].get("manager") == manager:
            operations.append({"op": "test", "path": f"/metadata/managedFields/{index}/manager", "value": manager})
            operations.append({"op": "remove", "path": f"/metadata/managedFields/{index}"})
    return operations


@dataclass(frozen=True, slots=True)
class _Staying:
    """The other living parents when one leaves, and the annotations by which they protect."""

    living: frozenset[str]
    annotations: Manifest

    def need(self, mark: str) -> bool:
        """Does this mark stay? Shared ones while somebody applies them, others while their own parent lives."""
        if mark == MANAGED:
            return bool(self.living)
        if mark == PROTECTED:
            return any(f"{TARGET_PREFIX}{uid}" in self.annotations for uid in self.living)
        return mark.rpartition("/")[2] in self.living


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
