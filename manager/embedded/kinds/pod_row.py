"""The row of a Pod: how far it is, as `kubectl get` tells it from the states of its containers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from apis.meta import Manifest
from manager.embedded.kinds import cells
from manager.embedded.kinds.cells import NONE, at, text
from manager.embedded.kinds.tables import age

GATED = "SchedulingGated"
UNREACHABLE = "NodeLost"


class _State(NamedTuple):
    """What the containers come to."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""
    initializing: bool = False


def pod(obj: Manifest, now: datetime) -> list[Any]:
    """The cells of a Pod."""
    spec = obj["spec"]
    sidecars = {each["name"] for each in spec.get("initContainers", ()) if each.get("restartPolicy") == "Always"}
    state = _state(obj, sidecars)
    total = len(spec["containers"] or ()) + len(sidecars)
    created = age(obj["metadata"].get("creationTimestamp"), now)
    return [
        obj["metadata"]["name"],
        f"{state.ready}/{total}",
        _leaving(obj) or state.reason,
        _restarts(state, now),
        created,
        *_wide(obj),
    ]


def _wide(obj: Manifest) -> list[Any]:
    addresses = at(obj, "status", "podIPs") or [{}]
    return [
        addresses[0].get("ip") or NONE,
        text(obj, "spec", "nodeName", default=NONE),
        text(obj, "status", "nominatedNodeName", default=NONE),
        _gates(obj),
    ]


def _gates(obj: Manifest) -> str:
    gates = obj["spec"].get("readinessGates", ())
    return f"{sum(cells.is_true(obj, each['conditionType']) for each in gates)}/{len(gates)}" if gates else NONE


def _restarts(state: _State, now: datetime) -> str:
    return (
        f"{state.restarts} ({age(state.last_restart, now)} ago)" if state.restarts and state.last_restart else str(state.restarts)
    )


def _leaving(obj: Manifest) -> str:
    if "deletionTimestamp" not in obj["metadata"]:
        return ""
    if text(obj, "status", "reason") == UNREACHABLE:
        return "Unknown"
    return "" if text(obj, "status", "phase") in ("Succeeded", "Failed") else "Terminating"


def _state(obj: Manifest, sidecars: set[str]) -> _State:
    scheduled = cells.condition(obj, "PodScheduled") or {}
    first = text(obj, "status", "reason") or text(obj, "status", "phase")
    reason = GATED if scheduled.get("reason") == GATED else first
    began = _initialized(obj, reason, sidecars)
    return began if began.initializing and not cells.is_true(obj, "Initialized") else _running(obj, began, sidecars)


def _initialized(obj: Manifest, reason: str, sidecars: set[str]) -> _State:
    """What the first unfinished init container says."""
    statuses: Sequence[Manifest] = at(obj, "status", "initContainerStatuses") or ()
    ready = 0
    for place, each in enumerate(statuses):
        seen = statuses[: place + 1]
        state, sidecar = each.get("state", {}), each["name"] in sidecars
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended and not ended.get("exitCode", 0):
            continue
        if sidecar and each.get("started"):
            ready += bool(each.get("ready"))
            continue
        if ended:
            said = _end(ended)
        elif waiting.get("reason", "PodInitializing") not in ("", "PodInitializing"):
            said = waiting["reason"]
        else:
            said = f"{place}/{len(obj['spec'].get('initContainers', ()))}"
        return _State(f"Init:{said}", ready, _restarted(seen), _last_restart(seen), initializing=True)
    return _State(reason, ready, _restarted(statuses), _last_restart(statuses))


def _running(obj: Manifest, began: _State, sidecars: set[str]) -> _State:
    """What the containers say, the first one last."""
    statuses: Sequence[Manifest] = at(obj, "status", "containerStatuses") or ()
    reason, failed, ready, running = began.reason, "", began.ready, False
    for each in reversed(statuses):
        state = each.get("state", {})
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif ended:
            reason = _end(ended)
            failed = reason if ended.get("exitCode", 0) else failed
        elif each.get("ready") and state.get("running") is not None:
            running, ready = True, ready + 1
    if reason == "Completed":
        # Some are done, and others are not.
        reason = "Running" if running and cells.is_true(obj, "Ready") else failed or ("NotReady" if running else reason)
    counted = [*statuses, *(each for each in at(obj, "status", "initContainerStatuses") or () if each["name"] in sidecars)]
    return _State(reason, ready, _restarted(counted), _last_restart(counted))


def _end(ended: Manifest) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _restarted(statuses: Sequence[Manifest]) -> int:
    return sum(each.get("restartCount", 0) for each in statuses)


def _last_restart(statuses: Sequence[Manifest]) -> str:
    return max((at(each, "lastState", "terminated", "finishedAt") or "" for each in statuses), default="")
