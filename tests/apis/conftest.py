"""The kinds on a real server, for the tests that ask for them."""

from tests.support.crds import crds

__all__ = ["crds"]
