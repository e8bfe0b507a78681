"""The rules for NetworkPolicies, Ingresses and IngressClasses (pkg/apis/networking/validation)."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")


def network_policy(obj: Manifest) -> Iterator[Cause]:
    """A NetworkPolicy."""
    spec = obj["spec"]
    yield from metadata.selector(spec.get("podSelector", {}), "spec.podSelector")
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction, ())):
            at = f"spec.{direction}[{index}]"
            for place, each in enumerate(rule.get("ports", ())):
                yield from _policy_port(each, f"{at}.ports[{place}]")
            for place, each in enumerate(rule.get(peers, ())):
                yield from _peer(each, f"{at}.{peers}[{place}]")
    types = spec.get("policyTypes", [])
    if len(types) > len(_DIRECTIONS):
        yield causes.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, each in enumerate(types):
        if each not in ("Ingress", "Egress"):
            yield causes.not_supported(f"spec.policyTypes[{index}]", each, ("Ingress", "Egress"))


def _policy_port(given: Manifest, path: str) -> Iterator[Cause]:
    yield from values.maybe_one_of(given, "protocol", path, _PROTOCOLS)
    port, end = given.get("port"), given.get("endPort")
    if port is None:
        if end is not None:
            yield causes.invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
        return
    if isinstance(port, str):
        if end is not None:
            yield causes.invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        yield from values.port_name(port, f"{path}.port")
        return
    yield from values.port_number(port, f"{path}.port")
    if end is not None:
        if end < port:
            yield causes.invalid(f"{path}.endPort", port, "must be greater than or equal to `port`")
        yield from values.port_number(end, f"{path}.endPort")


def _peer(given: Manifest, path: str) -> Iterator[Cause]:
    for each in ("podSelector", "namespaceSelector"):
        if each in given:
            yield from metadata.selector(given[each], f"{path}.{each}")
    if "ipBlock" in given:
        yield from _block(given["ipBlock"], f"{path}.ipBlock")
    if not given:
        yield causes.required(path, "must specify a peer")
    elif "ipBlock" in given and len(given) > 1:
        yield causes.forbidden(path, "may not specify both ipBlock and another peer")


def _block(given: Manifest, path: str) -> Iterator[Cause]:
    if not given["cidr"]:
        yield causes.required(f"{path}.cidr")
        return
    yield from values.network(given["cidr"], f"{path}.cidr")
    whole = values.parsed_network(given["cidr"])
    if whole is None:
        return
    for index, each in enumerate(given.get("except", ())):
        at = f"{path}.except[{index}]"
        yield from values.network(each, at)
        part = values.parsed_network(each)
        if part is not None and not (
            part.version == whole.version and part.subnet_of(whole) and part.prefixlen > whole.prefixlen
        ):
            yield causes.invalid(at, each, "must be a strict subset of `cidr`")


# Ingresses


def ingress(obj: Manifest) -> Iterator[Cause]:
    """An Ingress."""
    yield from _ingress(obj)
    class_, annotated = obj["spec"].get("ingressClassName"), _class_annotation(obj)
    if class_ is not None and annotated is not None and class_ != annotated:
        why = "must match `ingressClassName` when both are specified"
        yield causes.invalid("annotations.kubernetes.io/ingress.class", annotated, why)


def ingress_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """All of it may change."""
    del old
    yield from metadata.standard_finalizers(new)
    yield from _ingress(new)


def _class_annotation(obj: Manifest) -> str | None:
    found: str | None = obj["metadata"].get("annotations", {}).get("kubernetes.io/ingress.class")
    return found


def _ingress(obj: Manifest) -> Iterator[Cause]:
    spec = obj["spec"]
    if not spec.get("rules") and "defaultBackend" not in spec:
        yield causes.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules", ())):
        yield from _ingress_rule(rule, f"spec.rules[{index}]")
    for index, each in enumerate(spec.get("tls", ())):
        at = f"spec.tls[{index}]"
        for place, host in enumerate(each.get("hosts", ())):
            yield from _host(host, f"{at}.hosts[{place}]")
        if each.get("secretName"):
            yield from values.named(each["secretName"], f"{at}.secretName", names.subdomain)
    if "ingressClassName" in spec:
        yield from values.named(spec["ingressClassName"], "spec.ingressClassName", names.subdomain)


def _ingress_rule(rule: Manifest, path: str) -> Iterator[Cause]:
    host = rule.get("host", "")
    if host:
        if _is_address(host):
            yield causes.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _host(host, f"{path}.host")
    if "http" not in rule:
        return
    paths = rule["http"].get("paths") or ()
    if not paths:
        yield causes.required(f"{path}.http.paths")
    for index, each in enumerate(paths):
        yield from _http_path(each, f"{path}.http.paths[{index}]")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _host(host: str, path: str) -> Iterator[Cause]:
    yield from values.named(host, path, names.wildcard if "*" in host else names.subdomain)


def _http_path(given: Manifest, path: str) -> Iterator[Cause]:
    kind, where = given.get("pathType"), given.get("path", "")
    if kind is None:
        yield causes.required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield causes.not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif (kind != "ImplementationSpecific" or where) and not where.startswith("/"):
        yield causes.invalid(f"{path}.path", where, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for each in _BAD_SEQUENCES:
            if each in where:
                yield causes.invalid(f"{path}.path", where, f"must not contain '{each}'")
        for each in _BAD_ENDS:
            if where.endswith(each):
                yield causes.invalid(f"{path}.path", where, f"cannot end with '{each}'")
    yield from _backend(given["backend"], f"{path}.backend")


def _backend(given: Manifest, path: str) -> Iterator[Cause]:
    if "resource" in given and "service" in given:
        yield causes.invalid(path, "", "cannot set both resource and service backends")
    elif "resource" in given:
        yield from _resource(given["resource"], f"{path}.resource")
    elif "service" in given:
        yield from _service(given["service"], path)
    else:
        yield causes.invalid(path, "", "resource or service backend is required")


def _resource(given: Manifest, path: str) -> Iterator[Cause]:
    if given.get("apiGroup") is not None:
        yield from values.named(given["apiGroup"], f"{path}.apiGroup", names.subdomain)
    for each in ("kind", "name"):
        yield from values.required_name(given[each], f"{path}.{each}", names.path_segment)


def _service(given: Manifest, path: str) -> Iterator[Cause]:
    yield from values.required_name(given["name"], f"{path}.service.name", names.label)
    port: dict[str, Any] = given.get("port", {})
    if port.get("name") and port.get("number"):
        yield causes.invalid(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        yield from values.port_name(port["name"], f"{path}.service.port.name")
    elif port.get("number"):
        yield from values.port_number(port["number"], f"{path}.service.port.number")
    else:
        yield causes.required(path, "port name or number is required")


def ingress_class(obj: Manifest) -> Iterator[Cause]:
    """An IngressClass."""
    controller = obj["spec"].get("controller", "")
    if len(controller) > 250:
        yield causes.too_long("spec.controller", 250)
    yield from _domain_path(controller, "spec.controller")


def ingress_class_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """The controller of a class never changes."""
    yield from metadata.immutable(new["spec"].get("controller", ""), old["spec"].get("controller", ""), "spec.controller")


def _domain_path(value: str, path: str) -> Iterator[Cause]:
    domain, slash, rest = value.partition("/")
    if not value:
        yield causes.required(path)
    elif not slash or not domain or not rest:
        yield causes.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from values.named(domain, path, names.subdomain)
