"""Which event concerns whom: a change touches only what it concerns. Reads state, adds to the queue, writes nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from apis.intent import ScopeKind
from apis.kind import Parent
from apis.meta import Key, Manifest
from apis.reasons import Reason
from manager.index import Index
from manager.inputs import Source
from manager.queue import Queue
from manager.state import State, is_ready, visible_change
from manager.tenure import Tenure
from policy.ownership import Live
from policy.tenancy import Tenancy, covers, labels_of

LOOKING = frozenset({Reason.FIELD_TAKEN, Reason.TERMINATING, Reason.CONDITION_NOT_MET, Reason.CONDITION_FAILED})
"""Reasons of targets for which any change of the object may matter, not only that of what we own."""


@dataclass(slots=True)
class Wakeups:
    """Turns what the watches show into work: (parent UID, unit)."""

    state: State
    index: Index
    queue: Queue[str]
    tenures: dict[str, Tenure]
    reserved: frozenset[str]
    tenant_changed: Callable[[str], None] = lambda _name: None
    template_changed: Callable[[str], None] = lambda _uid: None
    spaces_changed: Callable[[], None] = lambda: None
    young: Callable[[str], float] = lambda _uid: 0.0  # seconds for which a write of the replica before us may still land
    sources: dict[Source, dict[str, frozenset[str]]] = field(default_factory=dict)

    # Parents.

    def parent(self, before: Parent | None, after: Parent) -> None:
        """A parent was made or changed."""
        if visible_change(before, after):
            self.queue.add(after.uid)
        if before is None or is_ready(before) != is_ready(after):
            self._dependents(after)

    def parent_gone(self, parent: Parent) -> None:
        """A parent is gone: those that depend on it, and those that wait for what it held, look again."""
        self.queue.add(parent.uid)
        self._dependents(parent)

    def _dependents(self, parent: Parent) -> None:
        for other in self.state.siblings(parent):
            intent = self.state.intent(other)
            if intent is not None and parent.name in intent.depends_on:
                self.queue.add(other.uid)

    def template(self, manifest: Manifest) -> None:
        """A permit template was made, changed or deleted: it is judged again, and permits that wait for it look again."""
        self.template_changed(manifest["metadata"]["uid"])
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        for parent in self.state.parents.values():
            wanted = (parent.object.get("spec") or {}).get("template") or {}
            if parent.kind.gated and (wanted.get("kind"), wanted.get("name")) == (kind, name):
                self.queue.add(parent.uid)

    # Tenants and namespaces.

    def places(self, namespaces: set[str], tenants: set[str], before: Tenancy) -> None:
        """Namespaces and tenants changed, from `before` to the present tenancy."""
        now = self.state.tenancy
        moved = {name for name in before.owner.keys() | now.owner.keys() if before.owner.get(name) != now.owner.get(name)}
        changed = namespaces | moved
        for name in tenants | {owner for space in changed for owner in (before.owner.get(space), now.owner.get(space)) if owner}:
            self.tenant_changed(name)
        if changed:
            self.spaces_changed()
        for parent in list(self.state.parents.values()):
            if self._whole(parent, changed, tenants, now):
                self.queue.add(parent.uid)
            else:
                self._units(parent, changed, now)

    def _whole(self, parent: Parent, namespaces: set[str], tenants: set[str], now: Tenancy) -> bool:
        intent = self.state.intent(parent)
        if intent is None:
            return False
        if intent.scope.home in namespaces:
            return True
        if not tenants or intent.scope.kind == ScopeKind.NONE:  # what is rendered once sees no tenant
            return False
        tenure = self.tenures.get(parent.uid)
        if tenure is not None and tenants & set(tenure.tenants or ()):
            return True
        if intent.scope.home:
            return now.owner.get(intent.scope.home) in tenants
        selector = intent.scope.tenants
        living = (now.tenants[name] for name in tenants if name in now.tenants)
        return any(selector is None or selector.matches(labels_of(tenant)) for tenant in living)

    def _units(self, parent: Parent, namespaces: set[str], now: Tenancy) -> None:
        intent, tenure = self.state.intent(parent), self.tenures.get(parent.uid)
        units = set() if tenure is None else self._units_in(tenure, namespaces)
        if intent is not None:
            units |= {name for name in namespaces if covers(intent, now, name, reserved=self.reserved)}
        self.queue.add(parent.uid, units)

    @staticmethod
    def _units_in(tenure: Tenure, namespaces: set[str]) -> set[str]:
        """The units that have targets in these namespaces, and the namespaces themselves where they are units."""
        units = {
            record.unit for record in tenure.records.values() if record.ref.namespace in namespaces or record.unit in namespaces
        }
        return units | (namespaces & tenure.units)

    # Targets.

    def target(self, key: Key, before: Live | None, after: Live | None) -> None:
        """A managed object changed, came or went (`after` None)."""
        holders = {hold.parent for live in (before, after) if live is not None for hold in live.holdings}
        for uid in holders:
            tenure = self.tenures.get(uid)
            if tenure is None:
                continue
            if key not in tenure.in_flight:
                moved = before is not None and after is not None and before.version != after.version
                self.compare(tenure, key, after, changed=moved)
            elif after is None and before is not None:
                tenure.vanished.add(before.uid)  # the answer to our write is older than this

    def compare(self, tenure: Tenure, key: Key, live: Live | None, *, changed: bool = False) -> None:
        """Look again at a target that is not as it is recorded. `changed`: somebody other than this replica wrote it just now."""
        record = tenure.records.get(key)
        if record is None or not record.uid:
            return
        if changed and live is not None and self.young(tenure.parent.uid):
            # Perhaps the replica before us, whose write was under way: ours and the same fields, but other values.
            tenure.records[key] = replace(record, payload="")
            self.queue.add(tenure.parent.uid, (record.unit,))
            return
        mine = live.held_by(tenure.parent.manager) if live is not None else None
        as_recorded = live is not None and mine is not None and live.uid == record.uid and mine.fields == record.fields
        if not as_recorded or (live is not None and live.terminating) or record.reason in LOOKING:
            self.queue.add(tenure.parent.uid, (record.unit,))

    def kind_seen(self, group: str, kind: str) -> None:
        """A complete list of a kind was taken in: whatever changed while nobody watched shows now."""
        for tenure in self.tenures.values():
            for key in list(tenure.records):
                if (key.group, key.kind) == (group, kind) and key not in tenure.in_flight:
                    self.compare(tenure, key, self.index.live(key))

    def kind_unseen(self, group: str, kind: str) -> None:
        """A kind cannot be watched: who has targets of it looks at one of them again, and says so."""
        for uid, tenure in self.tenures.items():
            unit = next((record.unit for key, record in tenure.records.items() if (key.group, key.kind) == (group, kind)), None)
            if unit is not None:
                self.queue.add(uid, (unit,))

    def kinds_changed(self) -> None:
        """CustomResourceDefinitions changed: whoever waits for a kind looks again."""
        for uid, tenure in self.tenures.items():
            if any(trouble.problem.reason == Reason.KIND_UNKNOWN for trouble in tenure.all_troubles()):
                self.queue.add(uid)

    # Sources.

    def source(self, source: Source, namespace: str) -> None:
        """Something that was read changed, in this namespace ("" for cluster scope)."""
        for uid, units in self.sources.get(source, {}).items():
            if "" in units:
                self.queue.add(uid)
            elif namespace in units:
                self.queue.add(uid, (namespace,))

    def source_seen(self, source: Source) -> None:
        """A source is watched from now on: what changed since it was read shows in one more look."""
        for uid, units in self.sources.get(source, {}).items():
            self.queue.add(uid, None if "" in units else units)

    def read_by(self, uid: str, sources: Iterable[tuple[Source, frozenset[str]]]) -> set[Source]:
        """What a parent reads now; answers the sources that nobody reads any more."""
        wanted = dict(sources)
        for source, units in wanted.items():
            self.sources.setdefault(source, {})[uid] = units
        dropped = {source for source, readers in self.sources.items() if uid in readers and source not in wanted}
        for source in dropped:
            self.sources[source].pop(uid)
        unread = {source for source in dropped if not self.sources[source]}
        for source in unread:
            del self.sources[source]
        return unread


def namespace_of(manifest: Manifest) -> str:
    """`metadata.namespace`, "" for cluster scope."""
    namespace: str = manifest["metadata"].get("namespace", "")
    return namespace
