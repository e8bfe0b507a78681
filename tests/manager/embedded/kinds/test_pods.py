"""Pods: their class, and how `kubectl get` tells their state."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apis.meta import Manifest
from manager.embedded.kinds.pod_row import pod as row
from manager.embedded.kinds.pods import make, quality

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def spec(*resources: Manifest, **parts: Any) -> Manifest:
    """A Pod's spec with a container for each of these."""
    return {"containers": [{"name": f"c{place}", "resources": each} for place, each in enumerate(resources)]} | parts


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}], "Burstable"),
        ([{"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_the_class_of_a_pod_follows_from_its_resources(resources: list[Manifest], expected: str):
    """Only cpu and memory count."""
    assert quality(spec(*resources)) == expected


def test_a_pod_tolerates_nodes_that_are_gone_unless_it_says_something_about_them():
    """What it says itself is kept."""
    own = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 5}
    pod = {"metadata": {"name": "x"}, "spec": spec({}, tolerations=[own]), "status": {}}
    make(pod, NOW)
    assert [each["key"] for each in pod["spec"]["tolerations"]] == [own["key"], "node.kubernetes.io/unreachable"]


def shown(status: Manifest, *, deleted: bool = False, **parts: Any) -> list[Any]:
    """Ready, state and restarts of a Pod."""
    metadata = {"name": "x"} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})
    return row({"metadata": metadata, "spec": spec({}, **parts), "status": status}, NOW)[1:4]


def container(state: Manifest, **parts: Any) -> Manifest:
    """A container's status."""
    return {"name": "c0", "state": state} | parts


READY = [{"type": "Ready", "status": "True"}]
RUNNING = container({"running": {}}, ready=True)
DONE = container({"terminated": {"reason": "Completed", "exitCode": 0}})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Pending"}, ["0/1", "Pending", "0"]),
        ({"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"]),
        ({"phase": "Running", "containerStatuses": [RUNNING]}, ["1/1", "Running", "0"]),
        (
            {"phase": "Running", "containerStatuses": [container({"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=3)]},
            ["0/1", "CrashLoopBackOff", "3"],
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    container({"running": {}}, restartCount=1, lastState={"terminated": {"finishedAt": "2026-01-01T23:00:00Z"}})
                ],
            },
            ["0/1", "Running", "1 (60m ago)"],
        ),
        ({"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 3}})]}, ["0/1", "ExitCode:3", "0"]),
        ({"phase": "Failed", "containerStatuses": [container({"terminated": {"signal": 9}})]}, ["0/1", "Signal:9", "0"]),
        ({"phase": "Succeeded", "containerStatuses": [DONE]}, ["0/1", "Completed", "0"]),
        ({"phase": "Running", "containerStatuses": [RUNNING, DONE], "conditions": READY}, ["1/1", "Running", "0"]),
        ({"phase": "Running", "containerStatuses": [DONE, RUNNING], "conditions": READY}, ["1/1", "Running", "0"]),
        ({"phase": "Running", "containerStatuses": [DONE, RUNNING]}, ["1/1", "NotReady", "0"]),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
            ["0/1", "SchedulingGated", "0"],
        ),
    ],
)
def test_the_state_of_a_pod_is_that_of_its_containers(status: Manifest, expected: list[Any]):
    """The first container has the last word."""
    assert shown(status) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"waiting": {"reason": "ErrImagePull"}}, "Init:ErrImagePull"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/1"),
        ({"terminated": {"exitCode": 2}}, "Init:ExitCode:2"),
        ({"terminated": {"exitCode": 2, "reason": "Error"}}, "Init:Error"),
        ({"terminated": {"exitCode": 0}}, "Pending"),
    ],
)
def test_a_pod_that_initializes_says_so(state: Manifest, expected: str):
    """Until the first init container that is not done."""
    status = {"phase": "Pending", "initContainerStatuses": [{"name": "first", "state": state}]}
    assert shown(status, initContainers=[{"name": "first", "resources": {}}])[1] == expected


def test_a_sidecar_counts_as_a_container():
    """Once it has started."""
    sidecar = {"name": "side", "resources": {}, "restartPolicy": "Always"}
    status = {
        "phase": "Running",
        "initContainerStatuses": [{"name": "side", "state": {"running": {}}, "started": True, "ready": True, "restartCount": 2}],
        "containerStatuses": [RUNNING],
    }
    assert shown(status, initContainers=[sidecar]) == ["2/2", "Running", "2"]


def test_a_pod_that_leaves_is_terminating():
    """Unless it is over already, or its node is lost."""
    assert shown({"phase": "Running"}, deleted=True)[1] == "Terminating"
    assert shown({"phase": "Succeeded"}, deleted=True)[1] == "Succeeded"
    assert shown({"phase": "Running", "reason": "NodeLost"}, deleted=True)[1] == "Unknown"
