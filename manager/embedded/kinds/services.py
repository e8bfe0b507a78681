"""Services: the addresses and ports that the server allots to them, and what it keeps or drops when they change.

One address family, IPv4. What is free is found out from the Services that there are: nothing is remembered besides them.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.status import Cause, Named, invalid

ADDRESSES = IPv4Network("10.0.0.0/16")
FIRST_ADDRESS = 10
"""The lowest addresses are for the Services of the cluster itself (`kubernetes` has the first, DNS the tenth)."""

NODE_PORTS = range(30000, 32768)
NONE = "None"


def make(service: Manifest, now: datetime) -> None:
    """No status, and a single address under both its names."""
    del now
    service["status"] = {"loadBalancer": {}}
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _families(spec)


def mend(new: Manifest, old: Manifest) -> None:
    """What was allotted stays, also when the client does not send it; what the new type does not need goes."""
    _keep(new["spec"], old["spec"])
    _same_addresses(new["spec"], old["spec"])
    _drop(new["spec"], old["spec"])
    _families(new["spec"])
    if new["spec"]["type"] != "LoadBalancer":
        new["status"] = {"loadBalancer": {}}


def allot(service: Manifest, old: Manifest | None, others: Iterable[Manifest]) -> Manifest:
    """The Service with addresses and ports of its own. `others` may hold its old form.

    Raises StatusError 422 for those that are taken or out of range.
    """
    spec = dict(service["spec"])
    rest = [each for each in others if each["metadata"].get("uid") != service["metadata"].get("uid")]
    wrong = [*_allot_address(spec, rest), *_allot_ports(spec, old, rest)]
    if wrong:
        raise invalid(Named("", "Service", service["metadata"]["name"]), wrong)
    return service | {"spec": spec}


# Addresses


def needs_address(spec: Manifest) -> bool:
    """All but names for other hosts have one (`None` is one, too)."""
    return bool(spec["type"] != "ExternalName")


def _allot_address(spec: Manifest, others: Sequence[Manifest]) -> Iterator[Cause]:
    if not needs_address(spec):
        return
    wanted, taken = spec.get("clusterIP"), {each["spec"].get("clusterIP") for each in others}
    if wanted == NONE:
        return
    if not wanted:
        spec["clusterIP"] = _free_address(taken)
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif why := _not_allocable(wanted, taken):
        yield causes.invalid("spec.clusterIPs", spec.get("clusterIPs", []), f"failed to allocate IP {wanted}: {why}")


def _free_address(taken: set[str | None]) -> str:
    start = int(ADDRESSES.network_address) + FIRST_ADDRESS + 1
    for number in range(start, int(ADDRESSES.broadcast_address)):
        address = str(IPv4Address(number))
        if address not in taken:
            return address
    raise LookupError("all cluster IPs are taken")


def _not_allocable(wanted: str, taken: set[str | None]) -> str:
    try:
        address = IPv4Address(wanted)
    except ValueError:
        # Validation says so, in its own words.
        return ""
    if address not in ADDRESSES:
        return f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {ADDRESSES}"
    return "provided IP is already allocated" if wanted in taken else ""


def _families(spec: Manifest) -> None:
    if not needs_address(spec):
        return
    if spec.get("clusterIP") == NONE and not spec.get("selector"):
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


# Ports


def needs_node_ports(spec: Manifest) -> bool:
    """Services that nodes open a port for."""
    return spec["type"] in ("NodePort", "LoadBalancer")


def needs_health_port(spec: Manifest) -> bool:
    """A load balancer that only sends to nodes with Pods asks the nodes."""
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _allot_ports(spec: Manifest, old: Manifest | None, others: Sequence[Manifest]) -> Iterator[Cause]:
    taken = {(port.get("protocol"), port["nodePort"]) for each in others for port in _ports(each) if port.get("nodePort")}
    taken |= {(None, each["spec"]["healthCheckNodePort"]) for each in others if each["spec"].get("healthCheckNodePort")}
    numbers = {number for _, number in taken}
    if needs_node_ports(spec):
        yield from _node_ports(spec, {port["nodePort"] for port in _ports(old) if port.get("nodePort")}, numbers)
    if needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        used = numbers | {port.get("nodePort", 0) for port in spec.get("ports", ())}
        spec["healthCheckNodePort"] = _free_port(used)


def _node_ports(spec: Manifest, own: set[int], taken: set[int]) -> Iterator[Cause]:
    ports = [dict(each) for each in spec.get("ports", ())]
    automatic = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
    used = taken | {port["nodePort"] for port in ports if port.get("nodePort")}
    by_port = {port["port"]: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    for index, port in enumerate(ports):
        wanted = port.get("nodePort")
        if wanted and wanted not in own and (why := _refused(wanted, taken)):
            yield causes.invalid(f"spec.ports[{index}].nodePort", wanted, why)
        if wanted or not automatic:
            continue
        # Two protocols on one port share the port of the node.
        port["nodePort"] = by_port.setdefault(port["port"], _free_port(used))
        used.add(port["nodePort"])
    if ports:
        spec["ports"] = ports


def _refused(wanted: int, taken: set[int]) -> str:
    if wanted not in NODE_PORTS:
        span = f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
        return f"provided port is not in the valid range. The range of valid ports is {span}"
    return "provided port is already allocated" if wanted in taken else ""


def _free_port(taken: set[int]) -> int:
    return next(number for number in NODE_PORTS if number not in taken)


def _ports(service: Manifest | None) -> Sequence[Manifest]:
    return (service or {"spec": {}})["spec"].get("ports") or ()


# Changes


def _keep(new: Manifest, old: Manifest) -> None:
    """What the client did not send, and the server had allotted."""
    if needs_address(old) and needs_address(new):
        for each in ("clusterIP", "clusterIPs"):
            if not new.get(each) and old.get(each):
                new[each] = old[each]
    if needs_node_ports(old) and needs_node_ports(new):
        _keep_ports(new, old)
    if needs_health_port(old) and needs_health_port(new) and "healthCheckNodePort" in old:
        new.setdefault("healthCheckNodePort", old["healthCheckNodePort"])


def _keep_ports(new: Manifest, old: Manifest) -> None:
    before = {port.get("nodePort") for port in old.get("ports", ())}
    used = before & {port.get("nodePort") for port in new.get("ports", ())}
    by_name = {port.get("name", ""): port.get("nodePort") for port in old.get("ports", ())}
    for port in new.get("ports", ()):
        known = by_name.get(port.get("name", ""))
        if not port.get("nodePort") and known and known not in used:
            port["nodePort"] = known


def _same_addresses(new: Manifest, old: Manifest) -> None:
    """A client that knows `clusterIP` only changes `clusterIPs` with it."""
    if new.get("clusterIP") == old.get("clusterIP") or new.get("clusterIPs") != old.get("clusterIPs"):
        return
    if new.get("clusterIP"):
        new["clusterIPs"] = [new["clusterIP"]]
    else:
        new.pop("clusterIPs", None)


def _drop(new: Manifest, old: Manifest) -> None:
    """What the old type needed, the new one does not, and the client did not change."""
    if needs_address(old) and not needs_address(new):
        if all(new.get(each) == old.get(each) for each in ("clusterIP", "clusterIPs")):
            _pop(new, "clusterIP", "clusterIPs")
        _pop_same(new, old, "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
    if needs_node_ports(old) and not needs_node_ports(new):
        before = {port.get("nodePort") for port in old.get("ports", ())}
        if all(port.get("nodePort") in before | {None} for port in new.get("ports", ())):
            for port in new.get("ports", ()):
                port.pop("nodePort", None)
    if needs_health_port(old) and not needs_health_port(new):
        _pop_same(new, old, "healthCheckNodePort")
    if old["type"] == "LoadBalancer" != new["type"]:
        _pop_same(new, old, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if outside(old) and not outside(new):
        _pop_same(new, old, "externalTrafficPolicy")


def outside(spec: Manifest) -> bool:
    """Can the Service be reached from outside of the cluster?"""
    return needs_node_ports(spec) or (spec["type"] == "ClusterIP" and bool(spec.get("externalIPs")))


def _pop(spec: Manifest, *fields: str) -> None:
    for each in fields:
        spec.pop(each, None)


def _pop_same(new: Manifest, old: Manifest, *fields: str) -> None:
    _pop(new, *(each for each in fields if new.get(each) == old.get(each)))
