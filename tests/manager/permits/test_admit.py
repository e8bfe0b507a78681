"""Admission of permits: who acts is whom the server authenticated, and of a status that is sent almost nothing counts."""

import base64
import json
from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from apis.copyhold.resourcepermit import KIND
from apis.intent import Group
from apis.meta import PARENT_EXTRA, Manifest
from apis.problems import Invalid, Unavailable
from manager.permits import signatures
from manager.permits.admit import Admission
from manager.permits.templatecheck import KINDS, UNNAMED
from policy.permits.actors import actor_of
from policy.permits.lifecycle import asked, created, prepared
from policy.permits.refusal import Refused
from policy.permits.snapshot import Snapshot
from policy.permits.trail import append, head, seal_text, verify
from tests.manager.permits.offers import GLOBAL, LOCAL, everywhere, local, ready

NOW = datetime(2026, 8, 31, 10, tzinfo=UTC)
LATER = "2026-08-31T12:00:00Z"
KEY = Ed25519PrivateKey.generate()
PUBLIC = {signatures.key_id(signatures.raw(KEY)): signatures.raw(KEY)}

ALICE = {"username": "alice", "uid": "u-alice", "groups": ["dev", "system:authenticated"]}
BOB = {"username": "bob", "uid": "u-bob", "groups": ["sre", "system:authenticated"]}
CAROL = {"username": "carol", "uid": "u-carol", "groups": ["sre", "system:authenticated"]}
BOT = {"username": "system:serviceaccount:prod:bot", "uid": "u-bot", "groups": ["sre", "system:serviceaccounts"]}


def sign(data: bytes) -> tuple[str, str]:
    """Sign with the key of these tests."""
    return next(iter(PUBLIC)), signatures.sign(KEY, data)


def right(key: str, data: bytes, signature: str) -> bool | None:
    """Is it a signature by that key?"""
    return signatures.verify(PUBLIC, key, data, signature)


def never(_: bytes) -> tuple[str, str]:
    """Whoever asks for a signature here is wrong."""
    raise AssertionError("something was signed")


async def fine(_: Sequence[Group]) -> list[Invalid]:
    """A renderer that finds nothing."""
    return []


def admission(*templates: Manifest, now: datetime = NOW, signing: Any = sign) -> Admission:
    """Admission in a cluster with these templates."""

    async def template_of(kind: str, namespace: str, name: str) -> Manifest | None:
        wanted = (kind, namespace, name)
        found = ((one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in templates)
        return dict(zip(found, templates, strict=True)).get(wanted)

    return Admission(template_of, fine, signing, lambda: now)


def permit(user: Manifest | None = None, **spec: Any) -> Manifest:
    """A permit as somebody sends it; with `user`, as it is stored."""
    made: Manifest = {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": "incident", "namespace": "prod", "uid": "p-1", "creationTimestamp": "2026-08-31T09:00:00Z"},
        "spec": {"template": {"kind": LOCAL.kind, "name": "reader"}, "params": {"user": "alice"}, "reason": "INC-1", **spec},
    }
    if user is not None:
        made["spec"]["requester"] = actor_of(user)
    return made


def creating(user: Manifest, obj: Manifest, **more: Any) -> Manifest:
    """The request that creates an object."""
    kind = KINDS.get(obj["kind"], KIND)
    resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    namespace = obj["metadata"].get("namespace", "")
    asked_for = {"uid": "r-1", "operation": "CREATE", "resource": resource, "namespace": namespace}
    return asked_for | {"userInfo": user, "object": obj, "oldObject": None} | more


def asking(user: Manifest, old: Manifest, status: Any, **more: Any) -> Manifest:
    """The request that writes a status over the one of a stored permit."""
    return creating(user, old | {"status": status}, operation="UPDATE", subResource="status", oldObject=old) | more


def patched(response: Manifest) -> Any:
    """The value that an answer writes."""
    assert response["allowed"], response
    (operation,) = json.loads(base64.b64decode(response["patch"]))
    assert operation["op"] == "add"
    return operation["value"]


def refusal(response: Manifest) -> tuple[int, str]:
    """Code and message of a refusal."""
    assert not response["allowed"]
    assert "patch" not in response
    return response["status"]["code"], response["status"]["message"]


# CREATE


async def test_the_requester_is_who_asks_under_a_seal() -> None:
    """Identity comes from the server, and nobody can change it afterwards without its being seen."""
    requester = patched(await admission(ready(local())).review(creating(ALICE, permit())))
    seal = requester["seal"]
    assert requester == {"name": "alice", "type": "User", "uid": "u-alice", "groups": ALICE["groups"], "seal": seal}
    stored = permit(requester=requester)
    assert right(seal["key"], seal_text(stored), seal["signature"])
    forged = permit(requester=requester | {"name": "bob"})
    assert not right(seal["key"], seal_text(forged), seal["signature"])


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"name": "bob", "type": "User", "uid": "u-bob", "groups": ["sre"]}, id="another person"),
        pytest.param({"name": "copyhold", "type": "System"}, id="the manager"),
        pytest.param({"name": "alice", "type": "User", "seal": {"key": "k", "signature": "s"}}, id="a seal"),
        pytest.param("alice", id="no actor at all"),
    ],
)
async def test_a_forged_requester_is_overwritten(forged: Any) -> None:
    """Whatever is sent, it is who asks."""
    requester = patched(await admission(ready(local())).review(creating(ALICE, permit(requester=forged))))
    assert requester.pop("seal")["key"] in PUBLIC
    assert requester == actor_of(ALICE)


async def test_an_account_asks_as_an_account() -> None:
    """The type is read off the name that the server gave."""
    requester = patched(await admission(ready(local())).review(creating(BOT, permit())))
    assert (requester["name"], requester["type"]) == (BOT["username"], "ServiceAccount")


async def test_a_dry_run_of_a_permit_signs_nothing() -> None:
    """A seal can be had only for what is stored."""
    response = await admission(ready(local()), signing=never).review(creating(ALICE, permit(), dryRun=True))
    assert patched(response) == actor_of(ALICE)


SELECTED = {"namespaceSelectors": [{"matchLabels": {"stage": "prod"}}]}
NAMED_GLOBAL = {"template": {"kind": GLOBAL.kind, "name": "reader"}}


@pytest.mark.parametrize(
    ("templates", "wanted", "refused"),
    [
        pytest.param(
            [], {}, (422, "template reader not found: there is no such ResourcePermitTemplate in namespace prod"), id="none"
        ),
        pytest.param(
            [ready(everywhere(), "*")],
            {},
            (422, "no such ResourcePermitTemplate in namespace prod"),
            id="a global one is another",
        ),
        pytest.param([], NAMED_GLOBAL, (422, "there is no such GlobalResourcePermitTemplate"), id="no global one"),
        pytest.param(
            [ready(local())], {"template": {"kind": "Secret", "name": "reader"}}, (422, "spec.template.kind"), id="kind"
        ),
        pytest.param([ready(local())], {"template": None}, (422, "spec.template"), id="names none"),
        pytest.param([local()], {}, (409, "template reader is not ready: the template has just been written"), id="unreported"),
        pytest.param(
            [{**ready(local()), "metadata": {**local()["metadata"], "generation": 4}}],
            {},
            (409, "template reader is not ready: the template has just been written"),
            id="edited since",
        ),
        pytest.param(
            [
                local()
                | {"status": {"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "False", "message": "no"}]}}
            ],
            {},
            (409, "template reader is not ready: no"),
            id="not Ready",
        ),
        pytest.param(
            [{**ready(local()), "metadata": {**local()["metadata"], "deletionTimestamp": LATER}}],
            {},
            (409, "template reader is being deleted"),
            id="going away",
        ),
        pytest.param(
            [everywhere(**SELECTED)],
            NAMED_GLOBAL,
            (409, "template reader namespace selection is not ready"),
            id="selection unknown",
        ),
        pytest.param(
            [ready(everywhere(**SELECTED), "dev")],
            NAMED_GLOBAL,
            (403, "template reader is not available in namespace prod"),
            id="not selected",
        ),
        pytest.param([ready(everywhere())], NAMED_GLOBAL, (403, "is not available in namespace prod"), id="selects nothing"),
        pytest.param(
            [ready(local())],
            {"params": {"user": "Alice"}},
            (422, "parameters for template reader are invalid: params.user: Invalid value"),
            id="parameter",
        ),
        pytest.param([ready(local())], {"params": None}, (422, "params.user: Required value"), id="no parameters"),
        pytest.param([ready(local())], {"params": [1]}, (422, "spec.params"), id="parameters that are no map"),
        pytest.param(
            [ready(local(maxDuration="8h"))],
            {"duration": "1d"},
            (422, "requested duration 1d exceeds template maxDuration 8h"),
            id="too long",
        ),
        pytest.param(
            [ready(local(maxDuration="8h"))],
            {"duration": "0s"},
            (422, "requested duration 0s exceeds template maxDuration 8h"),
            id="no end where there must be one",
        ),
        pytest.param([ready(local())], {"duration": "tomorrow"}, (422, "spec.duration"), id="no duration"),
        pytest.param(
            [ready(local())],
            {"startTime": "2026-08-31T10:00:00Z"},
            (422, "start time 2026-08-31T10:00:00Z must be in the future"),
            id="now",
        ),
        pytest.param(
            [ready(local())], {"startTime": "tomorrow"}, (422, "spec.startTime: must be a time with its zone"), id="no time"
        ),
        pytest.param(
            [ready(local(approvals={"auto": True, "conditions": ["requester.name == 'bob'", "'sre' in requester.groups"]}))],
            {},
            (403, "approval conditions not satisfied for template reader: none of the approval conditions were met"),
            id="auto, and no condition holds",
        ),
        pytest.param(
            [ready(local(approvals={"auto": True, "conditions": ["reviewer.name == 'bob'"]}))],
            {},
            (403, "evaluate approval condition 0 (reviewer.name == 'bob')"),
            id="auto, and a condition needs a reviewer",
        ),
    ],
)
async def test_a_permit_is_refused(templates: list[Manifest], wanted: Manifest, refused: tuple[int, str]) -> None:
    """By code, and a message that names the field."""
    code, message = refusal(await admission(*templates, signing=never).review(creating(ALICE, permit(**wanted))))
    assert (code, refused[1] in message) == (refused[0], True), message


@pytest.mark.parametrize(
    ("templates", "wanted"),
    [
        pytest.param([ready(everywhere(), "*")], NAMED_GLOBAL, id="global, everywhere"),
        pytest.param([ready(everywhere(**SELECTED), "dev", "prod")], NAMED_GLOBAL, id="global, selected"),
        pytest.param([ready(local(maxDuration="8h"))], {"duration": "8h"}, id="as long as it may be"),
        pytest.param([ready(local(maxDuration="8h"))], {}, id="no duration named"),
        pytest.param([ready(local())], {"duration": "52w", "startTime": LATER}, id="later"),
        pytest.param([ready(local(approvals={"auto": True}))], {}, id="auto"),
        pytest.param(
            [ready(local(approvals={"auto": True, "conditions": ["false", "'dev' in requester.groups"]}))],
            {},
            id="auto, one holds",
        ),
        pytest.param(
            [ready(local(approvals={"auto": True, "conditions": ["false", "!grants.allow('get', '', 'secrets')"]}))],
            {},
            id="auto, and the grants are not known yet",
        ),
    ],
)
async def test_a_permit_is_accepted(templates: list[Manifest], wanted: Manifest) -> None:
    """What the template gives may be asked for."""
    requester = patched(await admission(*templates).review(creating(ALICE, permit(**wanted))))
    assert requester["name"] == "alice"


async def test_a_template_of_another_namespace_cannot_be_named() -> None:
    """It is looked for in the namespace of the request, whatever the object says."""
    elsewhere = ready(local())
    elsewhere = elsewhere | {"metadata": elsewhere["metadata"] | {"namespace": "other"}}
    sent = permit()
    sent["metadata"]["namespace"] = "other"
    code, message = refusal(await admission(elsewhere, signing=never).review(creating(ALICE, sent, namespace="prod")))
    assert (code, "in namespace prod" in message) == (422, True)


async def test_a_template_that_cannot_be_read_allows_nothing() -> None:
    """Whoever serves answers for it; there is no answer that allows."""

    async def unreadable(kind: str, namespace: str, name: str) -> Manifest | None:
        raise Unavailable("the API server does not answer")

    with pytest.raises(Unavailable):
        await Admission(unreadable, fine, never, lambda: NOW).review(creating(ALICE, permit()))


async def test_who_has_no_name_asks_for_nothing() -> None:
    """A request without a user is none of the server's."""
    assert refusal(await admission(ready(local()), signing=never).review(creating({}, permit())))[0] == 403


# UPDATE of the status


def requested(user: Manifest = ALICE, required: int = 1, **approvals: Any) -> Manifest:
    """A stored permit of which the manager made the snapshot, that waits for its review."""
    stored = permit(user)
    status, step = created(stored, NOW - timedelta(hours=1))
    status = append(status, "p-1", step, NOW - timedelta(hours=1), sign)
    request = {
        "template": {"kind": LOCAL.kind, "name": "reader", "uid": "t-1", "generation": 3},
        "impersonation": {"namespace": "prod", "name": "runner"},
        "approvals": {"approvers": [{"kind": "Group", "name": "sre"}], "required": required, "validFor": "24h", **approvals},
        "duration": "30m",
        "maxDuration": "8h",
        "resources": [{"name": "a", "policy": {"creation": "Owner"}, "targets": [{"apiVersion": "v1", "kind": "ConfigMap"}]}],
    }
    status, step = prepared(status, Snapshot(request, preview=[{"kind": "ConfigMap", "name": "a", "verb": "Create"}]), NOW)
    return stored | {"status": append(status, "p-1", step, NOW, sign)}


def approval(old: Manifest, **review: str) -> Manifest:
    """What `copyhold permit approve` sends."""
    digest = old["status"]["request"]["digest"]
    return old["status"] | {"phase": "Approved", "review": {"digest": digest, **review}}


async def test_an_approval_is_signed_into_the_trail() -> None:
    """The actor is who asks, the trail is whole, and the snapshot is the stored one."""
    old = requested()
    status = patched(await admission().review(asking(BOB, old, approval(old, message="fine"))))
    assert status["phase"] == "Approved"
    assert status["review"]["reviewer"] == actor_of(BOB)
    assert status["review"]["message"] == "fine"
    assert status["request"] == old["status"]["request"]
    last = status["transitions"][-1]
    assert (last["type"], last["actor"]["name"], last["reason"]) == ("Approved", "bob", "ApprovedByUser")
    assert last["previous"] == head(old["status"])
    assert verify(status["transitions"], "p-1", right) is None


async def test_a_dry_run_of_an_approval_signs_nothing() -> None:
    """A signature can be had only for what is stored."""
    old = requested()
    status = patched(await admission(signing=never).review(asking(BOB, old, approval(old), dryRun=True)))
    assert status["phase"] == "Approved"
    assert not {"key", "signature"} & set(status["transitions"][-1])
    assert verify(status["transitions"], "p-1", right) is not None


async def test_an_approval_of_an_older_digest_is_refused() -> None:
    """What is approved is what was seen."""
    old = requested()
    stale = approval(old, digest="sha256:" + "0" * 64)
    code, message = refusal(await admission(signing=never).review(asking(BOB, old, stale)))
    assert (code, "this is not what you have seen" in message) == (409, True)


async def test_the_first_of_two_approvals_is_warned_of() -> None:
    """Whoever approves learns that it is not enough."""
    old = requested(required=2)
    response = await admission().review(asking(BOB, old, approval(old)))
    assert response["warnings"] == ["1 of 2 approvals"]
    half = old | {"status": patched(response)}
    assert half["status"]["phase"] == "Requested"
    assert refusal(await admission(signing=never).review(asking(BOB, half, approval(half))))[0] == 409
    status = patched(await admission().review(asking(CAROL, half, approval(half))))
    assert status["phase"] == "Approved"
    assert verify(status["transitions"], "p-1", right) is None


@pytest.mark.parametrize(
    ("reviewer", "required"),
    [
        pytest.param(ALICE | {"groups": ["sre"]}, 1, id="who asked"),
        pytest.param({"username": "alice@example.org", "uid": "u-alice", "groups": ["sre"]}, 1, id="who asked, by another name"),
        pytest.param({"username": "alice", "groups": ["sre"]}, 1, id="who asked, without a UID"),
        pytest.param(BOT, 1, id="an account in a group of approvers"),
        pytest.param(BOB | {"groups": ["dev"]}, 1, id="somebody else"),
        pytest.param({"username": "copyhold", "groups": []}, 1, id="a user who is called as the manager is"),
    ],
)
async def test_who_may_not_approve_is_refused(reviewer: Manifest, required: int) -> None:
    """Neither who asked, by whatever name or token, nor who is not named."""
    old = requested(required=required)
    assert refusal(await admission(signing=never).review(asking(reviewer, old, approval(old))))[0] == 403


async def test_an_account_does_not_approve_what_it_asked_for() -> None:
    """Also when the template names it."""
    old = requested(BOT, approvers=[{"kind": "ServiceAccount", "name": BOT["username"]}])
    assert refusal(await admission(signing=never).review(asking(BOT, old, approval(old))))[0] == 403


FORGED: dict[str, Any] = {
    "reviewer": {"review": {"reviewer": actor_of(CAROL), "verdict": "Approved"}},
    "approvals": {"review": {"approvals": [{"reviewer": actor_of(CAROL), "time": LATER, "digest": "x"}]}},
    "transitions": {"transitions": [{"index": 0, "type": "Active", "actor": {"name": "copyhold", "type": "System"}}]},
    "no transitions": {"transitions": []},
    "digest": {"request": {"digest": "sha256:" + "1" * 64}},
    "snapshot": {"request": {"resources": [{"name": "a", "targets": [{"kind": "ClusterRoleBinding"}]}]}},
    "account": {"request": {"impersonation": {"namespace": "kube-system", "name": "admin"}}},
    "rules": {"request": {"approvals": {"required": 1, "selfApproval": "Allow"}}},
    "cap": {"request": {"maxDuration": "1000h"}},
    "items": {"processedItems": [{"kind": "Secret", "name": "x", "uid": "1", "status": {"created": True}}], "size": 1},
    "records": {"records": {"count": 0, "shards": []}},
    "grants": {"grants": [], "roles": []},
    "active": {"active": {"from": LATER}, "keepUntil": LATER},
    "account in status": {"serviceAccount": {"namespace": "kube-system", "name": "admin"}},
    "condition": {"conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "y"}]},
    "a field of its own": {"x": 1},
}


def overlaid(one: Manifest, other: Manifest) -> Manifest:
    """A map with another merged into it."""
    merged = dict(one)
    for name, value in other.items():
        inner = merged.get(name)
        merged[name] = overlaid(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return merged


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_nothing_else_of_a_status_counts(forged: Manifest) -> None:
    """A denial with forgeries around it is a denial."""
    old = requested()
    plain = patched(await admission().review(asking(BOB, old, old["status"] | {"phase": "Denied"})))
    sent = overlaid(deepcopy(old["status"]) | {"phase": "Denied"}, forged)
    assert patched(await admission().review(asking(BOB, old, sent))) == plain


@pytest.mark.parametrize("phase", ["Created", "Pending", "Active", "Failed", "Nonsense", "", None, 5])
async def test_phases_that_are_the_manager_s_are_refused(phase: Any) -> None:
    """A user asks for Approved, Denied, Retrying or Expired."""
    old = requested()
    assert refusal(await admission(signing=never).review(asking(BOB, old, old["status"] | {"phase": phase})))[0] == 422


async def test_a_status_that_is_as_it_was_changes_nothing() -> None:
    """An idle write makes no transition."""
    old = requested()
    assert patched(await admission(signing=never).review(asking(BOB, old, old["status"]))) == old["status"]


async def test_what_only_looks_the_same_is_put_back() -> None:
    """1 is no true: what is equal in Python, and not in JSON, does not come in with an idle write."""
    old = requested()
    old["status"]["request"]["resources"][0]["targets"][0]["immutable"] = True
    sent = deepcopy(old["status"])
    sent["request"]["resources"][0]["targets"][0]["immutable"] = 1
    answer = patched(await admission(signing=never).review(asking(BOB, old, sent)))
    assert json.dumps(answer) == json.dumps(old["status"])


async def test_an_answer_writes_nothing_else() -> None:
    """Labels, annotations and finalizers that are sent along come through as they are: they mean nothing for a permit."""
    old = requested()
    marked = old | {"metadata": old["metadata"] | {"labels": {"copyhold.dev/managed": "true"}}}
    for response, path in (
        (await admission(ready(local())).review(creating(ALICE, marked)), "/spec/requester"),
        (await admission().review(asking(BOB, marked, approval(old))), "/status"),
    ):
        assert [one["path"] for one in json.loads(base64.b64decode(response["patch"]))] == [path]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
PHASES = st.sampled_from(["Approved", "Denied", "Retrying", "Expired", "Active", "Requested", "x"])
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "phase": PHASES,
        "review": st.dictionaries(st.sampled_from(["message", "digest", "verdict", "reviewer", "approvals"]), JSON, max_size=3)
        | JSON,
        "request": st.dictionaries(
            st.sampled_from(["duration", "keepFor", "startTime", "digest", "resources", "maxDuration"]),
            st.sampled_from(["1h", "9h", "0s", LATER, "x"]) | JSON,
            max_size=3,
        )
        | JSON,
        "transitions": JSON,
        "processedItems": JSON,
        "active": JSON,
        "grants": JSON,
    },
)
OLD = requested()
TAKEN = {"review": ("message", "digest"), "request": ("duration", "keepFor", "startTime")}


def taken(status: Manifest) -> Manifest:
    """What may count of a status that is sent."""
    kept: Manifest = {"phase": status.get("phase")}
    for part, names in TAKEN.items():
        inner = status.get(part)
        kept[part] = {name: inner[name] for name in names if name in inner} if isinstance(inner, dict) else inner
    return kept


@given(STATUSES, st.sampled_from([ALICE, BOB, BOT]))
async def test_whatever_is_sent_only_what_is_taken_counts(sent: Manifest, user: Manifest) -> None:
    """The answer is that of the lifecycle to the accepted fields alone, and one signed step."""
    response = await admission().review(asking(user, OLD, deepcopy(sent)))
    try:
        change = asked(OLD, taken(sent), actor_of(user), NOW)
    except Refused as refused:
        assert refusal(response) == (refused.code, refused.message)  # noqa: PT017 - both must refuse alike
        return
    status = patched(response)
    assert {**status, "transitions": None} == {**change.status, "transitions": None}
    assert status["transitions"][:-1] == OLD["status"]["transitions"]
    assert status["transitions"][-1]["actor"] == actor_of(user)
    assert verify(status["transitions"], "p-1", right) is None


# Others


async def test_the_manager_s_own_requests_are_let_through() -> None:
    """Who may send the extra may write what the policies let it write."""
    manager = {"username": "system:serviceaccount:copyhold-system:manager", "extra": {PARENT_EXTRA: ["p-1"]}}
    old = requested()
    response = await admission(signing=never).review(asking(manager, old, {"phase": "Active"}))
    assert response == {"uid": "r-1", "allowed": True}


async def test_the_extra_of_another_parent_proves_nothing() -> None:
    """What the manager applies for others is theirs: a permit among it has a requester, and its status is nobody's to write."""
    account = BOT | {"extra": {PARENT_EXTRA: ["p-2"]}}
    old = requested()
    assert refusal(await admission(signing=never).review(asking(account, old, {"phase": "Active"})))[0] == 422
    assert patched(await admission(ready(local())).review(creating(account, permit())))["name"] == BOT["username"]


@pytest.mark.parametrize(
    "more",
    [
        {"operation": "DELETE"},
        {"operation": "UPDATE"},
        {"subResource": "status"},
        {"resource": {"group": "", "resource": "secrets"}},
        {"resource": None},
    ],
)
async def test_what_is_not_ours_to_decide_is_refused(more: Manifest) -> None:
    """A webhook that was registered for something else allows nothing."""
    code, message = refusal(await admission(ready(local()), signing=never).review(creating(ALICE, permit(), **more)))
    assert (code, "is not decided here" in message) == (400, True)


# Templates


async def test_a_sound_template_is_allowed_with_its_warning() -> None:
    """The author learns who may approve."""
    assert await admission().template(creating(BOB, local())) == {"uid": "r-1", "allowed": True}
    assert (await admission().template(creating(BOB, everywhere(approvals={}))))["warnings"] == [UNNAMED]


async def test_a_template_that_cannot_work_is_refused() -> None:
    """Its author reads at once what the status would say."""
    code, message = refusal(await admission().template(creating(BOB, local(paramSchema={"type": "string"}))))
    assert (code, message) == (
        422,
        "ResourcePermitTemplate prod/reader: spec.paramSchema.type: must be object: parameters have names",
    )


async def test_a_broken_template_can_be_labelled_and_taken_down() -> None:
    """An update that leaves the spec, and any update while it goes, passes."""
    broken = local(paramSchema={"type": "string"})
    labelled = broken | {"metadata": broken["metadata"] | {"labels": {"a": "b"}}}
    going = broken | {"metadata": broken["metadata"] | {"deletionTimestamp": LATER}}
    for old, new in ((broken, labelled), (going, going | {"spec": {}})):
        assert (await admission().template(creating(BOB, new, operation="UPDATE", oldObject=old)))["allowed"]
    changed = local(paramSchema={"type": "integer"})
    assert refusal(await admission().template(creating(BOB, changed, operation="UPDATE", oldObject=broken)))[0] == 422


async def test_only_templates_are_judged_as_templates() -> None:
    """A permit that comes by there is refused."""
    assert refusal(await admission(ready(local())).template(creating(ALICE, permit())))[0] == 400
