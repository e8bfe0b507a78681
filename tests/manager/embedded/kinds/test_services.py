"""What Services are given, and what they keep and lose when they change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta import Manifest
from manager.embedded.kinds import services
from manager.embedded.status import StatusError


def service(name: str = "web", **spec: Any) -> Manifest:
    """A Service with its defaults."""
    ports = [{"protocol": "TCP", "targetPort": each["port"]} | each for each in spec.pop("ports", [{"port": 80}])]
    return {
        "metadata": {"name": name, "uid": name},
        "spec": {"type": "ClusterIP", "ports": ports} | spec,
        "status": {"loadBalancer": {}},
    }


def test_a_service_gets_an_address_that_nobody_has():
    """The lowest free one behind those of the cluster itself."""
    first = services.allot(service("a"), None, [])
    second = services.allot(service("b"), None, [first])
    assert first["spec"]["clusterIPs"] == [first["spec"]["clusterIP"]] == ["10.0.0.11"]
    assert second["spec"]["clusterIP"] == "10.0.0.12"


def test_a_service_that_has_an_address_keeps_it():
    """Its old form among the others is no other Service."""
    first = services.allot(service("a"), None, [])
    assert services.allot(first, first, [first]) == first


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"clusterIP": "10.0.0.11", "clusterIPs": ["10.0.0.11"]}, "provided IP is already allocated"),
        ({"clusterIP": "192.168.0.1", "clusterIPs": ["192.168.0.1"]}, "the provided IP (192.168.0.1) is not in the valid range"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30000}]}, "provided port is already allocated"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}, "The range of valid ports is 30000-32767"),
    ],
)
def test_what_is_taken_or_out_of_range_is_refused(spec: Manifest, words: str):
    """422, about the field that asked for it."""
    taken = services.allot(service("a", type="NodePort"), None, [])
    with pytest.raises(StatusError) as raised:
        services.allot(service("b", **spec), None, [taken])
    assert raised.value.code == 422
    assert words in raised.value.message


def test_two_protocols_on_one_port_share_the_port_of_the_node():
    """As DNS over TCP and UDP do."""
    ports = [{"port": 53, "name": "tcp"}, {"port": 53, "name": "udp", "protocol": "UDP"}, {"port": 54, "name": "other"}]
    given_ = services.allot(service(type="NodePort", ports=ports), None, [])["spec"]["ports"]
    assert [each["nodePort"] for each in given_] == [30000, 30000, 30001]


def test_names_for_other_hosts_and_headless_services_get_nothing():
    """They need no address."""
    named = service(type="ExternalName", externalName="example.com")
    headless = service(clusterIP="None", clusterIPs=["None"])
    assert services.allot(named, None, []) == named
    assert services.allot(headless, None, []) == headless


def test_a_local_balancer_gets_a_port_for_its_health():
    """Another one than its ports have."""
    spec = services.allot(service(type="LoadBalancer", externalTrafficPolicy="Local"), None, [])["spec"]
    assert (spec["ports"][0]["nodePort"], spec["healthCheckNodePort"]) == (30000, 30001)


@given(types=st.lists(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]), max_size=8))
def test_no_two_services_share_an_address_or_a_port(types: list[str]):
    """Whatever came before."""
    made: list[Manifest] = []
    for place, type_ in enumerate(types):
        made.append(services.allot(service(f"s{place}", type=type_, ports=[{"port": 1}, {"port": 2}]), None, made))
    addresses = [each["spec"]["clusterIP"] for each in made if "clusterIP" in each["spec"]]
    ports = [port["nodePort"] for each in made for port in each["spec"]["ports"] if "nodePort" in port]
    assert len(set(addresses)) == len(addresses)
    assert len(set(ports)) == len(ports)
