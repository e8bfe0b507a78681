"""What is told about a permit: each transition is an Event and a line of the log, and both name the head of the trail.

Whoever keeps them can prove that a tail was cut off (`copyhold permit verify --head`): the hash that they name is in it no more.
Pure; manager.events writes.
"""

import re
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from apis.copyhold.permitstatus import Phase
from apis.meta import GROUP, Manifest, Ref
from apis.reasons import Reason
from manager.events import Notice, Type
from policy.permits.why import Why

ACTOR_LABEL = f"event.{GROUP}/actor"
ACTOR_KIND_LABEL = f"event.{GROUP}/actor-kind"

_NAME_BOUND = 128  # characters of an actor's name in a note: the hash after it must not be cut off
_LABEL_BOUND = 63  # of a label's value (Kubernetes)
_DIGITS = 8

BY_PHASE = MappingProxyType(
    {
        Phase.CREATED: (Type.NORMAL, Reason.CREATED),
        Phase.REQUESTED: (Type.NORMAL, Reason.REVIEW_NEEDED),
        Phase.PENDING: (Type.NORMAL, Reason.REVIEW_NEEDED),
        Phase.DENIED: (Type.NORMAL, Reason.DENIED),
        Phase.APPROVED: (Type.NORMAL, Reason.APPROVED),
        Phase.ACTIVE: (Type.NORMAL, Reason.ACTIVATED),
        Phase.FAILED: (Type.WARNING, Reason.FAILED),
        Phase.RETRYING: (Type.NORMAL, Reason.RETRYING),
        Phase.EXPIRED: (Type.NORMAL, Reason.EXPIRED),
    }
)
"""What a transition into a phase is told as."""

BY_REASON = MappingProxyType(
    {
        Why.APPROVAL_RECORDED: (Type.NORMAL, Reason.APPROVAL_RECORDED),
        Why.ACTIVATION_BEGUN: (Type.NORMAL, Reason.ACTIVATING),
        Why.PREVIEW_CHANGED: (Type.WARNING, Reason.REVIEW_NEEDED),
        Why.GRANTS_CHANGED: (Type.WARNING, Reason.REVIEW_NEEDED),
        Why.DEADLINE_EXCEEDED: (Type.WARNING, Reason.EXPIRED),
        Why.APPROVAL_LAPSED: (Type.WARNING, Reason.EXPIRED),
    }
)
"""Reasons of transitions that say more than the phase; they go first."""


def notice(permit: Manifest, transition: Manifest) -> Notice:
    """The Event about a transition of a permit. Its `action` is the reason of the transition."""
    type_, reason = BY_REASON.get(transition["reason"]) or BY_PHASE[Phase(transition["type"])]
    actor = transition["actor"]
    return Notice(
        Ref.of(permit),
        permit["metadata"]["uid"],
        type_,
        reason,
        transition["reason"],
        _note(transition),
        ((ACTOR_LABEL, actor_label(actor["name"])), (ACTOR_KIND_LABEL, actor["type"])),
    )


def line(permit: Manifest, transition: Manifest) -> dict[str, Any]:
    """What the log says about a transition: keys and values for one line."""
    said = {
        "permit": Ref.of(permit),
        "uid": permit["metadata"]["uid"],
        "transition": transition["index"],
        "phase": transition["type"],
        "reason": transition["reason"],
        "actor": transition["actor"]["name"],
        "actor_kind": transition["actor"]["type"],
        "trail": transition["hash"],
    }
    return said | {key: transition[key] for key in ("digest", "until") if transition.get(key)}


def actor_label(name: str) -> str:
    """The name of an actor as the value of a label, with eight digits of its SHA-256: two names never look the same."""
    digits = sha256(name.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[: _LABEL_BOUND - _DIGITS - 1].strip("_.-")
    return f"{plain}-{digits}" if plain else digits


def _note(transition: Manifest) -> str:
    actor = transition["actor"]
    name = actor["name"] if len(actor["name"]) <= _NAME_BOUND else actor["name"][:_NAME_BOUND] + "..."
    who = "the manager" if actor["type"] == "System" else f"{actor['type']} {name}"
    until = f" until {transition['until']}" if transition.get("until") else ""
    # The message goes last: an Event that is too long is cut at its end.
    told = f"{transition['type']}{until} by {who}; transition {transition['index']} of the trail is {transition['hash']}"
    return f"{told}: {transition['message']}" if transition.get("message") else told
