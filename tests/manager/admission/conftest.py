"""Our kinds and policies on the real server, and a bench for trying them: a held object and the people around it."""

from collections.abc import Iterator

import pytest

from apis.meta import Manifest
from tests.manager.admission.bench import Bench
from tests.support.api import Api
from tests.support.crds import crds
from tests.support.policies import policies

__all__ = ["crds", "policies"]


@pytest.fixture(scope="module")
def bench(admin: Api, policies: tuple[Manifest, ...]) -> Iterator[Bench]:
    """One namespace for the tests of a module; each test makes its own objects in it."""
    bench = Bench.build(admin)
    yield bench
    bench.clear()
