"""Which variables the expressions of a policy have, and of which types; the values of one request."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from apis.meta import Manifest
from manager.embedded.attributes import Attributes, Decision, User
from manager.embedded.auth.rbac import ACCOUNT_PREFIX
from manager.embedded.policies.matching import Matched
from manager.embedded.policies.request import AdmissionRequest
from manager.embedded.policies.structures import NAMESPACE, REQUEST
from policy.cel.ext import authorizer as cel
from policy.cel.types import DYN, Type

_ALWAYS: Mapping[str, Type] = {"object": DYN, "oldObject": DYN, "request": REQUEST, "namespaceObject": NAMESPACE}
_AUTHORIZER = {"authorizer": cel.AUTHORIZER, "authorizer.requestResource": cel.RESOURCE_CHECK}


class Authorizer(Protocol):
    """Who knows the rights of users."""

    def decide(self, asked: Attributes) -> Decision:
        """Whether the user may."""


def declared(*, params: bool, authorizer: bool) -> dict[str, Type]:
    """The variables of an expression, before the policy's own."""
    return {**_ALWAYS, **({"params": DYN} if params else {}), **(_AUTHORIZER if authorizer else {})}


def values(request: AdmissionRequest, matched: Matched, params: Manifest | None, namespace: Manifest | None) -> dict[str, Any]:
    """The variables of one request as a policy sees it."""
    kind = matched.kind
    return {
        "object": in_version(request.object, request, kind.version),
        "oldObject": in_version(request.old, request, kind.version),
        "request": request.shown(matched.resource, kind),
        "namespaceObject": None if namespace is None else shown_namespace(namespace),
        "params": params,
    }


def questions(request: AdmissionRequest, authorizer: Authorizer) -> dict[str, Any]:
    """The variables that ask about rights, of the one who sends the request."""
    check = _check(request.user, authorizer)
    about = cel.request_resource(
        check,
        group=request.resource.group,
        resource=request.resource.plural,
        subresource=request.subresource,
        namespace=request.namespace,
        name=request.name,
    )
    return {"authorizer": cel.Authorizer(check), "authorizer.requestResource": about}


def _check(user: User, authorizer: Authorizer) -> Callable[[cel.Attributes], tuple[bool, str]]:
    def check(asked: cel.Attributes) -> tuple[bool, str]:
        decision = authorizer.decide(
            Attributes(
                user if asked.account is None else _account(*asked.account),
                asked.verb,
                asked.group,
                "*",
                asked.resource,
                asked.subresource,
                asked.namespace,
                asked.name,
                asked.path,
            )
        )
        return decision.allowed, decision.reason

    return check


def _account(namespace: str, name: str) -> User:
    """A ServiceAccount that somebody asks about; unlike one that sends a request, it is not in `system:authenticated`."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"{ACCOUNT_PREFIX}{namespace}:{name}", groups=groups)


def in_version(manifest: Manifest | None, request: AdmissionRequest, version: str) -> Manifest | None:
    """The object in the version that the policy matched. All versions have the same shape here."""
    if manifest is None or version == request.kind.version:
        return manifest
    group = request.kind.group
    return {**manifest, "apiVersion": f"{group}/{version}" if group else version}


_SHOWN = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "labels", "annotations", "finalizers",
)  # fmt: skip


def shown_namespace(namespace: Manifest) -> Manifest:
    """The variable `namespaceObject`: without managed fields and owner references."""
    metadata = namespace["metadata"]
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": namespace.get("spec", {}),
        "status": namespace.get("status", {}),
    }
