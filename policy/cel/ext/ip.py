"""`ip()` of Kubernetes: IPv4 and IPv6 addresses, read as strictly as Go's `netip`: no zones, no IPv4 within IPv6."""

import ipaddress
from dataclasses import dataclass
from typing import ClassVar

from policy.cel.error import CelError
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import BOOL, INT, STRING, Type, opaque
from policy.cel.values import Opaque

TYPE = opaque("net.IP")
LONGEST = 64  # characters: no address has as many

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
_LOCAL_MULTICAST = ipaddress.IPv4Network("224.0.0.0/24")
_LOCAL_UNICAST = ipaddress.IPv6Network("fe80::/10")


@dataclass(frozen=True, slots=True)
class IP(Opaque):
    """An address."""

    cel: ClassVar[Type] = TYPE

    address: Address

    def __str__(self) -> str:
        return str(self.address)


def address(text: str) -> Address | None:
    """The address that `text` is, or None."""
    if len(text) > LONGEST or "%" in text:
        return None
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return None if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None else found


def parse(text: str) -> IP:
    """Read an address. Raises CelError."""
    found = address(text)
    if found is None:
        raise CelError("the text is no IP address (zones and IPv4 within IPv6 are not allowed)")
    return IP(found)


def is_ip(text: str) -> bool:
    """Is this text an address?"""
    return address(text) is not None


def is_canonical(text: str) -> bool:
    """Is the address written in the one form that `string(ip(...))` gives? Raises CelError for what is no address."""
    return str(parse(text)) == text


def is_unspecified(ip: IP) -> bool:
    """`0.0.0.0` and `::`."""
    return ip.address.is_unspecified


def is_loopback(ip: IP) -> bool:
    """127.0.0.0/8 and `::1`."""
    return ip.address.is_loopback


def is_link_local_multicast(ip: IP) -> bool:
    """224.0.0.0/24, and ff02::/16 with any flags."""
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in _LOCAL_MULTICAST
    return int(ip.address) >> 112 & 0xFF0F == 0xFF02


def is_link_local_unicast(ip: IP) -> bool:
    """169.254.0.0/16 and fe80::/10."""
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address.is_link_local
    return ip.address in _LOCAL_UNICAST


def is_global_unicast(ip: IP) -> bool:
    """All but unspecified, loopback, multicast, link-local and broadcast ones; private ones too."""
    here = ip.address
    special = here.is_unspecified or here.is_loopback or here.is_multicast or here == _BROADCAST
    return not special and not is_link_local_unicast(ip)


LIBRARY = Library(
    "ip",
    functions=(
        Function("ip", globally((STRING,), TYPE, parse)),
        Function("ip.isCanonical", globally((STRING,), BOOL, is_canonical)),
        Function("isIP", globally((STRING,), BOOL, is_ip)),
        Function("string", globally((TYPE,), STRING, str)),
        Function("family", member((TYPE,), INT, lambda ip: ip.address.version)),
        Function("isUnspecified", member((TYPE,), BOOL, is_unspecified)),
        Function("isLoopback", member((TYPE,), BOOL, is_loopback)),
        Function("isLinkLocalMulticast", member((TYPE,), BOOL, is_link_local_multicast)),
        Function("isLinkLocalUnicast", member((TYPE,), BOOL, is_link_local_unicast)),
        Function("isGlobalUnicast", member((TYPE,), BOOL, is_global_unicast)),
    ),
    types=(TYPE,),
)
