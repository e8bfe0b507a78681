"""What new objects take over from others: the words of refusals were taken from a real server."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from apis.meta import Manifest
from manager.embedded.kinds.plugins import admit
from manager.embedded.status import StatusError

LIMITS = {
    "metadata": {"name": "l", "namespace": "n"},
    "spec": {
        "limits": [
            {
                "type": "Container",
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "500m"},
                "max": {"cpu": "2"},
                "min": {"cpu": "100m"},
            },
            {"type": "Pod", "max": {"cpu": "3"}},
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
        ]
    },
}
CLASSES = [
    {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True, "preemptionPolicy": "PreemptLowerPriority"},
]


def among(**objects: list[Manifest]) -> Callable[[str], Iterable[Manifest]]:
    """A cluster with these objects, by the plural of their resource."""
    return lambda resource: objects.get(resource.partition(".")[0], [])


def pod(*resources: Manifest, **spec: Any) -> Manifest:
    """A Pod with a container for each of these."""
    containers = [{"name": f"c{place}", "resources": each} for place, each in enumerate(resources or ({},))]
    return {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": containers} | spec}


def refusal(resource: str, obj: Manifest, **objects: list[Manifest]) -> str:
    """Why an object is refused."""
    with pytest.raises(StatusError) as raised:
        admit(resource, obj, among(**objects))
    assert raised.value.code == 403
    return raised.value.message


def test_a_container_gets_the_defaults_of_its_namespace():
    """And the Pod says so."""
    found = admit("pods", pod(), among(limitranges=[LIMITS]))
    assert found["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}
    said = "LimitRanger plugin set: cpu request for container c0; cpu limit for container c0"
    assert found["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": said}


def test_limits_of_another_namespace_are_none():
    """They end at its border."""
    other = LIMITS | {"metadata": {"name": "l", "namespace": "other"}}
    assert admit("pods", pod(), among(limitranges=[other]))["spec"]["containers"][0]["resources"] == {}


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (
            {"requests": {"cpu": "5"}, "limits": {"cpu": "5"}},
            "[maximum cpu usage per Container is 2, but limit is 5, maximum cpu usage per Pod is 3, but limit is 5]",
        ),
        ({"requests": {"cpu": "10m"}}, "minimum cpu usage per Container is 100m, but request is 10m"),
    ],
)
def test_a_pod_outside_of_its_limits_is_refused(resources: Manifest, words: str):
    """All complaints in one answer."""
    assert refusal("pods", pod(resources), limitranges=[LIMITS]) == f'pods "p" is forbidden: {words}'


def test_a_ratio_limits_how_much_more_a_container_may_take():
    """Than it asks for."""
    limits = {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}
    given = LIMITS | {"spec": {"limits": [limits]}}
    said = refusal("pods", pod({"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}), limitranges=[given])
    assert said.endswith("cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000")


def test_a_claim_outside_of_its_limits_is_refused():
    """Its request counts."""
    claim = {"metadata": {"name": "c", "namespace": "n"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    said = refusal("persistentvolumeclaims", claim, limitranges=[LIMITS])
    assert said.endswith("maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (5, "usual", "PreemptLowerPriority")),
        ({"priorityClassName": "high"}, (1000, "high", "Never")),
    ],
)
def test_a_pod_has_the_priority_of_its_class(spec: Manifest, expected: tuple[Any, ...]):
    """Or of the class that is the default."""
    found = admit("pods", pod(**spec), among(priorityclasses=CLASSES))["spec"]
    assert (found["priority"], found["priorityClassName"], found["preemptionPolicy"]) == expected


def test_a_class_that_is_not_there_is_refused():
    """Of priority and of runtime."""
    assert refusal("pods", pod(priorityClassName="no")).endswith("no PriorityClass with name no was found")
    assert refusal("pods", pod(runtimeClassName="no")).endswith('pod rejected: RuntimeClass "no" not found')


def test_a_claim_and_an_ingress_without_a_class_get_the_default_one():
    """One that says which stays with it."""
    default = {"metadata": {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    claim = {"metadata": {"name": "c", "namespace": "n"}, "spec": {"resources": {}}}
    cluster = among(storageclasses=[default])
    assert admit("persistentvolumeclaims", claim, cluster)["spec"]["storageClassName"] == "d"
    named = claim | {"spec": {"resources": {}, "storageClassName": ""}}
    assert admit("persistentvolumeclaims", named, cluster) == named
    class_ = {"metadata": {"name": "i", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}}
    ingress = {"metadata": {"name": "x", "namespace": "n"}, "spec": {}}
    assert admit("ingresses.networking.k8s.io", ingress, among(ingressclasses=[class_]))["spec"]["ingressClassName"] == "i"


def test_other_kinds_take_nothing_over():
    """And nothing is read for them."""
    obj = {"metadata": {"name": "x"}}
    assert admit("configmaps", obj, among()) is obj
