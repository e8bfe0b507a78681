"""What an answer of the API server means: status code and Status body become a problem that says who must act.

| Answer | Problem |
| --- | --- |
| 409 with causes FieldManagerConflict | Conflict, naming field and manager |
| other 409; 422 for a failed JSON patch test or another object's UID | Stale |
| any 4xx by an admission webhook or policy | Blocked(Refused); as 403 it is Forbidden(Refused) |
| `failed to create typed patch object`, whatever its code (500 in practice) | Invalid, naming the field |
| 400, 405, 413, 422; `request is too large` | Invalid |
| 415 for an apply | Invalid(ApplyUnsupported) |
| 401, 403 | Forbidden |
| 404 | Gone: the object, its namespace or its kind |
| 410 | Expired |
| 429, 5xx and everything else | Unavailable |

Pure. Messages are bounded. Those about Secrets are built anew out of parts that cannot hold content (names, fields, reasons):
the server's own text may echo values, in quotes, in braces or bare, so none of it is passed on.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from apis.problems import Blocked, Conflict, Expired, Forbidden, Gone, Invalid, Problem, Stale, Unavailable
from apis.reasons import Reason

LIMIT = 600
"""Characters of a message that are kept."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked: the method, what it was about in words, the plural of the resource, and whether its content is secret."""

    method: str
    subject: str
    plural: str = ""
    sensitive: bool = False
    apply: bool = False

    @property
    def write(self) -> bool:
        """True for everything but GET."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class _Answer:
    request: Request
    code: int
    text: str
    details: dict[str, Any]
    causes: tuple[dict[str, Any], ...]
    retry_after: float | None

    def has_cause(self, reason: str) -> bool:
        return any(cause.get("reason") == reason for cause in self.causes)

    @property
    def message(self) -> str:
        """What users read: the subject, and the server's words as far as they may be repeated."""
        words = _without_content(self) if self.request.sensitive else self.text
        return _bounded(f"{self.request.subject}: {words or f'the server answered {self.code}'}")


def problem(request: Request, code: int, body: bytes, *, retry_after: str | None = None) -> Problem:
    """The problem that an answer with a status code of 400 or more means. `retry_after` is the header of that name."""
    answer = _parsed(request, code, body, retry_after)
    for recognised in (_refused, _typed_patch, _too_large, _version_gone):
        found = recognised(answer)
        if found is not None:
            return found
    return _BY_CODE.get(code, _unavailable)(answer)


def event_problem(request: Request, status: Any) -> Problem:
    """The problem of an ERROR event in a watch, whose object is a Status."""
    code = status.get("code") if isinstance(status, dict) else None
    return problem(request, code if isinstance(code, int) else 500, orjson.dumps(status))


def _parsed(request: Request, code: int, body: bytes, retry_after: str | None) -> _Answer:
    try:
        status = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        status = {"message": body.decode("utf-8", "replace").strip()}  # proxies and the router itself answer in plain text
    if not isinstance(status, dict):
        status = {}
    details = _mapping(status.get("details"))
    causes = details.get("causes") or ()
    return _Answer(
        request=request,
        code=code,
        text=_text(status.get("message")),
        details=details,
        causes=tuple(_mapping(cause) for cause in causes) if isinstance(causes, list) else (),
        retry_after=_seconds(retry_after if retry_after is not None else details.get("retryAfterSeconds")),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Any) -> float | None:
    """Seconds of a Retry-After; its date form, which API servers do not send, counts as absent."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < 86400 else None


def _bounded(text: str) -> str:
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


# Recognised by what the server says, whatever the code.

_POLICY = re.compile(r"ValidatingAdmissionPolicy '([^']*)' with binding '([^']*)' denied request")
_WEBHOOK = re.compile(r'admission webhook "([^"]*)" denied the request')
_TYPED = re.compile(r"failed to create typed patch object \([^)]*\): (?:errors:\s+)?")
_FAULT = re.compile(r"(\..*?): (field not declared in schema|expected [a-z]+|[^\n]*)")
_TOO_LARGE = re.compile(r"request is too large|request entity too large|message larger than max", re.IGNORECASE)


def _refused(answer: _Answer) -> Problem | None:
    if not 400 <= answer.code < 500 or answer.code in (401, 429):
        return None
    if not (_POLICY.search(answer.text) or _WEBHOOK.search(answer.text)):
        return None
    if answer.code == 403:
        return Forbidden(answer.message, reason=Reason.REFUSED)
    return Blocked(Reason.REFUSED, answer.message)


def _typed_patch(answer: _Answer) -> Problem | None:
    start = _TYPED.match(answer.text)
    if start is None:
        return None
    found = _FAULT.match(answer.text, start.end())
    words = _fault(found[1], found[2], answer.request) if found else "the manifest does not fit the schema of its kind"
    return Invalid(Reason.INVALID, _bounded(f"{answer.request.subject}: {words}"))


def _fault(path: str, fault: str, request: Request) -> str:
    """Field and fault of a typed patch. After `expected <type>` stands a value of the manifest, and other words may quote one."""
    if request.sensitive and not _FIELD.fullmatch(path):
        return "a field does not fit the schema"
    if fault.startswith("expected ") or fault == "field not declared in schema":
        return f"{path}: {fault}"
    return f"{path}: {'does not fit the schema' if request.sensitive else fault.partition(', got ')[0]}"


def _too_large(answer: _Answer) -> Problem | None:
    if answer.code == 413 or (answer.code >= 500 and _TOO_LARGE.search(answer.text)):
        return Invalid(Reason.INVALID, f"{answer.request.subject}: the object is too large for the API server")
    return None


def _version_gone(answer: _Answer) -> Problem | None:
    """An apply to a custom object whose managedFields name a version that is not served: 500, and for ever."""
    if answer.code == 500 and answer.request.apply and "request to convert CR to an invalid group/version" in answer.text:
        return Stale(answer.message, reason=Reason.VERSION_GONE)
    return None


# By status code.


def _conflict(answer: _Answer) -> Problem:
    fields: dict[str, str] = {}
    for cause in answer.causes:
        if cause.get("reason") != "FieldManagerConflict":
            continue
        field, manager = _text(cause.get("field")), _manager(_text(cause.get("message")))
        fields[field] = f"{fields[field]}, {manager}" if field in fields else manager
    if not fields:
        return Stale(answer.message)
    listed = "; ".join(f"{field} is held by {manager}" for field, manager in fields.items())
    return Conflict(_bounded(f"{answer.request.subject}: {listed}"), fields)


_MANAGER = re.compile(r'conflict with ("(?:[^"\\]|\\.)*")')


def _manager(message: str) -> str:
    """`conflict with "a" with subresource "status" using v1 at <time>` -> `a`. The server quotes as Go does."""
    found = _MANAGER.match(message)
    if found is None:
        return "an unnamed manager"
    try:
        return str(json.loads(found[1]))
    except json.JSONDecodeError:  # an escape that only Go knows: good enough to be read
        return found[1][1:-1]


_FROZEN = re.compile(r"\bimmutable\b|cannot change roleRef")
ANEW = "it cannot be changed on the live object: give the target another name, or delete the object and it is made anew"
"""What there is to do about an immutable field. Nothing does it by itself: whatever the object gives would be gone meanwhile."""


def _unprocessable(answer: _Answer) -> Problem:
    if answer.text.startswith("the server rejected our request due to an error in our request"):
        return Stale(answer.message)  # the `test` of a JSON patch did not hold
    fields = {cause.get("field") for cause in answer.causes}
    if fields == {"metadata.uid"}:
        return Stale(answer.message)  # another object has the name by now
    if answer.request.apply and any(_FROZEN.search(_text(cause.get("message"))) for cause in answer.causes):
        return Invalid(Reason.INVALID, f"{answer.message}; {ANEW}")
    return Invalid(Reason.INVALID, answer.message)


def _forbidden(answer: _Answer) -> Problem:
    return Forbidden(answer.message, namespace_terminating=answer.has_cause("NamespaceTerminating"))


def _gone(answer: _Answer) -> Problem:
    kind, plural = answer.details.get("kind"), answer.request.plural
    if kind == "namespaces" and plural != "namespaces":
        return Gone(answer.message, what="namespace")
    # A path that is not served: a plain text, or a Status that names no object.
    if "could not find the requested resource" in answer.text or answer.text.startswith("404 page not found"):
        return Gone(answer.message, what="kind")
    return Gone(answer.message)


def _unsupported(answer: _Answer) -> Problem:
    if answer.request.apply:
        why = "the server of this kind knows no server-side apply"
        return Invalid(Reason.APPLY_UNSUPPORTED, f"{answer.request.subject}: {why}")
    return Invalid(Reason.INVALID, answer.message)


def _invalid(answer: _Answer) -> Problem:
    return Invalid(Reason.INVALID, answer.message)


def _expired(answer: _Answer) -> Problem:
    return Expired(answer.message)


def _unavailable(answer: _Answer) -> Problem:
    # A webhook that could not be called stands before the storage; after any other 5xx the write may have been carried out.
    untouched = answer.code < 500 or "failed calling webhook" in answer.text
    return Unavailable(answer.message, retry_after=answer.retry_after, maybe_done=answer.request.write and not untouched)


_BY_CODE: dict[int, Callable[[_Answer], Problem]] = {
    400: _invalid,
    401: _forbidden,
    403: _forbidden,
    404: _gone,
    405: _invalid,
    409: _conflict,
    410: _expired,
    413: _invalid,
    415: _unsupported,
    422: _unprocessable,
}


# Secrets.

_NAME = r"[A-Za-z0-9.:_/-]+"
_SAFE = tuple(
    re.compile(pattern)
    for pattern in (
        rf'{_NAME} "{_NAME}" (?:not found|already exists)',
        rf'{_NAME}(?: "{_NAME}")? is forbidden: User "{_NAME}" cannot {_NAME} resource "{_NAME}" in API group "(?:{_NAME})?"'
        rf'(?: (?:in the namespace "{_NAME}"|at the cluster scope))?',
        r"the server could not find the requested resource",
        r"the server rejected our request due to an error in our request",
        r"404 page not found",
    )
)
_CAUSES = frozenset(
    {
        "FieldValueInvalid",
        "FieldValueRequired",
        "FieldValueForbidden",
        "FieldValueNotSupported",
        "FieldValueDuplicate",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
        "FieldValueNotFound",
    }
)
_FIELD = re.compile(r"[A-Za-z0-9.\[\]_-]+")


def _without_content(answer: _Answer) -> str:
    """The server's words about a Secret, as far as their shape proves that they hold none of its content."""
    for known, words in ((_POLICY, "denied by the ValidatingAdmissionPolicy"), (_WEBHOOK, "denied by the admission webhook")):
        found = known.search(answer.text)
        if found and re.fullmatch(_NAME, found[1]):
            return f"{words} {found[1]}"
    if any(shape.fullmatch(answer.text) for shape in _SAFE):
        return answer.text
    if answer.has_cause("NamespaceTerminating"):
        return "its namespace is being terminated"
    fields = [
        f"{cause['field']}: {cause['reason']}"
        for cause in answer.causes
        if cause.get("reason") in _CAUSES and _FIELD.fullmatch(_text(cause.get("field")))
    ]
    if fields:
        return "; ".join(fields)
    return f"the server answered {answer.code}; its words are left out because they may hold the content of a Secret"
