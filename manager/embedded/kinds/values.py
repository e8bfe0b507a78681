"""Rules for single values that many kinds share: numbers, ports, percentages, addresses, amounts of resources."""

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

from apis.meta import Manifest
from manager.embedded import causes
from manager.embedded.kinds import names
from manager.embedded.kinds.metadata import NOT_NEGATIVE
from manager.embedded.status import Cause
from policy import quantity
from policy.quantity import Quantity

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PORTS = range(1, 65536)
_NOT_PORT = "must be between 1 and 65535, inclusive"
_PERCENT = re.compile(r"[0-9]+%")
_NOT_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_NOT_WHOLE = "must be an integer"


def not_negative(obj: Manifest, path: str, *fields: str) -> Iterator[Cause]:
    """Numbers of 0 and more, where they are given."""
    for each in fields:
        if (obj.get(each) or 0) < 0:
            yield causes.invalid(f"{path}.{each}", obj[each], NOT_NEGATIVE)


def one_of(value: str, path: str, supported: Iterable[str]) -> Iterator[Cause]:
    """A word of an enumeration; none at all is a required value."""
    supported = tuple(supported)
    if not value:
        yield causes.required(path)
    elif value not in supported:
        yield causes.not_supported(path, value, supported)


def maybe_one_of(obj: Manifest, field: str, path: str, supported: Iterable[str]) -> Iterator[Cause]:
    """A word of an enumeration, where one is given."""
    supported = tuple(supported)
    if field in obj and obj[field] not in supported:
        yield causes.not_supported(causes.child(path, field), obj[field], supported)


def named(value: str, path: str, rule: names.Rule) -> Iterator[Cause]:
    """A name of something."""
    for why in rule(value):
        yield causes.invalid(path, value, why)


def required_name(value: str, path: str, rule: names.Rule) -> Iterator[Cause]:
    """A name of something that has to have one."""
    if not value:
        yield causes.required(path)
    else:
        yield from named(value, path, rule)


# Ports


def port_number(value: int, path: str) -> Iterator[Cause]:
    """A port."""
    if value not in _PORTS:
        yield causes.invalid(path, value, _NOT_PORT)


def port_name(value: str, path: str) -> Iterator[Cause]:
    """The name of a port (RFC 6335)."""
    for why in _port_name_faults(value):
        yield causes.invalid(path, value, why)


def port(value: int | str, path: str) -> Iterator[Cause]:
    """A port, by number or by name."""
    yield from port_name(value, path) if isinstance(value, str) else port_number(value, path)


def _port_name_faults(value: str) -> Iterator[str]:
    if len(value) > 15:
        yield "must be no more than 15 characters"
    if not re.fullmatch(r"[-a-z0-9]+", value):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search(r"[a-z]", value):
        yield "must contain at least one letter (a-z)"
    if "--" in value:
        yield "must not contain consecutive hyphens"
    if value[:1] == "-" or value[-1:] == "-":
        yield "must not begin or end with a hyphen"


# Numbers and percentages


def share(value: int | str, path: str, *, limited: bool = True) -> Iterator[Cause]:
    """A number of 0 and more, or a percentage, of 100 at most if `limited`."""
    if isinstance(value, int):
        if value < 0:
            yield causes.invalid(path, value, NOT_NEGATIVE)
    elif not _PERCENT.fullmatch(value):
        yield causes.invalid(path, value, _NOT_PERCENT)
    elif limited and int(value[:-1]) > 100:
        yield causes.invalid(path, value, "must not be greater than 100%")


def is_nothing(value: int | str | None) -> bool:
    """0 or 0%."""
    if isinstance(value, str):
        return bool(_PERCENT.fullmatch(value)) and int(value[:-1]) == 0
    return not value


# Addresses


def address(value: str, path: str) -> Iterator[Cause]:
    """An IP address."""
    try:
        ip_address(_sloppy(value))
    except ValueError:
        yield causes.invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
        return
    if _sloppy(value) != value:
        yield causes.invalid(path, value, "must not have leading 0s")


def network(value: str, path: str) -> Iterator[Cause]:
    """A CIDR: a network, of which no bit behind the prefix is set."""
    parsed, (base, _, bits) = parsed_network(value), value.partition("/")
    if parsed is None:
        yield causes.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif _sloppy(base) != base or bits != str(int(bits)):
        yield causes.invalid(path, value, "must not have leading 0s in IP or prefix length")
    elif parsed.network_address != ip_address(base):
        yield causes.invalid(path, value, "must not have bits set beyond the prefix length")


def parsed_network(value: str) -> Any:
    """The network that a CIDR names, or None."""
    base, slash, bits = value.partition("/")
    if not slash or not bits.isdigit():
        return None
    try:
        return ip_network(f"{_sloppy(base)}/{bits}", strict=False)
    except ValueError:
        return None


def _sloppy(value: str) -> str:
    """Leading zeroes are read, and then refused by another complaint."""
    return re.sub(r"(^|\.)0+([0-9])", r"\1\2", value) if ":" not in value else value


# Amounts of resources

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_CONTAINER = frozenset(_COMPUTE)
_COUNTED = frozenset(
    (
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
QUOTA = _CONTAINER | _COUNTED | {f"{half}.{each}" for half in ("requests", "limits") for each in _COMPUTE} | {"requests.storage"}
_STANDARD = QUOTA | {"storage"}
_HUGE = "hugepages-"


def resource(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource: a standard one, or qualified."""
    for why in names.qualified(name):
        yield causes.invalid(path, name, why)
        return
    if "/" not in name and name not in _STANDARD and not name.removeprefix("requests.").startswith(_HUGE):
        yield causes.invalid(path, name, "must be a standard resource type or fully qualified")


def container_resource(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a container can ask for."""
    yield from resource(name, path)
    if "/" not in name and name not in _CONTAINER and not name.startswith(_HUGE):
        yield causes.invalid(path, name, "must be a standard resource for containers")


def quota_resource(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a quota can limit."""
    yield from resource(name, path)
    if "/" not in name and name not in QUOTA and not name.removeprefix("requests.").startswith(_HUGE):
        yield causes.invalid(path, name, "must be a standard resource for quota")


def amount(name: str, text: str, path: str) -> Iterator[Cause]:
    """An amount of a resource: 0 or more, and whole where things are counted."""
    value = quantity.parse(text)
    if value.sign < 0:
        yield causes.invalid(path, text, NOT_NEGATIVE)
    if (name in _COUNTED or _extended(name)) and not _whole(value):
        yield causes.invalid(path, text, _NOT_WHOLE)


def _extended(name: str) -> bool:
    """A resource of somebody else's: it is counted."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.") and not name.startswith("count/")


def _whole(value: Quantity) -> bool:
    return value.exponent >= 0 or value.unscaled % 10**-value.exponent == 0


def requirements(resources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What a container asks for, and what it may take: no more is asked for than may be taken."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, text in limits.items():
        yield from container_resource(name, f"{path}.limits[{name}]")
        yield from amount(name, text, f"{path}.limits[{name}]")
    for name, text in requests.items():
        yield from container_resource(name, f"{path}.requests[{name}]")
        yield from amount(name, text, f"{path}.requests[{name}]")
        if name in limits:
            yield from _within(name, text, limits[name], f"{path}.requests")
        elif _fixed(name):
            yield causes.required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _within(name: str, request: str, limit: str, path: str) -> Iterator[Cause]:
    compared = quantity.parse(request).compare(quantity.parse(limit))
    if compared != 0 and _fixed(name):
        yield causes.invalid(path, request, f"must be equal to {name} limit of {limit}")
    elif compared > 0:
        yield causes.invalid(path, request, f"must be less than or equal to {name} limit of {limit}")


def _fixed(name: str) -> bool:
    """A resource that nobody gets more of than he asked for."""
    return _extended(name) or name.startswith(_HUGE)
