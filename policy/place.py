"""Where a rendered document may live: scope rules and refusals, pure. One document -> one Desired, or the author's mistake."""

import re
from dataclasses import dataclass

from apis.intent import Policy, ScopeKind
from apis.meta import Manifest, Ref
from apis.problems import Invalid
from apis.reasons import Reason
from policy.target import Desired, digest_of, normalise
from policy.tenancy import Unit

NEEDED_VERBS = frozenset({"get", "patch", "delete"})


@dataclass(frozen=True, slots=True)
class Served:
    """What placing needs to know of a served kind."""

    plural: str
    namespaced: bool
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Who renders, for what, and under which rules."""

    unit: Unit
    scope: ScopeKind
    namespaced_parent: bool
    account: str
    policy: Policy
    source: str  # "resources[0] (quota) targets[1]"
    until: str = ""  # the end of temporary access
    trusted: bool = False  # it was placed, and reviewed, before: a namespaced parent may have had more than its own namespace


def check_document(manifest: Manifest, source: str) -> Ref:
    """The identity that a document states. Raises Invalid when it states none that server-side apply can use."""
    metadata = manifest.get("metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            raise Invalid(Reason.INVALID, f"{source}: {field} is missing or not a string: every target needs one")
    what = f"{source}: {manifest['apiVersion']}/{manifest['kind']}"
    if not isinstance(metadata, dict):
        raise Invalid(Reason.INVALID, f"{what}: metadata is missing: give it a name")
    if metadata.get("generateName"):
        raise Invalid(Reason.INVALID, f"{what}: metadata.generateName cannot be applied: give metadata.name")
    for field in ("name", "namespace"):
        if field in metadata and metadata[field] is not None and not isinstance(metadata[field], str):
            raise Invalid(Reason.INVALID, f"{what}: metadata.{field} is not a string: quote it")
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field) or {}, dict):
            raise Invalid(Reason.INVALID, f"{what}: metadata.{field} is not a map")
    for field in ("data", "stringData"):
        if manifest["kind"] == "Secret" and not isinstance(manifest.get(field) or {}, dict):
            raise Invalid(Reason.INVALID, f"{what}: {field} is not a map")
    _check_encoded(manifest, what)
    if not metadata.get("name"):
        raise Invalid(Reason.INVALID, f"{what}: metadata.name is missing")
    return Ref.of(manifest)


_ENCODED = {"Secret": ("data", "stringData"), "ConfigMap": ("binaryData", "data")}
"""The field whose values are base64, and the one that takes them as they are."""

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _check_encoded(manifest: Manifest, what: str) -> None:
    """A server answers 500 to what it cannot decode, as if it might the next time. Keys may be secret: none is named."""
    field, plain = _ENCODED.get(manifest["kind"], ("", "")) if manifest["apiVersion"] == "v1" else ("", "")
    values = manifest.get(field)
    for value in values.values() if isinstance(values, dict) else ():
        if isinstance(value, str) and not _BASE64.fullmatch(value.replace("\n", "").replace("\r", "")):
            raise Invalid(Reason.INVALID, f"{what}: {field} has a value that is not base64: encode it, or give it in {plain}")


def place(ref: Ref, manifest: Manifest, served: Served, where: Place) -> Desired:
    """Put a document where its scope says; `ref` is what it states. Raises Invalid, naming source, object and remedy."""
    what = f"{where.source}: {ref.api_version}/{ref.kind} {ref.name}"
    missing = sorted(NEEDED_VERBS - served.verbs)
    if missing:
        raise Invalid(Reason.INVALID, f"{what}: the kind does not serve {', '.join(missing)}, so it cannot be managed")
    namespace = _namespace(ref, served, where, what)
    clean = normalise(manifest)
    clean["metadata"].pop("namespace", None)
    if namespace:
        clean["metadata"]["namespace"] = namespace
    return Desired(
        ref=Ref(ref.group, ref.version, ref.kind, namespace, ref.name),
        resource=served.plural,
        cluster_scoped=not served.namespaced,
        unit=where.unit.key,
        tenant=where.unit.tenant,
        policy=where.policy,
        manifest=clean,
        digest=digest_of([clean, where.policy.protect, where.account, *([where.until] if where.until else [])]),
        sources=(where.source,),
        until=where.until,
    )


def _namespace(ref: Ref, served: Served, where: Place, what: str) -> str:
    if not served.namespaced:
        if where.namespaced_parent and not where.trusted:
            message = (
                f"{what}: cluster-scoped kind {ref.api_version}/{ref.kind} is not allowed in a TenantResource: "
                "ask for it in a GlobalTenantResource"
            )
            raise Invalid(Reason.CLUSTER_SCOPED, message)
        return ""
    if where.scope in (ScopeKind.NAMESPACE, ScopeKind.ALL_NAMESPACES):
        if ref.namespace and ref.namespace != where.unit.namespace:
            message = (
                f"{what}: metadata.namespace is {ref.namespace}, but the target is rendered for namespace "
                f"{where.unit.namespace}: leave it out, or use scope Tenant or None"
            )
            raise Invalid(Reason.FOREIGN_NAMESPACE, message)
        return where.unit.namespace
    if not ref.namespace:
        raise Invalid(Reason.INVALID, f"{what}: metadata.namespace is missing: scope {where.scope} does not imply one")
    return ref.namespace
