"""One step in the life of a permit, before it is written into the trail."""

from dataclasses import dataclass

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest


@dataclass(frozen=True, slots=True)
class Step:
    """Who brought the permit into which phase, and why. `until` is the end of the access that it gives."""

    type: Phase
    actor: Manifest
    reason: str
    message: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a request: the whole new status, without the step in its `transitions`, and the step.

    No step: nothing changes. `warning` is for whoever asked; empty for none.
    """

    status: Manifest
    step: Step | None = None
    warning: str = ""
