"""From rendered documents to targets: what a permit may give, and in which namespace it lands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apis.intent import Group, Identity, ScopeKind
from apis.kind import kinds
from apis.meta import GROUP, Key, Manifest, Ref
from apis.problems import Invalid, Problem
from apis.reasons import Reason
from manager.permits.case import Case
from manager.permits.context import Reading
from manager.permits.kinds import DEFINITION, kinds_of
from manager.permits.shape import Rendered
from manager.render.documents import LAST_APPLIED, Document
from manager.surroundings import Surroundings
from manager.world import Resource
from policy.account import Accounts
from policy.permits.masking import is_secret
from policy.place import Place, Served, check_document, place
from policy.plan import distinct
from policy.target import Desired
from policy.tenancy import Unit

ADMISSION = "admissionregistration.k8s.io"
KUBE_SYSTEM = "kube-system"


async def placed(
    around: Surroundings, case: Case, identity: Identity, rendered: Sequence[tuple[Reading, Sequence[Document]]]
) -> list[Rendered]:
    """The targets of each group, in order. Raises Invalid, naming source, object and remedy, and what looking up kinds raises."""
    documents = [(reading, document) for reading, several in rendered for document in several]
    refs = [check_document(document.manifest, _source(reading, document)) for reading, document in documents]
    known = await kinds_of(around.world, [document.manifest for _, document in documents])
    placing = _Placing(case, around.accounts, identity)
    targets = []
    for ref, (reading, document) in zip(refs, documents, strict=True):
        manifest = document.manifest
        if not known.is_coming(ref):
            manifest = await around.schemas.coerce(ref, manifest, document.scalars)
        targets.append(placing.place(ref, manifest, known.find(ref), reading.group, _source(reading, document)))
    return list(_grouped([reading.group for reading, _ in rendered], [reading.group for reading, _ in documents], targets))


def _source(reading: Reading, document: Document) -> str:
    return f"spec.{reading.title} {document.source}"


def _grouped(groups: Sequence[Group], origins: Sequence[Group], targets: Sequence[Desired]) -> Iterator[Rendered]:
    """Each target once, in the group that renders it first. Raises Invalid(DuplicateTarget) for two that disagree."""
    chosen, clashes = distinct(targets)
    if clashes:
        raise next(iter(clashes.values()))
    first: dict[Key, Group] = {}
    for target, group in zip(targets, origins, strict=True):
        first.setdefault(target.key, group)
    for group in groups:
        yield Rendered(group, tuple(target for key, target in chosen.items() if first[key] is group))


@dataclass(frozen=True, slots=True)
class _Placing:
    case: Case
    accounts: Accounts
    identity: Identity

    def place(self, ref: Ref, manifest: Manifest, resource: Resource, group: Group, source: str) -> Desired:
        what = f"{source}: {ref.api_version}/{ref.kind} {ref.name}"
        if self.case.local:
            check_local(ref, self.case.namespace, namespaced=resource.namespaced, what=what)
        namespace = (ref.namespace or self.case.namespace) if resource.namespaced else ""
        check_allowed(replace(ref, namespace=namespace), self.accounts, self.identity, what)
        unit = Unit(self.case.namespace, namespace=self.case.namespace)
        account = f"{self.identity.namespace}/{self.identity.name}"
        where = Place(unit, ScopeKind.NONE, False, account, group.policy, source)
        served = Served(resource.plural, resource.namespaced, resource.verbs)
        return place(replace(ref, namespace=namespace), manifest, served, where)


def check_local(ref: Ref, namespace: str, *, namespaced: bool, what: str) -> None:
    """A template of a namespace gives what is in that namespace. Raises Invalid."""
    remedy = "use a GlobalResourcePermitTemplate"
    if not namespaced:
        message = f"{what}: the kind is cluster-scoped, and a ResourcePermitTemplate reaches its own namespace only: {remedy}"
        raise Invalid(Reason.CLUSTER_SCOPED, message)
    if ref.namespace not in ("", namespace):
        message = (
            f"{what}: metadata.namespace is {ref.namespace}, but a ResourcePermitTemplate reaches its own namespace {namespace} "
            f"only: leave it out, or {remedy}"
        )
        raise Invalid(Reason.FOREIGN_NAMESPACE, message)


def check_allowed(ref: Ref, accounts: Accounts, identity: Identity, what: str) -> None:
    """Refuse what would let a permit change the manager, its policies or the system. Raises Invalid."""
    why = _why_not(ref, accounts, identity)
    if why:
        raise Invalid(Reason.INVALID, f"{what}: {why}: remove it from the template")


def _why_not(ref: Ref, accounts: Accounts, identity: Identity) -> str:
    if _is_ours(ref.group):
        return f"a permit gives no objects of {ref.group}"
    if ref.group == ADMISSION:
        return "a permit changes no admission configuration"
    if ref.kind in (DEFINITION, "APIService") and _is_ours(ref.name.partition(".")[2]):
        return "a permit does not change which kinds the manager has, and where they are served"
    namespace = ref.name if (ref.group, ref.kind) == ("", "Namespace") else ref.namespace
    if namespace == accounts.manager_namespace:
        return f"a permit gives nothing in {namespace}, the namespace of the manager"
    if namespace == KUBE_SYSTEM and identity not in accounts.allowed:
        return (
            f"a permit gives nothing in {KUBE_SYSTEM}, unless its account {identity.namespace}/{identity.name} is allowed by "
            "--allow-service-account"
        )
    return ""


def _is_ours(group: str) -> bool:
    return group.endswith(f".{GROUP}") or group in {GROUP, *(kind.group for kind in kinds())}


# Secrets.


def check_secrecy(reading: Reading, documents: Sequence[Document], blind: Sequence[Document] | Problem) -> None:
    """A group that reads Secrets renders Secrets only, and their values stand in nothing but data. Raises Invalid.

    `blind` is what it renders to when it sees other values.
    """
    for document in documents:
        manifest = document.manifest
        if not is_secret(manifest):
            name = (manifest.get("metadata") or {}).get("name", "")
            message = f"{_source(reading, document)}: {manifest['kind']} {name} stands in a group that reads Secrets"
            raise _in_plain(message, "render only Secrets in it, and everything else in another group")
    if isinstance(blind, Problem) or list(_plain(documents)) != list(_plain(blind)):
        message = f"spec.{reading.title}: what stands outside of data and stringData depends on what the Secrets hold"
        raise _in_plain(message, "use their values in data and stringData only")


def _in_plain(message: str, remedy: str) -> Invalid:
    return Invalid(Reason.SECRET_IN_PLAIN_TARGET, f"{message}, whose content must not be seen: {remedy}")


def _plain(documents: Iterable[Document]) -> Iterator[Manifest]:
    """What is seen of Secrets: everything but the values."""
    for document in documents:
        manifest = document.manifest
        keys = {name: _keys(manifest.get(name)) for name in ("data", "stringData")}
        metadata = manifest.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if isinstance(annotations, dict) and LAST_APPLIED in annotations:  # it goes before anything is stored
            metadata = {**manifest["metadata"], "annotations": {**annotations, LAST_APPLIED: ""}}
        yield {**manifest, **keys, "metadata": metadata}


def _keys(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, dict) else value
