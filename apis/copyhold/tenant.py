"""Tenant: who owns which namespaces."""

from typing import Annotated, ClassVar

from pydantic import Field

from apis.copyhold import VERSION
from apis.copyhold.labels import LabelSelector
from apis.copyhold.status import Status
from apis.copyhold.subject import SubjectKind
from apis.kind import AGE, Column, Kind, condition_column
from apis.meta import GROUP, TENANT_LABEL, Manifest
from apis.rule import Rule, Ruled
from apis.selector import Selector

NAME_MAX = 63
"""The name is the value of the default label, and a label value has at most 63 characters."""


class Owner(Ruled):
    """A subject that owns the tenant."""

    kind: SubjectKind
    """What the owner is."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    """The name that RBAC knows; for a ServiceAccount `system:serviceaccount:<namespace>:<name>`."""


def _owners_differ(spec: "TenantSpec") -> bool:
    owners = [(owner.kind, owner.name) for owner in spec.owners]
    return len(owners) == len(set(owners))


class TenantSpec(Ruled):
    """Who owns the tenant, and which namespaces belong to it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.namespaceSelector)"
            " || (has(self.namespaceSelector.matchLabels) && size(self.namespaceSelector.matchLabels) > 0)"
            " || (has(self.namespaceSelector.matchExpressions) && size(self.namespaceSelector.matchExpressions) > 0)",
            f"an empty selector would claim every namespace: name a label, or omit the field for the label {TENANT_LABEL}",
            lambda self: self.namespace_selector is None or not self.namespace_selector.empty,
            ("namespaceSelector",),
        ),
        # The API server says this by the list's map keys.
        Rule("", "two entries name the same owner: remove one", _owners_differ, ("owners",), "FieldValueDuplicate"),
    )

    owners: Annotated[
        tuple[Owner, ...],
        Field(
            max_length=256, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["kind", "name"]}
        ),
    ] = ()
    """The owners: data for templates, and who gets the aggregated role. Nothing else follows from it."""
    namespace_selector: LabelSelector | None = None
    """Which namespaces belong to the tenant. Omitted: those with the label `copyhold.dev/tenant: <name of the tenant>`.
    A namespace that two tenants match belongs to the older one."""


class TenantStatus(Status):
    """Which namespaces belong to the tenant."""

    namespaces: Annotated[tuple[str, ...], Field(json_schema_extra={"x-kubernetes-list-type": "set"})] = ()
    """The names of the namespaces that belong to the tenant, sorted."""
    size: int | None = None
    """How many namespaces belong to the tenant."""


class Tenant(Ruled):
    """A set of namespaces with owners, for which resources can be distributed."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"self.metadata.name.size() <= {NAME_MAX}",
            f"metadata.name: must have at most {NAME_MAX} characters, since it is the value of a label",
            # The name is no part of the model; a name that is too long for a label matches no namespace.
            lambda _: True,
        ),
    )

    spec: TenantSpec = TenantSpec()
    """Who owns the tenant, and which namespaces belong to it."""
    status: TenantStatus | None = None
    """Which namespaces belong to the tenant."""


def namespaces(tenant: Manifest) -> Selector:
    """By which labels this Tenant claims namespaces. Raises Invalid."""
    parsed: Tenant = KIND.parse(tenant)
    if parsed.spec.namespace_selector is not None:
        return parsed.spec.namespace_selector.lower()
    return Selector.of({TENANT_LABEL: tenant["metadata"]["name"]})


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="Tenant",
    plural="tenants",
    singular="tenant",
    short_names=("ten",),
    namespaced=False,
    model=Tenant,
    columns=(Column("Namespaces", ".status.size", "integer"), condition_column("Ready", "status"), AGE),
)
