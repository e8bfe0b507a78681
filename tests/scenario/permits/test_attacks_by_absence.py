"""Taking away what a permit stands on: the permit itself, its template, account, namespace, kind, and the admission server."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tests.scenario.permits.tampering import absent, active, given, look, refused
from tests.support.api import Manifest, Reply, eventually, ref
from tests.support.permits import LOCAL, RULES, Permits, config_map
from tests.support.process import Place
from tests.support.stage import RBAC, VERSION
from tests.support.stage import config_map as a_map

READ = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def soon() -> str:
    """In an hour."""
    return (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


# The permit, in every phase.


def created(permits: Permits) -> Manifest:
    """One that cannot be prepared."""
    template = permits.template("created", {"targets": [ref("v1", "Namespace", "seized")]}, keepFor="1h")
    return permits.asked(template, "Created")


def requested(permits: Permits) -> Manifest:
    """One that waits for its review."""
    return permits.asked(permits.template("requested", _secretive("requested"), keepFor="1h"))


def approved(permits: Permits) -> Manifest:
    """One that waits for its start."""
    permit = permits.asked(permits.template("approved", _secretive("approved"), maxDuration="1h", keepFor="1h"), startTime=soon())
    return permits.approve(permit)


def given_now(permits: Permits) -> Manifest:
    """One that is active."""
    return active(permits, permits.template("active", _secretive("active"), maxDuration="1h", keepFor="1h"))


def denied(permits: Permits) -> Manifest:
    """One that was denied."""
    permit = permits.asked(permits.template("denied", _secretive("denied"), keepFor="1h"))
    body: Manifest = permits.patch(permit, phase="Denied").expect(200).body
    return body


def failed(permits: Permits) -> Manifest:
    """One whose trial failed."""
    permits.stage.create(ref("v1", "ConfigMap", "theirs", permits.home))
    return permits.asked(permits.template("failed", config_map("theirs"), keepFor="1h"), "Failed")


def expired(permits: Permits) -> Manifest:
    """One that is over, and kept as a record."""
    permit = active(permits, permits.template("expired", _secretive("expired"), maxDuration="1h", keepFor="1h"))
    permits.patch(permit, phase="Expired").expect(200)
    permits.stage.gone(ref("v1", "Secret", "expired", permits.home))
    return permits.reaches(permit, "Expired")


def _secretive(name: str) -> Manifest:
    """A Secret, whose clear value is kept in the manager's namespace."""
    return {"targets": [ref("v1", "Secret", name) | {"stringData": {"key": "value"}}]}


PHASES: Mapping[Callable[[Permits], Manifest], bool] = {
    created: True,
    requested: True,
    approved: False,
    given_now: False,
    denied: False,
    failed: False,
    expired: False,
}
"""Each phase, and whether somebody without special rights may delete a permit in it."""


def vaults(permits: Permits, permit: Manifest) -> list[Manifest]:
    """The Secrets with the clear values of a permit."""
    label = f"copyhold.dev/permit={permit['metadata']['uid']}"
    listed = permits.stage.api.list("v1", "Secret", "copyhold-system", labelSelector=label).expect(200)
    items: list[Manifest] = listed.body["items"]
    return items


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
def test_a_permit_is_not_dropped_to_hide_it_and_leaves_nothing_when_it_goes(
    permits: Permits, phase: Callable[[Permits], Manifest]
) -> None:
    """Whoever may delete permits deletes what nobody decided about; an administrator any, and everything goes with it."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = phase(permits)
    carol = permits.requester("carol")
    reply = permits.as_(carol).delete(permit)
    if PHASES[phase]:
        reply.expect(200, 202)
    else:
        assert "cannot be deleted" in refused(reply, 403)
        assert "deletionTimestamp" not in stage.read(permit)["metadata"]
        stage.api.delete(permit).expect(200, 202)
    eventually(lambda: not stage.api.list("v1", "Secret", permits.home).expect(200).body["items"])
    manager.clock.forward(hours=3)  # the record of what was decided is kept for its time
    look(manager)
    permits.ended(permit)
    eventually(lambda: not vaults(permits, permit))


def test_a_namespace_that_goes_takes_every_permit_and_all_that_was_given(permits: Permits) -> None:
    """No phase holds the namespace up, and what was given elsewhere goes too, though account and template went first."""
    stage = permits.stage
    stage.manager(permits=True)
    role = ref(f"{RBAC}/v1", "ClusterRole", stage.name("given"))
    elsewhere = permits.global_template("everywhere", {"targets": [role | {"rules": READ}]}, config_map("here", permits.home))
    found = [phase(permits) for phase in PHASES] + [active(permits, elsewhere)]
    stage.read(role)
    stage.api.delete(ref("v1", "Namespace", permits.home)).expect(200, 202)
    stage.gone(role, timeout=60)
    for permit in found:
        permits.ended(permit, timeout=60)
        eventually(lambda permit=permit: not vaults(permits, permit))
    stage.gone(ref("v1", "Namespace", permits.home), timeout=60)


def test_an_active_permit_needs_nothing_but_itself_to_end(permits: Permits) -> None:
    """Template, context, account and the role that it gives are deleted: the access ends on time all the same."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    clerk = stage.service_account("clerk")
    stage.grant(clerk, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    source = stage.create(a_map("source", {"a": "b"}, permits.home))
    role = stage.create(ref(f"{RBAC}/v1", "Role", "powers", permits.home) | {"rules": READ})
    subject = {"apiGroup": RBAC, "kind": "User", "name": "{{ request.username }}"}
    reference = {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "powers"}, "subjects": [subject]}
    binding = ref(f"{RBAC}/v1", "RoleBinding", "access", permits.home)
    copied = a_map("copied", {"a": "{{ context.s[0].data.a }}"})
    query = {"index": "s", "apiVersion": "v1", "kind": "ConfigMap", "name": "source"}
    groups = ({"targets": [binding | reference]}, {"targets": [copied], "context": {"resources": [query]}})
    template = permits.template("access", *groups, impersonation={"name": clerk.name}, maxDuration="1h")
    permit = active(permits, template)
    for one in (template, source, role, ref("v1", "ServiceAccount", clerk.name, permits.home)):
        stage.delete(one)
    manager.restart()
    look(manager)
    manager.idle()
    stage.read(binding)
    manager.clock.forward(hours=2)
    look(manager)
    stage.gone(binding)
    stage.gone(given(permits, "copied"))
    permits.ended(permit)


@pytest.mark.parametrize("kind", ["template", "context", "account"])
def test_what_a_permit_waits_for_may_be_deleted_before_its_review(permits: Permits, kind: str) -> None:
    """A reviewed snapshot needs no context; without its template or its account it fails and gives nothing."""
    stage = permits.stage
    stage.manager(permits=True)
    clerk = stage.service_account("clerk")
    stage.grant(clerk, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    source = stage.create(a_map("source", {"a": "b"}, permits.home))
    query = {"index": "s", "apiVersion": "v1", "kind": "ConfigMap", "name": "source"}
    copied = {"targets": [a_map("temporary", {"a": "{{ context.s[0].data.a }}"})], "context": {"resources": [query]}}
    template = permits.template("copies", copied, impersonation={"name": clerk.name})
    permit = permits.asked(template)
    account = ref("v1", "ServiceAccount", clerk.name, permits.home)
    stage.delete({"template": template, "context": source, "account": account}[kind])
    permits.approve(permit)
    if kind == "context":
        permits.reaches(permit, "Active")
        assert stage.read(given(permits))["data"] == {"a": "b"}
    else:
        permits.reaches(permit, "Failed")
        absent(permits, given(permits))


# The kind.


@pytest.fixture
def lonely(place: Place) -> Iterator[Place]:
    """A control plane with one replica that serves admission, and the kind of the permits again afterwards."""
    definition = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "resourcepermits.copyhold.dev")
    before = place.api.get(definition).expect(200).body
    place.end()
    try:
        place.replica("--admission-url", "https://127.0.0.1:0").ready()
        yield place
    finally:
        place.end()
        for kind in ("Mutating", "Validating"):
            hook = ref("admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration", "copyhold")
            place.api.delete(hook).expect(200, 404)
        fresh = definition | {"spec": before["spec"]}
        eventually(lambda: place.api.create(fresh).status in (201, 409))
        eventually(lambda: place.api.list(VERSION, "ResourcePermit").expect(200))


def test_a_kind_that_is_deleted_takes_along_what_was_given(lonely: Place) -> None:
    """Whoever deletes the definition of the permits while one is active deletes the access with it."""
    api = lonely.api
    space = lonely.namespace(lonely.tenant())
    api.create(ref("v1", "ServiceAccount", "giver", space)).expect(201)
    subject = {"kind": "ServiceAccount", "name": "giver", "namespace": space}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    api.create(ref(f"{RBAC}/v1", "RoleBinding", "giver", space) | {"roleRef": reference, "subjects": [subject]}).expect(201)
    binding = ref(f"{RBAC}/v1", "RoleBinding", "given", space)
    given_role = {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}, "subjects": [_alice()]}
    spec = {
        "impersonation": {"name": "giver"},
        "approvals": {"auto": True},
        "defaultDuration": "1h",
        "resources": [{"targets": [binding | given_role]}],
    }
    template = api.create(ref(VERSION, LOCAL, "gives", space) | {"spec": spec}).expect(201).body
    lonely.ready(template)
    permit = ref(VERSION, "ResourcePermit", "permit", space) | {"spec": {"template": {"kind": LOCAL, "name": "gives"}}}
    eventually(lambda: api.create(permit).expect(201))
    eventually(lambda: api.get(binding).expect(200), timeout=40)
    api.delete(ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "resourcepermits.copyhold.dev")).expect(200)
    eventually(lambda: api.get(binding).expect(404), timeout=40)
    definition = ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "resourcepermits.copyhold.dev")
    eventually(lambda: api.get(definition).expect(404), timeout=40)
    api.delete(ref("v1", "Namespace", space)).expect(200)


def _alice() -> Manifest:
    return {"apiGroup": RBAC, "kind": "User", "name": "alice"}


# The admission server.


@dataclass
class Outage:
    """The admission server, ended and begun again."""

    permits: Permits
    lasts: bool = False

    def begin(self) -> None:
        """It does not listen any more."""
        self.permits.office.stop()
        self.lasts = True

    def end(self) -> None:
        """It listens again, on the same port, and the server knows."""
        if self.lasts:
            self.permits.office.start()
            self.lasts = False
            eventually(lambda: self.permits.ask(_nobody()).status == 422)


@pytest.fixture
def outage(permits: Permits) -> Iterator[Outage]:
    """One that is over after the test."""
    made = Outage(permits)
    yield made
    made.end()


def _nobody() -> Manifest:
    return ref(VERSION, LOCAL, "nobody")


def test_without_admission_nothing_is_asked_for_and_nothing_lasts_longer(permits: Permits, outage: Outage) -> None:
    """Requests and transitions are refused in words; what was decided goes its way, and every end comes on time."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template("lasting", config_map("lasting"), maxDuration="8h", approvals={"deadline": "30m"})
    waiting = permits.asked(template)
    brief = active(permits, permits.template("brief", config_map("brief"), maxDuration="30m"))
    later = permits.asked(permits.template("later", config_map("later"), maxDuration="30m"), startTime=soon())
    permits.approve(later)
    stuck = permits.asked(permits.template("stuck", {"targets": [ref("v1", "Namespace", "seized")]}), "Created")
    outage.begin()

    for reply in (
        permits.ask(template),
        permits.patch(waiting, phase="Approved"),
        permits.patch(waiting, phase="Denied"),
        permits.patch(brief, phase="Expired"),
        permits.patch(stuck, phase="Expired"),
        permits.patch(later, phase="Active"),
    ):
        _unanswered(reply)
    assert stage.read(waiting)["status"] == waiting["status"]

    manager.restart()
    manager.clock.forward(minutes=61)
    look(manager)
    permits.ended(brief)
    stage.gone(given(permits, "brief"))
    permits.ended(waiting)
    absent(permits, given(permits, "lasting"))
    permits.reaches(later, "Active")
    stage.read(given(permits, "later"))
    manager.clock.forward(minutes=31)
    look(manager)
    permits.ended(later)
    stage.gone(given(permits, "later"))
    permits.as_(permits.alice).delete(stuck).expect(200, 202)
    permits.ended(stuck)


def _unanswered(reply: Reply) -> None:
    """The server says which webhook did not answer."""
    message = reply.expect(500, 503, 504).message
    assert "copyhold" in message
    assert "webhook" in message


def test_without_admission_everything_else_goes_on(permits: Permits, outage: Outage) -> None:
    """Objects, parents and metadata of permits are nobody's business there; a permit that waits can be dropped."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(permits.template("waits"))
    stage.grant_user(permits.alice, [{**RULES[0], "verbs": ["patch"]}], permits.home)
    outage.begin()
    stage.create(a_map("plain", {"a": "b"}, permits.home))
    targets = [{"targets": [a_map("global", {"a": "b"}, permits.home)]}]
    stage.ready(stage.global_resource("parent", *targets, scope="None"))
    permits.as_(permits.alice).merge_patch(permit, {"metadata": {"labels": {"a": "b"}}}).expect(200)
    permits.as_(permits.alice).delete(permit).expect(200, 202)
    permits.ended(permit)


def test_what_was_refused_without_admission_is_done_with_it(permits: Permits, outage: Outage) -> None:
    """When the server is back, on the same port, the same requests pass; nothing of the outage stays behind."""
    stage = permits.stage
    stage.manager(permits=True)
    template = permits.template("back")
    permit = permits.asked(template)
    outage.begin()
    _unanswered(permits.patch(permit, phase="Approved"))
    outage.end()
    permits.approve(permit)
    permits.reaches(permit, "Active")
    assert [each["type"] for each in stage.read(permit)["status"]["transitions"]].count("Approved") == 2
