"""DaemonSets as they begin and change: the server still counts the changes of their templates, in an annotation."""

from datetime import datetime

from apis.meta import Manifest
from manager.embedded.kinds.defaults import TEMPLATE_GENERATION


def make_daemon_set(daemon_set: Manifest, now: datetime) -> None:
    """The first one."""
    del now
    _annotate(daemon_set, 1)


def mend_daemon_set(new: Manifest, old: Manifest) -> None:
    """Each change of the template is counted."""
    counted = int(old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0"))
    _annotate(new, counted + (new["spec"]["template"] != old["spec"]["template"]))


def _annotate(daemon_set: Manifest, generation: int) -> None:
    metadata = daemon_set["metadata"]
    metadata["annotations"] = metadata.get("annotations", {}) | {TEMPLATE_GENERATION: str(generation)}
