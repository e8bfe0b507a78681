"""What TenantResource and GlobalTenantResource have in common: the spec without scope and account."""

from collections import Counter
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, Strict

from apis.copyhold.duration import PATTERN, checked, seconds
from apis.copyhold.group import ResourceGroup
from apis.intent import Identity, Intent, Scope
from apis.kind import AGE, Column, condition_column
from apis.rule import Rule, Ruled

FAMILY = "tenantresource"
"""TenantResource and GlobalTenantResource are kin: what one of them created, another may join."""

COLUMNS = (
    Column("Items", ".status.size", "integer"),
    condition_column("Ready", "status"),
    condition_column("Status", "message"),
    AGE,
)

ObjectName = Annotated[str, Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
NamespaceName = Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]


class Dependency(Ruled):
    """Another object of the same kind, in the same namespace."""

    name: ObjectName
    """The name of the object that must be Ready first."""


def _group_names_differ(spec: "CommonSpec") -> bool:
    names = Counter(group.name for group in spec.resources if group.name)
    return all(count == 1 for count in names.values())


def _dependencies_differ(spec: "CommonSpec") -> bool:
    names = [dependency.name for dependency in spec.depends_on]
    return len(names) == len(set(names))


def _period_is_bearable(spec: "CommonSpec") -> bool:
    period = seconds(spec.resync_period)
    return period == 0 or period >= 1


class CommonSpec(Ruled):
    """What is to be applied, and when."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.resources.all(a, !has(a.name) || self.resources.exists_one(b, has(b.name) && b.name == a.name))",
            "two groups have the same name: give each its own",
            _group_names_differ,
            ("resources",),
            "FieldValueDuplicate",
        ),
        # The API server says this by the list's map key.
        Rule("", "two entries have the same name: remove one", _dependencies_differ, ("dependsOn",), "FieldValueDuplicate"),
        Rule(
            "duration(self.resyncPeriod) == duration('0s') || duration(self.resyncPeriod) >= duration('1s')",
            "resyncPeriod must be 0s (never) or at least 1s, and less than 292 years",
            _period_is_bearable,
            ("resyncPeriod",),
        ),
    )

    depends_on: Annotated[
        tuple[Dependency, ...],
        Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    ] = ()
    """Objects of the same kind (and namespace) that must be Ready before this one is applied."""
    resync_period: Annotated[str, Field(max_length=32, json_schema_extra={"pattern": PATTERN}), AfterValidator(checked)] = "10m"
    """How often everything is compared although nothing happened: a Go duration (`10m`, `1h30m`), `0s` for never.
    A safety net; events drive."""
    cordoned: Annotated[bool, Strict()] = False
    """Suspends everything but deletion: nothing is applied and nothing is taken back."""
    resources: Annotated[tuple[ResourceGroup, ...], Field(min_length=1, max_length=100)]
    """The groups of targets; each is rendered for every unit of the scope."""

    def lowered(self, scope: Scope, identity: Identity | None) -> Intent:
        """The intent over this scope, acting as this identity (None: the configured default)."""
        return Intent(
            groups=tuple(group.lower(position) for position, group in enumerate(self.resources)),
            scope=scope,
            identity=identity,
            depends_on=tuple(dependency.name for dependency in self.depends_on),
            resync=seconds(self.resync_period),
            cordoned=self.cordoned,
        )
