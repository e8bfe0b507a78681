"""What every kind is lowered to: one Intent, which the planner understands. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from apis.meta import Manifest
from apis.selector import Selector


class Creation(StrEnum):
    """May a target be there already? `Owner`: absent or ours. `Merge`: adopt what is there."""

    OWNER = "Owner"
    MERGE = "Merge"


class Deletion(StrEnum):
    """What happens to a target that is no longer wanted."""

    REMOVE = "Remove"
    ORPHAN = "Orphan"


class ScopeKind(StrEnum):
    """Over what a parent iterates: the unit that its groups are rendered for."""

    NAMESPACE = "Namespace"  # each namespace of each selected tenant
    TENANT = "Tenant"  # once per selected tenant
    ALL_NAMESPACES = "AllNamespaces"  # each namespace that matches, tenant or not
    NONE = "None"  # once


@dataclass(frozen=True, slots=True)
class Policy:
    """How the targets of one group are written and taken back (seed 003, "Resource policy")."""

    creation: Creation = Creation.OWNER
    protect: bool = True
    force: bool = False
    deletion: Deletion = Deletion.REMOVE
    condition: str | None = None

    @property
    def kept(self) -> "Policy":
        """The policy as memory keeps it: without its condition."""
        return self if self.condition is None else replace(self, condition=None)


@dataclass(frozen=True, slots=True)
class Query:
    """Existing objects to read: one by name, or many by selector. Strings are templates over `tenant`, `namespace` and `parent`.

    `namespace` empty means the namespace that is iterated over (for a TenantResource's copies: its own).
    """

    index: str
    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    selector: Selector | None = None
    optional: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """One entry of `spec.resources`: sources that are rendered, and the policy for what comes out."""

    name: str
    policy: Policy = field(default_factory=Policy)
    namespace_selector: Selector | None = None
    context: tuple[Query, ...] = ()
    targets: tuple[Manifest, ...] = ()
    template: str = ""
    copies: tuple[Query, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    rendered: tuple[Manifest, ...] = ()  # taken as they are: they were rendered, and reviewed, before


@dataclass(frozen=True, slots=True)
class Scope:
    """Which units a parent has. `home` is the namespace of a TenantResource: its tenant is the tenant of that namespace."""

    kind: ScopeKind
    tenants: Selector | None = None
    home: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """A ServiceAccount to act as."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """The user name that RBAC knows."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class Gate:
    """When temporary access is given: `phase` is what the parent's status says, `until` its end (RFC 3339; "" for none)."""

    phase: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    """What one parent wants. `identity` None means the configured default; `resync` is in seconds, 0 means never.

    With a `gate` it wants it only while that is open (`policy.gate`).
    """

    groups: tuple[Group, ...]
    scope: Scope
    identity: Identity | None = None
    depends_on: tuple[str, ...] = ()
    resync: float = 600.0
    cordoned: bool = False
    gate: Gate | None = None
