"""The `/openapi/v3` document that the server publishes for a definition.

Its frame, paths and all, is a fact: what a real server published for the definition of `template_definition`, whose names stand
for those of others. `tests/realserver/facts.py` took it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import openapi

SCOPES = ("Namespaced", "Cluster")
GROUP, VERSION, KIND, PLURAL = "frame.copyhold.dev", "v1alpha77", "Placeholder", "placeholders"
METADATA = {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}

_ROOT: Manifest = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": METADATA}
_GVK = "x-kubernetes-group-version-kind"


def template_file(scope: str) -> str:
    """The name of the file that holds the frame for a scope."""
    return f"frame-{scope.lower()}{openapi.SUFFIX}"


def template_definition(scope: str) -> Manifest:
    """The definition whose document is the frame."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": KIND.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": names, "versions": [version]},
    }


def openapi_of(crd: Manifest, version: str) -> Manifest:
    """The document of one version of a definition. Raises KeyError for a version that it does not have."""
    spec = crd["spec"]
    found = {each["name"]: each for each in spec["versions"]}[version]
    names = spec["names"]
    document: Manifest = orjson.loads(_renamed(_frame(spec["scope"]), spec["group"], version, names))
    subresources = found.get("subresources") or {}
    for name in ("status", "scale"):
        if subresources.get(name) is None:
            document["paths"] = {path: item for path, item in document["paths"].items() if not path.endswith(f"}}/{name}")}
    place = definition_name(spec["group"], version, names["kind"])
    schemas = document["components"]["schemas"]
    raw = (found.get("schema") or {}).get("openAPIV3Schema") or {"x-kubernetes-preserve-unknown-fields": True}
    schemas[place] = _resource(_published(raw)) | {"type": "object", _GVK: schemas[place][_GVK]}
    return document


def definition_name(group: str, version: str, kind: str) -> str:
    """What the definition of a kind is called: `dev.copyhold.v1alpha1.Tenant`."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def merged(documents: Iterable[Manifest]) -> Manifest:
    """One document of several of the same group version. Raises ValueError when there is none."""
    first, *others = list(documents) or [{}]
    if not first:
        raise ValueError("there is no document to merge")
    paths, schemas = dict(first["paths"]), dict(first["components"]["schemas"])
    for other in others:
        paths |= other["paths"]
        schemas |= other["components"]["schemas"]
    return first | {"paths": paths, "components": first["components"] | {"schemas": schemas}}


@cache
def _frame(scope: str) -> str:
    return openapi.unpack(template_file(scope)).decode()


def _renamed(text: str, group: str, version: str, names: Mapping[str, Any]) -> str:
    """The frame under other names, as they are written in paths, references, tags and operation ids."""
    camel = "".join(word[:1].upper() + word[1:] for word in re.split(r"[.-]", group))
    own = "".join(word[:1].upper() + word[1:] for word in GROUP.split("."))
    for before, after in (
        (definition_name(GROUP, VERSION, ""), definition_name(group, version, "")),
        (GROUP, group),
        (own + VERSION.capitalize(), camel + version.capitalize()),
        (own[:1].lower() + own[1:], camel[:1].lower() + camel[1:]),
        (VERSION, version),
        (f"{KIND}List", names.get("listKind") or f"{names['kind']}List"),
        (KIND, names["kind"]),
        (PLURAL, names["plural"]),
    ):
        text = text.replace(before, after)
    return text


def _resource(schema: Manifest) -> Manifest:
    return schema | {"properties": dict(sorted(((schema.get("properties") or {}) | _ROOT).items()))}


def _published(raw: Any) -> Any:
    """A schema as it is published: int-or-string spelled out, and what every resource has where one stands inside."""
    if isinstance(raw, list):
        return [_published(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    shown = {word: _below(word, value) for word, value in raw.items()}
    if raw.get("x-kubernetes-int-or-string") and not raw.get("type"):
        spelled = [{"type": "integer"}, {"type": "string"}]
        if not raw.get("anyOf"):
            shown["anyOf"] = spelled
        elif raw["anyOf"] != spelled:
            shown["allOf"] = [{"anyOf": spelled}, *(shown.get("allOf") or [])]
    if raw.get("x-kubernetes-embedded-resource"):
        shown = _resource(shown) | {"required": [*(raw.get("required") or []), "kind", "apiVersion"]}
    return shown


def _below(word: str, value: Any) -> Any:
    if word == "properties":
        return {name: _published(each) for name, each in value.items()}
    return value if word in ("default", "enum", "example", "required") else _published(value)
