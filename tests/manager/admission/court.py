"""The same request before two judges, in memory: the policies of an embedded cluster, and our webhook with its conditions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from apis.copyhold.tenant import KIND as TENANT
from apis.meta import Manifest
from manager.admission.policies import Policy
from manager.admission.register import Url, standing
from manager.admission.review import Reviewer
from manager.embedded.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Authorizer
from manager.embedded.auth.reviews import Reviews
from manager.embedded.policies import AdmissionRequest, Policies
from manager.embedded.policies.matching import Matched, labels
from manager.embedded.policies.policies import BINDINGS, POLICIES
from manager.embedded.policies.variables import questions, values
from manager.embedded.served import Served
from manager.embedded.status import StatusError
from manager.embedded.store import Key
from manager.embedded.webhooks.hook import Hook
from manager.embedded.webhooks.review import call
from manager.world import Cluster, Listing, Resource

TENANTS = Served(TENANT.group, TENANT.version, TENANT.kind, TENANT.plural, namespaced=False)


@dataclass(slots=True)
class Stored:
    """As much of a store as policies and rights are read from, and as much of a cluster as the webhook asks."""

    objects: dict[str, list[Manifest]] = field(default_factory=dict)
    asked: list[Manifest] = field(default_factory=list)

    # What the embedded cluster reads.

    def read(self, key: Key) -> Manifest | None:
        """One object."""
        return next((each for each in self.manifests(key.resource) if each["metadata"]["name"] == key.name), None)

    def manifests(self, resource: str, namespace: str = "") -> Iterator[Manifest]:
        """All of a resource; nothing here is in a namespace."""
        return iter(self.objects.get(resource, ()))

    def touched(self, resource: str) -> int:
        """Nothing changes."""
        return 1

    # What the webhook asks.

    async def get(self, resource: Resource, namespace: str, name: str, *, metadata: bool = False) -> Manifest | None:
        """A namespace, without its status."""
        assert (resource.kind, metadata) == ("Namespace", True)
        found = self.read(Key("namespaces", "", name))
        return found and {"metadata": found["metadata"]}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The kind Tenant."""
        assert (api_version, kind) == (TENANT.api_version, TENANT.kind)
        return Resource(TENANT.group, TENANT.version, TENANT.kind, TENANT.plural, namespaced=False)

    async def list(self, resource: Resource) -> Listing:
        """The Tenants."""
        return Listing([*self.manifests(TENANTS.resource)], "1")

    async def create(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        """The answer to a SubjectAccessReview."""
        assert (resource.kind, namespace) == ("SubjectAccessReview", "")
        self.asked.append(manifest)
        nobody = cast(Any, None)
        return Reviews(Authorizer(self), nobody, nobody, self, nobody).answer(manifest, nobody)

    def grant(self, user: str, *rules: Manifest) -> None:
        """Give a user cluster-wide rights."""
        self.objects.setdefault(CLUSTER_ROLES, []).append({"metadata": {"name": user}, "rules": [*rules]})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        binding = {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}
        self.objects.setdefault(CLUSTER_ROLE_BINDINGS, []).append(binding)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a request; `says` is empty when it passed."""

    code: int = 0
    says: str = ""

    @property
    def passed(self) -> bool:
        """Was nothing said against it?"""
        return not self.says


class Court:
    """One policy before both judges."""

    def __init__(self, policy: Policy, stored: Stored) -> None:
        manifest, binding = policy.manifests()
        self._stored = stored
        own = Stored({**stored.objects, POLICIES: [manifest], BINDINGS: [binding]})
        self._authorizer = Authorizer(own)
        self._policies = Policies(own, lambda *_: TENANTS, self._authorizer)
        self._hook = Hook.of(standing([policy], Url("h", 1), "")["webhooks"][0], "x")
        self._reviewer = Reviewer(cast(Cluster, stored), policy)
        self._name = policy.name

    def policy(self, request: AdmissionRequest) -> Verdict:
        """What the embedded cluster says by its policy."""
        try:
            self._policies.admit(request)
        except StatusError as error:
            by = f"ValidatingAdmissionPolicy '{self._name}' with binding '{self._name}' denied request: "
            return Verdict(error.code, error.message.partition(by)[2])
        return Verdict()

    def asks(self, request: AdmissionRequest) -> bool:
        """Would the API server ask our webhook?"""
        matched = self._hook.match(request, self._labels)
        if matched is None:
            return False
        return self._hook.concerned({**values(request, matched, None, None), **questions(request, self._authorizer)})

    async def webhook(self, request: AdmissionRequest) -> Verdict:
        """What our webhook says, whether it would be asked or not."""
        review = call(self._hook, request, Matched(request.resource, request.kind)).request
        answer = await self._reviewer.review(review)
        return Verdict() if answer["allowed"] else Verdict(answer["status"]["code"], answer["status"]["message"])

    def _labels(self, namespace: str) -> Manifest:
        found = self._stored.read(Key("namespaces", "", namespace))
        return dict(labels(found or {}))
