"""What is peculiar to one built-in kind: the facts and the functions that its strategy is made of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from apis.meta import Manifest
from manager.embedded.kinds import names
from manager.embedded.status import Cause

Make: TypeAlias = Callable[[Manifest, datetime], None]
"""Changes a new object before it is checked; the object is a copy."""
Mend: TypeAlias = Callable[[Manifest, Manifest], None]
"""Changes the new form of an object (a copy), given the old one."""
Check: TypeAlias = Callable[[Manifest], Iterable[Cause]]
CheckUpdate: TypeAlias = Callable[[Manifest, Manifest], Iterable[Cause]]
Row: TypeAlias = Callable[[Manifest, datetime], list[Any]]

NOWHERE: tuple[str, ...] = ()
ALL_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation", "selfLink")
"""What a write to `status` leaves of the metadata where the server resets it."""


def nothing_made(obj: Manifest, now: datetime) -> None:
    """A kind that needs no preparation."""


def nothing_mended(new: Manifest, old: Manifest) -> None:
    """A kind whose updates need no preparation."""


def nothing_wrong(obj: Manifest) -> Iterable[Cause]:
    """A kind without rules of its own."""
    del obj
    return ()


def unchecked(new: Manifest, old: Manifest) -> Iterable[Cause]:
    """A kind whose changes are not checked at all."""
    del new, old
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """The facts of a kind. `counted` are the paths whose change raises `metadata.generation`; it is then 1 at the beginning."""

    counted: tuple[str, ...] = NOWHERE
    generation: int = 1  # of a new object, where it is counted
    status: bool = False  # a status that only its subresource writes
    status_at_once: bool = False  # but a create may bring one
    status_leaves: tuple[str, ...] = NOWHERE  # metadata that a write to the status does not touch
    create_on_update: bool = False  # PUT makes what is not there
    unconditional: bool = True  # PUT needs no resourceVersion
    name: names.Rule = names.subdomain
    make: Make = nothing_made
    mend: Mend = nothing_mended
    mend_status: Mend = nothing_mended
    check: Check = nothing_wrong
    check_update: CheckUpdate | None = None  # None: anything may change, and is checked like a new object
    selectable: tuple[str, ...] = NOWHERE
    reset: Mapping[str, Any] = field(default_factory=dict)  # fieldsV1 by subresource, where it is not the usual one

    def resets(self) -> dict[str, Any]:
        """What a write does not own, as fieldsV1 by subresource ("" is the object itself)."""
        if not self.status:
            return dict(self.reset)
        status: dict[str, Any] = {"f:spec": {}}
        if self.status_leaves:
            whole = self.status_leaves == ALL_METADATA
            status["f:metadata"] = {} if whole else {f"f:{each}": {} for each in self.status_leaves}
        return {"": {"f:status": {}}, "status": status} | dict(self.reset)
