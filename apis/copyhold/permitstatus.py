"""The status of a ResourcePermit. The manager writes it, and admission for whoever asks for a transition; nobody else does."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from apis.copyhold.status import AppliedPolicy, ResourceStatus, StatusAccount
from apis.rule import Ruled

_TIME = {"format": "date-time"}
Time = Annotated[str, Field(json_schema_extra=_TIME)]
Open = Annotated[dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})]


class Phase(StrEnum):
    """Where a permit stands (docs/permits.md). `Pending` is accepted in old objects and never set."""

    CREATED = "Created"
    REQUESTED = "Requested"
    PENDING = "Pending"
    DENIED = "Denied"
    APPROVED = "Approved"
    ACTIVE = "Active"
    FAILED = "Failed"
    RETRYING = "Retrying"
    EXPIRED = "Expired"


class Stage(StrEnum):
    """What failed: the trial before the review, or the activation."""

    PREFLIGHT = "Preflight"
    ACTIVATION = "Activation"


class ActorType(StrEnum):
    """What an actor is. `System` is the manager itself."""

    USER = "User"
    SERVICE_ACCOUNT = "ServiceAccount"
    SYSTEM = "System"


class _Wide(Ruled):
    """Only we write it, so that its shape may grow."""

    model_config = ConfigDict(extra="allow")


class Actor(_Wide):
    """Who did something, as the API server authenticated them."""

    name: str
    """The user name."""
    type: ActorType
    """User, ServiceAccount, or System for the manager itself."""
    uid: str | None = None
    """The UID that the authenticator gave, where it gives one."""
    groups: tuple[str, ...] = ()
    """The groups of the user."""


class UsedTemplate(_Wide):
    """The template that the permit was rendered from."""

    kind: str
    """ResourcePermitTemplate or GlobalResourcePermitTemplate."""
    name: str
    """Its name."""
    uid: str
    """Its UID."""
    generation: int
    """The generation of its spec."""


class RenderedPolicy(AppliedPolicy):
    """The policy of a group, as the template had it."""

    condition: str | None = None
    """The condition under which a target is written."""


class RenderedGroup(_Wide):
    """One group of the template, rendered."""

    name: str
    """The name of the group."""
    policy: RenderedPolicy
    """Its policy, with the condition."""
    targets: tuple[Open, ...]
    """The manifests that will be applied, whole. The values of Secrets are `sha256:...`."""


class Requested(_Wide):
    """The snapshot: what is reviewed, applied and taken back. Nothing but it is."""

    template: UsedTemplate
    """The template that the permit was rendered from."""
    impersonation: StatusAccount
    """The ServiceAccount that acts."""
    approvals: Open
    """The template's rules of approval."""
    duration: str | None = None
    """How long the permit will be active; absent: until somebody ends it."""
    max_duration: str | None = None
    """How long it may be at most."""
    keep_for: str | None = None
    """How long the permit is kept as a record after its end."""
    start_time: Time | None = None
    """Not to be activated before."""
    resources: tuple[RenderedGroup, ...]
    """What will be applied."""
    secret: str | None = None
    """The Secret, in the manager's namespace, that holds the clear values."""
    digest: str
    """SHA-256 over all of this, and over the grants and the roles behind them: what an approval approves."""


class Foreseen(_Wide):
    """What would happen to one target, as a dry run showed."""

    group: str | None = None
    """The group of the target."""
    version: str | None = None
    """The version of the target."""
    kind: str
    """The kind of the target."""
    namespace: str | None = None
    """The namespace of the target."""
    name: str
    """The name of the target."""
    verb: str
    """Create, Adopt, Patch, Skip, Conflict or Forbidden."""
    paths: tuple[str, ...] = ()
    """The fields that would have another value."""
    taken: tuple[str, ...] = ()
    """The fields that another manager holds."""
    message: str | None = None
    """Why, where something stands against it."""


class Grant(_Wide):
    """Rights that the snapshot gives to somebody."""

    subject: str
    """`User/alice`, `Group/sre`, `ServiceAccount/ns/name`; `*` where nobody can say who gets them."""
    namespace: str | None = None
    """Where; absent: in the whole cluster."""
    verbs: tuple[str, ...] = ()
    """The verbs of the rule."""
    api_groups: tuple[str, ...] = ()
    """The API groups of the rule."""
    resources: tuple[str, ...] = ()
    """The resources of the rule."""
    resource_names: tuple[str, ...] = ()
    """The names that the rule is limited to."""
    non_resource_urls: Annotated[tuple[str, ...], Field(alias="nonResourceURLs")] = ()
    """The URLs of the rule."""
    via: str | None = None
    """By which object."""
    unresolved: str | None = None
    """Why the rights could not be found out; they count as all rights."""


class RoleSeen(_Wide):
    """A role that the grants stand on, as it was when it was looked at."""

    kind: str
    """Role or ClusterRole."""
    namespace: str | None = None
    """The namespace of a Role."""
    name: str
    """Its name."""
    uid: str | None = None
    """Its UID; absent when it is not there, or is a part of the snapshot."""
    rules_digest: str | None = None
    """Digest of its rules."""


class Approval(_Wide):
    """One reviewer's approval."""

    reviewer: Actor
    """Who approved."""
    time: Time
    """When."""
    digest: str
    """What was approved."""
    message: str | None = None
    """What the reviewer said."""


class Review(_Wide):
    """What reviewers said."""

    verdict: str
    """`Pending`, `Approved` or `Denied`."""
    reviewer: Actor | None = None
    """Who decided."""
    message: str | None = None
    """What the reviewer said."""
    digest: str | None = None
    """The digest that the reviewer named."""
    approvals: tuple[Approval, ...] = ()
    """The approvals so far; with enough of them the permit is Approved."""


class Failure(_Wide):
    """What went wrong, and where a retry leads."""

    stage: Stage
    """Preflight or Activation."""
    retry_phase: Phase
    """The phase that a successful retry leads to: Requested or Approved."""
    reason: str
    """Why, in one word."""
    message: str
    """Why, in a sentence."""


class Active(_Wide):
    """When the access is given."""

    since: Annotated[Time, Field(alias="from")]
    """From when."""
    until: Time | None = None
    """Until when; absent: until somebody ends it."""


class Transition(_Wide):
    """One step in the life of the permit. Each carries the hash of the one before, and a signature."""

    index: int
    """Its number, from 0."""
    type: Phase
    """The phase that the permit has from then on."""
    timestamp: Time
    """When, by the API server's clock."""
    actor: Actor
    """Who."""
    reason: str
    """Why, in one word."""
    message: str | None = None
    """Why, in a sentence."""
    until: Time | None = None
    """The end of the access that it gives; absent: it gives none, or one without end."""
    digest: str | None = None
    """The digest of the snapshot at that time."""
    previous: str | None = None
    """The hash of the step before."""
    hash: str
    """SHA-256 over the permit's UID and all of the above."""
    key: str | None = None
    """The id of the key that signed."""
    signature: str | None = None
    """The Ed25519 signature over the hash, in base64."""
    event_time: Time | None = None
    """When it was told as an Event; outside the hash."""


class PermitStatus(ResourceStatus):
    """Where the permit stands, what it gives, and how it came about."""

    phase: Phase | None = None
    """Where the permit stands. Asking for a transition means to write this field through the subresource `status`."""
    request: Requested | None = None
    """The snapshot that is reviewed, applied and taken back."""
    preview: tuple[Foreseen, ...] = ()
    """What would happen to each target."""
    grants: tuple[Grant, ...] = ()
    """Which rights the snapshot gives, and to whom."""
    roles: tuple[RoleSeen, ...] = ()
    """The roles that the grants stand on."""
    review: Review | None = None
    """What reviewers said."""
    failure: Failure | None = None
    """What went wrong."""
    active: Active | None = None
    """When the access is given."""
    keep_until: Time | None = None
    """How long the permit is kept as a record."""
    transitions: tuple[Transition, ...] = ()
    """How it came about."""
