"""Whether a schema is structural: every field has a type outside of `allOf`, `anyOf`, `oneOf` and `not`, and those only restrict.

Specification: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from collections.abc import Iterator, Mapping
from typing import Any

from manager.embedded.causes import child, forbidden, index, invalid, key, required
from manager.embedded.status import Cause
from policy.cel.error import CelError
from policy.cel.regex import pattern

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"

_Raw = Mapping[str, Any]

_NOT_NESTED: tuple[tuple[str, str], ...] = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def violations(raw: _Raw, path: str) -> list[Cause]:
    """Why the schema (JSON) at `path` is not structural, in the order of the messages."""
    found = [*_invariants(raw, _ROOT, path), *_complete(raw, raw, path, path)]
    return sorted(found, key=lambda cause: f"{cause.field}: {cause.message}")


def _invariants(raw: _Raw, level: str, path: str) -> Iterator[Cause]:
    kind = raw.get("type") or ""
    if kind == "array" and raw.get("items") is None:
        yield required(child(path, "items"), "must be specified")
    if isinstance(raw.get("items"), Mapping):
        yield from _invariants(raw["items"], _ITEM, child(path, "items"))
    for name, each in (raw.get("properties") or {}).items():
        yield from _invariants(each, _FIELD, key(child(path, "properties"), name))
    yield from _additional(raw, level, path)
    yield from _extensions(raw, path)
    yield from _values(raw, path, _skipped(raw))
    yield from _typed(raw, kind, level, path)
    yield from _meta(raw, level, path)
    if raw.get(EMBEDDED) and not raw.get(PRESERVE) and not raw.get("properties"):
        yield required(
            child(path, "properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        )


def _additional(raw: _Raw, level: str, path: str) -> Iterator[Cause]:
    if raw.get("additionalProperties") is None:
        return
    place = child(path, "additionalProperties")
    if level == _ROOT:
        yield forbidden(place, "must not be used at the root")
    if isinstance(raw["additionalProperties"], Mapping):
        yield from _invariants(raw["additionalProperties"], _FIELD, place)
    if raw.get(EMBEDDED):
        yield forbidden(place, "must not be used if x-kubernetes-embedded-resource is set")


def _extensions(raw: _Raw, path: str) -> Iterator[Cause]:
    if raw.get(INT_OR_STRING):
        for each in (PRESERVE, EMBEDDED):
            if raw.get(each):
                yield invalid(child(path, each), True, "must be false if x-kubernetes-int-or-string is true")


def _typed(raw: _Raw, kind: str, level: str, path: str) -> Iterator[Cause]:
    place = child(path, "type")
    if raw.get(EMBEDDED) and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(place, kind, why) if kind else required(place, why)
    elif not kind and not raw.get(INT_OR_STRING) and not raw.get(PRESERVE):
        yield required(place, f"must not be empty {level}")
    if level == _ROOT and kind and kind != "object":
        yield invalid(place, kind, "must be object at the root")


def _meta(raw: _Raw, level: str, path: str) -> Iterator[Cause]:
    """What stands in the schema for kind, apiVersion and metadata, which every resource has."""
    properties = raw.get("properties") or {}
    checked = level == _ROOT or bool(raw.get(EMBEDDED))
    for name in ("kind", "apiVersion"):
        if checked and name in properties and properties[name].get("type") != "string":
            yield invalid(
                child(key(child(path, "properties"), name), "type"), properties[name].get("type") or "", "must be string"
            )
    if "metadata" not in properties:
        return
    metadata, place = properties["metadata"], key(child(path, "properties"), "metadata")
    if checked and metadata.get("type") != "object":
        yield invalid(child(place, "type"), metadata.get("type") or "", "must be object")
    if level == _ROOT and not _only_names(metadata):
        yield forbidden(place, "must not specify anything other than name and generateName, but metadata is implicitly specified")


def _only_names(metadata: _Raw) -> bool:
    said = {
        name for name, value in metadata.items() if value not in (None, False, "", [], {}) and name not in ("type", "default")
    }
    return said <= {"properties"} and set(metadata.get("properties") or {}) <= {"name", "generateName"}


def _skipped(raw: _Raw) -> frozenset[str]:
    """Where the two types of int-or-string are spelled out, which is allowed in these two places."""
    skipped = set()
    if raw.get("anyOf") == _INT_OR_STRING:
        skipped.add("anyOf")
    if raw.get("allOf") and raw["allOf"][0].get("anyOf") == _INT_OR_STRING:
        skipped.add("allOf")
    return frozenset(skipped)


def _values(raw: _Raw, path: str, skipped: frozenset[str] = frozenset()) -> Iterator[Cause]:
    for junctor in _JUNCTORS:
        if junctor == "anyOf" and "anyOf" in skipped:
            continue
        for place, each in enumerate(raw.get(junctor) or ()):
            inner = frozenset({"anyOf"}) if junctor == "allOf" and place == 0 and "allOf" in skipped else frozenset[str]()
            yield from _nested(each, index(child(path, junctor), place), inner)
    if raw.get("not") is not None:
        yield from _nested(raw["not"], child(path, "not"))
    if raw.get("pattern"):
        try:
            pattern(raw["pattern"])
        except CelError as error:
            yield invalid(
                child(path, "pattern"), raw["pattern"], f"must be a valid regular expression, but isn't: {_words(error)}"
            )


_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


def _words(error: CelError) -> str:
    """What RE2 says of a malformed expression, in the words of Go's library."""
    cause = error.__cause__
    said = cause.args[0] if cause is not None and cause.args else error.message
    what, _, where = (said.decode(errors="replace") if isinstance(said, bytes) else str(said)).partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(what, what)}: `{where}`"


def _nested(raw: _Raw, path: str, skipped: frozenset[str] = frozenset()) -> Iterator[Cause]:
    yield from _values(raw, path, skipped)
    if isinstance(raw.get("items"), Mapping):
        yield from _nested(raw["items"], child(path, "items"))
    for name, each in (raw.get("properties") or {}).items():
        yield from _nested(each, key(child(path, "properties"), name))
    for word, why in _NOT_NESTED:
        if raw.get(word) not in (None, False, "", [], {}) or (
            word in ("additionalProperties", "default") and raw.get(word) is not None
        ):
            yield forbidden(child(path, word), why)
    if "metadata" in (raw.get("properties") or {}):
        yield forbidden(key(child(path, "properties"), "metadata"), "must not be specified in a nested context")


def _complete(raw: _Raw, shape: _Raw, shape_path: str, path: str) -> Iterator[Cause]:
    """What a junctor restricts must be there outside of it."""
    for junctor in _JUNCTORS:
        for place, each in enumerate(raw.get(junctor) or ()):
            yield from _matched(each, shape, shape_path, index(child(path, junctor), place))
    if raw.get("not") is not None:
        yield from _matched(raw["not"], shape, shape_path, child(path, "not"))


def _matched(raw: _Raw, shape: _Raw | None, shape_path: str, path: str) -> Iterator[Cause]:
    if shape is None:
        yield required(shape_path, f"because it is defined in {path}")
        return
    yield from _complete(raw, shape, shape_path, path)
    if isinstance(raw.get("items"), Mapping):
        yield from _matched(raw["items"], shape.get("items"), child(shape_path, "items"), child(path, "items"))
    known = shape.get("properties") or {}
    for name, each in (raw.get("properties") or {}).items():
        place, said = key(child(shape_path, "properties"), name), key(child(path, "properties"), name)
        yield from _matched(each, known.get(name), place, said)
