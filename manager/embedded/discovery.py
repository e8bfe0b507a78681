"""What is served, as the server tells: `/api`, `/apis`, aggregated or by group, `/openapi/v3`, `/version`."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

import orjson

from apis.meta import Manifest
from manager.embedded import openapi
from manager.embedded.registry import Registry
from manager.embedded.request import Response
from manager.embedded.served import Served

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERSION = "1.36"

_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_SUBRESOURCE_VERBS = ["get", "patch", "update"]


class Discovery:
    """The documents, made once for each state of the registry."""

    def __init__(self, registry: Registry, document: Callable[[Iterable[Served]], Manifest]) -> None:
        self._registry = registry
        self._document = document
        self._builtin = [_known(item, registry) for item in openapi.discovery()]
        self._made: dict[str, bytes] = {}
        self._version = -1

    def aggregated(self, root: str) -> bytes:
        """The APIGroupDiscoveryList of `api` or `apis`."""
        items = self._items
        chosen = [item for item in items if bool(item["metadata"].get("name")) == (root == "apis")]
        listed = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": chosen}
        return self._once(f"aggregated {root}", lambda: listed)

    def groups(self) -> bytes:
        """The APIGroupList of `/apis`."""
        groups = [_group(item) for item in self._items if item["metadata"].get("name")]
        return self._once("groups", lambda: {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def group(self, name: str) -> bytes | None:
        """The APIGroup of `/apis/<name>`, or None."""
        found = next((item for item in self._items if item["metadata"].get("name") == name), None)
        return None if found is None else orjson.dumps({"kind": "APIGroup", "apiVersion": "v1"} | _group(found))

    def resources(self, group: str, version: str) -> bytes | None:
        """The APIResourceList of a group version, or None."""
        found = next((item for item in self._items if item["metadata"].get("name", "") == group), None)
        entry = next((each for each in found["versions"] if each["version"] == version), None) if found else None
        if entry is None:
            return None
        api_version = f"{group}/{version}" if group else version
        listed = [line for resource in entry["resources"] for line in _lines(resource)]
        head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {}) | {"groupVersion": api_version}
        return self._once(f"resources {api_version}", lambda: head | {"resources": listed})

    def openapi_index(self) -> bytes:
        """The index of `/openapi/v3`: each path with a hash that changes when its document does."""
        paths = [
            openapi.root(group, version).lstrip("/")
            for group, versions in self._registry.groups().items()
            for version in versions
        ]
        index = {path: {"serverRelativeURL": f"/openapi/v3/{quote(path)}?hash={self._hash(path)}"} for path in sorted(paths)}
        return self._once("openapi", lambda: {"paths": index})

    def openapi_document(self, path: str) -> bytes | None:
        """The document of `api/v1` or `apis/<group>/<version>`, or None."""
        parts = path.split("/")
        group, version = ("", parts[-1]) if parts[0] == "api" and len(parts) == 2 else ("/".join(parts[1:-1]), parts[-1])
        own = openapi.openapi_document(group, version)
        if own is not None:
            return own
        defined = self._registry.defined(group, version)
        return self._once(f"document {path}", lambda: self._document(defined)) if defined else None

    # Parts.

    @cached_property
    def _facts(self) -> Mapping[str, str]:
        """Built-in documents do not change, so their place in the data does for a hash."""
        return {
            openapi.root(*each).lstrip("/"): _digest(openapi.unpack(openapi.document_file(*each))) for each in openapi.versions()
        }

    def _hash(self, path: str) -> str:
        return self._facts.get(path) or _digest(self.openapi_document(path) or b"")

    @property
    def _items(self) -> list[Manifest]:
        self._refresh()
        return self._listed

    def _refresh(self) -> None:
        if self._version == self._registry.version:
            return
        self._version = self._registry.version
        self._made.clear()
        self._listed = [*self._builtin, *self._custom()]

    def _custom(self) -> Iterable[Manifest]:
        builtin = {item["metadata"].get("name", "") for item in self._builtin}
        for group, versions in self._registry.groups().items():
            if group not in builtin:
                yield {"metadata": {"name": group}, "versions": [self._entry(group, version) for version in versions]}

    def _entry(self, group: str, version: str) -> Manifest:
        served = sorted(self._registry.defined(group, version), key=lambda each: each.plural)
        return {"version": version, "resources": [_resource(each) for each in served], "freshness": "Current"}

    def _once(self, key: str, make: Callable[[], Any]) -> bytes:
        self._refresh()
        if key not in self._made:
            self._made[key] = orjson.dumps(make())
        return self._made[key]


def _known(item: Manifest, registry: Registry) -> Manifest:
    """A built-in group with what the server serves of it."""
    group = item["metadata"].get("name", "")

    def served(version: Manifest) -> list[Manifest]:
        return [each for each in version["resources"] if registry.find(group, version["version"], each["resource"]) is not None]

    return item | {"versions": [version | {"resources": served(version)} for version in item["versions"]]}


def version() -> bytes:
    """The answer of `/version`."""
    major, minor = VERSION.split(".")
    facts = {"major": major, "minor": minor, "gitVersion": f"v{VERSION}.3+copyhold", "platform": "python"}
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2)


_SWAGGER = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": f"v{VERSION}"}, "paths": {}}
_SWAGGER_PROTOBUF = b"\n\x032.0\x12\x13\n\nKubernetes\x12\x05v%b" % VERSION.encode()
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def openapi_v2(accept: str) -> Response:
    """The older document, empty: kubectl reads it only for a kind that `/openapi/v3` does not know."""
    if "protobuf" in accept:
        return Response(200, _SWAGGER_PROTOBUF, _PROTOBUF)
    return Response(200, orjson.dumps(_SWAGGER))


def _digest(document: bytes) -> str:
    return hashlib.sha512(document).hexdigest().upper()


def _group(item: Manifest) -> Manifest:
    name = item["metadata"]["name"]
    versions = [{"groupVersion": f"{name}/{each['version']}", "version": each["version"]} for each in item["versions"]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resource(served: Served) -> Manifest:
    """A custom resource in aggregated discovery."""
    own = {"group": served.group, "version": served.version, "kind": served.kind}
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    kinds = {"status": own, "scale": scale}
    subresources = [
        {"subresource": name, "responseKind": kind, "verbs": _SUBRESOURCE_VERBS}
        for name, kind in kinds.items()
        if name in served.subresources
    ]
    return (
        {
            "resource": served.plural,
            "responseKind": own,
            "scope": "Namespaced" if served.namespaced else "Cluster",
            "singularResource": served.singular,
            "verbs": _CUSTOM_VERBS,
        }
        | ({"shortNames": list(served.short_names)} if served.short_names else {})
        | ({"categories": list(served.categories)} if served.categories else {})
        | ({"subresources": subresources} if subresources else {})
    )


def _lines(resource: Manifest) -> Iterable[Manifest]:
    """A resource and its subresources in an APIResourceList, from their entry in the aggregated form."""
    namespaced = resource["scope"] == "Namespaced"
    further = {key: resource[key] for key in ("shortNames", "categories") if key in resource}
    yield {
        "name": resource["resource"],
        "singularName": resource["singularResource"],
        "namespaced": namespaced,
        "kind": resource["responseKind"]["kind"],
        "verbs": resource["verbs"],
    } | further
    for each in resource.get("subresources", ()):
        kind = each["responseKind"]
        foreign = kind["group"] and kind != resource["responseKind"]
        yield {
            "name": f"{resource['resource']}/{each['subresource']}",
            "singularName": "",
            "namespaced": namespaced,
            **({"group": kind["group"], "version": kind["version"]} if foreign else {}),
            "kind": kind["kind"],
            "verbs": each["verbs"],
        }
