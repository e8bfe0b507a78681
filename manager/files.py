"""A folder of manifests as a World: what its files hold is what is there, and nothing else.

| Question | Answer |
| --- | --- |
| which kinds | Kubernetes' own (`manager.wellknown`), ours, and those of the CustomResourceDefinitions in the files |
| which objects | those of the files; a namespace that an object of the files lives in is there too |
| who may read | everybody: files know no RBAC |

An unknown kind is never taken for namespaced: whoever asks for it is told to add its CustomResourceDefinition. Objects of unknown
kinds in the files disturb nobody, since nothing can ask for them.

`Overlaid` is a server with such files on top: parents, Tenants, namespaces and CustomResourceDefinitions of the files are taken
as if they had been applied; other objects in the files are left out, because the server knows better what is there.
"""

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import orjson

from apis.kind import find
from apis.meta import Key, Manifest, Ref, split_api_version
from apis.problems import Blocked, Gone, Invalid
from apis.reasons import Reason
from apis.selector import Requirement, Selector
from manager.render.text import Unreadable, documents
from manager.wellknown import VERBS, well_known
from manager.world import Actor, Listing, Resource, World
from policy.tenancy import labels_of

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"
LARGEST = 64 * 1024 * 1024
"""Characters of one document."""

VERSION = "2"
"""The resourceVersion of an object that has none: a server never gives less, and `1` means "create only"."""

NAMESPACE = Resource("", "v1", "Namespace", "namespaces", False, VERBS)


@dataclass(frozen=True, slots=True)
class Found:
    """One object of a file, and where it stands: `baseline.yaml line 12`."""

    manifest: Manifest
    where: str


# From paths to objects.


def read(paths: Iterable[str]) -> list[Found]:
    """The objects of these files, folders (with all below them) and `-` (standard input), in order; Lists are taken apart.

    Raises Invalid, naming file and line, for what cannot be read or is no Kubernetes object.
    """
    return [found for path in paths for name, text in _texts(path) for found in _objects(name, text)]


def _texts(path: str) -> Iterator[tuple[str, str]]:
    if path == STDIN:
        yield "standard input", sys.stdin.read()
        return
    place = Path(path)
    if not place.exists():
        raise Invalid(Reason.INVALID, f"{path}: no such file or folder")
    files = sorted(_below(place)) if place.is_dir() else [place]
    if not files:
        raise Invalid(Reason.INVALID, f"{path}: holds no file that ends in {', '.join(SUFFIXES)}")
    for file in files:
        try:
            yield str(file), file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise Invalid(Reason.INVALID, f"{file}: is not text in UTF-8") from error
        except OSError as error:
            raise Invalid(Reason.INVALID, f"{file}: cannot be read: {error.strerror}") from error


def _below(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.suffix in SUFFIXES and file.is_file() and not hidden:
            yield file


def _objects(name: str, text: str) -> Iterator[Found]:
    try:
        for line, value in _documents(name, text):
            if value is not None:
                yield from _taken_apart(Found(value, f"{name} line {line}"))
    except Unreadable as error:
        raise Invalid(Reason.INVALID, f"{name} line {error.line}: {error.message}") from error


def _documents(name: str, text: str) -> Iterator[tuple[int, Any]]:
    if not name.endswith(".json"):
        yield from documents(text, LARGEST)
        return
    try:
        yield 1, orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Unreadable(error.lineno, error.msg) from error


def _taken_apart(found: Found) -> Iterator[Found]:
    manifest = found.manifest
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(field), str) for field in ("apiVersion", "kind")):
        raise Invalid(Reason.INVALID, f"{found.where}: is no Kubernetes object: apiVersion and kind are missing")
    if manifest["kind"].endswith("List") and isinstance(manifest.get("items"), list):
        for position, item in enumerate(manifest["items"]):
            yield from _taken_apart(Found(item, f"{found.where} items[{position}]"))
        return
    if manifest["apiVersion"].startswith("kustomize.config.k8s.io/"):
        message = "is an instruction to kustomize: give its output instead, `kustomize build DIR | copyhold plan -f -`"
        raise Invalid(Reason.INVALID, f"{found.where}: {message}")
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise Invalid(Reason.INVALID, f"{found.where}: {manifest['kind']}: metadata.name is missing")
    yield found


# The World.


class Folder:
    """Implements World over objects that were read from files. Each has a UID and a resourceVersion, made up if need be."""

    def __init__(self, found: Iterable[Found] = ()) -> None:
        """Raises Invalid when an object is there twice, or lives in no namespace although its kind needs one."""
        objects = list(found)
        definitions = [item.manifest for item in objects if _defines(item.manifest)]
        self.declared = tuple(declared(definitions))
        self._stated = dict(_stated(definitions))
        self._kinds: dict[tuple[str, str], tuple[Resource, ...]] = {}
        for resource in (*well_known(), *self.declared):
            known = self._kinds.get((resource.group, resource.kind), ())
            self._kinds[resource.group, resource.kind] = (*known, resource)
        self._objects: dict[Key, Manifest] = {}
        places: dict[Key, str] = {}
        for item in objects:
            manifest = self._completed(item)
            key = Ref.of(manifest).key
            if key in places:
                raise Invalid(Reason.INVALID, f"{item.where}: {key} stands in {places[key]} already: remove one of them")
            places[key] = item.where
            self._objects[key] = manifest
        for space in sorted({key.namespace for key in self._objects} - {""}):
            implied = Found({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, "")
            self._objects.setdefault(Key("", "Namespace", "", space), self._completed(implied))

    def _completed(self, found: Found) -> Manifest:
        """The object with what a server would have added, as far as anything here looks at it."""
        manifest = found.manifest
        ref = Ref.of(manifest)
        namespace = ref.namespace
        served = self._kinds.get((ref.group, ref.kind))
        if served and served[0].namespaced and not namespace:
            raise Invalid(Reason.INVALID, f"{found.where}: {ref}: metadata.namespace is missing: files have no default namespace")
        if served and not served[0].namespaced:
            namespace = ""
        uid = str(uuid5(NAMESPACE_URL, str(replace(ref, namespace=namespace).key)))
        metadata = {"uid": uid, "resourceVersion": VERSION, "generation": 1, **manifest["metadata"], "namespace": namespace}
        if not namespace:
            del metadata["namespace"]
        if (ref.group, ref.kind) == ("", "Namespace"):
            metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": ref.name}
        return {**manifest, "metadata": metadata}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The kind, if it is well known or a CustomResourceDefinition of the files declares it; else Blocked(KindUnknown)."""
        group, version = split_api_version(api_version)
        for resource in self._kinds.get((group, kind), ()):
            if resource.version == version:
                return resource
        raise _unknown(f"{api_version} {kind}")

    async def any_version(self, group: str, kind: str) -> Resource:
        """The kind in the first version that is known; else Blocked(KindUnknown)."""
        served = self._kinds.get((group, kind))
        if not served:
            raise _unknown(f"{kind}.{group}".rstrip("."))
        return served[0]

    async def served(self) -> tuple[Resource, ...]:
        """Every known kind, each in its preferred version."""
        return tuple(versions[0] for versions in self._kinds.values())

    def doubt(self) -> None:
        """Files do not change while they are looked at."""

    async def get(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        actor: Actor | None = None,  # noqa: ARG002 - the protocol's signature
        metadata: bool = False,  # noqa: ARG002
    ) -> Manifest | None:
        """The object of the files, whole, or None."""
        return self.find(resource, namespace, name)

    def find(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """The object of the files, or None."""
        return self._objects.get(Key(resource.group, resource.kind, namespace if resource.namespaced else "", name))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        actor: Actor | None = None,  # noqa: ARG002 - the protocol's signature
        metadata: bool = False,  # noqa: ARG002
    ) -> Listing:
        """The objects of the files that match, ordered by namespace and name. `fields` may only name `metadata.name`."""
        return Listing(list(self.select(resource, namespace, labels, fields)), VERSION)

    def select(self, resource: Resource, namespace: str = "", labels: str = "", fields: str = "") -> Iterator[Manifest]:
        """The objects of a kind that match, ordered by namespace and name. Raises Invalid for selectors that it cannot read."""
        selector, name = selector_of(labels), _named(fields)
        for key, manifest in sorted(self._objects.items()):
            if (key.group, key.kind) != (resource.group, resource.kind) or (namespace and key.namespace != namespace):
                continue
            if name in ("", key.name) and selector.matches(labels_of(manifest)):
                yield manifest

    def schemas(self) -> Iterator[tuple[str, tuple[str, Manifest]]]:
        """Every known kind as (`apis/apps/v1`, (name, OpenAPI schema))."""
        for resource in (resource for versions in self._kinds.values() for resource in versions):
            stated = self._stated.get((resource.group, resource.version, resource.kind), {})
            strings = {} if resource.group else _STRINGS.get(resource.kind, {})
            properties = {**stated.get("properties", {}), **strings, "metadata": _METADATA}
            names = [{"group": resource.group, "version": resource.version, "kind": resource.kind}]
            place = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
            schema = {**stated, "properties": properties, "x-kubernetes-group-version-kind": names}
            yield place, (f"{resource.group}.{resource.kind}", schema)


def _unknown(kind: str) -> Blocked:
    message = f"{kind}: the files do not say what this kind is: add its CustomResourceDefinition to -f, or correct the name"
    return Blocked(Reason.KIND_UNKNOWN, message)


def _defines(manifest: Manifest) -> bool:
    """Is it the CustomResourceDefinition of a kind that is not ours? Of ours, our own model is what we understand."""
    if manifest["kind"] != "CustomResourceDefinition" or not manifest["apiVersion"].startswith("apiextensions.k8s.io/"):
        return False
    spec = manifest.get("spec") or {}
    return find(spec.get("group", ""), (spec.get("names") or {}).get("kind", "")) is None


def declared(definitions: Iterable[Manifest]) -> Iterator[Resource]:
    """The kinds of the CustomResourceDefinitions, the stored version of each first."""
    for manifest in definitions:
        spec = manifest.get("spec") or {}
        names = spec.get("names") or {}
        for version in sorted(_versions(manifest), key=lambda one: not one.get("storage", False)):
            try:
                yield Resource(
                    spec["group"], version["name"], names["kind"], names["plural"], spec["scope"] == "Namespaced", VERBS
                )
            except KeyError as error:
                message = f"CustomResourceDefinition {manifest['metadata']['name']}: field {error} is missing"
                raise Invalid(Reason.INVALID, message) from error


def _stated(definitions: Iterable[Manifest]) -> Iterator[tuple[tuple[str, str, str], Manifest]]:
    """(group, version, kind) and schema of each version of the CustomResourceDefinitions."""
    for manifest in definitions:
        spec = manifest["spec"]
        for version in _versions(manifest):
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            yield (spec["group"], version["name"], spec["names"]["kind"]), schema


def _versions(definition: Manifest) -> list[Manifest]:
    versions = (definition.get("spec") or {}).get("versions") or ()
    return [version for version in versions if version.get("served", True)]


def _named(fields: str) -> str:
    place, _, name = fields.partition("=")
    if fields and place != "metadata.name":
        raise Invalid(Reason.INVALID, f"field selector {fields!r}: files can only be asked for metadata.name=NAME")
    return name


def selector_of(text: str) -> Selector:
    """The text form of a label selector: `a=b,c in (d,e),f,!g`. Raises Invalid."""
    return Selector(tuple(_requirement(part) for part in _parts(text)))


def _parts(text: str) -> Sequence[str]:
    parts: list[str] = []
    depth = 0
    for piece in text.split(","):
        if depth:
            parts[-1] += f",{piece}"
        elif piece.strip():
            parts.append(piece.strip())
        depth += piece.count("(") - piece.count(")")
    return parts


def _requirement(text: str) -> Requirement:
    words = text.split(None, 2)
    if len(words) == 3 and words[1] in ("in", "notin"):
        values = tuple(value.strip() for value in words[2].strip().removeprefix("(").removesuffix(")").split(","))
        return Requirement(words[0], "In" if words[1] == "in" else "NotIn", values)
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, found, value = text.partition(sign)
        if found and key:
            return Requirement(key.strip(), operator, (value.strip(),))
    if len(words) != 1:
        raise Invalid(Reason.INVALID, f"label selector {text!r} cannot be read")
    return Requirement(text[1:], "DoesNotExist") if text.startswith("!") else Requirement(text, "Exists")


# A server with files on top.


class Overlaid:
    """Implements World: the objects of `above` that matter to selecting and planning stand before those of `below`."""

    def __init__(self, below: World, above: Folder) -> None:
        self._below = below
        self._above = above

    async def resource(self, api_version: str, kind: str) -> Resource:
        """As the server says; a kind that it lacks, if it is ours or the files declare it."""
        try:
            return await self._below.resource(api_version, kind)
        except Blocked as problem:
            group, _ = split_api_version(api_version)
            if problem.reason != Reason.KIND_UNKNOWN or not self._declares(group, kind):
                raise
        return await self._above.resource(api_version, kind)

    async def any_version(self, group: str, kind: str) -> Resource:
        """As the server says; a kind that it lacks, if it is ours or the files declare it."""
        try:
            return await self._below.any_version(group, kind)
        except Blocked as problem:
            if problem.reason != Reason.KIND_UNKNOWN or not self._declares(group, kind):
                raise
        return await self._above.any_version(group, kind)

    def _declares(self, group: str, kind: str) -> bool:
        return find(group, kind) is not None or any((one.group, one.kind) == (group, kind) for one in self._above.declared)

    async def served(self) -> tuple[Resource, ...]:
        """As the server says."""
        return await self._below.served()

    def doubt(self) -> None:
        """Passed on to the server."""
        self._below.doubt()

    async def get(
        self, resource: Resource, namespace: str, name: str, *, actor: Actor | None = None, metadata: bool = False
    ) -> Manifest | None:
        """The object as it would be after the files were applied."""
        try:
            live = await self._below.get(resource, namespace, name, actor=actor, metadata=metadata)
        except Gone as problem:
            if problem.what != "kind" or not self._declares(resource.group, resource.kind):
                raise
            live = None
        wanted = self._above.find(resource, namespace, name) if _counts(resource) else None
        return live if wanted is None else updated(live, wanted)

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        actor: Actor | None = None,
        metadata: bool = False,
    ) -> Listing:
        """The objects as they would be after the files were applied."""
        own = list(self._above.select(resource, namespace)) if _counts(resource) else []
        try:
            if not own:
                return await self._below.list(resource, namespace, labels=labels, fields=fields, actor=actor, metadata=metadata)
            # Labels may be those of the files: select afterwards.
            listing = await self._below.list(resource, namespace, actor=actor, metadata=metadata)
        except Gone as problem:
            if problem.what != "kind" or not self._declares(resource.group, resource.kind):
                raise
            listing = Listing([], VERSION)
        live = {Ref.of(item).key: item for item in listing.items}
        wanted = {Ref.of(item).key: updated(live.get(Ref.of(item).key), item) for item in own}
        selector, name = selector_of(labels), _named(fields)
        items = [
            item for key, item in sorted((live | wanted).items()) if selector.matches(labels_of(item)) and name in ("", key.name)
        ]
        return Listing(items, listing.resource_version)


def _counts(resource: Resource) -> bool:
    """Objects of these kinds are taken from the files even where there is a server."""
    return find(resource.group, resource.kind) is not None or (resource.group, resource.kind) == ("", "Namespace")


def updated(live: Manifest | None, wanted: Manifest) -> Manifest:
    """What an object is after it was applied from a file: identity, status and labels that the file does not name stay."""
    if live is None:
        return wanted
    metadata = dict(live["metadata"])
    for field in ("labels", "annotations"):
        both = {**(metadata.get(field) or {}), **(wanted["metadata"].get(field) or {})}
        if both:
            metadata[field] = both
    if "spec" in wanted and wanted["spec"] != live.get("spec"):
        metadata["generation"] = metadata.get("generation", 0) + 1
    status = {"status": live["status"]} if "status" in live else {}
    return {**{key: value for key, value in wanted.items() if key != "status"}, "metadata": metadata, **status}


# Schemas, for `manager.schemas`.

_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_METADATA = {"type": "object", "properties": {"labels": _TEXTS, "annotations": _TEXTS}}
_STRINGS: dict[str, dict[str, Any]] = {
    "ConfigMap": {"data": _TEXTS, "binaryData": _TEXTS},
    "Secret": {"data": _TEXTS, "stringData": _TEXTS, "type": _TEXT},
}


def openapi(folder: Folder) -> Callable[[str], Awaitable[bytes]]:
    """What `Schemas` fetches: of the CustomResourceDefinitions all of it, of other kinds where the commonest strings are."""
    places = {place for place, _ in folder.schemas()}

    async def fetch(path: str) -> bytes:
        if path == "/openapi/v3":
            return orjson.dumps({"paths": {place: {"serverRelativeURL": f"/openapi/v3/{place}"} for place in places}})
        wanted = path.removeprefix("/openapi/v3/")
        return orjson.dumps({"components": {"schemas": dict(pair for place, pair in folder.schemas() if place == wanted)}})

    return fetch
