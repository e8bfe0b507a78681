"""Starts etcd, kube-apiserver and kube-controller-manager on loopback, and takes them down again."""

import base64
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Self

import httpx

from tests.realserver.access import ADMIN, ORDINARY, Access, client, write_private
from tests.realserver.scratch import scratch

DEADLINE = 60.0
TETHER = Path(__file__).with_name("tether.py")
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
    "endpointslice-controller",
    "root-ca-certificate-publisher-controller",
)


class NotReady(Exception):
    """The control plane did not come up; the text ends with the log of the program at fault."""


class _PortTaken(NotReady):
    """Somebody took a port between our choice and its use: choose again."""


class RealServer:
    """A control plane of its own, for as long as the `with` block lasts.

    Guarantees: ready means that requests are answered, that RBAC's aggregated roles are filled and that namespaces get their
    ServiceAccounts. On Linux the processes die with the thread that entered the block, even when that is killed.

    Caveats: no nodes, and only the controllers in `CONTROLLERS`: Pods stay Pending and Deployments make nothing.
    """

    access: Access

    def __init__(self, programs: Path, *, apiserver: Sequence[str] = (), controller_manager: Sequence[str] = ()) -> None:
        self._programs = programs
        self._apiserver = apiserver
        self._controller_manager = controller_manager
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = stack.enter_context(scratch())
            stack.callback(self._kill)
            self.access = self._start(attempts=3)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing in there is worth a graceful end.
        self._stack.close()

    def failed(self) -> str | None:
        """Return what a process that ended by itself left in its log, or None while all run."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                return f"{name} ended with code {process.returncode}:\n{self._tail(name)}"
        return None

    @property
    def pids(self) -> list[int]:
        """The processes that store and serve: etcd and kube-apiserver."""
        return [self._processes[name].pid for name in ("etcd", "kube-apiserver")]

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one of the programs, as `signal.SIGSTOP` to "kube-apiserver"."""
        self._processes[name].send_signal(number)

    def restart(self, name: str) -> None:
        """Kill one of the programs and start it again as it was; its data and its address stay. It is not waited for."""
        process = self._processes[name]
        process.kill()
        process.wait()
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                process.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _start(self, attempts: int) -> Access:
        try:
            return self._start_once()
        except _PortTaken:
            if attempts == 1:
                raise
            self._kill()
            shutil.rmtree(self._folder)
            self._folder.mkdir()
            return self._start(attempts - 1)

    def _start_once(self) -> Access:
        deadline = monotonic() + DEADLINE
        etcd, peer, secure, manager = _free_ports(4)
        self._run_etcd(etcd, peer)
        access = self._run_apiserver(secure, etcd)
        self._until("kube-apiserver", deadline, access.ca.exists)
        with client(access.ca) as http:
            http.headers["Authorization"] = f"Bearer {access.token}"
            self._until("kube-apiserver", deadline, lambda: _answer(http, f"{access.url}/readyz") is not None)
            self._run_controller_manager(manager, access)
            self._until("kube-controller-manager", deadline, lambda: _controllers_work(http, access.url))
        return access

    def _run_etcd(self, port: int, peer: int) -> None:
        own, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={own}",
            f"--advertise-client-urls={own}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        )

    def _run_apiserver(self, port: int, etcd: int) -> Access:
        tokens = {user: secrets.token_hex(16) for user in (ADMIN, *ORDINARY)}
        rows = [f'{token},{user},{user},"{"system:masters" if user == ADMIN else ""}"' for user, token in tokens.items()]
        users, key, certificates = self._folder / "tokens.csv", self._folder / "account.key", self._folder / "certificates"
        write_private(users, "\n".join(rows) + "\n")
        write_private(key, _signing_key())
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={certificates}",
            f"--token-auth-file={users}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            *self._apiserver,
        )
        # The self-signed certificate comes with its own CA in one file.
        return Access(f"https://127.0.0.1:{port}", certificates / "apiserver.crt", tokens, self._programs)

    def _run_controller_manager(self, port: int, access: Access) -> None:
        kubeconfig = access.kubeconfig(self._folder / "controller-manager.kubeconfig")
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self._folder / 'manager-certificates'}",
            "--leader-elect=false",
            # As on a real cluster: every controller is an account of its own in kube-system.
            "--use-service-account-credentials=true",
            f"--root-ca-file={access.ca}",
            f"--controllers={','.join(CONTROLLERS)}",
            f"--service-account-private-key-file={self._folder / 'account.key'}",
            # Many tests make and drop namespaces at once; the default of 20 requests a second would queue them for minutes.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            *self._controller_manager,
        )

    def _run(self, name: str, *flags: str) -> None:
        command = [sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), str(self._programs / name), *flags]
        with (self._folder / f"{name}.log").open("wb") as log:
            # A session of its own: Ctrl-C on the terminal is for us, and we end them.
            self._processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _until(self, name: str, deadline: float, true: Callable[[], bool]) -> None:
        while not true():
            if why := self.failed():
                raise (_PortTaken if "address already in use" in why else NotReady)(why)
            if monotonic() > deadline:
                raise NotReady(f"{name} was not ready after {DEADLINE:.0f} s:\n{self._tail(name)}")
            sleep(0.1)

    def _tail(self, name: str, lines: int = 20) -> str:
        text = (self._folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(line[:500] for line in text.splitlines()[-lines:])

    def _kill(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        self._processes.clear()


def _controllers_work(http: httpx.Client, url: str) -> bool:
    account = _answer(http, f"{url}/api/v1/namespaces/default/serviceaccounts/default")
    role = _answer(http, f"{url}/apis/rbac.authorization.k8s.io/v1/clusterroles/admin")
    return account is not None and role is not None and bool(role.json().get("rules"))


def _answer(http: httpx.Client, url: str) -> httpx.Response | None:
    try:
        answer = http.get(url)
    except httpx.TransportError:
        # Not listening yet; the caller has the deadline.
        return None
    return answer if answer.is_success else None


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _signing_key() -> str:
    # A P-256 private key in its shortest form (RFC 5915): whoever reads it computes the public half, so 32 random bytes do.
    scalar = bytes([secrets.randbelow(0x7F) + 1]) + secrets.token_bytes(31)
    der = bytes.fromhex("30310201010420") + scalar + bytes.fromhex("a00a06082a8648ce3d030107")
    return f"-----BEGIN EC PRIVATE KEY-----\n{base64.encodebytes(der).decode()}-----END EC PRIVATE KEY-----\n"
