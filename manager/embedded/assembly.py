"""Puts the parts of a server together: the one place that knows them all."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from apis.meta import Manifest
from manager.embedded import openapi
from manager.embedded.admission import CREATE, Admission, Attempt
from manager.embedded.attributes import Attributes, User
from manager.embedded.auth.authenticate import Authenticator
from manager.embedded.auth.escalation import check_escalation
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.auth.reviews import Reviews
from manager.embedded.auth.tokens import Tokens
from manager.embedded.defining import strategy_of
from manager.embedded.discovery import Discovery
from manager.embedded.kinds.strategy import Strategy
from manager.embedded.policies import AdmissionRequest, Policies
from manager.embedded.policies.request import Kind, Operation, Resource
from manager.embedded.published import openapi_of
from manager.embedded.registry import Registry
from manager.embedded.served import Served
from manager.embedded.server import ApiServer
from manager.embedded.store import Key, Store
from manager.embedded.subresources import scale_of
from manager.embedded.target import Target
from manager.embedded.webhooks import Webhooks

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_VERBS = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}


def assemble(
    store: Store, *, users: Mapping[str, User], key: bytes, clock: Callable[[], datetime], unserved: Collection[str] = ()
) -> ApiServer:
    """A server on a store. `users` are the owners of its tokens; `key` signs those of ServiceAccounts (32 bytes).

    `unserved` are built-in resources that it does not know, as `deployments.apps`.
    """
    registry = Registry(served for served in openapi.builtin() if served.resource not in unserved)
    authorizer = Authorizer(store)
    tokens = Tokens(key, store, clock)
    authenticator = Authenticator(users, tokens)
    policies = Policies(store, registry.of_kind, authorizer)
    webhooks = Webhooks(store, authorizer)

    def escalate(attempt: Attempt) -> list[str]:
        if attempt.target.served.group == "rbac.authorization.k8s.io" and attempt.new is not None:
            check_escalation(_asked(attempt), attempt.new, attempt.old, authorizer)
        return []

    def may_create(attempt: Attempt) -> list[str]:
        # Who only writes over what is there, and finds nothing, creates: that is a right of its own.
        if attempt.operation == CREATE and attempt.options.get("kind") != "CreateOptions":
            authorizer.require(_asked(attempt))
        return []

    def judge(attempt: Attempt) -> list[str]:
        return policies.admit(_request(attempt, registry))

    def call(attempt: Attempt) -> list[str]:
        return webhooks.admit(_request(attempt, registry)) if webhooks.present else []

    def shape(attempt: Attempt) -> tuple[Manifest, list[str]]:
        new = attempt.new or {}
        if not webhooks.present or attempt.target.subresource in _OF_SUBRESOURCES:
            return new, []
        made, warnings = webhooks.mutate(_request(attempt, registry))
        return made or new, warnings

    return ApiServer(
        store=store,
        registry=registry,
        discovery=Discovery(registry, lambda served: _document(store, served)),
        authenticator=authenticator,
        authorizer=authorizer,
        reviews=Reviews(authorizer, authenticator, tokens, store, clock),
        admission=Admission(store, guards=(escalate,), judges=(may_create, judge, call), shaper=shape),
        strategy=_Strategies(registry).of,
        clock=clock,
        webhooks=webhooks,
    )


class _Strategies:
    """One strategy for each served kind, made when it is first needed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._version = registry.version
        self._made: dict[tuple[str, str, str], Strategy] = {}

    def of(self, served: Served) -> Strategy:
        """The strategy of a kind."""
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._made.clear()
        place = served.group, served.version, served.plural
        if place not in self._made:
            self._made[place] = strategy_of(served)
        return self._made[place]


def _asked(attempt: Attempt) -> Attributes:
    target = attempt.target
    served = target.served
    # A POST alone has no name in its path; an apply and a PUT that create have.
    name = "" if attempt.options.get("kind") == "CreateOptions" else target.name
    return Attributes(
        attempt.user,
        _VERBS[attempt.operation],
        served.group,
        served.version,
        served.plural,
        target.subresource,
        target.namespace,
        name,
    )


_OF_SUBRESOURCES = {
    "scale": Kind("autoscaling", "v1", "Scale"),
    "eviction": Kind("policy", "v1", "Eviction"),
    "token": Kind("authentication.k8s.io", "v1", "TokenRequest"),
}


def _kind(attempt: Attempt) -> Kind:
    served = attempt.target.served
    return _OF_SUBRESOURCES.get(attempt.target.subresource) or Kind(served.group, served.version, served.kind)


def _request(attempt: Attempt, registry: Registry) -> AdmissionRequest:
    target = attempt.target
    served = target.served
    namespace = target.name if target.key.resource == "namespaces" else target.namespace
    return AdmissionRequest(
        operation=Operation(attempt.operation),
        kind=_kind(attempt),
        resource=Resource(served.group, served.version, served.plural),
        user=attempt.user,
        object=_seen(attempt.new, target),
        old=_seen(attempt.old, target),
        name=target.name,
        namespace=namespace,
        subresource=target.subresource,
        options=attempt.options,
        dry_run=attempt.dry_run,
        others=_others(served, registry) if target.subresource not in _OF_SUBRESOURCES else {},
    )


def _seen(state: Manifest | None, target: Target) -> Manifest | None:
    """An object as admission sees it: through its scale, as that."""
    return scale_of(state, target.served) if state is not None and target.subresource == "scale" else state


def _others(served: Served, registry: Registry) -> dict[Resource, Kind]:
    """The further versions of a resource, which a policy may name instead."""
    if not served.custom:
        return {}
    same = (each for each in registry if each.definition == served.definition and each.version != served.version)
    return {Resource(each.group, each.version, each.plural): Kind(each.group, each.version, each.kind) for each in same}


def _document(store: Store, served: Iterable[Served]) -> Manifest:
    """The OpenAPI document of a group version of definitions: those of all its kinds in one."""
    whole: Manifest = {}
    for each in served:
        definition = store.read(Key(CRDS, "", each.definition))
        if definition is not None:
            part = openapi_of(definition, each.version)
            whole = _merged(whole, part)
    return whole


def _merged(whole: Manifest, part: Manifest) -> Manifest:
    """Two documents in one: maps are merged, everything else is the same in both."""
    if not whole:
        return part
    merged = dict(whole)
    for key, value in part.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
