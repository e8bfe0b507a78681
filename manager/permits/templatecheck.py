"""Whether permits can be made from a template: everything that can be said of it before somebody asks for one."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence

from apis.copyhold import globalresourcepermittemplate, resourcepermittemplate
from apis.copyhold.duration import extended
from apis.copyhold.permittemplate import PermitTemplateSpec
from apis.intent import Group
from apis.kind import Kind
from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from manager.permits.params import check_schema
from policy.permits.approvals import check_conditions

KINDS: dict[str, Kind] = {kind.kind: kind for kind in (resourcepermittemplate.KIND, globalresourcepermittemplate.KIND)}
"""The kinds of templates, by name."""

RESERVED = "request"
"""The name under which templates see the permit itself."""

UNNAMED = "spec.approvals.approvers is omitted: whoever may write the status of permits may approve"

MOST = 10
"""Problems that one message lists; more are counted."""

Check = Callable[[Sequence[Group]], Awaitable[list[Invalid]]]
"""What is wrong with the templates and conditions of groups: `manager.render.pool.Renderer.check`."""


async def judge(template: Manifest, check: Check) -> None:
    """Raise Invalid, naming every problem with its field and remedy, unless permits can be made from the template."""
    kind = KINDS[template["kind"]]
    spec: PermitTemplateSpec = kind.parse(template).spec
    # Compiling what an author wrote takes its time: other work goes on meanwhile.
    found = [*await asyncio.to_thread(_said, spec), *await _rendered(spec, check)]
    if found:
        more = [f"and {len(found) - MOST} more"] if len(found) > MOST else []
        said = "; ".join([str(problem) for problem in found[:MOST]] + more)
        raise Invalid(found[0].reason, f"{kind.title(template)}: {said}")


def warnings(template: Manifest) -> list[str]:
    """What an author should know of a sound template."""
    approvals = (template.get("spec") or {}).get("approvals") or {}
    return [] if approvals.get("auto") or approvals.get("approvers") is not None else [UNNAMED]


def _said(spec: PermitTemplateSpec) -> list[Invalid]:
    return [*_names(spec), *_durations(spec), *_schema(spec), *_approvals(spec)]


def _names(spec: PermitTemplateSpec) -> Iterator[Invalid]:
    """Names that would mean two things."""
    for name, count in Counter(group.name for group in spec.resources if group.name).items():
        if count > 1:
            yield _invalid(f"spec.resources: two groups are called {name}: give each its own name")
    shared = {one.index for one in spec.context.resources} if spec.context else set[str]()
    contexts = [("spec.context", spec.context)]
    contexts += [(f"spec.resources[{place}].context", group.context) for place, group in enumerate(spec.resources)]
    for place, (path, context) in enumerate(contexts):
        for at, one in enumerate(context.resources if context else ()):
            field = f"{path}.resources[{at}].index"
            if one.index == RESERVED:
                yield _invalid(f"{field}: {RESERVED} is the permit itself in templates: choose another name")
            if place and one.index in shared:
                yield _invalid(f"{field}: {one.index} is an index of spec.context too: choose another name")


def _durations(spec: PermitTemplateSpec) -> Iterator[Invalid]:
    """A duration of nothing would be no end at all."""
    for field, length in (("defaultDuration", spec.default_duration), ("maxDuration", spec.max_duration)):
        if length is not None and extended(length) <= 0:
            yield _invalid(f"spec.{field}: must be more than 0: omit the field for no bound")


def _schema(spec: PermitTemplateSpec) -> Iterator[Invalid]:
    if spec.param_schema is not None:
        try:
            check_schema(spec.param_schema)
        except Invalid as problem:
            yield problem


def _approvals(spec: PermitTemplateSpec) -> Iterator[Invalid]:
    try:
        check_conditions(spec.approvals.conditions or ())
    except Invalid as problem:
        yield _invalid(f"spec.approvals: {problem}")


async def _rendered(spec: PermitTemplateSpec, check: Check) -> list[Invalid]:
    """What the workers say of templates, queries and apply conditions."""
    groups = [group.lower(place) for place, group in enumerate(spec.resources)]
    if spec.context is None:
        return await check(groups)
    # The queries of all groups travel as a group of their own, whose place in messages is not the one in the spec.
    shared = Group("context", context=tuple(one.query(one.index) for one in spec.context.resources))
    place = f"spec.resources[{len(groups)}].context"
    found = await check([*groups, shared])
    return [Invalid(problem.reason, problem.message.replace(place, "spec.context")) for problem in found]


def _invalid(message: str) -> Invalid:
    return Invalid(Reason.INVALID, message)
