"""The parameters of a permit, against the `paramSchema` of its template: a structural schema with rules, as definitions have.

What judges the schemas and objects of CustomResourceDefinitions judges here too, in the same words. The schema is that of one
field, `params`: so its causes name `params.user`, and names such as `metadata` mean nothing special at its root.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from manager.embedded import definition_schema, rules, structural
from manager.embedded.causes import NOWHERE, TYPE_INVALID, invalid
from manager.embedded.kinds.customs import whole_numbers
from manager.embedded.schema import Schema
from manager.embedded.status import Cause
from manager.permits import words

FIELD = "params"
PATH = "spec.paramSchema"
LARGEST = 65536
"""Characters of a schema as JSON."""
MOST = 10
"""Problems that one message lists; more are counted."""
LONGEST = 256
"""Characters of one problem: a message goes into conditions and to terminals."""
DEEPEST = 64
"""Levels of maps and lists within each other: what is deeper could not be looked at to its end."""

_ROOT = f"#.properties[{FIELD}]"
_UNCHECKED = invalid(NOWHERE, None, structural.UNCHECKED)


def check_schema(schema: Any) -> None:
    """Raise Invalid unless the value is a schema that parameters can be checked against; the message names path and remedy."""
    _structure(_written(schema))


def checked(schema: Mapping[str, Any] | None, params: Mapping[str, Any] | None) -> Manifest:
    """The parameters with the defaults of the schema. Raises Invalid, naming each wrong parameter, and for a wrong schema.

    Without a schema there are no parameters. What the schema does not describe is refused, unless it preserves unknown fields.
    """
    if schema is None:
        if params:
            raise _refused([f"{FIELD}: the template takes no parameters: remove spec.{FIELD}"])
        return {}
    structure = _structure(_written(schema))
    _check_depth(params, FIELD)
    known, unknown = structural.prune(structure, whole_numbers({} if params is None else {FIELD: params}))
    filled = structural.default(structure, structural.drop_nulls(structure, known))
    if FIELD not in filled:
        filled = structural.default(structure, {FIELD: {}})
    causes = structural.validate(structure, filled)
    problems = [*_unknown(unknown, causes), *(_line(cause) for cause in causes if cause != _UNCHECKED)]
    if problems:
        raise _refused(problems)
    given: Manifest = filled[FIELD]
    return given


def _written(schema: Any) -> str:
    _check_depth(schema, PATH)
    return json.dumps(schema)


def _check_depth(value: Any, path: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        holders = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, Mapping | list)]
        level = [below for holder in holders for below in holder]
        if not level:
            return
    raise _refused([f"{path}: has more than {DEEPEST} levels: make it flatter"])


@lru_cache(maxsize=256)
def _structure(text: str) -> Schema:
    """The schema of the one field, read; kept, so that its rules are compiled once."""
    if len(text) > LARGEST:
        raise _refused([f"{PATH}: has more than {LARGEST} characters as JSON: make it shorter"])
    raw = whole_numbers({"": json.loads(text)})[""]
    problems = list(words.wrong(raw, PATH))
    if problems:
        raise _refused(problems)
    schema = words.plain(raw)
    if schema.get("type") != "object":
        raise _refused([f"{PATH}.type: must be object: parameters have names"])
    whole = {"type": "object", "properties": {FIELD: schema}}
    causes = definition_schema.problems(whole, "#", status=False)
    if causes:
        raise _refused(_line(cause).replace(_ROOT, PATH) for cause in causes)
    structure = structural.read(whole)
    about_change = list(_about_change(structure.properties[FIELD], PATH))
    if about_change:
        raise _refused(about_change)
    return structure


def _about_change(node: Schema, path: str) -> Iterator[str]:
    """Rules that would never run."""
    for place, rule in enumerate(node.rules):
        known = rules.variables(node, rule, resource=node.embedded_resource)
        if "oldSelf" in rules.compiled(rule["rule"], known).names:
            at = f"{path}.{definition_schema.RULES}[{place}].rule"
            yield f"{at}: parameters never change, so that there is no oldSelf: write the rule over self"
    for name, below in node.properties.items():
        yield from _about_change(below, f"{path}.properties[{name}]")
    for word, each in (("items", node.items), ("additionalProperties", node.additional)):
        if each is not None:
            yield from _about_change(each, f"{path}.{word}")


def _unknown(paths: Iterable[str], causes: Iterable[Cause]) -> Iterator[str]:
    """What the schema does not describe, but for what stands within a value of a wrong type, which is said already."""
    mistyped = [cause.field for cause in causes if cause.reason == TYPE_INVALID]
    for path in paths:
        if not any(path.startswith((f"{field}.", f"{field}[")) for field in mistyped):
            yield _cut(f"{path}: unknown parameter: remove it, or correct its spelling")


def _line(cause: Cause) -> str:
    return _cut(f"{cause.field}: {cause.message}" if cause.field else cause.message)


def _cut(text: str) -> str:
    """A long value is cut out of the middle: what is wrong stands at the beginning, and why at the end."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[-half:]}"


def _refused(problems: Iterable[str]) -> Invalid:
    said = list(problems)
    more = [f"and {len(said) - MOST} more"] if len(said) > MOST else []
    return Invalid(Reason.INVALID, "; ".join(said[:MOST] + more))
