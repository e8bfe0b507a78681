"""`cidr()` of Kubernetes: networks as Go's `netip.Prefix` has them: bits behind the prefix stay until `masked()`."""

import ipaddress
from dataclasses import dataclass
from typing import ClassVar

from policy.cel.error import CelError
from policy.cel.ext import ip as addresses
from policy.cel.ext.ip import IP, Address
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import BOOL, INT, STRING, Type, opaque
from policy.cel.values import Opaque

TYPE = opaque("net.CIDR")


@dataclass(frozen=True, slots=True)
class CIDR(Opaque):
    """An address and how many of its bits tell the network."""

    cel: ClassVar[Type] = TYPE

    address: Address
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def network(self) -> int:
        """The first `length` bits of the address."""
        return _first(self.address, self.length)


def _first(address: Address, bits: int) -> int:
    return int(address) >> (address.max_prefixlen - bits)


def network(text: str) -> CIDR | None:
    """The network that `text` is, or None."""
    before, slash, bits = text.rpartition("/")
    address = addresses.address(before) if slash else None
    # Go reads neither a sign nor leading zeros here.
    plain = len(bits) <= 3 and bits.isascii() and bits.isdigit() and (bits == "0" or not bits.startswith("0"))
    if address is None or not plain or int(bits) > address.max_prefixlen:
        return None
    return CIDR(address, int(bits))


def parse(text: str) -> CIDR:
    """Read a network. Raises CelError."""
    found = network(text)
    if found is None:
        raise CelError("the text is no network like 10.0.0.0/8 (zones and IPv4 within IPv6 are not allowed)")
    return found


def is_cidr(text: str) -> bool:
    """Is this text a network?"""
    return network(text) is not None


def contains_ip(cidr: CIDR, ip: IP) -> bool:
    """Does the address lie in the network? One of the other family does not."""
    return cidr.address.version == ip.address.version and _first(ip.address, cidr.length) == cidr.network


def contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    """Do all addresses of the other network lie in this one?"""
    return cidr.length <= other.length and contains_ip(cidr, IP(other.address))


def masked(cidr: CIDR) -> CIDR:
    """The network with zeros behind the prefix."""
    rest = cidr.address.max_prefixlen - cidr.length
    family = ipaddress.IPv4Address if cidr.address.version == 4 else ipaddress.IPv6Address
    return CIDR(family(cidr.network << rest), cidr.length)


LIBRARY = Library(
    "cidr",
    functions=(
        Function("cidr", globally((STRING,), TYPE, parse)),
        Function("isCIDR", globally((STRING,), BOOL, is_cidr)),
        Function("string", globally((TYPE,), STRING, str)),
        Function(
            "containsIP",
            member((TYPE, STRING), BOOL, lambda cidr, text: contains_ip(cidr, addresses.parse(text))),
            member((TYPE, addresses.TYPE), BOOL, contains_ip),
        ),
        Function(
            "containsCIDR",
            member((TYPE, STRING), BOOL, lambda cidr, text: contains_cidr(cidr, parse(text))),
            member((TYPE, TYPE), BOOL, contains_cidr),
        ),
        Function("ip", member((TYPE,), addresses.TYPE, lambda cidr: IP(cidr.address))),
        Function("masked", member((TYPE,), TYPE, masked)),
        Function("prefixLength", member((TYPE,), INT, lambda cidr: cidr.length)),
    ),
    types=(TYPE,),
)
