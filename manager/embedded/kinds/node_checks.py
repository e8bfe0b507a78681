"""The rules for Nodes and for what they run (pkg/apis/core/validation, pkg/apis/node/validation)."""

from collections.abc import Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ONCE = 'node updates may not change {} except from "" to valid'


def node(obj: Manifest) -> Iterator[Cause]:
    """A Node."""
    yield from _taints(obj["spec"].get("taints", ()))
    for index, each in enumerate(obj["spec"].get("podCIDRs", ())):
        yield from values.network(each, f"spec.podCIDRs[{index}]")


def node_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What a Node was given once stays."""
    if old["spec"].get("podCIDRs") and new["spec"].get("podCIDRs") != old["spec"]["podCIDRs"]:
        yield causes.forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
    if old["spec"].get("providerID") and new["spec"].get("providerID") != old["spec"]["providerID"]:
        yield causes.forbidden("spec.providerID", _ONCE.format("providerID"))
    yield from _taints(new["spec"].get("taints", ()))


def runtime_class(obj: Manifest) -> Iterator[Cause]:
    """A RuntimeClass."""
    yield from values.named(obj["handler"], "handler", names.label)


def runtime_class_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """What a class stands for never changes."""
    yield from metadata.immutable(new["handler"], old["handler"], "handler")


def _taints(taints: list[Manifest]) -> Iterator[Cause]:
    for index, each in enumerate(taints):
        # The path is the real server's: it looks for taints in the metadata.
        at = f"metadata.taints[{index}]"
        yield from values.named(each["key"], f"{at}.key", names.qualified)
        if wrong := names.label_value(each.get("value", "")):
            yield causes.invalid(f"{at}.value", each["value"], ";".join(wrong))
        if not each["effect"]:
            yield causes.required(f"{at}.effect")
        elif each["effect"] not in _EFFECTS:
            yield causes.not_supported(f"{at}.effect", each["effect"], _EFFECTS)
