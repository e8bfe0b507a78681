"""What several cases ask of a running manager: another look at a parent, and whether it wrote anything."""

from typing import Any

from apis.meta import MANAGED, PARENT_PREFIX
from manager.controller import Controller
from tests.support.api import Manifest, eventually
from tests.support.names import fresh
from tests.support.running import Running, Sent
from tests.support.stage import Stage

OPEN = {"protect": False}
"""A policy under which the test's other writers reach the targets; protection has tests of its own."""


def look_again(stage: Stage, manager: Running, parent: Manifest) -> None:
    """Have the manager make one more full pass over a parent, and wait until it is through."""
    uid, word = parent["metadata"]["uid"], fresh("look")
    stage.api.merge_patch(parent, {"metadata": {"annotations": {"tests/look": word}}}).expect(200)

    async def seen(controller: Controller) -> bool:
        known = controller.state.parents.get(uid)
        return known is not None and known.annotations.get("tests/look") == word

    eventually(lambda: manager.call(seen))
    manager.idle()


def writes_of_another_look(stage: Stage, manager: Running, parent: Manifest) -> list[Sent]:
    """What one more full pass writes."""
    manager.idle()
    mark = len(manager.sent)
    look_again(stage, manager, parent)
    return manager.writes_since(mark)


def appointments(manager: Running, parent: Manifest) -> list[str]:
    """The units that the queue will look at again by the clock; `*` is the whole parent, as at the resync."""
    uid = parent["metadata"]["uid"]

    async def ask(controller: Controller) -> list[str]:
        return sorted(unit or "*" for key, unit in controller.queue._timers if key == uid)

    return manager.call(ask)


def held_by(parent: Manifest, manifest: Manifest) -> str:
    """What our mark on an object says of this parent: `created`, `adopted`, or "" for nothing."""
    labels = manifest["metadata"].get("labels") or {}
    word: str = labels.get(f"{PARENT_PREFIX}{parent['metadata']['uid']}", "")
    return word


def marks_on(manifest: Manifest) -> list[str]:
    """Every label, annotation and field manager of ours on an object."""
    metadata = manifest["metadata"]
    keys = [*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})]
    managers = [entry["manager"] for entry in metadata.get("managedFields") or ()]
    return sorted(word for word in keys + managers if "copyhold.dev/" in word)


def managed(stage: Stage, namespace: str, kind: str = "ConfigMap", api_version: str = "v1") -> list[Manifest]:
    """The managed objects of a kind in a namespace."""
    listing: list[Manifest] = stage.api.list(api_version, kind, namespace, labelSelector=MANAGED).expect(200).body["items"]
    return listing


def item(stage: Stage, parent: Manifest, of: str) -> dict[str, Any]:
    """The status of one processed item, by `Kind namespace/name`."""
    status: dict[str, Any] = stage.items(parent)[of]["status"]
    return status


def target_writes(sent: list[Sent]) -> list[Sent]:
    """The writes that are not to our own kinds."""
    return [one for one in sent if one.writes and "/copyhold.dev/" not in one.path]
