"""Which requests a policy or a binding is about: rules, names and selectors, before any CEL is evaluated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apis.meta import Manifest
from apis.selector import Requirement, Selector
from manager.embedded.policies.request import AdmissionRequest, Kind, Operation, Resource

ALL = "*"
Labels = Mapping[str, str]
NamespaceLabels = Callable[[str], Labels]
"""The labels of a stored namespace. Raises StatusError 404."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The version in which a policy wants to see the request."""

    resource: Resource
    kind: Kind


@dataclass(frozen=True, slots=True)
class Rule:
    """One `NamedRuleWithOperations`. Resources are pairs of plural and subresource, either of which may be `*`."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    @classmethod
    def of(cls, manifest: Manifest) -> "Rule":
        """Read one rule."""
        resources = (each.partition("/") for each in manifest.get("resources") or ())
        return cls(
            operations=frozenset(manifest.get("operations") or ()),
            groups=frozenset(manifest.get("apiGroups") or ()),
            versions=frozenset(manifest.get("apiVersions") or ()),
            resources=tuple((plural, subresource) for plural, _, subresource in resources),
            scope=manifest.get("scope") or ALL,
            names=frozenset(manifest.get("resourceNames") or ()),
        )

    def concerns(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        """Is it about such requests, in some place and with some name?"""
        return (
            _has(self.operations, operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and any(plural in (ALL, resource.plural) and below in (ALL, subresource) for plural, below in self.resources)
        )

    def fits(self, request: AdmissionRequest) -> bool:
        """Are scope and name of a request that it concerns those it wants?"""
        clustered = request.of_namespaces or not request.namespace
        in_scope = self.scope == ALL or clustered == (self.scope == "Cluster")
        return in_scope and (not self.names or request.name in self.names)


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or ALL in values


@dataclass(frozen=True, slots=True)
class Constraints:
    """`matchConstraints` of a policy, or `matchResources` of a binding (which may have no rules, and then match all)."""

    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    namespaces: Selector
    objects: Selector
    equivalent: bool

    @classmethod
    def of(cls, manifest: Manifest) -> "Constraints":
        """Read them. Raises ValueError for an operator of a selector that does not exist."""
        return cls(
            rules=tuple(map(Rule.of, manifest.get("resourceRules") or ())),
            excluded=tuple(map(Rule.of, manifest.get("excludeResourceRules") or ())),
            namespaces=selector(manifest.get("namespaceSelector")),
            objects=selector(manifest.get("objectSelector")),
            equivalent=manifest.get("matchPolicy", "Equivalent") == "Equivalent",
        )

    def concern(self, operation: Operation, resources: Sequence[Resource], subresource: str) -> bool:
        """Might a request of this sort match? `resources` are its own and those of the other versions."""
        if not self.rules:
            return True
        seen = resources if self.equivalent else resources[:1]
        return any(rule.concerns(operation, resource, subresource) for rule in self.rules for resource in seen)

    def match(self, request: AdmissionRequest, labels_of: NamespaceLabels) -> Matched | None:
        """The version in which the request is to be seen, or None when they are not about it.

        Raises StatusError 404 when the namespace, whose labels are asked for, does not exist.
        """
        if not self._selects_object(request):
            return None
        if self._rule(self.excluded, request) is not None:
            return None
        matched = Matched(request.resource, request.kind) if not self.rules else self._rule(self.rules, request)
        # Last, because an absent namespace is an error only of a request that the rules are about.
        return matched if matched is not None and self._selects_namespace(request, labels_of) else None

    def _rule(self, rules: tuple[Rule, ...], request: AdmissionRequest) -> Matched | None:
        own = request.resource
        for rule in rules:
            if rule.concerns(request.operation, own, request.subresource) and rule.fits(request):
                return Matched(own, request.kind)
        for rule in rules if self.equivalent else ():
            for resource, kind in request.others.items():
                if rule.concerns(request.operation, resource, request.subresource) and rule.fits(request):
                    return Matched(resource, kind)
        return None

    def _selects_object(self, request: AdmissionRequest) -> bool:
        if not self.objects.requirements:
            return True
        states = (request.object, request.old)
        return any(state is not None and self.objects.matches(labels(state)) for state in states)

    def _selects_namespace(self, request: AdmissionRequest, labels_of: NamespaceLabels) -> bool:
        if not self.namespaces.requirements:
            return True
        if request.of_namespaces and not request.subresource and request.operation in (Operation.CREATE, Operation.UPDATE):
            return request.object is not None and self.namespaces.matches(labels(request.object))
        # What is in no namespace is never exempt.
        return not request.namespace or self.namespaces.matches(labels_of(request.namespace))


def labels(manifest: Manifest) -> Labels:
    """The labels of an object."""
    found: Labels = (manifest.get("metadata") or {}).get("labels") or {}
    return found


def selector(manifest: Manifest | None) -> Selector:
    """A `metav1.LabelSelector`; nothing selects everything."""
    given = manifest or {}
    expressions = (
        Requirement(each["key"], each["operator"], tuple(each.get("values") or ()))
        for each in given.get("matchExpressions") or ()
    )
    return Selector.of(given.get("matchLabels") or {}, tuple(expressions))
