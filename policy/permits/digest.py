"""The digest of a snapshot: what an approval approves."""

from collections.abc import Sequence
from hashlib import sha256

from apis.meta import Manifest
from policy.permits.canonical import canonical

_OUTSIDE = frozenset({"digest", "secret"})
"""Itself, and where the clear values are kept: that says nothing of what is given."""


def digest(request: Manifest, grants: Sequence[Manifest], roles: Sequence[Manifest]) -> str:
    """SHA-256 over the snapshot, the rights that it gives and the roles behind them, in the form that the server stores.

    The account, the policies, the rules of approval, duration, start and retention are parts of `request`.
    """
    covered = {field: value for field, value in request.items() if field not in _OUTSIDE}
    text = canonical({"request": covered, "grants": list(grants), "roles": list(roles)})
    return f"sha256:{sha256(text).hexdigest()}"
