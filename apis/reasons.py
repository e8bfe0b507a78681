"""Every word that a status, an Event or a decision can give as its reason: one home, so that grep finds one definition."""

from enum import StrEnum


class Reason(StrEnum):
    """Reasons of decisions, conditions and Events. The value is what users read."""

    # A target, in the words of the planner's table.
    MISSING = "Missing"  # desired and not there
    FOREIGN = "Foreign"  # there and not ours
    DRIFTED = "Drifted"  # a field that we own was changed or removed by somebody else
    CHANGED = "Changed"  # we want something else than what we applied
    UNCHANGED = "Unchanged"
    FIELD_TAKEN = "FieldTaken"  # another manager holds a field with another value, and `force` is off
    TERMINATING = "Terminating"  # the object or its namespace is going away
    CONDITION_NOT_MET = "ConditionNotMet"
    CONDITION_FAILED = "ConditionEvaluationFailed"
    NOT_WANTED = "NotWanted"  # recorded and no longer rendered
    HELD_BY_ANOTHER = "HeldByAnother"  # another parent still holds what we created
    REPLACED = "Replaced"  # the name is taken by an object that is not ours any more
    ABSENT = "Absent"
    UNRESOLVED = "Unresolved"  # a source or the selection failed: nothing is removed
    CONTESTED = "Contested"  # two writers keep taking one field from each other
    PRUNE_BLOCKED = "PruneBlocked"  # the delete budget holds the removal
    WAITING = "Waiting"  # nothing was tried yet

    # Failures, by who must act.
    INVALID = "Invalid"
    DUPLICATE_TARGET = "DuplicateTarget"
    UNSAFE_VALUE = "UnsafeValue"
    RENDER_FAILED = "RenderFailed"
    APPLY_UNSUPPORTED = "ApplyUnsupported"
    CLUSTER_SCOPED = "ClusterScopedKind"
    FOREIGN_NAMESPACE = "ForeignNamespace"
    FORBIDDEN = "Forbidden"
    REFUSED = "Refused"  # admission said no
    KIND_UNKNOWN = "KindUnknown"
    SOURCE_MISSING = "SourceMissing"
    ACCOUNT_MISSING = "AccountMissing"
    ACCOUNT_REFUSED = "AccountRefused"
    NO_TENANT = "NoTenant"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    DEPENDENCY_CYCLE = "DependencyCycle"
    NAMESPACE_CLAIMED = "NamespaceClaimed"
    WATCH_FORBIDDEN = "WatchForbidden"
    UNAVAILABLE = "Unavailable"
    STALE = "Stale"
    VERSION_GONE = "VersionGone"  # managedFields name a version that is not served any more

    # Why a permit has no snapshot yet, or failed before its review.
    TEMPLATE_RESOLUTION_FAILED = "TemplateResolutionFailed"
    TEMPLATE_CONTEXT_FAILED = "TemplateContextFailed"
    TEMPLATE_RENDERING_FAILED = "TemplateRenderingFailed"
    IMPERSONATION_FAILED = "ImpersonationFailed"  # no account acts for it
    SECRET_IN_PLAIN_TARGET = "SecretInPlainTarget"  # noqa: S105 - the name of a rule
    SNAPSHOT_TOO_LARGE = "SnapshotTooLarge"
    DRY_RUN_FAILED = "ResourceDryRunFailed"
    REVOCATION_INCOMPLETE = "RevocationIncomplete"  # access is over, and something that gave it is still there
    REMOVED_BY_MANAGER = "RemovedByManager"  # the account could not take it back any more
    TRAIL_BROKEN = "TrailBroken"  # what was signed is not what is there: nothing is applied

    # What Events tell of a permit; the exact reason of the transition is their action.
    CREATED = "Created"
    REVIEW_NEEDED = "ReviewNeeded"
    APPROVAL_RECORDED = "ApprovalRecorded"
    APPROVED = "Approved"
    DENIED = "Denied"
    ACTIVATING = "Activating"
    ACTIVATED = "Activated"
    RETRYING = "Retrying"
    EXPIRED = "Expired"

    # Conditions of a parent.
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    PROGRESSING = "Progressing"
    CORDONED = "Cordoned"
    ACTIVE = "Active"
    DELETING = "Deleting"


AUTHOR = frozenset(
    {
        Reason.INVALID,
        Reason.DUPLICATE_TARGET,
        Reason.UNSAFE_VALUE,
        Reason.RENDER_FAILED,
        Reason.APPLY_UNSUPPORTED,
        Reason.CLUSTER_SCOPED,
        Reason.FOREIGN_NAMESPACE,
        Reason.DEPENDENCY_CYCLE,
    }
)
"""Reasons that only an edit of the parent can mend: they make it Stalled."""
