"""What authors get wrong, once for both judges: our models without a server, and a real API server."""

from dataclasses import dataclass
from typing import Any

from apis.meta import Manifest
from tests.apis.objects import CONFIG_MAP, GONE, changed, gtr, record, tenant, tr

GROUP = ("spec", "resources", 0)
POLICY = (*GROUP, "policy")
REFERENCE: Manifest = {"apiVersion": "v1", "kind": "Secret"}


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong object. `field` is what our message names, `says` is a part of its remedy; `field_served` is the server's name
    for the place where it differs from ours, and None when only our models see the mistake."""

    id: str
    manifest: Manifest
    field: str
    says: str
    field_served: str | None = ""

    @property
    def served(self) -> str | None:
        """The field that the API server names."""
        return self.field if self.field_served == "" else self.field_served


def _policy(field: str, value: Any) -> Manifest:
    return changed(gtr(), *POLICY, field, to=value)


def _group(field: str, value: Any, **spec: Any) -> Manifest:
    return changed(gtr(**spec), *GROUP, field, to=value)


def _context(*resources: Manifest) -> Manifest:
    return _group("context", {"resources": list(resources)})


def _selector(**expression: Any) -> Manifest:
    return _group("namespaceSelector", {"matchExpressions": [{"key": "stage"} | expression]})


MISTAKES = (
    # The spec as a whole
    Mistake("no spec", changed(gtr(), "spec", to=GONE), "spec", "required: add it"),
    Mistake("no resources", changed(gtr(), "spec", "resources", to=GONE), "spec.resources", "required: add it"),
    Mistake("empty resources", gtr(resources=[]), "spec.resources", "at least 1"),
    Mistake("resources are a map", gtr(resources={}), "spec.resources", "must be a list"),
    Mistake("an unknown field", gtr(prune=True), "spec.prune", "unknown field"),
    Mistake("an unknown scope", gtr(scope="Cluster"), "spec.scope", "'Namespace', 'Tenant', 'AllNamespaces' or 'None'"),
    Mistake("cordoned as text", gtr(cordoned="true"), "spec.cordoned", "without quotes"),
    Mistake("cordoned as number", gtr(cordoned=1), "spec.cordoned", "true or false"),
    Mistake("a period in days", gtr(resyncPeriod="1d"), "spec.resyncPeriod", "hours (24h"),
    Mistake("a period below a second", gtr(resyncPeriod="10ms"), "spec.resyncPeriod", "must be 0s (never) or at least 1s"),
    Mistake("a period that is no text", gtr(resyncPeriod=600), "spec.resyncPeriod", "in quotes"),
    Mistake("a dependency without name", gtr(dependsOn=[{}]), "spec.dependsOn[0].name", "required: add it"),
    Mistake(
        "a dependency twice",
        gtr(dependsOn=[{"name": "crds"}, {"name": "crds"}]),
        "spec.dependsOn",
        "same name",
        "spec.dependsOn[1]",
    ),
    Mistake(
        "an account without namespace", gtr(serviceAccount={"name": "x"}), "spec.serviceAccount.namespace", "required: add it"
    ),
    Mistake("an account without name", gtr(serviceAccount={"namespace": "x"}), "spec.serviceAccount.name", "required: add it"),
    Mistake("an empty account name", tr(serviceAccount={"name": ""}), "spec.serviceAccount.name", "must match"),
    Mistake(
        "a foreign account", tr(serviceAccount={"name": "x", "namespace": "y"}), "spec.serviceAccount.namespace", "unknown field"
    ),
    Mistake("a scope in a namespace", tr(scope="None"), "spec.scope", "unknown field"),
    Mistake("tenants in a namespace", tr(tenantSelector={}), "spec.tenantSelector", "unknown field"),
    # Scopes
    Mistake(
        "tenants in scope AllNamespaces",
        gtr(scope="AllNamespaces", tenantSelector={"matchLabels": {"plan": "gold"}}),
        "spec.tenantSelector",
        "only in scopes Namespace and Tenant",
    ),
    Mistake("tenants in scope None", gtr(scope="None", tenantSelector={}), "spec.tenantSelector", "change the scope"),
    Mistake(
        "copies in scope Tenant", _group("namespacedItems", [REFERENCE], scope="Tenant"), "spec.resources", "namespacedItems"
    ),
    Mistake("copies in scope None", _group("namespacedItems", [REFERENCE], scope="None"), "spec.resources", "namespacedItems"),
    Mistake("namespaces in scope Tenant", _group("namespaceSelector", {}, scope="Tenant"), "spec.resources", "namespaceSelector"),
    # Groups
    Mistake("a group without source", gtr(resources=[{}]), "spec.resources[0]", "at least one source"),
    Mistake("a group with empty targets", _group("targets", []), "spec.resources[0].targets", "at least 1"),
    Mistake("a group with empty copies", _group("namespacedItems", []), "spec.resources[0].namespacedItems", "at least 1"),
    Mistake("an empty template", _group("template", ""), "spec.resources[0].template", "omit the field"),
    Mistake("a blank template", _group("template", " \n"), "spec.resources[0].template", "omit the field"),
    Mistake("a template that is a map", _group("template", {}), "spec.resources[0].template", "must be a string"),
    Mistake("a group name with a blank", _group("name", "my group"), "spec.resources[0].name", "must match"),
    Mistake(
        "two groups with one name",
        gtr(resources=[{"name": "a", "targets": [CONFIG_MAP]}, {"name": "a", "targets": [CONFIG_MAP]}]),
        "spec.resources",
        "same name",
    ),
    Mistake(
        "a label to add that is a number",
        _group("additionalMetadata", {"labels": {"a": 1}}),
        "spec.resources[0].additionalMetadata.labels.a",
        "in quotes",
    ),
    # Targets
    Mistake("a target that is text", _group("targets", ["kind: X"]), "spec.resources[0].targets[0]", "must be a map"),
    Mistake(
        "a target without apiVersion",
        _group("targets", [CONFIG_MAP, changed(CONFIG_MAP, "apiVersion", to=GONE)]),
        "spec.resources[0].targets[1].apiVersion",
        "required: add it",
    ),
    Mistake(
        "a target without kind",
        _group("targets", [changed(CONFIG_MAP, "kind", to=GONE)]),
        "spec.resources[0].targets[0].kind",
        "required: add it",
    ),
    Mistake(
        "a target without metadata",
        _group("targets", [changed(CONFIG_MAP, "metadata", to=GONE)]),
        "spec.resources[0].targets[0].metadata",
        "required: add it",
    ),
    Mistake(
        "a target with generateName",
        _group("targets", [changed(CONFIG_MAP, "metadata", to={"generateName": "x-"})]),
        "spec.resources[0].targets[0].metadata.name",
        "required: add it",
    ),
    Mistake(
        "a target with a number as name",
        _group("targets", [changed(CONFIG_MAP, "metadata", "name", to=1)]),
        "spec.resources[0].targets[0].metadata.name",
        "in quotes",
    ),
    # Policy
    Mistake("an unknown creation", _policy("creation", "Adopt"), "spec.resources[0].policy.creation", "'Owner' or 'Merge'"),
    Mistake("an unknown deletion", _policy("deletion", "Delete"), "spec.resources[0].policy.deletion", "'Remove' or 'Orphan'"),
    Mistake("protect as text", _policy("protect", "yes"), "spec.resources[0].policy.protect", "true or false"),
    Mistake("an unknown policy field", _policy("prune", True), "spec.resources[0].policy.prune", "unknown field"),
    Mistake("an empty condition", _policy("condition", ""), "spec.resources[0].policy.condition", "omit the field"),
    Mistake("a blank condition", _policy("condition", " \n\t"), "spec.resources[0].policy.condition", "omit the field"),
    Mistake("a long condition", _policy("condition", "a" * 4097), "spec.resources[0].policy.condition", "at most 4096"),
    Mistake("a policy that is text", _group("policy", "Merge"), "spec.resources[0].policy", "must be a map"),
    # References
    Mistake(
        "a reference without kind",
        _context({"index": "a", "apiVersion": "v1"}),
        "spec.resources[0].context.resources[0].kind",
        "add it",
    ),
    Mistake("a reference without index", _context(REFERENCE), "spec.resources[0].context.resources[0].index", "add it"),
    Mistake(
        "a reference with name and selector",
        _context(REFERENCE | {"index": "a", "name": "b", "selector": {}}),
        "spec.resources[0].context.resources[0].selector",
        "remove one of them",
    ),
    Mistake(
        "copies with name and selector",
        _group("namespacedItems", [REFERENCE | {"name": "b", "selector": {"matchLabels": {"a": "b"}}}]),
        "spec.resources[0].namespacedItems[0].selector",
        "remove one of them",
    ),
    Mistake(
        "an index with a dash",
        _context(REFERENCE | {"index": "pull-secret"}),
        "spec.resources[0].context.resources[0].index",
        "must match",
    ),
    Mistake(
        "an index that is a word of maps",
        _context(REFERENCE | {"index": "items"}),
        "spec.resources[0].context.resources[0].index",
        "choose another",
    ),
    Mistake(
        "an index twice",
        _context(REFERENCE | {"index": "a"}, REFERENCE | {"index": "a"}),
        "spec.resources[0].context.resources",
        "same index",
        "spec.resources[0].context.resources[1]",
    ),
    Mistake(
        "an apiVersion with a blank",
        _context({"index": "a", "apiVersion": "apps / v1", "kind": "Deployment"}),
        "spec.resources[0].context.resources[0].apiVersion",
        "must match",
    ),
    # Selectors
    Mistake(
        "an unknown operator",
        _selector(operator="Equals", values=["dev"]),
        "spec.resources[0].namespaceSelector.matchExpressions[0].operator",
        "'In', 'NotIn', 'Exists' or 'DoesNotExist'",
    ),
    Mistake(
        "In without values",
        _selector(operator="In"),
        "spec.resources[0].namespaceSelector.matchExpressions[0].values",
        "at least one value",
    ),
    Mistake(
        "NotIn with an empty list",
        _selector(operator="NotIn", values=[]),
        "spec.resources[0].namespaceSelector.matchExpressions[0].values",
        "at least one value",
    ),
    Mistake(
        "Exists with values",
        _selector(operator="Exists", values=["dev"]),
        "spec.resources[0].namespaceSelector.matchExpressions[0].values",
        "remove `values`",
    ),
    Mistake(
        "a label value with a blank",
        _group("namespaceSelector", {"matchLabels": {"stage": "my stage"}}),
        "spec.resources[0].namespaceSelector.matchLabels.stage",
        "must match",
    ),
    Mistake(
        "a label value that is a number",
        _group("namespaceSelector", {"matchLabels": {"stage": 1}}),
        "spec.resources[0].namespaceSelector.matchLabels.stage",
        "in quotes",
    ),
    # A structural schema says nothing about the keys of a map, and CEL's cost for keys without a bound is over the budget.
    Mistake(
        "a label key with a blank",
        _group("namespaceSelector", {"matchLabels": {"my stage": "x"}}),
        "spec.resources[0].namespaceSelector.matchLabels",
        "must be a label key",
        None,
    ),
    Mistake(
        "an expression key with a blank",
        _selector(key="my stage", operator="Exists"),
        "spec.resources[0].namespaceSelector.matchExpressions[0].key",
        "must be a label key",
        None,
    ),
    # Tenants
    Mistake("a tenant with an empty selector", tenant(namespaceSelector={}), "spec.namespaceSelector", "claim every namespace"),
    Mistake(
        "a tenant with empty parts of a selector",
        tenant(namespaceSelector={"matchLabels": {}, "matchExpressions": []}),
        "spec.namespaceSelector",
        "omit the field",
    ),
    Mistake("an unknown owner kind", tenant(owners=[{"kind": "Robot", "name": "x"}]), "spec.owners[0].kind", "'User', 'Group'"),
    Mistake("an owner without name", tenant(owners=[{"kind": "User"}]), "spec.owners[0].name", "required: add it"),
    Mistake("an owner with an empty name", tenant(owners=[{"kind": "User", "name": ""}]), "spec.owners[0].name", "empty"),
    Mistake("an owner twice", tenant(owners=[{"kind": "User", "name": "a"}] * 2), "spec.owners", "same owner", "spec.owners[1]"),
    # Records
    Mistake("a record without parent", changed(record(), "parent", to=GONE), "parent", "required: add it"),
    Mistake("a record with a negative count", record(count=-1), "count", "0 or more"),
    Mistake("a record with a count as text", record(count="3"), "count", "whole number"),
)
