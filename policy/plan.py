"""All targets of a parent -> decisions, in the order in which they are carried out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apis.meta import Key, Manifest
from apis.problems import Invalid
from apis.reasons import Reason
from apis.record import SHARED
from policy.decide import PRUNES, Decision, Owner, Verb
from policy.target import Desired, digest_of, merged

RBAC = "rbac.authorization.k8s.io"

# What others stand on comes first; within a rank the order does not matter.
RANKS: dict[tuple[str, str], int] = {
    ("", "Namespace"): 0,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): 1,
    ("", "ServiceAccount"): 2,
    (RBAC, "ClusterRole"): 3,
    (RBAC, "Role"): 3,
    (RBAC, "ClusterRoleBinding"): 4,
    (RBAC, "RoleBinding"): 4,
    ("", "ConfigMap"): 5,
    ("", "Secret"): 5,
    ("", "ResourceQuota"): 5,
    ("", "LimitRange"): 5,
    ("networking.k8s.io", "NetworkPolicy"): 5,
}
LAST = 6


def rank(key: Key) -> int:
    """The step of the apply order in which a kind is written; removal goes the other way."""
    return RANKS.get((key.group, key.kind), LAST)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done for one parent: for whom, and each target's decision, in order."""

    owner: Owner
    decisions: tuple[Decision, ...]

    @property
    def removals(self) -> tuple[Decision, ...]:
        """The decisions that take something back."""
        return tuple(decision for decision in self.decisions if decision.verb in PRUNES)

    @property
    def writes(self) -> tuple[Decision, ...]:
        """The decisions that write to a target."""
        return tuple(decision for decision in self.decisions if decision.writes)


def ordered(decisions: Iterable[Decision], *, temporary: bool = False) -> tuple[Decision, ...]:
    """Apply in the order of ranks, then take back in the reverse order; equal ranks by identity, so that two runs are alike.

    `temporary` access: rights are given last, and taken back first and all at once, so that no removal waits for another.
    """
    if temporary:
        return tuple(sorted(decisions, key=lambda each: (_temporary_step(each), each.key.group != RBAC, each.key)))
    return tuple(sorted(decisions, key=lambda each: (_step(each), each.key)))


def steps(decisions: Sequence[Decision], *, temporary: bool = False) -> list[list[Decision]]:
    """The same decisions in groups that may run side by side: one group per rank and direction."""
    step = _temporary_step if temporary else _step
    groups: dict[int, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(step(decision), []).append(decision)
    return [groups[number] for number in sorted(groups)]


def _step(decision: Decision) -> int:
    place = rank(decision.key)
    return 2 * LAST - place + 1 if decision.verb in PRUNES else place


def _temporary_step(decision: Decision) -> int:
    place = rank(decision.key)
    if decision.verb in PRUNES:
        return -1
    return LAST + place if decision.key.group == RBAC else place


def held_back(decisions: Iterable[Decision], message: str) -> tuple[Decision, ...]:
    """The same plan with its removals held by the delete budget; applies stay."""
    return tuple(
        replace(decision, verb=Verb.SKIP, reason=Reason.PRUNE_BLOCKED, message=message) if decision.verb in PRUNES else decision
        for decision in decisions
    )


def distinct(targets: Iterable[Desired]) -> tuple[dict[Key, Desired], dict[Key, Invalid]]:
    """One desired state per identity: what agrees is merged, what does not is an error that names both sources.

    Two renderings disagree when a field has two values, or when their policies differ, or their versions.
    """
    renderings: dict[Key, list[Desired]] = {}
    for target in targets:
        renderings.setdefault(target.key, []).append(target)
    chosen: dict[Key, Desired] = {}
    clashes: dict[Key, Invalid] = {}
    for key, several in renderings.items():
        try:
            chosen[key] = _joined(several)
        except Invalid as problem:
            clashes[key] = problem
    return chosen, clashes


def _joined(several: Sequence[Desired]) -> Desired:
    """All renderings of one target as one. Its digest does not depend on their order: reordering sources changes nothing."""
    both = several[0]
    for other in several[1:]:
        manifest, clash = _merged(both, other)
        if clash:
            raise Invalid(Reason.DUPLICATE_TARGET, _duplicate(both, other, clash))
        both = replace(both, manifest=manifest, sources=tuple(dict.fromkeys(both.sources + other.sources)))
    if len({one.unit for one in several}) > 1:
        tenant = both.tenant if len({one.tenant for one in several}) == 1 else ""
        both = replace(both, unit=SHARED, tenant=tenant)
    digests = sorted({one.digest for one in several})
    return both if len(digests) == 1 else replace(both, digest=digest_of(digests))


def _merged(first: Desired, second: Desired) -> tuple[Manifest, str]:
    if first.ref != second.ref:
        return first.manifest, "apiVersion"
    if first.policy != second.policy:
        return first.manifest, "policy"
    return (first.manifest, "") if first.digest == second.digest else merged(first.manifest, second.manifest)


def _duplicate(first: Desired, second: Desired, clash: str) -> str:
    here, there = ", ".join(first.sources), ", ".join(second.sources)
    if first.unit != second.unit:  # one source, rendered twice: only the units tell the two apart
        here, there = f"{here} for {first.unit}", f"{there} for {second.unit}"
    return f"{first.ref} is rendered by {here} and by {there}, which disagree in {clash}: rename one, or make them equal"
