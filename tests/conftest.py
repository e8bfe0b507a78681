"""Fixtures for all tests: an embedded cluster per process and one real control plane per run, names and namespaces in them.

A test that asks for `server` (or for what stands on it: `api`, `stage`) runs twice, on each kind of server.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.realserver.access import Access
from tests.realserver.assets import find
from tests.realserver.shared import Shared
from tests.support.api import Api, Manifest, ref
from tests.support.embedded import EmbeddedServer
from tests.support.finding import found
from tests.support.names import fresh

# Machines are shared and noisy: no test asserts a time, and hypothesis asserts none either.
settings.register_profile("copyhold", deadline=None)
settings.load_profile("copyhold")

RUN = pytest.StashKey[Shared]()


def pytest_configure(config: pytest.Config) -> None:
    """Know the run that this process belongs to: its own, or the one whose xdist worker it is."""
    given = getattr(config, "workerinput", {}).get("realserver")
    config.stash[RUN] = Shared(Path(given[0]), given[1]) if given else Shared.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell an xdist worker which run it belongs to."""
    run = node.config.stash[RUN]  # type: ignore[attr-defined]
    node.workerinput["realserver"] = (str(run.folder), run.run)  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the control plane when the run is over; its workers are gone by now, crashed or not."""
    if not hasattr(config, "workerinput"):
        config.stash[RUN].end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a real server, so that `-m "not real"` is all it takes to go without."""
    for item in items:
        chosen = item.callspec.params.get("server") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
        if chosen == "realserver" or {"realserver", "kubectl"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session", params=["embedded", "realserver"], ids=["embedded", "real"])
def server(request: pytest.FixtureRequest) -> Access:
    """A server: the embedded one, and in another run of the same test the real one."""
    access: Access = request.getfixturevalue(request.param)
    return access


@pytest.fixture(scope="session")
def embedded() -> Iterator[Access]:
    """An embedded cluster that the tests of this process share."""
    with EmbeddedServer() as running:
        yield running.access


@pytest.fixture(scope="session")
def kubectl(pytestconfig: pytest.Config) -> Path:
    """The program kubectl, found or built with those of the control plane."""
    return _found(pytestconfig) / "kubectl"


@pytest.fixture(scope="session")
def realserver(pytestconfig: pytest.Config) -> Access:
    """The run's real control plane; without its programs the test is skipped, and in CI it fails."""
    return pytestconfig.stash[RUN].join(lambda: _found(pytestconfig))


def _found(pytestconfig: pytest.Config) -> Path:
    """The programs of the control plane, built if need be."""
    return found(pytestconfig, find)


@pytest.fixture(scope="session")
def admin(server: Access) -> Iterator[Api]:
    """The administrator's client of a server, shared by the whole session."""
    with Api(server.url, server.ca, server.token) as api:
        yield api


@pytest.fixture
def api(admin: Api) -> Api:
    """The administrator's client; a test says whatever it likes with it, inside what is its own."""
    return admin


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Make a name that nobody else has, from a readable beginning: `unique("policy")`."""
    return fresh


@pytest.fixture
def temporary(api: Api) -> Iterator[Callable[[Manifest], Manifest]]:
    """Create an object that is deleted after the test; for cluster-scoped ones, which no namespace takes along."""
    made: list[Manifest] = []

    def create(manifest: Manifest) -> Manifest:
        body: Manifest = api.create(manifest).expect(201).body
        made.append(body)
        return body

    yield create
    for manifest in reversed(made):
        api.delete(manifest).expect(200, 202, 404)


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    """A namespace of the test's own; its deletion is begun after the test and not waited for."""
    manifest = ref("v1", "Namespace", fresh("test"))
    api.create(manifest).expect(201)
    yield manifest["metadata"]["name"]
    api.delete(manifest).expect(200, 202, 404)
