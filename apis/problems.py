"""Everything that can go wrong, as one small tree. The class says who must act.

    Problem
    ├── Invalid      the author of the parent: Stalled, no retry before an edit
    ├── Blocked      somebody else: wake when that thing changes
    │   └── Forbidden   RBAC has no event: tried again after 1, 2, 4 ... 30 s
    ├── Unavailable  nobody: back off with jitter, or after what the server asked for
    └── Stale        nobody: the world moved between reading and writing, read and decide again
        ├── Conflict    another field manager holds fields with other values
        └── Gone        the place does not exist (any more)

Messages name object, field and remedy. They never hold the content of an object.
"""

from collections.abc import Mapping

from apis.reasons import Reason


class Problem(Exception):
    """Something that keeps a target or a parent from being what its author wants."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


class Invalid(Problem):
    """The author must act: the same input fails for ever."""


class Blocked(Problem):
    """Somebody other than the author must act; the message says who and what."""


class Forbidden(Blocked):
    """RBAC or impersonation refuses (401, 403)."""

    def __init__(self, message: str, *, reason: Reason = Reason.FORBIDDEN, namespace_terminating: bool = False) -> None:
        super().__init__(reason, message)
        self.namespace_terminating = namespace_terminating


class Unavailable(Problem):
    """Nobody must act: timeouts, cut connections, 429 and 5xx.

    `retry_after` is in seconds, when the server named one. `maybe_done` is true when the request may have been carried out
    although no answer arrived.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, maybe_done: bool = False) -> None:
        super().__init__(Reason.UNAVAILABLE, message)
        self.retry_after = retry_after
        self.maybe_done = maybe_done


class Stale(Problem):
    """The object is not what it was when the decision was made (409, a failed JSON patch test): decide again."""

    def __init__(self, message: str, *, reason: Reason = Reason.STALE) -> None:
        super().__init__(reason, message)


class Conflict(Stale):
    """Server-side apply found other managers on our fields. `fields` maps a field path to the manager that holds it."""

    def __init__(self, message: str, fields: Mapping[str, str]) -> None:
        super().__init__(message, reason=Reason.FIELD_TAKEN)
        self.fields = dict(fields)


class Gone(Stale):
    """404: the object, its namespace or its kind is not there. `what` says which: "object", "namespace" or "kind"."""

    def __init__(self, message: str, *, what: str = "object") -> None:
        super().__init__(message, reason=Reason.ABSENT)
        self.what = what


class Expired(Problem):
    """410: a resourceVersion or a continue token is too old. The list starts anew; nothing is concluded from a part of it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.UNAVAILABLE, message)
