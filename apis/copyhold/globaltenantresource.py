"""GlobalTenantResource: resources for many tenants, for all namespaces, or for the cluster."""

from typing import ClassVar

from apis.copyhold import VERSION
from apis.copyhold.common import COLUMNS, FAMILY, CommonSpec, NamespaceName, ObjectName
from apis.copyhold.labels import LabelSelector, lowered
from apis.copyhold.status import GlobalResourceStatus
from apis.intent import Identity, Intent, Scope, ScopeKind
from apis.kind import Kind
from apis.meta import GROUP, Manifest
from apis.rule import Rule, Ruled

_WITH_TENANTS = (ScopeKind.NAMESPACE, ScopeKind.TENANT)
_WITH_NAMESPACES = (ScopeKind.NAMESPACE, ScopeKind.ALL_NAMESPACES)


class Account(Ruled):
    """A ServiceAccount."""

    name: ObjectName
    """The name of the account."""
    namespace: NamespaceName
    """The namespace of the account."""


def _no_group(spec: "GlobalTenantResourceSpec", field: str) -> bool:
    return all(getattr(group, field) is None for group in spec.resources)


class GlobalTenantResourceSpec(CommonSpec):
    """What is to be applied, over which scope, and as whom."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *CommonSpec.rules,
        Rule(
            "!has(self.tenantSelector) || self.scope in ['Namespace', 'Tenant']",
            "selects tenants only in scopes Namespace and Tenant: remove it, or change the scope",
            lambda self: self.tenant_selector is None or self.scope in _WITH_TENANTS,
            ("tenantSelector",),
            "FieldValueForbidden",
        ),
        Rule(
            "self.scope in ['Namespace', 'AllNamespaces'] || self.resources.all(one, !has(one.namespacedItems))",
            "namespacedItems need namespaces: remove them, or change the scope to Namespace or AllNamespaces",
            lambda self: self.scope in _WITH_NAMESPACES or _no_group(self, "namespaced_items"),
            ("resources",),
            "FieldValueForbidden",
        ),
        Rule(
            "self.scope in ['Namespace', 'AllNamespaces'] || self.resources.all(one, !has(one.namespaceSelector))",
            "namespaceSelector needs namespaces: remove it, or change the scope to Namespace or AllNamespaces",
            lambda self: self.scope in _WITH_NAMESPACES or _no_group(self, "namespace_selector"),
            ("resources",),
            "FieldValueForbidden",
        ),
    )

    scope: ScopeKind = ScopeKind.NAMESPACE
    """What the groups are rendered for. `Namespace`: each namespace of each selected tenant. `Tenant`: once per selected tenant.
    `AllNamespaces`: each namespace, of a tenant or not. `None`: once."""
    tenant_selector: LabelSelector | None = None
    """Which tenants, by their labels. Omitted: every tenant. Only in scopes Namespace and Tenant."""
    service_account: Account | None = None
    """The ServiceAccount that everything is read and written as. Omitted: the configured default."""


class GlobalTenantResource(Ruled):
    """Applies resources to the namespaces of many tenants, to all namespaces, or to the cluster."""

    spec: GlobalTenantResourceSpec
    """What is to be applied, over which scope, and as whom."""
    status: GlobalResourceStatus | None = None
    """What the manager did, and how it stands."""


def lower(resource: GlobalTenantResource, _: Manifest) -> Intent:
    """No selector of tenants means every tenant (None)."""
    spec = resource.spec
    account = spec.service_account
    identity = None if account is None else Identity(account.namespace, account.name)
    return spec.lowered(Scope(spec.scope, lowered(spec.tenant_selector)), identity)


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="GlobalTenantResource",
    plural="globaltenantresources",
    singular="globaltenantresource",
    short_names=("gtr",),
    namespaced=False,
    family=FAMILY,
    model=GlobalTenantResource,
    lower=lower,
    columns=COLUMNS,
)
