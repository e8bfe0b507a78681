"""The rules of a definition (`x-kubernetes-validations`), run over an object, with the old values for those about a change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from apis.meta import Manifest
from manager.embedded import gocel
from manager.embedded.causes import NOWHERE, OMITTED, child, duplicate, forbidden, index, invalid, key, required
from manager.embedded.correlation import Correlation, by_key, key_of
from manager.embedded.declared import declared
from manager.embedded.fieldpath import field_path
from manager.embedded.schema import ListType, Schema
from manager.embedded.status import Cause
from manager.embedded.views import view
from policy import cel
from policy.cel.budget import LIMIT, Budget
from policy.cel.error import CelError, Exhausted
from policy.cel.types import DYN, Type, optional_of
from policy.cel.values import ABSENT, Optional

LONGEST_MESSAGE = 5120  # bytes of what a messageExpression says
TOTAL = 10 * LIMIT  # what all rules of one object may cost together, as Kubernetes has it
SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"
CANCELLED = "operation cancelled: actual cost limit exceeded"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A compiled rule, or why it could not be compiled (which was found when the definition was accepted)."""

    raw: Mapping[str, Any]
    program: cel.Program | None = None
    message: cel.Program | None = None
    problem: str = ""

    @property
    def about_change(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.names

    @property
    def said(self) -> str:
        """The rule in a message: by its own message, else as it is written."""
        return str(self.raw.get("message") or self.raw["rule"]).strip()


@dataclass(frozen=True, slots=True)
class _Node:
    """The rules of one node of a schema and of those below it that have any."""

    schema: Schema
    resource: bool
    rules: tuple[_Rule, ...]
    all_of: "tuple[_Node, ...]"
    properties: "Mapping[str, _Node]"
    additional: "_Node | None"
    items: "_Node | None"


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the old value: the node's own, else that of the nearest one above which has any."""

    own: Correlation | None = None
    above: Correlation | None = None

    def key(self, name: str) -> "_Known":
        if self.own is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _Known()
        return _Known(self.own.key(name), self.own)

    def index(self, place: int) -> "_Known":
        return self if self.own is None else _Known(self.own.index(place), self.own)

    @property
    def unchanged(self) -> bool:
        nearest = self.own or self.above
        return nearest is not None and nearest.unchanged()


class _Purse:
    """What the rules of one object may still cost; empty for good once a rule was cut short."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = TOTAL

    def evaluate(self, program: cel.Program, bindings: Mapping[str, Any]) -> Any:
        """Run a program. Raises CelError, Exhausted."""
        budget = Budget(min(LIMIT, self.left))
        try:
            return program.evaluate(bindings, budget)
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            # The program trusts the schema's types; a value that was stored under an older schema may have another.
            raise CelError("a value is not of the type that the schema declares") from error
        finally:
            self.left -= min(budget.spent, budget.limit)

    def emptied(self, rule: "_Rule") -> str:
        """What is said of the rule that was cut short; no other one is run after it."""
        alone = self.left > 0
        self.left = -1
        return (
            f"'{CANCELLED}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.said}"
            if alone
            else SPENT
        )


@dataclass(frozen=True, slots=True)
class _Site:
    """A value with its rules: where it stands, what it was, and what may still be spent on it."""

    node: _Node
    value: Any
    old: Any
    path: str
    known: _Known
    purse: _Purse

    @property
    def field(self) -> str:
        return self.path or NOWHERE

    @property
    def kind(self) -> str:
        """What is shown in place of a value when a rule fails to run."""
        return "object" if self.node.resource else self.node.schema.type

    def under(self, name: str, path: str, node: _Node) -> "_Site":
        """A field, or an entry of a map."""
        old = self.old.get(name) if isinstance(self.old, dict) else None
        return _Site(node, self.value[name], old, path, self.known.key(name), self.purse)


def present(schema: Schema) -> bool:
    """Has the definition any rules?"""
    return _compiled(schema) is not None


def broken(schema: Schema, obj: Manifest, old: Manifest | None, root: Correlation | None) -> list[Cause]:
    """The rules that the object breaks; those about a change only where there is an old value."""
    node = _compiled(schema)
    return [] if node is None else _broken(_Site(node, obj, old, "", _Known(root), _Purse()))


def broken_by_default(schema: Schema, default: Any, path: str) -> list[Cause]:
    """The rules of a field that its default breaks, as it is written: the defaults of fields below are not filled in before."""
    node = _compile(schema, schema, resource=False)
    return [] if node is None else _broken(_Site(node, default, None, path, _Known(), _Purse()))


@lru_cache(maxsize=256)
def _compiled(schema: Schema) -> _Node | None:
    return _compile(schema, schema, resource=True)


def _compile(said: Schema, schema: Schema, *, resource: bool) -> _Node | None:
    """The rules that `said` states of values of `schema`; the two differ below `allOf`, which has no types."""
    properties = {
        name: node
        for name, each in said.properties.items()
        if name in schema.properties
        and (node := _compile(each, schema.properties[name], resource=schema.properties[name].embedded_resource))
    }
    both = said.additional is not None and schema.additional is not None
    additional = _compile(said.additional, schema.additional, resource=False) if both else None  # type: ignore[arg-type]
    both = said.items is not None and schema.items is not None
    items = _compile(said.items, schema.items, resource=False) if both else None  # type: ignore[arg-type]
    all_of = tuple(
        node for each in said.constraints.get("allOf", ()) if (node := _compile(each, schema, resource=resource)) is not None
    )
    rules = tuple(_rule(raw, variables(schema, raw, resource=resource)) for raw in said.rules)
    if not (rules or properties or additional or items or all_of):
        return None
    return _Node(schema, resource, rules, all_of, properties, additional, items)


def variables(schema: Schema, raw: Mapping[str, Any], *, resource: bool) -> dict[str, Type]:
    """What a rule of this node may speak of: the value and the old one, with their types."""
    kind = declared(schema, resource=resource) or DYN
    return {"self": kind, "oldSelf": optional_of(kind) if raw.get("optionalOldSelf") else kind}


def compiled(text: str, known: Mapping[str, Type]) -> cel.Program:
    """A text of a rule. Raises CelError."""
    return cel.prepare(text, cel.Environment(known, cel.default()))


def _rule(raw: Mapping[str, Any], known: Mapping[str, Type]) -> _Rule:
    try:
        program = compiled(raw["rule"], known)
    except CelError as error:
        return _Rule(raw, problem=error.message)
    return _Rule(raw, program, _message_program(raw, known))


def _message_program(raw: Mapping[str, Any], known: Mapping[str, Type]) -> cel.Program | None:
    if not raw.get("messageExpression"):
        return None
    try:
        return compiled(raw["messageExpression"], known)
    except CelError:
        return None  # refused with the definition; of one that was kept, the plain message is shown


def _broken(site: _Site) -> list[Cause]:
    """The rules that are broken at a site and below it."""
    if site.value is None or site.purse.left < 0:
        return []
    causes = _here(site)
    for each in site.node.all_of:
        causes += _broken(replace(site, node=each, known=_Known(None, site.known.above)))
    for below in _below(site):
        causes += _broken(below)
    return causes


def _below(site: _Site) -> Iterator[_Site]:
    """What stands under a value and has rules of its own."""
    node, value = site.node, site.value
    match value:
        case list() if node.items is not None:
            before = by_key(node.schema, site.old) if _keyed(node.schema) and isinstance(site.old, list) else {}
            for place, item in enumerate(value):
                old = before.get(key_of(node.schema, item))
                yield _Site(node.items, item, old, index(site.path, place), site.known.index(place), site.purse)
        case dict() if node.additional is not None:
            for name in value:
                yield site.under(name, key(site.path, name), node.additional)
        case dict():
            for name in value:
                if name in node.properties:
                    yield site.under(name, child(site.path, name), node.properties[name])


def _keyed(schema: Schema) -> bool:
    return schema.list_type == ListType.MAP and bool(schema.list_keys)


def _here(site: _Site) -> list[Cause]:
    """The rules of this node, in their order, until one is cut short."""
    node, causes = site.node, list[Cause]()
    if not node.rules:
        return causes
    try:
        seen = view(node.schema, site.value, resource=node.resource)
        before = None if site.old is None else view(node.schema, site.old, resource=node.resource)
    except CelError as error:
        return [invalid(site.field, site.kind, _failed(error, node.rules[0]))]
    for rule in node.rules:
        cause = _tried(rule, site, seen, before)
        if cause is not None:
            causes.append(cause)
        if site.purse.left < 0:
            break
    return causes


def _tried(rule: _Rule, site: _Site, seen: Any, before: Any) -> Cause | None:
    if rule.program is None:
        return invalid(site.field, site.kind, f"rule compile error: {rule.problem}")
    if rule.about_change and before is None and not rule.raw.get("optionalOldSelf"):
        return None
    bindings = {"self": seen} | _old(rule, before)
    try:
        holds = site.purse.evaluate(rule.program, bindings)
    except Exhausted:
        return invalid(site.field, site.kind, site.purse.emptied(rule))
    except CelError as error:
        return invalid(site.field, site.kind, _failed(error, rule))
    if holds is True or (not rule.about_change and site.known.unchanged):
        return None
    return _refusal(rule, site, bindings)


def _old(rule: _Rule, before: Any) -> dict[str, Any]:
    if rule.raw.get("optionalOldSelf"):
        return {"oldSelf": ABSENT if before is None else Optional(True, before)}
    return {} if before is None else {"oldSelf": before}


def _failed(error: CelError, rule: _Rule) -> str:
    said = gocel.failed(error)
    if said == "no such overload":
        return f"'{said}': call arguments did not match a supported operator, function or macro signature for rule: {rule.said}"
    return f"{said} evaluating rule: {rule.said}"


def _refusal(rule: _Rule, site: _Site, bindings: Mapping[str, Any]) -> Cause:
    detail = _message(rule, site, bindings)
    below = field_path(rule.raw.get("fieldPath") or "")
    at = (child(site.path, below) if below else site.path) or NOWHERE
    shown = OMITTED if site.kind in ("object", "array") else site.value
    match rule.raw.get("reason"):
        case "FieldValueForbidden":
            return forbidden(at, detail)
        case "FieldValueRequired":
            return required(at, detail)
        case "FieldValueDuplicate":
            return duplicate(at, shown)
    return invalid(at, shown, detail)


def _message(rule: _Rule, site: _Site, bindings: Mapping[str, Any]) -> str:
    """What the rule says when it is broken; a messageExpression without a usable result is passed over."""
    otherwise = rule.said if rule.raw.get("message") else f"failed rule: {rule.said}"
    if rule.message is None:
        return otherwise
    try:
        said = site.purse.evaluate(rule.message, bindings)
    except CelError:
        return otherwise
    said = said.strip() if isinstance(said, str) else ""
    usable = said and "\n" not in said and len(said.encode()) <= LONGEST_MESSAGE
    return said if usable else otherwise
