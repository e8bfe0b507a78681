"""Which parents are this replica's, and for how long: alone, or by the Leases of shards."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import Protocol

from manager.desk import WRITE_TIMEOUT
from manager.lease import Fence
from policy.members import shard_of


class Elector(Protocol):
    """Which parents are ours, and for how long."""

    def holds(self, uid: str) -> bool:
        """True while this replica may write for the object with this UID."""
        ...

    def young(self, uid: str) -> float:
        """Seconds for which a write of the replica before us may still land; 0.0 when none can."""
        ...

    def writing(self, uid: str) -> AbstractContextManager[None]:
        """Within this block, and in tasks begun in it, every write asks first whether the object is still ours."""
        ...


class Alone:
    """The elector of a single process: everything is ours, for ever."""

    def holds(self, uid: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """Always."""
        return True

    def young(self, uid: str) -> float:  # noqa: ARG002 - the protocol's signature
        """Nobody was before us."""
        return 0.0

    def writing(self, uid: str) -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's signature
        """Nothing bounds our writes."""
        return nullcontext()


class Shared:
    """The parents of the shards whose Leases this replica holds. `lease` is the duration of a Lease in seconds."""

    def __init__(self, fence: Fence, shards: int, lease: float, clock: Callable[[], float] = monotonic) -> None:
        self._fence = fence
        self._shards = shards
        self._grace = lease + WRITE_TIMEOUT
        self._clock = clock

    def holds(self, uid: str) -> bool:
        """True until the monotonic deadline of the shard's Lease."""
        return self._fence.remaining(self._shard(uid)) > 0

    def young(self, uid: str) -> float:
        """A Lease and a request's time after the takeover, the former holder's last write has landed or never will."""
        acquired = self._fence.inherited_at(self._shard(uid))
        return 0.0 if acquired is None else max(0.0, acquired + self._grace - self._clock())

    def writing(self, uid: str) -> AbstractContextManager[None]:
        """Writes are bound to the present tenure of the shard."""
        return self._fence.writing(self._shard(uid))

    def _shard(self, uid: str) -> int:
        return shard_of(uid, self._shards)
