"""Go itself, as the other opinion on templates."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gotemplate.assets import find
from tests.support.finding import found
from tests.support.gotemplate import Go, running


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Path:
    """The program that executes templates as Go does; without it the test is skipped, and in CI it fails."""
    return found(pytestconfig, find)


@pytest.fixture(scope="session")
def go(program: Path) -> Iterator[Go]:
    """The program, running."""
    with running(program) as started:
        yield started
