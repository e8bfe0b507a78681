"""What reconciling a parent needs beside the parent, and what it answers: when to look again, and what to wait for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from apis.kind import Parent
from apis.reasons import Reason
from manager.execute import Outcome
from manager.propose import Proposal
from manager.surroundings import Surroundings
from manager.tenure import Tenure
from manager.world import Cluster, Resource

WRITE_TIMEOUT = 10.0
"""Seconds after which a write that was sent, and whose answer was lost, can no longer land."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A foreign object that a unit waits for."""

    resource: Resource
    namespace: str
    name: str
    unit: str


@dataclass(slots=True)
class Next:
    """When to look again: seconds by unit (WHOLE for all), and what to watch meanwhile."""

    after: dict[str, float] = field(default_factory=dict)
    waits: set[Wait] = field(default_factory=set)
    finished: bool = False  # the parent has been taken down

    def soon(self, unit: str, seconds: float | None) -> None:
        """Look at a unit again after this many seconds, or earlier if that was said before."""
        if seconds is not None:
            self.after[unit] = min(seconds, self.after.get(unit, seconds))

    def join(self, other: "Next") -> None:
        """Take in what another pass over the same parent said."""
        for unit, seconds in other.after.items():
            self.soon(unit, seconds)
        self.waits |= other.waits


@dataclass(frozen=True, slots=True)
class Desk:
    """What reconciling needs beside the parent: the cluster, the surroundings of this moment, time, and whom to tell."""

    cluster: Cluster
    around: Callable[[Parent], Surroundings]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    dependencies: Callable[[Parent], tuple[Mapping[str, tuple[str, ...]], Mapping[str, bool]]]
    holds: Callable[[str], bool] = lambda _uid: True
    grace: Callable[[str], float] = lambda _uid: 0.0
    urgent: Callable[[Parent], frozenset[str]] = lambda _parent: frozenset()
    tell: Callable[[Parent, str, Reason, str], None] = lambda _parent, _type, _reason, _note: None
    watch: Callable[[Proposal], None] = lambda _proposal: None
    unwatched: Callable[[Tenure], tuple[str, ...]] = lambda _tenure: ()
    settled: Callable[[Tenure, Outcome], None] = lambda _tenure, _outcome: None
    width: int = 24
    patience: float = 0.0  # seconds between the moment that a target is not wanted any more and its removal
