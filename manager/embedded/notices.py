"""What the server warns of when it takes an object of a definition, or a definition: nothing that is refused."""

from collections.abc import Iterator, Mapping
from typing import Any

from apis.meta import Manifest
from manager.embedded import formats
from manager.embedded.causes import quote
from manager.embedded.kinds.names import qualified
from manager.embedded.served import Served

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
STANDARD = frozenset(("orphan", "foregroundDeletion", "kubernetes"))
ADVICE = "to avoid accidental conflicts with other finalizer writers"

_NUMERIC = {"integer": ("int32", "int64"), "number": ("float", "double")}


def notices(served: Served, new: Manifest, old: Manifest | None = None) -> list[str]:
    """The texts of the Warning headers; of an update, only what it brings."""
    if served.custom:
        return list(_finalizers(new, old))
    if served.resource == DEFINITIONS:
        known = set(_formats(old["spec"])) if old is not None else set()
        return [f"unrecognized format {quote(each)}" for each in _formats(new["spec"]) if each not in known]
    return []


def _finalizers(new: Manifest, old: Manifest | None) -> Iterator[str]:
    before = ((old or {}).get("metadata") or {}).get("finalizers") or ()
    for name in sorted(set(new["metadata"].get("finalizers") or ()) - set(before)):
        place = f"metadata.finalizers: {quote(name)}"
        yield from (f"{place}: {problem}" for problem in qualified(name))
        if "/" not in name and name not in STANDARD:
            path = " including a path (/)" if "." in name else ""
            yield f"{place}: prefer a domain-qualified finalizer name{path} {ADVICE}"


def _formats(spec: Manifest) -> Iterator[str]:
    """The formats that nobody knows, each as often as it stands there; what all versions share is read once."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in spec.get("versions") or ()]
    shared = schemas[:1] if all(schema == schemas[0] for schema in schemas) else schemas
    for schema in shared:
        if schema is not None:
            yield from _unheard(schema)


def _unheard(raw: Mapping[str, Any]) -> Iterator[str]:
    form, kind = raw.get("format") or "", raw.get("type") or ""
    if form and not (formats.known(form) if kind in ("", "string") else form in _NUMERIC.get(kind, ())):
        yield form
    for below in _children(raw):
        yield from _unheard(below)


def _children(raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """In the order in which the server walks: items, junctors, properties, further properties."""
    for word in ("items", "allOf", "anyOf", "oneOf", "not", "properties", "additionalProperties"):
        match raw.get(word):
            case list() as several:
                yield from several
            case dict() as named if word == "properties":
                yield from named.values()
            case dict() as one:
                yield one
