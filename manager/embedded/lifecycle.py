"""What the server itself writes into metadata: as an object is made, changed, and goes."""

import uuid
from datetime import datetime

import orjson

from apis.meta import Manifest
from manager.embedded.status import Named, bad_request, conflict
from manager.embedded.target import BACKGROUND, FOREGROUND, ORPHAN, DeleteOptions, Target

ORPHANING, FOREGROUND_DELETION = "orphan", "foregroundDeletion"
"""The finalizers by which the garbage collector is told what becomes of dependents."""


def uid_precondition(target: Target, wanted: str, found: str) -> str:
    """How the storage says that an update means another object of that name."""
    path = "/".join(part for part in target.key if part)
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{path}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )


def asked(config: Manifest) -> Manifest:
    """An applied configuration; a resourceVersion of "0" or "" in it asks for nothing."""
    metadata = config.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    if metadata.get("resourceVersion") in ("", "0"):
        del metadata["resourceVersion"]
    return config | {"metadata": metadata}


def placed(new: Manifest, target: Target) -> Manifest:
    """The object with the name and namespace of its path. Raises 400 when it has others."""
    metadata = new["metadata"]
    given = metadata.get("namespace") or ""
    wanted = target.namespace if target.served.namespaced else ""
    if given not in ("", wanted):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if target.name and (metadata.get("name") or target.name) != target.name:
        said = f"the name of the object ({metadata.get('name')}) does not match the name on the URL ({target.name})"
        raise bad_request(said)
    place = ({"name": target.name} if target.name else {}) | ({"namespace": wanted} if wanted else {})
    kept = {key: value for key, value in metadata.items() if key not in place}
    if not wanted:
        kept.pop("namespace", None)
    return new | {"metadata": place | kept}


_OF_THE_SERVER = ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp")


def born(new: Manifest, target: Target, now: datetime) -> Manifest:
    """A new object with what the server gives it."""
    metadata = {key: value for key, value in new["metadata"].items() if key not in _OF_THE_SERVER}
    place = {"name": target.name} if target.name else {}
    own = {"uid": str(uuid.uuid4()), "creationTimestamp": stamp(now)}
    return new | {"metadata": place | metadata | own}


_CARRIED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def carried(new: Manifest, live: Manifest) -> Manifest:
    """An update with what clients may leave out."""
    metadata, kept = new["metadata"], live["metadata"]
    missing = {key: kept[key] for key in _CARRIED if key in kept and not metadata.get(key)}
    return new | {"metadata": metadata | missing} if missing else new


def aged(new: Manifest, live: Manifest) -> Manifest:
    """An update with the generation, times and version of what it replaces."""
    kept = live["metadata"]
    fixed = {key: kept[key] for key in ("generation", "resourceVersion", "creationTimestamp") if key in kept}
    metadata = {key: value for key, value in new["metadata"].items() if key not in ("generation", "selfLink")}
    return new | {"metadata": metadata | fixed}


def same(new: Manifest, live: Manifest) -> bool:
    """Are two objects the same JSON?"""
    # Python takes 1, 1.0 and true for equal; JSON does not.
    return new == live and orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(live, option=orjson.OPT_SORT_KEYS)


def finished(new: Manifest) -> bool:
    """May a terminating object go: has nothing any more that holds it?"""
    metadata = new["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (new["kind"] == "Namespace" and new["apiVersion"] == "v1" and (new.get("spec") or {}).get("finalizers"))


def check_preconditions(target: Target, live: Manifest, how: DeleteOptions) -> None:
    """Refuse to delete another object, or another version of it, than was meant. Raises 409."""
    metadata = live["metadata"]
    kind = Named(target.served.group, target.served.kind, target.name)
    if how.uid is not None and how.uid != metadata["uid"]:
        said = f"the UID in the precondition ({how.uid}) does not match the UID in record ({metadata['uid']})."
        raise conflict(kind, f"{said} The object might have been deleted and then recreated")
    version = metadata["resourceVersion"]
    if how.resource_version is not None and how.resource_version != version:
        said = f"the ResourceVersion in the precondition ({how.resource_version}) does not match the ResourceVersion in record"
        raise conflict(kind, f"{said} ({version}). The object might have been modified")


def finalizers_of(live: Manifest, how: DeleteOptions) -> list[str]:
    """The finalizers of an object that is to go: what it has, and what the propagation policy asks for."""
    given = list(live["metadata"].get("finalizers") or ())
    kept = [each for each in given if each not in (ORPHANING, FOREGROUND_DELETION)]
    orphan = how.orphan is True or how.propagation == ORPHAN
    foreground = how.propagation == FOREGROUND
    if how.orphan is None and how.propagation is None:
        # Nothing was said: what an earlier deletion said stays.
        return given
    if how.orphan is False or how.propagation == BACKGROUND:
        return kept
    if orphan:
        return [*kept, ORPHANING]
    return [*kept, FOREGROUND_DELETION] if foreground else kept


CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = ("customresourcecleanup.apiextensions.k8s.io",)


def is_ending(live: Manifest) -> bool:
    """Was its deletion asked for?"""
    return bool(live["metadata"].get("deletionTimestamp"))


def _condemned(status: Manifest, now: str) -> Manifest:
    """The status of a definition that is to go."""
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    return status | {"conditions": [*(status.get("conditions") or ()), condition]}


def is_namespace(target: Target) -> bool:
    """Is it about a Namespace, which goes in its own way?"""
    return target.key.resource == "namespaces"


def grace_of(target: Target, live: Manifest, how: DeleteOptions) -> int:
    """Seconds that a Pod on a node has to end; everything else has none."""
    if target.key.resource != "pods" or not (live.get("spec") or {}).get("nodeName"):
        return 0
    if (live.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    given = live["spec"].get("terminationGracePeriodSeconds") if how.grace is None else how.grace
    return max(0, int(given or 0))


def is_graceful(target: Target, live: Manifest, how: DeleteOptions) -> bool:
    """Does it have time to end?"""
    return grace_of(target, live, how) > 0


def leaving(target: Target, live: Manifest, finalizers: list[str], now: datetime, grace: int) -> Manifest:
    """An object that is deleted but still there."""
    metadata = dict(live["metadata"])
    first = "deletionTimestamp" not in metadata
    if first:
        metadata["deletionTimestamp"] = stamp(now)
        if not is_namespace(target):
            metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionGracePeriodSeconds"] = grace
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    new = live | {"metadata": metadata}
    if target.key.resource == CRDS and first:
        new = new | {"status": _condemned(live.get("status") or {}, metadata["deletionTimestamp"])}
    if is_namespace(target):
        new = new | {"status": (live.get("status") or {}) | {"phase": "Terminating"}}
    return new


def stamp(now: datetime) -> str:
    """A time as objects have it: RFC 3339, whole seconds, UTC."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
