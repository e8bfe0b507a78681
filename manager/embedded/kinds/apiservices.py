"""APIServices: those that the server itself answers are available at once."""

from datetime import datetime

from apis.meta import Manifest
from manager.embedded.kinds import times


def make(service: Manifest, now: datetime) -> None:
    """Without a Service behind it, it is local."""
    if service["spec"].get("service"):
        return
    condition = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": times.seconds(now),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    service["status"] = {"conditions": [condition]}
