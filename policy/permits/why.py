"""Why a permit passed from one phase to the next: the reasons of its transitions, each defined once.

A failure has a reason of its own (`ResourceDryRunFailed`, say), which is that of its transition too.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Why(StrEnum):
    """Reasons that name no actor."""

    PENDING_REVIEW = "PendingReview"
    APPROVAL_RECORDED = "ApprovalRecorded"  # more are needed
    DENIED = "DeniedByReviewer"
    ACTIVATION_BEGUN = "ActivationBegun"  # from now on there may be access
    ACTIVATED = "ActivatedBySystem"
    EXPIRED = "ExpiredBySystem"  # its time is over
    DELETED = "Deleted"  # the permit was deleted while it gave access
    DEADLINE_EXCEEDED = "DeadlineExceeded"  # nobody decided in time
    APPROVAL_LAPSED = "ApprovalLapsed"  # approved, and not activated in time
    RETRY_SUCCEEDED = "RetrySucceeded"
    PREVIEW_CHANGED = "PreviewChanged"  # it would do something else than what was approved
    GRANTS_CHANGED = "GrantsChanged"  # it would give other rights than what was approved


def created_by(actor: Mapping[str, Any]) -> str:
    """`CreatedByUser`, `CreatedByServiceAccount`."""
    return f"CreatedBy{actor['type']}"


def approved_by(actor: Mapping[str, Any]) -> str:
    """`ApprovedByUser`, `ApprovedByServiceAccount`, `ApprovedBySystem`."""
    return f"ApprovedBy{actor['type']}"


def retry_permitted_by(actor: Mapping[str, Any]) -> str:
    """`RetryPermittedByUser`, `RetryPermittedByServiceAccount`."""
    return f"RetryPermittedBy{actor['type']}"


def expired_by(actor: Mapping[str, Any]) -> str:
    """`ExpiredByUser`, `ExpiredByServiceAccount`."""
    return f"ExpiredBy{actor['type']}"
