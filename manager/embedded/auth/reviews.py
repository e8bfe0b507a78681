"""What clients ask about users: access reviews, rules, whoami, tokens. Nothing of it is stored.

| Kind | Answers |
| --- | --- |
| `SubjectAccessReview`, `LocalSubjectAccessReview` | may somebody do this (in this namespace)? |
| `SelfSubjectAccessReview`, `SelfSubjectRulesReview` | may I do this? what may I do here? |
| `SelfSubjectReview` | who am I? |
| `TokenReview` | whose token is this? |
| `TokenRequest` (subresource `token` of a ServiceAccount) | a token of that account |
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apis.meta import Manifest, split_api_version
from manager.embedded.attributes import Attributes, User
from manager.embedded.auth.authenticate import Authenticator
from manager.embedded.auth.objects import Objects
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.auth.rule import Rule
from manager.embedded.auth.tokens import AUDIENCE, BadToken, Bound, Tokens
from manager.embedded.causes import quote
from manager.embedded.status import Cause, Named, bad_request, conflict, invalid, not_found
from manager.embedded.store import Key

ACCESS = "authorization.k8s.io"
IDENTITY = "authentication.k8s.io"
HOUR = 3600
SHORTEST = 600
LONGEST = 1 << 32
BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


@dataclass(frozen=True, slots=True)
class Reviews:
    """Answers reviews. Each method takes the decoded body and returns the body of a 201, without managedFields."""

    authorizer: Authorizer
    authenticator: Authenticator
    tokens: Tokens
    objects: Objects
    clock: Callable[[], datetime]

    def answer(self, body: Manifest, user: User, namespace: str = "") -> Manifest:
        """Answer any kind of review but TokenRequest, for `user` as he acts; `namespace` is that of the path.

        Raises 400 or 422 for a review that asks nothing or two things.
        """
        match body["kind"]:
            case "SubjectAccessReview":
                return self._access(body, _subject(body), _checked(body, self_review=False))
            case "LocalSubjectAccessReview":
                local = body | {"metadata": body.get("metadata", {}) | {"namespace": namespace}}
                return self._access(local, _subject(body), _checked(local, self_review=False))
            case "SelfSubjectAccessReview":
                return self._access(body, user, _checked(body, self_review=True))
            case "SelfSubjectRulesReview":
                return self._rules(body, user)
            case "SelfSubjectReview":
                moment = _time(self.clock())
                return body | {"metadata": {"creationTimestamp": moment}, "status": {"userInfo": user_info(user)}}
            case "TokenReview":
                return self._token(body)
        raise bad_request(f"{body['kind']} is no review")

    def request_token(self, body: Manifest, namespace: str, name: str) -> Manifest:
        """A token of the account `namespace`/`name`, as its subresource `token` gives it.

        Raises 404 without that account, 422 for a time that is too short or too long, 400 or 409 for what it cannot be bound to.
        """
        metadata, spec = body.get("metadata") or {}, body.get("spec") or {}
        kind = Named(IDENTITY, "TokenRequest", name)
        for field, given, wanted in (("name", metadata.get("name"), name), ("namespace", metadata.get("namespace"), namespace)):
            if given and given != wanted:
                why = f"Invalid value: {quote(given)}: must match the service account {field} if specified"
                raise invalid(kind, [Cause("FieldValueInvalid", why, f"metadata.{field}")])
        account = self.objects.read(Key("serviceaccounts", namespace, name))
        if account is None:
            raise not_found(Named("", "serviceaccounts", name))
        uid = account["metadata"]["uid"]
        if metadata.get("uid", uid) != uid:
            why = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account ({uid})"
            raise conflict(kind, why)
        seconds = _seconds(spec)
        bound = self._bound(spec.get("boundObjectRef"), namespace, name)
        audiences = list(spec.get("audiences") or [AUDIENCE])
        now = self.clock()
        token = self.tokens.issue(account, audiences=audiences, seconds=seconds, bound=bound)
        return {
            "kind": "TokenRequest",
            "apiVersion": f"{IDENTITY}/v1",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": _time(now)},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec.get("boundObjectRef")},
            "status": {"token": token, "expirationTimestamp": _time(now + timedelta(seconds=seconds))},
        }

    def _access(self, body: Manifest, user: User, asked: Manifest) -> Manifest:
        decision = self.authorizer.decide(_attributes(user, asked))
        status = {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})
        return {**body, "metadata": body.get("metadata") or {}, "status": status}

    def _rules(self, body: Manifest, user: User) -> Manifest:
        namespace = (body.get("spec") or {}).get("namespace")
        if not namespace:
            raise bad_request("no namespace on request")
        rules, trouble = self.authorizer.rules(user, namespace)
        status: Manifest = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [{"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in rules if rule.urls],
            "incomplete": False,
        }
        if trouble:
            status["evaluationError"] = trouble
        # The real server does not repeat the question here.
        return {**_head(body), "metadata": {}, "spec": {}, "status": status}

    def _token(self, body: Manifest) -> Manifest:
        spec = body.get("spec") or {}
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        status: Manifest
        try:
            user, audiences = self.authenticator.identify(spec["token"], spec.get("audiences") or ())
            status = {"authenticated": True, "user": user_info(user), "audiences": list(audiences)}
        except BadToken as error:
            why = str(error)
            status = {"user": {}, "error": f"[invalid bearer token, {why}]" if why != "invalid bearer token" else why}
        return {**body, "metadata": body.get("metadata") or {}, "status": status}

    def _bound(self, reference: Manifest | None, namespace: str, account: str) -> Bound | None:
        if reference is None:
            return None
        group, version = split_api_version(reference.get("apiVersion", ""))
        kind, name = reference.get("kind", ""), reference.get("name", "")
        resource = BINDABLE.get(kind) if not group else None
        if resource is None:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        live = self.objects.read(Key(resource, "" if resource == "nodes" else namespace, name))
        if live is None:
            raise not_found(Named("", resource, name))
        if resource == "pods" and live["spec"].get("serviceAccountName") != account:
            raise bad_request(
                f"cannot bind token for serviceaccount {quote(account)} to pod running with different serviceaccount name."
            )
        uid = live["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            raise conflict(
                Named("", kind, name),
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record."
                " The object might have been deleted and then recreated",
            )
        return Bound(resource, name, uid)


def user_info(user: User) -> Manifest:
    """A user as reviews and admission requests show him."""
    shown: Manifest = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {key: value for key, value in shown.items() if value}


def _subject(body: Manifest) -> User:
    spec = body.get("spec") or {}
    extra = {key.lower(): tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _checked(body: Manifest, *, self_review: bool) -> Manifest:
    """The spec of an access review, which must ask one thing of somebody."""
    spec = body.get("spec") or {}
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if key != "managedFields" and value}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    local = body["kind"] == "LocalSubjectAccessReview"
    shown = "null" if path is None else _go_json({"Path": path.get("path", ""), "Verb": path.get("verb", "")})
    causes = []
    if resource is not None and path is not None:
        causes.append(_cause("nonResourceAttributes", shown, "cannot be specified in combination with resourceAttributes"))
    if resource is None and path is None:
        said = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(_cause("resourceAttributes", shown, said))
    if not self_review and not spec.get("user") and not spec.get("groups"):
        causes.append(_cause("user", '""', "at least one of user or group must be specified"))
    if metadata.keys() - ({"namespace"} if local else set()):
        said = "must be empty except for namespace" if local else "must be empty"
        causes.append(Cause("FieldValueInvalid", f"Invalid value: {_go_json(metadata)}: {said}", "metadata"))
    if local and resource is not None and (resource.get("namespace") or "") != metadata.get("namespace"):
        given = quote(resource.get("namespace") or "")
        causes.append(_cause("resourceAttributes.namespace", given, "must match metadata.namespace"))
    if local and path is not None:
        causes.append(_cause("nonResourceAttributes", shown, "disallowed on this kind of request"))
    if causes:
        # The real server names the group alone here.
        raise invalid(Named(ACCESS, ""), causes)
    return dict(spec)


def _cause(field: str, value: str, said: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {said}", f"spec.{field}")


def _attributes(user: User, spec: Manifest) -> Attributes:
    if (path := spec.get("nonResourceAttributes")) is not None:
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""))
    asked = spec["resourceAttributes"]
    fields = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    verb, *rest = (asked.get(field) or "" for field in fields)
    return Attributes(user, verb, *rest)


def _resource_rule(rule: Rule) -> Manifest:
    shown = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
        "resourceNames": list(rule.names),
    }
    return {key: value for key, value in shown.items() if value}


def _seconds(spec: Manifest) -> int:
    seconds = int(spec.get("expirationSeconds") or HOUR)
    why = ""
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        cause = Cause("FieldValueInvalid", f"Invalid value: {seconds}: {why}", "spec.expirationSeconds")
        raise invalid(Named(IDENTITY, "TokenRequest"), [cause])
    return seconds


def _head(body: Manifest) -> Manifest:
    return {"kind": body["kind"], "apiVersion": body["apiVersion"]}


def _go_json(value: Manifest) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
