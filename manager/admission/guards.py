"""Policies that guard what names and labels would give away: accounts, membership in a tenant, and our memory.

| Policy | Request | Needs |
| --- | --- | --- |
| `copyhold-accounts` | a parent's spec is made or changed, and it names a ServiceAccount | `impersonate` on that account |
| | the account is of kube-system or of the manager's namespace | to be in `allowed` |
| `copyhold-tenants` | a namespace's labels change so that a Tenant selects it anew | `assign` on that Tenant |
| `copyhold-tenant-label` | a namespace gets the label `copyhold.dev/tenant` | `assign` on that Tenant, existing or not |
| `copyhold-records` | the status of our kinds, or a TargetRecord, is written | `update` on `records.copyhold.dev`, cluster-wide |

The rights are asked of the server's own authorizer, so a cluster-admin has them all. No right is needed to leave a tenant, or
to take our finalizer off a parent: an administrator must be able to force the end of an object, at the price of its targets.
"""

import json
from collections.abc import Sequence

from apis.meta import GROUP, TENANT_LABEL
from manager.admission.policies import NOT_SYSTEM, Policy, Rule, Validation

API_VERSION = f"{GROUP}/v1alpha1"


def accounts(*, manager_namespace: str, allowed: Sequence[str] = ()) -> Policy:
    """Who may name which account. `allowed` lists accounts of reserved namespaces as `namespace/name` that may be named."""
    reserved = ["kube-system", manager_namespace]
    return Policy(
        name="copyhold-accounts",
        rules=(Rule((GROUP,), tuple(_ACCOUNT_FIELDS), ("CREATE", "UPDATE")),),
        conditions={"spec-changed": "request.operation == 'CREATE' || object.?spec != oldObject.?spec"},
        variables={
            "field": f"{json.dumps(_ACCOUNT_FIELDS)}[request.resource.resource]",
            "account": "object.?spec[?variables.field].orValue({})",
            "name": "variables.account.?name.orValue('')",
            # A namespaced parent can only name its neighbours, and without a name it acts as the account `default` beside it.
            "home": (
                "object.metadata.?namespace.orValue('') != '' ? object.metadata.namespace"
                " : variables.account.?namespace.orValue('')"
            ),
            "acting": "variables.name == '' ? 'default' : variables.name",
            "who": "'ServiceAccount ' + variables.home + '/' + variables.acting",
        },
        validations=(
            Validation(
                expression=(
                    f"!(variables.home in {json.dumps(reserved)})"
                    f" || variables.home + '/' + variables.acting in {json.dumps(sorted(allowed))}"
                ),
                message="the account is of a reserved namespace",
                explain=(
                    "variables.who + ' is of a reserved namespace: name another account in spec.' + variables.field"
                    " + ', or ask the administrator to allow this one (flag --allow-service-account)'"
                ),
            ),
            Validation(
                expression=(
                    "variables.name == '' || authorizer.group('').resource('serviceaccounts').namespace(variables.home)"
                    ".name(variables.name).check('impersonate').allowed()"
                ),
                message="naming an account needs the right to impersonate it",
                explain=(
                    "'spec.' + variables.field + ' names ' + variables.who + ', which you may not impersonate: '"
                    " + 'ask for verb impersonate on serviceaccounts/' + variables.name + ' in namespace '"
                    " + variables.home + ', or name another account'"
                ),
            ),
        ),
    )


_ACCOUNT_FIELDS = {
    "tenantresources": "serviceAccount",
    "globaltenantresources": "serviceAccount",
    "resourcepermittemplates": "impersonation",
    "globalresourcepermittemplates": "impersonation",
}
"""The kinds that act as an account, and the field of their spec that names it."""


def tenants() -> Policy:
    """Who may make a Tenant select a namespace, by whatever labels it selects.

    `namespaces/finalize` is left out: while the kind Tenant is not served, every request that this policy sees is refused, and
    that must not keep namespaces from going.
    """
    return Policy(
        name="copyhold-tenants",
        rules=(
            Rule(("",), ("namespaces",), ("CREATE", "UPDATE")),
            Rule(("",), ("namespaces/status",), ("UPDATE",)),
        ),
        params=(API_VERSION, "Tenant"),
        # Who may assign to all Tenants is not asked about each.
        conditions={"labels-changed": _LABELS_CHANGED, "may-not-assign-to-all": f"!{_MAY_ASSIGN_TO_ALL}"},
        variables={
            "labels": "object.metadata.?labels.orValue({})",
            "oldLabels": "oldObject == null ? {} : oldObject.metadata.?labels.orValue({})",
            "selector": (
                f"params.?spec.?namespaceSelector.orValue({{'matchLabels': {{'{TENANT_LABEL}': params.metadata.name}}}})"
            ),
            "equal": "variables.selector.?matchLabels.orValue({})",
            "expressions": "variables.selector.?matchExpressions.orValue([])",
            "selects": _selects("variables.labels"),
            "selected": f"oldObject != null && {_selects('variables.oldLabels')}",
        },
        validations=(
            Validation(
                expression=f"!variables.selects || variables.selected || {_may_assign('params.metadata.name')}",
                message="a label that puts a namespace into a tenant needs verb assign on that Tenant",
                explain=_explain_assign("params.metadata.name"),
            ),
        ),
    )


def tenant_label() -> Policy:
    """Who may set `copyhold.dev/tenant`, which counts for Tenants that come later too."""
    return Policy(
        name="copyhold-tenant-label",
        rules=(
            Rule(("",), ("namespaces",), ("CREATE", "UPDATE")),
            # Both let a namespace's labels be changed.
            Rule(("",), ("namespaces/status", "namespaces/finalize"), ("UPDATE",)),
        ),
        conditions={"labels-changed": _LABELS_CHANGED},
        variables={
            "tenant": f"object.metadata.?labels[?'{TENANT_LABEL}'].orValue('')",
            "oldTenant": f"oldObject == null ? '' : oldObject.metadata.?labels[?'{TENANT_LABEL}'].orValue('')",
        },
        validations=(
            Validation(
                expression=(
                    f"variables.tenant == '' || variables.tenant == variables.oldTenant || {_may_assign('variables.tenant')}"
                ),
                message=f"the label {TENANT_LABEL} needs verb assign on that Tenant",
                explain=_explain_assign("variables.tenant"),
            ),
        ),
    )


def records() -> Policy:
    """Who may write what we remember: with that, a parent could be made to delete whatever its account may delete."""
    return Policy(
        name="copyhold-records",
        rules=(
            Rule((GROUP,), tuple(f"{plural}/status" for plural in _REMEMBERING), ("UPDATE",)),
            Rule((GROUP,), ("targetrecords",), ("CREATE", "UPDATE", "DELETE")),
            Rule((GROUP,), ("targetrecords/*",), ("UPDATE",)),
        ),
        # A storage migration rewrites every object, unchanged, as an account of kube-system.
        conditions={"not-a-system-component": NOT_SYSTEM},
        validations=(
            Validation(
                expression=f"authorizer.group('{GROUP}').resource('records').check('update').allowed()",
                message=f"only Copyhold's manager writes its memory: it needs verb update on records.{GROUP}, cluster-wide",
                explain=(
                    f"request.resource.resource + ' ' + (object != null ? object : oldObject).metadata.name"
                    " + ': only Copyhold writes what it remembers of its targets; a repair needs verb update on '"
                    f" + 'records.{GROUP}, cluster-wide'"
                ),
            ),
        ),
    )


_REMEMBERING = (
    "tenants",
    "tenantresources",
    "globaltenantresources",
    "resourcepermittemplates",
    "globalresourcepermittemplates",
)


_LABELS_CHANGED = "request.operation == 'CREATE' || object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})"


def _selects(labels: str) -> str:
    return (
        f"variables.equal.all(k, {labels}[?k] == optional.of(variables.equal[k]))"
        " && variables.expressions.all(e, "
        f"e.operator == 'In' ? (e.key in {labels} && {labels}[e.key] in e.values)"
        f" : e.operator == 'NotIn' ? !(e.key in {labels} && {labels}[e.key] in e.values)"
        f" : e.operator == 'Exists' ? e.key in {labels}"
        # An operator that nobody knows counts as a match, which asks for the right.
        f" : !(e.operator == 'DoesNotExist' && e.key in {labels}))"
    )


_MAY_ASSIGN_TO_ALL = f"authorizer.group('{GROUP}').resource('tenants').check('assign').allowed()"


def _may_assign(tenant: str) -> str:
    return f"authorizer.group('{GROUP}').resource('tenants').name({tenant}).check('assign').allowed()"


def _explain_assign(tenant: str) -> str:
    return (
        f"'these labels put namespace ' + object.metadata.name + ' into Tenant ' + {tenant}"
        f" + ': ask for verb assign on tenants.{GROUP}/' + {tenant} + ', or leave the labels out'"
    )
