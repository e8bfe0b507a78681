"""Which event concerns whom: each row is a change of the world, and exactly the work that it makes."""

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from apis.kind import Parent
from apis.meta import FINALIZER, GROUP, TENANT_LABEL, Key, Manifest
from apis.problems import Blocked
from apis.reasons import Reason
from apis.record import Record
from manager.index import Index
from manager.inputs import Source
from manager.memory import Memory
from manager.queue import Queue
from manager.state import State
from manager.surroundings import Trouble
from manager.tenure import Tenure
from manager.wakeups import Wakeups, namespace_of
from manager.world import Cluster, Resource
from policy.ownership import Live
from tests.support.build import FIELDS, OTHER, hold, live, parent, record, want
from tests.support.objects import Objects

MADE = "2026-01-01T00:00:00Z"
ALL = "*"
"""Everything of a parent."""

Changes = dict[str, Manifest | None]
"""Objects by name, as they become; None: gone."""

RECORDS = Resource(GROUP, "v1alpha1", "TargetRecord", "targetrecords", namespaced=False)
PARENTS = Resource(GROUP, "v1alpha1", "GlobalTenantResource", "globaltenantresources", namespaced=False)
READY = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}


def tenant(name: str, **labels: str) -> Manifest:
    """A Tenant as a server holds it."""
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels,
    }
    return {"apiVersion": "copyhold.dev/v1alpha1", "kind": "Tenant", "metadata": metadata, "spec": {}}


def space(name: str, of: str = "", **metadata: Any) -> Manifest:
    """A namespace, of a tenant or not."""
    return {"metadata": {"name": name, "labels": {TENANT_LABEL: of} if of else {}, **metadata}}


def selecting(name: str, **spec: Any) -> Parent:
    """A GlobalTenantResource with its name as UID."""
    return parent(name, uid=name, spec=spec)


def local(name: str, namespace: str, **spec: Any) -> Parent:
    """A TenantResource with its name as UID."""
    return parent(name, uid=name, kind="TenantResource", namespace=namespace, spec=spec)


GOLD = {"tenantSelector": {"matchLabels": {"plan": "gold"}}}


@dataclass
class Scene:
    """A small cluster, as the watches have shown it: two tenants, some namespaces, and parents in each scope."""

    state: State
    index: Index
    queue: Queue[str]
    wakeups: Wakeups
    told: list[str]

    def tenure(self, of: Parent, *records: Record, **known: Any) -> Tenure:
        """What this replica knows of a parent that it has reconciled."""
        memory = Memory(cast(Cluster, Objects()), of, RECORDS, PARENTS, inline=True)
        made = Tenure(of, memory, {one.key: one for one in records}, **known)
        self.wakeups.tenures[of.uid] = made
        return made

    async def woken(self) -> dict[str, set[str]]:
        """The work that was made, by parent; afterwards there is none."""
        found: dict[str, set[str]] = {}
        while len(self.queue):
            uid, work = await self.queue.take()
            found[uid] = {ALL} if work.whole else set(work.units)
            self.queue.done(uid)
        return found

    def places(
        self, *, spaces: dict[str, Manifest | None] | None = None, tenants: dict[str, Manifest | None] | None = None
    ) -> None:
        """Namespaces and tenants become what is said here (None: gone), and the wake-ups hear of it."""
        before = self.state.tenancy
        for known, changes in ((self.state.namespaces, spaces or {}), (self.state.tenants, tenants or {})):
            for name, manifest in changes.items():
                known.pop(name, None)
                if manifest is not None:
                    known[name] = manifest
        self.state.changed()
        self.wakeups.places(set(spaces or {}), set(tenants or {}), before)


def scene(*parents: Parent) -> Scene:
    """Tenants solar (gold) and lunar (silver) with two and one namespaces, and one that is free."""
    state = State(
        parents={one.uid: one for one in parents},
        tenants={"solar": tenant("solar", plan="gold"), "lunar": tenant("lunar", plan="silver")},
        namespaces={
            one["metadata"]["name"]: one
            for one in (space("solar-dev", "solar"), space("solar-prod", "solar"), space("lunar-dev", "lunar"), space("free"))
        },
    )
    index, queue, told = Index(), Queue[str](), list[str]()
    wakeups = Wakeups(state, index, queue, {}, frozenset({"copyhold-system"}), told.append)
    return Scene(state, index, queue, wakeups, told)


EVERY = (
    selecting("every"),
    selecting("gold", **GOLD),
    selecting("tenants", scope="Tenant"),
    selecting("spaces", scope="AllNamespaces"),
    selecting("once", scope="None"),
    local("sun", "solar-dev"),
    local("moon", "lunar-dev"),
)
"""A parent in every scope."""


# Namespaces and tenants.

PLACES = [
    pytest.param(
        {"spaces": {"solar-new": space("solar-new", "solar")}},
        {"every": {"solar-new"}, "gold": {"solar-new"}, "spaces": {"solar-new"}, "sun": {"solar-new"}},
        "case 115: a namespace that joins wakes only its unit",
        id="a namespace joins",
    ),
    pytest.param(
        {"spaces": {"stray": space("stray")}},
        {"spaces": {"stray"}},
        "it belongs to no tenant",
        id="a namespace of nobody",
    ),
    pytest.param({"spaces": {"kube-new": space("kube-new", "solar")}}, {}, "no selection reaches it", id="a cluster namespace"),
    pytest.param({"spaces": {"copyhold-system": space("copyhold-system", "solar")}}, {}, "nor our own", id="our namespace"),
    pytest.param(
        {"spaces": {"free": space("free", "lunar")}},
        {"every": {"free"}, "spaces": {"free"}, "moon": {"free"}},
        "a label made it lunar's",
        id="a namespace is given to a tenant",
    ),
    pytest.param(
        {"spaces": {"solar-prod": space("solar-prod", "solar", annotations={"a": "b"})}},
        {"every": {"solar-prod"}, "gold": {"solar-prod"}, "spaces": {"solar-prod"}, "sun": {"solar-prod"}},
        "templates see its metadata",
        id="a namespace is edited",
    ),
    pytest.param(
        {"spaces": {"solar-dev": space("solar-dev", "solar", annotations={"a": "b"})}},
        {"every": {"solar-dev"}, "gold": {"solar-dev"}, "spaces": {"solar-dev"}, "sun": {ALL}},
        "it is the home of a parent, which decides of which tenant that is",
        id="a home is edited",
    ),
    pytest.param(
        {"tenants": {"solar": tenant("solar", plan="gold", stage="two")}},
        {"every": {ALL}, "gold": {ALL}, "tenants": {ALL}, "spaces": {ALL}, "sun": {ALL}},
        "all of its namespaces see it",
        id="a tenant is edited",
    ),
    pytest.param(
        {"tenants": {"lunar": tenant("lunar", plan="silver", stage="two")}},
        {"every": {ALL}, "tenants": {ALL}, "spaces": {ALL}, "moon": {ALL}},
        "who selects others is left alone",
        id="an unselected tenant is edited",
    ),
    pytest.param(
        {"tenants": {"lunar": tenant("lunar", plan="gold")}},
        {"every": {ALL}, "gold": {ALL}, "tenants": {ALL}, "spaces": {ALL}, "moon": {ALL}},
        "it is selected from now on",
        id="a tenant becomes selected",
    ),
]


@pytest.mark.parametrize(("change", "expected", "reason"), PLACES)
async def test_a_change_of_places_wakes_whom_it_concerns(
    change: dict[str, Any], expected: dict[str, set[str]], reason: str
) -> None:
    """Parents in every scope, none of them reconciled yet by this replica."""
    there = scene(*EVERY)
    there.places(**change)
    assert await there.woken() == expected, reason


async def test_a_namespace_that_leaves_wakes_only_its_unit() -> None:
    """What was applied there has to be taken back; the others are left alone."""
    there = scene(*EVERY)
    for one in EVERY:
        there.tenure(one, record(want(namespace="solar-prod", unit="solar-prod")), units=frozenset({"solar-dev", "solar-prod"}))
    there.places(spaces={"solar-prod": space("solar-prod")})
    woken = await there.woken()
    assert woken == {one.uid: {"solar-prod"} for one in EVERY}


async def test_a_namespace_that_is_gone_wakes_who_had_targets_there() -> None:
    """Also a parent whose unit is another one: its record is forgotten when the object is gone."""
    of = selecting("tenants", scope="Tenant")
    there = scene(of)
    there.tenure(of, record(want(namespace="solar-dev", unit="solar"), tenant="solar"), units=frozenset({"solar", "lunar"}))
    there.places(spaces={"solar-dev": None})
    assert await there.woken() == {"tenants": {"solar"}}


async def test_a_namespace_where_nothing_was_rendered_is_a_unit_too() -> None:
    """A unit without targets may have sources that read its namespace."""
    of = selecting("every")
    there = scene(of)
    there.tenure(of, units=frozenset({"solar-dev"}))
    there.places(spaces={"solar-dev": space("solar-dev")})
    assert await there.woken() == {"every": {"solar-dev"}}


async def test_a_namespace_elsewhere_concerns_nobody() -> None:
    """Neither unit nor place of a target."""
    of = selecting("gold", **GOLD)
    there = scene(of)
    there.tenure(of, record(), units=frozenset({"solar-dev"}))
    there.places(spaces={"lunar-dev": space("lunar-dev", "lunar", annotations={"a": "b"})})
    assert await there.woken() == {}


async def test_a_tenant_that_was_selected_wakes_when_it_is_selected_no_more() -> None:
    """What it had is taken back."""
    of = selecting("gold", **GOLD)
    there = scene(of)
    there.tenure(of, tenants=("solar",), units=frozenset({"solar-dev", "solar-prod"}))
    there.places(tenants={"solar": tenant("solar", plan="iron")})
    assert await there.woken() == {"gold": {ALL}}


async def test_a_tenant_that_is_gone_wakes_who_had_selected_it() -> None:
    """Its namespaces belong to nobody now."""
    of, other = selecting("gold", **GOLD), local("moon", "lunar-dev")
    there = scene(of, other)
    there.tenure(of, tenants=("solar",), units=frozenset({"solar-dev", "solar-prod"}))
    there.places(tenants={"solar": None})
    assert await there.woken() == {"gold": {ALL}}


async def test_an_invalid_parent_is_not_woken_by_places() -> None:
    """Only an edit mends it."""
    there = scene(parent("bad", uid="bad", spec={"resources": []}))
    there.places(spaces={"solar-new": space("solar-new", "solar")}, tenants={"solar": tenant("solar")})
    assert await there.woken() == {}


async def test_tenants_are_told_when_their_namespaces_change() -> None:
    """The one that loses and the one that gains, to write their status."""
    there = scene()
    there.places(spaces={"solar-dev": space("solar-dev", "lunar")})
    assert sorted(there.told) == ["lunar", "solar"]


# Parents.


@pytest.mark.parametrize(
    ("before", "after", "expected", "reason"),
    [
        pytest.param(None, selecting("base"), {"base": {ALL}, "top": {ALL}}, "it is new: who waited for it looks", id="new"),
        pytest.param(
            selecting("base"),
            parent("base", uid="base", status=READY),
            {"top": {ALL}},
            "it became Ready; its own status is no news to itself",
            id="becomes ready",
        ),
        pytest.param(
            parent("base", uid="base", status=READY),
            parent("base", uid="base", status=READY, generation=2),
            {"base": {ALL}, "top": {ALL}},
            "its spec was edited, so it is not Ready for now",
            id="edited",
        ),
        pytest.param(
            selecting("base"),
            parent("base", uid="base", finalizers=[FINALIZER], resourceVersion="2"),
            {},
            "our own write",
            id="our finalizer",
        ),
        pytest.param(
            selecting("base"),
            parent("base", uid="base", annotations={"a": "b"}),
            {"base": {ALL}},
            "templates see annotations",
            id="annotated",
        ),
    ],
)
async def test_a_parent_that_changes_wakes_itself_and_its_dependents(
    before: Parent | None, after: Parent, expected: dict[str, set[str]], reason: str
) -> None:
    """`top` depends on `base`; a third and a namesake of another kind do not."""
    there = scene(
        after, selecting("top", dependsOn=[{"name": "base"}]), selecting("third"), local("x", "a", dependsOn=[{"name": "base"}])
    )
    there.wakeups.parent(before, after)
    assert await there.woken() == expected, reason


async def test_a_parent_that_is_gone_wakes_itself_and_its_dependents() -> None:
    """Itself, so that what is known of it is dropped."""
    base = selecting("base")
    there = scene(selecting("top", dependsOn=[{"name": "base"}]), selecting("third"))
    there.wakeups.parent_gone(base)
    assert await there.woken() == {"base": {ALL}, "top": {ALL}}


# Targets.

MINE = "me"
MANAGER_HOLD = hold(MINE)
WANT = want(unit="solar-dev")
AS_RECORDED = live(MANAGER_HOLD)

TARGETS = [
    pytest.param(AS_RECORDED, record(WANT), False, "it is as it is recorded: the echo of our own write", id="as recorded"),
    pytest.param(live(MANAGER_HOLD, version="99"), record(WANT), False, "a status was written", id="another version"),
    pytest.param(
        live(MANAGER_HOLD, hold(OTHER)), record(WANT), False, "who joins touches nothing of ours", id="another parent joins"
    ),
    pytest.param(live(hold(MINE, fields="x")), record(WANT), True, "a field left our entry", id="drift"),
    pytest.param(live(), record(WANT), True, "our whole entry is gone", id="our entry is gone"),
    pytest.param(live(hold(MINE), uid="u2"), record(WANT), True, "it is another object", id="another uid"),
    pytest.param(None, record(WANT), True, "it was deleted, or lost its label", id="gone"),
    pytest.param(live(MANAGER_HOLD, terminating=True), record(WANT), True, "it is being deleted", id="terminating"),
    pytest.param(
        AS_RECORDED,
        record(WANT, reason=Reason.FIELD_TAKEN, ok=False),
        True,
        "a Conflict waits for the object to change",
        id="a conflict waits",
    ),
    pytest.param(AS_RECORDED, record(WANT, reason=Reason.TERMINATING), True, "it was waited for", id="it was going"),
    pytest.param(None, record(WANT, uid=""), False, "it was never made: nothing to compare", id="never made"),
    pytest.param(None, None, False, "it is not recorded", id="not recorded"),
]


@pytest.mark.parametrize(("after", "remembered", "wakes", "reason"), TARGETS)
async def test_a_target_wakes_its_unit_when_it_is_not_as_recorded(
    after: Live | None, remembered: Record | None, wakes: bool, reason: str
) -> None:
    """One unit of one parent."""
    of = selecting(MINE)
    there = scene(of, selecting("bystander"))
    there.tenure(of, *([remembered] if remembered else []))
    there.tenure(selecting("bystander"), record(WANT))
    there.wakeups.target(WANT.key, live(MANAGER_HOLD), after)
    assert await there.woken() == ({MINE: {"solar-dev"}} if wakes else {}), reason


@pytest.mark.parametrize(
    ("young", "version", "woken"), [(9.0, "99", True), (0.0, "99", False), (9.0, AS_RECORDED.version, False)]
)
async def test_a_write_that_is_not_ours_is_undone_while_the_replica_before_us_may_still_write(
    young: float, version: str, woken: bool
) -> None:
    """What it had sent bears our manager and the same fields, only other values: the target is applied again."""
    of = selecting(MINE)
    there = scene(of)
    tenure = there.tenure(of, record(WANT))
    there.wakeups.young = lambda uid: young if uid == MINE else 0.0
    there.wakeups.target(WANT.key, AS_RECORDED, live(MANAGER_HOLD, version=version))
    assert await there.woken() == ({MINE: {"solar-dev"}} if woken else {})
    assert (tenure.records[WANT.key].payload == "") is woken


async def test_every_holder_is_woken_by_what_changes_for_it() -> None:
    """A foreign write that takes a shared field takes it from both."""
    one, two = selecting("one"), selecting("two")
    there = scene(one, two)
    there.tenure(one, record(WANT))
    there.tenure(two, record(WANT, unit="elsewhere"))
    there.wakeups.target(WANT.key, live(hold("one"), hold("two")), live(hold("one", fields="x"), hold("two", fields="y")))
    assert await there.woken() == {"one": {"solar-dev"}, "two": {"elsewhere"}}


async def test_a_write_that_is_under_way_wakes_nobody() -> None:
    """Its answer is on its way."""
    of = selecting(MINE)
    there = scene(of)
    there.tenure(of, record(WANT), in_flight={WANT.key})
    there.wakeups.target(WANT.key, live(MANAGER_HOLD), live(hold(MINE, fields="x")))
    assert await there.woken() == {}


async def test_a_holder_that_another_replica_reconciles_is_not_ours_to_wake() -> None:
    """Without a tenure there is nothing to compare with."""
    there = scene(selecting(MINE))
    there.wakeups.target(WANT.key, live(MANAGER_HOLD), None)
    assert await there.woken() == {}


async def test_a_complete_list_shows_what_changed_while_nobody_watched() -> None:
    """Only what differs is woken, each in its unit; other kinds are not compared."""
    of = selecting(MINE)
    there = scene(of)
    good, gone, drifted = want("good"), want("gone", unit="a"), want("drifted", unit="b")
    secret = want("s", kind="Secret", unit="c")
    there.tenure(of, *(record(one) for one in (good, gone, drifted, secret)))
    there.index.note(good.key, AS_RECORDED)
    there.index.note(drifted.key, live(hold(MINE, fields="x")))
    there.wakeups.kind_seen("", "ConfigMap")
    assert await there.woken() == {MINE: {"a", "b"}}


async def test_an_unchanged_cluster_wakes_nobody_after_a_restart() -> None:
    """Ten thousand records and ten thousand objects that agree."""
    of = selecting(MINE)
    there = scene(of)
    first = record(WANT)
    keys = [Key("", "ConfigMap", f"n{at % 100}", f"t{at}") for at in range(10_000)]
    refs = (replace(first.ref, namespace=key.namespace, name=key.name) for key in keys)
    there.tenure(of, *(replace(first, ref=ref, fields=FIELDS) for ref in refs))
    for key in keys:
        there.index.note(key, AS_RECORDED)
    there.wakeups.kind_seen("", "ConfigMap")
    assert await there.woken() == {}


async def test_new_kinds_wake_who_waits_for_one() -> None:
    """A CustomResourceDefinition came; others are left alone."""
    waiting, other = selecting("waiting"), selecting("other")
    there = scene(waiting, other)
    there.tenure(waiting, troubles={"a": (Trouble("a", Blocked(Reason.KIND_UNKNOWN, "no kind Gateway")),)})
    there.tenure(other, troubles={"a": (Trouble("a", Blocked(Reason.SOURCE_MISSING, "no Secret")),)})
    there.wakeups.kinds_changed()
    assert await there.woken() == {"waiting": {ALL}}


# Sources.

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
PULL = Source(SECRETS, "platform", "pull", "")
EACH = Source(SECRETS, "", "settings", "")


@pytest.mark.parametrize(
    ("source", "namespace", "expected"),
    [
        pytest.param(PULL, "platform", {"one": {ALL}}, id="read for all units"),
        pytest.param(EACH, "solar-dev", {"one": {"solar-dev"}, "two": {"solar-dev"}}, id="read for the unit in its namespace"),
        pytest.param(EACH, "solar-prod", {"one": {"solar-prod"}}, id="read by one of them"),
        pytest.param(EACH, "free", {}, id="read by nobody there"),
        pytest.param(Source(SECRETS, "x", "", ""), "x", {}, id="read by nobody"),
    ],
)
async def test_a_source_wakes_who_read_it(source: Source, namespace: str, expected: dict[str, set[str]]) -> None:
    """All units, or the one that it was read for."""
    there = scene()
    there.wakeups.read_by("one", [(PULL, frozenset({""})), (EACH, frozenset({"solar-dev", "solar-prod"}))])
    there.wakeups.read_by("two", [(EACH, frozenset({"solar-dev"}))])
    there.wakeups.source(source, namespace)
    assert await there.woken() == expected


async def test_a_source_that_begins_to_be_watched_is_looked_at_once_more() -> None:
    """What changed between the read and the watch is not missed."""
    there = scene()
    there.wakeups.read_by("one", [(PULL, frozenset({""}))])
    there.wakeups.read_by("two", [(EACH, frozenset({"solar-dev"}))])
    there.wakeups.source_seen(PULL)
    there.wakeups.source_seen(EACH)
    assert await there.woken() == {"one": {ALL}, "two": {"solar-dev"}}


async def test_what_nobody_reads_any_more_is_told() -> None:
    """Its watch can end; what another still reads goes on."""
    there = scene()
    assert there.wakeups.read_by("one", [(PULL, frozenset({""})), (EACH, frozenset({"a"}))]) == set()
    assert there.wakeups.read_by("two", [(EACH, frozenset({"b"}))]) == set()
    assert there.wakeups.read_by("one", []) == {PULL}
    assert there.wakeups.sources == {EACH: {"two": frozenset({"b"})}}
    there.wakeups.source(PULL, "platform")
    assert await there.woken() == {}


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    """Its events wake readers for all units."""
    assert [namespace_of({"metadata": metadata}) for metadata in ({"namespace": "a"}, {})] == ["a", ""]
