"""Builders for what decisions are made of, so that a row of a table test reads as a sentence."""

from dataclasses import replace
from typing import Any

from apis.intent import Creation, Deletion, Policy
from apis.kind import Parent, find
from apis.meta import GROUP, MANAGED, PARENT_PREFIX, Manifest, Ref
from apis.problems import Problem
from apis.reasons import Reason
from apis.record import Record
from policy.decide import Item, Owner
from policy.ownership import Holding, Live
from policy.target import Desired, digest_of

ME = "uid-me"
OTHER = "uid-other"
MANAGER = f"{GROUP}/globaltenantresource/{ME}"
OWNER = Owner(MANAGER, ME, "platform/distributor")
FIELDS = "f0f0f0f0f0f0f0f0"
"""The digest of the field set that we own after an apply, unless told otherwise."""


def ref(name: str = "settings", *, kind: str = "ConfigMap", namespace: str = "solar-dev", api: str = "v1") -> Ref:
    """A reference; `api` is `v1` or `apps/v1`."""
    return Ref.of({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}})


def policy(**changes: Any) -> Policy:
    """The default policy with some fields changed; `Merge` and `Orphan` may be words."""
    words: dict[str, Any] = {"creation": Creation, "deletion": Deletion}
    return Policy(**{field: words[field](value) if field in words else value for field, value in changes.items()})


def want(
    name: str = "settings",
    *,
    kind: str = "ConfigMap",
    namespace: str = "solar-dev",
    api: str = "v1",
    unit: str = "solar-dev",
    source: str = "resources[0] targets[0]",
    body: Manifest | None = None,
    **rules: Any,
) -> Desired:
    """A desired target. `body` are its top-level fields beside identity, `rules` those of its policy."""
    target, metadata = ref(name, kind=kind, namespace=namespace, api=api), {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    manifest = {"apiVersion": api, "kind": kind, "metadata": metadata, **({"data": {"a": "1"}} if body is None else body)}
    return Desired(
        ref=target,
        resource=f"{kind.lower()}s",
        cluster_scoped=not namespace,
        unit=unit,
        tenant="solar",
        policy=policy(**rules),
        manifest=manifest,
        digest=digest_of([manifest, rules.get("protect", True), OWNER.account]),
        sources=(source,),
    )


def hold(parent: str = ME, mark: str = "created", *, fields: str = FIELDS, kind: str = "globaltenantresource") -> Holding:
    """A parent's proven hold on an object."""
    return Holding(f"{GROUP}/{kind}/{parent}", mark, fields)


def live(*holds: Holding, uid: str = "u1", version: str = "10", terminating: bool = False) -> Live:
    """What is there, and who holds it; without holds, it is nobody's of ours."""
    return Live(uid, version, terminating, holds)


def record(of: Desired | None = None, **known: Any) -> Record:
    """What memory says after a successful apply of `of`; `known` changes parts of it."""
    target = of or want()
    applied = Record(
        ref=target.ref,
        resource=target.resource,
        cluster_scoped=target.cluster_scoped,
        unit=target.unit,
        tenant=target.tenant,
        policy=replace(target.policy, condition=None),
        account=OWNER.account,
        uid="u1",
        created=True,
        payload=target.digest,
        fields=FIELDS,
        last_apply="2026-01-01T00:00:00Z",
        ok=True,
        reason=Reason.SUCCEEDED,
    )
    return replace(applied, **known)


def item(
    desired: Desired | None = None,
    there: Live | None = None,
    remembered: Record | None = None,
    *,
    condition: bool | Problem = True,
    **facts: Any,
) -> Item:
    """What is decided on: desired, live, recorded, and facts of the surroundings (`known`, `kin`, `held` ...)."""
    source = desired or remembered
    key = source.key if source is not None else ref().key
    return Item(key, desired, there, remembered, condition, **facts)


def parent(
    name: str = "baseline",
    *,
    kind: str = "GlobalTenantResource",
    namespace: str = "",
    uid: str = ME,
    generation: int = 1,
    spec: Manifest | None = None,
    status: Manifest | None = None,
    **metadata: Any,
) -> Parent:
    """An object of one of our kinds, as a server would hold it; `spec` is added to one that renders a ConfigMap."""
    found = find(GROUP, kind)
    assert found is not None
    about: Manifest = {"name": name, "uid": uid, "generation": generation, "resourceVersion": "1", **metadata}
    if namespace:
        about["namespace"] = namespace
    target = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
    whole = {"resources": [{"targets": [target]}], **(spec or {})}
    manifest = {"apiVersion": found.api_version, "kind": kind, "metadata": about, "spec": whole}
    return Parent(found, manifest if status is None else {**manifest, "status": status})


def stored(
    *entries: Manifest,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    body: Manifest | None = None,
    **metadata: Any,
) -> Manifest:
    """An object as a server answers it, with these managedFields entries."""
    about: Manifest = {"name": "settings", "namespace": "solar-dev", "uid": "u1", "resourceVersion": "10", **metadata}
    about["managedFields"] = list(entries)
    if labels is not None:
        about["labels"] = labels
    if annotations is not None:
        about["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, **({"data": {"a": "1"}} if body is None else body)}


def entry(manager: str, fields: Manifest, *, operation: str = "Apply", subresource: str = "") -> Manifest:
    """One entry of managedFields."""
    plain: Manifest = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**plain, "subresource": subresource} if subresource else plain


def applied(parent_uid: str = ME, *, kind: str = "globaltenantresource", **fields: Manifest) -> Manifest:
    """The entry of a parent that applied its marks and these top-level fields (`f_data` stands for `f:data`)."""
    labels: Manifest = {f"f:{MANAGED}": {}, f"f:{PARENT_PREFIX}{parent_uid}": {}}
    more = {f"f:{name.removeprefix('f_')}": inner for name, inner in fields.items()}
    return entry(f"{GROUP}/{kind}/{parent_uid}", {"f:metadata": {"f:labels": labels}, **more})
