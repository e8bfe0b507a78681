"""One pass over a permit: whatever is due for it is done, step by step, until it waits for somebody or for a time.

    doubt       what is signed and what is there differ: nothing is applied, and what was given is taken back
    due         what to do now (policy.permits.due), by the API server's clock
    do          prepare, activate, keep, take back (the files beside this one)
    write       the step with its signature, status and records in one write; then it is told

Guarantees: each step is written once, since the write is refused when somebody else has written meanwhile. Targets are recorded
before they are made. At and after `until` nothing is applied, and taking back needs neither template nor context nor the trail.
"""

import random
from collections.abc import Awaitable, Callable
from datetime import datetime

from apis.copyhold.permitstatus import Phase
from apis.meta import FINALIZER, Manifest
from apis.problems import Stale, Unavailable
from apis.reasons import Reason
from manager.carry import set_finalizer
from manager.desk import Desk, Next
from manager.permits import proof, vault
from manager.permits.activate import Outcome, activate, examine, keep
from manager.permits.desk import Permits, shown
from manager.permits.preparing import Made, prepare_permit, retry
from manager.permits.revoke import left, revoke
from manager.tenure import WHOLE, Tenure
from manager.world import Resource
from policy.pace import backoff
from policy.permits import steps
from policy.permits.due import Action, Due, due, phase_of
from policy.permits.moments import moment, stamp
from policy.permits.ready import PRUNED, told
from policy.permits.step import Step
from policy.permits.trail import append, head
from policy.tenancy import terminating

STEPS = 12
"""Steps that one pass takes at most: more are a defect, and go on in the next."""

STUCK = 30.0
"""Seconds after which a permit that cannot be prepared is looked at again, should no event tell."""

PATIENCE = 3
"""Attempts that fail before the permit says what it waits for."""

_AWAITED = frozenset({Phase.CREATED, Phase.RETRYING, Phase.APPROVED})
"""Phases that lead on by themselves."""


async def conduct(desk: Desk, tenure: Tenure, permits: Permits) -> Next:
    """One pass. Raises Stale when somebody else wrote the permit meanwhile, and the problems of writing it."""
    work = _Pass(desk, tenure, permits)
    for _ in range(STEPS):
        if not await work.step():
            break
    else:
        work.following.soon(WHOLE, 1.0)
    return work.following


async def doubts(permits: Permits, permit: Manifest) -> str:
    """What speaks against a permit, in words; empty when everything is proved. Raises the problems of reading the keys."""
    await permits.keyring.learn(proof.key_ids(permit))
    known = permits.heads.get(permit["metadata"]["uid"], "")
    return "; ".join(str(finding) for finding in proof.check(permit, permits.keyring.public, known=known)[:3])


class _Pass:
    """The permit in hand. Each action answers whether there may be more to do at once."""

    def __init__(self, desk: Desk, tenure: Tenure, permits: Permits) -> None:
        self.desk = desk
        self.tenure = tenure
        self.permits = permits
        self.following = Next()

    @property
    def permit(self) -> Manifest:
        """The object as it was last read or written."""
        return self.tenure.parent.object

    @property
    def status(self) -> Manifest:
        """Its status, without what memory writes."""
        return shown(self.tenure.parent.status)

    async def step(self) -> bool:
        """Do what is due. False: nothing more now."""
        parent, now = self.tenure.parent, self.desk.now()
        if parent.deleting and FINALIZER not in parent.finalizers:
            self.following.finished = True
            return False
        found = due(self.permit, now, namespace_terminating=self._going())
        self._stands(found, now)
        if not parent.deleting and found.action not in _NEEDS_NO_PROOF and (doubt := await self._doubt()):
            return await self._distrust(doubt)
        try:
            return await _ACTIONS[found.action](self, found, now)
        except Unavailable as problem:
            await self._tell_held(problem)
            raise

    async def _tell_held(self, problem: Unavailable) -> None:
        """Who waits for the permit is told what holds it up, unless that passes at once."""
        if phase_of(self.status) in _AWAITED and self.tenure.attempts.get(WHOLE, 0) >= PATIENCE:
            message = f"this holds the request up, and is tried again: {problem}"
            await self._write(told(self.status, self.desk.now(), "False", Reason.UNAVAILABLE, message))

    # What is signed and what is there.

    async def _doubt(self) -> str:
        """Why the permit is not to be believed; empty when everything is proved.

        Raises Stale when it is only our copy that is behind.
        """
        findings = await doubts(self.permits, self.permit)
        if not findings:
            self.permits.heads[self.tenure.parent.uid] = head(self.status)
            return ""
        live = await self.desk.cluster.get(await self._resource(), self.tenure.parent.namespace, self.tenure.parent.name)
        if live is None or live["metadata"]["resourceVersion"] != self.tenure.parent.resource_version:
            raise Stale(f"{self.tenure.parent} is not what it was when it was read")
        return findings

    async def _distrust(self, doubt: str) -> bool:
        """Nothing is applied, what was given is taken back, and somebody has to look."""
        await revoke(self.desk, self.tenure, self.following, self._remember)
        message = f"nothing is applied, since this cannot be proved: {doubt}; expire the permit, and make another one"
        await self._write(told(self.status, self.desk.now(), "False", Reason.TRAIL_BROKEN, message))
        return False

    # Beginning.

    async def _create(self, _: Due, now: datetime) -> bool:
        """The finalizer first: from here on there may be something to take back."""
        if FINALIZER not in self.tenure.parent.finalizers:
            await set_finalizer(self.desk, self.tenure, present=True)
        born = moment(self.permit["metadata"]["creationTimestamp"])
        status, step = steps.created(self.permit, min(born, now))
        await self._write(status, step, at=min(born, now))
        return True

    async def _prepare(self, _: Due, now: datetime) -> bool:
        made = await prepare_permit(self.desk, self.tenure.parent, self.permits, self.status, now)
        return await self._made(made, now)

    async def _retry(self, _: Due, now: datetime) -> bool:
        return await self._made(await retry(self.desk, self.tenure.parent, self.permits, self.status, now), now)

    async def _made(self, made: Made, now: datetime) -> bool:
        # The time that its approval says, however long the trial took: the trail proves approvals by it.
        await self._write(made.status, made.step, at=now)
        self.tenure.sources = {source: frozenset({""}) for source in made.sources}
        if made.problem is not None:
            attempt = self.tenure.attempt(WHOLE)
            pause = backoff(made.problem, attempt, random.random())  # noqa: S311 - spreads load, guards nothing
            self.following.soon(WHOLE, STUCK if pause is None else pause)
        else:
            self.tenure.attempts.pop(WHOLE, None)
        return made.step is not None

    # Waiting.

    async def _wait(self, found: Due, _: datetime) -> bool:
        await self._write(self.status)
        self._look_at(found.at)
        return False

    # Giving.

    async def _activate(self, found: Due, now: datetime) -> bool:
        if not self.status.get("active"):
            examined = await examine(self.desk, self.tenure, self.permits, self.status, now)
            await self._write(examined.status, examined.step, at=now)
            return self._after(examined, found)
        outcome = await activate(self.desk, self.tenure, self.permits, self.following, self._remember)
        if outcome.step is not None and outcome.step.type != "Active":
            await revoke(self.desk, self.tenure, self.following, self._remember)
        await self._write(outcome.status, outcome.step)
        return self._after(outcome, found)

    async def _keep(self, found: Due, _: datetime) -> bool:
        """Repair drift, and try again what was left out by its condition."""
        outcome = await keep(self.desk, self.tenure, self.permits, self.following, self._remember)
        await self._write(outcome.status, outcome.step)
        return self._after(outcome, found)

    def _after(self, outcome: Outcome, found: Due) -> bool:
        self.following.soon(WHOLE, outcome.again)
        self._look_at(found.at)
        return outcome.step is not None

    # Ending.

    async def _expire(self, found: Due, _: datetime) -> bool:
        """The access goes first: that it is over is written down afterwards."""
        gone = await self._revoke()
        status, step = steps.expired(self.status, found.reason, self.desk.now())
        await self._write(self._told_left(status), step)
        self._measure_removal(gone)
        return True

    async def _take_back(self, found: Due, now: datetime) -> bool:
        """Nothing is desired: what is recorded goes, and the permit says what does not."""
        if not self.tenure.records:
            return await self._wait(found, now)
        gone = await self._revoke()
        await self._write(self._told_left(self.status))
        self._measure_removal(gone)
        return not self.tenure.records

    async def _revoke(self) -> datetime | None:
        """Take back; answers when the last of it went, None unless that was now."""
        there = self._stays()
        await revoke(self.desk, self.tenure, self.following, self._remember)
        return self.desk.now() if there and not self._stays() else None

    def _stays(self) -> bool:
        """Is anything still there? What went is only remembered, for a write of a replica before us that may still land."""
        return any(not record.gone for record in self.tenure.records.values())

    def _told_left(self, status: Manifest) -> Manifest:
        now = self.desk.now()
        if self._stays():
            message = f"access is over, and this is not gone yet: {left(self.tenure.records)}"
            return told(status, now, "False", Reason.REVOCATION_INCOMPLETE, message)
        return told(status, now, *PRUNED) if phase_of(status) is Phase.EXPIRED else status

    async def _retain(self, found: Due, now: datetime) -> bool:
        await self._write(told(self.status, now, *PRUNED))
        self._look_at(found.at)
        return False

    async def _delete(self, _: Due, now: datetime) -> bool:
        """Everything is gone, and the record need not be kept any longer."""
        parent, permits = self.tenure.parent, self.permits
        if not parent.deleting:
            if self._untold():
                await self._write(told(self.status, now, *PRUNED))
            version = self.tenure.parent.resource_version
            await self.desk.cluster.delete(
                await self._resource(), parent.namespace, parent.name, uid=parent.uid, resource_version=version, proof=parent.uid
            )
            return False
        await vault.drop(self.desk.cluster, permits.namespace, self.permit)
        await self.tenure.memory.forget()
        await set_finalizer(self.desk, self.tenure, present=False)
        permits.forget(parent.uid)
        self.following.finished = True
        return False

    # Writing and telling.

    async def _remember(self) -> None:
        await self._write(self.status)

    async def _write(self, status: Manifest, step: Step | None = None, *, at: datetime | None = None) -> None:
        """One write, if anything differs: the step, signed, with status and records. What was written is told afterwards."""
        now = self.desk.now()
        if step is not None:
            status = append(status, self.tenure.parent.uid, step, at or now, self.permits.keyring.sign)
        untold = [each for each in status.get("transitions") or () if not each.get("eventTime")]
        if untold:
            marked = [each if each.get("eventTime") else each | {"eventTime": stamp(now)} for each in status["transitions"]]
            status = status | {"transitions": marked}
        account = (status.get("request") or {}).get("impersonation")
        if account:
            status = status | {"serviceAccount": account}
        memory = self.tenure.memory
        memory.see(self.tenure.parent)
        await memory.write(self.tenure.records, status)
        self.tenure.parent = memory.after(self.tenure.parent)
        if step is not None:
            self.permits.heads[self.tenure.parent.uid] = head(self.status)
        for each in untold:
            self.permits.ears.transition(self.permit, each)
            self._measure_approval(each)

    def _untold(self) -> bool:
        return any(not each.get("eventTime") for each in self.status.get("transitions") or ())

    def _stands(self, found: Due, now: datetime) -> None:
        until = (self.status.get("active") or {}).get("until")
        overdue = self._stays() and (found.action in (Action.EXPIRE, Action.TAKE_BACK) or bool(until and now >= moment(until)))
        self.permits.ears.stands(self.permit, str(phase_of(self.status) or ""), overdue)

    def _measure_approval(self, transition: Manifest) -> None:
        if transition["type"] != "Approved" or not transition["reason"].startswith("ApprovedBy"):
            return
        asked = [each for each in self.status["transitions"][: transition["index"]] if each["reason"] == "PendingReview"]
        if asked:
            self.permits.ears.approved((moment(transition["timestamp"]) - moment(asked[-1]["timestamp"])).total_seconds())

    def _measure_removal(self, gone: datetime | None) -> None:
        if gone is None or phase_of(self.status) is not Phase.EXPIRED:
            return
        ended = moment(self.status["transitions"][-1]["timestamp"])
        until = (self.status.get("active") or {}).get("until")
        end = min(ended, moment(until)) if until else ended
        self.permits.ears.removed(max((gone - end).total_seconds(), 0.0))

    def _look_at(self, at: datetime | None) -> None:
        if at is not None:
            self.following.soon(WHOLE, max((at - self.desk.now()).total_seconds(), 0.0))

    def _going(self) -> bool:
        namespaces = self.desk.around(self.tenure.parent).tenancy.namespaces
        home = self.tenure.parent.namespace
        return home not in namespaces or terminating(namespaces[home])

    async def _resource(self) -> Resource:
        kind = self.tenure.parent.kind
        return await self.desk.cluster.resource(kind.api_version, kind.kind)


_NEEDS_NO_PROOF = frozenset({Action.EXPIRE, Action.TAKE_BACK, Action.RETAIN, Action.DELETE})
"""Taking back must not depend on what could be damaged."""

_ACTIONS: dict[Action, Callable[[_Pass, Due, datetime], Awaitable[bool]]] = {
    Action.CREATE: _Pass._create,
    Action.PREPARE: _Pass._prepare,
    Action.RETRY: _Pass._retry,
    Action.AWAIT_REVIEW: _Pass._wait,
    Action.AWAIT_START: _Pass._wait,
    Action.ACTIVATE: _Pass._activate,
    Action.KEEP: _Pass._keep,
    Action.EXPIRE: _Pass._expire,
    Action.TAKE_BACK: _Pass._take_back,
    Action.RETAIN: _Pass._retain,
    Action.DELETE: _Pass._delete,
}
