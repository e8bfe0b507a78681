"""Our policies as webhooks, on servers without ValidatingAdmissionPolicy; the tests of a policy find them under the same names.

Every fixture that stands on `server` is made anew here, or one that was made for the other server would be taken.
"""

from collections.abc import Iterator

import pytest

from apis.kind import Kind
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, eventually
from tests.support.crds import crds
from tests.support.older import Standing, older_embedded, older_real
from tests.support.policies import canary, obeyed
from tests.support.rights import manager_access

__all__ = ["crds", "manager_access"]


@pytest.fixture(scope="session", params=["embedded", "realserver"], ids=["embedded", "real"])
def server(request: pytest.FixtureRequest) -> Iterator[Access]:
    """A server of these tests' own that does not know policies."""
    real = request.param == "realserver"
    with older_real(request.getfixturevalue("kubectl").parent) if real else older_embedded() as running:
        yield running.access


@pytest.fixture(scope="session")
def admin(server: Access) -> Iterator[Api]:
    """Its administrator's client."""
    with Api(server.url, server.ca, server.token) as api:
        yield api


@pytest.fixture(scope="session")
def webhook(admin: Api, manager_access: Access, crds: tuple[Kind, ...]) -> Iterator[Standing]:
    """Our webhook, in force for all policies."""
    for manifest in canary():
        eventually(lambda manifest=manifest: admin.apply(manifest, force=True).expect(200, 201))  # type: ignore[misc]
    standing = Standing.begin(admin, manager_access)
    obeyed(admin)
    yield standing
    standing.office.close()


@pytest.fixture(scope="session")
def policies(webhook: Standing) -> tuple[Manifest, ...]:
    """What is in force instead of policies."""
    return (webhook.configuration,)
