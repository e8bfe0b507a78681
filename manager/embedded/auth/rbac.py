"""Whether a user may: RBAC from the stored Roles, ClusterRoles and bindings, which are read again when they change."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from apis.meta import Manifest
from manager.embedded.attributes import MASTERS, Attributes, Decision, User
from manager.embedded.auth.objects import Objects
from manager.embedded.auth.refusal import refusal
from manager.embedded.auth.rule import Rule
from manager.embedded.causes import quote
from manager.embedded.status import StatusError
from manager.embedded.store import Key

GROUP = "rbac.authorization.k8s.io"
ROLES = f"roles.{GROUP}"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
ROLE_BINDINGS = f"rolebindings.{GROUP}"
CLUSTER_ROLE_BINDINGS = f"clusterrolebindings.{GROUP}"
RESOURCES = (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)

ACCOUNT_PREFIX = "system:serviceaccount:"
KEPT = 20_000
"""Questions whose answers are kept until a role or a binding changes."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that a user has; `source` says by which binding."""

    rule: Rule
    source: str


@dataclass(frozen=True, slots=True)
class _Bound:
    """A binding, under one of its subjects; of the subjects that are one user, the first in the list counts."""

    position: int
    subject: int
    reference: Manifest
    source: str


_Bindings = dict[tuple[str, str], list[_Bound]]
"""The bindings of a namespace, or of the cluster, by subject: ("User" or "Group", name)."""


class Authorizer:
    """RBAC over stored objects.

    Guarantees: an answer is that of the objects as they are now. Members of `system:masters` may everything.
    Caveats: the real server looks through bindings in no order. Here, of several that allow the same, the first by name is the
    reason.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._stamp: tuple[int, ...] = ()
        self._answers: OrderedDict[tuple[object, ...], tuple[list[Grant], str]] = OrderedDict()
        self._bindings: dict[str, tuple[int, _Bindings]] = {}
        self._rules: dict[Key, tuple[str, tuple[Rule, ...]]] = {}

    def decide(self, asked: Attributes) -> Decision:
        """Whether the user may. The reason of a refusal names roles that are bound but do not exist."""
        if MASTERS in asked.user.groups:
            return Decision(True)
        grants, trouble = self._answer(asked)
        for grant in grants:
            if not grant.rule.names or asked.path or asked.name in grant.rule.names:
                return Decision(True, f"RBAC: allowed by {grant.source}")
        return Decision(False, trouble)

    def require(self, asked: Attributes) -> None:
        """Raises 403 when the user may not."""
        decision = self.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)

    def rules(self, user: User, namespace: str) -> tuple[tuple[Rule, ...], str]:
        """All rules that a user has in a namespace (or in none), and what could not be resolved, in words."""
        found, errors = self._resolve(user, namespace)
        return tuple(grant.rule for grant in found), _together(errors)

    def rules_of(self, reference: Manifest, namespace: str) -> tuple[Rule, ...]:
        """The rules of the role that a binding in `namespace` ("": a ClusterRoleBinding) refers to. Raises 404."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if kind == "ClusterRole":
            return self._role(Key(CLUSTER_ROLES, "", name), "clusterrole")
        if kind == "Role":
            return self._role(Key(ROLES, namespace, name), "role")
        raise StatusError(500, "", f"unsupported role reference kind: {quote(kind)}")

    def _answer(self, asked: Attributes) -> tuple[list[Grant], str]:
        stamp = tuple(map(self._objects.touched, RESOURCES))
        if stamp != self._stamp:
            self._answers.clear()
            self._stamp = stamp
        user = asked.user
        # Without the name: who writes a thousand objects is asked about once.
        question = (
            user.name,
            user.groups,
            asked.verb,
            asked.group,
            asked.resource,
            asked.subresource,
            asked.namespace,
            asked.path,
        )
        known = self._answers.get(question)
        if known is None:
            found, errors = self._resolve(user, asked.namespace)
            trouble = f"RBAC: {_together(errors)}" if errors else ""
            known = [grant for grant in found if grant.rule.concerns(asked)], trouble
            self._answers[question] = known
            if len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return known

    def _resolve(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        found: list[Grant] = []
        errors: list[str] = []
        for place in ("", namespace) if namespace else ("",):
            for bound in _applying(self._bindings_in(place), user):
                try:
                    rules = self.rules_of(bound.reference, place)
                except StatusError as error:
                    errors.append(error.message)
                    continue
                found.extend(Grant(rule, bound.source) for rule in rules)
        return found, errors

    def _bindings_in(self, namespace: str) -> _Bindings:
        resource = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
        stamp = self._objects.touched(resource)
        known = self._bindings.get(namespace)
        if known is None or known[0] != stamp:
            known = stamp, _by_subject(self._objects.manifests(resource, namespace), namespace)
            self._bindings[namespace] = known
        return known[1]

    def _role(self, key: Key, kind: str) -> tuple[Rule, ...]:
        role = self._objects.read(key)
        if role is None:
            raise StatusError(404, "NotFound", f"{kind}.{GROUP} {quote(key.name)} not found")
        version = f"{role['metadata'].get('uid')} {role['metadata'].get('resourceVersion')}"
        known = self._rules.get(key)
        if known is None or known[0] != version:
            known = version, tuple(map(Rule.of, role.get("rules") or ()))
            if len(self._rules) > KEPT:
                self._rules.clear()
            self._rules[key] = known
        return known[1]


def _by_subject(bindings: Iterator[Manifest], namespace: str) -> _Bindings:
    found: _Bindings = {}
    for position, binding in enumerate(bindings):
        for index, subject in enumerate(binding.get("subjects") or ()):
            who = _who(subject, namespace)
            if who is not None:
                bound = _Bound(position, index, binding["roleRef"], _source(binding, subject, namespace))
                found.setdefault(who, []).append(bound)
    return found


def _who(subject: Manifest, namespace: str) -> tuple[str, str] | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return kind, name
    home = subject.get("namespace") or namespace
    # In a ClusterRoleBinding there is no namespace to fall back to.
    return ("User", f"{ACCOUNT_PREFIX}{home}:{name}") if kind == "ServiceAccount" and home else None


def _applying(bindings: _Bindings, user: User) -> list[_Bound]:
    """The bindings that name the user or one of his groups, each once, in their order."""
    first: dict[int, _Bound] = {}
    for who in (("User", user.name), *(("Group", group) for group in user.groups)):
        for bound in bindings.get(who, ()):
            known = first.get(bound.position)
            if known is None or bound.subject < known.subject:
                first[bound.position] = bound
    return [first[position] for position in sorted(first)]


def _source(binding: Manifest, subject: Manifest, namespace: str) -> str:
    name = binding["metadata"]["name"]
    reference = binding["roleRef"]
    kind, title = ("RoleBinding", f"{name}/{namespace}") if namespace else ("ClusterRoleBinding", name)
    who = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    role = f"{reference.get('kind', '')} {quote(reference.get('name', ''))}"
    return f"{kind} {quote(title)} of {role} to {subject.get('kind', '')} {quote(who)}"


def _together(errors: list[str]) -> str:
    """Several errors as the server joins them; the same one counts once."""
    once = list(dict.fromkeys(errors))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]" if once else ""
