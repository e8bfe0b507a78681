"""A permit that was asked for becomes one that can be reviewed, or says why not; and the retry of one that failed."""

from dataclasses import dataclass
from datetime import datetime

from apis.kind import Parent
from apis.meta import Manifest
from apis.problems import Blocked, Problem
from apis.reasons import Reason
from manager.desk import Desk
from manager.inputs import Source
from manager.permits import vault
from manager.permits.creation import check_offered
from manager.permits.desk import Permits
from manager.permits.prepare import Prepared, Stuck, look_again, prepare
from policy.permits import steps
from policy.permits.approvals import demand
from policy.permits.due import rules_of
from policy.permits.refusal import Refused
from policy.permits.step import Step

CONDITIONS_NOT_MET = "ApprovalConditionsNotMet"


@dataclass(frozen=True, slots=True)
class Made:
    """The status and the step that came of it; without a step, `problem` is what keeps the permit where it is.

    `sources` are what was read meanwhile: a change there is a reason to try again.
    """

    status: Manifest
    step: Step | None = None
    problem: Problem | None = None
    sources: frozenset[Source] = frozenset()


async def prepare_permit(desk: Desk, parent: Parent, permits: Permits, status: Manifest, now: datetime) -> Made:
    """Render and try it. The clear values are kept before the snapshot is written."""
    try:
        template = await _template(permits, parent)
        found = await prepare(desk.cluster, desk.around(parent), template, parent.object, now)
    except Stuck as stuck:
        return Made(steps.stuck(status, stuck.reason, str(stuck), now), problem=stuck.problem, sources=stuck.sources)
    snapshot = found.snapshot
    await vault.keep(desk.cluster, permits.namespace, parent.object, found.clear)
    if found.failure:
        return Made(*steps.failed(status, Reason.DRY_RUN_FAILED, found.failure, now, snapshot))
    if not snapshot.request["approvals"].get("auto"):
        return Made(*steps.prepared(status, snapshot, now))
    refusal = _unmet(parent, found)
    if refusal:
        return Made(*steps.failed(status, CONDITIONS_NOT_MET, refusal, now, snapshot))
    return Made(*steps.auto_approved(status, snapshot, now))


async def retry(desk: Desk, parent: Parent, permits: Permits, status: Manifest, now: datetime) -> Made:
    """Try the stored snapshot again; after a failed activation the approval stands, and activation tries."""
    if status["failure"]["stage"] == "Activation":
        return Made(*steps.retried(status, now))
    try:
        clear = await vault.read(desk.cluster, permits.namespace, parent.object)
    except Blocked as problem:
        return Made(*steps.failed(status, str(problem.reason), str(problem), now))
    found = await look_again(desk.cluster, desk.around(parent), parent.object, clear, now)
    if found.failure:
        return Made(*steps.failed(status, Reason.DRY_RUN_FAILED, found.failure, now, found.snapshot))
    refusal = _unmet(parent, found) if rules_of(status).get("auto") else ""
    if refusal:
        return Made(*steps.failed(status, CONDITIONS_NOT_MET, refusal, now, found.snapshot))
    return Made(*steps.retried(status, now, found.snapshot))


async def _template(permits: Permits, parent: Parent) -> Manifest:
    """The template as it is now. Raises Stuck unless it is there, Ready, and selects the permit's namespace."""
    wanted = parent.object["spec"]["template"]
    local = wanted["kind"] == "ResourcePermitTemplate"
    home = parent.namespace if local else ""
    template = await permits.template_of(wanted["kind"], home, wanted["name"])
    if template is None:
        place = f" in namespace {home}" if home else ""
        message = f"spec.template: there is no {wanted['kind']} {wanted['name']}{place}: create it, or expire the permit"
        raise Stuck(Reason.TEMPLATE_RESOLUTION_FAILED, Blocked(Reason.SOURCE_MISSING, message))
    template = template | {"kind": wanted["kind"]}
    try:
        check_offered(template, parent.namespace)
    except Refused as refused:
        raise Stuck(Reason.TEMPLATE_RESOLUTION_FAILED, Blocked(Reason.SOURCE_MISSING, refused.message)) from refused
    return template


def _unmet(parent: Parent, found: Prepared) -> str:
    """Why the conditions do not approve it by themselves; empty when they do."""
    snapshot = found.snapshot
    permit = parent.object | {"status": snapshot.into(parent.status)}
    try:
        demand(snapshot.request["approvals"], permit, None, snapshot.grants, snapshot.request["template"]["name"])
    except Refused as refused:
        return refused.message
    return ""
