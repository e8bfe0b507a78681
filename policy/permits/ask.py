"""Somebody asks something of a permit that is in some phase; and the answers when it does not lead there."""

from dataclasses import dataclass
from datetime import datetime

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.refusal import Refused
from policy.permits.wish import Wish


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks for what, when, and how the permit stands: `permit` and its `status` as they are stored."""

    permit: Manifest
    status: Manifest
    phase: Phase | None
    wish: Wish
    actor: Manifest
    now: datetime


def illegal(what: str) -> Refused:
    """The phase that is asked for does not follow the present one."""
    return Refused(422, f"invalid ResourcePermit transition: {what}")


def unsupported(ask: Ask) -> Refused:
    """Nobody may ask for this phase now."""
    return Refused(
        422,
        f"transitioning ResourcePermit from {ask.phase or 'Initializing'} to {ask.wish.phase} is not supported: "
        "status.phase may become Approved or Denied in a review, Retrying after a failure, and Expired",
    )
