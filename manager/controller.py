"""The running manager: watches wake, a queue hands out parents, a few workers reconcile them.

Nothing polls but the safety resync.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

import structlog

from apis.intent import Group
from apis.kind import Parent
from apis.meta import FINALIZER, Key, Manifest, older
from apis.problems import Conflict, Invalid, Problem, Stale
from apis.reasons import Reason
from manager.desk import Desk, Next
from manager.elector import Alone, Elector
from manager.execute import Outcome
from manager.index import Index
from manager.memory import Memory
from manager.permits import vault
from manager.permits.conduct import conduct, doubts
from manager.permits.desk import Permits
from manager.permits.keys import Keyring
from manager.permits.templates import Templates
from manager.propose import Proposal
from manager.queue import Queue, Work
from manager.reconcile import reconcile
from manager.recover import recover
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.sight import resource_of
from manager.state import State
from manager.surroundings import Surroundings
from manager.sweep import sweep
from manager.tenancies import Tenancies
from manager.tenure import WHOLE, Tenure, pruned_of, told_of
from manager.wakeups import Wakeups
from manager.watches import Watches
from manager.world import Cluster, Resource
from policy.account import Accounts
from policy.pace import backoff
from policy.permits.due import ending

log = structlog.get_logger("copyhold")


SWEEP = "sweep"
"""Stands for a parent where the shard of the sweep is asked for."""

KEYS_PERIOD = 3600.0
"""Seconds between two looks at the keys that sign what happens to permits."""

ENDING = 16
"""Permits whose access is taken back at the same time, whatever else goes on: most of it is waiting for the server."""

SWEEP_PERIOD = 600.0
"""Seconds between two sweeps. They only read while there is nothing to clear."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the manager runs. `workers`: parents at the same time; `width`: requests for the targets of one parent."""

    accounts: Accounts = field(default_factory=Accounts)
    workers: int = 4
    width: int = 24
    waits: int = 64  # watches on foreign objects that something waits for
    streams: int = 200  # watches on what templates and copies read
    patience: float = 1.0  # seconds that a target which is not wanted any more waits for another parent to take it over
    kinds: frozenset[str] = frozenset()  # parents of these kinds only; empty: of all


@dataclass(frozen=True, slots=True)
class Told:
    """Whom the controller tells what it does."""

    event: Callable[[Parent, str, Reason, str], None] = lambda _parent, _type, _reason, _note: None
    passed: Callable[[Tenure, str, float], None] = lambda _tenure, _result, _seconds: None
    dropped: Callable[[Parent], None] = lambda _parent: None
    template: Callable[[Manifest, bool | None], None] = lambda _template, _ready: None  # is it Ready? None: it is gone
    conflict: Callable[[str], None] = lambda _kind: None
    interrupted: Callable[[str, str], None] = lambda _resource, _cause: None  # a watch, and what ended it


class Controller:
    """One replica. `start` returns when everything has been seen once; `run` works until it is cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        renderer: Renderer,
        schemas: Schemas,
        options: Options,
        *,
        elector: Elector | None = None,
        told: Told | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        keep_policies: Callable[[], Awaitable[None]] | None = None,
        permits: Permits | None = None,
    ) -> None:
        """Without `permits` (keys and admission) nobody could prove who asked for what, so permits are left alone."""
        self.cluster = cluster
        self.renderer = renderer
        self.schemas = schemas
        self.options = options
        self.elector = elector or Alone()
        self.told = told or Told()
        self.now = now
        self.permits = permits
        self.state = State()
        self.index = Index()
        self.queue: Queue[str] = Queue(self._ends)
        self.tenures: dict[str, Tenure] = {}
        reserved = frozenset({options.accounts.manager_namespace})
        self.tenancies = Tenancies(cluster, self.state, self.elector, now)
        self.templates = Templates(cluster, self.state, self.elector, now, self._check, self.told.template)
        self.wakeups = Wakeups(
            self.state,
            self.index,
            self.queue,
            self.tenures,
            reserved,
            tenant_changed=self.tenancies.changed,
            template_changed=self.templates.changed,
            spaces_changed=self.templates.moved,
            young=self.elector.young,
        )
        self.watches = Watches(
            cluster,
            self.state,
            self.index,
            self.wakeups,
            options.streams,
            options.waits,
            keep_policies,
            self.told.interrupted,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._draining: dict[int, Callable[[str], bool]] = {}

    async def _check(self, groups: Sequence[Group]) -> list[Invalid]:
        return await self.renderer.check(groups)

    # Life.

    async def start(self) -> None:
        """Watch what is ours and wait until all of it has been seen; then the first passes begin."""
        await self.watches.start()
        for uid in self.state.parents:
            self.queue.add(uid)
        for name in self.state.tenants:
            self.tenancies.changed(name)
        self._tasks = [asyncio.create_task(self._work(), name=f"worker-{number}") for number in range(self.options.workers)]
        self._tasks.append(asyncio.create_task(self.tenancies.run(), name="tenants"))
        self._tasks.append(asyncio.create_task(self._sweep(), name="sweep"))
        if self.permits is not None:
            for number in range(ENDING):
                self._tasks.append(asyncio.create_task(self._work(pressing=True), name=f"ending-{number}"))
            for uid in self.state.templates:
                self.templates.changed(uid)
            self._tasks.append(asyncio.create_task(self.templates.run(), name="templates"))
            self._tasks.append(asyncio.create_task(self._keep_keys(self.permits.keyring), name="keys"))

    async def stop(self) -> None:
        """End the workers where they are: memory was written before targets, so nothing is lost."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.queue.stop()
        await self.watches.stop()

    def gained(self) -> None:
        """Parents became ours: look at all of them; those that are not ours are left alone."""
        self.watches.hurry()
        for uid in self.state.parents:
            self.queue.add(uid)
        for name in self.state.tenants:
            self.tenancies.changed(name)
        for uid in self.state.templates:
            self.templates.changed(uid)

    async def drain(self, shard: int, belongs: Callable[[str], bool]) -> None:
        """The parents of a shard will be another replica's: begin nothing for them any more, and wait for what runs."""
        self._draining[shard] = belongs
        await self.queue.ended(belongs)

    def lost(self, shard: int, belongs: Callable[[str], bool]) -> None:
        """These parents stopped being ours: what was known of them is not trusted any more, also when they come back soon."""
        self._draining.pop(shard, None)
        for uid in [uid for uid in self.tenures if belongs(uid)]:
            self._drop(uid)

    async def idle(self) -> None:
        """Wait until nothing is left to do now (appointments may stand)."""
        await self.queue.still()

    # Work.

    def _ends(self, uid: str) -> bool:
        """Access that is over waits for nobody's fan-out. Without workers for permits nobody would take it."""
        parent = self.state.parents.get(uid)
        return self.permits is not None and parent is not None and parent.kind.gated and ending(parent.object, self.now())

    async def _work(self, *, pressing: bool = False) -> None:
        while True:
            uid, work = await self.queue.take(pressing=pressing)
            try:
                with self.elector.writing(uid):
                    await self._pass(uid, work)
            except Problem as problem:
                self._failed(uid, problem)
            except Exception:
                log.exception("pass failed by a defect", parent=self._name(uid))
                self.queue.later(uid, None, 30.0)
            finally:
                self.queue.done(uid)

    def _failed(self, uid: str, problem: Problem) -> None:
        """Memory could not be read or written: nothing is known for sure, so begin anew after a while."""
        tenure = self.tenures.get(uid)
        attempt = tenure.attempt(WHOLE) if tenure is not None else 0
        if isinstance(problem, Stale):
            self._drop(uid)
        delay = backoff(problem, attempt, random.random())  # noqa: S311 - spreads load, guards nothing
        self.queue.later(uid, None, delay if delay is not None else 30.0)
        log.warning("pass held", parent=self._name(uid), reason=str(problem.reason), message=str(problem), again_in=delay)

    def _name(self, uid: str) -> str:
        parent = self.state.parents.get(uid)
        return str(parent) if parent is not None else uid

    async def _pass(self, uid: str, work: Work) -> None:
        parent = self.state.parents.get(uid)
        if parent is None:
            self._drop(uid)
            return
        if not self._ours(parent):
            self._drop(uid)
            return
        started = monotonic()
        tenure = await self._tenure(parent)
        if self.permits is not None and parent.kind.gated:
            following = await conduct(self.desk, tenure, self.permits)
        else:
            following = await reconcile(self.desk, tenure, None if work.whole else frozenset(work.units))
        # Told first: a parent that is finished is dropped right after, from the metrics too.
        self.told.passed(tenure, "finished" if following.finished else "done", monotonic() - started)
        self._follow(tenure, following, whole=work.whole)

    def _ours(self, parent: Parent) -> bool:
        wanted = not self.options.kinds or parent.kind.kind in self.options.kinds
        if parent.kind.gated and self.permits is None:
            return False
        leaving = any(belongs(parent.uid) for belongs in self._draining.values())
        return wanted and not leaving and self.elector.holds(parent.uid)

    async def _tenure(self, parent: Parent) -> Tenure:
        """What we know of a parent; read from memory the first time, with its targets under watch before anything is decided."""
        tenure = self.tenures.get(parent.uid)
        if tenure is None or _transitioned(tenure.parent, parent):
            memory = await Memory.load(self.cluster, parent)
            records = dict(memory.records)
            if not records and FINALIZER in parent.finalizers and await self._lost(parent):
                records = await recover(self.cluster, parent)
            tenure = Tenure(parent, memory, records, pruned=pruned_of(parent), told=told_of(parent))
            await self.watches.targets(_kinds_of(tenure))
            self.tenures[parent.uid] = tenure
        if not older(parent.resource_version, tenure.parent.resource_version):
            tenure.parent = parent
        return tenure

    async def _lost(self, parent: Parent) -> bool:
        """Is it no wonder that nothing is recorded, or was memory lost? Of a permit, also when it cannot be proved."""
        if "observedGeneration" not in parent.status:
            return True
        return self.permits is not None and parent.kind.gated and bool(await doubts(self.permits, parent.object))

    def _follow(self, tenure: Tenure, following: Next, *, whole: bool) -> None:
        uid = tenure.parent.uid
        if following.finished:
            self._drop(uid)
            return
        for unit, seconds in following.after.items():
            self.queue.later(uid, None if unit == WHOLE else unit, seconds)
        self.watches.sources(uid, tenure.sources)
        self.watches.wait_for(uid, following.waits, keep=not whole)
        intent = self.state.intent(tenure.parent)
        if whole and intent is not None and intent.resync > 0:
            self.queue.later(uid, None, intent.resync * (1 + random.random() / 10))  # noqa: S311 - spreads load

    def _drop(self, uid: str) -> None:
        tenure = self.tenures.pop(uid, None)
        self.queue.forget(uid)
        self.watches.forget(uid)
        if tenure is not None:
            self.told.dropped(tenure.parent)

    async def _sweep(self) -> None:
        """Clear up after parents that are gone, now and then; one replica does it."""
        while True:
            await asyncio.sleep(SWEEP_PERIOD)
            if not self.elector.holds(SWEEP):
                continue
            try:
                with self.elector.writing(SWEEP):
                    cleared = await sweep(self.cluster, self.index, self.state.parents.keys())
                    if self.permits is not None:
                        cleared += await vault.sweep(self.cluster, self.permits.namespace, self.state.parents.keys())
            except Problem as problem:
                log.warning("sweep not finished", reason=str(problem.reason), message=str(problem))
                continue
            if cleared:
                log.info("swept after parents that are gone", objects=cleared)

    async def _keep_keys(self, keyring: Keyring) -> None:
        """Now and then the keys are read again: they are renewed when it is time, and what is public stays published."""
        while True:
            await asyncio.sleep(KEYS_PERIOD)
            try:
                await keyring.refresh()
            except Problem as problem:
                log.warning("keys not read", reason=str(problem.reason), message=str(problem))

    # What reconciling asks for.

    @property
    def desk(self) -> Desk:
        """The world as it is at this moment, for one pass."""
        return Desk(
            cluster=self.cluster,
            around=self._around,
            now=self.now,
            monotonic=monotonic,
            dependencies=self.state.dependencies,
            holds=self.elector.holds,
            grace=self.elector.young,
            urgent=lambda parent: self.queue.urgent(parent.uid),
            tell=self.told.event,
            watch=self._watch,
            unwatched=self._unwatched,
            settled=self._settled,
            width=self.options.width,
            patience=self.options.patience,
        )

    def _around(self, parent: Parent) -> Surroundings:
        return Surroundings(
            world=self.cluster,
            renderer=self.renderer,
            schemas=self.schemas,
            tenancy=self.state.tenancy,
            accounts=self.options.accounts,
            index=self.index,
            exists=self.state.parents.__contains__,
            records_say=self._records_say,
            note=lambda text: self.told.event(parent, "Normal", Reason.SOURCE_MISSING, text),
        )

    async def _records_say(self, uid: str, key: Key) -> bool:
        """Does a parent record that it created this target? From its own memory, wherever it is reconciled."""
        parent = self.state.parents.get(uid)
        if parent is None:
            return False
        tenure = self.tenures.get(uid)
        records = tenure.records if tenure is not None else (await Memory.load(self.cluster, parent)).records
        record = records.get(key)
        return record is not None and (record.created or record.pending)

    def _watch(self, proposal: Proposal) -> None:
        self.watches.begin(proposal.kinds)

    def _unwatched(self, tenure: Tenure) -> tuple[str, ...]:
        return tuple(sorted(resource.plural for resource in _kinds_of(tenure) if self.watches.refused(resource)))

    def _settled(self, tenure: Tenure, outcome: Outcome) -> None:
        """What the server answered goes into the index at once, so that the watch's echo is no news: others are told here."""
        key, live = outcome.decision.key, outcome.live
        if isinstance(outcome.problem, Conflict):
            self.told.conflict(tenure.parent.kind.kind)
        vanished = live is not None and live.uid in tenure.vanished
        if live is not None and outcome.wrote and live.holdings and not vanished:
            before, after = self.index.note(key, live)
            self.wakeups.target(key, before, after)
            tenure.in_flight.discard(key)
            if after is not live:
                # The watch was ahead of our answer, and its event passed us by while the write was in flight.
                self.wakeups.compare(tenure, key, after, changed=True)
        elif outcome.wrote and (live is not None or outcome.record is None):
            # Gone, or nobody's any more: the watch does not show it, or has said its last word about it already.
            known = live or outcome.decision.item.live
            before = self.index.remove(key, known.uid if known else "")
            self.wakeups.target(key, before, None)
        tenure.in_flight.discard(key)
        if live is not None and vanished:
            tenure.vanished.discard(live.uid)
            self.wakeups.compare(tenure, key, None)


def _transitioned(known: Parent, parent: Parent) -> bool:
    """Did somebody else write the status of what gives access? Then memory begins anew, or its next write would be refused."""
    newer = older(known.resource_version, parent.resource_version)
    return parent.kind.gated and newer and known.status != parent.status


def _kinds_of(tenure: Tenure) -> frozenset[Resource]:
    return frozenset(resource_of(record) for record in tenure.records.values() if record.resource)
