"""Where a running control plane is, and how to get in."""

import json
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import httpx

ADMIN = "admin"
ORDINARY = ("alice", "bob", "carol")


@dataclass(frozen=True, slots=True)
class Access:
    """The address, the CA and a token per user; `admin` is in `system:masters`, the others may do what RBAC gives them."""

    url: str
    ca: Path
    tokens: Mapping[str, str]
    programs: Path | None  # None where no programs are needed: the embedded cluster

    @property
    def token(self) -> str:
        """The administrator's token."""
        return self.tokens[ADMIN]

    @property
    def kubectl(self) -> Path:
        """The kubectl that belongs to this server."""
        assert self.programs is not None, "the embedded cluster brings no kubectl: use the fixture `kubectl`"
        return self.programs / "kubectl"

    def account_token(self, namespace: str, name: str, *, seconds: int = 3600) -> str:
        """Ask the server for a token of an existing ServiceAccount."""
        url = f"{self.url}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        with client(self.ca) as http:
            answer = http.post(url, json=request, headers={"Authorization": f"Bearer {self.token}"})
        assert answer.status_code == 201, f"no token for {namespace}/{name}: {answer.status_code} {answer.text}"
        token: str = answer.json()["status"]["token"]
        return token

    def kubeconfig(
        self,
        path: Path,
        *,
        token: str | None = None,
        as_user: str | None = None,
        groups: Sequence[str] = (),
        namespace: str = "default",
    ) -> Path:
        """Write a kubeconfig for `token` (the administrator's if omitted), impersonating `as_user` if given."""
        user: dict[str, Any] = {"token": token or self.token}
        if as_user:
            user |= {"as": as_user, "as-groups": list(groups)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "user", "namespace": namespace}}],
            "current-context": "real",
        }
        write_private(path, json.dumps(config, indent=2))
        return path

    def dump(self) -> str:
        """Return this as text for another process."""
        return json.dumps(asdict(self) | {"ca": str(self.ca), "programs": str(self.programs or "")})

    @classmethod
    def load(cls, text: str) -> Self:
        """Read what `dump` wrote."""
        fields = json.loads(text)
        return cls(
            url=fields["url"],
            ca=Path(fields["ca"]),
            tokens=fields["tokens"],
            programs=Path(fields["programs"]) if fields["programs"] else None,
        )


class ControlPlane(Protocol):
    """A server of one's own, real or embedded, that can be hurt."""

    access: Access

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one of the programs, as `signal.SIGSTOP` to "kube-apiserver"."""
        ...

    def restart(self, name: str) -> None:
        """Kill one of the programs and start it again as it was, with its data; it is not waited for."""
        ...


def client(ca: Path) -> httpx.Client:
    """Open an HTTP client that trusts `ca` and no proxy of the environment."""
    return httpx.Client(verify=ssl.create_default_context(cafile=str(ca)), trust_env=False, timeout=30)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, complete or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.replace(path)
