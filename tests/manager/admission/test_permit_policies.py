"""Who may make, change and delete a permit, and who writes its status: asked of a server that holds our policies."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from apis.meta import FINALIZER, GROUP, PARENT_EXTRA
from manager.admission.permits import changes, deletion
from tests.manager.admission.bench import RBAC
from tests.support.api import Api, Manifest, Reply, eventually, ref
from tests.support.names import fresh
from tests.support.policies import refused

OURS = f"{GROUP}/v1alpha1"
CHANGES, DELETION = changes().name, deletion().name
RIGHTS = [
    {"apiGroups": [GROUP], "resources": ["resourcepermits", "resourcepermits/status"], "verbs": ["*"]},
]
SPEC: Manifest = {"template": {"kind": "ResourcePermitTemplate", "name": "reader"}, "duration": "30m"}
TIME = "2030-01-01T00:00:00Z"
REQUEST: Manifest = {
    "template": {"kind": "ResourcePermitTemplate", "name": "reader", "uid": "t", "generation": 1},
    "impersonation": {"name": "runner", "namespace": "x"},
    "approvals": {"required": 2},
    "duration": "30m",
    "resources": [],
    "digest": "sha256:0",
}
FAILURE = {"stage": "Activation", "retryPhase": "Approved", "reason": "R", "message": "m"}


def step(index: int, phase: str, actor: str, previous: str = "") -> Manifest:
    """A transition, without the signature, which no policy sees."""
    head = {"previous": previous} if previous else {}
    made = {"index": index, "type": phase, "timestamp": TIME, "actor": {"name": actor, "type": "User"}, "reason": "R"}
    return made | head | {"hash": f"sha256:{index}"}


def standing(phase: str, **more: Any) -> Manifest:
    """The status of a permit that came to this phase by the manager."""
    steps = [step(0, "Created", "copyhold"), step(1, phase, "copyhold", "sha256:0")]
    return {"phase": phase, "request": REQUEST, "size": 1, "processedItems": [], "transitions": steps} | more


@dataclass(frozen=True, slots=True)
class Scene:
    """A namespace in which one person may do everything with permits that RBAC can give."""

    admin: Api
    namespace: str
    person: str

    @property
    def user(self) -> Api:
        """The person."""
        return self.admin.as_user(self.person)

    def manager(self, uid: str) -> Api:
        """The manager, writing for the permit with this UID."""
        return self.admin.as_user("system:serviceaccount:copyhold-system:copyhold", groups=MASTERS, extra={PARENT_EXTRA: [uid]})

    def permit(self, status: Manifest | None = None, **metadata: Any) -> Manifest:
        """A permit of the person, with this status."""
        permit = ref(OURS, "ResourcePermit", fresh("permit"), self.namespace) | {"spec": SPEC}
        permit["metadata"] |= metadata
        made: Manifest = self.user.create(permit).expect(201).body
        return self.wrote(made, status) if status is not None else made

    def wrote(self, permit: Manifest, status: Manifest) -> Manifest:
        """The permit after the manager wrote its status."""
        manager = self.manager(permit["metadata"]["uid"])
        body: Manifest = manager.replace(permit | {"status": status}, subresource="status").expect(200).body
        return body

    def status(self, permit: Manifest, status: Manifest) -> Reply:
        """The person writes the whole status, as a dry run."""
        return self.user.replace(permit | {"status": status}, subresource="status", dryRun="All")


MASTERS = ["system:masters"]


@pytest.fixture(scope="module")
def scene(admin: Api, policies: tuple[Manifest, ...]) -> Iterator[Scene]:
    """One namespace for the module, when the policies about permits are in force in it."""
    scene = Scene(admin, fresh("permits"), fresh("alice"))
    admin.create(ref("v1", "Namespace", scene.namespace)).expect(201)
    admin.create(ref(f"{RBAC}/v1", "Role", "permits", scene.namespace) | {"rules": RIGHTS}).expect(201)
    binding = ref(f"{RBAC}/v1", "RoleBinding", "permits", scene.namespace) | {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "permits"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": scene.person}],
    }
    admin.create(binding).expect(201)
    probe = eventually(lambda: scene.permit({"phase": "Active"}))
    eventually(lambda: DELETION in scene.user.delete(probe, dryRun="All").message)
    yield scene
    admin.delete(ref("v1", "Namespace", scene.namespace)).expect(200, 202)


# Making and changing


REQUESTERS = [
    pytest.param(lambda scene: {"name": scene.person, "type": "User"}, True, id="the user"),
    pytest.param(lambda scene: {"name": scene.person, "type": "User", "groups": ["system:authenticated"]}, True, id="groups"),
    pytest.param(lambda scene: {"name": "bob", "type": "User"}, False, id="somebody else"),
    pytest.param(lambda scene: {"name": scene.person, "type": "System"}, False, id="the manager"),
    pytest.param(lambda scene: {"name": scene.person, "type": "User", "uid": "other"}, False, id="another UID"),
    pytest.param(lambda scene: {"name": scene.person, "type": "User", "groups": ["sre"]}, False, id="another group"),
]


@pytest.mark.parametrize(("requester", "passes"), REQUESTERS)
def test_a_permit_names_who_makes_it(scene: Scene, requester: Callable[[Scene], Manifest], passes: bool) -> None:
    """Without any webhook, nobody asks in somebody else's name."""
    spec = SPEC | {"requester": requester(scene)}
    reply = scene.user.create(ref(OURS, "ResourcePermit", fresh("permit"), scene.namespace) | {"spec": spec}, dryRun="All")
    if passes:
        reply.expect(201)
    else:
        assert f"and {scene.person} asks: leave spec.requester out" in refused(reply, CHANGES)


def test_a_spec_never_changes(scene: Scene) -> None:
    """Neither by the person, nor by an administrator, nor by the manager; labels and annotations may."""
    permit = scene.permit()
    change = {"spec": {"duration": "8h"}}
    for who in (scene.user, scene.admin, scene.manager(permit["metadata"]["uid"])):
        assert "make another permit" in refused(who.merge_patch(permit, change), CHANGES)
    scene.user.merge_patch(permit, {"metadata": {"labels": {"a": "b"}}}).expect(200)


def test_our_finalizer_comes_off_by_the_manager_or_by_force(scene: Scene) -> None:
    """A requester who took it off would keep what is in other namespaces after the end of this one."""
    permit = scene.permit(finalizers=[FINALIZER])
    off = {"metadata": {"finalizers": None}}
    assert "delete on records.copyhold.dev" in refused(scene.user.merge_patch(permit, off, dryRun="All"), CHANGES)
    scene.user.merge_patch(permit, {"metadata": {"finalizers": [FINALIZER, "mine.example/x"]}}, dryRun="All").expect(200)
    scene.admin.merge_patch(permit, off, dryRun="All").expect(200)
    scene.manager(permit["metadata"]["uid"]).merge_patch(permit, off, dryRun="All").expect(200)


# The status

Edit = Callable[[Manifest, str], None]
"""Changes the status that a true step would have led to; the second argument is the person."""


def _set(path: str, value: Any) -> Edit:
    def edit(status: Manifest, person: str) -> None:
        *way, last = path.split(".")
        place: Any = status
        for part in way:
            place = place[int(part) if part.lstrip("-").isdigit() else part]
        place[last] = value

    return edit


def _drop(name: str) -> Edit:
    return lambda status, person: status.pop(name)


def _approvals(*names: str) -> Edit:
    def edit(status: Manifest, person: str) -> None:
        approvals = [{"reviewer": {"name": name or person, "type": "User"}, "time": TIME, "digest": "x"} for name in names]
        status["review"] = {"verdict": "Pending", "approvals": approvals}

    return edit


def _twice(status: Manifest, person: str) -> None:
    status["transitions"].append(step(3, "Approved", person, "sha256:2"))


def _forget(status: Manifest, person: str) -> None:
    status["transitions"] = status["transitions"][1:]


def _swap(status: Manifest, person: str) -> None:
    first, second, third = status["transitions"]
    status["transitions"] = [second, first, third]


STEPS = [
    pytest.param(lambda status, person: None, "", id="a step"),
    pytest.param(_set("request.duration", "10m"), "", id="adjusted duration"),
    pytest.param(_set("request.startTime", TIME), "", id="adjusted start"),
    pytest.param(_set("request.keepFor", "1d"), "", id="adjusted retention"),
    pytest.param(_set("request.digest", "sha256:1"), "", id="and its digest"),
    pytest.param(_set("conditions", []), "", id="conditions"),
    pytest.param(_approvals(""), "", id="an approval of the own"),
    pytest.param(_approvals("bob"), "has a new one that is not by", id="an approval of somebody else"),
    pytest.param(_set("transitions.2.actor.name", "bob"), "requesting a lifecycle transition", id="somebody else's step"),
    pytest.param(_set("transitions.2.actor.type", "System"), "requesting a lifecycle transition", id="the manager's step"),
    pytest.param(_set("transitions.2.type", "Active"), "requesting a lifecycle transition", id="a step to another phase"),
    pytest.param(_set("phase", "Active"), "requesting a lifecycle transition", id="a phase without its step"),
    pytest.param(_twice, "requesting a lifecycle transition", id="two steps"),
    pytest.param(_forget, "requesting a lifecycle transition", id="a step less"),
    pytest.param(_drop("transitions"), "requesting a lifecycle transition", id="no trail"),
    pytest.param(_swap, "can only grow", id="other order"),
    pytest.param(_set("transitions.0.reason", "Other"), "can only grow", id="an old step changed"),
    pytest.param(_set("transitions.2.previous", "sha256:0"), "can only grow", id="a step beside the last"),
    pytest.param(_set("transitions.2.index", 1), "can only grow", id="a wrong index"),
    pytest.param(_set("request.resources", [{"name": "x", "policy": {}, "targets": []}]), "Copyhold manager", id="snapshot"),
    pytest.param(_set("request.impersonation", {"name": "root", "namespace": "x"}), "Copyhold manager", id="account"),
    pytest.param(_set("request.approvals", {"required": 1}), "Copyhold manager", id="rules of approval"),
    pytest.param(_set("request.maxDuration", "99d"), "Copyhold manager", id="bound"),
    pytest.param(_drop("request"), "Copyhold manager", id="no snapshot"),
    pytest.param(_drop("processedItems"), "Copyhold manager", id="no items"),
    pytest.param(_set("size", 0), "Copyhold manager", id="size"),
    pytest.param(_set("serviceAccount", {"name": "root", "namespace": "x"}), "Copyhold manager", id="executing account"),
    pytest.param(_set("grants", [{"subject": "User/x"}]), "Copyhold manager", id="grants"),
    pytest.param(_set("preview", [{"kind": "X", "name": "x", "verb": "Skip"}]), "Copyhold manager", id="preview"),
    pytest.param(_set("records", {"count": 1}), "Copyhold manager", id="records"),
    pytest.param(_set("active", {"from": TIME}), "Copyhold manager", id="activation"),
    pytest.param(_set("failure", FAILURE), "Copyhold manager", id="failure"),
    pytest.param(_set("keepUntil", TIME), "status.keepUntil", id="retention"),
]


@pytest.fixture(scope="module")
def waiting(scene: Scene) -> Manifest:
    """A permit that waits for its review."""
    return scene.permit(standing("Requested"))


@pytest.mark.parametrize(("edit", "says"), STEPS)
def test_a_status_is_written_by_one_step_of_the_user(scene: Scene, waiting: Manifest, edit: Edit, says: str) -> None:
    """Whatever is more or less than that is refused; the manager may write all of it."""
    status = deepcopy(waiting["status"])
    status["phase"] = "Approved"
    status["transitions"].append(step(2, "Approved", scene.person, "sha256:1"))
    edit(status, scene.person)
    reply = scene.status(waiting, status)
    if says:
        assert says in refused(reply, CHANGES)
    else:
        reply.expect(200)
    manager = scene.manager(waiting["metadata"]["uid"])
    manager.replace(waiting | {"status": status}, subresource="status", dryRun="All").expect(200)


def test_a_status_that_stays_as_it_is_passes(scene: Scene, waiting: Manifest) -> None:
    """Who writes what is there changes nothing."""
    scene.status(waiting, waiting["status"]).expect(200)


def test_a_first_status_needs_its_step_too(scene: Scene) -> None:
    """A permit that has no status yet gets none from its requester, but may be ended."""
    permit = scene.permit()
    assert "requesting a lifecycle transition" in refused(scene.status(permit, {"phase": "Approved"}), CHANGES)
    scene.status(permit, {"phase": "Expired", "transitions": [step(0, "Expired", scene.person)]}).expect(200)


def test_who_ends_the_access_begins_its_retention(scene: Scene) -> None:
    """A step to Expired may set keepUntil where it is absent; neither change it, nor the time of the access."""
    permit = scene.permit(standing("Active", active={"from": TIME}))
    ended = deepcopy(permit["status"]) | {"phase": "Expired", "keepUntil": TIME}
    ended["transitions"].append(step(2, "Expired", scene.person, "sha256:1"))
    scene.status(permit, ended).expect(200)
    for more in ({"size": 5}, {"active": {"from": TIME, "until": TIME}}):
        assert "Copyhold manager" in refused(scene.status(permit, ended | more), CHANGES)
    kept = scene.wrote(permit, permit["status"] | {"keepUntil": TIME})
    scene.status(kept, ended).expect(200)
    assert "status.keepUntil" in refused(scene.status(kept, ended | {"keepUntil": "2029-01-01T00:00:00Z"}), CHANGES)
    assert "status.keepUntil" in refused(scene.status(kept, {k: v for k, v in ended.items() if k != "keepUntil"}), CHANGES)


def test_the_largest_permit_can_still_be_ended(scene: Scene) -> None:
    """The policy's cost stays within the server's budget: 199 transitions, and as large a snapshot as there may be."""
    permit = scene.permit()
    steps = [step(0, "Created", "copyhold")]
    steps += [step(index, "Requested", "copyhold", f"sha256:{index - 1}") | {"message": "x" * 256} for index in range(1, 199)]
    targets = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": str(n)}, "data": {"a": "x" * 4000}} for n in range(120)
    ]
    resources = [{"name": "all", "policy": {"creation": "Owner"}, "targets": targets}]
    status = {"phase": "Requested", "request": REQUEST | {"resources": resources}, "transitions": steps}
    permit = scene.wrote(permit, status)
    ended = permit["status"] | {"phase": "Expired"}
    ended["transitions"] = [*ended["transitions"], step(199, "Expired", scene.person, "sha256:198")]
    scene.status(permit, ended).expect(200)


def test_the_extra_of_another_parent_is_no_proof(scene: Scene, waiting: Manifest) -> None:
    """What a template makes the manager apply for a tenant cannot write a permit's status."""
    other = scene.manager(fresh("uid"))
    refused(other.replace(waiting | {"status": {"phase": "Active"}}, subresource="status", dryRun="All"), CHANGES)
    refused(other.merge_patch(waiting, {"spec": {"duration": "1h"}}, dryRun="All"), CHANGES)


# Deletion

EXPIRE = "ResourcePermit cannot be deleted before it has expired (current phase: {phase}): end it with: copyhold permit expire"
RETAIN = f"ResourcePermit cannot be deleted before archive retention expires at {TIME}"

PHASES = [
    pytest.param(None, "", id="none"),
    pytest.param({"phase": "Created"}, "", id="Created"),
    pytest.param({"phase": "Requested"}, "", id="Requested"),
    pytest.param({"phase": "Pending"}, "", id="Pending"),
    pytest.param({"phase": "Denied"}, EXPIRE, id="Denied"),
    pytest.param({"phase": "Approved"}, EXPIRE, id="Approved"),
    pytest.param({"phase": "Active"}, EXPIRE, id="Active"),
    pytest.param({"phase": "Active", "keepUntil": TIME}, EXPIRE, id="Active, to be kept"),
    pytest.param({"phase": "Failed"}, EXPIRE, id="Failed"),
    pytest.param({"phase": "Retrying"}, EXPIRE, id="Retrying"),
    pytest.param({"phase": "Expired"}, "", id="Expired"),
    pytest.param({"phase": "Expired", "keepUntil": TIME}, RETAIN, id="Expired, to be kept"),
    pytest.param({"phase": "Expired", "keepUntil": "2020-01-01T00:00:00Z"}, "2020-01-01T00:00:00Z", id="Expired, was kept"),
]


@pytest.mark.parametrize(("status", "says"), PHASES)
def test_a_permit_is_deleted_when_it_is_over(scene: Scene, status: Manifest | None, says: str) -> None:
    """Before, and while it is kept as a record, only the manager and administrators delete it."""
    permit = scene.permit(status)
    reply = scene.user.delete(permit, dryRun="All")
    if says:
        assert says.format(phase=(status or {}).get("phase")) in refused(reply, DELETION)
        other = scene.admin.as_user(scene.person, extra={PARENT_EXTRA: [fresh("uid")]})
        refused(other.delete(permit, dryRun="All"), DELETION)
    else:
        reply.expect(200)
    scene.admin.delete(permit, dryRun="All").expect(200)
    scene.manager(permit["metadata"]["uid"]).delete(permit, dryRun="All").expect(200)


def test_a_collection_is_deleted_under_the_same_rule(scene: Scene) -> None:
    """Deleting many at once asks for each."""
    permit = scene.permit({"phase": "Active"}, labels={"one": fresh("x")})
    label = permit["metadata"]["labels"]["one"]
    refused(scene.user.delete_all(OURS, "ResourcePermit", scene.namespace, labelSelector=f"one={label}"), DELETION)


def test_a_namespace_that_goes_takes_its_permits_along(scene: Scene) -> None:
    """Whatever they are, and although nobody of ours runs."""
    home = fresh("leaving")
    scene.admin.create(ref("v1", "Namespace", home)).expect(201)
    made = scene.admin.create(ref(OURS, "ResourcePermit", "active", home) | {"spec": SPEC}).expect(201).body
    scene.wrote(made, {"phase": "Active", "keepUntil": TIME})
    scene.admin.delete(ref("v1", "Namespace", home)).expect(200, 202)
    eventually(lambda: scene.admin.get(ref("v1", "Namespace", home)).status == 404, 30)
