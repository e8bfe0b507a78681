"""URLs taken apart and put together, as net/url does it."""

import ipaddress
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.quote import quote
from manager.render.gotemplate.sprig.table import NIL_POINTER, STRING, growing
from manager.render.gotemplate.value import DICT, encoded, kind, string

_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
# What stays as it is, by the part of the URL.
_HOST: Final = frozenset(_LETTERS + b"!$&'()*+,;=:[]<>\"")
_PATH: Final = frozenset(_LETTERS + b"$&+,/:;=@")
_USER: Final = frozenset(_LETTERS + b"$&+,;=")
_FRAGMENT: Final = frozenset(_LETTERS + b"$&+,/:;=?@!()*")

_ZONE: Final = _HOST | {ord(" ")}  # what may be escaped in the zone of an IPv6 address

_STEP: Final = re.compile("%([0-9A-Fa-f]{2})|%.{0,2}|.", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"%(?:([0-9A-Fa-f]{2})|.{0,2})", re.DOTALL)
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")


class Unparsed(ValueError):
    """A text that is no URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts, with escapes resolved in host, path and fragment; `userinfo` is escaped, and None where there is none."""

    scheme: str = ""
    opaque: str = ""
    userinfo: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without its port, and without brackets."""
        name, colon, port = self.host.rpartition(":")
        name = name if colon and _PORT.fullmatch(f":{port}") else self.host
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def parse(text: str) -> Url:
    """The URL. Raises Unparsed with Go's error."""
    whole, _, fragment = text.partition("#")
    shown = whole
    try:
        url = _parsed(whole)
        shown = text
        fragment = _unescaped(fragment)
    except Unparsed as error:
        raise Unparsed(f"parse {quote(shown)}: {error}") from None
    return Url(url.scheme, url.opaque, url.userinfo, url.host, url.path, url.query, fragment)


def _parsed(text: str) -> Url:
    if _CONTROL.search(text):
        raise Unparsed("net/url: invalid control character in URL")
    if text == "*":
        return Url(path="*")
    found = _SCHEME.fullmatch(text)
    if text.startswith(":"):
        raise Unparsed("missing protocol scheme")
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, opaque=rest, query=query)
        if ":" in rest.partition("/")[0]:
            raise Unparsed("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    return Url(scheme, userinfo=user, host=host, path=_unescaped(rest), query=query)


def _authority(scheme: str, text: str) -> tuple[str | None, str]:
    """Who, and where."""
    user, at, host = text.rpartition("@")
    host = _host(scheme, host)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(user):
        raise Unparsed("net/url: invalid userinfo")
    name, colon, word = user.partition(":")
    return _escaped(_unescaped(name), _USER) + colon + _escaped(_unescaped(word), _USER), host


def _host(scheme: str, text: str) -> str:
    bracket = text.rfind("[")
    if bracket > 0:
        raise Unparsed("invalid IP-literal")
    if bracket == 0:
        name, closing, port = text[1:].rpartition("]")
        if not closing:
            raise Unparsed("missing ']' in host")
        _check_port(port)
        address, percent, zone = name.partition("%25")
        literal = _unescaped_host(address) + _unescaped_host(percent + zone, _ZONE)
        _check_address(literal)
        return f"[{literal}]{port}"
    first = text.find(":")
    if first >= 0:
        _check_port(text[first:] if scheme in ("http", "https") else text[text.rfind(":") :])
    return _unescaped_host(text)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise Unparsed(f"invalid port {quote(port)} after host")


def _check_address(text: str) -> None:
    try:
        version = ipaddress.ip_address(text).version
    except ValueError:
        raise Unparsed(f"invalid host: ParseAddr({quote(text)}): unable to parse IP") from None
    if version == 4:
        raise Unparsed("invalid IP-literal")


def _unescaped_host(text: str, escapable: Container[int] = range(0x80, 0x100)) -> str:
    """Escapes in hosts are for bytes beyond ASCII, and for `%` itself."""
    for found in _STEP.finditer(text):
        step = found[0]
        if step[0] != "%":
            if step.isascii() and ord(step) not in _HOST:
                raise Unparsed(f"invalid character {quote(step)} in host name")
        elif found[1] is None or (step != "%25" and int(found[1], 16) not in escapable):
            raise Unparsed(f"invalid URL escape {quote(step)}")
    return _unescaped(text)


def _unescaped(text: str) -> str:
    if "%" not in text:
        return text

    def byte(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            raise Unparsed(f"invalid URL escape {quote(string(found[0]))}")
        return bytes([int(found[1], 16)])

    return string(_ESCAPE.sub(byte, encoded(text)))


def _escaped(text: str, kept: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in encoded(text))


def _as_dict(budget: Budget, text: str) -> dict[str, Any]:
    budget.step(len(text))
    try:
        url = parse(text)
    except Unparsed as error:
        raise CallError(f"unable to parse url: {error}") from None
    return {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.userinfo or "",
    }


def _part(parts: Mapping[str, Any], name: str) -> str:
    if name not in parts:
        return ""
    value = parts[name]
    if isinstance(value, str):
        return value
    if value is None:
        raise CallError(NIL_POINTER)
    raise CallError(f"unable to parse {name} key, must be of type string, but {kind(value)} found")


def _joined(budget: Budget, parts: dict[str, Any]) -> str:
    names = ("scheme", "host", "path", "query", "opaque", "fragment", "userinfo")
    scheme, host, path, query, opaque, fragment, user = (_part(parts, name) for name in names)
    size = sum(len(encoded(part)) for part in (scheme, host, path, query, opaque, fragment, user))
    budget.take(3 * size)
    budget.step(size)
    who = None
    if user:
        try:
            who = parse(f"proto://{user}@host").userinfo
        except Unparsed as error:
            raise CallError(f"unable to parse userinfo in dict: {error}") from None
    text = f"{scheme}:" if scheme else ""
    text += opaque or _hierarchy(scheme, who, host, path, begun=bool(text))
    text += f"?{query}" if query else ""
    return text + (f"#{_escaped(fragment, _FRAGMENT)}" if fragment else "")


def _hierarchy(scheme: str, user: str | None, host: str, path: str, *, begun: bool) -> str:
    known = user is not None or bool(host)
    text = "//" if known or (scheme and path) else ""
    text += "" if user is None else f"{user}@"
    text += _escaped(host, _HOST)
    escaped = "*" if path == "*" else _escaped(path, _PATH)
    if escaped and escaped[0] != "/" and host:
        text += "/"
    elif not begun and not text and ":" in escaped.partition("/")[0]:
        text += "./"
    return text + escaped


FUNCTIONS: Functions = {
    function.name: function for function in (growing("urlParse", _as_dict, STRING), growing("urlJoin", _joined, DICT))
}
