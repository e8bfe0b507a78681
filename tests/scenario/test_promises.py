"""The six promises of the design, each kept by a named test, and what happens to single requests. All at once: test_sweep."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest

from apis.meta import FINALIZER, GROUP
from apis.problems import Expired, Problem, Unavailable
from manager.cluster import ApiCluster
from manager.world import Resource
from policy.shards import Shard, decode
from tests.support.api import Manifest, eventually, ref
from tests.support.faults import Call, Fault, Faulty, Judge, fail, land_late
from tests.support.marks import hold_of
from tests.support.running import Running
from tests.support.stage import VERSION, Stage, config_map, group

CORE = "configmaps"


@dataclass
class Wire:
    """What lies between the managers of a test and the server: one Faulty for each life of a manager."""

    judge: Judge = lambda _call: None
    lives: list[Faulty] = field(default_factory=list)
    blind: bool = False

    def __call__(self, cluster: ApiCluster) -> Faulty:
        """For `Running.wrap`."""
        self.lives.append(Blind(self, cluster))
        return self.lives[-1]

    @property
    def calls(self) -> list[Call]:
        """All requests of all lives, in order."""
        return [call for life in self.lives for call in life.calls]


class Blind(Faulty):
    """Knows our own kinds only, while the wire says so: as when discovery fails for every other group."""

    def __init__(self, wire: Wire, inner: ApiCluster) -> None:
        super().__init__(inner, lambda call: wire.judge(call))
        self._wire = wire

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Unavailable for what is not ours."""
        self._look(api_version)
        return await super().resource(api_version, kind)

    async def any_version(self, group: str, kind: str) -> Resource:
        """Unavailable for what is not ours."""
        self._look(group)
        return await super().any_version(group, kind)

    async def served(self) -> tuple[Resource, ...]:
        """Unavailable."""
        self._look("")
        return await super().served()

    async def get_raw(self, path: str, *, accept: str = "application/json") -> bytes:
        """Unavailable."""
        self._look("")
        return await super().get_raw(path, accept=accept)

    def _look(self, group: str) -> None:
        if self._wire.blind and not group.startswith(GROUP):
            raise Unavailable(f"discovery of {group or 'all groups'} fails")


def wired(stage: Stage, judge: Judge = lambda _call: None) -> tuple[Running, Wire]:
    """A manager that runs until the end of the test, and what lies between it and the server."""
    wire = Wire(judge)
    manager = stage.stopped_manager()
    manager.wrap = wire
    return stage.stack.enter_context(manager), wire


def tenant_space(stage: Stage) -> str:
    """A namespace of a tenant of this test."""
    return stage.namespace("space", stage.tenant("solar", of=stage.mark))


def parent_of(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    """A GlobalTenantResource over the tenant of this test, without a resync: only events drive."""
    return stage.global_resource(
        word, *groups, tenantSelector={"matchLabels": {"of": stage.mark}}, **{"resyncPeriod": "0s"} | spec
    )


def place(item: Manifest) -> str:
    """How a processed item and a request name an object."""
    return f"{item.get('namespace', '')}/{item['name']}"


# 1. A finalizer stands before the first write.


def test_a_finalizer_stands_before_the_first_write(stage: Stage) -> None:
    """Promise 1: at the moment of each write to a target the parent in the server has our finalizer, and it got that first."""
    space = tenant_space(stage)
    seen: list[bool] = []

    def judge(call: Call) -> None:
        if call.writes and call.resource.plural == CORE:
            seen.append(FINALIZER in stage.read(parents[0])["metadata"].get("finalizers", []))

    parents: list[Manifest] = []
    _, wire = wired(stage, judge)
    parents.append(parent_of(stage, "first", *(group(config_map(name)) for name in ("x", "y", "z")), cordoned=True))
    stage.edit(parents[0], cordoned=False)
    stage.ready(parents[0])
    assert seen == [True, True, True]
    ours = [call for call in wire.calls if call.writes and call.name == parents[0]["metadata"]["name"]]
    finalizing = next(call for call in ours if "finalizers" in call.body["metadata"])
    assert finalizing.body["metadata"]["finalizers"] == [FINALIZER]
    assert [call.name for call in wire.calls if call.creates and call.number < finalizing.number] == []
    assert sorted(call.name for call in wire.calls if call.namespace == space and call.creates) == ["x", "y", "z"]


# 2. Remembered before made, forgotten only when gone.


def test_what_is_created_is_remembered_before(stage: Stage) -> None:
    """Promise 2: when a create is sent, the server has its record already."""
    space = tenant_space(stage)
    remembered: dict[str, bool] = {}

    def judge(call: Call) -> None:
        if call.creates:
            items = stage.read(parents[0])["status"]["processedItems"]
            remembered[f"{call.namespace}/{call.name}"] = f"{call.namespace}/{call.name}" in map(place, items)

    _, _wire = wired(stage, judge)
    parents = [parent_of(stage, "remembers", *(group(config_map(name)) for name in ("x", "y", "z")), cordoned=True)]
    stage.edit(parents[0], cordoned=False)
    stage.ready(parents[0])
    assert remembered == {f"{space}/{name}": True for name in ("x", "y", "z")}


def test_what_is_created_is_remembered_before_in_shards_too(stage: Stage) -> None:
    """Promise 2: with more targets than a status holds, their TargetRecords are there before the first of them."""
    space = tenant_space(stage)
    remembered: dict[str, bool] = {}

    def judge(call: Call) -> None:
        if call.creates and (len(remembered) % 40 == 0 or call.name == "x229"):
            remembered[call.name] = f"{call.namespace}/{call.name}" in _in_shards(stage, parents[0])
        elif call.creates:
            remembered.setdefault(call.name, True)

    _, _wire = wired(stage, judge)
    many = "{% for i in range(230) %}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'x{{ i }}'}\n---\n{% endfor %}"
    parents = [parent_of(stage, "many", group(template=many), cordoned=True)]
    stage.edit(parents[0], cordoned=False)
    stage.ready(parents[0], timeout=60)
    assert remembered == {f"x{number}": True for number in range(230)}
    stage.delete(parents[0])
    assert stage.api.list("v1", "ConfigMap", space, labelSelector=f"{GROUP}/managed").expect(200).body["items"] == []
    assert _shards(stage, parents[0]) == []


def _shards(stage: Stage, parent: Manifest) -> list[Manifest]:
    selector = f"{GROUP}/record-of={parent['metadata']['uid']}"
    items: list[Manifest] = stage.api.list(VERSION, "TargetRecord", labelSelector=selector).expect(200).body["items"]
    return items


def _in_shards(stage: Stage, parent: Manifest) -> set[str]:
    found = (Shard(s["metadata"]["name"], s["shard"], s["count"], s["digest"], s["data"]) for s in _shards(stage, parent))
    return {f"{key.namespace}/{key.name}" for shard in found for key in decode(shard)}


def test_what_is_not_gone_is_not_forgotten(stage: Stage) -> None:
    """Promise 2: while something else's finalizer keeps a target, parent and record stay; when it is gone, both go."""
    space = tenant_space(stage)
    letting_go: list[int] = []

    def judge(call: Call) -> None:
        if call.writes and call.body and call.body.get("metadata", {}).get("finalizers") == []:
            letting_go.append(stage.api.get(target).status)

    wired(stage, judge)
    parent = parent_of(stage, "patient", group(config_map("x")))
    stage.ready(parent)
    target = config_map("x", namespace=space)
    stage.api.merge_patch(target, {"metadata": {"finalizers": ["example.com/wait"]}}).expect(200)
    stage.api.delete(parent).expect(200)
    stage.becomes(target, lambda live: "deletionTimestamp" in live["metadata"])
    stage.becomes(parent, lambda live: live["status"]["processedItems"][0]["status"]["reason"] == "Terminating")
    assert letting_go == []
    stage.api.merge_patch(target, {"metadata": {"finalizers": None}}).expect(200)
    stage.gone(parent)
    assert letting_go == [404]


# 3. Not rendered is not the same as not wanted.


def _broken_template(_stage: Stage) -> Manifest:
    return group(config_map("broken", {"value": "{{ namespace.nothing.here }}"}))


def _missing_context(stage: Stage) -> Manifest:
    source = {
        "index": "gone",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": stage.home,
        "name": "gone",
        "optional": False,
    }
    return group(config_map("broken", {"value": "{{ context.gone[0].data.value }}"}), context={"resources": [source]})


def _missing_copy(stage: Stage) -> Manifest:
    source = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "gone", "optional": False}
    return group(namespacedItems=[source])


def _unknown_kind(stage: Stage) -> Manifest:
    return group(ref("nowhere.example.com/v1", "Nothing", "broken"))


BROKEN = [
    pytest.param(_broken_template, id="template"),
    pytest.param(_missing_context, id="context"),
    pytest.param(_missing_copy, id="copy"),
    pytest.param(_unknown_kind, id="kind"),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_source_that_fails_removes_nothing(stage: Stage, broken: Callable[[Stage], Manifest]) -> None:
    """Promise 3: what an edit drops stays while another source fails, what can be rendered is applied, and deletion works."""
    space = tenant_space(stage)
    manager, _ = wired(stage)
    parent = parent_of(stage, "fails", group(config_map("stays", {"v": "1"})), group(config_map("dropped")))
    stage.ready(parent)
    before = {name: stage.read(config_map(name, namespace=space)) for name in ("stays", "dropped")}
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(config_map("stays", {"v": "2"})), broken(stage)])
    condition = stage.ready(parent, "False")
    assert "sources failed" in condition["message"], condition
    assert f"ConfigMap {space}/dropped" in stage.items(parent)
    assert stage.read(config_map("dropped", namespace=space)) == before["dropped"]
    stays = stage.read(config_map("stays", namespace=space))
    assert (stays["data"], stays["metadata"]["uid"]) == ({"v": "2"}, before["stays"]["metadata"]["uid"])
    manager.idle()
    assert [sent.path for sent in manager.writes_since(mark) if sent.method == "DELETE"] == []
    stage.delete(parent)
    for name in before:
        stage.gone(config_map(name, namespace=space))


def test_a_selection_that_fails_removes_nothing(stage: Stage) -> None:
    """Promise 3: a TenantResource whose namespace has lost its Tenant keeps everything, and can be taken down."""
    tenant = stage.tenant("solar")
    home, other = stage.namespace("seat", tenant), stage.namespace("other", tenant)
    manager, _ = wired(stage)
    account = stage.service_account("runner", home, cluster_admin=True)
    parent = stage.tenant_resource("lost", home, group(config_map("x")), serviceAccount={"name": account.name})
    stage.ready(parent)
    before = [stage.read(config_map("x", namespace=space)) for space in (home, other)]
    mark = len(manager.sent)
    stage.api.merge_patch(ref("v1", "Namespace", home), {"metadata": {"labels": {f"{GROUP}/tenant": None}}}).expect(200)
    assert stage.ready(parent, "False")["reason"] == "NoTenant"
    manager.idle()
    assert [sent for sent in manager.writes_since(mark) if "/configmaps" in sent.path] == []
    assert [stage.read(config_map("x", namespace=space)) for space in (home, other)] == before
    stage.delete(parent)
    for space in (home, other):
        stage.gone(config_map("x", namespace=space))


# 4. Only what is provably ours is written or removed.


def test_forged_marks_prove_nothing(stage: Stage) -> None:
    """Promise 4: an object that bears all our marks, and not our entry in managedFields, is never written and never removed."""
    space = tenant_space(stage)
    parent = parent_of(stage, "robbed", group(config_map("x", {"v": "1"}), policy={"protect": False}))
    uid = parent["metadata"]["uid"]
    labels = {f"{GROUP}/managed": "true", f"parent.{GROUP}/{uid}": "created"}
    marks = {f"service-account.{GROUP}/{uid}": f"system:serviceaccount:{stage.account.namespace}:{stage.account.name}"}
    forged = stage.create(config_map("x", {"v": "mine"}, space, labels=labels, annotations=marks))
    manager, _ = wired(stage)
    assert "Foreign" in stage.ready(parent, "False")["message"]
    manager.restart()
    stage.delete(parent)
    manager.idle()
    assert stage.read(forged) == forged


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_a_replacement_with_forged_marks_is_nobodys_target(stage: Stage, restart: bool) -> None:
    """Promise 4: who deletes our object and puts a copy of it there owns the copy: it is not written and not removed."""
    space = tenant_space(stage)
    manager, _ = wired(stage)
    parent = parent_of(stage, "replaced", group(config_map("x", {"v": "1"}), policy={"protect": False}))
    stage.ready(parent)
    if restart:
        manager.stop()
    else:
        stage.edit(parent, cordoned=True)
        eventually(lambda: stage.condition(parent, "Cordoned")["status"] == "True")
    live = stage.read(config_map("x", namespace=space))
    stage.delete(live)
    copy = config_map("x", {"v": "1"}, space, labels=live["metadata"]["labels"], annotations=live["metadata"]["annotations"])
    copied = stage.create(copy)
    if restart:
        manager.start()
    else:
        stage.edit(parent, cordoned=False)
    assert "Foreign" in stage.ready(parent, "False")["message"]
    stage.delete(parent)
    manager.idle()
    assert stage.read(copied) == copied


def test_an_object_that_was_replaced_while_its_parent_goes_stays(stage: Stage) -> None:
    """Promise 4: the UID of a removal is that of the object we made; a namesake that came since is left alone."""
    space = tenant_space(stage)
    manager, _ = wired(stage)
    parent = parent_of(stage, "late", group(config_map("x"), policy={"protect": False}))
    stage.ready(parent)
    manager.stop()
    stage.delete(config_map("x", namespace=space))
    theirs = stage.create(config_map("x", {"v": "theirs"}, space))
    stage.api.delete(parent).expect(200)
    manager.start()
    stage.gone(parent)
    assert stage.read(theirs) == theirs


# 5. Taking down needs only memory.


def _broken_condition(_stage: Stage) -> Manifest:
    return group(config_map("x"), policy={"condition": "object.data.absent.size() > 0"})


@pytest.mark.parametrize("broken", [*BROKEN, pytest.param(_broken_condition, id="condition")])
@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_taking_down_needs_no_source(stage: Stage, broken: Callable[[Stage], Manifest], restart: bool) -> None:
    """Promise 5: no template, no context, no condition and no discovery of other kinds is needed, with a cold memory neither."""
    space = tenant_space(stage)
    manager, wire = wired(stage)
    parent = parent_of(stage, "down", group(config_map("x")), group(config_map("y"), policy={"deletion": "Orphan"}))
    stage.ready(parent)
    stage.edit(parent, resources=[broken(stage)])
    stage.ready(parent, "False")
    if restart:
        manager.stop()
    wire.blind = True
    stage.api.delete(parent).expect(200)
    if restart:
        manager.start()
    stage.gone(parent)
    stage.gone(config_map("x", namespace=space))
    left = stage.read(config_map("y", namespace=space))
    assert hold_of(left, parent) is None


@pytest.fixture
def widgets(stage: Stage) -> Iterator[Callable[[], Manifest]]:
    """A kind of this test's own: call it to make it, delete what it answers to take it away."""
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{stage.mark}.example.com")
    definition["spec"] = {
        "group": f"{stage.mark}.example.com",
        "names": names,
        "scope": "Namespaced",
        "versions": [version],
    }

    def make() -> Manifest:
        stage.api.create(definition).expect(201)
        path = f"/apis/{stage.mark}.example.com/v1/widgets"
        eventually(lambda: stage.api.request("GET", path).status == 200)
        return definition

    yield make
    stage.api.delete(definition).expect(200, 404)


def widget(stage: Stage, name: str = "w") -> Manifest:
    """An object of that kind."""
    return ref(f"{stage.mark}.example.com/v1", "Widget", name)


@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
def test_a_kind_that_is_gone_takes_its_objects_along(stage: Stage, widgets: Callable[[], Manifest], restart: bool) -> None:
    """Promise 5: with the CustomResourceDefinition its objects are gone, and the parent can be taken down, cold memory or not."""
    space = tenant_space(stage)
    definition = widgets()
    manager, _ = wired(stage)
    parent = parent_of(stage, "kinds", group(config_map("x")), group(widget(stage)))
    stage.ready(parent)
    if restart:
        manager.stop()
    stage.delete(definition)
    stage.api.delete(parent).expect(200)
    if restart:
        manager.start()
    stage.gone(parent, timeout=40)
    stage.gone(config_map("x", namespace=space))


def test_a_kind_is_not_taken_for_gone_while_discovery_cannot_tell(stage: Stage, widgets: Callable[[], Manifest]) -> None:
    """Promise 5: what discovery does not know because it fails stays in memory; the others go, and later so does this one."""
    space = tenant_space(stage)
    definition = widgets()
    manager, wire = wired(stage)
    parent = parent_of(stage, "unsure", group(config_map("x")), group(widget(stage)))
    stage.ready(parent)
    manager.stop()
    stage.delete(definition)
    stage.api.delete(parent).expect(200)
    wire.blind = True
    manager.start()
    stage.gone(config_map("x", namespace=space))
    stage.becomes(parent, lambda live: [item["kind"] for item in live["status"]["processedItems"]] == ["Widget"])
    wire.blind = False
    stage.gone(parent, timeout=40)


# 6. Same input, same plan; a second run is all Skip and writes nothing.


@pytest.mark.parametrize("sources", ["targets", "copies and context"])
def test_a_second_run_writes_nothing(stage: Stage, sources: str) -> None:
    """Promise 6: after a restart, and again after the next, the same input leads to no write at all."""
    tenant_space(stage)
    stage.create(config_map("source", {"v": "1"}, stage.home))
    source = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": stage.home, "name": "source"}
    reading = group(
        config_map("read", {"v": "{{ context.it[0].data.v }}"}),
        context={"resources": [{"index": "it"} | source]},
        namespacedItems=[source],
    )
    plain = group(
        ref("v1", "Secret", "s") | {"stringData": {"a": "b"}},
        ref("networking.k8s.io/v1", "NetworkPolicy", "n") | {"spec": {"podSelector": {}, "ingress": [{}]}},
        ref("v1", "ServiceAccount", "a"),
        ref("v1", "ResourceQuota", "q") | {"spec": {"hard": {"pods": "{{ 10 * 2 }}", "cpu": "1000m"}}},
        ref("v1", "Service", "svc") | {"spec": {"ports": [{"port": 80}]}},
    )
    manager, wire = wired(stage)
    parent = parent_of(stage, "same", plain if sources == "targets" else reading)
    stage.ready(parent)
    manager.idle()
    for _ in range(2):
        manager.restart()
        manager.idle()
        eventually(lambda: manager.controller is not None and parent["metadata"]["uid"] in manager.controller.tenures)
        manager.idle()
        assert [str(call) for call in wire.lives[-1].writes] == []


# Single requests: what else may happen to them.


def test_a_server_that_names_a_time_is_obeyed(stage: Stage) -> None:
    """429 with Retry-After: the target is tried again after that time and not before it."""
    space = tenant_space(stage)
    times: list[float] = []

    def judge(call: Call) -> Fault | None:
        if not call.creates:
            return None
        times.append(monotonic())
        return fail(Unavailable("too many requests", retry_after=1.5)) if len(times) == 1 else None

    wired(stage, judge)
    parent = parent_of(stage, "slowly", group(config_map("x")))
    stage.ready(parent)
    first, second = times
    assert 1.5 <= second - first < 5
    stage.there(config_map("x", namespace=space))


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(Unavailable("the connection was cut"), id="cut"),
        pytest.param(Expired("too old resource version"), id="410"),
    ],
)
def test_what_happens_while_no_watch_runs_is_seen_afterwards(stage: Stage, problem: Problem) -> None:
    """All watches end at once: drift, an edit and a new namespace of that moment are noticed, and nothing is made twice."""
    tenant = stage.tenant("solar", of=stage.mark)
    space = stage.namespace("space", tenant)
    manager, wire = wired(stage)
    parent = parent_of(stage, "cut", group(config_map("x", {"v": "1"}), policy={"protect": False, "force": True}))
    stage.ready(parent)
    uid = stage.read(config_map("x", namespace=space))["metadata"]["uid"]

    async def disturb(_controller: object) -> None:
        wire.lives[-1].disturb(problem)

    manager.idle()
    mark = len(wire.calls)
    manager.call(disturb)
    stage.api.merge_patch(config_map("x", namespace=space), {"data": {"v": "drifted"}}).expect(200)
    joined = stage.namespace("joined", tenant)
    assert stage.there(config_map("x", namespace=joined))["data"] == {"v": "1"}
    repaired = stage.becomes(config_map("x", namespace=space), lambda live: live["data"] == {"v": "1"})
    assert repaired["metadata"]["uid"] == uid
    stage.ready(parent)
    assert [call.verb for call in wire.calls[mark:] if call.resource.plural == CORE and call.writes] == ["apply", "apply"]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["dropped", "deleted"])
def test_a_create_that_lands_late_is_taken_back(stage: Stage, end: str) -> None:
    """A create without an answer lands when its target is no longer wanted: its record has waited for it, and it is removed."""
    space = tenant_space(stage)
    gate: list[asyncio.Event] = []

    def judge(call: Call) -> Fault | None:
        if not (call.creates and call.name == "late"):
            return None
        if gate:
            return fail(Unavailable("not now"))
        gate.append(asyncio.Event())
        return land_late(gate[0])

    manager, wire = wired(stage, judge)
    parent = parent_of(stage, "late", group(config_map("x")), group(config_map("late")))
    stage.ready(parent, "False")
    if end == "dropped":
        stage.edit(parent, resources=[group(config_map("x"))])
        stage.ready(parent)
    else:
        stage.api.delete(parent).expect(200)
        stage.gone(config_map("x", namespace=space))
    assert stage.items(parent)[f"ConfigMap {space}/late"]["status"]["reason"] == "Absent"

    async def land(_controller: object) -> None:
        gate[0].set()
        await asyncio.gather(*wire.lives[-1].late)

    manager.call(land)
    stage.read(config_map("late", namespace=space))
    stage.gone(config_map("late", namespace=space), timeout=30)
    if end == "dropped":
        eventually(lambda: list(stage.items(parent)) == [f"ConfigMap {space}/x"])
    else:
        stage.gone(parent)


@pytest.mark.parametrize("verb", ["apply", "delete", "json_patch", "merge_patch"])
def test_a_write_that_was_never_sent_is_sent_again(stage: Stage, verb: str) -> None:
    """The first write of each sort fails before it is carried out, and the end is the same."""
    space = tenant_space(stage)
    seen: list[Call] = []

    def judge(call: Call) -> Fault | None:
        if call.verb != verb:
            return None
        seen.append(call)
        return fail(Unavailable("no connection")) if len(seen) == 1 else None

    wired(stage, judge)
    parent = parent_of(stage, "again", group(config_map("x")), group(config_map("y"), policy={"deletion": "Orphan"}))
    stage.ready(parent)
    stage.delete(parent)
    stage.gone(config_map("x", namespace=space))
    assert hold_of(stage.read(config_map("y", namespace=space)), parent) is None
    assert len(seen) > 1
