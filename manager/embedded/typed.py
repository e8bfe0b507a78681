"""Types of values under server-side apply: what the API server makes of its OpenAPI documents (kube-openapi `schemaconv`).

The rules for values of these types are those of structured-merge-diff v6; each has a module:

| Module | Answers |
| --- | --- |
| `fitting.py` | what of a value does not fit |
| `coverage.py` | the fields that a configuration names; a value without, or with nothing but, the fields of a set |
| `merging.py` | a configuration laid over a live value |
| `comparison.py` | the fields removed, changed and added between two values |

Values are plain JSON and never changed; what a merge leaves alone is the same object afterwards.
"""

from functools import lru_cache
from typing import Any, Final

from manager.embedded.fields import key_element, quoted, scalar_text, value_element
from manager.embedded.schema import ListType, Schema


class Absent:
    """What is not there at all; null is there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()

NUMERIC, STRING, BOOLEAN, UNTYPED = "numeric", "string", "boolean", "untyped"


class Type:
    """What a value may be under server-side apply: a map, a list, a scalar, or any of these by what is found."""

    __slots__ = ("element", "fields", "granular", "item", "key_defaults", "keys", "list_type", "map", "prefix", "scalar")

    def __init__(self) -> None:
        self.scalar = ""
        self.map = False
        self.granular = True
        self.fields: dict[str, Type] = {}
        self.element: Type | None = None
        self.list_type: ListType | None = None
        self.keys: tuple[str, ...] = ()
        self.prefix = ""  # of the elements of items that have a single key
        self.key_defaults: dict[str, Any] = {}
        self.item: Type = self

    def child(self, name: str) -> "Type":
        """The type of a field; unknown ones are anything."""
        return self.fields.get(name) or self.element or DEDUCED


def _scalar_type(scalar: str) -> Type:
    made = Type()
    made.scalar = scalar
    return made


def _map_of(element: Type | None, fields: dict[str, Type] | None = None, *, granular: bool = True) -> Type:
    made = Type()
    made.map, made.element, made.granular = True, element, granular
    made.fields = fields or {}
    return made


def _list_of(item: Type, list_type: ListType, *keys: str) -> Type:
    made = Type()
    made.list_type, made.item, made.keys = list_type, item, keys
    made.prefix = _prefix(keys)
    return made


def _prefix(keys: tuple[str, ...]) -> str:
    return f"k:{{{scalar_text(keys[0])}:" if len(keys) == 1 else ""


def _anything(*, granular: bool) -> Type:
    made = _map_of(None, granular=granular)
    made.scalar, made.list_type = UNTYPED, ListType.ATOMIC
    made.element = made
    return made


ATOM = _anything(granular=False)
"""Anything, as one field."""
DEDUCED = _anything(granular=True)
"""Anything; the keys of maps are fields of their own, lists are one field."""
DEDUCED.item = ATOM

_TEXT, _NUMBER, _FLAG, _SCALAR = map(_scalar_type, (STRING, NUMERIC, BOOLEAN, UNTYPED))

_OWNER = _map_of(
    None,
    {"apiVersion": _TEXT, "blockOwnerDeletion": _FLAG, "controller": _FLAG, "kind": _TEXT, "name": _TEXT, "uid": _TEXT},
    granular=False,
)
METADATA = _map_of(
    None,
    {
        "annotations": _map_of(_TEXT),
        "creationTimestamp": _SCALAR,
        "deletionGracePeriodSeconds": _NUMBER,
        "deletionTimestamp": _SCALAR,
        "finalizers": _list_of(_TEXT, ListType.SET),
        "generateName": _TEXT,
        "generation": _NUMBER,
        "labels": _map_of(_TEXT),
        "managedFields": _list_of(DEDUCED, ListType.ATOMIC),
        "name": _TEXT,
        "namespace": _TEXT,
        "ownerReferences": _list_of(_OWNER, ListType.MAP, "uid"),
        "resourceVersion": _TEXT,
        "selfLink": _TEXT,
        "uid": _TEXT,
    },
)
"""ObjectMeta of custom and embedded objects, whatever their own schema says of it."""
_OBJECT = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": METADATA}


# Types of schemas


@lru_cache(maxsize=1024)
def type_of(schema: Schema) -> Type:
    """The type of an object of a kind; `schema` is that of its root, and has a `reference` when the kind is built in."""
    made = _compile(schema, {}, preserve=False)
    if not schema.reference:
        made.map, made.scalar, made.list_type = True, "", None
        made.fields = {**made.fields, **_OBJECT}
        # An object without any named field would be free-form; this one has metadata.
        if schema.additional is None and not schema.preserve_unknown:
            made.element = None
    return made


def _compile(schema: Schema, known: dict[tuple[int, bool], Type], *, preserve: bool) -> Type:
    """`preserve`: unknown fields are kept here, since they are above (references to definitions do not inherit that)."""
    preserve = (preserve and not schema.reference) or schema.preserve_unknown
    if (id(schema), preserve) in known:
        return known[id(schema), preserve]
    if schema.reference.endswith(".api.resource.Quantity"):
        return _SCALAR
    if schema.reference.endswith(".runtime.RawExtension"):
        return ATOM
    made = known[id(schema), preserve] = Type()
    kind = "" if schema.int_or_string and schema.type != "string" else schema.type
    if kind in ("", "object"):
        _compile_map(made, schema, known, preserve=preserve)
    if kind in ("", "array"):
        _compile_list(made, schema, known, preserve=preserve)
    if kind not in ("object", "array"):
        made.scalar = _scalar_of(kind, schema.format)
    return made


def _scalar_of(kind: str, form: str) -> str:
    if kind in ("integer", "number"):
        return NUMERIC
    if kind == "boolean":
        return BOOLEAN
    # Strings of a format (times, say) are compared as they are, and may be anything but a map or a list.
    return STRING if kind == "string" and form in ("", "byte") else UNTYPED


def _compile_map(made: Type, schema: Schema, known: dict[tuple[int, bool], Type], *, preserve: bool) -> None:
    made.map = True
    made.granular = not schema.atomic
    made.fields = {name: _compile(child, known, preserve=preserve) for name, child in schema.properties.items()}
    if schema.embedded_resource:
        made.fields |= _OBJECT
    if schema.additional is not None:
        made.element = _compile(schema.additional, known, preserve=preserve)
    elif preserve or not made.fields:
        made.element = DEDUCED


def _compile_list(made: Type, schema: Schema, known: dict[tuple[int, bool], Type], *, preserve: bool) -> None:
    made.list_type = schema.list_type
    made.keys = tuple(sorted(schema.list_keys)) if schema.list_type is ListType.MAP else ()
    made.prefix = _prefix(made.keys)
    made.item = _compile(schema.items, known, preserve=preserve) if schema.items is not None else ATOM
    if schema.items is not None:
        items = schema.items.properties
        made.key_defaults = {key: items[key].default for key in made.keys if key in items and items[key].has_default}


# Items of lists


class NoKey(ValueError):
    """An item that cannot stand in a list of its type."""


def element_of(item: Any, of: Type) -> str:
    """The element of an item of a set or of an associative list of this type. Raises NoKey."""
    if of.list_type is ListType.MAP:
        return _keyed_element(item, of)
    if isinstance(item, dict):
        raise NoKey("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise NoKey("not supported: associative list with lists as elements")
    if item is None:
        raise NoKey("associative list without keys has an element that's an explicit null")
    return value_element(item)


def _keyed_element(item: Any, of: Type) -> str:
    if item is None:
        raise NoKey("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise NoKey("associative list with keys may not have non-map elements")
    if len(of.keys) == 1 and of.keys[0] in item:
        return f"{of.prefix}{scalar_text(item[of.keys[0]])}}}"
    keys = []
    for name in of.keys:
        if name in item:
            keys.append((name, item[name]))
        elif of.key_defaults.get(name) is not None:
            keys.append((name, of.key_defaults[name]))
    if not keys:
        listed = " ".join(quoted(name) for name in of.keys)
        raise NoKey(
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


# Values


def part_of(value: Any, of: Type) -> str:
    """Which of the things that a type may be a value is: for null and misfits the first of map, scalar, list."""
    kind = value.__class__
    if kind is dict and of.map:
        return "map"
    if kind is list and of.list_type is not None:
        return "list"
    if kind is not dict and kind is not list and value is not None and of.scalar:
        return "scalar"
    return "map" if of.map else "scalar" if of.scalar else "list"


def same(one: Any, other: Any) -> bool:
    """Are two values equal? Numbers by value (1 is 1.0), but true is not 1."""
    if one is other:
        return True
    if one != other:
        return False
    return booleans_agree(one, other)


def booleans_agree(one: Any, other: Any) -> bool:
    """Are two equal values equal to Go too, for which true is not 1?"""
    if isinstance(one, dict):
        return all(booleans_agree(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(booleans_agree, one, other))
    return isinstance(one, bool) is isinstance(other, bool)


def grouped(value: list[Any], of: Type) -> dict[str, list[Any]]:
    """The items of a list by element, in the order of their first appearance."""
    out: dict[str, list[Any]] = {}
    for item in value:
        out.setdefault(element_of(item, of), []).append(item)
    return out
