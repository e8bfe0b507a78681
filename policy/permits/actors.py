"""Who does something: {name, type, uid, groups}, as the API server authenticated them."""

from collections.abc import Mapping
from typing import Any

from apis.copyhold.permitstatus import ActorType
from apis.meta import Manifest
from policy.permits.refusal import Refused

SYSTEM: Manifest = {"name": "copyhold", "type": str(ActorType.SYSTEM)}
"""The manager itself."""

_ACCOUNT = "system:serviceaccount:"


def actor_of(user_info: Mapping[str, Any]) -> Manifest:
    """The actor behind the `userInfo` of an AdmissionReview. Raises Refused (403) when it has no name."""
    name = user_info.get("username") or ""
    if not name:
        raise Refused(403, "the request names no user: log in")
    kind = ActorType.SERVICE_ACCOUNT if name.startswith(_ACCOUNT) else ActorType.USER
    actor: Manifest = {"name": name, "type": str(kind), "groups": list(user_info.get("groups") or ())}
    if user_info.get("uid"):
        actor["uid"] = user_info["uid"]
    return actor


def requester_of(permit: Manifest) -> Manifest:
    """Who asked for the permit, without the seal. Raises Refused (422) when admission never wrote it."""
    requester = (permit.get("spec") or {}).get("requester") or {}
    if not requester.get("name") or not requester.get("type"):
        raise Refused(422, "spec.requester is missing: the permit did not pass admission, make another one")
    return {"groups": [], **{field: value for field, value in requester.items() if field != "seal"}}


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Are these one person? By the name, or by the UID where both have one: whoever was renamed is still the same.

    Two accounts of one person cannot be seen.
    """
    if one.get("type") == ActorType.SYSTEM or other.get("type") == ActorType.SYSTEM:
        return one.get("type") == other.get("type")  # a user may be called as the manager is
    return one.get("name") == other.get("name") or bool(one.get("uid") and one.get("uid") == other.get("uid"))
