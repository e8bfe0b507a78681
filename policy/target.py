"""From a rendered manifest to the payload that is applied: normalised, free of forged marks, carrying ours.

All of this stands on what the API server does with a payload (docs/architecture.md, "What a target carries").
"""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apis.intent import Policy
from apis.meta import (
    ACCOUNT_PREFIX,
    ACTIVE_UNTIL_PREFIX,
    MANAGED,
    PARENT_PREFIX,
    PROTECTED,
    TARGET_PREFIX,
    Key,
    Manifest,
    Ref,
)

# What only the server may set, or what says nothing when it is applied.
SERVER_SET = frozenset(
    (
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

LABEL_MARKS = (MANAGED, PROTECTED)
LABEL_PREFIXES = (PARENT_PREFIX,)
ANNOTATION_PREFIXES = (ACTIVE_UNTIL_PREFIX, ACCOUNT_PREFIX, TARGET_PREFIX)


@dataclass(frozen=True, slots=True)
class Desired:
    """One target as its parent wants it."""

    ref: Ref
    resource: str
    cluster_scoped: bool
    unit: str
    tenant: str
    policy: Policy
    manifest: Manifest  # normalised, without marks
    digest: str  # over the manifest and the marks that depend on policy and account
    sources: tuple[str, ...]  # where it was rendered, for messages: "resources[0] (quota) targets[1]"
    until: str = ""  # the end of temporary access, as the target says it

    @property
    def key(self) -> Key:
        """The identity of the target."""
        return self.ref.key


def digest_of(value: Any) -> str:
    """A short digest of a JSON value, independent of the order of its keys."""
    return hashlib.blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def is_mark(key: str) -> bool:
    """True for a label or annotation key that only the manager writes on targets."""
    return key in LABEL_MARKS or key.startswith(LABEL_PREFIXES + ANNOTATION_PREFIXES)


def normalise(manifest: Manifest) -> Manifest:
    """A copy without what the server sets, `status`, nulls and our marks; `stringData` of a Secret has become `data`.

    Empty maps and lists stay: `ingress: [{}]` and `selector: {}` mean something.
    """
    clean = {key: _without_nulls(value) for key, value in manifest.items() if key != "status" and value is not None}
    metadata = {key: value for key, value in (clean.get("metadata") or {}).items() if key not in SERVER_SET}
    for field in ("labels", "annotations"):
        if field in metadata:
            metadata[field] = {key: value for key, value in metadata[field].items() if not is_mark(key) and key != LAST_APPLIED}
    clean["metadata"] = metadata
    if clean.get("kind") == "Secret" and clean.get("apiVersion") == "v1" and "stringData" in clean:
        text = {key: base64.b64encode(str(value).encode()).decode() for key, value in clean.pop("stringData").items()}
        clean["data"] = {**(clean.get("data") or {}), **text}
    return clean


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def itself(ref: Ref) -> str:
    """The value of the `target` annotation, by which an object means itself: `ConfigMap./x`, `Deployment.apps/web`."""
    return f"{ref.kind}.{ref.group}/{ref.name}"


def marks(desired: Desired, parent: str, account: str, *, created: bool) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations of a target under the parent with this UID, acting as `account` ("namespace/name")."""
    labels = {MANAGED: "true", f"{PARENT_PREFIX}{parent}": "created" if created else "adopted"}
    annotations = {f"{ACCOUNT_PREFIX}{parent}": f"system:serviceaccount:{account.replace('/', ':')}"}
    if desired.until:
        annotations[f"{ACTIVE_UNTIL_PREFIX}{parent}"] = desired.until
    if desired.policy.protect:
        labels[PROTECTED] = "true"
        annotations[f"{TARGET_PREFIX}{parent}"] = itself(desired.ref)
    return labels, annotations


def payload(desired: Desired, parent: str, account: str, *, created: bool, uid: str = "", version: str = "") -> Manifest:
    """What is sent: the manifest with our marks, and what makes the apply create-only (version "1") or update-only (uid)."""
    labels, annotations = marks(desired, parent, account, created=created)
    metadata = desired.manifest["metadata"]
    marked: Manifest = {
        **metadata,
        "labels": {**(metadata.get("labels") or {}), **labels},
        "annotations": {**(metadata.get("annotations") or {}), **annotations},
    }
    if uid:
        marked["uid"] = uid
    if version:
        marked["resourceVersion"] = version
    return {**desired.manifest, "metadata": marked}


def marks_only(desired: Desired, parent: str, account: str, *, created: bool, uid: str) -> Manifest:
    """The payload that takes hold of an object and leaves its content to others."""
    metadata = {"name": desired.ref.name} | ({"namespace": desired.ref.namespace} if desired.ref.namespace else {})
    bare = {"apiVersion": desired.ref.api_version, "kind": desired.ref.kind, "metadata": metadata}
    return payload(replace(desired, manifest=bare), parent, account, created=created, uid=uid)


def identity_only(ref: Ref, uid: str, version: str) -> Manifest:
    """The payload that gives everything back: nothing but the identity, pinned to the object on which it was decided."""
    metadata = {"name": ref.name, "uid": uid, "resourceVersion": version}
    if ref.namespace:
        metadata["namespace"] = ref.namespace
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": metadata}


def merged(first: Any, second: Any, path: str = "") -> tuple[Any, str]:
    """Two renderings of one object as one, and "" - or the first path at which they disagree."""
    if isinstance(first, dict) and isinstance(second, dict):
        result = dict(first)
        for key, value in second.items():
            if key not in result:
                result[key] = value
                continue
            result[key], clash = merged(result[key], value, f"{path}.{key}" if path else str(key))
            if clash:
                return first, clash
        return result, ""
    # By digest: for Python true equals 1, and for the API server it does not.
    return (first, "") if digest_of(first) == digest_of(second) else (first, path or "the object")
