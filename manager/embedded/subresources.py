"""What is beside an object under its own path: its scale, its eviction, its finalizers.

`status` is no part of this: it is the object itself, written by other rules (`Strategy.prepare_status`).
"""

from dataclasses import dataclass, replace
from typing import Any

from apis.meta import Manifest
from manager.embedded import patch
from manager.embedded.admission import CREATE, Attempt
from manager.embedded.body import JSON_PATCH, check_kind
from manager.embedded.kinds import namespaces
from manager.embedded.served import Served
from manager.embedded.status import Cause, Named, bad_request, conflict, invalid
from manager.embedded.target import DeleteOptions, Options, Target
from manager.embedded.verbs import Done, Verbs

_BUILTIN = (".spec.replicas", ".status.replicas", "")
SCALE = Served("autoscaling", "v1", "Scale", "scales", namespaced=True)


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where an object has its replicas and its selector."""

    spec: str
    status: str
    selector: str

    @classmethod
    def of(cls, served: Served) -> "ScalePaths":
        """Those of a definition, or the ones of built-in workloads."""
        if not served.custom:
            return cls(*_BUILTIN)
        told = served.scale or {}
        return cls(told["specReplicasPath"], told["statusReplicasPath"], told.get("labelSelectorPath") or "")


def scale_of(live: Manifest, served: Served) -> Manifest:
    """The Scale of an object."""
    paths = ScalePaths.of(served)
    metadata = live["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if key in metadata}
    selector = _at(live, paths.selector) if paths.selector else _selector(live, served)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {"replicas": _at(live, paths.spec)} if _at(live, paths.spec) else {},
        "status": {"replicas": _at(live, paths.status) or 0} | ({"selector": selector} if selector else {}),
    }


def _selector(live: Manifest, served: Served) -> str:
    """A workload's selector as text."""
    if served.custom:
        return ""
    selector = (live.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector if "matchExpressions" not in selector else {})
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if isinstance(value, str))


def write_scale(verbs: Verbs, target: Target, media: str, body: Any, options: Options) -> Done:
    """PUT or PATCH of a scale; the answer's manifest is the new Scale. `media` is that of a patch, or empty.

    Raises 404, 409, 422.
    """
    live = verbs.read(target)
    given = _given(scale_of(live, target.served), media, body)
    wanted = given["metadata"].get("resourceVersion") or ""
    if wanted not in ("", "0", live["metadata"]["resourceVersion"]):
        raise conflict(target.about)
    replicas = (given.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        said = f"json: cannot unmarshal {type(replicas).__name__} into Go struct field ScaleSpec.spec.replicas of type int32"
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {said}')
    if replicas < 0:
        cause = Cause("FieldValueInvalid", f"Invalid value: {replicas}: must be greater than or equal to 0", "spec.replicas")
        raise invalid(Named("autoscaling", "Scale", target.name), [cause])
    path = ScalePaths.of(target.served).spec
    done = verbs.change(target, lambda old: _with(old, path, replicas), options)
    return replace(done, manifest=scale_of(done.manifest, target.served), stored=None)


def _given(scale: Manifest, media: str, body: Any) -> Manifest:
    if not media:
        return {"metadata": {}} | check_kind(body, SCALE)
    changed: Manifest = patch.json_patch(scale, body) if media == JSON_PATCH else patch.merge_patch(scale, body)
    return changed


def _at(value: Any, path: str) -> Any:
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _with(manifest: Manifest, path: str, value: Any) -> Manifest:
    """A copy with one value set."""
    first, _, rest = path.strip(".").partition(".")
    inner = manifest.get(first)
    return manifest | {first: _with(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


def finalize(verbs: Verbs, target: Target, body: Any, options: Options) -> Done:
    """PUT of a namespace's `finalize`: only its spec.finalizers are taken."""
    given = check_kind(body, target.served)
    return verbs.change(target, lambda old: namespaces.finalized(given, old), options)


def evict(verbs: Verbs, target: Target, body: Any, options: Options) -> Manifest:
    """POST of a Pod's `eviction`. Disruption budgets have no controller here, so none of them has room or lacks it."""
    live = verbs.read(target)
    admit(verbs, target, body, options)
    uid = live["metadata"]["uid"]
    verbs.delete(replace(target, subresource=""), DeleteOptions(options, uid=uid, judged=True))
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


_KINDS = {"eviction": ("policy/v1", "Eviction"), "token": ("authentication.k8s.io/v1", "TokenRequest")}


def admit(verbs: Verbs, target: Target, body: Any, options: Options) -> None:
    """Ask admission about a POST to a subresource, whose body is no object that is stored. Raises what it says."""
    api_version, kind = _KINDS[target.subresource]
    given: Manifest = body if isinstance(body, dict) else {}
    place = {"name": target.name, "namespace": target.namespace}
    sent = {**given, "apiVersion": api_version, "kind": kind, "metadata": (given.get("metadata") or {}) | place}
    verbs.admission.judge(Attempt(CREATE, target, options.user, sent, None, options.dry_run, options.manifest()))
