"""What users write becomes one Intent."""

import pytest

from apis.copyhold.tenant import namespaces
from apis.intent import Creation, Deletion, Group, Identity, Intent, Policy, Query, Scope, ScopeKind
from apis.kind import Parent, find
from apis.meta import Manifest
from apis.problems import Invalid
from apis.selector import Requirement, Selector
from tests.apis.objects import CONFIG_MAP, GONE, changed, gtr, tenant, tr

GOLD = {"matchLabels": {"plan": "gold"}}
PLAN_IS_GOLD = Selector((Requirement("plan", "In", ("gold",)),))
REFERENCE: Manifest = {"apiVersion": "v1", "kind": "Secret"}


def intent(manifest: Manifest) -> Intent:
    """The intent of a manifest."""
    kind = find("copyhold.dev", manifest["kind"])
    assert kind is not None
    return Parent(kind, manifest).intent()


def group(**fields: object) -> Group:
    """The first group of a parent whose group has these fields."""
    return intent(gtr(resources=[fields])).groups[0]


def test_what_is_not_said_is_the_default() -> None:
    """The defaults of the design, all of them."""
    assert intent(gtr()) == Intent(
        groups=(Group("resources[0]", Policy(Creation.OWNER, True, False, Deletion.REMOVE, None), targets=(CONFIG_MAP,)),),
        scope=Scope(ScopeKind.NAMESPACE),
        identity=None,
        depends_on=(),
        resync=600.0,
        cordoned=False,
    )


@pytest.mark.parametrize(
    ("manifest", "scope"),
    [
        pytest.param(gtr(), Scope(ScopeKind.NAMESPACE), id="every tenant"),
        pytest.param(gtr(tenantSelector=GOLD), Scope(ScopeKind.NAMESPACE, PLAN_IS_GOLD), id="some tenants"),
        pytest.param(gtr(tenantSelector={}), Scope(ScopeKind.NAMESPACE, Selector()), id="a selector without requirements"),
        pytest.param(gtr(scope="Tenant", tenantSelector=GOLD), Scope(ScopeKind.TENANT, PLAN_IS_GOLD), id="once per tenant"),
        pytest.param(gtr(scope="AllNamespaces"), Scope(ScopeKind.ALL_NAMESPACES), id="all namespaces"),
        pytest.param(gtr(scope="None"), Scope(ScopeKind.NONE), id="once"),
        pytest.param(tr(), Scope(ScopeKind.NAMESPACE, home="solar-dev"), id="at home"),
    ],
)
def test_a_scope_says_which_units_there_are(manifest: Manifest, scope: Scope) -> None:
    """A TenantResource is at home in its namespace; a global one selects tenants."""
    assert intent(manifest).scope == scope


@pytest.mark.parametrize(
    ("manifest", "identity"),
    [
        pytest.param(gtr(), None, id="none named"),
        pytest.param(
            gtr(serviceAccount={"name": "x", "namespace": "y"}), Identity("y", "x"), id="a global parent names both parts"
        ),
        pytest.param(tr(serviceAccount={"name": "x"}), Identity("solar-dev", "x"), id="a local parent's is in its own namespace"),
    ],
)
def test_an_account_is_named_or_left_to_the_configuration(manifest: Manifest, identity: Identity | None) -> None:
    """None means the configured default."""
    assert intent(manifest).identity == identity


def test_what_holds_a_parent_is_carried_over() -> None:
    """Dependencies in their order, the period in seconds, the cordon."""
    lowered = intent(gtr(dependsOn=[{"name": "b"}, {"name": "a"}], resyncPeriod="0s", cordoned=True))
    assert (lowered.depends_on, lowered.resync, lowered.cordoned) == (("b", "a"), 0.0, True)


def test_a_policy_is_carried_over() -> None:
    """Word for word; the condition as it was written, so that positions in messages fit."""
    written = {"creation": "Merge", "protect": False, "force": True, "deletion": "Orphan", "condition": " object == null\n"}
    policy = group(targets=[CONFIG_MAP], policy=written).policy
    assert policy == Policy(Creation.MERGE, False, True, Deletion.ORPHAN, " object == null\n")


@pytest.mark.parametrize(
    ("reference", "query"),
    [
        pytest.param({}, Query("", "v1", "Secret"), id="all of the kind"),
        pytest.param({"name": "a"}, Query("", "v1", "Secret", name="a"), id="one by name"),
        pytest.param({"namespace": "b", "optional": False}, Query("", "v1", "Secret", "b", optional=False), id="elsewhere"),
        pytest.param({"selector": GOLD}, Query("", "v1", "Secret", selector=PLAN_IS_GOLD), id="many by labels"),
        pytest.param(
            {"name": "{{ tenant.metadata.name }}"}, Query("", "v1", "Secret", name="{{ tenant.metadata.name }}"), id="template"
        ),
    ],
)
def test_a_reference_is_a_query(reference: Manifest, query: Query) -> None:
    """Of what is left out, the reader knows the meaning."""
    assert group(namespacedItems=[REFERENCE | reference]).copies == (query,)


def test_context_is_read_under_its_index() -> None:
    """In the order in which it was written."""
    context = {"resources": [REFERENCE | {"index": "b"}, REFERENCE | {"index": "a"}]}
    assert [query.index for query in group(targets=[CONFIG_MAP], context=context).context] == ["b", "a"]


def test_all_sources_of_a_group_are_kept() -> None:
    """Targets, text, copies, and what is added to all of them."""
    lowered = group(
        name="all",
        namespaceSelector=GOLD,
        targets=[CONFIG_MAP],
        template="kind: X\n",
        namespacedItems=[REFERENCE],
        additionalMetadata={"labels": {"a": "1"}, "annotations": {"b": "2"}},
    )
    assert (lowered.name, lowered.namespace_selector) == ("all", PLAN_IS_GOLD)
    assert (lowered.targets, lowered.template, lowered.copies) == ((CONFIG_MAP,), "kind: X\n", (Query("", "v1", "Secret"),))
    assert (lowered.labels, lowered.annotations) == ({"a": "1"}, {"b": "2"})


def test_groups_without_a_name_are_called_by_their_place() -> None:
    """So that a message can say which one."""
    groups = intent(gtr(resources=[{"targets": [CONFIG_MAP]}, {"name": "b", "targets": [CONFIG_MAP]}])).groups
    assert [each.name for each in groups] == ["resources[0]", "b"]


def test_a_selector_is_labels_and_expressions() -> None:
    """All requirements together, in a fixed order."""
    expressions = [{"key": "stage", "operator": "NotIn", "values": ["prod"]}, {"key": "team", "operator": "Exists"}]
    selector = group(
        targets=[CONFIG_MAP], namespaceSelector={"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": expressions}
    )
    assert str(selector.namespace_selector) == "a in (1),b in (2),stage notin (prod),team"


@pytest.mark.parametrize("manifest", [tenant(), changed(tenant(), "spec", to=GONE)], ids=["an empty spec", "no spec"])
def test_a_tenant_claims_by_the_label_with_its_name(manifest: Manifest) -> None:
    """The default of the design."""
    assert namespaces(manifest) == Selector.of({"copyhold.dev/tenant": "solar"})


def test_a_tenant_may_claim_by_labels_of_its_own() -> None:
    """Then the default label means nothing."""
    assert namespaces(tenant(namespaceSelector=GOLD)) == PLAN_IS_GOLD


def test_a_tenant_never_claims_every_namespace() -> None:
    """Not even where no API server judged it."""
    with pytest.raises(Invalid, match=r"Tenant solar: spec\.namespaceSelector: "):
        namespaces(tenant(namespaceSelector={}))
