"""What authentication, authorization and policies read of the store; `Store` is one of these."""

from collections.abc import Iterator
from typing import Protocol

from apis.meta import Manifest
from manager.embedded.store import Key


class Objects(Protocol):
    """Stored objects, decoded and shared: nobody changes them. A resource is written `roles.rbac.authorization.k8s.io`."""

    def read(self, key: Key) -> Manifest | None:
        """One object, or None."""

    def manifests(self, resource: str, namespace: str = "") -> Iterator[Manifest]:
        """The objects of a resource in the order of their names; of all namespaces when that is empty."""

    def touched(self, resource: str) -> int:
        """A number that is another one after each change to any object of the resource."""
