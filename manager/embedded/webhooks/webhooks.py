"""All stored webhooks, asked of every write."""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace

from apis.meta import Manifest
from manager.embedded.auth.objects import Objects
from manager.embedded.auth.rbac import Authorizer
from manager.embedded.causes import quote
from manager.embedded.policies.expression import NoResult
from manager.embedded.policies.matching import Labels, labels
from manager.embedded.policies.policies import EXEMPT
from manager.embedded.policies.request import AdmissionRequest
from manager.embedded.policies.variables import questions, values
from manager.embedded.status import Named, bad_request, forbidden, not_found
from manager.embedded.store import Key
from manager.embedded.webhooks.hook import Hook
from manager.embedded.webhooks.review import Call, Outcome, call, changed, judge

CONFIGURATIONS = "validatingwebhookconfigurations.admissionregistration.k8s.io"
MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"

OUTCOMES: ContextVar[Mapping[str, Outcome] | None] = ContextVar("outcomes", default=None)
"""The answers at hand, by the digest of the call. None: nobody can ask, as when a controller writes; no webhook is asked then."""


class Unanswered(Exception):
    """A request cannot be judged before these calls are made."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__(f"{len(calls)} webhooks have to be asked")
        self.calls = tuple(calls)


class Webhooks:
    """The webhooks in force, in the order of their configurations' names; nothing is paid for while there are none."""

    def __init__(self, objects: Objects, authorizer: Authorizer) -> None:
        self._objects = objects
        self._authorizer = authorizer
        self._stamps = (-1, -1)
        self._hooks: tuple[Hook, ...] = ()
        self._mutating: tuple[Hook, ...] = ()

    @property
    def present(self) -> bool:
        """Is there any webhook? Without one, a request can be handled in one step."""
        stamps = self._objects.touched(CONFIGURATIONS), self._objects.touched(MUTATING)
        if stamps != self._stamps:
            self._hooks = tuple(self._read(CONFIGURATIONS))
            self._mutating = tuple(self._read(MUTATING))
            self._stamps = stamps
        return bool(self._hooks or self._mutating)

    def mutate(self, request: AdmissionRequest) -> tuple[Manifest | None, list[str]]:
        """The object as all mutating webhooks that the request matches want it, and their warnings.

        Raises StatusError when one denies it or fails, Unanswered when the next one has not been asked yet.
        """
        outcomes = OUTCOMES.get()
        if not self.present or outcomes is None or request.object is None or (request.kind.group, request.kind.kind) in EXEMPT:
            return request.object, []
        warnings: list[str] = []
        left: list[tuple[Hook, Manifest | None]] = []
        for hook in self._mutating:
            request, said = self._mutated(hook, request, outcomes)
            warnings += said
            left.append((hook, request.object))
        for hook, after in left:
            if hook.again and request.object != after:
                request, said = self._mutated(hook, request, outcomes)
                warnings += said
        return request.object, warnings

    def _mutated(
        self, hook: Hook, request: AdmissionRequest, outcomes: Mapping[str, Outcome]
    ) -> tuple[AdmissionRequest, list[str]]:
        calls = list(self._calls((hook,), request))
        if not calls or request.object is None:
            return request, []
        outcome = outcomes.get(calls[0].digest)
        if outcome is None:
            raise Unanswered(calls)
        warnings = judge(hook, outcome)
        made = changed(outcome, calls[0].request["object"])
        return replace(request, object=made | {"apiVersion": request.object["apiVersion"]}), warnings

    def admit(self, request: AdmissionRequest) -> list[str]:
        """The warnings of all validating webhooks that the request matches.

        Raises StatusError when one denies it or fails, Unanswered when some have not been asked yet.
        """
        outcomes = OUTCOMES.get()
        if not self.present or outcomes is None or (request.kind.group, request.kind.kind) in EXEMPT:
            return []
        calls = list(self._calls(self._hooks, request))
        open_calls = [each for each in calls if each.digest not in outcomes]
        if open_calls:
            raise Unanswered(open_calls)
        return [warning for each in calls for warning in judge(each.hook, outcomes[each.digest])]

    def _read(self, configurations: str) -> Iterator[Hook]:
        for configuration in self._objects.manifests(configurations):
            for webhook in configuration.get("webhooks") or ():
                yield Hook.of(webhook, configuration["metadata"]["name"], mutating=configurations == MUTATING)

    def _calls(self, hooks: Sequence[Hook], request: AdmissionRequest) -> Iterator[Call]:
        for hook in hooks:
            matched = hook.match(request, self._labels)
            if matched is None:
                continue
            known = {**values(request, matched, None, None), **questions(request, self._authorizer)}
            try:
                concerned = hook.concerned(known)
            except NoResult as error:
                if hook.lenient:
                    continue
                raise forbidden(request.about, str(error)) from error
            if not concerned:
                continue
            if request.dry_run and not hook.dry_runs:
                raise bad_request(f"admission webhook {quote(hook.name)} does not support dry run")
            yield call(hook, request, matched)

    def _labels(self, namespace: str) -> Labels:
        found = self._objects.read(Key("namespaces", "", namespace))
        if found is None:
            raise not_found(Named("", "namespaces", namespace))
        return labels(found)
