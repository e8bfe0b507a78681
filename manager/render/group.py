"""One group over the variables of one job: its three kinds of sources become documents."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apis.problems import Invalid
from apis.reasons import Reason
from manager.render import functions, jinja, text, wire
from manager.render.jinja import Compiled, Failed
from manager.render.taint import taint
from manager.render.tree import Node, Path, Run, Tree, compile_tree, invalid, leaf_of, leaves

FOREIGN = frozenset({"params", "request", "context", "namespace"})
KNOWN = FOREIGN | {"tenant", "parent"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A group, compiled."""

    prefix: str
    targets: tuple[Node, ...]
    template: Compiled | None
    labels: Node
    annotations: Node
    clocked: bool


def compile_group(group: Tree) -> Plan:
    """The group's templates, compiled. Raises Invalid."""
    prefix = f"group {group['name']!r}, " if group["name"] else ""
    try:
        template = jinja.compiled(group["template"], text=True) if group["template"] else None
    except Failed as failure:
        raise invalid(f"{prefix}template", failure) from None
    plan = Plan(
        prefix,
        tuple(compile_tree(target, f"{prefix}targets[{index}]") for index, target in enumerate(group["targets"])),
        template,
        compile_tree(group["labels"], f"{prefix}additionalMetadata.labels"),
        compile_tree(group["annotations"], f"{prefix}additionalMetadata.annotations"),
        group["clocked"],
    )
    if not plan.clocked:
        for place, used in _templates(plan):
            _unclocked(place, used)
    return plan


def _templates(plan: Plan) -> Iterator[tuple[str, Compiled]]:
    for node in (*plan.targets, plan.labels, plan.annotations):
        for leaf in leaves(node):
            yield leaf.place, leaf.template
    if plan.template:
        yield f"{plan.prefix}template", plan.template


def _unclocked(place: str, template: Compiled) -> None:
    name = jinja.clocked(template.names)
    if name:
        message = f"`{name}` is only there in groups with a policy.condition, which decides when a new value is written"
        raise Invalid(Reason.RENDER_FAILED, f"{place}: {message}")


class Inputs:
    """The variables of a batch: objects that several jobs share are decoded, and marked, once."""

    def __init__(self, objects: list[Any], now: str) -> None:
        self._objects = objects
        self._marked: dict[int, Any] = {}
        self._now = now

    def variables(self, wanted: Tree, *, clocked: bool, marked: bool) -> Tree:
        """Name -> value; `context` maps each index to a list of objects."""
        extra = {"now": self._now, **functions.RANDOM} if clocked else {}
        values = {name: self._value(name, reference, marked) for name, reference in wanted.items()}
        return {**functions.GLOBALS, **extra, **values}

    def _value(self, name: str, reference: Any, marked: bool) -> Any:
        if isinstance(reference, dict):
            return {index: self._value(name, inner, marked) for index, inner in reference.items()}
        if not marked or name not in FOREIGN:
            return self._objects[reference]
        if reference not in self._marked:
            self._marked[reference] = taint(self._objects[reference])
        return self._marked[reference]


def render_job(plan: Plan, job: Tree, inputs: Inputs, limits: wire.Limits) -> list[Tree]:
    """The documents of one job as {"manifest": JSON, "source", "scalars"}. Raises Invalid."""
    variables = inputs.variables(job["variables"], clocked=plan.clocked, marked=False)
    labels, annotations = (_strings(node, variables, limits) for node in (plan.labels, plan.annotations))
    answers, size = [], 0
    for manifest, source, scalars in _manifests(plan, job, inputs, variables, limits):
        for document, place, paths in expand(manifest, source, scalars, plan.prefix):
            written = _written(with_metadata(document, labels, annotations, f"{plan.prefix}{place}"), plan, place, limits)
            size += len(written) + _weight(paths)
            if size > limits.job:
                raise Invalid(Reason.RENDER_FAILED, f"{plan.prefix}its documents have more than {limits.job} bytes together")
            answers.append({"manifest": orjson.Fragment(written), "source": place, "scalars": paths})
    return answers


def _manifests(
    plan: Plan, job: Tree, inputs: Inputs, variables: Tree, limits: wire.Limits
) -> Iterator[tuple[Any, str, list[Path]]]:
    """(manifest, source, scalars) from all three kinds of sources."""
    for index, node in enumerate(plan.targets):
        run = Run(variables, limits.document)
        yield run.render(node), f"targets[{index}]", run.scalars
    if plan.template:
        marked = inputs.variables(job["variables"], clocked=plan.clocked, marked=True)
        yield from _texts(plan.template, plan.prefix, marked, limits)
    for manifest, source in job["copies"]:
        yield manifest, source, []


def _texts(template: Compiled, prefix: str, variables: Tree, limits: wire.Limits) -> Iterator[tuple[Any, str, list[Path]]]:
    try:
        rendered = template.value(variables)
    except Failed as failure:
        raise invalid(f"{prefix}template", failure) from None
    try:
        for position, (line, value) in enumerate(text.documents(rendered, limits.document)):
            if value is None:
                continue
            if not isinstance(value, dict):
                raise text.Unreadable(line, "the document is no map: a manifest starts with apiVersion and kind")
            if "apiVersion" in value or "kind" in value:
                yield value, f"template[{position}] line {line}", []
    except text.Unreadable as error:
        where = f", line {error.line} of the rendered text" if error.line else ""
        raise Invalid(Reason.RENDER_FAILED, f"{prefix}template{where}: {error.message}") from None


def _strings(node: Node, variables: Tree, limits: wire.Limits) -> dict[str, str]:
    """Rendered labels or annotations. Raises Invalid where a value is no scalar."""
    rendered = Run(variables, limits.document).render(node)
    try:
        return {key: str(jinja.printed(value)) for key, value in rendered.items()}
    except functions.Refused:
        raise Invalid(Reason.RENDER_FAILED, "additionalMetadata: a map or a list cannot stand where a string has to") from None


def expand(
    manifest: Any, source: str, scalars: list[Path], prefix: str, depth: int = 0
) -> Iterator[tuple[Tree, str, list[Path]]]:
    """A list of objects as its items; anything else as itself. Raises Invalid for what is no object."""
    if not isinstance(manifest, dict):
        raise Invalid(Reason.RENDER_FAILED, f"{prefix}{source}: not a map: a manifest starts with apiVersion and kind")
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if not (isinstance(kind, str) and kind and isinstance(version, str) and version):
        raise Invalid(Reason.RENDER_FAILED, f"{prefix}{source}: apiVersion and kind have to be strings that are not empty")
    items = manifest.get("items")
    if not kind.endswith("List") or not isinstance(items, list) or "name" in (manifest.get("metadata") or {}):
        yield manifest, source, scalars
        return
    if depth > 2:
        raise Invalid(Reason.RENDER_FAILED, f"{prefix}{source}: lists in lists in lists: take them apart")
    for index, item in enumerate(items):
        whole = {"apiVersion": version, "kind": kind.removesuffix("List"), **item} if _implied(kind, item) else item
        inner = [path[2:] for path in scalars if path[:2] == ("items", index)]
        yield from expand(whole, f"{source}.items[{index}]", inner, prefix, depth + 1)


def _implied(kind: str, item: Any) -> bool:
    """Do the items of a typed list (`ConfigMapList`) leave out what the list says?"""
    return kind != "List" and isinstance(item, dict)


def with_metadata(manifest: Tree, labels: dict[str, str], annotations: dict[str, str], place: str) -> Tree:
    """The manifest with the group's additional labels and annotations, which win. Raises Invalid where the place is no map."""
    if not labels and not annotations:
        return manifest
    metadata = manifest.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise Invalid(Reason.RENDER_FAILED, f"{place}: metadata has to be a map")
    added = {}
    for name, extra in (("labels", labels), ("annotations", annotations)):
        own = metadata.get(name) or {}
        if not isinstance(own, dict):
            raise Invalid(Reason.RENDER_FAILED, f"{place}: metadata.{name} has to be a map")
        if extra:
            added[name] = {**own, **extra}
    return {**manifest, "metadata": {**metadata, **added}}


def _weight(paths: list[Path]) -> int:
    """About the bytes that the paths take in an answer."""
    return sum(len(part) + 3 if isinstance(part, str) else 6 for path in paths for part in path)


def _written(document: Tree, plan: Plan, source: str, limits: wire.Limits) -> bytes:
    try:
        written = orjson.dumps(document)
    except orjson.JSONEncodeError:
        raise Invalid(Reason.RENDER_FAILED, f"{plan.prefix}{source}: holds what JSON cannot") from None
    if len(written) > limits.document:
        raise Invalid(Reason.RENDER_FAILED, f"{plan.prefix}{source}: the document has more than {limits.document} bytes")
    return written


_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:@+=~-]*[A-Za-z0-9])?|")
_LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def query_text(run: Run, place: str, source: str) -> str:
    """A name or a label value of a query. What else it could become, a path or a second requirement, is refused."""
    if not jinja.is_template(source):
        return source
    leaf: Any = leaf_of(source, place, None)
    _unclocked(place, leaf.template)
    rendered = run.string(leaf)
    label = "selector" in place
    if not (_LABEL if label else _NAME).fullmatch(rendered):
        raise Invalid(Reason.RENDER_FAILED, f"{place}: does not render to a {'label value' if label else 'name of an object'}")
    if not rendered and place.endswith(".name"):
        raise Invalid(Reason.RENDER_FAILED, f"{place}: renders to nothing, which would mean all objects: give it a name")
    return rendered


def check_group(group: Tree) -> list[Invalid]:
    """All that can be said about a group before there are variables, with field paths from `spec`."""
    root = group["path"]
    problems: list[Invalid] = []
    trees = [(target, f"{root}.targets[{index}]") for index, target in enumerate(group["targets"])]
    trees += [(group[name], f"{root}.additionalMetadata.{name}") for name in ("labels", "annotations")]
    nodes = [compile_tree(tree, place, problems) for tree, place in trees]
    used = [(leaf.place, leaf.template) for node in nodes for leaf in leaves(node)]
    if group["template"]:
        try:
            used.append((f"{root}.template", jinja.compiled(group["template"], text=True)))
        except Failed as failure:
            problems.append(invalid(f"{root}.template", failure))
    in_queries = [leaf for place, source in group["queries"] for leaf in leaves(compile_tree(source, place, problems))]
    problems += _name_problems(used, clocked=group["clocked"])
    problems += _name_problems([(leaf.place, leaf.template) for leaf in in_queries], clocked=False)
    return problems + _condition_problems(group["condition"], f"{root}.policy.condition")


def _name_problems(used: Sequence[tuple[str, Compiled]], *, clocked: bool) -> Iterator[Invalid]:
    known = KNOWN | functions.CLOCKED
    for place, template in used:
        if not clocked:
            try:
                _unclocked(place, template)
            except Invalid as problem:
                yield problem
        for name in sorted(template.names - known):
            yield Invalid(Reason.RENDER_FAILED, f"{place}: there is no `{name}`: known are {', '.join(sorted(KNOWN))}")


def _condition_problems(source: str | None, place: str) -> list[Invalid]:
    if source is None:
        return []
    from policy.conditions import check as check_condition

    try:
        check_condition(source)
    except Invalid as problem:
        return [Invalid(problem.reason, f"{place}: {problem.message}")]
    return []
