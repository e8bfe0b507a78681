"""Namespaces: the finalizer that empties them, the label that names them, and their phase."""

from collections.abc import Iterator
from datetime import datetime

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import names
from manager.embedded.status import Cause

FINALIZER = "kubernetes"
NAME_LABEL = "kubernetes.io/metadata.name"


def make(namespace: Manifest, now: datetime) -> None:
    """Active, with the finalizer of the namespace controller."""
    del now
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].get("finalizers", [])
    if FINALIZER not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, FINALIZER]
    _named(namespace)


def mend(new: Manifest, old: Manifest) -> None:
    """The finalizers of the spec change under `finalize` only."""
    new["spec"].pop("finalizers", None)
    if "finalizers" in old["spec"]:
        new["spec"]["finalizers"] = old["spec"]["finalizers"]
    _named(new)


def finalized(new: Manifest, old: Manifest) -> Manifest:
    """What a write to `finalize` leaves: all but the status is as it was sent."""
    return new | ({"status": old["status"]} if "status" in old else {})


def check(namespace: Manifest) -> Iterator[Cause]:
    """Finalizers are qualified names."""
    for each in namespace["spec"].get("finalizers", ()):
        for why in names.qualified(each):
            yield causes.invalid("spec.finalizers", each, why)


def _named(namespace: Manifest) -> None:
    metadata = namespace["metadata"]
    metadata["labels"] = metadata.get("labels", {}) | {NAME_LABEL: metadata["name"]}
