"""What the schema of a definition may say: words that are not supported, types, lists, defaults and validation rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from manager.embedded import constraints, gocel, gostruct, rules
from manager.embedded.causes import child, forbidden, index, invalid, key, not_supported, required
from manager.embedded.fieldpath import WrongPath, field_path
from manager.embedded.schema import Schema
from manager.embedded.status import Cause
from manager.embedded.structural import prune, read
from manager.embedded.structure import EMBEDDED, PRESERVE, violations
from policy import cel
from policy.cel.error import CelError
from policy.cel.types import Type

TYPES = ("array", "boolean", "integer", "number", "object", "string")
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
META = ("metadata", "kind", "apiVersion")
RULES = "x-kubernetes-validations"
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"

_Raw = Mapping[str, Any]

_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
_WORDS_AT_ROOT = {word[:1].lower() + word[1:] for word in _AT_ROOT.split()} | {PRESERVE, RULES}


@dataclass(frozen=True, slots=True)
class _Where:
    """What holds at a place of the schema."""

    root: bool = False
    in_meta: bool = False
    no_default: str | None = None  # why there may be none
    uncorrelated: str = ""  # the place above which has no old value for what is below it
    rules: bool = True  # below a junctor none are looked at


def problems(raw: _Raw, path: str, *, status: bool) -> list[Cause]:
    """Why the schema (JSON) at `path` is refused. `status`: the version has that subresource."""
    found = list(_root(raw, path, status=status))
    schema = list(_schema(raw, path, _Where(root=True)))
    # Of a schema with words that nobody supports, the server does not ask whether it is structural.
    structural = [] if _has_unsupported(raw) else violations(raw, path)
    defaults = [] if structural or _has_unsupported(raw) else list(_defaults(raw, path))
    found += structural + defaults + schema
    if not structural and not defaults and not schema:
        found += _rules(raw, path, _Where(root=True))
    return found


def _has_unsupported(raw: _Raw) -> bool:
    if any(raw.get(word) for word in _UNSUPPORTED) or isinstance(raw.get("items"), list):
        return True
    return any(_has_unsupported(below) for below, _, _ in _children(raw, "", _Where()))


def _root(raw: _Raw, path: str, *, status: bool) -> Iterator[Cause]:
    if status:
        said = [word for word, value in raw.items() if value not in (None, False, "", [], {})]
        if raw.get("type") and raw["type"] != "object":
            why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            yield invalid(child(path, "type"), raw["type"], why)
        elif any(word not in _WORDS_AT_ROOT for word in said):
            why = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
            yield invalid(path, gostruct.schema(raw), why)
    if raw.get("nullable"):
        yield forbidden(child(path, "nullable"), "nullable cannot be true at the root")


def _schema(raw: _Raw, path: str, where: _Where) -> Iterator[Cause]:
    yield from _words(raw, path, where)
    for below, place, there in _children(raw, path, where):
        yield from _schema(below, place, there)
    if raw.get(PRESERVE) is False:
        yield invalid(child(path, PRESERVE), False, "must be true or undefined")
    yield from _map(raw, path)
    yield from _list(raw, path)
    for at, rule in enumerate(raw.get(RULES) or ()):
        yield from _rule_words(raw, rule, index(child(path, RULES), at))


def _words(raw: _Raw, path: str, where: _Where) -> Iterator[Cause]:
    kind = raw.get("type") or ""
    if kind and kind not in TYPES:
        yield not_supported(child(path, "type"), kind, TYPES)
    if raw.get("default") is not None and where.no_default is not None:
        yield forbidden(child(path, "default"), f"must not be set {where.no_default}".strip())
    for word in _UNSUPPORTED:
        if raw.get(word):
            yield forbidden(child(path, word), f"{word} is not supported")
    if kind == "null":
        yield forbidden(child(path, "type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(raw.get("items"), list):
        yield forbidden(child(path, "items"), "items must be a schema object and not an array")
    if where.in_meta and raw.get(EMBEDDED):
        yield forbidden(child(path, EMBEDDED), "must not be used inside of resource meta")
    if raw.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(child(path, "uniqueItems"), why)
    additional = raw.get("additionalProperties")
    if raw.get("properties") and additional is not None and additional is not True:
        yield forbidden(child(path, "additionalProperties"), "additionalProperties and properties are mutual exclusive")


def _children(raw: _Raw, path: str, where: _Where) -> Iterator[tuple[_Raw, str, _Where]]:
    """What is below a node, where, and what holds there."""
    inside = replace(where, root=False)
    if isinstance(raw.get("additionalProperties"), Mapping):
        why = "inside additionalProperties applying to object metadata" if where.in_meta else where.no_default
        yield raw["additionalProperties"], child(path, "additionalProperties"), replace(inside, no_default=why)
    for name, each in (raw.get("properties") or {}).items():
        there = inside
        if (where.root or raw.get(EMBEDDED)) and name in META:
            there = replace(inside, in_meta=True, no_default=f"in top-level {name}" if where.root else where.no_default)
        yield each, key(child(path, "properties"), name), there
    nested = replace(inside, rules=False)
    if raw.get("not") is not None:
        yield raw["not"], child(path, "not"), nested
    for junctor in ("allOf", "oneOf", "anyOf"):
        for place, each in enumerate(raw.get(junctor) or ()):
            yield each, index(child(path, junctor), place), nested
    if isinstance(raw.get("items"), Mapping):
        correlated = raw.get(LIST_TYPE) == "map"
        yield (
            raw["items"],
            child(path, "items"),
            inside if correlated else replace(inside, uncorrelated=where.uncorrelated or path),
        )


def _map(raw: _Raw, path: str) -> Iterator[Cause]:
    given, kind = raw.get(MAP_TYPE), raw.get("type") or ""
    if given is None:
        return
    if kind != "object":
        yield _type_needed(path, kind, "must be object if x-kubernetes-map-type is specified")
    if given not in ("atomic", "granular"):
        yield not_supported(child(path, MAP_TYPE), given, ("atomic", "granular"))


def _type_needed(path: str, kind: str, why: str) -> Cause:
    place = child(path, "type")
    return invalid(place, kind, why) if kind else required(place, why)


def _list(raw: _Raw, path: str) -> Iterator[Cause]:
    given, kind, keys, items = raw.get(LIST_TYPE), raw.get("type") or "", raw.get(LIST_KEYS) or [], raw.get("items")
    if given is not None and kind != "array":
        yield _type_needed(path, kind, "must be array if x-kubernetes-list-type is specified")
    elif given == "set" and isinstance(items, Mapping):
        yield from _set(items, child(path, "items"))
    if given is not None and given not in ("atomic", "set", "map"):
        yield not_supported(child(path, LIST_TYPE), given, ("atomic", "set", "map"))
    if keys and given != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield required(child(path, LIST_TYPE), why) if given is None else invalid(child(path, LIST_TYPE), given, why)
    if given == "map":
        yield from _keyed(keys, items, path)
    if given in ("set", "map") and isinstance(items, Mapping):
        yield from _not_nullable(given, keys, items, child(path, "items"))


def _set(items: _Raw, path: str) -> Iterator[Cause]:
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        yield invalid(child(path, LIST_TYPE), items.get(LIST_TYPE), why)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        yield invalid(child(path, MAP_TYPE), items.get(LIST_TYPE), why)


def _keyed(keys: list[str], items: Any, path: str) -> Iterator[Cause]:
    if not keys:
        yield required(child(path, LIST_KEYS), "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(child(path, "items"), "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(child(child(path, "items"), "type"), items.get("type") or "", why)
        return
    properties = items.get("properties") or {}
    for place, name in enumerate(keys):
        if name not in properties:
            yield invalid(child(path, LIST_KEYS), keys, "entries must all be names of item properties")
        elif properties[name].get("type") in ("array", "object"):
            at = child(key(child(child(path, "items"), "properties"), name), "type")
            yield invalid(at, items["type"], "must be a scalar type if parent array's x-kubernetes-list-type is map")
        if name in keys[:place]:
            yield invalid(child(path, LIST_KEYS), keys, "must not contain duplicate entries")


def _not_nullable(given: str, keys: list[str], items: _Raw, path: str) -> Iterator[Cause]:
    if items.get("nullable"):
        yield forbidden(child(path, "nullable"), f"cannot be nullable when x-kubernetes-list-type is {given}")
    properties = items.get("properties") or {}
    for name in keys if given == "map" else ():
        if name not in properties:
            continue
        place = key(child(path, "properties"), name)
        if name not in (items.get("required") or ()) and properties[name].get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield required(child(place, "default"), why)
        if properties[name].get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(child(place, "nullable"), why)


def _rule_words(raw: _Raw, rule: _Raw, path: str) -> Iterator[Cause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield required(child(path, "rule"), "rule is not specified")
    elif message and not message.strip():
        yield invalid(child(path, "message"), message, "must be non-empty if specified")
    elif _broken(message.strip()):
        yield invalid(child(path, "message"), message, "must not contain line breaks")
    elif _broken(text) and not message.strip():
        yield required(child(path, "message"), "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield required(child(path, "messageExpression"), "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in REASONS:
        yield not_supported(child(path, "reason"), rule["reason"], REASONS)
    yield from _rule_path(raw, rule.get("fieldPath") or "", child(path, "fieldPath"))


def _rule_path(raw: _Raw, given: str, path: str) -> Iterator[Cause]:
    if not given:
        return
    if not given.strip():
        yield invalid(path, given, "must be non-empty if specified")
    if _broken(given):
        yield invalid(path, given, "must not contain line breaks")
    try:
        field_path(given, raw)
    except WrongPath:
        yield invalid(path, given, "must be a valid path")


def _broken(text: str) -> bool:
    return "\n" in text or "\r" in text


def _rules(raw: _Raw, path: str, where: _Where) -> Iterator[Cause]:
    """The rules compiled; only once the schema around them is right."""
    for below, place, there in _children(raw, path, where):
        if there.rules:
            yield from _rules(below, place, there)
    given = raw.get(RULES) or ()
    schema = read(raw) if given else None
    for at, rule in enumerate(given):
        if schema is not None:
            yield from _compiled(rule, schema, index(child(path, RULES), at), where)


def _compiled(rule: _Raw, schema: Schema, path: str, where: _Where) -> Iterator[Cause]:
    variables = rules.variables(schema, rule, resource=where.root)
    program, problem = _program(rule["rule"], variables)
    if program is None:
        yield invalid(child(path, "rule"), gostruct.rule(rule), f"compilation failed: {problem}")
        return
    if not program.boolean:
        yield invalid(child(path, "rule"), gostruct.rule(rule), "cel expression must evaluate to a bool")
        return
    if rule.get("messageExpression"):
        message, problem = _program(rule["messageExpression"], variables)
        if message is None:
            why = f"messageExpression compilation failed: {problem}"
            yield invalid(child(path, "messageExpression"), gostruct.rule(rule), why)
        elif str(message.result_type) not in ("string", "dyn"):
            why = "messageExpression must evaluate to a string"
            yield invalid(child(path, "messageExpression"), gostruct.rule(rule), why)
    if "oldSelf" not in program.names:
        if rule.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            yield invalid(child(path, "optionalOldSelf"), rule["optionalOldSelf"], why)
    elif where.uncorrelated:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {where.uncorrelated}"
        yield invalid(child(path, "rule"), rule["rule"], why)


def _program(text: str, variables: Mapping[str, Type]) -> tuple[cel.Program | None, str]:
    """The program, or why there is none."""
    try:
        return rules.compiled(text, variables), ""
    except CelError as error:
        return None, gocel.refused(error, text)


def _defaults(raw: _Raw, path: str) -> Iterator[Cause]:
    """Defaults have to fit the schema that they stand in, and its rules."""
    if raw.get("default") is not None:
        schema, place = read(raw), child(path, "default")
        if isinstance(raw["default"], dict) and prune(schema, raw["default"])[1]:
            yield invalid(place, raw["default"], "must not have unknown fields")
        unfit = constraints.check(schema, raw["default"], base=place)
        yield from unfit or rules.broken_by_default(schema, raw["default"], place)
    if isinstance(raw.get("items"), Mapping):
        yield from _defaults(raw["items"], child(path, "items"))
    for name, each in (raw.get("properties") or {}).items():
        yield from _defaults(each, key(child(path, "properties"), name))
