"""What tests of the commands on a real server need: our kinds and policies, a stage, and a kubeconfig of the administrator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apis.kind import Kind
from tests.realserver.access import Access
from tests.support import stage as stages
from tests.support.api import Api, Manifest
from tests.support.crds import crds
from tests.support.policies import policies
from tests.support.rights import manager_access
from tests.support.stage import Stage

__all__ = ["crds", "manager_access", "policies", "stage"]


@pytest.fixture
def stage(api: Api, manager_access: Access, crds: tuple[Kind, ...], policies: tuple[Manifest, ...]) -> Iterator[Stage]:
    """A stage of the test's own."""
    yield from stages.stage(api, manager_access)


@pytest.fixture
def kubeconfig(server: Access, tmp_path: Path) -> str:
    """The administrator's kubeconfig."""
    return str(server.kubeconfig(tmp_path / "kubeconfig"))
