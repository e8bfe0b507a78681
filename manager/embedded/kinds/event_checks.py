"""The rules for Events, which differ by the version that they came in (pkg/apis/core/validation/events.go)."""

from collections.abc import Iterator
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.convert import stored
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_MOST_MESSAGE = 1024
_OLD: tuple[tuple[str, Any], ...] = (("firstTimestamp", None), ("lastTimestamp", None), ("count", 0), ("source", {}))
_CLUSTER = ("default", "kube-system")
_ELSEWHERE = "does not match event.namespace"


def core_event(obj: Manifest) -> Iterator[Cause]:
    """An Event of v1."""
    yield from _event(obj, "reportingComponent")


def new_event(obj: Manifest) -> Iterator[Cause]:
    """An Event of events.k8s.io/v1, which has no room for what old ones say."""
    event = stored(obj)
    yield from _event(event, "reportingController")
    yield from metadata.standard_finalizers(obj)
    series = event.get("series")
    if series and series.get("count", 0) < 2:
        yield causes.invalid("series.count", "", "should be at least 2")
    if not event.get("eventTime"):
        yield causes.required("eventTime")
    if event.get("type", "") not in ("Normal", "Warning"):
        yield causes.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field, nothing in _OLD:
        if event.get(field, nothing) != nothing:
            yield causes.invalid(field, "", "needs to be unset")


def _event(event: Manifest, reporter: str) -> Iterator[Cause]:
    own, about = event["metadata"].get("namespace", ""), event["involvedObject"].get("namespace", "")
    if not event.get("eventTime"):
        if about != own and not (about == "" and own in ("", "default")):
            yield causes.invalid("involvedObject.namespace", about, _ELSEWHERE)
        return
    if not about and own not in _CLUSTER:
        yield causes.invalid("involvedObject.namespace", about, _ELSEWHERE)
    if not event.get("reportingComponent"):
        yield causes.required(reporter)
    yield from values.named(event.get("reportingComponent", ""), reporter, names.qualified)
    for field, most in _LIMITS:
        if not event.get(field):
            yield causes.required(field)
        elif len(event[field]) > most:
            yield causes.invalid(field, "", f"can have at most {most} characters")
    if len(event.get("message", "")) > _MOST_MESSAGE:
        yield causes.invalid("message", "", f"can have at most {_MOST_MESSAGE} characters")
