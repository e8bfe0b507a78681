"""Definitions that the server refuses, each for something else; a definition is built from the schema of its `spec`."""

from copy import deepcopy
from typing import Any

Manifest = dict[str, Any]

STRING: Manifest = {"type": "string"}


def definition(group: str = "hostile.example.com", **changes: Any) -> Manifest:
    """A definition without a fault; `changes` are made to its spec."""
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
        "versions": [version()],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": spec | deepcopy(changes),
    }


def version(name: str = "v1", *, storage: bool = True, schema: Manifest | None = None, **more: Any) -> Manifest:
    """A version with an empty schema, or the one given."""
    root = {"type": "object"} if schema is None else schema
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": root}} | more


def field(schema: Manifest) -> Manifest:
    """The definition whose `spec.x` has this schema."""
    spec = {"type": "object", "properties": {"x": schema}}
    return definition(versions=[version(schema={"type": "object", "properties": {"spec": spec}})])


def root(**schema: Any) -> Manifest:
    """The definition with this schema."""
    return definition(versions=[version(schema={"type": "object"} | schema)])


def listed(**words: Any) -> Manifest:
    """The definition whose `spec.x` is a list of objects with a key."""
    items = {"type": "object", "required": ["key"], "properties": {"key": STRING, "other": STRING}}
    return field({"type": "array", "items": items} | words)


def ruled(rule: Manifest, **words: Any) -> Manifest:
    """The definition whose `spec.x` is a short string with a rule."""
    return field({"type": "string", "maxLength": 10, "x-kubernetes-validations": [rule]} | words)


HOSTILE: dict[str, Manifest] = {
    "a group without a dot": definition(group="hostile"),
    "a group in capitals": definition(group="Hostile.Example.com"),
    "a group of Kubernetes": definition(group="things.k8s.io"),
    "no scope": definition(scope=""),
    "an unknown scope": definition(scope="Galactic"),
    "no versions": definition(versions=[]),
    "no schema": definition(versions=[{"name": "v1", "served": True, "storage": True}]),
    "a version in capitals": definition(versions=[version("V1")]),
    "the same version twice": definition(versions=[version(), version(storage=False)]),
    "no storage version": definition(versions=[version(storage=False)]),
    "two storage versions": definition(versions=[version(), version("v2")]),
    "a plural in capitals": definition(names={"kind": "Thing", "plural": "Things"}),
    "no plural": definition(names={"kind": "Thing", "plural": ""}),
    "no kind": definition(names={"kind": "", "plural": "things"}),
    "a kind with a dash at the end": definition(names={"kind": "Thing-", "plural": "things"}),
    "a list kind like the kind": definition(names={"kind": "Thing", "plural": "things", "listKind": "Thing"}),
    "a short name with a blank": definition(names={"kind": "Thing", "plural": "things", "shortNames": ["t h"]}),
    "a category in capitals": definition(names={"kind": "Thing", "plural": "things", "categories": ["All"]}),
    "preserves unknown fields": definition(preserveUnknownFields=True),
    "an unknown conversion": definition(conversion={"strategy": "Magic"}),
    "a webhook without configuration": definition(conversion={"strategy": "Webhook"}),
    "a webhook for nothing": definition(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
    "a warning without deprecation": definition(versions=[version(deprecationWarning="old")]),
    "an empty warning": definition(versions=[version(deprecated=True, deprecationWarning="")]),
    "a column of an unknown type": definition(
        versions=[version(additionalPrinterColumns=[{"name": "A", "type": "thing", "jsonPath": ".a"}])]
    ),
    "a column without a path": definition(
        versions=[version(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": "a", "format": "odd"}])]
    ),
    "a scale outside of spec": definition(
        versions=[version(subresources={"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": "status.a"}})]
    ),
    "a scale without paths": definition(
        versions=[version(subresources={"scale": {"specReplicasPath": "", "statusReplicasPath": ""}})]
    ),
    "a selectable field that is not there": definition(versions=[version(selectableFields=[{"jsonPath": ".spec.gone"}])]),
    "a selectable object": definition(
        versions=[
            version(
                schema={"type": "object", "properties": {"spec": {"type": "object"}}},
                selectableFields=[{"jsonPath": ".spec"}, {"jsonPath": ".spec"}, {"jsonPath": ""}, {"jsonPath": ".a[0]"}],
            )
        ]
    ),
    "no type": field({}),
    "an unknown type": field({"type": "thing"}),
    "type null": field({"type": "null"}),
    "a root that is a string": definition(versions=[version(schema={"type": "string"})]),
    "a root without a type": definition(versions=[version(schema={"properties": {"spec": STRING}})]),
    "a nullable root": root(nullable=True),
    "additional properties at the root": root(additionalProperties=STRING),
    "a list without items": field({"type": "array"}),
    "items without a type": field({"type": "array", "items": {}}),
    "a list of schemas": field({"type": "array", "items": [STRING]}),
    "properties and additional ones": field({"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING}),
    "unique items": field({"type": "array", "items": STRING, "uniqueItems": True}),
    "a reference": field({"$ref": "#/definitions/a"}),
    "definitions": field({"type": "object", "definitions": {"a": STRING}}),
    "dependencies": field({"type": "object", "dependencies": {"a": ["b"]}}),
    "patterns of properties": field({"type": "object", "patternProperties": {"a": STRING}}),
    "an id": field({"type": "string", "id": "a"}),
    "a pattern that is none": field({"type": "string", "pattern": "("}),
    "a type below a junctor": field({"type": "string", "anyOf": [{"type": "string"}]}),
    "a description below a junctor": field({"type": "string", "not": {"description": "a"}}),
    "a default below a junctor": field({"type": "string", "oneOf": [{"default": "a"}]}),
    "additional properties below a junctor": field({"type": "object", "anyOf": [{"additionalProperties": {"minLength": 1}}]}),
    "int-or-string that preserves": field({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
    "preserves nothing": field({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
    "an embedded string": field({"type": "string", "x-kubernetes-embedded-resource": True}),
    "an embedded resource without fields": field({"type": "object", "x-kubernetes-embedded-resource": True}),
    "metadata with labels": root(properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
    "metadata that is a string": root(properties={"metadata": STRING}),
    "a kind that is a number": root(properties={"kind": {"type": "integer"}}),
    "a default of the kind": root(properties={"kind": {"type": "string", "default": "Thing"}}),
    "a default of the wrong type": field({"type": "integer", "default": "a"}),
    "a default with unknown fields": field({"type": "object", "properties": {"a": STRING}, "default": {"b": 1}}),
    "a default out of bounds": field({"type": "string", "maxLength": 2, "default": "abc"}),
    "a list type of a string": field({"type": "string", "x-kubernetes-list-type": "set"}),
    "an unknown list type": listed(**{"x-kubernetes-list-type": "bag"}),
    "a map without keys": listed(**{"x-kubernetes-list-type": "map"}),
    "keys without a map": listed(**{"x-kubernetes-list-map-keys": ["key"]}),
    "keys of a set": listed(**{"x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["key"]}),
    "a key that is not there": listed(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["gone"]}),
    "a key that is not required": listed(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["other"]}),
    "the same key twice": listed(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key", "key"]}),
    "a set of objects": listed(**{"x-kubernetes-list-type": "set"}),
    "a set of nullable strings": field(
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": True}},
    ),
    "a map of strings by key": field(
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": STRING},
    ),
    "an unknown map type": field({"type": "object", "x-kubernetes-map-type": "loose"}),
    "a map type of a string": field({"type": "string", "x-kubernetes-map-type": "atomic"}),
    "a rule without a rule": ruled({"rule": " "}),
    "a rule of two lines": ruled({"rule": "true &&\ntrue"}),
    "a message of two lines": ruled({"rule": "true", "message": "a\nb"}),
    "a blank message": ruled({"rule": "true", "message": " "}),
    "a blank message expression": ruled({"rule": "true", "messageExpression": " "}),
    "an unknown reason": ruled({"rule": "true", "reason": "Because"}),
    "a field path to nowhere": ruled({"rule": "true", "fieldPath": ".gone"}),
    "an optional old value for nothing": ruled({"rule": "true", "optionalOldSelf": True}),
    "an old value in a set": field(
        {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        }
    ),
    "status at the root beside allOf": definition(
        versions=[version(schema={"type": "object", "allOf": [{"required": ["spec"]}]}, subresources={"status": {}})]
    ),
    "two versions with different faults": definition(
        versions=[
            version(schema={"type": "object", "properties": {"a": {}}}),
            version("v2", storage=False, schema={"type": "object", "properties": {"b": {"type": "array"}}}),
        ]
    ),
}


def about_object(rule: str, **words: Any) -> Manifest:
    """The definition whose `spec.x` is an object with fields, a list and a map, and a rule about them."""
    item = {"type": "object", "properties": {"a-b": {"type": "string", "maxLength": 5}}}
    properties = {
        "a": {"type": "string", "maxLength": 5},
        "list": {"type": "array", "maxItems": 3, "items": item},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": item},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True, "maxLength": 5},
    }
    return field({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule} | words]})


HOSTILE |= {
    "a rule about an unknown name": ruled({"rule": "other == self"}),
    "a rule that compares a string with a number": ruled({"rule": "self == 1"}),
    "a rule with an unknown function": ruled({"rule": "shout(self) == ''"}),
    "a rule that is a string": ruled({"rule": "self"}),
    "a message expression that is a number": ruled({"rule": "true", "messageExpression": "1"}),
    "a rule about an unknown field": about_object("self.typo == 'a'"),
    "a rule about a field of an unknown field": about_object("has(self.typo.a)"),
    "a rule about an unknown field of items": about_object("self.list.all(each, each.typo == 'a')"),
    "a rule about a field under its plain name": about_object("self.list.exists(each, each.ab == 'a')"),
    "a rule about unknown fields of two": about_object("self.list[0].x == 'a' && self.map['a'].y == 'b'"),
    "a rule about what is open": about_object("has(self.open.a)"),
    "a message about an unknown field": about_object("self.a == 'a'", messageExpression="'no ' + self.typo"),
    "a rule about metadata": root(**{"x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}]}),
}

MISTAKEN_RULES: dict[str, Manifest] = {
    "a rule that is no CEL": ruled({"rule": "self ==="}),
    "a message expression that is no CEL": ruled({"rule": "true", "messageExpression": "'a' +"}),
}
"""What is wrong is told in words of the CEL compiler, which differ; the field and the reason do not."""

FAULTLESS: dict[str, Manifest] = {
    "a rule about fields of all sorts": about_object(
        "self.list.all(each, each.a__dash__b == self.a) || self.map.exists(k, self.map[k].a__dash__b == k) || self.either == 1"
    ),
    "a rule about a name and a kind": root(**{"x-kubernetes-validations": [{"rule": "self.metadata.name == self.kind"}]}),
    "a rule about an optional field": about_object("self.?a.orValue('a') == 'a'"),
    "a property only below a junctor": field({"type": "object", "allOf": [{"properties": {"a": {"minLength": 1}}}]}),
    "items only below a junctor": field({"type": "object", "allOf": [{"items": {"minLength": 1}}]}),
    "an unheard-of format": field({"type": "string", "format": "unheard-of"}),
}
"""What the server lets pass."""
