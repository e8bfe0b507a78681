"""What tests of the deployment share: the program helm, and the chart as it renders."""

import pytest

from tests.helm.assets import find
from tests.support.crds import crds
from tests.support.finding import found
from tests.support.helm import Helm
from tests.support.rights import manager_access

__all__ = ["crds", "helm", "manager_access"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Building helm takes patience, so what needs it is left out of `make fast`."""
    for item in items:
        if "helm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def helm(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The program, found or built; without it the test is skipped, and in CI it fails."""
    return Helm(found(pytestconfig, find), tmp_path_factory.mktemp("helm"))
