"""The running manager, put together: credentials, client, controller, Leases, health, Events; and its graceful end."""

import asyncio
import contextlib
import gc
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from apis.intent import Identity
from apis.kind import Parent, kinds
from apis.meta import Manifest, Ref
from apis.problems import Blocked, Forbidden, Invalid, Problem
from apis.reasons import Reason
from manager import powers
from manager.admission import older
from manager.admission.handlers import handlers, template_reader
from manager.admission.keep import keep, policies
from manager.admission.policies import Policy
from manager.admission.serve import Serving, served, serving
from manager.cluster import ApiCluster
from manager.controller import Controller, Options, Told
from manager.credentials import load
from manager.elector import Alone, Shared
from manager.elector import Elector as Holder
from manager.events import Notice, Recorder, Type
from manager.health import Exposition, Health
from manager.http import Client
from manager.lease import Elector
from manager.metrics import CONTENT_TYPE, Metrics, Share
from manager.permits import tellings
from manager.permits.desk import Ears, Permits
from manager.permits.keys import Keyring
from manager.render.pool import Renderer
from manager.schemas import Schemas
from manager.servertime import ServerTime
from manager.tenure import Tenure
from manager.world import Cluster
from policy.account import Accounts
from policy.election import Terms
from policy.members import shard_of

log = structlog.get_logger("copyhold")

SHARDS = 4
"""Into how many parts the parents are divided among replicas."""

POLICIES = "policies"
"""Stands for a parent where the shard of the admission policies is asked for."""

SKEW = timedelta(seconds=2)
"""By how much two clocks may differ before it is said."""

FINISH = 10.0
"""Seconds that a graceful stop may take."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one replica runs; see `copyhold run --help`. `listen` is "ADDRESS:PORT", "" for no server.

    `admission_url` is `https://HOST:PORT`, `admission_service` "NAMESPACE/NAME:PORT", `admission_listen` "ADDRESS:PORT" and
    `admission_certificate` a folder; "" for none.
    """

    kubeconfig: str | None = None
    context: str | None = None
    default_account: Identity | None = None
    allowed_accounts: tuple[Identity, ...] = ()
    kinds: tuple[str, ...] = ()
    namespace: str = "copyhold-system"
    listen: str = ""
    identity: str = field(default_factory=socket.gethostname)
    leases: bool = True
    workers: int = 4
    width: int = 24
    render_workers: int = 1
    admission_url: str = ""
    admission_service: str = ""
    admission_listen: str = ""
    admission_certificate: str = ""

    @property
    def accounts(self) -> Accounts:
        """What policy wants to know of accounts."""
        return Accounts(self.default_account, self.namespace, frozenset(self.allowed_accounts))

    @property
    def admission(self) -> Serving | None:
        """Where admission is served; None for nowhere. Raises Invalid, naming the flag."""
        return serving(self.admission_url, self.admission_service, self.admission_listen, self.admission_certificate)


async def run(settings: Settings) -> int:
    """Run until SIGINT or SIGTERM. Answers the exit code: 0 after a signal, 1 when it could not go on."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with replica(settings) as failed:
            await _first(stop, failed)
            if not stop.is_set():
                log.error("the leases ended: stopping")
                return 1
            log.info("stopping")
    except Problem as problem:
        log.error("cannot run", reason=str(problem.reason), message=str(problem))
        return 1
    return 0


async def _first(stop: asyncio.Event, failed: "asyncio.Future[None]") -> None:
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait((stopped, asyncio.shield(failed)), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()


@asynccontextmanager
async def replica(settings: Settings) -> AsyncIterator["asyncio.Future[None]"]:
    """One replica, working inside the block. Gives a future that is done when it cannot go on."""
    endpoint = await load(settings.kubeconfig, settings.context)
    metrics = Metrics()
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with contextlib.AsyncExitStack() as stack:
        electing = _Electing(settings, metrics)
        client = Client(endpoint, gate=electing.gate)
        stack.push_async_callback(client.close)
        clock = ServerTime(_utc_now, time.monotonic)
        cluster = ApiCluster(client, observer=_observer(metrics), heard=clock.heard)
        recorder = Recorder(cluster, metrics, instance=settings.identity)
        renderer = Renderer(workers=settings.render_workers, rendered=metrics.rendered, restarted=metrics.render_worker_restarted)
        stack.push_async_callback(renderer.close)
        await _check_kinds(cluster)
        standing = await _standing(cluster, settings)
        permits = _permits(cluster, settings, clock, recorder, metrics)
        controller = Controller(
            cluster,
            renderer,
            Schemas(cluster.get_raw),
            Options(settings.accounts, settings.workers, settings.width, kinds=frozenset(settings.kinds)),
            elector=electing.holder,
            told=_told(recorder, metrics),
            keep_policies=None if standing else lambda: _keep(cluster, settings, electing.holder),
            now=clock,
        )
        health = Health(lambda: _missing(controller), Exposition(lambda: _text(metrics, controller, clock), CONTENT_TYPE))
        if settings.listen:
            bound = await _listen(health, settings.listen)
            stack.push_async_callback(health.stop)
            log.info("listening", address=bound)
        await powers.check(cluster)
        await _keep(cluster, settings, Alone())
        controller.permits = await _served(permits, settings)
        if settings.admission is not None:
            asked = handlers(cluster, renderer, permits.keyring.sign, clock, policies=standing)
            holds = partial(electing.holder.holds, POLICIES)
            await stack.enter_async_context(
                served(cluster, settings.admission, asked, namespace=settings.namespace, holds=holds, policies=standing)
            )
        telling = asyncio.create_task(recorder.run(), name="events")
        stack.push_async_callback(_finish, telling, recorder)
        stack.push_async_callback(electing.stop)  # after the controller has stopped: no write is under way any more
        stack.push_async_callback(controller.stop)
        await asyncio.gather(controller.start(), renderer.warm())
        _settle_memory()
        watching = asyncio.create_task(_compare_clocks(clock), name="clock")
        stack.callback(watching.cancel)
        log.info("running", parents=len(controller.state.parents), tenants=len(controller.state.tenants))
        await electing.start(controller, failed)
        yield failed


async def _compare_clocks(clock: ServerTime, period: float = 60.0) -> None:
    """Say so when this host's clock and the API server's go apart: permits live by the latter, logs and Leases by the former."""
    told = timedelta(0)
    while True:
        skew = clock.skew or timedelta(0)
        if abs(skew - told) >= SKEW:
            log.warning("this host's clock differs from the API server's", seconds_ahead=round(skew.total_seconds(), 1))
            told = skew
        await asyncio.sleep(period)


def _settle_memory() -> None:
    """What start-up made lives as long as the process: the collector need not look at it again, and less often at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def _listen(health: Health, address: str) -> str:
    """Serve health and metrics; the address with the port that was bound. Raises Invalid when it cannot be had."""
    host, _, port = address.rpartition(":")
    try:
        return f"{host}:{await health.start(host.strip('[]'), int(port))}"
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Invalid(Reason.INVALID, f"cannot listen on {address} ({why}): choose another address with --listen") from error


async def _check_kinds(cluster: Cluster) -> None:
    """Raise Blocked, with the remedy, unless the server knows all our kinds: without them there is nothing to wait for."""
    for kind in kinds():
        try:
            await cluster.resource(kind.api_version, kind.kind)
        except Forbidden as problem:
            remedy = "check the credentials, and that the roles of the manager are there (kubectl apply -k deploy/manager)"
            raise Forbidden(f"the server refuses us ({problem}); {remedy}") from problem
        except Blocked as problem:
            if problem.reason != Reason.KIND_UNKNOWN:
                raise
            remedy = "install our CustomResourceDefinitions: copyhold crds | kubectl apply --server-side -f -"
            raise Blocked(problem.reason, f"the server does not serve {kind.kind} in {kind.api_version}; {remedy}") from problem


class _Electing:
    """The Leases of this replica; nothing at all when it is to run alone."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._metrics = metrics
        self._controller: Controller | None = None
        self._elector: Elector | None = None
        self.holder: Holder = Alone()
        self.gate: Callable[[], float | None] | None = None
        if settings.leases:
            self._elector = Elector(
                lambda: _connected(settings),
                settings.namespace,
                settings.identity,
                gained=self._gained,
                lost=self._lost,
                drain=self._drain,
                shards=SHARDS,
            )
            self.holder = Shared(self._elector.fence, SHARDS, Terms().lease)
            self.gate = self._elector.fence.gate

    def _gained(self, shard: int) -> None:
        log.info("lease gained", shard=shard)
        self._metrics.leases_held.inc()
        if self._controller is not None:
            self._controller.gained()

    def _lost(self, shard: int) -> None:
        log.info("lease lost", shard=shard)
        self._metrics.leases_held.dec()
        if self._controller is not None:
            self._controller.lost(shard, _of(shard))

    async def _drain(self, shard: int) -> None:
        if self._controller is not None:
            await self._controller.drain(shard, _of(shard))

    async def start(self, controller: Controller, failed: "asyncio.Future[None]") -> None:
        """Compete from now on."""
        self._controller = controller
        if self._elector is not None:
            await self._elector.start()
            waiting = asyncio.ensure_future(self._elector.wait())
            waiting.add_done_callback(lambda _task: None if failed.done() else failed.set_result(None))

    async def stop(self) -> None:
        """Give everything back."""
        if self._elector is not None and self._controller is not None:
            await self._elector.stop()


def _of(shard: int) -> Callable[[str], bool]:
    return lambda uid: shard_of(uid, SHARDS) == shard


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[Cluster]:
    """A cluster with connections of its own, for the thread that keeps the Leases."""
    client = Client(await load(settings.kubeconfig, settings.context), connections=2)
    try:
        yield ApiCluster(client, timeout=Terms().lease / 2)
    finally:
        await client.close(1.0)


async def _keep(cluster: Cluster, settings: Settings, holder: Holder) -> None:
    """One replica repairs: two of different versions would rewrite each other's text for ever. At the start each looks."""
    if not holder.holds(POLICIES):
        return
    written = await keep(cluster, manager_namespace=settings.namespace, allowed=_allowed(settings))
    if written:
        log.info("admission policies written", names=list(written))


async def _standing(cluster: ApiCluster, settings: Settings) -> tuple[Policy, ...]:
    """The policies that our webhook has to stand for: none where the API server judges by them itself. Raises Blocked."""
    if await older.enforced(cluster):
        return ()
    await older.check(cluster, served=settings.admission is not None)
    log.info("this API server has no ValidatingAdmissionPolicy: our webhook says what our policies would")
    ours = policies(manager_namespace=settings.namespace, allowed=_allowed(settings))
    return tuple(policy for policy in ours if not policy.native)


def _allowed(settings: Settings) -> list[str]:
    return [f"{account.namespace}/{account.name}" for account in settings.allowed_accounts]


async def _served(permits: Permits, settings: Settings) -> Permits | None:
    """Permits are served where admission is; and without it, where they were before: what was given ends on time all the same."""
    if settings.admission is None and not await permits.keyring.there():
        log.info("permits are left alone: no admission is served (--admission-service or --admission-url)")
        return None
    await permits.keyring.refresh()
    if settings.admission is None:
        log.warning("no admission is served: permits are neither made nor reviewed, and those that are active end on time")
    return permits


def _permits(cluster: Cluster, settings: Settings, clock: ServerTime, recorder: Recorder, metrics: Metrics) -> Permits:
    """What serving permits needs: the keys that all replicas share, and who hears of each transition."""

    def transition(permit: Manifest, made: Manifest) -> None:
        log.info("permit", **tellings.line(permit, made))
        recorder.record(tellings.notice(permit, made))

    def stands(permit: Manifest, phase: str, overdue: bool) -> None:
        metrics.permit(Ref.of(permit), phase, overdue=overdue)

    ears = Ears(transition, stands, metrics.approved, metrics.removed)
    return Permits(Keyring(cluster, settings.namespace, clock), settings.namespace, template_reader(cluster), ears)


def _utc_now() -> datetime:
    return datetime.now(UTC)


async def _finish(telling: "asyncio.Task[None]", recorder: Recorder) -> None:
    telling.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await telling
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FINISH / 2):
            await recorder.flush(final=True)


def _told(recorder: Recorder, metrics: Metrics) -> Told:
    def event(parent: Parent, type_: str, reason: Reason, note: str) -> None:
        log.info("told", parent=str(parent), type=type_, reason=str(reason), note=note)
        recorder.record(Notice(parent.ref, parent.uid, Type(type_), reason, "Reconcile", note))

    def passed(tenure: Tenure, result: str, seconds: float) -> None:
        log.debug("pass", parent=str(tenure.parent), result=result, seconds=round(seconds, 4))
        succeeded_at = time.time() if tenure.told[0] == "True" else None
        metrics.reconciled(tenure.parent.kind.kind, result, seconds, succeeded_at=succeeded_at)
        metrics.parent(tenure.parent.ref, _share(tenure))

    def dropped(parent: Parent) -> None:
        with contextlib.suppress(KeyError):  # it never had a pass
            metrics.forget(parent.ref)
        with contextlib.suppress(KeyError):
            metrics.forget_permit(parent.ref)

    def template(manifest: Manifest, ready: bool | None) -> None:
        if ready is None:
            metrics.forget_template(Ref.of(manifest))
        else:
            metrics.template(Ref.of(manifest), ready=ready)

    return Told(event, passed, dropped, template, metrics.conflict, metrics.watch_restarted)


def _share(tenure: Tenure) -> Share:
    targets: dict[tuple[str, str], int] = {}
    contested = blocked = 0
    for record in tenure.records.values():
        kind = f"{record.ref.kind}.{record.ref.group}" if record.ref.group else record.ref.kind
        state = "ready" if record.ok else str(record.reason)
        targets[kind, state] = targets.get((kind, state), 0) + 1
        contested += record.reason == Reason.CONTESTED
        blocked += record.reason == Reason.PRUNE_BLOCKED
    said = tenure.told
    return Share({"Ready": said[0] == "True"} if said[0] else {}, targets, contested, blocked)


def _observer(metrics: Metrics) -> Callable[[str, str, int, float], None]:
    def observe(method: str, path: str, status: int, seconds: float) -> None:
        metrics.request(method, plural_of(path), str(status or "none"), seconds)

    return observe


def plural_of(path: str) -> str:
    """The resource that a request path speaks of: `/apis/apps/v1/namespaces/a/deployments/x` -> `deployments`."""
    parts = path.strip("/").split("/")
    rest = parts[3:] if parts[0] == "apis" else parts[2:]
    if len(rest) >= 3 and rest[0] == "namespaces":
        return rest[2]
    return rest[0] if rest else parts[0]


def _missing(controller: Controller) -> list[str]:
    return controller.watches.missing()


def _text(metrics: Metrics, controller: Controller, clock: ServerTime) -> bytes:
    if clock.skew is not None:
        metrics.clock_skew.set(clock.skew.total_seconds())
    metrics.queue_depth.set(len(controller.queue))
    metrics.watches_open.set(controller.watches.open)
    return metrics.text()
