"""Templates are judged before anybody asks for a permit, and say where one can be had."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.intent import Group
from apis.meta import Manifest
from apis.problems import Invalid, Unavailable
from manager.elector import Alone
from manager.permits import templates
from manager.permits.templatecheck import KINDS, UNNAMED, judge, warnings
from manager.permits.templates import Templates, template_status, where
from manager.render.pool import Renderer
from manager.state import State
from manager.world import Cluster, Resource
from tests.manager.permits.offers import GLOBAL, LOCAL, TARGET, everywhere, local
from tests.support.objects import Objects

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RESOURCES = [Resource(kind.group, kind.version, kind.kind, kind.plural, namespaced=kind.namespaced) for kind in (LOCAL, GLOBAL)]


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    """The workers that look at templates."""
    renderer = Renderer()
    yield renderer
    await renderer.close()


async def _fine(_: Sequence[Group]) -> list[Invalid]:
    """A renderer that finds nothing."""
    return []


def context(*indexes: str) -> Manifest:
    """A context of ConfigMaps under these indexes."""
    return {"resources": [{"index": index, "apiVersion": "v1", "kind": "ConfigMap"} for index in indexes]}


@pytest.mark.parametrize("template", [local(), everywhere(), local(context=context("a"), resources=[{"template": "a: 1"}])])
async def test_a_sound_template_is_accepted(renderer: Renderer, template: Manifest) -> None:
    """Nothing is said of what can be rendered."""
    await judge(template, renderer.check)


BROKEN = {**TARGET, "data": {"a": "{{ params. }}"}}


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        pytest.param(
            local(resources=[]), ["ResourcePermitTemplate prod/reader: spec.resources: must have at least 1 entries"], id="model"
        ),
        pytest.param(
            local(paramSchema={"type": "object", "properties": {"a": {"const": 1}}}),
            ["spec.paramSchema.properties[a].const: not a word of structural schemas: write enum with one value"],
            id="schema",
        ),
        pytest.param(
            local(approvals={"conditions": ["requester.name == 'a'", "grants.("]}),
            ["spec.approvals: approval conditions are invalid: conditions[1] does not compile"],
            id="approval condition",
        ),
        pytest.param(
            local(resources=[{"policy": {"condition": "object.a ="}, "targets": [TARGET]}]),
            ["spec.resources[0].policy.condition: the CEL expression does not compile"],
            id="apply condition",
        ),
        pytest.param(local(resources=[{"targets": [BROKEN]}]), ["spec.resources[0].targets[0].data.a"], id="template"),
        pytest.param(
            local(context={"resources": [{"index": "a", "apiVersion": "v1", "kind": "ConfigMap", "name": "{{ no. }}"}]}),
            ["prod/reader: spec.context.resources[0].name"],
            id="query of all groups",
        ),
        pytest.param(
            local(context=context("a"), resources=[{"targets": [TARGET], "context": context("b", "a")}]),
            ["spec.resources[0].context.resources[1].index: a is an index of spec.context too: choose another name"],
            id="one index twice",
        ),
        pytest.param(
            local(context=context("request")),
            ["spec.context.resources[0].index: request is the permit itself in templates: choose another name"],
            id="reserved index",
        ),
        pytest.param(
            local(resources=[{"name": "a", "targets": [TARGET]}, {"name": "a", "targets": [TARGET]}]),
            ["spec.resources: two groups are called a: give each its own name"],
            id="one group name twice",
        ),
        pytest.param(
            local(maxDuration="0s", defaultDuration="0s"),
            ["spec.defaultDuration: must be more than 0", "spec.maxDuration: must be more than 0"],
            id="no duration",
        ),
        pytest.param(
            local(maxDuration="1h", defaultDuration="1d"),
            ["spec.defaultDuration: defaultDuration is longer than maxDuration: shorten it"],
            id="default above the most",
        ),
        pytest.param(
            local(context=context("request"), paramSchema={"type": "string"}, resources=[{"targets": [BROKEN]}]),
            ["spec.context.resources[0].index", "spec.paramSchema.type", "spec.resources[0].targets[0].data.a"],
            id="all of it",
        ),
    ],
)
async def test_a_template_that_cannot_work_is_refused_with_all_its_problems(
    renderer: Renderer, template: Manifest, messages: list[str]
) -> None:
    """Each problem is named by its field, at once."""
    with pytest.raises(Invalid) as refused:
        await judge(template, renderer.check)
    assert [part for part in messages if part not in str(refused.value)] == [], str(refused.value)


@pytest.mark.parametrize(
    ("approvals", "expected"),
    [
        pytest.param({}, [UNNAMED], id="omitted"),
        pytest.param({"auto": True}, [], id="nobody approves"),
        pytest.param({"approvers": [{"kind": "User", "name": "a"}]}, [], id="named"),
    ],
)
def test_an_author_is_warned_when_nobody_is_named(approvals: Manifest, expected: list[str]) -> None:
    """Whoever RBAC lets write the status may approve: that has to be meant."""
    assert warnings(local(approvals=approvals)) == expected


# Status


def named(**labels: dict[str, str]) -> dict[str, Manifest]:
    """Namespaces with their labels."""
    return {name: {"metadata": {"name": name, "labels": has}} for name, has in labels.items()}


NAMESPACES = named(prod={"stage": "prod"}, dev={"stage": "dev"}, other={})
SELECTED = [{"matchLabels": {"stage": "prod"}}, {"matchExpressions": [{"key": "stage", "operator": "In", "values": ["dev"]}]}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, ["*"], id="unrestricted"),
        pytest.param({"namespaceSelectors": SELECTED[:1]}, ["prod"], id="one selector"),
        pytest.param({"namespaceSelectors": SELECTED}, ["dev", "prod"], id="either of two, sorted"),
        pytest.param({"namespaceSelectors": [{"matchLabels": {"stage": "test"}}]}, [], id="none"),
    ],
)
def test_a_global_template_says_where_it_can_be_named(spec: Manifest, expected: list[str]) -> None:
    """The selectors are ORed."""
    assert where(everywhere(**spec), NAMESPACES) == expected
    assert template_status(everywhere(**spec), None, NAMESPACES, "now")["namespaces"] == expected


def test_a_template_that_is_not_ready_selects_nothing() -> None:
    """What it once allowed gives nothing any more."""
    status = template_status(everywhere(), Invalid(templates.Reason.INVALID, "spec.resources: no"), NAMESPACES, "now")
    assert status["namespaces"] == []
    assert status["conditions"] == [
        {
            "type": "Ready",
            "status": "False",
            "reason": "Failed",
            "message": "spec.resources: no",
            "observedGeneration": 3,
            "lastTransitionTime": "now",
        }
    ]


def test_a_local_template_has_no_namespaces() -> None:
    """Permits name it in its own namespace only."""
    status = template_status(local(), None, NAMESPACES, "now")
    assert "namespaces" not in status
    assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == ("Succeeded", "reconciled")


def test_a_template_without_approvers_says_who_may_approve() -> None:
    """The warning stands where everybody sees it."""
    assert template_status(local(approvals={}), None, {}, "now")["conditions"][0]["message"] == f"reconciled; {UNNAMED}"


@given(st.booleans(), st.booleans())
def test_the_time_of_the_condition_moves_only_with_its_status(before: bool, after: bool) -> None:
    """A reader sees since when it is so."""

    def problem(sound: bool) -> Invalid | None:
        return None if sound else Invalid(templates.Reason.INVALID, "no")

    first = template_status(local(), problem(before), {}, "then")
    second = template_status(local() | {"status": first}, problem(after), {}, "now")
    assert second["conditions"][0]["lastTransitionTime"] == ("then" if before == after else "now")


# The loop


class Stand:
    """A loop over templates in memory."""

    def __init__(self, *stored: Manifest, check: Any = _fine) -> None:
        self.cluster, self.state = Objects(*RESOURCES), State()
        self.state.namespaces = dict(NAMESPACES)
        self.told: list[tuple[str, bool]] = []
        for each in stored:
            self.show(self.cluster.put(self.resource(each), each))
        self.loop = Templates(cast(Cluster, self.cluster), self.state, Alone(), lambda: NOW, check, self.tell)

    @staticmethod
    def resource(template: Manifest) -> Resource:
        """The resource of a template."""
        return next(one for one in RESOURCES if one.kind == template["kind"])

    def tell(self, template: Manifest, ready: bool) -> None:
        """Note what the loop says."""
        self.told.append((template["kind"], ready))

    def show(self, template: Manifest) -> None:
        """The watch shows a template."""
        self.state.templates[template["metadata"]["uid"]] = template

    def status(self, template: Manifest) -> Manifest:
        """The stored status of the only template of that kind."""
        found: Manifest = self.cluster.objects(self.resource(template))[0].get("status") or {}
        return found

    async def settle(self, done: Any) -> None:
        """Run until something holds."""
        working = asyncio.create_task(self.loop.run())
        async with asyncio.timeout(10):
            while not done():  # noqa: ASYNC110 - the objects in memory tell nobody of a change
                await asyncio.sleep(0.001)
        working.cancel()


async def test_a_status_is_written_once() -> None:
    """What is there already is not written again."""
    stand = Stand(local())
    stand.loop.changed("t-1")
    await stand.settle(lambda: stand.status(local()))
    assert stand.status(local())["observedGeneration"] == 3
    stand.show(stand.cluster.objects(RESOURCES[0])[0])
    writes = len(stand.cluster.log)
    stand.loop.changed("t-1")
    await stand.settle(lambda: len(stand.told) == 2)
    assert len(stand.cluster.log) == writes
    assert stand.told == [(KINDS["ResourcePermitTemplate"].kind, True)] * 2


async def test_namespaces_that_move_are_seen_without_judging_anew() -> None:
    """A label of a namespace changes where permits can be had, not whether the template is sound."""
    asked: list[int] = []

    async def check(groups: Sequence[Group]) -> list[Invalid]:
        asked.append(len(groups))
        return []

    template = everywhere(namespaceSelectors=SELECTED[:1])
    stand = Stand(template, check=check)
    stand.loop.changed("t-2")
    await stand.settle(lambda: stand.status(template))
    assert stand.status(template)["namespaces"] == ["prod"]
    stand.show(stand.cluster.objects(RESOURCES[1])[0])
    stand.state.namespaces |= named(second={"stage": "prod"})
    stand.loop.moved()
    await stand.settle(lambda: stand.status(template)["namespaces"] == ["prod", "second"])
    assert asked == [1]


async def test_a_write_that_met_a_newer_template_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the watch brings it back is not known, so it is tried again."""
    monkeypatch.setattr(templates, "PAUSE", 0.001)
    stand = Stand(local())
    newer = stand.cluster.put(RESOURCES[0], local() | {"status": {"size": 1}})
    stand.loop.changed("t-1")
    stand.cluster.fault = lambda write: stand.show(newer) or ""  # the watch shows it after the first try
    await stand.settle(lambda: stand.status(local()).get("observedGeneration") == 3)


async def test_a_template_that_could_not_be_judged_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that cannot be started make no template invalid."""
    monkeypatch.setattr(templates, "PAUSE", 0.001)
    tries: list[int] = []

    async def check(groups: Sequence[Group]) -> list[Invalid]:
        tries.append(len(groups))
        if len(tries) == 1:
            raise Unavailable("no worker")
        return []

    stand = Stand(local(), check=check)
    stand.loop.changed("t-1")
    await stand.settle(lambda: stand.status(local()))
    assert stand.status(local())["conditions"][0]["status"] == "True"


async def test_a_defect_of_one_template_keeps_no_other() -> None:
    """It stays as it is, so that no permit is made from it, and the others are judged."""

    async def check(groups: Sequence[Group]) -> list[Invalid]:
        if not groups[0].labels:
            raise RuntimeError("a defect")
        return []

    sound = everywhere(resources=[{"targets": [TARGET], "additionalMetadata": {"labels": {"a": "b"}}}])
    stand = Stand(local(), sound, check=check)
    stand.loop.changed("t-1")
    stand.loop.changed("t-2")
    await stand.settle(lambda: stand.status(sound))
    assert stand.status(local()) == {}


async def test_a_template_that_is_gone_is_forgotten() -> None:
    """Its verdict goes with it."""
    stand = Stand(local(), everywhere(namespaceSelectors=SELECTED))
    stand.loop.changed("t-1")
    await stand.settle(lambda: stand.status(local()))
    del stand.state.templates["t-1"]
    stand.loop.changed("t-1")
    stand.loop.changed("t-2")
    await stand.settle(lambda: stand.status(everywhere()))
    assert set(stand.loop._sound) == {"t-2"}


async def test_a_template_that_is_not_ready_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was only slow does not make a template wait for an edit."""
    monkeypatch.setattr(templates, "AGAIN", 0.001)
    tries: list[int] = []

    async def check(groups: Sequence[Group]) -> list[Invalid]:
        tries.append(len(groups))
        return [Invalid(templates.Reason.RENDER_FAILED, "took too long")] if len(tries) == 1 else []

    stand = Stand(local(), check=check)
    stand.cluster.fault = lambda write: stand.show(stand.cluster.objects(RESOURCES[0])[0]) or ""  # as the watch does
    stand.loop.changed("t-1")
    await stand.settle(lambda: [ready for _, ready in stand.told] == [False, True])
    stand.show(stand.cluster.objects(RESOURCES[0])[0])
    stand.loop.changed("t-1")
    await stand.settle(lambda: stand.status(local())["conditions"][0]["status"] == "True")
