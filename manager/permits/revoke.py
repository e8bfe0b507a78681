"""Taking back what a permit gave, whatever stands against it. It needs the permit's own record and nothing else.

| Obstacle | Then |
| --- | --- |
| the account may not, or is gone | the manager does it itself, for what is provably the permit's (RemovedByManager) |
| somebody's finalizer keeps a role or a binding | it is emptied: it gives nothing while it stays |
| a server that does not answer | it is tried again, and the permit is overdue meanwhile |
"""

from dataclasses import replace

from apis.meta import Key, Manifest
from apis.problems import Gone, Problem, Stale
from apis.reasons import Reason
from apis.record import Record
from manager.carry import settle_outcome, take_back
from manager.desk import Desk, Next
from manager.execute import Hand, carry_out
from manager.permits.desk import Write
from manager.sight import read_metadata, resource_of
from manager.tenure import WHOLE, Tenure
from manager.world import Resource
from policy.decide import Item, Owner, decide
from policy.ownership import observe
from policy.plan import RBAC

WAIT = 2.0
"""Seconds after which something that is on its way out is looked at again, should no watch tell."""

_CONTENT = {"Role": "rules", "ClusterRole": "rules", "RoleBinding": "subjects", "ClusterRoleBinding": "subjects"}
_HINDERED = frozenset({Reason.FORBIDDEN, Reason.REFUSED, Reason.UNRESOLVED, Reason.ACCOUNT_MISSING, Reason.ACCOUNT_REFUSED})


async def revoke(desk: Desk, tenure: Tenure, following: Next, write: Write) -> None:
    """Take everything back, as far as that goes now; what is left is recorded, and when to go on is in `following`."""
    if not tenure.records:
        return
    await take_back(desk, tenure, following, write)
    for record in list(tenure.records.values()):
        if record.reason in _HINDERED:
            await _take_back_ourselves(desk, tenure, record, following)
    for record in list(tenure.records.values()):
        if record.reason == Reason.TERMINATING:
            await _empty(desk, tenure, record)
    if tenure.records:
        following.soon(WHOLE, WAIT)


async def _take_back_ourselves(desk: Desk, tenure: Tenure, record: Record, following: Next) -> None:
    """With the manager's own rights, and only what the permit's field manager provably holds."""
    parent, key = tenure.parent, record.key
    owner = Owner(parent.manager, parent.uid, record.account, temporary=True, itself=True)
    try:
        found = await _metadata(desk, record)
        live = None if found is None else observe(found)
        decision = decide(Item(key, None, live, record), owner)
        hand = Hand(desk.cluster, desk.now, exists=desk.around(parent).exists, holds=lambda: desk.holds(parent.uid))
        outcome = await carry_out(hand, owner, decision)
    except Problem:
        return  # the record says what keeps the account from it, and that is what somebody has to mend
    if outcome.problem is not None:
        return
    settle_outcome(desk, tenure, outcome, following)
    if outcome.wrote:
        note = f"{key}: {record.message or 'the account may not take it back'}: the manager took it back itself"
        desk.tell(parent, "Warning", Reason.REMOVED_BY_MANAGER, note)


async def _empty(desk: Desk, tenure: Tenure, record: Record) -> None:
    """A role or binding that cannot go yet gives nothing any more: its content is taken out."""
    field = _CONTENT.get(record.key.kind) if record.key.group == RBAC else None
    if field is None:
        return
    try:
        found = await desk.cluster.get(resource_of(record), record.key.namespace, record.key.name)
        if found is None or found["metadata"]["uid"] != record.uid or _is_empty(found, field):
            return
        await desk.cluster.json_patch(
            resource_of(record), record.key.namespace, record.key.name, _emptying(found, field), proof=tenure.parent.uid
        )
    except (Gone, Stale):
        return  # it went, or changed: the next look tells
    except Problem as problem:
        message = f"waiting until the object is gone; it could not be emptied meanwhile ({problem})"
        tenure.records[record.key] = replace(record, message=message)


def _emptying(found: Manifest, field: str) -> list[Manifest]:
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]},
        {"op": "add", "path": f"/{field}", "value": []},
    ]
    if "aggregationRule" in found:
        operations.append({"op": "remove", "path": "/aggregationRule"})
    return operations


def _is_empty(found: Manifest, field: str) -> bool:
    return not found.get(field) and "aggregationRule" not in found


async def _metadata(desk: Desk, record: Record) -> Manifest | None:
    resource: Resource = resource_of(record)
    try:
        return await read_metadata(desk.cluster, resource, record.key, None)
    except Gone as problem:
        if problem.what == "kind":
            served = await desk.cluster.any_version(record.key.group, record.key.kind)
            return await read_metadata(desk.cluster, served, record.key, None)
        return None


def left(records: dict[Key, Record]) -> str:
    """What is still there after the end, in words; empty when nothing is."""
    there = {key: record for key, record in records.items() if not record.gone}
    shown = [f"{key} ({record.reason}{f': {record.message}' if record.message else ''})" for key, record in there.items()]
    return "; ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
