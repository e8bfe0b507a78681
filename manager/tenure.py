"""What this replica knows of one parent while it reconciles it. Lost with the process; memory has what must not be lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from apis.intent import Identity
from apis.kind import Parent
from apis.meta import Key
from apis.record import SHARED, Record
from manager.inputs import Source
from manager.memory import Memory
from manager.surroundings import Trouble
from policy.budget import WINDOW, Pruned
from policy.pace import FIGHT_CAP, FIGHT_WINDOW

WHOLE = "*"
"""Stands for all units where a unit is counted."""

MINUTE = 60.0


@dataclass(slots=True)
class Tenure:
    """One parent in the hands of this replica. `records` is ahead of memory while a pass runs."""

    parent: Parent
    memory: Memory
    records: dict[Key, Record]
    troubles: dict[str, tuple[Trouble, ...]] = field(default_factory=dict)
    sources: dict[Source, frozenset[str]] = field(default_factory=dict)
    units: frozenset[str] = frozenset()
    tenants: tuple[str, ...] | None = None
    identity: Identity | None = None
    attempts: dict[str, int] = field(default_factory=dict)
    repairs: dict[Key, list[float]] = field(default_factory=dict)
    unwanted: dict[Key, float] = field(default_factory=dict)  # what waits for its removal, and since when
    in_flight: set[Key] = field(default_factory=set)
    vanished: set[str] = field(default_factory=set)  # UIDs that the watch saw go while a write to them was under way
    wanted: set[Key] = field(default_factory=set)
    pruned: tuple[Pruned, ...] = ()
    blocked: str = ""  # what the delete budget says while it holds removals
    nested: bool = False
    checked: int = 0  # the generation whose templates and conditions were found right
    told: tuple[str, str] = ("", "")  # the last Ready condition that an Event spoke of

    @property
    def shared(self) -> bool:
        """True when a target is rendered by several units: a look at one of them cannot tell whether it is still wanted."""
        return any(record.unit == SHARED for record in self.records.values())

    def all_troubles(self) -> Iterator[Trouble]:
        """What could not be made out, over all units."""
        for troubles in self.troubles.values():
            yield from troubles

    def attempt(self, unit: str) -> int:
        """Count a failure of a unit; answers how many were before it."""
        count = self.attempts.get(unit, 0)
        self.attempts[unit] = count + 1
        return count

    def repaired(self, key: Key, now: float) -> None:
        """Note a repair of a target, and forget old ones."""
        times = [at for at in self.repairs.get(key, ()) if now - at < FIGHT_WINDOW + FIGHT_CAP]
        self.repairs[key] = [*times, now]

    def prune(self, count: int, now: float) -> None:
        """Note that targets were taken back, and forget what is older than the budget's hour."""
        recent = [entry for entry in self.pruned if now - entry.at < WINDOW]
        if count and recent and now - recent[-1].at < MINUTE:  # the list stays short however often something is taken back
            *recent, last = recent
            self.pruned = (*recent, Pruned(last.at, last.count + count))
        else:
            self.pruned = (*recent, Pruned(now, count)) if count else tuple(recent)


def pruned_of(parent: Parent) -> tuple[Pruned, ...]:
    """What the status says was taken back within the last hour."""
    return tuple(Pruned(float(entry["at"]), int(entry["count"])) for entry in parent.status.get("pruned") or ())


def told_of(parent: Parent) -> tuple[str, str]:
    """The Ready condition as it stands: an Event is told when it changes, not when a replica starts."""
    for condition in parent.status.get("conditions") or ():
        if condition["type"] == "Ready":
            return condition["status"], condition["message"]
    return "", ""
