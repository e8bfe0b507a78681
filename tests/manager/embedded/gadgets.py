"""A definition with one of everything that a schema may say, and objects that it judges."""

from typing import Any

Manifest = dict[str, Any]

SPEC: Manifest = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "wide": {"type": "integer", "format": "int64"},
        "small": {"type": "integer", "format": "int32", "exclusiveMinimum": True, "minimum": 0},
        "ratio": {"type": "number", "maximum": 1.5, "multipleOf": 0.5},
        "half": {"type": "number", "format": "float"},
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "mode": {"type": "string", "enum": ["Fast", "Slow"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "flag": {"type": "boolean"},
        "port": {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%?$"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 3},
        "rows": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {
                    "key": {"type": "string"},
                    "kind": {"type": "string", "default": "Plain"},
                    "value": {"type": "integer", "maximum": 5},
                },
            },
        },
        "pairs": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["host", "port"],
            "items": {
                "type": "object",
                "required": ["host"],
                "properties": {"host": {"type": "string"}, "port": {"type": "integer", "default": 80}},
            },
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 4}, "maxProperties": 2},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "half-open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
        "maybe": {"type": "string", "nullable": True, "enum": ["x"]},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "span": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "address": {"type": "string", "format": "ipv4"},
        "sixth": {"type": "string", "format": "ipv6"},
        "net": {"type": "string", "format": "cidr"},
        "uid": {"type": "string", "format": "uuid"},
        "link": {"type": "string", "format": "uri"},
        "mail": {"type": "string", "format": "email"},
        "host": {"type": "string", "format": "hostname"},
        "odd": {"type": "string", "format": "unheard-of"},
        "short": {"type": "string", "format": "k8s-short-name"},
        "mac": {"type": "string", "format": "mac"},
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "some": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [{"properties": {"a": {"minimum": 5}}, "required": ["a"]}, {"required": ["b"]}],
        },
        "every": {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "allOf": [{"properties": {"a": {"minimum": 5}}}, {"properties": {"a": {"maximum": 7}}}],
        },
        "never": {"type": "string", "not": {"enum": ["bad"]}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "defaults": {
            "type": "object",
            "default": {"mode": "Slow"},
            "properties": {"mode": {"type": "string"}, "count": {"type": "integer", "default": 3}, "never": {"type": "string"}},
        },
    },
}

RULED: Manifest = {
    "type": "object",
    "properties": {
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed"}],
        },
        "even": {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0"}]},
        "text": {
            "type": "string",
            "x-kubernetes-validations": [
                {"rule": "self.startsWith('a')", "messageExpression": "'wants a, has ' + self", "reason": "FieldValueForbidden"}
            ],
        },
        "a-b": {"type": "string"},
        "in": {"type": "integer"},
        "rows": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "maxItems": 5,
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {"key": {"type": "string"}, "value": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.value >= oldSelf.value", "message": "value may not shrink"}],
            },
        },
        "map": {
            "type": "object",
            "maxProperties": 5,
            "additionalProperties": {
                "type": "string",
                "maxLength": 20,
                "x-kubernetes-validations": [{"rule": "self.size() < 4"}],
            },
        },
        "when": {"type": "string", "format": "date-time"},
        "mixed": {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [{"rule": "self > 5"}]},
        "number": {"type": "string", "maxLength": 30, "x-kubernetes-validations": [{"rule": "int(self) * 3000000000 > 3"}]},
        "span": {"type": "string", "maxLength": 30, "x-kubernetes-validations": [{"rule": "duration(self) > duration('1s')"}]},
        "moment": {
            "type": "string",
            "maxLength": 30,
            "x-kubernetes-validations": [{"rule": "timestamp(self) > timestamp('2020-01-01T00:00:00Z')"}],
        },
        "divisor": {"type": "integer", "x-kubernetes-validations": [{"rule": "6 / self == 2 || 6 % self == 9"}]},
        "once": {
            "type": "string",
            "x-kubernetes-validations": [
                {"rule": "oldSelf.hasValue() ? oldSelf.value() == self : self == 'new'", "optionalOldSelf": True}
            ],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
            "message": "low is above high",
            "reason": "FieldValueRequired",
            "fieldPath": ".high",
        },
        {"rule": "!has(self.a__dash__b) || self.a__dash__b != 'x'", "message": "a-b may not be x"},
        {"rule": "!has(self.__in__) || self.__in__ > 0", "message": "in must be positive"},
        {"rule": "!has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')"},
        {"rule": "!has(self.map) || self.map.all(k, k != 'bad' || self.map[k] == self.map['other'])"},
    ],
}


def definition(group: str, *, kind: str = "Gadget", spec: Manifest | None = None, ruled: Manifest | None = None) -> Manifest:
    """The definition in a group, with status and scale."""
    plural = f"{kind.lower()}s"
    root = {
        "type": "object",
        "properties": {
            "spec": SPEC if spec is None else spec,
            "rules": RULED if ruled is None else ruled,
            "status": {
                "type": "object",
                "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string", "maxLength": 3}},
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
                    },
                    "schema": {"openAPIV3Schema": root},
                }
            ],
        },
    }


CREATED: dict[str, Manifest] = {
    "nothing at all": {},
    "no size": {"spec": {}},
    "small enough": {"spec": {"size": 3}},
    "too small": {"spec": {"size": 0}},
    "too large": {"spec": {"size": 11}},
    "a string for an integer": {"spec": {"size": "3"}},
    "a fraction for an integer": {"spec": {"size": 2.5}},
    "a whole fraction": {"spec": {"size": 2.0}},
    "a boolean for an integer with a format": {"spec": {"size": 1, "wide": True}},
    "a string for an integer with a format": {"spec": {"size": 1, "wide": "x"}},
    "an object for an integer": {"spec": {"size": {"a": 1}}},
    "a list for an integer with a format": {"spec": {"size": 1, "wide": [1]}},
    "beyond int32": {"spec": {"size": 1, "small": 2**31}},
    "beyond int64": {"spec": {"size": 1, "wide": 2.0**70}},
    "an exclusive bound": {"spec": {"size": 1, "small": 0}},
    "above a fraction": {"spec": {"size": 1, "ratio": 2}},
    "no multiple": {"spec": {"size": 1, "ratio": 0.7}},
    "beyond float": {"spec": {"size": 1, "half": 1e300}},
    "a short name": {"spec": {"size": 1, "name": "a"}},
    "a long name": {"spec": {"size": 1, "name": "abcdefg"}},
    "a name of the wrong shape": {"spec": {"size": 1, "name": "A1!"}},
    "runes and not bytes are counted": {"spec": {"size": 1, "name": "äöüß"}},
    "outside of the enumeration": {"spec": {"size": 1, "mode": "Sideways"}},
    "a number in an enumeration of strings": {"spec": {"size": 1, "mode": 1}},
    "outside of numbers": {"spec": {"size": 1, "level": 3}},
    "a string for a boolean": {"spec": {"size": 1, "flag": "true"}},
    "a boolean": {"spec": {"size": 1, "flag": True}},
    "a port as a number": {"spec": {"size": 1, "port": 80}},
    "a port as a string": {"spec": {"size": 1, "port": "80%"}},
    "a port of the wrong shape": {"spec": {"size": 1, "port": "http"}},
    "a port that is neither": {"spec": {"size": 1, "port": True}},
    "the same tag twice": {"spec": {"size": 1, "tags": ["a", "b", "a", "a"]}},
    "too many tags": {"spec": {"size": 1, "tags": ["a", "b", "c", "d"]}},
    "a number among tags": {"spec": {"size": 1, "tags": ["a", 1]}},
    "no rows": {"spec": {"size": 1, "rows": []}},
    "the same row twice": {"spec": {"size": 1, "rows": [{"key": "a"}, {"key": "b", "value": 2}, {"key": "a"}]}},
    "a row without its key": {"spec": {"size": 1, "rows": [{"value": 9}]}},
    "a row that is no object": {"spec": {"size": 1, "rows": ["a"]}},
    "a row with an unknown field": {"spec": {"size": 1, "rows": [{"key": "a", "colour": "red"}]}},
    "the same pair twice": {"spec": {"size": 1, "pairs": [{"host": "a"}, {"host": "a", "port": 80}]}},
    "long labels": {"spec": {"size": 1, "labels": {"a": "12345", "b": 3}}},
    "many labels": {"spec": {"size": 1, "labels": {"a": "1", "b": "2", "c": "3"}}},
    "anything in the open": {"spec": {"size": 1, "open": {"deep": {"er": [1, None, {"x": True}]}}}},
    "half open": {"spec": {"size": 1, "half-open": {"known": {"a": "1", "gone": 1}, "other": {"stays": 1}}}},
    "unknown fields": {"spec": {"size": 1, "gone": {"a": 1}, "tags": ["a"]}, "top": 1},
    "null where it may be": {"spec": {"size": 1, "maybe": None}},
    "null where it may not be": {"spec": {"size": 1, "name": None}},
    "null for a required one": {"spec": {"size": None}},
    "null for a default": {"spec": {"size": 1, "rows": [{"key": "a", "kind": None}]}},
    "null among items": {"spec": {"size": 1, "tags": ["a", None]}},
    "no time": {"spec": {"size": 1, "when": "yesterday"}},
    "a time": {"spec": {"size": 1, "when": "2026-01-02T03:04:05.123+02:00"}},
    "a number for a time": {"spec": {"size": 1, "when": 3}},
    "a list for a time": {"spec": {"size": 1, "when": ["2026-01-02T03:04:05Z"]}},
    "no day": {"spec": {"size": 1, "day": "2026-02-30"}},
    "no span": {"spec": {"size": 1, "span": "soon"}},
    "a span in words": {"spec": {"size": 1, "span": "2 weeks"}},
    "no base64": {"spec": {"size": 1, "data": "a b"}},
    "no addresses": {"spec": {"size": 1, "address": "1.2.3", "sixth": "1.2.3.4", "net": "1.2.3.4", "mac": "zz", "uid": "1"}},
    "addresses": {
        "spec": {"size": 1, "address": "1.2.3.4", "sixth": "::1", "net": "10.0.0.0/8", "mac": "00:11:22:33:44:55"},
    },
    "no names": {"spec": {"size": 1, "link": "not a link", "mail": "nobody", "host": "-x-", "short": "Upper"}},
    "names": {"spec": {"size": 1, "link": "https://a.b/c?d", "mail": "a@b.c", "host": "a.example.com", "short": "lower-1"}},
    "an unheard-of format": {"spec": {"size": 1, "odd": "whatever"}},
    "neither of one": {"spec": {"size": 1, "either": {}}},
    "both of one": {"spec": {"size": 1, "either": {"a": "1", "b": "2"}}},
    "none of any": {"spec": {"size": 1, "some": {"a": 1}}},
    "one of any": {"spec": {"size": 1, "some": {"b": 1}}},
    "not all": {"spec": {"size": 1, "every": {"a": 9}}},
    "all": {"spec": {"size": 1, "every": {"a": 6}}},
    "what may not be": {"spec": {"size": 1, "never": "bad"}},
    "a resource inside": {
        "spec": {"size": 1, "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "x": 1}}
    },
    "a resource inside with bad metadata": {
        "spec": {
            "size": 1,
            "embedded": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "a/b",
                    "namespace": "C",
                    "labels": {"a b": "c"},
                    "annotations": {"": "x"},
                    "finalizers": ["A B"],
                },
            },
        }
    },
    "a resource inside with mistyped metadata": {
        "spec": {"size": 1, "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [{}]}}}
    },
    "a resource inside without a name": {"spec": {"size": 1, "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}},
    "no resource inside": {"spec": {"size": 1, "embedded": {"kind": "no kind"}}},
    "an api version with too many parts": {"spec": {"size": 1, "embedded": {"apiVersion": "a/b/c", "kind": ""}}},
    "part of a default": {"spec": {"size": 1, "defaults": {}}},
    "a spec that is a list": {"spec": [1]},
    "a spec that is a string": {"spec": "x"},
    "a status that is dropped": {"spec": {"size": 1}, "status": {"phase": "long"}},
    "low above high": {"spec": {"size": 1}, "rules": {"low": 2, "high": 1}},
    "an odd number": {"spec": {"size": 1}, "rules": {"even": 3}},
    "a text with a message": {"spec": {"size": 1}, "rules": {"text": "bc"}},
    "names that CEL cannot say": {"spec": {"size": 1}, "rules": {"a-b": "x", "in": 0}},
    "an early time": {"spec": {"size": 1}, "rules": {"when": "1999-01-01T00:00:00Z"}},
    "a key that is not there": {"spec": {"size": 1}, "rules": {"map": {"bad": "x"}}},
    "long values of a map": {"spec": {"size": 1}, "rules": {"map": {"a": "12345", "b": "1"}}},
    "a first value": {"spec": {"size": 1}, "rules": {"once": "old"}},
    "a string compared with a number": {"spec": {"size": 1}, "rules": {"mixed": "x"}},
    "a number compared with a number": {"spec": {"size": 1}, "rules": {"mixed": 6}},
    "a text that is no number": {"spec": {"size": 1}, "rules": {"number": "x"}},
    "a product that is too large": {"spec": {"size": 1}, "rules": {"number": "9999999999"}},
    "a text that is no span": {"spec": {"size": 1}, "rules": {"span": "x"}},
    "a text that is no moment": {"spec": {"size": 1}, "rules": {"moment": "x"}},
    "a division by zero": {"spec": {"size": 1}, "rules": {"divisor": 0}},
    "a rule in vain": {"spec": {"size": "x"}, "rules": {"even": 3}},
    "rows without a value": {"spec": {"size": 1}, "rules": {"rows": [{"key": "a"}]}},
}

CHANGED: dict[str, tuple[Manifest, Manifest]] = {
    "a fixed text": ({"spec": {"size": 1}, "rules": {"fixed": "a"}}, {"spec": {"size": 1}, "rules": {"fixed": "b"}}),
    "a fixed text that stays": ({"spec": {"size": 1}, "rules": {"fixed": "a"}}, {"spec": {"size": 2}, "rules": {"fixed": "a"}}),
    "a value that shrinks": (
        {"spec": {"size": 1}, "rules": {"rows": [{"key": "a", "value": 2}, {"key": "b", "value": 2}]}},
        {"spec": {"size": 1}, "rules": {"rows": [{"key": "b", "value": 3}, {"key": "a", "value": 1}]}},
    ),
    "a new row": (
        {"spec": {"size": 1}, "rules": {"rows": [{"key": "a", "value": 2}]}},
        {"spec": {"size": 1}, "rules": {"rows": [{"key": "b", "value": 0}]}},
    ),
    "once and again": ({"spec": {"size": 1}, "rules": {"once": "new"}}, {"spec": {"size": 1}, "rules": {"once": "old"}}),
    "too large now": ({"spec": {"size": 1}}, {"spec": {"size": 99}}),
}
