"""Who holds which shard: from what one replica has seen of the Leases and its own clock to what it should do next.

Each shard has a Lease; each replica (member) has one more, which says that it lives. A shard should be with the live member that
the rendezvous hash names. Everything here is one replica's view; `now` is always its own monotonic clock, in seconds.

Guarantees, while clocks run at rates that differ by less than `margin / lease`, and the server serialises writes of a Lease by
its resourceVersion:

- At most one member's fence for a shard is open at any time. A holder's fence closes `lease - margin` after the *start* of its
  last renewal that was answered; another member takes the Lease only after it has seen it unchanged for `lease`.
- A fence that closed stays closed until the Lease is acquired anew, which is a new tenure.

Caveat: a fence bounds when a write is sent. What a server does with a write that it received in time is its own affair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from policy.members import owner

SHARD_PREFIX = "copyhold-shard-"
MEMBER_PREFIX = "copyhold-member-"


@dataclass(frozen=True, slots=True)
class Terms:
    """The times, in seconds.

    `request` bounds each request, `drain` the time in which work may end before a shard is released; `forget` is how long a
    member must have been silent before its Lease is deleted.
    """

    lease: float = 4.0
    renew: float = 1.0
    retry: float = 0.5
    margin: float = 1.0
    request: float = 1.5
    drain: float = 5.0
    forget: float = 60.0

    @property
    def fence(self) -> float:
        """How long a tenure is good for after the start of a renewal."""
        return self.lease - self.margin


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the server stores it; `holder` is empty when nobody has it."""

    name: str
    holder: str
    version: str
    uid: str = ""
    transitions: int = 0
    duration: float = 4.0
    acquired: str = ""  # wall clock, for readers only


@dataclass(frozen=True, slots=True)
class Seen:
    """A Lease and since when this replica knows it in this version.

    `stale`: a write found another version, so wait for the next look. A Lease without version was there and is not any more.
    """

    lease: Lease
    since: float
    written: float | None = None  # when our own last write of it was answered
    stale: bool = False


class Phase(Enum):
    """Where a tenure is: `DRAINING` still renews, so that what was begun can end; `DRAINED` has closed the fence."""

    HOLDING = auto()
    DRAINING = auto()
    DRAINED = auto()


@dataclass(frozen=True, slots=True)
class Tenure:
    """One uninterrupted time for which this replica has a shard."""

    acquired: float
    renewed: float  # start of the last request that was answered
    tried: float  # start of the last request
    phase: Phase = Phase.HOLDING
    drain_by: float = 0.0
    inherited: bool = False  # the holder before us did not give it back: its last write may still be under way


class Do(Enum):
    """What one replica can do about a Lease: requests to the server, all but the last."""

    HEARTBEAT = auto()  # write our member Lease
    ACQUIRE = auto()
    RENEW = auto()
    RELEASE = auto()
    DELETE = auto()  # a member Lease: our own when we leave, or one that has long been silent
    DRAIN = auto()  # tell the rest of the process to end what it does for this shard


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do. `lease` is the Lease to be replaced or deleted, None when it must be created; `shard` -1 for members."""

    do: Do
    name: str
    shard: int = -1
    lease: Lease | None = None


@dataclass(frozen=True, slots=True)
class View:
    """All that one replica knows: who it is, what it has seen and what it has."""

    me: str
    shards: int = 4
    terms: Terms = field(default_factory=Terms)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    tenures: Mapping[int, Tenure] = field(default_factory=dict)
    beaten: float | None = None  # start of the last heartbeat
    looked: bool = False  # the Leases have been listed at least once
    stopping: bool = False


def shard_name(shard: int) -> str:
    """The name of a shard's Lease."""
    return f"{SHARD_PREFIX}{shard}"


def member_name(identity: str) -> str:
    """The name of a member's Lease."""
    return f"{MEMBER_PREFIX}{identity}"


def open_until(view: View, shard: int) -> float | None:
    """When the fence of a shard closes, or None when it is not open: not ours, or already given up."""
    tenure = view.tenures.get(shard)
    if tenure is None or tenure.phase is Phase.DRAINED:
        return None
    return tenure.renewed + view.terms.fence


def members(view: View, now: float) -> list[str]:
    """The members that live, as far as we have seen: those whose Lease changed within its duration, and ourselves."""
    others = {
        seen.lease.holder for name, seen in view.seen.items() if name.startswith(MEMBER_PREFIX) and not _expired(view, seen, now)
    }
    return sorted((others | {view.me} if not view.stopping else others - {view.me}) - {""})


# Learning


def observe(view: View, leases: Iterable[Lease], asked: float, now: float) -> View:
    """The view after a list that was asked for at `asked` and answered at `now`; what we wrote since is newer than the list."""
    seen = {name: known for name, known in view.seen.items() if known.written is not None and known.written >= asked}
    for lease in leases:
        known = view.seen.get(lease.name)
        if lease.name in seen:
            continue
        if known is not None and known.lease.version == lease.version:
            seen[lease.name] = replace(known, stale=False)
        else:
            seen[lease.name] = Seen(lease, now)
    for name, known in view.seen.items():
        if name not in seen and known.lease.holder and name.startswith(SHARD_PREFIX):
            # Somebody deleted it, and its holder does not know: it is not free before the holder's fence has closed.
            gone = replace(known.lease, version="", uid="")
            seen[name] = Seen(gone, known.since if not known.lease.version else now)
    return replace(view, seen=seen, looked=True)


def sent(view: View, action: Action, now: float) -> View:
    """The view when the request of `action` is about to be sent."""
    if action.do is Do.HEARTBEAT:
        return replace(view, beaten=now)
    tenure = view.tenures.get(action.shard)
    return _with(view, action.shard, replace(tenure, tried=now)) if tenure is not None else view


def answered(view: View, action: Action, lease: Lease | None, asked: float, now: float) -> View:
    """The view after a request was carried out: `lease` is what the server stores now, None when it was deleted."""
    seen = {name: known for name, known in view.seen.items() if name != action.name}
    if lease is not None:
        seen[action.name] = Seen(lease, now, written=now)
    view = replace(view, seen=seen)
    if action.do is Do.ACQUIRE:
        # Whoever is leaving by now has it only to release it.
        phase = Phase.DRAINED if view.stopping else Phase.HOLDING
        inherited = action.lease is not None and action.lease.holder != ""
        return _with(view, action.shard, Tenure(acquired=now, renewed=asked, tried=asked, phase=phase, inherited=inherited))
    if action.do is Do.RELEASE:
        return _without(view, action.shard)
    tenure = view.tenures.get(action.shard)
    if action.do is Do.RENEW and tenure is not None and now < tenure.renewed + view.terms.fence:
        return _with(view, action.shard, replace(tenure, renewed=asked))
    return view  # too late for this tenure: the next step ends it


def refused(view: View, action: Action, *, stale: bool) -> View:
    """The view after a request failed. `stale`: the Lease is not what we believed, so it is left alone until it is seen again."""
    known = view.seen.get(action.name)
    if not stale:
        return view
    if known is None:
        known = Seen(Lease(action.name, "", ""), 0.0)
    return replace(view, seen=dict(view.seen) | {action.name: replace(known, stale=True, written=None)})


def drained(view: View, shard: int) -> View:
    """The view when the work of a shard that is being drained has ended."""
    tenure = view.tenures.get(shard)
    if tenure is None or tenure.phase is not Phase.DRAINING:
        return view
    return _with(view, shard, replace(tenure, phase=Phase.DRAINED))


def stopping(view: View) -> View:
    """The view from the moment on that this replica wants to leave."""
    return replace(view, stopping=True)


def left(view: View) -> bool:
    """True when a replica that is stopping has nothing left to give back."""
    mine = view.seen.get(member_name(view.me))
    return view.stopping and not view.tenures and (mine is None or mine.stale)


# Deciding


def step(view: View, now: float) -> tuple[View, tuple[Action, ...]]:
    """What to do now, at most one request for each Lease, and the view with what was decided in it."""
    view = _close(view, now)
    living = members(view, now)
    view, draining = _drain(view, living, now)
    actions = [*draining, *_member(view, now)]
    for shard in range(view.shards):
        action = _shard(view, shard, living, now)
        if action is not None:
            actions.append(action)
    return view, tuple(actions)


def _close(view: View, now: float) -> View:
    """End the tenures whose fence has closed, and those whose Lease somebody else has."""
    for shard, tenure in view.tenures.items():
        known = view.seen.get(shard_name(shard))
        taken = known is not None and not known.stale and known.lease.holder != view.me
        if taken or now >= tenure.renewed + view.terms.fence:
            view = _without(view, shard)
    return view


def _drain(view: View, living: list[str], now: float) -> tuple[View, list[Action]]:
    """Tenures that another member should have begin to drain; those whose time to drain is over count as drained."""
    begun: list[Action] = []
    for shard, tenure in view.tenures.items():
        if tenure.phase is Phase.HOLDING and owner(shard, living, view.shards) != view.me:
            view = _with(view, shard, replace(tenure, phase=Phase.DRAINING, drain_by=now + view.terms.drain))
            begun.append(Action(Do.DRAIN, shard_name(shard), shard))
        elif tenure.phase is Phase.DRAINING and now >= tenure.drain_by:
            view = _with(view, shard, replace(tenure, phase=Phase.DRAINED))
    return view, begun


def _member(view: View, now: float) -> list[Action]:
    mine = view.seen.get(member_name(view.me))
    name = member_name(view.me)
    if view.stopping:
        return [Action(Do.DELETE, name, lease=mine.lease)] if mine is not None and not mine.stale else []
    actions: list[Action] = []
    due = view.beaten is None or now >= view.beaten + (view.terms.renew if mine is not None else view.terms.retry)
    if view.looked and due and not (mine is not None and mine.stale):
        actions.append(Action(Do.HEARTBEAT, name, lease=mine.lease if mine is not None else None))
    for other, seen in view.seen.items():
        if other.startswith(MEMBER_PREFIX) and other != name and not seen.stale and now >= seen.since + view.terms.forget:
            actions.append(Action(Do.DELETE, other, lease=seen.lease))
    return actions


def _shard(view: View, shard: int, living: list[str], now: float) -> Action | None:
    name = shard_name(shard)
    known, tenure = view.seen.get(name), view.tenures.get(shard)
    if not view.looked or (known is not None and known.stale):
        return None
    lease = known.lease if known is not None and known.lease.version else None
    if tenure is None:
        wanted = not view.stopping and owner(shard, living, view.shards) == view.me
        return Action(Do.ACQUIRE, name, shard, lease) if wanted and _free(view, known, now) else None
    if tenure.phase is Phase.DRAINED:
        return Action(Do.RELEASE, name, shard, lease)
    # Once tried and not answered, again after `retry`.
    due = tenure.renewed + view.terms.renew if tenure.tried == tenure.renewed else tenure.tried + view.terms.retry
    return Action(Do.RENEW, name, shard, lease) if now >= due else None


def _free(view: View, seen: Seen | None, now: float) -> bool:
    # Held in our name without a tenure: the answer to our own acquisition was lost, or our fence closed before anybody took it.
    return seen is None or seen.lease.holder in ("", view.me) or _expired(view, seen, now)


def _expired(view: View, seen: Seen, now: float) -> bool:
    return now >= seen.since + max(seen.lease.duration, view.terms.lease)


def _with(view: View, shard: int, tenure: Tenure) -> View:
    return replace(view, tenures=dict(view.tenures) | {shard: tenure})


def _without(view: View, shard: int) -> View:
    return replace(view, tenures={number: tenure for number, tenure in view.tenures.items() if number != shard})
