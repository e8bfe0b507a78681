"""Who gets the rules of which role by a snapshot: its own bindings, existing ones to roles that it changes, lent accounts.

| In the snapshot | gives | to |
| --- | --- | --- |
| RoleBinding, ClusterRoleBinding | the rules of its role | its subjects |
| Role, ClusterRole | its rules | whom an existing binding names, to it or to a ClusterRole that takes its rules |
| what runs or signs in as an account | the rules of every role that existing bindings give the account | the account |
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from apis.meta import Manifest
from policy.permits.grants import granted, unresolved
from policy.permits.lent import Lent
from policy.permits.roles import Binding, Role, RoleKey, rules_of, takers


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the targets of a permit say of rights. Roles and bindings are as they would be once applied."""

    roles: tuple[Role, ...] = ()
    bindings: tuple[Binding, ...] = ()
    lent: tuple[Lent, ...] = ()
    rows: tuple[Manifest, ...] = ()  # what could not be looked into

    @property
    def everywhere(self) -> bool:
        """Do existing bindings of the whole cluster matter?"""
        return bool(self.lent) or self.widens

    @property
    def widens(self) -> bool:
        """Do other ClusterRoles matter? Any of them may select one of the snapshot, and be selected."""
        return any(role.key.kind == "ClusterRole" for role in self.roles)

    @property
    def places(self) -> tuple[str, ...]:
        """The namespaces whose bindings matter, where not all do."""
        return () if self.everywhere else tuple(sorted({role.key.namespace for role in self.roles}))


class Bound(NamedTuple):
    """One subject gets the rules of one role, in a namespace or (empty) everywhere, by something."""

    subject: str
    namespace: str
    role: RoleKey
    via: str


def bound(snapshot: Snapshot, bindings: Sequence[Binding], known: Mapping[RoleKey, Role]) -> list[Bound]:
    """All that the snapshot gives, sorted. `bindings` are the existing ones that matter, `known` the roles of both.

    An existing binding that is also in the snapshot counts as it stands there, so that nothing changes once it is applied.
    """
    own = {(binding.namespace, binding.name) for binding in snapshot.bindings}
    others = [binding for binding in bindings if (binding.namespace, binding.name) not in own]
    return sorted({*_new(snapshot), *_wider(snapshot, others, known), *_lent(snapshot, others)})


def rows(given: Sequence[Bound], known: Mapping[RoleKey, Role], why: Mapping[RoleKey, str]) -> Iterator[Manifest]:
    """The grants: a row for each rule, or one that says `why` the rules of a role are not known."""
    rules = {key: rules_of(key, known) for key in {one.role for one in given} if key not in why}
    for one in given:
        if one.role in why:
            yield unresolved(one.subject, why[one.role], namespace=one.namespace, via=one.via)
        for rule in rules.get(one.role, ()):
            row = granted(one.subject, rule, namespace=one.namespace, via=one.via)
            if row is not None:
                yield row


def _new(snapshot: Snapshot) -> Iterator[Bound]:
    for binding in snapshot.bindings:
        for subject in binding.subjects:
            yield Bound(subject, binding.namespace, binding.role, str(binding))


def _wider(snapshot: Snapshot, bindings: Sequence[Binding], known: Mapping[RoleKey, Role]) -> Iterator[Bound]:
    for role in snapshot.roles:
        changed = {role.key, *takers(role.key, known)}
        for binding in bindings:
            if binding.role in changed:
                for subject in binding.subjects:
                    yield Bound(subject, binding.namespace, role.key, f"{role.key} through {binding}")


def _lent(snapshot: Snapshot, bindings: Sequence[Binding]) -> Iterator[Bound]:
    for one in snapshot.lent:
        for binding in bindings:
            if not one.names.isdisjoint(binding.subjects):
                yield Bound(one.subject, binding.namespace, binding.role, f"{one.via} through {binding}")
