"""`url()` of Kubernetes: absolute URLs and absolute paths, taken apart as Go's `net/url` does it.

All work is on bytes, because an escape in the text may stand for half a character.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.ext.ip import LONGEST, address
from policy.cel.library import Function, Library, globally, member
from policy.cel.types import BOOL, STRING, Type, list_of, map_of, opaque
from policy.cel.values import Opaque

TYPE = opaque("kubernetes.URL")
PARAMETERS: Final = 10_000  # of a query: with more, Go reads none
PARAMETER: Final = 40  # units for one
ESCAPE: Final = 8  # units for one

_DIGITS = b"0123456789"
_ALPHANUMERIC = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS
_PLAIN = _ALPHANUMERIC + b"-_.~"
_CONTROL = bytes(range(0x20)) + b"\x7f"
_HEX = "0123456789abcdefABCDEF"
_ESCAPED = {f"{high}{low}".encode(): bytes((int(high + low, 16),)) for high in _HEX for low in _HEX}
_PATH = _PLAIN + b"$&+,/:;=@"
_FRAGMENT = _PLAIN + b"$&+,/:;=?@!()*"
_HOST = _PLAIN + b"!$&'()*+,;=:[]<>\""
_HOST_OR_MORE = _HOST + bytes(range(0x80, 0x100))
_USER = _PLAIN + b"$&+,;="
_KEPT = b"!$&'()*+,;=:@[]%"  # left as they are in a path or fragment that came escaped
_SCHEME = frozenset(_ALPHANUMERIC + b"+-.")
_USER_INFO = frozenset(_ALPHANUMERIC + b"-._:~!$&'()*+,;=%@")


class _NoURL(CelError):
    pass


@dataclass(frozen=True, slots=True)
class URL(Opaque):
    """An URL in its parts. Two are equal when their texts are, written out again."""

    cel: ClassVar[Type] = TYPE

    text: str
    scheme: str
    host: str
    path: str
    query: bytes

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, URL) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    @property
    def hostname(self) -> str:
        """The host without its port and without brackets."""
        name = _split_port(self.host)[0]
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        """The port, or an empty text."""
        return _split_port(self.host)[1]


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and _is_port(port.encode()) else (host, "")


def _is_port(digits: bytes) -> bool:
    return all(byte in _DIGITS for byte in digits)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What Go's `url.URL` holds, as far as it matters here; `user` is in its written form, None without one."""

    scheme: bytes = b""
    opaque: bytes = b""
    user: bytes | None = None
    host: bytes = b""
    path: bytes = b""  # escaped
    query: bytes = b""
    asks: bool = False  # a question mark without a query
    hostless: bool = False  # one slash behind the scheme


def parse(budget: Budget, text: str) -> URL:
    """Read an URL. Raises CelError for what is neither an absolute URL nor an absolute path."""
    _pay(budget, text)
    raw = text.encode(errors="replace")
    _parts(raw, request=True)
    before, _, fragment = raw.partition(b"#")
    parts = _parts(before, request=False)
    written = _written(parts)
    if fragment:
        written += b"#" + _escaped_again(fragment, _FRAGMENT)
    return URL(_text(written), _text(parts.scheme), _text(parts.host), _text(parts.path), parts.query)


def _pay(budget: Budget, text: str) -> None:
    """What does not have to be escaped costs little."""
    budget.grow(4 * len(text))
    budget.charge(ESCAPE * (text.count("%") if text.isascii() else len(text)))


def is_url(budget: Budget, text: str) -> bool:
    """Is this text an absolute URL or an absolute path? A fragment may not follow the host."""
    _pay(budget, text)
    return problem(text) is None


def problem(text: str) -> str | None:
    """Why this text is no URL, or None when it is one."""
    try:
        _parts(text.encode(errors="replace"), request=True)
    except _NoURL as error:
        return error.message
    return None


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _parts(raw: bytes, *, request: bool) -> _Parts:
    """An URL without a fragment in its parts; `request`: as it stands in the first line of a request."""
    if len(raw.translate(None, _CONTROL)) < len(raw):
        raise _NoURL("a URL has no control characters")
    if not raw and request:
        raise _NoURL("an empty text is no URL")
    if raw == b"*":
        return _Parts(path=raw)
    scheme, rest = _scheme(raw)
    asks = rest.endswith(b"?") and rest.count(b"?") == 1
    rest, _, query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if scheme:
            return _Parts(scheme, opaque=rest, query=query, asks=asks)
        if request:
            raise _NoURL("a URL is absolute: it begins with a scheme or a slash")
        if b":" in rest.partition(b"/")[0]:
            raise _NoURL("the first step of a relative path has no colon")
    user, host = None, b""
    if rest.startswith(b"//") and (scheme or not (request or rest.startswith(b"///"))):
        authority, slash, path = rest[2:].partition(b"/")
        rest = slash + path
        user, host = _authority(scheme, authority)
        return _Parts(scheme, b"", user, host, _escaped_again(rest, _PATH), query, asks)
    hostless = bool(scheme) and rest.startswith(b"/")
    return _Parts(scheme, b"", user, host, _escaped_again(rest, _PATH), query, asks, hostless)


def _scheme(raw: bytes) -> tuple[bytes, bytes]:
    """The scheme in small letters and what follows the colon; an empty scheme and everything without one."""
    scheme, colon, rest = raw.partition(b":")
    if not scheme and colon:
        raise _NoURL("a URL begins with a scheme before its colon")
    if not colon or not _SCHEME.issuperset(scheme) or scheme[0] in b"0123456789+-.":
        return b"", raw
    return scheme.lower(), rest


def _authority(scheme: bytes, authority: bytes) -> tuple[bytes | None, bytes]:
    """The user, written out again, and the host."""
    info, at, place = authority.rpartition(b"@")
    host = _host(scheme, place)
    if not at:
        return None, host
    if not _USER_INFO.issuperset(info):
        raise _NoURL("the user of a URL has characters that need an escape")
    name, colon, password = info.partition(b":")
    user = _escape(_unescape(name), _USER)
    return user + (b":" + _escape(_unescape(password), _USER) if colon else b""), host


def _host(scheme: bytes, host: bytes) -> bytes:
    opening = host.rfind(b"[")
    if opening > 0:
        raise _NoURL("brackets are around the whole host of a URL")
    if opening == 0:
        return _bracketed(host)
    first, last = host.find(b":"), host.rfind(b":")
    if first >= 0:
        # More than one colon is an error where it is a mistake for sure; databases have lists of hosts.
        _check_port(host[first if scheme in (b"http", b"https") else last :])
    return _unescape(host, host=True)


def _bracketed(host: bytes) -> bytes:
    """An IPv6 address in brackets, perhaps with a zone and a port."""
    closing = host.rfind(b"]")
    if closing < 0:
        raise _NoURL("the bracket around the host of a URL is not closed")
    port = host[closing + 1 :]
    _check_port(port)
    name, zone, rest = host[1:closing].partition(b"%25")
    # A zone may hold what a host may, and spaces.
    whole = _unescape(name, host=True) + (_unescape(zone + rest, host=True, zone=True) if zone else b"")
    before, percent, behind = whole.partition(b"%")
    if b":" not in before or len(before) > LONGEST or (percent and not behind) or not _is_ipv6(_text(before)):
        raise _NoURL("the host of a URL in brackets is an IPv6 address")
    return b"[" + whole + b"]" + port


def _is_ipv6(text: str) -> bool:
    """An IPv6 address; here, one that holds an IPv4 address is one too."""
    mapped = text.lower().startswith("::ffff:")
    return address(text) is not None or (mapped and (address(text[7:]) is not None or address("::" + text[7:]) is not None))


def _check_port(port: bytes) -> None:
    if port and not (port.startswith(b":") and _is_port(port[1:])):
        raise _NoURL("the port of a URL is a number behind a colon")


def _unescape(raw: bytes, *, host: bool = False, zone: bool = False) -> bytes:
    """The bytes that the escapes stand for. A host may escape what is not ASCII only, a zone what a host may hold."""
    head, *rest = raw.split(b"%")
    plain = [head, *(part[2:] for part in rest)]
    if host and any(part.translate(None, _HOST_OR_MORE) for part in plain):
        raise _NoURL("the host of a URL has a character that it cannot hold")
    out = [head]
    for part in rest:
        byte = _ESCAPED.get(part[:2])
        if byte is None:
            raise _NoURL("a percent sign in a URL is followed by two hexadecimal digits")
        if host and part[:2] != b"25" and (byte != b" " and byte not in _HOST if zone else byte < b"\x80"):
            raise _NoURL("the host of a URL has an escape that it cannot hold")
        out += [byte, part[2:]]
    return b"".join(out)


def _escape(raw: bytes, allowed: bytes) -> bytes:
    if not raw.translate(None, allowed):
        return raw
    return b"".join([bytes((byte,)) if byte in allowed else b"%%%02X" % byte for byte in raw])


def _escaped_again(raw: bytes, allowed: bytes) -> bytes:
    """A path or fragment in escaped form: as it came where that is valid, else escaped anew."""
    plain = _unescape(raw)
    if not raw.translate(None, allowed + _KEPT):
        return raw
    return plain if plain == b"*" else _escape(plain, allowed)


def _written(parts: _Parts) -> bytes:
    """The URL as one text, without a fragment."""
    out = parts.scheme + b":" if parts.scheme else b""
    if parts.opaque:
        out += parts.opaque
    else:
        named = bool(parts.host) or parts.user is not None
        if named or (parts.scheme and not parts.hostless and parts.path):
            out += b"//"
        if parts.user is not None:
            out += parts.user + b"@"
        out += _escape(parts.host, _HOST)
        if parts.path and not parts.path.startswith(b"/") and parts.host:
            out += b"/"
        if not out and b":" in parts.path.partition(b"/")[0]:
            out += b"./"
        out += parts.path
    return out + (b"?" + parts.query if parts.asks or parts.query else b"")


def query(budget: Budget, url: URL) -> dict[str, list[str]]:
    """The parameters of the query, each with all its values. What is malformed is left out."""
    budget.grow(4 * len(url.query))
    found: dict[str, list[str]] = {}
    parameters = url.query.split(b"&")
    if len(parameters) > PARAMETERS:
        return found
    budget.charge(PARAMETER * len(parameters))
    for parameter in parameters:
        if not parameter or b";" in parameter:
            continue
        key, _, value = parameter.replace(b"+", b" ").partition(b"=")
        try:
            pair = _text(_unescape(key)), _text(_unescape(value))
        except _NoURL:
            continue
        found.setdefault(pair[0], []).append(pair[1])
    return found


_GETTERS: Mapping[str, str] = MappingProxyType(
    {
        "getScheme": "scheme",
        "getHost": "host",
        "getHostname": "hostname",
        "getPort": "port",
        "getEscapedPath": "path",
    }
)


def _getter(name: str, attribute: str) -> Function:
    def get(url: URL) -> str:
        value: str = getattr(url, attribute)
        return value

    return Function(name, member((TYPE,), STRING, get))


LIBRARY = Library(
    "url",
    functions=(
        Function("url", globally((STRING,), TYPE, parse, budget=True)),
        Function("isURL", globally((STRING,), BOOL, is_url, budget=True)),
        *(_getter(name, attribute) for name, attribute in _GETTERS.items()),
        Function("getQuery", member((TYPE,), map_of(STRING, list_of(STRING)), query, budget=True)),
    ),
)
