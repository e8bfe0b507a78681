"""How people see a permit: as lines of text, from nothing but the object. Pure.

What stands in a permit was written by its requester, its template and its reviewers: a line is shown as one that a terminal does
not obey (`manager.console.plain`), and values of Secrets are in it as digests only.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import yaml

from apis.copyhold.permitstatus import Phase
from apis.meta import Key, Manifest
from manager.permits import granttext
from manager.permits.glance import approved, digest_of, left, phase_of, place_of, status_of, who
from policy.permits.grants import amounts_to_all
from policy.permits.ready import ready_of


class Line(NamedTuple):
    """One line of text, and how it is coloured on a terminal."""

    text: str
    style: str = ""


STYLES: Mapping[str, str] = {
    Phase.REQUESTED: "yellow",
    Phase.PENDING: "yellow",
    Phase.APPROVED: "green",
    Phase.ACTIVE: "bold green",
    Phase.DENIED: "red",
    Phase.FAILED: "bold red",
    Phase.RETRYING: "yellow",
    Phase.EXPIRED: "dim",
}
_PREVIEW: Mapping[str, str] = {
    "Create": "green",
    "Adopt": "green",
    "Patch": "yellow",
    "Skip": "dim",
    "Conflict": "bold red",
    "Forbidden": "bold red",
}


def whole(permit: Manifest, now: datetime) -> Iterator[Line]:
    """All that a reviewer wants to know, but for the trail."""
    yield Line(f"ResourcePermit {place_of(permit)}", "bold")
    yield from facts(permit, now)
    yield from _failure(status_of(permit))
    yield from _manifests(status_of(permit))
    yield from _preview(status_of(permit))
    yield from _grants(status_of(permit))
    yield from _approvals(permit)


def facts(permit: Manifest, now: datetime) -> Iterator[Line]:
    """Who asks for what, and how it stands."""
    phase = phase_of(permit)
    ready = ready_of(status_of(permit))
    said = f": {ready['message']}" if ready.get("message") else ""
    yield _fact("phase", f"{phase or 'not seen by the manager yet'}{said}", STYLES.get(phase, ""))
    for word, text in (*_asked(permit), *_given(permit, now)):
        if text:
            yield _fact(word, text)


def _fact(word: str, text: str, style: str = "") -> Line:
    return Line(f"  {word:<10} {text}", style)


def _asked(permit: Manifest) -> Iterator[tuple[str, str]]:
    """What the spec says."""
    spec, request = permit.get("spec") or {}, status_of(permit).get("request") or {}
    requester = spec.get("requester") or {}
    groups = f", in {', '.join(map(str, requester['groups']))}" if requester.get("groups") else ""
    yield "requester", f"{who(requester)}{groups}" if requester else ""
    yield "reason", str(spec.get("reason") or "")
    template = spec.get("template") or {}
    generation = (request.get("template") or {}).get("generation")
    taken = f", as of generation {generation}" if generation is not None else ""
    yield "template", f"{template.get('kind', '')} {template.get('name', '')}{taken}"
    yield "params", _flow(spec["params"]) if spec.get("params") else ""


def _given(permit: Manifest, now: datetime) -> Iterator[tuple[str, str]]:
    """What the status says: the account, the times and the digest."""
    status = status_of(permit)
    request, active = status.get("request") or {}, status.get("active") or {}
    account = request.get("impersonation") or status.get("serviceAccount") or {}
    yield "account", f"ServiceAccount {account.get('namespace', '')}/{account.get('name', '')}" if account else ""
    yield "duration", f"{request.get('duration') or 'until somebody ends it'}{_most(request)}" if request else ""
    yield "start", f"not before {request['startTime']}" if request.get("startTime") else ""
    yield "active", f"from {active.get('from')} until {active.get('until') or 'somebody ends it'}" if active else ""
    yield "left", left(permit, now)
    yield "kept", _kept(status)
    yield "digest", digest_of(permit)


def _most(request: Manifest) -> str:
    return f" (at most {request['maxDuration']})" if request.get("maxDuration") else ""


def _kept(status: Manifest) -> str:
    if status.get("keepUntil"):
        return f"as a record until {status['keepUntil']}"
    keep = (status.get("request") or {}).get("keepFor")
    return f"as a record for {keep} after its end" if keep else ""


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=True, width=10**9).strip()


def _failure(status: Manifest) -> Iterator[Line]:
    failure = status.get("failure")
    if failure and status.get("phase") in (Phase.FAILED, Phase.RETRYING):
        yield Line("failure", "bold")
        yield Line(f"  {failure.get('stage', '')}: {failure.get('reason', '')}: {failure.get('message', '')}", "bold red")
        yield Line(f"  a retry that succeeds leads to {failure.get('retryPhase', '')}")


def _manifests(status: Manifest) -> Iterator[Line]:
    groups = (status.get("request") or {}).get("resources") or ()
    if groups:
        yield Line("manifests", "bold")
    for group in groups:
        yield Line(f"  # group {group.get('name', '')}{_policy(group.get('policy') or {})}", "dim")
        for target in group.get("targets") or ():
            yield Line("  ---", "dim")
            text = yaml.safe_dump(target, sort_keys=False, width=10**9, allow_unicode=True)
            yield from (Line(f"  {line}") for line in text.splitlines())


def _policy(policy: Manifest) -> str:
    words = [f"{key}: {_flow(policy[key]).removesuffix('...').strip()}" for key in sorted(policy)]
    return f" ({', '.join(words)})" if words else ""


def _preview(status: Manifest) -> Iterator[Line]:
    rows = status.get("preview") or ()
    if rows:
        yield Line("preview", "bold")
    for row in rows:
        verb = str(row.get("verb") or "")
        key = Key(row.get("group") or "", row.get("kind") or "", row.get("namespace") or "", row.get("name") or "")
        message = f": {row['message']}" if row.get("message") else ""
        style = _PREVIEW.get(verb, "")
        yield Line(f"  {verb.lower():<9} {key}{message}", style)
        yield from (Line(f"            {path}", style) for path in row.get("paths") or ())
        taken = "is held by another manager" if verb == "Conflict" else "is taken from another manager"
        yield from (Line(f"            {field} {taken}", "bold red") for field in row.get("taken") or ())


def _grants(status: Manifest) -> Iterator[Line]:
    grants = status.get("grants") or ()
    if not (status.get("request") or {}).get("resources"):
        return
    yield Line("grants", "bold")
    if not grants:
        yield Line("  no rights to anybody", "dim")
    for grant in grants:
        yield Line(f"  {granttext.line(grant)}", "bold red" if amounts_to_all(grant) else "")


def _approvals(permit: Manifest) -> Iterator[Line]:
    status = status_of(permit)
    rules = (status.get("request") or {}).get("approvals")
    if rules is None:
        return
    given = (status.get("review") or {}).get("approvals") or ()
    yield Line("approvals", "bold")
    if rules.get("auto"):
        yield Line("  approved without a reviewer, where a condition holds")
    else:
        yield Line(f"  {approved(permit)}, by {approvers(rules)}")
    for condition in rules.get("conditions") or ():
        yield Line(f"  condition  {condition}")
    for approval in given:
        message = f": {approval['message']}" if approval.get("message") else ""
        stale = "" if approval.get("digest") == digest_of(permit) else " (of what it was before)"
        yield Line(f"  {approval.get('time', '')} {who(approval.get('reviewer'))}{message}{stale}", "dim" if stale else "green")
    review = status.get("review") or {}
    if review.get("verdict") == "Denied":
        yield Line(f"  denied by {who(review.get('reviewer'))}: {review.get('message') or 'no message'}", "red")


def approvers(rules: Mapping[str, Any]) -> str:
    """Who may approve."""
    named: Sequence[Manifest] = rules.get("approvers") or ()
    if not named:
        return "whoever may write the status of permits"
    return ", ".join(f"{each.get('kind', '')} {each.get('name', '')}" for each in named)
