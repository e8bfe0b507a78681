"""What playing examples on the run's real server needs: our kinds and policies, installed once and left."""

from tests.support.crds import crds
from tests.support.policies import policies

__all__ = ["crds", "policies"]
