"""The schema of a definition, and what the server does to an object with it: prune, drop nulls, default, validate.

Specification: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/. Objects are never
changed in place; what needs no change is shared with the answer.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from apis.meta import Manifest
from manager.embedded import constraints, openapi, rules
from manager.embedded.causes import NOT_SUPPORTED, NOWHERE, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID, invalid
from manager.embedded.correlation import Correlation
from manager.embedded.lists import unique
from manager.embedded.replicas import scaled
from manager.embedded.resources import embedded
from manager.embedded.schema import ListType, Schema
from manager.embedded.status import Cause

META = ("apiVersion", "kind", "metadata")
UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
_BLOCKING = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
_NESTED = ("allOf", "anyOf", "oneOf")
_KEPT = (
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)


def from_crd_version(version: Mapping[str, Any]) -> Schema:
    """The schema of one of `spec.versions`: a resource, with the metadata that every object has. Without a schema, anything."""
    raw = (version.get("schema") or {}).get("openAPIV3Schema")
    root = Schema(type="object", preserve_unknown=True) if raw is None else read(raw)
    _as_resource(root, raw or {})
    return root


def read(raw: Mapping[str, Any]) -> Schema:
    """One JSONSchemaProps and all below it."""
    node = Schema(
        type=raw.get("type") or "",
        properties={name: read(each) for name, each in (raw.get("properties") or {}).items()},
        additional=_additional(raw.get("additionalProperties")),
        items=read(raw["items"]) if isinstance(raw.get("items"), Mapping) else None,
        list_type=ListType(raw.get("x-kubernetes-list-type") or "atomic"),
        list_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
        atomic=raw.get("x-kubernetes-map-type") == "atomic",
        required=tuple(raw.get("required") or ()),
        nullable=bool(raw.get("nullable")),
        default=raw.get("default"),
        has_default=raw.get("default") is not None,
        int_or_string=bool(raw.get("x-kubernetes-int-or-string")),
        preserve_unknown=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(raw.get("x-kubernetes-embedded-resource")),
        format=raw.get("format") or "",
        constraints=_constraints(raw),
        rules=tuple(raw.get("x-kubernetes-validations") or ()),
        description=raw.get("description") or "",
    )
    if node.embedded_resource:
        _as_resource(node, raw)
    return node


def _additional(raw: Any) -> Schema | None:
    if isinstance(raw, Mapping):
        return read(raw)
    return Schema(preserve_unknown=True) if raw is True else None


def _constraints(raw: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: raw[key] for key in _KEPT if raw.get(key) is not None}
    kept |= {key: tuple(read(each) for each in raw[key]) for key in _NESTED if raw.get(key)}
    if raw.get("not") is not None:
        kept["not"] = read(raw["not"])
    return kept


def _as_resource(node: Schema, raw: Mapping[str, Any]) -> None:
    """What every resource has; a definition may restrict metadata.name and metadata.generateName."""
    described = raw.get("properties") or {}
    for name in ("apiVersion", "kind"):
        node.properties.setdefault(name, Schema(type="string"))
    metadata = openapi.metadata()
    restricted = (described.get("metadata") or {}).get("properties") or {}
    node.properties["metadata"] = Schema(
        type="object",
        properties=metadata.properties | {name: read(each) for name, each in restricted.items()},
        reference=metadata.reference,
        constraints=_constraints(described.get("metadata") or {}),
        rules=tuple((described.get("metadata") or {}).get("x-kubernetes-validations") or ()),
    )


def prune(schema: Schema, obj: Manifest) -> tuple[Manifest, list[str]]:
    """The object without what its schema does not know, and the paths of that, sorted. Metadata is left as it is."""
    unknown: list[str] = []
    pruned = _prune(schema, obj, "", unknown, resource=True)
    return pruned, sorted(unknown)


def _prune(schema: Schema | None, value: Any, path: str, unknown: list[str], *, resource: bool = False) -> Any:
    if schema is not None and schema.preserve_unknown:
        return _spare(schema, value, path, unknown, resource=resource)
    match value:
        case dict():
            kept = {}
            for name, below in value.items():
                place = f"{path}.{name}" if path else name
                if name in META and (resource or (schema is not None and schema.embedded_resource)):
                    kept[name] = below
                elif schema is not None and (child := schema.child(name)) is not None:
                    kept[name] = _prune(child, below, place, unknown)
                else:
                    unknown.append(place)
            return kept
        case list():
            items = schema.items if schema is not None else None
            return [_prune(items, below, f"{path}[{place}]", unknown) for place, below in enumerate(value)]
    return value


def _spare(schema: Schema, value: Any, path: str, unknown: list[str], *, resource: bool) -> Any:
    """Unknown fields stay here, and known ones are pruned by their own schema."""
    match value:
        case dict() if schema.properties or schema.additional is not None:
            kept = {}
            for name, below in value.items():
                child = None if name in META and (resource or schema.embedded_resource) else schema.child(name)
                place = f"{path}.{name}" if path else name
                kept[name] = below if child is None else _prune(child, below, place, unknown)
            return kept
        case list() if schema.items is not None:
            return [_item(schema.items, below, f"{path}[{place}]", unknown) for place, below in enumerate(value)]
    return value


def _item(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    return _spare(schema, value, path, unknown, resource=False)


def drop_nulls(schema: Schema, obj: Manifest) -> Manifest:
    """Without the nulls of fields that may not be null and have no default; those with a default get it in `default`."""
    dropped: Manifest = _drop_nulls(schema, obj)
    return dropped


def _drop_nulls(schema: Schema | None, value: Any) -> Any:
    if schema is None:
        return value
    match value:
        case dict() if schema.properties or schema.additional is not None:
            kept = {}
            for name, below in value.items():
                child = schema.child(name)
                if below is None and child is not None and not child.nullable and not child.has_default:
                    continue
                kept[name] = below if name == "metadata" else _drop_nulls(child, below)
            return kept
        case list() if schema.items is not None:
            return [_drop_nulls(schema.items, below) for below in value]
    return value


def default(schema: Schema, obj: Manifest) -> Manifest:
    """The object with the defaults of its schema, where a field is not there or is null and may not be."""
    filled: Manifest = _default(schema, obj)
    return filled


def _default(schema: Schema | None, value: Any) -> Any:
    if schema is None:
        return value
    match value:
        case dict() if schema.properties or schema.additional is not None:
            return _default_object(schema, value)
        case list() if schema.items is not None:
            return [_default(schema.items, _given(schema.items, below)) for below in value]
    return value


def _default_object(schema: Schema, value: Manifest) -> Manifest:
    filled = dict(value)
    for name, child in schema.properties.items():
        if name != "metadata" and child.has_default and name not in filled:
            filled[name] = deepcopy(child.default)
    for name, below in filled.items():
        child_schema = schema.child(name)
        # The defaults of ObjectMeta's schema are Go's zero values, which the server does not write.
        if child_schema is not None and not child_schema.reference:
            filled[name] = _default(child_schema, _given(child_schema, below))
    return filled


def _given(schema: Schema, value: Any) -> Any:
    return deepcopy(schema.default) if value is None and not schema.nullable else value


def validate(
    schema: Schema,
    obj: Manifest,
    old: Manifest | None = None,
    *,
    subresource: str = "",
    scale: Mapping[str, Any] | None = None,
    before: Sequence[Cause] = (),
) -> list[Cause]:
    """Why the object is refused: `before` (what the checks of metadata found), then types and constraints, lists, and rules.

    With `old` it is an update: what has not changed is not held against it (ratcheting), and transition rules run. With the
    subresource `status` only that part is held against the schema. The object is pruned and has its defaults.
    """
    root = None if old is None else Correlation(obj, old, schema)
    causes = [*before, *_checked(schema, obj, root, subresource), *scaled(obj, scale, subresource)]
    if subresource != "status":
        causes += embedded(schema, obj)
    if old is None or not unique(schema, old):
        causes += unique(schema, obj)
    if not rules.present(schema):
        return causes
    if any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, invalid(NOWHERE, None, UNCHECKED)]
    return [*causes, *rules.broken(schema, obj, old, root)]


def _checked(schema: Schema, obj: Manifest, root: Correlation | None, subresource: str) -> list[Cause]:
    if subresource != "status":
        return constraints.check(schema, obj, root)
    below = schema.child("status")
    if below is None or "status" not in obj:
        return []
    return constraints.check(below, obj["status"], root.key("status") if root else None, base="status")
