"""The rules for PersistentVolumeClaims, which also stand in StatefulSets and in volumes."""

from collections.abc import Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, storage_checks, values
from manager.embedded.status import Cause
from policy import quantity

_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def claim(obj: Manifest) -> Iterator[Cause]:
    """A claim."""
    yield from spec(obj["spec"], "spec")


def claim_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Of a claim, hardly anything changes; a bound one may grow."""
    yield from metadata.standard_finalizers(new)
    yield from claim(new)
    bound = new.get("status", {}).get("phase") == "Bound"
    if _fixed_part(new["spec"], old["spec"], bound=bound) != _fixed_part(old["spec"], old["spec"], bound=bound):
        yield causes.forbidden("spec", _FIXED)
    size, capacity = _size(new["spec"]), (old.get("status", {}).get("capacity") or {}).get("storage", "0")
    shrunk = size and quantity.parse(size).compare(quantity.parse(_size(old["spec"]) or "0")) < 0
    if shrunk and quantity.parse(size).compare(quantity.parse(capacity)) <= 0:
        yield causes.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from metadata.immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode")


def spec(given: Manifest, path: str) -> Iterator[Cause]:
    """What is claimed."""
    modes = given.get("accessModes") or ()
    if not modes:
        yield causes.required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from metadata.selector(given.get("selector"), f"{path}.selector")
    yield from storage_checks.access_modes(modes, f"{path}.accessModes")
    yield from _storage(_size(given), f"{path}.resources[storage]")
    for each in ("storageClassName", "volumeAttributesClassName"):
        if given.get(each):
            yield from values.named(given[each], f"{path}.{each}", names.subdomain)
    yield from values.maybe_one_of(given, "volumeMode", path, storage_checks.VOLUME_MODES)


def _storage(size: str, path: str) -> Iterator[Cause]:
    if not size:
        yield causes.required(path)
    elif quantity.parse(size).sign <= 0:
        yield causes.invalid(path, size, "must be greater than zero")


def _size(given: Manifest) -> str:
    found: str = (given.get("resources", {}).get("requests") or {}).get("storage", "")
    return found


def _fixed_part(given: Manifest, old: Manifest, *, bound: bool) -> Manifest:
    """What has to stay: not the volume that it is bound to, and not the size of one that is."""
    free = {"volumeName"} if not old.get("volumeName") else set()
    free |= {"resources", "volumeAttributesClassName"} if bound else set()
    free |= {"storageClassName"} if old.get("storageClassName") is None else set()
    return {key: value for key, value in given.items() if key not in free}
