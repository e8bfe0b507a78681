"""The rules for Endpoints and EndpointSlices (pkg/apis/core/validation, pkg/apis/discovery/validation)."""

from collections.abc import Iterator
from ipaddress import ip_address

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import metadata, names, values
from manager.embedded.status import Cause

_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_PORTS, _MOST_ADDRESSES = 1000, 20000, 100


def endpoints(obj: Manifest) -> Iterator[Cause]:
    """Endpoints."""
    for index, subset in enumerate(obj.get("subsets", ())):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield causes.required(at, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for place, each in enumerate(subset.get(part, ())):
                yield from _address(each["ip"], f"{at}.{part}[{place}].ip")
        for place, each in enumerate(subset.get("ports", ())):
            yield from _port(each, f"{at}.ports[{place}]", several=len(subset["ports"]) > 1)


def _address(text: str, path: str) -> Iterator[Cause]:
    wrong = list(values.address(text, path))
    yield from wrong
    if wrong:
        yield causes.invalid(path, text, "must be a valid IP address")
    else:
        yield from _reachable(text, path)


def _reachable(text: str, path: str) -> Iterator[Cause]:
    """Traffic is sent there, so it is no address of the sender itself."""
    try:
        address = ip_address(text)
    except ValueError:
        # An old form with leading zeroes, which nobody looks into.
        return
    for wrong, what in (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ):
        if wrong:
            yield causes.invalid(path, text, what)


def _port(given: Manifest, path: str, *, several: bool) -> Iterator[Cause]:
    name = given.get("name", "")
    if name:
        yield from values.named(name, f"{path}.name", names.label)
    elif several:
        yield causes.required(f"{path}.name")
    yield from values.port_number(given["port"], f"{path}.port")
    yield from values.one_of(given.get("protocol", ""), f"{path}.protocol", values.PROTOCOLS)
    if "appProtocol" in given:
        yield from values.named(given["appProtocol"], f"{path}.appProtocol", names.qualified)


def endpoint_slice(obj: Manifest) -> Iterator[Cause]:
    """An EndpointSlice."""
    kind = obj["addressType"]
    yield from values.one_of(kind, "addressType", _TYPES)
    yield from _slice_ports(obj)
    found = obj.get("endpoints") or ()
    if len(found) > _MOST_ENDPOINTS:
        yield causes.too_many("endpoints", len(found), _MOST_ENDPOINTS)
        return
    for index, each in enumerate(found):
        yield from _endpoint(each, kind, f"endpoints[{index}]")


def endpoint_slice_update(new: Manifest, old: Manifest) -> Iterator[Cause]:
    """A slice keeps its kind of addresses."""
    yield from metadata.standard_finalizers(new)
    yield from endpoint_slice(new)
    yield from metadata.immutable(new["addressType"], old["addressType"], "addressType")


def _slice_ports(obj: Manifest) -> Iterator[Cause]:
    ports = obj.get("ports") or ()
    if len(ports) > _MOST_PORTS:
        yield causes.too_many("ports", len(ports), _MOST_PORTS)
        return
    seen: set[str] = set()
    for index, each in enumerate(ports):
        at, name = f"ports[{index}]", each["name"]
        if name:
            yield from values.named(name, f"{at}.name", names.label)
        if name in seen:
            yield causes.duplicate(f"{at}.name", name)
        seen.add(name)
        yield from values.one_of(each.get("protocol", ""), f"{at}.protocol", values.PROTOCOLS)
        if "appProtocol" in each:
            yield from values.named(each["appProtocol"], f"{at}.appProtocol", names.qualified)


def _endpoint(given: Manifest, kind: str, path: str) -> Iterator[Cause]:
    addresses = given["addresses"] or ()
    if not addresses:
        yield causes.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield causes.too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, each in enumerate(addresses):
        at = f"{path}.addresses[{index}]"
        if kind in ("IPv4", "IPv6"):
            wrong = list(values.address(each, at))
            yield from wrong
            if not wrong and (":" in each) is (kind == "IPv4"):
                yield causes.invalid(f"{path}.addresses", each, f"must be an {kind} address")
            if not wrong:
                yield from _reachable(each, at)
    if "hostname" in given:
        yield from values.named(given["hostname"], f"{path}.hostname", names.label)
