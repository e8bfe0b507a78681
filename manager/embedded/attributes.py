"""Who asks for what: what authorization and admission look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody whom the server knows (after impersonation: whom he acts as)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attributes:
    """A request, as RBAC sees it. `path` alone is set when it is about no resource (`/healthz`, `/apis`)."""

    user: User
    verb: str  # get, list, watch, create, update, patch, delete, deletecollection; also bind, escalate, impersonate, assign ...
    group: str = ""
    version: str = ""
    resource: str = ""  # the plural
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of an authorizer; `reason` names the binding that allowed it."""

    allowed: bool
    reason: str = ""
