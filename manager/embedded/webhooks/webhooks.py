"""All stored validating webhooks, as a judge of writes."""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar

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
from manager.embedded.webhooks.review import Call, Outcome, call, judge

CONFIGURATIONS = "validatingwebhookconfigurations.admissionregistration.k8s.io"

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
        self._stamp = -1
        self._hooks: tuple[Hook, ...] = ()

    @property
    def present(self) -> bool:
        """Is there any webhook? Without one, a request can be handled in one step."""
        stamp = self._objects.touched(CONFIGURATIONS)
        if stamp != self._stamp:
            self._hooks = tuple(self._read())
            self._stamp = stamp
        return bool(self._hooks)

    def admit(self, request: AdmissionRequest) -> list[str]:
        """The warnings of all webhooks that the request matches.

        Raises StatusError when one denies it or fails, Unanswered when some have not been asked yet.
        """
        outcomes = OUTCOMES.get()
        if not self.present or outcomes is None or (request.kind.group, request.kind.kind) in EXEMPT:
            return []
        calls = list(self._calls(request))
        open_calls = [each for each in calls if each.digest not in outcomes]
        if open_calls:
            raise Unanswered(open_calls)
        return [warning for each in calls for warning in judge(each.hook, outcomes[each.digest])]

    def _read(self) -> Iterator[Hook]:
        for configuration in self._objects.manifests(CONFIGURATIONS):
            for webhook in configuration.get("webhooks") or ():
                yield Hook.of(webhook, configuration["metadata"]["name"])

    def _calls(self, request: AdmissionRequest) -> Iterator[Call]:
        for hook in self._hooks:
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
