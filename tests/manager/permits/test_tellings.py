"""What is told about a permit: every transition, by whom, and a hash that proves that it was."""

import io
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog
from hypothesis import example, given
from hypothesis import strategies as st

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from apis.reasons import Reason
from manager import log
from manager.cluster import ApiCluster
from manager.events import NOTE_BOUND, Recorder, Type
from manager.http import Client
from manager.metrics import Metrics
from manager.permits.tellings import ACTOR_KIND_LABEL, ACTOR_LABEL, BY_PHASE, BY_REASON, actor_label, line, notice
from policy.permits.why import Why
from tests.realserver.access import Access
from tests.support.api import Api
from tests.support.running import endpoint

HASH = "sha256:" + "a1" * 32
PERMIT: Manifest = {
    "apiVersion": "copyhold.dev/v1alpha1",
    "kind": "ResourcePermit",
    "metadata": {"namespace": "solar", "name": "inc-1042", "uid": "0b3c5a1e-0000-4000-8000-000000000001"},
}
ALICE: Manifest = {"name": "alice@example.com", "type": "User", "groups": ["sre"]}
SYSTEM: Manifest = {"name": "copyhold", "type": "System"}


def transition(phase: Phase, reason: str, actor: Manifest = ALICE, **more: Any) -> Manifest:
    """One link of a trail."""
    return {
        "index": 3,
        "type": str(phase),
        "timestamp": "2026-03-01T12:00:00Z",
        "actor": actor,
        "reason": reason,
        "hash": HASH,
        **more,
    }


def test_every_phase_is_told():
    """None is silent."""
    assert set(BY_PHASE) == set(Phase)


@pytest.mark.parametrize(
    ("phase", "reason", "type_", "told"),
    [
        (Phase.CREATED, "CreatedByUser", Type.NORMAL, Reason.CREATED),
        (Phase.REQUESTED, Why.PENDING_REVIEW, Type.NORMAL, Reason.REVIEW_NEEDED),
        (Phase.REQUESTED, Why.APPROVAL_RECORDED, Type.NORMAL, Reason.APPROVAL_RECORDED),
        (Phase.REQUESTED, Why.GRANTS_CHANGED, Type.WARNING, Reason.REVIEW_NEEDED),
        (Phase.APPROVED, "ApprovedByUser", Type.NORMAL, Reason.APPROVED),
        (Phase.APPROVED, Why.ACTIVATION_BEGUN, Type.NORMAL, Reason.ACTIVATING),
        (Phase.DENIED, Why.DENIED, Type.NORMAL, Reason.DENIED),
        (Phase.ACTIVE, Why.ACTIVATED, Type.NORMAL, Reason.ACTIVATED),
        (Phase.FAILED, "ResourceApplyFailed", Type.WARNING, Reason.FAILED),
        (Phase.RETRYING, "RetryPermittedByUser", Type.NORMAL, Reason.RETRYING),
        (Phase.EXPIRED, Why.EXPIRED, Type.NORMAL, Reason.EXPIRED),
        (Phase.EXPIRED, Why.DEADLINE_EXCEEDED, Type.WARNING, Reason.EXPIRED),
    ],
)
def test_a_transition_is_told_as(phase: Phase, reason: str, type_: Type, told: Reason):
    """The word is one of a few, and the exact reason is the action."""
    made = notice(PERMIT, transition(phase, reason))
    assert (made.type, made.reason, made.action) == (type_, told, reason)
    assert (made.parent.kind, made.parent.namespace, made.parent.name) == ("ResourcePermit", "solar", "inc-1042")
    assert made.uid == PERMIT["metadata"]["uid"]


def test_only_reasons_that_say_more_than_the_phase_have_a_row_of_their_own():
    """A table that repeats the other one would go out of step with it."""
    usual = {(type_, reason) for type_, reason in BY_PHASE.values()}
    assert all(told not in usual or told[0] == Type.WARNING for told in BY_REASON.values())


def test_the_note_says_who_until_when_and_where_the_trail_stands():
    """The hash is what a cut tail is found by."""
    made = notice(PERMIT, transition(Phase.ACTIVE, Why.ACTIVATED, SYSTEM, until="2026-03-01T12:30:00Z"))
    assert made.note == f"Active until 2026-03-01T12:30:00Z by the manager; transition 3 of the trail is {HASH}"
    made = notice(PERMIT, transition(Phase.DENIED, Why.DENIED, message="not at night"))
    assert made.note == f"Denied by User alice@example.com; transition 3 of the trail is {HASH}: not at night"


@given(name=st.text(max_size=600), message=st.text(max_size=5000))
@example(name="\U0001f511" * 600, message="\U0001f511" * 5000)
def test_the_hash_is_in_what_is_left_of_the_longest_note(name: str, message: str):
    """An Event is cut at its bound, and the hash is not what goes."""
    made = notice(PERMIT, transition(Phase.APPROVED, "ApprovedByUser", ALICE | {"name": name}, message=message))
    assert HASH.encode() in made.note.encode()[: NOTE_BOUND - 3]


def test_the_line_of_the_log_has_it_too():
    """As it comes out of the chain that withholds what could be content."""
    said = line(PERMIT, transition(Phase.ACTIVE, Why.ACTIVATED, SYSTEM, until="2026-03-01T12:30:00Z", digest="sha256:bb"))
    before, out = structlog.get_config(), io.StringIO()
    log.configure(json=True, stream=out)
    try:
        structlog.get_logger().info("transition", **said)
    finally:
        structlog.configure(**before)
    written = json.loads(out.getvalue())
    assert "withheld" not in written
    assert (written["trail"], written["transition"], written["until"]) == (HASH, 3, "2026-03-01T12:30:00Z")
    assert (written["actor"], written["actor_kind"], written["digest"]) == ("copyhold", "System", "sha256:bb")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("alice", "alice-2bd806c9"),
        ("system:serviceaccount:solar:robot", "system-serviceaccount-solar-robot-"),
        ("-_-", ""),
        ("x" * 300, "x" * 54 + "-"),
    ],
)
def test_an_actor_is_a_label(name: str, label: str):
    """Readable as far as a label can be."""
    assert actor_label(name).startswith(label)


@given(one=st.text(max_size=100), other=st.text(max_size=100))
def test_labels_of_actors_are_valid_and_distinct(one: str, other: str):
    """Names that only differ in what a label cannot hold, or after its end, are still told apart."""
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", actor_label(one))
    assert (actor_label(one) == actor_label(other)) == (one == other)


@pytest.fixture
async def cluster(server: Access) -> AsyncIterator[ApiCluster]:
    """A server."""
    client = Client(endpoint(server))
    yield ApiCluster(client)
    await client.close()


async def test_a_server_takes_the_event_with_its_labels(cluster: ApiCluster, api: Api, namespace: str):
    """Whoever watches one actor selects by them."""
    permit = PERMIT | {"metadata": PERMIT["metadata"] | {"namespace": namespace}}
    recorder = Recorder(cluster, Metrics(), instance="copyhold-0")
    for reason in (Why.APPROVAL_RECORDED, Why.PENDING_REVIEW):
        recorder.record(notice(permit, transition(Phase.REQUESTED, reason, ALICE if reason == Why.APPROVAL_RECORDED else SYSTEM)))
    await recorder.flush()
    listed = api.list(
        "events.k8s.io/v1", "Event", namespace=namespace, labelSelector=f"{ACTOR_LABEL}={actor_label(ALICE['name'])}"
    )
    [event] = listed.expect(200).body["items"]
    assert (event["reason"], event["action"]) == (Reason.APPROVAL_RECORDED, Why.APPROVAL_RECORDED)
    assert event["metadata"]["labels"][ACTOR_KIND_LABEL] == "User"
    assert HASH in event["note"]
