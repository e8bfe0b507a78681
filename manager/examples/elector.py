"""What the manager of an example looks after: that which the example makes, whatever else the cluster has."""

from collections.abc import Iterable

from apis.meta import Ref
from manager.elector import Alone
from manager.state import State


class ExampleElector(Alone):
    """Holds what belongs to an example: the objects that it makes, and whatever lives in its namespaces."""

    def __init__(self, makes: Iterable[Ref]) -> None:
        refs = tuple(makes)
        self._keys = {ref.key for ref in refs}
        self._namespaces = {ref.name for ref in refs if (ref.group, ref.kind) == ("", "Namespace")}
        self.state: State | None = None

    def holds(self, uid: str) -> bool:
        """True for a parent, a Tenant or a permit template of the example. Nothing else is anybody's here, sweeping neither."""
        if self.state is None:
            return False
        parent = self.state.parents.get(uid)
        if parent is not None:
            return parent.ref.key in self._keys or parent.namespace in self._namespaces
        others = (*self.state.tenants.values(), *self.state.templates.values())
        return any(other["metadata"]["uid"] == uid and Ref.of(other).key in self._keys for other in others)
