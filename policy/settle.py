"""What memory says after a decision that wrote nothing, or after an attempt that failed. Pure."""

from dataclasses import replace

from apis.problems import Conflict, Forbidden, Problem, Stale
from apis.reasons import Reason
from apis.record import Record
from policy.decide import Decision, Owner, Verb, seen
from policy.ownership import Live
from policy.target import Desired

MESSAGE_LIMIT = 1024
"""Characters that one target's message may have."""


def first_record(desired: Desired) -> Record:
    """The record of a target before anything is known of it."""
    return Record(
        ref=desired.ref,
        resource=desired.resource,
        cluster_scoped=desired.cluster_scoped,
        unit=desired.unit,
        tenant=desired.tenant,
        policy=desired.policy.kept,
    )


def announce(decision: Decision, owner: Owner) -> Record | None:
    """What is remembered before a target is made: wider than what will be true. None when memory knows the target already."""
    desired, record = decision.item.desired, decision.item.record
    if desired is None or decision.verb not in (Verb.CREATE, Verb.ADOPT, Verb.APPLY):
        return None
    if record is not None and (record.uid or record.pending):
        return None
    return replace(record or first_record(desired), account=owner.account, pending=True, reason=Reason.PROGRESSING, message="")


def settle(decision: Decision, owner: Owner, problem: Problem | None = None) -> Record | None:
    """The record after a decision without a write, or after a failed one. None: forgotten.

    The policy in memory is that of the last success, so that a failing change does not decide how the target is taken back;
    before a first success it is the wanted one.
    """
    if problem is not None:
        return _after_failure(decision, owner, problem)
    if decision.item.desired is None:
        return _let_go(decision)
    return _kept(decision, decision.item.desired, owner)


def joined(decision: Decision, owner: Owner, problem: Conflict, live: Live) -> Record:
    """The record of a target that kin created and whose fields are taken: we hold it, by our marks alone, and wait."""
    desired = decision.item.desired
    assert desired is not None  # noqa: S101 - only what is desired is joined
    record = _unfinished(replace(decision, item=replace(decision.item, live=live)), desired, owner, problem)
    mine = live.held_by(owner.manager)
    fields = mine.fields if mine else ""
    return replace(record, account=owner.account, uid=live.uid, created=decision.created, pending=False, fields=fields)


def _let_go(decision: Decision) -> Record | None:
    record = decision.item.record
    if decision.reason in (Reason.ABSENT, Reason.REPLACED) or record is None:
        return None
    if decision.reason == Reason.UNRESOLVED:
        return record
    waits = decision.reason == Reason.TERMINATING
    return replace(record, ok=waits, reason=decision.reason, message=_cut(decision.message))


def _kept(decision: Decision, desired: Desired, owner: Owner) -> Record | None:
    item, live = decision.item, decision.item.live
    record = item.record or first_record(desired)
    policy = desired.policy.kept
    placed = replace(record, unit=desired.unit, tenant=desired.tenant)
    match decision.reason:
        case Reason.UNCHANGED:
            return replace(placed, policy=policy, ok=True, reason=Reason.SUCCEEDED, message="", seen="", pending=False)
        case Reason.CONDITION_NOT_MET:
            mine = live.held_by(owner.manager) if live is not None else None
            if live is not None and mine is not None and record.uid != live.uid:
                # Made by us, and the answer never came: the proof on the object settles what memory left open.
                placed = replace(placed, uid=live.uid, fields=mine.fields, created=decision.created)
            replaced = live is not None and not mine and record.uid != live.uid
            return replace(
                placed,
                policy=policy if mine or not record.uid else record.policy,
                created=False if replaced else placed.created,
                pending=record.pending and live is None,
                ok=True,
                reason=decision.reason,
                message=decision.message,
            )
        case Reason.TERMINATING if item.namespace_terminating:
            return replace(placed, ok=True, reason=decision.reason, message="") if item.record and record.uid else None
        case Reason.FOREIGN | Reason.FIELD_TAKEN:
            mark = seen(desired, live) if live is not None else ""
            lost = decision.reason == Reason.FOREIGN
            return replace(
                placed,
                uid="" if lost else record.uid,
                created=False if lost else record.created,
                pending=False if lost else record.pending,
                seen=mark,
                ok=False,
                reason=decision.reason,
                message=_cut(decision.message),
            )
        case _:
            return replace(placed, ok=False, reason=decision.reason, message=_cut(decision.message))


def _after_failure(decision: Decision, owner: Owner, problem: Problem) -> Record | None:
    desired = decision.item.desired
    if desired is None:
        record = decision.item.record
        return None if record is None else replace(record, ok=False, reason=problem.reason, message=_cut(str(problem)))
    record = decision.item.record or first_record(desired)
    if isinstance(problem, Forbidden) and problem.namespace_terminating:
        return replace(record, ok=True, reason=Reason.TERMINATING, message="") if record.uid else None
    return _unfinished(decision, desired, owner, problem)


def _unfinished(decision: Decision, desired: Desired, owner: Owner, problem: Problem) -> Record:
    record, live = decision.item.record or first_record(desired), decision.item.live
    refused = not isinstance(problem, Stale) or isinstance(problem, Conflict)
    return replace(
        record,
        account=record.account or owner.account,
        pending=record.pending or (_makes(decision, owner) and _may_have_landed(problem)),
        seen=seen(desired, live) if isinstance(problem, Conflict) and live is not None else "",
        ok=False,
        reason=problem.reason if refused else Reason.STALE,
        message=_cut(_conflict(problem) if isinstance(problem, Conflict) else str(problem)),
    )


def _makes(decision: Decision, owner: Owner) -> bool:
    """Would this write make an object, or a hold, that memory does not know? (A recorded UID is that of the object before.)"""
    return decision.verb == Verb.CREATE or announce(decision, owner) is not None


def _may_have_landed(problem: Problem) -> bool:
    return bool(getattr(problem, "maybe_done", False))


def _conflict(problem: Conflict) -> str:
    held = "; ".join(f"{field} is held by {manager!r}" for field, manager in sorted(problem.fields.items()))
    return f"{held}: give the field up in the template, or set policy.force: true to take it"


def _cut(message: str) -> str:
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 4] + " ..."
