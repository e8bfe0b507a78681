"""Who somebody is, in the words of RBAC."""

from enum import StrEnum


class SubjectKind(StrEnum):
    """What a subject is. A ServiceAccount is called `system:serviceaccount:<namespace>:<name>`."""

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"
