"""The words of a `paramSchema`: those of structural schemas, each with the type that its value has.

JSON Schema 2020-12 has more words. They are refused by name, since what is not understood would not be checked either. Whether
the words make a structural schema is judged afterwards, by what judges CustomResourceDefinitions.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from manager.embedded.causes import child, index, key
from manager.permits.forms import FORM, problem

DEEPEST = 24
"""Levels of schemas within schemas."""

PRESERVE = "x-kubernetes-preserve-unknown-fields"

_Check = Callable[[Any, str, int], Iterator[str]]


def wrong(raw: Any, path: str, depth: int = 0) -> Iterator[str]:
    """`<path>: <remedy>` for each word of the schema at `path` that cannot be there, or not with this value."""
    if not isinstance(raw, Mapping):
        yield f"{path}: must be a schema: a map with a type"
        return
    if depth > DEEPEST:
        yield f"{path}: has more than {DEEPEST} levels: make it flatter"
        return
    for word, value in raw.items():
        check = _WORDS.get(word)
        if check is None:
            yield f"{child(path, word)}: {_INSTEAD.get(word, 'unknown word: remove it, or correct its spelling')}"
        elif value is not None:
            yield from check(value, child(path, word), depth)
    if raw.get("additionalProperties") is False and raw.get(PRESERVE):
        yield f"{child(path, PRESERVE)}: contradicts additionalProperties: remove one of them"


def plain(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in the words of structural schemas alone.

    Hints go, and so does `additionalProperties: false`: what is not described is refused anyhow.
    """
    kept = {word: value for word, value in raw.items() if word not in (FORM, "$schema", "$comment") and value is not None}
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]
    for word in ("items", "not", "additionalProperties"):
        if isinstance(kept.get(word), Mapping):
            kept[word] = plain(kept[word])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in kept:
            kept[word] = [plain(each) for each in kept[word]]
    if "properties" in kept:
        kept["properties"] = {name: plain(each) for name, each in kept["properties"].items()}
    return kept


def _text(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{path}: must be a string: put it in quotes"


def _one_of(*choices: str) -> _Check:
    def check(value: Any, path: str, _: int) -> Iterator[str]:
        if value not in choices:
            yield f"{path}: must be one of {', '.join(choices)}"

    return check


def _flag(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path}: must be true or false, without quotes"


def _exclusive(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path}: must be true or false: write the bound as minimum or maximum"


def _number(value: Any, path: str, _: int) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{path}: must be a number, without quotes"


def _count(value: Any, path: str, _: int) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        yield f"{path}: must be a whole number from 0"


def _anything(_: Any, __: str, ___: int) -> Iterator[str]:
    return iter(())


def _type(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{path}: must be one type: for null as well write nullable, for a number or a string x-kubernetes-int-or-string"


def _values(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: must be a list: begin each entry with `- `"


def _names(value: Any, path: str, _: int) -> Iterator[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        yield f"{path}: must be a list of names"


def _item(value: Any, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        yield f"{path}: must be one schema, for all items"
    else:
        yield from wrong(value, path, depth + 1)


def _schema(value: Any, path: str, depth: int) -> Iterator[str]:
    yield from wrong(value, path, depth + 1)


def _schema_or_flag(value: Any, path: str, depth: int) -> Iterator[str]:
    if not isinstance(value, bool):
        yield from wrong(value, path, depth + 1)


def _schemas(value: Any, path: str, depth: int) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: must be a list of schemas: begin each entry with `- `"
        return
    for place, each in enumerate(value):
        yield from wrong(each, index(path, place), depth + 1)


def _properties(value: Any, path: str, depth: int) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: must be a map of names and schemas"
        return
    for name, each in value.items():
        yield from wrong(each, key(path, name), depth + 1)


def _rules(value: Any, path: str, depth: int) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: must be a list of rules: begin each entry with `- `"
        return
    for place, rule in enumerate(value):
        at = index(path, place)
        if not isinstance(rule, Mapping):
            yield f"{at}: must be a rule: a map with rule and message"
            continue
        for word, said in rule.items():
            check = _RULE.get(word)
            if check is None:
                yield f"{child(at, word)}: {_INSTEAD_IN_RULES.get(word, 'unknown word: remove it, or correct its spelling')}"
            elif said is not None:
                yield from check(said, child(at, word), depth)


def _form(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth == 0:
        yield f"{path}: describes one parameter: move it to a property"
    elif said := problem(value, path):
        yield said


_RULE: dict[str, _Check] = {
    "rule": _text,
    "message": _text,
    "messageExpression": _text,
    "reason": _text,
    "fieldPath": _text,
}

_INSTEAD_IN_RULES = {"optionalOldSelf": "parameters never change, so that there is no oldSelf: remove it"}

_WORDS: dict[str, _Check] = {
    "type": _type,
    **dict.fromkeys(("format", "title", "description", "pattern", "$schema", "$comment"), _text),
    "x-kubernetes-list-type": _one_of("atomic", "set", "map"),
    "x-kubernetes-map-type": _one_of("atomic", "granular"),
    **dict.fromkeys(("nullable", "uniqueItems", PRESERVE, "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"), _flag),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _exclusive),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("default", "example"), _anything),
    "enum": _values,
    **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), _names),
    "properties": _properties,
    "items": _item,
    "additionalProperties": _schema_or_flag,
    "not": _schema,
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _schemas),
    "x-kubernetes-validations": _rules,
    FORM: _form,
}

_NAMED = "not a word of structural schemas: write additionalProperties and a rule"
_RULED = "not a word of structural schemas: write a rule in x-kubernetes-validations"
_WRITTEN_OUT = "not a word of structural schemas: write the schema out where it is used"
_INSTEAD = {
    "const": "not a word of structural schemas: write enum with one value",
    **dict.fromkeys(("$ref", "$defs", "definitions", "$anchor", "$dynamicRef", "$dynamicAnchor", "$id", "id"), _WRITTEN_OUT),
    **dict.fromkeys(("if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "contains"), _RULED),
    **dict.fromkeys(("minContains", "maxContains", "prefixItems", "additionalItems", "unevaluatedItems"), _RULED),
    **dict.fromkeys(("patternProperties", "propertyNames"), _NAMED),
    "unevaluatedProperties": "not a word of structural schemas: remove it, what is not described is refused",
    "examples": "not a word of structural schemas: write example",
    "contentEncoding": "not a word of structural schemas: write format: byte for base64",
}
