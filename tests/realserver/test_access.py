"""Who gets into the real server, and as whom."""

import json
import subprocess
from pathlib import Path

from tests.realserver.access import ORDINARY, Access
from tests.support.api import Api, ref


def whoami(kubectl: Path, kubeconfig: Path) -> str:
    """Ask kubectl as whom it acts."""
    command = [str(kubectl), "--kubeconfig", str(kubeconfig), "auth", "whoami", "-o", "json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    name: str = json.loads(answer.stdout)["status"]["userInfo"]["username"]
    return name


def test_a_kubeconfig_is_the_administrators_unless_said_otherwise(server: Access, kubectl: Path, tmp_path: Path) -> None:
    """kubectl works on the server with the kubeconfig that we write."""
    path = server.kubeconfig(tmp_path / "config")
    assert whoami(kubectl, path) == "admin"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_kubeconfig_may_impersonate(server: Access, kubectl: Path, tmp_path: Path) -> None:
    """A kubeconfig for somebody who has no token impersonates."""
    assert whoami(kubectl, server.kubeconfig(tmp_path / "config", as_user="dave")) == "dave"


def test_an_account_acts_by_its_own_token(server: Access, kubectl: Path, namespace: str, api: Api, tmp_path: Path) -> None:
    """A ServiceAccount's token makes a kubeconfig for whatever runs as that account."""
    api.create(ref("v1", "ServiceAccount", "runner", namespace)).expect(201)
    token = server.account_token(namespace, "runner")
    assert whoami(kubectl, server.kubeconfig(tmp_path / "config", token=token)) == f"system:serviceaccount:{namespace}:runner"


def test_ordinary_users_have_no_rights(server: Access, api: Api) -> None:
    """Besides the administrator there are users to whom RBAC has given nothing."""
    for user in ORDINARY:
        assert f'User "{user}" cannot list' in api.with_token(server.tokens[user]).list("v1", "Secret").expect(403).message


def test_access_survives_the_way_to_another_process(server: Access) -> None:
    """What the supervisor writes is what a worker reads."""
    assert Access.load(server.dump()) == server
