"""The end of access holds against what else a manager does: it is neither late for others' work nor passed by its own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from apis.problems import Forbidden
from manager.controller import Controller
from tests.support.api import Manifest, eventually, ref
from tests.support.faults import Call, Fault, Faulty, Send
from tests.support.permits import Permits, config_map
from tests.support.running import Running
from tests.support.stage import RBAC, group
from tests.support.stage import config_map as target


@dataclass
class Stuck:
    """A judge for whom the apply of one ConfigMap is not answered until the gate is opened."""

    name: str
    calls: list[Call] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, call: Call) -> Fault | None:
        """Only the named one."""
        if call.verb != "apply" or call.name != self.name:
            return None
        self.calls.append(call)
        return self._wait

    async def _wait(self, _faulty: Faulty, send: Send) -> object:
        await self.gate.wait()
        return await send()


@dataclass
class Slow:
    """A judge for whom the first ConfigMap that an activation makes takes until after its end; `applied` is what came then."""

    pass_time: Callable[[], None]
    applied: list[str] = field(default_factory=list)

    def __call__(self, call: Call) -> Fault | None:
        """Trials do not say yet until when it is."""
        annotations = call.body["metadata"].get("annotations") or {} if call.verb == "apply" else {}
        if not any(key.startswith("active-until.") for key in annotations):
            return None
        self.applied.append(call.resource.plural)
        return self._pass if len(self.applied) == 1 else None

    async def _pass(self, _faulty: Faulty, send: Send) -> object:
        answer = await send()
        self.pass_time()
        return answer


def judged(permits: Permits, judge: Callable[[Call], Fault | None], manager: Running) -> Running:
    """A manager whose every request is judged, running until the end of the test."""
    manager.wrap = lambda cluster: Faulty(cluster, judge)
    return permits.stage.stack.enter_context(manager)


async def _look(controller: Controller) -> None:
    controller.gained()


def test_access_ends_while_every_worker_is_busy_with_something_else(permits: Permits) -> None:
    """A fan-out that does not get on holds no permit beyond its end."""
    stage, stuck = permits.stage, Stuck("stuck")
    manager = judged(permits, stuck, stage.stopped_manager(permits=True, workers=1))
    permit = permits.asked(permits.template(defaultDuration="1h", keepFor="10h"))
    permits.approve(permit)
    permits.reaches(permit, "Active")
    stage.namespace("space", stage.tenant(plan=stage.mark))
    stage.global_resource("busy", group(target("stuck")), tenantSelector={"matchLabels": {"plan": stage.mark}})
    eventually(lambda: stuck.calls)
    manager.clock.forward(hours=2)
    manager.call(_look)
    stage.gone(ref("v1", "ConfigMap", "temporary", permits.home))
    permits.reaches(permit, "Expired")
    manager.call(lambda _: _open(stuck))


async def _open(stuck: Stuck) -> None:
    stuck.gate.set()


def _binding(home: str) -> Manifest:
    binding = ref(f"{RBAC}/v1", "RoleBinding", "temporary", home)
    binding["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    binding["subjects"] = [{"apiGroup": RBAC, "kind": "User", "name": "alice"}]
    return {"targets": [binding]}


def test_an_activation_that_takes_too_long_gives_nothing_after_the_end(permits: Permits) -> None:
    """What was made in time is taken back, and what was to follow is not even begun."""
    stage = permits.stage
    manager = stage.stopped_manager(permits=True)
    slow = Slow(lambda: manager.clock.forward(hours=2))
    judged(permits, slow, manager)
    template = permits.template("two", config_map(), _binding(permits.home), defaultDuration="1h", keepFor="10h")
    permit = permits.asked(template)
    permits.approve(permit)
    over = permits.reaches(permit, "Expired")
    stage.gone(ref("v1", "ConfigMap", "temporary", permits.home))
    stage.gone(ref(f"{RBAC}/v1", "RoleBinding", "temporary", permits.home))
    assert slow.applied == ["configmaps"]
    reasons = [each["reason"] for each in over["status"]["transitions"]]
    assert reasons == ["CreatedByUser", "PendingReview", "ApprovedByUser", "ActivationBegun", "ExpiredBySystem"]


@dataclass
class Refusing:
    """A judge that has the server refuse the ConfigMap of an activation; `applied` is what an activation sent."""

    applied: list[str] = field(default_factory=list)

    def __call__(self, call: Call) -> Fault | None:
        """Trials do not say yet until when it is."""
        annotations = call.body["metadata"].get("annotations") or {} if call.verb == "apply" else {}
        if not any(key.startswith("active-until.") for key in annotations):
            return None
        self.applied.append(call.resource.plural)
        return self._refuse if call.resource.plural == "configmaps" else None

    async def _refuse(self, _faulty: Faulty, _send: Send) -> object:
        raise Forbidden("configmaps is forbidden")


def test_rights_are_not_given_when_something_else_of_the_permit_failed(permits: Permits) -> None:
    """All or nothing: they come last, and do not come for a moment only to be taken back."""
    stage, refusing = permits.stage, Refusing()
    judged(permits, refusing, stage.stopped_manager(permits=True))
    permit = permits.asked(permits.template("two", config_map(), _binding(permits.home), defaultDuration="1h", keepFor="10h"))
    permits.approve(permit)
    failed = permits.reaches(permit, "Failed")
    assert refusing.applied == ["configmaps"]
    assert failed["status"]["failure"]["stage"] == "Activation"
    left = failed["status"].get("processedItems") or []
    assert [item["name"] for item in left if not item["status"].get("gone")] == [], "what was only announced is gone, too"
