"""The lives of a permit: what the people do, what there must be after each step, and what the trail must say then.

| Life | What happens |
| --- | --- |
| KEPT | asked for, approved, given, disturbed and repaired, over by its own clock, forgotten when its record has been kept |
| RETRIED | asked for, approved, cannot be given and is rolled back, retried and given, ended by its reviewer, forgotten |
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from apis.copyhold.resourcepermit import KIND
from manager.permits import proof, vault
from tests.support.api import Manifest, Reply, eventually, ref
from tests.support.marks import hold_of, holders, manager_of
from tests.support.permits import LOCAL, Permits
from tests.support.player import Player
from tests.support.rights import NAMESPACE
from tests.support.running import Clock
from tests.support.stage import RBAC, VERSION, group

ADMISSION = "admissionregistration.k8s.io/v1"

Step = tuple[str, str]
"""Type and reason of a transition."""

QUIET = frozenset({"resourcepermittemplates"})
"""What a manager may write beside permits: another one judges the template, whenever it gets to that."""

FORGOTTEN = ""
"""The phase of a permit that is not there any more."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """What someone does, and what there must be afterwards: the phase, the access, and the whole trail."""

    title: str
    act: "Callable[[PermitStory], object]"
    phase: str
    given: bool = False
    trail: tuple[Step, ...] = ()
    quiet: bool = False  # here it is tried that another manager finds nothing to do

    def then(self, title: str, act: "Callable[[PermitStory], object]", phase: str, *steps: Step, **more: bool) -> "Chapter":
        """The next chapter: its trail goes on from this one."""
        return Chapter(title, act, phase, trail=self.trail + steps, **more)


class PermitStory:
    """One namespace in which the lives are told again and again, each with a permit of its own."""

    def __init__(self, permits: Permits) -> None:
        self.permits = permits
        self.stage = permits.stage
        self.clock = Clock()
        self._targets = {target["kind"]: target for target in _targets(permits.home)}
        self._closing()
        self._template = self._offer()
        self.permit: Manifest = {}

    def _offer(self) -> Manifest:
        """A template, which a manager still has to judge: see `prepare`."""
        policy = {"protect": False, "force": True}
        spec = {
            "impersonation": {"name": self.permits.account},
            "defaultDuration": "1h",
            "keepFor": "10h",
            "resources": [group(*self._targets.values(), policy=policy)],
        }
        return self.stage.create(ref(VERSION, LOCAL, self.stage.name("story"), self.permits.home) | {"spec": spec})

    def _closing(self) -> None:
        """A policy that refuses ConfigMaps while the namespace is labelled `closed`; a trial it lets pass."""
        name, home = self.stage.name("closed"), self.permits.home
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        open_ = "(has(request.dryRun) && request.dryRun) || !('closed' in namespaceObject.metadata.labels)"
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": open_, "reason": "Forbidden", "message": "this namespace is closed"}],
        }
        self.stage.create(ref(ADMISSION, "ValidatingAdmissionPolicy", name) | {"spec": spec})
        here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": home}}}
        bound = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
        self.stage.create(ref(ADMISSION, "ValidatingAdmissionPolicyBinding", name) | {"spec": bound})
        self.shut(closed=True)
        self.shut(closed=False)

    # What people do.

    def begin(self) -> None:
        """Back to the present, for another permit, in an open namespace."""
        self.clock.passed = timedelta(0)
        self.permit = {}

    def ask(self) -> None:
        """Alice asks."""
        self.permit = self.permits.ask(self._template, reason="a story").expect(201).body

    def approve(self) -> None:
        """Bob approves what he has seen."""
        digest = self._live().expect(200).body["status"]["request"]["digest"]
        self.permits.approve(self.permit, review={"digest": digest, "message": "fine"})

    def approve_in_vain(self) -> None:
        """Bob approves, and what is to be made is refused."""
        self.shut(closed=True)
        self.approve()

    def retry(self) -> None:
        """The obstacle goes, and bob lets it be tried again."""
        self.shut(closed=False)
        self.permits.patch(self.permit, phase="Retrying").expect(200)

    def disturb(self) -> None:
        """An administrator changes one target and removes another."""
        self.stage.api.merge_patch(self._targets["ConfigMap"], {"data": {"for": "somebody else"}}).expect(200)
        self.stage.api.delete(self._targets["Role"]).expect(200)

    def end(self) -> None:
        """Bob ends it."""
        self.permits.patch(self.permit, phase="Expired").expect(200)

    def pass_the_end(self) -> None:
        """The time of the access is over."""
        self.clock.forward(hours=2)

    def pass_the_keeping(self) -> None:
        """The time of the record is over."""
        self.clock.forward(days=1)

    def shut(self, *, closed: bool) -> None:
        """Close the namespace for ConfigMaps, or open it; in force when this returns."""
        change = {"metadata": {"labels": {"closed": "yes" if closed else None}}}
        self.stage.api.merge_patch(ref("v1", "Namespace", self.permits.home), change).expect(200)
        eventually(partial(self._tried, 403 if closed else 201))

    def _tried(self, wanted: int) -> bool:
        probe = ref("v1", "ConfigMap", "probe", self.permits.home)
        status = self.stage.api.create(probe).expect(201, 403).status
        if status == 201:
            self.stage.api.delete(probe).expect(200)
        return status == wanted

    # What is there.

    def unready(self) -> str:
        """Why the template cannot be used yet; empty when it can."""
        status = self.stage.read(self._template).get("status") or {}
        ready = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
        return "" if ready and ready[0]["status"] == "True" else f"the template says {ready}"

    def difference(self, chapter: Chapter) -> str:
        """What is not yet as it must be; empty when all is."""
        reply = self._live()
        status = reply.body.get("status") or {} if reply.status == 200 else {}
        if reply.status not in (200, 404) or (reply.status == 404) != (chapter.phase == FORGOTTEN):
            return f"the permit answers {reply.status}"
        if status.get("phase", FORGOTTEN) != chapter.phase:
            return f"the phase is {status.get('phase')}: {status.get('conditions')}"
        if chapter.given:
            wrong = [kind for kind, target in self._targets.items() if not self._stands(target)]
        else:
            wrong = [kind for kind, target in self._targets.items() if self.stage.api.get(target).status != 404]
        if wrong:
            return f"{wrong} are not as they must be: {status.get('conditions')}"
        ready = {each["type"]: each["status"] for each in status.get("conditions") or ()}.get("Ready")
        wanted = {FORGOTTEN: None, "Failed": "False"}.get(chapter.phase, "True")
        return "" if ready == wanted else f"Ready is {ready}: {status['conditions']}"

    def _stands(self, target: Manifest) -> bool:
        """Is a target there as it was given?"""
        reply = self.stage.api.get(target)
        if reply.status == 404:
            return False
        found = reply.expect(200).body
        assert hold_of(found, self.permit) == "created"
        assert manager_of(self.permit) in holders(found)
        wanted = _content(target)
        return {field: found.get(field) for field in wanted} == wanted

    def check(self, chapter: Chapter) -> None:
        """What must hold beside: each step was recorded once, all is proved, and nothing is left behind."""
        secret = ref("v1", "Secret", vault.name_of(self.permit), NAMESPACE)
        if chapter.phase == FORGOTTEN:
            self.stage.api.get(secret).expect(404)
            return
        self.stage.api.get(secret).expect(200)
        live = self._live().expect(200).body
        made = [(each["type"], each["reason"]) for each in live["status"]["transitions"]]
        assert made == list(chapter.trail)
        assert proof.check(live, self.permits.office.keyring.public) == []

    def _live(self) -> Reply:
        return self.stage.api.get(ref(VERSION, KIND.kind, self.permit["metadata"]["name"], self.permits.home))

    # At the end.

    def close(self) -> None:
        """Clear the place, also when a telling ended in the middle."""
        if self.permit:
            self.stage.api.delete(self.permit).expect(200, 404)
            eventually(self._let_go)
        self.stage.close()

    def _let_go(self) -> bool:
        reply = self._live()
        if reply.status == 200:
            self.stage.api.merge_patch(self.permit, {"metadata": {"finalizers": None}}).expect(200, 404, 409)
        return reply.status == 404


def _targets(home: str) -> list[Manifest]:
    """What the permit gives: rights, a setting and a password."""
    role = ref(f"{RBAC}/v1", "Role", "story", home)
    role["rules"] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    binding = ref(f"{RBAC}/v1", "RoleBinding", "story", home)
    binding["roleRef"] = {"apiGroup": RBAC, "kind": "Role", "name": "story"}
    binding["subjects"] = [{"apiGroup": RBAC, "kind": "User", "name": "alice"}]
    setting = ref("v1", "ConfigMap", "story", home) | {"data": {"for": "alice"}}
    password = ref("v1", "Secret", "story", home) | {"type": "Opaque", "data": {"password": "c2VzYW1l"}}
    return [role, binding, setting, password]


def _content(target: Manifest) -> Manifest:
    return {field: value for field, value in target.items() if field not in ("apiVersion", "kind", "metadata")}


# The lives.

_ASKED = Chapter("asked for", PermitStory.ask, "Requested", trail=(("Created", "CreatedByUser"), ("Requested", "PendingReview")))
_BEGUN = (("Approved", "ApprovedByUser"), ("Approved", "ActivationBegun"))
_GIVEN = ("Active", "ActivatedBySystem")


def _kept() -> tuple[Chapter, ...]:
    given = _ASKED.then("given", PermitStory.approve, "Active", *_BEGUN, _GIVEN, given=True)
    repaired = given.then("repaired", PermitStory.disturb, "Active", given=True, quiet=True)
    over = repaired.then("over", PermitStory.pass_the_end, "Expired", ("Expired", "ExpiredBySystem"))
    return _ASKED, given, repaired, over, over.then("forgotten", PermitStory.pass_the_keeping, FORGOTTEN)


def _retried() -> tuple[Chapter, ...]:
    failed = _ASKED.then("rolled back", PermitStory.approve_in_vain, "Failed", *_BEGUN, ("Failed", "ResourceApplyFailed"))
    again = (("Retrying", "RetryPermittedByUser"), ("Approved", "RetrySucceeded"), ("Approved", "ActivationBegun"), _GIVEN)
    given = failed.then("given after all", PermitStory.retry, "Active", *again, given=True)
    over = given.then("ended", PermitStory.end, "Expired", ("Expired", "ExpiredByUser"), quiet=True)
    return _ASKED, failed, given, over, over.then("forgotten", PermitStory.pass_the_keeping, FORGOTTEN)


KEPT, RETRIED = _kept(), _retried()


# Telling them.


async def prepare(story: PermitStory, player: Player) -> None:
    """Let a manager that meets no fault judge the template."""
    await player.begin()
    await player.until(story.unready)
    await player.end()


async def tell(story: PermitStory, life: Sequence[Chapter], player: Player, hit: Callable[[], object]) -> None:
    """A whole life under one fault: after each chapter the world is as it must be, and then there is nothing left to write.

    `hit` says where the fault has struck, if it has by now.
    """
    story.begin()
    await player.begin()
    try:
        for chapter in life:
            await asyncio.to_thread(chapter.act, story)
            player.wake()
            await player.until(partial(story.difference, chapter))
            await asyncio.to_thread(story.check, chapter)
            if chapter.quiet:
                await _a_further_run_writes_nothing(story, chapter, player, hit)
    finally:
        await player.end()


async def _a_further_run_writes_nothing(story: PermitStory, chapter: Chapter, player: Player, hit: Callable[[], object]) -> None:
    """By a manager that meets no fault; one that does may say so in a status, and writes no target either.

    The one before may have been told to write its status later (429): then the first finishes that, the second writes nothing.
    """
    spare = 1
    while True:
        before, struck = len(player.lives), hit()
        await player.again()
        await player.settle()
        written = [call for life in player.lives[before:] for call in life.faulty.writes if call.resource.plural not in QUIET]
        if hit() == struck and (not written or not spare):
            assert written == [], [(str(call), call.body) for call in written]
            return
        if hit() == struck:
            spare -= 1
            continue
        assert [str(call) for call in written if call.resource.plural != "resourcepermits"] == []
        await player.until(partial(story.difference, chapter))
