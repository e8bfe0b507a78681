"""The rights that a permit gives, a row for each subject and rule; and the question that conditions of approval ask of them.

A row is a map with `subject`, `namespace`, `verbs`, `apiGroups`, `resources`, `resourceNames`, `nonResourceURLs`, `via` and
`unresolved` (apis.copyhold.permitstatus.Grant). The status leaves out what is empty; conditions see every key (`visible`).

| A row with | counts as |
| --- | --- |
| `unresolved` | every right |
| `escalate` or `bind` on roles; `impersonate`; `create` on `serviceaccounts/token` | every right: by them one gets all others |
| `resourceNames` | the right without names |
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from apis.meta import Manifest
from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.library import Function, Library, member
from policy.cel.types import BOOL, DYN, STRING, list_of, map_of
from policy.permits.canonical import canonical

RBAC: Final = "rbac.authorization.k8s.io"
ALL: Final = "*"
ANYBODY: Final = "*"
"""The subject of rights of which nobody can say who gets them."""

MOST: Final = 500
LARGEST: Final = 128 * 1024
"""Rows, and bytes of them as JSON, that a status holds; what is beyond counts as unresolved."""

TEXTS: Final = ("subject", "namespace", "via", "unresolved")
LISTS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")

_IDENTITIES = ("users", "groups", "serviceaccounts", "uids", "nodes", "userextras", "userextras/*")
_POWERS: Final = (
    (("escalate", "bind"), (RBAC,), ("roles", "clusterroles")),
    (("impersonate",), ("", "authentication.k8s.io"), _IDENTITIES),
    (("create",), ("",), ("serviceaccounts/token",)),
)
"""Verbs, groups and resources by any of which one gets every other right."""


def granted(subject: str, rule: Mapping[str, Any], *, namespace: str = "", via: str = "") -> Manifest | None:
    """The row of one rule of a role; None when it gives nothing there, as URLs within a namespace."""
    parts = {name: words(rule.get(name)) for name in LISTS}
    if namespace:
        parts["nonResourceURLs"] = []  # only a ClusterRoleBinding gives them
    if not parts["verbs"] or not (parts["resources"] or parts["nonResourceURLs"]):
        return None
    return _filled({"subject": subject, "namespace": namespace, **parts, "via": via})


def words(value: Any) -> list[str]:
    """The words of a list, sorted and once each; what is no list of words is refused by the server and holds none."""
    return sorted({each for each in value if isinstance(each, str)}) if isinstance(value, list) else []


def unresolved(subject: str, why: str, *, namespace: str = "", via: str = "") -> Manifest:
    """The row of rights that could not be found out."""
    return _filled({"subject": subject, "namespace": namespace, "via": via, "unresolved": why})


def ordered(rows: Iterable[Manifest]) -> list[Manifest]:
    """The rows once each, sorted. Beyond `MOST` or `LARGEST` none is looked at: one that counts as everything stands for them."""
    kept: dict[tuple[str, str, str, bytes], Manifest] = {}
    size = 0
    for row in rows:
        text = canonical(row)
        size += len(text)
        if len(kept) == MOST or size > LARGEST:
            rest = unresolved(ANYBODY, "more rights are given than a status can hold: ask for less in one permit")
            return [rest, *_sorted(kept)]
        kept[row["subject"], row.get("namespace", ""), row.get("via", ""), text] = row
    return _sorted(kept)


def allows(rows: Iterable[Mapping[str, Any]], verb: str, group: str, resource: str) -> bool:
    """Does any row give such a right, to whomever and wherever?

    `resource` is a plural, or `pods/log` for a subresource. `*` asks for some verb, group or resource, `pods/*` for some
    subresource of pods, `*/scale` for that subresource of something: any overlap counts.
    """
    return any(amounts_to_all(row) or _overlaps(row, (verb,), (group,), (resource,)) for row in rows)


def amounts_to_all(row: Mapping[str, Any]) -> bool:
    """Is it not known what a row gives, or does it give a power by which one gets every other right?"""
    # `impersonate:user-info` and the like (KEP-5284) are kinds of impersonate.
    plain = {**row, "verbs": [verb.partition(":")[0] for verb in row.get("verbs") or ()]}
    return bool(row.get("unresolved")) or any(_overlaps(plain, *power) for power in _POWERS)


def visible(rows: Iterable[Mapping[str, Any]]) -> list[Manifest]:
    """The rows as conditions see them: every key is there, empty texts and lists included."""
    return [{name: row.get(name) or "" for name in TEXTS} | {name: list(row.get(name) or ()) for name in LISTS} for row in rows]


def _filled(row: Manifest) -> Manifest:
    return {name: value for name, value in row.items() if value}


def _sorted(rows: Mapping[tuple[str, str, str, bytes], Manifest]) -> list[Manifest]:
    return [row for _, row in sorted(rows.items())]


def _overlaps(row: Mapping[str, Any], verbs: Sequence[str], groups: Sequence[str], resources: Sequence[str]) -> bool:
    return (
        _common(row.get("verbs") or (), verbs)
        and _common(row.get("apiGroups") or (), groups)
        and any(_meet(own, asked) for own, asked in product(row.get("resources") or (), resources))
    )


def _common(own: Sequence[str], asked: Sequence[str]) -> bool:
    return any(a == b or ALL in (a, b) for a, b in product(own, asked))


def _meet(own: str, asked: str) -> bool:
    """Is there a resource that both mean? `*` alone means all, subresources included."""
    if ALL in (own, asked):
        return True
    resource, _, sub = own.partition("/")
    other, _, below = asked.partition("/")
    return _common((resource,), (other,)) and bool(sub) == bool(below) and _common((sub,), (below,))


def _allow(budget: Budget, rows: Sequence[Any], verb: str, group: str, resource: str) -> bool:
    _check_question(verb, group, resource)
    for row in rows:
        if not isinstance(row, Mapping) or "subject" not in row:
            raise CelError("`allow` asks about a list of grants")
        budget.charge(20 + 10 * sum(len(row.get(name) or ()) for name in LISTS))
    return allows(rows, verb, group, resource)


def _check_question(verb: str, group: str, resource: str) -> None:
    """A question that no right could answer would be a condition that nobody notices to be void. Raises CelError."""
    if not verb or verb != verb.lower():
        raise CelError("the verb of `allow` is a word in lower case, such as 'get', or '*'")
    if group == "core" or "/" in group or group != group.lower():
        raise CelError("the group of `allow` has no version, such as 'apps'; that of core resources is ''")
    if not resource or resource != resource.lower():
        raise CelError("the resource of `allow` is a plural in lower case, such as 'secrets', or '*'")


TYPE: Final = list_of(map_of(STRING, DYN))
"""The type of the variable `grants`."""

LIBRARY: Final = Library(
    "grants", functions=(Function("allow", member((TYPE, STRING, STRING, STRING), BOOL, _allow, budget=True)),)
)
"""`grants.allow(verb, group, resource)`: do the grants give such a right?"""
