"""What stands between an object and the store: the life of its namespace, webhooks and policies.

| Step | Refuses |
| --- | --- |
| `arrive` | creations in an absent (404) or terminating (403) namespace |
| `shape` | what a mutating webhook denies; it may change the object |
| `leave` | the deletion of the namespaces that the cluster needs |
| `guard` | before it is checked: what gives away rights that the writer does not have |
| `judge` | what a ValidatingAdmissionPolicy denies |
"""

from dataclasses import dataclass
from typing import Protocol

from apis.meta import Manifest
from manager.embedded.attributes import User
from manager.embedded.status import Cause, Named, forbidden, not_found
from manager.embedded.store import Key, Store
from manager.embedded.target import Target

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
IMMORTAL = ("default", "kube-system", "kube-public")
TERMINATING = "NamespaceTerminating"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that is about to happen. `new` is None for a deletion, `old` for a creation."""

    operation: str
    target: Target
    user: User
    new: Manifest | None
    old: Manifest | None
    dry_run: bool
    options: Manifest


class Judge(Protocol):
    """Something that may refuse a write, by a StatusError; the answer is warnings for the client."""

    def __call__(self, attempt: Attempt) -> list[str]:
        """Judge."""


class Shaper(Protocol):
    """Something that may change what is about to be written; the answer is the object, and warnings for the client."""

    def __call__(self, attempt: Attempt) -> tuple[Manifest, list[str]]:
        """Change, or refuse by a StatusError."""


@dataclass(frozen=True, slots=True)
class Admission:
    """All that is asked before a write."""

    store: Store
    guards: tuple[Judge, ...] = ()
    judges: tuple[Judge, ...] = ()
    shaper: Shaper | None = None

    def arrive(self, target: Target) -> None:
        """Refuse a creation in a namespace that is not there or goes away."""
        if not target.namespace or not target.served.namespaced:
            return
        namespace = self.store.read(Key("namespaces", "", target.namespace))
        if namespace is None:
            raise not_found(Named("", "namespaces", target.namespace))
        if _terminating(namespace):
            said = f"unable to create new content in namespace {target.namespace} because it is being terminated"
            cause = Cause(TERMINATING, f"namespace {target.namespace} is being terminated", "metadata.namespace")
            raise forbidden(target.about, said, [cause])

    def leave(self, target: Target) -> None:
        """Refuse the deletion of a namespace without which nothing works."""
        if target.key.resource == "namespaces" and target.name in IMMORTAL:
            raise forbidden(target.about, "this namespace may not be deleted")

    def shape(self, attempt: Attempt, new: Manifest) -> tuple[Manifest, tuple[str, ...]]:
        """The new object as it shall be, and warnings. Raises what the shaper raises."""
        if self.shaper is None:
            return new, ()
        made, warnings = self.shaper(attempt)
        return made, tuple(warnings)

    def guard(self, attempt: Attempt) -> None:
        """Ask all guards. Raises what they raise."""
        for guard in self.guards:
            guard(attempt)

    def judge(self, attempt: Attempt) -> tuple[str, ...]:
        """Ask all judges; their warnings. Raises what they raise."""
        return tuple(warning for judge in self.judges for warning in judge(attempt))


def _terminating(namespace: Manifest) -> bool:
    return bool(namespace["metadata"].get("deletionTimestamp")) or namespace.get("status", {}).get("phase") == "Terminating"
