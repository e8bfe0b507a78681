"""Roles and bindings as RBAC reads them: who is bound to what, and which rules an aggregated ClusterRole has.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

from apis.meta import Manifest, Ref
from apis.selector import Requirement, Selector
from policy.permits.canonical import canonical
from policy.permits.grants import words

ROLES: Final = ("Role", "ClusterRole")
BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_ACCOUNT_USER: Final = "system:serviceaccount:"
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


class RoleKey(NamedTuple):
    """Which role: `kind` is Role or ClusterRole, `namespace` is empty for the latter."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Role:
    """A Role or ClusterRole. `selectors` are those of its aggregation; `uid` is empty for one that is to be applied."""

    key: RoleKey
    rules: tuple[Manifest, ...] = ()
    labels: Mapping[str, str] | None = None
    selectors: tuple[Selector, ...] = ()
    uid: str = ""

    @classmethod
    def of(cls, manifest: Manifest, *, uid: str = "") -> "Role":
        """Read an object."""
        ref, metadata = Ref.of(manifest), manifest.get("metadata") or {}
        aggregation = _map(manifest.get("aggregationRule")).get("clusterRoleSelectors")
        return cls(
            RoleKey(ref.kind, "" if ref.kind == "ClusterRole" else ref.namespace, ref.name),
            tuple(_maps(manifest.get("rules"))),
            _map(metadata.get("labels")),
            tuple(selector for each in _maps(aggregation) if (selector := _selector(each)) is not None),
            uid,
        )

    def takes(self, other: "Role") -> bool:
        """Do the rules of the other become rules of this one? Only those of ClusterRoles ever do."""
        return (
            self.key.kind == other.key.kind == "ClusterRole"
            and other.key != self.key
            and any(selector.matches(other.labels or {}) for selector in self.selectors)
        )


@dataclass(frozen=True, slots=True)
class Binding:
    """A RoleBinding (with a namespace) or ClusterRoleBinding. `subjects` are written as in grants: `User/alice`."""

    namespace: str
    name: str
    role: RoleKey
    subjects: tuple[str, ...]

    @classmethod
    def of(cls, manifest: Manifest) -> "Binding":
        """Read an object."""
        ref, reference = Ref.of(manifest), _map(manifest.get("roleRef"))
        namespace = "" if ref.kind == "ClusterRoleBinding" else ref.namespace
        kind = str(reference.get("kind", ""))
        role = RoleKey(kind, "" if kind == "ClusterRole" else namespace, str(reference.get("name", "")))
        subjects = {subject(each, namespace) for each in _maps(manifest.get("subjects"))}
        return cls(namespace, ref.name, role, tuple(sorted(subjects)))

    def __str__(self) -> str:
        return f"RoleBinding {self.namespace}/{self.name}" if self.namespace else f"ClusterRoleBinding {self.name}"


def subject(manifest: Mapping[str, Any], namespace: str) -> str:
    """`User/alice`, `Group/sre`, `ServiceAccount/ns/name`; the user name of an account is that account."""
    kind, name = str(manifest.get("kind", "")), str(manifest.get("name", ""))
    if kind == "ServiceAccount":
        return account(str(manifest.get("namespace") or namespace), name)
    home, colon, own = name.removeprefix(_ACCOUNT_USER).partition(":")
    if kind == "User" and colon and name.startswith(_ACCOUNT_USER):
        return account(home, own)
    return f"{kind}/{name}"


def account(namespace: str, name: str) -> str:
    """The subject that a ServiceAccount is."""
    return f"ServiceAccount/{namespace}/{name}"


def laid_over(target: Manifest, live: Manifest | None) -> Manifest:
    """What the target would be once applied: `rules`, `aggregationRule`, `roleRef` and `subjects` are one field each.

    A field that it does not state keeps its live value, as do labels.
    """
    if live is None:
        return target
    stated = {name: value for name, value in target.items() if value is not None}
    labels = {**_map(live["metadata"].get("labels")), **_map((target.get("metadata") or {}).get("labels"))}
    return {**live, **stated, "metadata": {**(target.get("metadata") or {}), "labels": labels}}


def rules_of(key: RoleKey, known: Mapping[RoleKey, Role]) -> tuple[Manifest, ...]:
    """The rules of a known role, with those of all known roles that it takes, once each, in the order of their text."""
    rules = (rule for role in _family(known[key], known.values()) for rule in role.rules)
    return tuple(rule for _, rule in sorted({canonical(_sorted(rule)): rule for rule in rules}.items()))


def takers(key: RoleKey, known: Mapping[RoleKey, Role]) -> frozenset[RoleKey]:
    """The known ClusterRoles whose rules those of this one become, directly or through others."""
    aggregated = [role for role in known.values() if role.selectors and role.key != key]
    return frozenset(role.key for role in aggregated if any(one.key == key for one in _family(role, known.values())))


def seen(key: RoleKey, known: Mapping[RoleKey, Role]) -> Manifest:
    """The row of `status.roles`, without UID and digest when nothing is known of the role.

    The digest is independent of the order in which rules are written.
    """
    row: Manifest = {"kind": key.kind, "namespace": key.namespace, "name": key.name, "uid": "", "rulesDigest": ""}
    if key in known:
        rules = [_sorted(rule) for rule in rules_of(key, known)]
        row |= {"uid": known[key].uid, "rulesDigest": f"sha256:{sha256(canonical(rules)).hexdigest()}"}
    return {name: value for name, value in row.items() if value or name in ("kind", "name")}


def _family(role: Role, known: Collection[Role]) -> Iterator[Role]:
    """A role and all that it takes, however long the way; each once."""
    waiting, found = [role], {role.key}
    while waiting:
        one = waiting.pop()
        yield one
        taken = [other for other in known if other.key not in found and one.takes(other)] if one.selectors else []
        found.update(other.key for other in taken)
        waiting += taken


def _sorted(rule: Manifest) -> Manifest:
    return {name: words(value) if isinstance(value, list) else value for name, value in rule.items() if value}


def _selector(manifest: Manifest) -> Selector | None:
    """The selector, or None for one that the server refuses."""
    expressions = [
        Requirement(str(each.get("key", "")), str(each.get("operator", "")), tuple(words(each.get("values"))))
        for each in _maps(manifest.get("matchExpressions"))
    ]
    if any(each.operator not in _OPERATORS for each in expressions):
        return None
    return Selector.of(_map(manifest.get("matchLabels")), expressions)


def _map(value: Any) -> Manifest:
    return value if isinstance(value, dict) else {}


def _maps(value: Any) -> Iterable[Manifest]:
    # What is no list of maps is refused by the server, and gives nothing.
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
