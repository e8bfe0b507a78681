"""What all controllers are: something that is told of changes, and does one piece of work at a time."""

from collections.abc import Iterable
from typing import Protocol

from manager.embedded.attributes import AUTHENTICATED, User
from manager.embedded.store import Change, Key
from manager.embedded.target import DeleteOptions, Options

ACCOUNTS = "system:serviceaccounts"
SYSTEM = "kube-system"


class Controller(Protocol):
    """One of them."""

    def concerns(self, change: Change) -> Iterable[Key]:
        """What a change gives to do; it writes nothing."""

    def sync(self, key: Key) -> bool:
        """Do what there is to do about one object. False: it has to be tried again after a while. Raises StatusError likewise."""


def account(name: str) -> User:
    """The ServiceAccount that a controller acts as, like those of the real ones."""
    return User(f"system:serviceaccount:{SYSTEM}:{name}", groups=(ACCOUNTS, f"{ACCOUNTS}:{SYSTEM}", AUTHENTICATED))


def acting(name: str, *, manager: str = "kube-controller-manager") -> Options:
    """How a controller writes."""
    return Options(account(name), manager=manager)


def deleting(name: str, *, uid: str | None = None, propagation: str | None = None) -> DeleteOptions:
    """How a controller deletes."""
    return DeleteOptions(acting(name), uid=uid, propagation=propagation)
