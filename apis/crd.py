"""From a pydantic model to a structural CustomResourceDefinition, as the API server accepts it."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from apis.kind import Column, Kind
from apis.meta import Manifest, Model

Schema: TypeAlias = dict[str, Any]

CATEGORY = "copyhold"
"""`kubectl get copyhold` lists objects of all our kinds."""

_ROOT: Schema = {
    "apiVersion": {"description": "The group and version of this representation of the object.", "type": "string"},
    "kind": {"description": "The kind of the object.", "type": "string"},
    "metadata": {"type": "object"},
}


class NotStructural(TypeError):
    """The model says something that a structural schema cannot: a mistake in the model, never of a user."""


def crd(kind: Kind) -> Manifest:
    """The CustomResourceDefinition of a kind, with one version, served and stored. Raises NotStructural."""
    names: Manifest = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": list(kind.short_names),
        "categories": [CATEGORY],
    }
    version: Manifest = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": _object(kind.model)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "names": {key: value for key, value in names.items() if value},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version | ({"subresources": {"status": {}}} if kind.status else {})],
        },
    }


def structural(model: type[Model]) -> Schema:
    """The structural schema of a model: no references, titles or null; defaults and descriptions stay. Raises NotStructural."""
    schema = model.model_json_schema(by_alias=True)
    return _convert(schema, schema.get("$defs", {}), model.__name__)


def _object(model: type[Model]) -> Schema:
    """The schema of the whole object: what every object has, then the fields of the model."""
    schema = structural(model)
    return schema | {"properties": _ROOT | schema["properties"]}


def _column(column: Column) -> Manifest:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return shown | ({"priority": column.priority} if column.priority else {})


def _convert(schema: Schema, definitions: Mapping[str, Schema], place: str) -> Schema:
    """One schema and all below it. `place` is where it stands, for the message."""
    flat, below = _flat(schema, definitions, place)
    out: Schema = {}
    for keyword, value in flat.items():
        if keyword.startswith("x-kubernetes-"):
            out[keyword] = deepcopy(value)
        elif keyword not in _KEYWORDS:
            raise NotStructural(f"{place}: a structural schema has no {keyword}")
        else:
            out |= _KEYWORDS[keyword](value, below, place)
    if out.get("type") == "integer":
        out.setdefault("format", "int64")
    if "default" in out:
        out = _with_short_default(out)
    return dict(sorted(out.items(), key=lambda entry: _ORDER.get(entry[0], len(_ORDER))))


def _flat(schema: Schema, definitions: Mapping[str, Schema], place: str) -> tuple[Schema, Mapping[str, Schema]]:
    """Without `$ref` and without the `null` of an optional field; what stands beside them wins.

    Also answers the definitions that may be used further down: a model that is used inside itself has no end.
    """
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "allOf")}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in definitions:
            raise NotStructural(f"{place}: {name} holds itself, and a structural schema has an end")
        meant, below = _flat(definitions[name], {key: value for key, value in definitions.items() if key != name}, place)
        return meant | beside, below
    choices = [one for one in schema.get("anyOf") or schema.get("allOf") or [] if one.get("type") != "null"]
    if len(choices) > 1:
        raise NotStructural(f"{place}: a field has one type in a structural schema, not {len(choices)}")
    if choices:
        meant, below = _flat(choices[0], definitions, place)
        return meant | beside, below
    return beside, definitions


def _with_short_default(schema: Schema) -> Schema:
    """A default that says something: not null, not an empty list; of an object only what its own fields do not default to."""
    default = schema["default"]
    properties = schema.get("properties")
    if isinstance(default, dict) and properties is not None:
        said = {key: value for key, value in default.items() if value not in (None, [], {}, properties[key].get("default"))}
        return schema | {"default": said}
    if default in (None, [], {}):
        return {key: value for key, value in schema.items() if key != "default"}
    return schema


_Converter: TypeAlias = Callable[[Any, Mapping[str, Schema], str], Schema]


def _same(keyword: str) -> _Converter:
    # Copied: one model stands in many places, and a YAML writer would turn what is shared into aliases.
    return lambda value, _, __: {keyword: deepcopy(value)}


def _nothing(_: Any, __: Mapping[str, Schema], ___: str) -> Schema:
    return {}


def _description(value: str, _: Mapping[str, Schema], __: str) -> Schema:
    # Docstrings are broken where the source is; the reader's terminal breaks lines itself.
    return {"description": " ".join(value.split())}


def _properties(value: Mapping[str, Schema], definitions: Mapping[str, Schema], place: str) -> Schema:
    return {"properties": {name: _convert(schema, definitions, f"{place}.{name}") for name, schema in value.items()}}


def _items(value: Schema, definitions: Mapping[str, Schema], place: str) -> Schema:
    return {"items": _convert(value, definitions, f"{place}[]")}


def _additional(value: Schema | bool, definitions: Mapping[str, Schema], place: str) -> Schema:
    """`false` is what a structural schema means anyway, by pruning; `true` has a word of its own."""
    if isinstance(value, bool):
        return {"x-kubernetes-preserve-unknown-fields": True} if value else {}
    return {"additionalProperties": _convert(value, definitions, f"{place}{{}}")}


_KEPT = (
    "type",
    "format",
    "enum",
    "default",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
)

_KEYWORDS: dict[str, _Converter] = {
    **{keyword: _same(keyword) for keyword in _KEPT},
    "$defs": _nothing,
    "title": _nothing,
    "description": _description,
    "const": lambda value, _, __: {"enum": [value]},
    "properties": _properties,
    "items": _items,
    "additionalProperties": _additional,
}

# What a reader looks for first stands first; the rest follows in the order in which the model gives it.
_ORDER = {
    keyword: place for place, keyword in enumerate(("description", "type", "format", "enum", "default", "required", "pattern"))
}
