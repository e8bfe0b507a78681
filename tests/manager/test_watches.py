"""What the manager makes of the events of its own kinds."""

from typing import Any, cast

from apis.meta import Manifest
from manager.index import Index
from manager.queue import Queue
from manager.state import State
from manager.wakeups import Wakeups
from manager.watches import Watches
from manager.world import Cluster, Event


def tenant(version: str, namespaces: list[str]) -> Manifest:
    """A Tenant whose status names these namespaces."""
    metadata: dict[str, Any] = {"name": "red", "uid": "red", "resourceVersion": version, "generation": 1}
    return {"kind": "Tenant", "metadata": metadata, "spec": {}, "status": {"namespaces": namespaces}}


def test_a_status_that_a_lagging_watch_brings_is_compared_again() -> None:
    """While the watch was behind, a Tenant's status may have been held against an older one and found right."""
    state, told = State(), list[str]()
    wakeups = Wakeups(state, Index(), Queue(), {}, frozenset(), tenant_changed=told.append)
    watches = Watches(cast(Cluster, None), state, Index(), wakeups, 1, 1, None)
    state.tenants["red"] = tenant("7", ["a", "d"])
    watches._tenant(Event("MODIFIED", tenant("8", ["a", "b"])))
    assert told == ["red"]
    watches._tenant(Event("MODIFIED", tenant("9", ["a", "b"])))
    assert told == ["red"], "what says the same is no news"
