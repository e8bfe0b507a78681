"""The built-in kinds: which there are, and what they may look like, read from `data/` when first asked for.

The files are facts of a real server (`tests/realserver/facts.py` writes them): its aggregated discovery, its `/openapi/v3`
documents without descriptions, the columns of its tables, and what an empty cluster holds.
"""

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded.schema import ListType, Schema
from manager.embedded.served import Column, Served

DATA = Path(__file__).with_name("data")
SUFFIX = ".json.z"
DISCOVERY = f"discovery{SUFFIX}"
COLUMNS = f"columns{SUFFIX}"
BOOTSTRAP = f"bootstrap{SUFFIX}"

_REFERENCE = "#/components/schemas/"
_CONSTRAINTS = ("enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_GVK = "x-kubernetes-group-version-kind"


def root(group: str, version: str) -> str:
    """The path under which a group version is served: `/api/v1`, `/apis/apps/v1`."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def document_file(group: str, version: str) -> str:
    """The name of the file that holds a group version's document."""
    return f"openapi-{group or 'core'}-{version}{SUFFIX}"


def pack(text: bytes) -> bytes:
    """As the files are kept."""
    return zlib.compress(text, 9)


def builtin() -> list[Served]:
    """All built-in kinds, in the order of the server's discovery. Their schemas are read when first looked at."""
    return list(_builtin())


def versions() -> list[tuple[str, str]]:
    """The group versions of the built-in kinds, in the order of discovery."""
    return [(_group(item), item["versions"][0]["version"]) for item in discovery()]


def discovery() -> list[Manifest]:
    """The `items` of the aggregated discovery of the built-in kinds, `/api` first; read anew, so the caller may change them."""
    items: list[Manifest] = _read(DISCOVERY)
    return items


def bootstrap() -> list[Manifest]:
    """What an empty cluster holds: default roles and bindings, flow schemas, priority classes; without rules where aggregated."""
    items: list[Manifest] = _read(BOOTSTRAP)
    return items


def openapi_document(group: str, version: str) -> bytes | None:
    """The `/openapi/v3` document of a built-in group version, without descriptions; None for others."""
    return unpack(document_file(group, version)) if (group, version) in versions() else None


def definition(group: str, version: str, kind: str, *, within: tuple[str, str] | None = None) -> Schema | None:
    """The schema of a kind, looked up in its own document or in that of `within`: a Scale stands in the one of apps/v1."""
    holder = within or (group, version)
    name = _kinds(*holder).get((group, version, kind)) if holder in versions() else None
    return _node(holder, name) if name else None


def metadata() -> Schema:
    """The schema of ObjectMeta."""
    return _node(("", "v1"), "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def unpack(name: str) -> bytes:
    """The text of a file of `data/`."""
    return zlib.decompress((DATA / name).read_bytes())


def _read(name: str) -> Any:
    return orjson.loads(unpack(name))


@cache
def _builtin() -> tuple[Served, ...]:
    columns = _read(COLUMNS)
    return tuple(_served(item, resource, columns) for item in discovery() for resource in item["versions"][0]["resources"])


def _group(item: Manifest) -> str:
    name: str = item["metadata"].get("name", "")
    return name


def _served(item: Manifest, resource: Manifest, columns: Mapping[str, Any]) -> Served:
    group, version = _group(item), item["versions"][0]["version"]
    plural, kind = resource["resource"], resource["responseKind"]["kind"]
    return Served(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=resource["scope"] == "Namespaced",
        singular=resource["singularResource"],
        short_names=tuple(resource.get("shortNames", ())),
        categories=tuple(resource.get("categories", ())),
        verbs=frozenset(resource["verbs"]),
        subresources=frozenset(each["subresource"] for each in resource.get("subresources", ())),
        storage=version,
        schema=Later((group, version), (group, version, kind)),
        columns=tuple(_column(each) for each in columns.get(f"{plural}.{group}" if group else plural, ())),
    )


def _column(column: Manifest) -> Column:
    return Column(column["name"], column["type"], "", column.get("priority", 0), column.get("format", ""))


class Later(Schema):
    """The schema of a kind that is read when first looked at: a server starts with seventy kinds and uses ten of them."""

    __slots__ = ("_holder", "_wanted")

    def __init__(self, holder: tuple[str, str], wanted: tuple[str, str, str]) -> None:
        self._holder = holder
        self._wanted = wanted

    def __getattr__(self, name: str) -> Any:
        """Called for what is not filled yet, which is everything until the first call."""
        if name.startswith("_"):
            raise AttributeError(name)
        real = definition(*self._wanted, within=self._holder)
        if real is None:
            raise AttributeError(f"no schema of {self._wanted} in the document of {self._holder}")
        for each in Schema.__slots__:
            setattr(self, each, getattr(real, each))
        return getattr(self, name)

    def __repr__(self) -> str:
        group, version, kind = self._wanted
        return f"Later({kind}.{version}.{group})"


@cache
def _definitions(group: str, version: str) -> Mapping[str, Any]:
    definitions: Mapping[str, Any] = _read(document_file(group, version))["components"]["schemas"]
    return definitions


@cache
def _kinds(group: str, version: str) -> Mapping[tuple[str, str, str], str]:
    """Which definition describes a kind."""
    return dict(_described(_definitions(group, version)))


def _described(definitions: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    for name, definition in definitions.items():
        for each in definition.get(_GVK, ()):
            yield (each["group"], each["version"], each["kind"]), name


_nodes: dict[tuple[tuple[str, str], str], Schema] = {}


def _node(holder: tuple[str, str], name: str) -> Schema:
    """The node of a definition, one per document, known before it is filled: JSONSchemaProps contains itself."""
    if (holder, name) not in _nodes:
        node = _nodes[holder, name] = Schema(reference=name)
        _fill(node, _definitions(*holder)[name], holder)
    return _nodes[holder, name]


def _child(raw: Mapping[str, Any], holder: tuple[str, str]) -> Schema:
    """A node below another one. What stands beside a reference is this place's own: defaults, list types, patch strategies."""
    name = _referred(raw)
    if name is None:
        node = Schema()
        _fill(node, raw, holder)
        return node
    target = _node(holder, name)
    own = {key: value for key, value in raw.items() if key not in ("$ref", "allOf")}
    if not own:
        return target
    return Beside(target, own)


class Beside(Schema):
    """A reference with words of its own; what it does not say is what the node that it refers to says, once that is filled."""

    __slots__ = ("_own", "_target")

    def __init__(self, target: Schema, own: Mapping[str, Any]) -> None:
        self._target = target
        self._own = own

    def __getattr__(self, name: str) -> Any:
        """Called for what is not filled yet: a node that is being read may contain a reference to itself."""
        if name.startswith("_"):
            raise AttributeError(name)
        for each in Schema.__slots__:
            setattr(self, each, getattr(self._target, each))
        _say(self, self._own)
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"Beside({self._target!r})"


def _referred(raw: Mapping[str, Any]) -> str | None:
    whole = raw if "$ref" in raw else next(iter(raw.get("allOf", ())), {})
    reference: str | None = whole.get("$ref")
    return reference.removeprefix(_REFERENCE) if reference else None


def _fill(node: Schema, raw: Mapping[str, Any], holder: tuple[str, str]) -> None:
    node.type = raw.get("type", "")
    node.properties = {name: _child(each, holder) for name, each in raw.get("properties", {}).items()}
    if "items" in raw:
        node.items = _child(raw["items"], holder)
    if "additionalProperties" in raw:
        node.additional = _child(raw["additionalProperties"], holder)
    node.required = tuple(raw.get("required", ()))
    # Quantity is a string or a number, and has no type; IntOrString says what it is by its format.
    node.int_or_string = raw.get("format") == "int-or-string"
    # FieldsV1, RawExtension: an object of which nothing more is known. An empty schema (JSON) is anything.
    node.preserve_unknown = _open(raw)
    _say(node, raw)


def _open(raw: Mapping[str, Any]) -> bool:
    named = any(key in raw for key in ("properties", "additionalProperties", "items", "oneOf"))
    return not named and raw.get("type", "object") == "object"


def _say(node: Schema, raw: Mapping[str, Any]) -> None:
    """The words that may stand at a definition and at a place that refers to it."""
    if "x-kubernetes-list-type" in raw:
        node.list_type = ListType(raw["x-kubernetes-list-type"])
    if "x-kubernetes-list-map-keys" in raw:
        node.list_keys = tuple(raw["x-kubernetes-list-map-keys"])
    if "x-kubernetes-map-type" in raw:
        node.atomic = raw["x-kubernetes-map-type"] == "atomic"
    if "default" in raw:
        node.default, node.has_default = raw["default"], True
    node.patch_strategy = raw.get("x-kubernetes-patch-strategy", node.patch_strategy)
    node.patch_key = raw.get("x-kubernetes-patch-merge-key", node.patch_key)
    node.format = raw.get("format", node.format)
    constraints = {key: raw[key] for key in _CONSTRAINTS if key in raw}
    if constraints:
        node.constraints = {**node.constraints, **constraints}
