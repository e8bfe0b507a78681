"""The facts of the Go types are those of the pinned Kubernetes."""

import shutil

import pytest

from manager.embedded.kinds.types import FILE
from tests.realserver.gotypes import take


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go, which builds the control plane, too")
def test_the_stored_facts_are_those_of_go():
    """After an upgrade of go.mod they are taken anew: `python -m tests.realserver.gotypes`."""
    assert take() == FILE.read_bytes()
