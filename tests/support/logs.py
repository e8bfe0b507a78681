"""What is logged, whatever an earlier test of the process set up: a command's level would hide lines."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog


@contextmanager
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """The lines that are logged within the block, of every level."""
    before = structlog.get_config()
    structlog.reset_defaults()
    try:
        with structlog.testing.capture_logs() as lines:
            yield lines
    finally:
        structlog.configure(**before)
