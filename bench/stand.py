"""The stand on which is measured: a server with our kinds and rights, many namespaces, and a manager as a process of its own."""

import asyncio
import os
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson
import yaml

from apis.crd import crd
from apis.intent import Identity
from apis.kind import kinds
from manager.cluster import ApiCluster
from manager.http import Client
from manager.world import Resource
from tests.realserver.access import Access
from tests.support.rights import ACCOUNT, FOLDER, NAMESPACE
from tests.support.running import endpoint

NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
PARENTS = Resource("copyhold.dev", "v1alpha1", "GlobalTenantResource", "globaltenantresources", namespaced=False)
RUNNER = Identity("platform", "runner")
TENANT = "bench"


@dataclass(frozen=True, slots=True)
class Process:
    """The manager under measurement."""

    pid: int
    port: int

    def resident(self) -> float:
        """Megabytes that the manager process holds."""
        return resident(self.pid)

    def workers(self) -> list[float]:
        """Megabytes that each of its render workers holds."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [resident(int(child)) for child in children]

    def writes(self) -> float:
        """Requests that write, but for Leases, since it started."""
        counted = (line for line in self._metrics() if line.startswith("copyhold_requests_total{"))
        return sum(float(line.rpartition(" ")[2]) for line in counted if _is_write(line))

    def leases(self) -> int:
        """Shards that it holds."""
        return sum(int(float(line.rpartition(" ")[2])) for line in self._metrics() if line.startswith("copyhold_leases_held "))

    def _metrics(self) -> list[str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        return text.splitlines()


def _is_write(line: str) -> bool:
    return not any(word in line for word in ('verb="GET"', 'verb="WATCH"', 'resource="leases"'))


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


class Stand:
    """The administrator's hands on the server."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.client = Client(endpoint(access))
        self.cluster = ApiCluster(self.client)

    async def prepare(self, namespaces: int) -> list[str]:
        """Our kinds, the manager's rights, an account that may do everything, and namespaces of one tenant."""
        for kind in kinds():
            await self.apply(crd(kind))
        for name in yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]:
            for manifest in yaml.safe_load_all((FOLDER / name).read_text()):
                await self.apply(manifest)
        await self.apply(_plain("v1", "Namespace", RUNNER.namespace))
        await self.apply(_plain("v1", "ServiceAccount", RUNNER.name, namespace=RUNNER.namespace))
        binding = _plain("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "bench-runner")
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        binding["subjects"] = [{"kind": "ServiceAccount", "name": RUNNER.name, "namespace": RUNNER.namespace}]
        await self.apply(binding)
        await self._served()
        await self.apply(
            _plain("copyhold.dev/v1alpha1", "Tenant", TENANT) | {"spec": {"owners": [{"kind": "User", "name": "a"}]}}
        )
        names = [f"bench-{number:03}" for number in range(namespaces)]
        await asyncio.gather(*(self.namespace(name) for name in names))
        return names

    async def _served(self) -> None:
        """A kind is served a moment after its definition was taken."""
        for _ in range(100):
            try:
                await self.cluster.discovery.refresh()
                for kind in kinds():
                    await self.cluster.list(await self.cluster.resource(kind.api_version, kind.kind))
            except Exception:
                await asyncio.sleep(0.1)
                continue
            return

    async def namespace(self, name: str) -> None:
        """A namespace of the tenant."""
        manifest = _plain("v1", "Namespace", name)
        manifest["metadata"]["labels"] = {"copyhold.dev/tenant": TENANT}
        await self.apply(manifest)

    async def apply(self, manifest: dict[str, Any]) -> None:
        """Server-side apply as the administrator."""
        resource = await self.cluster.discovery.resource(manifest["apiVersion"], manifest["kind"])
        metadata = manifest["metadata"]
        await self.cluster.apply(
            resource, metadata.get("namespace", ""), metadata["name"], orjson.dumps(manifest), manager="bench", force=True
        )

    @asynccontextmanager
    async def manager(self, *options: str) -> AsyncIterator[Process]:
        """A manager process, ready; it may be killed meanwhile. `options` are further ones of `copyhold run`."""
        folder = Path(tempfile.mkdtemp(prefix="copyhold-bench-"))
        token = self.access.account_token(NAMESPACE, ACCOUNT, seconds=7200)
        kubeconfig = self.access.kubeconfig(folder / "kubeconfig", token=token)
        port = _free_port()
        command = ["-m", "manager.cli", "run", "--kubeconfig", str(kubeconfig), "--listen", f"127.0.0.1:{port}", *options]
        with (folder / "log").open("w") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": os.getcwd()}
            )
            try:
                await _ready(port, process, folder / "log")
                yield Process(process.pid, port)
            finally:
                with suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()

    async def parent(self, name: str, targets: list[dict[str, Any]], *, protect: bool, force: bool = False) -> None:
        """A GlobalTenantResource over all namespaces of the tenant."""
        spec = {
            "serviceAccount": {"name": RUNNER.name, "namespace": RUNNER.namespace},
            "resources": [{"policy": {"protect": protect, "force": force}, "targets": targets}],
        }
        await self.cluster.create(PARENTS, "", _plain("copyhold.dev/v1alpha1", "GlobalTenantResource", name) | {"spec": spec})

    async def ready(self, name: str, size: int, timeout: float = 300.0) -> None:
        """Wait until a parent is Ready with this many targets."""
        async with asyncio.timeout(timeout):
            while True:
                live = await self.cluster.get(PARENTS, "", name)
                status = (live or {}).get("status") or {}
                conditions: list[dict[str, Any]] = status.get("conditions") or []
                ready = next((c for c in conditions if c["type"] == "Ready"), {})
                if ready.get("status") == "True" and status.get("size") == size:
                    return
                await asyncio.sleep(0.02)

    async def gone(self, name: str, timeout: float = 120.0) -> None:
        """Delete a parent and wait until it is gone."""
        live = await self.cluster.get(PARENTS, "", name)
        if live is None:
            return
        metadata = live["metadata"]
        await self.cluster.delete(PARENTS, "", name, uid=metadata["uid"], resource_version="")
        async with asyncio.timeout(timeout):
            while await self.cluster.get(PARENTS, "", name) is not None:
                await asyncio.sleep(0.01)

    async def clear(self, namespaces: list[str]) -> None:
        """Delete every object of the bench."""
        for name in namespaces:
            path = f"{CONFIG_MAPS.path(name)}"
            await self.client.request(
                "DELETE", path, query="labelSelector=bench", headers="Accept: application/json\r\n", body=None
            )


def target(number: int) -> dict[str, Any]:
    """One of the targets: a ConfigMap with a little templated content."""
    manifest = _plain("v1", "ConfigMap", f"settings-{number}")
    manifest["metadata"]["labels"] = {"bench": "yes"}
    manifest["data"] = {"where": "{{ namespace.metadata.name }}", "tenant": "{{ tenant.metadata.name }}", "text": "x" * 200}
    return manifest


def _plain(api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _ready(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    started = perf_counter()
    while perf_counter() - started < 60:
        if process.returncode is not None:
            raise SystemExit(f"the manager ended: {log.read_text()[-2000:]}")
        try:
            await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/readyz", timeout=2)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        return
    raise SystemExit(f"the manager was not ready in a minute: {log.read_text()[-2000:]}")
