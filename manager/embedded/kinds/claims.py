"""PersistentVolumes and the claims to them as they begin."""

from datetime import datetime

from apis.meta import Manifest
from manager.embedded.kinds import times

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def make_claim(claim: Manifest, now: datetime) -> None:
    """Pending, protected while it is in use, with its data source under both names."""
    del now
    claim["status"] = {"phase": "Pending"}
    _protect(claim, CLAIM_FINALIZER)
    _sources(claim["spec"], None)


def mend_claim(new: Manifest, old: Manifest) -> None:
    """The data source under both names."""
    _sources(new["spec"], old["spec"])


def make_volume(volume: Manifest, now: datetime) -> None:
    """Pending since now, and protected while it is bound."""
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": times.seconds(now)}
    _protect(volume, VOLUME_FINALIZER)


def _protect(obj: Manifest, finalizer: str) -> None:
    given = obj["metadata"].get("finalizers", [])
    if finalizer not in given:
        obj["metadata"]["finalizers"] = [*given, finalizer]


def _sources(spec: Manifest, old: Manifest | None) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    in_use = bool(old and (old.get("dataSource") or old.get("dataSourceRef")))
    if source and not reference and not in_use and (source.get("apiGroup") or "", source["kind"]) not in _SOURCES:
        # Others were always dropped without a word under this name.
        del spec["dataSource"]
        return
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}
