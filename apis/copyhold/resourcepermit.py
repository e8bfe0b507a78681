"""ResourcePermit: somebody asks for temporary access; what it gives is decided by a template and by who reviews it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from apis.copyhold import VERSION
from apis.copyhold.common import ObjectName
from apis.copyhold.permitstatus import Actor, PermitStatus, RenderedGroup, Time
from apis.copyhold.permittemplate import Length
from apis.intent import Creation, Deletion, Gate, Group, Identity, Intent, Policy, Scope, ScopeKind
from apis.invalid import explain
from apis.kind import AGE, Column, Kind, condition_column
from apis.meta import GROUP, Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from apis.rule import Ruled


class TemplateKind(StrEnum):
    """Which kind of template."""

    LOCAL = "ResourcePermitTemplate"
    GLOBAL = "GlobalResourcePermitTemplate"


class TemplateReference(Ruled):
    """A template: of the permit's own namespace, or a global one that selects it."""

    kind: TemplateKind
    """ResourcePermitTemplate or GlobalResourcePermitTemplate."""
    name: ObjectName
    """Its name."""


class Seal(Ruled):
    """The manager's signature over who asked for what."""

    key: str
    """The id of the key."""
    signature: str
    """The Ed25519 signature, in base64."""


class Requester(Actor):
    """Who asked for the permit, as the API server authenticated them."""

    model_config = ConfigDict(extra="allow")

    seal: Seal | None = None
    """Proves that admission wrote it."""


class ResourcePermitSpec(Ruled):
    """What is asked for. It never changes: make another permit instead."""

    template: TemplateReference
    """The template that says what the permit gives."""
    params: Annotated[dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})] | None = None
    """The parameters of the template, as its `paramSchema` describes them."""
    requester: Requester | None = None
    """Who asks. Written at admission, whatever is sent."""
    reason: Annotated[str, Field(max_length=4096)] | None = None
    """Why, for those who review it."""
    duration: Length | None = None
    """How long the access is wanted. Omitted: what the template says."""
    start_time: Time | None = None
    """Not before then (RFC 3339). Omitted: as soon as it is approved."""


class ResourcePermit(Ruled):
    """Asks for temporary access, and records how it was given and taken back."""

    spec: ResourcePermitSpec
    """What is asked for. It never changes."""
    status: PermitStatus | None = None
    """Where the permit stands, what it gives, and how it came about."""


def lower(_: ResourcePermit, manifest: Manifest) -> Intent:
    """What the snapshot in its status says, behind the gate of its phase. Raises Invalid for a status that we did not make."""
    try:
        status = PermitStatus.model_validate(manifest.get("status") or {})
    except ValidationError as error:
        raise Invalid(Reason.INVALID, explain(KIND.title(manifest), error)) from error
    until = (status.active.until if status.active else None) or ""
    gate = Gate(status.phase or "", until)
    if status.request is None:
        return Intent((), Scope(ScopeKind.NONE), gate=gate)
    groups = tuple(_group(group) for group in status.request.resources)
    account = status.request.impersonation
    return Intent(groups, Scope(ScopeKind.NONE), Identity(account.namespace, account.name), gate=gate)


def _group(group: RenderedGroup) -> Group:
    said = group.policy
    policy = Policy(
        Creation(said.creation or Creation.OWNER),
        said.protect is not False,
        bool(said.force),
        Deletion(said.deletion or Deletion.REMOVE),
        said.condition,
    )
    return Group(name=group.name, policy=policy, rendered=group.targets)


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="ResourcePermit",
    plural="resourcepermits",
    singular="resourcepermit",
    short_names=("rp", "permit"),
    namespaced=True,
    family="resourcepermit",
    model=ResourcePermit,
    lower=lower,
    gated=True,
    columns=(
        Column("Template", ".spec.template.name"),
        Column("Requester", ".spec.requester.name"),
        Column("Phase", ".status.phase"),
        Column("Until", ".status.active.until"),
        condition_column("Ready", "status"),
        condition_column("Status", "message", "Ready"),
        AGE,
    ),
)
