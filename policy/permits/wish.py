"""What a client wants of a permit: the few fields of the status that it sends which count. All others are not even looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apis.copyhold.duration import extended
from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from policy.permits.moments import moment, stamp
from policy.permits.refusal import Refused

_LONGEST = 4096  # characters of a message
_SHORT = 64  # characters of a duration or a time

ADJUSTABLE = ("duration", "keepFor", "startTime")
"""What whoever approves may change of the snapshot."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The phase that is asked for, what the reviewer says, the digest of what they saw, and what they want otherwise."""

    phase: Phase
    message: str
    digest: str
    request: Mapping[str, str]  # only what differs from the snapshot

    @classmethod
    def of(cls, wanted: Any, before: Manifest) -> "Wish":
        """Read off the status that a client sends, next to the one that is stored. Raises Refused (400, 422).

        A message that is stored already was said by somebody else: a merge patch sends it along. A field of the snapshot that is
        missing stays as it is.
        """
        sent = _map(wanted, "status")
        review, request = _map(sent.get("review"), "status.review"), _map(sent.get("request"), "status.request")
        said = _text(review, "message", "status.review", _LONGEST)
        stored = before.get("request") or {}
        changes = {name: _text(request, name, "status.request", _SHORT) for name in ADJUSTABLE}
        return cls(
            _phase(sent.get("phase")),
            "" if said == (before.get("review") or {}).get("message") else said,
            _text(review, "digest", "status.review", _LONGEST),
            {name: text for name, text in changes.items() if text and text != stored.get(name)},
        )


def adjusted(request: Manifest, wish: Wish, now: datetime) -> Manifest:
    """The snapshot as the reviewer wants it. Raises Refused (422), naming the field, for what the template does not allow."""
    changes = dict(wish.request)
    try:
        if "duration" in changes:
            _check_duration(changes["duration"], request.get("maxDuration"))
        if "keepFor" in changes:
            _length(changes["keepFor"], "keepFor")
        if "startTime" in changes:
            changes["startTime"] = _start(changes["startTime"], now)
    except ValueError as error:
        raise Refused(422, f"request properties are invalid: status.request.{error}") from error
    return request | changes


def _check_duration(text: str, longest: str | None) -> None:
    length = _length(text, "duration")
    if longest and not 0 < length <= extended(longest):  # 0 is no end
        raise ValueError(f"duration: {text} is not within the template's maxDuration: ask for at most {longest}")


def _length(text: str, field: str) -> float:
    try:
        return extended(text)
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error


def _start(text: str, now: datetime) -> str:
    try:
        at = moment(text)
    except ValueError as error:
        raise ValueError(f"startTime: {error}") from error
    if at <= now:
        raise ValueError("startTime: must be in the future: omit it for as soon as the permit is approved")
    return stamp(at)


def _phase(value: Any) -> Phase:
    if value is None or value == "":
        raise Refused(422, "status.phase: Required value: name the phase that you ask for, such as Approved")
    if not isinstance(value, str) or value not in set(Phase):
        raise Refused(422, "status.phase: Unsupported value: ask for Approved, Denied, Retrying or Expired")
    return Phase(value)


def _map(value: Any, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refused(400, f"{field}: Invalid value: must be an object")
    return value


def _text(values: Mapping[str, Any], name: str, place: str, longest: int) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refused(422, f"{place}.{name}: Invalid value: must be a string")
    if len(value) > longest:
        raise Refused(422, f"{place}.{name}: Too long: may not be more than {longest} characters")
    return value
