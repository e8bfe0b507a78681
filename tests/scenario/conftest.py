"""The stage on which the scenarios play: a real server, our kinds and policies, and a manager with its own account."""

from collections.abc import Iterator

import pytest

from apis.kind import Kind
from tests.realserver.access import Access
from tests.support import stage as stages
from tests.support.api import Api, Manifest
from tests.support.crds import crds
from tests.support.embedded import beside
from tests.support.policies import policies
from tests.support.process import Place
from tests.support.process import place as control_planes
from tests.support.rights import manager_access
from tests.support.stage import Stage

__all__ = ["crds", "manager_access", "policies", "stage"]


@pytest.fixture
def stage(api: Api, manager_access: Access, crds: tuple[Kind, ...], policies: tuple[Manifest, ...]) -> Iterator[Stage]:
    """A stage of the test's own."""
    yield from stages.stage(api, manager_access)


@pytest.fixture(scope="session")
def control_plane(server: Access, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A control plane beside the shared one, of the same kind, for managers that look after everything that they find."""
    with beside(server) as own, control_planes(own, tmp_path_factory.mktemp("place")) as prepared:
        yield prepared


@pytest.fixture
def place(control_plane: Place) -> Place:
    """The same, perhaps with replicas that the test before has left: `alive` says how many there shall be."""
    return control_plane
