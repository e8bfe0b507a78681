"""Apply conditions: when a target may be written, and what its marks do meanwhile (10.3.3, 4, 9, 12, 13).

Where we differ from the model: an unreadable or failing condition names no detail of the object, as there; the key rotation of
12 uses Jinja, and its marker annotation is what the condition reads.
"""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.api import Api, Manifest, eventually, ref
from tests.support.marks import hold_of, manager_of, marks, owns
from tests.support.running import Running
from tests.support.stage import VERSION, Stage, config_map, group

SKIPPED = "ConditionNotMet: apply skipped"
ORPHAN = {"deletion": "Orphan"}


def once(stage: Stage, word: str, *groups: Manifest, **spec: object) -> Manifest:
    """A GlobalTenantResource whose groups are rendered once."""
    return stage.global_resource(word, *groups, scope="None", **spec)


def here(stage: Stage, name: str, **data: str) -> Manifest:
    """A ConfigMap in the namespace of the stage."""
    return config_map(name, dict(data), stage.home)


def status(stage: Stage, parent: Manifest, target: str) -> Manifest:
    """The status of one processed item."""
    found: Manifest = stage.items(parent)[target]["status"]
    return found


def after(manager: Running, **by: float) -> str:
    """A condition that holds while there is no object, and then from some time on, by the manager's clock."""
    moment = (manager.clock() + timedelta(**by)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"object == null || now >= timestamp('{moment}')"


def writes_to(manager: Running, mark: int, plural: str = "configmaps") -> list[str]:
    """The writes to a resource since then."""
    return [f"{sent.method} {sent.path}" for sent in manager.writes_since(mark) if f"/{plural}/" in sent.path]


# While it is false.


def test_protection_follows_the_policy_while_the_condition_is_false(stage: Stage) -> None:
    """10.3.3, 10.3.4: switching `protect` off and on changes marks alone; content, annotations and lastApply stay as they are."""
    manager = stage.manager()
    condition = after(manager, hours=1)

    def wanted(text: str, *, protect: bool) -> list[Manifest]:
        target = here(stage, "x", text=text)
        target["metadata"]["annotations"] = {"example.com/text": text}
        return [group(target, policy={"condition": condition, "protect": protect})]

    parent = once(stage, "guards", *wanted("first", protect=True))
    stage.ready(parent)
    uid = parent["metadata"]["uid"]
    protecting = {"copyhold.dev/protected", f"target.copyhold.dev/{uid}"}
    first = stage.read(here(stage, "x"))
    applied = status(stage, parent, f"ConfigMap {stage.home}/x")["lastApply"]
    assert marks(first) >= protecting
    manager.clock.forward(minutes=5)
    for protect in (False, True, False):
        stage.edit(parent, resources=wanted("second", protect=protect))
        stage.ready(parent)
        live = stage.read(here(stage, "x"))
        assert (protecting <= marks(live), bool(protecting & marks(live))) == (protect, protect)
        assert live["data"] == {"text": "first"}
        assert live["metadata"]["annotations"]["example.com/text"] == "first"
        assert live["metadata"]["uid"] == first["metadata"]["uid"]
        assert owns(live, manager_of(parent), "data", "text")
        assert hold_of(live, parent) == "created"
        item = status(stage, parent, f"ConfigMap {stage.home}/x")
        assert (item["lastApply"], item["message"], item["policy"]["protect"]) == (applied, SKIPPED, protect)
    manager.idle()
    mark = len(manager.sent)
    stage.nudge(parent)
    manager.idle()
    assert writes_to(manager, mark) == []
    manager.clock.forward(hours=2)
    stage.nudge(parent)
    live = stage.becomes(here(stage, "x"), lambda live: live["data"] == {"text": "second"})
    assert not protecting & marks(live)
    stage.api.merge_patch(live, {"data": {"other": "1"}}).expect(200)


def test_the_deletion_policy_changes_while_the_condition_is_false(stage: Stage) -> None:
    """10.3.3: `deletion` takes effect for a later end, without a write to the target."""
    manager = stage.manager()
    condition = after(manager, hours=1)
    parent = once(stage, "turns", group(here(stage, "x", text="first"), policy={"condition": condition}))
    stage.ready(parent)
    before = stage.read(here(stage, "x"))
    stage.edit(parent, resources=[group(here(stage, "x", text="second"), policy={"condition": condition, **ORPHAN})])
    stage.ready(parent)
    item = status(stage, parent, f"ConfigMap {stage.home}/x")
    assert (item["message"], item["policy"]["deletion"]) == (SKIPPED, "Orphan")
    assert stage.read(before) == before
    stage.delete(parent)
    left = stage.read(before)
    assert (left["metadata"]["uid"], left["data"]) == (before["metadata"]["uid"], {"text": "first"})
    assert marks(left) == set()


def test_a_foreign_object_is_not_even_adopted(stage: Stage) -> None:
    """10.3.13: while the condition is false an existing object gets neither content nor marks, and no lastApply is shown."""
    foreign = stage.create(here(stage, "x", theirs="1"))
    stage.manager()
    policy = {"creation": "Merge", "condition": "object == null"}
    parent = once(stage, "waits", group(here(stage, "x", ours="1"), policy=policy))
    stage.ready(parent)
    item = status(stage, parent, f"ConfigMap {stage.home}/x")
    assert (item["status"], item["reason"], item["message"]) == ("True", "ConditionNotMet", SKIPPED)
    assert "lastApply" not in item
    assert stage.read(foreign) == foreign
    stage.delete(parent)
    assert stage.read(foreign) == foreign


PINNED = "object == null || !has(object.metadata.labels) || !('pinned' in object.metadata.labels)"


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_skipped_target_is_looked_at_when_its_object_changes(stage: Stage, whose: str) -> None:
    """10.3.3: what a condition reads is watched, whether we hold the object or not: taking the pin off is followed at once."""
    pin = {"metadata": {"labels": {"pinned": "yes"}}}
    if whose == "theirs":
        stage.create(here(stage, "x", theirs="1") | {"metadata": {"name": "x", "namespace": stage.home, **pin["metadata"]}})
    manager = stage.manager()
    policy = {"creation": "Merge", "protect": False, "condition": PINNED}
    parent = once(stage, "pinned", group(here(stage, "x", ours="1"), policy=policy), resyncPeriod="0s")
    stage.ready(parent)
    stage.api.merge_patch(here(stage, "x"), pin).expect(200)
    stage.edit(parent, resources=[group(here(stage, "x", ours="2"), policy=policy)])
    stage.ready(parent)
    assert stage.read(here(stage, "x"))["data"].get("ours") == {"ours": "1", "theirs": None}[whose]
    manager.idle()
    stage.api.merge_patch(here(stage, "x"), {"metadata": {"labels": {"pinned": None}}}).expect(200)
    stage.becomes(here(stage, "x"), lambda live: live["data"].get("ours") == "2")


def test_a_target_that_waits_for_an_object_to_exist_sees_it_come(stage: Stage) -> None:
    """10.3.13: under `object != null` the creation by somebody else is followed at once by our adoption."""
    stage.manager()
    policy = {"creation": "Merge", "condition": "object != null"}
    parent = once(stage, "waits", group(here(stage, "x", ours="1"), policy=policy), resyncPeriod="0s")
    stage.ready(parent)
    stage.create(here(stage, "x", theirs="1"))
    live = stage.becomes(here(stage, "x"), lambda live: "ours" in live["data"])
    assert live["data"] == {"theirs": "1", "ours": "1"}
    assert hold_of(live, parent) == "adopted"


# What a condition may be.


def padded(length: int) -> str:
    """A condition of exactly this many characters, which is true."""
    frame = "object == null || '' != ''"
    return frame.replace("'' != ''", f"'{'x' * (length - len(frame))}' != ''")


def test_a_condition_may_have_4096_characters(stage: Stage) -> None:
    """10.3.9: 4096 characters are accepted and evaluated, 4097 are refused by the API server."""
    assert (len(padded(4096)), len(padded(4097))) == (4096, 4097)
    stage.manager()
    parent = once(stage, "long", group(here(stage, "x", a="1"), policy={"condition": padded(4096)}))
    stage.ready(parent)
    assert stage.read(here(stage, "x"))["data"] == {"a": "1"}
    refused = stage.api.merge_patch(
        parent, {"spec": {"resources": [group(here(stage, "x", a="1"), policy={"condition": padded(4097)})]}}
    ).expect(422)
    assert "spec.resources[0].policy.condition" in refused.message
    assert "4096" in refused.message


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        pytest.param("object ==", "does not compile", id="no CEL"),
        pytest.param("size(object.data)", "does not compile to a boolean", id="no boolean"),
        pytest.param("self == null", "does not compile", id="an unknown variable"),
    ],
)
def test_a_condition_that_means_nothing_holds_the_parent(stage: Stage, condition: str, words: str) -> None:
    """10.3.9: what is no boolean CEL over `object` and `now` is the author's mistake: Stalled, with the place in the message."""
    stage.manager()
    parent = once(stage, "wrong", group(here(stage, "x", a="1"), policy={"condition": condition}))
    ready = stage.ready(parent, "False")
    assert ready["reason"] == "Invalid"
    assert words in ready["message"]
    assert "policy.condition" in ready["message"]
    assert stage.condition(parent, "Stalled")["status"] == "True"
    assert stage.api.get(here(stage, "x")).status == 404


def test_an_empty_condition_is_refused(stage: Stage) -> None:
    """10.3.9: an empty text is no condition (the model takes it for unset): the author is asked to omit the field."""
    for condition in ("", "  \n"):
        body = ref(VERSION, "GlobalTenantResource", stage.name("empty")) | {
            "spec": {"scope": "None", "resources": [group(here(stage, "x"), policy={"condition": condition})]}
        }
        refused = stage.api.create(body, dryRun="All").expect(422)
        assert "omit the field" in refused.message


def test_a_failing_condition_concerns_its_target_alone(stage: Stage) -> None:
    """10.3.12: a target whose condition fails is left as it is; others are applied, and what is not wanted goes."""
    opaque = stage.create(here(stage, "opaque", a="theirs"))
    stage.manager()
    fails = group(here(stage, "opaque", a="ours"), policy={"creation": "Merge", "condition": "object.data.missing == 'x'"})
    parent = once(stage, "fails", fails, group(here(stage, "fine", a="1"), here(stage, "gone", a="1")))
    stage.ready(parent, "False")
    stage.edit(parent, resources=[fails, group(here(stage, "fine", a="2"))])
    ready = stage.ready(parent, "False")
    assert "applying of 1 resources failed" in ready["message"]
    item = status(stage, parent, f"ConfigMap {stage.home}/opaque")
    assert (item["status"], item["reason"]) == ("False", "ConditionEvaluationFailed")
    assert item["message"] == "ConditionEvaluationFailed: expression could not be evaluated"
    assert stage.read(opaque) == opaque
    assert stage.read(here(stage, "fine"))["data"] == {"a": "2"}
    assert stage.api.get(here(stage, "gone")).status == 404


def test_an_account_that_may_not_read_the_target_skips_it(stage: Stage) -> None:
    """10.3.12: forbidden is not absent: `object == null` of a target that cannot be read is no reason to create it."""
    blind = stage.service_account("blind")
    stage.grant(blind, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch", "delete"]}])
    stage.manager()
    account = {"name": blind.name, "namespace": blind.namespace}
    target = group(here(stage, "x", a="1"), policy={"condition": "object == null"})
    parent = once(stage, "blind", target, serviceAccount=account)
    ready = stage.ready(parent, "False")
    item = status(stage, parent, f"ConfigMap {stage.home}/x")
    assert (item["status"], item["reason"]) == ("False", "Forbidden")
    assert item["message"].startswith("reading condition target: ")
    assert "reading condition target" in ready["message"]
    assert stage.api.get(here(stage, "x")).status == 404
    stage.grant(blind, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
    stage.ready(parent, timeout=40)
    assert stage.read(here(stage, "x"))["data"] == {"a": "1"}


# Rotation.

ROTATED = "keys.example.com/rotated-at"
PERIOD = timedelta(hours=720)
CONDITION = (
    f"object == null || !has(object.metadata.annotations) || !('{ROTATED}' in object.metadata.annotations)"
    f" || now >= timestamp(object.metadata.annotations['{ROTATED}']) + duration('720h')"
)
TEMPLATE = """
{% set key = age_key() %}
apiVersion: v1
kind: Secret
metadata:
  name: keys
  namespace: HOME
  annotations: {keys.example.com/rotated-at: "{{ now }}"}
data:
  key-{{ random_string(8, 'abcdefgh') }}: {{ key.identity | b64encode | tojson }}
{% for secret in context.present %}{% for name, value in secret.data.items() %}
  {{ name }}: {{ value | tojson }}
{% endfor %}{% endfor %}
"""


def rotation(stage: Stage, *, force: bool = False) -> Manifest:
    """The group of the age-key example: a new key each period, with the older ones kept."""
    present = {"index": "present", "apiVersion": "v1", "kind": "Secret", "namespace": stage.home, "name": "keys"}
    return group(
        template=TEMPLATE.replace("HOME", stage.home),
        context={"resources": [present]},
        policy={"protect": False, "force": force, "condition": CONDITION},
    )


def keys_of(secret: Manifest) -> dict[str, str]:
    """The age identities of the Secret by name."""
    return {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}


class Rotating:
    """A parent that rotates an age key, after its first key."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.manager = stage.manager()
        self.began = self.manager.clock()
        self.parent = once(stage, "rotates", rotation(stage))
        stage.ready(self.parent)
        self.secret = ref("v1", "Secret", "keys", stage.home)
        self.item = f"Secret {stage.home}/keys"

    def look(self) -> Manifest:
        """Let the manager look again; the Secret as it is then."""
        self.stage.nudge(self.parent)
        self.manager.idle()
        return self.stage.read(self.secret)

    def annotate(self, moment: str) -> Manifest:
        """Somebody else writes the marker annotation."""
        patch = {"metadata": {"annotations": {ROTATED: moment}}}
        live: Manifest = self.alice.merge_patch(self.secret, patch, fieldManager="alices-editor").expect(200).body
        return live

    @property
    def alice(self) -> Api:
        """A user who may patch Secrets."""
        name = self.stage.name("alice")
        self.stage.grant_user(name, [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch"]}], self.stage.home)
        return self.stage.api.as_user(name)


def old(moment: datetime) -> str:
    """A time before the last period."""
    return (moment - 2 * PERIOD).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_key_is_rotated_after_its_period_and_older_keys_are_kept(stage: Stage) -> None:
    """10.3.12: the first run creates a key, before the period nothing is written, after it a further key joins."""
    rotating = Rotating(stage)
    first = stage.read(rotating.secret)
    assert [key.startswith("AGE-SECRET-KEY-1") for key in keys_of(first).values()] == [True]
    written = datetime.fromisoformat(first["metadata"]["annotations"][ROTATED])
    assert abs(written - rotating.began) < timedelta(minutes=1)
    rotating.manager.clock.forward(hours=719)
    mark = len(rotating.manager.sent)
    assert rotating.look() == first
    assert writes_to(rotating.manager, mark, "secrets") == []
    assert status(stage, rotating.parent, rotating.item)["message"] == SKIPPED
    rotating.manager.clock.forward(hours=2)
    second = rotating.look()
    assert len(keys_of(second)) == 2
    assert keys_of(first).items() <= keys_of(second).items()
    assert len(set(keys_of(second).values())) == 2
    rotated = datetime.fromisoformat(second["metadata"]["annotations"][ROTATED])
    assert rotated - written >= PERIOD
    assert rotating.look() == second
    rotating.manager.restart()
    assert rotating.look() == second


def test_an_edited_marker_is_a_conflict_and_force_takes_it_back(stage: Stage) -> None:
    """10.3.12: when somebody else wrote the marker annotation, the due rotation names field and holder, and force reclaims it."""
    rotating = Rotating(stage)
    first = stage.read(rotating.secret)
    edited = rotating.annotate(old(rotating.began))
    rotating.look()
    ready = stage.ready(rotating.parent, "False")
    item = status(stage, rotating.parent, rotating.item)
    assert item["reason"] == "FieldTaken"
    assert f"annotations.{ROTATED}" in item["message"]
    assert "'alices-editor'" in item["message"]
    assert "FieldTaken" in ready["message"]
    assert stage.read(rotating.secret) == edited
    stage.edit(rotating.parent, resources=[rotation(stage, force=True)])
    stage.ready(rotating.parent)
    live = stage.read(rotating.secret)
    assert keys_of(first).items() < keys_of(live).items()
    assert datetime.fromisoformat(live["metadata"]["annotations"][ROTATED]) >= rotating.began - timedelta(seconds=1)
    assert owns(live, manager_of(rotating.parent), "metadata", "annotations", ROTATED)


def test_an_unreadable_marker_blocks_writing_and_not_the_end(stage: Stage) -> None:
    """10.3.12: a timestamp that does not parse blocks updates of this target, and deleting the parent still removes it."""
    rotating = Rotating(stage)
    edited = rotating.annotate("the day before yesterday")
    assert rotating.look() == edited
    stage.ready(rotating.parent, "False")
    item = status(stage, rotating.parent, rotating.item)
    assert item["reason"] == "ConditionEvaluationFailed"
    assert "yesterday" not in str(stage.read(rotating.parent)["status"])
    rotating.manager.clock.forward(hours=2000)
    assert rotating.look() == edited
    stage.delete(rotating.parent)
    assert stage.api.get(rotating.secret).status == 404


# In a TenantResource.


def tenants_place(stage: Stage) -> str:
    """A namespace of a tenant whose `default` account may do everything."""
    namespace = stage.namespace("space", stage.tenant("solar"))
    everything: list[dict[str, Any]] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    stage.grant(stage.service_account("default", namespace), everything)
    return namespace


def test_a_tenant_resource_creates_once(stage: Stage) -> None:
    """10.3.13: with `object == null` a changed template is not applied, and what was deleted is made anew, from that template."""
    namespace = tenants_place(stage)
    stage.manager()
    policy = {"condition": "object == null", "protect": False}
    parent = stage.tenant_resource("once", namespace, group(config_map("x", {"a": "1"}), policy=policy))
    stage.ready(parent)
    target = config_map("x", namespace=namespace)
    first = stage.read(target)
    applied = status(stage, parent, f"ConfigMap {namespace}/x")["lastApply"]
    stage.edit(parent, resources=[group(config_map("x", {"a": "2"}), policy=policy)])
    stage.ready(parent)
    assert stage.read(target) == first
    item = status(stage, parent, f"ConfigMap {namespace}/x")
    assert (item["status"], item["message"], item["lastApply"], item["created"]) == ("True", SKIPPED, applied, True)
    stage.api.delete(target, preconditions={"uid": first["metadata"]["uid"]}).expect(200)
    again = stage.becomes(target, lambda live: live["data"] == {"a": "2"})
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert hold_of(again, parent) == "created"


def test_a_tenant_resource_writes_nothing_while_its_condition_is_false(stage: Stage) -> None:
    """10.3.13: a target that is never wanted is recorded as skipped, and nothing is written; a group beside it is applied."""
    namespace = tenants_place(stage)
    manager = stage.manager()
    never = group(config_map("never", {"a": "1"}), policy={"condition": "object != null"})
    parent = stage.tenant_resource("never", namespace, never, group(config_map("beside", {"a": "1"})))
    stage.ready(parent)
    item = status(stage, parent, f"ConfigMap {namespace}/never")
    assert (item["status"], item["reason"], item["message"]) == ("True", "ConditionNotMet", SKIPPED)
    assert "lastApply" not in item
    assert stage.api.get(config_map("never", namespace=namespace)).status == 404
    assert writes_to(manager, 0) == [f"PATCH /api/v1/namespaces/{namespace}/configmaps/beside"]
    stage.edit(parent, resources=[group(config_map("never", {"a": "1"}), policy={"condition": "object == null"})])
    stage.ready(parent)
    eventually(lambda: hold_of(stage.read(config_map("never", namespace=namespace)), parent) == "created")
