"""Who owns which namespace, and which units a scope has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Intent, Scope, ScopeKind
from apis.meta import TENANT_LABEL, Manifest
from apis.problems import Blocked, Invalid
from apis.reasons import Reason
from apis.selector import Requirement, Selector
from policy.tenancy import Tenancy, Unit, check_reference, covers, select, tenancy, terminating

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
GOING: dict[str, Any] = {"deletionTimestamp": LATE}
RESERVED = frozenset({"copyhold-system"})

Claim = tuple[Manifest, Selector]


def tenant(name: str, *, made: str = EARLY, selects: dict[str, str] | None = None, **metadata: Any) -> Claim:
    """A Tenant and the selector by which it claims namespaces: by default the label with its name."""
    manifest = {"metadata": {"name": name, "creationTimestamp": made, **metadata}}
    return manifest, Selector.of({TENANT_LABEL: name} if selects is None else selects)


def space(name: str, *, of: str = "", labels: dict[str, str] | None = None, **metadata: Any) -> Manifest:
    """A namespace, with the label of a tenant if it is of one."""
    return {"metadata": {"name": name, "labels": {**({TENANT_LABEL: of} if of else {}), **(labels or {})}, **metadata}}


def intent(kind: ScopeKind = ScopeKind.NAMESPACE, *, tenants: Selector | None = None, home: str = "") -> Intent:
    """An intent with this scope."""
    return Intent((), Scope(kind, tenants, home))


WORLD = tenancy(
    [tenant("solar", labels={"plan": "gold"}), tenant("lunar", labels={"plan": "silver"}), tenant("void", **GOING)],
    [
        space("solar-dev", of="solar"),
        space("solar-prod", of="solar"),
        space("solar-old", of="solar", **GOING),
        space("lunar-dev", of="lunar"),
        space("void-dev", of="void"),
        space("free"),
        space("kube-system", of="solar"),
        space("copyhold-system", of="solar"),
    ],
)


# Ownership.


@pytest.mark.parametrize(
    ("tenants", "owner", "reason"),
    [
        pytest.param([tenant("a"), tenant("b", made=LATE)], "a", "the older one has it", id="older"),
        pytest.param([tenant("a", made=LATE), tenant("b")], "b", "whatever its name", id="older, later name"),
        pytest.param([tenant("b"), tenant("a")], "a", "of the same second the first name", id="same age"),
        pytest.param([tenant("a", made=LATE)], "a", "alone", id="alone"),
    ],
)
def test_a_namespace_that_two_tenants_match_belongs_to_the_older_one(tenants: list[Claim], owner: str, reason: str) -> None:
    """Creation time, then name; never the order of a list."""
    claims = [(manifest, Selector.of({"env": "dev"})) for manifest, _ in tenants]
    namespaces = [space("shared", labels={"env": "dev"})]
    assert tenancy(claims, namespaces).owner == {"shared": owner}, reason
    assert tenancy(claims[::-1], namespaces).owner == {"shared": owner}, reason


def test_the_younger_tenant_is_told_what_it_did_not_get() -> None:
    """By name and sorted; the older one is told nothing."""
    world = tenancy(
        [tenant("a", selects={"env": "dev"}), tenant("b", made=LATE, selects={"env": "dev"})],
        [space("y", labels={"env": "dev"}), space("x", labels={"env": "dev"}), space("z")],
    )
    assert world.claimed == {"b": ("x", "y")}
    assert (world.members("a"), world.members("b")) == (("x", "y"), ())


def test_a_tenant_that_is_not_dated_yet_is_the_oldest() -> None:
    """In a folder of manifests nothing has a creation time: the name decides."""
    manifest, selector = tenant("b", selects={"env": "dev"})
    del manifest["metadata"]["creationTimestamp"]
    world = tenancy([tenant("a", selects={"env": "dev"}), (manifest, selector)], [space("x", labels={"env": "dev"})])
    assert world.owner == {"x": "b"}


def test_labels_may_be_null() -> None:
    """An object without labels has none, however that is written."""
    assert tenancy([tenant("a")], [{"metadata": {"name": "x", "labels": None}}]).owner == {}


def test_terminating_is_what_has_a_deletion_timestamp() -> None:
    """Absence is not terminating."""
    assert [terminating(one) for one in (None, space("a"), space("a", **GOING))] == [False, False, True]


# Scopes.


@pytest.mark.parametrize(
    ("of", "units", "tenants"),
    [
        pytest.param(intent(), ["lunar-dev", "solar-dev", "solar-prod"], ("lunar", "solar"), id="every tenant"),
        pytest.param(
            intent(tenants=Selector.of({"plan": "gold"})), ["solar-dev", "solar-prod"], ("solar",), id="selected tenants"
        ),
        pytest.param(intent(tenants=Selector.of({"plan": "none"})), [], (), id="no tenant"),
        pytest.param(intent(home="solar-dev"), ["solar-dev", "solar-prod"], ("solar",), id="the tenant of a namespace"),
        pytest.param(intent(ScopeKind.TENANT), ["lunar", "solar"], ("lunar", "solar"), id="once per tenant"),
        pytest.param(
            intent(ScopeKind.ALL_NAMESPACES),
            ["free", "lunar-dev", "solar-dev", "solar-prod", "void-dev"],
            (),
            id="all namespaces",
        ),
        pytest.param(intent(ScopeKind.NONE), [""], (), id="once"),
    ],
)
def test_a_scope_has_units(of: Intent, units: list[str], tenants: tuple[str, ...]) -> None:
    """Not those that are reserved, of the cluster, or going away; nor the namespaces of a tenant that is being deleted."""
    selection = select(of, WORLD, reserved=RESERVED)
    assert list(selection.units) == units
    assert selection.tenants == tenants


def test_a_unit_knows_its_tenant_and_namespace() -> None:
    """A namespace without a tenant has none."""
    units = select(intent(ScopeKind.ALL_NAMESPACES), WORLD, reserved=RESERVED).units
    assert (units["solar-dev"], units["free"]) == (Unit("solar-dev", "solar", "solar-dev"), Unit("free", "", "free"))
    assert select(intent(ScopeKind.TENANT), WORLD).units["solar"] == Unit("solar", "solar", "")


@pytest.mark.parametrize("home", ["free", "gone"])
def test_a_parent_in_a_namespace_of_no_tenant_is_blocked(home: str) -> None:
    """With the label that would help."""
    with pytest.raises(Blocked, match=f"namespace {home} belongs to no Tenant.*{TENANT_LABEL}") as hold:
        select(intent(home=home), WORLD)
    assert hold.value.reason is Reason.NO_TENANT


def test_a_tenants_parent_may_name_only_its_own_namespaces() -> None:
    """The message lists them."""
    unit = Unit("solar-dev", "solar", "solar-dev")
    check_reference(unit, "solar-prod", WORLD, "spec.resources[0]")
    with pytest.raises(Invalid) as mistake:
        check_reference(unit, "lunar-dev", WORLD, "spec.resources[0]")
    assert mistake.value.reason is Reason.FOREIGN_NAMESPACE
    assert str(mistake.value) == (
        "spec.resources[0]: cross-namespace selection is not allowed: namespace lunar-dev is not one of tenant solar "
        "(allowed: copyhold-system, kube-system, solar-dev, solar-old, solar-prod); name one of these or leave the namespace out"
    )


def test_the_list_of_namespaces_in_a_message_is_bounded() -> None:
    """A tenant of a thousand namespaces does not fill a status."""
    world = tenancy([tenant("a")], [space(f"a-{n:04}", of="a") for n in range(1000)])
    with pytest.raises(Invalid, match=r"a-0019 \.\.\.\)") as mistake:
        check_reference(Unit("a-0000", "a", "a-0000"), "b", world, "spec")
    assert len(str(mistake.value)) < 500


# `covers` is `select` for one namespace.

NAMES = st.sampled_from(["a", "b", "c", "kube-public", "copyhold-system"])
WORDS = st.sampled_from(["x", "y"])
LABELS = st.dictionaries(st.sampled_from(["env", "plan"]), WORDS, max_size=2)
SELECTORS = st.builds(
    lambda parts: Selector(tuple(parts)),
    st.lists(
        st.builds(
            Requirement,
            st.sampled_from(["env", "plan"]),
            st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
            st.tuples(WORDS),
        ),
        max_size=2,
    ),
)


def _metadata(name: st.SearchStrategy[str]) -> st.SearchStrategy[Manifest]:
    required: Any = {"name": name, "labels": LABELS}
    optional: Any = {"deletionTimestamp": st.just(LATE), "creationTimestamp": st.sampled_from([EARLY, LATE])}
    return st.fixed_dictionaries({"metadata": st.fixed_dictionaries(required, optional=optional)})


def _named(of: Manifest) -> str:
    return str(of["metadata"]["name"])


WORLDS = st.builds(
    tenancy,
    st.lists(
        st.tuples(_metadata(st.sampled_from(["t1", "t2", "t3"])), SELECTORS), max_size=3, unique_by=lambda pair: _named(pair[0])
    ),
    st.lists(_metadata(NAMES), max_size=5, unique_by=_named),
)
INTENTS = st.builds(intent, st.sampled_from(ScopeKind), tenants=st.none() | SELECTORS) | st.builds(
    intent, st.just(ScopeKind.NAMESPACE), home=NAMES
)


@given(INTENTS, WORLDS)
def test_a_namespace_is_covered_exactly_when_it_is_a_unit(of: Intent, world: Tenancy) -> None:
    """The wake-up and the pass never disagree about a namespace."""
    try:
        units = set(select(of, world, reserved=RESERVED).units)
    except Blocked:
        units = set()
    spaces = units if of.scope.kind in (ScopeKind.NAMESPACE, ScopeKind.ALL_NAMESPACES) else set()
    for name in ("a", "b", "c", "kube-public", "copyhold-system", "unknown"):
        assert covers(of, world, name, reserved=RESERVED) == (name in spaces)


@given(INTENTS, WORLDS)
def test_no_unit_is_reserved_or_going_away(of: Intent, world: Tenancy) -> None:
    """Whatever is selected."""
    try:
        selection = select(of, world, reserved=RESERVED)
    except Blocked:
        return
    for unit in selection.units.values():
        if unit.namespace:
            assert unit.namespace not in RESERVED
            assert not unit.namespace.startswith("kube-")
            assert not terminating(world.namespaces[unit.namespace])
        if unit.tenant and of.scope.kind is ScopeKind.NAMESPACE:
            assert world.owner[unit.namespace] == unit.tenant


@given(WORLDS)
def test_a_namespace_has_at_most_one_owner_and_every_loser_is_told(world: Tenancy) -> None:
    """Owner and claimants are told apart, and all of them exist."""
    for name, owner in world.owner.items():
        assert name in world.namespaces
        assert owner in world.tenants
        assert name in world.members(owner)
    for loser, spaces in world.claimed.items():
        assert all(world.owner[name] not in ("", loser) for name in spaces)
