"""What a pass looks at beside its parent, what it is asked for, and what may keep it from knowing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from apis.meta import Key
from apis.problems import Problem
from manager.index import Index
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.sight import RecordsSay
from manager.world import World
from policy.account import Accounts
from policy.budget import Pruned
from policy.tenancy import Tenancy


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a pass looks at beside its parent. The same type serves the controller, `plan` and tests."""

    world: World
    renderer: Renderer
    schemas: Schemas
    tenancy: Tenancy
    accounts: Accounts
    index: Index
    exists: Callable[[str], bool]
    records_say: RecordsSay
    optimistic: bool = True
    note: Callable[[str], None] = lambda _text: None

    @property
    def reserved(self) -> frozenset[str]:
        """Namespaces that no selection reaches."""
        return frozenset({self.accounts.manager_namespace})


@dataclass(frozen=True, slots=True)
class Request:
    """What one pass is asked for. `units` None: all of them. `fresh`: targets that must be read anew."""

    now: datetime
    units: frozenset[str] | None = None
    fresh: frozenset[Key] = frozenset()
    recent: tuple[Pruned, ...] = ()
    only: frozenset[Key] | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why something of a unit could not be made out: nothing of the parent is removed there."""

    unit: str
    problem: Problem
    source: str = ""
