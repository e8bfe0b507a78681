"""The rules for Services (pkg/apis/core/validation)."""

from collections.abc import Iterator
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, services, values
from manager.embedded.status import Cause

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES = ("Cluster", "Local")
_LONGEST_AFFINITY = 86400


def service(obj: Manifest) -> Iterator[Cause]:
    """A Service."""
    spec = obj["spec"]
    headless = spec.get("clusterIPs") == [services.NONE]
    if not spec.get("ports") and not headless and spec["type"] != "ExternalName":
        yield causes.required("spec.ports")
    yield from _of_type(spec, headless=headless)
    yield from _ports(spec.get("ports", ()))
    yield from metadata.labels(spec.get("selector", {}), "spec.selector")
    yield from _affinity(spec)
    yield from _addresses(spec)
    for index, each in enumerate(spec.get("externalIPs", ())):
        yield from values.address(each, f"spec.externalIPs[{index}]")
    yield from values.one_of(spec["type"], "spec.type", _TYPES)
    yield from _distinct(spec)
    yield from _balancer(spec)
    yield from _traffic(spec)


def service_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The address of a Service stays, unless its type needs none any more."""
    yield from _kept_addresses(new["spec"], old["spec"])
    yield from service(new)


def _of_type(spec: Manifest, *, headless: bool) -> Iterator[Cause]:
    kind = spec["type"]
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield causes.invalid("spec.clusterIPs[0]", services.NONE, f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for each in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(each):
            yield causes.forbidden(f"spec.{each}", "may not be set for ExternalName services")
    yield from values.required_name(spec.get("externalName", "").removesuffix("."), "spec.externalName", names.subdomain)


def _ports(given: Any) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, each in enumerate(given):
        at, name = f"spec.ports[{index}]", each.get("name", "")
        if name:
            yield from values.named(name, f"{at}.name", names.label)
            if name in seen:
                yield causes.duplicate(f"{at}.name", name)
            seen.add(name)
        elif len(given) > 1:
            yield causes.required(f"{at}.name")
        yield from values.port_number(each["port"], f"{at}.port")
        yield from values.one_of(each.get("protocol", ""), f"{at}.protocol", values.PROTOCOLS)
        yield from values.port(each["targetPort"], f"{at}.targetPort")
        if "appProtocol" in each:
            yield from values.named(each["appProtocol"], f"{at}.appProtocol", names.qualified)


def _affinity(spec: Manifest) -> Iterator[Cause]:
    yield from values.one_of(spec.get("sessionAffinity", ""), "spec.sessionAffinity", ("ClientIP", "None"))
    if spec.get("sessionAffinity") == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _LONGEST_AFFINITY:
            why = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield causes.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)


def _addresses(spec: Manifest) -> Iterator[Cause]:
    if spec["type"] == "ExternalName":
        return
    one, all_ = spec.get("clusterIP"), spec.get("clusterIPs", [])
    if one and not all_:
        yield causes.required("spec.clusterIPs")
    elif one and all_[0] != one:
        yield causes.invalid("spec.clusterIPs", all_, "first value must match `clusterIP`")
    elif not one and all_:
        yield causes.invalid("spec.clusterIPs", all_, "must be empty when `clusterIP` is not specified")
    for index, each in enumerate(spec.get("ipFamilies", ())):
        if each not in ("IPv4", "IPv6"):
            yield causes.not_supported(f"spec.ipFamilies[{index}]", each, ("IPv4", "IPv6"))
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    yield from values.maybe_one_of(spec, "ipFamilyPolicy", "spec", policies)
    for index, each in enumerate(all_):
        if each != services.NONE:
            yield from values.address(each, f"spec.clusterIPs[{index}]")


def _distinct(spec: Manifest) -> Iterator[Cause]:
    if spec["type"] == "ClusterIP":
        for index, each in enumerate(spec.get("ports", ())):
            if each.get("nodePort"):
                yield causes.forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    nodes: set[tuple[str, int]] = set()
    for index, each in enumerate(spec.get("ports", ())):
        if each.get("nodePort"):
            if (each["protocol"], each["nodePort"]) in nodes:
                yield causes.duplicate(f"spec.ports[{index}].nodePort", each["nodePort"])
            nodes.add((each["protocol"], each["nodePort"]))
    ports: set[tuple[str, int]] = set()
    for index, each in enumerate(spec.get("ports", ())):
        if (each["protocol"], each["port"]) in ports:
            yield _duplicate_port(f"spec.ports[{index}]", each)
        ports.add((each["protocol"], each["port"]))


def _duplicate_port(path: str, port: Manifest) -> Cause:
    # The server shows its own struct, with only these two fields set.
    protocol = causes.to_json(port["protocol"])
    struct = f'{{"Name":"","Protocol":{protocol},"AppProtocol":null,"Port":{port["port"]},"TargetPort":0,"NodePort":0}}'
    return Cause(causes.DUPLICATE, f"Duplicate value: {struct}", path)


def _balancer(spec: Manifest) -> Iterator[Cause]:
    balancer, only = spec["type"] == "LoadBalancer", "may only be used when `type` is 'LoadBalancer'"
    if spec.get("loadBalancerSourceRanges"):
        # The path is written with a capital letter by the real server, too.
        path = "spec.LoadBalancerSourceRanges"
        if not balancer:
            yield causes.forbidden(path, only)
        for index, each in enumerate(spec["loadBalancerSourceRanges"]):
            yield from values.network(each.strip(), f"{path}[{index}]")
    for each in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if each in spec and not balancer:
            yield causes.forbidden(f"spec.{each}", only)
    if balancer and "loadBalancerClass" in spec:
        yield from values.named(spec["loadBalancerClass"], "spec.loadBalancerClass", names.qualified)


def _traffic(spec: Manifest) -> Iterator[Cause]:
    policy = spec.get("externalTrafficPolicy", "")
    if services.outside(spec):
        yield from values.one_of(policy, "spec.externalTrafficPolicy", _POLICIES)
    elif policy:
        yield causes.invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    health = spec.get("healthCheckNodePort", 0)
    if health and not services.needs_health_port(spec):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield causes.invalid("spec.healthCheckNodePort", health, why)
    yield from values.maybe_one_of(spec, "internalTrafficPolicy", "spec", _POLICIES)


def _kept_addresses(new: Manifest, old: Manifest) -> Iterator[Cause]:
    if new["type"] == "ExternalName" or old["type"] == "ExternalName":
        return
    before, now = old.get("clusterIPs", []), new.get("clusterIPs", [])
    if before and now and before[0] != now[0]:
        yield causes.invalid("spec.clusterIPs[0]", now, "may not change once set")
    elif before and not now:
        yield causes.invalid("spec.clusterIPs[0]", now or None, "primary clusterIP can not be unset")
    balanced = old["type"] == new["type"] == "LoadBalancer"
    if balanced and new.get("loadBalancerClass") != old.get("loadBalancerClass"):
        yield causes.invalid("spec.loadBalancerClass", new.get("loadBalancerClass"), "may not change once set")
