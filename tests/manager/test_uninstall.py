"""Leaving a cluster: nothing that only Copyhold could take away is left, and whoever was interrupted runs it again."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result

from apis.crd import crd
from apis.kind import Parent, kinds
from apis.meta import Manifest
from apis.reasons import Reason
from manager import uninstall
from manager.admission.keep import keep as keep_policies
from manager.cli import main
from manager.cluster import ApiCluster
from manager.release import whoami
from manager.uninstall import Failure, Only, alive, farewell
from tests.realserver.access import Access
from tests.support.api import Api, eventually, ref
from tests.support.embedded import beside
from tests.support.marks import holders, marks
from tests.support.real import connect
from tests.support.stage import Stage, config_map, group

T = TypeVar("T")
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


# Is a manager running?


def lease(name: str, holder: str = "pod-1", renewed: str = "2026-01-01T11:59:58.000000Z") -> Manifest:
    """A Lease of four seconds."""
    return {"metadata": {"name": name}, "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 4}}


@pytest.mark.parametrize(
    ("leases", "found"),
    [
        pytest.param([], [], id="none"),
        pytest.param([lease("copyhold-shard-0"), lease("copyhold-shard-1", "pod-2")], ["pod-1", "pod-2"], id="two replicas"),
        pytest.param([lease("copyhold-member-pod-1")], ["pod-1"], id="a replica without a shard"),
        pytest.param([lease("copyhold-shard-0", holder="")], [], id="given back"),
        pytest.param([lease("copyhold-shard-0", renewed="2026-01-01T11:59:00Z")], [], id="run out"),
        pytest.param([lease("copyhold-shard-0", renewed="2026-01-01T11:59:30Z")], ["pod-1"], id="run out by less than the skew"),
        pytest.param([lease("copyhold-shard-0", renewed="2026-01-01T12:00:20Z")], ["pod-1"], id="a clock ahead of ours"),
        pytest.param([lease("leader-of-something-else")], [], id="of others"),
        pytest.param([{"metadata": {"name": "copyhold-shard-0"}}], [], id="never held"),
    ],
)
def test_leases_say_whether_a_manager_runs(leases: list[Manifest], found: list[str]) -> None:
    """Holders whose Lease was renewed in time."""
    assert alive(leases, NOW) == found


def test_what_is_left_can_be_deleted_by_hand() -> None:
    """The definitions are not named when they are gone."""
    assert len(farewell("tools", crds=True)) == 2
    assert farewell("tools", crds=False) == ("kubectl delete namespace tools",)


# Ending the manager.


def deployment(stage: Stage, name: str) -> Manifest:
    """A Deployment of two replicas in the stage's own namespace."""
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    manifest = ref("apps/v1", "Deployment", name, stage.home)
    return stage.create(manifest | {"spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}})


def held(stage: Stage, holder: str) -> Manifest:
    """A shard's Lease in the stage's own namespace, renewed just now."""
    manifest = ref("coordination.k8s.io/v1", "Lease", "copyhold-shard-0", stage.home)
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    manifest["spec"] = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 4}
    return stage.create(manifest)


def test_a_manager_is_scaled_to_zero_and_waited_for(server: Access, stage: Stage) -> None:
    """Until its Leases are given back."""
    manager, shard = deployment(stage, "manager"), held(stage, "pod-1")
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        assert stage.read(manager)["spec"]["replicas"] == 0
        stage.api.delete(shard).expect(200, 404)

    within(server, lambda cluster: uninstall.stop(cluster, stage.home, "manager", tell, 30))
    assert told == ["waiting for the manager to end: 0 replicas, Leases of pod-1"]


def test_replicas_that_are_still_there_are_waited_for(server: Access, stage: Stage) -> None:
    """One that has no Lease yet may be about to take one."""
    manager = deployment(stage, "manager")
    status = {"replicas": 1, "observedGeneration": 1}
    stage.api.merge_patch(manager, {"status": status}, subresource="status").expect(200)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        stage.api.merge_patch(manager, {"status": {"replicas": 0}}, subresource="status").expect(200)

    within(server, lambda cluster: uninstall.stop(cluster, stage.home, "manager", tell, 30))
    assert told == ["waiting for the manager to end: 1 replicas, Leases of none"]


def test_a_manager_that_does_not_end_is_not_waited_for_for_ever(server: Access, stage: Stage) -> None:
    """The check that follows finds it running, and refuses."""
    deployment(stage, "manager")
    held(stage, "pod-1")
    within(server, lambda cluster: uninstall.stop(cluster, stage.home, "manager", lambda _text: None, 0.5))
    assert within(server, lambda cluster: uninstall.managers(cluster, stage.home, datetime.now(UTC))) == ["pod-1"]


def test_a_deployment_that_is_gone_runs_nothing(server: Access, stage: Stage) -> None:
    """An uninstall is run again after everything but the marks has been deleted."""
    within(server, lambda cluster: uninstall.stop(cluster, stage.home, "manager", lambda _text: None, 30))


# On a real server that others use too: only the parents of the stage.


def of(stage: Stage) -> Only:
    """The parents of this stage."""
    return lambda parent: stage.mark in parent.name


def within(server: Access, work: Callable[[ApiCluster], Coroutine[Any, Any, T]]) -> T:
    """Do something with a cluster, as the administrator."""

    async def all_of_it() -> T:
        cluster = connect(server)
        try:
            return await work(cluster)
        finally:
            await cluster.client.close()

    return asyncio.run(all_of_it())


def keep(server: Access, stage: Stage, tell: Callable[[str], None] = lambda _text: None) -> list[Failure]:
    """Drain the parents of this stage and keep their targets."""

    async def work(cluster: ApiCluster) -> list[Failure]:
        return await uninstall.keep(cluster, await whoami(cluster), of(stage), tell)

    return within(server, work)


def distributed(stage: Stage, *words: str) -> list[Manifest]:
    """Parents that have made a protected ConfigMap each and adopted one, and a manager that is stopped now."""
    stage.api.apply(config_map("theirs", {"a": "1"}, stage.home), manager="kubectl").expect(201)
    manager = stage.manager()
    parents = [
        stage.global_resource(
            word,
            group(config_map(f"made-{word}", {"text": word}, stage.home)),
            group(config_map("theirs", {word: "1"}, stage.home), policy={"creation": "Merge"}),
            scope="None",
        )
        for word in words
    ]
    for parent in parents:
        stage.ready(parent)
    manager.stop()
    return parents


def free(stage: Stage, name: str) -> bool:
    """Does this ConfigMap bear nothing of ours?"""
    live = stage.read(config_map(name, namespace=stage.home))
    return not marks(live) and not holders(live)


def test_keep_leaves_the_content_and_nothing_of_ours(server: Access, stage: Stage) -> None:
    """Protected or not, made or adopted; the parents are gone."""
    parents = distributed(stage, "one", "two")
    assert keep(server, stage) == []
    for parent in parents:
        stage.api.get(parent).expect(404)
    assert stage.read(config_map("made-one", namespace=stage.home))["data"] == {"text": "one"}
    assert stage.read(config_map("theirs", namespace=stage.home))["data"] == {"a": "1", "one": "1", "two": "1"}
    for name in ("made-one", "made-two", "theirs"):
        assert free(stage, name)
    assert keep(server, stage) == []


def test_an_interrupted_keep_is_run_again(server: Access, stage: Stage) -> None:
    """Whatever was done stays done."""
    parents = distributed(stage, "one", "two")

    def interrupt(text: str) -> None:
        if text.startswith("2 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep(server, stage, interrupt)
    assert sorted(stage.api.get(parent).status for parent in parents) == [200, 404]
    assert keep(server, stage) == []
    assert [stage.api.get(parent).status for parent in parents] == [404, 404]
    assert free(stage, "theirs")


def test_what_others_hold_stays_theirs(server: Access, stage: Stage) -> None:
    """The marks that a parent shares with a living one go with the last of them."""
    one, two = distributed(stage, "one", "two")

    async def work(cluster: ApiCluster) -> list[Failure]:
        return await uninstall.keep(cluster, await whoami(cluster), lambda parent: parent.uid == one["metadata"]["uid"], print)

    assert within(server, work) == []
    left = marks(stage.read(config_map("theirs", namespace=stage.home)))
    assert any(two["metadata"]["uid"] in key for key in left)
    assert "copyhold.dev/managed" in left
    assert not any(one["metadata"]["uid"] in key for key in left)


def test_a_parent_whose_memory_is_damaged_is_drained_by_its_label(server: Access, stage: Stage) -> None:
    """What bears its proof is found without records."""
    (parent,) = distributed(stage, "one")
    shard = {"name": f"lost-{stage.mark}", "digest": "x", "count": 1}
    status = {"processedItems": None, "records": {"count": 1, "shards": [shard]}}
    stage.api.merge_patch(parent, {"status": status}, subresource="status").expect(200)
    assert keep(server, stage) == []
    assert free(stage, "made-one")


def test_remove_waits_until_the_manager_has_taken_everything_back(server: Access, stage: Stage) -> None:
    """What was made is gone; what was adopted is given back."""
    parents = distributed(stage, "one")
    with stage.stopped_manager():
        told: list[str] = []
        left = within(server, lambda cluster: uninstall.remove(cluster, of(stage), told.append, told.append, 60))
    assert left == []
    assert told[0].startswith("1 parents left; the first is GlobalTenantResource one-")
    stage.api.get(parents[0]).expect(404)
    stage.api.get(config_map("made-one", namespace=stage.home)).expect(404)
    assert stage.read(config_map("theirs", namespace=stage.home))["data"] == {"a": "1"}


def test_remove_without_a_manager_says_so_and_gives_up(server: Access, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while without progress, and at the end of its time."""
    monkeypatch.setattr(uninstall, "PATIENCE", 0.5)
    distributed(stage, "one")
    warned: list[str] = []
    left = within(server, lambda cluster: uninstall.remove(cluster, of(stage), lambda _text: None, warned.append, 2.5))
    assert [failure.problem.reason for failure in left] == [Reason.UNAVAILABLE]
    assert "see that the manager runs" in str(left[0].problem)
    assert len(warned) == 1
    assert "copyhold.dev/cleanup" in warned[0]
    assert keep(server, stage) == []


# The command. Nothing here may get as far as doing something, since others use this server.


def call(*words: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(words), prog_name="copyhold")


def test_keep_refuses_while_a_manager_runs(stage: Stage, kubeconfig: str) -> None:
    """It would apply again what is let go; the remedy is in the message."""
    held(stage, "pod-1")
    result = call("uninstall", "--keep", "--namespace", stage.home, "--kubeconfig", kubeconfig)
    assert result.exit_code == 1
    assert "a manager is running (pod-1)" in result.stderr
    assert f"kubectl -n {stage.home} scale" in result.stderr


def test_a_manager_that_is_to_take_things_back_is_not_stopped(kubeconfig: str) -> None:
    """`--stop` with `--remove` is a contradiction."""
    result = call("uninstall", "--remove", "--stop", "copyhold", "--kubeconfig", kubeconfig)
    assert result.exit_code == 2
    assert "--stop belongs to --keep" in result.stderr


def test_nothing_is_done_unasked(stage: Stage, kubeconfig: str) -> None:
    """Without a terminal a yes is needed."""
    parent = stage.global_resource("one", group(config_map("x", namespace=stage.home)), scope="None")
    for mode in ("--keep", "--remove"):
        result = call("uninstall", mode, "--namespace", stage.home, "--kubeconfig", kubeconfig)
        assert result.exit_code == 2
        assert "give --yes" in result.stderr
    assert Parent(kinds()[0], stage.read(parent)).deleting is False


# The whole command, on a server of its own.


@pytest.mark.slow
def test_case_062_an_uninstall_leaves_nothing_that_hangs(server: Access, tmp_path: Path) -> None:
    """Definitions, policies, records, marks and finalizers are gone; so a namespace and the definitions can be deleted."""
    with beside(server) as own, Api(own.access.url, own.access.ca, own.access.token) as api:
        config = str(own.access.kubeconfig(tmp_path / "own"))
        for kind in kinds():
            api.create(crd(kind)).expect(201)
        eventually(lambda: [api.list(kind.api_version, kind.kind).expect(200) for kind in kinds()])
        eventually(lambda: within(own.access, lambda cluster: keep_policies(cluster, manager_namespace="copyhold-system")))
        stage = Stage(api, own.access)
        distributed(stage, "one", "two")
        tenant_resource = stage.tenant_resource("local", stage.home, group(config_map("x")))
        api.merge_patch(tenant_resource, {"metadata": {"finalizers": ["copyhold.dev/cleanup"]}}).expect(200)
        result = call("uninstall", "--keep", "--crds", "--yes", "--kubeconfig", config)
        assert result.exit_code == 0, result.output
        assert "drained: 3 parents" in result.stdout
        for name in ("made-one", "made-two", "theirs"):
            assert free(stage, name)
        eventually(lambda: [api.get(crd(kind)).expect(404) for kind in kinds()])
        admission = "admissionregistration.k8s.io/v1"
        assert api.list(admission, "ValidatingAdmissionPolicy").expect(200).body["items"] == []
        # A TenantResource's finalizer would hold its namespace for ever.
        api.delete(ref("v1", "Namespace", stage.home)).expect(200, 202)
        eventually(lambda: api.get(ref("v1", "Namespace", stage.home)).expect(404), timeout=40)
        again = call("uninstall", "--keep", "--crds", "--yes", "--kubeconfig", config)
        assert again.exit_code == 0, again.output
