"""One rule of a Role or ClusterRole: what it allows, and which rules it covers.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and the behaviour of the real server.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from apis.meta import Manifest
from manager.embedded.attributes import Attributes
from manager.embedded.auth.refusal import quoted_list

ALL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """One PolicyRule. Empty `names` mean every name; `urls` are paths that are no resources."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, manifest: Manifest) -> "Rule":
        """Read one of `rules`."""
        fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(manifest.get(field) or ()) for field in fields))

    def __str__(self) -> str:
        """As a refused escalation names it: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`."""
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"

    def concerns(self, asked: Attributes) -> bool:
        """Does the rule allow this, for some name at least?"""
        if not _has(self.verbs, asked.verb):
            return False
        if asked.path:
            return any(_covers_path(url, asked.path) for url in self.urls)
        return _has(self.groups, asked.group) and self._has_resource(asked.resource, asked.subresource)

    def allows(self, asked: Attributes) -> bool:
        """Does the rule allow this? A rule with names allows nothing that has no name, as a list or a create."""
        return self.concerns(asked) and (bool(asked.path) or not self.names or asked.name in self.names)

    def _has_resource(self, resource: str, subresource: str) -> bool:
        if not subresource:
            return _has(self.resources, resource)
        return _has(self.resources, f"{resource}/{subresource}") or f"*/{subresource}" in self.resources

    def parts(self) -> Iterator["Rule"]:
        """The rule as rules of one verb, one resource and at most one name each."""
        for group, resource, verb in product(self.groups, self.resources, self.verbs):
            for name in self.names or (None,):
                yield Rule((verb,), (group,), (resource,), () if name is None else (name,))
        for url, verb in product(self.urls, self.verbs):
            yield Rule((verb,), urls=(url,))

    def covers(self, part: "Rule") -> bool:
        """Does the rule give all that one of the `parts` of another gives?"""
        return (
            _has_all(self.verbs, part.verbs)
            and _has_all(self.groups, part.groups)
            and all(self._covers_resource(resource) for resource in part.resources)
            and (not self.names or (bool(part.names) and set(part.names) <= set(self.names)))
            and all(any(_covers_path(own, url) for own in self.urls) for url in part.urls)
        )

    def _covers_resource(self, resource: str) -> bool:
        if _has(self.resources, resource):
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self.resources


def _has(values: tuple[str, ...], value: str) -> bool:
    return value in values or ALL in values


def _has_all(values: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return ALL in values or all(value in values for value in wanted)


def _covers_path(own: str, path: str) -> bool:
    return own == path or (own.endswith(ALL) and path.startswith(own.rstrip(ALL)))
