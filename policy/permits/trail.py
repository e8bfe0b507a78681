"""The trail of a permit: every transition carries the hash of the one before and a signature, so that no change goes unseen.

    text       canonical JSON of {"permit": <uid>, "transition": <all fields but hash, key, signature and eventTime>}
    hash       "sha256:" and the hexadecimal SHA-256 of that text
    previous   the hash of the transition before; the first has none
    signature  over the ASCII bytes of `hash`, by the key whose id `key` names

The end of an access (`until`) is part of the transition that gives it, and the digest of the snapshot part of every one. Whoever
knows the hash of any transition (Events and logs have them) sees also when those after it were cut away.

Guarantee: what `verify` finds nothing in was signed link by link for this permit, in this order.
Caveat: a tail that was cut shows only against a hash that was noted elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from apis.meta import Manifest
from policy.permits.canonical import canonical
from policy.permits.moments import stamp
from policy.permits.step import Step

Sign = Callable[[bytes], tuple[str, str]]
"""Signs: answers the id of the key, and the signature in base64."""

Verify = Callable[[str, bytes, str], bool | None]
"""Is this (key id, signed bytes, signature in base64) right? None when the key is not known."""

_OUTSIDE = frozenset({"hash", "key", "signature", "eventTime"})
"""Fields that the hash does not cover: what follows from it, and when the Event was written."""


class Flaw(StrEnum):
    """What is wrong with a link."""

    SHAPE = "shape"  # it is no object
    INDEX = "index"  # it is not where it was made
    PREVIOUS = "previous"  # it follows another one than the one before it
    HASH = "hash"  # its content is not what was hashed
    UNSIGNED = "unsigned"
    UNKNOWN_KEY = "unknown key"
    SIGNATURE = "signature"
    CUT = "cut"  # a transition that is known to have been is missing


_SAYS = {
    Flaw.SHAPE: "it is no transition",
    Flaw.INDEX: "its index is another: a transition was taken out, put in or moved",
    Flaw.PREVIOUS: "it does not carry the hash of the transition before it",
    Flaw.HASH: "its content is not what was hashed when it was made",
    Flaw.UNSIGNED: "it carries no signature",
    Flaw.UNKNOWN_KEY: "nobody knows the key that signed it: look for the id in the published keys",
    Flaw.SIGNATURE: "its signature is not by the key that it names",
    Flaw.CUT: "the transition with the hash that is known from elsewhere is not in it",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """The first broken link: where, and what is wrong."""

    index: int
    flaw: Flaw

    @property
    def message(self) -> str:
        """A sentence that names the field."""
        return f"status.transitions[{self.index}] is not as it was written: {_SAYS[self.flaw]}"


def append(status: Manifest, uid: str, step: Step, now: datetime, sign: Sign | None) -> Manifest:
    """The status with one more transition. Without `sign` (a dry run) it has no signature, and no manager would act on it."""
    transitions = list(status.get("transitions") or [])
    made: Manifest = {
        "index": len(transitions),
        "type": str(step.type),
        "timestamp": stamp(now),
        "actor": {key: value for key, value in step.actor.items() if value is not None},
        "reason": step.reason,
    }
    optional = {
        "message": step.message,
        "until": step.until,
        "digest": (status.get("request") or {}).get("digest"),
        "previous": head(status),
    }
    made |= {key: value for key, value in optional.items() if value}
    made["hash"] = hash_of(uid, made)
    if sign is not None:
        made["key"], made["signature"] = sign(made["hash"].encode())
    return status | {"transitions": [*transitions, made]}


def head(status: Manifest) -> str:
    """The hash of the last transition; empty before the first."""
    transitions = status.get("transitions") or []
    return str(transitions[-1].get("hash") or "") if transitions else ""


def hash_of(uid: str, transition: Manifest) -> str:
    """The hash that a transition of the permit with this UID must carry."""
    covered = {key: value for key, value in transition.items() if key not in _OUTSIDE}
    return "sha256:" + sha256(canonical({"permit": uid, "transition": covered})).hexdigest()


def verify(transitions: Sequence[Any], uid: str, verifier: Verify, *, known: str = "") -> Broken | None:
    """The first broken link of a trail, or None. `known` is the hash of a transition that must be in it."""
    previous = ""
    for index, transition in enumerate(transitions):
        flaw = _flaw(transition, index, previous, uid, verifier)
        if flaw is not None:
            return Broken(index, flaw)
        previous = transition["hash"]
    if known and all(transition["hash"] != known for transition in transitions):
        return Broken(len(transitions), Flaw.CUT)
    return None


def _flaw(transition: Any, index: int, previous: str, uid: str, verifier: Verify) -> Flaw | None:
    if not isinstance(transition, Mapping):
        return Flaw.SHAPE
    if transition.get("index") != index:
        return Flaw.INDEX
    if transition.get("previous", "") != previous:
        return Flaw.PREVIOUS
    if transition.get("hash") != hash_of(uid, dict(transition)):
        return Flaw.HASH
    key, signature = transition.get("key"), transition.get("signature")
    if not isinstance(key, str) or not isinstance(signature, str) or not key or not signature:
        return Flaw.UNSIGNED
    right = verifier(key, transition["hash"].encode(), signature)
    if right is None:
        return Flaw.UNKNOWN_KEY
    return None if right else Flaw.SIGNATURE


# The seal


def seal_text(permit: Manifest) -> bytes:
    """What admission signs of a new permit: canonical JSON of its namespace, its name and its spec without the seal.

    A permit that was made with `generateName` has no name at admission, so that an empty one is sealed.
    """
    return _seal_text(permit, (permit.get("metadata") or {}).get("name") or "")


def seal_texts(permit: Manifest) -> tuple[bytes, bytes]:
    """The two texts that the seal of a stored permit may be over: with its name, and without the name that it got later."""
    return seal_text(permit), _seal_text(permit, "")


def _seal_text(permit: Manifest, name: str) -> bytes:
    spec = dict(permit.get("spec") or {})
    if isinstance(spec.get("requester"), Mapping):
        spec["requester"] = {key: value for key, value in spec["requester"].items() if key != "seal"}
    return canonical({"name": name, "namespace": (permit.get("metadata") or {}).get("namespace") or "", "spec": spec})
