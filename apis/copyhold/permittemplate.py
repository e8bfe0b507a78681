"""What ResourcePermitTemplate and GlobalResourcePermitTemplate have in common: what is given, for how long, and who approves."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, Strict

from apis.copyhold.duration import LONG_PATTERN, extended, long_checked
from apis.copyhold.group import ResourceGroup
from apis.copyhold.query import Context
from apis.copyhold.status import Status
from apis.copyhold.subject import SubjectKind
from apis.kind import AGE, Column, condition_column
from apis.rule import Rule, Ruled

COLUMNS = (
    Column("Default", ".spec.defaultDuration"),
    Column("Max", ".spec.maxDuration"),
    condition_column("Ready", "status"),
    condition_column("Status", "message"),
    AGE,
)

Length = Annotated[str, Field(max_length=32, json_schema_extra={"pattern": LONG_PATTERN}), AfterValidator(long_checked)]
"""A Go duration that also knows days and weeks: `30m`, `8h`, `30d`."""

Expression = Annotated[str, Field(min_length=1, max_length=4096, json_schema_extra={"pattern": r"\S"})]


class SelfApproval(StrEnum):
    """May who asked for a permit approve it?"""

    DENY = "Deny"
    ALLOW = "Allow"


class Approver(Ruled):
    """Somebody who may approve."""

    kind: SubjectKind
    """What the approver is."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    """The name that RBAC knows; for a ServiceAccount `system:serviceaccount:<namespace>:<name>`."""


def _one_at_least(approvals: "Approvals") -> bool:
    return not (approvals.auto and approvals.required > 1)


class Approvals(Ruled):
    """Who approves a permit, and under which conditions."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.auto) || !self.auto || !has(self.required) || self.required <= 1",
            "auto approves without anybody: remove it, or require one approval only",
            _one_at_least,
            ("required",),
            "FieldValueForbidden",
        ),
    )

    auto: Annotated[bool, Strict()] = False
    """Approve without a reviewer, when one of the conditions holds; where none does, the permit is refused when it is made."""
    required: Annotated[int, Strict(), Field(ge=1, le=20)] = 1
    """How many different reviewers must approve."""
    self_approval: SelfApproval = SelfApproval.DENY
    """`Deny`: who asked for a permit cannot approve it, judged by name and UID of the authenticated user."""
    deadline: Length | None = None
    """How long a permit may wait for its approval, from when it was made; then it expires."""
    valid_for: Length = "24h"
    """How long an approval is good, from the approval or the start time, whichever is later."""
    require_digest: Annotated[bool, Strict()] = False
    """Whether an approval must name the digest of what it approves; `copyhold permit approve` always does."""
    approvers: Annotated[tuple[Approver, ...], Field(min_length=1, max_length=64)] | None = None
    """Who may approve. Omitted: whoever RBAC lets write the status of permits."""
    conditions: Annotated[tuple[Expression, ...], Field(min_length=1, max_length=16)] | None = None
    """CEL expressions over `request`, `requester`, `reviewer` and `grants`, of which one must be true."""


def _no_group(spec: "PermitTemplateSpec", field: str) -> bool:
    return all(getattr(group, field) is None for group in spec.resources)


def _capped(spec: "PermitTemplateSpec") -> bool:
    if spec.default_duration is None or spec.max_duration is None:
        return True
    return extended(spec.default_duration) <= extended(spec.max_duration)


class PermitTemplateSpec(Ruled):
    """What a permit gives, for how long, and who approves it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.resources.all(one, !has(one.namespacedItems))",
            "a permit copies nothing: read the objects as context, and render them",
            lambda self: _no_group(self, "namespaced_items"),
            ("resources",),
            "FieldValueForbidden",
        ),
        Rule(
            "self.resources.all(one, !has(one.namespaceSelector))",
            "a permit is rendered once: remove namespaceSelector",
            lambda self: _no_group(self, "namespace_selector"),
            ("resources",),
            "FieldValueForbidden",
        ),
        # CEL has no days and weeks: said at admission and in the status.
        Rule("", "defaultDuration is longer than maxDuration: shorten it", _capped, ("defaultDuration",)),
    )

    param_schema: Annotated[dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})] | None = None
    """What a permit's `params` must be: a structural JSON Schema, with `x-kubernetes-validations`. Omitted: no parameters."""
    context: Context | None = None
    """Existing objects that all groups read; each group may have more of its own."""
    default_duration: Length | None = None
    """How long a permit is active when it does not say. Omitted: `maxDuration`; without that, until somebody ends it."""
    max_duration: Length | None = None
    """How long a permit may be active at most."""
    keep_for: Length | None = None
    """How long a permit is kept as a record after its end. Omitted: it goes at once."""
    approvals: Approvals = Approvals()
    """Who approves a permit, and under which conditions."""
    resources: Annotated[tuple[ResourceGroup, ...], Field(min_length=1, max_length=100)]
    """The groups of targets; they are rendered once, before the approval, and nothing else is applied."""


class PermitTemplateStatus(Status):
    """Whether permits can be made from the template."""
