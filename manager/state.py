"""What the watches have shown of tenants, namespaces and parents: the memory-side picture that passes are decided on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apis.copyhold.tenant import namespaces as selector_of
from apis.intent import Intent
from apis.kind import Parent
from apis.meta import Manifest
from apis.problems import Invalid
from apis.selector import Selector
from policy.tenancy import Tenancy, tenancy


@dataclass(slots=True)
class State:
    """Tenants, templates and parents whole, namespaces as metadata. Updated by watch events, read synchronously."""

    parents: dict[str, Parent] = field(default_factory=dict)  # by UID
    tenants: dict[str, Manifest] = field(default_factory=dict)  # by name
    templates: dict[str, Manifest] = field(default_factory=dict)  # permit templates, by UID
    namespaces: dict[str, Manifest] = field(default_factory=dict)  # by name
    _intents: dict[str, tuple[int | str, Intent | None]] = field(default_factory=dict)
    _selectors: dict[str, tuple[int, Selector]] = field(default_factory=dict)
    _tenancy: Tenancy | None = None

    def changed(self) -> None:
        """Tenants or namespaces are not what they were."""
        self._tenancy = None

    @property
    def tenancy(self) -> Tenancy:
        """Who owns what now; judged once per change."""
        if self._tenancy is None:
            judged = [(tenant, self._selector(tenant)) for tenant in self.tenants.values()]
            clear = [(tenant, selector) for tenant, selector in judged if selector is not None]
            unclear = [tenant["metadata"]["name"] for tenant, selector in judged if selector is None]
            self._tenancy = tenancy(clear, self.namespaces.values(), unclear)
        return self._tenancy

    def _selector(self, tenant: Manifest) -> Selector | None:
        metadata = tenant["metadata"]
        uid, generation = metadata["uid"], metadata.get("generation", 0)
        known = self._selectors.get(uid)
        if known is None or known[0] != generation:
            try:
                known = (generation, selector_of(tenant))
            except Invalid:
                return None  # its own status says why; nothing is removed meanwhile
            self._selectors[uid] = known
        return known[1]

    def intent(self, parent: Parent) -> Intent | None:
        """The intent of a parent, parsed once per generation (of a gated one: per version); None while its spec is invalid."""
        version = parent.resource_version if parent.kind.gated else parent.generation
        known = self._intents.get(parent.uid)
        if known is None or known[0] != version:
            try:
                intent: Intent | None = parent.intent()
            except Invalid:
                intent = None
            known = self._intents[parent.uid] = (version, intent)
        return known[1]

    def forget(self, uid: str) -> None:
        """A parent is gone."""
        self.parents.pop(uid, None)
        self._intents.pop(uid, None)

    def siblings(self, parent: Parent) -> Iterator[Parent]:
        """The parents of the same kind and namespace, itself included."""
        for other in self.parents.values():
            if other.kind.kind == parent.kind.kind and other.namespace == parent.namespace:
                yield other

    def dependencies(self, parent: Parent) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, bool]]:
        """What the siblings depend on, and which of them are Ready in their present generation."""
        graph: dict[str, tuple[str, ...]] = {}
        ready: dict[str, bool] = {}
        for other in self.siblings(parent):
            intent = self.intent(other)
            graph[other.name] = intent.depends_on if intent else ()
            ready[other.name] = is_ready(other)
        return graph, ready


def is_ready(parent: Parent) -> bool:
    """Ready, and said so of the present generation."""
    if parent.deleting or parent.status.get("observedGeneration") != parent.generation:
        return False
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in parent.status.get("conditions") or ()
    )


_SIGNED = ("transitions", "phase", "request", "active", "grants", "roles")
"""What of a permit's status its trail proves. Ours change with a step alone: whatever else changes one has to be looked at."""


def visible_change(before: Parent | None, after: Parent) -> bool:
    """Did anything change that a pass would look at? Our own status writes and finalizers do not count, but asked transitions."""
    if before is None:
        return True
    if after.kind.gated and any(before.status.get(field) != after.status.get(field) for field in _SIGNED):
        return True
    return (
        before.generation != after.generation
        or before.deleting != after.deleting
        or before.annotations != after.annotations
        or before.labels != after.labels
    )
