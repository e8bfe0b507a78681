"""ServiceAccounts: of the Secrets that they name, only the names are kept."""

from datetime import datetime

from apis.meta import Manifest


def make(account: Manifest, now: datetime) -> None:
    """References by name."""
    del now
    _names(account)


def mend(new: Manifest, old: Manifest) -> None:
    """References by name."""
    del old
    _names(new)


def _names(account: Manifest) -> None:
    if "secrets" in account:
        account["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in account["secrets"]]
