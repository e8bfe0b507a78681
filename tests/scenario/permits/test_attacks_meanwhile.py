"""What somebody changes behind a permit that is approved, and behind one that is active: rights, accounts, templates, targets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from apis.intent import Identity
from tests.scenario.permits.tampering import absent, active, given, look, refused, says
from tests.support.api import Manifest, eventually, ref
from tests.support.permits import Permits, config_map
from tests.support.running import Running
from tests.support.stage import RBAC, group
from tests.support.stage import config_map as a_map

READ = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


@dataclass
class Scene:
    """A template that binds alice to a role which is there already, and an account that acts for it."""

    permits: Permits
    manager: Running
    clerk: Identity = field(init=False)
    role: Manifest = field(init=False)
    template: Manifest = field(init=False)

    def __post_init__(self) -> None:
        stage = self.permits.stage
        self.clerk = stage.service_account("clerk")
        stage.grant(self.clerk, ALL)
        self.right = stage.made[-1]
        self.role = stage.create(ref(f"{RBAC}/v1", "Role", "powers", self.permits.home) | {"rules": READ})
        self.template = self.permits.template(
            "access",
            {"targets": [self.wanted], "policy": {"creation": "Merge", "force": True}},
            config_map(),
            impersonation={"name": self.clerk.name},
            maxDuration="1h",
        )

    @property
    def wanted(self) -> Manifest:
        """The binding as the template has it."""
        subject = {"apiGroup": RBAC, "kind": "User", "name": "{{ request.username }}"}
        reference = {"apiGroup": RBAC, "kind": "Role", "name": "powers"}
        return self.binding | {"roleRef": reference, "subjects": [subject]}

    @property
    def binding(self) -> Manifest:
        """The binding that is given."""
        return ref(f"{RBAC}/v1", "RoleBinding", "access", self.permits.home)

    def replace_role(self, rules: list[Manifest]) -> None:
        """Another role of the same name."""
        self.permits.stage.delete(self.role)
        self.permits.stage.create(ref(f"{RBAC}/v1", "Role", "powers", self.permits.home) | {"rules": rules})

    def edit(self, **spec: object) -> None:
        """Change the template, and wait until it is offered again."""
        self.permits.stage.edit(self.template, **spec)
        self.permits.stage.ready(self.template)

    def reach(self) -> None:
        """The start that was agreed on has come."""
        self.manager.clock.forward(minutes=61)
        look(self.manager)


@pytest.fixture
def scene(permits: Permits) -> Scene:
    """The scene, with a manager that runs."""
    return Scene(permits, permits.stage.manager(permits=True))


# Between the approval and the start.


def a_grown_role(scene: Scene) -> None:
    """More rules behind the roleRef."""
    scene.permits.stage.api.merge_patch(scene.role, {"rules": ALL}).expect(200)


def a_replaced_role(scene: Scene) -> None:
    """Another role of the same name with the same rules: whoever made it can change it."""
    scene.replace_role(READ)


def a_role_that_is_gone(scene: Scene) -> None:
    """Whoever makes it next decides what it gives."""
    scene.permits.stage.delete(scene.role)


def a_target_that_is_there(scene: Scene) -> None:
    """What would be made is there now, and would be changed."""
    subject = {"apiGroup": RBAC, "kind": "User", "name": "somebody"}
    scene.permits.stage.create(scene.wanted | {"subjects": [subject]})


SENT_BACK = {
    a_grown_role: "GrantsChanged",
    a_replaced_role: "GrantsChanged",
    a_role_that_is_gone: "GrantsChanged",
    a_target_that_is_there: "PreviewChanged",
}


@pytest.mark.parametrize("change", SENT_BACK, ids=lambda change: change.__name__)
def test_what_changed_since_its_approval_is_reviewed_again(scene: Scene, change: Callable[[Scene], None]) -> None:
    """Nothing is given, earlier approvals do not count, an older digest is refused, and a new approval gives it."""
    permits = scene.permits
    permit = permits.asked(scene.template, startTime=_soon())
    seen = permit["status"]["request"]["digest"]
    permits.approve(permit)
    change(scene)
    scene.reach()
    back = permits.reaches(permit, "Requested")
    assert back["status"]["transitions"][-1]["reason"] == SENT_BACK[change]
    assert back["status"]["review"] == {"verdict": "Pending"}
    absent(permits, given(permits))
    if SENT_BACK[change] == "GrantsChanged":
        assert back["status"]["request"]["digest"] != seen
        absent(permits, scene.binding)
        refused(permits.patch(permit, phase="Approved", review={"digest": seen}), 409, says="not what you have seen")
    permits.approve(permit, review={"digest": back["status"]["request"]["digest"]})
    permits.reaches(permit, "Active")


def _soon() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def an_account_that_is_gone(scene: Scene) -> None:
    """Nobody would answer for what it does."""
    scene.permits.stage.delete(ref("v1", "ServiceAccount", scene.clerk.name, scene.clerk.namespace))


def an_account_without_rights(scene: Scene) -> None:
    """It may not do what was approved any more."""
    scene.permits.stage.delete(scene.right)
    body = {"spec": {"user": scene.clerk.user, "resourceAttributes": {"verb": "patch", "resource": "configmaps"}}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **body}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(lambda: not scene.permits.stage.api.request("POST", path, review).expect(201).body["status"]["allowed"])


def a_template_that_is_gone(scene: Scene) -> None:
    """Its author took the offer back."""
    scene.permits.stage.delete(scene.template)


FAILED = {
    an_account_that_is_gone: "ServiceAccount",
    an_account_without_rights: "access",
    a_template_that_is_gone: "template",
}


@pytest.mark.parametrize("change", FAILED, ids=lambda change: change.__name__)
def test_what_cannot_be_given_any_more_fails(scene: Scene, change: Callable[[Scene], None]) -> None:
    """Failed, with the reason in words, and nothing of it is given."""
    permits = scene.permits
    permit = permits.asked(scene.template, startTime=_soon())
    permits.approve(permit)
    change(scene)
    scene.reach()
    failed = permits.reaches(permit, "Failed")
    assert failed["status"]["failure"]["stage"] == "Activation"
    assert FAILED[change] in failed["status"]["failure"]["message"]
    assert "active" not in failed["status"]
    absent(permits, given(permits))
    absent(permits, scene.binding)


def more_targets(scene: Scene) -> None:
    """The template gives more by now, under another policy."""
    more = {"targets": [ref("v1", "ConfigMap", "more", scene.permits.home)]}
    scene.edit(resources=[config_map(protect=False, deletion="Orphan"), more])


def other_terms(scene: Scene) -> None:
    """The template approves by itself, for longer, as another account."""
    scene.edit(approvals={"auto": True, "required": 1}, maxDuration="100h", impersonation={"name": scene.permits.account})


def an_account_of_the_same_name(scene: Scene) -> None:
    """RBAC and the snapshot name accounts by their name: whoever makes accounts in a namespace is it."""
    account = ref("v1", "ServiceAccount", scene.clerk.name, scene.clerk.namespace)
    scene.permits.stage.delete(account)
    scene.permits.stage.api.create(account).expect(201)


@pytest.mark.parametrize("change", [more_targets, other_terms, an_account_of_the_same_name], ids=lambda change: change.__name__)
def test_what_was_approved_is_given_whatever_the_template_says_by_now(scene: Scene, change: Callable[[Scene], None]) -> None:
    """The snapshot decides: targets, policies, account, and the end."""
    permits = scene.permits
    permit = permits.asked(scene.template, startTime=_soon())
    before = permits.approve(permit)["status"]["request"]
    change(scene)
    scene.reach()
    live = permits.reaches(permit, "Active")
    assert live["status"]["request"] == before
    assert permits.stage.read(scene.binding)["subjects"][0]["name"] == permits.alice
    target = permits.stage.read(given(permits))
    assert target["metadata"]["labels"]["copyhold.dev/protected"] == "true"
    assert scene.clerk.user in target["metadata"]["annotations"].values()
    absent(permits, given(permits, "more"))
    scene.reach()
    permits.stage.gone(given(permits))
    permits.stage.gone(scene.binding)
    permits.ended(permit)


# While it is active.


def test_rights_that_the_account_lost_do_not_prolong_the_access(scene: Scene) -> None:
    """The manager takes the binding back itself and says so; what it may not remove itself is named, and goes once it may."""
    permits = scene.permits
    permit = active(permits, scene.template, duration="30m")
    an_account_without_rights(scene)
    scene.reach()
    permits.stage.gone(scene.binding)
    told = eventually(lambda: [each for each in scene.manager.told if each.reason == "RemovedByManager"])
    assert "RoleBinding" in told[0].note
    message = says(permits, permit, "RevocationIncomplete")
    assert "temporary" in message
    permits.stage.grant(scene.clerk, ALL)
    permits.stage.gone(given(permits), timeout=40)
    permits.ended(permit)


def test_an_account_that_was_deleted_does_not_prolong_the_access(scene: Scene) -> None:
    """Its name still has its rights: what was given goes on time."""
    permits = scene.permits
    permit = active(permits, scene.template, duration="30m")
    an_account_that_is_gone(scene)
    scene.reach()
    permits.stage.gone(scene.binding)
    permits.stage.gone(given(permits))
    permits.ended(permit)


def test_a_finalizer_does_not_prolong_the_access(scene: Scene) -> None:
    """A binding that somebody holds back is emptied at the end, and the permit says so until it goes."""
    permits = scene.permits
    permit = active(permits, scene.template, duration="30m")
    mallory = permits.stage.api.as_user("mallory", groups=["system:masters"])
    mallory.merge_patch(scene.binding, {"metadata": {"finalizers": ["example.com/stay"]}}).expect(200)
    scene.reach()
    held = permits.stage.becomes(scene.binding, lambda live: not live.get("subjects"))
    assert held["metadata"]["deletionTimestamp"]
    permits.stage.gone(given(permits))
    message = says(permits, permit, "RevocationIncomplete")
    assert "RoleBinding" in message
    assert "access" in message
    permits.stage.read(permit)
    mallory.merge_patch(scene.binding, {"metadata": {"finalizers": None}}).expect(200)
    permits.stage.gone(scene.binding)
    permits.ended(permit)


def test_a_finalizer_on_a_role_leaves_no_rules(permits: Permits) -> None:
    """The same for what a role gives."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    role = ref(f"{RBAC}/v1", "Role", "given", permits.home)
    template = permits.template("roles", {"targets": [role | {"rules": READ}]}, maxDuration="1h")
    permit = active(permits, template)
    stage.api.merge_patch(role, {"metadata": {"finalizers": ["example.com/stay"]}}).expect(200)
    manager.clock.forward(hours=2)
    look(manager)
    stage.becomes(role, lambda live: not live.get("rules"))
    says(permits, permit, "RevocationIncomplete")
    stage.api.merge_patch(role, {"metadata": {"finalizers": None}}).expect(200)
    permits.ended(permit)


def test_whoever_joins_a_target_does_not_keep_it(permits: Permits) -> None:
    """A TenantResource that merged itself into what a permit gave does not make the access last: the object goes all the same."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    solar = stage.tenant()
    labels = {"copyhold.dev/tenant": solar}
    stage.api.merge_patch(ref("v1", "Namespace", permits.home), {"metadata": {"labels": labels}}).expect(200)
    permit = active(permits, permits.template(maxDuration="1h"))
    before = stage.read(given(permits))
    joined = group(a_map("temporary", {"theirs": "1"}), policy={"creation": "Merge"})
    parent = stage.tenant_resource("joins", permits.home, joined, serviceAccount={"name": permits.account})
    stage.ready(parent)
    assert stage.read(given(permits))["data"] == {"for": permit["metadata"]["name"], "theirs": "1"}
    manager.clock.forward(hours=2)
    look(manager)
    permits.ended(permit)
    after = stage.becomes(given(permits), lambda live: live["metadata"]["uid"] != before["metadata"]["uid"])
    assert after["data"] == {"theirs": "1"}


def test_what_another_permit_gives_too_goes_with_the_first_that_ends(permits: Permits) -> None:
    """A second permit that merges itself into a target does not prolong the first; what is its own, it gives again."""
    stage = permits.stage
    stage.manager(permits=True)
    first = active(permits, permits.template("first", config_map(), maxDuration="1h"))
    before = stage.read(given(permits))
    second_group = {"policy": {"creation": "Merge"}, "targets": [a_map("temporary", {"mine": "1"})]}
    second = active(permits, permits.template("second", second_group, maxDuration="1h"))
    permits.patch(first, phase="Expired").expect(200)
    permits.ended(first)
    after = stage.becomes(given(permits), lambda live: live["metadata"]["uid"] != before["metadata"]["uid"])
    assert after["data"] == {"mine": "1"}
    permits.patch(second, phase="Expired").expect(200)
    stage.gone(given(permits))


def test_a_target_that_somebody_rewrote_is_repaired_and_goes(permits: Permits) -> None:
    """Who has the rights may change an unprotected target: it becomes again what was reviewed, and goes at the end."""
    stage = permits.stage
    stage.manager(permits=True)
    role = ref(f"{RBAC}/v1", "Role", "given", permits.home)
    policy = {"protect": False, "force": True}
    template = permits.template("roles", {"targets": [role | {"rules": READ}], "policy": policy}, maxDuration="1h")
    permit = active(permits, template)
    stage.api.merge_patch(role, {"rules": ALL}).expect(200)
    stage.becomes(role, lambda live: live["rules"] == READ)
    stage.api.delete(role).expect(200)
    stage.there(role)
    permits.patch(permit, phase="Expired").expect(200)
    stage.gone(role)
    permits.ended(permit)
