"""The rules about `metadata` that hold for every kind (apimachinery's api/validation, in its words and its order)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apis.meta import Manifest, split_api_version
from manager.embedded import causes
from manager.embedded.kinds import names
from manager.embedded.status import Cause

MOST_ANNOTATIONS = 256 * 1024
MOST_MANAGER = 128
MOST_SUBRESOURCE = 256
STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"

_PATH = "metadata"
_SYSTEM = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def check(obj: Manifest, *, namespaced: bool, name: names.Rule) -> Iterator[Cause]:
    """What is wrong with the metadata of an object, by the rules that hold whenever it is written."""
    metadata = obj["metadata"]
    yield from _names(metadata, name)
    yield from _namespace(metadata, namespaced=namespaced)
    if metadata.get("generation", 0) < 0:
        yield causes.invalid(f"{_PATH}.generation", metadata["generation"], NOT_NEGATIVE)
    yield from labels(metadata.get("labels", {}), f"{_PATH}.labels")
    yield from annotations(metadata.get("annotations", {}), f"{_PATH}.annotations")
    yield from owners(metadata.get("ownerReferences", ()), f"{_PATH}.ownerReferences")
    yield from finalizers(metadata.get("finalizers", ()), f"{_PATH}.finalizers")
    yield from managed_fields(metadata.get("managedFields", ()), f"{_PATH}.managedFields")


def check_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What is wrong with a change of the metadata, besides what `check` finds."""
    metadata, before = new["metadata"], old["metadata"]
    if "deletionTimestamp" in before:
        added = sorted(set(metadata.get("finalizers", ())) - set(before.get("finalizers", ())))
        if added:
            listed = ", ".join(causes.quote(each) for each in added)
            yield causes.forbidden(
                f"{_PATH}.finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
            )
    if not metadata.get("resourceVersion"):
        yield causes.invalid(f"{_PATH}.resourceVersion", "", "must be specified for an update")
    if metadata.get("generation", 0) < before.get("generation", 0):
        yield causes.invalid(f"{_PATH}.generation", metadata.get("generation", 0), "must not be decremented")
    for each in _SYSTEM:
        yield from immutable(metadata.get(each), before.get(each), f"{_PATH}.{each}")


def path(obj: Manifest) -> Iterator[Cause]:
    """What is wrong with the names of an object as steps of a path: asked of every kind, when its own rules are kept."""
    yield from _names(obj["metadata"], names.path_segment)


def standard_finalizers(obj: Manifest) -> Iterator[Cause]:
    """Finalizers without a prefix are those of the server (a rule of core kinds and of those that copied it)."""
    for index, each in enumerate(obj["metadata"].get("finalizers", ())):
        if "/" not in each and each not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield causes.invalid(f"{_PATH}.finalizers[{index}]", each, why)


def immutable(new: Any, old: Any, path: str) -> Iterator[Cause]:
    """A field that never changes."""
    if new != old:
        yield causes.invalid(path, new, IMMUTABLE)


def _names(metadata: Manifest, rule: names.Rule) -> Iterator[Cause]:
    if prefix := metadata.get("generateName", ""):
        for why in rule(names.generated(prefix)):
            yield causes.invalid(f"{_PATH}.generateName", prefix, why)
    name = metadata.get("name", "")
    if not name:
        yield causes.required(f"{_PATH}.name", "name or generateName is required")
        return
    for why in rule(name):
        yield causes.invalid(f"{_PATH}.name", name, why)


def _namespace(metadata: Manifest, *, namespaced: bool) -> Iterator[Cause]:
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            yield causes.forbidden(f"{_PATH}.namespace", "not allowed on this type")
    elif not namespace:
        yield causes.required(f"{_PATH}.namespace")
    else:
        for why in names.label(namespace):
            yield causes.invalid(f"{_PATH}.namespace", namespace, why)


def labels(given: Mapping[str, str], path: str) -> Iterator[Cause]:
    """Labels, of an object or of a selector's matchLabels."""
    for key, value in given.items():
        for why in names.qualified(key):
            yield causes.invalid(path, key, why)
        for why in names.label_value(value):
            yield causes.invalid(path, value, why)


def annotations(given: Mapping[str, str], path: str) -> Iterator[Cause]:
    """Annotations: keys in any case, and a size of all together."""
    for key in given:
        for why in names.qualified(key.lower()):
            yield causes.invalid(path, key, why)
    if sum(len(key.encode()) + len(value.encode()) for key, value in given.items()) > MOST_ANNOTATIONS:
        yield causes.too_long(path, MOST_ANNOTATIONS)


def owners(given: Sequence[Manifest], path: str) -> Iterator[Cause]:
    """Owner references; one of them at most is the controller."""
    controller = ""
    for each in given:
        yield from _owner(each, path)
        if each.get("controller"):
            this = f"{each['kind']}/{each['name']}"
            if controller:
                why = (
                    f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {this}'
                )
                yield as_struct(path, given, _OWNER_ORDER, why)
            controller = controller or this


def _owner(owner: Manifest, path: str) -> Iterator[Cause]:
    group, version = split_api_version(owner["apiVersion"])
    if not version or "/" in group:
        yield causes.invalid(f"{path}.apiVersion", owner["apiVersion"], "version must not be empty")
    for each in ("kind", "name", "uid"):
        if not owner[each]:
            yield causes.invalid(f"{path}.{each}", owner[each], "must not be empty")
    if (group, version, owner["kind"]) == ("", "v1", "Event"):
        yield as_struct(path, owner, _OWNER_ORDER, "/v1, Kind=Event is disallowed from being an owner")


_OWNER_ORDER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
SELECTOR_ORDER = ("matchLabels", "matchExpressions", "key", "operator", "values")


def as_struct(path: str, value: Any, order: Sequence[str], why: str) -> Cause:
    """An invalid value that Go prints as a struct: its fields in their own order."""
    return causes.invalid(path, causes.OMITTED, f"{_ordered(value, order)}: {why}")


def _ordered(value: Any, order: Sequence[str]) -> str:
    if isinstance(value, dict) and value.keys() <= set(order):
        return "{" + ",".join(f"{causes.to_json(each)}:{_ordered(value[each], order)}" for each in order if each in value) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join(_ordered(each, order) for each in value)}]"
    return causes.to_json(value)


def finalizers(given: Sequence[str], path: str) -> Iterator[Cause]:
    """Finalizers: qualified names, and only one way to treat dependents."""
    for each in given:
        for why in names.qualified(each):
            yield causes.invalid(path, each, why)
    if {"orphan", "foregroundDeletion"} <= set(given):
        yield causes.invalid(path, list(given), "finalizer orphan and foregroundDeletion cannot be both set")


def managed_fields(given: Sequence[Manifest], path: str) -> Iterator[Cause]:
    """What a client says about field managers."""
    for index, entry in enumerate(given):
        at = f"{path}[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            yield causes.invalid(f"{at}.operation", entry.get("operation", ""), "must be `Apply` or `Update`")
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            yield causes.invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
        if len(entry.get("manager", "").encode()) > MOST_MANAGER:
            yield causes.too_long(f"{at}.manager", MOST_MANAGER)
        if len(entry.get("subresource", "").encode()) > MOST_SUBRESOURCE:
            yield causes.too_long(f"{at}.subresource", MOST_SUBRESOURCE)


def selector(given: Manifest | None, path: str) -> Iterator[Cause]:
    """A `metav1.LabelSelector`."""
    if given is None:
        return
    yield from labels(given.get("matchLabels", {}), f"{path}.matchLabels")
    for index, each in enumerate(given.get("matchExpressions", ())):
        yield from _requirement(each, f"{path}.matchExpressions[{index}]")


def _requirement(each: Manifest, path: str) -> Iterator[Cause]:
    values = each.get("values") or ()
    match each["operator"]:
        case "In" | "NotIn":
            if not values:
                yield causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                yield causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
        case other:
            yield causes.invalid(f"{path}.operator", other, "not a valid selector operator")
    for why in names.qualified(each["key"]):
        yield causes.invalid(f"{path}.key", each["key"], why)
    for index, value in enumerate(values):
        for why in names.label_value(value):
            yield causes.invalid(f"{path}.values[{index}]", value, why)
