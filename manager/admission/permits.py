"""Policies over permits: they hold while no replica of ours runs and no webhook answers.

| Policy | Request | Passes |
| --- | --- | --- |
| `copyhold-permits` | a permit is made | the requester that it names is the user, or it names none |
| | its spec is changed | never |
| | our finalizer is taken off | the manager, and who may `delete` on `records.copyhold.dev` |
| | its status is written | the manager; else exactly one step, by the user, which leaves what it must leave (below) |
| `copyhold-permit-deletion` | it is deleted | the manager, and who may `delete` on `records.copyhold.dev` |
| | | anybody, in a terminating namespace |
| | | anybody, before it was reviewed (no phase, Created, Requested, Pending), and Expired without `keepUntil` |
| `copyhold-permit-accounts` | a ServiceAccount is deleted | unless a permit beside it acts as it and has not ended |
| `copyhold-template-accounts` | | unless a global template names it |
| | | in both cases: who may `delete` on `records.copyhold.dev`, system components, a terminating namespace |

A step adds one transition to the others, which stay: its actor is the user, its type the phase, and it carries the hash of the
one before. It may change the phase, the review (an approval more, by the user), the condition, and `duration`, `keepFor`,
`startTime` and `digest` of the request; a step to Expired may set `keepUntil` where there is none. Snapshot, preview, grants,
roles, account, activation, items and records stay as they were.

The manager is known by the extra with the UID of this very permit: what it applies for other parents carries another one.

Caveats: a policy cannot see what a signature says; the manager looks at that before it acts. CEL has no clock, so that a permit
with `keepUntil` cannot be deleted by others afterwards either: the manager does it then. A backup is restored by whoever may
write the requester of others, which is nobody: what it brings is made anew.
"""

import json
from collections.abc import Sequence

from apis.copyhold import VERSION
from apis.copyhold.permitstatus import ActorType, Phase
from apis.meta import FINALIZER, GROUP, PARENT_EXTRA
from manager.admission.policies import NOT_SYSTEM, Policy, Rule, Validation

PLURAL = "resourcepermits"

_FREE = ("", Phase.CREATED, Phase.REQUESTED, Phase.PENDING)
"""Phases in which whoever RBAC lets may delete a permit: nobody has decided anything yet."""

_OVER = ("", Phase.CREATED, Phase.DENIED, Phase.EXPIRED)
"""Phases in which nobody acts for a permit, or no longer."""

_STEP = ("phase", "request", "review", "keepUntil", "conditions", "observedGeneration", "transitions")
"""The fields of the status that a step may change."""

_ADJUSTABLE = ("duration", "keepFor", "startTime", "digest")
"""The fields of the snapshot that a step may change."""


def is_manager(thing: str) -> str:
    """CEL: the request comes from the manager, for the permit that this expression gives."""
    return (
        f"(has(request.userInfo.extra) && '{PARENT_EXTRA}' in request.userInfo.extra"
        f" && {thing}.metadata.?uid.orValue('') in request.userInfo.extra['{PARENT_EXTRA}'])"
    )


def changes() -> Policy:
    """What may become of a permit while it lives."""
    return Policy(
        name="copyhold-permits",
        rules=(
            Rule((GROUP,), (PLURAL,), ("CREATE", "UPDATE")),
            Rule((GROUP,), (f"{PLURAL}/status",), ("UPDATE",)),
        ),
        variables=_VARIABLES,
        validations=(_REQUESTER, _SPEC, _FINALIZER, _PHASE, _TRAIL, _KEPT, _RETENTION, _APPROVALS),
    )


def deletion() -> Policy:
    """Who may delete a permit, and when."""
    return Policy(
        name="copyhold-permit-deletion",
        rules=(Rule((GROUP,), (PLURAL,), ("DELETE",)),),
        conditions={"not-the-manager": f"!{is_manager('oldObject')}"},
        variables={
            "phase": "oldObject.?status.?phase.orValue('')",
            "keepUntil": "oldObject.?status.?keepUntil.orValue('')",
            "free": (
                f"variables.phase in {_list(_FREE)} || {_MAY_DELETE}"
                " || (namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp))"
            ),
        },
        validations=(
            Validation(
                expression=f"variables.free || variables.phase == '{Phase.EXPIRED}'",
                message="ResourcePermit cannot be deleted before it has expired",
                explain=(
                    "'ResourcePermit cannot be deleted before it has expired (current phase: ' + variables.phase"
                    " + '): end it with: copyhold permit expire ' + oldObject.metadata.name + ' --namespace '"
                    " + oldObject.metadata.namespace"
                ),
            ),
            Validation(
                expression=f"variables.free || variables.phase != '{Phase.EXPIRED}' || variables.keepUntil == ''",
                message="ResourcePermit cannot be deleted before archive retention expires",
                explain=(
                    "'ResourcePermit cannot be deleted before archive retention expires at ' + variables.keepUntil"
                    " + ': Copyhold deletes it then'"
                ),
            ),
        ),
    )


def accounts() -> tuple[Policy, Policy]:
    """Who may delete a ServiceAccount that permits act as: the end of what it gave would be left to the manager's own rights.

    A policy sees the permits of the account's own namespace, and all global templates, whose permits may be anywhere.
    """
    return (
        _account(
            "copyhold-permit-accounts",
            "ResourcePermit",
            {
                "account": "params.?status.?request.?impersonation.orValue({})",
                "acts": (
                    "variables.account.?name.orValue('') == oldObject.metadata.name"
                    " && variables.account.?namespace.orValue('') == oldObject.metadata.namespace"
                    f" && !(params.?status.?phase.orValue('') in {_list(_OVER)})"
                ),
                "who": "'ResourcePermit ' + params.metadata.name + ' (phase ' + params.?status.?phase.orValue('') + ')'",
            },
            "used by an unexpired ResourcePermit: expire it first",
            "'expire it first'",
        ),
        _account(
            "copyhold-template-accounts",
            "GlobalResourcePermitTemplate",
            {
                "account": "params.?spec.?impersonation.orValue({})",
                "acts": (
                    "variables.account.?name.orValue('') == oldObject.metadata.name"
                    " && variables.account.?namespace.orValue('') == oldObject.metadata.namespace"
                ),
                "who": "'GlobalResourcePermitTemplate ' + params.metadata.name",
            },
            "named by a GlobalResourcePermitTemplate: change or delete the template first",
            "'change or delete the template first'",
        ),
    )


def _account(name: str, kind: str, variables: dict[str, str], message: str, remedy: str) -> Policy:
    ending = "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)"
    return Policy(
        name=name,
        rules=(Rule(("",), ("serviceaccounts",), ("DELETE",)),),
        params=(f"{GROUP}/{VERSION}", kind),
        conditions={"not-a-system-component": NOT_SYSTEM},
        variables=variables,
        validations=(
            Validation(
                expression=f"!variables.acts || {ending} || {_MAY_DELETE}",
                message=message,
                explain=(
                    "'ServiceAccount ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name + ' is used by '"
                    f" + variables.who + ': ' + {remedy}"
                ),
            ),
        ),
        native=True,
    )


def _list(texts: Sequence[str]) -> str:
    return json.dumps(list(texts))


def _is_user(actor: str) -> str:
    """CEL: this actor of a transition, or of a spec, is who sends the request."""
    return (
        f"({actor}.?name.orValue('') == request.userInfo.username && {actor}.?type.orValue('') != '{ActorType.SYSTEM}'"
        f" && {actor}.?uid.orValue('') in ['', request.userInfo.?uid.orValue('')]"
        f" && {actor}.?groups.orValue([]).all(g, g in request.userInfo.?groups.orValue([])))"
    )


def _kept(new: str, old: str, but: Sequence[str]) -> str:
    """CEL: two maps have the same fields with the same values, but for some."""
    return (
        f"{new}.all(f, f in {_list(but)} || (f in {old} && {new}[f] == {old}[f]))"
        f" && {old}.all(f, f in {_list(but)} || f in {new})"
    )


_MAY_DELETE = f"authorizer.group('{GROUP}').resource('records').check('delete').allowed()"

_VARIABLES = {
    "main": "request.?subResource.orValue('') == ''",
    "requester": "object.spec.?requester.orValue({})",
    # Nothing that the manager writes is judged, and nothing that changes nothing.
    "ours": (
        f"variables.main || {is_manager('object')} || oldObject == null"
        " || object.?status.orValue({}) == oldObject.?status.orValue({})"
    ),
    "status": "object.?status.orValue({})",
    "oldStatus": "oldObject == null ? {} : oldObject.?status.orValue({})",
    "request": "variables.status.?request.orValue({})",
    "oldRequest": "variables.oldStatus.?request.orValue({})",
    "phase": "variables.status.?phase.orValue('')",
    "steps": "variables.status.?transitions.orValue([])",
    "oldSteps": "variables.oldStatus.?transitions.orValue([])",
    "step": "variables.steps[variables.oldSteps.size()]",
    "head": "variables.oldSteps.size() == 0 ? '' : variables.oldSteps[variables.oldSteps.size() - 1].?hash.orValue('')",
    "oldApprovals": "variables.oldStatus.?review.?approvals.orValue([])",
    "what": "'ResourcePermit ' + object.metadata.?name.orValue('') + ' in namespace ' + request.namespace",
}

_REMEDY = "ask for a transition with: copyhold permit approve, deny, expire or retry"

_REQUESTER = Validation(
    expression=f"request.operation != 'CREATE' || !has(object.spec.requester) || {_is_user('variables.requester')}",
    message="spec.requester must be who makes the permit",
    explain=(
        "variables.what + ': spec.requester names ' + variables.requester.?name.orValue('nobody') + ', and '"
        " + request.userInfo.username + ' asks: leave spec.requester out, it is written at admission'"
    ),
)
_SPEC = Validation(
    expression="request.operation == 'CREATE' || object.spec == oldObject.spec",
    message="the spec of a ResourcePermit cannot be changed",
    explain="variables.what + ': spec cannot be changed, since others decide about it: make another permit'",
)
_FINALIZER = Validation(
    expression=(
        f"request.operation == 'CREATE' || !('{FINALIZER}' in oldObject.metadata.?finalizers.orValue([]))"
        f" || '{FINALIZER}' in object.metadata.?finalizers.orValue([]) || {is_manager('object')} || {_MAY_DELETE}"
    ),
    message=f"only Copyhold takes the finalizer {FINALIZER} off a ResourcePermit",
    explain=(
        f"variables.what + ': only Copyhold takes the finalizer {FINALIZER} off, when what the permit gave is gone; '"
        f" + 'by force it needs verb delete on records.{GROUP}, cluster-wide'"
    ),
)
_PHASE = Validation(
    expression=(
        "variables.ours || (variables.steps.size() == variables.oldSteps.size() + 1"
        f" && variables.step.?type.orValue('') == variables.phase && {_is_user('variables.step.actor')})"
    ),
    message=f"ResourcePermit status can only be changed by requesting a lifecycle transition: {_REMEDY}",
    explain=f"variables.what + ': status can only be changed by requesting a lifecycle transition: {_REMEDY}'",
)
_TRAIL = Validation(
    expression=(
        "variables.ours || (variables.oldSteps.all(t, variables.steps[t.index] == t)"
        " && variables.step.?index == optional.of(variables.oldSteps.size())"
        " && variables.step.?previous.orValue('') == variables.head)"
    ),
    message="the transitions of a ResourcePermit can only grow",
    explain=f"variables.what + ': status.transitions can only grow by the one that is asked for: {_REMEDY}'",
)
_KEPT = Validation(
    expression=(
        f"variables.ours || ({_kept('variables.status', 'variables.oldStatus', _STEP)}"
        f" && {_kept('variables.request', 'variables.oldRequest', _ADJUSTABLE)})"
    ),
    message="what a ResourcePermit gives can only be changed by the Copyhold manager",
    explain="variables.what + ': the snapshot and what was recorded of it can only be changed by the Copyhold manager'",
)
_RETENTION = Validation(
    expression=(
        "variables.ours || variables.status[?'keepUntil'] == variables.oldStatus[?'keepUntil']"
        f" || (variables.phase == '{Phase.EXPIRED}' && !has(variables.oldStatus.keepUntil))"
    ),
    message="how long a ResourcePermit is recorded can only be changed by the Copyhold manager",
    explain="variables.what + ': status.keepUntil can only be changed by the Copyhold manager'",
)
_APPROVALS = Validation(
    expression=(
        "variables.ours || variables.status.?review.?approvals.orValue([]).all(a, a in variables.oldApprovals"
        f" || {_is_user('a.reviewer')})"
    ),
    message="nobody approves a ResourcePermit for somebody else",
    explain="variables.what + ': status.review.approvals has a new one that is not by ' + request.userInfo.username",
)
