"""The rules for volumes and for what provides them (pkg/apis/core/validation, pkg/apis/storage/validation)."""

from collections.abc import Iterator
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause
from policy import quantity

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_RECLAIM = ("Delete", "Recycle", "Retain")
_NO_SOURCES = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)
_PATHS = {"hostPath": ("path",), "nfs": ("server", "path"), "local": ("path",), "csi": ("driver", "volumeHandle")}


def volume(obj: Manifest) -> Iterator[Cause]:
    """A PersistentVolume."""
    spec = obj["spec"]
    if not spec.get("accessModes"):
        yield causes.required("spec.accessModes")
    yield from access_modes(spec.get("accessModes", ()), "spec.accessModes")
    yield from _capacity(spec.get("capacity", {}))
    yield from values.maybe_one_of(spec, "persistentVolumeReclaimPolicy", "spec", _RECLAIM)
    yield from _source(spec)
    if spec.get("storageClassName"):
        yield from values.named(spec["storageClassName"], "spec.storageClassName", names.subdomain)
    yield from values.maybe_one_of(spec, "volumeMode", "spec", VOLUME_MODES)


def volume_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Where a volume is never changes."""
    yield from metadata.standard_finalizers(new)
    yield from volume(new)
    if _sources(new["spec"]) != _sources(old["spec"]):
        yield causes.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    yield from metadata.immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode")


def access_modes(modes: Any, path: str) -> Iterator[Cause]:
    """How a volume may be used; by one Pod means by nobody else."""
    for each in modes:
        if each not in MODES:
            yield causes.not_supported(path, each, MODES)
    if "ReadWriteOncePod" in modes and any(each in MODES and each != "ReadWriteOncePod" for each in modes):
        yield causes.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _capacity(capacity: Manifest) -> Iterator[Cause]:
    if not capacity:
        yield causes.required("spec.capacity")
    if set(capacity) != {"storage"}:
        yield causes.not_supported("spec.capacity", capacity or None, ("storage",))
    for name, text in capacity.items():
        value = quantity.parse(text)
        if value.sign < 0:
            yield causes.invalid(f"spec.capacity[{name}]", value.integer() or 0, "must be a valid resource quantity")
        if value.sign <= 0:
            yield causes.invalid(f"spec.capacity[{name}]", text, "must be greater than zero")


def _sources(spec: Manifest) -> Manifest:
    return {field: value for field, value in spec.items() if field not in _NO_SOURCES}


def _source(spec: Manifest) -> Iterator[Cause]:
    found = list(_sources(spec))
    if not found:
        yield causes.required("spec", "must specify a volume type")
        return
    for each in found[1:]:
        yield causes.forbidden(f"spec.{each}", "may not specify more than 1 volume type")
    for field in _PATHS.get(found[0], ()):
        if not spec[found[0]].get(field):
            yield causes.required(f"spec.{found[0]}.{field}")


def storage_class(obj: Manifest) -> Iterator[Cause]:
    """A StorageClass."""
    yield from values.required_name(obj["provisioner"].lower(), "provisioner", names.qualified)
    yield from values.maybe_one_of(obj, "reclaimPolicy", "", ("Delete", "Retain"))
    yield from values.maybe_one_of(obj, "volumeBindingMode", "", ("Immediate", "WaitForFirstConsumer"))


def storage_class_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What a class stands for never changes."""
    for each in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from metadata.immutable(new.get(each), old.get(each), each)


def attributes_class(obj: Manifest) -> Iterator[Cause]:
    """A VolumeAttributesClass."""
    yield from values.required_name(obj["driverName"].lower(), "driverName", names.qualified)
    if not obj.get("parameters"):
        yield causes.required("parameters", "must contain at least one key/value pair")


def attributes_class_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What a class stands for never changes."""
    for each in ("driverName", "parameters"):
        yield from metadata.immutable(new.get(each), old.get(each), each)


def csi_driver(obj: Manifest) -> Iterator[Cause]:
    """A CSIDriver."""
    spec = obj["spec"]
    yield from values.maybe_one_of(spec, "fsGroupPolicy", "spec", ("File", "None", "ReadWriteOnceWithFSType"))
    for each in spec.get("volumeLifecycleModes", ()):
        if each not in ("Persistent", "Ephemeral"):
            yield causes.not_supported("spec.volumeLifecycleModes", each, ("Persistent", "Ephemeral"))


def csi_node(obj: Manifest) -> Iterator[Cause]:
    """A CSINode."""
    for index, each in enumerate(obj["spec"].get("drivers") or ()):
        for field in ("name", "nodeID"):
            if not each[field]:
                yield causes.required(f"spec.drivers[{index}].{field}")


def storage_capacity(obj: Manifest) -> Iterator[Cause]:
    """A CSIStorageCapacity."""
    yield from values.named(obj["storageClassName"], "storageClassName", names.subdomain)


def attachment(obj: Manifest) -> Iterator[Cause]:
    """A VolumeAttachment."""
    spec = obj["spec"]
    if not spec["attacher"]:
        yield causes.required("spec.attacher")
    source = spec.get("source", {})
    if not source:
        yield causes.required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
    elif len(source) > 1:
        yield causes.forbidden("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
    yield from values.named(spec["nodeName"], "spec.nodeName", names.subdomain)


def attachment_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What is attached where never changes."""
    yield from metadata.immutable(new["spec"], old["spec"], "spec")
