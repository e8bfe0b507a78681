"""Who may approve a permit, and under which conditions. Pure.

Approvers and conditions must both agree; of several approvers or conditions one is enough. A condition sees `request` (the
whole permit), `requester` (also as `requestor`), `reviewer` (`groups` is always there; nothing else when nobody reviews) and
`grants`.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from apis.copyhold.permitstatus import ActorType
from apis.copyhold.permittemplate import SelfApproval
from apis.copyhold.subject import SubjectKind
from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from policy import cel
from policy.cel.environment import vocabulary
from policy.cel.types import DYN, STRING, Type, map_of
from policy.permits import grants
from policy.permits.actors import requester_of, same
from policy.permits.refusal import Refused

_PERSON = map_of(STRING, DYN)
VARIABLES: Mapping[str, Type] = {
    "request": DYN,
    "requester": _PERSON,
    "requestor": _PERSON,
    "reviewer": _PERSON,
    "grants": grants.TYPE,
}

_SHOWN = 256  # characters of an expression in a message


def check_reviewer(approvals: Manifest, reviewer: Manifest, requester: Manifest, template: str) -> None:
    """Raise Refused (403) unless the reviewer may approve what the requester asked for by this template.

    A ServiceAccount approves only when an approver of that kind names it: whoever may make a token for one would be two persons.
    """
    if approvals.get("selfApproval") != SelfApproval.ALLOW and same(reviewer, requester):
        raise Refused(
            403, f'subject "{reviewer["name"]}" asked for this permit and cannot approve it: somebody else must review it'
        )
    approvers = approvals.get("approvers")
    anyone = approvers is None and reviewer["type"] == ActorType.USER
    if not anyone and not any(_names(approver, reviewer) for approver in approvers or ()):
        raise Refused(
            403,
            f'subject "{reviewer["name"]}" is not permitted to approve requests for template {template}: '
            "spec.approvals.approvers of the template must name it",
        )


def _names(approver: Mapping[str, Any], reviewer: Manifest) -> bool:
    match approver.get("kind"):
        case SubjectKind.USER:
            return bool(reviewer["type"] == ActorType.USER and approver["name"] == reviewer["name"])
        case SubjectKind.SERVICE_ACCOUNT:
            return bool(reviewer["type"] == ActorType.SERVICE_ACCOUNT and approver["name"] == reviewer["name"])
        case SubjectKind.GROUP:
            # Every account is in `system:authenticated`, say: a group is one of people.
            return bool(reviewer["type"] == ActorType.USER and approver["name"] in (reviewer.get("groups") or ()))
        case _:
            return False


def check_conditions(texts: Sequence[str]) -> None:
    """Raise Invalid unless each text is an approval condition: not blank, CEL over the variables above, a boolean."""
    mistakes = []
    for index, text in enumerate(texts):
        try:
            if not text.strip():
                mistakes.append(f"conditions[{index}] is blank: remove it")
            elif not _program(text.strip()).boolean:
                mistakes.append(f"conditions[{index}] does not compile to a boolean: compare its result with something")
        except cel.CelError as error:
            mistakes.append(f"conditions[{index}] does not compile: {error}")
    if mistakes:
        raise Invalid(Reason.INVALID, f"approval conditions are invalid: {'; '.join(mistakes)}")


def needs_grants(text: str) -> bool:
    """Does a condition look at the rights that a snapshot gives? Raises CelError for what `check_conditions` refuses."""
    return "grants" in _program(text.strip()).names


def met(approvals: Manifest, permit: Manifest, reviewer: Manifest | None, given: Sequence[Manifest]) -> bool:
    """Is one of the conditions true (or is there none)? `reviewer` is None when nobody reviews.

    Raises Refused (403) with every error when none is true and one could not be evaluated. Errors hold no values.
    """
    conditions = approvals.get("conditions")
    if conditions is None:
        return True
    requester = requester_of(permit)
    bindings = {
        "request": permit,
        "requester": requester,
        "requestor": requester,
        "reviewer": {"groups": []} if reviewer is None else {"groups": [], **reviewer},
        "grants": grants.visible(given),
    }
    errors = []
    for index, text in enumerate(conditions):
        try:
            verdict = _program(text.strip()).evaluate(bindings)
            if verdict is True:
                return True
            if verdict is not False:
                errors.append(f"{_place(index, text)}: it gives no boolean")
        except cel.CelError as error:
            errors.append(f"{_place(index, text)}: {error}")
    if errors:
        raise Refused(403, "; ".join(errors))
    return False


def demand(approvals: Manifest, permit: Manifest, reviewer: Manifest | None, given: Sequence[Manifest], template: str) -> None:
    """Raise Refused (403) unless the conditions are met."""
    try:
        reason = "" if met(approvals, permit, reviewer, given) else "none of the approval conditions were met"
    except Refused as refused:
        reason = refused.message
    if reason:
        raise Refused(403, f"approval conditions not satisfied for template {template}: {reason}")


def recheck(permit: Manifest) -> None:
    """Raise Refused unless an Approved permit may still be activated: by its snapshot, its approvals and its grants as they are.

    So many different reviewers approved this very digest, each of them may, and the conditions are met for each.
    """
    status = permit["status"]
    request, given = status["request"], status.get("grants") or ()
    rules, template = request["approvals"], request["template"]["name"]
    reviewers: list[Manifest] = []
    for approval in (status.get("review") or {}).get("approvals") or ():
        reviewer = approval["reviewer"]
        if approval["digest"] != request["digest"]:
            raise Refused(409, f'the approval by "{reviewer["name"]}" is for another digest: the permit must be reviewed again')
        if any(same(reviewer, other) for other in reviewers):
            raise Refused(409, f'subject "{reviewer["name"]}" approved twice: the permit must be reviewed again')
        if rules.get("auto") and reviewer["type"] == ActorType.SYSTEM:
            demand(rules, permit, None, given, template)
        else:
            check_reviewer(rules, reviewer, requester_of(permit), template)
            demand(rules, permit, reviewer, given, template)
        reviewers.append(reviewer)
    if len(reviewers) < required(rules):
        raise Refused(409, f"{len(reviewers)} of {required(rules)} approvals: the permit must be reviewed again")


def required(approvals: Manifest) -> int:
    """How many different reviewers must approve."""
    return int(approvals.get("required") or 1)


def _place(index: int, text: str) -> str:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."
    return f"evaluate approval condition {index} ({shown})"


@cache
def _environment() -> cel.Environment:
    from policy.cel.ext import LIBRARIES  # as `cel.default` does: a process that evaluates nothing does not load them
    from policy.cel.optionals import OPTIONAL
    from policy.cel.standard import STANDARD

    return cel.Environment(VARIABLES, vocabulary((STANDARD, OPTIONAL, *LIBRARIES, grants.LIBRARY)))


@lru_cache(maxsize=cel.CACHED)
def _program(text: str) -> cel.Program:
    return cel.prepare(text, _environment())
