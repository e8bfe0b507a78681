"""May this intent have objects now? Temporary access is a gate: closed or over means that nothing is desired."""

from dataclasses import dataclass
from datetime import datetime

from apis.intent import Gate
from policy.permits.moments import moment

WAITING = frozenset({"", "Created", "Requested", "Pending", "Approved", "Failed", "Retrying"})
"""Phases in which nothing is given yet, or nothing any more."""


@dataclass(frozen=True, slots=True)
class Open:
    """It may. `until` None: until somebody ends it."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet: the phase says what for."""

    phase: str


@dataclass(frozen=True, slots=True)
class Denied:
    """It never will."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Not any more."""


Opening = Open | Waiting | Denied | Expired


def gate(of: Gate | None, now: datetime) -> Opening:
    """The state of a gate at `now`; an intent without one is always open. From the second of `until` on it is closed."""
    if of is None:
        return Open()
    if of.phase in WAITING:
        return Waiting(of.phase)
    if of.phase == "Denied":
        return Denied()
    if of.phase != "Active":
        return Expired()
    until = moment(of.until) if of.until else None
    return Open(until) if until is None or now < until else Expired()
