"""`authorizer` of Kubernetes: asks, from within an expression, whether somebody may do something.

Who evaluates gives the answers: `Authorizer(check)` is bound to the variable `authorizer`, and
`request_resource(check, ...)` to `authorizer.requestResource`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from policy.cel.budget import Budget
from policy.cel.error import CelError
from policy.cel.ext.formats import CHECKS
from policy.cel.library import Function, Library, member
from policy.cel.types import BOOL, STRING, Type, opaque
from policy.cel.values import Opaque

AUTHORIZER = opaque("kubernetes.authorization.Authorizer")
PATH_CHECK = opaque("kubernetes.authorization.PathCheck")
GROUP_CHECK = opaque("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = opaque("kubernetes.authorization.ResourceCheck")
DECISION = opaque("kubernetes.authorization.Decision")

COST: Final = 350_000
"""Units for one question, as in Kubernetes: it may go to a webhook."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked: a verb on a path, or on a resource when there is no path.

    `account` is the namespace and name of a service account; None is who sent the request. Selectors are as written.
    """

    verb: str
    account: tuple[str, str] | None = None
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class NoDecision(Exception):
    """Raised by a check that failed: the expression sees `errored()`, and the message as `error()`."""


Check = Callable[[Attributes], tuple[bool, str]]
"""Allowed or not, and the reason. Raises NoDecision."""


@dataclass(frozen=True, slots=True)
class Authorizer(Opaque):
    """Whom questions are about, and who answers them."""

    cel: ClassVar[Type] = AUTHORIZER

    check: Check
    account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PathCheck(Opaque):
    """A path to be asked about."""

    cel: ClassVar[Type] = PATH_CHECK

    authorizer: Authorizer
    path: str


@dataclass(frozen=True, slots=True)
class GroupCheck(Opaque):
    """The group of a resource that is still to be named."""

    cel: ClassVar[Type] = GROUP_CHECK

    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True)
class ResourceCheck(Opaque):
    """A resource to be asked about; the verb is still to be named."""

    cel: ClassVar[Type] = RESOURCE_CHECK

    authorizer: Authorizer
    asked: Attributes


@dataclass(frozen=True, slots=True)
class Decision(Opaque):
    """An answer; `error` is None unless there was none."""

    cel: ClassVar[Type] = DECISION

    allowed: bool
    reason: str = ""
    error: str | None = None


def request_resource(
    check: Check, *, group: str, resource: str, subresource: str = "", namespace: str = "", name: str = ""
) -> ResourceCheck:
    """The value of `authorizer.requestResource`: what the request itself is about."""
    asked = Attributes("", None, "", group, resource, subresource, namespace, name)
    return ResourceCheck(Authorizer(check), asked)


def path(authorizer: Authorizer, where: str) -> PathCheck:
    """Ask about a path that is no resource. Raises CelError for an empty one."""
    if not where.strip():
        raise CelError("the path to be checked is empty")
    return PathCheck(authorizer, where)


def resource(check: GroupCheck, plural: str) -> ResourceCheck:
    """Ask about a resource by its plural name. Raises CelError for an empty one."""
    if not plural.strip():
        raise CelError("the resource to be checked is empty")
    return ResourceCheck(check.authorizer, Attributes("", check.authorizer.account, group=check.group, resource=plural))


def service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    """Ask about a service account instead. Raises CelError for names that no account can have."""
    if CHECKS["dns1123Subdomain"](name):
        raise CelError("this is no name of a service account")
    if CHECKS["dns1123Label"](namespace):
        raise CelError("this is no name of a namespace")
    return Authorizer(authorizer.check, (namespace, name))


def check_path(budget: Budget, check: PathCheck, verb: str) -> Decision:
    """Ask whether the verb (of HTTP) is allowed on the path."""
    return _decide(budget, check.authorizer, Attributes(verb, check.authorizer.account, path=check.path))


def check_resource(budget: Budget, check: ResourceCheck, verb: str) -> Decision:
    """Ask whether the verb (of the API) is allowed on the resource."""
    return _decide(budget, check.authorizer, replace(check.asked, verb=verb))


def _decide(budget: Budget, authorizer: Authorizer, asked: Attributes) -> Decision:
    budget.charge(COST)
    try:
        return Decision(*authorizer.check(asked))
    except NoDecision as error:
        return Decision(False, error=str(error))


def _narrower(say: Callable[[Attributes, str], Attributes]) -> Callable[[ResourceCheck, str], ResourceCheck]:
    return lambda check, value: ResourceCheck(check.authorizer, say(check.asked, value))


NARROWER: Final[dict[str, Callable[[Attributes, str], Attributes]]] = {
    "subresource": lambda asked, value: replace(asked, subresource=value),
    "namespace": lambda asked, value: replace(asked, namespace=value),
    "name": lambda asked, value: replace(asked, name=value),
    "fieldSelector": lambda asked, value: replace(asked, field_selector=value),
    "labelSelector": lambda asked, value: replace(asked, label_selector=value),
}
"""The functions that say more about the resource, and what each says."""

LIBRARY = Library(
    "authorizer",
    functions=(
        Function("path", member((AUTHORIZER, STRING), PATH_CHECK, path)),
        Function("group", member((AUTHORIZER, STRING), GROUP_CHECK, GroupCheck)),
        Function("serviceAccount", member((AUTHORIZER, STRING, STRING), AUTHORIZER, service_account)),
        Function("resource", member((GROUP_CHECK, STRING), RESOURCE_CHECK, resource)),
        *(Function(name, member((RESOURCE_CHECK, STRING), RESOURCE_CHECK, _narrower(field))) for name, field in NARROWER.items()),
        Function(
            "check",
            member((PATH_CHECK, STRING), DECISION, check_path, budget=True),
            member((RESOURCE_CHECK, STRING), DECISION, check_resource, budget=True),
        ),
        Function("allowed", member((DECISION,), BOOL, lambda decision: decision.allowed)),
        Function("reason", member((DECISION,), STRING, lambda decision: decision.reason)),
        Function("errored", member((DECISION,), BOOL, lambda decision: decision.error is not None)),
        Function("error", member((DECISION,), STRING, lambda decision: decision.error or "")),
    ),
)
