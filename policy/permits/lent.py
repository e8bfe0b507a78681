"""Targets that lend rights without being RBAC: what runs or signs in as a ServiceAccount, and what gives rights in its own way.

| Target | lends |
| --- | --- |
| Pod, and what makes Pods | the rights of the account that they run as |
| another kind with a field `serviceAccountName` | the rights of that account in its namespace |
| Secret that holds the token of an account | the rights of that account |
| what gives rights in its own way (`otherwise`) | nobody knows: unresolved |

Caveats: what a Pod mounts, and what it may do to its node, are not rights of RBAC and not told here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from apis.meta import GROUP, Manifest, Ref
from policy.permits.grants import ANYBODY, RBAC, unresolved
from policy.permits.roles import BINDINGS, ROLES, account

_TEMPLATE: Final = ("spec", "template", "spec")
_PODS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "Pod"): ("spec",),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
    ("batch", "Job"): _TEMPLATE,
}
"""Where a workload has the spec of its Pods."""

_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - the name of a type
_BOOTSTRAP_TYPE: Final = "bootstrap.kubernetes.io/token"
_TOKEN_OF: Final = "kubernetes.io/service-account.name"  # noqa: S105 - the key of an annotation

_APPLIES: Final = "a controller applies further objects for it"
_WRITES: Final = "it sees and changes what others write"
_ADMISSION: Final = "admissionregistration.k8s.io"
_OTHERWISE: Final[dict[tuple[str, str], str]] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): _WRITES,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _WRITES,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WRITES,
    (_ADMISSION, "ValidatingWebhookConfiguration"): "it sees what others write, Secrets too",
    ("apiregistration.k8s.io", "APIService"): "its service answers in the place of the API server",
    ("argoproj.io", "Application"): _APPLIES,
    ("argoproj.io", "ApplicationSet"): _APPLIES,
    ("certificates.k8s.io", "CertificateSigningRequest"): "its certificate signs in as whom it names",
}
_APPLIERS: Final = frozenset(
    {GROUP, "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "templates.stakater.com", "templates.v2.stakater.com"}
)
"""Groups of whose objects controllers apply further ones."""

_ROLE: Final = re.compile(r"Role(?![a-z])")
"""The word in the name of a kind (RoleBinding, GlobalRole), and no part of another word (Rollout, Roleplay)."""


@dataclass(frozen=True, slots=True)
class Lent:
    """The rights of an account, lent by an object."""

    namespace: str
    name: str
    via: str

    @property
    def subject(self) -> str:
        """The account, as grants name it."""
        return account(self.namespace, self.name)

    @property
    def names(self) -> frozenset[str]:
        """By what bindings mean it: itself and the groups of accounts. What everybody has (system:authenticated) is not lent."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}")
        return frozenset({self.subject, *(f"Group/{group}" for group in groups)})


def needs_live(target: Manifest) -> bool:
    """Does the account depend on what is there? True for a workload that names none: a live one keeps the account that it has."""
    return _workload(target) and not _pod_spec(target).get("serviceAccountName")


def lent(target: Manifest, live: Manifest | None) -> tuple[Lent, ...]:
    """The accounts whose rights a target lends, sorted. `live` is what is there, where `needs_live`."""
    ref = Ref.of(target)
    names = {str(name) for name in _accounts(target, live) if name}
    return tuple(Lent(ref.namespace, name, named(ref)) for name in sorted(names) if ref.namespace)


def otherwise(target: Manifest) -> Manifest | None:
    """The unresolved row of a target that gives rights in a way that cannot be looked into; None for all others.

    Certificates, webhooks, aggregated APIs, bootstrap tokens, roles of other systems, and what a controller applies more for.
    """
    ref = Ref.of(target)
    why = _why(target, ref)
    return unresolved(ANYBODY, f"{ref.kind}: {why}", namespace=ref.namespace, via=named(ref)) if why else None


def named(ref: Ref) -> str:
    """How grants name an object: `Pod solar/debug`."""
    return f"{ref.kind} {ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind} {ref.name}"


def _accounts(target: Manifest, live: Manifest | None) -> Iterator[Any]:
    if _workload(target):
        own, there = _pod_spec(target), _pod_spec(live or {})
        if own.get("serviceAccountName"):
            yield own["serviceAccountName"]
            return
        # `serviceAccount` is the older name of the field; the live value of the newer one goes before it.
        found = [name for name in (there.get("serviceAccountName"), own.get("serviceAccount")) if name]
        yield from found or ["default"]
    elif Ref.of(target).key[:2] == ("", "Secret"):
        annotations = target["metadata"].get("annotations")
        yield annotations.get(_TOKEN_OF) if isinstance(annotations, dict) else None
    else:
        yield from _stated({name: value for name, value in target.items() if name != "metadata"})


def _stated(value: Any) -> Iterator[str]:
    """Every `serviceAccountName` within, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            name = one.get("serviceAccountName")
            if isinstance(name, str):
                yield name
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _why(target: Manifest, ref: Ref) -> str:
    kind = (ref.group, ref.kind)
    if kind in _OTHERWISE:
        return _OTHERWISE[kind]
    if ref.group in _APPLIERS:
        return _APPLIES
    if ref.group == RBAC and ref.kind not in ROLES + BINDINGS:
        return "it is no kind of RBAC that is known here"
    if ref.group != RBAC and _ROLE.search(ref.kind):
        return "it gives rights by other rules than those of RBAC"
    if kind == ("", "Secret") and target.get("type") == _BOOTSTRAP_TYPE:
        return "a bootstrap token signs in with the groups that it names"
    if not ref.namespace and any(_stated(target)):
        return "it names an account without a namespace"
    return ""


def _workload(target: Manifest) -> bool:
    return Ref.of(target).key[:2] in _PODS


def _pod_spec(manifest: Manifest) -> Manifest:
    found: Any = manifest
    for name in _PODS.get(Ref.of(manifest).key[:2], ()):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
