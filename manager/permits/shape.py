"""How the targets of a permit stand in its snapshot, and how large that may be. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apis.intent import Group, Intent, Policy
from apis.meta import Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from policy.permits.masking import is_secret
from policy.target import Desired

LARGEST = 512 * 1024
"""Bytes of a snapshot as JSON: it shares one object with the records and the trail, and etcd takes 1.5 MiB."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A group of the template, and what it rendered to."""

    group: Group
    targets: tuple[Desired, ...]


def has_secrets(targets: Iterable[Manifest]) -> bool:
    """Is there a Secret among the targets?"""
    return any(map(is_secret, targets))


def resources(groups: Iterable[Rendered], targets: Sequence[Manifest]) -> list[Manifest]:
    """`status.request.resources`: each group with its policy and, of `targets`, as many as it rendered."""
    shown = iter(targets)
    return [
        {"name": one.group.name, "policy": _written(one.group.policy), "targets": [next(shown) for _ in one.targets]}
        for one in groups
        if one.targets
    ]


def _written(policy: Policy) -> Manifest:
    words: Manifest = {
        "creation": policy.creation.value,
        "protect": policy.protect,
        "force": policy.force,
        "deletion": policy.deletion.value,
    }
    return words if policy.condition is None else {**words, "condition": policy.condition}


def targets_of(request: Manifest) -> list[Manifest]:
    """The manifests of a stored snapshot, in order and as they are shown: the values of Secrets are masked."""
    return [target for group in request["resources"] for target in group["targets"]]


def with_targets(intent: Intent, targets: Sequence[Manifest]) -> Intent:
    """What a snapshot wants, with these manifests in the places of those that it shows: the values of Secrets are clear."""
    return replace(intent, groups=tuple(_filled(intent.groups, iter(targets))))


def _filled(groups: Iterable[Group], clear: Iterator[Manifest]) -> Iterator[Group]:
    for group in groups:
        yield replace(group, rendered=tuple(next(clear) for _ in group.rendered))


def check_size(snapshot: Any) -> None:
    """Raise Invalid, naming the size, for a snapshot that is too large to be stored."""
    size = len(orjson.dumps(snapshot))
    if size > LARGEST:
        message = (
            f"the snapshot has {size} bytes as JSON, and {LARGEST} are the most: "
            "render fewer or smaller targets, or divide the template into several"
        )
        raise Invalid(Reason.SNAPSHOT_TOO_LARGE, message)
