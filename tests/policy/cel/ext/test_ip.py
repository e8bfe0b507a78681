"""Addresses and networks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import CelError
from policy.cel.ext import cidr, ip
from tests.policy.cel.ext.evaluation import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('ip("127.0.0.1").family()', 4),
        ('ip("::1").family()', 6),
        ('string(ip("2001:DB8:0:0:1:0:0:1"))', "2001:db8::1:0:0:1"),
        ('ip("2001:db8::1") == ip("2001:DB8::1")', True),
        ('ip("1.2.3.4") == ip("1.2.3.5")', False),
        ('ip.isCanonical("2001:db8::abcd")', True),
        ('ip.isCanonical("2001:DB8::ABCD")', False),
        ('ip("0.0.0.0").isUnspecified()', True),
        ('ip("127.9.9.9").isLoopback()', True),
        ('ip("224.0.0.1").isLinkLocalMulticast()', True),
        ('ip("224.0.1.1").isLinkLocalMulticast()', False),
        ('ip("ff12::1").isLinkLocalMulticast()', True),
        ('ip("fd00::1").isLinkLocalMulticast()', False),
        ('ip("169.254.169.254").isLinkLocalUnicast()', True),
        ('ip("febf::1").isLinkLocalUnicast()', True),
        ('ip("10.0.0.1").isGlobalUnicast()', True),
        ('ip("255.255.255.255").isGlobalUnicast()', False),
        ('ip("ff00::1").isGlobalUnicast()', False),
        ('ip("fe80::1").isGlobalUnicast()', False),
        ('type(ip("::")) == net.IP', True),
        ('isIP("127.0.0.01")', False),
        ('isIP("::ffff:1.2.3.4")', False),
        ('isIP("::ffff:102:304")', False),
        ('isIP("fe80::1%eth0")', False),
        ('isIP("")', False),
        ('cidr("192.168.0.9/24").containsIP("192.168.0.1")', True),
        ('cidr("192.168.0.0/24").containsIP(ip("192.168.1.1"))', False),
        ('cidr("::/0").containsIP("1.2.3.4")', False),
        ('cidr("10.0.0.0/8").containsCIDR("10.9.0.0/16")', True),
        ('cidr("10.9.0.0/16").containsCIDR(cidr("10.0.0.0/8"))', False),
        ('cidr("192.168.0.1/24").ip() == ip("192.168.0.1")', True),
        ('string(cidr("192.168.0.1/24"))', "192.168.0.1/24"),
        ('string(cidr("2001:DB8::1/32").masked())', "2001:db8::/32"),
        ('cidr("192.168.0.1/24") == cidr("192.168.0.0/24")', False),
        ('cidr("::1/128").prefixLength()', 128),
        ('type(cidr("::/0")) == net.CIDR', True),
        ('isCIDR("10.0.0.0/8")', True),
        ('isCIDR("10.0.0.0/08")', False),
        ('isCIDR("10.0.0.0/+8")', False),
        ('isCIDR("10.0.0.0/33")', False),
        ('isCIDR("10.0.0.0")', False),
        ('isCIDR("fe80::1%eth0/64")', False),
    ],
)
def test_an_address_answers(text: str, value: object) -> None:
    """Strictly read: no leading zeros, no zones, no IPv4 within IPv6."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        'ip("nonsense")',
        'ip.isCanonical("nonsense")',
        'cidr("nonsense")',
        'cidr("::/0").containsIP("x")',
        'size(ip("::"))',
        'cidr("::/0").containsCIDR("x")',
        'isIP(cidr("::/0"))',
        'ip("1.2.3.4") < ip("1.2.3.5")',
    ],
)
def test_what_is_no_address_is_an_error(text: str) -> None:
    """Of a text when it is read, of a type when it is compiled."""
    with pytest.raises(CelError):
        evaluate(text)


@given(st.ip_addresses())
def test_an_address_is_canonical_when_it_was_written_by_us(address: object) -> None:
    """Unless it is IPv4 within IPv6, which nobody can read."""
    text = str(address)
    if ip.is_ip(text):
        assert ip.is_canonical(text)


@given(st.ip_addresses(v=4), st.integers(0, 32), st.integers(0, 32))
def test_a_network_contains_its_address_and_what_is_narrower(address: object, length: int, other: int) -> None:
    """Masking changes nothing about it."""
    wide, narrow = sorted((length, other))
    network = cidr.parse(f"{address}/{wide}")
    assert cidr.contains_ip(network, ip.parse(str(address)))
    assert cidr.contains_cidr(network, cidr.parse(f"{address}/{narrow}"))
    assert cidr.contains_cidr(cidr.masked(network), network)
    assert cidr.masked(cidr.masked(network)) == cidr.masked(network)
