"""Admission of permits and their templates: an AdmissionReview's request in, its response out.

| Request | Answer |
| --- | --- |
| CREATE of a permit | refused, or `spec.requester` becomes who asks, sealed |
| UPDATE of a permit's status | refused, or the status becomes what `policy.permits.lifecycle.asked` makes of the stored one |
| CREATE, UPDATE of a template | refused, or a warning |

Guarantees: who acts is whom the API server authenticated. Of a status that is sent, only what `policy.permits.wish` takes counts.
A dry run signs nothing. Nothing is allowed by a defect: what is raised here has to be answered as a refusal by whoever serves.
Caveat: the manager's own writes of a status (with the permit's UID as extra `copyhold.dev/parent`) do not come by here; one that
does is allowed.
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

from apis.copyhold.resourcepermit import KIND, TemplateReference
from apis.meta import GROUP, PARENT_EXTRA, Manifest
from apis.problems import Invalid
from manager.permits.creation import check_creation, spec_of
from manager.permits.templatecheck import KINDS, Check, judge, warnings
from policy.permits.actors import actor_of
from policy.permits.lifecycle import asked
from policy.permits.refusal import Refused
from policy.permits.trail import Sign, append, seal_text

TemplateOf = Callable[[str, str, str], Awaitable[Manifest | None]]
"""Reads a template as it is now, by kind, namespace (empty for a global one) and name; None when there is none."""

REASONS = {400: "BadRequest", 403: "Forbidden", 409: "Conflict", 422: "Invalid"}
"""The word of the API server for each code of a refusal."""

_LONGEST = 4096  # characters of a message to the client


class Admission:
    """Decides about requests; the only writes are the patches that it answers."""

    def __init__(self, template_of: TemplateOf, check: Check, sign: Sign, now: Callable[[], datetime]) -> None:
        """`check` is the renderer's. `now` is the API server's time, in UTC."""
        self._template_of = template_of
        self._check = check
        self._sign = sign
        self._now = now

    async def review(self, request: Manifest) -> Manifest:
        """The response to a request about a permit. Raises the problems of reading its template."""
        if _by_manager(request):
            return _allowed(request)
        try:
            match request.get("operation"), _resource(request):
                case "CREATE", (KIND.group, KIND.plural, ""):
                    return await self._create(request)
                case "UPDATE", (KIND.group, KIND.plural, "status"):
                    return await self._transition(request)
            raise _strange(request)
        except Refused as refused:
            return _refused(request, refused)

    async def template(self, request: Manifest) -> Manifest:
        """The response to a request about a template of either kind."""
        template, before = request.get("object") or {}, request.get("oldObject") or {}
        try:
            if request.get("operation") not in ("CREATE", "UPDATE") or _resource(request) not in _TEMPLATES:
                raise _strange(request)
            if before and (_same_spec(template, before) or before["metadata"].get("deletionTimestamp")):
                return _allowed(request)
            await judge(template, self._check)
        except Invalid as problem:
            return _refused(request, Refused(422, str(problem)))
        except Refused as refused:
            return _refused(request, refused)
        return _allowed(request, said=warnings(template))

    async def _create(self, request: Manifest) -> Manifest:
        sent = request["object"]
        requester = actor_of(request.get("userInfo") or {})
        spec = sent.get("spec")
        permit = sent | {
            "metadata": sent["metadata"] | {"namespace": request["namespace"]},
            "spec": (spec if isinstance(spec, dict) else {}) | {"requester": requester},
        }
        template = await self._template(spec_of(permit).template, request["namespace"])
        # Parameters and conditions are other people's CEL: other work goes on meanwhile.
        await asyncio.to_thread(check_creation, permit, template, self._now())
        if not request.get("dryRun"):
            key, signature = self._sign(seal_text(permit))
            requester = requester | {"seal": {"key": key, "signature": signature}}
        return _allowed(request, "/spec/requester", requester)

    async def _template(self, reference: TemplateReference, namespace: str) -> Manifest:
        """The template that a permit names: of its own namespace, or a global one."""
        kind = KINDS[reference.kind]
        home = namespace if kind.namespaced else ""
        template = await self._template_of(kind.kind, home, reference.name)
        if template is None:
            place = f" in namespace {home}" if home else ""
            raise Refused(422, f"spec.template: template {reference.name} not found: there is no such {kind.kind}{place}")
        return template | {"kind": kind.kind}

    async def _transition(self, request: Manifest) -> Manifest:
        permit, wanted = request["oldObject"], request["object"].get("status")
        actor, now = actor_of(request.get("userInfo") or {}), self._now()
        change = await asyncio.to_thread(asked, permit, wanted, actor, now)
        status = change.status  # also when there is no step: what equals it in Python may differ from it in JSON
        if change.step is not None:
            sign = None if request.get("dryRun") else self._sign
            written = partial(append, status, permit["metadata"]["uid"], change.step, now, sign)
            status = await asyncio.to_thread(written)
        return _allowed(request, "/status", status, said=[change.warning] if change.warning else [])


_TEMPLATES = {(kind.group, kind.plural, "") for kind in KINDS.values()}


def _by_manager(request: Manifest) -> bool:
    """Does it carry the extra that only the manager may send, for this very permit?

    What the manager applies for other parents carries their UIDs: there it acts for whoever wrote them.
    """
    permit = (request.get("oldObject") or {}).get("metadata") or {}
    extra = (request.get("userInfo") or {}).get("extra") or {}
    return bool(permit.get("uid")) and permit["uid"] in (extra.get(PARENT_EXTRA) or ())


def _resource(request: Manifest) -> tuple[str, str, str]:
    resource = request.get("resource") or {}
    return resource.get("group") or "", resource.get("resource") or "", request.get("subResource") or ""


def _strange(request: Manifest) -> Refused:
    group, plural, subresource = _resource(request)
    what = f"{request.get('operation')} of {'/'.join(filter(None, (plural, subresource)))}.{group}"
    return Refused(400, f"{what} is not decided here: apply the webhook configurations of {GROUP} as they were installed")


def _same_spec(one: Manifest, other: Manifest) -> bool:
    return bool(one.get("spec") == other.get("spec"))


def _allowed(request: Manifest, path: str = "", value: Any = None, *, said: list[str] | None = None) -> Manifest:
    """Yes, with `value` at `path`: JSON Patch's `add` replaces what is there."""
    response: Manifest = {"uid": request.get("uid", ""), "allowed": True}
    if path:
        patch = json.dumps([{"op": "add", "path": path, "value": value}]).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return response | ({"warnings": said} if said else {})


def _refused(request: Manifest, refused: Refused) -> Manifest:
    message = refused.message if len(refused.message) <= _LONGEST else refused.message[: _LONGEST - 4] + " ..."
    status = {"code": refused.code, "reason": REASONS[refused.code], "message": message}
    return {"uid": request.get("uid", ""), "allowed": False, "status": status}
