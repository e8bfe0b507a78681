"""Which namespace belongs to which tenant, and which units a scope has. Pure: from the lists alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apis.intent import Intent, ScopeKind
from apis.meta import TENANT_LABEL, Manifest
from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from apis.selector import Selector


@dataclass(frozen=True, slots=True)
class Unit:
    """What a parent's groups are rendered for once: a namespace (with or without tenant), a tenant, or nothing in particular."""

    key: str
    tenant: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The tenants and namespaces of a cluster at one moment. `owner` maps a namespace to its tenant."""

    tenants: Mapping[str, Manifest]
    namespaces: Mapping[str, Manifest]
    owner: Mapping[str, str] = field(default_factory=dict)
    claimed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # tenant -> namespaces that an older tenant has
    unclear: frozenset[str] = frozenset()  # tenants that cannot be read: nobody knows which namespaces they have

    def members(self, tenant: str) -> tuple[str, ...]:
        """The namespaces of a tenant, sorted."""
        return tuple(sorted(name for name, owner in self.owner.items() if owner == tenant))


def tenancy(tenants: Iterable[tuple[Manifest, Selector]], namespaces: Iterable[Manifest], unclear: Iterable[str] = ()) -> Tenancy:
    """Judge who owns what: a namespace that two tenants match belongs to the older one (creation time, then name)."""
    by_age = sorted(tenants, key=lambda pair: (pair[0]["metadata"].get("creationTimestamp") or "", pair[0]["metadata"]["name"]))
    spaces = {manifest["metadata"]["name"]: manifest for manifest in namespaces}
    owner: dict[str, str] = {}
    claimed: dict[str, list[str]] = {}
    for tenant, selector in by_age:
        name = tenant["metadata"]["name"]
        for space, manifest in spaces.items():
            if not selector.matches(labels_of(manifest)):
                continue
            if space in owner:
                claimed.setdefault(name, []).append(space)
            else:
                owner[space] = name
    return Tenancy(
        tenants={tenant["metadata"]["name"]: tenant for tenant, _ in by_age},
        namespaces=spaces,
        owner=owner,
        claimed={name: tuple(sorted(lost)) for name, lost in claimed.items()},
        unclear=frozenset(unclear),
    )


def labels_of(manifest: Manifest) -> Mapping[str, str]:
    """The labels of an object, never None."""
    return manifest["metadata"].get("labels") or {}


def terminating(manifest: Manifest | None) -> bool:
    """True for an object that is being deleted."""
    return manifest is not None and "deletionTimestamp" in manifest["metadata"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The units of a parent, and the tenants that it looks at."""

    units: Mapping[str, Unit]
    tenants: tuple[str, ...] = ()


def select(intent: Intent, world: Tenancy, *, reserved: frozenset[str] = frozenset()) -> Selection:
    """The units of a scope.

    `reserved` are namespaces that no selection reaches (kube-*, the manager's own): only an explicit name in a manifest does.
    Raises Blocked(NoTenant) when a TenantResource lives in a namespace of no tenant.
    """
    scope = intent.scope
    if scope.kind == ScopeKind.NONE:
        return Selection({"": Unit("")})
    if scope.kind == ScopeKind.ALL_NAMESPACES:
        return Selection({name: Unit(name, world.owner.get(name, ""), name) for name in _open(world, world.namespaces, reserved)})
    tenants = _tenants(intent, world)
    if scope.kind == ScopeKind.TENANT:
        return Selection({name: Unit(name, name) for name in tenants}, tenants)
    spaces = {name: world.owner[name] for name in _open(world, world.owner, reserved) if world.owner[name] in tenants}
    return Selection({name: Unit(name, tenant, name) for name, tenant in spaces.items()}, tenants)


def _tenants(intent: Intent, world: Tenancy) -> tuple[str, ...]:
    if intent.scope.home:
        tenant = world.owner.get(intent.scope.home)
        if tenant is None:
            message = (
                f"namespace {intent.scope.home} belongs to no Tenant: give it the labels by which a Tenant selects "
                f"(by default {TENANT_LABEL}: <tenant>)"
            )
            raise Blocked(Reason.NO_TENANT, message)
        return (tenant,)
    selector = intent.scope.tenants
    living = ((name, tenant) for name, tenant in world.tenants.items() if not terminating(tenant))
    return tuple(sorted(name for name, tenant in living if selector is None or selector.matches(labels_of(tenant))))


def _open(world: Tenancy, names: Iterable[str], reserved: frozenset[str]) -> list[str]:
    """The namespaces that take objects: not going away, not reserved. Sorted, so that two runs do the same thing."""
    return sorted(
        name
        for name in names
        if name not in reserved and not name.startswith("kube-") and not terminating(world.namespaces.get(name))
    )


def check_reference(unit: Unit, namespace: str, world: Tenancy, place: str) -> None:
    """A tenant's parent may name only namespaces of its tenant. Raises Invalid, naming place and namespaces."""
    allowed = world.members(unit.tenant)
    if namespace not in allowed:
        listed = ", ".join(allowed[:20]) + (" ..." if len(allowed) > 20 else "")
        message = (
            f"{place}: cross-namespace selection is not allowed: namespace {namespace} is not one of tenant {unit.tenant} "
            f"(allowed: {listed}); name one of these or leave the namespace out"
        )
        raise Invalid(Reason.FOREIGN_NAMESPACE, message)


def covers(intent: Intent, world: Tenancy, namespace: str, *, reserved: frozenset[str] = frozenset()) -> bool:
    """Is this namespace a unit of the scope? The same verdict as `select`, for one namespace."""
    scope = intent.scope
    if scope.kind not in (ScopeKind.NAMESPACE, ScopeKind.ALL_NAMESPACES) or namespace not in world.namespaces:
        return False
    if not _open(world, (namespace,), reserved):
        return False
    if scope.kind == ScopeKind.ALL_NAMESPACES:
        return True
    tenant = world.owner.get(namespace)
    if tenant is None:
        return False
    if scope.home:
        return world.owner.get(scope.home) == tenant
    return not terminating(world.tenants[tenant]) and (
        scope.tenants is None or scope.tenants.matches(labels_of(world.tenants[tenant]))
    )
