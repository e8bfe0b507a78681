"""The way of a request: who asks, whether he may, what is meant, what is done, how it is answered.

| Step | Refuses with |
| --- | --- |
| authentication | 401 |
| impersonation, authorization | 403 |
| the path, the verb, the Accept header | 404, 405, 406 |
| `verbs.py`, `paging.py`, `watching.py` | everything else |
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from apis.meta import Manifest
from manager.embedded import body, paging, subresources, target
from manager.embedded.admission import Admission
from manager.embedded.attributes import Attributes, User
from manager.embedded.auth.authenticate import Authenticator
from manager.embedded.auth.impersonation import Impersonation
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.auth.reviews import Reviews
from manager.embedded.discovery import AGGREGATED, Discovery, openapi_v2, version
from manager.embedded.presenting import Presenter, accepted
from manager.embedded.registry import Registry
from manager.embedded.request import Place, Request, Response, place
from manager.embedded.selectors import fields
from manager.embedded.served import Served
from manager.embedded.status import StatusError, bad_request, no_such_path, not_found
from manager.embedded.store import Store
from manager.embedded.target import Target
from manager.embedded.verbs import Done, Verbs
from manager.embedded.watching import Watch
from manager.embedded.webhooks import Webhooks

TEXT = "text/plain; charset=utf-8"
OPEN = ("/healthz", "/livez", "/readyz")
"""Paths that anybody may ask, as on a real cluster: they say nothing but ok."""

Answer = Response | Watch


class ApiServer:
    """The chain over its parts. It is called from one event loop, and nothing in it waits."""

    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        discovery: Discovery,
        authenticator: Authenticator,
        authorizer: Authorizer,
        reviews: Reviews,
        admission: Admission,
        strategy: Callable[[Served], Any],
        clock: Callable[[], datetime],
        webhooks: Webhooks,
    ) -> None:
        self.store = store
        self.webhooks = webhooks
        self.registry = registry
        self.verbs = Verbs(store, admission, strategy, clock)
        self.authorizer = authorizer
        self.strategy = strategy
        self.clock = clock
        self._discovery = discovery
        self._authenticator = authenticator
        self._impersonation = Impersonation(authorizer)
        self._reviews = reviews

    def handle(self, request: Request) -> Answer:
        """Answer a request. Never raises for what a client did."""
        try:
            return self._handle(request)
        except StatusError as error:
            return failure(error)

    def _handle(self, request: Request) -> Answer:
        if request.path in OPEN or request.path.startswith(tuple(f"{path}/" for path in OPEN)):
            return Response(200, b"ok", TEXT)
        sender = self._authenticator.authenticate(request.headers)
        where = place(request)
        asked = _attributes(sender, request, where)
        user = self._impersonation.acting(asked, request.headers)
        self.authorizer.require(replace(asked, user=user))
        if where is None:
            return self._document(request)
        return self._resource(request, user, where)

    # Resources.

    def _resource(self, request: Request, user: User, where: Place) -> Answer:
        served = self.registry.find(where.group, where.version, where.resource)
        if served is None or where.rest:
            raise no_such_path()
        _check_place(where, served)
        about = Target(served, where.namespace if served.namespaced else "", where.name, where.subresource)
        if where.subresource:
            return self._beside(request, user, about, where.verb)
        return _VERBS[where.verb](self, request, user, about)

    def _presenter(self, request: Request, served: Served) -> Presenter:
        view = accepted(request.header("accept")).including(request.parameter("includeObject"))
        return Presenter(served, view, self.strategy(served), self.store, self.clock())

    def _get(self, request: Request, _user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        stored = self.store.get(about.key)
        if stored is None:
            raise not_found(about.about)
        return Response(200, presenter.one(stored), presenter.view.media)

    def _list(self, request: Request, _user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        page = paging.page(self.store, paging.wanted(request, about, self.strategy(about.served).selectable))
        return Response(200, presenter.page(page), presenter.view.media)

    def _watch(self, request: Request, _user: User, about: Target) -> Answer:
        asked = paging.wanted(request, about, self.strategy(about.served).selectable)
        bookmarks = request.flag("allowWatchBookmarks")
        watch = Watch(
            store=self.store,
            selection=asked.selection,
            presenter=self._presenter(request, about.served),
            seconds=paging.seconds(request),
            bookmarks=bookmarks,
        )
        initial = request.flag("sendInitialEvents")
        skipped = "sendInitialEvents" in request.parameters and not initial
        since = self.store.revision if skipped and asked.revision is None else asked.revision
        watch.start(None if initial else since, initial_bookmark=initial and bookmarks)
        return watch

    def _create(self, request: Request, user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        given = body.read(request.body, request.header("content-type"), about.served.kind)
        if "list" not in about.served.verbs:
            return self._review(given, user, about)
        options = target.options(request, user, "CreateOptions")
        done = self.verbs.create(about, given, replace(options, doubts=body.duplicates(request.body, given)))
        return _written(done, presenter)

    def _review(self, given: Any, user: User, about: Target) -> Answer:
        asked, _ = self.strategy(about.served).decode(body.check_kind(given, about.served), field_validation="Ignore")
        return Response(201, orjson.dumps(self._reviews.answer(asked, user, about.namespace)))

    def _update(self, request: Request, user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        given = body.read(request.body, request.header("content-type"), about.served.kind)
        options = target.options(request, user, "UpdateOptions")
        done = self.verbs.update(about, given, replace(options, doubts=body.duplicates(request.body, given)))
        return _written(done, presenter)

    def _patch(self, request: Request, user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        media = body.media_type(request.header("content-type"))
        change = body.read_patch(request.body, media, _patches(about.served))
        options = target.options(request, user, "PatchOptions", patch=media)
        if media == target.APPLY:
            return _written(self.verbs.apply(about, change, options), presenter)
        options = replace(options, doubts=body.duplicates(request.body, change))
        return _written(self.verbs.patch(about, media, change, options), presenter)

    def _delete(self, request: Request, user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        how = target.delete_options(request, user, self._options_body(request))
        done = self.verbs.delete(about, how)
        if done.deleted and about.served.resource not in _SHOWN_WHEN_GONE:
            return Response(200, orjson.dumps(_gone(done, about)), warnings=done.warnings)
        answer = _written(done, presenter)
        return replace(answer, status=202) if how.orphan is False else answer

    def _delete_collection(self, request: Request, user: User, about: Target) -> Answer:
        presenter = self._presenter(request, about.served)
        how = target.delete_options(request, user, self._options_body(request))
        page = paging.page(self.store, paging.wanted(request, about, self.strategy(about.served).selectable))
        warnings: tuple[str, ...] = ()
        for stored in page.items:
            one = replace(about, namespace=stored.key.namespace, name=stored.key.name)
            warnings += self.verbs.delete(one, replace(how, collection=True)).warnings
        return Response(200, presenter.page(page), presenter.view.media, warnings)

    def _options_body(self, request: Request) -> Any:
        return body.read(request.body, request.header("content-type")) if request.body.strip() else None

    # Subresources.

    def _beside(self, request: Request, user: User, about: Target, verb: str) -> Answer:
        match about.subresource:
            case "scale":
                return self._scale(request, user, about, verb)
            case "token":
                given = body.read(request.body, request.header("content-type"), "TokenRequest")
                given = given | {"metadata": {key: value for key, value in (given.get("metadata") or {}).items() if value}}
                subresources.admit(self.verbs, about, given, target.options(request, user, "CreateOptions"))
                token = self._reviews.request_token(given, about.namespace, about.name)
                return Response(201, orjson.dumps(token))
            case "eviction":
                options = target.options(request, user, "CreateOptions")
                given = body.read(request.body, request.header("content-type"), "Eviction")
                return Response(201, orjson.dumps(subresources.evict(self.verbs, about, given, options)))
            case "finalize":
                given = body.read(request.body, request.header("content-type"), about.served.kind)
                options = target.options(request, user, "UpdateOptions")
                return _written(subresources.finalize(self.verbs, about, given, options), self._presenter(request, about.served))
        if verb not in ("get", "update", "patch"):
            self.verbs.read(about)
            raise bad_request(f"{about.subresource} of {about.served.plural} is not served here: there are no nodes")
        return _VERBS[verb](self, request, user, about)

    def _scale(self, request: Request, user: User, about: Target, verb: str) -> Answer:
        presenter = self._presenter(request, subresources.SCALE)
        if verb == "get":
            scale = subresources.scale_of(self.verbs.read(about), about.served)
            return Response(200, presenter.manifest(scale), presenter.view.media)
        media = body.media_type(request.header("content-type")) if verb == "patch" else ""
        if media:
            given = body.read_patch(request.body, media, _patches(about.served))
        else:
            given = body.read(request.body, request.header("content-type"), "Scale")
        options = target.options(request, user, "PatchOptions" if media else "UpdateOptions", patch=media)
        return _written(subresources.write_scale(self.verbs, about, media, given, options), presenter)

    # What is no resource.

    def _document(self, request: Request) -> Response:
        path = request.path.rstrip("/") or "/"
        made = self._discovered(request, path)
        if made is None and path.startswith(("/api/", "/apis/")) and path.count("/") > 2:
            raise no_such_path()
        return made or Response(404, b"404 page not found\n", TEXT)

    def _discovered(self, request: Request, path: str) -> Response | None:
        parts = path.strip("/").split("/")
        if path in ("/api", "/apis") and "as=APIGroupDiscoveryList" in request.header("accept").split(",")[0]:
            return Response(200, self._discovery.aggregated(parts[0]), AGGREGATED)
        match parts:
            case ["api"]:
                reached = [{"clientCIDR": "0.0.0.0/0", "serverAddress": request.header("host")}]
                versions = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reached}
                return Response(200, orjson.dumps(versions))
            case ["apis"]:
                return Response(200, self._discovery.groups())
            case ["apis", group]:
                return _or_none(self._discovery.group(group))
            case ["api", name]:
                return _or_none(self._discovery.resources("", name)) or failure(no_such_path())
            case ["apis", group, name]:
                return _or_none(self._discovery.resources(group, name)) or failure(no_such_path())
            case ["version"]:
                return Response(200, version())
            case ["openapi", "v2"]:
                return openapi_v2(request.header("accept"))
            case ["openapi", "v3"]:
                return Response(200, self._discovery.openapi_index())
            case ["openapi", "v3", *rest]:
                return _or_none(self._discovery.openapi_document("/".join(rest)))
        return None


_VERBS: Mapping[str, Callable[[ApiServer, Request, User, Target], Answer]] = {
    "get": ApiServer._get,
    "list": ApiServer._list,
    "watch": ApiServer._watch,
    "create": ApiServer._create,
    "update": ApiServer._update,
    "patch": ApiServer._patch,
    "delete": ApiServer._delete,
    "deletecollection": ApiServer._delete_collection,
}
_SUBRESOURCE_VERBS: Mapping[str, tuple[str, ...]] = {
    "token": ("create",),
    "eviction": ("create",),
    "binding": ("create",),
    "finalize": ("update",),
    "log": ("get",),
    "exec": ("get", "create"),
    "attach": ("get", "create"),
    "portforward": ("get", "create"),
    "proxy": ("get", "create", "update", "patch", "delete"),
}


def failure(error: StatusError) -> Response:
    """The answer to a request that failed."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    told = error.manifest()
    if "details" not in told and error.message in _WITH_EMPTY_DETAILS:
        told = {**told, "details": {}}
    return Response(error.code, orjson.dumps(told), headers=headers)


_WITH_EMPTY_DETAILS = (
    "the server could not find the requested resource",
    "the server does not allow this method on the requested resource",
    "the server rejected our request due to an error in our request",
    "415: Unsupported Media Type",
)
"""What the real server says with `details` that are empty."""


def _or_none(document: bytes | None) -> Response | None:
    return None if document is None else Response(200, document)


def _attributes(sender: User, request: Request, where: Place | None) -> Attributes:
    if where is None:
        return Attributes(sender, request.method.lower(), path=request.path)
    name = where.name or (_selected_name(request.parameter("fieldSelector")) if where.verb in ("list", "watch") else "")
    return Attributes(sender, where.verb, where.group, where.version, where.resource, where.subresource, where.namespace, name)


@lru_cache(maxsize=256)
def _selected_name(text: str) -> str:
    """A list or watch of one name is judged as a request for that name."""
    if "metadata.name" not in text:
        return ""
    try:
        terms = fields(text, ("metadata.name", "metadata.namespace"))
    except StatusError:
        return ""  # whoever may not list is told so first
    return next((term.value for term in terms if term.path == "metadata.name" and term.equal), "")


_SHOWN_WHEN_GONE = frozenset(
    (
        *("namespaces", "pods", "services", "serviceaccounts", "resourcequotas", "podtemplates"),
        *("persistentvolumes", "persistentvolumeclaims"),
        *(f"{each}.storage.k8s.io" for each in ("storageclasses", "csinodes", "csidrivers", "volumeattachments")),
        "volumeattributesclasses.storage.k8s.io",
        *(f"{each}.resource.k8s.io" for each in ("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses")),
    )
)
"""Resources whose deletion answers the object that is gone, and no Status."""

_OF_COLLECTIONS = ("create", "list", "deletecollection")


def _check_place(where: Place, served: Served) -> None:
    """Raises 404 for a path that is not served, 405 for a verb that the resource does not have."""
    if not served.namespaced and where.namespace and not (where.resource == "namespaces" and where.name == where.namespace):
        raise no_such_path()
    if served.namespaced and not where.namespace and where.name:
        raise no_such_path()
    if where.subresource:
        if where.subresource not in served.subresources:
            raise no_such_path()
        if where.verb not in _SUBRESOURCE_VERBS.get(where.subresource, ("get", "update", "patch")):
            raise _not_allowed()
        return
    if where.verb not in served.verbs or (where.verb != "watch" and (where.name == "") != (where.verb in _OF_COLLECTIONS)):
        raise _not_allowed()
    if where.verb == "create" and served.namespaced and not where.namespace:
        raise _not_allowed()


def _not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _patches(served: Served) -> list[str]:
    return [each for each in body.PATCHES if not served.custom or each != body.STRATEGIC]


def _written(done: Done, presenter: Presenter) -> Response:
    shown = presenter.one(done.stored) if done.stored is not None else presenter.manifest(done.manifest)
    return Response(201 if done.created else 200, shown, presenter.view.media, done.warnings)


def _gone(done: Done, about: Target) -> Manifest:
    served = about.served
    group = {"group": served.group} if served.group else {}
    details = {"name": about.name, **group, "kind": served.plural, "uid": done.manifest["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
