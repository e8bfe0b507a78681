"""A request and its answers as data: what HTTP says, without HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qs

Headers = Sequence[tuple[str, str]]
"""As they came: name and value."""

JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """What a client asks. `path` is decoded, `query` is the text after the question mark."""

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    body: bytes = b""

    @cached_property
    def parameters(self) -> dict[str, list[str]]:
        """The query, decoded."""
        return parse_qs(self.query, keep_blank_values=True) if self.query else {}

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, or ""."""
        return self.parameters[name][0] if name in self.parameters else ""

    def flag(self, name: str) -> bool:
        """A boolean parameter, as the server converts it: anything but false and 0 is true, also nothing."""
        return name in self.parameters and self.parameter(name).lower() not in ("false", "0")

    def header(self, name: str) -> str:
        """The first value of a header, named in lower case, or ""."""
        return self._named.get(name, "")

    @cached_property
    def _named(self) -> dict[str, str]:
        return {name.lower(): value for name, value in reversed(self.headers)}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. `warnings` go out as Warning headers (code 299)."""

    status: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


# What the path says, https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class Place:
    """The resource that a path names, and the verb that RBAC judges. `collection` is True when no name is given."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # what follows the subresource: a proxied path


def place(request: Request) -> Place | None:
    """The resource a request is about, or None for a path that is none (`/healthz`, `/apis/apps`)."""
    parts = request.path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    if "" in parts:
        return None
    verb = ""
    if parts[0] == "watch" and request.method == "GET" and len(parts) > 1:  # the old form of a watch
        verb, parts = "watch", parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        # The namespace itself and its subresources are in their own namespace.
        if len(parts) > 2 and not (len(parts) == 3 and parts[2] in ("status", "finalize")):
            parts = parts[2:]
    resource, name, subresource = (*parts[:3], "", "")[:3] if len(parts) > 1 else (parts[0], "", "")
    rest = "/".join(parts[3:])
    return Place(verb or _verb(request, name), group, version, resource, namespace, name, subresource, rest)


def _verb(request: Request, name: str) -> str:
    if request.method in ("GET", "HEAD"):
        if name:
            return "get"
        return "watch" if request.flag("watch") else "list"
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    return _VERBS.get(request.method, "")
