"""The manager as processes: replicas of `copyhold run` on a control plane of their own, each behind a proxy that sees all."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.realserver.access import Access, ControlPlane
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.names import fresh
from tests.support.stage import GROUP, RBAC, VERSION

ROOT = Path(__file__).parents[2]
NAMESPACE, ACCOUNT = "copyhold-system", "copyhold"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
RUNNER = "runner"


# The proxy.


@dataclass
class Sent:
    """One request of a replica as it went by; `status` is 0 while there is no answer."""

    method: str
    path: str
    query: str
    body: bytes
    status: int = 0

    @property
    def writes(self) -> bool:
        """True for anything but a read; a review is a question that is posted, and stores nothing."""
        return self.method != "GET" and not self.path.endswith("reviews")

    @property
    def lease(self) -> bool:
        """True for what is about the Leases of replicas."""
        return self.path.startswith(LEASES)


@dataclass
class Held:
    """A request that the proxy keeps back: it has left the replica and has not reached the server."""

    matches: Callable[[Sent], bool]
    loop: asyncio.AbstractEventLoop
    caught: threading.Event = field(default_factory=threading.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    sent: Sent | None = None

    def wait(self, timeout: float = 30) -> Sent:
        """Wait until there is one."""
        assert self.caught.wait(timeout), "no such request came"
        assert self.sent is not None
        return self.sent

    def release(self, timeout: float = 10) -> Sent:
        """Let it go on, and wait for the server's answer, whoever may still read that."""
        self.loop.call_soon_threadsafe(self.open.set)
        sent = self.wait()
        eventually(lambda: sent.status, timeout=timeout)
        return sent


class Proxy:
    """Plain HTTP in front of the server's TLS. It counts on one request at a time per connection, as our client sends them."""

    def __init__(self, access: Access) -> None:
        url = urlsplit(access.url)
        self._there = (url.hostname or "", url.port or 443)
        self._trust = ssl.create_default_context(cafile=str(access.ca))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._busy: set[asyncio.Task[None]] = set()
        self._holds: list[Held] = []
        self.sent: list[Sent] = []
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """Cut every connection and stop listening."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def hold(self, matches: Callable[[Sent], bool]) -> Held:
        """Keep the next such request back."""
        held = Held(matches, self._loop)
        self._holds.append(held)
        return held

    def writes(self, since: int = 0) -> list[Sent]:
        """The writes after the first `since` requests, without the Leases and what only reports (Events)."""
        quiet = ("/apis/events.k8s.io/", LEASES)
        return [sent for sent in self.sent[since:] if sent.writes and not sent.path.startswith(quiet)]

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _close(self) -> None:
        self._server.close()
        for task in tuple(self._busy):
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        for _ in range(10):
            await asyncio.sleep(0)  # an aborted transport closes its socket in one of the next turns of the loop

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            await self._between(reader, writer)
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # either side went away: the other is cut too
        except asyncio.CancelledError:
            pass  # we are closing, and nobody but `_close` cancels
        finally:
            _hang_up(writer)
            self._busy.discard(task)

    async def _between(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection(*self._there, ssl=self._trust)
        under_way: list[Sent] = []
        answers = asyncio.ensure_future(_answers(there, writer, under_way))
        asks = asyncio.ensure_future(self._asks(reader, to_there, under_way))
        try:
            # Whoever is cut off while its request is held back is still answered for: the request is already on its way.
            await asyncio.wait((answers, asks), return_when=asyncio.FIRST_COMPLETED)
            if under_way and not under_way[0].status and not answers.done():
                await asyncio.wait((answers,), timeout=5)
        finally:
            _hang_up(to_there)
            for task in (answers, asks):
                task.cancel()
            await asyncio.gather(answers, asks, return_exceptions=True)

    async def _asks(self, reader: asyncio.StreamReader, to_there: asyncio.StreamWriter, under_way: list[Sent]) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, _ = first.split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path, _, query = target.partition("?")
            sent = Sent(method, path, query, body)
            self.sent.append(sent)
            held = next((held for held in self._holds if held.matches(sent)), None)
            if held is not None:
                self._holds.remove(held)
                held.sent = sent
                held.caught.set()
                await held.open.wait()
            under_way[:] = [sent]
            to_there.write(head + body)
            await to_there.drain()


async def _answers(there: asyncio.StreamReader, writer: asyncio.StreamWriter, under_way: list[Sent]) -> None:
    gone = False
    while data := await there.read(1 << 16):
        if under_way and not under_way[0].status:
            under_way[0].status = int(data.split(b" ", 2)[1])
        if not gone:
            try:
                writer.write(data)
                await writer.drain()
            except OSError:
                gone = True  # nobody reads it; the server's status is still of interest
        if gone:
            return


def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Waits for nothing: whoever is being cancelled for the second time would leave the rest undone."""
    writer.close()  # an aborted TLS transport alone does not count as closed
    writer.transport.abort()


# Replicas.


@dataclass
class Replica:
    """One process of `copyhold run`."""

    process: subprocess.Popen[bytes]
    log: Path
    proxy: Proxy
    name: str

    # Signals.

    def pause(self) -> None:
        """SIGSTOP: nothing in it runs any more, its clock goes on."""
        self.process.send_signal(signal.SIGSTOP)
        eventually(lambda: _state(self.process.pid) == "T")

    def wake(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, as the kernel does it when memory is short."""
        self.process.kill()
        self.process.wait(10)

    def terminate(self, timeout: float = 20) -> int:
        """SIGTERM, as the kubelet does it; answers the exit code."""
        self.process.terminate()
        return self.process.wait(timeout)

    @property
    def alive(self) -> bool:
        """True while the process has not ended."""
        return self.process.poll() is None

    # What it says.

    def text(self) -> str:
        """All that it has written to stderr and stdout."""
        return self.log.read_text(errors="replace")

    def lines(self, event: str = "") -> list[Mapping[str, Any]]:
        """Its log, one mapping a line; those with this event only, if given."""
        whole = self.text().rpartition("\n")[0].splitlines()
        lines: list[Mapping[str, Any]] = [json.loads(line) for line in whole if line]
        return [line for line in lines if not event or line["event"] == event]

    def told(self, event: str, timeout: float = 40) -> Mapping[str, Any]:
        """Wait until it has logged this event; answers the first of them."""

        def look() -> Mapping[str, Any] | None:
            found = self.lines(event)
            assert found or self.alive, f"{self.name} ended with code {self.process.returncode}: {self.text()}"
            return found[0] if found else None

        found = eventually(look, timeout=timeout)
        assert found is not None
        return found

    @property
    def address(self) -> str:
        """Where its probes are, as soon as it listens."""
        return str(self.told("listening")["address"])

    def probe(self, path: str) -> tuple[int, str]:
        """The status and text of `/healthz`, `/readyz` or `/metrics`."""
        answer = httpx.get(f"http://{self.address}{path}", trust_env=False, timeout=10)
        return answer.status_code, answer.text

    def ready(self, timeout: float = 40) -> None:
        """Wait until it has seen everything once."""
        self.told("running", timeout)

    def metric(self, series: str, /, **labels: str) -> float:
        """The sum of a series over all label values that are not given."""
        families = text_string_to_metric_families(self.probe("/metrics")[1])
        samples = (sample for family in families for sample in family.samples if sample.name == series)
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def leases(self) -> int:
        """How many shards it says that it holds."""
        return int(self.metric("copyhold_leases_held"))


def _state(pid: int) -> str:
    """The state of a process as /proc tells it: R, S, T (stopped), Z ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def runs(pid: int) -> bool:
    """True while there is a process with this number that is no zombie."""
    try:
        return _state(pid) != "Z"
    except FileNotFoundError:
        return False


def children(pid: int) -> list[int]:
    """The processes that this one started and that live."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command(kubeconfig: Path, *options: str) -> list[str]:
    """The command line of a replica."""
    return [sys.executable, "-m", "manager.cli", "run", "--kubeconfig", str(kubeconfig), "--log-json", *options]


def environment() -> dict[str, str]:
    """The environment without what would lead a manager elsewhere."""
    return {name: value for name, value in os.environ.items() if name != "KUBECONFIG" and not name.startswith("KUBERNETES_")}


# The place.


@dataclass
class Place:
    """A control plane that belongs to the tests of one process, with our kinds, the manager's account and an almighty runner."""

    server: ControlPlane
    api: Api
    folder: Path
    manager: str  # the token of the manager's account
    replicas: list[Replica] = field(default_factory=list)

    # Replicas.

    def kubeconfig(self, *, server: str = "", token: str = "") -> Path:
        """A file by which the manager reaches the server, or what is given instead."""
        access = self.server.access
        path = access.kubeconfig(self.folder / fresh("kubeconfig"), token=token or self.manager)
        if server:
            config = json.loads(path.read_text())
            config["clusters"][0]["cluster"] = {"server": server}
            path.write_text(json.dumps(config))
        return path

    def replica(self, *options: str, proxy: Proxy | None = None) -> Replica:
        """Start one, behind a proxy that may already hold something back. It lives until it is ended or nobody asks for it."""
        proxy = proxy or Proxy(self.server.access)
        name = fresh("replica")
        log = self.folder / f"{name}.log"
        arguments = command(
            self.kubeconfig(server=proxy.url),
            *("--listen", "127.0.0.1:0", "--identity", name, "--default-service-account", f"{self.home}/{RUNNER}"),
            *options,
        )
        with log.open("wb") as out:
            process = subprocess.Popen(
                arguments, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        self.replicas.append(Replica(process, log, proxy, name))
        return self.replicas[-1]

    def alive(self, number: int) -> list[Replica]:
        """So many replicas between which all shards are shared: those that the test before left, and new ones."""
        for replica in self.replicas:
            if not replica.alive:
                self._bury(replica)
        self.replicas = [replica for replica in self.replicas if replica.alive]
        kept = list(self.replicas)
        if len(kept) > number:
            self.end()
            kept = []
        found = kept + [self.replica() for _ in range(number - len(kept))]
        for replica in found:
            replica.ready()
        self.settled(*found)
        return found

    def _bury(self, replica: Replica) -> None:
        """Forget one that has ended; its member Lease too, which a new replica would trust for four seconds more."""
        replica.proxy.close()
        for name in self.members(replica):
            self.api.request("DELETE", f"{LEASES}/{name}").expect(200, 404)

    def end(self) -> None:
        """Kill all replicas, and forget their Leases: the next ones need not wait for those to run out."""
        for replica in self.replicas:
            if replica.alive:
                replica.kill()
            replica.proxy.close()
        self.replicas.clear()
        self.api.request("DELETE", LEASES).expect(200)

    # Things.

    @property
    def home(self) -> str:
        """The namespace of the runner."""
        return "copyhold-tests"

    def namespace(self, tenant: str) -> str:
        """A namespace of a tenant; answers its name."""
        manifest = ref("v1", "Namespace", fresh("space"))
        manifest["metadata"]["labels"] = {f"{GROUP}/tenant": tenant}
        # An API server that just started refuses until it knows the kind of a policy's parameters: half a minute at most.
        name: str = eventually(lambda: self.api.create(manifest).expect(201), timeout=90).body["metadata"]["name"]
        return name

    def tenant(self) -> str:
        """A Tenant whose plan is its own name, so that one parent can select it alone; answers the name."""
        name = fresh("tenant")
        manifest = ref(VERSION, "Tenant", name) | {"spec": {"owners": [{"kind": "User", "name": "alice"}]}}
        manifest["metadata"]["labels"] = {"plan": name}
        self.api.create(manifest).expect(201)
        return name

    def parent(self, tenant: str, *groups: Manifest, word: str = "parent", **spec: Any) -> Manifest:
        """A GlobalTenantResource over one tenant; answers it as stored."""
        spec = {"tenantSelector": {"matchLabels": {"plan": tenant}}, "resources": list(groups), **spec}
        body: Manifest = self.api.create(ref(VERSION, "GlobalTenantResource", fresh(word)) | {"spec": spec}).expect(201).body
        return body

    def edit(self, parent: Manifest, *groups: Manifest) -> None:
        """Other groups for a parent."""
        self.change(parent, resources=list(groups))

    def change(self, parent: Manifest, **spec: Any) -> None:
        """Other fields in the spec of a parent."""
        self.api.merge_patch(parent, {"spec": spec}).expect(200)

    def drop(self, *parents: Manifest) -> None:
        """Delete parents and do not wait: after a takeover, what is taken back is looked at again when a lease is over."""
        for parent in parents:
            self.api.delete(parent).expect(200)

    def remove(self, *parents: Manifest) -> None:
        """Delete parents and wait until they and their targets are gone."""
        self.drop(*parents)
        self.gone(*parents)
        assert [name for parent in parents for name in self.targets(parent)] == []

    # What is there.

    def ready(self, *parents: Manifest, timeout: float = 30) -> None:
        """Wait until these parents are Ready as they are now."""
        for parent in parents:
            eventually(partial(self._is_ready, parent), timeout=timeout)

    def _is_ready(self, parent: Manifest) -> bool:
        live = self.api.get(parent).expect(200).body
        status = live.get("status") or {}
        assert status.get("observedGeneration") == live["metadata"]["generation"], f"not observed: {status}"
        ready = status["conditions"][0]
        assert (ready["type"], ready["status"]) == ("Ready", "True"), ready
        return True

    def targets(self, parent: Manifest) -> dict[str, Manifest]:
        """The ConfigMaps that bear the mark of this parent: `namespace/name` -> object."""
        label = f"parent.{GROUP}/{parent['metadata']['uid']}"
        items = self.api.list("v1", "ConfigMap", labelSelector=label).expect(200).body["items"]
        return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item for item in items}

    def gone(self, *parents: Manifest, timeout: float = 40) -> None:
        """Wait until these parents do not exist."""
        for parent in parents:
            eventually(partial(self._is_gone, parent), timeout=timeout)

    def _is_gone(self, parent: Manifest) -> bool:
        self.api.get(parent).expect(404)
        return True

    def versions(self) -> dict[str, str]:
        """The resourceVersion of everything that the manager could have written, Leases and Events apart."""
        kinds = [
            ("v1", "ConfigMap"),
            ("v1", "Secret"),
            ("v1", "Namespace"),
            *((VERSION, kind) for kind in ("Tenant", "TenantResource", "GlobalTenantResource", "TargetRecord")),
            *(("admissionregistration.k8s.io/v1", f"ValidatingAdmissionPolicy{end}") for end in ("", "Binding")),
        ]
        return {
            f"{kind} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
            for version, kind in kinds
            for item in self.api.list(version, kind).expect(200).body["items"]
        }

    def holders(self) -> dict[str, str]:
        """Which replica holds which shard: the name of the Lease -> its holder, `` for nobody."""
        items = self.api.list("coordination.k8s.io/v1", "Lease", NAMESPACE).expect(200).body["items"]
        return {item["metadata"]["name"]: (item.get("spec") or {}).get("holderIdentity") or "" for item in items}

    def shards(self, replica: Replica) -> set[str]:
        """The shards whose Lease says that this replica holds them."""
        shards = {name: holder for name, holder in self.holders().items() if name.startswith("copyhold-shard-")}
        return {name for name, holder in shards.items() if holder.startswith(f"{replica.name}-")}

    def members(self, replica: Replica) -> set[str]:
        """The member Leases of this replica."""
        return {name for name in self.holders() if name.startswith(f"copyhold-member-{replica.name}-")}

    def settled(self, *replicas: Replica, timeout: float = 30) -> None:
        """Wait until these replicas share all shards evenly, as the Leases and they themselves say."""

        def look() -> bool:
            held = {replica.name: len(self.shards(replica)) for replica in replicas}
            told = {replica.name: replica.leases() for replica in replicas}
            assert held == told, f"Leases {held}, metrics {told}"
            assert sum(held.values()) == 4, f"Leases {held}"
            assert max(held.values()) - min(held.values()) <= 1, f"Leases {held}"
            return True

        eventually(look, timeout=timeout)


@contextmanager
def place(server: ControlPlane, folder: Path) -> Iterator[Place]:
    """A control plane with everything that `copyhold run` needs."""
    access = server.access
    with Api(access.url, access.ca, access.token) as api:
        install(api)
        prepared = Place(server, api, folder, access.account_token(NAMESPACE, ACCOUNT, seconds=7200))
        _almighty(prepared)
        try:
            yield prepared
        finally:
            prepared.end()


def install(api: Api) -> None:
    """What `kubectl apply -f deploy/crds -k deploy/manager` does, and wait until our kinds are served."""
    names = yaml.safe_load((ROOT / "deploy/manager/kustomization.yaml").read_text())["resources"]
    files = [*sorted((ROOT / "deploy/crds").glob("*.yaml")), *(ROOT / "deploy/manager" / name for name in names)]
    manifests = [manifest for file in files for manifest in yaml.safe_load_all(file.read_text()) if manifest]
    for manifest in manifests:
        api.apply(manifest, force=True).expect(200, 201)
    for manifest in manifests:
        if manifest["kind"] == "CustomResourceDefinition":
            path = f"/apis/{GROUP}/v1alpha1/{manifest['spec']['names']['plural']}"
            eventually(lambda path=path: api.request("GET", path).status == 200)  # type: ignore[misc]


def _almighty(prepared: Place) -> None:
    api = prepared.api
    api.create(ref("v1", "Namespace", prepared.home)).expect(201)
    api.create(ref("v1", "ServiceAccount", RUNNER, prepared.home)).expect(201)
    binding = ref(f"{RBAC}/v1", "ClusterRoleBinding", f"{prepared.home}-{RUNNER}") | {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": RUNNER, "namespace": prepared.home}],
    }
    api.create(binding).expect(201)


def lasts(seconds: float, true: Callable[[], object]) -> None:
    """Assert that something stays true for this long: bounded polling, for what must not happen."""
    deadline = monotonic() + seconds
    tick = threading.Event()
    while monotonic() < deadline:
        true()
        tick.wait(0.25)


def failed_start(kubeconfig: Path, *options: str, timeout: float = 60) -> tuple[int, Sequence[str]]:
    """Run a replica that cannot start; its exit code and the lines that it wrote."""
    ended = subprocess.run(
        command(kubeconfig, *(options or ("--listen", ""))),
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return ended.returncode, (ended.stdout + ended.stderr).splitlines()
