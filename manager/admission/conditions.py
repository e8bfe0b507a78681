"""A policy as match conditions of a webhook: the API server lets through what the policy allows, and asks about the rest.

| Request | While we answer | While nobody answers |
| --- | --- | --- |
| the policy allows it, whatever its namespace does | passes, and we never hear of it | the same |
| only a terminating namespace allows it | passes, after we looked at the namespace | refused |
| the policy refuses it | refused, in the policy's words | refused |
| about a policy with parameters, and its own conditions hold | judged by us | refused |

So a webhook that must be answered (failurePolicy Fail) opens no hole without us and blocks next to nothing. What the third
column refuses and the second does not is small. In a terminating namespace the namespace controller deletes, and it is let out
by its name; finalizers, owner references and status are free by the policy of protection itself. A namespace waits for us only
when somebody else's controller must edit the content of a held object before its finalizer comes off. And whether a label puts
a namespace into a Tenant is written in the Tenants, which no condition can read.

Needs match conditions and optional types in CEL, which Kubernetes has together from 1.29 on.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

import re
from collections.abc import Mapping

from apis.meta import Manifest
from manager.admission.policies import Policy

REFUSED = "refused-by-the-policy"
"""The name of the condition that holds when a policy has something against a request."""

NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"

_VARIABLE = re.compile(r"\bvariables\.([A-Za-z_]\w*)")
_NAMESPACE = re.compile(r"\bnamespaceObject\b")


def conditions(policy: Policy) -> list[Manifest]:
    """The `matchConditions` of the webhook that stands for a policy."""
    named = dict(policy.conditions)
    if policy.params is None:
        named[REFUSED] = " || ".join(f"!({_whole(each.expression, policy.variables)})" for each in policy.validations)
    if any(_NAMESPACE.search(text) for text in _texts(policy)):
        # It deletes nothing but what is in a terminating namespace: the one thing that conditions cannot see.
        named["not-the-namespace-controller"] = (
            f"request.operation != 'DELETE' || request.userInfo.username != '{NAMESPACE_CONTROLLER}'"
        )
    return [{"name": name, "expression": expression} for name, expression in named.items()]


def _texts(policy: Policy) -> list[str]:
    return [*policy.variables.values(), *(each.expression for each in policy.validations)]


def _whole(expression: str, variables: Mapping[str, str]) -> str:
    """An expression without a policy's variables, which conditions do not have, and of an object in no namespace."""
    written_out = _VARIABLE.sub(lambda found: f"({_whole(variables[found[1]], variables)})", expression)
    return _NAMESPACE.sub("dyn(null)", written_out)
