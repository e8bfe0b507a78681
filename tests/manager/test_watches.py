"""What the manager makes of the events of its own kinds."""

from typing import Any, cast

from apis.meta import Key, Manifest
from manager.index import Index
from manager.queue import Queue
from manager.state import State
from manager.wakeups import Wakeups
from manager.watches import Watches
from manager.world import Cluster, Event, Listing
from policy.ownership import Live
from tests.support.build import live


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


def test_what_a_first_list_does_not_have_is_gone_unless_it_was_written_later() -> None:
    """Until a watch is there, the index knows targets from our own writes alone; one may go before the watch begins."""
    index, woken = Index(), list[Key]()

    class Noting(Wakeups):
        def target(self, key: Key, before: Live | None, after: Live | None) -> None:
            assert before is not None
            assert after is None
            woken.append(key)

    wakeups = Noting(State(), index, Queue(), {}, frozenset())
    watches = Watches(cast(Cluster, None), State(), index, wakeups, 1, 1, None)
    old, new, there = (Key("", "ConfigMap", "a", name) for name in ("old", "new", "there"))
    for key, version in ((old, "5"), (new, "12"), (there, "5")):
        index.note(key, live(uid=key.name, version=version))
    item: Manifest = {"metadata": {"namespace": "a", "name": "there", "uid": "there", "resourceVersion": "5"}}
    watches._listed("", "ConfigMap", Listing([item], "10"))
    assert woken == [old]
    assert index.live(old) is None
    assert index.live(new) is not None
    assert index.live(there) is not None
