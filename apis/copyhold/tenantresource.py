"""TenantResource: resources for the namespaces of the tenant in whose namespace it lives."""

from apis.copyhold import VERSION
from apis.copyhold.common import COLUMNS, FAMILY, CommonSpec, ObjectName
from apis.copyhold.status import ResourceStatus
from apis.intent import Identity, Intent, Scope, ScopeKind
from apis.kind import Kind
from apis.meta import GROUP, Manifest
from apis.rule import Ruled


class LocalAccount(Ruled):
    """A ServiceAccount in the namespace of the object."""

    name: ObjectName
    """The name of the account."""


class TenantResourceSpec(CommonSpec):
    """What is to be applied to the namespaces of the tenant, and as whom."""

    service_account: LocalAccount | None = None
    """The ServiceAccount, in the same namespace, that everything is read and written as. Omitted: the configured default."""


class TenantResource(Ruled):
    """Applies resources to each namespace of the tenant that its own namespace belongs to."""

    spec: TenantResourceSpec
    """What is to be applied to the namespaces of the tenant, and as whom."""
    status: ResourceStatus | None = None
    """What the manager did, and how it stands."""


def lower(resource: TenantResource, manifest: Manifest) -> Intent:
    """Its scope is always Namespace, at home in its own namespace; so is its account."""
    account, home = resource.spec.service_account, manifest["metadata"].get("namespace") or ""
    identity = None if account is None else Identity(home, account.name)
    return resource.spec.lowered(Scope(ScopeKind.NAMESPACE, home=home), identity)


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="TenantResource",
    plural="tenantresources",
    singular="tenantresource",
    short_names=("tr",),
    namespaced=True,
    family=FAMILY,
    model=TenantResource,
    lower=lower,
    columns=COLUMNS,
)
