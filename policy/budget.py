"""The delete budget: how much of a parent may vanish within an hour before somebody has to confirm it."""

from collections.abc import Sequence
from dataclasses import dataclass

from policy.decide import Decision
from policy.target import digest_of

WINDOW = 3600.0  # seconds
SHARE = 0.5
FLOOR = 10


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many targets were taken back, and when (seconds since the epoch)."""

    at: float
    count: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the removals may go, and the digest by which they can be confirmed."""

    allowed: bool
    digest: str = ""
    message: str = ""


def budget(removals: Sequence[Decision], *, total: int, recent: Sequence[Pruned], confirmed: str, now: float) -> Verdict:
    """Judge the removals of one pass.

    `total` counts the targets that the parent holds now, `recent` what was already removed, `confirmed` is the value of
    the annotation `copyhold.dev/confirm-prune`. More than half *and* more than ten within an hour need a confirmation of
    exactly these removals.
    """
    gone = sum(entry.count for entry in recent if now - entry.at < WINDOW)
    planned = len(removals)
    if planned == 0 or gone + planned <= FLOOR or gone + planned <= SHARE * (total + gone):
        return Verdict(True)
    digest = digest_of(sorted(_what(decision) for decision in removals))
    if confirmed == digest:
        return Verdict(True, digest)
    message = (
        f"{planned} of {total} targets would be removed ({gone} were within the last hour), more than the budget of "
        f"{FLOOR} and {SHARE:.0%}: to let exactly these go, annotate the parent with copyhold.dev/confirm-prune={digest}"
    )
    return Verdict(False, digest, message)


def _what(removal: Decision) -> tuple[str, ...]:
    """A confirmation is for these very objects: what is made anew under the same name has another UID and asks again."""
    return (*removal.key, removal.item.live.uid if removal.item.live else "")
