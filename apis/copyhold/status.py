"""What the manager writes into the status of our kinds. Nobody else does, so the shapes are wide."""

from typing import Annotated

from pydantic import ConfigDict, Field

from apis.meta import Condition
from apis.rule import Ruled

_BY_TYPE = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_TIME = {"format": "date-time"}


class StatusCondition(Condition):
    """One aspect of the state of the object."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: Annotated[str, Field(max_length=316)]
    """The aspect: Ready, Reconciling, Stalled or Cordoned."""
    status: Annotated[str, Field(json_schema_extra={"enum": ["True", "False", "Unknown"]})]
    """`True`, `False` or `Unknown`."""
    reason: Annotated[str, Field(max_length=1024)]
    """Why, in one word."""
    message: Annotated[str, Field(max_length=32768)]
    """Why, in a sentence: object, field and remedy."""
    observed_generation: int
    """The generation of the spec that this is about."""
    last_transition_time: Annotated[str, Field(json_schema_extra=_TIME)]
    """When `status` last changed."""


Conditions = Annotated[tuple[StatusCondition, ...], Field(json_schema_extra=_BY_TYPE)]


class StatusAccount(Ruled):
    """The ServiceAccount that acts for this object."""

    namespace: str
    """The namespace of the account."""
    name: str
    """The name of the account."""


class AppliedPolicy(Ruled):
    """The policy of the last reconciliation that succeeded; it decides how the target is taken back."""

    model_config = ConfigDict(extra="allow")

    creation: str | None = None
    """`Owner` or `Merge`."""
    protect: bool | None = None
    """Whether the target is protected."""
    force: bool | None = None
    """Whether fields of other managers are taken over."""
    deletion: str | None = None
    """`Remove` or `Orphan`."""


class ItemStatus(Ruled):
    """How the target stands."""

    model_config = ConfigDict(extra="allow")

    type: str = "Ready"
    """Always `Ready`."""
    status: str | None = None
    """`True`, `False` or `Unknown`."""
    reason: str | None = None
    """Why, in one word."""
    message: str | None = None
    """Why, in a sentence; cut when long."""
    verb: str | None = None
    """What was last decided: Create, Adopt, Apply, Skip, Conflict, Remove, Release or Orphan."""
    created: bool | None = None
    """True when this parent (or its kin) created the target, false when it was adopted."""
    cluster_scoped: bool | None = None
    """True when the target has no namespace."""
    last_apply: Annotated[str, Field(json_schema_extra=_TIME)] | None = None
    """When the target was last written; absent when it never was."""
    pending: bool | None = None
    """True while a request was about to be sent and its answer is not known; what became of it is settled by proof."""
    gone: Annotated[str, Field(json_schema_extra=_TIME)] | None = None
    """Since when the removed target is absent; it is read once more before it is forgotten."""
    policy: AppliedPolicy | None = None
    """The policy of the last reconciliation that succeeded."""
    account: str | None = None
    """The ServiceAccount that last acted on the target, as `namespace/name`."""


class ProcessedItem(Ruled):
    """One target: which object, who rendered it, and how it stands."""

    model_config = ConfigDict(extra="allow")

    group: str | None = None
    """The group of the target; empty for the core group."""
    version: str | None = None
    """The version in which the target was written."""
    kind: str
    """The kind of the target."""
    namespace: str | None = None
    """The namespace of the target; empty for cluster-scoped kinds."""
    name: str
    """The name of the target."""
    tenant: str | None = None
    """The tenant that the target was rendered for."""
    uid: str | None = None
    """The UID that the server gave to the target."""
    resource: str | None = None
    """The plural of the kind, so that taking down needs no discovery."""
    unit: str | None = None
    """The namespace or tenant that rendered the target."""
    payload: str | None = None
    """Digest of what was applied."""
    fields: str | None = None
    """Digest of the set of fields that we own."""
    seen: str | None = None
    """What the server last said of the object."""
    status: ItemStatus | None = None
    """How the target stands."""


class RecordShard(Ruled):
    """One TargetRecord that holds a part of the targets."""

    name: str
    """The name of the TargetRecord."""
    digest: str
    """Digest of its content."""
    count: int
    """How many targets it holds."""


class Records(Ruled):
    """Where the targets are recorded when they are too many for this status."""

    count: int
    """How many targets are recorded."""
    ready: int | None = None
    """How many of them are Ready."""
    shards: Annotated[
        tuple[RecordShard, ...],
        Field(json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    ] = ()
    """The TargetRecords, each with its digest: one that is missing or differs means that nothing is concluded."""


class Pruned(Ruled):
    """Removals that count against the delete budget."""

    at: int
    """When, in seconds since 1970."""
    count: int
    """How many targets were removed."""


class Status(Ruled):
    """What the manager did, and how it stands."""

    observed_generation: int | None = None
    """The generation of the spec that this status is about."""
    conditions: Conditions = ()
    """Ready, Reconciling, Stalled and Cordoned."""
    size: int | None = None
    """How many targets there are."""


class ResourceStatus(Status):
    """What the manager did, and how it stands."""

    service_account: StatusAccount | None = None
    """The ServiceAccount that acts for this object."""
    processed_items: tuple[ProcessedItem, ...] = ()
    """The targets, up to 200; beyond that the failed ones, up to 50, and all of them in `records`."""
    records: Records | None = None
    """Where the targets are recorded when they are too many for this status."""
    pruned: tuple[Pruned, ...] = ()
    """The removals of the last hour, which count against the delete budget."""


class GlobalResourceStatus(ResourceStatus):
    """What the manager did, and how it stands."""

    selected_tenants: Annotated[tuple[str, ...], Field(json_schema_extra={"x-kubernetes-list-type": "set"})] = ()
    """The names of the tenants that were selected, sorted."""
