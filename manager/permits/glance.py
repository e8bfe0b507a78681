"""What is read out of a permit to show it: phase, digest, approvals, how much time is left. Pure.

A status is plain JSON, in which anything may be missing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.approvals import required
from policy.permits.due import deadline, rules_of
from policy.permits.moments import moment


def status_of(permit: Manifest) -> Manifest:
    """The status; empty before the manager has seen the permit."""
    return permit.get("status") or {}


def phase_of(permit: Manifest) -> str:
    """The phase; empty before the manager has seen the permit."""
    return str(status_of(permit).get("phase") or "")


def digest_of(permit: Manifest) -> str:
    """The digest of the snapshot; empty while there is none."""
    return str((status_of(permit).get("request") or {}).get("digest") or "")


def place_of(permit: Manifest) -> str:
    """`namespace/name`."""
    metadata = permit["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


def who(actor: Mapping[str, Any] | None) -> str:
    """An actor by name; what it is where it is no user."""
    actor = actor or {}
    name, kind = actor.get("name") or "nobody", actor.get("type") or "User"
    return str(name) if kind == "User" else f"{name} ({kind})"


class Approved(NamedTuple):
    """How many have approved what the permit is now, and how many must."""

    given: int
    required: int

    def __str__(self) -> str:
        return f"{self.given} of {self.required}"


def approved(permit: Manifest) -> Approved:
    """The approvals of the present snapshot."""
    status = status_of(permit)
    given = (status.get("review") or {}).get("approvals") or ()
    return Approved(sum(each.get("digest") == digest_of(permit) for each in given), required(rules_of(status)))


# Times.


def span(length: timedelta) -> str:
    """`29m58s`: the two largest units."""
    left = max(int(length.total_seconds()), 0)
    parts = []
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, left = divmod(left, size)
        parts.append((count, letter))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{letter}" for count, letter in parts[first : first + 2] if count) or "0s"


def left(permit: Manifest, now: datetime) -> str:
    """How long the present phase lasts: the access, the wait for its start, or the wait for reviewers. Empty for no bound."""
    status = status_of(permit)
    request = status.get("request") or {}
    match phase_of(permit):
        case Phase.ACTIVE:
            until = (status.get("active") or {}).get("until")
            return _left(moment(until) - now) if until else "no end"
        case Phase.APPROVED:
            start = request.get("startTime")
            return f"starts in {span(moment(start) - now)}" if start and moment(start) > now else ""
        case Phase.REQUESTED | Phase.PENDING:
            end = deadline(permit)
            return "" if end is None else f"{_left(end - now)} to decide"
        case _:
            return ""


def _left(length: timedelta) -> str:
    return f"overdue for {span(-length)}" if length < timedelta() else span(length)
