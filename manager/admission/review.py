"""Judges a request by one of our policies as the API server would: the same text, and the engine of the embedded cluster.

The policy sees the request as it was sent to us; its namespace and the Tenants are read now. Rights are asked of the API server,
one SubjectAccessReview each, and only those that an expression comes to: it is evaluated until it needs an answer, and again
with that answer. So nothing waits inside an evaluation, and who is not asked about costs nothing.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from collections.abc import Sequence

from apis.meta import Manifest
from apis.problems import Unavailable
from manager.admission import policies
from manager.embedded.attributes import Attributes, Decision, User
from manager.embedded.policies.matching import labels
from manager.embedded.policies.policies import CODES, UNPROCESSABLE
from manager.embedded.policies.policy import Denial, Subject, compile_policy
from manager.embedded.policies.request import AdmissionRequest, Kind, Operation, Resource
from manager.embedded.policies.variables import questions, values
from manager.world import Cluster
from manager.world import Resource as Served

QUESTIONS = 32
"""Rights that one review may ask about. Every further one would keep the user waiting for another answer of the API server."""

REVIEWS = Served("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
NAMESPACES = Served("", "v1", "Namespace", "namespaces", namespaced=False)


class Unanswered(Exception):
    """An evaluation that cannot go on before somebody's right is known."""

    def __init__(self, asked: Attributes) -> None:
        super().__init__(f"may {asked.user.name} {asked.verb} {asked.resource}?")
        self.asked = asked


class Rights:
    """What is known of rights by now. An evaluation that asks for more is broken off by Unanswered."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, ...], Decision] = {}

    def decide(self, asked: Attributes) -> Decision:
        """The answer, when it is known. Raises Unanswered."""
        known = self._known.get(_key(asked))
        if known is None:
            raise Unanswered(asked)
        return known

    async def ask(self, asked: Attributes) -> None:
        """Ask the API server. Raises its problems, and Unavailable when too much was asked already."""
        if len(self._known) >= QUESTIONS:
            raise Unavailable(f"the request touches more than {QUESTIONS} rights: change fewer labels at once")
        review = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": _spec(asked)}
        status = (await self._cluster.create(REVIEWS, "", review)).get("status") or {}
        self._known[_key(asked)] = Decision(bool(status.get("allowed")), status.get("reason") or "")


class Reviewer:
    """Answers reviews by one policy, which is compiled once."""

    def __init__(self, cluster: Cluster, policy: policies.Policy) -> None:
        self._cluster = cluster
        self._policy = compile_policy(policy.manifests()[0])

    async def review(self, request: Manifest) -> Manifest:
        """The `response` to a review's `request`. Raises the problems of the cluster."""
        denial = await self._denial(admission_request(request))
        if denial is None:
            return {"allowed": True}
        code = CODES.get(denial.reason, UNPROCESSABLE)
        return {"allowed": False, "status": {"code": code, "reason": denial.reason, "message": denial.message}}

    async def _denial(self, request: AdmissionRequest) -> Denial | None:
        """What the policy says first against the request."""
        namespace = await self._cluster.get(NAMESPACES, "", request.home, metadata=True) if request.home else None
        matched = self._policy.constraints.match(request, lambda _name: labels(namespace or {}))
        if matched is None:
            return None
        rights = Rights(self._cluster)
        for params in await self._params():
            subject = Subject(values(request, matched, params, namespace), questions(request, rights))
            denials = await self._denials(subject, rights)
            if denials:
                return denials[0]
        return None

    async def _denials(self, subject: Subject, rights: Rights) -> list[Denial]:
        while True:
            try:
                return list(self._policy.denials(subject))
            except Unanswered as question:
                await rights.ask(question.asked)

    async def _params(self) -> Sequence[Manifest | None]:
        """All objects of the kind that the policy names, as its binding says; [None] for a policy without parameters."""
        named = self._policy.param_kind
        if named is None:
            return [None]
        resource = await self._cluster.resource(named["apiVersion"], named["kind"])
        return (await self._cluster.list(resource)).items


def admission_request(request: Manifest) -> AdmissionRequest:
    """A review's `request` as policies see it."""
    return AdmissionRequest(
        operation=Operation(request["operation"]),
        kind=Kind(**request["kind"]),
        resource=_resource(request["resource"]),
        user=_user(request.get("userInfo") or {}),
        object=request.get("object"),
        old=request.get("oldObject"),
        name=request.get("name") or "",
        namespace=request.get("namespace") or "",
        subresource=request.get("subResource") or "",
        options=request.get("options") or {},
        dry_run=bool(request.get("dryRun")),
    )


def _resource(named: Manifest) -> Resource:
    return Resource(named["group"], named["version"], named["resource"])


def _user(info: Manifest) -> User:
    extra = {key: tuple(values or ()) for key, values in (info.get("extra") or {}).items()}
    return User(info.get("username") or "", info.get("uid") or "", tuple(info.get("groups") or ()), extra)


def _key(asked: Attributes) -> tuple[str, ...]:
    return (asked.user.name, asked.verb, asked.path, asked.group, asked.resource, asked.subresource, asked.namespace, asked.name)


def _spec(asked: Attributes) -> Manifest:
    user = asked.user
    extra = {key: list(values) for key, values in user.extra.items()}
    who = {"user": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    if asked.path:
        return {**who, "nonResourceAttributes": {"path": asked.path, "verb": asked.verb}}
    about = {"group": asked.group, "version": asked.version, "resource": asked.resource, "subresource": asked.subresource}
    return {**who, "resourceAttributes": {**about, "verb": asked.verb, "namespace": asked.namespace, "name": asked.name}}
