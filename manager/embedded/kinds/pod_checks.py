"""The rules for Pods, and what of them may change."""

from collections.abc import Iterator

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, podspec
from manager.embedded.status import Cause

_CHANGEABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_FREE = frozenset(("activeDeadlineSeconds", "tolerations", "schedulingGates", "containers", "initContainers"))


def pod(obj: Manifest) -> Iterator[Cause]:
    """A Pod."""
    yield from podspec.spec(obj["spec"], "spec")


def pod_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """Of a Pod, images and a few other fields change."""
    yield from metadata.standard_finalizers(new)
    yield from pod(new)
    spec, before = new["spec"], old["spec"]
    for part in ("containers", "initContainers"):
        if len(spec.get(part) or ()) != len(before.get(part) or ()):
            yield causes.forbidden(f"spec.{part}", "pod updates may not add or remove containers")
            return
    if any(each not in spec.get("tolerations", ()) for each in before.get("tolerations", ())):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield causes.forbidden("spec.tolerations", why)
    if _fixed_part(spec) != _fixed_part(before):
        yield causes.forbidden("spec", f"pod updates may not change fields other than {','.join(_CHANGEABLE)}")


def _fixed_part(spec: Manifest) -> Manifest:
    kept = {key: value for key, value in spec.items() if key not in _FREE}
    for part in ("containers", "initContainers"):
        kept[part] = [{key: value for key, value in each.items() if key != "image"} for each in spec.get(part) or ()]
    return kept
