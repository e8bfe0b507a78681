"""Units and groups -> desired targets: inputs are read, templates rendered in the workers, documents placed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from apis.intent import Group, Intent
from apis.meta import Key, Ref
from apis.problems import Invalid, Problem
from apis.record import Record
from manager.inputs import Inputs
from manager.render.documents import Document, Job
from manager.surroundings import Surroundings, Trouble
from manager.world import Resource, World
from policy.decide import Owner
from policy.place import Place, Served, check_document, place
from policy.plan import distinct
from policy.target import Desired
from policy.tenancy import Unit


@dataclass(slots=True)
class Rendering:
    """What came out of the templates. `unknown` holds the units of which something could not be made out."""

    desired: dict[Key, Desired] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    noted: dict[Key, Record] = field(default_factory=dict)

    def fail(self, unit: str, problem: Problem, source: str = "") -> None:
        """Note a problem: what this unit should have is not known."""
        self.troubles.append(Trouble(unit, problem, source))
        self.unknown.add(unit)


async def render(
    around: Surroundings,
    inputs: Inputs,
    intent: Intent,
    owner: Owner,
    units: Sequence[Unit],
    records: Mapping[Key, Record],
    now: datetime,
) -> Rendering:
    """Read the inputs of each unit and group, render them, and put what comes out where it belongs."""
    result = Rendering()
    pairs = [(unit, group, index) for unit in units for index, group in enumerate(intent.groups) if _applies(group, unit, around)]
    documents: list[tuple[Document, Place]] = []
    for (unit, group, index), answer in zip(pairs, await _answers(around, inputs, pairs, now), strict=True):
        if isinstance(answer, Problem):
            result.fail(unit.key, answer, _title(group, index))
            continue
        for document in answer:
            source = f"{_title(group, index)} {document.source}"
            where = Place(
                unit,
                intent.scope.kind,
                inputs.parent.kind.namespaced,
                owner.account,
                group.policy,
                source,
                until=intent.gate.until if intent.gate else "",
                trusted=bool(group.rendered),
            )
            documents.append((document, where))
    targets = await _placed(around, documents, result, records)
    result.desired, clashes = distinct(targets)
    for target in targets:
        if target.key in clashes:
            _fault(result, target.ref, target.unit, target.tenant, target.sources[0], clashes[target.key], records)
    return result


async def _answers(
    around: Surroundings, inputs: Inputs, pairs: Sequence[tuple[Unit, Group, int]], now: datetime
) -> list[list[Document] | Problem]:
    """What each group comes to, for its unit."""
    jobs = iter(await inputs.jobs([pair for pair in pairs if not pair[1].rendered]))
    found = [_as_they_are(group) if group.rendered else next(jobs) for _, group, _ in pairs]
    rendered = iter(await around.renderer.render([one for one in found if isinstance(one, Job)], now))
    return [next(rendered) if isinstance(one, Job) else one for one in found]


def _as_they_are(group: Group) -> list[Document]:
    """What was rendered before is not looked at as a template again."""
    return [Document(manifest, f"targets[{number}]") for number, manifest in enumerate(group.rendered)]


def _applies(group: Group, unit: Unit, around: Surroundings) -> bool:
    if group.namespace_selector is None or not unit.namespace:
        return True
    return group.namespace_selector.matches(around.tenancy.namespaces[unit.namespace]["metadata"].get("labels") or {})


def _title(group: Group, index: int) -> str:
    place = f"resources[{index}]"
    return place if group.name in ("", place) else f"{place} ({group.name})"


async def _placed(
    around: Surroundings,
    documents: Sequence[tuple[Document, Place]],
    result: Rendering,
    records: Mapping[Key, Record],
) -> list[Desired]:
    served = await _served(around.world, documents)
    targets: list[Desired] = []
    for document, where in documents:
        try:
            ref = check_document(document.manifest, where.source)
        except Invalid as problem:
            result.fail(where.unit.key, problem, where.source)
            continue
        found = served[ref.api_version, ref.kind]
        try:
            if isinstance(found, Problem):
                raise found
            manifest = document.manifest
            if document.scalars:
                manifest = await around.schemas.coerce(ref, manifest, document.scalars)
            targets.append(place(ref, manifest, Served(found.plural, found.namespaced, found.verbs), where))
        except Problem as problem:
            _fault(result, ref, where.unit.key, where.unit.tenant, where.source, problem, records)
    return targets


async def _served(world: World, documents: Iterable[tuple[Document, Place]]) -> dict[tuple[str, str], Resource | Problem]:
    wanted = {(document.manifest.get("apiVersion"), document.manifest.get("kind")) for document, _ in documents}
    kinds = [(version, kind) for version, kind in wanted if isinstance(version, str) and isinstance(kind, str)]
    answers = await asyncio.gather(*(world.resource(version, kind) for version, kind in kinds), return_exceptions=True)
    found: dict[tuple[str, str], Resource | Problem] = {}
    for kind, answer in zip(kinds, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, Problem):
            raise answer
        found[kind] = answer
    return found


def _fault(
    result: Rendering, ref: Ref, unit: str, tenant: str, source: str, problem: Problem, records: Mapping[Key, Record]
) -> None:
    """A document is at fault: the unit is not known, and the target is shown with its problem, kept as it is."""
    result.fail(unit, problem, source)
    known = _recorded(ref, unit, records)
    base = known or Record(ref, "", cluster_scoped=not ref.namespace, unit=unit, tenant=tenant)
    result.noted[base.key] = replace(base, ok=False, reason=problem.reason, message=str(problem)[:1024])


def _recorded(ref: Ref, unit: str, records: Mapping[Key, Record]) -> Record | None:
    return records.get(ref.key) or records.get(replace(ref, namespace=unit).key)
