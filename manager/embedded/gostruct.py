"""Values as the server prints them when it shows the structs it keeps them in: every field, under Go's name, in Go's order."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

_Raw = Mapping[str, Any]
_Shape: TypeAlias = "tuple[str, str, Callable[[Any], Any]]"


class Struct(dict[str, Any]):
    """Fields in their order; maps are printed in the order of their keys."""


def _struct(shape: tuple[_Shape, ...], raw: _Raw) -> Struct:
    return Struct({name: show(raw.get(word)) for name, word, show in shape})


def _text(value: Any) -> Any:
    return value or ""


def _flag(value: Any) -> Any:
    return bool(value)


def _plain(value: Any) -> Any:
    return value


def _list(value: Any) -> Any:
    return value or None


def _schemas(value: Any) -> Any:
    return [schema(each) for each in value] if value else None


def _named(value: Any) -> Any:
    return {name: schema(each) for name, each in value.items()} if value else None


def _one(value: Any) -> Any:
    return schema(value) if isinstance(value, Mapping) else None


def _items(value: Any) -> Any:
    if value is None:
        return None
    return Struct({"Schema": _one(value), "JSONSchemas": _schemas(value) if isinstance(value, list) else None})


def _additional(value: Any) -> Any:
    if value is None:
        return None
    return Struct({"Allows": bool(value) or isinstance(value, Mapping), "Schema": _one(value)})


def _rules(value: Any) -> Any:
    return [rule(each) for each in value] if value else None


_RULE: tuple[_Shape, ...] = (
    ("Rule", "rule", _text),
    ("Message", "message", _text),
    ("MessageExpression", "messageExpression", _text),
    ("Reason", "reason", _plain),
    ("FieldPath", "fieldPath", _text),
    ("OptionalOldSelf", "optionalOldSelf", _plain),
)

_SCHEMA: tuple[_Shape, ...] = (
    ("ID", "id", _text),
    ("Schema", "$schema", _text),
    ("Ref", "$ref", _plain),
    ("Description", "description", _text),
    ("Type", "type", _text),
    ("Nullable", "nullable", _flag),
    ("Format", "format", _text),
    ("Title", "title", _text),
    ("Default", "default", _plain),
    ("Maximum", "maximum", _plain),
    ("ExclusiveMaximum", "exclusiveMaximum", _flag),
    ("Minimum", "minimum", _plain),
    ("ExclusiveMinimum", "exclusiveMinimum", _flag),
    ("MaxLength", "maxLength", _plain),
    ("MinLength", "minLength", _plain),
    ("Pattern", "pattern", _text),
    ("MaxItems", "maxItems", _plain),
    ("MinItems", "minItems", _plain),
    ("UniqueItems", "uniqueItems", _flag),
    ("MultipleOf", "multipleOf", _plain),
    ("Enum", "enum", _list),
    ("MaxProperties", "maxProperties", _plain),
    ("MinProperties", "minProperties", _plain),
    ("Required", "required", _list),
    ("Items", "items", _items),
    ("AllOf", "allOf", _schemas),
    ("OneOf", "oneOf", _schemas),
    ("AnyOf", "anyOf", _schemas),
    ("Not", "not", _one),
    ("Properties", "properties", _named),
    ("AdditionalProperties", "additionalProperties", _additional),
    ("PatternProperties", "patternProperties", _named),
    ("Dependencies", "dependencies", _list),
    ("AdditionalItems", "additionalItems", _additional),
    ("Definitions", "definitions", _named),
    ("ExternalDocs", "externalDocs", _plain),
    ("Example", "example", _plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _flag),
    ("XIntOrString", "x-kubernetes-int-or-string", _flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _list),
    ("XListType", "x-kubernetes-list-type", _plain),
    ("XMapType", "x-kubernetes-map-type", _plain),
    ("XValidations", "x-kubernetes-validations", _rules),
)

_VERSION: tuple[_Shape, ...] = (
    ("Name", "name", _text),
    ("Served", "served", _flag),
    ("Storage", "storage", _flag),
    ("Deprecated", "deprecated", _flag),
    ("DeprecationWarning", "deprecationWarning", _plain),
    ("Schema", "schema", lambda value: value and Struct({"OpenAPIV3Schema": _one(value.get("openAPIV3Schema"))})),
    ("Subresources", "subresources", lambda value: None if value is None else _subresources(value)),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        lambda value: [_struct(_COLUMN, each) for each in value] if value else None,
    ),
    (
        "SelectableFields",
        "selectableFields",
        lambda value: [Struct({"JSONPath": each["jsonPath"]}) for each in value] if value else None,
    ),
)

_COLUMN: tuple[_Shape, ...] = (
    ("Name", "name", _text),
    ("Type", "type", _text),
    ("Format", "format", _text),
    ("Description", "description", _text),
    ("Priority", "priority", lambda value: value or 0),
    ("JSONPath", "jsonPath", _text),
)

_SCALE: tuple[_Shape, ...] = (
    ("SpecReplicasPath", "specReplicasPath", _text),
    ("StatusReplicasPath", "statusReplicasPath", _text),
    ("LabelSelectorPath", "labelSelectorPath", _plain),
)


def _subresources(value: _Raw) -> Struct:
    scale = value.get("scale")
    status = None if value.get("status") is None else Struct()
    return Struct({"Status": status, "Scale": None if scale is None else _struct(_SCALE, scale)})


def rule(raw: _Raw) -> Struct:
    """A validation rule."""
    return _struct(_RULE, raw)


def schema(raw: _Raw) -> Struct:
    """A JSONSchemaProps."""
    return _struct(_SCHEMA, raw)


def version(raw: _Raw, common: set[str]) -> Struct:
    """A version of a definition, without what all versions have in `common`."""
    return _struct(_VERSION, {word: value for word, value in raw.items() if word not in common})
