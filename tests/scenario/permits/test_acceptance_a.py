"""What a permit gives, who may touch it meanwhile, and how it goes (10.4, 1 to 6)."""

from datetime import datetime

from tests.scenario.permits.acts import MAPS, clerk, pass_time, target
from tests.support.api import Manifest, eventually, ref
from tests.support.marks import hold_of, holders, manager_of, marks
from tests.support.permits import Permits, config_map
from tests.support.policies import refused
from tests.support.running import Clock

PROTECTION = "copyhold-protection"
RBAC = "rbac.authorization.k8s.io"
EDITS: list[Manifest] = [
    {"data": {"for": "her"}},
    {"data": {"hers": "1"}},
    {"metadata": {"labels": {"copyhold.dev/protected": None}}},
    {"metadata": {"annotations": None}},
]


def test_10_4_01_what_an_auto_approved_permit_gave_is_safe_from_its_requester_and_goes_at_its_end(permits: Permits) -> None:
    """Given without a reviewer; the requester can neither change nor delete target or permit; at the timeout both go."""
    stage, alice = permits.stage, permits.as_(permits.alice)
    manager = stage.manager(permits=True)
    account = clerk(permits)
    template = permits.template(impersonation={"name": account.name}, approvals={"auto": True}, defaultDuration="1h")
    stage.grant_user(permits.alice, [MAPS], permits.home)
    permit = permits.asked(template, "Active")
    assert permit["status"]["review"]["reviewer"]["type"] == "System"
    assert permit["status"]["review"]["message"] == "Auto Approved"
    made, uid = stage.read(target(permits)), permit["metadata"]["uid"]
    assert made["data"] == {"for": permit["metadata"]["name"]}
    assert made["metadata"]["annotations"][f"active-until.copyhold.dev/{uid}"] == permit["status"]["active"]["until"]
    for edit in EDITS:
        message = refused(alice.merge_patch(made, edit), PROTECTION)
        assert f"ConfigMap temporary in namespace {permits.home} is held by resourcepermit/{uid}" in message
    refused(alice.delete(made), PROTECTION)
    refused(alice.delete(permit), "copyhold-permit-deletion")
    assert stage.read(made) == made
    pass_time(manager, hours=2)
    stage.gone(made)
    permits.ended(permit)


def test_10_4_01_the_execution_account_may_write_what_it_protects_and_an_outsider_may_not(permits: Permits) -> None:
    """Whoever RBAC lets write a ConfigMap is refused, a reviewer too; the account that gave it passes."""
    stage = permits.stage
    stage.manager(permits=True)
    account, other = clerk(permits), clerk(permits)
    template = permits.template(impersonation={"name": account.name}, approvals={"auto": True})
    permits.asked(template, "Active")
    for who in (permits.bob, stage.name("outsider"), other.user):
        stage.grant_user(who, [MAPS], permits.home)
        refused(permits.as_(who).merge_patch(target(permits), {"data": {"more": "1"}}), PROTECTION)
        refused(permits.as_(who).delete(target(permits)), PROTECTION)
    permits.as_(account.user).merge_patch(target(permits), {"data": {"more": "1"}}).expect(200)


def test_10_4_01_a_requester_cannot_write_what_was_decided(permits: Permits) -> None:
    """Spec and status of the permit are as safe as its target, even from a requester whom RBAC lets write both."""
    stage, alice = permits.stage, permits.as_(permits.alice)
    stage.manager(permits=True)
    template = permits.template(approvals={"auto": True}, defaultDuration="1h")
    permit = permits.asked(template, "Active")
    assert permits.patch(permit, by=permits.alice, phase="Expired").status == 403, "RBAC alone keeps her from the status"
    rule = {"apiGroups": ["copyhold.dev"], "resources": ["resourcepermits", "resourcepermits/status"], "verbs": ["*"]}
    stage.grant_user(permits.alice, [rule], permits.home)
    refused(alice.merge_patch(permit, {"spec": {"duration": "100h"}}), "copyhold-permits")
    refused(alice.merge_patch(permit, {"metadata": {"finalizers": None}}), "copyhold-permits")
    message = permits.patch(permit, by=permits.alice, active={"until": "2099-01-01T00:00:00Z"}).expect(422).message
    assert "ResourcePermit status can only be changed by requesting a lifecycle transition" in message
    assert stage.read(permit)["status"]["active"] == permit["status"]["active"]


class Ticking(Clock):
    """A second passes with each look at it, as on a machine that is much too slow."""

    def __call__(self) -> datetime:
        """The time now, in UTC."""
        self.forward(seconds=1)
        return super().__call__()


def test_10_4_01_an_approval_by_the_template_is_proved_however_slow_the_manager_is(permits: Permits) -> None:
    """The approval and its transition say the same time, though trial, signature and write took their own; so in a retry."""
    stage = permits.stage
    manager = stage.stopped_manager(permits=True)
    manager.clock = Ticking()
    stage.stack.enter_context(manager)
    account = clerk(permits, MAPS | {"verbs": ["get"]})
    template = permits.template(impersonation={"name": account.name}, approvals={"auto": True})
    permit = permits.asked(template, "Failed")
    stage.grant(account, [MAPS], permits.home)
    permits.patch(permit, phase="Retrying").expect(200)
    retried = permits.reaches(permit, "Active")
    once = permits.asked(permits.template("once", config_map("other"), approvals={"auto": True}), "Active")
    for made, reason in ((retried, "RetrySucceeded"), (once, "ApprovedBySystem")):
        step = next(each for each in made["status"]["transitions"] if each["reason"] == reason)
        assert step["timestamp"] == made["status"]["review"]["approvals"][0]["time"]


def test_10_4_02_an_unrestricted_global_template_is_for_all_namespaces(permits: Permits) -> None:
    """Its status lists `*`, and a permit may name it, whatever labels its namespace has."""
    permits.stage.manager(permits=True)
    template = permits.global_template()
    assert permits.stage.read(template)["status"]["namespaces"] == ["*"]
    asked = permits.asked(template)
    assert asked["status"]["request"]["template"]["kind"] == "GlobalResourcePermitTemplate"


def test_10_4_03_without_protection_anyone_whom_rbac_lets_may_edit_the_target(permits: Permits) -> None:
    """Edits and deletion pass, and go their way at the end.

    Where we differ: while the permit is active, drift is repaired. What was deleted comes back, and a field that somebody else
    holds now is theirs, and said, since the policy does not force.
    """
    stage, outsider = permits.stage, permits.stage.name("outsider")
    manager = stage.manager(permits=True)
    account = clerk(permits)
    group = config_map(protect=False)
    template = permits.template(
        "open", group, impersonation={"name": account.name}, approvals={"auto": True}, defaultDuration="1h"
    )
    permit = permits.asked(template, "Active")
    stage.grant_user(outsider, [MAPS], permits.home)
    carol, made = permits.as_(outsider), stage.read(target(permits))
    carol.delete(made).expect(200)
    again = stage.becomes(made, lambda live: live["metadata"]["uid"] != made["metadata"]["uid"])
    assert again["data"] == made["data"]
    carol.merge_patch(made, {"data": {"for": "carol", "more": "1"}}).expect(200)
    told = stage.becomes(permit, lambda live: live["status"]["conditions"][0]["status"] == "False")
    assert told["status"]["phase"] == "Active"
    assert told["status"]["conditions"][0]["reason"] == "FieldTaken"
    assert stage.read(made)["data"] == {"for": "carol", "more": "1"}
    pass_time(manager, hours=2)
    stage.gone(made)
    permits.ended(permit)


def test_10_4_04_an_orphan_stays_after_the_end_without_our_marks(permits: Permits) -> None:
    """`deletion: Orphan` leaves content, and neither label, annotation nor field manager of ours."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    account = clerk(permits)
    group = config_map(deletion="Orphan")
    template = permits.template(
        "leaves", group, impersonation={"name": account.name}, approvals={"auto": True}, defaultDuration="1h"
    )
    permit = permits.asked(template, "Active")
    before = stage.read(target(permits))
    assert hold_of(before, permit) == "created"
    assert holders(before) == {manager_of(permit)}
    pass_time(manager, hours=2)
    permits.ended(permit)
    after = stage.read(before)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"] == {"for": permit["metadata"]["name"]}
    assert marks(after) == set()
    assert holders(after) == set()
    permits.stage.grant_user(permits.alice, [MAPS], permits.home)
    permits.as_(permits.alice).delete(after).expect(200)


def test_10_4_05_cluster_scoped_targets_go_though_nothing_owns_them(permits: Permits) -> None:
    """A role and its binding, cluster-wide: what they give is there while the permit is active, and gone afterwards.

    The account holds what it gives, and otherwise only what it needs to make and remove these two kinds.
    """
    stage, alice = permits.stage, permits.as_(permits.alice)
    manager = stage.manager(permits=True)
    reads = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    keeps = {"resources": ["clusterroles", "clusterrolebindings"], "verbs": ["get", "create", "patch", "delete"]}
    account = clerk(permits, reads, {"apiGroups": [RBAC], **keeps}, namespace="")
    role = ref(f"{RBAC}/v1", "ClusterRole", stage.name("sees-nodes"))
    binding = ref(f"{RBAC}/v1", "ClusterRoleBinding", stage.name("sees-nodes"))
    template = permits.global_template(
        "nodes",
        {
            "targets": [
                role | {"rules": [reads]},
                binding
                | {
                    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]},
                    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "{{ request.username }}"}],
                },
            ]
        },
        impersonation={"name": account.name, "namespace": account.namespace},
        defaultDuration="1h",
    )
    permit = permits.asked(template)
    assert [row["subject"] for row in permit["status"]["grants"]] == [f"User/{permits.alice}"]
    assert alice.list("v1", "Node").status == 403
    permits.approve(permit)
    permits.reaches(permit, "Active")
    for each in (role, binding):
        assert "ownerReferences" not in stage.read(each)["metadata"]
    eventually(lambda: alice.list("v1", "Node").expect(200))
    pass_time(manager, hours=2)
    stage.gone(binding)
    stage.gone(role)
    permits.ended(permit)
    eventually(lambda: alice.list("v1", "Node").expect(403))


def test_10_4_06_without_a_duration_a_permit_is_active_until_somebody_ends_it(permits: Permits) -> None:
    """Neither permit nor template name one: there is no end, however much time passes, until a reviewer ends it."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template()
    permit = permits.asked(template)
    permits.approve(permit)
    active = permits.reaches(permit, "Active")
    assert "until" not in active["status"]["active"]
    made = stage.read(target(permits))
    assert not [key for key in made["metadata"]["annotations"] if key.startswith("active-until.")]
    pass_time(manager, days=1000)
    manager.idle()
    assert stage.read(permit)["status"]["phase"] == "Active"
    permits.patch(permit, by=permits.bob, phase="Expired").expect(200)
    stage.gone(made)
    permits.ended(permit)


def test_10_4_06_without_a_duration_a_permit_ends_where_the_template_says_at_most(permits: Permits) -> None:
    """Where we differ: an omitted duration is bounded by `maxDuration`, where there is one."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template(maxDuration="8h")
    permit = permits.asked(template)
    assert permit["status"]["request"]["duration"] == "8h"
    permits.approve(permit)
    active = permits.reaches(permit, "Active")
    assert active["status"]["active"]["until"]
    pass_time(manager, hours=9)
    stage.gone(target(permits))
    permits.ended(permit)
