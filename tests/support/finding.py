"""Programs that tests need: found or built, and what happens when they cannot be had."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import Unavailable


def found(pytestconfig: pytest.Config, find: Callable[[], Path]) -> Path:
    """The folder or program that `find` answers. Where it is unavailable the test is skipped, and with CI set it fails."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        # A build takes minutes: let its progress be seen.
        with capture.global_and_fixture_disabled():
            return find()
    except Unavailable as error:
        missing = str(error)
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)
