"""What a webhook is asked, and what its answer means."""

import hashlib
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import patch
from manager.embedded.causes import quote
from manager.embedded.policies.matching import Matched
from manager.embedded.policies.request import AdmissionRequest
from manager.embedded.policies.variables import in_version
from manager.embedded.status import Cause, Named, StatusError
from manager.embedded.webhooks.hook import Hook

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
BAD_REQUEST = 400
_NEW_EACH_TIME = ("uid", "creationTimestamp", "managedFields")
"""Metadata that the server sets, and sets anew when the request is handled again."""


@dataclass(frozen=True, slots=True)
class Call:
    """A webhook that has to be asked. `digest` is the same for the same question."""

    hook: Hook
    request: Manifest
    digest: str

    def body(self, uid: str) -> bytes:
        """The AdmissionReview that is sent; `uid` marks this call."""
        return orjson.dumps({"kind": KIND, "apiVersion": API_VERSION, "request": {"uid": uid, **self.request}})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: the response, or why there was none."""

    response: Manifest
    failure: str = ""


def call(hook: Hook, request: AdmissionRequest, matched: Matched) -> Call:
    """The question to a webhook about a request."""
    shown = request.shown(matched.resource, matched.kind)
    version = matched.kind.version
    objects = {"object": in_version(request.object, request, version), "oldObject": in_version(request.old, request, version)}
    asked = {**shown, **objects}
    settled = {**asked, **{name: _settled(each) for name, each in objects.items()}}
    text = orjson.dumps([hook.configuration, hook.name, hook.url, settled], option=orjson.OPT_SORT_KEYS)
    return Call(hook, asked, hashlib.sha256(text).hexdigest())


def _settled(manifest: Manifest | None) -> Manifest | None:
    if manifest is None:
        return None
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _NEW_EACH_TIME}
    return {**manifest, "metadata": metadata}


def read(body: bytes, uid: str, *, mutating: bool = False) -> Outcome:
    """The outcome of an answered call."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return Outcome({}, f"failed to call webhook: {error}")
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        return Outcome({}, "received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid:
        why = f"expected response.uid={quote(uid)}, got {quote(str(response.get('uid') or ''))}"
        return Outcome({}, f"received invalid webhook response: {why}")
    wanted, given = _kind(API_VERSION, KIND), _kind(review.get("apiVersion") or "", review.get("kind") or "")
    if given != wanted:
        return Outcome({}, f"received invalid webhook response: expected webhook response of {wanted}, got {given}")
    wrong = _wrong_patch(response, mutating=mutating)
    return Outcome({}, f"received invalid webhook response: {wrong}") if wrong else Outcome(response)


def _wrong_patch(response: Manifest, *, mutating: bool) -> str:
    """What is wrong with the patch of a response, or with there being one."""
    given = [field for field in ("patch", "patchType") if response.get(field)]
    if not mutating:
        return f"validating webhook may not return response.{given[0]}" if given else ""
    if len(given) == 1:
        missing = "patchType" if given == ["patch"] else "patch"
        return f"webhook returned response.{given[0]} but not response.{missing}"
    if given and response["patchType"] != "JSONPatch":
        return f"webhook returned invalid response.patchType of {quote(str(response['patchType']))}"
    return ""


def changed(outcome: Outcome, shown: Manifest) -> Manifest:
    """The object that a webhook was shown, with its patch. Raises StatusError when that does not apply."""
    if not outcome.response.get("patch"):
        return shown
    try:
        made = patch.json_patch(shown, orjson.loads(b64decode(outcome.response["patch"])))
    except (ValueError, StatusError) as error:
        raise StatusError(500, "InternalError", f"Internal error occurred: {error}", Named("", "")) from error
    if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
        raise StatusError(500, "InternalError", "Internal error occurred: the patch of a webhook left no object", Named("", ""))
    return made


def judge(hook: Hook, outcome: Outcome) -> list[str]:
    """The warnings of a webhook that allows the request. Raises StatusError when it does not, or gave no answer and must."""
    if outcome.failure:
        if hook.lenient:
            return []
        why = f"failed calling webhook {quote(hook.name)}: {outcome.failure}"
        raise StatusError(500, "InternalError", f"Internal error occurred: {why}", Named("", ""), [_Bare("", why)])
    if not outcome.response.get("allowed"):
        raise _denied(hook, outcome.response.get("status") or {})
    return [str(warning) for warning in outcome.response.get("warnings") or ()]


class _Bare(Cause):
    """A cause that is nothing but a message."""

    def manifest(self) -> Manifest:
        return {"message": self.message}


class _Denial(StatusError):
    """The status that a webhook gives, which goes to the client as it is, but for its message."""

    def __init__(self, message: str, status: Mapping[str, Any]) -> None:
        super().__init__(max(status.get("code") or 0, BAD_REQUEST), status.get("reason") or "", message)
        self._status = status

    def manifest(self) -> Manifest:
        plain = super().manifest()
        code = plain.pop("code")
        details = {"details": self._status["details"]} if self._status.get("details") else {}
        return plain | details | {"code": code}


def _denied(hook: Hook, status: Mapping[str, Any]) -> StatusError:
    said = f"admission webhook {quote(hook.name)} denied the request"
    why = status.get("message") or status.get("reason")
    return _Denial(f"{said}: {why}" if why else f"{said} without explanation", status)


def _kind(api_version: str, kind: str) -> str:
    group, slash, version = api_version.partition("/")
    return f"{group}/{version}, Kind={kind}" if slash else f"/{group}, Kind={kind}"
