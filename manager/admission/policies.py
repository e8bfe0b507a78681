"""One ValidatingAdmissionPolicy and its binding, as the two manifests that the API server stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apis.meta import PARENT_EXTRA, Manifest

API_VERSION = "admissionregistration.k8s.io/v1"
POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"
MUTATING = "MutatingWebhookConfiguration"
VALIDATING = "ValidatingWebhookConfiguration"

LABELS = {"app.kubernetes.io/managed-by": "copyhold"}
SELECTOR = ",".join(f"{key}={value}" for key, value in LABELS.items())
"""Finds all our policies, bindings and webhooks, those of an older version too."""

SYSTEM = ("system:apiserver", "system:kube-controller-manager", "system:kube-scheduler")
SYSTEM_ACCOUNTS = "system:serviceaccount:kube-system:"
NOT_SYSTEM = f"!(request.userInfo.username in {list(SYSTEM)} || request.userInfo.username.startsWith('{SYSTEM_ACCOUNTS}'))"
"""CEL: the user is neither a controller nor the scheduler nor the API server itself.

The API server writes its bootstrap roles when it starts and does not become ready while somebody refuses that.
"""

IS_MANAGER = f"(has(request.userInfo.extra) && '{PARENT_EXTRA}' in request.userInfo.extra)"
"""CEL: the request carries the extra that only the manager may send."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which requests a policy sees. A resource is `plural`, `plural/subresource`, or with `*` on either side."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...]

    def manifest(self) -> Manifest:
        """One `NamedRuleWithOperations`."""
        return {
            "apiGroups": list(self.groups),
            "apiVersions": ["*"],
            "operations": list(self.operations),
            "resources": list(self.resources),
            "scope": "*",
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """What must be true, and what a refused user is told: `explain` is a CEL string, `message` stands in when that fails."""

    expression: str
    message: str
    explain: str

    def manifest(self) -> Manifest:
        """One `Validation`. Without a reason the answer would be 422, as if the object were malformed."""
        return {
            "expression": self.expression,
            "message": self.message,
            "messageExpression": self.explain,
            "reason": "Forbidden",
        }


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its binding of the same name.

    `conditions` decide before anything else whether the policy is asked at all; `variables` are evaluated once, in order, when
    first used. `label` preselects objects that carry (or carried) that label. `params` is a kind (apiVersion, kind): the policy
    is then evaluated once for each of its objects (of a namespaced kind: those in the request's namespace). `native` is one for
    which no webhook stands in on servers without policies: it would hold up others while nobody answers.
    """

    name: str
    rules: tuple[Rule, ...]
    validations: tuple[Validation, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    params: tuple[str, str] | None = None
    native: bool = False

    def manifests(self) -> tuple[Manifest, Manifest]:
        """The policy and its binding. The server's defaults are spelled out, so that the stored spec equals this one."""
        return self._policy(), self._binding()

    def _policy(self) -> Manifest:
        spec: Manifest = {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {"matchExpressions": [{"key": self.label, "operator": "Exists"}]} if self.label else {},
                "resourceRules": [rule.manifest() for rule in self.rules],
            },
            "validations": [validation.manifest() for validation in self.validations],
        }
        if self.conditions:
            spec["matchConditions"] = _expressions(self.conditions)
        if self.variables:
            spec["variables"] = _expressions(self.variables)
        if self.params:
            api_version, kind = self.params
            spec["paramKind"] = {"apiVersion": api_version, "kind": kind}
        return _object(POLICY, self.name, spec)

    def _binding(self) -> Manifest:
        spec: Manifest = {"policyName": self.name, "validationActions": ["Deny"]}
        if self.params:
            spec["paramRef"] = {"selector": {}, "parameterNotFoundAction": "Allow"}
        return _object(BINDING, self.name, spec)


def _expressions(named: Mapping[str, str]) -> list[Manifest]:
    return [{"name": name, "expression": expression} for name, expression in named.items()]


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "labels": dict(LABELS)}, "spec": spec}
