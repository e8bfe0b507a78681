"""Go itself, as the other opinion on templates."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gotemplate.assets import find
from tests.support.gotemplate import Go, running
from tests.support.programs import Unavailable


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Path:
    """The program that executes templates as Go does; without it the test is skipped, and in CI it fails."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        # A build takes a while: let its progress be seen.
        with capture.global_and_fixture_disabled():
            return find()
    except Unavailable as error:
        missing = str(error)
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def go(program: Path) -> Iterator[Go]:
    """The program, running."""
    with running(program) as started:
        yield started
