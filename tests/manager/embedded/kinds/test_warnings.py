"""What the server says of what it takes: the texts were taken from a real one."""

import pytest

from apis.meta import Manifest
from manager.embedded.kinds.warnings import warnings


def pod(name: str = "x", **spec: object) -> Manifest:
    """A Pod with one container."""
    given = {"containers": [{"name": "a", "resources": {}}]} | spec
    return {"metadata": {"name": name}, "spec": given}


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (pod(), []),
        (
            pod("a.b"),
            [
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
                "a DNS label is recommended: [must not contain dots]"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
        ),
        (
            pod(volumes=[{"name": "g", "gitRepo": {}}]),
            ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
        ),
        (
            pod(containers=[{"name": "a", "resources": {}, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]),
            ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
        ),
        (
            pod(
                containers=[{"name": "a", "resources": {}, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]}]
            ),
            [],
        ),
        (
            pod(containers=[{"name": "a", "resources": {}, "ports": [{"containerPort": 80}, {"containerPort": 80}]}]),
            ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        ),
        (
            pod(containers=[{"name": "a", "resources": {"requests": {"memory": "500m"}}}]),
            ['spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer'],
        ),
        (
            pod(imagePullSecrets=[{"name": ""}, {"name": "a"}, {"name": "a"}]),
            [
                'spec.imagePullSecrets[0].name: invalid empty name ""',
                'spec.imagePullSecrets[2].name: duplicate name "a"',
            ],
        ),
    ],
)
def test_a_pod_is_taken_with_a_warning(obj: Manifest, told: list[str]):
    """Each names its field."""
    assert warnings("pods", obj, None) == told


def test_a_template_is_warned_of_again_only_when_it_changes():
    """A new label is no reason."""
    template = {"spec": pod(volumes=[{"name": "g", "rbd": {}}])["spec"]}
    live = {"metadata": {"name": "x"}, "spec": {"template": template, "replicas": 1}}
    changed = live | {"spec": live["spec"] | {"replicas": 2}}
    assert warnings("deployments.apps", live | {"metadata": {"name": "x", "labels": {}}}, live) == []
    assert len(warnings("deployments.apps", changed, live)) == 1


def test_most_kinds_are_taken_in_silence():
    """A kind without warnings has none."""
    assert warnings("configmaps", {"metadata": {"name": "x"}}, None) == []
