"""What can be proved about a permit from its own content and the public keys: no cluster, no clock, no private key.

| Part | Must be |
| --- | --- |
| seal | signed by a known key over namespace, name and spec, the requester included |
| trail | whole, and each link signed by a known key (policy.permits.trail) |
| requester | who the first transition says |
| phase | what the last transition says |
| snapshot | what its digest says, and the digest that the last transition was signed with |
| end | what the transition that gives the access says |
| approvals | each a transition by that reviewer, of that time and digest, since the last review began; as many as are required |

The manager acts on a permit only when nothing is found, and takes back what it gave otherwise; `copyhold permit verify` prints
what is found.

Caveats: what the manager did to each target (`processedItems`), Ready and `keepUntil` are not signed. A tail that was cut shows
only against the hash of a transition that was noted elsewhere: Events and logs have it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from manager.permits import signatures
from policy.permits.approvals import required
from policy.permits.canonical import canonical
from policy.permits.digest import digest
from policy.permits.trail import seal_texts, verify
from policy.permits.why import Why, approved_by


class Part(StrEnum):
    """What of a permit is not as it should be."""

    SEAL = "seal"
    TRAIL = "trail"
    REQUESTER = "requester"
    PHASE = "phase"
    SNAPSHOT = "snapshot"
    END = "end"
    APPROVALS = "approvals"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `index` is that of the transition, where it is one."""

    part: Part
    message: str
    index: int | None = None

    def __str__(self) -> str:
        return self.message


def check(permit: Manifest, public: Mapping[str, bytes], *, known: str = "") -> list[Finding]:
    """Everything that speaks against a permit; empty when all of it is proved.

    `public` has the raw public keys by id, and `known` the hash of a transition that must be in the trail.
    """
    permit = {field: _of(permit, field) for field in ("metadata", "spec", "status")}
    found = list(_seal(permit, public))
    transitions = _list(permit["status"].get("transitions"))
    verifier = partial(signatures.verify, public)
    broken = verify(transitions, str(permit["metadata"].get("uid") or ""), verifier, known=known)
    if broken is not None:
        # Nothing that a broken trail says is worth a comparison.
        return [*found, Finding(Part.TRAIL, broken.message, broken.index)]
    return found + [finding for compare in _COMPARISONS for finding in compare(permit, transitions)]


def key_ids(permit: Manifest) -> frozenset[str]:
    """The ids of the keys that a permit was signed with."""
    links = [_of(_of(permit, "spec"), "requester").get("seal"), *_list(_of(permit, "status").get("transitions"))]
    return frozenset(link["key"] for link in links if isinstance(link, dict) and isinstance(link.get("key"), str))


def _seal(permit: Manifest, public: Mapping[str, bytes]) -> Iterator[Finding]:
    seal = _of(_of(permit["spec"], "requester"), "seal")
    key, signature = seal.get("key"), seal.get("signature")
    if not isinstance(key, str) or not isinstance(signature, str):
        yield Finding(Part.SEAL, "spec.requester.seal is missing: the permit did not pass admission, make another one")
    elif key not in public:
        yield Finding(Part.SEAL, f"spec.requester.seal is by a key that nobody knows: look for {key!r} in the published keys")
    elif not any(signatures.verify(public, key, text, signature) for text in seal_texts(permit)):
        yield Finding(Part.SEAL, "spec is not what spec.requester.seal was made for: it was changed, or is another permit's")


def _requester(permit: Manifest, transitions: list[Manifest]) -> Iterator[Finding]:
    requester = {key: value for key, value in _of(permit["spec"], "requester").items() if key != "seal"}
    if transitions and canonical(transitions[0]["actor"]) != canonical({"groups": [], **requester}):
        yield Finding(Part.REQUESTER, "spec.requester is not the actor of status.transitions[0]", 0)


def _phase(permit: Manifest, transitions: list[Manifest]) -> Iterator[Finding]:
    phase, last = permit["status"].get("phase"), transitions[-1].get("type") if transitions else None
    if phase != last:
        told = f"the last transition leads to {last}" if last else "there is no transition"
        yield Finding(Part.PHASE, f"status.phase is {phase or 'empty'}, and {told}", _last(transitions))


def _snapshot(permit: Manifest, transitions: list[Manifest]) -> Iterator[Finding]:
    status = permit["status"]
    request = _of(status, "request")
    signed = transitions[-1].get("digest") if transitions else None
    if request.get("digest") != signed:
        told = "names another" if signed else "names none"
        message = f"status.request.digest is not what was signed: the last transition {told}"
        yield Finding(Part.SNAPSHOT, message, _last(transitions))
    if request.get("digest") and request["digest"] != digest(request, _list(status.get("grants")), _list(status.get("roles"))):
        message = "status.request, status.grants or status.roles is not what status.request.digest says: the snapshot was changed"
        yield Finding(Part.SNAPSHOT, message)


def _end(permit: Manifest, transitions: list[Manifest]) -> Iterator[Finding]:
    given = [each for each in transitions if each["type"] == Phase.ACTIVE or each["reason"] == Why.ACTIVATION_BEGUN]
    active = permit["status"].get("active")
    if active is None and not (given and given[-1] is transitions[-1]):
        return  # no access, and none on its way
    signed, says = given[-1].get("until") if given else None, _of({"active": active}, "active").get("until")
    if not given or says != signed:
        told = f"{signed or 'no end'} was signed" if given else "no transition gives the access"
        yield Finding(Part.END, f"status.active.until is {says or 'absent'}, and {told}", given[-1]["index"] if given else None)


def _approvals(permit: Manifest, transitions: list[Manifest]) -> Iterator[Finding]:
    status = permit["status"]
    approvals, rules = _list(_of(status, "review").get("approvals")), _of(_of(status, "request"), "approvals")
    said = [_said(each) for each in _since_review(transitions) if _approves(each, auto=bool(rules.get("auto")))]
    for index, approval in enumerate(approvals):
        mine = _approval(approval if isinstance(approval, dict) else {})
        if mine in said:
            said.remove(mine)  # one transition is one approval
        else:
            yield Finding(Part.APPROVALS, f"status.review.approvals[{index}] is in no transition since the review began")
    wanted = required(rules)
    if status.get("phase") in (Phase.APPROVED, Phase.ACTIVE) and len(approvals) < wanted:
        yield Finding(Part.APPROVALS, f"status.review.approvals has {len(approvals)} of the {wanted} approvals that are required")


def _last(transitions: list[Manifest]) -> int | None:
    return len(transitions) - 1 if transitions else None


def _since_review(transitions: list[Manifest]) -> list[Manifest]:
    """What came after the last transition that began a review, and so cleared the approvals before it."""
    asked = [at for at, each in enumerate(transitions) if each["type"] == Phase.REQUESTED]
    begun = [at for at in asked if transitions[at]["reason"] != Why.APPROVAL_RECORDED]
    return transitions[begun[-1] + 1 :] if begun else transitions


def _approves(transition: Manifest, *, auto: bool) -> bool:
    """Who approves is its actor. Where the template approves, so does a retry that succeeds."""
    reason = transition["reason"]
    return reason in (Why.APPROVAL_RECORDED, approved_by(transition["actor"])) or (auto and reason == Why.RETRY_SUCCEEDED)


def _said(transition: Manifest) -> bytes:
    return canonical([transition["actor"], transition["timestamp"], transition.get("digest")])


def _approval(approval: Manifest) -> bytes:
    return canonical([approval.get("reviewer"), approval.get("time"), approval.get("digest")])


_COMPARISONS = (_requester, _phase, _snapshot, _end, _approvals)


# A file may hold anything: what has another shape counts as absent.


def _of(holder: Manifest, field: str) -> Manifest:
    found = holder.get(field)
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
