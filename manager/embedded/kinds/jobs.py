"""Jobs: the labels by which a Job finds its own Pods, made of its uid."""

from datetime import datetime

from apis.meta import Manifest

_UID = "batch.kubernetes.io/controller-uid"


def make(job: Manifest, now: datetime) -> None:
    """A selector and labels of its own, unless `manualSelector` says that they are given."""
    del now
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    shared = metadata.get("labels", {}) == spec["template"]["metadata"].get("labels", {})
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key in ("job-name", "batch.kubernetes.io/job-name"):
        labels.setdefault(key, metadata["name"])
    for key in ("controller-uid", _UID):
        labels.setdefault(key, metadata["uid"])
    if shared:
        # Labels that are the template's by default are one map with them in the server.
        metadata["labels"] = dict(labels)
    spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(_UID, metadata["uid"])
