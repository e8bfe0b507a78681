"""What permits promise, the second half: merging, context, hijacked reviews, deletion, and what does not render."""

import pytest

from apis.meta import FINALIZER, GROUP
from manager.permits.tellings import ACTOR_LABEL, actor_label, notice
from tests.scenario.permits.acts import MAPS, expire, given, pass_time, said, stuck, target, unanswered, wake
from tests.support.api import Manifest, ref
from tests.support.permits import Permits, config_map
from tests.support.policies import refused

# 13: what was there already.


def test_10_4_13_what_a_permit_merged_into_an_object_goes_with_it_and_nothing_else(permits: Permits) -> None:
    """An object that was there is adopted, with the least rights that this needs; at the end only the permit's fields go."""
    stage = permits.stage
    least = stage.service_account("least")
    stage.grant(least, [MAPS | {"verbs": ["get", "create", "patch"]}], permits.home)
    theirs = target(permits) | {"data": {"theirs": "1"}}
    theirs["metadata"]["labels"] = {"app": "web"}
    stage.create(theirs)
    stage.manager(permits=True)
    template = permits.template("merges", config_map(creation="Merge"), impersonation={"name": "least"}, keepFor="1h")
    asked = permits.asked(template)
    assert [(row["verb"], row["paths"]) for row in asked["status"]["preview"]] == [("Adopt", [".data.for"])]
    permits.approve(asked)
    permits.reaches(asked, "Active")
    merged = stage.read(theirs)
    assert merged["data"] == {"theirs": "1", "for": asked["metadata"]["name"]}
    expire(permits, asked)
    left = stage.read(theirs)
    assert left["data"] == {"theirs": "1"}
    assert left["metadata"]["labels"] == {"app": "web"}
    assert not left["metadata"].get("annotations")
    assert {entry["manager"] for entry in left["metadata"]["managedFields"]} == {
        entry["manager"] for entry in merged["metadata"]["managedFields"] if not entry["manager"].startswith(GROUP)
    }


# 14: context.


def test_10_4_14_a_parameter_chooses_the_context(permits: Permits) -> None:
    """The name of what is read may be a parameter; it is read as the account, from the permit's namespace."""
    stage = permits.stage
    for colour in ("red", "blue"):
        stage.create(target(permits, colour) | {"data": {"code": colour[0]}})
    stage.manager(permits=True)
    query = {"index": "colour", "apiVersion": "v1", "kind": "ConfigMap", "name": "{{ params.colour }}"}
    made = target(permits) | {"data": {"code": "{{ context.colour[0].data.code }}"}}
    schema = {"type": "object", "required": ["colour"], "properties": {"colour": {"type": "string"}}}
    template = permits.template("chooses", {"targets": [made]}, context={"resources": [query]}, paramSchema=schema)
    given(permits, template, params={"colour": "blue"})
    assert stage.read(target(permits))["data"] == {"code": "b"}


# 15 and 16: what a reviewer writes.


def test_10_4_15_what_a_reviewer_slips_into_the_status_is_dropped(permits: Permits) -> None:
    """Other transitions, resources, an account and a reviewer come with the approval: it is bob's, and all else stays."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    asked = permits.asked(permits.template(keepFor="1h"))
    before = asked["status"]
    actor = {"name": "eve", "type": "User"}
    evil = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "evil", "namespace": permits.home}}
    hijack: Manifest = {
        "transitions": [{"index": 0, "type": "Approved", "actor": actor, "reason": "ApprovedByUser"}],
        "request": {
            "resources": [{"policy": {}, "targets": [evil]}],
            "impersonation": {"namespace": "kube-system", "name": "root"},
            "approvals": {"auto": True},
        },
        "review": {"reviewer": actor, "approvals": [{"reviewer": actor, "digest": before["request"]["digest"]}], "message": "ok"},
        "processedItems": [{"version": "v1", "kind": "Namespace", "name": permits.home}],
        "preview": [],
    }
    permits.approve(asked, **hijack)
    live = permits.reaches(asked, "Active")["status"]
    assert live["request"] == before["request"]
    assert live["preview"] == before["preview"]
    assert (live["review"]["reviewer"]["name"], live["review"]["message"]) == (permits.bob, "ok")
    assert [each["reviewer"]["name"] for each in live["review"]["approvals"]] == [permits.bob]
    assert live["transitions"][: len(before["transitions"])] == before["transitions"]
    assert [item["name"] for item in live["processedItems"]] == ["temporary"]
    stage.api.get(target(permits, "evil")).expect(404)
    told = next(each for each in manager.transitions if each["reason"] == "ApprovedByUser")
    assert (ACTOR_LABEL, actor_label(permits.bob)) in notice(asked, told).labels


def test_10_4_16_nobody_activates_what_is_not_approved(permits: Permits) -> None:
    """From Requested to Active in one step is refused, also for who may approve; nothing is applied."""
    permits.stage.manager(permits=True)
    asked = permits.asked(permits.template())
    reply = permits.patch(asked, phase="Active").expect(422)
    assert "can only activate an approved request" in reply.message
    assert permits.stage.read(asked)["status"] == asked["status"]
    permits.stage.api.get(target(permits)).expect(404)


# 17: deletion.


def test_10_4_17_before_a_decision_who_may_deletes_a_permit(permits: Permits) -> None:
    """Created (it does not render) and Requested: alice deletes what she asked for, and it goes."""
    stage = permits.stage
    stage.manager(permits=True)
    broken = permits.template("broken", {"template": "{{ params.absent }}"})
    stuck = permits.asked(broken, phase="Created")
    waiting = permits.asked(permits.template())
    for permit in (stuck, waiting):
        permits.as_(permits.alice).delete(permit).expect(200)
        permits.ended(permit)


def test_10_4_17_a_permit_that_was_decided_about_is_ended_before_it_is_deleted(permits: Permits) -> None:
    """Approved, Active, Denied and Failed: the refusal names the phase and the remedy."""
    stage = permits.stage
    stage.manager(permits=True)
    stage.service_account("powerless")
    template = permits.template(keepFor="1h")
    fails = permits.template("fails", impersonation={"name": "powerless"})
    denied, approved = permits.asked(template), permits.asked(permits.template("later", config_map("later")))
    permits.patch(denied, phase="Denied").expect(200)
    permits.approve(approved, request={"startTime": "2099-01-01T00:00:00Z"})
    found = {
        "Denied": denied,
        "Approved": approved,
        "Failed": permits.asked(fails, phase="Failed"),
        "Active": given(permits, template),
    }
    for phase, permit in found.items():
        message = refused(permits.as_(permits.alice).delete(permit), "copyhold-permit-deletion")
        assert f"cannot be deleted before it has expired (current phase: {phase})" in message
        assert f"copyhold permit expire {permit['metadata']['name']}" in message


def test_10_4_17_a_record_is_kept_until_its_time_and_then_goes_by_itself(permits: Permits) -> None:
    """Expired with `keepFor`: a deletion is refused with the time until when; then the manager deletes the permit."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = given(permits, permits.template(defaultDuration="1h", keepFor="2h"))
    done = expire(permits, permit)
    stage.gone(target(permits))
    message = refused(permits.as_(permits.alice).delete(permit), "copyhold-permit-deletion")
    assert f"cannot be deleted before archive retention expires at {done['status']['keepUntil']}" in message
    pass_time(manager, hours=2)
    manager.idle()
    assert stage.read(permit)["status"]["phase"] == "Expired"
    pass_time(manager, hours=2)
    permits.ended(permit)


def test_10_4_17_an_administrator_deletes_a_permit_and_the_access_goes_first(permits: Permits) -> None:
    """Verb delete on records.copyhold.dev allows it in any phase; the permit is kept no longer than its record says."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    permit = given(permits, permits.template(defaultDuration="1h", keepFor="2h"))
    stage.api.delete(permit).expect(200)
    stage.gone(target(permits))
    assert FINALIZER in stage.read(permit)["metadata"]["finalizers"]
    pass_time(manager, hours=4)
    permits.ended(permit)


def test_10_4_17_no_permit_holds_a_namespace_that_goes(permits: Permits) -> None:
    """Active, kept as a record and approved for later: all go with their namespace, and with them what was given."""
    stage = permits.stage
    stage.manager(permits=True)
    template = permits.template(defaultDuration="1h", keepFor="30d")
    later = permits.asked(permits.template("later", config_map("later"), keepFor="30d"))
    permits.approve(later, request={"startTime": "2099-01-01T00:00:00Z"})
    expire(permits, given(permits, template))
    given(permits, template)
    namespace = ref("v1", "Namespace", permits.home)
    stage.api.delete(namespace).expect(200)
    stage.gone(namespace, timeout=60)


# 18: what does not render.


@pytest.mark.parametrize(
    ("group", "reason", "says"),
    [
        pytest.param({"template": "{{ params.absent }}"}, "TemplateRenderingFailed", "absent", id="render"),
        pytest.param(
            {
                "targets": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "temporary"}}],
                "context": {
                    "resources": [
                        {"index": "it", "apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "optional": False},
                    ]
                },
            },
            "TemplateContextFailed",
            "absent",
            id="context",
        ),
    ],
)
def test_10_4_18_what_keeps_a_permit_from_its_review_is_said(permits: Permits, group: Manifest, reason: str, says: str) -> None:
    """The phase stays Created, and Ready has the reason; there is no half preview, which somebody might approve by."""
    stage = permits.stage
    stage.manager(permits=True)
    permit = permits.asked(permits.template("broken", config_map("fine"), group), phase="Created")
    live = stage.becomes(permit, lambda live: said(live)[0] == reason)
    assert says in said(live)[1]
    assert not live["status"].get("preview")
    assert "request" not in live["status"]
    assert [each["type"] for each in live["status"]["transitions"]] == ["Created"]
    reply = permits.patch(live, phase="Approved").expect(409)
    assert "rendered resources are not ready" in reply.message


def test_10_4_18_a_template_that_is_mended_lets_the_permit_go_on(permits: Permits) -> None:
    """What did not render is tried again when its template is another."""
    stage = permits.stage
    stage.manager(permits=True)
    template = permits.template("broken", {"template": "{{ params.absent }}"})
    permit = permits.asked(template, phase="Created")
    stage.becomes(permit, lambda live: said(live)[0] == "TemplateRenderingFailed")
    stage.edit(template, resources=[config_map()])
    live = permits.reaches(permit, "Requested")
    assert [row["name"] for row in live["status"]["preview"]] == ["temporary"]


def test_10_4_18_what_a_server_keeps_failing_at_is_said(permits: Permits) -> None:
    """Somebody's webhook does not answer: the permit says what holds it up, and goes on when it is gone."""
    stage = permits.stage
    manager = stage.manager(permits=True)
    template = permits.template()
    with unanswered(permits):
        permit = permits.ask(template).expect(201).body
        assert "failed calling webhook" in stuck(permits, permit, "Unavailable")
    wake(manager)
    permits.reaches(permit, "Requested")
