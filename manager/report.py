"""The only place that sets conditions: what a parent's status says after a pass. Pure; the write is memory's.

kstatus reads it: Ready False with Stalled True is a failure that waits for an edit, Reconciling True is work in progress.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apis.intent import Identity
from apis.kind import Parent
from apis.meta import Key, Manifest
from apis.problems import Invalid, Problem
from apis.reasons import AUTHOR, Reason
from apis.record import Record
from manager.surroundings import Trouble
from policy.budget import Pruned

SHOWN = 3
"""How many single failures a message spells out."""

MESSAGE_LIMIT = 4096
"""Characters that the message of a condition may have."""


@dataclass(frozen=True, slots=True)
class Standing:
    """All that the status of a parent is made from."""

    parent: Parent
    records: Mapping[Key, Record]
    now: str
    hold: Problem | None = None  # what holds the whole parent
    cordoned: bool = False
    working: bool = False
    troubles: Sequence[Trouble] = ()
    identity: Identity | None = None
    tenants: tuple[str, ...] | None = None
    pruned: tuple[Pruned, ...] = ()
    warnings: tuple[tuple[Reason, str], ...] = ()
    leaving: frozenset[Key] = field(default_factory=frozenset)  # what is recorded and no longer wanted


def report(standing: Standing) -> Manifest:
    """The status, without the fields that memory writes."""
    before = standing.parent.status
    status: Manifest = {
        "observedGeneration": standing.parent.generation,
        "conditions": conditions(standing, before.get("conditions") or []),
    }
    if standing.identity is not None:
        status["serviceAccount"] = {"namespace": standing.identity.namespace, "name": standing.identity.name}
    elif "serviceAccount" in before:
        status["serviceAccount"] = before["serviceAccount"]
    if standing.tenants is not None and not standing.parent.kind.namespaced:
        status["selectedTenants"] = list(standing.tenants)
    if standing.pruned:
        status["pruned"] = [{"at": int(entry.at), "count": entry.count} for entry in standing.pruned]
    return status


def conditions(standing: Standing, before: Iterable[Mapping[str, Any]]) -> list[Manifest]:
    """Ready, Reconciling, Stalled and Cordoned, each with the time at which its status last changed."""
    known = {condition["type"]: condition for condition in before}
    ready, reason, message = _ready(standing)
    stalled = _stalled(standing)
    told: list[tuple[str, str, Reason, str]] = [
        ("Ready", ready, reason, message),
        ("Reconciling", _word(standing.working), Reason.PROGRESSING if standing.working else Reason.SUCCEEDED, ""),
        ("Stalled", _word(stalled is not None), stalled[0] if stalled else Reason.SUCCEEDED, stalled[1] if stalled else ""),
        (
            "Cordoned",
            _word(standing.cordoned),
            Reason.CORDONED if standing.cordoned else Reason.ACTIVE,
            "is cordoned: nothing is applied and nothing is taken back" if standing.cordoned else "not cordoned",
        ),
    ]
    told += [(str(word), "True", word, text) for word, text in standing.warnings]
    return [_condition(standing, known.get(row[0]), *row) for row in told]


def _condition(
    standing: Standing, before: Mapping[str, Any] | None, type_: str, status: str, reason: Reason, message: str
) -> Manifest:
    same = before is not None and before.get("status") == status
    return {
        "type": type_,
        "status": status,
        "reason": str(reason),
        "message": message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 4] + " ...",
        "observedGeneration": standing.parent.generation,
        "lastTransitionTime": before["lastTransitionTime"] if same and before is not None else standing.now,
    }


def _word(value: bool) -> str:
    return "True" if value else "False"


def _ready(standing: Standing) -> tuple[str, Reason, str]:
    if standing.hold is not None:
        return "False", standing.hold.reason, str(standing.hold)
    if standing.cordoned:
        return _kept(standing)
    if standing.working:
        return "Unknown", Reason.PROGRESSING, "processing"
    texts = _failures(standing)
    if texts:
        return "False", Reason.FAILED, "; ".join(texts)
    return "True", Reason.SUCCEEDED, f"reconciled {len(standing.records)} targets"


def _kept(standing: Standing) -> tuple[str, Reason, str]:
    """A cordoned parent says what it said before."""
    for condition in standing.parent.status.get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] in ("True", "False"):
            return condition["status"], Reason(condition["reason"]), condition["message"]
    return "True", Reason.SUCCEEDED, "reconciled"


def _failures(standing: Standing) -> list[str]:
    texts = []
    spoken = {str(trouble.problem) for trouble in standing.troubles}
    if standing.troubles:
        texts.append(_spelled(f"{len(standing.troubles)} sources failed", sorted(spoken)))
    failed = [record for record in standing.records.values() if not record.ok and record.message not in spoken]
    pruning = [record for record in failed if record.key in standing.leaving]
    applying = [record for record in failed if record.key not in standing.leaving]
    if pruning:
        texts.append(_spelled(f"pruning of {len(pruning)} resources failed", [_line(record) for record in pruning]))
    if applying:
        texts.append(_spelled(f"applying of {len(applying)} resources failed", [_line(record) for record in applying]))
    return texts


def _line(record: Record) -> str:
    return f"{record.ref}: {record.reason}: {record.message}" if record.message else f"{record.ref}: {record.reason}"


def _spelled(head: str, lines: Sequence[str]) -> str:
    rest = f" (and {len(lines) - SHOWN} more)" if len(lines) > SHOWN else ""
    return f"{head}: {'; '.join(lines[:SHOWN])}{rest}"


def _stalled(standing: Standing) -> tuple[Reason, str] | None:
    """Only the author can go on: the first mistake, by name."""
    if isinstance(standing.hold, Invalid):
        return standing.hold.reason, str(standing.hold)
    for trouble in standing.troubles:
        if isinstance(trouble.problem, Invalid):
            return trouble.problem.reason, f"{trouble.source}: {trouble.problem}" if trouble.source else str(trouble.problem)
    for record in standing.records.values():
        if record.reason in AUTHOR:
            return record.reason, _line(record)
    return None
