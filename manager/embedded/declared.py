"""The type in CEL of what validation rules see of a node: objects with their fields, so that a wrong name is found at once.

Specification: `SchemaDeclType` in https://github.com/kubernetes/apiserver/blob/master/pkg/cel/common/schemas.go
"""

from collections.abc import Mapping

from manager.embedded.schema import Schema
from manager.embedded.views import METADATA, escaped
from policy.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, ObjectType, Type, list_of, map_of

SELF = "selfType"  # the name of the type of `self`, which messages show; those of fields begin with it

_SCALARS = {"string": STRING, "integer": INT, "number": DOUBLE, "boolean": BOOL}
_FORMATS = {"byte": BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "duration": DURATION}


def declared(schema: Schema, *, resource: bool) -> Type | None:
    """The type of a node; None for one of which nothing is said: rules cannot see its values."""
    return _declared(schema, SELF, resource=resource or schema.embedded_resource)


def _declared(schema: Schema, name: str, *, resource: bool) -> Type | None:
    if schema.int_or_string:
        return DYN
    if resource:
        return _resource(schema, name)
    match schema.type:
        case "array":
            item = None if schema.items is None else _below(schema.items, f"{name}.@idx")
            return item and list_of(item)
        case "object" if schema.additional is not None:
            value = _below(schema.additional, f"{name}.@elem")
            return value and map_of(STRING, value)
        case "object":
            return ObjectType(name, fields=_fields(schema, name))
        case "string":
            return _FORMATS.get(schema.format, STRING)
    return _SCALARS.get(schema.type)


def _below(schema: Schema, name: str) -> Type | None:
    return _declared(schema, name, resource=schema.embedded_resource)


def _fields(schema: Schema, name: str) -> Mapping[str, Type]:
    found = ((escaped(field), _below(below, f"{name}.{field}")) for field, below in schema.properties.items())
    return {field: kind for field, kind in found if field is not None and kind is not None}


def _resource(schema: Schema, name: str) -> ObjectType:
    """A resource: of its metadata two names, and the kind that it always has."""
    metadata = ObjectType(f"{name}.metadata", fields=dict.fromkeys(METADATA, STRING))
    return ObjectType(name, fields={**_fields(schema, name), "apiVersion": STRING, "kind": STRING, "metadata": metadata})
