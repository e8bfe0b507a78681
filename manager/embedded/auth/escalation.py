"""Whether a user may give rights away: nobody writes or binds a role that holds more than he has himself.

Verbs `escalate` (on the role) and `bind` (on the role that a binding refers to) lift that
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping).
"""

from collections.abc import Iterable
from dataclasses import replace

from apis.meta import Manifest
from manager.embedded.attributes import MASTERS, Attributes
from manager.embedded.auth.rbac import GROUP, Authorizer
from manager.embedded.auth.refusal import quoted_list
from manager.embedded.auth.rule import ALL, Rule
from manager.embedded.causes import quote
from manager.embedded.status import Named, StatusError, forbidden, not_found

KINDS = frozenset({"roles", "clusterroles", "rolebindings", "clusterrolebindings"})
EVERYTHING = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))
_OF_THE_COLLECTOR = ("ownerReferences", "finalizers", "selfLink", "managedFields")


def check_escalation(asked: Attributes, new: Manifest, old: Manifest | None, authorizer: Authorizer) -> None:
    """Refuse to create or change a Role, ClusterRole or binding that gives more than the user has. Other kinds pass.

    `asked` is the request as it came: its name is that of the path, empty for a POST. Called before the object is validated.
    Raises 403; 404 for a binding to a role that does not exist, which the user may not `bind`.
    """
    if asked.group != GROUP or asked.resource not in KINDS or asked.subresource or MASTERS in asked.user.groups:
        return
    if asked.resource in ("roles", "clusterroles"):
        _check_role(asked, new, old, authorizer)
    else:
        _check_binding(asked, new, old, authorizer)


def _check_role(asked: Attributes, new: Manifest, old: Manifest | None, authorizer: Authorizer) -> None:
    if authorizer.decide(replace(asked, verb="escalate", version="*")).allowed or _only_collected(new, old):
        return
    about = Named(GROUP, asked.resource, new["metadata"].get("name", ""))
    _require_rules(asked, about, map(Rule.of, new.get("rules") or ()), authorizer)
    aggregates = _aggregates(new) or (old is not None and _aggregates(old))
    if asked.resource == "clusterroles" and aggregates and _missing(asked, EVERYTHING, authorizer)[0]:
        raise forbidden(about, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(asked: Attributes, new: Manifest, old: Manifest | None, authorizer: Authorizer) -> None:
    if _only_collected(new, old):
        return
    reference = new.get("roleRef") or {}
    if _may_bind(asked, reference, authorizer):
        return
    try:
        rules = authorizer.rules_of(reference, asked.namespace)
    except StatusError as error:
        # The real server names the kind that is written, with the name of the role that it missed.
        raise not_found(Named(GROUP, asked.resource, reference.get("name", ""))) if error.code == 404 else error from error
    _require_rules(asked, Named(GROUP, asked.resource, new["metadata"].get("name", "")), rules, authorizer)


def _may_bind(asked: Attributes, reference: Manifest, authorizer: Authorizer) -> bool:
    resource = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.get("kind", ""))
    if resource is None:
        return False
    group, name = reference.get("apiGroup", ""), reference.get("name", "")
    bind = Attributes(asked.user, "bind", group, "*", resource, namespace=asked.namespace, name=name)
    return authorizer.decide(bind).allowed


def _require_rules(asked: Attributes, about: Named, rules: Iterable[Rule], authorizer: Authorizer) -> None:
    missing, trouble = _missing(asked, rules, authorizer)
    if not missing:
        return
    user = asked.user
    # Sorted and once each: two rules may lack the same.
    listed = "\n".join(sorted(set(map(str, _compact(missing)))))
    who = f"user {quote(user.name)} (groups={quoted_list(user.groups)})"
    resolution = f"; resolution errors: [{trouble}]" if trouble else ""
    raise forbidden(about, f"{who} is attempting to grant RBAC permissions not currently held:\n{listed}{resolution}")


def _missing(asked: Attributes, rules: Iterable[Rule], authorizer: Authorizer) -> tuple[list[Rule], str]:
    held, trouble = authorizer.rules(asked.user, asked.namespace)
    parts = (part for rule in rules for part in rule.parts())
    return [part for part in parts if not any(own.covers(part) for own in held)], trouble


def _compact(parts: Iterable[Rule]) -> list[Rule]:
    """Parts that differ in their verb alone become one rule."""
    paths: list[Rule] = []
    verbs: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
    for part in parts:
        if part.urls:
            paths.append(part)
            continue
        place = (part.groups, part.resources, part.names)
        verbs[place] = (*verbs.get(place, ()), *part.verbs)
    return paths + [Rule(said, *place) for place, said in verbs.items()]


def _aggregates(role: Manifest) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collected(new: Manifest, old: Manifest | None) -> bool:
    """Does the update touch nothing but what the garbage collector writes?"""
    return old is not None and _without(new) == _without(old)


def _without(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _OF_THE_COLLECTOR and value}
    rest = {key: value for key, value in manifest.items() if key not in ("metadata", "apiVersion", "kind") and value}
    return rest | {"metadata": metadata}
