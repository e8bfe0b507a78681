"""Group B of the cases that went wrong for others: fields that cannot be changed once they are set.

What a user may expect: the target says that the field cannot be changed and what to do, the live object stays as it is, and
nothing is ever deleted and made anew to get around it.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from manager.answers import ANEW
from tests.scenario.cases.passes import OPEN, item, look_again, target_writes
from tests.support.api import Manifest, ref
from tests.support.running import Running
from tests.support.stage import RBAC, Stage, config_map, group


def _none(stage: Stage, word: str, *groups: Manifest, **spec: Any) -> Manifest:
    return stage.global_resource(word, *groups, scope="None", **spec)


def _refused(stage: Stage, manager: Running, parent: Manifest, of: str, changed: Manifest, field: str, **policy: Any) -> None:
    """Edit the parent's one target and see it refused: said once, with the field and the remedy, and the object as it was."""
    before = stage.read(changed)
    manager.idle()
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(changed, policy=policy or OPEN)])
    stage.ready(parent, "False")
    status = item(stage, parent, of)
    assert (status["reason"], stage.condition(parent, "Stalled")["reason"]) == ("Invalid", "Invalid")
    assert field in status["message"]
    assert status["message"].endswith(ANEW)
    manager.idle()
    assert [(one.method, one.status) for one in target_writes(manager.sent[mark:])] == [("PATCH", 422)]
    after = stage.read(changed)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def _binding(stage: Stage, role: str, name: str = "team") -> Manifest:
    return ref(f"{RBAC}/v1", "RoleBinding", name, stage.home) | {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "alice"}],
    }


def test_case_020_a_binding_to_another_role_is_refused_and_the_old_one_stays(stage: Stage) -> None:
    """Case 20: roleRef is immutable; taking the binding away for a moment is nobody's decision but the user's."""
    manager = stage.manager()
    parent = _none(stage, "binding", group(_binding(stage, "view"), policy=OPEN))
    stage.ready(parent)
    stage.there(_binding(stage, "view"))
    _refused(stage, manager, parent, f"RoleBinding {stage.home}/team", _binding(stage, "edit"), "roleRef")
    assert stage.read(_binding(stage, "view"))["roleRef"]["name"] == "view"


def test_case_020_a_binding_under_another_name_replaces_the_old_one_without_a_gap(stage: Stage) -> None:
    """Case 20, the first remedy: what is new is made before what is old is removed."""
    manager = stage.manager()
    parent = _none(stage, "binding", group(_binding(stage, "view")))
    stage.ready(parent)
    manager.idle()
    mark = len(manager.sent)
    stage.edit(parent, resources=[group(_binding(stage, "edit", "team-edit"))])
    stage.ready(parent)
    stage.gone(_binding(stage, "view"))
    assert stage.read(_binding(stage, "edit", "team-edit"))["roleRef"]["name"] == "edit"
    assert [(one.method, one.path.rpartition("/")[2]) for one in target_writes(manager.sent[mark:])] == [
        ("PATCH", "team-edit"),
        ("DELETE", "team"),
    ]


def test_case_020_a_binding_that_the_user_deletes_is_made_anew_with_the_new_role(stage: Stage) -> None:
    """Case 20, the second remedy: the deletion wakes the parent at once."""
    stage.manager()
    parent = _none(stage, "binding", group(_binding(stage, "view"), policy=OPEN))
    stage.ready(parent)
    old = stage.there(_binding(stage, "view"))
    stage.edit(parent, resources=[group(_binding(stage, "edit"), policy=OPEN)])
    stage.ready(parent, "False")
    stage.api.delete(old).expect(200)
    stage.ready(parent)
    new = stage.read(old)
    assert new["roleRef"]["name"] == "edit"
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


def _job(stage: Stage, seconds: int | None = None) -> Manifest:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "once", "image": "once"}]}}
    ttl = {} if seconds is None else {"ttlSecondsAfterFinished": seconds}
    return ref("batch/v1", "Job", "once", stage.home) | {"spec": {"template": template, **ttl}}


def _expires(stage: Stage, job: Manifest) -> None:
    """What the cluster's own controller does when the time of a finished Job is over."""
    controller = stage.api.as_user("system:serviceaccount:kube-system:ttl-after-finished-controller", groups=["system:masters"])
    controller.delete(job, propagation="Background").expect(200)
    stage.gone(job)


def test_case_022_a_job_that_expires_is_not_run_again_after_the_time_that_its_condition_names(stage: Stage) -> None:
    """Case 22: who wants a Job once and gone bounds its creation in time; memory of a run needs something that lasts.

    A condition sees the live object and the time. `object == null` alone says "whenever it is not there", which runs it again.
    """
    manager = stage.manager()
    until = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    policy = {"condition": f"object == null && now < timestamp('{until}')"}
    parent = _none(stage, "once", group(_job(stage, 60), policy=policy))
    stage.ready(parent)
    job = stage.there(_job(stage))
    look_again(stage, manager, parent)
    assert stage.read(job)["metadata"]["uid"] == job["metadata"]["uid"]
    assert item(stage, parent, f"Job {stage.home}/once")["reason"] == "ConditionNotMet"
    manager.clock.forward(minutes=10)
    _expires(stage, job)
    look_again(stage, manager, parent)
    stage.gone(job)
    assert stage.condition(parent)["status"] == "True"
    assert item(stage, parent, f"Job {stage.home}/once")["reason"] == "ConditionNotMet"


def test_case_022_a_finished_job_without_a_time_to_live_is_its_own_memory(stage: Stage) -> None:
    """Case 22, the simpler way: the finished Job stays, is not run again by any number of passes, and goes with its parent."""
    manager = stage.manager()
    parent = _none(stage, "once", group(_job(stage)))
    stage.ready(parent)
    job = stage.there(_job(stage))
    manager.idle()
    mark = len(manager.sent)
    look_again(stage, manager, parent)
    manager.restart()
    look_again(stage, manager, parent)
    assert target_writes(manager.sent[mark:]) == []
    assert stage.read(job)["metadata"]["uid"] == job["metadata"]["uid"]
    stage.delete(parent)
    stage.gone(job)


def test_case_022_an_expired_job_without_a_condition_is_put_back(stage: Stage) -> None:
    """Case 22, what happens otherwise: a target that was removed is put back, so a Job with a time to live runs again."""
    stage.manager()
    parent = _none(stage, "again", group(_job(stage, 60)))
    stage.ready(parent)
    job = stage.there(_job(stage))
    controller = stage.api.as_user("system:serviceaccount:kube-system:ttl-after-finished-controller", groups=["system:masters"])
    controller.delete(job, propagation="Background").expect(200)
    again = stage.becomes(job, lambda live: bool(live["metadata"]["uid"] != job["metadata"]["uid"]))
    assert "deletionTimestamp" not in again["metadata"]


def test_case_023_a_secret_of_another_type_is_refused_and_the_old_one_stays(stage: Stage) -> None:
    """Case 23: the type of a Secret is immutable; the message names the field and nothing of the content."""
    manager = stage.manager()
    content = {"username": "solar", "password": "correct-horse-battery"}
    secret = ref("v1", "Secret", "login", stage.home) | {"type": "Opaque", "stringData": content}
    parent = _none(stage, "secret", group(secret, policy=OPEN))
    stage.ready(parent)
    stage.there(secret)
    _refused(stage, manager, parent, f"Secret {stage.home}/login", secret | {"type": "kubernetes.io/basic-auth"}, "type")
    assert stage.read(secret)["type"] == "Opaque"
    status = json.dumps(stage.read(parent)["status"])
    assert content["password"] not in status


def test_case_023_an_immutable_config_map_is_neither_changed_nor_made_mutable(stage: Stage) -> None:
    """Case 23: once `immutable: true` stands, a change of the data is refused, and so is taking it back."""
    manager = stage.manager()
    frozen = config_map("frozen", {"a": "1"}, stage.home) | {"immutable": True}
    parent = _none(stage, "frozen", group(config_map("frozen", {"a": "1"}, stage.home), policy=OPEN))
    stage.ready(parent)
    stage.edit(parent, resources=[group(frozen, policy=OPEN)])
    stage.ready(parent)
    assert stage.there(frozen)["immutable"] is True
    of = f"ConfigMap {stage.home}/frozen"
    _refused(stage, manager, parent, of, frozen | {"data": {"a": "2"}}, "data")
    stage.edit(parent, resources=[group(frozen, policy=OPEN)])
    stage.ready(parent)
    _refused(stage, manager, parent, of, frozen | {"immutable": False}, "immutable")
    assert stage.read(frozen)["data"] == {"a": "1"}
