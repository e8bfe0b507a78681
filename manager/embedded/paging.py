"""Lists: which state of which objects, page by page, and the tokens between pages.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
"""

import base64
import binascii
from dataclasses import dataclass

import orjson

from manager.embedded.presenting import Page
from manager.embedded.request import Request
from manager.embedded.selectors import everything, fields, labels
from manager.embedded.status import Cause, Named, StatusError, bad_request, expired, invalid
from manager.embedded.store import Store, Stored
from manager.embedded.target import Target, bad_number
from manager.embedded.watching import Selection

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
_ANY_FIELDS = ("metadata.name", "metadata.namespace")
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You must start a new list without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A list or watch as it was asked for. `revision` is None when none was named ("" or "0")."""

    selection: Selection
    revision: int | None = None
    exact: bool = False
    limit: int = 0
    token: str = ""


def selection(request: Request, target: Target, selectable: tuple[str, ...]) -> Selection:
    """Read the selectors. Raises 400."""
    own = _ANY_FIELDS if target.served.namespaced else _ANY_FIELDS[:1]
    offered = (*own, *selectable)
    chosen = fields(request.parameter("fieldSelector"), offered)
    if target.name:
        chosen = (*chosen, *fields(f"metadata.name={target.name}", offered))
    return Selection(target.key.resource, target.key.namespace, labels(request.parameter("labelSelector")), chosen)


def wanted(request: Request, target: Target, selectable: tuple[str, ...] = ()) -> Wanted:
    """Read the query of a list or watch; `selectable` are further paths for its fieldSelector. Raises 400, 422."""
    match, text, token = (request.parameter(name) for name in ("resourceVersionMatch", "resourceVersion", "continue"))
    limit = max(_number(request.parameter("limit")), 0)
    watching = request.flag("watch") or request.path.startswith(("/api/v1/watch/", "/apis/watch/"))
    causes = _watch_faults(request, match) if watching else _list_faults(match, text, token)
    if causes:
        raise invalid(Named("meta.k8s.io", "ListOptions"), causes)
    revision = read_revision(text)
    # An old rule: a limit with a revision, and no word about the match, means exactly that revision.
    exact = match == EXACT or (not match and bool(limit) and revision is not None)
    return Wanted(selection(request, target, selectable), revision, exact, limit, token)


def page(store: Store, asked: Wanted) -> Page:
    """The objects, or as many as were asked for. Raises 400, 410, 504."""
    if asked.revision is not None and asked.revision > store.revision:
        raise _too_new(asked.revision, store.revision)
    revision, after = _place(asked, store)
    where = asked.selection
    try:
        items = store.at(where.resource, revision, where.namespace)
    except StatusError as error:
        raise expired(_EXPIRED) if asked.token else error from error
    found = [each for each in items if (after is None or _order(each) > after) and where.holds(each, store.decode)]
    if not asked.limit or len(found) <= asked.limit:
        return Page(found, revision)
    kept = found[: asked.limit]
    # Nobody counts what a selector would leave.
    remaining = len(found) - asked.limit if where.labels is everything and not where.fields else None
    return Page(kept, revision, _token(revision, kept[-1]), remaining)


def read_revision(text: str) -> int | None:
    """A resourceVersion of a list or watch; None for "" and "0". Raises 400."""
    if not text:
        return None
    if not text.isdecimal() or not text.isascii():
        said = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {said}")
    return int(text) or None


def _place(asked: Wanted, store: Store) -> tuple[int, tuple[str, str] | None]:
    if asked.token:
        return _read_token(asked.token)
    return asked.revision if asked.exact and asked.revision is not None else store.revision, None


def _order(stored: Stored) -> tuple[str, str]:
    return stored.key.namespace, stored.key.name


def _token(revision: int, last: Stored) -> str:
    state = {"v": "meta.k8s.io/v1", "rv": revision, "start": "/".join(part for part in _order(last) if part) + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(state | {"after": _order(last)})).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        state = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = state["after"]
        return int(state["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("invalid continue token: continue key is not valid") from error


def _too_new(revision: int, current: int) -> StatusError:
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    said = f"Timeout: Too large resource version: {revision}, current: {current}"
    return StatusError(504, "Timeout", said, causes=[cause], retry_after=1)


def _list_faults(match: str, text: str, token: str) -> list[Cause]:
    if not match:
        if token and text not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return []
    if not text:
        return [_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")]
    if token:
        return [_forbidden("resourceVersionMatch is forbidden when continue is provided")]
    if match not in (EXACT, NOT_OLDER):
        said = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        return [Cause("FieldValueNotSupported", said, "resourceVersionMatch")]
    if match == EXACT and text == "0":
        return [_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
    return []


def _watch_faults(request: Request, match: str) -> list[Cause]:
    if not request.flag("sendInitialEvents"):
        if match and "sendInitialEvents" not in request.parameters:
            return [_forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")]
        return []
    if match != NOT_OLDER:
        return [_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")]
    return []


def _forbidden(said: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {said}", "resourceVersionMatch")


def _number(text: str) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise bad_number(text) from error


def seconds(request: Request) -> float:
    """`timeoutSeconds` of a watch; 0 when none is named. Raises 400."""
    return float(max(_number(request.parameter("timeoutSeconds")), 0))
