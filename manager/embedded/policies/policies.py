"""All stored policies with their bindings: asked of every write, at no cost for what no policy is about."""

from collections.abc import Iterator
from dataclasses import dataclass

from apis.meta import Manifest
from manager.embedded.auth.objects import Objects
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.policies.matching import Constraints, Labels, Matched, NamespaceLabels, labels
from manager.embedded.policies.params import Kinds, Misconfigured, Params
from manager.embedded.policies.policy import Denial, Policy, Subject, compile_policy
from manager.embedded.policies.request import AdmissionRequest
from manager.embedded.policies.variables import questions, values
from manager.embedded.status import Cause, Named, StatusError, forbidden, not_found
from manager.embedded.store import Key

GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"

EXEMPT = frozenset(
    (GROUP, f"{sort}{kind}")
    for sort in ("Validating", "Mutating")
    for kind in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)
"""Kinds that no policy sees, or nobody could repair one."""
_REVIEWS = {
    "authentication.k8s.io": ("selfsubjectreviews", "tokenreviews"),
    "authorization.k8s.io": (
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    ),
}
UNSEEN = frozenset((group, plural) for group, plurals in _REVIEWS.items() for plural in plurals)
"""Resources that no policy sees, because clusters stop working without them."""

CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy is in force, with which parameters, and what a denial does there."""

    name: str
    constraints: Constraints | None
    params: Manifest | None
    actions: frozenset[str]

    @classmethod
    def of(cls, manifest: Manifest) -> "Binding":
        """Read a stored binding."""
        spec = manifest["spec"]
        matched = spec.get("matchResources")
        return cls(
            name=manifest["metadata"]["name"],
            constraints=None if matched is None else Constraints.of(matched),
            params=spec.get("paramRef"),
            actions=frozenset(spec.get("validationActions") or ()),
        )


@dataclass(frozen=True, slots=True)
class Bound:
    """A policy with the bindings that name it."""

    policy: Policy
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A denial, and by which policy and binding; without a binding, the policy itself cannot be asked."""

    policy: str
    binding: str
    denial: Denial

    def __str__(self) -> str:
        by = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{by} denied request: {self.denial.message}"


class Policies:
    """The policies in force.

    Guarantees: a policy or binding counts from the moment at which it is stored. (The real server takes up to a second.)
    Policies are asked in the order of their names; the refusal is that of the first that has something against the request.
    """

    def __init__(self, objects: Objects, kinds: Kinds, authorizer: Authorizer) -> None:
        self._objects = objects
        self._params = Params(objects, kinds)
        self._authorizer = authorizer
        self._stamp: tuple[int, int] | None = None
        self._bound: tuple[Bound, ...] = ()
        self._compiled: dict[str, tuple[str, Policy]] = {}
        self._concerned: dict[object, tuple[Bound, ...]] = {}

    def admit(self, request: AdmissionRequest) -> list[str]:
        """Ask all policies; the warnings that go with the answer. Raises StatusError when one denies the request."""
        refused: list[Refused] = []
        warnings: list[str] = []
        for bound in self._about(request):
            for binding, denial in self._denials(bound, request):
                actions = {"Deny"} if binding is None else binding.actions
                found = Refused(bound.policy.name, binding.name if binding else "", denial)
                if "Warn" in actions:
                    warnings.append(_warning(found))
                if "Deny" in actions:
                    refused.append(found)
        if refused:
            raise _denied(request.about, refused[0])
        return warnings

    def _about(self, request: AdmissionRequest) -> tuple[Bound, ...]:
        """The policies whose rules name such requests: remembered until a policy or a binding changes."""
        stamp = self._objects.touched(POLICIES), self._objects.touched(BINDINGS)
        if stamp != self._stamp:
            self._bound = tuple(self._read())
            self._concerned.clear()
            self._stamp = stamp
        if not self._bound or _unseen(request):
            return ()
        seen = (request.resource, *request.others)
        sort = (request.operation, seen, request.subresource)
        known = self._concerned.get(sort)
        if known is None:
            known = tuple(
                bound for bound in self._bound if bound.policy.constraints.concern(request.operation, seen, request.subresource)
            )
            self._concerned[sort] = known
        return known

    def _read(self) -> Iterator[Bound]:
        bindings: dict[str, list[Binding]] = {}
        for manifest in self._objects.manifests(BINDINGS):
            bindings.setdefault(manifest["spec"].get("policyName", ""), []).append(Binding.of(manifest))
        before, self._compiled = self._compiled, {}
        for manifest in self._objects.manifests(POLICIES):
            metadata = manifest["metadata"]
            if metadata["name"] in bindings:
                name, version = metadata["name"], f"{metadata.get('uid')} {metadata.get('resourceVersion')}"
                known = before.get(name)
                policy = known[1] if known is not None and known[0] == version else compile_policy(manifest)
                self._compiled[name] = version, policy
                yield Bound(policy, tuple(bindings[name]))

    def _denials(self, bound: Bound, request: AdmissionRequest) -> Iterator[tuple[Binding | None, Denial]]:
        policy = bound.policy
        try:
            matched = _match(policy.constraints, request, self._labels)
            if matched is None:
                return
            served = None if policy.param_kind is None else self._params.kind(policy.param_kind)
        except Misconfigured as error:
            if not policy.lenient:
                yield None, Denial(f"failed to configure policy: {error}")
            return
        for binding in bound.bindings:
            try:
                if binding.constraints is not None and _match(binding.constraints, request, self._labels) is None:
                    continue
                params = self._params.found(served, binding.params, request.namespace)
            except Misconfigured as error:
                if not policy.lenient:
                    yield _always(binding), Denial(f"failed to configure binding: {error}")
                continue
            for each in params:
                for denial in policy.denials(self._subject(request, matched, each)):
                    yield binding, denial

    def _subject(self, request: AdmissionRequest, matched: Matched, params: Manifest | None) -> Subject:
        known = values(request, matched, params, self._namespace(request.home) if request.home else None)
        return Subject(known, questions(request, self._authorizer))

    def _namespace(self, name: str) -> Manifest:
        namespace = self._objects.read(Key("namespaces", "", name))
        if namespace is None:
            raise not_found(Named("", "namespaces", name))
        return namespace

    def _labels(self, namespace: str) -> Labels:
        return labels(self._namespace(namespace))


def _match(constraints: Constraints, request: AdmissionRequest, labels_of: NamespaceLabels) -> Matched | None:
    try:
        return constraints.match(request, labels_of)
    except StatusError as error:
        raise Misconfigured(error.message) from error


def _always(binding: Binding) -> Binding:
    """A binding that cannot be asked denies, whatever its actions are."""
    return Binding(binding.name, binding.constraints, binding.params, frozenset({"Deny"}))


def _unseen(request: AdmissionRequest) -> bool:
    kind, resource = request.kind, request.resource
    return (kind.group, kind.kind) in EXEMPT or (resource.group, resource.plural) in UNSEEN


def _warning(found: Refused) -> str:
    by = f"'{found.policy}' with binding '{found.binding}'"
    return f"Validation failed for ValidatingAdmissionPolicy {by}: {found.denial.message}"


class _Bare(Cause):
    """A cause that is nothing but a message."""

    def manifest(self) -> Manifest:
        return {"message": self.message}


def _denied(about: Named, found: Refused) -> StatusError:
    error = forbidden(about, str(found), [_Bare("", str(found))])
    error.reason = found.denial.reason
    error.code = CODES.get(found.denial.reason, UNPROCESSABLE)
    return error
