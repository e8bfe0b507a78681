"""Permits with real admission, real impersonation and real RBAC, on both servers."""

from collections.abc import Iterator

import pytest

from tests.realserver.access import Access
from tests.support.permits import Office, Permits, office
from tests.support.permits import permits as in_force
from tests.support.stage import Stage


@pytest.fixture(scope="session")
def desk(manager_access: Access) -> Iterator[Office]:
    """The product's admission server, as the manager's account."""
    with office(manager_access) as made:
        yield made


@pytest.fixture
def permits(stage: Stage, desk: Office) -> Iterator[Permits]:
    """Admission for one test, with alice who asks and bob who reviews; no manager runs yet."""
    with in_force(stage, desk) as found:
        yield found
