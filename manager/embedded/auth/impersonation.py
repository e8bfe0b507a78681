"""As whom a request acts: the `Impersonate-*` headers, and the rights that each of them needs.

Since 1.36 there are two ways. The constrained one (https://kep.k8s.io/5284) asks for `impersonate:<mode>` on the user, the group,
the extra ... and for `impersonate-on:<mode>:<verb>` on the very thing that the request is about; the old one asks for
`impersonate` alone. The server tries each mode that fits, first the one that worked for this user before, and refuses with
what the first of them said.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote

from manager.embedded.attributes import AUTHENTICATED, MASTERS, Attributes, User
from manager.embedded.auth.rbac import ACCOUNT_PREFIX, Authorizer
from manager.embedded.auth.refusal import refusal
from manager.embedded.causes import quote
from manager.embedded.status import StatusError, bad_request

Headers = Iterable[tuple[str, str]]
"""The headers of a request; a name may come several times, in any case."""

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED = "system:unauthenticated"
NODE_PREFIX = "system:node:"
NODES = "system:nodes"
NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"
GROUP = "authentication.k8s.io"
MANY = 4
"""From so many groups or extras on, a constrained mode asks for all of them at once first."""
REMEMBERED = 10_000

_NODE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ACCOUNT = re.compile(
    r"system:serviceaccount:([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?):([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)"
)
_EXTRA = "impersonate-extra-"
_ENCODED = re.compile(r"%(?![0-9a-f]{2})")


class Impersonation:
    """Turns whoever sent a request into the user that the request names."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._worked: dict[str, _Mode] = {}

    def acting(self, asked: Attributes, headers: Headers) -> User:
        """Whom the request acts as: `asked.user` himself when no header names another.

        Raises 403 when a right is missing, 400 for groups or extras without a user.
        """
        wanted = _wanted(headers)
        if wanted is None:
            return asked.user
        first: StatusError | None = None
        for mode in self._modes(asked, wanted):
            try:
                user = _Check(self._authorizer, mode, asked).user(wanted)
            except StatusError as error:
                first = first or error
                continue
            self._remember(asked.user.name, mode)
            return user
        # The old way fits everybody, so there was an error.
        raise first or refusal(asked)

    def _modes(self, asked: Attributes, wanted: User) -> list["_Mode"]:
        fitting = [mode for mode in _MODES if _fits(mode, asked.user, wanted)]
        worked = self._worked.get(asked.user.name)
        return sorted(fitting, key=lambda mode: mode is not worked)

    def _remember(self, name: str, mode: "_Mode") -> None:
        if len(self._worked) >= REMEMBERED:
            self._worked.clear()
        self._worked[name] = mode


@dataclass(frozen=True, slots=True)
class _Mode:
    """A way to impersonate; the old one has no name."""

    name: str = ""

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


_OLD = _Mode()
_MODES = (_Mode("associated-node"), _Mode("arbitrary-node"), _Mode("serviceaccount"), _Mode("user-info"), _OLD)


def _fits(mode: _Mode, sender: User, wanted: User) -> bool:
    name_alone = not (wanted.uid or wanted.groups or wanted.extra)
    node, account = _node(wanted.name), _account(wanted.name)
    match mode.name:
        case "associated-node":
            own = sender.extra.get(NODE_NAME_EXTRA, ())
            return name_alone and node is not None and _account(sender.name) is not None and tuple(own) == (node,)
        case "arbitrary-node":
            return name_alone and node is not None
        case "serviceaccount":
            return name_alone and account is not None
        case "user-info":
            return node is None and account is None
    return True


@dataclass(frozen=True, slots=True)
class _Check:
    """The questions that one mode asks of one request, in the server's order."""

    authorizer: Authorizer
    mode: _Mode
    asked: Attributes

    def user(self, wanted: User) -> User:
        if self.mode.name:
            on = replace(self.asked, verb=f"impersonate-on:{self.mode.name}:{self.asked.verb}")
            self.authorizer.require(self._masked(on))
        groups = self._name(wanted)
        if wanted.uid:
            self._require(GROUP, "uids", wanted.uid)
        self._groups(wanted.groups)
        self._extra(wanted.extra)
        return replace(wanted, groups=_completed(wanted.name, groups))

    def _name(self, wanted: User) -> tuple[str, ...]:
        node, account = _node(wanted.name), _account(wanted.name)
        if account is not None:
            namespace, name = account
            self._require(self._group, "serviceaccounts", name, namespace=namespace)
            return wanted.groups or ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        if self.mode.name and node is not None:
            self._require(self._group, "nodes", "*" if self.mode.name == "associated-node" else node)
            return (NODES,)
        self._require(self._group, "users", wanted.name)
        return wanted.groups

    def _groups(self, groups: Sequence[str]) -> None:
        if self.mode.name and "" in groups:
            raise self._refused("groups", "", "impersonating the empty string group is not allowed")
        if self.mode.name and MASTERS in groups:
            raise self._refused("groups", MASTERS, "impersonating the system:masters group is not allowed")
        if self.mode.name and len(groups) >= MANY and self._may(self._group, "groups", "*"):
            return
        for group in groups:
            self._require(self._group, "groups", group)

    def _extra(self, extra: Mapping[str, tuple[str, ...]]) -> None:
        if self.mode.name:
            if wrong := _wrong(extra):
                raise self._refused("userextras", "", wrong)
            many = len(extra) >= MANY or sum(map(len, extra.values())) >= MANY
            if many and self._may(GROUP, "userextras", "*", subresource="*"):
                return
        for key, values in extra.items():
            for value in values:
                self._require(GROUP, "userextras", value, subresource=key)

    @property
    def _group(self) -> str:
        """The API group of users, groups and accounts: the constrained modes moved them."""
        return GROUP if self.mode.name else ""

    def _question(self, group: str, resource: str, name: str, *, namespace: str = "", subresource: str = "") -> Attributes:
        asked = Attributes(self.asked.user, self.mode.verb, group, "v1", resource, subresource, namespace, name)
        return self._masked(asked)

    def _masked(self, asked: Attributes) -> Attributes:
        # The answer counts for every node, so the authorizer must not see which one it is.
        return asked if self.mode.name != "associated-node" else replace(asked, user=replace(asked.user, extra={}))

    def _require(self, group: str, resource: str, name: str, *, namespace: str = "", subresource: str = "") -> None:
        self.authorizer.require(self._question(group, resource, name, namespace=namespace, subresource=subresource))

    def _may(self, group: str, resource: str, name: str, *, subresource: str = "") -> bool:
        return self.authorizer.decide(self._question(group, resource, name, subresource=subresource)).allowed

    def _refused(self, resource: str, name: str, why: str) -> StatusError:
        return refusal(self._question(GROUP, resource, name), why)


def _wanted(headers: Headers) -> User | None:
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers:
        lower = header.lower()
        if not lower.startswith("impersonate-"):
            continue
        if lower == "impersonate-user":
            name = name or value
        elif lower == "impersonate-uid":
            uid = uid or value
        elif lower == "impersonate-group":
            groups.append(value)
        elif lower.startswith(_EXTRA):
            key = _decoded(lower.removeprefix(_EXTRA))
            extra[key] = (*extra.get(key, ()), value)
    wanted = User(name, uid, tuple(groups), extra)
    if not name and (uid or groups or extra):
        raise bad_request(f"requested {_in_go(wanted)} without impersonating a user name")
    return wanted if name else None


@lru_cache(maxsize=4096)
def _decoded(key: str) -> str:
    """A percent-encoded key of an extra; one that is not properly encoded is taken as it is."""
    return key if _ENCODED.search(key) else unquote(key)


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    return groups if AUTHENTICATED in groups or UNAUTHENTICATED in groups else (*groups, AUTHENTICATED)


@lru_cache(maxsize=4096)
def _node(name: str) -> str | None:
    node = name.removeprefix(NODE_PREFIX)
    return node if node != name and len(node) <= 253 and _NODE.fullmatch(node) else None


@lru_cache(maxsize=4096)
def _account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a ServiceAccount's user name."""
    found = _ACCOUNT.fullmatch(name) if name.startswith(ACCOUNT_PREFIX) else None
    return (found[1], found[3]) if found and len(found[3]) <= 253 else None


def _wrong(extra: Mapping[str, tuple[str, ...]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if trouble := _no_path(key):
            return f"impersonating an invalid key in extra is not allowed: extra.key: {trouble}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _no_path(key: str) -> str:
    """Why a key is no domain and path, as `copyhold.dev/parent` is; "" when it is one."""
    domain, slash, path = key.partition("/")
    if not slash or not domain or not path:
        return f'Invalid value: {quote(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
    if not _NODE.fullmatch(domain):
        return (
            f"Invalid value: {quote(domain)}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
            " '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
            " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    if not re.fullmatch(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", path):
        return f"Invalid value: {quote(path)}: Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
    return ""


def _in_go(user: User) -> str:
    """The user as Go prints a struct, which is what the server puts into its answer."""
    groups = f"[]string{{{', '.join(map(quote, user.groups))}}}" if user.groups else "[]string(nil)"
    entries = (f"{quote(key)}:[]string{{{', '.join(map(quote, user.extra[key]))}}}" for key in sorted(user.extra))
    extra = f"map[string][]string{{{', '.join(entries)}}}" if user.extra else "map[string][]string(nil)"
    return f"&user.DefaultInfo{{Name:{quote(user.name)}, UID:{quote(user.uid)}, Groups:{groups}, Extra:{extra}}}"
