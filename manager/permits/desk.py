"""What conducting permits needs beside what every parent needs: the keys, the manager's namespace, and whom to tell."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from apis.meta import Manifest
from manager.permits.admit import TemplateOf
from manager.permits.keys import Keyring

Write = Callable[[], Awaitable[None]]
"""Writes the permit's records and status as they are known now."""


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears of permits: of each transition once it is written, of the phase, and of what is measured in seconds."""

    transition: Callable[[Manifest, Manifest], None] = lambda _permit, _transition: None
    stands: Callable[[Manifest, str, bool], None] = lambda _permit, _phase, _overdue: None
    approved: Callable[[float], None] = lambda _seconds: None
    removed: Callable[[float], None] = lambda _seconds: None


@dataclass(frozen=True, slots=True)
class Permits:
    """Shared by all permits of a replica. `namespace` is the manager's own, `heads` has the last proven head of each trail."""

    keyring: Keyring
    namespace: str
    template_of: TemplateOf
    ears: Ears = field(default_factory=Ears)
    heads: dict[str, str] = field(default_factory=dict)

    def forget(self, uid: str) -> None:
        """A permit is gone, or another replica's."""
        self.heads.pop(uid, None)


def shown(status: Manifest) -> dict[str, Any]:
    """The status without what memory writes into it."""
    return {name: value for name, value in status.items() if name not in ("processedItems", "size", "records")}
