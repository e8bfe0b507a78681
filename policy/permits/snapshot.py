"""The snapshot of a permit and what was found out about it, on their way into the status."""

from collections.abc import Sequence
from dataclasses import dataclass

from apis.meta import Manifest
from policy.permits.digest import digest


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is reviewed: the snapshot, what it would do, which rights it gives, and the roles behind them."""

    request: Manifest
    preview: Sequence[Manifest] = ()
    grants: Sequence[Manifest] = ()
    roles: Sequence[Manifest] = ()

    @classmethod
    def of(cls, status: Manifest) -> "Snapshot":
        """The one that a status holds."""
        return cls(status["request"], status.get("preview") or (), status.get("grants") or (), status.get("roles") or ())

    @property
    def digest(self) -> str:
        """What an approval of it must name."""
        return digest(self.request, self.grants, self.roles)

    def into(self, status: Manifest) -> Manifest:
        """The status with this snapshot, under its digest."""
        rest = {"preview": list(self.preview), "grants": list(self.grants), "roles": list(self.roles)}
        return status | {"request": self.request | {"digest": self.digest}} | rest
