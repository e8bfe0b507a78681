"""What is wrong with a policy or a binding itself: found when it is written, in the words of the real server.

Metadata and the types of fields are checked with every kind; here are the rules that only policies have. The server's
`status.typeChecking`, which looks for fields that a kind does not have, is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from apis.meta import Manifest
from manager.embedded.causes import child, duplicate, forbidden, index, invalid, not_supported, required, too_many
from manager.embedded.kinds import names
from manager.embedded.kinds.metadata import selector
from manager.embedded.policies.expression import Expression
from manager.embedded.policies.policy import compile_policy
from manager.embedded.status import Cause
from policy.cel.parse import RESERVED

FAILURE = ("Fail", "Ignore")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
MATCH_POLICIES = ("Equivalent", "Exact")
MOST_CONDITIONS = 64
MOST_ANNOTATIONS = 20
LONGEST_ANNOTATION = 5 * 1024  # bytes of one valueExpression

AT_LEAST_ONE = "validations or auditAnnotations must contain at least one item"
UNSPECIFIED = "expression is not specified"
EXCLUSIVE = "name and selector are mutually exclusive"
TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers"
    " serves no purpose)"
)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_WORDS = RESERVED | {"in", "true", "false", "null"}


def check_policy(policy: Manifest) -> list[Cause]:
    """The causes for which a ValidatingAdmissionPolicy is refused, with defaults filled in."""
    return list(_policy(policy))


def check_binding(binding: Manifest) -> list[Cause]:
    """The causes for which a ValidatingAdmissionPolicyBinding is refused."""
    return list(_binding(binding.get("spec") or {}))


def _policy(policy: Manifest) -> Iterator[Cause]:
    policy = {**policy, "spec": policy.get("spec") or {}}
    spec = policy["spec"]
    if spec.get("failurePolicy", "Fail") not in FAILURE:
        yield not_supported("spec.failurePolicy", spec["failurePolicy"], FAILURE)
    if (param_kind := spec.get("paramKind")) is not None:
        yield from (required(f"spec.paramKind.{name}") for name in ("apiVersion", "kind") if not param_kind.get(name))
    if (constraints := spec.get("matchConstraints")) is None:
        yield required("spec.matchConstraints")
    else:
        yield from _matched(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    yield from _expressions(policy)


def _expressions(policy: Manifest) -> Iterator[Cause]:
    spec = policy["spec"]
    compiled = compile_policy(_complete(policy))
    yield from _conditions(spec.get("matchConditions") or (), compiled.conditions)
    yield from _variables(spec.get("variables") or (), compiled.variables)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield required("spec.validations", AT_LEAST_ONE)
        yield required("spec.auditAnnotations", AT_LEAST_ONE)
    for place, (written, read) in enumerate(zip(validations, compiled.validations, strict=True)):
        yield from _validation(written, read.must, read.explain, index("spec.validations", place))
    yield from _annotations(annotations, compiled.annotations, policy["metadata"].get("name") or "")


def _complete(policy: Manifest) -> Manifest:
    """The policy with empty texts for those that are missing, so that the rest can be compiled."""
    spec = policy["spec"]
    texts = {"matchConditions": "expression", "variables": "expression", "validations": "expression"}
    texts["auditAnnotations"] = "valueExpression"
    lists = {name: [{"name": "", text: "", **each} for each in spec.get(name) or ()] for name, text in texts.items()}
    # Selectors are checked elsewhere; a wrong one must not keep the expressions from being read.
    return {**policy, "spec": {**spec, **lists, "matchConstraints": {}}}


def _conditions(written: Sequence[Manifest], read: Sequence[Expression]) -> Iterator[Cause]:
    if len(written) > MOST_CONDITIONS:
        yield too_many("spec.matchConditions", len(written), MOST_CONDITIONS)
    seen: set[str] = set()
    for place, (condition, expression) in enumerate(zip(written, read, strict=True)):
        path, name = index("spec.matchConditions", place), condition.get("name") or ""
        yield from _text(expression, path, "expression", "")
        if not name:
            yield required(child(path, "name"))
        yield from (invalid(child(path, "name"), name, why) for why in (names.qualified(name) if name else ()))
        if name in seen and name:
            yield duplicate(child(path, "name"), name)
        seen.add(name)


def _variables(written: Sequence[Manifest], read: Mapping[str, Expression]) -> Iterator[Cause]:
    for place, variable in enumerate(written):
        path, name = index("spec.variables", place), variable.get("name") or ""
        if not name.strip():
            yield required(child(path, "name"), "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _WORDS:
            yield invalid(child(path, "name"), name, "must be a valid CEL identifier")
        yield from _text(read[name], path, "expression", UNSPECIFIED)


def _validation(written: Manifest, must: Expression, explain: Expression | None, path: str) -> Iterator[Cause]:
    yield from _text(must, path, "expression", UNSPECIFIED)
    message, explanation = written.get("message") or "", written.get("messageExpression") or ""
    if explanation and explain is None:
        yield invalid(child(path, "messageExpression"), explanation, "must be non-empty if specified")
    elif explain is not None:
        yield from _text(explain, path, "messageExpression", "")
    if message and not message.strip():
        yield invalid(child(path, "message"), message, "must be non-empty if specified")
    elif set("\r\n") & set(message.strip()):
        yield invalid(child(path, "message"), message, "must not contain line breaks")
    if "reason" in written and written["reason"] not in REASONS:
        yield not_supported(child(path, "reason"), written["reason"], REASONS)


def _annotations(written: Sequence[Manifest], read: Sequence[Expression], policy: str) -> Iterator[Cause]:
    if len(written) > MOST_ANNOTATIONS:
        yield invalid("spec.auditAnnotations", list(written), f"must not have more than {MOST_ANNOTATIONS} auditAnnotations")
    seen: set[str] = set()
    for place, (annotation, expression) in enumerate(zip(written, read, strict=True)):
        path, name = index("spec.auditAnnotations", place), annotation.get("key") or ""
        full = f"{policy}/{name}"
        yield from (invalid(child(path, "key"), full, why) for why in names.qualified(full))
        if len(expression.text.encode()) > LONGEST_ANNOTATION:
            yield required(child(path, "valueExpression"), f"must not exceed {LONGEST_ANNOTATION} bytes in length")
        else:
            yield from _text(expression, path, "valueExpression", "valueExpression is not specified")
        if name in seen:
            yield duplicate(child(path, "key"), name)
        seen.add(name)


def _text(expression: Expression, path: str, name: str, missing: str) -> Iterator[Cause]:
    if not expression.text.strip():
        yield required(child(path, name), missing)
    elif expression.program is None:
        yield invalid(child(path, name), expression.text, expression.problem)


def _binding(spec: Manifest) -> Iterator[Cause]:
    policy = spec.get("policyName") or ""
    if not policy:
        yield required("spec.policyName")
    yield from (invalid("spec.policyName", policy, why) for why in (names.subdomain(policy) if policy else ()))
    if (reference := spec.get("paramRef")) is not None:
        yield from _param_ref(reference)
    if (resources := spec.get("matchResources")) is not None:
        yield from _matched(resources, "spec.matchResources")
    yield from _actions(spec.get("validationActions") or [])


def _param_ref(reference: Manifest) -> Iterator[Cause]:
    name, by_selector = reference.get("name") or "", reference.get("selector") is not None
    yield from (invalid("spec.paramRef.name", name, why) for why in (names.path_segment(name) if name else ()))
    if name and by_selector:
        yield forbidden("spec.paramRef.name", EXCLUSIVE)
    yield from selector(reference.get("selector"), "spec.paramRef.selector")
    if name and by_selector:
        yield forbidden("spec.paramRef.selector", EXCLUSIVE)
    if not name and not by_selector:
        yield required("spec.paramRef", "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction") or ""
    if not action:
        yield required("spec.paramRef.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        yield not_supported("spec.paramRef.parameterNotFoundAction", action, ("Deny", "Allow"))


def _actions(actions: list[str]) -> Iterator[Cause]:
    path = "spec.validationActions"
    for place, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(index(path, place), action, ACTIONS)
        if action in actions[:place]:
            yield duplicate(index(path, place), action)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(path, actions, TWICE)
    if not actions:
        yield required(path, "at least one validation action is required")


def _matched(constraints: Manifest, path: str) -> Iterator[Cause]:
    if constraints.get("matchPolicy", "Equivalent") not in MATCH_POLICIES:
        yield not_supported(child(path, "matchPolicy"), constraints["matchPolicy"], MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        yield from selector(constraints.get(name), child(path, name))
    for name in ("resourceRules", "excludeResourceRules"):
        for place, rule in enumerate(constraints.get(name) or ()):
            yield from _rule(rule, index(child(path, name), place))


def _rule(rule: Manifest, path: str) -> Iterator[Cause]:
    given = rule.get("resourceNames") or []
    for place, name in enumerate(given):
        at = index(child(path, "resourceNames"), place)
        yield from (invalid(at, name, why) for why in names.path_segment(name))
        if name in given[:place]:
            yield duplicate(at, name)
    operations = rule.get("operations") or []
    if not operations:
        yield required(child(path, "operations"))
    if len(operations) > 1 and "*" in operations:
        yield invalid(child(path, "operations"), operations, "if '*' is present, must not specify other operations")
    for place, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield not_supported(index(child(path, "operations"), place), operation, OPERATIONS)
    for name, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            yield required(child(path, name))
        if len(values) > 1 and "*" in values:
            yield invalid(child(path, name), values, f"if '*' is present, must not specify other {what}")
    for place, version in enumerate(rule.get("apiVersions") or []):
        if not version:
            yield required(index(child(path, "apiVersions"), place))
    yield from _resources(rule.get("resources") or [], child(path, "resources"))
    if rule.get("scope", "*") not in SCOPES:
        yield not_supported(child(path, "scope"), rule["scope"], SCOPES)


def _resources(resources: list[str], path: str) -> Iterator[Cause]:
    if not resources:
        yield required(path)
    whole: set[str] = set()  # `x` of `x/*`
    any_of: set[str] = set()  # `x` of `*/x`
    for place, each in enumerate(resources):
        resource, slash, subresource = each.partition("/")
        if not each:
            yield required(index(path, place))
        if not slash:
            continue
        if resource in whole:
            yield invalid(index(path, place), each, f"if '{resource}/*' is present, must not specify {each}")
        if subresource in any_of:
            yield invalid(index(path, place), each, f"if '*/{subresource}' is present, must not specify {each}")
        if subresource == "*":
            whole.add(resource)
        if resource == "*":
            any_of.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    # The last one without a subresource decides, as in the real server.
    bare = [each for each in resources if each and "/" not in each]
    if "*" in bare and bare[-1] != "*":
        yield invalid(path, resources, "if '*' is present, must not specify other resources without subresources")
