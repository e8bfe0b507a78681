"""The two faces of an Event: v1 and events.k8s.io/v1 name its fields differently, and store the same object.

An Event is kept as v1 keeps it. https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from apis.meta import Manifest

CORE, EVENTS = "v1", "events.k8s.io/v1"
STORED = {"events.events.k8s.io": "events"}
"""Under which name the objects of a resource are kept, where it is not its own."""

_CORE_NAMES = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES = {core: name for name, core in _CORE_NAMES.items()}

# What each version writes although nobody set it.
_CORE_ALWAYS: Manifest = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_EVENTS_ALWAYS: Manifest = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_OPTIONAL_IN_EVENTS = ("reportingController", "reportingInstance")


def stored(event: Manifest) -> Manifest:
    """An Event in the form that is kept; one that has it stays as it is."""
    if event["apiVersion"] == CORE:
        return event
    renamed = {_CORE_NAMES.get(field, field): value for field, value in event.items()}
    return _CORE_ALWAYS | renamed | {"apiVersion": CORE}


def shown(event: Manifest, api_version: str) -> Manifest:
    """A kept Event in the version that is asked for."""
    if api_version == CORE:
        return event
    renamed = {_EVENTS_NAMES.get(field, field): value for field, value in event.items()}
    bare = {field: value for field, value in renamed.items() if value != "" or field not in _OPTIONAL_IN_EVENTS}
    return _EVENTS_ALWAYS | bare | {"apiVersion": EVENTS}
