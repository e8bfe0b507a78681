"""What a new permit must be like: the checks at admission, in the order in which they are made. Pure.

1. Its template is Ready in its present generation, and may be named in the permit's namespace.
2. Its parameters fit the template's schema.
3. It asks for no more time than the template gives, and for a start in the future.
4. Where the template approves without a reviewer, its conditions hold, unless they look at the rights that the permit gives:
   those are known when it has been rendered.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apis.copyhold.duration import extended
from apis.copyhold.resourcepermit import KIND, ResourcePermitSpec
from apis.meta import Manifest
from apis.problems import Invalid
from manager.permits.params import checked
from manager.permits.templates import EVERYWHERE, GLOBAL
from policy.permits.approvals import demand, needs_grants
from policy.permits.moments import moment
from policy.permits.refusal import Refused


def spec_of(permit: Manifest) -> ResourcePermitSpec:
    """The spec, read. Raises Refused (422), naming every wrong field: the API server has not held it against its schema yet."""
    try:
        spec: ResourcePermitSpec = KIND.parse(permit).spec
    except Invalid as problem:
        raise Refused(422, str(problem)) from problem
    return spec


def check_creation(permit: Manifest, template: Manifest, now: datetime) -> None:
    """Raise Refused unless the permit (with its requester) can be made from the template at `now`, the API server's time."""
    spec, offer = spec_of(permit), template.get("spec") or {}
    check_offered(template, permit["metadata"]["namespace"])
    _check_params(template, permit["spec"].get("params"))
    _check_duration(spec.duration, offer.get("maxDuration"))
    _check_start(spec.start_time, now)
    _check_auto(permit, offer.get("approvals") or {}, template["metadata"]["name"])


def check_offered(template: Manifest, namespace: str) -> None:
    """Raise Refused unless the template is Ready in its present generation, and may be named in the namespace."""
    metadata, status = template["metadata"], template.get("status") or {}
    name, everywhere = metadata["name"], template["kind"] == GLOBAL
    what = f"template {name} namespace selection" if everywhere else f"template {name}"
    if metadata.get("deletionTimestamp"):
        raise Refused(409, f"template {name} is being deleted: name another in spec.template")
    if status.get("observedGeneration") != metadata.get("generation"):
        raise Refused(409, f"{what} is not ready: the template has just been written, try again in a moment")
    ready: Mapping[str, Any] = next((one for one in status.get("conditions") or () if one.get("type") == "Ready"), {})
    if ready.get("status") != "True":
        raise Refused(409, f"{what} is not ready: {ready.get('message') or 'its status does not say so'}")
    selected = status.get("namespaces") or ()
    if everywhere and EVERYWHERE not in selected and namespace not in selected:
        raise Refused(
            403,
            f"template {name} is not available in namespace {namespace}: spec.namespaceSelectors of the template must select it",
        )


def _check_params(template: Manifest, params: Any) -> None:
    try:
        checked((template.get("spec") or {}).get("paramSchema"), params)
    except Invalid as problem:
        raise Refused(422, f"parameters for template {template['metadata']['name']} are invalid: {problem}") from problem


def _check_duration(wanted: str | None, most: str | None) -> None:
    # A duration of 0 has no end.
    if wanted is not None and most is not None and not 0 < extended(wanted) <= extended(most):
        raise Refused(
            422, f"spec.duration: requested duration {wanted} exceeds template maxDuration {most}: ask for at most {most}"
        )


def _check_start(start: str | None, now: datetime) -> None:
    if start is None:
        return
    try:
        at = moment(start)
    except ValueError as error:
        raise Refused(422, f"spec.startTime: {error}") from error
    if at <= now:
        raise Refused(422, f"spec.startTime: start time {start} must be in the future: omit it for as soon as it is approved")


def _check_auto(permit: Manifest, approvals: Manifest, template: str) -> None:
    if approvals.get("auto") and not any(map(needs_grants, approvals.get("conditions") or ())):
        demand(approvals, permit, None, (), template)
